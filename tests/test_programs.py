"""Programs as courses and tutorials have them, whole: each prints what it prints with PyTorch, and leaves the same graph.

``programs/`` has them with what PyTorch printed, ``NAME.py`` and ``NAME.txt``. Where the real torch is installed,
``GVIZ_GOLD=write python -m pytest tests/test_programs.py -m torch`` records anew.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gviz.graphs import NO_FLOW, NO_GRADIENT, Node
from gviz.graphs.numbers import Numbers
from gviz.sources import Note, Reading, SourceOptions, read
from gviz.sources.script.missing import of_script

FILES = sorted((Path(__file__).parent / "programs").glob("*.py"))

WORKSPACE = "result3"
"""What the library behind PyTorch's LSTM keeps for its own backward: bytes that only that library reads."""

TOLERANCE = {"rtol": 1e-3, "atol": 1e-3, "equal_nan": True}
"""Sums are added up in another order, and the steps of a training pass on what that makes."""


def run(file: Path, engine: str, capsys: pytest.CaptureFixture[str]) -> tuple[Reading, str]:
    """Run a program on an engine; what it left, and what was printed, with gviz's own warnings."""
    warned: list[Note] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such a program gives none
        reading = read(str(file), SourceOptions(engine=engine, is_whole=True), say=warned.append)
    printed = capsys.readouterr()
    return reading, printed.out + printed.err + "".join(
        note.text for note in warned if note.level in {"warning", "error"}
    )


def plain(node: Node) -> Node:
    """A node without its numbers, which are compared as numbers, and without what is not autograd's."""
    attrs = tuple((name, text) for name, text in node.recorded.attrs if name != WORKSPACE)
    return node._replace(
        numbers=shape_alone(node.numbers),
        grad=NO_GRADIENT,
        later=None,
        recorded=node.recorded._replace(attrs=attrs, given_numbers=()),
    )


def shape_alone(numbers: Numbers | None) -> Any:
    return None if numbers is None else Numbers(numbers.shape, numbers.dtype)


def is_close(one: Numbers | None, other: Numbers | None) -> bool:
    """Whether numbers agree."""
    if one is None or other is None:
        return one is other
    ours, theirs = (numbers.elements if numbers.elements is not None else numbers.about for numbers in (one, other))
    return bool(np.allclose(np.array(ours, dtype=float), np.array(theirs, dtype=float), **TOLERANCE))  # type: ignore[arg-type]


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_program_prints_what_pytorch_prints(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reading, printed = run(file, "gviz", capsys)
    assert printed == file.with_suffix(".txt").read_text(encoding="utf-8")
    assert len(reading.graph.nodes) > 1
    assert not reading.failed


def test_no_program_names_what_the_engine_lacks() -> None:
    assert [use for file in FILES for use in of_script(str(file))] == []


@pytest.mark.torch
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_record_is_what_pytorch_prints(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    _, printed = run(file, "torch", capsys)
    record = file.with_suffix(".txt")
    if os.environ.get("GVIZ_GOLD") == "write":
        record.write_text(printed, encoding="utf-8")
    assert printed == record.read_text(encoding="utf-8")


@pytest.mark.torch
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_program_leaves_the_graph_that_pytorch_records(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    ours, theirs = (run(file, engine, capsys)[0].graph for engine in ("gviz", "torch"))
    assert list(map(plain, ours.nodes)) == list(map(plain, theirs.nodes))
    edges = ([edge._replace(flow=NO_FLOW) for edge in graph.edges] for graph in (ours, theirs))
    assert next(edges) == next(edges)  # numbers on the way differ in their last digits, as those below do
    assert ours.roots == theirs.roots
    plain_rows = (
        [row._replace(numbers=shape_alone(row.numbers), grad=NO_GRADIENT, moment=None) for row in graph.tensors]
        for graph in (ours, theirs)
    )
    assert next(plain_rows) == next(plain_rows)
    both: Any = zip([*ours.nodes, *ours.tensors], [*theirs.nodes, *theirs.tensors], strict=True)
    assert [
        one.name
        for one, other in both
        if not (is_close(one.value, other.value) and is_close(one.grad.value, other.grad.value))
    ] == []
