"""How a picture is wanted: one frozen record that every format reads what it needs from."""

from __future__ import annotations

from dataclasses import dataclass

from gviz.errors import RenderError
from gviz.text import did_you_mean

__all__ = ["ENGINES", "RANKDIRS", "SHOWABLE", "RenderOptions"]

SHOWABLE = ("value", "grad", "shape", "dtype", "state", "saved", "attrs")
"""Further lines of the boxes; without any of them it is TorchViz's own picture."""

RANKDIRS = ("TB", "BT", "LR", "RL")
"""From the leaves to the root: top to bottom, bottom to top, left to right, right to left."""

ENGINES = ("auto", "embedded", "system")
"""The program that makes images: the first that works, Graphviz in this process, the system's ``dot``."""


@dataclass(frozen=True)
class RenderOptions:
    """How to draw a graph.

    Args:
        show: lines of the boxes, of :data:`SHOWABLE`; ``()`` is plain TorchViz. One word may stand alone.
        rankdir: one of :data:`RANKDIRS`, in any case.
        graphviz: one of :data:`ENGINES`.
        format: the suffix that was asked for; a format module may serve many. "" takes it from the file's name.
        width: columns of the terminal.
        ascii: draw the tree with ASCII alone.
        color: colour the tree with ANSI escapes.
        max_chars: longest line in a box; what is longer is cut, or goes onto a line of its own.
        max_lines: longest tree; 0 is no limit.

    Raises:
        RenderError: a word that is none of the above.
    """

    show: tuple[str, ...] = ("value", "grad")
    rankdir: str = "TB"
    graphviz: str = "auto"
    format: str = ""
    width: int = 80
    ascii: bool = False
    color: bool = False
    max_chars: int = 50
    max_lines: int = 0

    def __post_init__(self) -> None:
        """Refuse what no format would understand."""
        show: object = self.show
        object.__setattr__(self, "show", (show,) if isinstance(show, str) else self.show)
        object.__setattr__(self, "rankdir", self.rankdir.upper())
        words = [("graphviz", self.graphviz, ENGINES), ("rankdir", self.rankdir, RANKDIRS)]
        for option, word, known in [*words, *(("show", word, SHOWABLE) for word in self.show)]:
            if word not in known:
                hint = did_you_mean(word, known) or None
                raise RenderError(f"{option} is one of {', '.join(known)}, not {word!r}", hint=hint)
