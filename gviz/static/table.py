"""The operation types: what each computes, what it gives, and which row of the engine's table its derivative is.

A type names a function of the engine's own operation table (``gviz.ops``) and how the operation's inputs become that
function's arguments. The compiled plan calls that function on arrays; ``tf.gradients`` reads the derivative that the same row
declares. What TensorFlow has and the table has not (slices, shapes, sums of many) is in ``functions.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gviz.static import inference as rule
from gviz.static.dtypes import DTYPES, bool_
from gviz.static.functions import index_of
from gviz.static.inference import axes_of, constant_value, dims_of, in_common, integers, own
from gviz.static.shapes import ClashError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.static.dtypes import DType
    from gviz.static.graph import Operation
    from gviz.static.shapes import Dims

__all__ = ["KEYS", "TYPES", "OpType", "call_of", "checked", "kind_of"]

Call: TypeAlias = "tuple[str, tuple[Any, ...]]"


# ------------------------------------------------------------------ the types
@dataclass(frozen=True)
class OpType:
    """One type of operation.

    Args:
        infer: dtypes and shapes of its outputs; raises ValueError or TypeError for inputs that it cannot take.
        call: the function that computes it, by its key, for its inputs; or a function that gives the key and the arguments,
            tensors among them; None for what the plan writes itself.
        gradient: how ``tf.gradients`` goes on: "row" by the derivative of that function, "pass" on to the first input,
            "all" to each input, None not at all; or (key, arguments) of another function whose derivative it has.
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
    """The axis that the last input gives; ValueError where it is not known while building."""
    value = constant_value(op.inputs[-1])
    if value is None:
        raise ValueError(f"'{op.name}': gviz takes an axis that is known while building, not {op.inputs[-1]}")
    return int(value)


COMPLEX = ", complex64, complex128"
REALS = "bfloat16, float16, float32, float64"
NUMBERS = f"{REALS}, uint8, uint16, uint32, uint64, int8, int16, int32, int64{COMPLEX}"
FAMILIES: tuple[tuple[str, rule.Rule, str | None, str], ...] = (
    ("Log Exp Sqrt Rsqrt Sin Cos Tanh Sigmoid Log1p Expm1 Asin Acos Atan Sinh Cosh Tan Reciprocal", rule.like_first, "row",
     REALS + COMPLEX),
    ("Erf Softplus Elu", rule.like_first, "row", REALS),
    ("Floor Ceil Rint", rule.like_first, None, REALS),
    ("Round", rule.like_first, None, NUMBERS),
    ("Neg Abs Sign Relu", rule.like_first, "row", NUMBERS),
    ("ZerosLike LogicalNot", rule.like_first, None, ""),
    ("AddV2 Sub Mul RealDiv Pow FloorMod", rule.broadcast(), "row", NUMBERS),
    ("FloorDiv", rule.broadcast(), None, NUMBERS),
    ("Less LessEqual Greater GreaterEqual", rule.broadcast(bool_), None, NUMBERS),
    ("Equal NotEqual LogicalAnd LogicalOr LogicalXor", rule.broadcast(bool_), None, ""),
)  # fmt: skip
"""Types that are a function of the engine's table: their rule, how their gradient goes on, and the dtypes that they take."""
OTHER_KEYS = {
    "Abs": "absolute", "AddV2": "add", "FloorDiv": "floor_divide", "FloorMod": "remainder", "Pow": "pow_tensor",
    "RealDiv": "div", "Rint": "round_even", "Round": "round_even",
}  # fmt: skip
KEYS = {
    name: OTHER_KEYS.get(name) or re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
    for names, *_ in FAMILIES
    for name in names.split()
}
"""The function that each of them is: named alike, but for some."""

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
    "AddN": OpType(lambda op: in_common(op.inputs), lambda op: ("add_n", (op.inputs,)), "all", NUMBERS),
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
    "Shape": OpType(
        lambda op: [(op.attrs["out_type"], (op.inputs[0].shape.rank,))],
        lambda op: ("shape_of", (op.inputs[0], op.attrs["out_type"].as_numpy_dtype)),
        None,
    ),
    "Rank": OpType(rule.number, "rank_of", None),
    "Size": OpType(rule.number, lambda op: ("size_of", (op.inputs[0], op.attrs["out_type"].as_numpy_dtype)), None),
    "Range": OpType(rule.ranged, "range", None),
    "Identity": OpType(rule.like_first, "pass", "pass"),
    "PlaceholderWithDefault": OpType(rule.given, "pass", "pass"),
    "StopGradient": OpType(rule.like_first, "pass", None),
    "Sizes": OpType(lambda op: None, lambda op: (op.attrs["fact"], op.inputs), None),
    "BroadcastGradient": OpType(lambda op: dims_of(op.inputs[1]), "spread_sum"),
    # what the plan writes itself
    "Const": OpType(lambda op: [(op.attrs["dtype"], op.attrs["value"].shape)], None, None),
    "Placeholder": OpType(rule.given, None, None),
    "NoOp": OpType(lambda op: [], None, None, stateful=True),
    "VariableV2": OpType(lambda op: [(op.attrs["dtype"].ref, op.attrs["shape"])], None, None, stateful=True),
    **dict.fromkeys(("Assign", "AssignAdd", "AssignSub"), OpType(rule.assigned, None, None, stateful=True)),
    "IsVariableInitialized": OpType(lambda op: [(bool_, ())], None, None, stateful=True),
    "ApplyGradientDescent": OpType(rule.like_first, None, None, stateful=True),
    **dict.fromkeys(
        ("RandomStandardNormal", "RandomUniform", "RandomUniformInt"), OpType(rule.sized, None, None, stateful=True)
    ),
    # loops and branches (gviz.static.control)
    **dict.fromkeys(("Enter", "Exit", "NextIteration"), OpType(rule.like_first, None, "pass")),
    "LoopCond": OpType(rule.loop_condition, None, None),
    "Switch": OpType(lambda op: [(own(op), dims_of(op.inputs[0]))] * 2, None, "pass"),
    "Merge": OpType(rule.of_either, None, "pass"),
    "StackPopV2": OpType(rule.given, None, None),
}

CALL = OpType(rule.tried, lambda op: op.attrs["call"](op))
"""A call of a function that has no type of TensorFlow's, as formulas of derivatives make; its type is the function's name."""


def kind_of(op: Operation) -> OpType:
    """What there is to know of an operation's type."""
    return TYPES[op.type] if "call" not in op.attrs else CALL


def call_of(op: Operation) -> Call:
    """The function that computes an operation, and its arguments; LookupError where nothing computes it by itself."""
    call = kind_of(op).call
    if call is None:
        raise LookupError(f"'{op.name}' (op type: {op.type}) is no call of a function")
    return (call, op.inputs) if isinstance(call, str) else call(op)


def checked(op: Operation) -> list[tuple[DType, Dims]]:
    """Dtypes and shapes of an operation's outputs; TypeError or ValueError for dtypes and shapes that don't go."""
    kind = kind_of(op)
    if kind.only and op.inputs and op.inputs[0].dtype.base_dtype.name not in kind.only.split(", "):
        label = "input" if op.type in ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any") else "x"
        raise TypeError(
            f"Value passed to parameter '{label}' has DataType {own(op).name} not in list of allowed values: {kind.only}"
        )
    try:
        found = kind.infer(op)
    except ClashError as problem:
        raise rule.clash(op, problem) from None
    return found if isinstance(found, list) else [(own(op), found)]
