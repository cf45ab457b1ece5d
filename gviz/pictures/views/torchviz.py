"""TorchViz's boxes and arrows, nothing more and nothing less, with values in them; or its own picture, to the pixel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from gviz.graphs import Edge, Graph, Node
from gviz.pictures import html
from gviz.pictures.labels import boxes, local_text
from gviz.pictures.look import ARROWS, BOX, BOXES, CLUSTER, LABEL, LONGEST_LINE, picture_size
from gviz.pictures.options import RenderOptions
from gviz.pictures.page import USUAL, WAYS, Legend, direction, themed
from gviz.pictures.picture import LARGE, Arrow, Frame, LazyStatements, Picture, Shape, Statement
from gviz.pictures.repeat import with_repeats
from gviz.pictures.spans import Box, Span
from gviz.pictures.theme import THEMES, box_attributes, edge_attributes, error_attributes
from gviz.text import shorten

IGNORES = ("path", "by", "symbols")

LEGEND = {
    "leaf": "leaf: made by you, keeps its grad",
    "operation": "operation (its grad_fn)",
    "output": "root",
    "intermediate": "base of a view",
    "saved": "saved for backward",
    "frozen": "needs no gradient",
    "constant": "constant",
}
STATIC_LEGEND = {
    "placeholder": "placeholder: gets its value at each run",
    "variable": "variable: keeps its value between runs",
    "constant": "constant",
    "operation": "operation",
    "output": "root",
}
"""What the legend says of each kind of box."""


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture; ``options.show`` is empty for TorchViz's own."""
    shown, is_large = graph, len(graph.nodes) > LARGE
    if options.ghosts and options.show and graph.kind != "static" and not is_large:
        from gviz.passes.ghosts import with_ghosts

        shown = with_ghosts(shown)
    if options.show:
        shown = with_repeats(shown, options)
    drawn = boxes(shown, options)
    arrows = edge_attributes(THEMES[options.theme]) if options.show else ARROWS
    looks = _looks(drawn, options, has_inks=bool(options.show) and not is_large)

    def statements() -> Iterator[Statement]:
        yield from _clusters(shown, looks, options) if graph.kind == "static" else _shapes(shown.nodes, looks)
        yield from _lines(shown.edges, shown, arrows, options)

    listed = LazyStatements(statements) if is_large else list(statements())
    size = {"size": picture_size(len(graph.nodes) + len(graph.edges))} if is_large or not options.show else {}
    if not options.show:
        label = LABEL if any(edge.label and edge.kind == "data" for edge in graph.edges) else {}
        return Picture(graph.title, {**size, **direction(options)}, BOX, label, listed)
    space = {"ranksep": "0.3" if options.direction in ("TB", "BT") else "0.4", "nodesep": "0.3"}
    below = None if is_large else _legend(shown, listed, options)
    return themed(graph, options, {**size, "label": "", **space}, listed, below)


def _legend(graph: Graph, drawn: Iterable[Statement], options: RenderOptions) -> Legend:
    """Return the text below the picture: its kinds of boxes, and which way data and gradients go."""
    kinds = {node.kind for node in graph.nodes} | ({"output"} if graph.roots else set())
    results, is_static = {edge.target for edge in graph.edges}, graph.kind == "static"
    kinds |= {"leaf" for root in graph.roots if root not in results and not is_static}
    texts = {**LEGEND, **STATIC_LEGEND} if is_static and "leaf" in kinds else STATIC_LEGEND if is_static else LEGEND
    way = WAYS[options.direction]
    about = f"{way.data} data" if is_static else f"{way.data} data; gradients flow back {way.back}"
    return Legend(texts, [*html.unknown(drawn, graph), (Span(about),)], kinds)


def _looks(drawn: list[Box], options: RenderOptions, *, has_inks: bool) -> list[dict[str, str]]:
    """Return the look of each box; equal ones share theirs."""
    theme = THEMES[options.theme]
    unique = {id(box): box for box in drawn}
    looks = {
        kind: {} if kind == USUAL else box_attributes(kind, theme) if options.show else BOXES[kind]
        for kind in {box.kind for box in unique.values()}
    }
    look_of = {
        key: {
            "label": html.label(box, theme) if has_inks else html.plain(box),
            **looks[box.kind],
            **(error_attributes(theme) if box.is_error else {}),
        }
        for key, box in unique.items()
    }
    return [look_of[id(box)] for box in drawn]


def _shapes(nodes: Iterable[Node], looks: Iterable[dict[str, str]]) -> Iterator[Shape]:
    """Return the boxes, each with its look."""
    new_shape = partial(tuple.__new__, Shape)  # all fields at once: half the time of Shape(...)
    return (new_shape((node.id, look)) for node, look in zip(nodes, looks, strict=True))


def _clusters(graph: Graph, looks: list[dict[str, str]], options: RenderOptions) -> Iterator[Statement]:
    """Yield the boxes of a static graph, each name scope a frame of its own within the one around it."""
    inside: dict[str, list[Shape]] = {"": []}
    scopes: dict[str, list[str]] = {"": []}
    for node in graph.nodes:
        path = ""
        for part in node.scope.split("/") if node.scope else ():
            outer, path = path, f"{path}/{part}" if path else part
            if path not in scopes:
                scopes[outer].append(path)
                scopes[path], inside[path] = [], []
    for node, statement in zip(graph.nodes, _shapes(graph.nodes, looks), strict=True):
        # a node with a scope's name is in it, as its helpers are
        inside[node.name if node.name in scopes else node.scope].append(statement)
    look = {**CLUSTER, "color": THEMES[options.theme].line} if options.show else CLUSTER
    over, below = ("b", "t") if options.direction == "BT" else ("t", "b")  # BT turns the picture over
    entered = _entered(graph)
    waiting: list[tuple[str, bool]] = [("", False)]
    while waiting:  # a stack: scopes nest as deep as they like
        path, is_done = waiting.pop()
        if is_done:
            yield Frame()
            continue
        if path:
            place = below if path in entered else over  # where no arrow strikes the title through
            yield Frame(path, {"label": path.rpartition("/")[2], **look, "labelloc": place})
            waiting.append((path, True))
        yield from inside[path]
        waiting.extend((scope, False) for scope in reversed(scopes[path]))


def _entered(graph: Graph) -> set[str]:
    """Return the name scopes into which an arrow leads from outside."""
    scopes = {node.id: node.scope for node in graph.nodes}
    paths: set[str] = set()
    for edge in graph.edges:
        outside, path = f"{scopes[edge.source]}/", scopes[edge.target]
        while path and not outside.startswith(f"{path}/"):
            paths.add(path)
            path = path.rpartition("/")[0]
    return paths


def _lines(
    edges: Iterable[Edge], graph: Graph, looks: Mapping[str, Mapping[str, str]], options: RenderOptions
) -> Iterator[Arrow]:
    """Yield the arrows of a graph, or some of them, with the looks of their kinds."""
    tensors = {node.id for node in graph.nodes if node.kind == "saved"}
    outputs = {node.id: node.recorded.outputs for node in graph.nodes if node.recorded.outputs and options.show}
    data, has_locals = looks["data"], "local" in options.show
    new_arrow = partial(
        tuple.__new__, Arrow
    )  # all fields at once: half the time of Arrow(...), of which there are most
    for edge in edges:
        start, end, _, label, kind, output, _ = edge
        if kind == "data" and not label and not has_locals and start not in outputs:
            yield new_arrow((start, end, data, "", ""))
            continue
        look = looks[kind]
        if kind == "saved":  # TorchViz's way round, which puts what is saved below the operation
            is_above = options.show and start not in tensors  # a leaf stays above the operations that keep it
            yield Arrow(end, start, {**look, "constraint": "false"} if is_above else look)
            continue
        if not label and output < len(outputs.get(start, ())):
            label = outputs[start][output]
        if has_locals and (text := local_text(edge, options.precision)):
            yield Arrow(start, end, {"label": html.on_line(text, THEMES[options.theme], options), **look})
            continue
        if kind == "data" and label:
            look = {"label": shorten(label, LONGEST_LINE, middle=True), **look}
        yield Arrow(start, end, look)
