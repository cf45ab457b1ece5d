"""A picture drawn by another process of gviz: for when this one has settled on its fonts and the text needs others."""

from __future__ import annotations

import os
import sys
import warnings

from gviz.layout import RenderWarning
from gviz.layout.graphviz import DrawingError
from gviz.layout.talk import pass_on

__all__ = ["draw_in_child", "main"]


def draw_in_child(dot: bytes, output: str, program: str) -> bytes | None:
    """What :func:`gviz.layout.embedded.draw` makes with the system's fonts; None where no other process can be started.

    Raises:
        DrawingError: the other process could not draw this.
    """
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 gviz itself, with two words of its own
            [sys.executable or "python3", "-P", "-c", "from gviz.layout.child import main; main()", output, program],
            input=dot,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            check=False,
        )
    except OSError as error:
        remark = f"the system's fonts cannot be used ({error.strerror}): characters that gviz's font lacks are boxes"
        warnings.warn(remark, RenderWarning, stacklevel=2)
        return None
    errors = pass_on(done.stderr.decode("utf-8", "replace").splitlines())
    if done.returncode != 0:
        raise DrawingError("Graphviz cannot draw this: " + ("; ".join(errors) or f"exit status {done.returncode}"))
    return done.stdout


def main() -> None:
    """Draw the DOT of standard input to standard output; the words after the program's name are format and layout."""
    from gviz.errors import GvizError
    from gviz.layout.embedded import draw

    warnings.showwarning = lambda message, *_ignored: print(f"Warning: {message}", file=sys.stderr)  # noqa: T201 to the parent
    try:
        picture = draw(sys.stdin.buffer.read(), sys.argv[1], sys.argv[2], wide=True)
    except GvizError as error:
        sys.exit(f"Error: {error.what}")
    sys.stdout.buffer.write(picture)
