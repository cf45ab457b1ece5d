"""The operation types: what each computes, and how its derivative is had.

A type names a function of the engine's own operation table (``gviz.ops``) or of ``kernels.py``, and how the operation's
inputs become that function's arguments. The compiled plan calls that function on arrays; called with small arrays it
shows the result's dtype and shape; ``tf.gradients`` reads the derivative that the same row declares.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from gviz.static import rules as rule
from gviz.static.graph import Operation, symbolic_tensors
from gviz.static.kernels import UPDATES, index_of
from gviz.static.rules import axes_of, constant_value
from gviz.static.types import DTYPES, RESOURCE, ClashError, Dims, DType, bool_, float32, int32, merge_dims

Call: TypeAlias = "tuple[str, tuple[Any, ...]]"


@dataclass(frozen=True)
class OpType:
    """One type of operation.

    Args:
        call: the function that computes it, by its key, for its inputs; or a function that returns the key and the
            arguments, tensors among them; None for what the plan writes itself.
        only: the dtypes that its inputs may have, all if it is empty.
        infer: dtypes and shapes of its outputs, if the function does not show them; raises ValueError or TypeError for
            inputs that it cannot take.
        several: whether its function returns a list, one for each output.
    """

    call: str | Callable[[Operation], Call] | None
    only: str = ""
    infer: rule.Rule | None = None
    several: bool = False


def _reduction(key: str, op: Operation) -> Call:
    """Return the call of a reduction; sums of integers are integers of the same dtype."""
    if key == "sum_dim" and op.inputs[1].op.type == "BroadcastGradientArgs":
        return "sum_over", (*op.inputs, op.attrs["keep_dims"])
    axes, dtype = axes_of(op), op.inputs[0].dtype
    into = [dtype.as_numpy_dtype] if key == "sum_dim" and dtype.is_integer else []
    key = "whole_mean" if key == "mean_dim" and dtype.is_integer else key
    return ("pass", op.inputs[:1]) if axes == () else (key, (op.inputs[0], axes, op.attrs["keep_dims"], *into))


def _fill(op: Operation) -> Call:
    """Return the call of what fills a shape, which may be another tensor's."""
    size, value = op.inputs
    return ("fill_like", (size.op.inputs[0], value)) if size.op.type == "Shape" else ("fill", op.inputs)


def _matrix_product(op: Operation) -> Call:
    """Return the call of a product of matrices, which may be transposed."""
    flags = op.attrs["transpose_a"], op.attrs["transpose_b"]
    return "mm", (*op.inputs, *flags) if any(flags) else op.inputs


def _transpose(op: Operation) -> Call:
    """Return the call of a transposition, whose order may be known while building."""
    order = constant_value(op.inputs[1])
    return ("transpose", op.inputs) if order is None else ("permute", (op.inputs[0], tuple(order.ravel().tolist())))


def _reshape(op: Operation) -> Call:
    """Return the call of a function that gives another shape: a known one, another tensor's, or any.

    What derivatives write in several operations is one call: a sum over the axes that were broadcast.
    """
    x, size = op.inputs
    sizes, source = rule.integers_in(size), size.op
    if x.op.type == "Sum" and x.op.inputs[1].op.type == "BroadcastGradientArgs":
        if source.type == "Shape":
            return "spread_sum", (x.op.inputs[0], source.inputs[0])
        if sizes is not None and None not in sizes:
            return "sum_to", (x.op.inputs[0], tuple(sizes))
    if sizes is not None and None not in sizes:
        return "unsafe_view", (x, tuple(sizes))
    if source.type == "Shape":
        return "shape_like", (x, source.inputs[0])
    if source.type == "DynamicStitch" and source.inputs[2].op.type == "Shape":
        axes = rule.known_value(source.inputs[1])
        return "unreduced", (x, source.inputs[2].op.inputs[0], None if axes is None else tuple(np.ravel(axes).tolist()))
    return "reshape_to", op.inputs


def _spread(op: Operation) -> Call:
    """Return the call of what repeats a tensor: to another one's shape, or a known one, if it has one element."""
    x, size = op.inputs
    if op.type == "BroadcastTo" or (x._dims is not None and set(x._dims) <= {1}):
        sizes = rule.integers_in(size)
        if sizes is not None and None not in sizes:
            return "expand_to", (x, tuple(sizes))
        if size.op.type == "Shape":
            return "spread_like", (x, size.op.inputs[0])
    return "tile" if op.type == "Tile" else "broadcast_to", op.inputs


def _slice(op: Operation) -> Call:
    """By an index that may be known while building."""
    ends, kinds = [constant_value(t) for t in op.inputs[1:]], op.attrs["kinds"]
    is_known = all(e is not None for e in ends)
    return ("getitem", (op.inputs[0], index_of(kinds, *ends))) if is_known else ("slice_by", (*op.inputs, kinds))


def with_attrs(key: str, *names: str) -> Callable[[Operation], Call]:
    """Return the call of a function of an operation's inputs and some of its fixed parameters."""
    return lambda op: (key, (*op.inputs, *(op.attrs[name] for name in names)))


def _put_back(op: Operation) -> Call:
    """Return the call of what puts a part back among zeros; sizes and index may be known while building."""
    sizes, part, kinds = op.inputs[0], op.inputs[4], op.attrs["kinds"]
    ends, static_sizes = [constant_value(t) for t in op.inputs[1:4]], constant_value(sizes)
    index = index_of(kinds, *ends) if all(e is not None for e in ends) else None
    if index is None:
        return "put_in", (part, *op.inputs[:4], kinds)
    if sizes.op.type == "Shape":
        return "put_back", (part, sizes.op.inputs[0], index)
    return (
        ("put_at", (part, sizes, index))
        if static_sizes is None
        else ("put_at", (part, tuple(static_sizes.tolist()), index))
    )


def axis_of(op: Operation) -> int:
    """Return the axis that the last input gives; ValueError if it is not known while building."""
    value = constant_value(op.inputs[-1])
    if value is None:
        raise ValueError(f"'{op.name}': gviz takes an axis that is known while building, not {op.inputs[-1]}")
    return int(value)


REALS = "bfloat16, float16, float32, float64"
COMPLEX = ", complex64, complex128"
NUMBERS = f"{REALS}, uint8, uint16, uint32, uint64, int8, int16, int32, int64{COMPLEX}"
FAMILIES = {
    "Log Exp Sqrt Rsqrt Sin Cos Tanh Sigmoid Log1p Expm1 Asin Acos Atan Sinh Cosh Tan Reciprocal": REALS + COMPLEX,
    "Erf Softplus Elu Selu Floor Ceil Rint:round_even": REALS,
    "Neg Abs:absolute Sign Relu Square BiasAdd:add AddV2:add Sub Mul RealDiv:div Pow:pow_tensor": NUMBERS,
    "FloorMod FloorDiv:floor_divide SquaredDifference Maximum Minimum Round:round_even": NUMBERS,
    "Less LessEqual Greater GreaterEqual": NUMBERS,
    "ZerosLike OnesLike LogicalNot Equal NotEqual LogicalAnd LogicalOr LogicalXor IsNan:isnan": "",
}
"""Types that are a function of their inputs, with its key if that is another word, and the dtypes that they take."""
FAMILY = {
    name: OpType(key or re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower(), only)
    for names, only in FAMILIES.items()
    for name, _, key in (word.partition(":") for word in names.split())
}
FLAT = (
    "Floor", "Ceil", "Rint", "Round", "FloorDiv", "ZerosLike", "OnesLike", "StopGradient", "Fill", "Range",
    "OneHot", "PyFunc", "TensorArrayGradV3",
)  # fmt: skip
"""Types through which no gradient goes."""
LIST: list[tuple[DType, Dims]] = [(RESOURCE, (2,)), (float32, ())]
"""What an operation that makes a list of tensors gives: the list, and a number that tells that it is there."""
EFFECTS = (
    "Print", "Assert", "PyFunc", "StackV2", "StackPushV2", "StackPopV2",
    *(f"TensorArray{name}V3" for name in ("", "Grad", "Write", "Scatter", "Read", "Gather", "Size")),
)  # fmt: skip
"""Types that do something besides, in each run."""
REDUCTIONS = {
    "Sum": "sum_dim", "Mean": "mean_dim", "Prod": "prod_axes", "Max": "amax", "Min": "amin", "All": "all_of",
    "Any": "any_of",
}  # fmt: skip

TYPES: dict[str, OpType] = {
    **FAMILY,
    **{name: OpType(partial(_reduction, key), "bool" if key.endswith("_of") else NUMBERS) for name, key in REDUCTIONS.items()},
    "ArgMax": OpType(lambda op: ("argmax", (op.inputs[0], axis_of(op))), NUMBERS),
    "ArgMin": OpType(lambda op: ("argmin", (op.inputs[0], axis_of(op))), NUMBERS),
    "LeakyRelu": OpType(with_attrs("leaky_relu", "alpha"), REALS),
    "L2Loss": OpType("l2_loss", REALS),
    "Cumsum": OpType(
        lambda op: ("sums_so_far", (op.inputs[0], axis_of(op), op.attrs["exclusive"], op.attrs["reverse"]))),
    "Softmax": OpType(lambda op: ("softmax_row", (op.inputs[0], -1)), REALS),
    "LogSoftmax": OpType(lambda op: ("log_softmax_row", (op.inputs[0], -1)), REALS),
    "SoftmaxCrossEntropyWithLogits": OpType("cross_entropy", REALS, several=True),
    "SparseSoftmaxCrossEntropyWithLogits": OpType("sparse_cross_entropy", REALS, rule.with_slopes, several=True),
    "TopKV2": OpType(with_attrs("largest", "sorted"), NUMBERS, rule.largest_dims, several=True),
    **{name: OpType(
        lambda op: ("unique", (op.inputs[0], op.attrs["out_idx"].as_numpy_dtype, op.type != "Unique")), several=True,
        infer=lambda op: [(op.inputs[0].dtype.base_dtype, (None,)), (op.attrs["out_idx"], op.inputs[0]._dims),
                          (op.attrs["out_idx"], (None,))][:2 + op.type.endswith("Counts")])
       for name in ("Unique", "UniqueWithCounts")},
    "AsString": OpType(
        with_attrs("as_texts", "precision", "scientific", "shortest", "width"),
        infer=lambda op: [(DTYPES["string"], op.inputs[0]._dims)]),
    "GatherNd": OpType("take_at", infer=rule.picked_dims),
    "ScatterNd": OpType("scatter_to", infer=lambda op: [
        (op.inputs[1].dtype.base_dtype, None if (sizes := rule.integers_in(op.inputs[2])) is None else tuple(sizes))]),
    "LinSpace": OpType("linspace", REALS, lambda op: tuple(rule.integers_in(op.inputs[2]) or [None])),
    "InTopKV2": OpType("in_top", REALS, lambda op: [(bool_, op.inputs[1]._dims)]),
    "Conv2D": OpType(with_attrs("conv2d", "strides", "padding", "dilations"), REALS),
    **{f"{kind}Pool": OpType(with_attrs(f"{kind.lower()}_pool", "ksize", "strides", "padding"), REALS)
       for kind in ("Max", "Avg")},
    "AddN": OpType(lambda op: ("add_n", (op.inputs,)), NUMBERS),
    **dict.fromkeys(("MatMul", "BatchMatMulV2"), OpType(_matrix_product, NUMBERS)),
    "Select": OpType("choose"),
    "Where": OpType("places", infer=lambda op: [(DTYPES["int64"], (None, op.inputs[0].shape.rank))]),
    "Cast": OpType(lambda op: ("to_dtype", (op.inputs[0], np.dtype(op.attrs["DstT"].as_numpy_dtype))),
                   infer=lambda op: [(op.attrs["DstT"], op.inputs[0]._dims)]),
    # shapes and picking
    "Reshape": OpType(_reshape, infer=rule.reshape_dims),
    "Transpose": OpType(_transpose),
    "InvertPermutation": OpType("inverse_of"),
    "BroadcastTo": OpType(_spread, infer=rule.dims_from_value),
    "BroadcastGradientArgs": OpType("broadcast_axes", infer=lambda op: [(int32, (None,))] * 2, several=True),
    "DynamicStitch": OpType(
        lambda op: ("stitch", (op.inputs[:2], op.inputs[2:])), infer=lambda op: op.inputs[2]._dims),
    "ShapeN": OpType(
        lambda op: ("shapes_of", (op.inputs,)), several=True,
        infer=lambda op: [(int32, (t.shape.rank,)) for t in op.inputs]),
    "ConcatV2": OpType(lambda op: ("cat", (op.inputs[:-1], axis_of(op)))),
    "Pack": OpType(lambda op: ("stack", (op.inputs, op.attrs["axis"]))),
    "Unpack": OpType(with_attrs("unbind", "axis"), infer=rule.unstack_dims, several=True),
    **dict.fromkeys(("Split", "SplitV"), OpType(
        lambda op: ("split_at", (op.inputs[op.type == "Split"], op.attrs["sizes"], op.attrs["axis"])),
        infer=rule.split_dims, several=True)),
    "Slice": OpType("slice_sized", infer=rule.cut_out),
    "Tile": OpType(_spread, infer=rule.repeated),
    "Pad": OpType("pad", infer=rule.padded),
    "ReverseV2": OpType(
        lambda op: ("reversed_along", (op.inputs[0], tuple(np.ravel(constant_value(op.inputs[1])).tolist())))),
    "OneHot": OpType(with_attrs("one_hot", "axis"), infer=rule.one_hot_dims),
    "StringJoin": OpType(lambda op: ("join_texts", (op.inputs, op.attrs["separator"])), infer=lambda op: reduce(
        lambda one, other: one or other, [t._dims for t in op.inputs])),
    **{f"{kind}Summary": OpType(f"{kind.lower()}_summary", infer=lambda op: [(DTYPES["string"], ())])
       for kind in ("Scalar", "Histogram")},
    "MergeSummary": OpType(lambda op: ("merge_summaries", (op.inputs,)), infer=lambda op: [(DTYPES["string"], ())]),
    "SelectV2": OpType("where"),
    "TensorArrayV3": OpType("new_elements", infer=lambda op: LIST, several=True),
    "TensorArrayGradV3": OpType(with_attrs("gradient_of", "source"), infer=lambda op: LIST, several=True),
    "TensorArrayWriteV3": OpType("write_element", infer=lambda op: LIST[1:]),
    "TensorArrayScatterV3": OpType("scatter_elements", infer=lambda op: LIST[1:]),
    "TensorArrayReadV3": OpType("read_element", infer=lambda op: [(op.attrs["dtype"], None)]),
    "TensorArrayGatherV3": OpType(
        lambda op: ("gather_elements", (*op.inputs, op.attrs["dtype"].as_numpy_dtype)),
        infer=lambda op: [(op.attrs["dtype"], None)]),
    "TensorArraySizeV3": OpType("count_elements", infer=lambda op: [(int32, ())]),
    "Print": OpType(lambda op: ("show", (op.inputs[0], op.inputs[1:], op.attrs["message"], op.attrs["summarize"])),
        infer=lambda op: op.inputs[0]._dims),
    "Assert": OpType(lambda op: ("check", (op.inputs[0], op.inputs[1:], op.attrs["summarize"])), infer=lambda op: []),
    "PyFunc": OpType(
        lambda op: ("call", (op.inputs, op.attrs["function"], [dtype.as_numpy_dtype for dtype in op.attrs["Tout"]])),
        infer=lambda op: [(dtype, None) for dtype in op.attrs["Tout"]], several=True),
    "StridedSlice": OpType(_slice, infer=rule.slice_dims),
    "StridedSliceGrad": OpType(_put_back, infer=rule.put_back_dims),
    "ConcatOffset": OpType(
        lambda op: ("offsets", (op.inputs[0], op.inputs[1:])), several=True,
        infer=lambda op: [(int32, t._dims) for t in op.inputs[1:]]),
    "GatherV2": OpType(lambda op: ("take", (*op.inputs[:2], axis_of(op)))),
    "ExpandDims": OpType(lambda op: ("unsqueeze", (op.inputs[0], axis_of(op)))),
    "Squeeze": OpType(
        lambda op: ("squeeze", (*op.inputs, op.attrs["axis"])) if op.attrs["axis"] else ("squeeze_all", op.inputs)),
    "Fill": OpType(_fill, infer=rule.dims_from_value),
    "Shape": OpType(lambda op: ("shape_of", (op.inputs[0], op.attrs["out_type"].as_numpy_dtype))),
    "Rank": OpType("rank_of"),
    "Size": OpType(lambda op: ("size_of", (op.inputs[0], op.attrs["out_type"].as_numpy_dtype))),
    "Range": OpType("range", infer=rule.ranged),
    "Identity": OpType("pass"),
    "PlaceholderWithDefault": OpType("pass", infer=lambda op: op.attrs["shape"]),
    "StopGradient": OpType("pass"),
    # what the plan writes itself
    "Const": OpType(None, infer=lambda op: [(op.attrs["dtype"], op.attrs["value"].shape)]),
    "Placeholder": OpType(None, infer=lambda op: [(op.attrs["dtype"], op.attrs["shape"])]),
    **dict.fromkeys(("NoOp", "ControlTrigger"), OpType(None, infer=lambda op: [])),
    "VariableV2": OpType(None, infer=lambda op: [(op.attrs["dtype"].ref, op.attrs["shape"])]),
    **dict.fromkeys(("Assign", "AssignAdd", "AssignSub"), OpType(
        None, infer=lambda op: [(op.inputs[0].dtype, merge_dims(op.inputs[0]._dims, op.inputs[1]._dims))])),
    "IsVariableInitialized": OpType(None, infer=lambda op: [(bool_, ())]),
    **dict.fromkeys((*UPDATES, "ApplyGradientDescent"), OpType(None, infer=lambda op: op.inputs[0]._dims)),
    **{f"Random{name}": OpType(None, infer=rule.dims_from_value) for name in ("StandardNormal", "Uniform", "UniformInt")},
    "TruncatedNormal": OpType(None, infer=rule.dims_from_value),
    "LogUniformCandidateSampler": OpType(None, several=True, infer=lambda op: [
        (DTYPES["int64"], (op.attrs["num_sampled"],)), (float32, op.inputs[0]._dims),
        (float32, (op.attrs["num_sampled"],))]),
    "UnsortedSegmentSum": OpType("sum_of_places"),
    "MatrixInverse": OpType("matrix_inverse", REALS, infer=lambda op: op.inputs[0]._dims),
    # loops and branches (gviz.static.control)
    "StackV2": OpType("stack_of_values", infer=lambda op: [(RESOURCE, (2,))]),
    "StackPushV2": OpType("push", infer=lambda op: [(op.inputs[1].dtype.base_dtype, op.inputs[1]._dims)]),
    "StackPopV2": OpType("pop", infer=lambda op: [(op.attrs["elem_type"], None)]),
    **dict.fromkeys(("Enter", "Exit", "NextIteration", "LoopCond"), OpType("pass")),
    "Switch": OpType("pass", infer=lambda op: [(op.inputs[0].dtype.base_dtype, op.inputs[0]._dims)] * 2, several=True),
    "Merge": OpType(None, infer=lambda op: [(op.inputs[0].dtype.base_dtype, op.attrs["shape"]), (int32, ())]),
}  # fmt: skip

CALL = OpType(lambda op: op.attrs["call"](op))
"""A call of a function as a derivative makes it, with what TensorFlow's type for it takes as inputs or not."""


def type_of(op: Operation) -> OpType:
    """Return what there is to know of an operation's type."""
    return TYPES[op.type] if "call" not in op.attrs else CALL


def call_of(op: Operation) -> Call:
    """Return the function that computes an operation, and its arguments; LookupError if there is none."""
    call = type_of(op).call
    if call is None:
        raise LookupError(f"'{op.name}' (op type: {op.type}) is no call of a function")
    return (call, op.inputs) if isinstance(call, str) else call(op)


def infer_outputs(op: Operation) -> list[tuple[DType, Dims]]:
    """Return dtypes and shapes of an operation's outputs; TypeError or ValueError for inputs that do not go."""
    own_type = type_of(op)
    own = op.inputs[0].dtype.base_dtype if op.inputs else DTYPES["float32"]
    if own_type.only and op.inputs and own.name not in own_type.only.split(", "):
        label = "input" if op.type in REDUCTIONS else "x"
        raise TypeError(
            f"Value passed to parameter '{label}' has DataType {own.name} "
            f"not in list of allowed values: {own_type.only}"
        )
    try:
        if own_type.infer is not None:
            outputs = own_type.infer(op)
            return outputs if isinstance(outputs, list) else [(own, outputs)]
        key, args = call_of(op)
        if key in rule.OF_ARGUMENTS:
            first = next(symbolic_tensors(args))
            return [(first.dtype.base_dtype, rule.OF_ARGUMENTS[key](*args))]
        return rule.by_example(op, key, args)
    except ClashError as problem:
        raise rule.clash(op, problem) from None
