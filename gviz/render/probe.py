"""What makes which picture on this machine: found by drawing one node in each format, and remembered.

The answers are kept in the user's cache folder, by the versions of everything that they depend on; where that cannot be
written, they are found anew each time.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["makers"]

_ONE_NODE = "digraph { node [shape=box fontname=monospace] a }"


def makers(renderers: Mapping[str, str]) -> dict[str, str]:
    """For each format the engine that makes it, "" for none.

    Args:
        renderers: format -> the renderer to ask for, or "".
    """
    from gviz import __version__
    from gviz.layout.graphviz import engines

    here = engines()
    key = "\n".join([__version__, sys.platform, sys.prefix, *here.values(), *(f"{k}:{v}" for k, v in renderers.items())])
    known = _recall(key)
    if known is None:
        known = {suffix: _maker(suffix, renderer, tuple(here)) for suffix, renderer in renderers.items()}
        _remember(key, known)
    return {suffix: here.get(engine, "") for suffix, engine in known.items()}


def _maker(suffix: str, renderer: str, engines: tuple[str, ...]) -> str:
    """The first of the engines that draws one node in this format; what it remarks would be said once for each format."""
    import warnings

    from gviz.errors import RenderError
    from gviz.layout import RenderWarning
    from gviz.layout.graphviz import draw

    for engine in engines:
        with suppress(RenderError), warnings.catch_warnings():
            warnings.simplefilter("ignore", RenderWarning)
            if draw(_ONE_NODE, f"{suffix}:{renderer}" if renderer else suffix, using=engine):
                return engine
    return ""


def _file() -> str:
    """Where the answers are kept."""
    default = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or default, "gviz", "formats.json")


def _recall(key: str) -> dict[str, str] | None:
    """The answers that were found before, if they still hold."""
    import json

    try:
        with open(_file(), encoding="utf-8") as file:
            kept = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(kept, dict) or kept.get("key") != key or not isinstance(kept.get("makers"), dict):
        return None
    return {str(suffix): str(engine) for suffix, engine in kept["makers"].items()}


def _remember(key: str, known: Mapping[str, str]) -> None:
    """Keep the answers, if there is a place for them."""
    import json

    from gviz.errors import FileError
    from gviz.writer import write

    with suppress(OSError, FileError):
        os.makedirs(os.path.dirname(_file()), exist_ok=True)
        write(_file(), json.dumps({"key": key, "makers": known}, indent=1) + "\n")
