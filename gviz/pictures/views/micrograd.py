"""The graph as micrograd draws it: ``label | data | grad`` for each value, a small circle for each operation."""

from __future__ import annotations

from collections.abc import Iterator

from gviz.formulas.operations import operator_of
from gviz.graphs import Graph, Node
from gviz.passes.dataflow import dataflow, outputs_of
from gviz.passes.elements import is_finite
from gviz.pictures import html
from gviz.pictures.labels import (
    REPEATED,
    hook_lines,
    later_lines,
    matrix,
    name_line,
    place_lines,
    short_value,
    uses_line,
)
from gviz.pictures.legend import FORMULA_WORDS, kind_entries, kinds_in
from gviz.pictures.options import FOLDING, RenderOptions
from gviz.pictures.page import themed
from gviz.pictures.picture import Arrow, Picture, Shape, Statement
from gviz.pictures.repeat import with_repeats
from gviz.pictures.spans import Line, Span, text_of
from gviz.pictures.theme import THEMES, Theme, box_attributes, with_alarm
from gviz.pictures.views.dataflow import OUTSIDE

IGNORES = ("ghosts", "show", "path", "by", "symbols", *FOLDING)

SPACE = {"nodesep": "0.22", "ranksep": "0.28"}

SIGN = "{}_sign"
"""The name of the circle of an operation, whose record has the operation's own."""

WIDEST = 40
"""Characters of a record, from which on all have their cells below each other: else the picture would be a strip."""


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture of a graph."""
    values_graph, theme = dataflow(graph), THEMES[options.theme]
    statements = list(_statements(values_graph, options, theme))
    legend = kind_entries(FORMULA_WORDS, kinds_in(values_graph, "operation", "output"))
    return themed(values_graph, options, SPACE, statements, legend)


def _statements(graph: Graph, options: RenderOptions, theme: Theme) -> Iterator[Statement]:
    """Yield the boxes and the lines."""
    graph = with_repeats(graph, options)
    operations = {node.id for node in graph.nodes if node.kind == "operation"}
    outputs = outputs_of(graph)
    records = {node.id: cells(node, options) for row in outputs.values() for node in row.values()}
    is_tall = any(sum(len(text_of(cell)) for cell in row) > WIDEST for row in records.values())
    for node in beside_operands(graph):
        if node.state == REPEATED:
            yield Shape(node.id, {**box_attributes("repeat", theme), "label": html.box(records[node.id], theme)})
            continue
        look = box_attributes("output" if node.id in graph.roots and node.id in operations else node.kind, theme)
        if node.id in graph.roots:
            look["penwidth"] = "2"
        for one in outputs[node.id].values():
            own = with_alarm(look, records[one.id], theme)
            parts = [(matrix(cell), "") for cell in records[one.id]]
            label = html.stacked(parts, theme, own) if is_tall else html.record_label(records[one.id], theme, own)
            yield Shape(one.id, {"label": label, **html.BARE})
        if node.id in operations:
            yield Shape(SIGN.format(node.id), _circle(node, theme))
            yield from (Arrow(SIGN.format(node.id), one.id, {}) for one in outputs[node.id].values())
    for edge in graph.edges:
        is_outside = edge.target not in operations  # what is computed of inputs that get no gradient
        end = edge.target if is_outside else SIGN.format(edge.target)
        yield Arrow(outputs[edge.source][edge.output].id, end, {"style": "dashed"} if is_outside else {})


def beside_operands(graph: Graph) -> list[Node]:
    """Return the boxes, in Graphviz's first order, with those that get no gradient beside the other operand."""
    order = [node for node in graph.nodes if node.kind not in OUTSIDE]
    for node in graph.nodes:
        if node.kind in OUTSIDE:
            uses = graph.uses.get(node.id, [])[:1]
            pairs = [(use, other) for use in uses for other in graph.inputs[use.target] if other.source != node.id]
            places = [at for at, one in enumerate(order) if pairs and one.id == pairs[0][1].source]
            order.insert(places[0] + (pairs[0][0].slot > pairs[0][1].slot) if places else len(order), node)
    return order


def cells(node: Node, options: RenderOptions) -> list[Line]:
    """Return what a record says: name, data, gradient."""
    if node.state == REPEATED:
        return [name_line(node)]
    lines: list[Line] = [(Span(node.name or "", is_bold=True),)] if node.name and node.kind != "constant" else []
    value = (
        node.name
        if node.kind == "constant"
        else None
        if node.value is None
        else short_value(node.value, options.precision)
    )
    if value is not None:
        lines.append((Span(f"data {value}", "" if is_finite(node.value) else "error"),))
    grad = node.grad.value if node.kind == "leaf" else node.grad.arrived
    if grad is not None:
        lines.append(
            (Span(f"grad {short_value(grad, options.precision)}", "gradient" if is_finite(grad) else "error"),)
        )
    return [
        *lines,
        *hook_lines(node, options),
        *later_lines(node, options),
        *place_lines(node, options),
        *uses_line(node),
    ] or [(Span(" "),)]


def _circle(node: Node, theme: Theme) -> dict[str, str]:
    """Return the look of an operation."""
    sign = operator_of(node.label)
    size = {"width": "0.4", "height": "0.4", "fontsize": "17" if len(sign) == 1 else "11"}
    shape = {**size, "shape": "circle", "fixedsize": "true"} if len(sign) <= 3 else {"style": "rounded,filled"}
    return {"label": sign, "fillcolor": theme.page, "color": theme.line, **shape}
