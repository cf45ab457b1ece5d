"""Wrong input: each gets a sentence and a status, no traceback, and leaves no file behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from program import Program, clean_environment, python


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        (["y=(x+w)*loog(w)"], ["loog", "did you mean", "log", "^"]),
        (["y=(x+w"], ["y=(x+w", "^"]),
        (["y=1/2x"], ["2*x", "^"]),
        (["y=A@B", "A=ones(2,3)", "B=ones(2,3)"], ["mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", "^"]),
        (["y=x+w", "x=[1,[2]]"], ["[1,[2]]"]),
        (["y=x", "x=ones(1000000,1000000)"], ["1000000"]),
        (["y=x*w", "--frozen", "x,w"], ["x", "w", "requires grad"]),
        (["   "], ["empty"]),
        (["y=x.__class__"], ["__class__", "^"]),
        (["y=x*9**9**9**9"], ["^"]),
        (["y=x", "--root", "z"], ["z", "y"]),
        (["y=x", "--dtype", "float33"], ["float33"]),
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


def test_a_value_that_is_not_used_and_one_that_is_missing_are_said(gviz: Program) -> None:
    done = gviz("render", "y=log(x)*w", "x=-1", "z=3", "-o", "-")
    assert done.status == 0
    assert "nan" in done.out
    first, second, *others = done.err.splitlines()
    assert first == "w not given: 1.0 used"
    assert second.startswith("warning: z=3 is not used")
    assert "warning: a = log(x) is NaN: the first tensor that is not finite" in others


@pytest.mark.parametrize(
    ("name", "content", "phrase"),
    [
        ("net.py", b"\x7fELF\0\0\1\xff", "net.py is a picture or a binary file"),
        ("g.json", b'{"nodes": 3}', "not a graph of gviz"),
    ],
)
def test_a_file_that_is_not_a_source_is_refused(gviz: Program, name: str, content: bytes, phrase: str) -> None:
    (gviz.folder / name).write_bytes(content)
    gviz("render", name).assert_refused(phrase, name, files=(name,))


def test_a_folder_is_not_a_source(gviz: Program) -> None:
    (gviz.folder / "nets").mkdir()
    gviz("render", "nets").assert_refused("nets is a folder", files=("nets",))


@pytest.mark.parametrize("file", ["net.py", "link.svg"])
def test_the_source_is_not_replaced_by_its_picture(gviz: Program, file: str) -> None:
    (gviz.folder / "net.py").write_text("import torch")
    (gviz.folder / "link.svg").symlink_to("net.py")
    done = gviz("render", "net.py", "--format", "svg", "-o", file)
    done.assert_refused(f"-o {file} is SOURCE", "another name", files=("link.svg", "net.py"))
    assert (gviz.folder / "net.py").read_text() == "import torch"


# What is written, and where to


@pytest.mark.parametrize(
    ("output", "phrases"),
    [
        ("y.xyz", ["xyz", "pdf", "svg"]),
        ("y.pfd", ["pfd", "pdf"]),
        ("y", ["suffix"]),
        ("y.md", ["gviz explain SOURCE -o y.md", "svg"]),
        ("y.odp", ["pptx", "--fit slide", "gviz steps SOURCE -o y.pdf"]),
        ("y.mp4", ["gviz steps SOURCE -o y.gif"]),
        ("y.xlsx", ["gviz inspect SOURCE"]),
        ("new/dir/y.xyz", ["xyz"]),
        (".", [". is a folder", "graph.pdf", "./, it is for TensorBoard"]),
        ("/proc/y.pdf", ["/proc"]),
        ("y" * 300 + ".pdf", ["y.pdf"]),
    ],
)
def test_an_output_that_cannot_be_is_refused(gviz: Program, output: str, phrases: list[str]) -> None:
    gviz("render", "y=x", "x=1", "-o", output).assert_refused(*phrases)


def test_the_formats_that_are_named_can_be_made_here(gviz: Program) -> None:
    works = {line.split()[0] for line in gviz("formats").out.splitlines()[1:] if "nothing here" not in line}
    listed = gviz("render", "y=x", "-o", "y.xyz").err.partition("The formats are ")[2].rstrip(".\n").split(", ")
    assert set(listed) == works
    each = gviz("steps", "y=x", "-o", "y.xyz").err.partition("one for each: ")[2].rstrip(".\n").split(", ")
    assert set(each) <= works


def test_a_picture_that_cannot_be_made_leaves_no_folder(gviz: Program) -> None:
    gviz("render", "y=x+", "-o", "new/dir/y.pdf").assert_refused("there is nothing after +")
    gviz("render", "y=log(x)*A@B", "-o", "new/y.pdf").assert_refused()
    assert gviz("render", "y=x", "x=1", "-o", "new/dir/y.svg").status == 0
    assert (gviz.folder / "new" / "dir" / "y.svg").exists()


@pytest.mark.parametrize("command", ["steps", "render", "explain"])
def test_a_full_disk_leaves_no_folder(gviz: Program, command: str) -> None:
    name = {"steps": "new/dir/", "render": "new/dir/y.svg", "explain": "new/dir/y.txt"}[command]
    line = f'trap "" XFSZ; ulimit -f 0; exec "$0" -m gviz {command} "y=x*w" x=1 w=2 -o {name}'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable],
        cwd=gviz.folder,
        env=clean_environment(gviz.home),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"File too large" in done.stderr
    assert not list(gviz.folder.iterdir())


@pytest.mark.parametrize("seconds", [0.01, 0.03, 0.06, 0.1, 0.2, 0.4])
def test_an_interrupt_leaves_neither_a_traceback_nor_half_a_file(gviz: Program, seconds: float) -> None:
    chain = "y=x" + "*x" * 2_000
    begun = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)"  # as importing gviz does for the command
    start = f"{begun}; from gviz.__main__ import main; print('started', flush=True); main()"
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


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["render", "help"], "gviz render --help has an example."),
        (["render", "y=x*w", "–-view"], "An option begins with two hyphens, and no dash: --view"),
        (["render", "y=x*w", "—view"], "An option begins with two hyphens, and no dash: --view"),
        (["render", "y=x*w", "–o"], "Write -o"),
        (["inspect", "steps"], '"steps" is a command. gviz steps --help has an example.'),
        (["render", "format"], '"format" is an option. Write --format'),
    ],
)
def test_a_word_alone_that_is_a_command_or_an_option_is_no_expression(
    gviz: Program, words: list[str], phrase: str
) -> None:
    gviz(*words).assert_refused(phrase, status=2)


def test_gviz_sets_what_ctrl_c_does_before_it_loads_anything_only_as_a_command() -> None:
    code = (
        "import sys; sys.argv = [{!r}]; import gviz, signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_DFL)"
    )
    said = [python(code.format(name)).stdout.strip() for name in ("/usr/bin/gviz", "gviz.exe", "train.py", "-m", "")]
    assert said == ["True", "True", "False", "False", "False"]
