"""Scripts that gviz ends: after a backward, at a line, by Ctrl-C; and scripts that only run."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from program import Program, clean_environment
from scripts import HEAD, Folder, grad_of, nested, roots, rows, texts, value_of

from gviz import SourceOptions
from gviz.errors import SourceError
from gviz.sources import read

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]

LOOP = (
    HEAD
    + """\
log = []
for i in range(1000):
    y = x * (i + 1)
    try:
        y.backward()
        log.append(i)
    except {caught}:
        log.append("caught")
    finally:
        log.append("tidy")
        print("tidy")
z = y * 3
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("caught", ["Exception", "BaseException", "", "(ValueError, BaseException)"])
@pytest.mark.parametrize("stop", ["backward", "backward:3"])
def test_a_run_stops_after_backward_and_tidies_up(
    folder: Folder, capsys: pytest.CaptureFixture[str], engine: str, caught: str, stop: str
) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    reading = folder.run(LOOP.format(caught=caught), stop_at=stop, engine=engine)
    assert grad_of(reading, "x") == (6 if stop == "backward:3" else 1)
    assert roots(reading) == ["y"]
    assert "z" not in rows(reading)
    assert not reading.failed
    assert capsys.readouterr().out == "tidy\n" * int(stop.partition(":")[2] or 1)
    assert texts(reading)[0].startswith("stopped after backward at line 7")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_stops_before_a_line_for_the_first_or_a_later_time(folder: Folder, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    program = LOOP.format(caught="Exception")
    reading = folder.run(program, until="7", engine=engine)
    assert (value_of(reading, "y"), grad_of(reading, "x")) == (2, None)
    assert texts(reading)[0] == "stopped before line 7 ran, the first time (--until 7:2 is the second)"
    reading = folder.run(program, until="7:3", engine=engine)
    assert (value_of(reading, "y"), grad_of(reading, "x")) == (6, 3)
    assert texts(reading)[0] == "stopped before line 7 ran, time 3"


def test_of_two_places_the_first_that_the_run_comes_to_counts(folder: Folder) -> None:
    program = LOOP.format(caught="Exception")
    assert texts(folder.run(program, until="7:3", stop_at="backward"))[0].startswith(
        "stopped after backward at line 7, the first"
    )
    assert texts(folder.run(program, until="7:2", stop_at="backward:2"))[0] == "stopped before line 7 ran, time 2"


@pytest.mark.parametrize(("line", "stopped"), [(1, 3), (5, 4), (7, 8), (8, 8), (10, 10)])
def test_a_line_without_a_statement_stands_for_the_one_around_it_or_the_next(
    folder: Folder, line: int, stopped: int
) -> None:
    program = '''\
"""What it is for."""
from __future__ import annotations
import torch
x = torch.tensor(
    2.0, requires_grad=True)
def f(x):
    # a comment
    return x * 2

y = f(x)
'''
    assert texts(folder.run(program, until=str(line), rootless=True))[0].startswith(
        f"stopped before line {stopped} ran"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stop_within_a_function_shows_what_the_function_holds(folder: Folder, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    text = "def train(w):\n    loss = w * w\n    loss.backward()\n\ntrain(torch.tensor(3.0, requires_grad=True))\n"
    reading = folder.run(f"import torch\n{text}", until="4", engine=engine)
    assert roots(reading) == ["loss"]
    assert {name: nested(row.value) for name, row in rows(reading).items()} == {"w": 3, "loss": 9}


def test_docstrings_and_the_lines_of_errors_stay_as_they_are(folder: Folder) -> None:
    program = HEAD + 'def f(x):\n    """Double."""\n    return x * 2\nassert f.__doc__ == "Double."\ny = f(x)\n1 / 0\n'
    reading = folder.run(program, until="8:2", watch="y")
    assert texts(reading, "error")[0].startswith(f"{folder.path}/net.py:8: ZeroDivisionError")


def test_a_line_that_is_not_there_is_refused_before_the_script_runs(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SourceError, match=r"--until 40: the last statement of .*net.py is at line 3"):
        folder.run(HEAD + "print('ran')\n", until="40")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        ({"until": "5"}, "--until 5: the script never came to line 5; this is how it ended"),
        ({"until": "3:2"}, "--until 3: the script came to line 3 only once; this is how it ended"),
        ({"stop_at": "backward"}, "--stop-at backward: backward was never called; this is how the script ended"),
    ],
)
def test_a_place_that_a_run_does_not_come_to_is_a_warning(folder: Folder, options: Any, warning: str) -> None:
    reading = folder.run(HEAD + "y = x * 2\nif y is None:\n    y = 3\n", **options)
    assert texts(reading, "warning") == [warning]
    assert roots(reading) == ["y"]


def test_a_stop_that_other_code_swallows_comes_again_and_is_owned_up_to(folder: Folder) -> None:
    folder.write("careless.py", "def call(f):\n    try:\n        f()\n    except BaseException:\n        pass\n")
    reading = folder.run(
        HEAD
        + "import careless\ny = x * 2\nfor i in range(3):\n    careless.call(lambda: y.backward(retain_graph=True))\n",
        stop_at="backward",
    )
    assert grad_of(reading, "x") == 6
    assert "code that the script calls caught that, and the script went on to its end" in texts(reading, "warning")[0]


@pytest.mark.parametrize(
    "options", [{"stop_at": "forward"}, {"stop_at": "backward:0"}, {"until": "x"}, {"until": "0"}, {"until": "3:"}]
)
def test_a_place_that_is_none_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(SourceError, match="for the third time"):
        SourceOptions(**options)  # type: ignore[arg-type]


def test_an_interrupted_script_is_read_as_far_as_it_came_if_that_is_asked_for(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\nraise KeyboardInterrupt\n", on_interrupt="draw")
    assert (reading.status, roots(reading)) == (130, ["y"])
    assert texts(reading, "warning") == [
        "Ctrl-C at line 4: this is as far as the script came; Ctrl-C again ends gviz at once"
    ]
    with pytest.raises(KeyboardInterrupt):
        folder.run("import torch\nraise KeyboardInterrupt\n", on_interrupt="draw")


def test_an_expression_has_no_use_for_them() -> None:
    notes = [
        note.text
        for note in read("y=x", SourceOptions(values={"x": 1}, until="3", watch="x"), say=lambda _: None).notes
    ]
    assert notes == ["--until 3, --watch x not used: an expression is computed as a whole; these are for scripts"]


def test_nothing_of_the_calls_is_left(folder: Folder) -> None:
    import builtins

    before = dir(builtins)
    folder.run(HEAD + "y = x * 2\ny.backward()\n", stop_at="backward")
    assert dir(builtins) == before


# The command line


WAITS = """\
import time
import torch
w = torch.tensor(1.0, requires_grad=True)
try:
    for i in range(100):
        loss = (w * 2 - 1) ** 2
        loss.backward()
        if i == 0:
            print("go", flush=True)
        time.sleep(1 if i == 0 else 100)
finally:
    print("tidy", flush=True)
    time.sleep({seconds})
"""


def interrupted(gviz: Program, *words: str, times: int = 1) -> tuple[int, str, str]:
    """The exit status and what was written after so many Ctrl-C."""
    line = [sys.executable, "-m", "gviz", *words]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        line, cwd=gviz.folder, env=clean_environment(gviz.home), stdout=pipe, stderr=pipe, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    if times == 2:
        assert process.stdout.readline() == "tidy\n"
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_ctrl_c_in_a_training_loop_draws_what_there_is(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(WAITS.format(seconds=0))
    status, out, err = interrupted(gviz, "render", "net.py", "-o", "net.svg")
    assert (status, out) == (130, "tidy\n")
    assert re.match(
        r"warning: Ctrl-C at line (9|10): this is as far as the script came; Ctrl-C again ends gviz at once\n", err
    )
    assert "<svg" in (gviz.folder / "net.svg").read_text()


def test_a_second_ctrl_c_ends_at_once(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(WAITS.format(seconds=100))
    start = time.monotonic()
    status, _, err = interrupted(gviz, "render", "net.py", "-o", "net.svg", times=2)
    assert (status, err) == (130, "")
    assert time.monotonic() - start < 50
    assert not (gviz.folder / "net.svg").exists()


@pytest.mark.parametrize(
    ("end", "status"), [("", 0), ("sys.exit(3)", 3), ("sys.exit('no')", 1), ("1 / 0", 1), ("sys.exit(-1)", 255)]
)
def test_run_has_the_output_and_the_status_of_the_script_and_draws_nothing(
    gviz: Program, end: str, status: int
) -> None:
    (gviz.folder / "net.py").write_text(f"import sys, torch\nprint(sys.argv[1:])\n{end}\n")
    done = gviz("run", "net.py", "--", "--epochs", "1")
    assert (done.status, done.out) == (status, "['--epochs', '1']\n")
    assert ("ZeroDivisionError" in done.err) is ("1 / 0" in end)
    assert ("no" in done.err) is ("'no'" in end)
    assert done.files() == ["net.py"]


def test_run_takes_a_script_and_nothing_else(gviz: Program) -> None:
    gviz("run", "y=x*2").assert_refused("gviz run takes a script", status=2)


@pytest.mark.parametrize("engine", ENGINES)
def test_trace_prints_what_each_line_gives_a_value_or_a_gradient_to(gviz: Program, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    program = """\
        import torch
        def f(a):
            c = a * 2
            return c
        x = torch.tensor(3.0, requires_grad=True)
        W = torch.zeros(100, 100)
        for i in range(5):
            y = f(x) + W[0, 0]
        y.backward()
        print("end")
        x.requires_grad_(False)
    """
    Folder(gviz.folder).write("net.py", program)
    done = gviz("run", "net.py", "--trace", "--engine", engine)
    assert (done.status, done.out) == (0, "end\n")
    assert [line for line in done.err.splitlines() if not line.startswith("engine")] == [
        "   5  x = 3  leaf, requires_grad",
        "   6  W  (100, 100)  no gradient",
        "   2  a = 3  leaf, requires_grad",
        *["   3  c = 6  MulBackward0", "   8  y = 6  AddBackward0"] * 3,
        "   9  x.grad = 2",
        "  11  x = 3  no gradient",
        "   3  ... 5 times in all, the first 3 are shown",
        "   8  ... 5 times in all, the first 3 are shown",
    ]


def test_trace_and_stop_at_go_together(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(HEAD + "for i in range(9):\n    y = x * 2\n    y.backward()\n")
    done = gviz("run", "net.py", "--trace", "--stop-at", "backward")
    assert done.err.splitlines()[-2:] == [
        "   5  x.grad = 2",
        "stopped after backward at line 5, the first time (--stop-at backward:2 is the second)",
    ]


@pytest.mark.parametrize("words", [["render", "-o", "y.svg"], ["steps", "-o", "y.html"], ["inspect"]])
def test_all_commands_that_run_scripts_stop_alike(gviz: Program, words: list[str]) -> None:
    (gviz.folder / "net.py").write_text(LOOP.format(caught="Exception"))
    command, *rest = words
    for option in (["--stop-at", "backward:2"], ["--until", "7:2"], ["--at", "7:2"]):
        done = gviz(command, "net.py", *rest, *option)
        assert done.status == 0, done.err
        assert "line 7" in done.err
        assert "time 2" in done.err
