"""Both forms of a program in one picture: the static graph, and one of the graphs that are built anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gviz.compare.measuring import Comparison
from gviz.compare.scripts import ScriptComparison
from gviz.graphs import ROW, Graph, Module, Node, Region
from gviz.passes.groups import FEW_SCOPES, grouped
from gviz.passes.scopes import with_scopes
from gviz.pictures.parts import READABLE_GROUPS
from gviz.static.out import static_picture
from gviz.static.session import computed
from gviz.text import amount

BARS = 44
"""Columns of the bars in a picture."""

MOST_COUNTS = 6
"""Counts of operations that are written out."""


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


def side_by_side(comparisons: Sequence[Comparison], collapse: Sequence[str] = ()) -> Graph:
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
    static, dynamic = readable(with_values(comparison), collapse), pair.picture or nothing
    inputs = common_inputs(static, [dynamic])
    framed = map(in_frame, "sd", (static, dynamic), titles, (inputs, inputs))
    return joined_graphs([*framed]).changed(title=pair.title)


def scripts_side_by_side(comparison: ScriptComparison, collapse: Sequence[str] = ()) -> Graph:
    """Return a picture of two scripts: a frame for the static graph, and one with the dynamic graphs that differ."""
    static, dynamic = comparison.static, comparison.dynamic
    graph_count, picture_count = len(dynamic.operations), len(dynamic.pictures)
    some = f"; {picture_count} graphs are drawn" if picture_count > 1 else "; one graph is drawn"
    titles = (
        (f"static: built once, run {amount(len(static.times), 'time')}", amount(static.operations[0], "operation")),
        (
            f"dynamic: built {amount(graph_count, 'time')}",
            f"{total(dynamic.operations)} operations{some * (picture_count < graph_count)}",
        ),
    )
    left = readable(static.pictures[0], collapse)
    inputs = common_inputs(left, dynamic.pictures.values())
    if picture_count > 1:
        inner = [
            in_frame(f"r{run}", graph, (f"run {run}", amount(graph_size(graph), "operation")), inputs)
            for run, graph in dynamic.pictures.items()
        ]
        runs = joined_graphs(inner)
    else:
        (runs,) = dynamic.pictures.values()
    return joined_graphs([in_frame("s", left, titles[0], inputs), in_frame("d", runs, titles[1], inputs)])


def common_inputs(static: Graph, dynamic: Iterable[Graph]) -> tuple[str, ...]:
    """Return the names of placeholders that a dynamic graph has leaves for, in the static graph's order; not of one."""
    leaves = {input_name(node) for graph in dynamic for node in graph.nodes if node.kind == "leaf"}
    names = (input_name(node) for node in static.nodes if node.kind == "placeholder")
    common = tuple(dict.fromkeys(name for name in names if name in leaves))
    return common if len(common) > 1 else ()


def input_name(node: Node) -> str:
    """Return what the program calls a leaf or a placeholder."""
    return node.expression * (node.kind == "placeholder") or node.name or ""


def readable(graph: Graph, collapse: Sequence[str] = ()) -> Graph:
    """Return a static graph with some name scopes as boxes.

    Args:
        graph: with all its operations.
        collapse: the scopes; without any its derivatives if it is large, and all scopes if it still is.
    """
    if collapse:
        return grouped(graph, collapse=collapse)
    parts = {part for node in graph.nodes for part in node.scope.split("/")} - {""}
    result = graph
    if len(graph.nodes) > FEW_SCOPES and any(part.startswith("gradients") for part in parts):
        result = grouped(graph, collapse=("gradients*",))
    return grouped(graph) if parts and len(result.nodes) > READABLE_GROUPS else result


def graph_size(graph: Graph) -> int:
    """Return the count of the operations that a run records."""
    return sum(node.kind == "operation" for node in graph.nodes)


def total(counts: Sequence[int]) -> str:
    """Return counts with their sum.

    >>> total([13, 5, 1]), total([8] * 50), total([4])
    ('13 + 5 + 1 = 19', '50 x 8 = 400', '4')
    """
    if len(counts) == 1:
        return str(counts[0])
    if len({*counts}) == 1:
        return f"{len(counts)} x {counts[0]} = {sum(counts)}"
    return f"{' + '.join(map(str, counts))} = {sum(counts)}" if len(counts) <= MOST_COUNTS else f"in all {sum(counts)}"


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


def in_frame(key: str, graph: Graph, title: tuple[str, str], inputs: Sequence[str] = ()) -> Graph:
    """Return a graph with a frame of that title around all of it; its ids begin with the key.

    Args:
        key: what ids begin with.
        graph: what is inside.
        title: two lines.
        inputs: names of placeholders and leaves that stand side by side, if they are in no other frame.
    """
    scope = "\n".join(line.ljust(max(map(len, title))) for line in title)  # the lines of a title are centred
    framed = graph if graph.regions else with_scopes(graph)
    regions = [Region(scope), *(region._replace(within=region.within + 1) for region in framed.regions)]
    places = {name: place for place, name in enumerate(inputs)}

    def with_frame(node: Node) -> Node:
        name = node.name.removeprefix(f"{node.scope}/") if node.name and node.scope else node.name
        inner = f"{scope}/{node.scope}" if node.scope else scope
        is_input = node.region < 0 and node.kind in ("placeholder", "leaf") and input_name(node) in places
        region = len(regions) if is_input else node.region + 1
        return node._replace(id=key + node.id, name=name, module=Module(inner), region=region)

    nodes = sorted(map(with_frame, framed.nodes), key=lambda node: places.get(input_name(node), len(places)))
    return Graph(
        tuple(nodes),
        tuple(edge._replace(source=key + edge.source, target=key + edge.target) for edge in graph.edges),
        tuple(key + root for root in graph.roots),
        kind="static",
        regions=(*regions, *[Region("inputs", ROW, 0)] * bool(inputs)),
    )


def joined_graphs(graphs: Sequence[Graph]) -> Graph:
    """Return several graphs in frames as one."""
    nodes, regions = list[Node](), list[Region]()
    for graph in graphs:
        before = len(regions)
        nodes += (node._replace(region=node.region + before) for node in graph.nodes)
        regions += (region._replace(within=region.within + before * (region.within >= 0)) for region in graph.regions)
    return Graph(
        tuple(nodes),
        tuple(edge for graph in graphs for edge in graph.edges),
        tuple(root for graph in graphs for root in graph.roots),
        kind="static",
        regions=tuple(regions),
    )
