"""The chain rule, path by path: every way from the root to a tensor, the factors along it, their product, and the sum.

A graph of n operations may have 2^n paths, so they are counted, and their products added, without being listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import NamedTuple

from gviz.errors import SourceError
from gviz.graphs import Edge, Graph, Node, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import ONE, agree, largest, plus, sum_to, through, times
from gviz.passes.expressions import operator_of
from gviz.text import did_you_mean, excerpt, joined, quotient_of

MOST = 4
"""Paths that are listed."""


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
        passed: what the gradient has become after each edge, as far as that is known.
    """

    edges: tuple[Edge, ...]
    names: tuple[str, ...]
    symbols: tuple[str, ...]
    factors: tuple[Numbers | None, ...]
    product: Numbers | None
    passed: tuple[Numbers | None, ...] = ()


class Step(NamedTuple):
    """A step of backward: an operation, one of its inputs, the edge between, and what arrived times the derivative."""

    of: Node
    wrt: str
    edge: Edge
    product: Numbers | None


@dataclass(frozen=True)
class Chain:
    """All paths to a tensor.

    Args:
        of: the names of the roots.
        wrt: the name of the tensor.
        node: its node.
        count: how many paths there are.
        paths: the first of them.
        edges: those of all paths.
        start: the gradient that backward starts from; 1, or what was given for the root.
        sum: of the products of all paths; None where that is not the engine's gradient.
        grad: the engine's gradient; None if there is none.
        found: that sum, whatever the engine's gradient is; None where a factor is not known.
        reached: how many paths from the roots lead to each tensor on the way, by its node.
        odd: the steps at which the engine hands on another gradient than the product, if the sum is not the engine's
            gradient.
        before: what the tensor's ``.grad`` was when backward was called; None where it was none, or that is not known.
        absent: why the graph has no gradients of the engine's; "" if it has.
    """

    of: tuple[str, ...]
    wrt: str
    node: Node
    count: int
    paths: tuple[Path, ...]
    edges: frozenset[tuple[str, int]]
    start: Numbers | None
    sum: Numbers | None
    grad: Numbers | None
    found: Numbers | None = None
    reached: Mapping[str, int] = field(default_factory=dict)
    odd: tuple[Step, ...] = ()
    before: Numbers | None = None
    absent: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether all paths are listed."""
        return self.count == len(self.paths)


def find_paths(graph: Graph, name: str, most: int = MOST) -> Chain:
    """Return the paths from the roots to a tensor.

    Args:
        graph: the graph of the values, as :func:`gviz.passes.dataflow.dataflow` makes it.
        name: of the tensor.
        most: how many paths are listed.

    Raises:
        SourceError: there is no such tensor below the roots, or no gradient goes to it.
    """
    node = target_of(graph, name)
    inputs, users = graph.inputs, graph.uses
    above = {node.id}
    todo = [node.id]
    for here in todo:  # grows while it is read
        todo += [edge.target for edge in users[here] if edge.target not in above]
        above.update(edge.target for edge in users[here])
    order = [each for each in graph.inputs_first() if each.id in above]
    kept = {here: [edge for edge in inputs[here] if edge.source in above] for here in above - {node.id}} | {node.id: []}
    counts = dict.fromkeys(above, 0) | {root: 1 for root in graph.roots if root in above}
    for step in reversed(order):
        for edge in kept[step.id]:
            counts[edge.source] += counts[step.id]
    start = start_of(graph, users)
    names = {(each.id, 0): each.name or operator_of(each.label) for each in graph.nodes}
    names |= {(each.id, at): name for each in graph.nodes for at, name in enumerate(each.recorded.outputs) if name}
    listed = [path_of(*way, names) for way in islice(ways(graph.roots, node.id, kept, start), most)]
    grad = gradient_of(node, users)
    sum_, scale = summed(graph.roots, order, kept, start)
    found, odd = sum_, list[Step]()
    if not agree(sum_, grad, scale):
        odd = (
            []
            if sum_ is None or grad is None
            else [step for each in order for step in odd_steps(each, kept[each.id], names)]
        )
        sum_, listed = None, [path._replace(product=None) for path in listed]
    roots = tuple(names[root, 0] for root in graph.roots)
    on_paths = frozenset((edge.target, edge.slot) for edges in kept.values() for edge in edges)
    return Chain(
        roots, name, node, counts[node.id], tuple(listed), on_paths, start, sum_, grad, found, counts, tuple(odd)
    )


def target_of(graph: Graph, name: str) -> Node:
    """Return the node of a name; SourceError if it has none, or no gradient goes there."""
    roots = [node.name or "" for node in graph.nodes if node.id in graph.roots]
    inner = [node for node in graph.nodes if node.kind in ("leaf", "operation") and node.id not in graph.roots]
    below = [node.name for node in inner if node.name]
    ways = f"there are paths to {joined(below, 12)}" if below else "it is made of nothing that has gradients"
    where = f"no path from {joined(roots)} to {excerpt(name)}"
    for node in graph.nodes:
        if node.name != name:
            continue
        if node.id in graph.roots and len(graph.roots) == 1:
            raise SourceError(f"{where}: it is the root itself", hint=ways)
        if node.kind in ("constant", "frozen"):
            kind = "a constant" if node.kind == "constant" else "frozen"
            raise SourceError(f"{where}: it is {kind}, and no gradient flows to it", hint=ways)
        return node
    row = next((row for row in graph.tensors if row.name == name), None)
    if row is None:
        raise SourceError(f"{where}: there is no tensor of that name", hint=did_you_mean(name, below, ways))
    if not row.requires_grad:
        raise SourceError(f"{where}: it is frozen or a constant, and no gradient flows to it", hint=ways)
    if row.expression is not None:
        hint = f"{ways}; --by operation draws it"
        raise SourceError(f"{where}: it stands for {row.expression} within a statement", hint=hint)
    if is_root(graph, row):
        raise SourceError(f"{where}: {joined(roots)} is {excerpt(name)} itself, by another name", hint=ways)
    made, word = " and ".join(roots), re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    others = [node.name for node in graph.nodes if node.kind == "frozen" and node.name and word.search(node.name)]
    if others:
        raise SourceError(f"{where}: {made} is made from {joined(others)}, through which no gradient flows", hint=ways)
    cut = "or the way is cut off: detach(), item() and torch.no_grad() end a graph"
    raise SourceError(f"{where}: {made} is not made from it, {cut}", hint=ways)


def is_root(graph: Graph, row: TensorRow) -> bool:
    """Return whether a leaf is the only root: that is a leaf with the same numbers, of which the gradient is no coincidence."""
    roots = [
        each
        for each in graph.tensors
        if each.is_leaf and [each.name] == [n.name for n in graph.nodes if n.id in graph.roots]
    ]
    facts = row.numbers, row.grad.value
    return row.is_leaf and row.grad.value is not None and any((r.numbers, r.grad.value) == facts for r in roots)


def ways(
    roots: tuple[str, ...], end: str, kept: Mapping[str, list[Edge]], start: Numbers | None
) -> Iterator[tuple[tuple[Edge, ...], tuple[Numbers | None, ...]]]:
    """Yield the edges of each path, along the slots of each operation; and the gradient at its start, and after each of them.

    What is kept leads to the end. Paths with the same beginning share what was computed there.
    """
    for root in roots:
        if root not in kept:
            continue
        if root == end:
            yield (), (start,)
            continue
        way: list[Edge] = []
        passed = [start]
        stack = [iter(kept[root])]
        while stack:
            edge = next(stack[-1], None)
            if edge is None:
                stack.pop()
                way[-1:] = []
                del passed[len(way) + 1 :]
                continue
            gradient = along(passed[-1], edge)
            if edge.source == end:
                yield (*way, edge), (*passed, gradient)
            else:
                way.append(edge)
                passed.append(gradient)
                stack.append(iter(kept[edge.source]))


def path_of(edges: tuple[Edge, ...], passed: tuple[Numbers | None, ...], names: Mapping[tuple[str, int], str]) -> Path:
    """Return a path with what stands along it."""
    sources = (names.get((edge.source, edge.output)) or names[edge.source, 0] for edge in edges)
    tensors = (names[edges[0].target, 0], *sources) if edges else ()
    pairs = zip(edges, pairwise(tensors), strict=True)
    symbols = tuple(edge.flow.symbol or quotient_of(*pair) for edge, pair in pairs)
    return Path(edges, tensors, symbols, tuple(edge.flow.local for edge in edges), passed[-1], passed[1:])


def along(gradient: Numbers | None, edge: Edge) -> Numbers | None:
    """Return what a gradient becomes along an edge; None where that is not known."""
    if edge.flow.handed is None:
        return times(gradient, edge.flow.local)
    if edge.flow.jacobian is not None:
        return through(gradient, edge.flow.jacobian, edge.flow.handed)
    return sum_to(times(gradient, edge.flow.local), edge.flow.handed)


def odd_steps(node: Node, edges: list[Edge], names: Mapping[tuple[str, int], str]) -> Iterator[Step]:
    """Yield the inputs to which an operation hands on another gradient than what arrives, times its derivative."""
    for edge in edges if node.grad.arrived is not None else ():
        product = along(node.grad.arrived, edge)
        if (
            edge.flow.handed is not None
            and product is not None
            and not agree(product, edge.flow.handed, largest(edge.flow.handed))
        ):
            yield Step(node, names.get((edge.source, edge.output)) or names[edge.source, 0], edge, product)


def start_of(graph: Graph, users: Mapping[str, list[Edge]]) -> Numbers | None:
    """Return the gradient that the root got from outside; 1 if there are several roots, or it is not known."""
    first = next((node for node in graph.nodes if node.id in graph.roots), None)
    if first is None or len(graph.roots) > 1 or users[first.id] or first.grad.arrived is None:
        return ONE
    return first.grad.arrived


def gradient_of(node: Node, users: Mapping[str, list[Edge]]) -> Numbers | None:
    """Return the gradient that the engine has: what has arrived, or the sum of what all users hand on."""
    if node.kind == "operation":
        return node.grad.arrived
    total: Numbers | None = None
    for edge in users[node.id]:
        total = edge.flow.handed if total is None else plus(total, edge.flow.handed)
        if total is None:
            return None
    return total


def summed(
    roots: tuple[str, ...], order: list[Node], kept: Mapping[str, list[Edge]], start: Numbers | None
) -> tuple[Numbers | None, float]:
    """Return the sum of the products of all paths, and the size of its largest summand; None if a factor is not known."""
    sums: dict[str, Numbers | None] = {root: start for root in roots if root in kept}
    scale, end = 0.0, order[0].id
    bounds = dict.fromkeys(sums, largest(start))  # of a gradient, if nothing cancels out
    for node in reversed(order):
        for edge in kept[node.id]:
            part = along(sums[node.id], edge)
            sums[edge.source] = part if edge.source not in sums else plus(sums[edge.source], part)
            step = (
                largest(edge.flow.local) if edge.flow.jacobian is None else max(largest(edge.flow.jacobian), CANCELLED)
            )
            bound = bounds[node.id] * step
            bounds[edge.source] = max(bounds.get(edge.source, 0.0), bound)
            if edge.source == end:
                scale = max(scale, largest(part))
    return sums[end], max(scale, bounds[end] * CANCELLED)
