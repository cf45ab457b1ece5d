"""The text of a box, in lines: one function per kind of box, for pictures and for the terminal.

A line is plain text; quoting is the business of the format that writes it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gviz.render.look import LONGEST_LINE
from gviz.text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gviz.graph import Node, Value
    from gviz.render.options import RenderOptions

__all__ = ["describe", "lines", "number", "shape_text", "texts", "value_text"]

OPERATIONS = ("operation", "accumulate")
"""Kinds of boxes that hold no tensor; one with a name makes the tensor of that name."""

MOST_VALUES = 4
"""A tensor of more elements shows its shape instead of its values."""

_DIGITS = (7, 4)
"""Significant digits: those that a float32 has, and those that are enough where a value would not fit with all of them."""

_NOT_SHOWN = "[saved tensor"


def number(value: float | str | None, digits: int = 7) -> str:
    """Return a number as people read it, to the seven digits that a float32 has.

    >>> number(6.0), number(2.302585092994046), number(True), number("nan")
    ('6', '2.302585', 'True', 'nan')
    """
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def value_text(value: Value, digits: int = 7) -> str:
    """Return a tensor's values: a number, or nested brackets.

    >>> value_text(((1.0, 2.0), (3.0, 4.5)))
    '[[1, 2], [3, 4.5]]'
    """
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(item, digits) for item in value)}]"
    return number(value, digits)


def fitting_text(value: Value, most: int) -> str:
    """Return the values with as many digits as so many characters hold; "" where even few digits do not fit: none is ever cut.

    >>> fitting_text((0.123456789, 2.0), 15), fitting_text((0.123456789, 2.0), 13), fitting_text((0.123456789, 2.0), 7)
    ('[0.1234568, 2]', '[0.1235, 2]', '')
    """
    texts = (value_text(value, digits) for digits in _DIGITS)
    return next((text for text in texts if len(text) <= most), "")


def shape_text(shape: tuple[int | None, ...]) -> str:
    """Return sizes as TorchViz writes them, ``?`` for an unknown one.

    >>> shape_text((3, None)), shape_text(())
    ('(3, ?)', '()')
    """
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def size_of(value: Value) -> tuple[int, ...]:
    """Return the sizes of nested values, read off the first of each."""
    sizes = []
    while isinstance(value, tuple):
        sizes.append(len(value))
        value = value[0] if value else None
    return tuple(sizes)


def is_small(shape: tuple[int | None, ...]) -> bool:
    """Return True if the values are few enough to be read in a box.

    >>> is_small(()), is_small((2, 2)), is_small((5,)), is_small((0, 3))
    (True, True, False, False)
    """
    return 0 < math.prod(size or 0 for size in shape) <= MOST_VALUES


def lines(node: Node, options: RenderOptions, *, table: bool = True) -> list[str]:
    """Return the text of a node's box, top line first; the values that it saved as an aligned table, or not.

    >>> from gviz.graph import Node
    >>> from gviz.render.options import RenderOptions
    >>> lines(Node("n0", "leaf", name="w", shape=(), value=1.0, grad=5.0), RenderOptions())
    ['w = 1', 'grad 5']
    >>> lines(Node("n0", "operation", "MulBackward0", name="y", shape=(), value=6.0), RenderOptions())
    ['MulBackward0', 'y = 6']
    """
    if not options.show:
        return plain_lines(node)
    return operation_lines(node, options, table=table) if node.kind in OPERATIONS else tensor_lines(node, options)


def plain_lines(node: Node) -> list[str]:
    """Return TorchViz's own label: the class of an operation; the name of a tensor, known or not, above its shape."""
    if node.kind in OPERATIONS:
        return [node.label]
    if node.kind in ("placeholder", "variable"):
        return [node.label, _name(node)]
    name = (node.label or node.name) if node.kind == "saved" else node.name
    return [name or "", f" {shape_text(node.shape or ())}"]


def operation_lines(node: Node, options: RenderOptions, *, table: bool) -> list[str]:
    """Return the class of an operation, the tensor that it makes, if that has a name, and the values that it saved."""
    rows = [node.label] if node.label else []
    rows += [] if node.name is None else _facts(node, options)
    rows += [node.state] if "state" in options.show and node.state else []
    return rows + (_attributes(node, options.max_chars, table=table) if "attrs" in options.show else [])


def tensor_lines(node: Node, options: RenderOptions) -> list[str]:
    """Return the label of a tensor, unless it is part of its name, its value and gradient, and its state."""
    rows = [node.label] if node.label and node.kind != "saved" else []
    rows += _facts(node, options)
    return rows + ([node.state] if "state" in options.show and node.state else [])


def texts(nodes: Iterable[Node], options: RenderOptions) -> list[str]:
    """Return the text of each box; operations without a name share theirs, so each of those is made once."""
    bare = options.show in ((), ("value", "grad"))
    most = max(LONGEST_LINE, 2 * options.max_chars)
    known: dict[str, str] = {}
    result = []
    for node in nodes:
        shared = bare and node.name is None and node.kind in OPERATIONS
        text = known.get(node.label) if shared else None
        if text is None:
            text = "\n".join(line if len(line) <= most else shorten(line, most, middle=True) for line in lines(node, options))
            known.update({node.label: text} if shared else {})
        result.append(text)
    return result


def describe(node: Node, options: RenderOptions) -> str:
    """Return the text of a box on one line, for the terminal."""
    return "  ".join(line.strip() for line in lines(node, options, table=False)).replace("\n", "\\n")


def _facts(node: Node, options: RenderOptions) -> list[str]:
    """Return name, shape, dtype and value of a tensor, on one line if they fit; then the gradient."""
    show, most = options.show, options.max_chars
    shape = node.shape if node.shape is not None or node.value is None else size_of(node.value)
    text = fitting_text(node.value, most) if "value" in show and node.value is not None and is_small(shape or ()) else ""
    head = [name if len(name := _name(node)) <= most else shorten(name, most, middle=True)]
    if shape is not None and ("shape" in show or not text):
        head.append(shape_text(shape))
    if "dtype" in show and node.dtype:
        head.append(node.dtype)
    first = " ".join(part for part in head if part)
    rows = [first] if first else []
    if text:
        joined = f"{first} = {text}" if first else text
        rows = [joined] if len(joined) <= most else [first, f"= {text}"]
    if "grad" in show and node.grad is not None:
        grad_shape = size_of(node.grad)
        grad = fitting_text(node.grad, most) if is_small(grad_shape) else ""
        rows.append(f"grad {grad or shape_text(grad_shape)}")
    return rows


def _name(node: Node) -> str:
    """Return the name of a tensor (below its scope); for a saved one also the name under which the operation keeps it."""
    if node.kind == "saved" and node.label and node.name and node.name != node.label:
        return f"{node.label}: {node.name}"
    if node.scope and node.name:
        return node.name.removeprefix(f"{node.scope}/")  # its cluster has the rest
    return node.name or (node.label if node.kind == "saved" else "")


def _attributes(node: Node, most: int, *, table: bool) -> list[str]:
    """Return the values that an operation saved; tensors are left to the boxes of ``saved``."""
    rows = [(key, text) for key, text in node.attrs if not text.startswith(_NOT_SHOWN)]
    width = max((len(key) for key, _ in rows), default=0) if table else 0
    cells = [f"{key:<{width}}: {shorten(text, most)}" for key, text in rows]
    longest = max(map(len, cells), default=0)
    return [cell.ljust(longest) for cell in cells]
