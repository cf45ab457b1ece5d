"""What stands below a picture: an entry for each kind of box and number that occurs in it, and for each remark.

A view lists the entries. :func:`gviz.pictures.html.legend` writes them for Graphviz, and
:class:`gviz.pictures.sheets.SheetWriter` as ink.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from gviz.formulas.formula import UNKNOWN, UNNAMED
from gviz.graphs import Graph
from gviz.pictures.spans import Line, Span


class LegendEntry(NamedTuple):
    """An entry of a legend.

    Args:
        text: what is said.
        kind: of the sample before the text: a kind of box, or another one that the view draws; "" for none.
        ink: of the text, as in :class:`gviz.pictures.spans.Span`.
    """

    text: str
    kind: str = ""
    ink: str = ""

    @property
    def line(self) -> Line:
        """The text in its ink."""
        return (Span(self.text, self.ink),)


FORMULA_WORDS = {
    "leaf": "leaf",
    "again": "the same leaf again",
    "circle": "operation",
    "operation": "result of an operation",
    "root circle": "root",
    "output": "root",
    "constant": "constant",
    "frozen": "needs no gradient",
    "intermediate": "result: what it is made from is left out",
    "error": "nan or inf begins here",
}
"""What is said of each kind of box in a picture of the formula; a part of a graph begins at intermediate ones."""


def kind_entries(words: Mapping[str, str], drawn: Container[str]) -> list[LegendEntry]:
    """Return an entry for each kind of box that is drawn, in the order of the words."""
    return [LegendEntry(text, kind) for kind, text in words.items() if kind in drawn]


def kinds_in(graph: Graph, operation: str = "circle", root: str = "root circle") -> set[str]:
    """Return the kinds of boxes that the formula of a graph has, operations and roots as a view draws them."""
    roots = {node.id for node in graph.nodes if node.id in graph.roots and node.kind == "operation"}
    others = {node.kind for node in graph.nodes if node.id not in roots}
    return {operation if kind == "operation" else kind for kind in others} | ({root} if roots else set())


def legend_lines(widths: Iterable[float], gap: float, most: float) -> list[list[int]]:
    """Return the numbers of the entries in each line of a legend, which is no longer than that if it has several.

    >>> legend_lines([50, 40, 95, 10], 5, 100)
    [[0, 1], [2], [3]]
    """
    lines, end = [list[int]()], 0.0
    for number, width in enumerate(widths):
        if lines[-1] and end + width > most:
            lines.append([])
            end = 0.0
        lines[-1].append(number)
        end += width + gap
    return lines


def unknown_entries(texts: Iterable[str]) -> list[LegendEntry]:
    """Return the remark on operands without a name, if one of some texts has one."""
    return [LegendEntry(f"{UNKNOWN} {UNNAMED}")] if any(UNKNOWN in text for text in texts) else []
