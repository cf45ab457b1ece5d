"""A picture drawn by another process of gviz.

A text may need other fonts than this process has settled on, or a graph more memory than there is, at which Graphviz
ends its process.
"""

from __future__ import annotations

import os
import re
import signal
import sys

from gviz.layout import DrawingError
from gviz.layout.embedded import NAME, draw_here
from gviz.layout.talk import pass_on, refusal

_REFUSED = 3
"""Exit status where Graphviz has said what is wrong; all others but 0 mean that the process broke down."""

_NO_MEMORY = re.compile(r"memory|MemoryError|bad_alloc|malloc", re.IGNORECASE)

_DIE_WITH_PARENT = 1
"""Linux's PR_SET_PDEATHSIG."""


def draw_in_child(dot: bytes, output: str, program: str, *, wide: bool) -> bytes:
    """Return the picture that :func:`gviz.layout.embedded.draw_embedded` makes.

    Raises:
        OSError: no other process can be started.
        NoEngineError: Graphviz does not know the format.
        DrawingError: the other process could not draw this, or broke down.
    """
    import subprocess

    process = subprocess.run(  # noqa: S603 gviz itself, with three words of its own
        [
            sys.executable or "python3",
            "-P",
            "-c",
            "from gviz.layout.child import draw_for_parent; draw_for_parent()",
            output,
            program,
            "wide" if wide else "",
        ],
        input=dot,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        check=False,
    )
    errors = process.stderr.decode("utf-8", "replace")
    if process.returncode not in (0, _REFUSED):
        raise _breakdown(process.returncode, errors)
    if process.returncode == _REFUSED:
        raise refusal(errors.splitlines(), NAME, output)
    pass_on(errors.splitlines())
    return process.stdout


def _breakdown(status: int, errors: str) -> DrawingError:
    """Return the error for a process that ended early; Linux ends the largest one by itself, with signal 9."""
    last = errors.strip().rpartition("\n")[2]
    if status == -9 or _NO_MEMORY.search(errors):
        what = "Graphviz ran out of memory on this graph"
    elif status < 0:
        what = f"Graphviz broke down on this graph (signal {-status})"
    else:
        what = f"Graphviz gave up on this graph without a picture ({last or f'exit status {status}'})"
    return DrawingError(what, hint="DOT (graph.dot) and the tree (graph.txt) of any graph can be had without Graphviz")


def draw_for_parent() -> None:
    """Draw the DOT of standard input to standard output; the words after the program's name say how."""
    output, program, wide = sys.argv[1:]
    if sys.platform == "linux":  # it ends with its parent, which may have been interrupted
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    picture = draw_here(sys.stdin.buffer.read(), output, program, wide=bool(wide))
    if picture is None:
        sys.exit(_REFUSED)
    sys.stdout.buffer.write(picture)
