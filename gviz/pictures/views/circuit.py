"""The circuit that lectures on backpropagation draw: value above each line, gradient below it, local derivatives once.

Constants stand in the circle of their operation (``+ 1``, ``1/z``, ``10 − z``), where z is what comes in.
"""

from __future__ import annotations

from dataclasses import replace

from gviz.errors import warn_user
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.pictures.circuit_content import CircuitContent
from gviz.pictures.circuit_reader import CircuitReader
from gviz.pictures.options import FOLDING, RenderOptions
from gviz.pictures.parts import drawn_formula
from gviz.pictures.sheets import InkedPage, SheetWriter

IGNORES = (
    *("ghosts", "rankdir", "layout", "color_by", "symbols", "font_size", "repeat_leaves"),
    *("graph", "node", "edge", *FOLDING),
)

MOST = 60
"""Boxes of a circuit; a larger graph is drawn as the view dataflow draws it."""


def sheet(graph: Graph, options: RenderOptions) -> InkedPage | None:
    """Return the circuit of a graph; None of one that has too many boxes for it, which is said.

    Of a large graph a page shows what lies on the ways from a root to the tensor whose paths are asked for.

    Raises:
        SourceError: a path was asked for to a tensor that there is none to.
    """
    shown = drawn_formula(graph, options)
    if circuit_boxes(shown) > MOST and options.fit != "none" and len(options.path) == len(graph.roots) == 1:
        root = next(node.name for node in shown.nodes if node.id in shown.roots)
        if root and not options.between:  # a page has room for the path alone
            options = replace(options, between=(*options.path, root))
            shown = drawn_formula(graph, options)
    count = circuit_boxes(shown)
    if count > MOST:
        if not options.path:
            why = f"a circuit has at most {MOST} boxes, and this one would have {count}: drawn by --view dataflow"
            warn_user(f"{why}; --root NAME, or --around NAME, draws a part", RenderWarning)
        return None
    return SheetWriter(CircuitContent(CircuitReader(shown, options)), shown, options).page()


def circuit_boxes(shown: Graph) -> int:
    """Return how many boxes the circuit of a graph has."""
    return sum(node.kind != "constant" for node in shown.nodes)
