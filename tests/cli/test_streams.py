"""Standard streams that are closed, full, wrapped or left by their reader: the picture is drawn, or the reason said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from program import Finished, Program, clean_environment
from scripts import HEAD

from gviz import cli
from gviz.cli import streams
from gviz.wiring import Wires

EMPTY = {"format": "gviz-graph", "version": 2, "nodes": [], "edges": []}


def shell(gviz: Program, line: str, script: str | None = None) -> Finished:
    """Write net.py, if there is a script, and run a line of a shell in which gviz is the program."""
    if script is not None:
        (gviz.folder / "net.py").write_text(f"{HEAD}y = x * 2\n{script}\n", encoding="utf-8")
    environment = clean_environment(gviz.home, PYTHON=sys.executable)
    line = f'gviz() {{ "$PYTHON" -m gviz "$@"; }}; {line}'
    done = subprocess.run(
        ["bash", "-c", line], cwd=gviz.folder, env=environment, capture_output=True, timeout=60, check=False
    )
    return Finished(done.returncode, done.stdout, done.stderr.decode(errors="replace"), gviz.folder)


def test_a_reader_that_leaves_ends_a_script_in_silence(gviz: Program) -> None:
    script = "for i in range(100000): print(i)\nraise SystemExit(5)\n"
    done = shell(gviz, 'gviz render net.py -o y.dot | head -1; exit "${PIPESTATUS[0]}"', script)
    assert (done.status, done.out, done.err) == (0, "0\n", "")


def test_standard_output_that_a_script_wraps_still_takes_the_product(gviz: Program) -> None:
    wrapped = "import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\n"
    done = shell(gviz, "gviz render net.py", wrapped)
    assert (done.status, done.out) == (0, "y.pdf\n")


@pytest.mark.parametrize(("script", "line"), [("", "2>/dev/full"), ("import sys; sys.stderr.close()", "")])
def test_talk_that_cannot_be_written_does_not_cost_the_picture(gviz: Program, script: str, line: str) -> None:
    done = shell(gviz, f"gviz render net.py -o y.dot {line}", script)
    assert (done.status, done.err) == (0, "")
    assert done.files() == ["net.py", "y.dot"]


def test_control_characters_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    streams.complain("a\x1b[2J\rb\n\té")
    assert capsys.readouterr().err == "error: a\\x1b[2J\\rb\n        é\n"


@pytest.mark.parametrize("words", ["--help", "--version", "render --help", "render y=x -o -", "inspect y=x"])
def test_a_full_disk_is_an_error_in_a_line(gviz: Program, words: str) -> None:
    done = shell(gviz, f"gviz {words} >/dev/full")
    assert done.status == 1
    assert done.err.removeprefix("x not given: 1.0 used\n") == (
        "error: cannot write to standard output: No space left on device\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "gviz render 'y=x*w' -o - | head -1",
        "gviz inspect 'y=x*w' --json | head -c 1",
        "gviz render 'y=x*w' x=1 w=1 -o - | true",
        "gviz formats | true",
        "gviz --help | true",
        "(gviz render 'y=x*w' -o - 2>&1) | true",
    ],
)
def test_a_closed_pipe_is_silent(gviz: Program, line: str) -> None:
    done = shell(gviz, f'{line}; exit "${{PIPESTATUS[0]}}"')
    assert (done.status, done.err.removeprefix("x, w not given: 1.0 used\n")) == (0, "")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("gviz render 'y=x' x=1 -o - >&-", "error: standard output is closed\nname a file with -o FILE\n"),
        (
            "gviz why 'y=x' x=1 >&-",
            "error: standard output is closed\nleave it open, or send it to a file with > FILE\n",
        ),
        ("gviz render - <&-", "error: standard input cannot be read: it is closed\n"),
    ],
)
def test_a_closed_stream_that_is_needed_is_an_error(gviz: Program, line: str, error: str) -> None:
    done = shell(gviz, line)
    assert (done.status, done.err) == (1, error)


def test_closed_standard_error_does_not_stop_the_picture(gviz: Program) -> None:
    done = shell(gviz, "gviz render 'y=x*w' -o - 2>&-")
    assert done.status == 0
    assert done.out.startswith("digraph")


def test_completion_without_a_shell_is_a_wrong_use(gviz: Program) -> None:
    done = shell(gviz, "_GVIZ_COMPLETE=bash_complete gviz")
    assert done.status == 2
    assert "COMP_WORDS" in done.err


def test_a_library_that_cannot_be_loaded_is_not_a_bug_of_gviz(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise ImportError("a page\nOriginal error was: failed to map segment", name="numpy")

    monkeypatch.setattr(cli, "_invoke", fail)
    assert cli.run([]) == 1
    assert capsys.readouterr().err.startswith(
        "error: a library that gviz needs cannot be loaded: failed to map segment\n"
    )


def test_half_a_pair_as_a_name_is_written_as_its_code(gviz: Program) -> None:
    row = {
        "name": "\ud800",
        "numbers": {"shape": [], "dtype": "float32", "elements": [1.0]},
        "requires_grad": True,
        "is_leaf": True,
        "retains_grad": False,
    }
    graph = {**EMPTY, "tensors": [{**row, "grad_fn": None}]}
    (gviz.folder / "g.json").write_text(json.dumps(graph), encoding="utf-8")
    done = shell(gviz, "gviz inspect g.json")
    assert done.status == 0, done.err
    assert "\\ud800" in done.out


def test_a_picture_larger_than_a_screen_says_what_draws_less(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nx = torch.ones(1, requires_grad=True)\ny = x\nfor _ in range(98): y = y.exp()\n"
    )
    told = "the graph has 101 boxes: --by statement, or --root NAME, draws fewer; -o graph.txt is a tree of text\n"
    assert gviz("render", "net.py", "-o", "y.svg").err.endswith(told)
    for other in (["-o", "y.dot"], ["-o", "y.svg", "--by", "statement"]):
        assert told not in gviz("render", "net.py", *other).err
    gviz("render", "net.py", "-o", "y.json")
    graph = json.loads((gviz.folder / "y.json").read_text())
    (gviz.folder / "bare.json").write_text(
        json.dumps({**graph, "nodes": [{**node, "place": None} for node in graph["nodes"]]})
    )
    done = gviz("render", "bare.json", "-o", "y.svg")  # which has no statements, nor another root
    assert done.err == told.replace("--by statement, or --root NAME,", "--max-nodes N")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_is_cut_short_is_an_error(gviz: Program, unbuffered: str) -> None:
    done = shell(gviz, f"export PYTHONUNBUFFERED={unbuffered}; (ulimit -f 8; gviz ops --json) > ops.json")
    assert (done.status, done.err) == (1, "error: cannot write to standard output: File too large\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "words", [["ops", "--json"], ["render", "y=x*w*w*w*w", "--scale", "3", "-o", "/dev/stdout", "--format", "png"]]
)
def test_a_pipe_that_does_not_block_gets_all(gviz: Program, words: list[str], unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    environment = clean_environment(gviz.home, PYTHONUNBUFFERED=unbuffered)
    with open(reading, "rb") as pipe:
        program = subprocess.Popen(
            [sys.executable, "-m", "gviz", *words], stdout=writing, cwd=gviz.folder, env=environment
        )
        os.close(writing)
        time.sleep(1)  # longer than it takes to fill the pipe
        out = pipe.read()
    assert program.wait(60) == 0
    assert len(out) > 2**16
    assert out == gviz(*words).raw


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("ulimit -f 1; gviz render y=x x=1 -o y.svg", "cannot write y.svg: File too large"),
        ("ulimit -f 1; gviz steps y=x*w x=1 w=1 -o y.html", "cannot write y.html: File too large"),
        ("ulimit -f 1; gviz render y=x x=1 -o y.png", "cannot write y.png: File too large"),
    ],
)
def test_a_picture_that_the_system_takes_no_more_of_is_named(gviz: Program, line: str, error: str) -> None:
    done = shell(gviz, f"({line})")
    assert (done.status, done.err, done.files()) == (1, f"error: {error}\n", [])


def test_too_many_open_files_are_said_in_a_sentence(gviz: Program) -> None:
    done = shell(
        gviz, "gviz render net.py -o y.svg", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))"
    )
    assert (done.status, done.files()) == (1, ["net.py"])
    assert done.err.endswith(
        "error: gviz can open no more files: close those that a script has left open, or raise the limit (ulimit -n)\n"
    )


@pytest.mark.parametrize("files", [6, 8, 10])
def test_a_picture_that_may_open_few_files_is_refused_in_a_sentence(gviz: Program, files: int) -> None:
    done = shell(gviz, f'ulimit -n {files}; exec "$PYTHON" -m gviz render y=x*2 x=1 -o y.svg')
    assert (done.status, done.files()) == (1, [])
    assert done.err.endswith(
        "Too many open files\nclose those that a script has left open, or raise the limit (ulimit -n)\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_a_bar_says_what_takes_longer_than_a_second_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(os, "dup", lambda _: slave)
    shown = streams.Stages()
    shown.PATIENCE = 0.05
    for name in ("reading", "layout"):
        shown.tell(name)
        time.sleep(1)
    shown.tell("")
    err = os.read(master, 100_000).decode()
    assert "reading" in err
    assert "layout" in err
    assert "\x1b[?25l" not in err  # the cursor stays, since Ctrl-C would not bring it back
    assert shown.bar is None


def test_the_wait_for_the_bar_begins_once_however_many_stages_there_are() -> None:
    shown = streams.Stages()
    shown.tell("reading")
    timer = shown.timer
    shown.tell("layout")
    shown.tell("")
    assert shown.timer is timer


def test_there_is_no_bar_where_standard_error_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    before = Wires.stage
    with streams.stages():
        assert Wires.stage is before
    assert not capfd.readouterr().err


def test_what_is_printed_ends_the_bar_and_a_block_inside_a_block_has_none_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda stream: stream is sys.stderr)
    with streams.stages():
        shown = Wires.stage.__self__  # type: ignore[attr-defined]
        with streams.stages():
            Wires.stage("reading")
        assert shown.name == "reading"
        streams.talk("a note\n")
        assert not shown.name
        Wires.stage("computing")
        streams.write_product("")
        assert not shown.name
