"""How large a number or a tensor an expression may make.

One limit holds for all: so many elements in all its tensors together. What a call has made is counted; a call that could go
beyond the limit, by the numbers and the tensors that it is given, is refused before it is made.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from gviz.sources.expression.allowed import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["Budget", "TooLargeError", "check_power", "flat", "is_tensor", "size_of"]

Rule: TypeAlias = "Callable[[Sequence[Any], Mapping[str, Any]], float]"

MAX_ELEMENTS = 100_000_000
"""Elements of all tensors of an expression together: 0.4 GB of float32."""

MAX_PIECES = 10_000
"""Tensors that one call may return."""

MAX_BITS = 4096
"""Binary digits of a whole number, 1233 decimal ones."""


class TooLargeError(Exception):
    """A result would be too large; the text says how large."""


def is_tensor(value: object) -> bool:
    """Whether the value is a tensor of the engine: known by its surface, so that the engine need not be named here."""
    return hasattr(value, "grad_fn") and hasattr(value, "requires_grad")


class Budget:
    """Counts the elements that an expression has made, and refuses what would go beyond the limit."""

    def __init__(self) -> None:
        self.left = MAX_ELEMENTS

    def check(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Refuse a call whose result may be too large.

        Args:
            name: of the function or method (``matmul``), or the sign of an operator (``@``, ``[]`` for an index).
            args: what it is given, the receiver first.
            kwargs: what it is given by name.

        Raises:
            TooLargeError: it says the size.
            OverflowError: a whole number beyond 64 bits, which PyTorch refuses too.
        """
        if any(isinstance(value, int) and value.bit_length() > 64 for value in flat([*args, *kwargs.values()])):
            raise OverflowError("int too big to convert")
        size = size_of(name, args, kwargs, self.left)
        if size > self.left:
            used = MAX_ELEMENTS - self.left
            before = f", besides the {used:,} already made" if used else ""
            raise TooLargeError(f"{_elements(size)}{before}; an expression may have {MAX_ELEMENTS:,}")

    def counted(self, result: Any) -> Any:
        """Return a result that was made, and note it. TooLargeError: it is a whole number of too many digits."""
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise TooLargeError(f"a number of {result.bit_length() * 30103 // 100000 + 1:,} digits")
        self.left -= sum(int(value.numel()) for value in flat([result]) if is_tensor(value))
        return result


def check_power(sign: str, left: object, right: object) -> None:
    """Refuse a power, or a shift, of whole numbers that would have too many digits: TooLargeError says how many."""
    if isinstance(left, int) and isinstance(right, int) and right > 0 and abs(left) > (sign == "**"):
        bits = left.bit_length() * right if sign == "**" else left.bit_length() + right
        if bits > MAX_BITS:
            digits = int(min(right, 10**300) * math.log10(abs(left) if sign == "**" else 2)) + 1
            raise TooLargeError(f"this number would have {digits:,} digits" if digits < 10**15 else "far too many digits")


def _elements(size: float) -> str:
    """``1,000,000,000,000 elements (4 TB)``."""
    if not size < 1e24:
        return "far too many elements"
    power = int(math.log10(max(size * 4, 1)) // 3)
    unit = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB")[power]
    return f"{int(size):,} elements ({size * 4 / 1000**power:.3g} {unit})"


def size_of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], enough: float = 0) -> float:
    """Return at most how many elements a call makes; a rough bound if that is not more than ``enough``.

    >>> size_of("ones", [1000, 1000], {}), size_of("arange", [0, 1, 0.25], {})
    (1000000.0, 4.0)
    """
    if name in RULES:
        return RULES[name](args, kwargs)
    values = [*args, *kwargs.values()]
    tensors = _tensors(values)
    if not tensors:
        return _product(values)
    numbers = [value for value in flat(values) if is_tensor(value) or value]
    all_with_all = _product(numbers) * math.prod(float(tensor.numel()) for tensor in tensors)
    if all_with_all <= enough or name in PRODUCTS:
        return all_with_all
    if name in MATRICES and len(tensors) > 1:
        left, right = (tensor.shape for tensor in (tensors[:2] if name == "linear" else tensors[-2:]))
        right = right[::-1] if name == "linear" else right
        size = _stretched([left[:-2], right[:-2]]) * float(math.prod([*left[-2:-1], *right[1:][-1:]]))
        return max([size, *(float(tensor.numel()) for tensor in tensors[:-2])])
    if name in SUMS or (args and isinstance(args[0], list | tuple)):
        return float(sum(tensor.numel() for tensor in tensors))
    return _stretched([tensor.shape for tensor in tensors])


# ------------------------------------------------------------------ what a call is given
def flat(values: Sequence[Any]) -> Iterator[Any]:
    """The values in nested lists and tuples, one by one."""
    todo = [*reversed(values)]
    while todo:
        value = todo.pop()
        if isinstance(value, list | tuple):
            todo.extend(reversed(value))
        else:
            yield value


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [value for value in flat(values) if is_tensor(value)]


def _number(value: Any) -> float:
    """A number, or the largest of a tensor; not-a-number for anything else."""
    if is_tensor(value):
        value = value.max().item() if value.numel() else 0
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.inf if isinstance(value, int) else math.nan


def _product(values: Sequence[Any]) -> float:
    """The product of all numbers among the values; those below one stand for "as it is"."""
    numbers = [_number(value) for value in flat(values) if not is_tensor(value) or value.numel() == 1]
    return 0.0 if 0 in numbers else float(math.prod(number for number in numbers if number > 1))


def _stretched(shapes: Sequence[Sequence[int]]) -> float:
    """The size that all have together when each is stretched to the largest in every dimension."""
    deepest = max(len(shape) for shape in shapes)
    return float(math.prod(max(shape[-i] for shape in shapes if len(shape) >= i) for i in range(1, deepest + 1)))


# ------------------------------------------------------------------ rules
def _sizes(place: slice) -> Rule:
    """Return the rule of a function some of whose arguments are sizes; one of -1 leaves a dimension as it is."""

    def rule(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
        sizes = [*flat([*args[place], *(kwargs[key] for key in ("size", "steps") if key in kwargs)])]
        keeps = any(_number(size) < 0 for size in sizes) and is_tensor(args[0])
        return _product(sizes) * (float(args[0].numel()) if keeps else 1.0)

    return rule


def _eye(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    sides = [*args[:2], *(kwargs[key] for key in ("n", "m") if key in kwargs)]
    return _product(sides * 2 if len(sides) == 1 else sides)


def _range(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    given = {"start": 0, "step": 1} | dict(zip(("start", "end", "step") if len(args) > 1 else ("end",), args, strict=False))
    start, end, step = (_number((given | dict(kwargs)).get(key)) for key in ("start", "end", "step"))
    count = (end - start) / step if step else 0.0
    return float(math.ceil(count)) if 0 < count < math.inf else max(0.0, count)


def _by_value(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """So many for each element as the largest number says, be it in a tensor."""
    numbers = [abs(_number(value)) for value in flat([*args, *kwargs.values()])]
    return float(args[0].numel()) * (max(numbers) + 1) if args and is_tensor(args[0]) else 0.0


def _diagonal(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """A square for each row, the diagonal moved aside."""
    if not args or not is_tensor(args[0]) or not args[0].dim() or not args[0].numel():
        return 0.0
    side = args[0].shape[-1]
    return float(args[0].numel() / side * (side + sum(abs(_number(value)) for value in [*args[1:], *kwargs.values()])) ** 2)


def _pieces(args: Sequence[Any], _: Mapping[str, Any]) -> float:
    """Cutting makes no elements, but each piece is a tensor of its own."""
    return math.inf if any(max(tensor.shape, default=0) > MAX_PIECES for tensor in _tensors(args)) else 0.0


def _einsum(args: Sequence[Any], _: Mapping[str, Any]) -> float:
    """Every letter's size once."""
    tensors = _tensors(args)
    terms = str(args[0]).partition("->")[0].replace(" ", "").split(",") if args else []
    if "." in "".join(terms) or [len(term) for term in terms] != [tensor.dim() for tensor in tensors]:
        return math.prod(float(tensor.numel()) for tensor in tensors)
    sizes = sorted(pair for term, tensor in zip(terms, tensors, strict=True) for pair in zip(term, tensor.shape, strict=True))
    return float(math.prod(dict(sizes).values()))


def _indexed(args: Sequence[Any], _: Mapping[str, Any]) -> float:
    """Lists and tensors of numbers pick as often as they have elements; slices and masks only leave out."""
    if not is_tensor(args[0]):
        return 0.0
    picked, kept = 1.0, float(args[0].numel())
    items = [item for item in (args[1] if isinstance(args[1], tuple) else (args[1],)) if item is not None and item is not ...]
    for item, side in zip(items, args[0].shape, strict=False):
        count = len(list(flat(item))) if isinstance(item, list) else item.numel() if is_tensor(item) else 0
        if count and not (is_tensor(item) and str(item.dtype) == "torch.bool"):
            picked, kept = max(picked, count), kept / max(side, 1)
    return picked * kept


RULES: dict[str, Rule] = {
    **dict.fromkeys(("chunk", "split", "tensor_split", "hsplit", "vsplit", "dsplit", "unbind"), _pieces),
    **dict.fromkeys(("diag", "diag_embed", "diagflat"), _diagonal),
    **dict.fromkeys(("one_hot", "repeat_interleave", "bincount"), _by_value),
    **dict.fromkeys(("new_zeros", "new_ones", "expand", "broadcast_to"), _sizes(slice(1, None))),
    **dict.fromkeys(("linspace", "logspace"), _sizes(slice(2, 3))),
    "full": _sizes(slice(1)),
    "new_full": _sizes(slice(1, 2)),
    "randint": _sizes(slice(-1, None)),
    "eye": _eye,
    "arange": _range,
    "einsum": _einsum,
    "[]": _indexed,
}
"""Functions whose numbers are no sizes, or whose result may be larger than the product of all that they are given."""

PRODUCTS = words(
    """
    outer ger kron tensordot cdist inner bilinear meshgrid cartesian_prod scaled_dot_product_attention pad conv1d conv2d
    repeat tile unfold index_select embedding interpolate
    """
)
"""Functions that may put every element with every other one, or make as many as all their numbers say."""

MATRICES = words("@ matmul mm mv dot bmm baddbmm addmm addmv addbmm linear")
"""Functions that make rows times columns."""

SUMS = words("cross_entropy nll_loss gather scatter scatter_add index_add index_fill take take_along_dim")
"""Functions of several tensors whose shapes are not stretched to one."""
