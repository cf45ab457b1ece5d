"""The fonts that gviz ships, and the configuration by which fontconfig finds them.

Where a machine has no font, Graphviz draws empty boxes without a word. So while Graphviz draws, fontconfig reads a
configuration of gviz's. ``own.conf`` names the folders ``shipped`` and ``faces`` alone: four fonts, nothing to cache, the
same picture on every machine, and no wait for an inventory of the system's fonts. ``system.conf`` has the system's
fonts behind it, for texts with characters that these lack. Both find these folders through ``XDG_DATA_HOME``, since
a file that is shipped cannot know where it will lie. A user's own ``FONTCONFIG_FILE`` is left alone. The file ``.uuid``
is there because fontconfig 2.13, which the wheels carry, else writes one, a new one for each installation.

DejaVu Sans Mono is free; its licence is beside it. Source: https://dejavu-fonts.github.io, version 2.37.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gviz.errors import warn_user
from gviz.layout import RenderWarning
from gviz.layout.fonts.faces import FOLDER, font_of
from gviz.text import joined

FONT = os.path.join(FOLDER, "shipped", "DejaVuSansMono.ttf")

_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
_SUFFIXES = (".ttf", ".otf", ".ttc", ".otc")

_USERS = ("FONTCONFIG_FILE", "FONTCONFIG_PATH", "FONTCONFIG_SYSROOT")
"""By these a user tells fontconfig what to read."""


@contextmanager
def drawing_environment(*, wide: bool) -> Iterator[None]:
    """Set the environment that Graphviz draws in: our fonts, and a clock in UTC, which shows no place.

    It ends with the block; the user's child processes never see it.

    Args:
        wide: True if the system's fonts are needed as well.
    """
    ours = {"TZ": "UTC0"}
    if not any(name in os.environ for name in _USERS):
        ours["FONTCONFIG_FILE"] = os.path.join(FOLDER, "system.conf" if wide else "own.conf")
        ours["XDG_DATA_HOME"] = FOLDER
    before = {name: os.environ[name] for name in ours if name in os.environ}
    try:
        os.environ.update(ours)
        _read_clock()
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
        os.environ.update(before)
        _read_clock()


def _read_clock() -> None:
    """Let the C library know that the time zone has changed."""
    if sys.platform != "win32":
        time.tzset()


SIGNS = "↓↑→←↻□∂×÷·−²³⁴⁵⁶⁷⁸⁹…⚠✗"
"""What gviz itself writes besides ASCII: in the shipped font, so that hardly any text has to be looked at closely."""

_SIGNS = str.maketrans("", "", SIGNS)


def needs_more(text: str) -> bool:
    """Return True if a text has characters that the shipped font lacks.

    >>> needs_more("naïve β → ∑"), needs_more("損失")
    (False, True)
    """
    return bool(_lacking(text))


def _lacking(text: str) -> set[str]:
    """Return the characters of a text that take ink and are not in the shipped font."""
    if text.isascii() or text.translate(_SIGNS).isascii():
        return set()
    from unicodedata import category

    beyond = {c for c in set(text) if ord(c) not in font_of("mono").glyphs and not "\ufe00" <= c <= "\ufe0f"}
    return {c for c in beyond if category(c) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")}


def warn_of_missing(text: str) -> None:
    """Name the characters that show as boxes with their numbers, if this machine has no font but the shipped one.

    Only where fontconfig chooses the fonts: the systems of Apple and Microsoft come with fonts for most scripts.
    """
    lacking = sorted(_lacking(text)) if sys.platform not in ("darwin", "win32") else []
    if not lacking or any(system_fonts()):
        return
    named = joined(f"{char} (U+{ord(char):04X})" for char in lacking)
    warn_user(
        f"no font here has {named}: boxes are drawn in their place; install fonts, such as fonts-noto-cjk",
        RenderWarning,
    )


def system_fonts() -> Iterator[str]:
    """Yield the font files of this machine that Graphviz may use, by the folders that its configuration names."""
    for folder in dict.fromkeys([*_FOLDERS, *_configured()]):
        for place, _, names in os.walk(os.path.expanduser(folder), followlinks=True):
            yield from (os.path.join(place, name) for name in sorted(names) if name.lower().endswith(_SUFFIXES))


def _configured() -> Iterator[str]:
    """Yield the folders that the user's, or the system's, configuration of fontconfig names."""
    name = os.environ.get("FONTCONFIG_FILE", "/etc/fonts/fonts.conf")
    with suppress(OSError), open(name, encoding="utf-8", errors="replace") as file:
        yield from re.findall(r"<dir>\s*([^<]+?)\s*</dir>", file.read())
