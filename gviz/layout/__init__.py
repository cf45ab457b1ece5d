"""Where boxes go: the home of Graphviz, in this process or as the system's ``dot``, and of the fonts it draws with."""

from __future__ import annotations

from gviz.errors import GvizWarning, RenderError

ENGINES = {"auto": ("embedded", "system"), "embedded": ("embedded",), "system": ("system",)}
"""The words of ``--graphviz``, each with the engines that are tried, in order: in this process, the system's
``dot``."""


class RenderWarning(GvizWarning):
    """Something worth knowing about a picture that could be made all the same."""


class NoEngineError(RenderError):
    """An engine is not here, or does not know the format; the hint says what to install."""


class DrawingError(RenderError):
    """Graphviz could not draw this: its own words are in the message."""
