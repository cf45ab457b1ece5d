"""Input that means harm, or has gone wrong: gviz still draws what there is, and says in words what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from program import Finished, Program, clean_environment
from scripts import HEAD, Folder, roots, texts

from gviz.cli import streams
from gviz.errors import SourceError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(Path())


def shell(gviz: Program, script: str, line: str) -> Finished:
    """Write net.py and run a line of a shell in which $GVIZ is the program."""
    (gviz.folder / "net.py").write_text(HEAD + "y = x * 2\n" + script, encoding="utf-8")
    environment = clean_environment(gviz.home, GVIZ=f"{sys.executable} -m gviz")
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
    done = shell(gviz, script, '$GVIZ render net.py -o y.dot | head -1; exit "${PIPESTATUS[0]}"')
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
        for name in (5, "odd"):
            sys.modules.pop(name, None)  # type: ignore[call-overload]
    assert (reading.failed, roots(reading)) == (False, ["y"])


STREAMS = {
    "detached": "sys.stdout.detach()",
    "wrapped": "import io; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
}


@pytest.mark.parametrize("script", STREAMS.values(), ids=STREAMS)
def test_standard_output_that_a_script_wraps_still_takes_the_product(gviz: Program, script: str) -> None:
    done = shell(gviz, f"import sys\n{script}\n", "$GVIZ render net.py")
    assert (done.status, done.out) == (0, "y.pdf\n")


@pytest.mark.parametrize(("script", "line"), [("", "2>/dev/full"), ("import sys; sys.stderr.close()", "")])
def test_talk_that_cannot_be_written_does_not_cost_the_picture(gviz: Program, script: str, line: str) -> None:
    done = shell(gviz, script + "\n", f"$GVIZ render net.py -o y.dot {line}")
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
