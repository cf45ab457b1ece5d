"""Wrong input: each gets a sentence and a status, no traceback, and leaves no file behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from program import Program, clean_environment


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        (["y=(x+w)*lg(w)"], ["lg", "did you mean", "log"]),
        (["y=foo.bar"], ["foo"]),
        (["y=(x+w"], ["y=(x+w", "^"]),
        (["y=x+"], ["^"]),
        (["y=exp(x, w, x)"], ["exp", "^"]),
        (["y=A@B", "A=ones(2,3)", "B=ones(2,3)"], ["mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", "^"]),
        (["y=x+w", "x=abc"], ["abc"]),
        (["y=x+w", "x=[1,[2]]"], ["[1,[2]]"]),
        (["y=x*w", "--frozen", "x,w"], ["x", "w", "requires grad"]),
        ([""], ["empty"]),
        (["   "], ["empty"]),
        (["y=x.__class__"], ["__class__", "^"]),
        (["y=x.T.__init__"], ["__init__"]),
        (["import os"], ["import"]),
        (["y=__import__('os')"], ["__import__"]),
        (["y=lambda x: x"], ["^"]),
        (["y=[x for x in w]"], ["^"]),
        (["y=x*9**9**9**9"], ["^"]),
        (["y=x*ones(1000000,1000000)"], ["1000000"]),
        (["y=x", "x=ones(1000000,1000000)"], ["1000000"]),
        (["y=2x"], ["2*x", "^"]),
        (["y=x^2"], ["**", "^"]),
        (["y=sin x"], ["sin(x)", "^"]),
        (["y==x"], ["="]),
        (["y=（x+w）"], ["(", "^"]),
        (["y=x×w"], ["*", "^"]),
        (["y=x", "--root", "z"], ["z", "y"]),
        (["y=x", "--dtype", "float33"], ["float33"]),
        (["y=x", "--frozen", "q"], ["q"]),
        (["nothere.py"], ["nothere.py"]),
        (["nothere.json"], ["nothere.json"]),
    ],
)
@pytest.mark.parametrize("command", ["render", "inspect"])
def test_a_wrong_source_is_refused(gviz: Program, command: str, words: list[str], phrases: list[str]) -> None:
    done = gviz(command, *words)
    done.assert_refused(*phrases)
    assert done.out == ""


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("y=" + "+".join(["x"] * 50_000), id="100,000 characters"),
        pytest.param("y=" + "(" * 10_000 + "x" + ")" * 10_000, id="10,000 brackets"),
        pytest.param("y=" + "-" * 20_000 + "x", id="20,000 minus signs"),
        pytest.param("y=" + "[" * 5_000, id="open brackets"),
    ],
)
def test_a_huge_expression_is_refused_in_words(gviz: Program, expression: str) -> None:
    done = gviz("render", expression, "-o", "-")
    done.assert_refused("error: ", "write ", "gviz render file.py")
    assert done.out == ""
    assert max(map(len, done.err.splitlines())) < 300


def test_a_value_for_a_name_that_is_not_used_is_a_warning(gviz: Program) -> None:
    done = gviz("render", "y=x+w", "x=1", "w=1", "z=3", "-o", "-")
    assert done.status == 0
    assert "warning: " in done.err
    assert "z" in done.err


def test_values_that_were_not_given_are_said_to_be_one(gviz: Program) -> None:
    done = gviz("render", "y=x+w", "x=2", "-o", "-")
    assert done.status == 0
    assert "w" in done.err
    assert "1.0" in done.err


def test_log_of_a_negative_number_is_drawn_with_a_warning(gviz: Program) -> None:
    done = gviz("render", "y=log(x)", "x=-1", "-o", "-")
    assert done.status == 0
    assert "nan" in done.out
    assert "warning: " in done.err


def test_a_folder_is_no_source(gviz: Program) -> None:
    (gviz.folder / "nets").mkdir()
    gviz("render", "nets").assert_refused("nets is a folder", files=("nets",))


def test_a_binary_file_is_no_script(gviz: Program) -> None:
    (gviz.folder / "net.py").write_bytes(b"\x7fELF\0\0\1\xff")
    gviz("render", "net.py").assert_refused("net.py is a binary file", files=("net.py",))


def test_json_that_is_no_graph_is_refused(gviz: Program) -> None:
    (gviz.folder / "g.json").write_text('{"nodes": 3}')
    gviz("render", "g.json").assert_refused("g.json", "not a graph of gviz", files=("g.json",))


def test_closed_standard_input_is_refused(gviz: Program) -> None:
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m gviz render - -o - <&-"],
        cwd=gviz.folder,
        env=clean_environment(gviz.home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "standard input" in done.stderr
    assert "Traceback" not in done.stderr


# What is written, and where to


@pytest.mark.parametrize(
    ("output", "phrases"),
    [
        ("y.xyz", ["xyz", "pdf", "svg"]),
        ("y.pfd", ["pfd", "pdf"]),
        ("y", ["suffix"]),
        ("nowhere/y.pdf", ["nowhere"]),
        (".", [". is a folder", "graph.pdf", "./, it is for TensorBoard"]),
        ("/proc/y.pdf", ["/proc"]),
        ("y" * 300 + ".pdf", ["y.pdf"]),
    ],
)
def test_an_output_that_cannot_be_is_refused(gviz: Program, output: str, phrases: list[str]) -> None:
    gviz("render", "y=x", "x=1", "-o", output).assert_refused(*phrases)


def test_an_output_that_may_not_be_written_is_refused(gviz: Program) -> None:
    if os.geteuid() == 0:
        target = "/proc/self/y.pdf"
    else:
        (gviz.folder / "locked").mkdir(mode=0o500)
        target = "locked/y.pdf"
    done = gviz("render", "y=x", "x=1", "-o", target)
    assert done.status == 1
    assert "Traceback" not in done.err


def test_a_full_disk_is_an_error_and_no_traceback(gviz: Program) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        for words in (["render", "y=x", "-o", "-"], ["inspect", "y=x"], ["--help"]):
            done = subprocess.run(
                [sys.executable, "-m", "gviz", *words],
                cwd=gviz.folder,
                env=clean_environment(gviz.home),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            assert done.returncode == 1, words
            assert "No space left" in done.stderr
            assert "Traceback" not in done.stderr
            assert "Exception ignored" not in done.stderr


def shell(gviz: Program, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which gviz is gviz."""
    script = f"gviz() {{ '{sys.executable}' -m gviz \"$@\"; }}; {line}"
    return subprocess.run(
        ["sh", "-c", script], cwd=gviz.folder, env=clean_environment(gviz.home), capture_output=True, text=True, check=False
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
    done = shell(gviz, line)
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == 0


def test_closed_standard_output_is_an_error_in_words(gviz: Program) -> None:
    done = shell(gviz, "gviz render 'y=x*w' x=1 w=1 -o - >&-")
    assert done.returncode == 1
    assert "standard output is closed" in done.stderr


def test_closed_standard_error_does_not_stop_the_picture(gviz: Program) -> None:
    done = shell(gviz, "gviz render 'y=x*w' -o - 2>&-")
    assert done.returncode == 0
    assert done.stdout.startswith("digraph")


@pytest.mark.parametrize("seconds", [0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5])
def test_an_interrupt_leaves_neither_a_traceback_nor_half_a_file(gviz: Program, seconds: float) -> None:
    chain = "y=x" + "*x" * 2_000
    start = "import sys; from gviz.__main__ import main; print('started', flush=True); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, "render", chain, "x=1", "-o", "y.pdf"],
        cwd=gviz.folder,
        env=clean_environment(gviz.home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert "ignored" not in err
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert {path.name for path in gviz.folder.iterdir()} <= {"y.pdf"}
    if (gviz.folder / "y.pdf").exists():
        assert (gviz.folder / "y.pdf").read_bytes().rstrip().endswith(b"%%EOF")


def test_gviz_s_own_bug_is_owned_up_to(gviz: Program) -> None:
    breakage = gviz.home / "sitecustomize.py"
    breakage.write_text("import gviz.cli.values\ngviz.cli.values.read_words = lambda *a: 1 / 0\n")
    from program import ROOT

    path = {"PYTHONPATH": f"{gviz.home}{os.pathsep}{ROOT}"}
    done = gviz("render", "y=x", env=path)
    assert done.status == 1
    assert "gviz has a bug: ZeroDivisionError: division by zero" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in gviz("render", "y=x", env={**path, "GVIZ_DEBUG": "1"}).err
