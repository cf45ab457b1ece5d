"""The system's own dot, and what Graphviz's library writes to standard error."""

from __future__ import annotations

import subprocess
import sys

import graphviz
import pytest

from gviz.layout import NoEngineError, system

TALK = """
import os, sys
from gviz.layout.talk import overheard
if sys.argv[1] == "closed":
    sys.stderr = None
else:
    sys.stderr.write("before, ")
with overheard() as lines:
    os.write(2, b"Warning: one\\nWarning: two\\n")
    if sys.stderr is not None:
        sys.stderr.flush()
os.write(2, b"after")
assert lines == ["Warning: one", "Warning: two"], lines
"""


@pytest.mark.parametrize(("state", "written"), [("open", "before, after"), ("closed", "after")])
def test_what_the_library_writes_is_heard_and_python_s_own_text_stays(state: str, written: str) -> None:
    done = subprocess.run([sys.executable, "-c", TALK, state], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, written)


def test_the_system_s_dot_has_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphviz, "version", lambda: (2, 43, 0))
    assert system.system_version() == "system dot 2.43.0"


@pytest.mark.parametrize("error", [graphviz.ExecutableNotFound(["dot"]), RuntimeError("no version"), OSError()])
def test_a_system_without_dot_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def version() -> None:
        raise error

    monkeypatch.setattr(graphviz, "version", version)
    with pytest.raises(NoEngineError, match="there is no dot program") as caught:
        system.system_version()
    assert caught.value.hint
