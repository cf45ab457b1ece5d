"""The functions that build operations, under TensorFlow's names: mathematics, shapes, and what tensors' operators mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.static.convert import constant, convert, graph_of, make, named
from gviz.static.dtypes import as_dtype, bool_, float32, int32
from gviz.static.graph import Operation, Tensor, get_default_graph
from gviz.static.shapes import as_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gviz.static.dtypes import DType


# ------------------------------------------------------------------ sources
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
    graph = graph_of(input)
    with named(graph, name, "PlaceholderWithDefault") as scope:
        value = convert(input, name="input")
        return make("PlaceholderWithDefault", [value], scope, dtype=value.dtype, shape=as_shape(shape))


def filled(default: str, number: int) -> Callable[..., Tensor]:
    """``zeros`` and ``ones``."""

    def build(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
        if isinstance(shape, Tensor):
            with named(shape.graph, name, default) as scope:
                return make("Fill", [shape, constant(number, dtype)], scope, dtype=as_dtype(dtype))
        return constant(number, dtype, as_shape(shape), name or default)

    return build


def filled_like(default: str, number: int, type: str) -> Callable[..., Tensor]:
    """``zeros_like`` and ``ones_like``."""

    def build(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
        x = convert(tensor)
        kind = x.dtype.base_dtype if dtype is None else as_dtype(dtype)
        if x.shape.is_fully_defined():
            with x.graph.as_default():
                return constant(number, kind, x.shape.as_list(), name or default)
        return make(type, [x], name or default)

    return build


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of that shape with one value everywhere."""
    with named(graph_of(dims, value), name, "Fill") as scope:
        size, number = convert(dims, name="dims"), convert(value, name="value")
        return make("Fill", [size, number], scope, dtype=number.dtype.base_dtype)


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    return constant(np.eye(num_rows, num_columns), as_dtype(dtype), name=name or "eye")


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Normally distributed numbers, drawn anew each run (numpy's, not TensorFlow's: the same seed gives others)."""
    kind = as_dtype(dtype)
    with named(get_default_graph(), name, "random_normal") as scope:
        size = convert(shape, int32, "shape")
        centre, width = constant(mean, kind, name="mean"), constant(stddev, kind, name="stddev")
        drawn = make("RandomStandardNormal", [size], dtype=kind, seed=seed)
        return make("AddV2", [make("Mul", [drawn, width], "mul"), centre], scope)


def random_uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Uniformly distributed numbers, drawn anew each run (numpy's, not TensorFlow's).

    Raises:
        ValueError: integers without an upper bound.
    """
    kind = as_dtype(dtype)
    if maxval is None and kind.is_integer:
        raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
    with named(get_default_graph(), name, "random_uniform") as scope:
        size = convert(shape, int32, "shape")
        low, high = convert(minval, kind, "min"), convert(1 if maxval is None else maxval, kind, "max")
        if kind.is_integer:
            return make("RandomUniformInt", [size, low, high], scope, dtype=kind, seed=seed)
        drawn = make("RandomUniform", [size], dtype=kind, seed=seed)
        return make("AddV2", [make("Mul", [drawn, make("Sub", [high, low], "sub")], "mul"), low], scope)


# ------------------------------------------------------------------ one and two operands
def unary(type: str, default: str | None = None) -> Callable[..., Tensor]:
    """A function of one tensor."""

    def build(x: Any, name: str | None = None) -> Tensor:
        with graph_of(x).as_default():
            return make(type, [operand(x, name or default or type)], name or default)

    return build


def operand(x: Any, name: str, letter: str = "x") -> Tensor:
    """What is no tensor becomes a constant below the operation's name."""
    read = getattr(x, "_read", x)
    if isinstance(read, Tensor):
        return read
    graph = get_default_graph()
    scope = graph.names.scope
    graph.names.scope = f"{scope}{graph.names.unique(name, use_up=False)[len(scope) :]}/"
    try:
        return convert(x, name=letter)
    finally:
        graph.names.scope = scope


def binary(type: str, default: str) -> Callable[..., Tensor]:
    """A function of two operands; the second takes the dtype of the first."""

    def build(x: Any, y: Any, name: str | None = None) -> Tensor:
        with named(graph_of(x, y), name, default) as scope:
            one = convert(x, name="x")
            return make(type, [one, convert(y, as_operand(y, one), "y")], scope)

    return build


def as_operand(value: Any, beside: Tensor) -> DType | None:
    """The dtype for an operand: that of the one beside it, for what is no tensor itself."""
    return None if isinstance(getattr(value, "_read", value), Tensor) else beside.dtype.base_dtype


def operator(type: str, default: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """Python's operator: the tensor decides the dtype, on whichever side it is."""

    def build(self: Tensor, other: Any) -> Any:
        if other is None:
            raise ValueError("None values not supported.")
        me = convert(self)
        with named(me.graph, None, default) as scope:
            beside = convert(other, as_operand(other, me), "x" if swapped else "y")
            return make(type, [beside, me] if swapped else [me, beside], scope)

    return build


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None, **ignored: Any
) -> Tensor:
    """The product of matrices, or of stacks of them."""
    with named(graph_of(a, b), name, "MatMul") as scope:
        left = convert(a, name="a")
        right = convert(b, as_operand(b, left), "b")
        plain = all(t.shape.rank in (2, None) for t in (left, right)) and 2 in (left.shape.rank, right.shape.rank)
        type = "MatMul" if plain or left.shape.rank == 1 or right.shape.rank == 1 else "BatchMatMulV2"
        return make(type, [left, right], scope, transpose_a=transpose_a, transpose_b=transpose_b)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """``x`` where it is positive, ``alpha * x`` else."""
    return make("LeakyRelu", [convert(features)], name, alpha=alpha)


def softmax(type: str) -> Callable[..., Tensor]:
    """``softmax`` and ``log_softmax`` along the last axis.

    Raises:
        ValueError: along another one.
    """

    def build(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
        x = convert(logits)
        along = dim if axis is None else axis
        if along not in (None, -1, (x.shape.rank or 0) - 1):
            raise ValueError(f"gviz has {type} along the last axis only, not along axis {along}: transpose first")
        return make(type, [x], name)

    return build


def cross_entropy(labels: Any = None, logits: Any = None, axis: int = -1, name: str | None = None, **ignored: Any) -> Tensor:
    """The cross entropy of rows of probabilities (labels) and of logits."""
    with named(graph_of(labels, logits), name, "softmax_cross_entropy_with_logits") as scope:
        given = convert(logits, name="logits")
        return make("SoftmaxCrossEntropyWithLogits", [given, convert(labels, given.dtype.base_dtype, "labels")], scope)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Tensor:
    """Values kept between two bounds."""
    x = convert(t)
    with named(x.graph, name, "clip_by_value") as scope:
        kept = binary("Minimum", "Minimum")(x, clip_value_max)
        return make("Maximum", [kept, convert(clip_value_min, as_operand(clip_value_min, x), "y")], scope)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of several tensors; of one, that one itself.

    Raises:
        ValueError: there are none.
    """
    if not inputs:
        raise ValueError("inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.")
    tensors = [convert(t) for t in inputs]
    return tensors[0] if len(tensors) == 1 and not name else make("AddN", tensors, name)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``x`` where the condition holds, else ``y``.

    Raises:
        ValueError: one of them is missing.
    """
    if x is None or y is None:
        raise ValueError("x and y must both be non-None: gviz has no tf.where of a condition alone")
    with named(graph_of(condition, x, y), name, "Select") as scope:
        one = convert(x, None if isinstance(x, Tensor) or not isinstance(y, Tensor) else y.dtype.base_dtype, "t")
        return make("Select", [convert(condition, bool_, "condition"), one, convert(y, as_operand(y, one), "e")], scope)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """In another dtype; a tensor that has it is given back."""
    kind = as_dtype(dtype)
    tensor = convert(x, name="x")
    return tensor if tensor.dtype.base_dtype == kind else make("Cast", [tensor], name, DstT=kind)


# ------------------------------------------------------------------ reductions
def reduction(type: str) -> Callable[..., Tensor]:
    """A reduction over some axes, or over all."""

    def build(
        input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None,
        reduction_indices: Any = None, keep_dims: Any = None,
    ) -> Tensor:  # fmt: skip
        x = convert(input_tensor, name="input_tensor")
        along = reduction_indices if axis is None else axis
        keep = bool(keep_dims if keepdims is None else keepdims)
        with x.graph.as_default():
            if along is None:
                return make(type, [x, all_axes(x)], name, keep_dims=keep)
            with named(x.graph, name, type) as scope:
                axes = convert(along, int32 if not isinstance(along, Tensor) else None, "reduction_indices")
                return make(type, [x, axes], scope, keep_dims=keep)

    return build


def all_axes(x: Tensor) -> Tensor:
    """The numbers of all dimensions: known for most tensors, else worked out when the graph runs."""
    rank = x.shape.rank
    if rank:
        return constant(np.arange(rank, dtype=np.int32))
    length = constant(np.int32(0), name="Rank") if rank == 0 else make("Rank", [x])
    with named(x.graph, None, "range") as scope:
        return make("Range", [constant(0, int32, name="start"), length, constant(1, int32, name="delta")], scope)


def argmax(input: Any, axis: int = 0, name: str | None = None, dimension: int | None = None, **ignored: Any) -> Tensor:
    """Where the greatest element along an axis is."""
    x = convert(input)
    with named(x.graph, name, "ArgMax") as scope:
        return make("ArgMax", [x, constant(axis if dimension is None else dimension, int32, name="dimension")], scope)


# ------------------------------------------------------------------ shapes
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements in another shape; -1 stands for what is left."""
    with named(graph_of(tensor, shape), name, "Reshape") as scope:
        x = convert(tensor, name="tensor")
        return make("Reshape", [x, convert(shape, as_shape_dtype(shape), "shape")], scope)


def as_shape_dtype(shape: Any) -> DType | None:
    """The dtype for a shape that is given in numbers."""
    return None if isinstance(shape, Tensor) else int32


def transpose(a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False) -> Tensor:
    """Dimensions in another order, reversed where none is given.

    Raises:
        ValueError: no order, and the rank is unknown.
    """
    x = convert(a)
    with named(x.graph, name, "transpose") as scope:
        if perm is None and x.shape.rank is None:
            raise ValueError(f"{x}: its rank is unknown, so gviz cannot reverse its dimensions; give perm=")
        order = np.arange(x.shape.rank or 0)[::-1] if perm is None else perm
        return make("Transpose", [x, convert(order, as_shape_dtype(order), "perm")], scope)


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one after the other along an axis; of one tensor, itself below the operation's name."""
    parts = list(values) if isinstance(values, (list, tuple)) else [values]
    with named(graph_of(*parts), name, "concat") as scope:
        tensors = [convert(p, name="values") for p in parts]
        if len(tensors) == 1:
            constant(axis, int32, name="concat_dim")
            return make("Identity", tensors, "concat")
        return make("ConcatV2", [*tensors, constant(axis, int32, name="axis")], scope)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape along a new axis."""
    with named(graph_of(*values), name, "stack") as scope:
        first = next((convert(v) for v in values if isinstance(getattr(v, "_read", v), Tensor)), None)
        parts = [convert(v, None if first is None else as_operand(v, first), f"values_{i}") for i, v in enumerate(values)]
        return make("Pack", parts, scope, axis=axis)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """A tensor's parts along an axis.

    Raises:
        ValueError: how many there are is unknown.
    """
    x = convert(value)
    count = num if num is not None else None if x.shape.rank is None else x.shape[axis]
    if count is None:
        raise ValueError(f"Cannot infer argument `num` from shape {x.shape}")
    return list(x.graph.create_op("Unpack", [x], {"axis": axis, "num": count}, name).outputs)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """With a length of one more."""
    x = convert(input)
    with named(x.graph, name, "ExpandDims") as scope:
        return make("ExpandDims", [x, constant(dim if axis is None else axis, int32, name="dim")], scope)


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """Without lengths of one."""
    axes = squeeze_dims if axis is None else axis
    return make("Squeeze", [convert(input)], name, axis=() if axes is None else tuple(np.ravel(axes).tolist()))


def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """A tensor's shape, as a constant where it is known."""
    x = convert(input)
    kind = as_dtype(out_type)
    if x.shape.is_fully_defined():
        with x.graph.as_default():
            return constant(np.array(x.shape.as_list(), kind.as_numpy_dtype), name=name or "Shape")
    return make("Shape", [x], name, out_type=kind)


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions, as a constant where it is known."""
    x = convert(input)
    if x.shape.rank is None:
        return make("Rank", [x], name)
    with x.graph.as_default():
        return constant(x.shape.rank, int32, name=name or "Rank")


def size(input: Any, name: str | None = None) -> Tensor:
    """The number of elements, as a constant where it is known."""
    x = convert(input)
    count = x.shape.num_elements()
    if count is None:
        return make("Size", [x], name)
    with x.graph.as_default():
        return constant(count, int32, name=name or "Size")


def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """Numbers from start to limit, limit not among them."""
    first, last = (0, start) if limit is None else (start, limit)
    with named(graph_of(first, last, delta), name, "range") as scope:
        kind = None if dtype is None else as_dtype(dtype)
        ends = [convert(v, kind, letter) for v, letter in ((first, "start"), (last, "limit"), (delta, "delta"))]
        return make("Range", ends, scope)


def gather(params: Any, indices: Any, axis: int = 0, name: str | None = None, **ignored: Any) -> Tensor:
    """Rows, picked by number.

    Raises:
        ValueError: along another axis than the first.
    """
    if axis:
        raise ValueError(f"gviz has tf.gather along axis 0 only, not along axis {axis}: transpose first")
    with named(graph_of(params, indices), name, "GatherV2") as scope:
        rows = [convert(params, name="params"), convert(indices, name="indices"), constant(0, int32, name="axis")]
        return make("GatherV2", rows, scope)


def getitem(self: Any, index: Any) -> Tensor:
    """``x[...]``: numbers, slices, None and ``...``.

    Raises:
        TypeError: another kind of index.
    """
    x = convert(self)
    entries = index if isinstance(index, tuple) else (index,)
    begin, end, step = [], [], []
    for entry in entries:
        if isinstance(entry, slice):
            parts = [entry.start, entry.stop, entry.step]
        elif entry is None or entry is Ellipsis:
            parts = [0, 0, 1]
        elif isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
            parts = [int(entry), int(entry) + 1, 1]
        else:
            raise TypeError(
                "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid "
                f"indices, got {entry!r}"
            )
        if any(isinstance(p, Tensor) for p in parts):
            raise TypeError(f"gviz slices by numbers that are known while building, not by the tensor {entry!r}: use tf.gather")
        for into, part, default in zip((begin, end, step), parts, (0, 0, 1), strict=True):
            into.append(default if part is None else int(part))
    with named(x.graph, None, "strided_slice") as scope:
        ends = [constant(v, int32, name=n) for v, n in ((begin, "stack"), (end, "stack_1"), (step, "stack_2"))]
        return make("StridedSlice", [x, *ends], scope, index=entries)


# ------------------------------------------------------------------ order of running
def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; others can be made to run before it."""
    return get_default_graph().create_op("NoOp", (), {}, name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that runs all of these."""
    flat = [item for given in inputs for item in (given if isinstance(given, (list, tuple)) else (given,))]
    before = [getattr(getattr(item, "_ref", item), "op", item) for item in flat]
    return graph_of(*before).create_op("NoOp", (), {}, name or "group_deps", control=list(dict.fromkeys(before)))


def control_dependencies(control_inputs: Any) -> Any:
    """Have operations made inside run after these."""
    return get_default_graph().control_dependencies(control_inputs)


def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Any:
    """Put a scope in front of all names made inside."""
    return get_default_graph().name_scope(default_name if name is None and default_name else name)


# ------------------------------------------------------------------ operators
OPERATORS = {
    "add": ("AddV2", "add"), "sub": ("Sub", "sub"), "mul": ("Mul", "mul"), "truediv": ("RealDiv", "truediv"),
    "floordiv": ("FloorDiv", "floordiv"), "mod": ("FloorMod", "mod"), "pow": ("Pow", "pow"), "and": ("LogicalAnd", "and"),
    "or": ("LogicalOr", "or"), "xor": ("LogicalXor", "xor"),
}  # fmt: skip
ORDER = {"lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}


def install(cls: Any) -> None:
    """Give a class of tensors Python's operators."""
    for python, (type, default) in OPERATORS.items():
        setattr(cls, f"__{python}__", operator(type, default))
        setattr(cls, f"__r{python}__", operator(type, default, swapped=True))
    for python, type in ORDER.items():
        setattr(cls, f"__{python}__", operator(type, type))
    cls.__matmul__ = lambda self, other: matmul(self, other, name="matmul")
    cls.__rmatmul__ = lambda self, other: matmul(other, self, name="matmul")
    cls.__neg__ = unary("Neg")
    cls.__abs__ = unary("Abs")
    cls.__invert__ = unary("LogicalNot")
    cls.__getitem__ = getitem


install(Tensor)
