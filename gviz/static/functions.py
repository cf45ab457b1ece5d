"""The functions that build operations, under TensorFlow's names, and what Python's operators mean for tensors.

Most are declared: :data:`DECLARED` says which operation a function makes and what its parameters are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial, partialmethod
from typing import Any

import numpy as np

from gviz.numbers.words import refuse
from gviz.static.build import (
    add_operation,
    alike,
    apply,
    cast,
    check_others,
    common_graph,
    constant,
    convert,
    in_scope,
    is_symbolic,
    make,
    operation_scope,
)
from gviz.static.chance import seeds_of
from gviz.static.graph import GraphElement, Operation, Tensor, TensorLike, get_default_graph
from gviz.static.rules import constant_value
from gviz.static.table import REDUCTIONS
from gviz.static.types import ArrayLike, DTypeLike, ShapeLike, TensorShape, as_dtype, as_shape, float32, int32, leaves

DECLARED = {
    "x": "log exp sqrt rsqrt square negative:Neg abs sign floor ceil rint sin cos tan asin acos atan sinh cosh tanh "
    "sigmoid log1p expm1 erf reciprocal is_nan",
    "x:bool": "logical_not",
    "x y~": "add:AddV2:Add",
    "x y": "subtract:Sub multiply:Mul maximum minimum pow realdiv:RealDiv floordiv:FloorDiv:floordiv floor_div "
    "floormod:FloorMod mod:FloorMod squared_difference equal not_equal less less_equal greater greater_equal",
    "x:bool y:bool": "logical_and logical_or logical_xor",
    "input": "identity stop_gradient matrix_inverse",
    "data segment_ids:int num_segments:int": "unsorted_segment_sum",
    "params indices:int axis:int=0": "gather:GatherV2",
    "input dim/axis:int": "expand_dims",
    "tensor shape:int": "reshape",
    "dims:int value": "fill",
    "input multiples:int": "tile",
    "tensor axis:int": "reverse:ReverseV2",
    "start stop num:int": "lin_space:LinSpace linspace:LinSpace",
}
"""Parameters: functions, as ``name``, ``name:Type`` or ``name:Type:default name``; what is not said follows from the
name.

A parameter is ``label`` as :func:`gviz.static.build.apply` has it, ``label/name`` if TensorFlow has two names for it,
and ``label=number`` if it may be left out.
"""


CROSS_ENTROPY = "softmax_cross_entropy_with_logits"

UNUSED: dict[str, dict[str, object]] = {
    "fill": {"layout": None},
    "linspace": {"axis": 0},
    "lin_space": {"axis": 0},
    "gather": {"validate_indices": None, "batch_dims": 0},
    "bias_add": {"data_format": "NHWC"},
    "matrix_inverse": {"adjoint": False},
}
"""Arguments of TensorFlow's functions that gviz has no use for, with their defaults."""


def declare_functions(table: dict[str, str]) -> dict[str, Callable[..., Tensor]]:
    """Return the functions that a table declares."""
    entries = ((entry, spec) for spec, names in table.items() for entry in names.split())
    return {entry.partition(":")[0]: generate_function(entry, spec) for entry, spec in entries}


def generate_function(names: str, spec: str) -> Callable[..., Tensor]:
    """Return the function of one operation, by its entry in the table and its parameters."""
    function, _, rest = names.partition(":")
    type, _, default = (rest or "".join(part.capitalize() for part in function.split("_"))).partition(":")
    entries = [entry.partition("=") for entry in spec.split()]
    defaults = {re.sub("^.*/|[:~].*", "", entry): number for entry, _, number in entries}
    others = {entry.partition("/")[0]: name for (entry, *_), name in zip(entries, defaults, strict=True)}
    labels = re.sub("/[a-z]+|=[0-9]+", "", spec)

    def build(*args: object, **kwargs: object) -> Tensor:
        by_place = dict(zip([*defaults, "name"], args, strict=False))
        worded = {others.get(name, name): value for name, value in kwargs.items()}
        unread = {name: worded.pop(name) for name in worded.keys() - {*defaults, "name"}}
        values: dict[str, Any] = {name: int(number) for name, number in defaults.items() if number} | by_place | worded
        check_others(f"tf.{function}", unread, **UNUSED.get(function, {}))
        if values.keys() - {"name"} != defaults.keys() or by_place.keys() & worded or len(args) > len(defaults) + 1:
            raise TypeError(
                f"tf.{function}() takes {', '.join(defaults)} and name, "
                f"got {len(args)} by position and {sorted(kwargs)}"
            )
        return apply(type, labels, [values[name] for name in defaults], values.get("name"), default or type)

    return build


# ------------------------------------------------------------------ from nothing
LARGE = 1000
"""From here on TensorFlow fills with an operation, not with a constant."""


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """Return a tensor that gets its value when the graph runs, by ``feed_dict``.

    Args:
        dtype: of its elements.
        shape: what is known of it, None in it for an unknown length; None for any shape.
        name: of the operation.
    """
    return make("Placeholder", (), name, dtype=as_dtype(dtype), shape=as_shape(shape))


def _filled(
    default: str,
    number: int,
    shape: TensorLike | TensorShape,
    dtype: DTypeLike = float32,
    name: str | None = None,
    **others: object,
) -> Tensor:
    """Return ``zeros`` or ``ones``: a constant if the shape is known and small."""
    check_others(f"tf.{default}", others, layout=None)
    dims: Any = shape.as_list() if isinstance(shape, TensorShape) else shape
    with operation_scope(common_graph(shape), name, default) as scope:
        if any(map(is_symbolic, leaves(dims))):
            size = convert(dims, int32)
        elif np.prod(dims) < LARGE:
            return constant(np.full([int(n) for n in np.ravel(dims)], number), dtype, name=scope)
        else:
            size = constant(np.ravel(dims), int32, name="shape_as_tensor")
        return make("Fill", [size, constant(number, dtype)], scope)


def like(
    default: str,
    fill: Callable[..., Tensor],
    tensor: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    optimize: bool = True,
) -> Tensor:
    """Return ``zeros_like`` or ``ones_like``: a constant if zeros are asked for, and the shape is known."""
    with operation_scope(common_graph(tensor), name, default) as scope:
        x = convert(tensor, name="tensor")
        own, is_known = x.dtype.base_dtype, fill is zeros and x.shape.is_fully_defined()
        if fill is zeros and dtype in (None, own) and not is_known:
            return make("ZerosLike", [x], scope)
        result = fill(x.shape if is_known else shape(x), own if dtype is None else dtype, scope)
        result.set_shape(x.shape)
        return result


zeros, ones = partial(_filled, "zeros", 0), partial(_filled, "ones", 1)
zeros_like = partial(like, "zeros_like", zeros)


@in_scope("range")
def range_(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return numbers from start to limit, limit not among them."""
    ends = (0, start, delta) if limit is None else (start, limit, delta)
    tensors = [convert(v, dtype, label) for v, label in zip(ends, ("start", "limit", "delta"), strict=True)]
    widths = ("int32", "int64", "float16", "float32", "float64")
    widest = max((t.dtype.base_dtype for t in tensors), key=lambda own: widths.index(own.name))
    return make("Range", [cast(t, widest) for t in tensors], name)


@in_scope("random_normal")
def random_normal(
    shape: TensorLike,
    mean: TensorLike = 0,
    stddev: TensorLike = 1,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
    type: str = "RandomStandardNormal",
) -> Tensor:
    """Return normally distributed numbers, drawn anew each run."""
    size = convert(shape, None, "shape", int32)
    centre, width = convert(mean, dtype, "mean"), convert(stddev, dtype, "stddev")
    numbers = make(type, [size], dtype=as_dtype(dtype), seeds=seeds_of(size.graph, seed))
    return make("AddV2", [make("Mul", [numbers, width], "mul"), centre], name)


def truncated_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return normally distributed numbers, none of them further from the mean than two standard deviations."""
    return random_normal(shape, mean, stddev, dtype, seed, name or "truncated_normal", "TruncatedNormal")


@in_scope("random_uniform")
def random_uniform(
    shape: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return uniformly distributed numbers, drawn anew each run; ValueError for integers without an upper bound."""
    dtype = as_dtype(dtype)
    refuse(maxval is None and dtype.is_integer, f"Must specify maxval for integer dtype {dtype!r}", ValueError)
    high = 1 if maxval is None else maxval
    is_plain = not dtype.is_integer and not is_symbolic(minval) and not is_symbolic(high) and (minval, high) == (0, 1)
    size = convert(shape, None, "shape", int32)
    ends = [] if is_plain else [convert(minval, dtype, "min"), convert(high, dtype, "max")]
    seeds = seeds_of(size.graph, seed)
    if dtype.is_integer:
        return make("RandomUniformInt", [size, *ends], name, dtype=dtype, seeds=seeds)
    numbers = make("RandomUniform", [size], dtype=dtype, seeds=seeds)
    if is_plain:
        return numbers
    low, span = ends[0], make("Sub", ends[::-1], "sub")
    return make("AddV2", [make("Mul", [numbers, span], "mul"), low], name)


# ------------------------------------------------------------------ shapes
@in_scope("transpose")
def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str | None = None, conjugate: bool = False
) -> Tensor:
    """Return a tensor with its dimensions in another order, reversed if none is given."""
    x = convert(a, name="a")
    if perm is None and x.shape.rank is None:
        perm = range_(make("Rank", [x]) - 1, -1, -1, name="Range")
    order = np.arange(x.shape.rank or 0, dtype=np.int32)[::-1] if perm is None else perm
    return apply("Transpose", "x perm:int", [x, order], name)


def concat(values: TensorLike, axis: TensorLike, name: str = "concat") -> Tensor:
    """Return tensors one after the other along an axis; of one tensor, itself below the operation's name."""
    parts = list(values) if isinstance(values, (list, tuple)) else [values]
    with operation_scope(common_graph(*parts), name, "concat") as scope:
        if len(parts) == 1:
            convert(axis, int32, "concat_dim")
            return make("Identity", [convert(parts[0], name="input")], "concat")
        return make("ConcatV2", [*list_of("ConcatV2", parts), convert(axis, None, "axis", int32)], scope)


def list_of(type: str, parts: Sequence[TensorLike]) -> list[Tensor]:
    """Return the tensors of a list, ValueError if there are none; numbers take the dtype of the first tensor."""
    refuse(not parts, f"List argument 'values' to '{type}' Op with length 0 shorter than minimum length 1.", ValueError)
    hint = next((convert(p).dtype.base_dtype for p in parts if is_symbolic(p)), None)
    return list(alike(type, "values", [convert(p, None, f"values_{i}", hint) for i, p in enumerate(parts)]))


def check_axis(axis: int, rank: int | None) -> None:
    """Raise ValueError for an axis that a tensor of that rank lacks."""
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")


def stack(values: Sequence[TensorLike], axis: int = 0, name: str | None = None) -> Tensor:
    """Return tensors of one shape along a new axis; numbers alone are a constant."""
    name = name or "stack"
    if axis == 0 and not any(isinstance(v, Tensor) and v.dtype != convert(values[0]).dtype for v in values):
        return convert(list(values), name=name)
    with operation_scope(common_graph(*values), name, "stack") as scope:
        tensors = list_of("Pack", values)
        check_axis(axis, tensors[0].shape.rank and tensors[0].shape.rank + 1)
        return make("Pack", tensors, scope, axis=axis)


def unstack(value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Return a tensor's parts along an axis; ValueError if there is no such axis, or its length is unknown."""
    x = convert(value)
    check_axis(axis, x.shape.rank)
    count = num if num is not None or x._dims is None else x._dims[axis]
    refuse(count is None, f"Cannot infer argument `num` from shape {x.shape}", ValueError)
    return list(add_operation(x.graph, "Unpack", [x], {"axis": axis, "num": count}, name).outputs)


def to_dtype(kind: str, dtype: str, x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``to_float`` and the like: a tensor in another dtype."""
    return cast(x, dtype, name or f"To{kind.capitalize()}")


def fact(
    type: str,
    value_of: Callable[[TensorShape], ArrayLike | None],
    input: TensorLike,
    name: str | None = None,
    out_type: DTypeLike = int32,
) -> Tensor:
    """Return ``shape``, ``rank`` or ``size``: a constant if it is known while building."""
    with operation_scope(common_graph(input), name, type) as scope:
        x, dtype = convert(input), as_dtype(out_type)
        value = value_of(x.shape)
        return make(type, [x], scope, out_type=dtype) if value is None else constant(value, dtype, name=scope)


shape = partial(fact, "Shape", lambda dims: np.array(dims.as_list(), np.int64) if dims.is_fully_defined() else None)
rank = partial(fact, "Rank", lambda dims: dims.rank)
size = partial(fact, "Size", lambda dims: dims.num_elements())


def getitem(self: TensorLike, index: object) -> Tensor:
    """Return ``x[...]``: for numbers, integer tensors, slices, None and ``...``; TypeError for anything else."""
    x, entries = convert(self), [index_entry(e) for e in (index if isinstance(index, (tuple, list)) else (index,))]
    with operation_scope(x.graph, None, "strided_slice") as scope:
        labels = enumerate(("stack", "stack_1", "stack_2"))
        ends = [convert([row[i] for _, row in entries], int32, label) for i, label in labels]
        return make("StridedSlice", [x, *ends], scope, kinds=tuple(kind for kind, _ in entries))


def index_entry(entry: Any) -> tuple[Any, Sequence[Any]]:
    """Return the kind of one entry of an index, and its begin, end and step; TypeError for what is none."""
    if isinstance(entry, slice):
        parts = (entry.start, entry.stop, entry.step)
        row = [default if part is None else part for part, default in zip(parts, (0, 0, 1), strict=True)]
        return tuple(part is not None for part in parts), row
    if entry is None or entry is Ellipsis:
        return entry, (0, 0, 1)
    is_integer = isinstance(entry, (int, np.integer)) and not isinstance(entry, bool)
    if is_integer or (is_symbolic(entry) and convert(entry).dtype.is_integer and not convert(entry).shape.rank):
        return 0, (entry, entry + 1, 1)
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 "
        f"tensors are valid indices, got {entry!r}"
    )


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the elements of x where the condition holds, else those of y; without both the indices where it holds."""
    refuse((x is None) != (y is None), "x and y must both be non-None or both be None.", ValueError)
    if x is None:
        return apply("Where", "condition", [condition], name)
    return apply("Select", "condition:bool t e", [condition, x, y], name)


def place_of_extreme(
    type: str,
    input: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dimension: int | None = None,
    output_type: DTypeLike = "int64",
) -> Tensor:
    """Return ``argmax`` or ``argmin``: the places of the largest or smallest elements along an axis."""
    along = (0 if dimension is None else dimension) if axis is None else axis
    return cast(apply(type, "input dimension:int", [input, along], name), output_type)


def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: Sequence[int] | None = None,
    dtype: DTypeLike = float32,
    name: str = "eye",
) -> Tensor:
    """Return the identity matrix, or one for each place of a batch."""
    matrix = np.eye(num_rows, num_columns)
    return constant(np.broadcast_to(matrix, (*(batch_shape or ()), *matrix.shape)), as_dtype(dtype), name=name)


@in_scope("one_hot")
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return 1 at each of some places of a new axis and 0 elsewhere, or two other values."""
    dtype_of_values = next(
        (convert(value).dtype for value in (on_value, off_value) if is_symbolic(value)), dtype or float32
    )
    places = convert(indices, None, "indices")
    on = convert(1 if on_value is None else on_value, dtype_of_values, "on_value")
    off = convert(0 if off_value is None else off_value, dtype_of_values, "off_value")
    many = convert(depth, int32, "depth")
    return make("OneHot", [places, many, on, off], name, axis=-1 if axis is None else axis)


def split_along(
    value: TensorLike,
    num_or_size_splits: int | Sequence[int],
    axis: int | Tensor = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Return several parts of a tensor along an axis: so many equal ones, or parts of some lengths."""
    x = convert(value)
    static_axis = constant_value(axis) if isinstance(axis, Tensor) else axis
    refuse(static_axis is None, f"gviz splits along an axis that is known while building, not {axis}", ValueError)
    place = int(static_axis)
    check_axis(place, x.shape.rank)
    along = place if x.shape.rank is None else place % x.shape.rank
    whole = None if x._dims is None else x._dims[along]
    is_even = isinstance(num_or_size_splits, int)
    sizes = [] if isinstance(num_or_size_splits, int) else [int(n) for n in num_or_size_splits]
    refuse(
        whole is None and (is_even or -1 in sizes), f"gviz splits an axis of known length, not that of {x}", ValueError
    )
    if isinstance(num_or_size_splits, int):
        each, rest = divmod(whole or 0, num_or_size_splits)
        mistake = f"Dimension size, {whole}, must be evenly divisible by the number of splits, {num_or_size_splits}"
        refuse(rest, mistake, ValueError)
        sizes, lengths = [each] * num_or_size_splits, []
    else:
        lengths = [constant(sizes, int32)]
        sizes = [(whole or 0) - sum(sizes) - 1 if n == -1 else n for n in sizes]
    with operation_scope(x.graph, name, "split") as scope:
        axes = [convert(axis, int32, "split_dim")]
    inputs, type = ([x, *lengths, *axes], "SplitV") if lengths else ([*axes, x], "Split")
    return list(add_operation(x.graph, type, inputs, {"axis": along, "sizes": sizes}, scope).outputs)


# ------------------------------------------------------------------ numbers
def _reduction(
    type: str,
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return a reduction over some axes, or over all."""
    along = reduction_indices if axis is None else axis
    with common_graph(input_tensor).as_default():
        if along is None:
            static_rank = convert(input_tensor).shape.rank if is_symbolic(input_tensor) else None
            along = constant(np.arange(static_rank, dtype=np.int32)) if static_rank else range_(0, rank(input_tensor))
        keep = bool(keep_dims if keepdims is None else keepdims)
        return apply(type, "input reduction_indices:int", [input_tensor, along], name, keep_dims=keep)


@in_scope("MatMul")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
    **others: object,
) -> Tensor:
    """Return the product of matrices, or of stacks of them; the adjoint of a real matrix is its transpose."""
    check_others(
        "tf.matmul", others, a_is_sparse=False, b_is_sparse=False, output_type=None, grad_a=False, grad_b=False
    )
    for side, both in (("a", transpose_a and adjoint_a), ("b", transpose_b and adjoint_b)):
        refuse(both, f"Only one of `transpose_{side}` and `adjoint_{side}` can be True.", ValueError)
    transpose_a, transpose_b = transpose_a or adjoint_a, transpose_b or adjoint_b
    left = convert(a, name="a")
    right = convert(b, None, "b", left.dtype.base_dtype)
    type = "BatchMatMulV2" if any(t.shape.rank is None or t.shape.rank > 2 for t in (left, right)) else "MatMul"
    return apply(type, "a b", [left, right], name, transpose_a=transpose_a, transpose_b=transpose_b)


QUOTIENTS = dict.fromkeys(("uint8", "int8", "int16"), "float32") | dict.fromkeys(("int32", "int64"), "float64")
"""What integers become when they are divided."""


@in_scope("truediv")
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y``; integers become floating. TypeError if the dtypes differ."""
    one = convert(x, name="x")
    two = convert(y, None, "y", one.dtype.base_dtype)
    own, other = one.dtype.base_dtype, two.dtype.base_dtype
    refuse(own != other, f"`x` and `y` must have the same dtype, got {own!r} != {other!r}.", TypeError)
    dtype = QUOTIENTS.get(own.name, own)
    return apply("RealDiv", "x y", [cast(one, dtype), cast(two, dtype)], name)


def numerator(x: TensorLike, y: TensorLike) -> Tensor:
    """Return what is divided as a tensor: a number takes the dtype of the tensor that divides it."""
    return convert(x) if is_symbolic(x) else convert(x, getattr(getattr(y, "_read", y), "dtype", None), "x")


@in_scope("div")
def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y`` as Python 2 has it: of integers, the floor."""
    one = numerator(x, y)
    return apply("FloorDiv" if one.dtype.is_integer else "RealDiv", "x y", [one, y], name)


@in_scope(CROSS_ENTROPY)
def cross_entropy(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Return the cross entropy of a softmax along an axis; the gradient goes to the labels, too."""
    refuse(axis is not None and dim is not None, "Cannot specify both 'dim' and 'axis'.", ValueError)
    refuse(labels is None or logits is None, "Both `labels` and `logits` must be provided.", ValueError)
    along = dim if axis is None else axis
    features = convert(logits, name="logits")
    targets = convert(labels, features.dtype.base_dtype, "labels")
    most, sizes = rank(features), shape(features)
    count = features.shape.rank
    if count is not None and along not in (None, -1, count - 1):
        order = [place for place in range(count) if place != along % count] + [along % count]
        features, targets = transpose(features, order), transpose(targets, order)
        sizes = shape(features)
    losses = make("SoftmaxCrossEntropyWithLogits", [matrix_of(features), matrix_of(targets)], name)
    outer = FUNCTIONS["slice"](sizes, [0], [apply("Sub", "x y", [most, 1])])
    result = FUNCTIONS["reshape"](losses, outer)
    result.set_shape(features.shape[:-1])
    return result


def matrix_of(x: Tensor) -> Tensor:
    """Return a tensor as a matrix, whose rows go along the last axis."""
    most, sizes = rank(x), shape(x)
    last = FUNCTIONS["slice"](sizes, [apply("Sub", "x y", [most, 1])], [1])
    result = FUNCTIONS["reshape"](x, concat([[-1], last], 0))
    result.set_shape([None, x.shape[-1].value] if x.shape.rank else None)
    return result


@in_scope(f"{CROSS_ENTROPY}_sg")
def cross_entropy_of_constants(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int | None = None,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Return the same for labels that count as constants, as in the first version of the function."""
    refuse(labels is None or logits is None, "Both `labels` and `logits` must be provided.", ValueError)
    own = convert(logits).dtype.base_dtype if is_symbolic(logits) else None
    fixed = make("StopGradient", [convert(labels, None, "labels", own)], "labels_stop_gradient")
    return cross_entropy(fixed, logits, axis, name, dim)


def along_the_last(
    type: str, logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Return ``softmax`` or ``log_softmax``, which go along the last axis; another one is brought there and back."""
    x = convert(logits)
    along, size = (dim if axis is None else axis), x.shape.rank
    if size is None or along in (None, -1, size - 1):
        return apply(type, "logits", [x], name)
    order = np.arange(size)
    order[[along, -1]] = order[[-1, along]]
    return transpose(apply(type, "logits", [transpose(x, order)]), order, name=name)


@in_scope("clip_by_value")
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """Return values kept between two bounds."""
    below = FUNCTIONS["minimum"](convert(t, name="t"), clip_value_max)
    return apply("Maximum", "x y", [below, clip_value_min], name)


def add_n(inputs: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Return the sum of several tensors; of one, that one itself. ValueError if there are none."""
    refuse(
        not isinstance(inputs, (list, tuple)) or not inputs,
        "inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.",
        ValueError,
    )
    tensors = alike("AddN", "inputs", [convert(t) for t in inputs])
    return make("AddN", tensors, name) if len(tensors) > 1 else make("Identity", tensors, name) if name else tensors[0]


# ------------------------------------------------------------------ order of running
def group(*inputs: object, name: str | None = None) -> Operation:
    """Return an operation that runs all of these; TypeError for anything but tensors and operations."""
    before: dict[Operation, None] = {}
    for item in leaves(inputs):
        op = getattr(getattr(item, "_ref", item), "op", item)
        if not isinstance(op, Operation):
            raise TypeError(
                f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type '{type(item)}'."
            )
        before[op] = None
    return add_operation(common_graph(*before), "NoOp", name=name or "group_deps", control=list(before))


@in_scope("tuple")
def all_at_once(
    tensors: Sequence[TensorLike | Operation],
    name: str | None = None,
    control_inputs: Iterable[GraphElement] | None = None,
    _is_gate: bool = False,
) -> list[Any]:
    """Return ``tf.tuple``: tensors that are there when all of them are; ValueError if there are none.

    Gradients of one operation have a gate (``_is_gate``), for which a plan has no use.
    """
    given: list[Any] = [getattr(t, "_read", t) for t in tensors]
    waits = dict.fromkeys(getattr(part, "op", part) for part in (*given, *(control_inputs or ())) if part is not None)
    refuse(not waits, f"'tensors' must have at least one Tensor. Received: {tensors}.", ValueError)
    attrs = {"gate": True} if _is_gate else {}
    gate = add_operation(get_default_graph(), "NoOp", attrs=attrs, name="group_deps", control=list(waits))
    with gate.graph.control_dependencies([gate]):
        return [make("Identity", [t], "control_dependency") if isinstance(t, Tensor) else t for t in given]


# ------------------------------------------------------------------ what is done besides
def print_(
    input_: TensorLike,
    data: Sequence[TensorLike],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a tensor that prints others, their first elements (3 if nothing else is said), when it is computed."""
    refuse(first_n not in (None, -1), "gviz has no first_n for tf.Print()", ValueError)
    tensors = [convert(part) for part in (input_, *data)]
    return make("Print", tensors, name, message=message or "", summarize=3 if summarize is None else summarize)


@in_scope("Assert")
def assert_(
    condition: TensorLike, data: Sequence[TensorLike], summarize: int | None = None, name: str | None = None
) -> Operation:
    """Return an operation that fails if a condition does not hold, and tells some tensors."""
    for part in data:
        convert(part)  # as TensorFlow does
    graph = get_default_graph()
    with graph.name_scope("Assert") as scope:
        tensors = [convert(condition, None, "condition")]
        tensors += [convert(part, None, f"data_{i}") for i, part in enumerate(data)]
        return add_operation(graph, "Assert", tensors, {"summarize": 3 if summarize is None else summarize}, scope)


def py_func(
    func: Callable[..., Any],
    inp: Sequence[TensorLike],
    Tout: DTypeLike | Sequence[DTypeLike],  # noqa: N803 - TensorFlow's name
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Return what a Python function makes of arrays when the graph runs; no gradient goes through it."""
    several = isinstance(Tout, (list, tuple))
    dtypes = [as_dtype(dtype) for dtype in leaves(Tout)]
    tensors = [convert(part) for part in inp]
    attrs = {"function": func, "Tout": dtypes}
    outputs = list(add_operation(common_graph(*tensors), "PyFunc", tensors, attrs, name).outputs)
    return outputs if several or not outputs else outputs[0]


def string_join(inputs: Sequence[TensorLike], separator: str = "", name: str | None = None) -> Tensor:
    """Return texts one after the other, element by element."""
    labels = " ".join(f"inputs_{i}" for i in range(len(inputs)))
    return apply("StringJoin", labels, inputs, name, separator=separator)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **declare_functions(DECLARED),
    **{f"reduce_{type.lower()}": partial(_reduction, type) for type in REDUCTIONS},
    **{function.__name__: function for function in (
        placeholder, random_normal, random_uniform, truncated_normal, transpose, concat, stack, unstack, matmul,
        truediv, clip_by_value, add_n, cast, group, where, eye, div, one_hot, py_func, string_join,
    )},
    "Print": print_, "tuple": all_at_once, "split": split_along, "Assert": assert_,
    **{f"to_{kind}": partial(to_dtype, kind, {"float": "float32", "double": "float64"}.get(kind, kind))
       for kind in ("float", "double", "int32", "int64")},
    "argmax": partial(place_of_extreme, "ArgMax"), "argmin": partial(place_of_extreme, "ArgMin"),
    "arg_max": lambda input, dimension, output_type="int64", name=None: (
        place_of_extreme("ArgMax", input, dimension, name, None, output_type)
    ),
    "arg_min": lambda input, dimension, output_type="int64", name=None: (
        place_of_extreme("ArgMin", input, dimension, name, None, output_type)
    ),
    "pad": lambda tensor, paddings, mode="CONSTANT", name=None, constant_values=0: (
        refuse(mode != "CONSTANT" or constant_values != 0, "gviz pads with zeros only", ValueError)
        or apply("Pad", "tensor paddings:int", [tensor, paddings], name)
    ),
    "slice": lambda input_, begin, size, name=None: (
        apply("Slice", "input_ begin:int size:int", [input_, begin, size], name)
    ),
    "cumsum": lambda x, axis=0, exclusive=False, reverse=False, name=None: (
        apply("Cumsum", "x axis:int", [x, axis], name, exclusive=exclusive, reverse=reverse)
    ),
    "set_random_seed": lambda seed: get_default_graph().extras.update(seed=seed),
    "device": lambda device_name_or_function: get_default_graph().device(device_name_or_function),
    "zeros": zeros, "ones": ones, "zeros_like": zeros_like, "ones_like": partial(like, "ones_like", ones),
    "shape": shape, "rank": rank, "size": size, "range": range_,
    "placeholder_with_default": lambda input, shape, name=None: (
        apply("PlaceholderWithDefault", "input", [input], name, shape=as_shape(shape))
    ),
    "squeeze": lambda input, axis=None, name=None, squeeze_dims=(): (
        apply("Squeeze", "input", [input], name, axis=tuple(np.ravel(squeeze_dims if axis is None else axis).tolist()))
    ),
    "round": lambda x, name=None: x if convert(x).dtype.is_integer else make("Round", [convert(x, name="x")], name),
    "divide": lambda x, y, name=None: truediv(numerator(x, y), y, name),
    "get_collection": lambda key, scope=None: get_default_graph().get_collection(key, scope),
    "add_to_collection": lambda name, value: get_default_graph().add_to_collection(name, value),
    "no_op": lambda name=None: add_operation(get_default_graph(), "NoOp", name=name),
    "control_dependencies": lambda control_inputs: get_default_graph().control_dependencies(control_inputs),
    "name_scope": lambda name, default_name=None, values=None: get_default_graph().name_scope(name or default_name),
}  # fmt: skip
NN: dict[str, Callable[..., Tensor]] = {
    **declare_functions({"features": "relu elu selu softplus", "value bias": "bias_add"}),
    "softmax": partial(along_the_last, "Softmax"), "log_softmax": partial(along_the_last, "LogSoftmax"),
    "sigmoid": FUNCTIONS["sigmoid"], "tanh": FUNCTIONS["tanh"],
    "leaky_relu": lambda features, alpha=0.2, name=None: apply("LeakyRelu", "features", [features], name, alpha=alpha),
    CROSS_ENTROPY: cross_entropy_of_constants, f"{CROSS_ENTROPY}_v2": cross_entropy,
}  # fmt: skip
"""The functions of ``tf.`` and of ``tf.nn``."""

# ------------------------------------------------------------------ operators
OPERATORS = {
    "add": "AddV2", "sub": "Sub", "mul": "Mul", "truediv": "RealDiv", "floordiv": "FloorDiv", "mod": "FloorMod", "pow": "Pow",
    "matmul": "MatMul", "and": "LogicalAnd", "or": "LogicalOr", "xor": "LogicalXor",
}  # fmt: skip
NAMED = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "neg": "negative", "abs": "abs", "invert": "logical_not",
}  # fmt: skip
OWN_RULES: dict[str, Callable[..., Tensor]] = {"RealDiv": truediv, "MatMul": matmul}


def apply_operator(self: TensorLike, type: str, default: str, swapped: bool, other: TensorLike) -> Tensor:
    """Return what Python's operator means: the tensor decides the dtype, on whichever side it is."""
    me = convert(self)
    with operation_scope(me.graph, None, default) as scope:
        pair = [convert(other, me.dtype.base_dtype, "x"), me] if swapped else [me, other]
        if type in OWN_RULES:
            return OWN_RULES[type](*pair, name=scope)
        return apply(type, "x y~" if type == "AddV2" else "x y", pair, scope)


def install_operators(cls: Any) -> None:
    """Give a class of tensors Python's operators."""
    for python, type in OPERATORS.items():
        setattr(cls, f"__{python}__", partialmethod(apply_operator, type, python, False))
        setattr(cls, f"__r{python}__", partialmethod(apply_operator, type, python, True))
    for python, name in NAMED.items():
        setattr(cls, f"__{python}__", FUNCTIONS[name])
    cls.__getitem__ = getitem


install_operators(Tensor)
