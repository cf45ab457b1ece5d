"""The circuit that lectures on backpropagation draw: value above each line, gradient below it, local derivatives once.

Constants stand in the circle of their operation (``+ 1``, ``1/z``, ``10 − z``), where z is what comes in.
"""

from __future__ import annotations

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

    Raises:
        SourceError: a path was asked for to a tensor that there is none to.
    """
    shown = drawn_formula(graph, options)
    count = sum(node.kind != "constant" for node in shown.nodes)
    if count > MOST:
        if not options.path:
            why = f"a circuit has at most {MOST} boxes, and this one would have {count}: drawn by --view dataflow"
            warn_user(f"{why}; --root NAME, or --around NAME, draws a part", RenderWarning)
        return None
    return SheetWriter(CircuitContent(CircuitReader(shown, options)), shown, options).page()
