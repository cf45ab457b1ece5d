"""Dtypes and shapes of results, worked out while the graph is built.

An operation that a function computes shows them itself (:func:`by_example`): the function is called with small arrays,
and the result's lengths tell where each comes from. A rule is there only for an operation whose result's shape is in
its values. A rule takes an operation and returns a dtype and a shape for each output, or the shape of its only output,
which has the first input's dtype. It raises :class:`~gviz.static.types.ClashError` for inputs that cannot go together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import combinations, islice, product
from typing import Any, TypeAlias

import numpy as np

from gviz.numbers.words import refuse
from gviz.static import windows
from gviz.static.graph import Operation, Tensor, replace_tensors, symbolic_tensors
from gviz.static.kernels import array_function
from gviz.static.types import DTYPES, ClashError, Dims, DType, as_dtype, common_dims, dims_text

Outputs: TypeAlias = "list[tuple[DType, Dims]] | Dims"
Rule: TypeAlias = "Callable[[Operation], Outputs]"


# ------------------------------------------------------------------ values that are known while building
def constant_value(tensor: Tensor) -> Any:
    """Return the value of a tensor that is known while building, else None."""
    return tensor.op.attrs["value"] if tensor.op.type == "Const" else None


COMPUTED: dict[str, Callable[..., Any]] = {
    "AddV2": np.add,
    "Sub": np.subtract,
    "FloorMod": np.mod,
    "Range": np.arange,
    "GatherV2": np.take,
    "Pack": lambda *parts: np.stack(parts),
    "Transpose": np.transpose,
    "Reshape": np.reshape,
}
"""What integers are computed with while building, by the types of the operations."""
FACTS: dict[str, Callable[[Any], Any]] = {"Shape": np.array, "Size": math.prod, "Rank": len}
"""What is asked of a tensor's sizes."""


def known_value(tensor: Tensor) -> Any:
    """Return the value of a tensor of integers that is known while building, or follows from such; else None."""
    op, value, dims = tensor.op, constant_value(tensor), tensor.op.inputs[0]._dims if tensor.op.inputs else None
    if op.type in ("Shape", "Size", "Rank") and dims is not None and (op.type == "Rank" or None not in dims):
        return FACTS[op.type](dims)
    if value is None and op.type in COMPUTED and tensor.dtype.is_integer:
        values = [known_value(t) for t in op.inputs]
        return None if any(one is None for one in values) else COMPUTED[op.type](*values)
    return value


def integers_in(tensor: Tensor) -> list[int | None] | None:
    """Return the integers that a tensor holds, None for those that are not known while building, or for all of them."""
    op, value = tensor.op, known_value(tensor)
    if value is not None:
        return [int(n) for n in np.ravel(value)]
    if op.type == "Pack" and all(t.shape.rank == 0 for t in op.inputs):
        return [None if (n := known_value(t)) is None else int(n) for t in op.inputs]
    dims = op.inputs[tensor.value_index]._dims if op.type in ("Shape", "ShapeN") else None
    if dims is not None:
        return list(dims)
    if op.type in PARTLY:
        parts = [integers_in(t) for t in op.inputs]
        return None if any(part is None for part in parts) else PARTLY[op.type](*parts)
    return None if not tensor._dims or tensor._dims[0] is None else [None] * tensor._dims[0]


PARTLY: dict[str, Callable[..., list[int | None]]] = {
    "ConcatV2": lambda *parts: [n for part in parts[:-1] for n in part],
    "Slice": lambda x, begin, count: x[begin[0] :] if count == [-1] else x[begin[0] : begin[0] + count[0]],
    "DynamicStitch": lambda every, places, sizes, ones: [1 if i in places else n for i, n in enumerate(sizes)],
}
"""The integers that some operations give, of which not all have to be known."""


def axes_of(op: Operation) -> tuple[int, ...] | None:
    """Return the axes of a reduction, None for all of them; ValueError if they are not known while building."""
    value, dims = known_value(op.inputs[1]), op.inputs[0]._dims
    if value is None:
        if op.inputs[1].op.type == "Range" and constant_value(op.inputs[1].op.inputs[2]) == 1:
            return None
        raise ValueError(f"'{op.name}': gviz reduces over axes that are known while building, not over {op.inputs[1]}")
    axes = tuple(int(a) for a in np.ravel(value))
    for axis in axes if dims is not None else ():
        refuse(
            not -len(dims or ()) <= axis < len(dims or ()),
            f"Invalid reduction dimension {axis} for input with {len(dims or ())} dimensions.",
            ClashError,
        )
    return None if dims is not None and sorted(a % len(dims) for a in axes) == list(range(len(dims))) else axes


# ------------------------------------------------------------------ clashes
def clash(op: Operation, problem: ClashError) -> ValueError:
    """Return the error for a clash of shapes, with the node and its inputs, in TensorFlow's words."""
    dtype = f"[T=DT_{op.inputs[0].dtype.base_dtype.cpp.upper()}]" if op.inputs else ""
    inputs = ", ".join(t.name.removesuffix(":0") for t in op.inputs)
    sizes = ", ".join(dims_text(t._dims) for t in op.inputs)
    return ValueError(
        f"{problem} for '{{{{node {op.name}}}}} = {op.type}{dtype}({inputs})' with input shapes: {sizes}."
    )


def unequal(op: Operation, operands: Iterable[Tensor]) -> str:
    """Return TensorFlow's words for the first two lengths of an operation's operands that differ, "" if none do."""
    sides = [t._dims or () for t in operands]
    is_product = "MatMul" in op.type
    if is_product:
        turned = [op.attrs["transpose_a"], not op.attrs["transpose_b"]]
        sides = [(dims[-2 if turn else -1],) for dims, turn in zip(sides, turned, strict=True) if len(dims) > 1]
    pairs = (pair for one, other in combinations(sides, 2) for pair in zip(one[::-1], other[::-1], strict=False))
    differing = ((a, b) for a, b in pairs if a != b and None not in (a, b) and (is_product or 1 not in (a, b)))
    return next((f"Dimensions must be equal, but are {a} and {b}" for a, b in differing), "")


def unequal_parts(op: Operation, parts: Iterable[Tensor]) -> str:
    """Return TensorFlow's words for the first two parts that cannot be joined along an axis, "" if there are none."""
    axis = int(constant_value(op.inputs[-1]))
    sides = [dims[:axis] + dims[axis:][1:] for t in parts if (dims := t._dims) is not None]
    for one, other in combinations(sides, 2):
        for place, (a, b) in enumerate(zip(one, other, strict=False)):
            if a != b and None not in (a, b):
                shapes = f"Shapes are {dims_text(one)} and {dims_text(other)}."
                return f"Dimension {place} in both shapes must be equal, but are {a} and {b}. {shapes}"
    return ""


# ------------------------------------------------------------------ by example
TRIALS, MOST_DIMS = 3000, 6
_outputs: dict[tuple[Any, ...], list[tuple[DType, Dims]]] = {}


def by_example(op: Operation, key: str, args: Sequence[object]) -> list[tuple[DType, Dims]]:
    """Return the dtypes and shapes that an operation's function gives.

    ClashError if it refuses all inputs there can be.
    """
    forms = [(t.dtype.as_numpy_dtype, t._dims) for t in symbolic_tensors(args)]
    is_plain = all(isinstance(arg, Tensor) for arg in args)
    place = (key, *forms) if is_plain else (key, repr(replace_tensors(args, iter(forms))))
    if place not in _outputs:
        is_known = all(dims is not None for _, dims in forms)
        results, problem = {}, ""
        for rank in [0] if is_known else range(MOST_DIMS + 1):  # an unknown one may be each of these
            try:
                results[rank] = examples(
                    key, args, [(dtype, (None,) * rank if dims is None else dims) for dtype, dims in forms]
                )
            except ClashError as error:
                problem = str(error)
        if not results:
            raise ClashError((unequal_parts if key == "cat" else unequal)(op, symbolic_tensors(args)) or problem)
        if list(results) == [MOST_DIMS]:  # more might do, too
            results[0] = [(dtype, None) for dtype, _ in results[MOST_DIMS]]
        outputs = zip(*results.values(), strict=True)
        _outputs[place] = [(one[0][0], reduce(common_dims, [dims for _, dims in one])) for one in outputs]
    return _outputs[place]


def examples(key: str, args: object, forms: Sequence[tuple[Any, tuple[int | None, ...]]]) -> list[tuple[DType, Dims]]:
    """Call a function with two arrays for each tensor and tell by the results which length is which.

    A known length (but one) and an unknown one are two small numbers each; where those clash, an unknown length may be
    one, or any of the known ones.
    """
    known_lengths = sorted({n for _, dims in forms for n in dims if n not in (None, 1)})
    pairs: dict[Any, tuple[int, int]] = {1: (1, 1), None: (2, 3)}
    pairs |= {
        n: (n, n) if key == "cat" else (4 + 2 * i, 5 + 2 * i) for i, n in enumerate(known_lengths)
    }  # cat adds lengths
    lengths = {pair: n for n, pair in pairs.items()}
    element = 0 if key in ("take", "give_back") else 1  # these take places
    problem: Exception | None = None
    for choice in islice(product([None, 1, *known_lengths], repeat=sum(dims.count(None) for _, dims in forms)), TRIALS):
        lengths_in_turn = iter(choice)
        full_forms = [
            (dtype, [pairs[next(lengths_in_turn) if n is None else n] for n in dims]) for dtype, dims in forms
        ]
        results = []
        try:
            for i in (0, 1):
                arrays = (np.full([pair[i] for pair in dims], element, dtype) for dtype, dims in full_forms)
                with np.errstate(all="ignore"):
                    result = array_function(key)(*replace_tensors(args, arrays))
                results.append(
                    [np.asarray(part) for part in (result if isinstance(result, (tuple, list)) else [result])]
                )
        except (ValueError, IndexError, RuntimeError, TypeError, ArithmeticError) as error:
            problem = problem or error
            continue
        return [
            (
                as_dtype(a.dtype),
                tuple(p if p == q else lengths.get((p, q)) for p, q in zip(a.shape, b.shape, strict=True)),
            )
            for a, b in zip(*results, strict=True)
        ]
    raise ClashError(str(problem))


# ------------------------------------------------------------------ by rule
def reshape_dims(op: Operation) -> Outputs:
    """Return the shape that is asked for, with a length for -1; ClashError if the elements do not fit."""
    sizes, have = integers_in(op.inputs[1]), op.inputs[0].shape.num_elements()
    if sizes is None:
        return None
    refuse(sizes.count(-1) > 1, "Only one input size may be -1", ClashError)
    if have is None or None in sizes:
        return tuple(None if n == -1 else n for n in sizes)
    known_size = math.prod(n for n in sizes if n not in (-1, None))
    refuse(
        -1 not in sizes and have != known_size,
        f"Cannot reshape a tensor with {have} elements to shape {dims_text(sizes)} ({known_size} elements)",
        ClashError,
    )
    refuse(
        -1 in sizes and (not known_size or have % known_size),
        f"Dimension size must be evenly divisible by {known_size} but is {have}",
        ClashError,
    )
    return tuple(have // known_size if n == -1 else n for n in sizes)


def unstack_dims(op: Operation) -> Outputs:
    """Taken apart along an axis."""
    dims, axis = op.inputs[0]._dims, op.attrs["axis"]
    rest = None if dims is None else tuple(n for i, n in enumerate(dims) if i != axis % len(dims))
    return [(op.inputs[0].dtype.base_dtype, rest)] * op.attrs["num"]


def slice_dims(op: Operation) -> Outputs:
    """Some of the elements; a length is known if its ends and the length before are."""
    dims, kinds = op.inputs[0]._dims, op.attrs["kinds"]
    if dims is None:
        return None
    count = len(kinds) - kinds.count(None) - kinds.count(...)
    refuse(
        count > len(dims),
        f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims for '{op.name}'",
        ValueError,
    )
    out: list[int | None] = []
    rest = iter(enumerate(dims))
    ends = zip(*(integers_in(t) or [None] * len(kinds) for t in op.inputs[1:]), strict=True)
    for kind, parts in zip(kinds, ends, strict=True):
        if kind is None:
            out.append(1)
        elif kind is ...:
            out.extend(size for _, size in islice(rest, len(dims) - count))
        elif kind == 0:
            (place, size), start = next(rest), parts[0]
            refuse(
                size is not None and start is not None and not -size <= start < size,
                f"slice index {start} of dimension {place} out of bounds.",
                ClashError,
            )
        else:
            size = next(rest)[1]
            ends_given = [part if flag else None for part, flag in zip(parts, kind, strict=True)]
            is_unknown = ends_given.count(None) > kind.count(False)
            out.append(None if size is None or is_unknown else len(range(size)[slice(*ends_given)]))
    return (*out, *(size for _, size in rest))


def dims_from_value(op: Operation) -> Outputs:
    """The shape is a value, the dtype an attribute or that of the value that fills it."""
    size, value = op.inputs[0], op.inputs[-1]
    if op.type == "BroadcastTo":
        size, value = value, size
    sizes = integers_in(size)
    dtype = op.attrs.get("dtype") or value.dtype.base_dtype
    return [(dtype, None if sizes is None else tuple(sizes))]


def ranged(op: Operation) -> Outputs:
    """As long as a range of known ends is."""
    ends = [constant_value(t) for t in op.inputs]
    return (None,) if any(e is None for e in ends) else np.arange(*ends).shape


def repeated(op: Operation) -> Outputs:
    """Return the shape of a tensor that is there several times along each axis."""
    dims, times = op.inputs[0]._dims, integers_in(op.inputs[1])
    if dims is None or times is None:
        return dims and (None,) * len(dims)
    refuse(len(dims) != len(times), f"Shape must be rank {len(dims)} but is rank {len(times)}", ClashError)
    return tuple(None if n is None or many is None else n * many for n, many in zip(dims, times, strict=True))


def padded(op: Operation) -> Outputs:
    """Return the shape of a tensor with something around it."""
    dims, around = op.inputs[0]._dims, constant_value(op.inputs[1])
    if dims is None or around is None:
        return dims and (None,) * len(dims)
    return tuple(None if n is None else n + int(pair.sum()) for n, pair in zip(dims, around, strict=True))


def cut_out(op: Operation) -> Outputs:
    """Return the shape of a part that begins at some places and has some lengths."""
    dims, (begin, size) = op.inputs[0]._dims, (integers_in(t) for t in op.inputs[1:])
    if size is None:
        return dims and (None,) * len(dims)
    unknown = (None,) * len(size)
    facts = zip(dims or unknown, begin or unknown, size, strict=True)
    return tuple(n if n != -1 else whole and whole - start if start is not None else None for whole, start, n in facts)


def split_dims(op: Operation) -> Outputs:
    """Return the shapes of parts of some lengths along an axis; ClashError if they are not the whole."""
    x, axis, sizes = op.inputs[op.type == "Split"], op.attrs["axis"], op.attrs["sizes"]
    dims = x._dims
    whole = None if dims is None else dims[axis]
    refuse(
        whole is not None and sum(sizes) != whole,
        f"Determined shape must either match input shape along split_dim exactly: {whole}, {sizes}",
        ClashError,
    )
    parts = [None if dims is None else (*dims[:axis], n, *dims[axis:][1:]) for n in sizes]
    return [(x.dtype.base_dtype, part) for part in parts]


def largest_dims(op: Operation) -> Outputs:
    """Return the shapes of the largest elements along the last axis and of their places; ClashError for too many."""
    dims, value = op.inputs[0]._dims, constant_value(op.inputs[1])
    count = None if value is None else int(value)
    length = dims[-1] if dims else None
    refuse(
        length is not None and count is not None and length < count,
        f"input must have last dimension >= k = {count} but is {length}",
        ClashError,
    )
    own = None if dims is None else (*dims[:-1], count)
    return [(op.inputs[0].dtype.base_dtype, own), (DTYPES["int32"], own)]


def picked_dims(op: Operation) -> Outputs:
    """Return the shape of parts that are picked by their places along the first axes."""
    dims, places = (t._dims for t in op.inputs)
    if dims is None or places is None or places[-1] is None:
        return None
    refuse(places[-1] > len(dims), f"indices.shape[-1] must be <= params.rank, but saw {places[-1]}", ClashError)
    return (*places[:-1], *dims[places[-1] :])


def put_back_dims(op: Operation) -> Outputs:
    """Return the sizes that are asked for; the dtype is that of the part which is put back."""
    sizes = integers_in(op.inputs[0])
    return [(op.inputs[4].dtype.base_dtype, None if sizes is None else tuple(sizes))]


def with_slopes(op: Operation) -> Outputs:
    """Return the shapes of the losses of rows, and of the derivative for each element."""
    x = op.inputs[0]
    return [(x.dtype.base_dtype, x._dims and x._dims[:-1]), (x.dtype.base_dtype, x._dims)]


def one_hot_dims(op: Operation) -> Outputs:
    """Return the shape of the places with one more axis, as long as there are classes."""
    dims, depth, axis = op.inputs[0]._dims, constant_value(op.inputs[1]), op.attrs["axis"]
    place = axis if axis >= 0 or dims is None else axis + len(dims) + 1
    new = None if depth is None else int(depth)
    return [(op.inputs[2].dtype.base_dtype, None if dims is None else (*dims[:place], new, *dims[place:]))]


# ------------------------------------------------------------------ by the arguments of a function
OF_ARGUMENTS: dict[str, Callable[..., Dims]] = {
    "pass": lambda x: x._dims,
    "squeeze_all": lambda x: None if x._dims is None or None in x._dims else tuple(n for n in x._dims if n != 1),
    "transpose": lambda x, order: (None,) * x.shape.rank if x.shape.rank is not None else None,
    **dict.fromkeys(
        (
            "put_back",
            "shape_like",
            "spread_like",
            "spread_sum",
            "conv2d_to_input",
            "max_pool_back",
        ),
        lambda part, x, *rest: x._dims,
    ),
    **dict.fromkeys(("reversed_along", "sums_so_far", "show"), lambda x, *rest: x._dims),
    **dict.fromkeys(("reshape_to", "getitem", "slice_by", "slice_sized", "tile", "pad"), lambda *args: None),
    "conv2d": lambda x, filter, *rest: windows.convolved_dims(x._dims, filter._dims, *rest),
    "avg_pool_back": lambda part, sizes, *rest: None if (dims := integers_in(sizes)) is None else tuple(dims),
    "conv2d_to_filter": lambda part, x, filter, *rest: filter._dims,
    **dict.fromkeys(("max_pool", "avg_pool"), lambda x, *rest: windows.pooled_dims(x._dims, *rest)),
    "sum_over": lambda x, axes, keep: (None,) * x.shape.rank if keep and x.shape.rank is not None else None,
    "sum_of_places": lambda values, places, count: (
        values._dims and (None if (n := known_value(count)) is None else int(n), *values._dims[1:])
    ),
    "sum_of_rows": lambda part: part._dims and part._dims[-1:],
}
"""Functions whose result's shape is another tensor's, or is in numbers."""
