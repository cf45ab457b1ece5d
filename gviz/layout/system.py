"""The system's own Graphviz: its ``dot`` program, run by the ``graphviz`` package."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from typing import Any

from gviz.layout import NoEngineError
from gviz.layout.fonts import drawing_environment
from gviz.layout.talk import pass_on, refusal

_INSTALL = "install Graphviz itself (apt-get install graphviz, brew install graphviz, https://graphviz.org/download)"

_GIVEN = {"nop": 1, "nop2": 2}
"""Layouts that take positions as they are: for the programs that is neato, and an option."""


def _package() -> Any:
    """Return the ``graphviz`` package.

    Raises:
        NoEngineError: it is not installed.
    """
    try:
        import graphviz
    except ImportError:
        raise NoEngineError("the graphviz package is not installed", hint="pip install graphviz") from None
    return graphviz


def system_version() -> str:
    """Return the engine's name and version, for people.

    Raises:
        NoEngineError: there is no ``dot``.
    """
    graphviz = _package()
    try:
        return "system dot " + ".".join(map(str, graphviz.version()))
    except (graphviz.ExecutableNotFound, graphviz.CalledProcessError, RuntimeError, OSError):
        raise NoEngineError("there is no dot program", hint=_INSTALL) from None


def draw_by_system(dot: bytes, output: str, program: str = "dot", *, wide: bool = False) -> bytes:
    """Lay out and draw.

    Args:
        dot: UTF-8, without NUL.
        output: Graphviz's format, with a renderer if need be.
        program: the layout.
        wide: True if the text needs the system's fonts.

    Raises:
        NoEngineError: there is no ``dot``, or it does not know the format.
        DrawingError: it cannot read or draw this.
    """
    graphviz = _package()
    name, _, renderer = output.partition(":")
    remarks = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")  # takes any bytes, whatever language they are in
    layout, mode = ("neato", _GIVEN[program]) if program in _GIVEN else (program, None)
    try:
        with drawing_environment(wide=wide), redirect_stderr(remarks):
            picture: bytes = graphviz.pipe(layout, name, dot, renderer=renderer or None, neato_no_op=mode)
    except graphviz.ExecutableNotFound:
        raise NoEngineError("there is no dot program", hint=_INSTALL) from None
    except graphviz.CalledProcessError as error:
        raise refusal(_lines(remarks), "the system's dot", output, f"exit status {error.returncode}") from None
    except (ValueError, graphviz.RequiredArgumentError) as error:
        raise NoEngineError(f"the graphviz package does not know {output}: {error}") from None
    pass_on(_lines(remarks))
    return picture


def _lines(remarks: io.TextIOWrapper[io.BytesIO]) -> list[str]:
    """Return the lines that the program has written on standard error."""
    remarks.flush()
    return remarks.buffer.getvalue().decode("utf-8", "replace").splitlines()
