"""The chain rule, path by path: every way from the root to a tensor, the factors along it, their product, and the sum.

A graph of n operations may have 2^n paths, so they are counted, and their products added, without being listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from gviz.errors import SourceError
from gviz.formulas.operations import operator_of
from gviz.graphs import NO_FLOW, Edge, Flow, Graph, Hooked, Node, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import ONE, agree, magnitude, plus, sum_of, sum_text, sum_to, times, times_jacobian, with_rest
from gviz.passes.starts import starts_of
from gviz.text import did_you_mean, excerpt, joined, name_among, quotient_of
from gviz.walk import MOST_FLOWING

MOST = 4
"""Paths that are listed."""


MOST_TRIED = 64
"""Paths among which those that are listed are looked for: one that comes to 0 is not, where there are others."""

MOST_STEPS, ENDS = 20_000, 20
"""Steps of all listed paths together; if there are more, so many are listed at each end of a path."""

GAP = "…"
"""The symbol that stands for the steps between."""

CANCELLED = 0.01
"""How small the result of a cancellation may be before it is held to less precision: 1/100 of what was added up."""


class Path(NamedTuple):
    """A path from the root to a tensor.

    Args:
        edges: its edges, root first; each goes from an input to the operation that uses it.
        names: of the tensors along it, root first: one more than there are edges.
        symbols: the local derivative of each edge, as in ``b``; the quotient ``∂y/∂a`` where none is known.
        factors: their numbers; None for one that is no factor.
        product: of the factors; None where they are not the gradient, element by element.
        gradients: what the gradient has become after each edge, as far as that is known.
        skipped: how many steps are left out in the middle; one edge, with the symbol :data:`GAP`, stands for them.
        start: the gradient that backward starts from at its root; 1, or what was given for the root.
    """

    edges: tuple[Edge, ...]
    names: tuple[str, ...]
    symbols: tuple[str, ...]
    factors: tuple[Numbers | None, ...]
    product: Numbers | None
    gradients: tuple[Numbers | None, ...] = ()
    skipped: int = 0
    start: Numbers | None = ONE

    @property
    def sums(self) -> tuple[str, ...]:
        """Over what the product is added up after each step, in words; "" where it is not."""
        return tuple(map(sum_text, self.edges))

    @property
    def is_known(self) -> bool:
        """Whether each of its steps is a factor."""
        return self.factors.count(None) == bool(self.skipped)


class BackwardStep(NamedTuple):
    """A step of backward: an operation, one of its inputs, the edge between, and what arrived times the derivative."""

    of: Node
    wrt: str
    edge: Edge
    product: Numbers | None


class Prefix(NamedTuple):
    """The beginning of a path: from a root to a tensor.

    Args:
        node: the tensor.
        gradient: what the root's gradient has become here; None where that is not known.
        edge: the last step; None at a root.
        before: the way without it.
        length: how many steps there are.
        head: the way up to its step :data:`ENDS`, if it is longer.
    """

    node: str
    gradient: Numbers | None
    edge: Edge | None = None
    before: Prefix | None = None
    length: int = 0
    head: Prefix | None = None

    def further(self, edge: Edge, *, is_alone: bool) -> Prefix:
        """Return the way one step further.

        Where no other one comes along, the engine's gradient is known to be its own.
        """
        gradient = None if edge.flow is NO_FLOW else gradient_along(self.gradient, edge)
        gradient = edge.flow.handed if gradient is None and is_alone else gradient
        head, length = (self if self.length == ENDS else self.head), self.length + 1
        return _new_prefix((edge.source, gradient, edge, self, length, head))

    def steps(self, *, is_whole: bool) -> list[Prefix]:
        """Return the way after each of its steps; of a long one the first and the last steps, with a gap between."""
        here, steps = self, list[Prefix]()
        while here.before is not None and here.edge is not None:
            steps.append(here)
            here = here.before
            if not is_whole and len(steps) == ENDS and here.head is not None and here.length > ENDS + 1:
                gap = Edge(here.node, here.head.node, flow=Flow(GAP))
                here = Prefix(here.node, here.gradient, gap, here.head)
        return steps[::-1]


_new_prefix = partial(tuple.__new__, Prefix)  # all fields at once: half the time of Prefix(...)


@dataclass(frozen=True)
class Chain:
    """All paths to a tensor.

    Args:
        of: the names of the roots.
        wrt: the name of the tensor.
        node: its node.
        count: how many paths there are.
        paths: the first of them, of many rather those that do not come to 0.
        sum: of the products of all paths; None where that is not the engine's gradient.
        grad: the engine's gradient; None if there is none.
        path_sum: that sum, whatever the engine's gradient is; None where a factor is not known.
        odd: the step nearest to the tensor at which the engine hands on another gradient than the product, if the sum is
            not the engine's gradient.
        before: what the tensor's ``.grad`` was when backward was called; None where it was none, or that is not known.
        absent: why the graph has no gradients of the engine's; "" if it has.
        hooks: what hooks have made of the gradient on its way, each with the name of the tensor.
        starts: the gradients that backward starts from at the roots.
    """

    of: tuple[str, ...]
    wrt: str
    node: Node
    count: int
    paths: tuple[Path, ...]
    sum: Numbers | None
    grad: Numbers | None
    path_sum: Numbers | None = None
    odd: BackwardStep | None = None
    before: Numbers | None = None
    absent: str = ""
    hooks: tuple[tuple[str, Hooked], ...] = ()
    starts: tuple[Numbers | None, ...] = (ONE,)

    @property
    def is_complete(self) -> bool:
        """Whether all paths are listed."""
        return self.count == len(self.paths)


def find_chains(graph: Graph, names: Iterable[str], most: int = MOST) -> tuple[Chain, ...]:
    """Return the paths from the roots to some tensors: one pass from the roots serves all of them.

    Args:
        graph: the graph of the values, as :func:`gviz.passes.dataflow.dataflow` makes it.
        names: of the tensors.
        most: how many paths to each are listed.

    Raises:
        SourceError: there is no such tensor below the roots, or no gradient goes to it.
    """
    node_of = {  # a tensor is frozen where it was used before requires_grad_(), and a leaf elsewhere
        **{node.name: node for node in reversed(graph.nodes)},
        **{node.name: node for node in reversed(graph.nodes) if node.kind not in ("constant", "frozen")},
    }
    called = [name_among(name, filter(None, node_of)) for name in names]
    targets = {name: wanted_node(graph, name, node_of) for name in called}
    on_paths = above(graph, [node.id for node in targets.values()])
    inputs = graph.inputs
    if len(on_paths) < len(inputs):
        inputs = {node: [edge for edge in inputs[node] if edge.source in on_paths] for node in on_paths}
    order = [node for node in reversed(graph.order) if node.id in on_paths]
    starts = gradients_of_roots(graph)
    totals = totals_of(starts, order, inputs)
    if missing := [name for name, node in targets.items() if node.id not in totals]:  # of a saved graph
        raise SourceError(
            f"no path leads from a root of this graph to {joined(missing, 4)}: an edge, or the root, is missing"
        )
    tried = max(most, MOST_TRIED) if len(order) <= MOST_FLOWING else most
    first = first_prefixes(starts, inputs, totals, tried)
    ways = {node.id: first[node.id] for node in targets.values()}
    ways = {key: own if len(own) <= most else sorted(own, key=comes_to_nothing)[:most] for key, own in ways.items()}
    gradients = {name: gradient_of(node, graph.uses) for name, node in targets.items()}
    are_checked = {
        name: agree(totals[node.id].sum, gradients[name], totals[node.id].scale) for name, node in targets.items()
    }
    unlike = {
        name for name, node in targets.items() if not are_checked[name] and totals[node.id].sum and gradients[name]
    }
    odd = first_odd_steps(order, inputs) if unlike else {}
    is_whole = sum(way.length for node in targets.values() for way in ways[node.id]) <= MOST_STEPS
    roots = tuple(tensor_name(graph.by_id[root]) for root in graph.roots)
    chains = []
    for name, node in targets.items():
        total, grad, is_checked = totals[node.id], gradients[name], are_checked[name]
        paths = tuple(
            listed_path(graph, way, starts, is_whole=is_whole, has_product=is_checked) for way in ways[node.id]
        )
        odd_edge = odd.get(node.id) if name in unlike else None
        step = backward_step(graph, odd_edge[1]) if odd_edge is not None else None
        checked = with_rest(total.sum, grad) if is_checked else None
        on_way = above(graph, [node.id]) if graph.has_hooks else ()
        hooks = tuple(
            (tensor_name(one), hook)
            for one in order
            if one.id in on_way and one.kind == "operation"
            for hook in one.grad.hooks
        )
        facts = roots, name, node, total.paths, paths, checked, grad, total.sum, step
        chains.append(Chain(*facts, hooks=hooks, starts=(*starts.values(),)))
    return tuple(chains)


def above(graph: Graph, ids: Iterable[str]) -> set[str]:
    """Return some nodes, and all that are made from them."""
    todo, uses = list(ids), graph.uses
    reached = set(todo)
    for here in todo:  # grows while it is read
        for edge in uses[here]:
            target = edge.target
            if target not in reached:
                reached.add(target)
                todo.append(target)
    return reached


def wanted_node(graph: Graph, name: str, node_of: Mapping[str | None, Node]) -> Node:
    """Return the node of a name; SourceError if it has none, or no gradient goes there."""
    node = node_of.get(name)
    is_the_root = node is not None and node.id in graph.roots and len(graph.roots) == 1
    if node is not None and not is_the_root and node.kind not in ("constant", "frozen"):
        return node
    roots = [each.name or "" for each in graph.nodes if each.id in graph.roots]
    inner = [each for each in graph.nodes if each.kind in ("leaf", "operation") and each.id not in graph.roots]
    below = [each.name for each in inner if each.name]
    ways = f"there are paths to {joined(below, 12)}" if below else "it is made of nothing that has gradients"
    where = f"no path from {joined(roots)} to {excerpt(name)}"
    if node is not None:
        outside = f" ({node.state})" if node.state else ""
        kinds = {"constant": "it is a constant", "frozen": f"it requires no gradient{outside}"}
        why = kinds.get(node.kind, "it is the root itself")
        raise SourceError(f"{where}: {why}", hint=ways)
    row = next((row for row in graph.tensors if row.name == name), None)
    if row is None:
        raise SourceError(f"{where}: there is no tensor of that name", hint=did_you_mean(name, below, ways))
    if not row.requires_grad:
        raise SourceError(f"{where}: it requires no gradient", hint=ways)
    if row.expression is not None:
        hint = f"{ways}; --by operation draws it"
        raise SourceError(f"{where}: it stands for {row.expression} within a statement", hint=hint)
    if is_root(graph, row):
        raise SourceError(f"{where}: {joined(roots)} is {excerpt(name)} itself, by another name", hint=ways)
    roots_text, word = " and ".join(roots), re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    others = [each.name for each in graph.nodes if each.kind == "frozen" and each.name and word.search(each.name)]
    if others:
        raise SourceError(
            f"{where}: {roots_text} is made from {joined(others)}, through which no gradient flows", hint=ways
        )
    if graph.remarks:
        raise SourceError(f"{where} in what is drawn: {'; '.join(graph.remarks)}", hint=ways)
    advice = "or the way is cut off: detach(), item() and torch.no_grad() end a graph"
    raise SourceError(f"{where}: {roots_text} is not made from it, {advice}", hint=ways)


def is_root(graph: Graph, row: TensorRow) -> bool:
    """Return whether a leaf is the only root of the graph: its row has the numbers and the gradient of the root."""
    roots = [
        each
        for each in graph.tensors
        if each.is_leaf and [each.name] == [n.name for n in graph.nodes if n.id in graph.roots]
    ]
    facts = row.numbers, row.grad.value
    return row.is_leaf and row.grad.value is not None and any((r.numbers, r.grad.value) == facts for r in roots)


class Total(NamedTuple):
    """What comes to a tensor over all paths.

    Args:
        paths: how many there are.
        sum: of their products; None if a factor is not known.
        bound: how large the sum may be, if nothing cancels out.
        largest: the size of the largest of its summands.
    """

    paths: int = 0
    sum: Numbers | None = None
    bound: float = 0.0
    largest: float = 0.0

    @property
    def scale(self) -> float:
        """The size of what the sum was added up from."""
        return max(self.largest, self.bound * CANCELLED)


def totals_of(
    starts: Mapping[str, Numbers | None], order: Iterable[Node], inputs: Mapping[str, list[Edge]]
) -> dict[str, Total]:
    """Return what comes to each tensor, from the roots down."""
    totals = {root: Total(1, start, magnitude(start)) for root, start in starts.items() if root in inputs}
    total_of: dict[int, Total] = {}  # many are equal
    for node in order:
        here = totals.get(node.id)
        if here is None:  # it leads to no root, as in a saved graph
            continue
        for edge in inputs[node.id]:
            flow, there = edge.flow, totals.get(edge.source)
            if flow is NO_FLOW:  # as in a graph that is too large for numbers
                paths = here.paths + there.paths if there else here.paths
                totals[edge.source] = total_of[paths] if paths in total_of else total_of.setdefault(paths, Total(paths))
                continue
            step = magnitude(flow.local) if flow.jacobian is None else max(magnitude(flow.jacobian), CANCELLED)
            part = gradient_along(here.sum, edge)
            bound, size = here.bound * step, magnitude(part)
            if there is not None:
                part = plus(there.sum, part)
                bound, size = max(there.bound, bound), max(there.largest, size)
            totals[edge.source] = Total(here.paths + (there.paths if there else 0), part, bound, size)
    return totals


def first_prefixes(
    starts: dict[str, Numbers | None],
    inputs: Mapping[str, list[Edge]],
    totals: Mapping[str, Total],
    most: int,
) -> dict[str, list[Prefix]]:
    """Return the first ways to each tensor, along the slots of each operation.

    No operation is passed more often than that.

    The first ways to what is below an operation begin with the first ways to the operation.
    """
    ways: dict[str, list[Prefix]] = {node: [] for node in inputs}
    todo: list[tuple[Prefix, Edge | None]] = [
        (Prefix(root, start), None) for root, start in reversed(starts.items()) if root in inputs
    ]
    while todo:
        way, edge = todo.pop()
        node = way.node if edge is None else edge.source
        prefixes = ways[node]
        if len(prefixes) == most:
            continue
        if edge is not None:
            way = way.further(edge, is_alone=totals[way.node].paths == 1)
        prefixes.append(way)
        todo += [(way, each) for each in reversed(inputs[node])]
    return ways


def comes_to_nothing(way: Prefix) -> bool:
    """Return whether the gradient along a way is known to be 0."""
    return way.gradient is not None and magnitude(way.gradient) == 0


def tensor_name(node: Node, output: int = 0) -> str:
    """Return what an output of a node is called on a path."""
    names = node.recorded.outputs
    return next(filter(None, (*names[output : output + 1], *names[:1], node.name)), "") or operator_of(node.label)


def listed_path(
    graph: Graph, way: Prefix, starts: Mapping[str, Numbers | None], *, is_whole: bool, has_product: bool
) -> Path:
    """Return the path of a way, with what stands along it."""
    steps = way.steps(is_whole=is_whole)
    edges = tuple(step.edge for step in steps if step.edge is not None)
    first = [graph.by_id[edge.target] for edge in edges[:1]]
    names = (*map(tensor_name, first), *(tensor_name(graph.by_id[edge.source], edge.output) for edge in edges))
    symbols = tuple(edge.flow.symbol or quotient_of(*pair) for edge, pair in zip(edges, pairwise(names), strict=True))
    product = way.gradient if has_product else None
    return Path(
        edges,
        names,
        symbols,
        tuple(edge.flow.local for edge in edges),
        product,
        tuple(step.gradient for step in steps),
        max(way.length - len(steps) + 1, 0) if GAP in symbols else 0,
        starts[edges[0].target] if edges else way.gradient,
    )


def gradient_along(gradient: Numbers | None, edge: Edge) -> Numbers | None:
    """Return what a gradient becomes along an edge; None where that is not known."""
    if edge.flow is NO_FLOW:
        return None
    if edge.flow.handed is None:
        return times(gradient, edge.flow.local)
    if edge.flow.jacobian is not None:
        return times_jacobian(gradient, edge.flow.jacobian, edge.flow.handed)
    return sum_to(times(gradient, edge.flow.local), edge.flow.handed)


def backward_step(graph: Graph, edge: Edge) -> BackwardStep:
    """Return a step of backward, with its product."""
    node = graph.by_id[edge.target]
    return BackwardStep(
        node, tensor_name(graph.by_id[edge.source], edge.output), edge, gradient_along(node.grad.arrived, edge)
    )


def first_odd_steps(order: Sequence[Node], inputs: Mapping[str, list[Edge]]) -> dict[str, tuple[tuple[int, int], Edge]]:
    """Return for each tensor the nearest step where an operation hands on something else than the chain rule says.

    By the chain rule it is the gradient that arrives, times the local derivative.

    Args:
        order: the operations, roots first.
        inputs: the edges that lead to each.
    """
    steps_of: dict[str, tuple[tuple[int, int], Edge]] = {}
    for position, node in enumerate(order):
        for number, edge in enumerate(inputs[node.id]):
            steps = [steps_of[key] for key in (node.id, edge.source) if key in steps_of]
            if is_odd(node, edge):
                steps.append(((-position, number), edge))
            if steps:
                steps_of[edge.source] = min(steps, key=itemgetter(0))
    return steps_of


def is_odd(node: Node, edge: Edge) -> bool:
    """Return whether an operation hands on another gradient than what arrives, times its derivative."""
    if node.grad.arrived is None or edge.flow.handed is None:
        return False
    product = gradient_along(node.grad.arrived, edge)
    return product is not None and not agree(product, edge.flow.handed, magnitude(edge.flow.handed))


def gradients_of_roots(graph: Graph) -> dict[str, Numbers | None]:
    """Return the gradient that each root got from outside, by its id; 1 where that is not known."""
    starts = starts_of(graph)
    return {root: starts.get(root) or ONE for root in graph.roots}


def gradient_of(node: Node, users: Mapping[str, list[Edge]]) -> Numbers | None:
    """Return the gradient that the engine has: what has arrived, or the sum of what all users hand on.

    That of a leaf is its own number if it is that sum but for a rounding.
    """
    if node.kind == "operation":
        return node.grad.arrived
    parts = [edge.flow.handed for edge in users[node.id]]
    total = sum_of(parts)
    is_own = node.grad.before is None and agree(node.grad.value, total, max(map(magnitude, parts), default=0.0))
    return node.grad.value if is_own else total
