"""Both forms of a program in one picture: the static graph, and one of the graphs that are built anew."""

from __future__ import annotations

from collections.abc import Sequence

from gviz.compare import Comparison
from gviz.graphs import Graph, Module, Node
from gviz.static.out import static_picture
from gviz.static.session import computed

BARS = 44
"""Columns of the bars in a picture."""


def seconds(time: float) -> str:
    """Return a time as people read it.

    >>> seconds(5.12e-6), seconds(0.0123), seconds(2)
    ('5.1 µs', '12 ms', '2.0 s')
    """
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if time < 1000 * size * 0.9995:
            return f"{time / size:.{1 if time < 10 * size else 0}f} {unit}"
    return f"{time:.1f} s"


def bars(comparison: Comparison, width: int, block: str = "█") -> list[str]:
    """Return a line for each form: a bar as long as a run takes, in so many characters in all."""
    times = {"static ": comparison.static_run, "dynamic": comparison.dynamic_run}
    texts = {name: seconds(time) for name, time in times.items()}
    room = max(width - len("dynamic  ") - 1 - max(map(len, texts.values())), 1)
    most = max(times.values())
    return [f"{name}  {block * max(round(room * time / most), 1)} {texts[name]}" for name, time in times.items()]


def side_by_side(comparisons: Sequence[Comparison]) -> Graph:
    """Return a picture of the first program that keeps its graph: a frame for each form, with counts.

    A program that records no graph has a box in its place.
    """
    comparison = first_with_picture(comparisons)
    pair, runs = comparison.pair, len(comparison.pair.feeds)
    times = "once" if runs == 1 else f"{runs} times"
    nothing = Graph(nodes=(Node("n0", "operation", f"{pair.recorded} operations,\nno graph is kept"),))
    size, all_built = (
        len(comparison.static.graph.operations),
        f"{runs} x {pair.recorded} = {runs * pair.recorded} operations",
    )
    titles = (
        (f"static: built once, run {times}", f"{size} operations, in {seconds(comparison.build)}"),
        (f"dynamic: built {times}", f"{all_built}; one graph is drawn"),
    )
    static, dynamic = map(in_frame, "sd", (with_values(comparison), pair.picture or nothing), titles)
    edges, roots = static.edges + dynamic.edges, static.roots + dynamic.roots
    return Graph(static.nodes + dynamic.nodes, edges, roots, title=pair.title, kind="static")


def first_with_picture(comparisons: Sequence[Comparison]) -> Comparison:
    """Return the comparison that is drawn: the first whose program keeps its graph."""
    return next((each for each in comparisons if each.pair.picture is not None), comparisons[0])


def bars_caption(comparisons: Sequence[Comparison]) -> str:
    """Return the text below the picture: how long a run takes in each form, as bars that begin at one place."""
    return "\n".join(["a run takes", *bars(first_with_picture(comparisons), BARS)])


def with_values(comparison: Comparison) -> Graph:
    """Return the picture of the static graph, with what the first run gives."""
    graph = comparison.static.graph
    placeholders = [operation.outputs[0] for operation in graph.get_operations() if operation.type == "Placeholder"]
    return static_picture(graph, values=computed(graph, dict(zip(placeholders, comparison.pair.feeds[0], strict=True))))


def in_frame(key: str, graph: Graph, title: tuple[str, str]) -> Graph:
    """Return a graph in a scope of that title; its ids begin with the key."""
    scope = "\n".join(line.ljust(max(map(len, title))) for line in title)  # the lines of a title are centred

    def moved(node: Node) -> Node:
        name = node.name.removeprefix(f"{node.scope}/") if node.name and node.scope else node.name
        inner = f"{scope}/{node.scope}" if node.scope else scope
        return node._replace(id=key + node.id, name=name, module=Module(inner))

    return Graph(
        tuple(map(moved, graph.nodes)),
        tuple(edge._replace(source=key + edge.source, target=key + edge.target) for edge in graph.edges),
        tuple(key + root for root in graph.roots),
        kind="static",
    )
