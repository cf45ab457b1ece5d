"""PyTorch's names, with one box for each thing that a student knows.

AccumulateGrad is the lower half of its leaf, with the sum that arrives; what an operation saved stands in its box; the
gradient that flows back stands on each line, as gradient · local derivative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap

from gviz.graphs import Edge, Graph, Node
from gviz.passes.dataflow import dataflow
from gviz.passes.elements import is_finite, sum_text
from gviz.passes.starts import handed_on, is_from_one
from gviz.pictures import html
from gviz.pictures.labels import (
    REPEATED,
    equation,
    hook_lines,
    in_brackets,
    is_added,
    later_lines,
    name_line,
    place_lines,
    saved_text,
    short_value,
    uses_line,
    value_lines,
)
from gviz.pictures.legend import LegendEntry, kind_entries, unknown_entries
from gviz.pictures.options import FOLDING, RenderOptions
from gviz.pictures.page import WAYS, themed
from gviz.pictures.picture import Arrow, Picture, Plate, Shape, Statement, labels_of
from gviz.pictures.repeat import with_repeats
from gviz.pictures.spans import Line, Span
from gviz.pictures.sums import decimals_for, in_room, product_of, sum_at
from gviz.pictures.theme import THEMES, Theme, box_attributes, with_alarm
from gviz.text import quotient_of

IGNORES = ("ghosts", "path", "by", "symbols", *FOLDING)

SPACE = {"nodesep": "0.35", "ranksep": "0.16"}
LONGEST = 50
"""Characters of a product on a line, and of the parts of a sum; a longer one would make the picture too broad."""

SAVED, MOST_SAVED = "saved: ", 52
"""The beginning of what an operation keeps, and the characters of a line of it."""

KINDS = {"leaf": "leaf", "operation": "grad_fn", "output": "root's grad_fn", "saved": "kept for backward"}


def prepare(formula: Graph) -> Graph:
    """Return the graph of the values without constants: PyTorch's graph has none."""
    inside = {node.id for node in formula.nodes if node.kind in ("leaf", "operation")}
    edges = tuple(edge for edge in formula.edges if edge.source in inside)
    roots = tuple(root for root in formula.roots if root in inside)
    return replace(formula, nodes=tuple(node for node in formula.nodes if node.id in inside), edges=edges, roots=roots)


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture of a graph."""
    formula, theme = dataflow(graph), THEMES[options.theme]
    values_graph = prepare(formula)
    statements = list(_statements(values_graph, formula, options, theme))
    return themed(values_graph, options, SPACE, statements, _legend(values_graph, statements, options))


def _statements(whole: Graph, formula: Graph, options: RenderOptions, theme: Theme) -> Iterator[Statement]:
    """Yield the boxes and the lines of a graph; ``formula`` has the constants too, which operations may have saved."""
    graph = with_repeats(whole, options)
    values = decimals_for(whole, options.precision, in_room(options.max_chars), lambda _, __: True).values
    nodes = graph.by_id
    for node in graph.nodes:
        is_root = node.id in graph.roots
        look = box_attributes("output" if is_root and node.kind != "leaf" else node.kind, theme)
        look |= {"penwidth": "2"} if is_root else {}
        if node.state == REPEATED:
            yield Shape(node.id, {**box_attributes("repeat", theme), "label": html.box([name_line(node)], theme)})
            continue
        own = replace(options, precision=values.of(node))
        if node.kind == "leaf":
            head = [*value_lines(node, own), *later_lines(node, options), *uses_line(node)]
            foot: list[Line] = [(Span(f"AccumulateGrad{'' if is_added(node) else ' does not run'}", "muted"),)]
            foot += hook_lines(node, options)
            foot += [_sum_line(node, whole.uses.get(node.id, []), options)] if "grad" in options.show else []
            parts = [(head, ""), (foot, theme.page)]
        else:
            rows = [(Span(node.label),), *value_lines(node, own, values.sign(node)), *place_lines(node, options)]
            parts = [([*rows, *hook_lines(node, options)], "")]
            saved = saved_text(node, formula.inputs.get(node.id, []), formula.by_id)
            parts += [(saved_lines(saved), theme.boxes["saved"].fill)] if saved else []
        look = with_alarm(look, [line for lines, _ in parts for line in lines], theme)
        yield Shape(node.id, {"label": html.stacked(parts, theme, look), **html.BARE})
    way = WAYS[options.direction]
    for number, edge in enumerate(graph.edges):
        text = _product(edge, nodes[edge.target], options)
        if not text:
            yield Arrow(edge.source, edge.target, {})
            continue
        yield Plate(f"g{number}", html.plate([(Span(text, "gradient"),)], theme))
        yield Arrow(edge.source, f"g{number}", {"arrowhead": "none"}, "", way.into)
        yield Arrow(f"g{number}", edge.target, {}, way.out)
    for root in graph.roots:
        if nodes[root].grad.arrived is not None and "grad" in options.show:
            name = nodes[root].name or "·"
            what = quotient_of(name, name) if is_from_one(graph) else "gradient"
            text = equation(what, nodes[root].grad.arrived, options.precision)
            text = f"{WAYS[options.direction].back} {text}"
            yield Shape(
                f"start_{root}",
                html.plate([(Span(text, "gradient"),), (Span("backward() starts here", "muted"),)], theme),
            )
            yield Arrow(root, f"start_{root}", {"dir": "back", "color": theme.gradient})


def saved_lines(saved: str) -> list[Line]:
    """Return what an operation keeps in lines that make no strip of its box, broken between one thing and the next.

    >>> [line[0].text for line in saved_lines("self = d, ceil_mode = False, dilation = (1, 1), kernel_size = (2, 2)")]
    ['saved: self = d, ceil_mode = False,', 'dilation = (1, 1), kernel_size = (2, 2)']
    """
    things = re.sub(r"(?<!,) |, (?![a-z])", lambda space: space[0].replace(" ", "\xa0"), saved)
    rows = wrap(f"{SAVED}{things}", MOST_SAVED, break_long_words=False, break_on_hyphens=False)
    return [(Span(row.replace("\xa0", " ")),) for row in rows]


def _sum_line(leaf: Node, uses: list[Edge], options: RenderOptions) -> Line:
    """Return the line of a leaf's gradient: the sum of what arrives, and of what was there before."""
    grad = f"{leaf.name}.grad" if leaf.name else "grad"
    if leaf.grad.value is None:
        return (Span(f"{grad} = None", "muted"),)
    total = sum_at(leaf, handed_on(uses))
    texts, sign = total.texts(options.precision) if total.is_whole else ([], "")
    ink = "gradient" if is_finite(leaf.grad.value) else "error"
    parts = f"{' + '.join(texts)} {sign}" if len(texts) > 1 else ""
    if not parts or len(parts) > LONGEST:
        return (Span(equation(grad, leaf.grad.value, options.precision), ink),)
    return (Span(f"{grad} = {parts}{short_value(leaf.grad.value, options.precision)}", ink),)


def _product(edge: Edge, user: Node, options: RenderOptions) -> str:
    """Return what is handed on along a line: the gradient that arrives, times the local derivative."""
    if edge.flow.handed is None or "grad" not in options.show:
        return ""
    gradient, rule = short_value(edge.flow.handed, options.precision), product_of(edge, user)
    arrow = WAYS[options.direction].back
    if rule.is_equation:
        *decimals, sign = rule.decimals(options.precision)
        arrives, local = map(short_value, rule[:2], decimals)
        product = f"{arrives} · {in_brackets(local)}"
        text = f"{arrow} {f'{sum_text(edge)} ({product})' if rule.is_summed else product} {sign}{gradient}"
        if len(text) <= LONGEST:
            return text
    # norms do not multiply, and of what was broadcast the sum is handed on
    return f"{arrow} {short_value(edge.flow.handed, options.precision, LONGEST // 2)}"


def _legend(graph: Graph, statements: Sequence[Statement], options: RenderOptions) -> list[LegendEntry]:
    """Return the text below the picture."""
    nodes, way = graph.by_id, WAYS[options.direction]
    kinds = {node.kind for node in graph.nodes}
    kinds |= {"saved"} if any(f">{SAVED}" in label for label in labels_of(statements)) else set()
    kinds |= {"output"} if any(nodes[root].kind == "operation" for root in graph.roots) else set()
    products = [_product(edge, nodes[edge.target], options) for edge in graph.edges]
    notes = [LegendEntry(f"{way.data} data")]
    if any(products):
        factor = " · local derivative" if any(" · " in text for text in products) else ""
        notes.append(LegendEntry(f"{way.back} gradient{factor}", ink="gradient"))
    return [*kind_entries(KINDS, kinds), *notes, *unknown_entries(labels_of(statements))]
