"""DOT text in, picture out: by Graphviz in this process, or by the system's ``dot`` where that cannot be.

Both engines are modules with the same two functions: ``version()`` and ``draw(dot, output, program, wide=)``; each raises
:class:`NoEngineError` where the engine is not here.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from gviz.errors import RenderError
from gviz.layout.fonts import needs_more, warn_of_missing

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["ENGINES", "DrawingError", "NoEngineError", "draw", "engines"]

ENGINES = {"auto": ("embedded", "system"), "embedded": ("embedded",), "system": ("system",)}
"""What may be asked for, and the engines that are then tried, in order."""

_WITHOUT = "DOT, JSON and the tree need no Graphviz: -o graph.dot"

_INKED = frozenset(("pdf", "png", "ps", "eps", "jpg", "jpeg", "jpe", "gif", "gd", "gd2", "wbmp", "webp", "tif", "tiff", "bmp"))
"""Formats that hold the shapes of the characters; the others hold their numbers, and the reader's fonts show them."""


_ONE_AT_A_TIME = RLock()
"""Graphviz has state of its own, and the environment belongs to the whole process."""


class NoEngineError(RenderError):
    """An engine that is not here, or does not know the format; the hint says what to install."""


class DrawingError(RenderError):
    """Graphviz could not draw this: its own words are in the message."""


def draw(dot: str, output: str, *, using: str = "auto", program: str = "dot") -> bytes:
    """Lay a graph out and draw it.

    Args:
        dot: the graph in Graphviz's language.
        output: one of Graphviz's formats, with its renderer if need be: ``pdf``, ``ps:cairo``.
        using: one of :data:`ENGINES`.
        program: which layout: ``dot``, or ``nop2`` for a graph that has its positions already.

    Returns:
        The file's bytes.

    Raises:
        RenderError: the text is no DOT, Graphviz fails, or there is no Graphviz that makes this format.
    """
    if "\0" in dot:
        raise DrawingError("there is a NUL character in the DOT text, at which Graphviz would stop reading")
    raw, wide = dot.encode("utf-8", "backslashreplace"), needs_more(dot)
    missing: list[NoEngineError] = []
    for name in ENGINES[using]:
        try:
            with _ONE_AT_A_TIME:
                picture = _first_drawn(engine(name), raw, output, program, wide=wide)
        except NoEngineError as reason:
            missing.append(reason)
        else:
            if wide and output.partition(":")[0] in _INKED:
                warn_of_missing(dot)
            return picture
    what = f"there is no Graphviz here that makes {output.partition(':')[0]}: " + "; ".join(reason.what for reason in missing)
    hints = dict.fromkeys(reason.hint for reason in missing if reason.hint)
    raise NoEngineError(what, hint="\n".join([*filter(None, ["\nor ".join(hints)]), _WITHOUT]))


def _first_drawn(module: ModuleType, raw: bytes, output: str, program: str, *, wide: bool) -> bytes:
    """The picture by the renderer that is asked for, else by whichever the engine has for this format."""
    plain = output.partition(":")[0]
    try:
        picture: bytes = module.draw(raw, output, program, wide=wide)
    except NoEngineError:
        if plain == output:
            raise
        picture = module.draw(raw, plain, program, wide=wide)
    return picture


def engine(name: str) -> ModuleType:
    """The module of an engine."""
    from importlib import import_module

    return import_module(f"gviz.layout.{name}")


def engines(using: str = "auto") -> dict[str, str]:
    """The engines that are here, with what they call themselves: ``{"embedded": "embedded Graphviz 14.1.5"}``."""
    found = {}
    for name in ENGINES[using]:
        try:
            found[name] = str(engine(name).version())
        except NoEngineError:
            continue
    return found
