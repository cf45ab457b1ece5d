"""Pictures as LaTeX: compiled by pdflatex where it is, and read back out of the PDF."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pypdf import PdfReader

import gviz
from gviz import RenderOptions
from gviz.errors import RenderError
from gviz.graphs import Edge, Graph, Node
from gviz.render import find, series, tikz

needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")

HOSTILE = (
    r"\end{document} {} $ & # _ % ~ ^ < > | "
    "\" - ` ' -- ?` !` ,, \u2028 \ud800 損失 \\gviztext \\input{/etc/passwd}"
)


def compiled(text: str, folder: Path) -> PdfReader:
    """Return the PDF that pdflatex makes of a document."""
    (folder / "y.tex").write_text(text, encoding="utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "y.tex"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return PdfReader(folder / "y.pdf")


def drawn(graph: Graph, **look: object) -> str:
    """Return the document of a picture."""
    return tikz.render(graph, RenderOptions(format="tex", **look))  # type: ignore[arg-type]


@needs_latex
@pytest.mark.parametrize("view", ["torchviz", "circuit", "matrices"])
def test_a_picture_is_a_page_of_its_size(tmp_path: Path, view: str) -> None:
    reading = gviz.read("h=relu(W@x); y=h.sum()", W="[[1,-1],[0.5,2]]", x="[1,2]")
    reader = compiled(drawn(reading.with_facts(flow=True, jacobians=True), view=view), tmp_path)
    assert len(reader.pages) == 1
    assert "relu" in reader.pages[0].extract_text().lower()


@needs_latex
def test_names_that_are_commands_of_latex_are_shown(tmp_path: Path) -> None:
    graph = Graph((Node("n0", "output", name=HOSTILE), Node("n1", "operation", HOSTILE)), (Edge("n1", "n0"),), ("n0",))
    text = compiled(drawn(graph), tmp_path).pages[0].extract_text()
    assert re.sub(r"\s", "", r"\end{document}{}$&#_%") in re.sub(r"\s", "", text)
    assert "root:x" not in text


@needs_latex
def test_steps_are_overlays(tmp_path: Path) -> None:
    graph = gviz.read("y=x*w", x=2, w=3).with_facts(flow=True)
    text = series.render(graph, "tex", RenderOptions(theme="light")).decode()
    reader = compiled(text, tmp_path)
    assert len(reader.pages) == len(re.findall(r"\\only<", text)) > 3


def test_a_picture_alone_names_what_it_needs() -> None:
    text = tikz.render(gviz.read("y=x*w").graph, RenderOptions(format="tikz"))
    assert text.startswith("% made by gviz")
    assert r"% \usepackage{amssymb,graphicx,tikz}" in text
    assert r"\documentclass" not in text
    assert find("TeX") is find("tikz")


def test_steps_that_graphviz_draws_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "circuit_slides", lambda *_: [])
    with pytest.raises(RenderError, match="drawn by Graphviz"):
        series.render(gviz.read("y=x*w").graph, "tex", RenderOptions())
