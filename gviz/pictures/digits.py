"""How many decimals the numbers of an equation have: who computes with the printed numbers gets the printed result.

A number has the usual decimals at level 0. From level 1 on it has so many significant digits, too, one more at each
level, so that a small factor is as exact as a large one.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from struct import Struct
from typing import NamedTuple, TypeAlias

from gviz.formulas.expressions import output_name
from gviz.formulas.formula import GRAD, Formula
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Element, Numbers, size_of
from gviz.passes.elements import changed_by, sum_of, sum_to
from gviz.pictures.arithmetic import NAMED, value_of

MOST_LEVELS = 8
"""Levels that are tried."""

FLOAT32 = 2.0**-22
"""What the engine itself loses, in parts of it."""

MOST_LISTED = 5
"""Levels that are tried for a tensor that stands in several equations of a listing."""

MOST_PRINTED = 64
"""Elements of a tensor that may be printed whole."""


EQUAL, ABOUT = "= ", "≈ "
"""What stands before the result of an equation that holds with its printed numbers, and of one that does not."""


ROUNDING = 5e-7
"""How far from a whole number, for its size, a float32 may be that was to be that number."""

STORED, LARGEST = Struct("f"), 1e38
"""How a float32 is stored, and up to where there are some."""

DIGITS = 8
"""A number of more digits before its point is written with an exponent."""

FINE = 4
"""Decimals with which a number is to be told from the whole number beside it; with fewer it keeps its zeros: 3.00."""

SHORT = 5
"""A number of so many digits, which somebody may have typed, is not rounded, unless there are to be fewer decimals."""

TINY = 1e-6
"""What is smaller is written with an exponent, however many decimals it is to have."""

COARSE = 1000.0
"""From there on a float32 may have fewer decimals than a number is to have."""


def decimal(value: Element, precision: int = 4) -> str:
    """Return a number as short as it can be without being another one; else rounded to so many decimals.

    A number of few digits is written as it is, and so is a large one. Others are rounded: a tiny or huge one to a few
    digits, with an exponent. What is nearly a whole number, as a saturated sigmoid is nearly 1, has as many decimals as
    tell it from that number.

    >>> [decimal(value) for value in (6.0, 2.302585092994046, -0.50004, -1.5e-5, 1234567.0, math.nan, -0.0)]
    ['6', '2.3026', '-0.50004', '-1.5e-05', '1234567', 'nan', '0']
    >>> [decimal(value) for value in (0.00015, 0.03125, 1 / 3000, 123456.703125, 1.23456789e9, 100000008.0, 0.01086)]
    ['0.00015', '0.03125', '0.0003333', '123456.7', '1.235e+09', '1.000e+08', '0.01086']
    >>> [decimal(value) for value in (0.9999938607215881, 0.9999899864196777, 1.0000001192092896, 3.00002)]
    ['0.9999939', '0.99999', '1', '3.00002']
    """
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    size, text = abs(value), f"{value or 0.0:.{SHORT if precision >= FINE else precision + 1}g}"  # no minus before a 0
    digits, least = significant(size, precision), precision - 1 if precision > 2 else precision
    has_exponent = not max(10.0**-least, TINY) <= size < 10.0**DIGITS
    if is_exact(text, value):
        return text if has_exponent else f"{float(text):.{precision + SHORT}f}".rstrip("0").rstrip(".")
    if has_exponent:
        text = f"{value:.{digits}g}"
        is_nearly_round = "e+" in text and "." not in text and float(text) != value
        return f"{value:.{digits - 1}e}" if is_nearly_round else text
    places = range(precision) if size >= COARSE else ()
    text = next((text for places in places if is_exact(text := f"{value:.{places}f}", value)), f"{value:.{precision}f}")
    distance = abs(value - round(value))
    is_nearly_whole = float(text).is_integer() and distance > ROUNDING * size
    if is_nearly_whole and precision >= FINE:  # two digits of how far it is from there
        text = f"{value:.{min(1 - math.floor(math.log10(distance)), DIGITS - 1 - len(str(int(size)).lstrip('0')))}f}"
    is_padded = is_nearly_whole and precision < FINE
    return text.rstrip("0").rstrip(".") if "." in text and not is_padded else text


def significant(size: float, precision: int) -> int:
    """Return how many digits a number that is written with an exponent has, where others have so many decimals.

    >>> significant(1.23e9, 4), significant(1.23e-9, 4), significant(1.23456e-9, 13)
    (4, 4, 5)
    """
    exponent = math.floor(math.log10(size)) if 0 < size < TINY else 0
    return max(precision + exponent + 1 if exponent and precision > DIGITS else precision, 3)


def is_exact(text: str, value: float) -> bool:
    """Return whether a text is a number, or the float32 that is nearest to it.

    >>> is_exact("0.1", 0.10000000149011612), is_exact("0.1", 0.1), is_exact("0.1", 0.1000001)
    (True, True, False)
    """
    number = float(text)
    return number == value or (abs(value) < LARGEST and as_float32(value) == value and as_float32(number) == value)


def as_float32(number: float) -> float:
    """Return the float32 that is nearest to a number."""
    nearest: float = STORED.unpack(STORED.pack(number))[0]
    return nearest


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
    return value._replace(
        elements=tuple(float(decimal(item, decimals)) if isinstance(item, float) else item for item in value.elements)
    )


def printed(value: Numbers | None, precision: int, level: int | None) -> Numbers | None:
    """Return numbers as they are printed at a level."""
    return rounded(value, decimals_at(value, precision, level))


def level_that_holds(
    total: Numbers | None,
    decimals: int,
    compute: Callable[[int], Numbers | None],
    levels: int = MOST_LEVELS,
) -> int | None:
    """Return the level at which what is printed on an equation's left side comes to its right side.

    If there is none, it is the first at which both are the same but for the rounding of a float32; else None. Of one
    level it is asked whether the equation holds as it is printed: no rounding is to be seen then.

    >>> third = Numbers.of(1 / 3)
    >>> level_that_holds(Numbers.of(1.0), 4, lambda level: sum_of([printed(third, 4, level)] * 3))
    2

    Args:
        total: the right side.
        decimals: those that it has.
        compute: returns what the left side comes to, printed at a level; None where that is not known.
        levels: how many are tried.
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
            is_printed_as(one, other, decimals)
            or (is_nearest(one, other) and (levels > 1 or is_read_as(one, other, decimals)))
            for one, other in pairs
        ):
            nearest = level
    return nearest


def is_nearest(computed: Element, item: Element) -> bool:
    """Return whether a number that was computed is another one but for what the engine itself has lost."""
    least = 0 if item else FLOAT32  # what cancels out is 0
    if not isinstance(computed, float) or not isinstance(item, float):
        return False
    return math.isclose(computed, item, rel_tol=FLOAT32, abs_tol=least)


def is_read_as(computed: Element, item: Element, decimals: int) -> bool:
    """Return whether a number that was computed is what is printed of another one, be that of few digits.

    >>> is_read_as(123456.72, 123456.703125, 4), is_read_as(16777217.0, 16777216.0, 4)
    (True, False)
    """
    mantissa, exponent, _ = (text := decimal(item, decimals)).partition("e")
    places = len(mantissa.partition(".")[2])
    return float(f"{computed:.{places}{'e' if exponent else 'f'}}") == float(text)


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


def printed_total(value: Numbers | None, like: Numbers | None, precision: int, level: int) -> Numbers | None:
    """Return numbers as they are printed, added up to the sizes of an input that was broadcast."""
    return sum_to(printed(value, precision, level), like)


def printed_sum(parts: Sequence[Numbers | None], precision: int, level: int) -> Numbers | None:
    """Return the sum of some numbers as they are printed."""
    return sum_of([printed(part, precision, level) for part in parts])


def key_of(node: Node) -> str:
    """Return what tells a tensor from all others: a frozen one has a node at each use."""
    return node.name or node.id


def edge_key(edge: Edge) -> tuple[str, int]:
    """Return what tells an edge from all others: its operation, and which of its inputs it is."""
    return edge.target, edge.slot


Fits: TypeAlias = Callable[[Numbers, int], bool]
"""Whether there is room for a tensor's numbers with so many decimals."""


def always_fits(_value: Numbers, _decimals: int) -> bool:
    """Return True: there is room."""
    return True


def decimals_in_room(value: Numbers | None, wanted: int, own: int, fits: Fits) -> int:
    """Return the decimals that a tensor has, and as many more as are wanted, if there is room for them."""
    places = range(wanted, own, -1) if value is not None else ()
    return next((decimals for decimals in places if value is not None and fits(value, decimals)), own)


class Equation(NamedTuple):
    """What is computed from tensors that are printed: by an operation, or by the symbol of a local derivative.

    Args:
        total: what it comes to in the engine.
        operands: the tensors, by :func:`key_of`.
        formula: how it is computed; None where no text says it.
        edges: those to the operation, if it is one, each with the key of its source.
    """

    total: Numbers | None
    operands: Mapping[str, Node]
    formula: Formula | None
    edges: Sequence[tuple[str, Edge]] = ()

    def computed(self, numbers: Mapping[str, Numbers | None]) -> Numbers | None:
        """Return what it comes to with other numbers of the operands; None where that is not known.

        An operation that no formula says is computed to first order. A symbol that cannot be computed is what it is.
        """
        changed = {key for key, node in self.operands.items() if numbers[key] != node.value}
        if self.total is None:
            return None
        value = value_of(self.formula, numbers) if self.formula is not None else None
        value = sum_to(value, self.total)
        if value is not None and value.elements is not None and value.shape in ((), size_of(self.total)):
            return self.total._replace(elements=value.elements * (self.total.numel // value.numel))
        total: Numbers | None = self.total  # which the engine has computed of numbers that are printed whole
        for key, edge in self.edges:
            if key in self.operands:
                total = changed_by(total, edge, self.operands[key].value, numbers[key])
                changed.discard(key)
        return None if self.edges and changed else total


class Listing:
    """Tensors that are printed with their numbers: as many decimals as let each equation between them hold in print.

    From the roots to the leaves, an operand has as many as what is computed from it needs.

    Args:
        listed: operations, and the tensors that they begin with, each after what it is computed of, if it is printed.
        graph: has the edges between them.
        precision: the decimals that each number has at least.
        levels: how many levels of digits are tried.
        factors: the decimals of the local derivatives that are printed, by :func:`edge_key`.
        fits: whether there is room for a tensor's numbers with so many decimals.
    """

    def __init__(
        self,
        listed: Sequence[Node],
        graph: Graph,
        precision: int,
        levels: int,
        *,
        factors: Mapping[tuple[str, int], int] | None = None,
        fits: Fits = always_fits,
    ) -> None:
        self.precision, self.fits, self.inputs, self.nodes = precision, fits, graph.inputs, graph.by_id
        self.named = {key_of(node): node for node in listed if node.value is not None}
        self.decimals = {key_of(node): precision for node in listed}
        self.signs: dict[tuple[str, int, int], str] = {}
        self.is_exact = all(rounded(node.value, precision) == node.value for node in listed) and all(
            node.value is None or node.value.norm < COARSE**2 for node in listed
        )
        if self.is_exact or levels == 1:
            return
        for edge in graph.edges if factors else ():
            self._settle(self.factor(edge), (factors or {}).get(edge_key(edge), precision), levels)
        for node in reversed(listed):
            self._settle(self.operation(node), self.of(node), levels)

    def of(self, node: Node) -> int:
        """Return the decimals of a tensor."""
        return self.decimals.get(key_of(node), self.precision)

    def give(self, node: Node, decimals: int) -> None:
        """Let a tensor have so many decimals at least, if there is room for them."""
        if decimals > self.of(node):
            self.decimals[key_of(node)] = decimals_in_room(node.value, decimals, self.of(node), self.fits)

    def printed(self, node: Node) -> Numbers | None:
        """Return the numbers of a tensor as they are printed."""
        return rounded(node.value, self.of(node))

    def formula(self, text: str) -> Formula | None:
        """Return a formula in which each tensor that is printed is one name, also P[2], net.w and c.mean()."""
        formula = Formula.read(text)
        return None if formula is None else formula.with_names(self.named.keys())

    def operation(self, node: Node) -> Equation:
        """Return what an operation computes."""
        inputs = self.inputs.get(node.id, ())
        edges = [(output_name(self.nodes[edge.source], edge.output) or edge.source, edge) for edge in inputs]
        formula = self.formula(node.expression) if edges and node.expression else None
        keys = {key for key, _ in edges} | (formula.variables if formula is not None else set())
        return Equation(node.value, self._listed(keys - {key_of(node)}), formula, edges)

    def factor(self, edge: Edge) -> Equation:
        """Return what the symbol of a local derivative comes to."""
        formula = self.formula(edge.flow.symbol) if edge.flow.symbol else None
        return Equation(edge.flow.local, self._listed(formula.variables if formula is not None else set()), formula)

    def backward(self, edge: Edge, arrived: Numbers | None, decimals: int) -> Numbers | None:
        """Return what is handed on along an edge by what is printed: the symbol, what is in it, and what arrives.

        Args:
            edge: to the operation.
            arrived: the gradient that arrives there.
            decimals: those that it has.
        """
        equation = self.factor(edge)._replace(total=edge.flow.handed)
        gradient, formula = Node(GRAD, "operation", name=GRAD, numbers=arrived), equation.formula
        if formula is not None and GRAD not in formula.names and edge.flow.local is not None:
            formula = Formula(ast.BinOp(ast.Name(GRAD), ast.Mult(), formula.node))
        numbers = {key: self.printed(node) for key, node in equation.operands.items()}
        equation = equation._replace(operands={**equation.operands, GRAD: gradient}, formula=formula)
        return equation.computed({**numbers, GRAD: rounded(arrived, decimals)})

    def holds(self, node: Node) -> bool:
        """Return whether the printed operands of an operation, if all are printed, are known to come to its result."""
        if self.is_exact or key_of(node) not in self.named or node.recorded.outputs:
            return True
        formula = self.formula(node.expression) if node.expression else None
        has_all = formula is not None and formula.variables <= self.named.keys() | NAMED.keys()
        is_computable = has_all or not node.expression  # from what is printed
        return not is_computable or self._level(self.operation(node), self.of(node), 1) is not None

    def sign(self, node: Node) -> str:
        """Return the sign between an operation and its result."""
        return EQUAL if self.holds(node) else ABOUT

    def sign_of_factor(self, edge: Edge, decimals: int) -> str:
        """Return the sign between the symbol of a local derivative and its number, which has so many decimals."""
        key = *edge_key(edge), decimals
        if key not in self.signs:  # many paths have the same factors
            is_known = edge.flow.local is not None and not self.is_exact
            differs = is_known and self._level(self.factor(edge), decimals, 1) is None
            self.signs[key] = ABOUT if differs else EQUAL
        return self.signs[key]

    def _settle(self, equation: Equation, decimals: int, levels: int) -> None:
        """Let the operands have the decimals that an equation needs, whose result has so many; else the most."""
        level = self._level(equation, decimals, levels)
        level = self._level(equation, self.precision, levels) if level is None else level
        for operand in equation.operands.values() if equation.total is not None else ():
            self.give(operand, decimals_at(operand.value, self.precision, levels - 1 if level is None else level))

    def _level(self, equation: Equation, decimals: int, levels: int) -> int | None:
        """Return the level of the operands at which an equation holds whose result has so many decimals."""

        def compute(level: int) -> Numbers | None:
            numbers: dict[str, Numbers | None] = {}
            for key, node in equation.operands.items():
                wanted = decimals_at(node.value, self.precision, level)
                numbers[key] = rounded(node.value, decimals_in_room(node.value, wanted, self.of(node), self.fits))
            return equation.computed(numbers)

        return level_that_holds(equation.total, decimals, compute, levels)

    def _listed(self, keys: AbstractSet[str]) -> dict[str, Node]:
        """Return those of some tensors that are printed, in the order of their names."""
        return {key: self.named[key] for key in sorted(keys & self.named.keys())}
