"""The font that gviz ships, and what fontconfig is told about it.

Where a machine has no font, Graphviz draws empty boxes without a word. So while Graphviz draws, fontconfig reads a
configuration of gviz's. ``own.conf`` names the folder ``shipped`` alone: one font, nothing to search, nothing to cache,
the same picture on every machine, and no wait for an inventory of the system's fonts. ``system.conf`` has the system's
fonts behind it, for texts with characters that this font lacks. Both find that folder through ``XDG_DATA_HOME``, since
a file that is shipped cannot know where it will lie. A user's own ``FONTCONFIG_FILE`` is left alone. The file ``.uuid``
is there because fontconfig 2.13, which the wheels carry, else writes one, a new one for each installation.

DejaVu Sans Mono is free; its licence is beside it. Source: https://dejavu-fonts.github.io, version 2.37.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FONT", "drawing_environment", "needs_more", "warn_of_missing"]

FOLDER = os.path.dirname(os.path.abspath(__file__))
FONT = os.path.join(FOLDER, "shipped", "DejaVuSansMono.ttf")

_BEYOND_LATIN = re.compile(r"[^\x00-\xff]")
"""What may not be in the shipped font; all of Latin-1 is."""

_USERS = ("FONTCONFIG_FILE", "FONTCONFIG_PATH", "FONTCONFIG_SYSROOT")
"""By these a user tells fontconfig what to read."""


@contextmanager
def drawing_environment(*, wide: bool) -> Iterator[None]:
    """The environment that Graphviz draws in: our fonts, and a clock in UTC, so that files do not tell where they were made.

    It ends with the block; the user's child processes never see it.

    Args:
        wide: whether the system's fonts are needed as well.
    """
    ours = {"TZ": "UTC0"}
    if not any(name in os.environ for name in _USERS):
        ours["FONTCONFIG_FILE"] = os.path.join(FOLDER, "system.conf" if wide else "own.conf")
        ours["XDG_DATA_HOME"] = FOLDER
    before = {name: os.environ.get(name) for name in ours}
    try:
        os.environ.update(ours)
        _read_clock()
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _read_clock()


def _read_clock() -> None:
    """Let the C library know that the time zone has changed."""
    import time

    if sys.platform != "win32":
        time.tzset()


def needs_more(text: str) -> bool:
    """Whether a text has characters that the shipped font lacks.

    >>> needs_more("naïve β → ∑"), needs_more("損失")
    (False, True)
    """
    return bool(_lacking(text))


def _lacking(text: str) -> set[str]:
    """The characters of a text that take ink and are not in the shipped font."""
    found = set(_BEYOND_LATIN.findall(text))
    if not found:
        return found
    from gviz.layout.fonts.coverage import takes_ink, without

    return without({char for char in found if takes_ink(char)}, FONT)


def warn_of_missing(text: str) -> None:
    """Name the characters that no font here has, and what to install; they show as boxes with their numbers.

    Only where fontconfig chooses the fonts: the systems of Apple and Microsoft come with fonts for most scripts.
    """
    lacking = _lacking(text) if sys.platform not in ("darwin", "win32") else set()
    if not lacking:
        return
    import warnings

    from gviz.layout import RenderWarning
    from gviz.layout.fonts.coverage import advice, system_fonts, without

    for font in system_fonts():
        lacking = without(lacking, font)
        if not lacking:
            return
    warnings.warn(advice(lacking), RenderWarning, stacklevel=2)
