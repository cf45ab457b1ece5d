"""Each file of the table names where its names, formulas and refusals are from."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gviz import ops

FILES = sorted(Path(ops.__path__[0]).glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_operations_names_its_source(file: Path) -> None:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    sources = [line for line in text.splitlines() if line.startswith("Source: ")]
    assert len(sources) == 1
    declares = "@op(" in file.read_text(encoding="utf-8") or "\nrow(" in file.read_text(encoding="utf-8")
    assert not declares or ".yaml" in sources[0]
