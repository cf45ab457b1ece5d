"""Notebooks: the code cells run in order, what is IPython's is left out, and places are cells and lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts import roots, rows, texts

from gviz.errors import GvizError
from gviz.sources import Reading, SourceOptions, read

SETUP = "import torch\nx = torch.tensor(2.0, requires_grad=True)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*cells: str) -> str:
    """Write a notebook of code cells, with text between them, and return its name."""
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    text = {"cell_type": "markdown", "source": ["# not code"]}
    Path("net.ipynb").write_text(json.dumps({"nbformat": 4, "cells": [text, *(one for cell in code for one in (cell, text))]}))
    return "net.ipynb"


def ran(*cells: str, **options: str) -> Reading:
    return read(write(*cells), SourceOptions(**options), say=lambda _: None)  # type: ignore[arg-type]


def test_the_code_cells_run_in_order() -> None:
    reading = ran(SETUP, "y = x**2", "", "z = y + 1\nz.backward()\nz")
    assert roots(reading) == ["z"]
    assert rows(reading)["x"].grad == 4
    assert texts(reading) == ["root: z (backward called at cell 4, line 2)"]


def test_what_is_ipythons_is_left_out_and_said() -> None:
    cells = [
        "%matplotlib inline\n" + SETUP,
        "%%bash\nls | wc",
        "if True:\n    !ls\n%time y = x * 3",
        "%%time\nz = y * 2\ntorch.tensor?",
    ]
    reading = ran(*cells)
    assert rows(reading)["z"].value == 12
    left_out = "left out %matplotlib inline, a cell of %%bash, !ls and 2 more: IPython's, not Python's"
    assert left_out in texts(reading)


def test_a_remainder_at_the_begin_of_a_line_is_python() -> None:
    reading = ran(SETUP, "y = (x * 7\n% 4)\n")
    assert rows(reading)["y"].value == 2
    assert not any("left out" in text for text in texts(reading))


def test_an_error_names_the_cell_and_its_line() -> None:
    reading = ran(SETUP, "y = x * 2", "z = y\nz.foo()")
    (error,) = texts(reading, "error")
    assert error.startswith(
        "net.ipynb cell 3, line 2: AttributeError: 'Tensor' object has no attribute 'foo'\n  z.foo()\n  ^^^^^"
    )
    assert reading.failed
    assert (reading.graph.error or "").startswith("cell 3, line 2  z.foo()\n")
    with pytest.raises(GvizError) as caught:
        ran(SETUP, "y = x *")
    assert str(caught.value).startswith("net.ipynb cell 2, line 1: SyntaxError: invalid syntax\n  y = x *\n")
    with pytest.raises(GvizError) as caught:
        ran(SETUP, "def f():\n    return g", "f()", on_error="stop")
    assert str(caught.value).startswith("net.ipynb cell 2, line 2: NameError: name 'g' is not defined\n  return g\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nbformat": 4, "cells": []}', "net.ipynb has no code cell"),
        ('{"nbformat": 3, "worksheets": []}', "net.ipynb is not a notebook\n"),
        ("[]", "net.ipynb is not a notebook\n"),
        ("{", "net.ipynb"),
        ('{"cells": [{"cell_type": "code", "source": 5}]}', "net.ipynb is not a notebook\n"),
        ('{"cells": [{"cell_type": "code", "source": ["x = 2", null]}]}', "net.ipynb is not a notebook\n"),
    ],
)
def test_what_is_no_notebook_is_refused(text: str, message: str) -> None:
    Path("net.ipynb").write_text(text)
    with pytest.raises(GvizError) as caught:
        read("net.ipynb")
    assert message in str(caught.value)
