"""Both forms of a program in one picture: the static graph that is built once, and one of the graphs that are built anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gviz.graph import Edge, Graph, Node

if TYPE_CHECKING:
    from gviz.sources.compare import Comparison

__all__ = ["bars", "seconds", "side_by_side"]

BAR = 24
"""Characters of the longest bar in a picture."""


def seconds(time: float) -> str:
    """A time as people read it.

    >>> seconds(5.12e-6), seconds(0.0123), seconds(2)
    ('5.1 us', '12 ms', '2.0 s')
    """
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if time < 1000 * size * 0.9995:
            return f"{time / size:.{1 if time < 10 * size else 0}f} {unit}"
    return f"{time:.1f} s"


def bars(found: Comparison, width: int, block: str = "█") -> list[str]:
    """A line for each form: a bar as long as a run takes, in so many characters in all."""
    times = {"static ": found.static_run, "dynamic": found.dynamic_run}
    texts = {name: seconds(time) for name, time in times.items()}
    room = max(width - len("dynamic  ") - 1 - max(map(len, texts.values())), 1)
    most = max(times.values())
    return [f"{name}  {block * max(round(room * time / most), 1)} {texts[name]}" for name, time in times.items()]


def side_by_side(found: Comparison) -> Graph:
    """A cluster for each form, with the counts in its title, and a bar for the time of a run in each.

    A program that records no graph has a box in its place.
    """
    from gviz.static.picture import picture

    pair, runs = found.pair, len(found.pair.feeds)
    once = title(f"static: built once, run {times(runs)}", f"{len(found.static.graph)} operations, in {seconds(found.build)}")
    anew = title(
        f"dynamic: built {times(runs)}", f"{runs} x {pair.recorded} = {runs * pair.recorded} operations; one graph is drawn"
    )
    nothing = Graph(nodes=(Node("n0", "operation", f"{pair.recorded} operations,\nno graph is kept"),))
    first, second = within(picture(found.static.graph), "s", once), within(pair.picture or nothing, "d", anew)
    boxes = [
        Node(key, "constant", line.replace("static ", "a run  ").replace("dynamic", "a run  "), scope=scope)
        for key, line, scope in zip(("sbar", "dbar"), bars(found, BAR + 20), (once, anew), strict=True)
    ]
    return Graph(
        (*first.nodes, boxes[0], *second.nodes, boxes[1]),
        (*first.edges, *second.edges),
        (*first.roots, *second.roots),
        title=pair.title,
        kind="static",
    )


def title(*lines: str) -> str:
    """Lines of one width, as a title's lines are centred."""
    width = max(map(len, lines))
    return "\n".join(line.ljust(width) for line in lines)


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else f"{count} times"


def within(graph: Graph, key: str, scope: str) -> Graph:
    """The same graph inside a scope, its ids made its own."""

    def moved(node: Node) -> Node:
        name = node.name.removeprefix(f"{node.scope}/") if node.name and node.scope else node.name
        return replace(node, id=key + node.id, name=name, scope=f"{scope}/{node.scope}" if node.scope else scope)

    edges = tuple(replace_ends(edge, key) for edge in graph.edges)
    return Graph(tuple(map(moved, graph.nodes)), edges, tuple(key + root for root in graph.roots), kind="static")


def replace_ends(edge: Edge, key: str) -> Edge:
    """The same edge between the renamed nodes."""
    return replace(edge, source=key + edge.source, target=key + edge.target)
