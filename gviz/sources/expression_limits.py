"""How large a number or a tensor an expression may make; asked before it is made.

One limit holds for all: so many elements in all tensors of an expression together. The size of a result is bounded from
above by what a call is given; only where that bound is beyond the limit is it worked out by a rule of the function's own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["MAX_BITS", "MAX_ELEMENTS", "Budget", "bound", "check_power", "flat", "is_tensor"]

MAX_ELEMENTS = 100_000_000
"""Elements of all tensors of an expression together: 0.4 GB of float32."""

MAX_PIECES = 10_000
"""Tensors that one call may return."""

MAX_BITS = 4096
"""Binary digits of a whole number, 1233 decimal ones."""

Rule: TypeAlias = "Callable[[Sequence[Any], Mapping[str, Any]], float]"


class TooLargeError(Exception):
    """A result would be too large; the text says how large."""


def is_tensor(value: object) -> bool:
    """Whether the value is a tensor of the engine: told by its surface, so that the engine need not be named here."""
    return hasattr(value, "grad_fn") and hasattr(value, "requires_grad")


class Budget:
    """Counts the elements that an expression has made, and refuses what would go beyond the limit.

    Args:
        limit: elements of all tensors together.
    """

    def __init__(self, limit: int = MAX_ELEMENTS) -> None:
        self.limit = limit
        self.used = 0

    def check(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Refuse a call whose result may be too large.

        Args:
            name: of the function, method or operator (``add``, ``matmul``, ``index``).
            args: its arguments, the receiver first.
            kwargs: its keyword arguments.

        Raises:
            TooLargeError: it says the size.
        """
        size = bound(name, args, kwargs, self.limit - self.used)
        if size + self.used > self.limit:
            before = f", besides the {self.used:,} already made" if self.used else ""
            raise TooLargeError(f"{_elements(size)}{before}; an expression may have {self.limit:,}")

    def count(self, result: object) -> None:
        """Note that a result was made."""
        if is_tensor(result):
            self.used += int(result.numel())  # type: ignore[attr-defined]
        elif isinstance(result, tuple | list):
            for part in result:
                self.count(part)


def bound(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], enough: float = MAX_ELEMENTS) -> float:
    """At most how many elements a call makes; a rough bound if that is not more than ``enough``.

    >>> bound("ones", [1000, 1000], {}), bound("arange", [0, 1, 0.25], {})
    (1000000.0, 4.0)
    """
    rule = _RULES.get(name)
    if rule is not None:
        return rule(args, kwargs)
    rough = 1.0
    for value in flat([*args, *kwargs.values()]):
        if is_tensor(value):
            rough *= max(value.numel(), 1)
        elif isinstance(value, int):
            rough *= abs(value) + 1 if value.bit_length() < 64 else math.inf
    return rough if rough <= enough else _LARGE_RULES.get(name, _broadcast)(args, kwargs)


def check_power(operator: str, left: float, right: float) -> None:
    """Raise TooLargeError for whole numbers whose result has too many digits, before it is computed."""
    if not isinstance(left, int) or not isinstance(right, int):
        return
    digits = {
        "**": left.bit_length() * max(right, 0),
        "<<": left.bit_length() + max(right, 0),
        "*": left.bit_length() + right.bit_length(),
    }
    if digits.get(operator, 0) > MAX_BITS and abs(left) > (operator == "**"):
        shown = [_short(left) if left >= 0 else f"({_short(left)})", operator, _short(right)]
        raise TooLargeError(f"{' '.join(shown)} would have {_digits(operator, left, right):,} digits")


def _digits(operator: str, left: int, right: int) -> int:
    """Decimal digits of ``left ** right`` and the like; left is not 0, and right is positive where it is an exponent."""
    if operator == "*":
        return int(math.log10(abs(left)) + math.log10(abs(right))) + 1
    factor = math.log10(abs(left)) if operator == "**" else math.log10(2)
    exponent = min(right, 10**300)  # beyond that nobody counts
    return int(exponent * factor) + 1 + (int(math.log10(abs(left))) if operator == "<<" else 0)


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**15 else f"a number of {number.bit_length() * 30103 // 100000 + 1:,} digits"


def _elements(size: float) -> str:
    """``1,000,000,000,000 elements (4 TB)``."""
    if not math.isfinite(size) or size >= 1e24:
        return "far too many elements"
    amount, unit = size * 4.0, "bytes"
    for larger in ("kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{int(size):,} elements ({amount:.3g} {unit})"


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
    """A number, or that of a tensor of one element; not-a-number where it is neither."""
    if is_tensor(value):
        value = value.item() if value.numel() == 1 else math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.inf if isinstance(value, int) else math.nan


def _product(values: Sequence[Any]) -> float:
    """The product of all numbers among the values, those below one left out (they stand for "as it is")."""
    result = 1.0
    for value in flat(values):
        number = _number(value)
        result *= number if number > 1 else 1.0
    return 0.0 if any(_number(value) == 0 for value in flat(values)) else result


def _sizes(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    return _product([*args, kwargs.get("size", ())])


def _first_size(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    return _product([*args[:1], kwargs.get("size", ())])


def _last_size(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    return _product([args[-1] if args else (), kwargs.get("size", ())])


def _receivers_size(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    return _sizes(args[1:], kwargs)


def _square(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    numbers = [_number(value) for value in [*args[:2], *(kwargs[key] for key in ("n", "m") if key in kwargs)]]
    return abs(numbers[0] * numbers[-1]) if numbers else 0.0


def _range(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    numbers = [_number(value) for value in args]
    start, end = (0.0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1]) if numbers else (0.0, 0.0)
    start, end = _number(kwargs.get("start", start)), _number(kwargs.get("end", end))
    step = _number(kwargs.get("step", numbers[2] if len(numbers) > 2 else 1.0))
    count = (end - start) / step if step else 0.0
    return math.ceil(count) + 0.0 if 0 < count < math.inf else 0.0 if math.isnan(count) else max(count, 0.0)


def _steps(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    return _product([kwargs.get("steps", args[2] if len(args) > 2 else 1)])


def _broadcast(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """The size that all tensors take together when each is stretched to the largest in every dimension."""
    return _stretched([tuple(tensor.shape) for tensor in _tensors([*args, *kwargs.values()])])


def _stretched(shapes: list[tuple[int, ...]]) -> float:
    result = 1.0
    for position in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        result *= max(shape[-position] for shape in shapes if len(shape) >= position)
    return result


def _matmul(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """Rows times columns, for each matrix of the stretched batch; what is added to it may be larger."""
    tensors = _tensors([*args, *kwargs.values()])
    if len(tensors) < 2:
        return 0.0
    left, right = tuple(tensors[-2].shape), tuple(tensors[-1].shape)
    batch = _stretched([left[:-2], right[:-2]])
    added = max((tensor.numel() for tensor in tensors[:-2]), default=0)
    return max(batch * (left[-2] if len(left) > 1 else 1) * (right[-1] if len(right) > 1 else 1), added)


def _linear(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    tensors = _tensors([*args, *kwargs.values()])
    if len(tensors) < 2 or not tensors[0].dim():
        return 0.0
    return tensors[0].numel() / max(tensors[0].shape[-1], 1) * tensors[1].shape[0] if tensors[1].dim() else 0.0


def _sum(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    return float(sum(tensor.numel() for tensor in _tensors([*args, *kwargs.values()])))


def _times(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """Every element with every other, and all of it as often as the whole numbers say."""
    values = [*args, *kwargs.values()]
    numbers = [value for value in flat(values) if isinstance(value, int | float)]
    return math.prod(float(tensor.numel()) for tensor in _tensors(values)) * _product(numbers)


def _expanded(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    sizes = [_number(value) for value in flat([*args[1:], kwargs.get("size", ())])]
    kept = float(args[0].numel()) if args and is_tensor(args[0]) and any(size < 0 for size in sizes) else 1.0
    return kept * _product(sizes)


def _padded(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    if not args or not is_tensor(args[0]):
        return 0.0
    pads = [_number(value) for value in flat([kwargs.get("pad", args[1] if len(args) > 1 else ())])]
    shape = [float(size) for size in args[0].shape]
    for position, pad in enumerate(pads):
        if position // 2 < len(shape):
            shape[-1 - position // 2] += max(pad, 0.0)
    return math.prod(shape)


def _diagonal_matrix(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """``diag`` of a vector, ``diag_embed`` of each: the last size, and how far it is moved aside, twice."""
    if not args or not is_tensor(args[0]) or not args[0].dim():
        return 0.0
    numbers = [_number(value) for value in [*args[1:], *kwargs.values()]]
    side = args[0].shape[-1] + max((abs(number) for number in numbers), default=0.0)
    return float(args[0].numel() / max(args[0].shape[-1], 1) * side * side)


def _classes(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    """``one_hot``: so many elements for each; without a number of classes the largest one decides."""
    if not args or not is_tensor(args[0]) or not args[0].numel():
        return 0.0
    classes = _number(kwargs.get("num_classes", args[1] if len(args) > 1 else -1))
    return float(args[0].numel()) * (classes if classes >= 0 else abs(_number(args[0].max())) + 1)


def _repeated(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    if not args or not is_tensor(args[0]):
        return 0.0
    repeats = kwargs.get("repeats", args[1] if len(args) > 1 else args[0])
    if is_tensor(repeats) and repeats.numel() > 1:
        return float(args[0].numel()) * max(_number(repeats.max()), 1.0)
    return float(args[0].numel()) * _product([repeats])


def _convolved(args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
    tensors = _tensors([*args, *kwargs.values()])
    if len(tensors) < 2 or tensors[0].dim() < 2 or tensors[1].dim() < 3:
        return 0.0
    numbers = [_number(value) for value in flat([*args[2:], *kwargs.values()]) if isinstance(value, int)]
    extra = 2 * max([*numbers, 0.0])
    places = math.prod(size + extra for size in tensors[0].shape[2 - (tensors[0].dim() < tensors[1].dim()) :])
    batch = tensors[0].shape[0] if tensors[0].dim() == tensors[1].dim() else 1
    return float(batch * places * max(tensors[1].numel(), 1))


def _einsum(args: Sequence[Any], _: Mapping[str, Any]) -> float:
    """Every letter's size once."""
    tensors = _tensors(args[1:])
    letters: dict[str, int] = {}
    inputs = args[0].partition("->")[0].replace(" ", "").split(",") if args and isinstance(args[0], str) else []
    for term, tensor in zip(inputs, tensors, strict=False):
        if "." in term or len(term) != tensor.dim():
            return math.prod(float(each.numel()) for each in tensors)
        for letter, size in zip(term, tensor.shape, strict=True):
            letters[letter] = max(letters.get(letter, 1), size)
    return float(math.prod(letters.values()))


def _pieces(args: Sequence[Any], _: Mapping[str, Any]) -> float:
    """Cutting makes no elements, but each piece is a tensor of its own."""
    longest = max((max(tensor.shape, default=0) for tensor in _tensors(args)), default=0)
    return math.inf if longest > MAX_PIECES else 0.0


def _grid(args: Sequence[Any], _: Mapping[str, Any]) -> float:
    tensors = _tensors(args)
    return math.prod(float(tensor.numel()) for tensor in tensors) * len(tensors)


def _indexed(args: Sequence[Any], _: Mapping[str, Any]) -> float:
    """``x[index]``: lists and tensors of numbers pick as often as they have elements; slices and masks only leave out."""
    items = args[1] if isinstance(args[1], tuple) else (args[1],)
    picked, kept, at = 1.0, float(args[0].numel()), 0
    for item in items:
        if item is None or item is ...:
            continue
        count = len(list(flat(item))) if isinstance(item, list) else item.numel() if is_tensor(item) else 0
        if count and not (is_tensor(item) and str(item.dtype).endswith("bool")):
            picked, kept = max(picked, count), kept / max(args[0].shape[at] if at < args[0].dim() else 1, 1)
        at += 1
    return picked * kept


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("ones", "zeros", "rand", "randn"), _sizes),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full"), _receivers_size),
    **dict.fromkeys(("full", "randperm"), _first_size),
    **dict.fromkeys(("linspace", "logspace"), _steps),
    **dict.fromkeys(("chunk", "split", "tensor_split", "hsplit", "vsplit", "dsplit", "unbind"), _pieces),
    **dict.fromkeys(("conv1d", "conv2d"), _convolved),
    **dict.fromkeys(("diag", "diag_embed"), _diagonal_matrix),
    "randint": _last_size,
    "eye": _square,
    "arange": _range,
    "one_hot": _classes,
    "pad": _padded,
    "index": _indexed,
    "repeat_interleave": _repeated,
}
"""Functions whose result can be larger than the product of what they are given, or whose numbers are no sizes."""

_SUMS = """
    cat concat concatenate stack hstack vstack dstack column_stack row_stack cross_entropy nll_loss mean sum
    reshape view flatten unflatten layer_norm group_norm rms_norm gather scatter scatter_add index_add
    index_fill take take_along_dim
"""

_LARGE_RULES: dict[str, Rule] = {
    **dict.fromkeys(_SUMS.split(), _sum),
    **dict.fromkeys(("matmul", "mm", "mv", "dot", "bmm", "baddbmm", "addmm", "addmv", "addbmm"), _matmul),
    **dict.fromkeys(
        ("outer", "ger", "kron", "tensordot", "cdist", "repeat", "tile", "unfold", "index_select", "embedding"), _times
    ),
    **dict.fromkeys(("inner", "bilinear", "scaled_dot_product_attention"), _times),
    **dict.fromkeys(("expand", "broadcast_to"), _expanded),
    "linear": _linear,
    "einsum": _einsum,
    "meshgrid": _grid,
}
"""Functions whose result is not as large as their tensors stretched to one shape."""
