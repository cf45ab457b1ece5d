"""Sums and products of gradients as data, and what stands between two signs: who computes with it gets what it says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.elements import agree, magnitude, plus, sum_of, sum_to, times
from gviz.pictures.digits import (
    ABOUT,
    EQUAL,
    Listing,
    decimals_at,
    holds,
    level_that_holds,
    printed,
    printed_sum,
    rounded,
)
from gviz.pictures.labels import BEFORE, MOST_VALUES, in_brackets, is_small, norm, value_text

ROUNDED = 1e-3
"""How far a sum may be from the engine's gradient, in what it consists of: that much is lost by rounding."""


DIFFERS = "numbers are rounded: what is computed with them may differ"
"""What is said on a picture if an equation of its numbers does not hold as they are printed."""

MOST_SHARED = 2
"""The highest level of :mod:`gviz.pictures.digits` of a number that stands in several equations."""


class Product(NamedTuple):
    """A gradient on its way through an operation.

    Args:
        arrived: what has arrived at the operation.
        local: its local derivative for an input; None where that is no factor.
        handed: what it hands on to that input.
    """

    arrived: Numbers | None
    local: Numbers | None
    handed: Numbers | None

    @property
    def is_equation(self) -> bool:
        """Whether the numbers are few, and multiply to what is handed on, summed where the input was broadcast."""
        is_short = all(is_small(size_of(value)) for value in self)
        return is_short and is_close(sum_to(times(self.arrived, self.local), self.handed), self.handed)

    @property
    def is_summed(self) -> bool:
        """Whether the input was broadcast."""
        return size_of(self.handed) not in (size_of(self.arrived), size_of(self.local))

    def decimals(self, precision: int, of_product: int = 0) -> tuple[int, int, str]:
        """Return the decimals of the two factors, and the sign between them and their product: ≈ if they differ.

        Args:
            precision: the decimals that each number has at least.
            of_product: those of what is handed on, if they are more.
        """

        def compute(level: int) -> Numbers | None:
            arrived, local = (printed(value, precision, level) for value in self[:2])
            return sum_to(times(arrived, local), self.handed)

        level = level_that_holds(self.handed, max(precision, of_product), compute)
        sign = ABOUT if level is None else EQUAL
        return decimals_at(self.arrived, precision, level), decimals_at(self.local, precision, level), sign


class Sum(NamedTuple):
    """A gradient that arrives in parts.

    Args:
        parts: what has arrived, in the order of coming; None for what is not known.
        arrived: what they come to, in the engine's own number if it has one.
        total: that, with what was there before.
        before: what was there when backward was called; None for nothing.
        is_whole: whether the total is the gradient that the engine has.
    """

    parts: Sequence[Numbers | None]
    arrived: Numbers | None = None
    total: Numbers | None = None
    before: Numbers | None = None
    is_whole: bool = False

    def texts(self, precision: int, of_total: int = 0) -> tuple[list[str], str]:
        """Return the summands as they stand between signs; none if one is large: norms do not add up.

        The second is the sign between them and their total: ≈ if they differ.

        They have as many decimals as their total needs.

        Args:
            precision: the decimals that each number has at least.
            of_total: those of the total, if it stands in other equations, too, and may have more; 0 if not.
        """
        values = self.parts if self.before is None else (self.before, *self.parts)
        if not all(is_small(size_of(value)) for value in values):
            return [], EQUAL
        level = level_that_holds(self.total, max(precision, of_total), partial(printed_sum, values, precision))
        texts = [value_text(value, decimals_at(value, precision, level)) for value in values]
        head = [] if self.before is None else [f"{texts.pop(0)}{BEFORE}"]
        return [*head, *map(in_brackets, texts)], ABOUT if level is None else EQUAL


def product_of(edge: Edge, user: Node) -> Product:
    """Return what becomes of a gradient along an edge."""
    return Product(user.grad.arrived, edge.flow.local, edge.flow.handed)


def sum_at(node: Node, parts: Sequence[Numbers | None]) -> Sum:
    """Return how the gradient of a leaf, or of what an operation makes, is added up.

    >>> from gviz.graphs import Gradient
    >>> leaf = Node("n0", "leaf", grad=Gradient(Numbers.of(7.0), Numbers.of(4.0)))
    >>> sum_at(leaf, [Numbers.of(1.0), Numbers.of(2.0)]).texts(4), sum_at(leaf, [Numbers.of(3.0)] * 2).is_whole
    ((['4 (before)', '1', '2'], '= '), False)
    """
    parts = (
        parts if node.grad.hook_change is None else [node.grad.hook_change.made]
    )  # of what came, a hook has made that
    arrived, before = sum_of(parts), node.grad.before if node.kind == "leaf" else None
    gradient = node.grad.value if node.kind == "leaf" else node.grad.arrived
    if norm(before) > 0 and agree(plus(before, arrived), gradient, scale=max(ROUNDED, ROUNDED * magnitude(before))):
        return Sum(parts, arrived, gradient, before, is_whole=True)
    is_whole = is_close(gradient, arrived)
    total = gradient if is_whole else arrived
    return Sum(parts, total, total, is_whole=is_whole)


def handed_on(uses: Iterable[Edge]) -> list[Numbers]:
    """Return the gradients that come over some edges, as far as they are known."""
    return [edge.flow.handed for edge in uses if edge.flow.handed is not None]


def is_close(one: Numbers | None, other: Numbers | None) -> bool:
    """Return whether two tensors are the same but for rounding."""
    return agree(one, other, scale=ROUNDED)


class Decimals:
    """The decimals of the numbers on the lines of a graph, where a number stands in more than one equation.

    From the leaves to the roots, what arrives at an operation and its local derivative have as many as what it hands on
    needs.

    Args:
        graph: as :func:`gviz.passes.dataflow.dataflow` returns it.
        precision: the decimals that numbers have at least.
        most: the highest level of digits.
        elements: those of a tensor whose numbers are printed.
    """

    def __init__(self, graph: Graph, precision: int, most: int = MOST_SHARED, elements: int = MOST_VALUES) -> None:
        self.graph, self.precision, self.elements = graph, precision, elements
        self._arrived: dict[str, int] = {}
        self._handed: dict[tuple[str, int], int] = {}
        self._local: dict[tuple[str, int], int] = {}
        for node in graph.inputs_first():
            least = precision
            for edge in graph.inputs[node.id]:
                product = product_of(edge, node)
                if product.handed is None or not all(is_small(size_of(value)) for value in product):
                    continue
                of_arrived, of_local, _ = product.decimals(precision, self.handed(edge))
                self._local[edge_key(edge)] = min(of_local, decimals_at(product.local, precision, most))
                least = max(least, min(of_arrived, decimals_at(product.arrived, precision, most)))
            self._arrived[node.id] = least
            uses = [edge for edge in graph.uses[node.id] if edge.flow.handed is not None]
            parts = handed_on(uses)
            level = level_that_holds(sum_of(parts), least, partial(printed_sum, parts, precision)) if parts[1:] else 0
            for edge in uses:
                needed = decimals_at(edge.flow.handed, precision, min(level or 0, most))
                self._handed[edge_key(edge)] = needed if parts[1:] else least

        listed = [node for node in graph.inputs_first() if node.kind != "constant" and self._is_printed(node.value)]
        self.values = Listing(listed, graph, precision, 1)

    def remark(self, shown: Collection[str]) -> str:
        """Return what is to be said if an equation of values, or of gradients, does not hold in print; else ""."""
        values = "value" in shown and not all(map(self.values.holds, self.graph.nodes))
        return DIFFERS if values or ("grad" in shown and not all(map(self._holds, self.graph.nodes))) else ""

    def _is_printed(self, value: Numbers | None) -> bool:
        """Return whether a tensor's numbers are printed."""
        return value is not None and 0 < value.numel <= self.elements

    def _holds(self, node: Node) -> bool:
        """Return whether the products that a node hands on, and the sum of what arrives, hold as they are printed."""
        arrived = rounded(node.grad.arrived, self.arrived(node.id))
        for edge in self.graph.inputs[node.id]:
            product = product_of(edge, node)
            if product.is_equation:
                value = sum_to(times(arrived, rounded(product.local, self.local(edge))), product.handed)
                if not holds(value, product.handed, self.handed(edge)):
                    return False
            elif product.local is None and all(map(self._is_printed, product[::2])) and arrived != node.grad.arrived:
                return False  # a product of matrices
        uses = [edge for edge in self.graph.uses[node.id] if edge.flow.handed is not None]
        total = sum_at(node, handed_on(uses))
        if not uses[1:] or not total.is_whole or total.before is not None or not self._is_printed(total.total):
            return True
        value = sum_of([rounded(edge.flow.handed, self.handed(edge)) for edge in uses])
        return holds(value, total.total, self.arrived(node.id))

    def arrived(self, node: str) -> int:
        """Return the decimals of the gradient that arrives at a node."""
        return self._arrived.get(node, self.precision)

    def handed(self, edge: Edge) -> int:
        """Return the decimals of the gradient that goes back along an edge."""
        return self._handed.get(edge_key(edge), self.precision)

    def local(self, edge: Edge) -> int:
        """Return the decimals of the local derivative of an edge."""
        return self._local.get(edge_key(edge), self.precision)


def edge_key(edge: Edge) -> tuple[str, int]:
    """Return what tells an edge from all others: its operation, and which of its inputs it is."""
    return edge.target, edge.slot
