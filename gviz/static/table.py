"""The operation types: what each computes, what it gives, and which row of the engine's table its derivative is.

A type names a function of the engine's own operation table (``gviz.engine.ops``) and how the operation's inputs become that
function's arguments. The compiled plan calls that function on arrays; ``tf.gradients`` reads the derivative that the same row
declares. What TensorFlow has and the table has not (slices, shapes, sums of many) is in :data:`OWN`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gviz.engine.op import ARRAYS, direct
from gviz.static import inference as rule
from gviz.static.dtypes import DTYPES, bool_
from gviz.static.inference import axes_of, constant_value, dims_of, integers, own

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.static.graph import Operation

__all__ = ["KEYS", "OWN", "TYPES", "OpType", "call_of", "function_of", "kind_of"]

Call: TypeAlias = "tuple[str, tuple[Any, ...]]"


# ------------------------------------------------------------------ functions that the engine's table has not
def add_up(parts: Any) -> Any:
    """The sum of several of one shape.

    Raises:
        ValueError: they have several.
    """
    for i, part in enumerate(parts):
        if part.shape != parts[0].shape:
            raise ValueError(f"must have the same size and shape.  Input 0: {listed(parts[0])} != input {i}: {listed(part)}")
    return reduce(lambda a, b: a + b, parts)


def listed(value: Any) -> str:
    """A shape as messages of a run print it."""
    return "[" + ",".join(map(str, np.shape(value))) + "]"


def spread_sum(part: Any, x: Any) -> Any:
    """A gradient summed back to the shape that was broadcast."""
    want, have = np.shape(x), np.shape(part)
    if want == have:
        return part
    lead = len(have) - len(want)
    axes = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(want) if n == 1 and have[i + lead] != 1)
    return part.sum(axis=axes, keepdims=True).reshape(want) if axes else part.reshape(want)


def spread_like(part: Any, x: Any) -> Any:
    """Numbers broadcast to a shape."""
    return np.broadcast_to(part, np.shape(x))


def getitem(x: Any, index: Any) -> Any:
    """Some of the elements."""
    return x[index]


def put_back(part: Any, x: Any, index: Any) -> Any:
    """Zeros, and numbers where an index took them from."""
    out = np.zeros_like(x)
    out[index] = part
    return out


def products(x: Any, y: Any, left: bool, right: bool) -> Any:
    """A product of matrices, each transposed or not."""
    return (x.swapaxes(-2, -1) if left else x) @ (y.swapaxes(-2, -1) if right else y)


def prod_axes(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    """The product along several axes."""
    places = sorted({a % len(x.shape) for a in axes}, reverse=True)
    sizes = tuple(1 if i in places else n for i, n in enumerate(x.shape))
    for place in places:
        x = x.prod(place)
    return x.reshape(sizes) if keep else x


def choose(condition: Any, one: Any, other: Any) -> Any:
    """One of two by a condition for all, for each row or for each element."""
    lead = len(one.shape) - len(condition.shape)
    if lead > 0 and len(condition.shape) == 1:
        condition = condition.reshape((-1, *(1,) * lead))
    return np.where(condition, one, other) if isinstance(one, (np.ndarray, np.generic)) else one.where(condition, other)


def slice_by(x: Any, begin: Any, end: Any, step: Any, kinds: Any) -> Any:
    """Some of the elements, by numbers that may be known only now."""
    return x[index_of(kinds, begin, end, step)]


def index_of(kinds: Any, *ends: Any) -> tuple[Any, ...]:
    """The index that :func:`gviz.static.arrays.getitem` was called with."""
    index: list[Any] = []
    for i, kind in enumerate(kinds):
        if isinstance(kind, tuple):
            index.append(slice(*(int(end[i]) if flag else None for end, flag in zip(ends, kind, strict=True))))
        else:
            index.append(int(ends[0][i]) if kind == 0 else kind)
    return tuple(index)


def cross_entropy(logits: Any, labels: Any) -> Any:
    """The cross entropy of rows of probabilities and of logits."""
    if isinstance(logits, np.ndarray):
        return -(labels * ARRAYS["log_softmax_row"](logits, -1)).sum(axis=-1)
    return -(labels * logits.log_softmax(-1)).sum(-1)


OWN: dict[str, Callable[..., Any]] = {
    "getitem": getitem, "put_back": put_back, "slice_by": slice_by, "choose": choose, "add_n": add_up, "spread_sum": spread_sum,
    "spread_like": spread_like,
    "products": products, "prod_axes": prod_axes, "cross_entropy": cross_entropy, "pass": lambda x: x, "square": np.square,
    "squared_difference": lambda x, y: (x - y) * (x - y), "ones_like": np.ones_like,
    "shape_of": lambda x, kind: np.array(np.shape(x), kind), "rank_of": lambda x: np.int32(np.ndim(x)),
    "size_of": lambda x, kind: kind(np.size(x)), "sizes": np.shape, "numel": np.size,
    "strides": lambda x: tuple(s // x.itemsize for s in x.strides), "fill": lambda size, value: np.full(tuple(size), value),
    "range": lambda start, limit, delta: np.arange(start, limit, delta, dtype=np.asarray(start).dtype),
    "take": lambda x, places, axis: x[(slice(None),) * (axis % len(x.shape)) + (places,)],
    "reshape": lambda x, size: x.reshape(tuple(int(n) for n in size)),
    "transpose": lambda x, order: np.transpose(x, order) if isinstance(x, np.ndarray) else x.permute(*map(int, order)),
}  # fmt: skip


FORMULAS: dict[str, dict[str, Any]] = {
    "getitem": {"x": lambda grad, x, index: put_back(grad, x, index)},
    "put_back": {"part": lambda grad, index: getitem(grad, index)},
    "spread_sum": {"part": lambda grad, part: spread_like(grad, part)},
    "spread_like": {"part": lambda grad, part: spread_sum(grad, part)},
    "pow_tensor": {  # TensorFlow has 0 where the base is not positive, and nan for 0 ** 0; PyTorch nan and 0
        "self": lambda grad, self, exponent: grad * exponent * pow_tensor(self, exponent - 1.0),  # noqa: F821
        "exponent": lambda grad, self, result: grad  # noqa: F821
        * where(greater(self, 0.0), result * log(where(greater(self, 0.0), self, 1.0)), 0.0),  # noqa: F821
    },
}
"""The derivatives of some of these, and where TensorFlow's is another than PyTorch's, in the form of the engine's rows."""


def function_of(key: str) -> Any:
    """The function of that key on arrays: a row of the engine's table, or one of the static graph's own."""
    return OWN[key] if key in OWN else direct(ARRAYS[key])


def by_engine(key: str, args: tuple[Any, ...], place: int, which: tuple[int, ...], grads: tuple[Any, ...]) -> Any:
    """The derivative of a function with respect to one of its tensors, by the dynamic engine.

    Args:
        key: of the function.
        args: its arguments, arrays among them.
        place: which of the arrays the derivative is wanted for.
        which: the outputs that have a gradient.
        grads: those gradients.
    """
    import gviz.engine as torch
    from gviz.engine.op import TENSORS
    from gviz.engine.tensor import from_array

    tensors: list[Any] = []
    nested = False

    def wrapped(value: Any) -> Any:
        nonlocal nested
        if isinstance(value, (tuple, list)):
            return type(value)(wrapped(v) for v in value)
        if isinstance(value, torch.Tensor):  # the derivative of a derivative
            nested = True
            tensors.append(value if value.requires_grad else value.detach())
        elif isinstance(value, (np.ndarray, np.generic)):
            tensors.append(from_array(np.asarray(value), None))
        else:
            return value
        if len(tensors) == place + 1 and not tensors[-1].requires_grad:
            tensors[-1].requires_grad_()
        return tensors[-1]

    with torch.enable_grad():
        out = (OWN[key] if key in OWN else TENSORS[key])(*wrapped(args))
        outs = [out[i] for i in which] if isinstance(out, (tuple, list)) else [out]
        weights = [g if isinstance(g, torch.Tensor) else from_array(np.asarray(g), None) for g in grads]
        pairs = [(o, g) for o, g in zip(outs, weights, strict=True) if o.requires_grad]
        found = None
        if pairs:
            ends, weights = map(list, zip(*pairs, strict=True))
            found = torch.autograd.grad(ends, tensors[place], weights, create_graph=nested, allow_unused=True)[0]
        found = torch.zeros_like(tensors[place]) if found is None else found
    return found if nested else found._array


OWN["vjp"] = by_engine


# ------------------------------------------------------------------ the types
@dataclass(frozen=True)
class OpType:
    """One type of operation.

    Args:
        infer: dtypes and shapes of its outputs; raises ValueError or TypeError for inputs that it cannot take.
        call: the function that computes it, by its key, for its inputs; or a function that gives the key and the arguments, tensors
            among them; None for what the plan writes itself.
        gradient: how ``tf.gradients`` goes on: "row" by the derivative of that function, "pass" on unchanged to the first input, "all" to
            each input, None not at all; or (key, arguments) of another function whose derivative it has.
        only: the dtypes that its inputs may have, all where it is empty.
        stateful: whether two runs may differ, so that it is neither folded nor shared.
    """

    infer: rule.Rule
    call: str | Callable[[Operation], Call] | None = None
    gradient: str | None | Callable[[Operation], Call] = "row"  # noqa: RUF036 - None is a word here, "row" another
    only: str = ""
    stateful: bool = False


def reduction(over_all: str, over_some: str) -> Callable[[Operation], Call]:
    """A reduction over all axes or over some."""

    def call(op: Operation) -> Call:
        x, axes, keep = op.inputs[0], axes_of(op), op.attrs.get("keep_dims", False)
        if axes == ():
            return "pass", (x,)
        if axes is None and not keep and over_all != over_some:
            return over_all, (x,)
        if axes is None:  # () is over all
            axes = () if over_some != "prod_axes" else tuple(range(len(dims_of(x) or ())))
        return over_some, (x, axes, keep)

    return call


def halves(condition: str) -> Callable[[Operation], Call]:
    """Of two operands the one that a comparison picks: in ties TensorFlow's gradient goes to the first alone."""

    def derived(op: Operation) -> Call:
        from gviz.static.convert import make

        return "where", (make(condition, op.inputs), *op.inputs)

    return derived


def matmul(op: Operation, key: str) -> Call:
    """The engine's product, or one of transposed matrices."""
    flags = op.attrs.get("transpose_a", False), op.attrs.get("transpose_b", False)
    return ("products", (*op.inputs, *flags)) if any(flags) else (key, op.inputs)


def shaped(known: str, unknown: str) -> Callable[[Operation], Call]:
    """A function of a shape or an order, which may be known while building."""

    def call(op: Operation) -> Call:
        found = integers(op.inputs[1])
        return (known if isinstance(found, tuple) else unknown), (op.inputs[0], found)

    return call


def sliced(op: Operation) -> Call:
    """By an index that may be known while building."""
    ends, kinds = [constant_value(t) for t in op.inputs[1:]], op.attrs["kinds"]
    if any(e is None for e in ends):
        return "slice_by", (*op.inputs, kinds)
    return "getitem", (op.inputs[0], index_of(kinds, *ends))


def selected(op: Operation) -> Call:
    """Element by element where the condition has the shape of the others."""
    condition, one = (dims_of(t) for t in op.inputs[:2])
    plain = condition is not None and one is not None and len(condition) in (0, len(one))
    return ("where" if plain else "choose"), op.inputs


def axis_of(op: Operation) -> int:
    """The axis that the last input gives.

    Raises:
        ValueError: it is not known while building.
    """
    value = constant_value(op.inputs[-1])
    if value is None:
        raise ValueError(f"'{op.name}': gviz takes an axis that is known while building, not {op.inputs[-1]}")
    return int(value)


COMPLEX = ", complex64, complex128"
REALS = "bfloat16, float16, float32, float64"
NUMBERS = f"{REALS}, uint8, uint16, uint32, uint64, int8, int16, int32, int64{COMPLEX}"
KEYS = {
    "Log": "log", "Exp": "exp", "Sqrt": "sqrt", "Rsqrt": "rsqrt", "Sin": "sin", "Cos": "cos", "Tanh": "tanh", "Sigmoid": "sigmoid",
    "Log1p": "log1p", "Expm1": "expm1", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Tan": "tan",
    "Reciprocal": "reciprocal", "Erf": "erf", "Softplus": "softplus", "Elu": "elu", "Floor": "floor", "Ceil": "ceil",
    "Rint": "round_even", "IsNan": "isnan", "Round": "round_even", "Neg": "neg", "Abs": "absolute", "Sign": "sign", "Relu": "relu",
    "ZerosLike": "zeros_like", "LogicalNot": "logical_not", "AddV2": "add", "Sub": "sub", "Mul": "mul", "RealDiv": "div",
    "Pow": "pow_tensor", "FloorDiv": "floor_divide", "FloorMod": "remainder", "Less": "less", "LessEqual": "less_equal",
    "Greater": "greater", "GreaterEqual": "greater_equal", "Equal": "equal", "NotEqual": "not_equal", "LogicalAnd": "logical_and",
    "LogicalOr": "logical_or", "LogicalXor": "logical_xor",
}  # fmt: skip
"""The types that are a function of the engine's table on their inputs."""
FAMILIES: tuple[tuple[str, rule.Rule, str | None, str], ...] = (
    (
        "Log Exp Sqrt Rsqrt Sin Cos Tanh Sigmoid Log1p Expm1 Asin Acos Atan Sinh Cosh Tan Reciprocal",
        rule.like_first,
        "row",
        REALS + COMPLEX,
    ),
    ("Erf Softplus Elu", rule.like_first, "row", REALS),
    ("Floor Ceil Rint", rule.like_first, None, REALS),
    ("Round", rule.like_first, None, NUMBERS),
    ("Neg Abs Sign Relu", rule.like_first, "row", NUMBERS),
    ("ZerosLike LogicalNot", rule.like_first, None, ""),
    ("AddV2 Sub Mul RealDiv Pow", rule.broadcast(), "row", NUMBERS),
    ("FloorMod", rule.broadcast(), "row", NUMBERS),
    ("FloorDiv", rule.broadcast(), None, NUMBERS),
    ("Less LessEqual Greater GreaterEqual", rule.broadcast(bool_), None, NUMBERS),
    ("Equal NotEqual LogicalAnd LogicalOr LogicalXor", rule.broadcast(bool_), None, ""),
)
"""Types, their rule, how their gradient goes on, and the dtypes that they take."""

TYPES: dict[str, OpType] = {
    **{name: OpType(infer, KEYS[name], back, only) for names, infer, back, only in FAMILIES for name in names.split()},
    "IsNan": OpType(lambda op: [(bool_, dims_of(op.inputs[0]))], "isnan", None),
    "Square": OpType(rule.like_first, "square", lambda op: ("power", (op.inputs[0], 2)), NUMBERS),
    "SquaredDifference": OpType(rule.broadcast(), "squared_difference", "row", NUMBERS),
    "Maximum": OpType(rule.broadcast(), "maximum", halves("GreaterEqual"), NUMBERS),
    "Minimum": OpType(rule.broadcast(), "minimum", halves("LessEqual"), NUMBERS),
    "Sum": OpType(rule.reduced(), reduction("sum_all", "sum_dim"), "row", NUMBERS),
    "Mean": OpType(rule.reduced(), reduction("mean_all", "mean_dim"), "row", NUMBERS),
    "Prod": OpType(rule.reduced(), reduction("prod_all", "prod_axes"), "row", NUMBERS),
    "Max": OpType(rule.reduced(), reduction("amax", "amax"), "row", NUMBERS),
    "Min": OpType(rule.reduced(), reduction("amin", "amin"), "row", NUMBERS),
    "All": OpType(rule.reduced(bool_), reduction("all_of", "all_of"), None, "bool"),
    "Any": OpType(rule.reduced(bool_), reduction("any_of", "any_of"), None, "bool"),
    "LeakyRelu": OpType(rule.like_first, lambda op: ("leaky_relu", (op.inputs[0], op.attrs["alpha"])), "row", REALS),
    "Softmax": OpType(rule.like_first, lambda op: ("softmax_row", (op.inputs[0], -1)), "row", REALS),
    "LogSoftmax": OpType(rule.like_first, lambda op: ("log_softmax_row", (op.inputs[0], -1)), "row", REALS),
    "SoftmaxCrossEntropyWithLogits": OpType(rule.cross_entropy, "cross_entropy", "row", REALS),
    "AddN": OpType(rule.summed, lambda op: ("add_n", (op.inputs,)), "all", NUMBERS),
    "BiasAdd": OpType(rule.like_first, "add", "row", NUMBERS),
    "MatMul": OpType(rule.product, lambda op: matmul(op, "mm"), "row", NUMBERS),
    "BatchMatMulV2": OpType(rule.product, lambda op: matmul(op, "matmul"), "row", NUMBERS),
    "Select": OpType(rule.selected, selected),
    "Cast": OpType(
        lambda op: [(op.attrs["DstT"], dims_of(op.inputs[0]))],
        lambda op: ("to_dtype", (op.inputs[0], np.dtype(op.attrs["DstT"].as_numpy_dtype))),
    ),
    # shapes and picking
    "Reshape": OpType(rule.reshaped, shaped("unsafe_view", "reshape")),
    "Transpose": OpType(rule.permuted, shaped("permute", "transpose")),
    "ConcatV2": OpType(rule.joined, lambda op: ("cat", (op.inputs[:-1], axis_of(op)))),
    "Pack": OpType(rule.packed, lambda op: ("stack", (op.inputs, op.attrs["axis"]))),
    "Unpack": OpType(rule.unpacked, lambda op: ("unbind", (op.inputs[0], op.attrs["axis"]))),
    "StridedSlice": OpType(rule.sliced, sliced),
    "GatherV2": OpType(rule.picked, lambda op: ("take", (*op.inputs[:2], axis_of(op)))),
    "ExpandDims": OpType(rule.unsqueezed, lambda op: ("unsqueeze", (op.inputs[0], axis_of(op)))),
    "Squeeze": OpType(
        rule.squeezed,
        lambda op: ("squeeze_dims", (op.inputs[0], op.attrs["axis"])) if op.attrs["axis"] else ("squeeze_all", op.inputs),
    ),
    "ArgMax": OpType(rule.reduced(DTYPES["int64"]), lambda op: ("argmax", (op.inputs[0], axis_of(op))), None, NUMBERS),
    "Fill": OpType(rule.sized, "fill", None),
    "OnesLike": OpType(rule.like_first, "ones_like", None),
    "Shape": OpType(rule.shape_of, lambda op: ("shape_of", (op.inputs[0], op.attrs["out_type"].as_numpy_dtype)), None),
    "Rank": OpType(rule.number, "rank_of", None),
    "Size": OpType(rule.number, lambda op: ("size_of", (op.inputs[0], op.attrs["out_type"].as_numpy_dtype)), None),
    "Range": OpType(rule.ranged, "range", None),
    "Identity": OpType(rule.like_first, "pass", "pass"),
    "PlaceholderWithDefault": OpType(rule.given, "pass", "pass"),
    "StopGradient": OpType(rule.like_first, "pass", None),
    "Sizes": OpType(lambda op: [(own(op), None)], lambda op: (op.attrs["fact"], op.inputs), None),
    "BroadcastGradient": OpType(lambda op: [(own(op), dims_of(op.inputs[1]))], "spread_sum"),
    # what the plan writes itself
    "Const": OpType(rule.constant, None, None),
    "Placeholder": OpType(rule.given, None, None),
    "NoOp": OpType(lambda op: [], None, None, stateful=True),
    "VariableV2": OpType(lambda op: [(op.attrs["dtype"].ref, op.attrs["shape"])], None, None, stateful=True),
    **{name: OpType(rule.assigned, None, None, stateful=True) for name in ("Assign", "AssignAdd", "AssignSub")},
    "IsVariableInitialized": OpType(lambda op: [(bool_, ())], None, None, stateful=True),
    "ApplyGradientDescent": OpType(rule.like_first, None, None, stateful=True),
    **{
        name: OpType(rule.sized, None, None, stateful=True)
        for name in ("RandomStandardNormal", "RandomUniform", "RandomUniformInt")
    },
    # loops and branches (gviz.static.control)
    **{name: OpType(rule.like_first, None, "pass") for name in ("Enter", "Exit", "NextIteration")},
    "LoopCond": OpType(rule.loop_condition, None, None),
    "Switch": OpType(lambda op: rule.like_first(op) * 2, None, "pass"),
    "Merge": OpType(rule.of_either, None, "pass"),
    "StackPopV2": OpType(rule.given, None, None),
}

CALL = OpType(rule.tried, lambda op: op.attrs["call"](op))
"""A call of a function that has no type of TensorFlow's, as formulas of derivatives make; its type is the function's name."""


def kind_of(op: Operation) -> OpType:
    """What there is to know of an operation's type."""
    return TYPES[op.type] if "call" not in op.attrs else CALL


def call_of(op: Operation) -> Call:
    """The function that computes an operation, and its arguments.

    Raises:
        LookupError: nothing computes it by itself.
    """
    call = kind_of(op).call
    if call is None:
        raise LookupError(f"'{op.name}' (op type: {op.type}) is no call of a function")
    return (call, op.inputs) if isinstance(call, str) else call(op)


def checked(op: Operation) -> rule.Outputs:
    """Dtypes and shapes of an operation's outputs.

    Raises:
        TypeError: the operation takes no inputs of that dtype.
        ValueError: the shapes do not go together.
    """
    kind = kind_of(op)
    if kind.only and op.inputs and op.inputs[0].dtype.base_dtype.name not in kind.only.split(", "):
        label = "input" if op.type in ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any") else "x"
        raise TypeError(
            f"Value passed to parameter '{label}' has DataType {own(op).name} not in list of allowed values: {kind.only}"
        )
    return kind.infer(op)
