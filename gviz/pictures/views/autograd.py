"""Forward and backward side by side: tensors as records, each operation beside its grad_fn, gradients on their way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gviz.formulas.operations import operator_of
from gviz.graphs import Edge, Graph, Node
from gviz.passes.dataflow import dataflow, outputs_of
from gviz.passes.elements import is_finite
from gviz.pictures import html
from gviz.pictures.labels import (
    LONGEST_NAME,
    hook_lines,
    is_added,
    is_brief,
    later_lines,
    place_lines,
    saved_text,
    short,
    short_value,
    size_text,
    small_text,
)
from gviz.pictures.legend import LegendEntry
from gviz.pictures.options import FOLDING, RenderOptions
from gviz.pictures.page import WAYS, themed
from gviz.pictures.picture import Arrow, Frame, Picture, Shape, Statement
from gviz.pictures.spans import Line, Span
from gviz.pictures.sums import sum_at
from gviz.pictures.theme import THEMES, Theme, box_attributes, with_alarm

IGNORES = ("repeat_leaves", "ghosts", "show", "path", "by", "symbols", *FOLDING)

SPACE = {"nodesep": "0.45", "ranksep": "0.3"}
LONGEST = 20
"""Characters of the numbers in a record; of more it has the shape, or the norm."""

SIGN, BACK = "{}_sign", "{}_back"
"""The names of an operation's circle and of its grad_fn, or a leaf's AccumulateGrad; its record has the operation's
own."""


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture of a graph."""
    values_graph, theme = dataflow(graph), THEMES[options.theme]
    way = WAYS[options.direction]
    legend = [
        LegendEntry(f"{way.data} forward: data"),
        LegendEntry(f"{way.back} backward: next_functions, with the gradient that they get", ink="gradient"),
        LegendEntry("┈▷ grad_fn"),
    ]
    return themed(values_graph, options, SPACE, list(_statements(values_graph, options, theme)), legend)


def _statements(graph: Graph, options: RenderOptions, theme: Theme) -> Iterator[Statement]:
    """Yield the tensors, the rows of operations with their grad_fns, and the lines."""
    nodes, inputs = graph.by_id, graph.inputs
    leaves = [node for node in graph.nodes if node.kind == "leaf"]
    outputs = outputs_of(graph)
    for node in graph.nodes:
        if node.kind == "constant":
            yield Shape(node.id, {**box_attributes(node.kind, theme), "label": short(node.name or "", LONGEST_NAME)})
        elif node.kind != "leaf":
            for one in outputs[node.id].values():
                is_root = node.id in graph.roots and one.name == node.name
                yield Shape(one.id, _record(one, options, theme, is_root=is_root))
    rows = rows_of(graph)
    first = {
        edge.source: depth for depth in sorted(rows, reverse=True) for node in rows[depth] for edge in inputs[node.id]
    }
    for depth in sorted({first.get(leaf.id, 0) for leaf in leaves}):  # leaves stand above what uses them first
        own = [leaf for leaf in leaves if first.get(leaf.id, 0) == depth]
        tensors = [Shape(leaf.id, _record(leaf, options, theme, is_root=False)) for leaf in own]
        yield from _row(f"leaves {depth}", tensors, [accumulate(leaf, graph, options, theme) for leaf in own])
    for depth, operations in rows.items():
        signs = [_circle(node, theme) for node in operations]
        backs = [_grad_fn(node, saved_text(node, inputs[node.id], nodes), options, theme) for node in operations]
        yield from _row(f"row {depth}", signs, backs)
    for node in graph.nodes:
        if node.kind == "operation":
            yield from _lines_of(node, inputs[node.id], outputs, options, theme)
        elif node.kind == "frozen":  # what is computed of inputs that get no gradient has no grad_fn
            outside = {"style": "dashed", "color": theme.boxes["dashed"].pen}
            yield from (Arrow(edge.source, node.id, outside) for edge in inputs[node.id])
    if sum(node.kind == "operation" for node in graph.nodes) == 1:
        for leaf in leaves:
            look = {"constraint": "false", "color": theme.gradient, "penwidth": "1.6"}
            yield Arrow(BACK.format(leaf.id), leaf.id, look, "", "grad")


def _row(name: str, forward: list[Shape], backward: list[Shape]) -> Iterator[Statement]:
    """Yield boxes that stand side by side, those of forward on the left."""
    yield Frame(name, {"rank": "same"})
    yield from forward
    yield from backward
    yield from (Arrow(left.id, right.id, {"style": "invis"}) for left, right in pairwise([*forward, *backward]))
    yield Frame()


def rows_of(graph: Graph) -> dict[int, list[Node]]:
    """Return the operations by the length of the longest way to them from a leaf."""
    depths: dict[str, int] = {}
    rows: dict[int, list[Node]] = {}
    for node in graph.inputs_first():
        depths[node.id] = 1 + max((depths[edge.source] for edge in graph.inputs[node.id]), default=0)
    for node in graph.nodes:
        if node.kind == "operation":
            rows.setdefault(depths[node.id], []).append(node)
    return rows


def _record(node: Node, options: RenderOptions, theme: Theme, *, is_root: bool) -> dict[str, str]:
    """Return the look of a tensor: what it holds under the names that PyTorch has for it."""
    is_leaf = node.kind != "operation"
    text = small_text(node.value, options.precision)
    data = text if 0 < len(text) <= LONGEST else size_text(node.shape) if node.shape else "?"
    has_grad = node.grad.value is not None
    grad = short_value(node.grad.value, options.precision, LONGEST) if has_grad else "None"
    fields = {
        "data": Span(data, "" if is_finite(node.value) else "error", is_bold=True),
        "grad": Span(grad, "muted" if not has_grad else "gradient" if is_finite(node.grad.value) else "error"),
        "grad_fn": Span("None", "muted") if is_leaf else Span(node.label),
        "is_leaf": Span(str(is_leaf)),
    }
    look = with_alarm(box_attributes("output" if is_root else node.kind, theme), [tuple(fields.values())], theme)
    name = short(node.name or operator_of(node.label), LONGEST_NAME)
    return {"label": html.fields(name, fields, later_lines(node, options), theme, look), **html.BARE}


def _circle(node: Node, theme: Theme) -> Shape:
    """Return an operation of forward."""
    sign = operator_of(node.label)
    look = {"label": sign, "fillcolor": theme.page, "penwidth": "1.2", "fontsize": "20" if len(sign) == 1 else "12"}
    round_ = {"shape": "circle", "fixedsize": "true", "width": "0.42", "height": "0.42"}
    return Shape(SIGN.format(node.id), {**look, **(round_ if len(sign) <= 3 else {"style": "rounded,filled"})})


def _grad_fn(node: Node, saved: str, options: RenderOptions, theme: Theme) -> Shape:
    """Return an operation of backward, with what it has saved."""
    rows: list[Line] = [(Span(f"saved: {saved}", "muted"),)] if saved else []
    rows += [*hook_lines(node, options), *place_lines(node, options)]
    return _back(node, [(Span(node.label),), *rows], theme, theme.gradient)


def _back(node: Node, lines: list[Line], theme: Theme, colour: str = "") -> Shape:
    """Return a box of backward."""
    look = {**box_attributes("operation", theme), **({"color": colour} if colour else {})}
    return Shape(BACK.format(node.id), {**look, "label": html.box(lines, theme)})


def accumulate(leaf: Node, graph: Graph, options: RenderOptions, theme: Theme) -> Shape:
    """Return the end of backward at a leaf, with the sum of what arrives there; in a part of a graph more may."""
    if not is_added(leaf):
        return _back(leaf, [(Span("AccumulateGrad", "muted"),), (Span("does not run", "muted"),)], theme)
    found = sum_at(leaf, [edge.flow.handed for edge in graph.uses[leaf.id]] or [leaf.grad.value])
    dots = "" if is_brief(found.arrived, options.precision, LONGEST) else "…, "
    text = "…" if found.arrived is None else f"{dots}{short_value(found.arrived, options.precision, LONGEST)}"
    text += " + …" * (bool(graph.remarks) and not found.is_whole)
    grad = (Span(f"{short(leaf.name or '', LONGEST_NAME)}.grad += {text}", "gradient"),)
    return _back(leaf, [(Span("AccumulateGrad"),), *hook_lines(leaf, options), grad], theme, theme.gradient)


def _lines_of(
    node: Node, inputs: list[Edge], outputs: dict[str, dict[int, Node]], options: RenderOptions, theme: Theme
) -> Iterator[Statement]:
    """Yield the lines of an operation: its data, its grad_fn, and the gradients that it hands on."""
    sign, back = SIGN.format(node.id), BACK.format(node.id)
    for edge in inputs:
        source = outputs[edge.source][edge.output]
        is_data = source.kind not in ("constant", "frozen")
        look = {"weight": "3"} if is_data else {"style": "dashed", "color": theme.boxes["dashed"].pen}
        yield Arrow(source.id, sign, look)
    dotted = {"style": "dotted", "penwidth": "1.6", "color": theme.muted, "arrowhead": "vee", "constraint": "false"}
    for one in outputs[node.id].values():
        yield Arrow(sign, one.id, {"weight": "3"})
        yield Arrow(one.id, back, dotted, "grad_fn:e")
    look = {"dir": "back", "color": theme.gradient, "fontcolor": theme.gradient, "penwidth": "1.6", "fontsize": "12"}
    for edge in inputs:
        if outputs[edge.source][edge.output].kind in ("leaf", "operation"):
            label = (
                {}
                if edge.flow.handed is None
                else {"label": f" {short_value(edge.flow.handed, options.precision, LONGEST)} "}
            )
            yield Arrow(BACK.format(edge.source), back, {**look, **label})
