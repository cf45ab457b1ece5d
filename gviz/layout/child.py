"""A picture drawn by another process of gviz.

For when this one has settled on its fonts and the text needs others, and when the graph is so large that memory may not
suffice, at which Graphviz ends its process.
"""

from __future__ import annotations

import os
import re
import sys

from gviz.layout import DrawingError
from gviz.layout.embedded import draw_here, refusal
from gviz.layout.talk import pass_on

__all__ = ["draw_in_child", "main"]

_REFUSED = 3
"""Exit status where Graphviz has said what is wrong; all others but 0 mean that the process broke down."""

_NO_MEMORY = re.compile(r"memory|MemoryError|bad_alloc|malloc", re.IGNORECASE)

_DIE_WITH_PARENT = 1
"""Linux's PR_SET_PDEATHSIG."""


def draw_in_child(dot: bytes, output: str, program: str, *, wide: bool) -> bytes:
    """Return what :func:`gviz.layout.embedded.draw` makes.

    Raises:
        OSError: no other process can be started.
        NoEngineError: Graphviz does not know the format.
        DrawingError: the other process could not draw this, or broke down.
    """
    import subprocess

    words = [output, program, "wide" if wide else ""]
    done = subprocess.run(  # noqa: S603 gviz itself, with three words of its own
        [sys.executable or "python3", "-P", "-c", "from gviz.layout.child import main; main()", *words],
        input=dot,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode not in (0, _REFUSED):
        raise _breakdown(done.returncode, said)
    errors = pass_on(said.splitlines())
    if done.returncode == _REFUSED:
        raise refusal(errors, output)
    return done.stdout


def _breakdown(status: int, said: str) -> DrawingError:
    """Return what has become of a process that ended early; Linux ends the largest one by itself, with signal 9."""
    last = said.strip().rpartition("\n")[2]
    if status == -9 or _NO_MEMORY.search(said):
        what = "Graphviz ran out of memory on this graph"
    elif status < 0:
        what = f"Graphviz broke down on this graph (signal {-status})"
    else:
        what = f"Graphviz gave up on this graph without a picture ({last or f'exit status {status}'})"
    return DrawingError(what, hint="DOT (-o graph.dot) and the tree (-o graph.txt) of any graph can be had without Graphviz")


def main() -> None:
    """Draw the DOT of standard input to standard output; the words after the program's name say in which format and how."""
    output, program, wide = sys.argv[1:]
    _die_with_parent()
    picture = draw_here(sys.stdin.buffer.read(), output, program, wide=bool(wide))
    if picture is None:
        sys.exit(_REFUSED)
    sys.stdout.buffer.write(picture)


def _die_with_parent() -> None:
    """Whoever interrupts gviz does not want this process to go on for minutes; where Linux is not, it does."""
    if sys.platform == "linux":
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
