"""The graph as micrograd draws it: a record ``label | data | grad`` for each value, a small circle for each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gviz.passes.dataflow import dataflow as prepare
from gviz.passes.expressions import operator_of
from gviz.render import html
from gviz.render.labels import Span, short_value
from gviz.render.theme import box_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gviz.graph import Graph, Node
    from gviz.render.labels import Line
    from gviz.render.options import RenderOptions
    from gviz.render.theme import Theme

__all__ = ["SPACE", "legend", "prepare", "statements"]

SPACE = {"nodesep": "0.22", "ranksep": "0.28"}


def statements(graph: Graph, options: RenderOptions, theme: Theme) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the boxes and the lines."""
    operations = {node.id for node in graph.nodes if node.kind == "operation"}
    for node in graph.nodes:
        look = box_attributes("output" if node.id in graph.roots else node.kind, theme)
        if node.id in graph.roots:
            look["penwidth"] = "2"
        yield node.id, {"shape": "plain", "label": html.record(cells(node, options), theme, look)}
        if node.id in operations:
            yield sign_of(node.id), circle(node, theme)
            yield f"{sign_of(node.id)} -> {node.id}", {}
    for edge in graph.edges:
        yield f"{edge.source} -> {sign_of(edge.target)}", {}


def sign_of(operation: str) -> str:
    """Return the name of the circle of an operation, whose record has the operation's own."""
    return f"{operation}_sign"


def cells(node: Node, options: RenderOptions) -> list[Line]:
    """Return what a record says: name, data, gradient."""
    found: list[Line] = [(Span(node.name or "", is_bold=True),)] if node.name and node.kind != "constant" else []
    value = node.name if node.kind == "constant" else None if node.value is None else short_value(node.value, options.precision)
    if value is not None:
        found.append((Span(f"data {value}"),))
    grad = node.grad if node.kind == "leaf" else node.arrives
    if grad is not None:
        found.append((Span(f"grad {short_value(grad, options.precision)}", "gradient"),))
    return found or [(Span(" "),)]


def circle(node: Node, theme: Theme) -> dict[str, str]:
    """Return the look of an operation."""
    sign = operator_of(node.label)
    look = {"label": sign, "fillcolor": theme.page, "color": theme.line, "fontsize": "17" if len(sign) == 1 else "11"}
    size = {"width": "0.4", "height": "0.4"}
    if len(sign) <= 3:
        return {**look, **size, "shape": "circle", "fixedsize": "true"}
    return {**look, **size, "style": "rounded,filled"}


def legend(graph: Graph, options: RenderOptions, theme: Theme) -> html.Html:
    """Return the text below the picture: micrograd has none, so there is only the reason of a program that stopped."""
    return html.legend({}, [], theme, options.rankdir, error=graph.error)
