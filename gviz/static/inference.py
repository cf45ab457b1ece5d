"""Dtypes and shapes of results, worked out while the graph is built: one rule for each kind of operation.

A rule takes an operation, whose inputs and attributes are there, and gives a dtype and a shape for each output, or the shape
of its only output, which has the first input's dtype. It raises :class:`~gviz.static.shapes.ClashError` for inputs that
cannot go together; :func:`clash` adds the node.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gviz.static import shapes
from gviz.static.dtypes import as_dtype, bool_, int32
from gviz.static.shapes import ClashError, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gviz.static.dtypes import DType
    from gviz.static.graph import Operation, Tensor
    from gviz.static.shapes import Dims

Outputs: TypeAlias = "list[tuple[DType, Dims]] | Dims"
Rule: TypeAlias = "Callable[[Operation], Outputs]"


# ------------------------------------------------------------------ what is known of inputs
def constant_value(tensor: Tensor) -> Any:
    """The value of a tensor that is known while building, else None."""
    return tensor.op.attrs["value"] if tensor.op.type == "Const" else None


def numbers(tensor: Tensor) -> list[int | None] | None:
    """The integers that a tensor holds, None for those that are not known while building, or for all of them."""
    value = constant_value(tensor)
    if value is not None:
        return [int(n) for n in np.ravel(value)]
    if tensor.op.type == "Pack" and all(t.shape.rank == 0 for t in tensor.op.inputs):
        return [None if (n := constant_value(t)) is None else int(n) for t in tensor.op.inputs]
    dims = dims_of(tensor.op.inputs[0]) if tensor.op.type == "Shape" else None
    return None if dims is None else list(dims)


def held(tensor: Tensor) -> Dims:
    """The shape that a tensor holds; of unknown numbers the rank may be known."""
    found, count = numbers(tensor), dims_of(tensor)
    if found is not None:
        return tuple(found)
    return None if not count or count[0] is None else (None,) * count[0]


def integers(tensor: Tensor) -> Any:
    """The integers that a tensor holds as a tuple where all are known while building, else the tensor."""
    value = constant_value(tensor)
    return tensor if value is None else tuple(int(n) for n in np.ravel(value))


def dims_of(tensor: Tensor) -> Dims:
    """What is known of its shape, as a tuple."""
    return tensor._dims


def own(op: Operation) -> DType:
    """The dtype of its first input."""
    return op.inputs[0].dtype.base_dtype


def axes_of(op: Operation) -> tuple[int, ...] | None:
    """The axes of a reduction, None for all of them; ValueError where they are not known while building."""
    value, dims = constant_value(op.inputs[1]), dims_of(op.inputs[0])
    if value is None:
        if op.inputs[1].op.type == "Range":
            return None
        raise ValueError(f"'{op.name}': gviz reduces over axes that are known while building, not over {op.inputs[1]}")
    axes = tuple(int(a) for a in np.ravel(value))
    if dims is None or not all(-len(dims) <= a < len(dims) for a in axes):
        return axes
    return None if sorted(a % len(dims) for a in axes) == list(range(len(dims))) else axes


def clash(op: Operation, problem: ClashError) -> ValueError:
    """A clash of shapes, with the node and its inputs, in TensorFlow's words."""
    kind = "" if not op.inputs else f"[T=DT_{own(op).cpp.upper()}]"
    given = ", ".join(t.name.removesuffix(":0") for t in op.inputs)
    sizes = ", ".join(listed(dims_of(t)) for t in op.inputs)
    more = ""
    if len(problem.args) > 1:  # Reshape: the shape that was asked for
        kind = kind.replace("]", ", Tshape=DT_INT32]")
        more = f" and with input tensors computed as partial shapes: input[1] = {problem.args[1]}"
    return ValueError(
        f"{problem.args[0]} for '{{{{node {op.name}}}}} = {op.type}{kind}({given})' with input shapes: {sizes}{more}."
    )


def in_common(tensors: Iterable[Tensor]) -> Dims:
    """What is known of a shape that several inputs have."""
    return reduce(shapes.merged, map(dims_of, tensors), None)


# ------------------------------------------------------------------ element by element
def like_first(op: Operation) -> Outputs:
    """The first input's."""
    return dims_of(op.inputs[0])


def broadcast(dtype: DType | None = None) -> Rule:
    """Of several operands, broadcast."""
    return lambda op: [(dtype or own(op), reduce(shapes.broadcast, map(dims_of, op.inputs)))]


def selected(op: Operation) -> Outputs:
    """Of one of two, which have one shape; the condition has it too, or chooses rows, or all."""
    condition, found = dims_of(op.inputs[0]), in_common(op.inputs[1:])
    if condition and found is not None and not shapes.fits(condition, found):
        shapes.merged(found[:1] if len(condition) == 1 else found, condition)
    return [(op.inputs[1].dtype.base_dtype, found)]


def cross_entropy(op: Operation) -> Outputs:
    """One number a row."""
    dims = in_common(op.inputs)
    return None if dims is None else dims[:-1]


# ------------------------------------------------------------------ matrices, reductions
def product(op: Operation) -> Outputs:
    """Of matrices."""
    sides = [dims_of(t) for t in op.inputs]
    for i, flag in enumerate(("transpose_a", "transpose_b")):
        dims = sides[i]
        if op.attrs.get(flag) and dims is not None and len(dims) > 1:
            sides[i] = (*dims[:-2], dims[-1], dims[-2])
    return shapes.matmul(*sides)


def reduced(dtype: DType | None = None) -> Rule:
    """Over some axes."""

    def infer(op: Operation) -> Outputs:
        return [(dtype or own(op), shapes.reduced(dims_of(op.inputs[0]), axes_of(op), op.attrs.get("keep_dims", False)))]

    return infer


# ------------------------------------------------------------------ shapes
def reshaped(op: Operation) -> Outputs:
    """Into a given shape, in which -1 stands for what is left."""
    wanted, have = held(op.inputs[1]), op.inputs[0].shape.num_elements()
    if wanted is None or None in wanted:
        return wanted and tuple(None if n == -1 else n for n in wanted)
    if wanted.count(-1) > 1:
        raise ClashError("Only one input size may be -1")
    known = math.prod(n for n in wanted if n not in (-1, None))
    if have is not None and -1 not in wanted and have != known:
        raise ClashError(
            f"Cannot reshape a tensor with {have} elements to shape {listed(wanted)} ({known} elements)", listed(wanted)
        )
    if have is not None and -1 in wanted and (not known or have % known):
        raise ClashError(f"Dimension size must be evenly divisible by {known} but is {have}", listed(wanted))
    left = have // known if have is not None and known else None
    return tuple(left if n == -1 else n for n in wanted)


def permuted(op: Operation) -> Outputs:
    """Dims in another order."""
    order, dims = numbers(op.inputs[1]), dims_of(op.inputs[0])
    if order is None or dims is None:
        return None if order is None and dims is None else (None,) * len(order or dims or ())
    if len(order) != len(dims):
        raise ClashError(f"Dimension must be {len(dims)} but is {len(order)}")
    if sorted(n or 0 for n in order) != list(range(len(dims))):
        raise ClashError(f"{order} is no order of {len(dims)} dimensions")
    return tuple(dims[i or 0] for i in order)


def joined(op: Operation) -> Outputs:
    """One after the other along an axis."""
    *parts, where = op.inputs
    axis, known = constant_value(where), [dims_of(t) for t in parts]
    ranks = {len(k) for k in known if k is not None}
    if len(ranks) > 1:
        raise ClashError(f"Shapes must be equal rank, but are {' and '.join(map(str, ranks))}")
    if axis is None or not ranks:
        return (None,) * ranks.pop() if ranks else None
    size = ranks.pop()
    if not -size <= int(axis) < size:
        raise ClashError(f"Expected concatenating dimension in the range [{-size}, {size}), but got {int(axis)}")
    axis = int(axis) % size
    rest = reduce(shapes.merged, [k and (*k[:axis], None, *k[axis + 1 :]) for k in known]) or ()
    lengths = [None if k is None else k[axis] for k in known]
    total = None if None in lengths else sum(n or 0 for n in lengths)
    return (*rest[:axis], total, *rest[axis + 1 :])


def packed(op: Operation) -> Outputs:
    """Stacked along a new axis."""
    inner = in_common(op.inputs)
    if inner is None:
        return None
    axis = op.attrs["axis"]
    if not -len(inner) - 1 <= axis <= len(inner):
        raise ValueError(f"Argument `axis` = {axis} not in range [{-len(inner) - 1}, {len(inner) + 1})")
    axis %= len(inner) + 1
    return (*inner[:axis], len(op.inputs), *inner[axis:])


def unpacked(op: Operation) -> Outputs:
    """Taken apart along an axis."""
    dims, axis = dims_of(op.inputs[0]), op.attrs["axis"]
    rest = None if dims is None else tuple(n for i, n in enumerate(dims) if i != axis % len(dims))
    return [(own(op), rest)] * op.attrs["num"]


def sliced(op: Operation) -> Outputs:
    """Some of the elements; a length is known where its ends and the length before are."""
    dims, kinds = dims_of(op.inputs[0]), op.attrs["kinds"]
    if dims is None:
        return None
    taken = len(kinds) - kinds.count(None) - kinds.count(...)
    if taken > len(dims):
        raise ValueError(f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims for '{op.name}'")
    out: list[int | None] = []
    rest = iter(enumerate(dims))
    ends = [numbers(t) or [None] * len(kinds) for t in op.inputs[1:]]
    for i, kind in enumerate(kinds):
        if kind is None:
            out.append(1)
        elif kind is ...:
            out.extend(next(rest)[1] for _ in range(len(dims) - taken))
        elif kind == 0:
            place, size = next(rest)
            at = ends[0][i]
            if size is not None and at is not None and not -size <= at < size:
                raise ValueError(f"slice index {at} of dimension {place} out of bounds for '{op.name}'")
        else:
            size = next(rest)[1]
            parts = [end[i] if flag else None for end, flag in zip(ends, kind, strict=True)]
            if any(flag and p is None for flag, p in zip(kind, parts, strict=True)):
                size = None
            out.append(size if size is None or parts == [None] * 3 else len(range(*slice(*parts).indices(size))))
    return (*out, *(n for _, n in rest))


def picked(op: Operation) -> Outputs:
    """Rows, or parts along another axis, picked by number."""
    x, places = (dims_of(t) for t in op.inputs[:2])
    axis = constant_value(op.inputs[2])
    if x is None or places is None or axis is None:
        return None
    least = int(axis) + 1 if axis >= 0 else -int(axis)
    if len(x) < least:
        raise ClashError(f"Shape must be at least rank {least} but is rank {len(x)}")
    return (*x[: int(axis) % len(x)], *places, *x[int(axis) % len(x) + 1 :])


def squeezed(op: Operation) -> Outputs:
    """Without lengths of one."""
    dims, axes = dims_of(op.inputs[0]), op.attrs["axis"]
    if dims is None or (not axes and None in dims):
        return None
    for i, axis in enumerate(axes):
        if not -len(dims) <= axis < len(dims):
            raise ClashError(f"squeeze_dims[{i}] not in [{-len(dims)},{len(dims)}).")
    gone = {a % len(dims) for a in axes} if axes else {i for i, n in enumerate(dims) if n == 1}
    for i in gone:
        if dims[i] not in (1, None):
            raise ClashError(f"Can not squeeze dim[{i}], expected a dimension of 1, got {dims[i]}")
    return tuple(n for i, n in enumerate(dims) if i not in gone)


def unsqueezed(op: Operation) -> Outputs:
    """With a length of one more."""
    dims, axis = dims_of(op.inputs[0]), constant_value(op.inputs[1])
    if dims is None or axis is None:
        return None
    if not -len(dims) - 1 <= int(axis) <= len(dims):
        raise ClashError(f"dim {int(axis)} not in the interval [{-len(dims) - 1}, {len(dims)}].")
    place = int(axis) % (len(dims) + 1)
    return (*dims[:place], 1, *dims[place:])


# ------------------------------------------------------------------ from nothing, and the rest
def given(op: Operation) -> Outputs:
    """As the operation says."""
    return [(op.attrs["dtype"] if "dtype" in op.attrs else own(op), op.attrs.get("shape"))]


def sized(op: Operation) -> Outputs:
    """The shape is a value, the dtype an attribute."""
    return [(op.attrs["dtype"], held(op.inputs[0]))]


def ranged(op: Operation) -> Outputs:
    """As long as a range of known ends is."""
    ends = [constant_value(t) for t in op.inputs]
    return (None,) if any(e is None for e in ends) else np.arange(*ends).shape


def number(op: Operation) -> Outputs:
    """One integer."""
    return [(op.attrs.get("out_type", int32), ())]


def assigned(op: Operation) -> Outputs:
    """A variable's own tensor; what it gets has to fit."""
    ref, value = op.inputs
    shapes.merged(dims_of(ref), dims_of(value))
    return [(ref.dtype, dims_of(ref))]


def loop_condition(op: Operation) -> Outputs:
    """A boolean; TypeError for anything else."""
    if not own(op).is_bool:
        raise TypeError(f"Input 'input' of 'LoopCond' Op has type {own(op).name} that does not match expected type of bool.")
    return [(bool_, dims_of(op.inputs[0]))]


def of_either(op: Operation) -> Outputs:
    """What two have in common, and which of them it was."""
    return [
        (own(op), op.attrs["shape"] if "shape" in op.attrs else reduce(shapes.relaxed, map(dims_of, op.inputs))),
        (int32, ()),
    ]


SMALL = 10_000


def tried(op: Operation) -> Outputs:
    """Of a call that no rule describes: what it makes of zeros, where all shapes are known and small."""
    from gviz.static.functions import function_of
    from gviz.static.structures import refill, tensors_in
    from gviz.static.table import call_of

    first = next((t for t in op.inputs if t.dtype.is_floating), op.inputs[0]).dtype.base_dtype
    if not all(t.shape.is_fully_defined() and (t.shape.num_elements() or 0) <= SMALL for t in op.inputs):
        return [(first, None)]
    key, args = call_of(op)
    zeros = (np.zeros([n or 0 for n in t.shape], t.dtype.as_numpy_dtype) for t in tensors_in(args))
    with np.errstate(all="ignore"):
        example = np.asarray(function_of(key)(*refill(args, zeros)))
    return [(as_dtype(example.dtype), example.shape)]
