"""Notebooks: the code cells run in order, what is IPython's is left out, and places are cells and lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripts import grad_of, roots, texts, value_of

from gviz.errors import GvizError
from gviz.sources import Reading, SourceOptions, read
from gviz.sources.script.missing import of_script

SETUP = "import torch\nx = torch.tensor(2.0, requires_grad=True)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*cells: str) -> str:
    """Write a notebook of code cells, with text between them, and return its name."""
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    text = {"cell_type": "markdown", "source": ["# not code"]}
    Path("net.ipynb").write_text(
        json.dumps({"nbformat": 4, "cells": [text, *(one for cell in code for one in (cell, text))]})
    )
    return "net.ipynb"


def ran(*cells: str, **options: Any) -> Reading:
    return read(write(*cells), SourceOptions(**options), say=lambda _: None)


def test_the_code_cells_run_in_order() -> None:
    reading = ran(SETUP, "y = x**2", "", "z = y + 1\nz.backward()\nz")
    assert roots(reading) == ["z"]
    assert grad_of(reading, "x") == 4
    assert texts(reading) == ["root: z (backward called at cell 4, line 2)"]


def test_what_is_ipythons_is_left_out_and_said() -> None:
    cells = [
        "%matplotlib inline\n" + SETUP,
        "%%bash\nls | wc",
        "if True:\n    !ls\n%time y = x * 3",
        "%%time\nz = y * 2\ntorch.tensor?",
    ]
    reading = ran(*cells)
    assert value_of(reading, "z") == 12
    left_out = "left out %matplotlib inline, a cell of %%bash, !ls and 2 more: IPython's, not Python's"
    assert left_out in texts(reading)


def test_a_remainder_at_the_begin_of_a_line_is_python() -> None:
    reading = ran(SETUP, "y = (x * 7\n% 4)\n")
    assert value_of(reading, "y") == 2
    assert not any("left out" in text for text in texts(reading))


def test_an_error_names_the_cell_and_its_line() -> None:
    reading = ran(SETUP, "y = x * 2", "z = y\nz.foo()")
    (error,) = texts(reading, "error")
    assert error.startswith(
        "net.ipynb cell 3, line 2: AttributeError: 'Tensor' object has no attribute 'foo'\n  z.foo()\n  ^^^^^"
    )
    assert reading.failed
    assert reading.graph.stop is not None
    assert reading.graph.stop.where == "cell 3, line 2  z.foo()"
    with pytest.raises(GvizError) as caught:
        ran(SETUP, "y = x *")
    assert str(caught.value).startswith("net.ipynb cell 2, line 1: SyntaxError: invalid syntax\n  y = x *\n")
    with pytest.raises(GvizError) as caught:
        ran(SETUP, "def f():\n    return g", "f()", on_error="stop")
    assert str(caught.value).startswith("net.ipynb cell 2, line 2: NameError: name 'g' is not defined\n  return g\n")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("y = x x", "invalid syntax\n  y = x x\n        ^"),
        ("é = x; return é", "'return' outside function\n  é = x; return é\n         ^^^^^^^^"),
        ("y = {x: 1 for x in 5", "'{' was never closed\n  y = {x: 1 for x in 5\n      ^"),
    ],
)
def test_a_cell_that_is_not_python_is_quoted_itself(cell: str, message: str) -> None:
    name = write(SETUP, f"{cell}\n")
    Path(name).write_text(json.dumps(json.loads(Path(name).read_text()), indent=1))  # as Jupyter has it: many lines
    for look in (read, of_script):
        with pytest.raises(GvizError) as caught:
            look(name)
        text = str(caught.value).replace("invalid syntax. Perhaps you forgot a comma?", "invalid syntax")
        assert text == f"net.ipynb cell 2, line 1: SyntaxError: {message}"


def test_what_the_engine_lacks_is_in_a_cell() -> None:
    uses = of_script(write(SETUP, "\ntorch.nope(x)"))
    assert [(use.name, str(use.place), use.place.cell, use.place.line) for use in uses] == [
        ("torch.nope", "net.ipynb cell 2, line 2", 2, 2)
    ]


TRAIN = (
    SETUP,
    "w = x * 2\nfiles = !ls\nd = w.detach()",
    "for i in range(2):\n    w = w + d\nloss = w * x\nloss.backward()\nx.grad = None",
)


def test_all_places_are_a_cell_and_a_line_and_have_their_code() -> None:
    graph = ran(*TRAIN, diagnose=True).graph
    codes = {
        "cell 1, line 2": "x = torch.tensor(2.0, requires_grad=True)", "cell 2, line 1": "w = x * 2",
        "cell 2, line 3": "d = w.detach()", "cell 3, line 2": "w = w + d", "cell 3, line 3": "loss = w * x",
        "cell 3, line 4": "loss.backward()", "cell 3, line 5": "x.grad = None",
    }  # fmt: skip
    assert {str(place): code for place, code in graph.codes} == codes
    known = {row.name: row for row in graph.tensors}
    broken, cleared = known["d"].broken, known["x"].history.grad_cleared
    assert broken is not None
    assert (str(broken.place), str(cleared)) == ("cell 2, line 3", "cell 3, line 5")
    assert [str(one.place) for one in graph.breaks] == ["cell 2, line 3"]
    assert graph.backward is not None
    assert graph.code_at(graph.backward) == "loss.backward()"
    assert all(row.place is not None and graph.code_at(row.place) for row in graph.tensors)
    assert all(graph.code_at(node.place) for node in graph.nodes if node.place is not None)


def test_the_changes_of_a_tensor_are_at_cells_and_lines() -> None:
    reading = ran(*TRAIN, watch="w")
    changes = reading.changes
    assert [reading.graph.code_at(place) for place, *_ in changes] == ["w = x * 2", "w = w + d", "w = w + d"]
    assert [(place.cell, place.line) for place, *_ in changes] == [(2, 1), (3, 2), (3, 2)]


@pytest.mark.parametrize("until", ["cell 3:2:2", "cell 3, line 2:2"])
def test_a_run_ends_at_the_line_of_a_cell(until: str) -> None:
    reading = ran(*TRAIN, until=until)
    assert "stopped before cell 3, line 2 ran, time 2" in texts(reading)
    assert value_of(reading, "w") == 8


def test_a_place_to_end_at_is_said_as_it_is_written() -> None:
    said = texts(ran(*TRAIN, until="cell 2:3"))
    assert 'stopped before cell 2, line 3 ran, the first time (--until "cell 2:3:2" is the second)' in said
    said = texts(ran(*TRAIN, until="cell 3:1:7"), "warning")
    assert any(text.startswith('--until "cell 3:1": the script came to cell 3, line 1 only once') for text in said), (
        said
    )


@pytest.mark.parametrize(
    ("until", "message"),
    [
        ("cell 4:1", "--until cell 4:1: net.ipynb has 3 code cells"),
        ("cell 2:4", "--until cell 2:4: cell 2 of net.ipynb has 3 lines"),
        ("cell 2", "--until cell 2: write 12, cell 2:1 in a notebook, or 12:3 for the third time"),
    ],
)
def test_a_place_that_is_not_there_is_refused(until: str, message: str) -> None:
    with pytest.raises(GvizError, match=f"^{message}$"):
        ran(*TRAIN, until=until)


def test_a_script_has_no_cells() -> None:
    Path("net.py").write_text(SETUP)
    with pytest.raises(GvizError, match=r"net\.py is no notebook, and has no cells"):
        read("net.py", SourceOptions(until="cell 1:1"))


@pytest.mark.parametrize("line", ["files = !ls", "files, *more = !ls -l", "a.b['c'] = %pwd", "    out = %sql select 1"])
def test_a_magic_that_gives_a_name_its_value_is_left_out(line: str) -> None:
    reading = ran(SETUP, f"if True:\n    y = x * 2\n{line}\ny = x * 3")
    assert value_of(reading, "y") == 6
    assert f"left out {line.strip()}: IPython's, not Python's" in texts(reading)


def test_a_timed_line_that_gives_a_name_its_value_runs() -> None:
    assert value_of(ran(SETUP, "y = %time x * 2\nz = y + 1"), "z") == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nbformat": 4, "cells": []}', "net.ipynb has no code cell"),
        ('{"nbformat": 3, "worksheets": []}', "net.ipynb is not a notebook\n"),
        ("[]", "net.ipynb is not a notebook\n"),
        ("{", "net.ipynb"),
        (" ", "net.ipynb is empty: there is nothing to run"),
        ('{"cells": [{"cell_type": "code", "source": 5}]}', "net.ipynb is not a notebook\n"),
        ('{"cells": [{"cell_type": "code", "source": ["x = 2", null]}]}', "net.ipynb is not a notebook\n"),
    ],
)
def test_what_is_no_notebook_is_refused(text: str, message: str) -> None:
    Path("net.ipynb").write_text(text)
    with pytest.raises(GvizError) as caught:
        read("net.ipynb")
    assert message in str(caught.value)


def test_display_prints(capsys: pytest.CaptureFixture[str]) -> None:
    ran(SETUP, "y = x * 2\ndisplay(y.shape, 'a', clear=True)")
    assert capsys.readouterr().out == "torch.Size([])\n'a'\n"


@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        (
            "get_ipython().system('ls')",
            "get_ipython() is IPython's, and gviz runs cells as Python runs a script: leave it out",
        ),
        ("await x", "Jupyter alone awaits there: write it into async def main(), and call asyncio.run(main())"),
        (
            "async with x: pass",
            "Jupyter alone awaits there: write it into async def main(), and call asyncio.run(main())",
        ),
    ],
)
def test_what_jupyter_alone_has_is_said(cell: str, hint: str) -> None:
    with pytest.raises(GvizError) as caught:
        ran(SETUP, cell, on_error="stop")
    assert caught.value.hint == hint
