"""Input that means harm, or has gone wrong: gviz still draws what there is, and says in words what is wrong."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program import Finished, Program, clean_environment
from scripts import HEAD, Folder, roots, texts

from gviz import cli
from gviz.cli import streams
from gviz.cli.values import read_values
from gviz.errors import FileError, SourceError
from gviz.sources import SourceOptions, files, read


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(Path())


def shell(gviz: Program, script: str, line: str) -> Finished:
    """Write net.py and run a line of a shell in which gviz is the program."""
    (gviz.folder / "net.py").write_text(HEAD + "y = x * 2\n" + script, encoding="utf-8")
    environment = clean_environment(gviz.home, PYTHON=sys.executable)
    line = f'gviz() {{ "$PYTHON" -m gviz "$@"; }}; {line}'
    done = subprocess.run(["bash", "-c", line], cwd=gviz.folder, env=environment, capture_output=True, timeout=60, check=False)
    return Finished(done.returncode, done.stdout, done.stderr.decode(errors="replace"), gviz.folder)


ODD_ERRORS = {
    "a text that exits": "class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E",
    "a text that interrupts": "class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise E",
    "notes that are none": "e = ValueError('a'); e.__notes__ = 5; raise e",
    "attributes that raise": "class E(Exception):\n    def __getattribute__(self, name): raise RuntimeError\nraise E",
    "a short place": "raise SyntaxError('a', (1, 2, 3, 4))",
    "no text as file": "e = SyntaxError('a'); e.filename = 5; e.text = 7; raise e",
    "gviz's own": "from gviz.errors import GvizError\nraise GvizError(5, place=7)",
    "an exit without a code": "class E(SystemExit): code = property(lambda e: 1 / 0)\nraise E(1)",
    "no lines": "def f(): 1 / 0\nf.__code__ = f.__code__.replace(co_linetable=b'')\nf()",
}


@pytest.mark.parametrize("script", ODD_ERRORS.values(), ids=ODD_ERRORS)
def test_an_odd_exception_is_the_scripts_and_the_graph_is_drawn(folder: Folder, script: str) -> None:
    reading = folder.run(HEAD + "y = x * 2\n" + script + "\n")
    assert reading.failed
    assert roots(reading) == ["y"]
    (error,) = texts(reading, "error")
    assert error.startswith(f"net.py:{3 + len(script.splitlines())}: ")


@pytest.mark.parametrize(
    "script", ["raise BrokenPipeError('mine')", "import os\nr, w = os.pipe(); os.close(r); os.write(w, b'x')"]
)
def test_a_broken_pipe_of_the_scripts_own_is_its_error(folder: Folder, script: str) -> None:
    reading = folder.run(HEAD + "y = x * 2\n" + script + "\n")
    assert reading.failed
    assert "BrokenPipeError" in texts(reading, "error")[0]


def test_a_reader_that_leaves_ends_a_script_in_silence(gviz: Program) -> None:
    script = "for i in range(100000): print(i)\nraise SystemExit(5)\n"
    done = shell(gviz, script, 'gviz render net.py -o y.dot | head -1; exit "${PIPESTATUS[0]}"')
    assert (done.status, done.out, done.err) == (0, "0\n", "")


def test_a_key_that_exits_when_it_is_shown_is_listed_by_its_type(folder: Folder) -> None:
    reading = folder.run(HEAD + "class K:\n    def __repr__(self): raise SystemExit(0)\nd = {K(): x * 2}\n")
    assert roots(reading) == ["d[<K>]"]


@pytest.mark.parametrize("code", ["torch.ones(2)", "torch.zeros(1)", "type('T', (), {'__eq__': lambda *a: 1 / 0})()", "0.0"])
def test_an_exit_with_anything_is_a_failure(folder: Folder, code: str) -> None:
    reading = folder.run(HEAD + f"y = x * 2\nimport sys\nsys.exit({code})\n")
    assert "the script ended itself with " in texts(reading, "error")[0]


@pytest.mark.parametrize("code", ["False", "None", "0"])
def test_an_exit_as_python_knows_success_is_one(folder: Folder, code: str) -> None:
    assert not folder.run(HEAD + f"y = x * 2\nimport sys\nsys.exit({code})\n").failed


LEFT_BEHIND = {
    "a module's name that is none": "sys.modules[5] = 3",
    "a module that raises": "class M:\n    @property\n    def __file__(self): raise OSError\nsys.modules['odd'] = M()",
    "another grad_fn": "torch.Tensor.grad_fn = property(lambda tensor: 1 / 0)",
    "no tensors": "torch.Tensor = None",
    "no modules": "import torch.nn\ntorch.nn, torch.autograd = None, None",
    "a trace function": "sys.settrace(lambda *a: 1 / 0)",
    "a profile function": "sys.setprofile(lambda *a: 1 / 0 if a[1] == 'call' else None)",
    "a timer": "import signal\nsignal.signal(signal.SIGALRM, lambda *a: 1 / 0)\nsignal.setitimer(signal.ITIMER_REAL, 0.05)",
    "another environment": "import os\nos.environ = {}",
}


@pytest.mark.parametrize("script", LEFT_BEHIND.values(), ids=LEFT_BEHIND)
def test_what_a_script_leaves_switched_on_does_not_cost_the_picture(folder: Folder, script: str) -> None:
    try:
        reading = folder.run("import sys\n" + HEAD + "y = x * 2\n" + script + "\n")
    finally:
        odd: tuple[Any, ...] = (5, "odd")
        for name in odd:
            sys.modules.pop(name, None)
    assert (reading.failed, roots(reading)) == (False, ["y"])


STREAMS = {
    "detached": "sys.stdout.detach()",
    "wrapped": "import io; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
}


@pytest.mark.parametrize("script", STREAMS.values(), ids=STREAMS)
def test_standard_output_that_a_script_wraps_still_takes_the_product(gviz: Program, script: str) -> None:
    done = shell(gviz, f"import sys\n{script}\n", "gviz render net.py")
    assert (done.status, done.out) == (0, "y.pdf\n")


@pytest.mark.parametrize(("script", "line"), [("", "2>/dev/full"), ("import sys; sys.stderr.close()", "")])
def test_talk_that_cannot_be_written_does_not_cost_the_picture(gviz: Program, script: str, line: str) -> None:
    done = shell(gviz, script + "\n", f"gviz render net.py -o y.dot {line}")
    assert (done.status, done.err) == (0, "")
    assert done.files() == ["net.py", "y.dot"]


def test_an_error_is_said_before_threads_are_waited_for(folder: Folder) -> None:
    script = "import threading, time\nthreading.Thread(target=time.sleep, args=(0.05,)).start()\n1 / 0\n"
    reading = folder.run(HEAD + "y = x * 2\n" + script)
    expected = "net.py:6: ZeroDivisionError: division by zero; waiting for the threads that it started"
    assert texts(reading, "warning") == [expected]


def test_a_long_error_is_cut(folder: Folder) -> None:
    with pytest.raises(SourceError) as caught:
        folder.run("raise ValueError('z' * 5000)")
    assert "... (5,000 characters in all)" in caught.value.what
    assert len(caught.value.what) < 2100


def test_control_characters_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    streams.complain("a\x1b[2J\rb\n\té")
    assert capsys.readouterr().err == "error: a\\x1b[2J\\rb\n\té\n"


@pytest.mark.parametrize("words", ["--help", "--version", "render --help"])
def test_help_on_a_full_disk_says_so(gviz: Program, words: str) -> None:
    done = shell(gviz, "", f"gviz {words} >/dev/full")
    assert (done.status, done.err) == (1, "error: cannot write to standard output: No space left on device\n")


def test_input_without_end_is_read_no_further_than_a_file_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    with open("/dev/zero", encoding="utf-8") as zeros, pytest.raises(FileError, match="<stdin> is larger than"):
        files.read_stdin(zeros)
    with pytest.raises(FileError, match="<stdin> is larger than"):
        files.read_stdin(io.StringIO("x" * 2000))


def test_completion_without_a_shell_is_a_wrong_use(gviz: Program) -> None:
    done = shell(gviz, "", "_GVIZ_COMPLETE=bash_complete gviz")
    assert done.status == 2
    assert "COMP_WORDS" in done.err


def test_a_library_that_cannot_be_loaded_is_no_bug_of_gvizs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise ImportError("a page\nOriginal error was: failed to map segment", name="numpy")

    monkeypatch.setattr(cli, "_invoke", fail)
    assert cli.run([]) == 1
    assert capsys.readouterr().err.startswith("error: a library that gviz needs cannot be loaded: failed to map segment\n")


def test_values_with_too_many_digits_or_cut_short_are_refused_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "v.json"
    file.write_text('{"x": ' + "1" * 5000 + "}", encoding="utf-8")
    with pytest.raises(FileError, match="too many digits"):
        read_values(str(file))
    file.write_text('{"x": 1,\n\n\n', encoding="utf-8")
    with pytest.raises(FileError) as caught:
        read_values(str(file))
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.text) == (1, '{"x": 1,')


def test_a_coding_line_that_is_wrong_is_shown(folder: Folder) -> None:
    with pytest.raises(FileError) as caught:
        folder.run("# a\n# -*- coding: no-such -*-\nx = 1\n")
    assert caught.value.report().startswith("net.py:2: unknown encoding: no-such\n  # -*- coding: no-such -*-\nsave it as")


def saved(**parts: object) -> str:
    return json.dumps({"format": "gviz-graph", "version": 1, "nodes": [], "edges": [], **parts})


LEAF = {"id": "n0", "kind": "leaf"}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"nodes": None}, '"nodes" is None, not a list'),
        ({"nodes": {}}, '"nodes" is {}, not a list'),
        ({"nodes": "abc"}, "\"nodes\" is 'abc', not a list"),
        ({"nodes": [5]}, 'item 0 of "nodes" is 5, not a node'),
        ({"nodes": [{"id": "n0"}]}, "node 'n0' has no kind"),
        ({"nodes": [{**LEAF, "attrs": 5}]}, "node 'n0' has 5 as its attrs"),
        ({"nodes": [{**LEAF, "colour": "red"}]}, "node 'n0' has a field 'colour', which is unknown"),
        ({"nodes": [LEAF], "edges": [{"source": "n0", "target": "n0", "slot": "0"}]}, "edge n0 -> n0 has '0' as its slot"),
        ({"nodes": [LEAF], "roots": 5}, '"roots" is 5, not a list'),
        ({}, "g.json has no nodes: there is nothing to draw"),
    ],
)
def test_a_saved_graph_that_is_wrong_says_which_part(folder: Folder, parts: dict[str, object], said: str) -> None:
    folder.write("g.json", saved(**parts))
    with pytest.raises(SourceError) as caught:
        read("g.json")
    assert said in caught.value.what


def test_a_binary_file_is_no_saved_graph(folder: Folder) -> None:
    (folder.path / "g.json").write_bytes(b"\0\1")
    with pytest.raises(FileError, match=r"g\.json is a binary file, not a saved graph"):
        read("g.json")


def test_half_a_pair_as_a_name_is_written_as_its_code(gviz: Program) -> None:
    row = {"name": "\ud800", "shape": [], "dtype": "float32", "requires_grad": True, "is_leaf": True, "retains_grad": False}
    (gviz.folder / "g.json").write_text(saved(tensors=[{**row, "grad_fn": None, "value": 1.0}]), encoding="utf-8")
    done = shell(gviz, "", "gviz inspect g.json")
    assert done.status == 0, done.err
    assert "\\ud800" in done.out


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("y=x.reshape(99999999999999999999)", "sizes, dims and indices are small whole numbers"),
        ("y=x[99999999999999999999]", "sizes, dims and indices are small whole numbers"),
        ("y=x*99999999999999999999", "write it as a decimal number, as in 1e30"),
        (
            "y=nothinglikeit(x)",
            "functions are called as in PyTorch, exp(x) or relu(x); to multiply, write * before the bracket",
        ),
        ("y=x.nothinglikeit()", "tensors have PyTorch's methods, as in x.exp() or x.sum()"),
        ("y=x*٣", "write y=x*3"),
    ],
)
def test_the_hint_of_a_refusal_can_be_followed(expression: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(expression, SourceOptions(values={"x": "[1, 2]"}))
    assert caught.value.hint == hint


def test_a_number_of_too_many_digits_is_marked_where_it_stands() -> None:
    with pytest.raises(SourceError, match="too many digits") as caught:
        read("y=x*" + "1" * 5000)
    assert caught.value.place is not None
    assert (caught.value.place.column, caught.value.place.length) == (4, 5000)


def test_a_value_after_two_equals_signs_is_a_wrong_use(gviz: Program) -> None:
    gviz("render", "y=x*2", "x==2").assert_refused("== compares. Write x=2", status=2)
