"""How many decimals the numbers of an equation have: who computes with the printed numbers gets the printed result.

A number has the usual decimals at level 0. From level 1 on it has so many significant digits, too, one more at each
level, so that a small factor is as exact as a large one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from gviz.derivations.paths import gradient_along
from gviz.graphs import NO_FLOW, Edge, Graph, Node
from gviz.graphs.numbers import Element, Numbers
from gviz.passes.elements import changed_by, sum_of, sum_to
from gviz.pictures.labels import DIGITS, decimal, is_exact, significant

MOST_LEVELS = 8
"""Levels that are tried."""

FLOAT32 = 1e-6
"""What the engine itself loses in a product, in parts of it."""

MOST_LISTED = 5
"""Levels that are tried for a tensor that stands in several equations of a listing."""

MOST_PRINTED = 64
"""Elements of a tensor that may be printed whole."""


EQUAL, ABOUT = "= ", "≈ "
"""What stands before the result of an equation that holds with its printed numbers, and of one that does not."""


def decimals_at(value: Numbers | None, precision: int, level: int | None) -> int:
    """Return the decimals of a tensor's numbers at a level.

    >>> [decimals_at(Numbers.of(0.010868), 4, level) for level in range(4)]
    [4, 5, 6, 7]
    >>> [decimals_at(Numbers.of([3.95605, 20.5]), 4, level) for level in range(4)]
    [4, 4, 4, 5]
    """
    if not level or value is None or value.elements is None:
        return precision
    sizes = [abs(item) for item in value.elements if isinstance(item, float) and item and math.isfinite(item)]
    exponents = [math.floor(math.log10(size)) for size in sizes]
    if max(exponents, default=0) >= DIGITS:  # it is written with an exponent
        return precision + level
    return max(precision, precision + level - 2 - min(exponents, default=0))


def rounded(value: Numbers | None, decimals: int) -> Numbers | None:
    """Return numbers as they are printed with so many decimals; those of a large tensor, which are not, as they are.

    >>> rounded(Numbers.of([0.16667, 2.0]), 3).nested()
    [0.167, 2.0]
    """
    if value is None or value.elements is None or value.numel > MOST_PRINTED:
        return value
    texts = [decimal(item, decimals) for item in value.elements]
    pairs = zip(value.elements, texts, strict=True)  # 0.1 stands for the float32 that is nearest to it
    return value._replace(
        elements=tuple(
            float(text) if isinstance(item, float) and not is_exact(text, item) else item for item, text in pairs
        )
    )


def printed(value: Numbers | None, precision: int, level: int | None) -> Numbers | None:
    """Return numbers as they are printed at a level."""
    return rounded(value, decimals_at(value, precision, level))


def level_that_holds(
    total: Numbers | None,
    decimals: int,
    compute: Callable[[int], Numbers | None],
    levels: int = MOST_LEVELS,
    lost: float = FLOAT32,
) -> int | None:
    """Return the level at which what is printed on an equation's left side comes to its right side.

    If there is none, it is the first at which both are the same but for the rounding of a float32; else None.

    >>> third = Numbers.of(1 / 3)
    >>> level_that_holds(Numbers.of(1.0), 4, lambda level: sum_of([printed(third, 4, level)] * 3))
    2

    Args:
        total: the right side.
        decimals: those that it has.
        compute: returns what the left side comes to, printed at a level; None where that is not known.
        levels: how many are tried.
        lost: what the engine may have lost of the right side, in parts of it.
    """
    nearest = None
    for level in range(levels):
        value = compute(level)
        if value is None or total is None or total.elements is None or value.elements is None:
            break
        pairs = [*zip(value.elements, total.elements, strict=False)]
        if all(is_printed_as(one, other, decimals) for one, other in pairs):
            return level
        if nearest is None and all(
            isinstance(one, float)
            and isinstance(other, float)
            and math.isclose(one, other, rel_tol=lost, abs_tol=0 if other else FLOAT32)  # what cancels out is 0
            for one, other in pairs
        ):
            nearest = level
    return nearest


def holds(value: Numbers | None, total: Numbers | None, decimals: int) -> bool:
    """Return whether what was computed with printed numbers is what is printed, with so many decimals, as its total."""
    return level_that_holds(total, decimals, lambda _: value, levels=1) is not None


def is_printed_as(computed: Element, item: Element, decimals: int) -> bool:
    """Return whether a number that was computed is another one in all digits in which that is printed.

    >>> is_printed_as(0.9999, 1.0, 4), is_printed_as(0.99996, 1.0, 4), is_printed_as(0.99996, 0.99999, 4)
    (False, True, False)
    >>> is_printed_as(22026.467, 22026.466796875, 4)
    True
    """
    text = decimal(item, decimals)
    if not (item and isinstance(item, float) and isinstance(computed, float) and math.isfinite(item)):
        return decimal(computed, decimals) == text
    mantissa, exponent, _ = text.partition("e")
    places, kind = (significant(abs(item), decimals) - 1, "e") if exponent else (decimals, "f")
    places = max(places, len(mantissa.partition(".")[2]))
    return computed == float(text) or f"{computed:.{places}{kind}}" == f"{item:.{places}{kind}}"


def joined_sides(sides: Sequence[str], equals: str = " = ", about: str = ABOUT) -> str:
    """Return the sides of an equation with signs between them; before one that begins with ≈ there is no other.

    >>> joined_sides(["a + b", "1/3", "≈ 0.33"])
    'a + b = 1/3 ≈ 0.33'
    """
    return equals.join(sides).replace(f"= {about}", about)


def printed_product(start: Numbers | None, edges: Sequence[Edge], precision: int, level: int) -> Numbers | None:
    """Return what a gradient becomes along some edges, all numbers as they are printed."""
    value = printed(start, precision, level)
    for edge in edges:
        flow = edge.flow
        local, jacobian = (printed(one, precision, level) for one in (flow.local, flow.jacobian))
        rounded_flow = flow if flow is NO_FLOW else flow._replace(local=local, jacobian=jacobian)
        value = gradient_along(value, edge._replace(flow=rounded_flow))
    return value


def printed_total(value: Numbers | None, like: Numbers | None, precision: int, level: int) -> Numbers | None:
    """Return numbers as they are printed, added up to the sizes of an input that was broadcast."""
    return sum_to(printed(value, precision, level), like)


def printed_sum(parts: Sequence[Numbers | None], precision: int, level: int) -> Numbers | None:
    """Return the sum of some numbers as they are printed."""
    return sum_of([printed(part, precision, level) for part in parts])


def key_of(node: Node) -> str:
    """Return what tells a tensor from all others: a frozen one has a node at each use."""
    return node.name or node.id


class Listing:
    """Operations that are listed with their numbers: as many decimals as let each hold as it is printed.

    From the roots to the leaves, an operand has as many as the results that are computed of it need.

    Args:
        listed: operations, and the tensors that they begin with, each after what it is computed of, if it is printed.
        graph: has the edges between them.
        precision: the decimals that each number has at least.
        levels: how many levels of digits are tried.
    """

    def __init__(self, listed: Sequence[Node], graph: Graph, precision: int, levels: int) -> None:
        self.precision, self.inputs, self.nodes = precision, graph.inputs, graph.by_id
        self.decimals = {key_of(node): precision for node in listed}
        for node in reversed(listed):
            level = self._level(node, self.of(node), levels)
            level = self._level(node, precision, levels) if level is None else level
            level = levels - 1 if level is None else level
            for _, operand in self._operands(node):
                self.give(operand, decimals_at(operand.value, precision, level))

    def of(self, node: Node) -> int:
        """Return the decimals of a tensor."""
        return self.decimals.get(key_of(node), self.precision)

    def give(self, node: Node, decimals: int) -> None:
        """Let a tensor have so many decimals at least."""
        self.decimals[key_of(node)] = max(self.of(node), decimals)

    def holds(self, node: Node) -> bool:
        """Return whether the printed operands of an operation are known to come to its printed result."""
        is_listed = key_of(node) in self.decimals and any(self._operands(node))
        return not is_listed or self._level(node, self.of(node), 1) is not None

    def _level(self, node: Node, decimals: int, levels: int) -> int | None:
        """Return the level of the operands of an operation at which a result with so many decimals holds."""
        return level_that_holds(node.value, decimals, partial(self._computed, node), levels, lost=0.0)

    def _operands(self, node: Node) -> Iterator[tuple[Edge, Node]]:
        """Yield the operands of an operation that are listed with their numbers."""
        for edge in self.inputs.get(node.id, ()):
            operand = self.nodes[edge.source]
            if key_of(operand) in self.decimals and operand.value is not None:
                yield edge, operand

    def _computed(self, node: Node, level: int) -> Numbers | None:
        """Return what an operation makes of its operands as they are printed, to first order."""
        value = node.value
        for edge, operand in self._operands(node):
            decimals = max(self.of(operand), decimals_at(operand.value, self.precision, level))
            value = changed_by(value, edge, operand.value, rounded(operand.value, decimals))
        return value
