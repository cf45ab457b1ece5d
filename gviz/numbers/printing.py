"""Tensors as PyTorch prints them, character for character, and the shape type ``torch.Size``.

The rules, from https://docs.pytorch.org/docs/2.13/generated/torch.set_printoptions.html and PyTorch's output: one form
for all elements of a tensor (whole numbers as ``1.``, four decimals, or exponents where magnitudes are far apart),
columns of one width, lines of 80 characters, and only the edges of what has more than 1000 elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from math import isfinite, prod
from types import SimpleNamespace
from typing import Any, Self, SupportsIndex

import numpy as np

from gviz.numbers.dtypes import FLOATS, bool_, get_default_dtype, int64, is_meta, of
from gviz.numbers.types import Array

_DEFAULT: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
_PROFILES: dict[str | None, dict[str, Any]] = {
    "default": {}, "short": {"precision": 2, "edgeitems": 2}, "full": {"threshold": float("inf")},
}  # fmt: skip
_options = SimpleNamespace(**_DEFAULT, sci_mode=None)
"""How tensors are printed, for the whole process as in PyTorch."""


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed from now on (``torch.set_printoptions``).

    Args:
        precision: digits after the point, 4 at first.
        threshold: from more elements than this only the edges are printed, 1000 at first.
        edgeitems: how many elements an edge has, 3 at first.
        linewidth: characters in a line, 80 at first.
        profile: "default", "short" or "full", to begin from; another name changes nothing.
        sci_mode: exponents always (True), never (False), or where they are needed (None). Unlike the others it is set
            by every call.
    """
    options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    if profile in _PROFILES:
        vars(_options).update(_DEFAULT | _PROFILES[profile])
    vars(_options).update({name: value for name, value in options.items() if value is not None}, sci_mode=sci_mode)


def format_tensor(
    array: Array, *, requires_grad: bool = False, grad_fn_name: str | None = None, begin: str = "tensor("
) -> str:
    """Return the text that ``print(tensor)`` gives, with the name of its grad_fn's class; ``begin``: of its own class.

    >>> print(format_tensor(np.array([1.0, 2.5], "float32"), grad_fn_name="MulBackward0"))
    tensor([1.0000, 2.5000], grad_fn=<MulBackward0>)
    """
    default, dtype = get_default_dtype(), of(array.dtype)
    suffixes = ["device='meta'"] * is_meta(array)
    if suffixes or (array.ndim != 1 and not array.size):
        suffixes.append(f"size={array.shape}")
    if dtype not in ({default, default.to_complex(), int64, bool_} if array.size and not is_meta(array) else {default}):
        suffixes.append(f"dtype={dtype}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    indent = len(begin)
    empty = "..." if is_meta(array) else "[]" if not array.size else ""
    return _append(begin + (empty or format_body(array, indent)), suffixes, indent)


def _append(text: str, suffixes: list[str], indent: int) -> str:
    """Return the text with suffixes after the elements, each on a line of its own where the last line has no room."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


# Elements ----------------------------------------------------------------------------------------------------------


class _Real:
    """The one form in which all elements of a tensor are printed, ``width`` characters each, inf and nan left out."""

    def __init__(self, array: Array) -> None:
        self.spec, self.point, values = "", "", array.ravel()
        if array.dtype.kind in FLOATS:
            values = values[np.isfinite(values) & (values != 0)].astype(np.float64)
            self.spec, self.point = _float_form(values)
        elif array.dtype.kind != "b" and array.size:
            values = np.array([array.min(), array.max()])
        self.width = max((len(self.text(value)) for value in values.tolist()), default=1)

    def text(self, value: float) -> str:
        """Return one element."""
        return format(value, self.spec) + self.point * isfinite(value)

    def __call__(self, value: float) -> str:
        return self.text(value).rjust(self.width)


def _float_form(values: Array) -> tuple[str, str]:
    """Return how these numbers, not 0, are formatted, and what follows each: a point if all are whole."""
    magnitudes, is_scientific = np.abs(values), _options.sci_mode
    if values.size and is_scientific is None:
        least, most = magnitudes.min(), magnitudes.max()
        with np.errstate(over="ignore"):
            is_scientific = most / least > 1000.0 or most > 1.0e8 or least < 1.0e-4
    if values.size and is_scientific:
        return f".{_options.precision}e", ""
    return (f".{_options.precision}f", "") if (values != np.ceil(values)).any() else (".0f", ".")


class _Complex:
    """As :class:`_Real`, with a form for each of the two parts."""

    def __init__(self, array: Array) -> None:
        self.real, self.imag = _Real(array.real), _Real(array.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        """Return one element, aligned at its real part."""
        real, imag = self.real(value.real), self.imag(value.imag).lstrip() + "j"
        return real + imag if imag[0] in "+-" else f"{real}+{imag}"


# Layout ------------------------------------------------------------------------------------------------------------


def format_body(array: Array, indent: int) -> str:
    """Return the elements in their brackets, the first bracket at column ``indent``."""
    part = array
    is_cut = [False] * array.ndim  # the axes of which only the edges are shown
    if array.size > _options.threshold:
        for axis, length in enumerate(array.shape):
            if length > 2 * _options.edgeitems:
                edge = range(_options.edgeitems)
                part = part.take([*edge, *(length - 1 - i for i in reversed(edge))], axis)
                is_cut[axis] = True
    form = _Complex(part) if array.dtype.kind == "c" else _Real(part)
    if not array.ndim:
        return form(array.item())
    return _bracket(
        part.tolist(),
        is_cut,
        form,
        indent,
        max(1, (_options.linewidth - indent - array.ndim + 1) // (form.width + 2)),
    )


def _bracket(values: list[Any], is_cut: list[bool], form: Callable[[Any], str], indent: int, per_line: int) -> str:
    """Return one level of brackets; it calls itself as deep as the tensor has dimensions, at most 64."""
    if len(is_cut) == 1:
        texts = [form(value) for value in values]
        if is_cut[0]:
            texts.insert(_options.edgeitems, " ...")
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        separator = ",\n"
    else:
        lines = [_bracket(value, is_cut[1:], form, indent + 1, per_line) for value in values]
        if is_cut[0]:
            lines.insert(_options.edgeitems, "...")
        separator = "," + "\n" * (len(is_cut) - 1)
    return "[" + (separator + " " * (indent + 1)).join(lines) + "]"


# Shapes ------------------------------------------------------------------------------------------------------------


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple that prints as PyTorch's ``torch.Size([2, 3])`` and stays one when cut or joined."""

    __slots__ = ()
    __module__ = "torch"  # the name that type(x.shape) shows

    def __new__(cls, lengths: Iterable[Any] = (), /) -> Self:
        """Check each length; :func:`size` is the quick way for what is known to be a shape."""
        return super().__new__(cls, map(operator.index, lengths))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it by the function, since the class has another module's name."""
        return size, (tuple(self),)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """Return how many elements a tensor of this shape has; 1 without dimensions."""
        return prod(self)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        part = tuple.__getitem__(self, index)
        return size(part) if isinstance(part, tuple) else part

    def __add__(self, other: Any) -> Size:
        return size(tuple.__add__(self, other))

    def __radd__(self, other: object) -> Size:
        return size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return size(tuple.__mul__(self, times))

    __rmul__ = __mul__


def size(shape: tuple[int, ...]) -> Size:
    """Return the :class:`Size` of an array's shape, unchecked and quick.

    >>> size((2, 3)), size((2, 3))[1:] + (4,), size((2, 3)).numel()
    (torch.Size([2, 3]), torch.Size([3, 4]), 6)
    """
    return tuple.__new__(Size, shape)
