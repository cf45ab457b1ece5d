"""The derivatives of operations as TensorFlow writes them: which operations, in which order, under which names.

A row takes an operation and the gradients of its outputs, and adds operations for those of its inputs. What has no row
is derived by the formula of the function that computes it (:mod:`gviz.static.gradients`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from gviz.static.build import add_operation, apply, cast, constant, make, operation_scope
from gviz.static.functions import (
    FUNCTIONS,
    NN,
    concat,
    ones,
    range_,
    rank,
    shape,
    size,
    stack,
    unstack,
    where,
    zeros_like,
)
from gviz.static.graph import Operation, Tensor
from gviz.static.rules import constant_value
from gviz.static.types import int32

Grads: TypeAlias = "Sequence[Tensor | None]"
Derivative: TypeAlias = "Callable[[Operation, Any], Grads]"

multiply, divide, negative, reshape, total = (
    FUNCTIONS[name] for name in ("multiply", "realdiv", "negative", "reshape", "reduce_sum")
)


# ------------------------------------------------------------------ operands that were broadcast
def broadcast_axes(x: Tensor, y: Tensor) -> tuple[list[int], list[int]] | None:
    """Return the axes along which two operands were broadcast; None if that is not known while building."""
    if x._dims is None or y._dims is None:
        return None
    most = max(len(x._dims), len(y._dims))
    sides = [(1,) * (most - len(dims)) + dims for dims in (x._dims, y._dims)]
    axes: tuple[list[int], list[int]] = ([], [])
    for axis, (one, other) in enumerate(zip(*sides, strict=True)):
        if (one == 1) != (other == 1):
            axes[one != 1].append(axis)
        elif None in (one, other):
            return None
    return axes


def reduced(x: Tensor, y: Tensor, grads: Grads) -> Grads:
    """Return the gradients of two operands, each summed back to the operand's shape where it was broadcast."""
    sizes, axes = [shape(x), shape(y)], broadcast_axes(x, y)
    axes_of_both: Sequence[Any] = axes or add_operation(x.graph, "BroadcastGradientArgs", sizes).outputs
    shorter = [axes is None or (a.shape.rank or 0) < (b.shape.rank or 0) for a, b in ((x, y), (y, x))]
    return [
        grad
        if grad is None or not (is_shorter or isinstance(own, Tensor) or own)
        else reshape(total(grad, own, True), to)
        for grad, own, is_shorter, to in zip(grads, axes_of_both, shorter, sizes, strict=True)
    ]


def of_operands(parts: Callable[..., Grads], *, quick: bool = False) -> Derivative:
    """Return the derivative of an operation on two operands.

    Args:
        parts: the gradients before they are summed back, of both operands, the gradient and the result.
        quick: whether nothing is summed back for operands of one known shape.
    """

    def derive(op: Operation, grad: Tensor) -> Grads:
        x, y = op.inputs
        grads = parts(x, y, grad, op.outputs[0])
        is_plain = x._dims == y._dims == grad._dims and x.shape.is_fully_defined()
        return grads if quick and is_plain else reduced(x, y, grads)

    return derive


def of_product(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a product."""
    x, y = op.inputs
    if x._dims == y._dims == grad._dims and x.shape.is_fully_defined() and grad.dtype.base_dtype.name == "float32":
        return [make("Mul", [grad, y]), make("Mul", [grad, x])]
    return reduced(x, y, [make("Mul", [grad, y]), make("Mul", [x, grad])])


def of_power(x: Tensor, y: Tensor, grad: Tensor, result: Tensor) -> Grads:
    """Return the gradients of base and exponent, where 0 stands for the logarithm of what is not positive."""
    first = grad * y * FUNCTIONS["pow"](x, y - 1)
    is_positive = x > 0  # type: ignore[operator]
    log = FUNCTIONS["log"](where(is_positive, x, FUNCTIONS["ones_like"](x)))
    return [first, grad * result * where(is_positive, log, zeros_like(x))]


def of_extreme(is_first: str) -> Derivative:
    """Return the derivative of the larger or the smaller of two: of two that are equal, the first has it."""

    def parts(x: Tensor, y: Tensor, grad: Tensor, result: Tensor) -> Grads:
        nothing, first = zeros_like(grad), FUNCTIONS[is_first](x, y)
        return [make("SelectV2", [first, grad, nothing]), make("SelectV2", [first, nothing, grad])]

    return of_operands(parts)


def of_squared_difference(x: Tensor, y: Tensor, grad: Tensor, result: Tensor) -> Grads:
    """Return the gradients of both sides of a squared difference."""
    with grad.graph.control_dependencies([grad]):
        part = apply("Mul", "x y", [constant(2.0, grad.dtype.base_dtype, name="scalar"), grad]) * (x - y)
    return [part, negative(part)]


# ------------------------------------------------------------------ sums and means
def reduced_shape(sizes: Tensor, axes: Tensor) -> Any:
    """Return the sizes of a tensor with 1 for those along some axes."""
    lengths, along = constant_value(sizes), constant_value(axes)
    if lengths is not None and along is not None:
        return np.array([1 if i in np.ravel(along) % len(lengths) else n for i, n in enumerate(lengths)], np.int32)
    count: Any = size(sizes)
    places = (axes + count) % count
    many = shape(places)
    return add_operation(sizes.graph, "DynamicStitch", [range_(count), places, sizes, ones(many, int32)]).outputs[0]


def of_sum(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the derivative of a sum: the gradient for each element."""
    x, axes = op.inputs
    along, dims = constant_value(axes), x._dims
    if dims is not None and along is not None:
        if np.array_equal(np.ravel(along), np.arange(len(dims))) and np.ndim(along):
            flat = reshape(grad, np.ones(len(dims), np.int32))
            return [FUNCTIONS["tile"](flat, constant(np.array(dims), int32) if None not in dims else shape(x)), None]
        if None not in dims:
            kept_dims = [1 if i in np.ravel(along) % len(dims) else n for i, n in enumerate(dims)]
            times = [n // max(m or 1, 1) for n, m in zip(dims, kept_dims, strict=True) if n is not None]
            return [FUNCTIONS["tile"](reshape(grad, np.array(kept_dims, np.int32)), np.array(times, np.int32)), None]
    sizes = shape(x)
    if not op.attrs["keep_dims"]:
        grad = reshape(grad, reduced_shape(sizes, axes))
    return [make("BroadcastTo", [grad, sizes]), None]


def of_mean(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a mean: that of the sum, divided by how many elements there were."""
    (x, axes), part = op.inputs, of_sum(op, grad)[0]
    ends = x.shape.num_elements(), op.outputs[0].shape.num_elements()
    if None not in ends:
        factor = constant(np.array((ends[0] or 0) // max(ends[1] or 0, 1)), grad.dtype.base_dtype)
    else:
        sizes = shape(x)
        count: Any = size(sizes)
        factor = FUNCTIONS["reduce_prod"](FUNCTIONS["gather"](sizes, (axes + count) % count))
    return [FUNCTIONS["truediv"](part, cast(factor, grad.dtype.base_dtype)), None]


# ------------------------------------------------------------------ matrices and losses
def of_matrix_product(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a product of matrices, each of which may be transposed."""
    (a, b), left, right = op.inputs, op.attrs["transpose_a"], op.attrs["transpose_b"]
    pairs = [
        (b, grad, right, True) if left else (grad, b, False, not right),
        (grad, a, True, left) if right else (a, grad, not left, False),
    ]
    return [make("MatMul", [x, y], transpose_a=one, transpose_b=two) for x, y, one, two in pairs]


def of_cross_entropy(op: Operation, grads: Sequence[Any]) -> Grads:
    """Return the derivative of a cross entropy of a softmax, whose second output is that for the logits."""
    expand, (grad, other) = FUNCTIONS["expand_dims"], grads
    first = expand(grad, -1) * op.outputs[1]
    if other.op.type != "ZerosLike":
        softmax = NN["softmax"](op.inputs[0])
        product = FUNCTIONS["matmul"](expand(other, 1), expand(softmax, 2))
        first = first + (other - FUNCTIONS["squeeze"](product, axis=[1])) * softmax
    if op.type.startswith("Sparse"):
        return [first, None]
    return [first, expand(grad, -1) * negative(NN["log_softmax"](op.inputs[0]))]


def after(grad: Tensor, build: Callable[[], Tensor]) -> Tensor:
    """Build something that is computed after the gradient is there."""
    with grad.graph.control_dependencies([grad]):
        return build()


def reshaped_back(op: Operation, grad: Tensor) -> Grads:
    """Return a gradient in the shape of the first input."""
    dims = op.inputs[0]._dims
    if op.type == "Reshape" and dims is not None and dims.count(None) == 1 and 0 not in dims:
        return [reshape(grad, np.array([-1 if n is None else n for n in dims], np.int32)), None]
    return [reshape(grad, shape(op.inputs[0])), None]


def of_join(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of tensors that were joined: to each its part."""
    *parts, axis = op.inputs
    if len(parts) == 1:
        return [grad, None]
    if grad.op.context is not axis.op.context and constant_value(axis) is not None:
        axis = constant(constant_value(axis), axis.dtype)
    along = axis % rank(parts[0])  # type: ignore[operator]
    sizes: Any = []
    for part in parts:
        sizes.append(shape(part))
        if sizes[-1].op.type != "Const":
            sizes = add_operation(grad.graph, "ShapeN", parts).outputs
            break
    offsets = add_operation(grad.graph, "ConcatOffset", [along, *sizes]).outputs
    return [make("Slice", [grad, begin, count]) for begin, count in zip(offsets, sizes, strict=True)]


def of_gather(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a table that was looked up along its first axis: the sums of what each row has got."""
    table, places, axis = op.inputs
    if constant_value(axis) != 0:
        return [
            of_call("UnsortedSegmentSum", "give_back", lambda t: (*t[:3], int(constant_value(t[3]))), grad, *op.inputs)
        ]
    sizes = shape(table)
    count = FUNCTIONS["expand_dims"](size(places), 0)
    values = reshape(grad, FUNCTIONS["concat"]([count, sizes[1:]], 0))
    rows = reshape(places, count)
    return [of_call("UnsortedSegmentSum", "sum_of_places", lambda t: t, values, rows, sizes[0])]


def of_strided_slice(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a part: zeros, with the gradient where the part was taken."""
    ends: list[Any] = [shape(op.inputs[0]), *op.inputs[1:]]
    with operation_scope(grad.graph, None, "StridedSliceGrad") as scope:
        values = [constant_value(end) for end in ends]
        labels = ("shape", "begin", "end", "strides")
        inputs = [
            end if value is None else constant(value, name=label)
            for end, value, label in zip(ends, values, labels, strict=True)
        ]
        return [make("StridedSliceGrad", [*inputs, grad], scope, kinds=op.attrs["kinds"])]


def of_tile(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a tensor that is there several times: the sum of all copies."""
    x, times = op.inputs
    pairs = reshape(FUNCTIONS["transpose"](stack([times, shape(x)])), [-1])
    axes = range_(0, size(pairs), 2)
    part = total(reshape(grad, pairs), axes)
    part.set_shape(x.shape)
    return [part, None]


def of_pad(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a tensor with zeros around it: the part inside."""
    x, around = op.inputs
    before = FUNCTIONS["slice"](around, [0, 0], stack([rank(x), 1]))
    return [FUNCTIONS["slice"](grad, reshape(before, [-1]), shape(x)), None]


def of_slice(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a part: the gradient with zeros around it."""
    x, begin, _ = op.inputs
    most, part = rank(x), shape(op.outputs[0])
    column = stack([most, 1])
    before = reshape(begin, column)
    behind = reshape(shape(x) - part - begin, column)
    return [FUNCTIONS["pad"](grad, concat([before, behind], 1)), None, None]


def gradient_list(op: Operation, flow: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    """Return the list of the gradients of a list that an operation writes or reads, and what tells that it is there.

    Each call of ``tf.gradients`` has a list of its own: the scope of what it has built (``source``) names it.
    """
    parts = source.op.name.split("/")
    last = max((i for i, part in enumerate(parts) if part.startswith("gradients")), default=0)
    with flow.graph.name_scope("TensorArrayGrad"):
        attrs = {"source": "/".join(parts[: last + 1])}
        array = add_operation(flow.graph, "TensorArrayGradV3", [op.inputs[0], flow], attrs).outputs[0]
        return array, after(array, lambda: make("Identity", [flow], "gradient_flow"))


def of_write(op: Operation, flow: Tensor) -> Grads:
    """Return the derivative of elements that are written, one or several: what has been written of their gradients."""
    marker, part = make("Identity", [op.outputs[0]], "flow_out"), op.inputs[2]
    barrier = after(marker, lambda: make("Identity", [flow], "write_barrier"))
    attrs: dict[str, Any] = {"dtype": part.dtype.base_dtype}
    type = "TensorArrayReadV3"
    if op.type == "TensorArrayScatterV3":
        type, attrs["element_shape"] = "TensorArrayGatherV3", part._dims and part._dims[1:]
    elements, own = gradient_list(op, barrier, flow)
    value = make(type, [elements, op.inputs[1], own], **attrs)
    value.set_shape(part.shape)
    return [None, None, value, barrier]


def of_read(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of elements that are read, one or several: their gradients are written."""
    elements, flow = gradient_list(op, op.inputs[2], grad)
    name = "TensorArrayWrite" if op.type == "TensorArrayReadV3" else "TensorArrayScatter"
    with grad.graph.name_scope(name):
        return [None, None, make(f"{name}V3", [elements, op.inputs[1], grad, flow])]


def of_largest(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a largest or smallest element: several that are equal share it."""
    (x, axes), best = op.inputs, op.outputs[0]
    sizes = shape(x)
    if op.attrs["keep_dims"]:
        kept_shape = shape(best)
    else:
        kept_shape = reduced_shape(sizes, axes)
        best, grad = reshape(best, kept_shape), reshape(grad, kept_shape)
    ties = cast(FUNCTIONS["equal"](best, x), grad.dtype.base_dtype)
    count = reshape(total(ties, axes), kept_shape)
    return [FUNCTIONS["divide"](ties, count) * grad, None]


def of_call(type: str, key: str, order: Callable[[Any], tuple[Any, ...]], *inputs: Tensor, **attrs: Any) -> Tensor:
    """Add an operation of TensorFlow's for a derivative; ``order`` makes the function's arguments of its inputs."""
    return make(type, inputs, call=lambda op: (key, order(op.inputs)), **attrs)


def to_input(op: Operation, sizes: Tensor, filter: Tensor, grad: Tensor) -> Tensor:
    """Return the derivative of a convolution for the images, whose sizes a tensor has."""
    return of_call("Conv2DBackpropInput", "conv2d_to_input", lambda t: (t[2], sized(t[0]), t[1], *window_of(op)),
                   sizes, filter, grad, **plain_attrs(op))  # fmt: skip


def to_filter(op: Operation, x: Tensor, sizes: Tensor, grad: Tensor) -> Tensor:
    """Return the derivative of a convolution for the filter, whose sizes a tensor has."""
    return of_call("Conv2DBackpropFilter", "conv2d_to_filter", lambda t: (t[2], t[0], sized(t[1]), *window_of(op)),
                   x, sizes, grad, **plain_attrs(op))  # fmt: skip


def window_of(op: Operation) -> list[Any]:
    """Return how an operation of a convolution goes over its images."""
    return [op.attrs[name] for name in ("strides", "padding", "dilations")]


def sized(sizes: Tensor) -> Tensor:
    """Return the tensor that has these sizes."""
    return sizes.op.inputs[sizes.value_index]


def of_convolution(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a convolution."""
    x, filter = op.inputs
    sizes = add_operation(x.graph, "ShapeN", [x, filter]).outputs
    return [to_input(op, sizes[0], filter, grad), to_filter(op, x, sizes[1], grad)]


def of_convolution_to_input(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of the derivative of a convolution for the images."""
    _, filter, part = op.inputs
    slope = to_filter(op, grad, make("Shape", [filter], out_type=int32), part)
    return [None, slope, make("Conv2D", [grad, filter], **plain_attrs(op))]


def of_convolution_to_filter(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of the derivative of a convolution for the filter."""
    x, _, part = op.inputs
    slope = to_input(op, make("Shape", [x], out_type=int32), grad, part)
    return [slope, None, make("Conv2D", [x, grad], **plain_attrs(op))]


def plain_attrs(op: Operation) -> dict[str, Any]:
    """Return an operation's fixed parameters, without the function that it calls."""
    return {name: value for name, value in op.attrs.items() if name != "call"}


def of_pool(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of pooling."""
    x, options = op.inputs[0], (op.attrs["ksize"], op.attrs["strides"], op.attrs["padding"])
    if op.type == "MaxPool":
        return [
            of_call(
                "MaxPoolGrad", "max_pool_back", lambda t: (t[2], t[0], *options), x, op.outputs[0], grad, **op.attrs
            )
        ]
    return [of_call("AvgPoolGrad", "avg_pool_back", lambda t: (t[1], t[0], *options), shape(x), grad, **op.attrs)]


def of_unit(type: str) -> Derivative:
    """Return the derivative of the derivative of ``elu`` or ``selu``, which is made of the result."""

    def derive(op: Operation, grad: Tensor) -> Grads:
        part, result = op.inputs
        choice = where(result < 0.0, grad * part, zeros_like(result))  # type: ignore[operator]
        return [elu_gradient(type, grad, result), choice]

    return derive


def elu_gradient(type: str, grad: Tensor, result: Tensor) -> Tensor:
    """Return the derivative of ``elu`` or ``selu``, by the result."""
    factors = {"EluGrad": (1.0, 1.0), "SeluGrad": (1.6732632423543772, 1.0507009873554805)}[type]
    return of_call(type, "elu_backward", lambda t: (t[0], *factors, 1.0, True, t[1]), grad, result)


def of_log_softmax(grad: Tensor, softmax: Tensor) -> Tensor:
    """Return the derivative of the logarithm of a softmax."""
    return grad - total(grad, -1, True) * softmax


def of_select(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a choice: each side has it where it was chosen."""
    condition, nothing = op.inputs[0], zeros_like(op.inputs[1])
    return [None, where(condition, grad, nothing), where(condition, nothing, grad)]


def of_choice(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of a choice between tensors that are broadcast."""
    (condition, *sides), out, nothing = op.inputs, op.outputs[0], FUNCTIONS["zeros"]([], grad.dtype.base_dtype)
    parts = [make("SelectV2", [condition, grad, nothing]), make("SelectV2", [condition, nothing, grad])]
    return [None, *(reduced(side, out, [part, None])[0] for side, part in zip(sides, parts, strict=True))]


def of_error_function(op: Operation, grad: Tensor) -> Grads:
    """Return the derivative of the error function."""
    factor = constant(2 / math.sqrt(math.pi), grad.dtype.base_dtype)
    return [after(grad, lambda: grad * factor * FUNCTIONS["exp"](negative(FUNCTIONS["square"](op.inputs[0]))))]


DERIVATIVES: dict[str, Derivative] = {
    "AddV2": of_operands(lambda x, y, g, z: [g, g], quick=True),
    "Sub": of_operands(lambda x, y, g, z: [g, negative(g)], quick=True),
    "Mul": of_product,
    "RealDiv": of_operands(lambda x, y, g, z: [divide(g, y), g * divide(divide(negative(x), y), y)]),
    "Pow": of_operands(of_power),
    "FloorMod": of_operands(lambda x, y, g, z: [g, g * negative(FUNCTIONS["floor_div"](x, y))]),
    "Maximum": of_extreme("greater_equal"), "Minimum": of_extreme("less_equal"),
    "SquaredDifference": of_operands(of_squared_difference, quick=True),
    "BiasAdd": lambda op, g: [g, of_call("BiasAddGrad", "sum_of_rows", lambda t: (t[0],), g)],
    "Neg": lambda op, g: [negative(g)],
    "Abs": lambda op, g: [g * FUNCTIONS["sign"](op.inputs[0])],
    "Log": lambda op, g: [after(g, lambda: g * FUNCTIONS["reciprocal"](op.inputs[0]))],
    "Log1p": lambda op, g: [after(g, lambda: g * FUNCTIONS["reciprocal"](1 + op.inputs[0]))],  # type: ignore[operator]
    "Expm1": lambda op, g: [after(g, lambda: g * FUNCTIONS["exp"](op.inputs[0]))],
    "Exp": lambda op, g: [after(g, lambda: g * op.outputs[0])],
    "Sin": lambda op, g: [after(g, lambda: g * FUNCTIONS["cos"](op.inputs[0]))],
    "Cos": lambda op, g: [after(g, lambda: negative(g) * FUNCTIONS["sin"](op.inputs[0]))],
    "Square": lambda op, g: [after(g, lambda: multiply(g, multiply(op.inputs[0], constant(2.0, g.dtype.base_dtype))))],
    "Sigmoid": lambda op, g: [of_call("SigmoidGrad", "sigmoid_backward", lambda t: t[::-1], op.outputs[0], g)],
    "Tanh": lambda op, g: [of_call("TanhGrad", "tanh_backward", lambda t: t[::-1], op.outputs[0], g)],
    "Relu": lambda op, g: [of_call("ReluGrad", "threshold_backward", lambda t: (*t, 0), g, op.outputs[0])],
    "Softplus": lambda op, g: [g * FUNCTIONS["sigmoid"](op.inputs[0])],
    "Softmax": lambda op, g: [(g - total(g * op.outputs[0], -1, True)) * op.outputs[0]],
    "LogSoftmax": lambda op, g: [of_log_softmax(g, FUNCTIONS["exp"](op.outputs[0]))],
    "SoftmaxCrossEntropyWithLogits": of_cross_entropy, "SparseSoftmaxCrossEntropyWithLogits": of_cross_entropy,
    "MatMul": of_matrix_product,
    "Sum": of_sum, "Mean": of_mean,
    "AddN": lambda op, g: [g] * len(op.inputs),
    "L2Loss": lambda op, g: [op.inputs[0] * g],
    "Select": of_select, "SelectV2": of_choice, "Erf": of_error_function,
    "Tan": lambda op, g: [
        after(g, lambda: FUNCTIONS["square"](FUNCTIONS["reciprocal"](FUNCTIONS["cos"](op.inputs[0]))) * g)],
    "Cast": lambda op, g: [cast(g, op.inputs[0].dtype.base_dtype)],
    "Reshape": reshaped_back, "ExpandDims": reshaped_back, "Squeeze": lambda op, g: reshaped_back(op, g)[:1],
    "Transpose": lambda op, g: [FUNCTIONS["transpose"](g, make("InvertPermutation", [op.inputs[1]])), None],
    "GatherV2": of_gather, "ConcatV2": of_join, "StridedSlice": of_strided_slice, "Max": of_largest, "Min": of_largest,
    "StridedSliceGrad": lambda op, g: [
        *[None] * 4, make("StridedSlice", [g, *op.inputs[1:4]], kinds=op.attrs["kinds"])],
    "GatherNd": lambda op, g: [make("ScatterNd", [op.inputs[1], g, shape(op.inputs[0])]), None],
    "Slice": of_slice, "Tile": of_tile, "Pad": of_pad,
    **dict.fromkeys(("TensorArrayWriteV3", "TensorArrayScatterV3"), of_write),
    **dict.fromkeys(("TensorArrayReadV3", "TensorArrayGatherV3"), of_read),
    "ReverseV2": lambda op, g: [FUNCTIONS["reverse"](g, op.inputs[1]), None],
    "Cumsum": lambda op, g: [
        FUNCTIONS["cumsum"](g, op.inputs[1], op.attrs["exclusive"], not op.attrs["reverse"]), None],
    "Split": lambda op, grads: [None, concat(grads, op.inputs[0])],
    "SplitV": lambda op, grads: [concat(grads, op.inputs[2]), None, None],
    **{name: lambda op, g: [elu_gradient(f"{op.type}Grad", g, op.outputs[0])] for name in ("Elu", "Selu")},
    "LeakyRelu": lambda op, g: [
        of_call("LeakyReluGrad", "leaky_relu_backward", lambda t: (*t, op.attrs["alpha"], False),
                g, op.inputs[0], **op.attrs)],
    "Pack": lambda op, g: unstack(g, len(op.inputs), op.attrs["axis"]),
    "Unpack": lambda op, grads: [stack(grads, op.attrs["axis"])],
    "Conv2D": of_convolution,
    "UnsortedSegmentSum": lambda op, g: [FUNCTIONS["gather"](g, op.inputs[1]), None, None],
    "MatrixInverse": lambda op, g: [negative(FUNCTIONS["matmul"](
        op.outputs[0], FUNCTIONS["matmul"](g, op.outputs[0], adjoint_b=True), adjoint_a=True))],
    "ScatterNd": lambda op, g: [None, make("GatherNd", [g, op.inputs[0]]), None],
    "BroadcastTo": lambda op, g: reduced(op.inputs[0], op.outputs[0], [g, None]),
    "MaxPool": of_pool, "AvgPool": of_pool,
}  # fmt: skip
"""Derivatives, by the types of the operations; of several outputs they take a list of gradients."""

OF_CALLS: dict[str, Derivative] = {
    **{name: of_unit(name) for name in ("EluGrad", "SeluGrad")},
    "Conv2DBackpropInput": of_convolution_to_input, "Conv2DBackpropFilter": of_convolution_to_filter,
    "AvgPoolGrad": lambda op, g: [None, make("AvgPool", [g], **plain_attrs(op))],
}  # fmt: skip
"""The same for operations that derivatives have added, which call a function."""
