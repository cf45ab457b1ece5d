"""A graph on one screen: its size, its operations by kind, what its modules come to, how to draw it well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from textwrap import wrap
from typing import Any, NamedTuple, Protocol

from gviz.errors import ArgumentError, SourceError
from gviz.graphs import Graph, Module, Node
from gviz.options import BY_MODULE
from gviz.passes.boxes import HOOK, card_of
from gviz.passes.modules import parts_of
from gviz.pictures.options import READABLE
from gviz.text import aligned_text, amount, bytes_text, cut, joined

MOST_KINDS, MOST_MODULES, LONGEST_PATH = 8, 16, 4
"""Kinds of operations and modules that are listed; operations at each end of the longest path."""

LONGEST_STEP, WIDTH = 40, 80
"""Characters of a step of the longest path, and of a line."""

DIGITS = 4

NOT_SEEN = (
    "which operations a module has recorded, and whether more repeat, is known of a program that gviz runs: "
    "gviz summary SCRIPT"
)
"""What stands below modules that names of parameters alone tell."""


class ModuleRow(NamedTuple):
    """What the calls of a module come to, with those within it.

    Args:
        path: the names that lead to it.
        kind: its class.
        calls: how often it was called; None where that is not known.
        operations: how many were recorded in it; None where that is not known.
        parameters: how many numbers its parameters have, frozen ones and those that are not used, too.
        kept: bytes that its operations save for backward; what several operations save counts for the first of them.
            None where that is not known.
        grad: the norm of the gradients of its leaves together; None where one has none.
    """

    path: str
    kind: str
    calls: int | None
    operations: int | None
    parameters: int
    kept: int | None
    grad: float | None


class GraphSummary(NamedTuple):
    """A graph in numbers; its text is what ``gviz summary`` prints.

    Args:
        title: its name.
        boxes: how many nodes it has.
        operations: how many of them are operations.
        kinds: how many of each class, the most frequent first.
        depth: operations on the longest path.
        width: operations that are as far from the leaves, at most.
        leaves: how many take a gradient.
        parameters: how many numbers these have.
        kept: bytes that all operations save for backward, counted likewise; None where that is not known.
        path: the longest path, from a leaf to the root.
        repeats: blocks that repeat, outermost ones: their title, how often, and how many operations each has.
        modules: outer ones first.
        command: the options that draw the graph so that it can be read.
    """

    title: str
    boxes: int
    operations: int
    kinds: tuple[tuple[str, int], ...]
    depth: int
    width: int
    leaves: int
    parameters: int
    kept: int | None
    path: tuple[str, ...]
    repeats: tuple[tuple[str, int, int], ...]
    modules: tuple[ModuleRow, ...]
    command: str

    def __repr__(self) -> str:
        """Return it as lines of text."""
        return "\n".join(summary_lines(self))


class WithGraph(Protocol):
    """A source that was read, for instance."""

    @property
    def graph(self) -> Graph:
        """Its graph."""


def summary(source: Graph | WithGraph) -> GraphSummary:
    """Return a graph in numbers.

    Args:
        source: a graph, or what :func:`gviz.read` has returned.

    >>> from gviz.graphs import Edge, Recorded
    >>> nodes = Node("y", "operation", "MulBackward0", "y", recorded=Recorded(kept=8)), Node("x", "leaf", name="x")
    >>> short = summary(Graph(nodes, (Edge("x", "y"),), ("y",), title="y"))
    >>> short.kinds, short.depth, short.leaves, short.kept, short.path
    ((('MulBackward0', 1),), 1, 1, 8, ('x', 'y = MulBackward0'))
    """
    graph = source if isinstance(source, Graph) else source.graph
    operations = [node for node in graph.nodes if is_operation(node)]
    alone = [node for node in graph.nodes if node.kind == "output" and not graph.inputs[node.id]]  # leaves as roots
    leaves = [*(node for node in graph.nodes if node.kind == "leaf"), *(node._replace(kind="leaf") for node in alone)]
    card = card_of([*operations, *leaves], "", (), ())
    depths, path = longest_path(graph)
    widths = Counter(depths[node.id] for node in operations if node.id in depths)
    modules, repeats = tuple(module_rows(graph)), repeats_of(graph)
    return GraphSummary(
        graph.title,
        len(graph.nodes),
        len(operations),
        tuple(Counter(node.label for node in operations).most_common()),
        max(depths.values(), default=0),
        max(widths.values(), default=0),
        len(leaves),
        card.elements,
        card.kept,
        tuple(step_text(node) for node in path),
        repeats,
        modules,
        command(len(graph.nodes), has_modules=graph.has_modules, has_repeats=bool(repeats)),
    )


def repeats_of(graph: Graph) -> tuple[tuple[str, int, int], ...]:
    """Return the blocks that repeat: layers, steps of a loop."""
    from gviz.passes.fold import Folding  # it loads numpy

    folding = Folding(graph)
    return tuple((folding.titles[fold], fold.count, fold.period) for fold in folding.folds)


def longest_path(graph: Graph) -> tuple[Mapping[str, int], list[Node]]:
    """Return how many operations lead to each node with it, at most, and one longest path from a leaf on."""
    depths: dict[str, int] = {}
    before: dict[str, str] = {}
    for node in graph.order:
        sources = [edge.source for edge in graph.inputs[node.id] if edge.kind == "data"]
        deepest = max(sources, key=depths.__getitem__, default=None)
        if deepest is not None:
            before[node.id] = deepest
        depths[node.id] = (depths[deepest] if deepest is not None else 0) + is_operation(node)
    here = max(depths, key=depths.__getitem__, default=None)
    path: list[Node] = []
    while here is not None:
        path.append(graph.by_id[here])
        here = before.get(here)
    tensors = ("leaf", "placeholder", "variable")
    return depths, [node for node in reversed(path) if is_operation(node) or node.kind in tensors]


def is_operation(node: Node) -> bool:
    """Return whether a node is an operation of the network, and not what calls the backward hooks of a module."""
    return node.kind == "operation" and node.label != HOOK


def module_rows(graph: Graph) -> Iterable[ModuleRow]:
    """Yield a row for each module, in the order of the walk from the leaves on, outer ones before what is in them."""
    inside: dict[str, list[Node]] = {}
    kinds = {one.path: one.kind for one in graph.modules if not one.call}
    calls: dict[str, set[int]] = {}
    for node in graph.inputs_first():
        around = graph.calls_around(node.module)
        if node.module is not None and not node.module.call:  # a leaf's, or one that names of parameters tell
            paths = prefixes(node.module.path)
            around = [*(Module(path) for path in paths[:-1]), node.module]
        for one in around:
            inside.setdefault(one.path, []).append(node)
            kinds[one.path] = one.kind or kinds.get(one.path, "")
            if one.call or node.kind == "operation":
                calls.setdefault(one.path, set()).update([one.call] * (one.call > 0))
    leaves = {node.name: node for node in graph.nodes if node.kind == "leaf"}
    for path, name in shared_parameters(graph):
        if name in leaves:
            inside.setdefault(path, []).append(leaves[name])
    if graph.guesses_modules:  # of a module whose parameters others use, too, no operation may be known
        calls |= {path: set() for path in inside if path not in calls}
    models = {prefixes(path)[0] for path in calls} if any(calls.values()) else None
    undrawn = undrawn_parameters(graph, models)
    for path in sorted({**calls, **undrawn}, key=lambda path: path.count(".")):
        card = card_of(inside.get(path, []), kinds.get(path, ""), (), ())
        nothing = None if models is None else 0  # of what recorded nothing, as far as somebody has seen the calls
        yield ModuleRow(
            path,
            card.kind,
            len(calls.get(path, ())) or None,
            (card.operations if path in calls else nothing) if not graph.guesses_modules else None,
            card.elements + undrawn.get(path, 0),
            card.kept if path in calls else nothing,
            card.grad,
        )


def module_columns(graph: Graph, names: Iterable[str] = ()) -> dict[str, list[Any]]:
    """Return the columns of a table by module; those of these names, or all of them.

    Raises:
        ArgumentError: there is no such column.
        SourceError: there are no modules.
    """
    wanted = [*names] or [*BY_MODULE]
    for name in wanted:
        if name not in BY_MODULE:
            raise ArgumentError(f"the columns of a table by module are {joined([*BY_MODULE])}, not {name!r}")
    rows = [*module_rows(graph)]
    if not rows:
        raise SourceError("no operation of the graph was recorded in a module")
    fields = {"module": "path", **{name: BY_MODULE[name] for name in wanted}}
    return {name: [getattr(row, field) for row in rows] for name, field in fields.items()}


def fact_text(column: str, fact: object) -> str:
    """Return a fact of a module as text; "" where it is not known.

    >>> fact_text("saved", 2048), fact_text("params", 28005), fact_text("grad_norm", 0.25), fact_text("calls", None)
    ('2 KiB', '28,005', '0.25', '')
    """
    if isinstance(fact, int):
        return bytes_text(fact) if column == "saved" else f"{fact:,}"
    return f"{fact:.{DIGITS}g}" if isinstance(fact, float) else str(fact or "")


def shared_parameters(graph: Graph) -> Iterable[tuple[str, str]]:
    """Return each module that has a parameter of another one, as a tied weight is, with the parameter's first name."""
    rows = [row for row in graph.tensors if row.same_as]
    paths = ({*modules_around(row.name)}.difference(modules_around(row.same_as)) for row in rows)
    return sorted({(path, row.same_as) for row, own in zip(rows, paths, strict=True) for path in own})


def modules_around(name: str) -> list[str]:
    """Return the modules that a parameter of that name is in, the outermost first."""
    return prefixes(name)[:-1]


def undrawn_parameters(graph: Graph, models: Collection[str] | None) -> dict[str, int]:
    """Return how many numbers those parameters of each module have that are no leaves of the graph: frozen, not used.

    Args:
        graph: a graph with its table of tensors.
        models: the modules that the program has called, outermost ones; None for those of all tensors.
    """
    drawn = {node.name for node in graph.nodes if node.kind == "leaf"}
    sizes: dict[tuple[str, str], int] = {}  # by module and first name: a shared parameter counts once in each
    for row in graph.tensors:
        first = row.same_as or row.name
        if row.is_leaf and row.unlisted is None and first not in drawn:
            sizes |= {(path, first): row.numbers.numel for path in modules_around(row.name)}
    counts: dict[str, int] = {}
    for (path, _), size in sizes.items():
        if models is None or prefixes(path)[0] in models:
            counts[path] = counts.get(path, 0) + size
    return counts


def prefixes(path: str) -> list[str]:
    """Return the modules that a path goes through, with itself.

    >>> prefixes("net.fc")
    ['net', 'net.fc']
    """
    parts = parts_of(path)
    return [".".join(parts[: at + 1]) for at in range(len(parts))]


def step_text(node: Node) -> str:
    """Return a step of the longest path: an operation with the name of its result, a leaf by its name."""
    label = node.label or node.name or "?"
    return f"{node.name} = {label}" if node.label and node.name and node.name != label else label


def command(boxes: int, *, has_modules: bool, has_repeats: bool) -> str:
    """Return the options of ``gviz render`` that draw a graph of so many boxes so that it can be read.

    >>> command(20, has_modules=True, has_repeats=True), command(400, has_modules=False, has_repeats=False)
    ('', '--max-nodes 150')
    """
    if boxes <= READABLE:
        return ""
    return "--by module" if has_modules else "--fold on" if has_repeats else f"--max-nodes {READABLE}"


def summary_lines(short: GraphSummary, source: str = "", arguments: str = "") -> list[str]:
    """Return a summary as text.

    Args:
        short: the graph in numbers.
        source: as the command line has it, with its values; "" in Python.
        arguments: those of a script, likewise.
    """
    saved = f", {bytes_text(short.kept)} saved for backward" if short.kept is not None else ""
    kinds = [f"{count:,} {label}" for label, count in short.kinds[:MOST_KINDS]]
    more, repeats = len(short.kinds) - MOST_KINDS, short.repeats[:MOST_KINDS]
    steps = list(short.path)
    if len(steps) > 2 * LONGEST_PATH:
        steps[LONGEST_PATH:-LONGEST_PATH] = [f"… {len(steps) - 2 * LONGEST_PATH:,} more"]
    size = f"{amount(short.parameters, 'number')} in {amount(short.leaves, 'leaf', 'leaves')}"
    rows = [
        f"{short.title}: {amount(short.operations, 'operation')} in {amount(short.boxes, 'box', 'boxes')}{saved}",
        f"depth {short.depth:,}, width {short.width:,}; {size}",
        *[f"operations: {', '.join(kinds)}{f', {more} further kinds' if more > 0 else ''}"] * bool(kinds),
        *[f"longest path: {' → '.join(cut(step, LONGEST_STEP) for step in steps)}"] * bool(kinds),
        *(f"{title} × {times}: blocks of {amount(each, 'operation')} that repeat" for title, times, each in repeats),
    ]
    rows = [part for row in rows for part in wrap(row, WIDTH, subsequent_indent="  ", break_on_hyphens=False)]
    if short.modules:
        heads = ("module", "class", "calls", "operations", "numbers", "saved", "‖grad‖")
        cells = [(one.path, *map(fact_text, BY_MODULE, one[1:])) for one in short.modules[:MOST_MODULES]]
        known = [column for column in zip(heads, *cells, strict=True) if any(column[1:])]
        rows += ["", *aligned_text([*zip(*known, strict=True)]).rstrip("\n").split("\n")]
        rest = len(short.modules) - MOST_MODULES
        rows += [f"… {rest:,} more modules (--json lists all)"] if rest > 0 else []
        rows += wrap(NOT_SEEN, WIDTH) if all(one.operations is None for one in short.modules) else []
    if not source:
        return [*rows, "", "draw it: gviz.graph(loss) of tensors, gviz.read(source) of a source"]
    return [*rows, "", " ".join(filter(None, ["draw it: gviz render", source, short.command, arguments]))]
