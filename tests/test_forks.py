"""A command in a fork is what it would be in an interpreter of its own, and no other command meets what it leaves behind."""

from __future__ import annotations

import pytest
from program import ROOT, Program, python

OWN = {"PYTHONHASHSEED": "0"}
"""A variable that Python reads as it starts: a command with it gets an interpreter of its own."""

SWITCHES = """
import os, sys, threading, warnings
import torch, beside
x = torch.tensor(2.0, requires_grad=True)
y = x * x
print(sys.argv, os.getcwd() == os.path.dirname(os.path.abspath(__file__)), sorted(os.environ), __name__, sys.path[0])
print(torch.is_grad_enabled(), torch.get_default_dtype(), beside.count, threading.active_count(), os.environ.get("LEFT"))
beside.count += 1
os.environ["LEFT"] = "behind"
os.chdir("/")
warnings.simplefilter("ignore")
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.Tensor.backward = None
"""


@pytest.mark.parametrize(
    "words",
    [
        ("render", "y=x*w", "x=2", "-o", "-"),
        ("inspect", "-", "--json"),
        ("render", "net.py", "-o", "-", "--", "a", "b"),
        ("render", "y=x*"),
        ("render", "-o"),
        ("ops", "MulBackward0"),
        ("static", "y=x*w"),
    ],
    ids=" ".join,
)
def test_a_fork_does_what_an_interpreter_does(gviz: Program, words: tuple[str, ...]) -> None:
    """An interpreter has loaded nothing: what a command forgets to import is missed there, and in no fork."""
    (gviz.folder / "net.py").write_text(SWITCHES, encoding="utf-8")
    (gviz.folder / "beside.py").write_text("count = 0\n", encoding="utf-8")
    expected = gviz(*words, stdin="y=x*x", env=OWN)
    expected_err = expected.err.replace("'PYTHONHASHSEED', ", "")
    for _ in range(2):
        done = gviz(*words, stdin="y=x*x")
        assert (done.status, done.raw, done.err) == (expected.status, expected.raw, expected_err)


@pytest.mark.parametrize(("end", "status"), [("os._exit(7)", 7), ("os.kill(os.getpid(), 9)", -9)])
def test_a_script_may_end_its_process(gviz: Program, end: str, status: int) -> None:
    (gviz.folder / "net.py").write_text(f"import os\nprint('said', flush=True)\n{end}\n", encoding="utf-8")
    done = gviz("render", "net.py", "-o", "y.dot")
    assert (done.status, done.raw, done.err) == (status, b"said\n", "")
    assert gviz("--version").status == 0


def test_nothing_tells_a_command_that_a_script_has_run_before_it() -> None:
    """It would take Python apart at its end, which takes longer than most commands do."""
    done = python(f"""
        import sys
        sys.path.insert(0, {str(ROOT / "tests")!r})
        import forks
        forks.load()
        forks.read_operations()
        print(sorted(sys.modules.keys() & forks.FORGOTTEN))
    """)
    assert (done.stdout, done.stderr) == ("[]\n", "")
