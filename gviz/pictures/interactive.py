"""A graph as data for a page that lays it out and draws it itself: what boxes say, lines, groups and steps.

The words and the numbers are those of every other picture; only their places are found where they are shown.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias, TypeVar

from gviz.formulas.local import with_formula
from gviz.formulas.operations import operator_of
from gviz.graphs import Edge, Graph, Hooked, Node
from gviz.passes.dataflow import dataflow
from gviz.passes.elements import has_only
from gviz.passes.modules import parts_of, with_modules
from gviz.passes.starts import starts_of
from gviz.pictures.circuit_data import circuit_data
from gviz.pictures.circuit_steps import circuit_scene
from gviz.pictures.digits import decimal, is_exact
from gviz.pictures.labels import (
    boxes,
    cause_of_hooks,
    local_text,
    norm,
    shape_text,
    short,
    short_value,
    small_text,
)
from gviz.pictures.legend import unknown_entries
from gviz.pictures.look import PAGES
from gviz.pictures.options import RenderOptions
from gviz.pictures.parts import once
from gviz.pictures.picture import LARGE
from gviz.pictures.spans import Line, Span, text_of
from gviz.pictures.steps import PHASES, Step, graph_of_steps, has_backward, lines_at, steps_of
from gviz.text import visible

Data: TypeAlias = dict[str, object]
"""What JSON holds."""

Thing = TypeVar("Thing")


class Tables(NamedTuple):
    """What several boxes, views or steps share; it is told by its number.

    Args:
        facts: about boxes, as names and texts; lines of the program, as places and texts.
        boxes: what is the same of a box in all views.
        spans: pieces of text, each with its ink and whether it is bold, as far as it needs them.
        inks: their names.
    """

    facts: dict[tuple[str, str], int]
    boxes: dict[tuple[object, ...], int]
    spans: dict[tuple[str | int, ...], int]
    inks: dict[str, int]


LONGEST_FACT = 400
"""Characters of a fact about a box."""

SECONDS = 1.5
"""How long a step is shown."""

MANY = 20_000
"""Boxes of no group up to which a page draws each; more stand in groups of their own, in the computation's order."""

STRETCHES = 80
"""How many of these there are."""

OUTER = -1
"""The group of what is in none."""


def page_data(
    graph: Graph,
    options: RenderOptions,
    numbers: Sequence[int] = (),
    *,
    is_player: bool = False,
    has_formula: bool = True,
) -> Data:
    """Return the graph in the views that a page may show, the one that it opens with first.

    Args:
        graph: any graph; one that tells gradients on their way has steps in the views of the formula.
        options: ``view``, ``precision``, ``show``, ``every`` and ``title`` are read.
        numbers: of the steps that are shown, counted from 1; all if there is none.
        is_player: whether it opens on the first step.
        has_formula: whether the views of the formula are wanted, whose local derivatives and steps tell answers.
    """
    tables = Tables({}, {}, {}, {"": 0})
    views = [boxes_view(graph, options, tables)]
    is_formula = has_formula and graph.kind != "static" and len(graph.nodes) <= LARGE
    if is_formula and any(node.kind == "operation" for node in graph.nodes):
        views += formula_views(graph if is_player else with_formula(graph), options, numbers, tables)
        first = ("circuit", "dataflow") if is_player else (options.view,)
        views.sort(key=lambda view: first.index(view["name"]) if view["name"] in first else len(first))
    stop = [] if graph.stop is None else [f"{graph.stop.where}  {graph.stop.message}".strip()]
    folded = [f"{len(graph.nodes):,} boxes are too many to be seen at once: they are folded"] * (
        len(graph.nodes) > MANY
    )
    notes = [visible(text) for text in (*stop, *folded, *graph.remarks)]
    code = visible(graph.code).rstrip().split("\n") if options.every == "line" else []
    return {
        "title": visible(options.title or graph.title or "graph"),
        "notes": notes,
        "views": views,
        "facts": list(tables.facts),
        "boxes": list(tables.boxes),
        "spans": list(tables.spans),
        "inks": list(tables.inks),
        "code": code,
        "player": is_player,
        "seconds": SECONDS,
    }


def boxes_view(graph: Graph, options: RenderOptions, tables: Tables) -> Data:
    """Return the view that TorchViz has: operations, AccumulateGrad and tensors, each a box."""
    is_large = len(graph.nodes) > LARGE
    own = replace(options, view="torchviz", show=options.show if options.show or is_large else ("value", "grad"))
    lines = [box.lines for box in boxes(graph, own, table=False)]
    return view_of("torchviz", graph, lines, tables)


def formula_views(graph: Graph, options: RenderOptions, numbers: Sequence[int], tables: Tables) -> Iterator[Data]:
    """Yield the view of the formula, operations between values, with the steps; and the circuit if it can be read."""
    shown = graph_of_steps(graph)
    all_steps = steps_of(shown, options) if has_backward(shown) or numbers else []
    steps = [(number, all_steps[number - 1]) for number in numbers or range(1, len(all_steps) + 1)]
    number = {node.id: place for place, node in enumerate(shown.nodes)}
    plain = boxes(shown, replace(options, view="torchviz"), table=False)
    own = lines_at(shown, options, all_steps) if steps else {}
    at = [own.get(node.id, [list(box.lines)]) for node, box in zip(shown.nodes, plain, strict=True)]
    says = [[[box_head(node), *lines] for lines in every] for node, every in zip(shown.nodes, at, strict=True)]
    data = view_of("dataflow", shown, [lines[-1] for lines in says], tables)
    yield data | {"steps": list(step_data(steps, says, number, tables)), "of": len(all_steps), "across": True}
    drawn = replace(options, theme="print" if options.theme == "print" else "light")
    scene = circuit_scene(shown, graph, drawn, all_steps, PAGES["slide"], is_bare=True)
    if scene is not None:
        yield {
            "name": "circuit",
            "like": "dataflow",
            "circuit": circuit_data(scene, [step for _, step in steps], number),
        }


def step_data(
    steps: Sequence[tuple[int, Step]], says: Sequence[Sequence[Sequence[Line]]], number: dict[str, int], tables: Tables
) -> Iterator[Data]:
    """Yield each step as what is new in it.

    Args:
        steps: the steps with their numbers.
        says: what each box says at each of all steps; its first line is always the same.
        number: of each node.
        tables: what the page has already; new things are added.
    """
    last: list[Sequence[Line]] = [()] * len(says)
    known, handed, half = frozenset[str](), 0, ""
    for count, (place, step) in enumerate(steps, 1):
        now = [without_blanks(lines[place - 1][1:]) for lines in says]
        changes = {
            i: span_numbers(lines, tables)
            for i, (lines, before) in enumerate(zip(now, last, strict=True))
            if lines != before
        }
        remarks = [one.line for one in unknown_entries(map(text_of, step.caption))]
        news = {
            "lit": [number[node] for node in step.nodes],
            "known": sorted(number[node] for node in step.computed - known),
            "handed": step.handed[handed:],
            "half": PHASES[step.phase] if PHASES[step.phase] != half else "",
            "number": place if place != count else 0,
            "line": step.line,
        }
        yield {key: some for key, some in news.items() if some} | {
            "caption": span_numbers([*step.caption, *remarks], tables),
            "says": changes,
        }
        last, known, handed, half = now, step.computed, len(step.handed), PHASES[step.phase]


def without_blanks(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines without the blank ones at their end, which keep the room of what comes."""
    count = len(lines)
    while count and not text_of(lines[count - 1]).strip():
        count -= 1
    return lines[:count]


def box_head(node: Node) -> Line:
    """Return the first line of a box of the formula: the sign of its operation, or what kind of tensor it is."""
    if node.kind != "operation":
        return (Span(node.kind, "muted"),)
    return (Span(operator_of(node.label), is_bold=True),)


def view_of(name: str, graph: Graph, lines: Sequence[Iterable[Line]], tables: Tables) -> Data:
    """Return a graph as data.

    Args:
        name: of the view.
        graph: what is drawn.
        lines: what each of its boxes says.
        tables: what the page has already; new things are added.

    Returns:
        Of each of its ``nodes`` the number of its box, what it says, and the group that it is in, if any.
    """
    number = {node.id: place for place, node in enumerate(graph.nodes)}
    groups = GroupTree()
    scopes = [node.scope for node in with_modules(graph).nodes]
    if scopes.count("") > MANY:
        scopes = with_stretches(scopes, [number[node.id] for node in graph.order])
    nodes = []
    for node, scope, rows in zip(graph.nodes, scopes, lines, strict=True):
        group, box = groups.of(scope), number_in(tables.boxes, box_data(graph, node, tables))
        nodes.append([box, span_numbers(rows, tables), *([group] if group != OUTER else [])])
    edges = [edge_data(edge, number) for edge in graph.edges]
    roots = [number[root] for root in graph.roots]
    return {"name": name, "nodes": nodes, "edges": edges, "groups": groups.data, "roots": roots}


def box_data(graph: Graph, node: Node, tables: Tables) -> tuple[object, ...]:
    """Return what is the same of a box in all views: id, numbers of facts and of the line, name, and kind.

    What is empty at the end is left out; no kind is that of an operation.
    """
    reasons = once(graph, grad_reasons, lambda: grad_reasons(graph))
    told = [*box_facts(graph, node), *([("grad is", reasons[node.id])] if node.id in reasons else [])]
    facts = tuple(number_in(tables.facts, (key, visible(text))) for key, text in told)
    line: int | str = ""
    if node.place is not None and (code := graph.code_at(node.place)):
        line = number_in(tables.facts, (visible(str(node.place.without_run)), visible(code)))
    box = [visible(node.id), facts, line, visible(node.name or ""), "" if node.kind == "operation" else node.kind]
    while box[-1] in ("", ()):
        box.pop()
    return tuple(box)


def with_stretches(scopes: Sequence[str], order: Sequence[int]) -> list[str]:
    """Return the scopes of boxes, with one for each stretch of those that have none.

    Args:
        scopes: of each box; "" for none.
        order: the numbers of the boxes as they are computed, so that no two stretches need each other.
    """
    found, free = list(scopes), [place for place in order if not scopes[place]]
    size = -(-len(free) // STRETCHES)
    for start in range(0, len(free), size):
        stretch = free[start : start + size]
        for place in stretch:
            found[place] = f"boxes {start + 1:,} to {start + len(stretch):,}"
    return found


def edge_data(edge: Edge, number: dict[str, int]) -> list[object]:
    """Return a line: where it starts and ends, its kind, the local derivative and what it hands back, as texts.

    If that derivative is a number that its text rounds, the number itself is the last.
    """
    ends: list[object] = [number[edge.source], number[edge.target]]
    local = edge.flow.local
    factor = local.elements[0] if local is not None and local.shape == () and local.elements else None
    is_rounded = isinstance(factor, float) and math.isfinite(factor) and not is_exact(decimal(factor), factor)
    texts = [
        edge.kind if edge.kind != "data" else "",
        visible(local_text(edge)),
        "" if edge.flow.handed is None else short_value(edge.flow.handed),
        float(f"{factor:.9g}") if is_rounded else "",
    ]
    while texts and texts[-1] == "":
        texts.pop()
    return ends + texts


def box_facts(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    """Yield what a page tells of a box besides, as names and texts."""
    if node.kind == "operation" and node.expression:
        yield "computes", short(node.expression, LONGEST_FACT)
    if node.module is not None and node.module.path:
        how = ", as names of parameters tell" * (graph.guesses_modules and node.kind != "leaf")
        yield "module", f"{node.module.path} {node.module.kind}".strip() + how
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
        yield f"saved {name}", short(text, LONGEST_FACT)


def grad_reasons(graph: Graph) -> dict[str, str]:
    """Return why gradients are no mere products of local derivatives, by the ids of the nodes that have such ones."""
    hooks = defaultdict[str, dict[str, Hooked]](dict)  # by where they were registered: few, however many there are
    for node in reversed(graph.order):
        hooks[node.id] |= {one.where: one for one in node.grad.hooks}
        for edge in graph.inputs[node.id] if hooks[node.id] else ():
            hooks[edge.source] |= hooks[node.id]
    starts = starts_of(dataflow(graph))
    others = (f"backward started with {short_value(one)}" for one in starts.values() if one and not has_only(one, 1.0))
    start = next(others, "")
    reasons: dict[str, str] = {}
    for node in graph.nodes:
        before, is_known = node.grad.before, node.grad.value is not None or node.grad.arrived is not None
        was = f"it was {short_value(before)} before, and backward adds to it" if norm(before) > 0 else ""
        texts = [was, start, cause_of_hooks(hooks[node.id].values()) if hooks[node.id] else ""]
        if is_known and any(texts) and node.id not in starts:
            reasons[node.id] = f"not the chain rule alone: {'; '.join(filter(None, texts))}"
    return reasons


def number_in(table: dict[Thing, int], thing: Thing) -> int:
    """Return the number of a thing in a table; a new one is added."""
    return table.setdefault(thing, len(table))


def span_numbers(lines: Iterable[Line], tables: Tables) -> list[list[int]]:
    """Return lines of text as the numbers of their spans."""
    return [[number_in(tables.spans, span_key(one, tables.inks)) for one in line] for line in lines]


def span_key(span: Span, inks: dict[str, int]) -> tuple[str | int, ...]:
    """Return a span's text, the number of its ink and whether it is bold, as far as it needs them."""
    ink, text = number_in(inks, span.ink), visible(span.text)
    return (text, ink, 1) if span.is_bold else (text, ink) if ink else (text,)


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
