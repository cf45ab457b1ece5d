"""How many decimals the numbers of an equation have: who computes with the printed numbers gets the printed result.

A number has the usual decimals at level 0. From level 1 on it has so many significant digits, too, one more at each
level, so that a small factor is as exact as a large one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gviz.derivations.paths import gradient_along
from gviz.graphs import NO_FLOW, Edge
from gviz.graphs.numbers import Element, Numbers
from gviz.passes.elements import sum_of, sum_to
from gviz.pictures.labels import DIGITS, decimal, significant

MOST_LEVELS = 8
"""Levels that are tried."""

FLOAT32 = 1e-6
"""What the engine itself loses in a product, in parts of it."""

MOST_PRINTED = 64
"""Elements of a tensor that may be printed whole."""


def decimals_at(value: Numbers | None, precision: int, level: int) -> int:
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
    return value._replace(
        elements=tuple(float(decimal(item, decimals)) if isinstance(item, float) else item for item in value.elements)
    )


def printed(value: Numbers | None, precision: int, level: int) -> Numbers | None:
    """Return numbers as they are printed at a level."""
    return rounded(value, decimals_at(value, precision, level))


def level_that_holds(total: Numbers | None, decimals: int, compute: Callable[[int], Numbers | None]) -> int:
    """Return the level at which what is printed on an equation's left side comes to its right side.

    If there is none, it is the first at which both are the same but for the rounding of a float32; else 0.

    >>> third = Numbers.of(1 / 3)
    >>> level_that_holds(Numbers.of(1.0), 4, lambda level: sum_of([printed(third, 4, level)] * 3))
    2

    Args:
        total: the right side.
        decimals: those that it has.
        compute: returns what the left side comes to, printed at a level; None where that is not known.
    """
    nearest = 0
    for level in range(MOST_LEVELS):
        value = compute(level)
        if value is None or total is None or total.elements is None or value.elements is None:
            break
        pairs = [*zip(value.elements, total.elements, strict=False)]
        if all(is_printed_as(one, other, decimals) for one, other in pairs):
            return level
        if not nearest and all(
            isinstance(one, float)
            and isinstance(other, float)
            and math.isclose(one, other, rel_tol=FLOAT32, abs_tol=0 if other else FLOAT32)  # what cancels out is 0
            for one, other in pairs
        ):
            nearest = level
    return nearest


def is_printed_as(computed: Element, item: Element, decimals: int) -> bool:
    """Return whether a number that was computed is another one in all digits in which that is printed.

    >>> is_printed_as(0.9999, 1.0, 4), is_printed_as(0.99996, 1.0, 4), is_printed_as(0.99996, 0.99999, 4)
    (False, True, False)
    """
    text = decimal(item, decimals)
    if not (item and isinstance(item, float) and isinstance(computed, float) and math.isfinite(item)):
        return decimal(computed, decimals) == text
    mantissa, exponent, _ = text.partition("e")
    places, kind = (significant(abs(item), decimals) - 1, "e") if exponent else (decimals, "f")
    places = max(places, len(mantissa.partition(".")[2]))
    return f"{computed:.{places}{kind}}" == f"{item:.{places}{kind}}"


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
