"""The operation types: what each computes, what it gives, and which row of the engine's table its derivative is.

A type names a function of the engine's own operation table (``gviz.engine.ops``) and how the operation's inputs become that
function's arguments. The compiled plan calls that function on arrays; ``tf.gradients`` reads the derivative that the same row
declares. What TensorFlow has and the table has not (slices, shapes, random numbers) is in :data:`OWN`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gviz.static import shapes
from gviz.static.dtypes import DTYPES, as_dtype, bool_, int32

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.static.dtypes import DType
    from gviz.static.graph import Operation, Tensor
    from gviz.static.shapes import Dims

__all__ = ["OWN", "TYPES", "OpType", "constant_value", "kind_of"]

Outputs: TypeAlias = "list[tuple[DType, Dims]]"
Call: TypeAlias = "tuple[str, tuple[Any, ...]]"


@dataclass(frozen=True)
class OpType:
    """One type of operation.

    Args:
        infer: dtypes and shapes of its outputs; raises ValueError or TypeError for inputs that it cannot take.
        call: the function that computes it, by its key, and its arguments, tensors among them; None for what the plan writes itself.
        gradient: how ``tf.gradients`` goes on: "row" by the derivative of that function, "pass" on unchanged to the first input, "all" to
            each input, None not at all; or (key, arguments) of another function whose derivative it has.
        stateful: whether two runs may differ, so that it is neither folded nor shared.
    """

    infer: Callable[[Operation], Outputs]
    call: Callable[[Operation], Call] | None = None
    gradient: str | None | Callable[[Operation], Call] = "row"
    stateful: bool = False


def constant_value(tensor: Tensor) -> Any:
    """The value of a tensor that is known while building, else None."""
    return tensor.op.attrs["value"] if tensor.op.type == "Const" else None


def dims_of(tensor: Tensor) -> Dims:
    """What is known of its shape, as a tuple."""
    return tensor._dims  # noqa: SLF001 - the shape without its public wrapper


# ------------------------------------------------------------------ dtypes and shapes of results
def like_first(op: Operation) -> Outputs:
    """The first input's."""
    return [(op.inputs[0].dtype.base_dtype, dims_of(op.inputs[0]))]


def same_dtypes(op: Operation) -> DType:
    """The one dtype of all inputs.

    Raises:
        TypeError: they differ.
    """
    first = op.inputs[0].dtype.base_dtype
    for name, tensor in zip("yz", op.inputs[1:], strict=False):
        if tensor.dtype.base_dtype != first:
            raise TypeError(
                f"Input '{name}' of '{op.type}' Op has type {tensor.dtype.base_dtype.name} that does not match type {first.name} of "
                "argument 'x'."
            )
    return first


def clash(op: Operation, problem: ValueError) -> ValueError:
    """A clash of shapes, with the node and its inputs, in TensorFlow's words."""
    kind = "" if not op.inputs else f"[T=DT_{op.inputs[0].dtype.base_dtype.cpp.upper()}]"
    given = ", ".join(t.op.name if t.value_index == 0 else t.name for t in op.inputs)
    sizes = ", ".join(shapes.listed(dims_of(t)) for t in op.inputs)
    return ValueError(f"{problem} for '{{{{node {op.name}}}}} = {op.type}{kind}({given})' with input shapes: {sizes}.")


def elementwise(op: Operation) -> Outputs:
    """Of several operands, broadcast."""
    dtype = same_dtypes(op)
    try:
        return [(dtype, reduce(shapes.broadcast, [dims_of(t) for t in op.inputs]))]
    except ValueError as problem:
        raise clash(op, problem) from None


def comparison(op: Operation) -> Outputs:
    """The same, as booleans."""
    return [(bool_, elementwise(op)[0][1])]


def product(op: Operation) -> Outputs:
    """Of matrices."""
    dtype = same_dtypes(op)
    sides = [dims_of(t) for t in op.inputs]
    for i, flag in enumerate(("transpose_a", "transpose_b")):
        if op.attrs.get(flag) and sides[i] is not None:
            sides[i] = (*sides[i][:-2], sides[i][-1], sides[i][-2])  # type: ignore[index]
    try:
        return [(dtype, shapes.matmul(*sides))]
    except ValueError as problem:
        raise clash(op, problem) from None


def axes_of(op: Operation) -> tuple[int, ...] | None:
    """The axes of a reduction; None for all of them."""
    value = constant_value(op.inputs[1])
    if value is None:
        return None
    axes = tuple(int(a) for a in np.ravel(value))
    dims = dims_of(op.inputs[0])
    return None if dims is not None and sorted(a % len(dims) for a in axes if dims) == list(range(len(dims))) else axes


def reduction(dtype: DType | None = None) -> Callable[[Operation], Outputs]:
    """Over some axes."""

    def infer(op: Operation) -> Outputs:
        own = dtype or op.inputs[0].dtype.base_dtype
        try:
            return [(own, shapes.reduced(dims_of(op.inputs[0]), axes_of(op), op.attrs.get("keep_dims", False)))]
        except ValueError as problem:
            raise clash(op, problem) from None

    return infer


def reshaped(op: Operation) -> Outputs:
    """Into a given shape, in which -1 stands for what is left."""
    own, size = op.inputs[0].dtype.base_dtype, constant_value(op.inputs[1])
    if size is None:
        return [(own, None)]
    wanted = [int(n) for n in np.ravel(size)]
    have = op.inputs[0].shape.num_elements()
    known = math.prod(n for n in wanted if n != -1)
    if have is not None and (have != known if -1 not in wanted else known and have % known):
        raise ValueError(
            f"Cannot reshape a tensor with {have} elements to shape {shapes.listed(tuple(wanted))} ({known} elements) for "
            f"'{{{{node {op.name}}}}} = Reshape' with input shapes: {shapes.listed(dims_of(op.inputs[0]))}, [{len(wanted)}]."
        )
    rest = have // known if have is not None and known else None
    return [(own, tuple(rest if n == -1 else n for n in wanted))]


def permuted(op: Operation) -> Outputs:
    """Dims in another order."""
    order, dims = constant_value(op.inputs[1]), dims_of(op.inputs[0])
    if order is None or dims is None:
        return [(op.inputs[0].dtype.base_dtype, None if order is None else (None,) * len(order))]
    if len(order) != len(dims):
        raise clash(op, ValueError(f"Dimension must be {len(dims)} but is {len(order)}"))
    return [(op.inputs[0].dtype.base_dtype, tuple(dims[i] for i in order))]


def joined(op: Operation) -> Outputs:
    """One after the other along an axis."""
    *parts, where = op.inputs
    axis, known = constant_value(where), [dims_of(t) for t in parts]
    if axis is None or any(k is None for k in known):
        return [(parts[0].dtype.base_dtype, None)]
    first = known[0] or ()
    axis = int(axis) % len(first)
    for other in known[1:]:
        if len(other or ()) != len(first) or not shapes.fits(
            (*first[:axis], *first[axis + 1 :]), (*other[:axis], *other[axis + 1 :])
        ):  # type: ignore[index]
            raise clash(op, ValueError(f"Dimension {0 if axis else 1} in both shapes must be equal"))
    lengths = [k[axis] for k in known if k is not None]
    total = None if None in lengths else sum(n for n in lengths if n is not None)
    rest = reduce(shapes.merged, known) or ()
    return [(parts[0].dtype.base_dtype, (*rest[:axis], total, *rest[axis + 1 :]))]


def packed(op: Operation) -> Outputs:
    """Stacked along a new axis."""
    known = [dims_of(t) for t in op.inputs]
    if not all(shapes.fits(known[0], other) for other in known[1:]):
        raise clash(op, ValueError("Shapes must be equal rank, or their dimensions differ"))
    inner = reduce(shapes.merged, known)
    if inner is None:
        return [(same_dtypes(op), None)]
    axis = op.attrs["axis"] % (len(inner) + 1)
    return [(same_dtypes(op), (*inner[:axis], len(op.inputs), *inner[axis:]))]


def unpacked(op: Operation) -> Outputs:
    """Taken apart along an axis."""
    dims, axis = dims_of(op.inputs[0]) or (), op.attrs["axis"]
    rest = tuple(n for i, n in enumerate(dims) if i != axis % len(dims))
    return [(op.inputs[0].dtype.base_dtype, rest)] * op.attrs["num"]


def sliced(op: Operation) -> Outputs:
    """Some of the elements: what numpy makes of an example of that shape, unknown lengths staying unknown where they are sliced."""
    own, dims, index = op.inputs[0].dtype.base_dtype, dims_of(op.inputs[0]), op.attrs["index"]
    if dims is None:
        return [(own, None)]
    taken = [i for i in index if i is not None and i is not Ellipsis]
    if len(taken) > len(dims):
        raise ValueError(f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims for '{op.name}'")
    out: list[int | None] = []
    rest = iter(dims)
    for entry in index if Ellipsis in index else (*index, Ellipsis):
        if entry is None:
            out.append(1)
        elif entry is Ellipsis:
            out.extend(next(rest) for _ in range(len(dims) - len(taken)))
        elif isinstance(entry, slice):
            size = next(rest)
            out.append(size if entry == slice(None) else None if size is None else len(range(*entry.indices(size))))
        else:
            size = next(rest)
            if size is not None and not -size <= entry < size:
                raise ValueError(
                    f"slice index {entry} of dimension {len(dims) - len(list(rest)) - 1} out of bounds for '{op.name}'"
                )
    return [(own, tuple(out))]


def given(op: Operation) -> Outputs:
    """As the operation says."""
    return [(op.attrs["dtype"], op.attrs.get("shape"))]


def constant(op: Operation) -> Outputs:
    """That of its value."""
    return [(op.attrs["dtype"], op.attrs["value"].shape)]


def filled(op: Operation) -> Outputs:
    """The shape is a value."""
    size = constant_value(op.inputs[0])
    return [(op.attrs["dtype"], None if size is None else tuple(int(n) for n in size))]


def squeezed(op: Operation) -> Outputs:
    """Without lengths of one."""
    own, dims, axes = op.inputs[0].dtype.base_dtype, dims_of(op.inputs[0]), op.attrs["axis"]
    if dims is None or (not axes and None in dims):
        return [(own, None)]
    gone = {a % len(dims) for a in axes} if axes else {i for i, n in enumerate(dims) if n == 1}
    if any(dims[i] not in (1, None) for i in gone):
        raise clash(op, ValueError(f"Can not squeeze dim[{min(gone)}], expected a dimension of 1, got {dims[min(gone)]}"))
    return [(own, tuple(n for i, n in enumerate(dims) if i not in gone))]


def unsqueezed(op: Operation) -> Outputs:
    """With a length of one more."""
    own, dims, axis = op.inputs[0].dtype.base_dtype, dims_of(op.inputs[0]), constant_value(op.inputs[1])
    if dims is None or axis is None:
        return [(own, None)]
    place = int(axis) % (len(dims) + 1)
    return [(own, (*dims[:place], 1, *dims[place:]))]


def tried(op: Operation) -> Outputs:
    """Of a call that no shape function describes: what it makes of zeros, where all shapes are known and small."""
    key, args = op.attrs["call"](op)
    first = next((t for t in op.inputs if t.dtype.is_floating), op.inputs[0]).dtype.base_dtype
    if not all(t.shape.is_fully_defined() and (t.shape.num_elements() or 0) <= SMALL for t in op.inputs):
        return [(first, None)]
    from gviz.static.plan import function_of

    def zeros(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(zeros(v) for v in value)
        return np.zeros(dims_of(value), value.dtype.as_numpy_dtype) if hasattr(value, "_dims") else value

    with np.errstate(all="ignore"):
        example = np.asarray(function_of(key)(*zeros(args)))
    return [(as_dtype(example.dtype), example.shape)]


SMALL = 10_000


# ------------------------------------------------------------------ functions that the engine's table has not
def getitem(x: Any, index: Any) -> Any:
    """Some of the elements."""
    return x[index]


def add_up(parts: Any) -> Any:
    """The sum of several."""
    return reduce(lambda a, b: a + b, parts)


def spread_sum(grad: Any, x: Any) -> Any:
    """A gradient summed back to the shape that was broadcast."""
    want, have = x.shape, grad.shape
    if want == have:
        return grad
    lead = len(have) - len(want)
    axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(want) if n == 1 and have[i + lead] != 1)
    return grad.sum(axis=axes, keepdims=True).reshape(want) if axes else grad.reshape(want)


def products_of(x: Any, y: Any, left: bool, right: bool) -> Any:
    """A product of matrices, each transposed or not."""
    return (x.swapaxes(-2, -1) if left else x) @ (y.swapaxes(-2, -1) if right else y)


def squared_difference(x: Any, y: Any) -> Any:
    """``(x - y) ** 2``."""
    return (x - y) * (x - y)


def cross_entropy(labels: Any, logits: Any) -> Any:
    """The cross entropy of rows of probabilities and of logits."""
    from gviz.static.plan import function_of

    if isinstance(logits, np.ndarray):
        return -(labels * function_of("log_softmax_row")(logits, -1)).sum(axis=-1)
    return -(labels * logits.log_softmax(-1)).sum(-1)


OWN: dict[str, Callable[..., Any]] = {
    "getitem": getitem, "add_n": add_up, "spread_sum": spread_sum, "products": products_of,
    "squared_difference": squared_difference, "cross_entropy": cross_entropy,
    "shape_of": lambda x, kind: np.array(np.shape(x), kind), "rank_of": lambda x: np.int32(np.ndim(x)),
    "size_of": lambda x: np.int32(np.size(x)), "sizes": np.shape, "numel": np.size,
    "strides": lambda x: tuple(s // x.itemsize for s in x.strides), "fill": lambda size, value: np.full(tuple(size), value),
    "range": lambda start, limit, delta: np.arange(start, limit, delta, dtype=np.asarray(start).dtype), "ones_like": np.ones_like,
    "take_rows": lambda x, places: x[places], "square": np.square, "pass": lambda x: x,
}  # fmt: skip


# ------------------------------------------------------------------ the types
def inputs(key: str, *more: Any) -> Callable[[Operation], Call]:
    """A call of a function with the operation's inputs, and some fixed arguments."""
    return lambda op: (key, (*op.inputs, *more))


def reduce_call(over_all: str, over_some: str) -> Callable[[Operation], Call]:
    """A reduction over all axes or over some."""

    def call(op: Operation) -> Call:
        axes, keep = axes_of(op), op.attrs.get("keep_dims", False)
        x = op.inputs[0]
        if axes is None and not keep:
            return over_all, (x,) if over_all != over_some else (x, (), False)
        if axes is None:
            axes = tuple(range(len(dims_of(x) or ())))
        if over_some == "prod_dim":
            if len(axes) > 1:
                raise ValueError(f"'{op.name}': gviz multiplies along one axis or along all; reduce the axes {axes} one by one")
            return over_some, (x, axes[0], keep)
        return over_some, (x, axes, keep)

    return call


def halves(condition: str) -> Callable[[Operation], Call]:
    """Of two operands the one that a comparison picks: in ties TensorFlow's gradient goes to the first alone."""

    def derived(op: Operation) -> Call:
        from gviz.static.convert import make

        return "where", (make(condition, op.inputs), *op.inputs)

    return derived


UNARY = {
    "Log": "log", "Exp": "exp", "Sqrt": "sqrt", "Rsqrt": "rsqrt", "Neg": "neg", "Abs": "absolute", "Sign": "sign", "Sin": "sin",
    "Cos": "cos", "Tan": "tan", "Tanh": "tanh", "Sigmoid": "sigmoid", "Relu": "relu", "Softplus": "softplus", "Elu": "elu",
    "Log1p": "log1p", "Expm1": "expm1", "Erf": "erf", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh",
    "Cosh": "cosh", "Reciprocal": "reciprocal", "ZerosLike": "zeros_like", "LogicalNot": "logical_not", "IsNan": "isnan",
}  # fmt: skip
WITHOUT_GRADIENT = {"Floor": "floor", "Ceil": "ceil", "Rint": "round_even"}
BINARY = {"AddV2": "add", "Sub": "sub", "Mul": "mul", "RealDiv": "div", "Pow": "pow_tensor"}
UNDIVIDED = {"FloorDiv": "floor_divide", "FloorMod": "remainder"}
COMPARISONS = {
    "Less": "less", "LessEqual": "less_equal", "Greater": "greater", "GreaterEqual": "greater_equal", "Equal": "equal",
    "NotEqual": "not_equal", "LogicalAnd": "logical_and", "LogicalOr": "logical_or",
}  # fmt: skip
REDUCTIONS = {
    "Sum": ("sum_all", "sum_dim"), "Mean": ("mean_all", "mean_dim"), "Max": ("amax", "amax"), "Min": ("amin", "amin"),
    "Prod": ("prod_all", "prod_dim"),
}  # fmt: skip


def random(op: Operation) -> Outputs:
    """The shape is a value, the dtype an attribute."""
    size = constant_value(op.inputs[0])
    return [(op.attrs["dtype"], None if size is None else tuple(int(n) for n in size))]


def nothing(op: Operation) -> Outputs:
    """No output."""
    return []


TYPES: dict[str, OpType] = {
    **{name: OpType(like_first, inputs(key)) for name, key in UNARY.items()},
    **{name: OpType(like_first, inputs(key), None) for name, key in WITHOUT_GRADIENT.items()},
    **{name: OpType(elementwise, inputs(key)) for name, key in BINARY.items()},
    **{name: OpType(elementwise, inputs(key), None) for name, key in UNDIVIDED.items()},
    **{name: OpType(comparison, inputs(key), None) for name, key in COMPARISONS.items()},
    **{name: OpType(reduction(), reduce_call(*keys)) for name, keys in REDUCTIONS.items()},
    "All": OpType(reduction(bool_), reduce_call("all_of", "all_of"), None),
    "Any": OpType(reduction(bool_), reduce_call("any_of", "any_of"), None),
    "LogicalXor": OpType(comparison, inputs("logical_xor"), None),
    "Square": OpType(like_first, inputs("square"), lambda op: ("power", (op.inputs[0], 2))),
    "SquaredDifference": OpType(elementwise, inputs("squared_difference")),
    "Maximum": OpType(elementwise, inputs("maximum"), halves("GreaterEqual")),
    "Minimum": OpType(elementwise, inputs("minimum"), halves("LessEqual")),
    "LeakyRelu": OpType(like_first, lambda op: ("leaky_relu", (op.inputs[0], op.attrs["alpha"]))),
    "Softmax": OpType(like_first, inputs("softmax_row", -1)),
    "LogSoftmax": OpType(like_first, inputs("log_softmax_row", -1)),
    "SoftmaxCrossEntropyWithLogits": OpType(
        lambda op: [(op.inputs[0].dtype, None if dims_of(op.inputs[0]) is None else (dims_of(op.inputs[0]) or ())[:-1])],
        lambda op: ("cross_entropy", (op.inputs[1], op.inputs[0])),
    ),
    "AddN": OpType(
        lambda op: [(same_dtypes(op), reduce(shapes.merged, map(dims_of, op.inputs)))],
        lambda op: ("add_n", (op.inputs,)),
        "all",
    ),
    "BiasAdd": OpType(like_first, inputs("add")),
    "MatMul": OpType(product, lambda op: matmul_call(op, "mm")),
    "BatchMatMulV2": OpType(product, lambda op: matmul_call(op, "matmul")),
    "Reshape": OpType(reshaped, lambda op: ("unsafe_view", (op.inputs[0], shape_argument(op.inputs[1])))),
    "Transpose": OpType(permuted, lambda op: ("permute", (op.inputs[0], shape_argument(op.inputs[1])))),
    "ConcatV2": OpType(joined, lambda op: ("cat", (op.inputs[:-1], int(constant_value(op.inputs[-1]))))),
    "Pack": OpType(packed, lambda op: ("stack", (op.inputs, op.attrs["axis"]))),
    "Unpack": OpType(unpacked, lambda op: ("unbind", (op.inputs[0], op.attrs["axis"]))),
    "StridedSlice": OpType(sliced, lambda op: ("getitem", (op.inputs[0], op.attrs["index"]))),
    "GatherV2": OpType(lambda op: gathered(op), lambda op: ("take_rows", op.inputs[:2])),
    "Select": OpType(lambda op: selected(op), inputs("where")),
    "Cast": OpType(
        lambda op: [(op.attrs["DstT"], dims_of(op.inputs[0]))],
        lambda op: ("to_dtype", (op.inputs[0], np.dtype(op.attrs["DstT"].as_numpy_dtype))),
    ),
    "ExpandDims": OpType(unsqueezed, lambda op: ("unsqueeze", (op.inputs[0], int(constant_value(op.inputs[1]))))),
    "Squeeze": OpType(
        squeezed,
        lambda op: ("squeeze_dims", (op.inputs[0], op.attrs["axis"])) if op.attrs["axis"] else ("squeeze_all", op.inputs),
    ),
    "ArgMax": OpType(
        lambda op: [(DTYPES["int64"], shapes.reduced(dims_of(op.inputs[0]), axes_of(op), False))],
        lambda op: ("argmax", (op.inputs[0], int(constant_value(op.inputs[1])))),
        None,
    ),
    "Fill": OpType(filled, inputs("fill"), None),
    "OnesLike": OpType(like_first, inputs("ones_like"), None),
    "Shape": OpType(
        lambda op: [(op.attrs["out_type"], (None if dims_of(op.inputs[0]) is None else len(dims_of(op.inputs[0]) or ()),))],
        lambda op: ("shape_of", (op.inputs[0], op.attrs["out_type"].as_numpy_dtype)),
        None,
    ),
    "Rank": OpType(lambda op: [(int32, ())], inputs("rank_of"), None),
    "Size": OpType(lambda op: [(int32, ())], inputs("size_of"), None),
    "Range": OpType(lambda op: [(op.inputs[0].dtype, range_length(op))], inputs("range"), None),
    "Identity": OpType(like_first, inputs("pass"), "pass"),
    "PlaceholderWithDefault": OpType(given, inputs("pass"), "pass"),
    "StopGradient": OpType(like_first, inputs("pass"), None),
    "Sizes": OpType(lambda op: [(int32, None)], lambda op: (op.attrs["fact"], op.inputs), None),
    "BroadcastGradient": OpType(lambda op: [(op.inputs[0].dtype, dims_of(op.inputs[1]))], inputs("spread_sum")),
    # what the plan writes itself
    "Const": OpType(constant, None, None),
    "Placeholder": OpType(given, None, None),
    "NoOp": OpType(nothing, None, None, stateful=True),
    "VariableV2": OpType(lambda op: [(op.attrs["dtype"].ref, op.attrs["shape"])], None, None, stateful=True),
    "Assign": OpType(lambda op: assigned(op), None, None, stateful=True),
    "AssignAdd": OpType(lambda op: assigned(op), None, None, stateful=True),
    "AssignSub": OpType(lambda op: assigned(op), None, None, stateful=True),
    "ApplyGradientDescent": OpType(like_first, None, None, stateful=True),
    "RandomStandardNormal": OpType(random, None, None, stateful=True),
    "RandomUniform": OpType(random, None, None, stateful=True),
    "RandomUniformInt": OpType(random, None, None, stateful=True),
    # loops and branches (gviz.static.control)
    "Enter": OpType(like_first, None, "pass"),
    "Exit": OpType(like_first, None, "pass"),
    "NextIteration": OpType(like_first, None, "pass"),
    "LoopCond": OpType(lambda op: loop_condition(op), None, None),
    "Switch": OpType(lambda op: like_first(op) * 2, None, "pass"),
    "Merge": OpType(
        lambda op: [
            (op.inputs[0].dtype.base_dtype, op.attrs.get("shape", reduce(shapes.relaxed, map(dims_of, op.inputs)))),
            (int32, ()),
        ],
        None,
        "pass",
    ),
    "StackPopV2": OpType(given, None, None),
}

CALL = OpType(tried, lambda op: op.attrs["call"](op))
"""A call of a function that has no type of TensorFlow's, as formulas of derivatives make; its type is the function's name."""


def kind_of(op: Operation) -> OpType:
    """What there is to know of an operation's type."""
    return TYPES[op.type] if "call" not in op.attrs else CALL


def matmul_call(op: Operation, key: str) -> Call:
    """The engine's product, or one of transposed matrices."""
    left, right = op.attrs.get("transpose_a", False), op.attrs.get("transpose_b", False)
    return ("products", (*op.inputs, left, right)) if left or right else (key, op.inputs)


def shape_argument(tensor: Tensor) -> Any:
    """A shape or an order that is known as a tuple, else the tensor."""
    value = constant_value(tensor)
    return tensor if value is None else tuple(int(n) for n in np.ravel(value))


def selected(op: Operation) -> Outputs:
    """Of one of two, by a condition."""
    condition, one, other = op.inputs
    if one.dtype.base_dtype != other.dtype.base_dtype:
        raise TypeError(
            f"Input 'e' of 'Select' Op has type {other.dtype.base_dtype.name} that does not match type {one.dtype.base_dtype.name} of argument 't'."
        )
    try:
        return [(one.dtype.base_dtype, reduce(shapes.broadcast, [dims_of(t) for t in (condition, one, other)]))]
    except ValueError as problem:
        raise clash(op, problem) from None


def gathered(op: Operation) -> Outputs:
    """Rows, picked by number."""
    x, places = (dims_of(t) for t in op.inputs[:2])
    return [(op.inputs[0].dtype.base_dtype, None if x is None or places is None else (*places, *x[1:]))]


def range_length(op: Operation) -> Dims:
    """How long a range of known ends is."""
    ends = [constant_value(t) for t in op.inputs]
    return (None,) if any(e is None for e in ends) else np.arange(*ends).shape


def assigned(op: Operation) -> Outputs:
    """A variable's own tensor; what it gets has to fit."""
    ref, value = op.inputs
    if ref.dtype.base_dtype != value.dtype.base_dtype:
        raise TypeError(
            f"Input 'value' of '{op.type}' Op has type {value.dtype.base_dtype.name} that does not match type {ref.dtype.base_dtype.name} of argument 'ref'."
        )
    if not shapes.fits(dims_of(ref), dims_of(value)):
        raise clash(
            op,
            ValueError(
                "Dimensions must be equal"
                if len(dims_of(ref) or ()) == len(dims_of(value) or ())
                else f"Shapes must be equal rank, but are {len(dims_of(ref) or ())} and {len(dims_of(value) or ())}"
            ),
        )
    return [(ref.dtype, dims_of(ref))]


def loop_condition(op: Operation) -> Outputs:
    """A boolean.

    Raises:
        TypeError: it is none.
    """
    found = op.inputs[0].dtype.base_dtype
    if not found.is_bool:
        raise TypeError(f"Input 'input' of 'LoopCond' Op has type {found.name} that does not match expected type of bool.")
    return [(bool_, dims_of(op.inputs[0]))]
