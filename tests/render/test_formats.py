"""Formats are modules of a folder, found by being there and chosen by the suffix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from graphs import article, every_kind
from program import ROOT

import gviz.render
from gviz.errors import RenderError
from gviz.graphs import Graph
from gviz.render import FormatRow, find, formats, render, series


@pytest.mark.parametrize("suffix", ["pdf", "PDF", "svg", "png", "dot", "gv", "json", "txt", "tree", "terminal"])
def test_a_format_is_found_by_its_suffix(suffix: str) -> None:
    assert suffix.lower() in find(suffix).SUFFIXES


def test_an_unknown_suffix_is_refused_with_the_formats_that_there_are() -> None:
    with pytest.raises(RenderError) as caught:
        find("pfd")
    assert caught.value.what == "there is no format 'pfd'"
    usual = ["pdf", "svg", "png"]
    names = [*usual, *sorted({row.suffix for row in formats() if row.works} - {*usual})]
    assert caught.value.hint == f"Did you mean pdf? The formats are {', '.join(names)}."
    with pytest.raises(RenderError, match="the file's name has no suffix") as caught:
        find("")
    assert "pdf" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("zzz", "there is no Graphviz here that makes zzz"),
        *((word, "there is no format") for word in ("vrml", "xlib", "pfd")),
    ],
)
def test_any_other_word_is_graphviz_s_business_where_a_format_is_named(word: str, said: str) -> None:
    with pytest.raises(RenderError, match=said):
        render(article(), word)


def test_a_suffix_may_have_a_dot_of_its_own(tmp_path: Path) -> None:
    for version in ("1.2", "1.4"):
        drawn = Path(gviz.render.save(article(), tmp_path / f"y.b.xdot{version}")).read_text()
        assert "_draw_=" in drawn


def test_a_new_module_in_the_folder_is_a_new_format(tmp_path: Path) -> None:
    folder = tmp_path / "gviz" / "render"
    folder.mkdir(parents=True)
    (folder / "count.py").write_text(
        "SUFFIXES = TEXTS = ('count',)\nDESCRIPTION = 'how many boxes'\n"
        "def render(graph, options): return f'{len(graph.nodes)}\\n'\n"
    )
    code = (
        "import gviz.render, os\n"
        f"gviz.render.__path__.append({str(folder)!r})\n"
        "listed = os.listdir\n"
        f"os.listdir = lambda path: listed(path) + listed({str(folder)!r})\n"
        "from gviz.graphs import Graph\n"
        "print(gviz.render.render(Graph(), 'count'), [row for row in gviz.render.formats() if row.suffix == 'count'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    row = FormatRow("count", "how many boxes", "gviz", works=True)
    assert done.stdout == f"0\n [{row!r}]\n"


def test_json_is_the_graph_and_comes_back() -> None:
    for graph in (Graph(), article(), every_kind()):
        text = render(graph, "json")
        assert isinstance(text, str)
        assert Graph.from_json(text) == graph
        assert json.loads(text)["format"] == "gviz-graph"


def test_formats_says_what_makes_each() -> None:
    rows = {row.suffix: row for row in formats()}
    assert len(rows) == len(formats()), "a suffix is served twice"
    assert rows["dot"] == FormatRow("dot", rows["dot"].description, "gviz", works=True)
    assert rows["tensorboard"].made_by == "gviz"
    assert rows["pdf"].works
    assert "Graphviz" in rows["pdf"].made_by
    assert all(row.works == bool(row.made_by) and row.description for row in rows.values())


def test_no_format_writes_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for row in formats():
        if row.works:
            render(every_kind(), row.suffix)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_loads_what_it_needs_and_no_more() -> None:
    code = (
        "import sys; sys.path.insert(1, sys.argv[1]); from graphs import article; before = set(sys.modules)\n"
        "from gviz.render import render; render(article(), 'pdf')\n"
        "print(*sorted(name for name in set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "tests")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    unwanted = "graphviz pygraphviz numpy rich subprocess tempfile pathlib shutil inspect zlib difflib json"
    assert not loaded & set(unwanted.split())
    assert {name.removeprefix("gviz.render.") for name in loaded if name.startswith("gviz.render.")} == {
        "dot",
        "image",
        "marks",
    }
    drawn = {name.removeprefix("gviz.pictures.") for name in loaded if name.startswith("gviz.pictures.")}
    assert drawn == {
        "arithmetic",
        "digits",
        "html",
        "labels",
        "legend",
        "look",
        "options",
        "page",
        "parts",
        "picture",
        "repeat",
        "spans",
        "theme",
        "views",
        "views.torchviz",
    }


def test_a_format_for_steps_is_known_by_its_suffix_in_any_case_and_another_one_refused() -> None:
    assert [series.series_format(suffix) for suffix in ("PDF", "html", "svg")] == ["pdf", "html", "svg"]
    with pytest.raises(RenderError, match="'htlm' is not a format for steps") as caught:
        series.series_format("htlm")
    assert str(caught.value.hint).startswith("Did you mean html? ")
    with pytest.raises(RenderError, match="no suffix"):
        series.series_format("")
