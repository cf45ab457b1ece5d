"""PyTorch's names, with one box for each thing that a student knows.

AccumulateGrad is the lower half of its leaf, with the sum that arrives; what an operation saved stands in its box; the gradient
that flows back stands on each line, as gradient · local derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gviz.passes.dataflow import dataflow
from gviz.render import html
from gviz.render.labels import Span, short_value, value_lines
from gviz.render.theme import box_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gviz.graph import Edge, Graph, Node
    from gviz.render.labels import Line
    from gviz.render.options import RenderOptions
    from gviz.render.theme import Theme

__all__ = ["SPACE", "legend", "prepare", "statements"]

SPACE = {"nodesep": "0.35", "ranksep": "0.16"}
SIDES = {"TB": ("s", "n"), "BT": ("n", "s"), "LR": ("e", "w"), "RL": ("w", "e")}
BACK = {"TB": "↑", "BT": "↓", "LR": "←", "RL": "→"}
KINDS = {"leaf": "leaf", "operation": "grad_fn", "output": "root's grad_fn", "saved": "kept for backward"}


def prepare(graph: Graph) -> Graph:
    """Return the graph of the values, without constants: PyTorch's graph has none."""
    from dataclasses import replace

    shown = dataflow(graph)
    kept = {node.id for node in shown.nodes if node.kind in ("leaf", "operation")}
    edges = tuple(edge for edge in shown.edges if edge.source in kept)
    return replace(shown, nodes=tuple(node for node in shown.nodes if node.id in kept), edges=edges)


def statements(graph: Graph, options: RenderOptions, theme: Theme) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the boxes and the lines."""
    uses: dict[str, list[Edge]] = {}
    inputs: dict[str, list[Edge]] = {}
    nodes = {node.id: node for node in graph.nodes}
    for edge in graph.edges:
        uses.setdefault(edge.source, []).append(edge)
        inputs.setdefault(edge.target, []).append(edge)
    for node in graph.nodes:
        is_root = node.id in graph.roots
        look = box_attributes("output" if is_root else node.kind, theme) | ({"penwidth": "2"} if is_root else {})
        if node.kind == "leaf":
            head = value_lines(node, options)
            foot: list[Line] = [(Span("AccumulateGrad", "muted"),), sum_line(node, uses.get(node.id, []), options)]
            parts = [(head, ""), (foot, theme.page)]
        else:
            parts = [([(Span(node.label),), *value_lines(node, options)], "")]
            kept = saved(node, inputs.get(node.id, []), nodes)
            parts += [([(Span(f"saved: {kept}"),)], theme.boxes["saved"].fill)] if kept else []
        yield node.id, {"shape": "plain", "label": html.stacked(parts, theme, look)}
    out, into = SIDES[options.rankdir]
    for number, edge in enumerate(graph.edges):
        text = product(edge, nodes[edge.target], options)
        if not text:
            yield f"{edge.source} -> {edge.target}", {}
            continue
        yield f"g{number}", plate([(Span(text, "gradient"),)], theme)
        yield f"{edge.source} -> g{number}:{into}", {"arrowhead": "none"}
        yield f"g{number}:{out} -> {edge.target}", {}
    for root in graph.roots:
        if nodes[root].arrives is not None:
            name = nodes[root].name
            text = f"{BACK[options.rankdir]} ∂{name}/∂{name} = {short_value(nodes[root].arrives, options.precision)}"
            yield f"start_{root}", plate([(Span(text, "gradient"),), (Span("backward() starts here", "muted"),)], theme)
            yield f"{root} -> start_{root}", {"dir": "back", "color": theme.gradient}


def plate(lines: list[Line], theme: Theme) -> dict[str, str]:
    """Return the look of a text that stands on a line."""
    look = {"fillcolor": theme.page, "penwidth": "0", "margin": "0.03,0.01", "height": "0.1", "width": "0.1", "fontsize": "11"}
    return {**look, "label": html.box(lines, theme, padding="0.5")}


def sum_line(leaf: Node, uses: list[Edge], options: RenderOptions) -> Line:
    """Return the line of a leaf's gradient: the sum of what arrives."""
    if leaf.grad is None:
        return (Span(f"{leaf.name}.grad = None", "muted"),)
    parts = [short_value(edge.handed, options.precision) for edge in uses if edge.handed is not None]
    total = " + ".join(f"({part})" if part.startswith("-") else part for part in parts) + " = " if len(parts) > 1 else ""
    return (Span(f"{leaf.name}.grad = {total}{short_value(leaf.grad, options.precision)}", "gradient"),)


def saved(node: Node, inputs: list[Edge], nodes: dict[str, Node]) -> str:
    """Return what an operation keeps for backward: tensors by their names, options by their values."""
    names = {edge.slot: nodes[edge.source].name or "·" for edge in inputs}
    told = []
    for key, text in node.attrs:
        if key.endswith(("_sym_sizes", "_sym_strides")) or text == "None":
            continue
        if text in ("freed", "[saved tensor] ()") or text.startswith("[saved tensor"):
            source = {"self": 0, "input": 0, "other": 1, "mat2": 1, "tensor": 1, "vec": 1}.get(key)
            text = (node.name or "result") if key.startswith("result") else names.get(source, "") if source is not None else ""
        told.append(f"{key} = {text}" if text else key)
    return ", ".join(told)


def product(edge: Edge, user: Node, options: RenderOptions) -> str:
    """Return what is handed on along a line: the gradient that arrives, times the local derivative."""
    if edge.handed is None:
        return ""
    handed = short_value(edge.handed, options.precision)
    if edge.local is None or user.arrives is None:
        return f"{BACK[options.rankdir]} {handed}"
    arrives, local = (short_value(value, options.precision) for value in (user.arrives, edge.local))
    return f"{BACK[options.rankdir]} {arrives} · {f'({local})' if local.startswith('-') else local} = {handed}"


def legend(graph: Graph, options: RenderOptions, theme: Theme) -> html.Html:
    """Return the text below the picture."""
    kinds = {node.kind for node in graph.nodes} | {"output"} | ({"saved"} if any(node.attrs for node in graph.nodes) else set())
    forward = {"TB": "↓", "BT": "↑", "LR": "→", "RL": "←"}[options.rankdir]
    notes: list[Line] = [(Span(f"{forward} data"),), (Span(f"{BACK[options.rankdir]} gradient · local derivative", "gradient"),)]
    return html.legend({kind: text for kind, text in KINDS.items() if kind in kinds}, notes, theme, options.rankdir, error=graph.error)
