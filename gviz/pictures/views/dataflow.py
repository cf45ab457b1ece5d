"""The formula, from left to right: circles with signs, name and value below, the local derivative on each line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gviz.passes.dataflow import dataflow
from gviz.passes.expressions import UNKNOWN, operator_of
from gviz.pictures import Arrow, Shape, html
from gviz.pictures.labels import Span, gradient_line, is_small, name_along, short_value, size_of, value_lines, value_text
from gviz.pictures.page import WAYS, themed
from gviz.pictures.theme import THEMES, box_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gviz.graph import Edge, Graph, Node
    from gviz.pictures import Picture, Statement
    from gviz.pictures.labels import Line
    from gviz.pictures.options import RenderOptions
    from gviz.pictures.theme import Theme

__all__ = ["picture"]

SPACE = {"nodesep": "0.16", "ranksep": "0.2"}

CIRCLE, LONGEST_SIGN = "0.5", 3
"""Inches of a circle, and letters in it."""

SIGN, WORD = 22, 13
"""Points: of a sign in a circle, and of a function's name."""

MOST_EDGES = 6
"""Lines from which on a local derivative stands on two lines."""

GRAD = re.compile(r"\bgrad\b")
"""The gradient that arrives, in the symbol of a derivative that is not a factor."""


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture of a graph."""
    shown, theme = dataflow(graph), THEMES[options.theme]
    label = {"label": _legend(shown, options, theme)} if options.has_foot(graph.error) else {}
    return themed(shown, options, {**SPACE, **label}, list(statements(shown, options, theme)))


def statements(graph: Graph, options: RenderOptions, theme: Theme) -> Iterator[Statement]:
    """Yield the boxes and the lines."""
    nodes = {node.id: node for node in graph.nodes}
    sums: dict[str, list[Edge]] = {}
    for edge in graph.edges:
        sums.setdefault(edge.source, []).append(edge)
    root = nodes[graph.roots[0]].name if len(graph.roots) == 1 else ""
    for node in graph.nodes:
        lines = [
            *value_lines(node._replace(expression=""), options),
            *gradient_lines(node, sums.get(node.id, []), root or "", options),
        ]
        if node.kind == "operation":
            yield Shape(node.id, circle(node, lines, theme, is_root=node.id in graph.roots))
        else:
            look = box_attributes(node.kind, theme)
            yield Shape(node.id, {**look, "label": html.box(lines, theme)})
    out, into = WAYS[options.direction][:2]
    is_two = sum(1 for edge in graph.edges if edge.symbol or edge.local is not None) > MOST_EDGES
    for number, edge in enumerate(graph.edges):
        line = derivative(edge, nodes, options)
        if nodes[edge.source].kind in ("constant", "frozen"):
            look = {"style": "dashed", "color": theme.boxes["dashed"].pen, "arrowhead": "none"}
            yield Arrow(edge.source, edge.target, look, out, into)
        elif not line:
            yield Arrow(edge.source, edge.target, {}, out, into)
        else:
            yield Shape(
                f"p{number}", html.plate([(Span(part, "muted"),) for part in (line if is_two else (" = ".join(line),))], theme)
            )
            yield Arrow(edge.source, f"p{number}", {"arrowhead": "none"}, out, into)
            yield Arrow(f"p{number}", edge.target, {}, out, into)


def derivative(edge: Edge, nodes: dict[str, Node], options: RenderOptions) -> tuple[str, ...]:
    """Return the local derivative of a line: the quotient, then its symbol and number; nothing if neither is known."""
    number = value_text(edge.local, options.precision) if edge.local is not None and is_small(size_of(edge.local)) else ""
    symbol = "" if number and UNKNOWN in edge.symbol else edge.symbol
    told = dict.fromkeys(part for part in (symbol, number) if part)
    if told and GRAD.search(edge.symbol):  # a matrix product: no factor, so no quotient either
        return (edge.symbol,)
    return (f"∂{nodes[edge.target].name or '·'}/∂{name_along(edge, nodes[edge.source])}", " = ".join(told)) if told else ()


def gradient_lines(node: Node, uses: list[Edge], root: str, options: RenderOptions) -> Iterator[Line]:
    """Yield the gradient of a node; and the sum, where it arrives in several ways."""
    if node.kind == "leaf":
        yield from gradient_line(node, options)
    elif node.kind == "operation" and node.arrives is not None:
        head = f"∂{root}/∂{node.name or '·'}" if root else "grad"  # of several roots it is that of their sum
        yield (Span(f"{head} = {short_value(node.arrives, options.precision)}", "gradient"),)
    parts = [] if node.outputs else [edge.handed for edge in uses if edge.handed is not None]
    if len(parts) > 1 and all(is_small(size_of(part)) for part in parts):
        texts = [value_text(part, options.precision) for part in parts]
        yield (Span("= " + " + ".join(f"({text})" if text.startswith("-") else text for text in texts), "gradient"),)


def circle(node: Node, lines: Sequence[Line], theme: Theme, *, is_root: bool, ink: str = "") -> dict[str, str]:
    """Return the look of an operation: a circle with its sign, the lines below; or a box with a longer word and the lines."""
    sign = Span(operator_of(node.label), ink, is_bold=True)
    fill, pen = theme.boxes["output" if is_root else "operation"]
    look = {"fillcolor": fill, "color": pen, "penwidth": "2.4" if is_root else "1.2"}
    if len(sign.text) > LONGEST_SIGN:  # only of circles does Graphviz find the edge below a text that is larger
        return {**look, "label": html.box([(sign,), *lines], theme)}
    label = html.centred((sign,), lines, SIGN if len(sign.text) == 1 else WORD, theme)
    return {**look, "shape": "circle", "width": CIRCLE, "height": CIRCLE, "fixedsize": "shape", "label": label}


def _legend(graph: Graph, options: RenderOptions, theme: Theme) -> html.Html:
    """Return the text below the picture."""
    kinds = {"leaf": "leaf", "constant": "constant", "frozen": "frozen"}
    found = {node.kind for node in graph.nodes}
    told = {kind: text for kind, text in kinds.items() if kind in found}
    derivatives = {bool(GRAD.search(edge.symbol)): None for edge in graph.edges if edge.symbol}
    texts = {False: "local derivative", True: "what becomes of grad, which arrives"}
    about = " or ".join(texts[each] for each in sorted(derivatives))
    notes = [(Span(f"on a line: {about}"),)] if about else []
    notes += (
        [(Span(f"∂…/∂…, grad: gradient, flows {WAYS[options.direction].flows}", "gradient"),)]
        if any(node.arrives is not None for node in graph.nodes)
        else []
    )
    return html.legend(told, notes, theme, options, error=graph.error)
