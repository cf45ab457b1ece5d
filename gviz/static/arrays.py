"""The functions that build tensors from nothing, change shapes and pick elements, under TensorFlow's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.static.convert import apply, constant, convert, graph_of, is_tensor, make, named
from gviz.static.dtypes import as_dtype, float32, int32
from gviz.static.graph import Tensor
from gviz.static.shapes import as_shape

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = 1000
"""From here on TensorFlow fills with an operation, not with a constant."""


# ------------------------------------------------------------------ from nothing
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor that gets its value when the graph runs, by ``feed_dict``.

    Args:
        dtype: of its elements.
        shape: what is known of it, None in it for an unknown length; None for any shape.
        name: of the operation.
    """
    return make("Placeholder", (), name, dtype=as_dtype(dtype), shape=as_shape(shape))


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that has a value unless another is fed."""
    return apply("PlaceholderWithDefault", "input", [input], name, shape=as_shape(shape))


def filled(default: str, number: int) -> Callable[..., Tensor]:
    """``zeros`` and ``ones``: a constant where the shape is known and small."""

    def build(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
        kind = as_dtype(dtype)
        with named(graph_of(shape), name, default) as scope:
            if not is_tensor(shape):
                try:
                    dims = tuple(int(n) for n in np.ravel(getattr(shape, "dims", shape)))
                except (TypeError, NotImplementedError):  # with tensors in it
                    shape = convert(shape, int32)
                else:
                    if np.prod(dims) < LARGE:
                        return constant(number, kind, dims, scope)
                    shape = constant(np.array(dims, np.int32), name="shape_as_tensor")
            return make("Fill", [shape, constant(number, kind)], scope, dtype=kind)

    return build


zeros, ones = filled("zeros", 0), filled("ones", 1)


def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros of a tensor's shape."""
    with named(graph_of(tensor), name, "zeros_like") as scope:
        x = convert(tensor, name="tensor")
        kind = x.dtype.base_dtype if dtype is None else as_dtype(dtype)
        if x.shape.is_fully_defined():
            return zeros(x.shape, kind, scope)
        return make("ZerosLike", [x], scope) if kind == x.dtype.base_dtype else zeros(shape(x), kind, scope)


def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones of a tensor's shape."""
    with named(graph_of(tensor), name, "ones_like") as scope:
        x = convert(tensor, name="tensor")
        found = ones(shape(x), x.dtype.base_dtype if dtype is None else dtype, scope)
        found.set_shape(x.shape)
        return found


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of that shape with one value everywhere."""
    with named(graph_of(dims, value), name, "Fill") as scope:
        size, number = convert(dims, None, "dims", int32), convert(value, name="value")
        return make("Fill", [size, number], scope, dtype=number.dtype.base_dtype)


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    return constant(np.eye(num_rows, num_columns), as_dtype(dtype), name=name or "eye")


def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Numbers from start to limit, limit not among them."""
    from gviz.static.operations import cast

    ends = (0, start, delta) if limit is None else (start, limit, delta)
    with named(graph_of(*ends), name, "range") as scope:
        given = None if dtype is None else as_dtype(dtype)
        tensors = [convert(v, given, label) for v, label in zip(ends, ("start", "limit", "delta"), strict=True)]
        wide = ("int32", "int64", "float16", "float32", "float64")
        kind = given or max((t.dtype.base_dtype for t in tensors), key=lambda k: wide.index(k.name))
        return make("Range", [cast(t, kind) for t in tensors], scope)


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Normally distributed numbers, drawn anew each run (numpy's, not TensorFlow's: the same seed gives others)."""
    kind = as_dtype(dtype)
    with named(graph_of(shape), name, "random_normal") as scope:
        size = convert(shape, None, "shape", int32)
        centre, width = convert(mean, kind, "mean"), convert(stddev, kind, "stddev")
        drawn = make("RandomStandardNormal", [size], dtype=kind, seed=seed)
        return make("AddV2", [make("Mul", [drawn, width], "mul"), centre], scope)


def random_uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Uniformly distributed numbers, drawn anew each run (numpy's); ValueError for integers without an upper bound."""
    kind = as_dtype(dtype)
    if maxval is None and kind.is_integer:
        raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
    with named(graph_of(shape), name, "random_uniform") as scope:
        size = convert(shape, None, "shape", int32)
        low, high = convert(minval, kind, "min"), convert(1 if maxval is None else maxval, kind, "max")
        if kind.is_integer:
            return make("RandomUniformInt", [size, low, high], scope, dtype=kind, seed=seed)
        drawn = make("RandomUniform", [size], dtype=kind, seed=seed)
        return make("AddV2", [make("Mul", [drawn, make("Sub", [high, low], "sub")], "mul"), low], scope)


# ------------------------------------------------------------------ shapes
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements in another shape; -1 stands for what is left."""
    return apply("Reshape", "tensor shape:int", [tensor, getattr(shape, "dims", shape)], name)


def transpose(a: Any, perm: Any = None, name: str | None = None, conjugate: bool = False) -> Tensor:
    """Dimensions in another order, reversed where none is given."""
    with named(graph_of(a), name, "transpose") as scope:
        x = convert(a, name="a")
        if perm is None and x.shape.rank is None:
            perm = range_(make("Rank", [x]) - 1, -1, -1, name="Range")
        order = np.arange(x.shape.rank or 0, dtype=np.int32)[::-1] if perm is None else perm
        return apply("Transpose", "x perm:int", [x, order], scope)


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one after the other along an axis; of one tensor, itself below the operation's name."""
    parts = list(values) if isinstance(values, (list, tuple)) else [values]
    with named(graph_of(*parts), name, "concat") as scope:
        if len(parts) == 1:
            convert(axis, int32, "concat_dim")
            return make("Identity", [convert(parts[0], name="input")], "concat")
        return make("ConcatV2", [*list_of("ConcatV2", parts), convert(axis, None, "axis", int32)], scope)


def list_of(type: str, parts: Any) -> list[Tensor]:
    """The tensors of a list, ValueError where there are none; numbers take the dtype of the first tensor."""
    from gviz.static.operations import alike

    if not parts:
        raise ValueError(f"List argument 'values' to '{type}' Op with length 0 shorter than minimum length 1.")

    kind = next((convert(p).dtype.base_dtype for p in parts if is_tensor(p)), None)
    return list(alike(type, "values", [convert(p, None, f"values_{i}", kind) for i, p in enumerate(parts)]))


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape along a new axis; numbers alone are a constant."""
    if axis == 0 and not any(isinstance(v, Tensor) and v.dtype != convert(values[0]).dtype for v in values):
        return convert(list(values), name=name)
    with named(graph_of(*values), name, "stack") as scope:
        return make("Pack", list_of("Pack", values), scope, axis=axis)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """A tensor's parts along an axis; ValueError where how many there are is unknown."""
    x = convert(value)
    size = x.shape.rank
    if size is not None and not -size <= axis < size:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-size}, {size})")
    count = num if num is not None or size is None else x.shape[axis]
    if count is None:
        raise ValueError(f"Cannot infer argument `num` from shape {x.shape}")
    return list(x.graph.create_op("Unpack", [x], {"axis": axis, "num": count}, name).outputs)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """With a length of one more."""
    return apply("ExpandDims", "input dim:int", [input, dim if axis is None else axis], name)


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """Without lengths of one."""
    axes = squeeze_dims if axis is None else axis
    return apply("Squeeze", "input", [input], name, axis=() if axes is None else tuple(np.ravel(axes).tolist()))


def fact(type: str, known: Callable[[Any], Any]) -> Callable[..., Tensor]:
    """``shape``, ``rank`` and ``size``: a constant where it is known while building."""

    def build(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
        kind = as_dtype(out_type)
        with named(graph_of(input), name, type) as scope:
            x = convert(input)
            value = known(x.shape)
            return make(type, [x], scope, out_type=kind) if value is None else constant(value, kind, name=scope)

    return build


shape = fact("Shape", lambda dims: np.array(dims.as_list(), np.int64) if dims.is_fully_defined() else None)
rank = fact("Rank", lambda dims: dims.rank)
size = fact("Size", lambda dims: dims.num_elements())


# ------------------------------------------------------------------ picking
def argmax(input: Any, axis: int = 0, name: str | None = None, dimension: int | None = None, **ignored: Any) -> Tensor:
    """Where the greatest element along an axis is."""
    return apply("ArgMax", "input dimension:int", [input, axis if dimension is None else dimension], name)


def gather(params: Any, indices: Any, axis: int = 0, name: str | None = None, **ignored: Any) -> Tensor:
    """Rows, or parts along another axis, picked by number."""
    return apply("GatherV2", "params indices:int axis:int", [params, indices, axis], name)


def getitem(self: Any, index: Any) -> Tensor:
    """``x[...]``: numbers, integer tensors, slices, None and ``...``; TypeError for anything else."""
    x = convert(self)
    corners: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    kinds = []
    for entry in index if isinstance(index, (tuple, list)) else (index,):
        if isinstance(entry, slice):
            parts = (entry.start, entry.stop, entry.step)
        elif entry is None or entry is Ellipsis:
            parts = (0, 0, 1)
        elif is_index(entry):
            parts = (entry, entry + 1, 1)
        else:
            raise TypeError(
                "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
                f"valid indices, got {entry!r}"
            )
        kinds.append(tuple(p is not None for p in parts) if isinstance(entry, slice) else 0 if is_index(entry) else entry)
        for into, part, default in zip(corners, parts, (0, 0, 1), strict=True):
            into.append(default if part is None else part)
    with named(x.graph, None, "strided_slice") as scope:
        ends = [convert(c, int32, n) for c, n in zip(corners, ("stack", "stack_1", "stack_2"), strict=True)]
        return make("StridedSlice", [x, *ends], scope, kinds=tuple(kinds))


def is_index(entry: Any) -> bool:
    """Whether it picks one element: an integer or an integer tensor."""
    if isinstance(entry, (int, np.integer)):
        return not isinstance(entry, bool)
    return is_tensor(entry) and convert(entry).dtype.is_integer and convert(entry).shape.rank in (0, None)


FUNCTIONS: dict[str, Any] = {
    "placeholder": placeholder, "placeholder_with_default": placeholder_with_default, "zeros": zeros, "ones": ones,
    "zeros_like": zeros_like, "ones_like": ones_like, "fill": fill, "eye": eye, "range": range_, "random_normal": random_normal,
    "random_uniform": random_uniform, "reshape": reshape, "transpose": transpose, "concat": concat, "stack": stack,
    "unstack": unstack, "expand_dims": expand_dims, "squeeze": squeeze, "shape": shape, "rank": rank, "size": size,
    "argmax": argmax, "gather": gather,
}  # fmt: skip
