"""A graph as data for a page that lays it out and draws it itself: what boxes say, lines, groups and steps.

The words and the numbers are those of every other picture; only their places are found where they are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from gviz.formulas.local import with_formula
from gviz.formulas.operations import operator_of
from gviz.graphs import Edge, Graph, Node
from gviz.passes.dataflow import dataflow
from gviz.passes.modules import parts_of, with_modules
from gviz.pictures.labels import (
    boxes,
    decimal,
    local_text,
    norm,
    shape_text,
    short,
    short_value,
    small_text,
)
from gviz.pictures.options import RenderOptions
from gviz.pictures.picture import LARGE
from gviz.pictures.spans import Line, Span
from gviz.pictures.steps import PHASES, has_backward, lines_at, steps_of
from gviz.text import visible

Data: TypeAlias = dict[str, object]
"""What JSON holds."""

LONGEST_FACT = 400
"""Characters of a fact about a box."""

OUTER = -1
"""The group of what is in none."""


def page_data(graph: Graph, options: RenderOptions) -> Data:
    """Return the graph in the views that a page may show, the one that it opens with first.

    Args:
        graph: any graph; one that tells gradients on their way has the view of the formula, with its steps.
        options: ``view``, ``precision``, ``show`` and ``title`` are read.
    """
    views = [boxes_view(graph, options)]
    if graph.kind != "static" and len(graph.nodes) <= LARGE and any(n.kind == "operation" for n in graph.nodes):
        views.append(formula_view(with_formula(graph), options))
        views.sort(key=lambda view: view["name"] != options.view)
    stop = [] if graph.stop is None else [f"{graph.stop.where}  {graph.stop.message}".strip()]
    notes = [visible(text) for text in (*stop, *graph.remarks)]
    return {"title": visible(options.title or graph.title or "graph"), "notes": notes, "views": views}


def boxes_view(graph: Graph, options: RenderOptions) -> Data:
    """Return the view that TorchViz has: operations, AccumulateGrad and tensors, each a box."""
    is_large = len(graph.nodes) > LARGE
    own = replace(options, view="torchviz", show=options.show if options.show or is_large else ("value", "grad"))
    lines = [box.lines for box in boxes(graph, own, table=False)]
    return view_of("torchviz", graph, lines)


def formula_view(graph: Graph, options: RenderOptions) -> Data:
    """Return the view of the formula: operations between values; with the steps of the computation."""
    shown = dataflow(graph)
    steps = steps_of(shown, options) if has_backward(shown) else []
    at = lines_at(shown, options, steps) if steps else {}
    plain = boxes(shown, replace(options, view="torchviz"), table=False)
    says = [
        [box_head(node), *at[node.id][-1]] if steps else list(box.lines)
        for node, box in zip(shown.nodes, plain, strict=True)
    ]
    data = view_of("dataflow", shown, says)
    number = {node.id: place for place, node in enumerate(shown.nodes)}
    frames, last = [], [list[Line]() for _ in shown.nodes]
    known, handed = frozenset[str](), 0
    for place, step in enumerate(steps):  # each tells what is new
        now = [[box_head(node), *at[node.id][place]] for node in shown.nodes]
        changes = {
            i: span_lists(lines) for i, (lines, before) in enumerate(zip(now, last, strict=True)) if lines != before
        }
        last = now
        frames.append(
            {
                "half": PHASES[step.phase],
                "lit": [number[node] for node in step.nodes],
                "known": sorted(number[node] for node in step.computed - known),
                "handed": step.handed[handed:],
                "caption": span_lists(step.caption),
                "says": changes,
            }
        )
        known, handed = step.computed, len(step.handed)
    return data | {"steps": frames, "across": True}


def box_head(node: Node) -> Line:
    """Return the first line of a box of the formula: the sign of its operation, or what kind of tensor it is."""
    if node.kind != "operation":
        return (Span(node.kind, "muted"),)
    return (Span(operator_of(node.label), is_bold=True),)


def view_of(name: str, graph: Graph, lines: Sequence[Iterable[Line]]) -> Data:
    """Return a graph as data.

    Args:
        name: of the view.
        graph: what is drawn.
        lines: what each of its boxes says.
    """
    number = {node.id: place for place, node in enumerate(graph.nodes)}
    groups = GroupTree()
    kinds = with_modules(graph).nodes
    nodes = [
        {
            "id": visible(node.id),
            "kind": node.kind,
            "says": span_lists(rows),
            "in": groups.of(own.scope),
            **({"name": visible(node.name)} if node.name else {}),
            "facts": [[key, visible(text)] for key, text in box_facts(node)],
            **code_of(graph, node),
        }
        for node, own, rows in zip(graph.nodes, kinds, lines, strict=True)
    ]
    edges = [edge_data(edge, number) for edge in graph.edges]
    roots = [number[root] for root in graph.roots]
    return {"name": name, "nodes": nodes, "edges": edges, "groups": groups.data, "roots": roots}


def edge_data(edge: Edge, number: dict[str, int]) -> list[object]:
    """Return a line: where it starts and ends, its kind, the local derivative and what it hands back, as texts."""
    ends: list[object] = [number[edge.source], number[edge.target]]
    texts = [edge.kind, visible(local_text(edge)), "" if edge.flow.handed is None else short_value(edge.flow.handed)]
    while texts[1:] and not texts[-1]:
        texts.pop()
    return ends + (texts if texts != ["data"] else [])


def box_facts(node: Node) -> Iterator[tuple[str, str]]:
    """Yield what a page tells of a box besides, as names and texts."""
    if node.kind == "operation" and node.expression:
        yield "computes", short(node.expression, LONGEST_FACT)
    if node.module is not None and node.module.path:
        yield "module", f"{node.module.path} {node.module.kind}".strip()
    if node.shape is not None:
        yield "shape", shape_text(node.shape)
    if node.dtype:
        yield "dtype", node.dtype
    if node.value is not None:
        yield "value", short(small_text(node.value, None), LONGEST_FACT) or f"norm {decimal(norm(node.value))}"
    if node.kind == "leaf" or node.grad.value is not None:
        grad = node.grad.value
        text = "None" if grad is None else short(small_text(grad, None), LONGEST_FACT)
        yield "grad", text or f"norm {decimal(norm(grad))}"
    elif node.grad.arrived is not None:
        yield "gradient that arrives", short_value(node.grad.arrived)
    if node.state:
        yield "state", node.state
    for name, text in node.recorded.attrs:
        yield name, short(text, LONGEST_FACT)


def code_of(graph: Graph, node: Node) -> dict[str, str]:
    """Return the line of the program that recorded a node."""
    if node.place is None or not (code := graph.code_at(node.place)):
        return {}
    return {"place": visible(str(node.place.without_run)), "code": visible(code)}


def span_lists(lines: Iterable[Line]) -> list[list[list[object]]]:
    """Return lines as lists of spans, each a text, its ink and whether it is bold, as far as it needs them."""
    return [
        [[visible(one.text), *([one.ink, 1] if one.is_bold else [one.ink] if one.ink else [])] for one in line]
        for line in lines
    ]


class GroupTree:
    """Modules, or name scopes, as groups in groups."""

    def __init__(self) -> None:
        self.data: list[list[object]] = []
        """The name of each group, and the number of the group that it is in."""
        self.number: dict[str, int] = {"": OUTER}

    def of(self, path: str) -> int:
        """Return the number of the group of a path, with all groups around it."""
        if path in self.number:
            return self.number[path]
        parts = parts_of(path) if "/" not in path else tuple(path.split("/"))
        joint = "/" if "/" in path else "."
        around = OUTER
        for count in range(1, len(parts) + 1):
            own = joint.join(parts[:count])
            if own not in self.number:
                self.number[own] = len(self.data)
                self.data.append([visible(own), around])
            around = self.number[own]
        self.number[path] = around
        return around
