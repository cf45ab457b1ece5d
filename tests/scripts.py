"""Scripts written for a test, and what there is to ask of their readings."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gviz.graphs import TensorRow
from gviz.graphs.numbers import Numbers
from gviz.sources import Reading, SourceOptions, read

HEAD = "import torch\nx = torch.tensor(2.0, requires_grad=True)\n"
"""Two lines that many scripts begin with."""


@dataclass(frozen=True)
class Folder:
    """A folder that scripts are written into and read from."""

    path: Path

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def run(self, text: str, *, name: str = "net.py", rootless: bool = False, **options: Any) -> Reading:
        """Write a script and read it; what there is to say is in the reading alone."""
        file = str(self.write(name, text))
        return read(file, SourceOptions(**options), rootless=rootless, say=lambda _: None)


def rows(reading: Reading) -> dict[str, TensorRow]:
    return {row.name: row for row in reading.graph.tensors}


def nested(numbers: Numbers | None) -> Any:
    """A number, or nested lists of numbers, all of which are listed; None for none."""
    assert numbers is None or numbers.elements is not None, numbers
    return None if numbers is None else numbers.nested()


def value_of(reading: Reading, name: str) -> Any:
    return nested(rows(reading)[name].numbers)


def grad_of(reading: Reading, name: str) -> Any:
    return nested(rows(reading)[name].grad.value)


def roots(reading: Reading) -> list[str | None]:
    return [reading.graph.node(node).name for node in reading.graph.roots]


def leaves(reading: Reading) -> set[str | None]:
    return {node.name for node in reading.graph.nodes if node.kind == "leaf"}


def texts(reading: Reading, level: str = "note") -> list[str]:
    return [note.text for note in reading.notes if note.level == level]
