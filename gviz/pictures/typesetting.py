"""Formulas as mathematics sets them: italic names, subscripts, powers, fractions, roots, brackets as high as need be.

A formula becomes a :class:`TypeBox` of texts and rules, whose width is that of the shipped type. The base line is at 0;
y grows downwards.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from math import cos, pi, sin
from typing import NamedTuple

from gviz.formulas.formula import EARLIER, UNKNOWN, Formula
from gviz.layout.fonts.faces import bearings_of, extent_of, type_width
from gviz.layout.ink import Inked, Item, Pen, Stretch, TextLine

GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
    *("xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega"),
)
CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega")
LETTERS = {
    **dict(zip(GREEK, "αβγδεζηθικλμνξπρστφχψω", strict=True)),
    **dict(zip(CAPITALS, "ΓΔΘΛΞΠΣΦΨΩ", strict=True)),
    "eps": "ε",
    "lambda_": "λ",
    "lamda": "λ",
    "lam": "λ",
}
del LETTERS["xi"]  # the x_i of a loop, beside yi
"""Greek letters by the names that programs have for them."""

NO_ARRAYS: Mapping[str, int] = {}

REDUCED = ("sum", "mean", "trace", "det", "norm")
"""Functions that make one number of all elements."""

RAISED = ("sin", "cos", "tan", "tanh", "sinh", "cosh", "log", "ln")
"""Functions whose power stands between name and bracket."""

COMPARED = {ast.Lt: " < ", ast.Gt: " > ", ast.LtE: " ≤ ", ast.GtE: " ≥ ", ast.Eq: " = ", ast.NotEq: " ≠ "}

ALONE, SUM, SIGN, PRODUCT, POWER, ATOM = range(6)
"""How strongly parts of a formula bind; one that stands alone needs no brackets."""

SMALLER, RULE = 0.7, 0.055
"""The size of subscripts and powers, and the breadth of a rule, by the size of the type."""

LEAST = 6.0
"""Points of the smallest type."""

LONGEST = 300
"""Characters of a formula; a longer one is set as code."""


class TypeRun(NamedTuple):
    """A text in one face, from its beginning on the base line."""

    x: float
    y: float
    size: float
    face: str
    text: str


class Rule(NamedTuple):
    """A straight line with the breadth of its pen."""

    x: float
    y: float
    to_x: float
    to_y: float
    breadth: float


class TypeBox(NamedTuple):
    """What takes a rectangle: its width, and its heights above and below the base line."""

    width: float = 0.0
    above: float = 0.0
    below: float = 0.0
    parts: tuple[TypeRun | Rule, ...] = ()

    @property
    def height(self) -> float:
        """Above and below the base line."""
        return self.above + self.below

    def scaled(self, factor: float) -> TypeBox:
        """Return it so many times as large."""
        parts = tuple(
            part._replace(x=part.x * factor, y=part.y * factor, size=part.size * factor)
            if isinstance(part, TypeRun)
            else Rule(*(one * factor for one in part))
            for part in self.parts
        )
        return TypeBox(self.width * factor, self.above * factor, self.below * factor, parts)

    def shifted(self, x: float, y: float = 0.0) -> tuple[TypeRun | Rule, ...]:
        """Return its parts at another place."""
        return tuple(
            part._replace(x=part.x + x, y=part.y + y)
            if isinstance(part, TypeRun)
            else Rule(part.x + x, part.y + y, part.to_x + x, part.to_y + y, part.breadth)
            for part in self.parts
        )

    def ink(self, x: float, y: float, colour: str, scale: float = 1.0) -> Iterator[Item]:
        """Yield what is drawn if it begins at a place of the base line."""
        for part in self.parts:
            if isinstance(part, TypeRun):
                word = (Inked(part.text, face=part.face),)
                yield TextLine(
                    (x + part.x * scale, y + part.y * scale), part.size * scale, colour, word, is_centred=False
                )
            else:
                ends = [
                    (x + part.x * scale, y + part.y * scale),
                    (x + part.to_x * scale, y + part.to_y * scale),
                ]
                yield Stretch(ends, Pen(colour, part.breadth * scale))

    def centred(self, x: float, y: float, colour: str) -> Iterator[Item]:
        """Yield what is drawn if the middle of its base line is at a place."""
        return self.ink(x - self.width / 2, y, colour)

    @property
    def text(self) -> str:
        """Its texts, one after the other, for those who cannot see it."""
        return "".join(part.text for part in self.parts if isinstance(part, TypeRun))


# ---------------------------------------------------------------- boxes of boxes
def text_box(text: str, size: float, face: str = "sans") -> TypeBox:
    """Return a text as a box; a slanted one has room for what leans out of its width."""
    width = type_width(text, size, face)
    if not text.strip():
        return TypeBox(width)
    left, right = bearings_of(text, size) if face == "math" else (0.0, 0.0)
    above, below = extent_of(text, size, face)
    return TypeBox(width + left + right, above, below, (TypeRun(left, 0, size, face, text),))


def row(*boxes: TypeBox) -> TypeBox:
    """Return boxes side by side."""
    x, parts = 0.0, list[TypeRun | Rule]()
    for box in boxes:
        parts += box.shifted(x)
        x += box.width
    return TypeBox(
        x, max([0.0, *(box.above for box in boxes)]), max([0.0, *(box.below for box in boxes)]), tuple(parts)
    )


def in_stack(boxes: Iterable[TypeBox], gap: float) -> TypeBox:
    """Return boxes below each other, their middles on one line; the base line is that of the first."""
    rows = [box for box in boxes if box.width]
    wide, y, parts = max([0.0, *(box.width for box in rows)]), 0.0, list[TypeRun | Rule]()
    for number, box in enumerate(rows):
        y += box.above + gap if number else 0.0
        parts += box.shifted((wide - box.width) / 2, y)
        y += box.below
    return TypeBox(wide, rows[0].above, y, tuple(parts)) if rows else TypeBox()


def with_commas(boxes: Iterable[TypeBox], size: float) -> TypeBox:
    """Return boxes side by side with commas between."""
    return row(*[part for box in boxes for part in (text_box(", ", size), box)][1:])


def with_scripts(base: TypeBox, size: float, power: TypeBox | None = None, index: TypeBox | None = None) -> TypeBox:
    """Return a box with a power, or an index."""
    parts, width, above, below = list(base.parts), base.width, base.above, base.below
    gap = 0.04 * size
    if power is not None:
        shift = -max(base.above - 0.32 * size, 0.36 * size) - power.below
        parts += power.shifted(base.width + gap, shift)
        width, above = base.width + power.width + gap, max(above, power.above - shift)
    if index is not None:
        shift = base.below * 0.5 + 0.18 * size
        parts += index.shifted(base.width + gap, shift)
        width, below = max(width, base.width + index.width + gap), max(below, index.below + shift)
    return TypeBox(width, above, below, tuple(parts))


def fraction(top: TypeBox, low: TypeBox, size: float) -> TypeBox:
    """Return a box above another, with a rule between."""
    width, axis, gap, side = max(top.width, low.width) + 0.3 * size, 0.27 * size, 0.18 * size, TypeBox(0.1 * size)
    up, down = -axis - gap - top.below, -axis + gap + low.above
    rule = Rule(0.04 * size, -axis, width - 0.04 * size, -axis, RULE * size)
    parts = (*top.shifted((width - top.width) / 2, up), rule, *low.shifted((width - low.width) / 2, down))
    return row(side, TypeBox(width, top.above - up, low.below + down, parts), side)


def fenced(box: TypeBox, size: float, kind: str = "()") -> TypeBox:
    """Return a box in brackets: of type where it is low, drawn where it is high.

    Args:
        box: what is in them.
        size: of the type.
        kind: the two brackets: ``()``, ``[]``, ``||`` or ``‖‖``.
    """
    if box.height <= 1.25 * size or kind == "‖‖":
        return row(text_box(kind[0], size), box, text_box(kind[1], size))
    top, low, width = -box.above - 0.1 * size, box.below + 0.1 * size, 0.22 * size
    bends = {
        "(": [(width * (0.85 * (step / 4 - 1) ** 2 + 0.1), top + (low - top) * step / 8) for step in range(9)],
        "[": [(0.9 * width, top), (0.3 * width, top), (0.3 * width, low), (0.9 * width, low)],
        "|": [(width / 2, top), (width / 2, low)],
    }[kind[0]]
    left = rules_along(bends, RULE * size, width + RULE * size)
    right = rules_along([(width - x, y) for x, y in bends], RULE * size, width + RULE * size)
    return row(left, box, right)


def rules_along(points: Iterable[tuple[float, float]], breadth: float, width: float) -> TypeBox:
    """Return a sign made of rules from point to point."""
    places = list(points)
    rules = tuple(Rule(*start, *end, breadth) for start, end in pairwise(places))
    return TypeBox(width, -min(y for _, y in places), max(0.0, *(y for _, y in places)), rules)


def root(box: TypeBox, size: float) -> TypeBox:
    """Return a square root."""
    above, start, thin = box.above + 0.14 * size, 0.56 * size, RULE * size
    points = (0.06, -0.25 * size), (0.2, -0.3 * size), (0.36, box.below), (0.53, -above)
    bends = [(x * size, y) for x, y in points]
    end = start + box.width + 0.05 * size
    sign = rules_along([*bends, (end, -above)], thin, end)
    return TypeBox(end + 0.05 * size, above + thin, box.below, (*sign.parts, *box.shifted(start)))


def circled_dot(size: float) -> TypeBox:
    """Return the sign of the product of elements, which few fonts have."""
    radius, y, pen = 0.25 * size, -0.27 * size, RULE * size
    middle, gap = radius + pen, TypeBox(0.25 * size)
    ring = [(radius * cos(step * pi / 10) + middle, y + radius * sin(step * pi / 10)) for step in range(21)]
    dot = Rule(middle - 0.06 * size, y, middle + 0.06 * size, y, 0.12 * size)
    sign = rules_along(ring, pen, 2 * middle)
    return row(gap, sign._replace(parts=(*sign.parts, dot)), gap)


# ---------------------------------------------------------------- names and numbers
def name_box(name: str, size: float) -> TypeBox:
    """Return a name: of one letter in italics, with what is behind it as its index; a word stays a word.

    >>> [name_box(name, 10).text for name in ("w", "w_1", "x12", "theta_1", "lr", "learning_rate", "net.0.weight")]
    ['w', 'w1', 'x12', 'θ1', 'lr', 'learning_rate', 'net.0.weight']
    """
    if ", " in name or name.startswith("∂"):
        return phrase(name, size)
    parts = re.fullmatch(r"([^\W\d_]+)(\d*)(?:_(\w+?))?_?", name)
    base, digits, behind = parts.groups() if parts is not None else (name, "", "")
    index = ",".join(filter(None, [digits, behind]))
    letter = LETTERS.get(base, base)
    if len(letter) != 1 or not letter.isalpha() or "__" in name:
        return text_box(name, size)
    is_slanted = letter.isascii() or letter.islower()
    box = text_box(letter, size * (1.08 if is_slanted else 1), "math" if is_slanted else "sans")
    if not index:
        return box
    small = SMALLER * size
    inner = text_box(index, small) if len(index) > 1 or index.isdigit() else text_box(index, small, "math")
    return with_scripts(box, size, index=inner)


def phrase(text: str, size: float) -> TypeBox:
    """Return a text with names in it set as :func:`name_box` does, and with real minus signs; all else as it is.

    >>> phrase("y → a: w_1 · -2, a hook", 10).text, len(phrase("added to w.grad, a hook", 10).parts)
    ('y → a: w1 · −2, a hook', 1)
    """
    text = re.sub(r"\ba (?=[a-z]{3,}\b)", "a\N{NO-BREAK SPACE}", text.replace("-", "−"))  # the article
    pieces = re.findall(r"[²³ᵀ]|a\xa0|[^\W\d²³ᵀ](?:[^\W²³ᵀ.]|\.\w)*|\W+|\w", text)
    boxes, plain = list[TypeBox](), ""
    for piece in [*pieces, ""]:
        box = name_box(piece, size) if piece[:1].isalpha() and "\xa0" not in piece else TypeBox()
        is_plain = piece not in ("", "ᵀ") and (not box.width or box == text_box(piece, size))
        if is_plain:
            plain += piece.replace("\xa0", " ")
            continue
        boxes += [text_box(plain, size)] if plain else []
        plain = ""
        if piece == "ᵀ":
            boxes.append(with_scripts(boxes.pop() if boxes else TypeBox(), size, text_box("T", SMALLER * size)))
        elif piece:
            boxes.append(box)
    return row(*boxes)


def number_box(text: str, size: float, face: str = "sans") -> TypeBox:
    """Return a number, with a real minus, and a power of ten where it has one.

    >>> number_box("-2.5", 10).text, number_box("1e-05", 10).text
    ('−2.5', '10−5')
    >>> number_box("3.5e+20, -2e+13", 10).text
    '3.5 · 1020, −2 · 1013'
    """
    number = re.fullmatch(r"(−?[\d.]+)e([+−]\d+)", text.replace("-", "−"))
    if number is None:
        if ", " not in text or not re.search(r"\de[+-]\d", text):
            return text_box(text.replace("-", "−"), size, face)
        boxes = [number_box(part, size, face) for part in text.split(", ")]
        between = text_box(", ", size, face)
        return row(*[box for one in boxes for box in (between, one)][1:])
    digits, power = number.groups()
    ten = with_scripts(
        text_box("10", size, face), size, text_box(power.replace("−0", "−").lstrip("+0"), SMALLER * size, face)
    )
    return ten if digits == "1" else row(text_box(f"{digits} · ", size, face), ten)


# ---------------------------------------------------------------- formulas
def typeset(formula: str, size: float, arrays: Mapping[str, int] = NO_ARRAYS) -> TypeBox:
    """Return a formula, or a statement ``y = ...``, as mathematics sets it; what is none as it was typed.

    Args:
        formula: as Python or gviz writes it.
        size: of the type, in points.
        arrays: how many axes tensors with several elements have, by name: their product is that of the elements.

    >>> typeset("y = x ** 2 / (w_1 + 1)", 10).text
    'y  =  x2w1 + 1'
    """
    name, equals, right = formula.partition(" = ")
    if equals and "(" not in EARLIER.sub("", name):
        return row(name_box(name, size), text_box("  =  ", size), typeset(right, size, arrays))
    read_formula = Formula.read(formula) if len(formula) <= LONGEST else None
    if read_formula is None:
        return text_box(formula, 0.9 * size, "mono")
    try:
        return Setter(arrays).set(read_formula.node, size, 0)
    except RecursionError:
        return text_box(formula, 0.9 * size, "mono")


class Setter:
    """Sets parts of a formula.

    Args:
        arrays: how many axes tensors with several elements have, by name.
    """

    def __init__(self, arrays: Mapping[str, int] = NO_ARRAYS) -> None:
        self.arrays = arrays

    def set(self, node: ast.expr, size: float, depth: int) -> TypeBox:
        """Return a part as a box.

        Args:
            node: the part.
            size: of its type.
            depth: how many fractions and powers it stands in: deep down, quotients are written a/b.
        """
        own = getattr(self, f"_{type(node).__name__.lower()}", None)
        box: TypeBox | None = own(node, size, depth) if own is not None else None
        return text_box(ast.unparse(node), 0.9 * size, "mono") if box is None else box

    def _name(self, node: ast.Name, size: float, _: int) -> TypeBox:
        return name_box(node.id, size) if node.id != UNKNOWN else text_box(UNKNOWN, 0.9 * size, "mono")

    def _constant(self, node: ast.Constant, size: float, _: int) -> TypeBox | None:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return number_box(f"{value:g}" if abs(value) < 1e5 and value == int(value) else repr(value), size)

    def _unaryop(self, node: ast.UnaryOp, size: float, depth: int) -> TypeBox | None:
        if not isinstance(node.op, ast.USub):
            return None
        return row(text_box("−", size), self.within(node.operand, PRODUCT, size, depth))

    def _binop(self, node: ast.BinOp, size: float, depth: int) -> TypeBox | None:
        match node.op:
            case ast.Add() | ast.Sub():
                return self.sum(node, size, depth)
            case ast.Mult() | ast.MatMult():
                return self.product(node, size, depth)
            case ast.Div():
                return self.quotient(node, size, depth)
            case ast.Pow():
                return self.power(node, size, depth)
            case ast.Mod():
                left, right = (self.within(part, POWER, size, depth) for part in (node.left, node.right))
                return row(left, text_box(" mod ", size), right)
        return None

    def _attribute(self, node: ast.Attribute, size: float, depth: int) -> TypeBox | None:
        if node.attr not in ("T", "mT", "H"):
            return None
        return with_scripts(self.within(node.value, ATOM, size, depth), size, text_box("T", SMALLER * size))

    def _subscript(self, node: ast.Subscript, size: float, depth: int) -> TypeBox:
        owner: ast.expr = node.value
        places = [node.slice]
        while isinstance(owner, ast.Subscript) and is_place(owner.slice):  # p[0][1] is p[0, 1]
            places = [owner.slice, *places]
            owner = owner.value
        index = with_commas((self.set(place, max(SMALLER * size, LEAST), 2) for place in places), SMALLER * size)
        return with_scripts(self.within(owner, ATOM, size, depth), size, index=index)

    def _tuple(self, node: ast.Tuple, size: float, depth: int) -> TypeBox:
        return with_commas((self.set(part, size, depth) for part in node.elts), size)

    def _list(self, node: ast.List, size: float, depth: int) -> TypeBox:
        if len(node.elts) == 1 and isinstance(node.elts[0], ast.Compare):
            return self.set(node.elts[0], size, depth)
        return fenced(with_commas((self.set(part, size, depth) for part in node.elts), size), size, "[]")

    def _compare(self, node: ast.Compare, size: float, depth: int) -> TypeBox | None:
        if len(node.ops) > 1 or type(node.ops[0]) not in COMPARED:
            return None
        left, right = (self.within(part, SUM, size, depth) for part in (node.left, node.comparators[0]))
        return fenced(row(left, text_box(COMPARED[type(node.ops[0])], size), right), size, "[]")

    def _call(self, node: ast.Call, size: float, depth: int) -> TypeBox | None:
        if isinstance(node.func, ast.Constant) and len(node.args) == 1:  # 100(y - x), which is a product
            return self.product(ast.BinOp(node.func, ast.Mult(), node.args[0]), size, depth)
        if not isinstance(node.func, ast.Name):
            return None
        name, args = node.func.id, node.args
        if len(args) == 1 and not node.keywords and name in SIGNS:
            return SIGNS[name](self, args[0], size, depth)
        if len(args) == 2 and name in ("matmul", "mm", "mv", "dot"):
            left = ast.Attribute(args[0], "T") if name == "dot" else args[0]
            return self.set(ast.BinOp(left, ast.MatMult(), args[1]), size, depth)
        options = [text_box(ast.unparse(option).replace("=-", "=−"), size) for option in node.keywords]
        inner = with_commas([*(self.set(part, size, depth) for part in args), *options], size)
        head = text_box("σ", 1.08 * size, "math") if name == "sigmoid" else name_box(name, size)
        return row(head, fenced(inner, size))

    def within(self, node: ast.expr, least: int, size: float, depth: int) -> TypeBox:
        """Return a part as it stands inside of one that binds so strongly."""
        box = self.set(node, size, depth)
        return fenced(box, size) if level(node) < least else box

    def sum(self, node: ast.BinOp, size: float, depth: int) -> TypeBox:
        """Return a sum, or a difference."""
        is_sum = isinstance(node.op, ast.Add)
        least = SUM if is_sum and not isinstance(node.right, ast.UnaryOp) else PRODUCT
        right = self.within(node.right, least, size, depth)
        return row(self.within(node.left, SUM, size, depth), text_box(" + " if is_sum else " − ", size), right)

    def product(self, node: ast.BinOp, size: float, depth: int) -> TypeBox:
        """Return a product: without a sign where names are short, with that of elements between tensors."""
        is_closed = (depth and is_quotient(node.left)) or (
            not self.is_of_elements(node) and self.is_of_elements(node.left)
        )
        left = self.within(node.left, POWER if is_closed else PRODUCT, size, depth)
        right = self.within(
            node.right, POWER if is_quotient(node.right) or is_matrix_product(node) else PRODUCT, size, depth
        )
        if self.is_of_elements(node):
            return row(left, circled_dot(size), right)
        if isinstance(node.op, ast.MatMult) and all(map(self.is_vector, (node.left, node.right))):
            left = with_scripts(left, size, text_box("T", SMALLER * size))  # a row times a column
        if not is_juxtaposed(node.left, node.right):
            return row(left, text_box(" · ", size), right)
        return row(left, TypeBox((0.22 if isinstance(node.right, ast.Call) else 0.1) * size), right)

    def is_of_elements(self, node: ast.expr) -> bool:
        """Return whether a part is a product of elements, which binds less than one of matrices: (A ⊙ B) C."""
        match node:
            case ast.BinOp(left, ast.Mult(), right):
                return self.is_array(left) and self.is_array(right)
        return False

    def is_array(self, node: ast.expr) -> bool:
        """Return whether a part has several elements, as far as that is known: x[0] of a vector has not, nor a sum."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=place) if is_place(place):
                axes = self.arrays.get(name, 0) - len(place.elts if isinstance(place, ast.Tuple) else [place])
                return self.arrays.get(ast.unparse(node), axes) > 0
            case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) if name in REDUCED:
                return False
        inner = (part for part in ast.walk(node) if isinstance(part, ast.Subscript | ast.Attribute))
        parts = {ast.unparse(part) for part in inner}  # those of a list, or of an object
        return not self.arrays.keys().isdisjoint(Formula(node).names | parts)

    def is_vector(self, node: ast.expr) -> bool:
        """Return whether a part is the name of a tensor with one axis."""
        return isinstance(node, ast.Name) and self.arrays.get(node.id) == 1

    def quotient(self, node: ast.BinOp, size: float, depth: int) -> TypeBox:
        """Return a fraction; deep inside of others a/b."""
        if depth < 2 and (not depth or level(node.left) < PRODUCT or level(node.right) <= PRODUCT):
            inner = size if not depth else 0.8 * size
            return fraction(self.set(node.left, inner, depth + 1), self.set(node.right, inner, depth + 1), size)
        left = self.within(node.left, POWER if is_quotient(node.left) else SIGN, size, depth)
        return row(left, text_box(" / ", size), self.within(node.right, POWER, size, depth))

    def power(self, node: ast.BinOp, size: float, depth: int) -> TypeBox:
        """Return a power, or a root; that of a sine stands behind its name."""
        match node:
            case ast.BinOp(right=ast.Constant(value=0.5)):
                return root(self.set(node.left, size, depth), size)
            case ast.BinOp(left=ast.Call(func=ast.Name(id=name), args=[only])) if name in RAISED:
                head = self.raised(text_box(name, size), node.right, size, depth)
                return row(head, fenced(self.set(only, size, depth), size))
        return self.raised(self.within(node.left, ATOM, size, depth), node.right, size, depth)

    def raised(self, base: TypeBox, power: ast.expr, size: float, depth: int) -> TypeBox:
        """Return a box with a power."""
        return with_scripts(base, size, self.set(power, max(SMALLER * size, LEAST), depth + 2))

    def of_all(self, sign: str, inner: ast.expr, size: float, depth: int) -> TypeBox:
        """Return a large sign before what it is for."""
        return row(text_box(sign, 1.15 * size), TypeBox(0.1 * size), self.within(inner, PRODUCT, size, depth))


SIGNS: dict[str, Callable[[Setter, ast.expr, float, int], TypeBox]] = {
    "exp": lambda own, inner, size, depth: own.raised(text_box("e", 1.08 * size, "math"), inner, size, depth),
    "sqrt": lambda own, inner, size, depth: root(own.set(inner, size, depth), size),
    "square": lambda own, inner, size, depth: own.set(ast.BinOp(inner, ast.Pow(), ast.Constant(2)), size, depth),
    "t": lambda own, inner, size, depth: own.set(ast.Attribute(inner, "T"), size, depth),
    "abs": lambda own, inner, size, depth: fenced(own.set(inner, size, depth), size, "||"),
    "absolute": lambda own, inner, size, depth: fenced(own.set(inner, size, depth), size, "||"),
    "norm": lambda own, inner, size, depth: fenced(own.set(inner, size, depth), size, "‖‖"),
    "sum": lambda own, inner, size, depth: own.of_all("Σ", inner, size, depth),
    "prod": lambda own, inner, size, depth: own.of_all("Π", inner, size, depth),
}
"""Functions of one argument that mathematics has a sign for."""


def level(node: ast.expr) -> int:
    """Return how strongly a part binds."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mod() | ast.FloorDiv()):
            return SUM
        case ast.UnaryOp() | ast.Call(func=ast.Name(id="sum" | "prod"), args=[_], keywords=[]):
            return SIGN
        case ast.BinOp(op=ast.Mult() | ast.MatMult() | ast.Div()):
            return PRODUCT
        case ast.BinOp(op=ast.Pow()) | ast.Call(func=ast.Name(id="exp")):
            return POWER
        case ast.BinOp() | ast.BoolOp() | ast.IfExp() | ast.Lambda():
            return ALONE
    return ATOM


def is_quotient(node: ast.expr) -> bool:
    """Return whether a part is a quotient."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def is_matrix_product(node: ast.BinOp) -> bool:
    """Return whether a product is one within one of matrices, where its place makes a difference."""
    return isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.MatMult | ast.Mult)


def is_juxtaposed(left: ast.expr, right: ast.expr) -> bool:
    """Return whether a product needs no sign: 2x and w₁x₁ do not, 2 · 3, loss · rate and x · x do."""
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mult | ast.MatMult):
        left = left.right
    while isinstance(right, ast.BinOp) and isinstance(right.op, ast.Mult | ast.MatMult | ast.Pow):
        right = right.left
    if ast.dump(left) == ast.dump(right):
        return False  # x · x: xx is no product to the eye
    is_number = isinstance(left, ast.Constant)
    is_function = isinstance(right, ast.Call) and level(right) > PRODUCT and len(right.args) == 1
    follows = is_short_name(right) or isinstance(right, ast.BinOp) or is_function
    return follows and (is_number or is_short_name(left) or isinstance(left, ast.BinOp))


def is_place(node: ast.expr) -> bool:
    """Return whether an index is the place of one element along each axis that it has."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(
        isinstance(part.operand if isinstance(part, ast.UnaryOp) else part, ast.Constant | ast.Name) for part in parts
    )


def is_short_name(node: ast.expr) -> bool:
    """Return whether a part is a name of one letter, with an index or not, or such a matrix transposed."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("T", "mT") and is_short_name(node.value)
    if not isinstance(node, ast.Name):
        return False
    base = node.id.partition("_")[0].rstrip("0123456789")
    return len(LETTERS.get(base, base)) == 1
