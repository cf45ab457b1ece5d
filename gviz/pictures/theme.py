"""How things look: the colours of each theme, and the attributes that Graphviz has for a kind of box.

Colour is never the only code. A leaf has round corners and a thick pen, a placeholder a thicker one, what gets no
gradient a dashed pen, a root an inner frame, a saved tensor a folded corner; and each kind has a shade of its own, so
that a print in grey says the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from gviz.pictures.spans import Line

FONT, SANS = "monospace", "Gviz Sans,Liberation Sans,Arial,Helvetica,sans-serif"
"""The type of a picture, and on a page."""


class Pair(NamedTuple):
    """The two colours of a box."""

    fill: str
    pen: str


_ALIKE = {
    "constant": "dashed",
    "frozen": "dashed",
    "repeat": "leaf",
    "group": "operation",
    "carried": "dashed",
    "circle": "operation",
    "root circle": "output",
    "changed": "lit",
    "removed": "error",
    "unchanged": "dashed",
}
"""Kinds that have the colours of another one."""


@dataclass(frozen=True, eq=False)
class Theme:
    """The colours of a picture, each as ``#RRGGBB``.

    Args:
        page: behind everything.
        ink: text.
        muted: text said in passing: shapes, expressions, the legend.
        gradient: gradients.
        line: arrows.
        faint: what is not there yet, or does not belong to what is shown.
        value: a value on its way forward, as the gradient's ink is for one on its way back.
        paths: one for each path of the chain rule.
        boxes: fill and pen for each kind of box. ``dashed`` is for whatever gets no gradient, ``error`` for nan and
            inf, ``lit`` for the operation that a step is about.
    """

    page: str
    ink: str
    muted: str
    gradient: str
    line: str
    faint: str
    value: str
    paths: tuple[str, ...]
    boxes: dict[str, Pair]

    @property
    def gradient_face(self) -> str:
        """The face of a gradient on a line: slanted where no colour tells it from a value."""
        return "math" if self.gradient == self.value else "bold"

    def __post_init__(self) -> None:
        """Give the kinds that look alike the same colours; a placeholder has the pen of a leaf, and is empty."""
        self.boxes.update({kind: self.boxes[other] for kind, other in _ALIKE.items()})
        self.boxes["placeholder"] = Pair(self.page, self.boxes["leaf"].pen)


_ERROR, _DASHED, _LIT = Pair("#FBD9D5", "#B00020"), Pair("#FFFFFF", "#6E6E6E"), Pair("#FFF3B0", "#8A6D00")
_ADDED = Pair("#D7F5D3", "#1B6E1B")
_PATHS = ("#00589B", "#A63200", "#6A3D9A", "#00705A")

THEMES = {
    "torchviz": Theme(
        page="#FFFFFF",
        ink="#1A1A1A",
        muted="#474747",
        gradient="#8F2B00",
        line="#404040",
        faint="#BDBDBD",
        value="#00589B",
        paths=_PATHS,
        boxes={
            "leaf": Pair("#ADD8E6", "#0B4F8A"),
            "operation": Pair("#D3D3D3", "#595959"),
            "accumulate": Pair("#D3D3D3", "#8A8A8A"),
            "output": Pair("#CAFF70", "#33691E"),
            "intermediate": Pair("#A2CD5A", "#33691E"),
            "saved": Pair("#FFA500", "#8A5200"),
            "dashed": _DASHED,
            "variable": Pair("#F0E68C", "#6B5E00"),
            "error": _ERROR,
            "lit": _LIT,
            "added": _ADDED,
        },
    ),
    "light": Theme(
        page="#FFFFFF",
        ink="#1A1A1A",
        muted="#555555",
        gradient="#A63200",
        line="#404040",
        faint="#BDBDBD",
        value="#00589B",
        paths=_PATHS,
        boxes={
            "leaf": Pair("#BBD9F2", "#0B4F8A"),
            "operation": Pair("#F4F4F4", "#595959"),
            "accumulate": Pair("#FFFFFF", "#8A8A8A"),
            "output": Pair("#D3EBBF", "#33691E"),
            "intermediate": Pair("#E4EFD9", "#55803A"),
            "saved": Pair("#FFE9C7", "#8A5200"),
            "dashed": _DASHED,
            "variable": Pair("#FFF6B8", "#6B5E00"),
            "error": _ERROR,
            "lit": _LIT,
            "added": _ADDED,
        },
    ),
    "dark": Theme(
        page="#14171A",
        ink="#F2F2F2",
        muted="#B8B8B8",
        gradient="#FFB38A",
        line="#B8B8B8",
        faint="#565E66",
        value="#6CB8FF",
        paths=("#6CB8FF", "#FFB38A", "#C9A6FF", "#5FD6B0"),
        boxes={
            "leaf": Pair("#12456F", "#7FC0F5"),
            "operation": Pair("#2A2F34", "#9AA3AB"),
            "accumulate": Pair("#14171A", "#7C858D"),
            "output": Pair("#2C4A1B", "#A5D67F"),
            "intermediate": Pair("#24331C", "#8DB173"),
            "saved": Pair("#4A3413", "#F0B860"),
            "dashed": Pair("#14171A", "#8C959E"),
            "variable": Pair("#4A4413", "#E3D36B"),
            "error": Pair("#5A1420", "#FF8A95"),
            "lit": Pair("#4D4410", "#FFE066"),
            "added": Pair("#163F1D", "#7BD88F"),
        },
    ),
    "print": Theme(
        page="#FFFFFF",
        ink="#000000",
        muted="#4D4D4D",
        gradient="#000000",
        line="#000000",
        faint="#BDBDBD",
        value="#000000",
        paths=("#000000",) * 4,
        boxes={
            "leaf": Pair("#D9D9D9", "#000000"),
            "operation": Pair("#FFFFFF", "#000000"),
            "accumulate": Pair("#FFFFFF", "#7A7A7A"),
            "output": Pair("#FFFFFF", "#000000"),
            "intermediate": Pair("#F0F0F0", "#000000"),
            "saved": Pair("#F0F0F0", "#000000"),
            "dashed": _DASHED,
            "variable": Pair("#E6E6E6", "#000000"),
            "error": Pair("#FFFFFF", "#000000"),
            "lit": Pair("#FFFFFF", "#000000"),
            "added": Pair("#FFFFFF", "#000000"),
        },
    ),
}
"""TorchViz's colours, pale ones for slides, light on dark, and shades of grey."""

_SHAPES: dict[str, dict[str, str]] = {
    "leaf": {"style": "rounded,filled", "penwidth": "2"},
    "accumulate": {"penwidth": "0.8", "fontsize": "10", "height": "0.22", "margin": "0.08,0.03"},
    "output": {"penwidth": "1.4", "margin": "0.04,0.04"},
    "intermediate": {"style": "rounded,filled"},
    "saved": {"shape": "note", "fontsize": "10"},
    "frozen": {"style": "rounded,dashed,filled", "penwidth": "1.2"},
    "constant": {"style": "dashed,filled", "penwidth": "1.2"},
    "repeat": {"style": "rounded,dashed,filled", "height": "0.22", "margin": "0.08,0.03"},
    "placeholder": {"style": "rounded,filled", "penwidth": "2.6"},
    "variable": {"penwidth": "2"},
    "carried": {"style": "rounded,dotted,filled", "penwidth": "1.6"},
    "group": {"shape": "box3d", "penwidth": "2", "margin": "0.14,0.08"},
    "added": {"penwidth": "3.4"},
    "removed": {"style": "dashed,filled", "penwidth": "2"},
    "unchanged": {"penwidth": "0.6"},
    "changed": {"penwidth": "2", "peripheries": "2"},
    "circle": {"style": "rounded,filled"},
    "root circle": {"style": "rounded,filled", "penwidth": "2"},
}
"""What sets a kind apart from the usual box, besides its colours."""


def colour_names(theme: Theme) -> dict[str, str]:
    """Return the colours of a theme by the names that they have in a page, as ``leaf-fill``; those alike have one."""
    names = {
        "page": theme.page,
        "ink": theme.ink,
        "muted": theme.muted,
        "gradient": theme.gradient,
        "line": theme.line,
        "faint": theme.faint,
        "value": theme.value,
        "focus": theme.paths[0],
    }
    for kind, pair in theme.boxes.items():
        if kind not in {*_ALIKE, "placeholder", "added"}:
            names |= {f"{kind}-fill": pair.fill, f"{kind}-pen": pair.pen}
    return names


def box_attributes(kind: str, theme: Theme) -> dict[str, str]:
    """Return Graphviz's attributes for a kind of box, one of :data:`gviz.graphs.KINDS`.

    >>> box_attributes("frozen", THEMES["torchviz"])["style"]
    'rounded,dashed,filled'
    """
    fill, pen = theme.boxes[kind]
    attributes = {"fillcolor": fill, "color": pen} | _SHAPES.get(kind, {})
    return attributes | (
        {"fontcolor": theme.muted} if kind in ("accumulate", "constant", "frozen", "unchanged") else {}
    )


def error_attributes(theme: Theme) -> dict[str, str]:
    """Return the attributes that a box has besides if it holds nan or inf: the pen says so too."""
    fill, pen = theme.boxes["error"]
    return {"fillcolor": fill, "color": pen, "penwidth": "3"}


def with_alarm(look: dict[str, str], lines: Iterable[Line], theme: Theme) -> dict[str, str]:
    """Return the look of a box, or that of an error if one of its lines says so."""
    return look | error_attributes(theme) if any(span.ink == "error" for line in lines for span in line) else look


def edge_attributes(theme: Theme) -> dict[str, dict[str, str]]:
    """Return Graphviz's attributes for each kind of arrow, of :data:`gviz.graphs.EDGE_KINDS`."""
    return {
        "data": {},
        "view": {"style": "dotted", "penwidth": "1.6"},
        "saved": {"style": "dashed", "dir": "none", "color": theme.boxes["saved"].pen},
        "control": {"style": "dashed", "color": theme.muted},
        "carried": {"style": "dashed", "penwidth": "1.6", "constraint": "false"},
        "added": {"penwidth": "2.6", "color": theme.boxes["added"].pen},
        "removed": {"style": "dashed", "penwidth": "1.6", "color": theme.boxes["removed"].pen},
    }


def faded(theme: Theme) -> Theme:
    """Return the theme of what does not belong to what is shown: all in one faint ink on the page.

    >>> faded(THEMES["dark"]).boxes["leaf"]
    Pair(fill='#14171A', pen='#565E66')
    """
    faint = theme.faint
    boxes = dict.fromkeys(theme.boxes, Pair(theme.page, faint))
    return replace(theme, ink=faint, muted=faint, gradient=faint, line=faint, value=faint, boxes=boxes)
