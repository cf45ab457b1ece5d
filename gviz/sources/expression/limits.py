"""How large a number or a tensor an expression may make, and how much work it may be.

Two limits hold for all its tensors together: their elements, and the multiplications of products and decompositions
of matrices. What a call has made is counted; a call is refused before it is made if it could go beyond a limit, by the
numbers and the shapes that it is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from gviz.engine import Tensor
from gviz.errors import SourceError
from gviz.numbers.shapes import broadcast_shape
from gviz.sources.expression.allowed import word_set

MAX_ELEMENTS = 100_000_000
"""Elements of all tensors of an expression together: 0.4 GB of float32."""

MAX_WORK = 50_000_000_000
"""Multiplications of all products and decompositions of an expression together: some ten seconds, with backward."""

MAX_PIECES = 10_000
"""Tensors that one call may return."""

MAX_BITS = 4096
"""Binary digits of a whole number, 1233 decimal ones."""

MAKERS = word_set("ones zeros full eye rand randn randint randperm normal new_zeros new_ones new_full")
"""Functions whose numbers are sizes, as those of any function without a tensor; in a list of sizes only the numbers
there."""

TRANSPOSED = word_set("linear cdist scaled_dot_product_attention")
MATRICES = word_set("@ matmul mm mv dot bmm baddbmm addmm addmv addbmm") | TRANSPOSED
"""Functions that make rows times columns of their last two tensors, or rows times rows of their first two."""

DECOMPOSED = {
    "inverse": 3, "solve": 4, "cholesky": 4, "det": 4, "logdet": 4, "slogdet": 4, "svd": 30, "pinverse": 30,
    "matrix_power": 10,
}  # fmt: skip
"""Functions of a whole matrix, each with what it takes beside a product of two such, measured with backward."""

PRODUCTS = word_set(
    """
    outer ger kron tensordot inner bilinear meshgrid cartesian_prod pad conv1d conv2d repeat tile unfold index_select
    embedding embedding_bag interpolate multinomial one_hot repeat_interleave bincount einsum
    """
)
"""Functions that may put every element with every other one, as often as their numbers say."""

CUTTING = word_set("unbind split chunk tensor_split hsplit vsplit dsplit")
"""Functions that return many tensors, which share their elements with the first."""


class Budget:
    """Counts the elements that an expression has made, and refuses what would go beyond the limit."""

    elements_left = MAX_ELEMENTS
    work_left = MAX_WORK

    def check(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Refuse a call whose result may be too large.

        Args:
            name: of the function or method (``matmul``), or the sign of an operator (``@``, ``[]`` for an index).
            args: what it is given, the receiver first.
            kwargs: what it is given by name.

        Raises:
            SourceError: it says the size; or a whole number is beyond 64 bits, which PyTorch refuses too.
        """
        if any(isinstance(value, int) and value.bit_length() > 64 for value in flat_values([*args, *kwargs.values()])):
            raise SourceError(
                "int too big to convert",
                hint="write it as a decimal number, as in 1e30; sizes, dims and indices are small whole numbers",
            )
        self._refuse_above(most_elements(name, args, kwargs))
        self.work_left -= (work := multiplications(name, args))
        if self.work_left < 0:
            raise SourceError(
                f"too much work: {name} takes about {work:,} multiplications here",
                hint="take smaller matrices; gviz draws for people to read",
            )

    def count(self, result: object) -> object:
        """Return a result, and count its elements. SourceError: there are too many of them, or of digits."""
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise _too_large(f"a number of {result.bit_length() * 30103 // 100000 + 1:,} digits")
        size = sum(int(value.numel()) for value in flat_values([result]) if isinstance(value, Tensor))
        self._refuse_above(size)
        self.elements_left -= size
        return result

    def _refuse_above(self, size: float) -> None:
        if size > self.elements_left:
            count = MAX_ELEMENTS - self.elements_left
            before = f", besides the {count:,} already made" if count else ""
            elements = f"{size:,.0f} elements ({size * 4e-9:,.1f} GB)" if size < 1e24 else "far too many elements"
            raise _too_large(f"{elements}{before}; an expression may have {MAX_ELEMENTS:,}")


def check_power(sign: str, left: object, right: object) -> None:
    """Refuse a power, or a shift, of whole numbers that would have too many digits: SourceError says how many."""
    if isinstance(left, int) and isinstance(right, int) and right > 0 and abs(left) > (sign == "**"):
        bits = left.bit_length() * right if sign == "**" else left.bit_length() + right
        if bits > MAX_BITS:
            digits = int(min(right, 10**300) * math.log10(abs(left) if sign == "**" else 2)) + 1
            raise _too_large(f"this number would have {digits:,} digits" if digits < 10**15 else "far too many digits")


def _too_large(size: str) -> SourceError:
    return SourceError(f"too large: {size}", hint="take a smaller one; gviz draws for people to read")


def most_elements(name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> float:  # noqa: PLR0911 - many rules
    """Return at most how many elements a call makes. A view of a tensor makes none, and is counted afterwards.

    >>> most_elements("ones", [1000, 1000], {}), most_elements("arange", [0, 1, 0.25], {})
    (1000000.0, 4.0)
    """
    values = [*args, *kwargs.values()][name.startswith("new_") :]
    numbers = [_number(value) for value in flat_values(values)]
    shapes = [value.shape for value in flat_values(values) if isinstance(value, Tensor)]
    lists = [value for value in values if isinstance(value, list | tuple)]
    if name in ("arange", "linspace", "logspace"):
        start, end, step = (0, *numbers, 1) if len(values) == 1 else (*numbers, 1, 1, 1)[:3]
        return max((end - start) / (step or 1), 0) if name == "arange" else step
    if name in MAKERS or not (shapes or lists):
        sizes = [_number(value) for value in (lists[0] if lists else values) if not isinstance(value, bool)]
        return _product(sizes * 2 if name == "eye" and len(args) == 1 else sizes)
    if name in CUTTING and shapes:
        side, number = max(shapes[0], default=0), max(numbers)
        pieces = side / max(number, 1) if name == "split" else side if name == "unbind" else number
        return math.inf if pieces > MAX_PIECES else 0
    if name in MATRICES and len(shapes) > 1:
        left, right = shapes[:2] if name in TRANSPOSED else shapes[-2:]
        columns = right[-2:-1] if name in TRANSPOSED else right[1:][-1:]
        return _together((*left[:-1], 1), (*right[:-2], 1, *columns))
    if name == "einsum" and len(shapes) == 2 and "." not in str(args[0]):
        letters, _, result = str(args[0]).replace(" ", "").partition("->")
        lengths = dict(zip(letters.replace(",", ""), chain(*shapes), strict=False))
        return _product([length for letter, length in lengths.items() if letter in (result or letters)])
    if name in PRODUCTS:
        return _product([number for number in numbers if number] + [math.prod(shape) for shape in shapes])
    if name == "[]" and isinstance(args[0], Tensor):
        return _picked(args[0].shape, args[1] if isinstance(args[1], tuple) else (args[1],))
    return sum(map(math.prod, shapes)) if args and isinstance(args[0], list | tuple) else _together(*shapes)


def multiplications(name: str, args: Sequence[object]) -> int:
    """Return about how many multiplications a product or a decomposition of matrices takes; 0 for anything else.

    >>> from gviz import engine
    >>> multiplications("@", [engine.ones(2, 3), engine.ones(3, 5)]), multiplications("svd", [engine.ones(10, 10)])
    (30, 30000)
    """
    shapes: list[Sequence[int]] = [
        value.shape for value in flat_values(args) if isinstance(value, Tensor) and value.ndim > 1
    ]
    if name in MATRICES and len(shapes) > 1:
        inner = shapes[0 if name in TRANSPOSED else -2][-1]
        return int(most_elements(name, args, {})) * inner * (5 if name == "cdist" else 1)
    return sum(math.prod(shape) * min(shape[-2:]) for shape in shapes[:1]) * DECOMPOSED.get(name, 0)


def flat_values(values: Iterable[object]) -> list[object]:
    """Return the values in nested lists and tuples, those of the outer ones first."""
    parts = [*values]
    for one in parts:  # grows while it is read
        parts += one if isinstance(one, list | tuple) else ()
    return [one for one in parts if not isinstance(one, list | tuple)]


def _number(value: object) -> float:
    """Return a number, or the whole number in a tensor; 0 for anything else."""
    if isinstance(value, Tensor) and value.numel() == 1 and not value.is_floating_point():
        value = value.item()
    try:
        return float(value) if isinstance(value, int | float) else 0.0
    except OverflowError:
        return math.inf


def _product(numbers: Sequence[float]) -> float:
    """Return the product of sizes; those below zero stand for "as it is"."""
    return 0.0 if 0 in numbers else float(math.prod(number for number in numbers if number > 1))


def _together(*shapes: Sequence[int]) -> float:
    """Return the size that tensors of these shapes have together: of their common shape, else the sum."""
    try:
        return float(math.prod(broadcast_shape(*shapes)))
    except RuntimeError:
        return float(sum(math.prod(shape) for shape in shapes))


def _picked(shape: Sequence[int], index: Sequence[object]) -> float:
    """Return the size of a part: lists and tensors pick once for each element, slices and masks only leave out."""
    picked, rest = 1.0, float(math.prod(shape))
    for item, side in zip((item for item in index if item is not None and item is not ...), shape, strict=False):
        count = len(flat_values(item)) if isinstance(item, list) else item.numel() if isinstance(item, Tensor) else 0
        if count and not (isinstance(item, Tensor) and str(item.dtype) == "torch.bool"):
            picked, rest = max(picked, count), rest / max(side, 1)
    return picked * rest
