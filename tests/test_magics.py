"""The magics of notebooks, in IPython's own shell, and in a real kernel that nbconvert runs."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gviz
from gviz import engine
from gviz.cli.notebook import last_result
from gviz.errors import ArgumentError

TENSORS = "from gviz import engine as torch\nw = torch.tensor(3.0, requires_grad=True)\nloss = (w * 2) ** 2"


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    """IPython's shell, with the magics and a loss."""
    embedded = pytest.importorskip("IPython.core.interactiveshell")
    one = embedded.InteractiveShell.instance()
    one.run_line_magic("load_ext", "gviz")
    one.run_cell(TENSORS)
    yield one
    embedded.InteractiveShell.clear_instance()


def texts(shown: Any) -> dict[str, Any]:
    bundle: dict[str, Any] = shown._repr_mimebundle_()
    return bundle


def test_an_expression_with_values_is_drawn(shell: Any) -> None:
    bundle = texts(shell.run_line_magic("gviz", "y=(x+w)*(w+1) x=2 w=1"))
    assert "└─ w = 1  grad = 5" in bundle["text/plain"]
    assert bundle["image/svg+xml"].startswith("<?xml")
    assert bundle["image/png"].startswith(b"\x89PNG")


def test_a_variable_has_the_names_of_the_notebook_and_options_of_render(shell: Any) -> None:
    shown = shell.run_line_magic("gviz", "loss --view circuit")
    assert shown.options.view == "circuit"
    assert "w = 3  grad = None" in repr(shown)
    assert repr(shown).startswith("loss = 36")


def test_a_page_is_a_frame_of_its_own(shell: Any) -> None:
    bundle = texts(shell.run_line_magic("gviz", "loss --page"))
    assert bundle["text/html"].startswith('<iframe sandbox="allow-scripts allow-downloads"')
    assert "image/svg+xml" not in bundle


def test_above_a_cell_it_runs_the_cell_and_draws_what_that_assigns_last(shell: Any) -> None:
    shown = shell.run_cell_magic("gviz", "", "z = w.exp()\nend = (z - 1) ** 2\nend.backward()\nn = 3")
    assert repr(shown).startswith("end = 364.2577")
    assert "grad = 766.6865" in repr(shown)
    assert shell.user_ns["n"] == 3
    assert shell.run_cell_magic("gviz", "", "1 / 0") is None


@pytest.mark.parametrize(
    ("line", "phrase"),
    [("nix", "no variable nix"), ("", "name what is to be drawn"), ("y=x*w --vew circuit", "Did you mean --view?")],
)
def test_wrong_words_are_refused_in_words(shell: Any, line: str, phrase: str) -> None:
    with pytest.raises(ArgumentError, match=phrase.replace("?", r"\?")):
        shell.run_line_magic("gviz", line)


def test_a_cell_without_a_graph_is_refused(shell: Any) -> None:
    with pytest.raises(ArgumentError, match="no tensor that this cell computes"):
        shell.run_cell_magic("gviz", "", "a = 1")


def test_show_takes_tensors_graphs_and_sources() -> None:
    w = engine.tensor(3.0, requires_grad=True)
    reading = gviz.read("y=x*w", x=2, w=3)
    for source in (w * 2, reading, reading.graph, "y=x*w", {"y": w * 2}):
        assert "MulBackward0" in repr(gviz.show(source, view="dataflow"))
    assert last_result("a = 1\ny = w * 2\nb = 2", {"a": 1, "y": w * 2, "b": 2}) == "y"


def test_a_real_kernel_shows_pictures(tmp_path: Path) -> None:
    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    cells = [
        "%load_ext gviz",
        "%gviz y=x*w x=2",
        f"{TENSORS}\nimport gviz",
        "%%gviz --page\nloss = w ** 2",
        "gviz.graph(loss)",
    ]
    code: list[dict[str, Any]] = [
        {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None} for text in cells
    ]
    book = {"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "n.ipynb").write_text(json.dumps(book))
    words = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "n.ipynb"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    outputs = [cell["outputs"] for cell in json.loads((tmp_path / "n.ipynb").read_text())["cells"]]
    shown = [outputs[number][-1]["data"] for number in (1, 3, 4)]
    assert [sorted(data) for data in shown] == [
        ["image/png", "image/svg+xml", "text/plain"],
        ["text/html", "text/plain"],
        ["image/png", "image/svg+xml", "text/plain"],
    ]
    assert base64.b64decode(shown[0]["image/png"]).startswith(b"\x89PNG")
