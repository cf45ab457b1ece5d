"""How a computed piece of an expression is written: ``x + w``, ``sum(x, dim=0)``, ``x[0, 1:]``.

Every piece is written from the texts of its parts, which are names where the parts have one; so texts stay short
however long the expression is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ATOM", "Item", "clipped", "kind_of", "number_text", "operator_sign", "text_of"]

MAX_TEXT = 120
"""Characters of a text; of a longer one, a list of many names for instance, the middle is left out."""

MAX_FOLDED = 24
"""Characters up to which a computed number is written as it was computed (``1 / 3``)."""

ATOM = 100
"""Precedence of what never needs brackets."""

_UNARY, _POWER = 12, 13

_BINARY: dict[type[ast.AST], tuple[str, int]] = {
    ast.Pow: ("**", _POWER),
    **{
        kind: (sign, 11)
        for kind, sign in ((ast.Mult, "*"), (ast.Div, "/"), (ast.FloorDiv, "//"), (ast.Mod, "%"), (ast.MatMult, "@"))
    },
    **{kind: (sign, 10) for kind, sign in ((ast.Add, "+"), (ast.Sub, "-"))},
    **{kind: (sign, 9) for kind, sign in ((ast.LShift, "<<"), (ast.RShift, ">>"))},
    ast.BitAnd: ("&", 8),
    ast.BitOr: ("|", 6),
    **{
        kind: (sign, 5)
        for kind, sign in ((ast.Eq, "=="), (ast.NotEq, "!="), (ast.Lt, "<"), (ast.LtE, "<="), (ast.Gt, ">"), (ast.GtE, ">="))
    },
}
"""An operator's sign and precedence, which is the order of Python's own."""

_SIGNS: dict[type[ast.AST], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


class Item(NamedTuple):
    """A computed piece of an expression.

    Args:
        value: a tensor, a number, a tuple of tensors ...
        text: how it is written.
        rank: precedence of its outermost operator, :data:`ATOM` for none.
        live: whether a tensor with a name takes part in it; what does not is a constant.
    """

    value: Any
    text: str
    rank: int = ATOM
    live: bool = False

    def bracketed(self, rank: int) -> str:
        """The text as an operand of an operator that binds as tightly as ``rank``."""
        return self.text if self.rank >= rank else f"({self.text})"


def kind_of(value: object) -> str:
    """What a value is, in words, for an error about one that is no tensor."""
    if value is None or value is ...:
        return "None" if value is None else "..."
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, tuple):
        return "a shape" if type(value).__name__ == "Size" else "a tuple"
    return f"a {type(value).__name__}"


def operator_sign(node: ast.AST) -> str:
    """``+`` for ``ast.Add`` and so on, also of a unary operator or a comparison."""
    return _BINARY[type(node)][0] if type(node) in _BINARY else _SIGNS[type(node)]


def text_of(node: ast.expr, parts: Sequence[Item], function: str | None = None) -> tuple[str, int]:
    """The text of a node and its precedence.

    Args:
        node: what was computed.
        parts: its parts, in the order of :func:`gviz.sources.expression_check.children`.
        function: the function that is called, where one is.
    """
    text, rank = _text(node, parts, function)
    return clipped(text), rank


def clipped(text: str) -> str:
    """The text without its middle, where it is long.

    >>> len(clipped("x" * 1000))
    119
    """
    half = (MAX_TEXT - 3) // 2
    return text if len(text) <= MAX_TEXT else f"{text[:half]} … {text[-half:]}"


def number_text(text: str, rank: int, value: float) -> tuple[str, int]:
    """A computed number: as it was computed where that is short (``1 / 3``), else as it came out."""
    if len(text) <= MAX_FOLDED:
        return text, rank
    return clipped(repr(value)), ATOM if value >= 0 else _UNARY


def _text(node: ast.expr, parts: Sequence[Item], function: str | None) -> tuple[str, int]:
    if isinstance(node, ast.Call):
        return _call_text(node, parts, function), ATOM
    return _WRITERS[type(node)](node, parts)


def _binary_text(node: ast.BinOp, parts: Sequence[Item]) -> tuple[str, int]:
    sign, rank = _BINARY[type(node.op)]
    left, right = (rank + 1, _UNARY) if rank == _POWER else (rank, rank + 1)
    return f"{parts[0].bracketed(left)} {sign} {parts[1].bracketed(right)}", rank


def _compare_text(node: ast.Compare, parts: Sequence[Item]) -> tuple[str, int]:
    sign, rank = _BINARY[type(node.ops[0])]
    return f"{parts[0].bracketed(rank + 1)} {sign} {parts[1].bracketed(rank + 1)}", rank


def _subscript_text(node: ast.Subscript, parts: Sequence[Item]) -> tuple[str, int]:
    index = parts[1].text
    if isinstance(node.slice, ast.Tuple) and node.slice.elts:
        index = index[1:-1]  # x[0, 1] rather than x[(0, 1)]
    return f"{parts[0].bracketed(ATOM)}[{index}]", ATOM


def _slice_text(node: ast.Slice, parts: Sequence[Item]) -> tuple[str, int]:
    texts = iter(part.text for part in parts)
    lower, upper, step = (next(texts) if part is not None else "" for part in (node.lower, node.upper, node.step))
    return (f"{lower}:{upper}:{step}" if step else f"{lower}:{upper}"), ATOM


def _tuple_text(_: ast.Tuple, parts: Sequence[Item]) -> tuple[str, int]:
    listed = ", ".join(part.text for part in parts)
    return (f"({listed},)" if len(parts) == 1 else f"({listed})"), ATOM


def _call_text(node: ast.Call, parts: Sequence[Item], function: str | None) -> str:
    arguments = list(parts)
    if function is None and isinstance(node.func, ast.Attribute):
        receiver = arguments.pop(0)
        function = f"{receiver.bracketed(ATOM)}.{node.func.attr}"
    names = [""] * len(node.args) + [f"{keyword.arg}=" for keyword in node.keywords]
    return f"{function}({', '.join(name + item.text for name, item in zip(names, arguments, strict=True))})"


_WRITERS: dict[type[ast.expr], Callable[[Any, Sequence[Item]], tuple[str, int]]] = {
    ast.BinOp: _binary_text,
    ast.Compare: _compare_text,
    ast.UnaryOp: lambda node, parts: (_SIGNS[type(node.op)] + parts[0].bracketed(_UNARY), _UNARY),
    ast.Attribute: lambda node, parts: (f"{parts[0].bracketed(ATOM)}.{node.attr}", ATOM),
    ast.Subscript: _subscript_text,
    ast.Slice: _slice_text,
    ast.List: lambda _, parts: (f"[{', '.join(part.text for part in parts)}]", ATOM),
    ast.Tuple: _tuple_text,
}
