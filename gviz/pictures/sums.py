"""Sums and products of gradients as data, and what stands between two signs: who computes with it gets what it says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.dataflow import outputs_of
from gviz.passes.elements import agree, magnitude, plus, sum_of, sum_to, times
from gviz.passes.starts import handed_on, is_close
from gviz.pictures.digits import (
    ABOUT,
    EQUAL,
    Fits,
    Listing,
    decimals_at,
    decimals_in_room,
    edge_key,
    holds,
    level_that_holds,
    printed,
    printed_sum,
    rounded,
)
from gviz.pictures.labels import BEFORE, in_brackets, is_small, norm, small_text, value_text

ROUNDED, CANCELLED = 1e-3, 1e-2
"""How far a sum may be from the engine's gradient, in what it consists of: that much is lost by rounding; and how far
an element may be, by the largest one, where its own summands cancel."""


DIFFERS = "numbers are rounded: what is computed with them may differ"
"""What is said on a picture if an equation of its numbers does not hold as they are printed."""

USUAL = 4
"""Decimals of a number, if nothing else is asked for."""

MOST_SHARED = (2, 3)
"""The highest level of :mod:`gviz.pictures.digits` of a number that stands in several equations: usually, and if then
all equations hold."""


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
    is_whole = agree(gradient, arrived, scale=max(ROUNDED, CANCELLED * magnitude(gradient)))
    total = gradient if is_whole else arrived
    return Sum(parts, total, total, is_whole=is_whole)


def in_room(most: int, more: int = 0) -> Fits:
    """Return whether the numbers of a small tensor take no more characters than that, and so many more a decimal.

    >>> third = Numbers.of([1 / 3, 2 / 3])
    >>> [in_room(12, 4)(third, decimals) for decimals in (2, 4, 6)], in_room(20)(Numbers.of([1.0] * 5), 4)
    ([True, False, True], False)
    """
    return lambda value, decimals: 0 < len(small_text(value, decimals)) <= most + more * max(decimals - USUAL, 0)


def decimals_for(graph: Graph, precision: int, fits: Fits, fits_local: Callable[[Edge, int], bool]) -> Decimals:
    """Return the decimals of the numbers of a graph: more than usual if then all equations hold; see Decimals."""
    usual, more = (partial(Decimals, graph, precision, fits, fits_local, most) for most in MOST_SHARED)
    shown = ("value", "grad")
    tried = usual()
    return tried if not tried.remark(shown) or (finer := more()).remark(shown) else finer


class Decimals:
    """The decimals of the numbers on the lines of a graph, where a number stands in more than one equation.

    From the leaves to the roots, what arrives at an operation and its local derivative have as many as what it hands on
    needs.

    Args:
        graph: as :func:`gviz.passes.dataflow.dataflow` returns it.
        precision: the decimals that numbers have at least.
        fits: whether there is room for a tensor's numbers with so many decimals; if not, they are not printed.
        fits_local: whether the local derivative of an edge is printed, with so many decimals.
        most: the highest level of digits.
    """

    def __init__(
        self,
        graph: Graph,
        precision: int,
        fits: Fits,
        fits_local: Callable[[Edge, int], bool],
        most: int,
    ) -> None:
        self.graph, self.precision, self.fits, self.fits_local = graph, precision, fits, fits_local
        self.made = outputs_of(graph)
        self._arrived: dict[str, int] = {}
        self._handed: dict[tuple[str, int], int] = {}
        self._local: dict[tuple[str, int], int] = {}
        for node in graph.inputs_first():
            least = precision
            for edge in graph.inputs[node.id]:
                product = product_of(edge, node)
                if product.local is None or not all(map(self._is_printed, product)):
                    continue
                of_arrived, of_local, _ = product.decimals(precision, self.handed(edge))
                places = range(min(of_local, decimals_at(product.local, precision, most)), precision, -1)
                self._local[edge_key(edge)] = next((one for one in places if fits_local(edge, one)), precision)
                least = max(least, min(of_arrived, decimals_at(product.arrived, precision, most)))
            self._arrived[node.id] = least = decimals_in_room(node.grad.arrived, least, precision, fits)
            for _, uses in self.tensors(node):
                parts = handed_on(uses)
                total = sum_of(parts)
                level = level_that_holds(total, least, partial(printed_sum, parts, precision)) if parts[1:] else 0
                for edge in uses:
                    needed = decimals_at(edge.flow.handed, precision, min(level or 0, most)) if parts[1:] else least
                    self._handed[edge_key(edge)] = decimals_in_room(edge.flow.handed, needed, precision, fits)
        listed = [
            one if one is node else one._replace(id=f"{node.id}.{number}", expression="")  # no equation makes it alone
            for node in graph.inputs_first()
            for number, one in self.made[node.id].items()
            if node.kind != "constant" and self._is_printed(one.value)
        ]
        self.values = Listing(listed, graph, precision, most + 1, factors=self._local, fits=fits)

    def remark(self, shown: Collection[str]) -> str:
        """Return what is to be said if an equation of values, or of gradients, does not hold in print; else ""."""
        values = "value" in shown and not all(map(self.values.holds, self.graph.nodes))
        return DIFFERS if values or ("grad" in shown and not all(map(self._holds, self.graph.nodes))) else ""

    def _is_printed(self, value: Numbers | None) -> bool:
        """Return whether a tensor's numbers are printed."""
        return value is not None and value.elements is not None and value.numel > 0 and self.fits(value, self.precision)

    def _holds(self, node: Node) -> bool:
        """Return whether the products that a node hands on, and the sum of what arrives, hold as they are printed."""
        decimals = self.arrived(node.id)
        arrived = rounded(node.grad.arrived, decimals)
        for edge in self.graph.inputs[node.id] if self._is_printed(arrived) else ():
            product, value = product_of(edge, node), edge.flow.handed
            if product.local is not None and self.fits_local(edge, self.precision):
                factor = rounded(product.local, self.local(edge))
                value = sum_to(times(arrived, factor), value) if product.is_equation else value
            elif self._is_printed(value):
                value = self.values.backward(edge, node.grad.arrived, decimals)
            if value is not None and not holds(value, product.handed, self.handed(edge)):
                return False
        for one, uses in self.tensors(node):
            total = sum_at(one, handed_on(uses))
            is_equation = uses[1:] and total.is_whole and total.before is None and self._is_printed(total.total)
            value = sum_of([rounded(edge.flow.handed, self.handed(edge)) for edge in uses]) if is_equation else None
            if value is not None and not holds(value, total.total, decimals):
                return False
        return True

    def tensors(self, node: Node) -> Iterator[tuple[Node, list[Edge]]]:
        """Yield each tensor that a node makes, with the edges over which a gradient comes to it."""
        uses = [edge for edge in self.graph.uses.get(node.id, ()) if edge.flow.handed is not None]
        for number, one in self.made[node.id].items() if node.recorded.outputs else [(0, node)]:
            yield one, [edge for edge in uses if edge.output == number or one is node]

    def arrived(self, node: str) -> int:
        """Return the decimals of the gradient that arrives at a node."""
        return self._arrived.get(node, self.precision)

    def sign(self, edge: Edge) -> str:
        """Return the sign between the symbol of the local derivative of an edge and its number."""
        return self.values.sign_of_factor(edge, self.local(edge))

    def handed(self, edge: Edge) -> int:
        """Return the decimals of the gradient that goes back along an edge."""
        return self._handed.get(edge_key(edge), self.precision)

    def local(self, edge: Edge) -> int:
        """Return the decimals of the local derivative of an edge."""
        return self._local.get(edge_key(edge), self.precision)
