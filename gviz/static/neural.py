"""``tf.nn`` and ``tf.losses``: the parts of neural networks, in the operations that TensorFlow writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import Signature, signature
from typing import Any, TypeAlias

import numpy as np

from gviz.numbers.words import refuse
from gviz.static.build import (
    add_operation,
    apply,
    cast,
    common_graph,
    constant,
    convert,
    in_scope,
    is_symbolic,
    make,
    of_dtype,
    operation_scope,
)
from gviz.static.chance import seeds_of
from gviz.static.functions import (
    FUNCTIONS,
    NN as BASIC,
    cross_entropy,
    random_uniform,
    shape,
    size,
    truediv,
    where,
    zeros_like,
)
from gviz.static.graph import Tensor, TensorLike, get_default_graph
from gviz.static.types import float32, int32
from gviz.static.variables import REGULARIZATION_LOSSES

Sizes: TypeAlias = "Sequence[int] | int"

_sum, _mean = FUNCTIONS["reduce_sum"], FUNCTIONS["reduce_mean"]


# ------------------------------------------------------------------ images
def sizes_of(function: str, value: Sizes, data_format: str | None = "NHWC") -> list[int]:
    """Return a size for each dimension of a batch of images; ValueError for what gviz does not do with them."""
    refuse(
        data_format not in (None, "NHWC"),
        f"gviz has no data_format {data_format} for {function}: channels come last",
        ValueError,
    )
    numbers = [int(n) for n in np.ravel(value)]
    whole = numbers if len(numbers) == 4 else [1, *numbers * (3 - len(numbers)), 1]
    refuse(len(whole) != 4 or {whole[0], whole[3]} != {1}, f"gviz has no sizes {numbers} for {function}", ValueError)
    return whole


def padding_of(function: str, padding: object) -> str:
    """Return SAME or VALID; ValueError for anything else."""
    word = str(padding).upper()
    refuse(
        word not in ("SAME", "VALID"), f"gviz has no padding {padding} for {function}, only SAME and VALID", ValueError
    )
    return word


def conv2d(
    input: TensorLike,
    filter: TensorLike = None,
    strides: Sizes = 1,
    padding: str | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Sizes = 1,
    name: str | None = None,
    filters: TensorLike = None,
) -> Tensor:
    """Return the filter (height, width, channels in, channels out) times each window of some images."""
    attrs: dict[str, Any] = {
        "strides": sizes_of("tf.nn.conv2d()", strides, data_format),
        "padding": padding_of("tf.nn.conv2d()", padding),
        "dilations": sizes_of("tf.nn.conv2d()", dilations),
    }
    return apply("Conv2D", "input filter", [input, filters if filter is None else filter], name, **attrs)


def pool(
    type: str,
    value: TensorLike = None,
    ksize: Sizes = 1,
    strides: Sizes = 1,
    padding: str | None = None,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike = None,
) -> Tensor:
    """Return the largest element or the mean of each window of some images."""
    function = f"tf.nn.{type[:3].lower()}_pool()"
    attrs: dict[str, Any] = {
        "ksize": sizes_of(function, ksize, data_format),
        "strides": sizes_of(function, strides),
        "padding": padding_of(function, padding),
    }
    return apply(type, "input", [input if value is None else value], name, **attrs)


# ------------------------------------------------------------------ some of many classes
Classes: TypeAlias = "tuple[Tensor, ...] | None"


@in_scope()
def sampled_logits(
    name: str,
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Classes,
    remove_accidental_hits: bool,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the logits of the right classes and of some drawn by chance, and labels for them.

    From each is taken the logarithm of how often its class is expected. A class that was drawn and is right counts as
    neither with ``remove_accidental_hits``.
    """
    refuse(num_sampled > num_classes, "Sampler's range is too small.", ValueError)
    right, x = cast(labels, "int64"), convert(inputs)
    if sampled_values is None:
        attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": True, "range_max": num_classes}
        sampler = add_operation(
            right.graph, "LogUniformCandidateSampler", [right], {**attrs, "seeds": seeds_of(right.graph, seed)}
        )
        sampled_values = tuple(sampler.outputs)
    drawn, of_right, of_drawn = (FUNCTIONS["stop_gradient"](part) for part in sampled_values)
    flat = FUNCTIONS["reshape"](right, [-1])
    ids, count = FUNCTIONS["concat"]([flat, cast(drawn, "int64")], 0), shape(flat)
    rows, lifts = embedding_lookup(weights, ids), embedding_lookup(biases, ids)
    own = FUNCTIONS["slice"](rows, [0, 0], [count[0], -1])
    others = FUNCTIONS["slice"](rows, [count[0], 0], [-1, -1])
    width = shape(own)[1:2]
    products = FUNCTIONS["expand_dims"](x, 1) * FUNCTIONS["reshape"](
        own, FUNCTIONS["concat"]([[-1, num_true], width], 0)
    )
    dots = sums_of_rows(FUNCTIONS["reshape"](products, FUNCTIONS["concat"]([[-1], width], 0)))
    scores: Any = FUNCTIONS["reshape"](dots, [-1, num_true])
    scores += FUNCTIONS["reshape"](FUNCTIONS["slice"](lifts, [0], count), [-1, num_true])
    rest: Any = FUNCTIONS["matmul"](x, others, transpose_b=True) + FUNCTIONS["slice"](lifts, count, [-1])
    if remove_accidental_hits:
        seeds_of(right.graph, None)  # TensorFlow's operation for it takes a seed, which it has no use for
        hits = FUNCTIONS["equal"](FUNCTIONS["expand_dims"](right, 2), drawn)
        most = constant(float(np.finfo(np.float32).max), x.dtype.base_dtype)
        rest -= most * cast(FUNCTIONS["reduce_any"](hits, 1), x.dtype.base_dtype)
    scores -= FUNCTIONS["log"](of_right)
    rest -= FUNCTIONS["log"](of_drawn)
    targets = [FUNCTIONS["ones_like"](scores) / num_true, zeros_like(rest)]
    return FUNCTIONS["concat"]([scores, rest], 1), FUNCTIONS["concat"](targets, 1)


def sums_of_rows(x: Tensor) -> Tensor:
    """Return the sums of a matrix's rows, as a product with ones, whose derivative takes less."""
    ones = FUNCTIONS["ones"]([shape(x)[1], 1], x.dtype)
    return FUNCTIONS["reshape"](FUNCTIONS["matmul"](x, ones), [-1])


def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Classes = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Return the loss of telling the right classes from some drawn by chance (noise-contrastive estimation)."""
    logits, targets = sampled_logits(
        name,
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
    )
    return sums_of_rows(sigmoid_cross_entropy(targets, logits, "sampled_losses"))


def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Classes = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Return the cross entropy of a softmax over the right classes and some drawn by chance."""
    logits, targets = sampled_logits(
        name,
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        seed,
    )
    return cross_entropy(FUNCTIONS["stop_gradient"](targets, name="labels_stop_gradient"), logits)


# ------------------------------------------------------------------ numbers
def dropout(
    x: TensorLike,
    keep_prob: TensorLike = None,
    noise_shape: TensorLike = None,
    seed: int | None = None,
    name: str | None = None,
    rate: TensorLike = None,
) -> Tensor:
    """Return a tensor with some elements 0, by chance, and the others larger; ValueError for no rate or a wrong one."""
    refuse(keep_prob is None and rate is None, "Either keep_prob or rate must be passed", ValueError)
    tensor = convert(x)
    keep: Any = keep_prob
    drop: Any = 1 - keep if rate is None else rate
    is_known = not is_symbolic(drop)
    refuse(
        is_known and not 0 <= drop < 1,
        f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={drop}",
        ValueError,
    )
    with operation_scope(tensor.graph, name, "dropout"):
        dtype = tensor.dtype.base_dtype
        if is_known and drop == 0:
            return tensor
        if is_known:
            larger = apply("Mul", "x y", [tensor, constant(1 / (1 - drop), dtype)])
        else:
            drop = cast(drop, dtype)
            larger = apply("RealDiv", "x y", [tensor, apply("Sub", "x y", [constant(1, dtype), drop])])
        chance = random_uniform(shape(tensor) if noise_shape is None else noise_shape, dtype=dtype, seed=seed)
        stays = apply("GreaterEqual", "x y", [chance, drop])
        result = make("SelectV2", [stays, larger, constant(0, dtype)], "SelectV2")
        result.set_shape(tensor.shape)
        return result


@in_scope("SparseSoftmaxCrossEntropyWithLogits")
def sparse_cross_entropy(labels: TensorLike = None, logits: TensorLike = None, name: str | None = None) -> Tensor:
    """Return the cross entropy of a softmax along the last axis for the numbers of the right classes."""
    word = "SparseSoftmaxCrossEntropyWithLogits"
    refuse(labels is None or logits is None, "Both `labels` and `logits` must be provided.", ValueError)
    right, scores = of_dtype(word, "labels", labels, int32), convert(logits)
    shape(right)
    ranks = right.shape.rank, scores.shape.rank
    refuse(
        None not in ranks and ranks[0] != (ranks[1] or 0) - 1,
        f"`labels.shape.rank` must equal `logits.shape.rank - 1`. "
        f"Received: labels.shape={right.shape} of rank {ranks[0]} and "
        f"logits.shape={scores.shape} of rank {ranks[1]}",
        ValueError,
    )
    return make(word, [scores, right])


@in_scope("logistic_loss")
def sigmoid_cross_entropy(labels: TensorLike = None, logits: TensorLike = None, name: str | None = None) -> Tensor:
    """Return ``max(x, 0) - x * z + log(1 + exp(-abs(x)))``, the cross entropy of a sigmoid for labels z."""
    refuse(labels is None or logits is None, "Both `labels` and `logits` must be provided.", ValueError)
    x = convert(logits, name="logits")
    z = convert(labels, x.dtype.base_dtype, "labels")
    refuse(
        not z.shape.is_compatible_with(x.shape),
        f"`logits` and `labels` must have the same shape, received ({x.shape} vs {z.shape}).",
        ValueError,
    )
    nothing = zeros_like(x)
    is_positive = FUNCTIONS["greater_equal"](x, nothing)
    positive = where(is_positive, x, nothing)
    negative = where(is_positive, FUNCTIONS["negative"](x), x)
    tail = FUNCTIONS["log1p"](FUNCTIONS["exp"](negative))
    return FUNCTIONS["add"](FUNCTIONS["subtract"](positive, make("Mul", [x, z], "mul"), "sub"), tail, name)


@in_scope("embedding_lookup")
def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: None = None,
) -> Tensor:
    """Return rows of a table."""
    refuse(max_norm is not None, "gviz has no max_norm for tf.nn.embedding_lookup()", ValueError)
    table = params[0] if isinstance(params, (list, tuple)) and len(params) == 1 else params
    refuse(
        isinstance(table, (list, tuple)), "gviz has no table in several parts for tf.nn.embedding_lookup()", ValueError
    )
    rows = apply("GatherV2", "params indices:int axis:int", [table, ids, 0], name)
    return make("Identity", [rows])


@in_scope("in_top_k")
def in_top_k(predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None) -> Tensor:
    """Return for each row whether the target is among the k classes with the highest predictions."""
    return apply("InTopKV2", "predictions targets:int k:int", [predictions, targets, k])


@in_scope("moments")
def moments(
    x: TensorLike,
    axes: Sequence[int],
    shift: None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Return mean and variance along some axes."""
    tensor = convert(x, name="x")
    mean = _mean(tensor, axes, keepdims=True, name="mean")
    squares = FUNCTIONS["squared_difference"](tensor, FUNCTIONS["stop_gradient"](mean))
    variance = _mean(squares, axes, keepdims=True, name="variance")
    if keep_dims or keepdims:
        return mean, variance
    return FUNCTIONS["squeeze"](mean, axes), FUNCTIONS["squeeze"](variance, axes)


@in_scope("l2_normalize")
def l2_normalize(
    x: TensorLike,
    axis: object = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: object = None,
) -> Tensor:
    """Return a tensor divided by its length along some axes."""
    tensor = convert(x, name="x")
    total = _sum(FUNCTIONS["square"](tensor), dim if axis is None else axis, keepdims=True)
    return FUNCTIONS["multiply"](tensor, FUNCTIONS["rsqrt"](FUNCTIONS["maximum"](total, epsilon)), name)


@in_scope("batchnorm")
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """Return ``(x - mean) / sqrt(variance + epsilon) * scale + offset``."""
    factor: Any = FUNCTIONS["rsqrt"](convert(variance) + variance_epsilon)
    factor = factor if scale is None else factor * scale
    scaled = convert(x) * factor
    return scaled + (-convert(mean) * factor if offset is None else convert(offset) - convert(mean) * factor)


# ------------------------------------------------------------------ clipping
@in_scope("clip_by_norm")
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: object = None, name: str | None = None) -> Tensor:
    """Return a tensor made shorter, if it is longer than some length."""
    values = convert(t, name="t")
    total = _sum(values * values, axes, keepdims=True)
    is_there = FUNCTIONS["greater"](total, 0)
    safe = where(is_there, total, FUNCTIONS["ones_like"](total))
    length = where(is_there, FUNCTIONS["sqrt"](safe), total)
    whole = truediv(values * clip_norm, FUNCTIONS["maximum"](length, clip_norm))
    return make("Identity", [whole], name)


@in_scope("global_norm")
def global_norm(t_list: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Return the length of all tensors together."""
    halves = [make("L2Loss", [convert(t)]) for t in t_list if t is not None]
    total = _sum(FUNCTIONS["stack"](halves))
    return FUNCTIONS["sqrt"](total * constant(2.0, total.dtype), "global_norm")


def clip_by_global_norm(
    t_list: Sequence[TensorLike], clip_norm: TensorLike, use_norm: Tensor | None = None, name: str | None = None
) -> tuple[list[Tensor | None], Tensor]:
    """Return tensors made shorter, by one factor, if all together are longer than some length; and that length."""
    length: Any = global_norm(t_list, name) if use_norm is None else use_norm
    with operation_scope(common_graph(*t_list), name, "clip_by_global_norm") as scope:
        factor: Any = clip_norm * FUNCTIONS["minimum"](1.0 / length, constant(1.0, length.dtype) / clip_norm)
        factor = factor + (length - length)  # not a number if the length is infinite
        own = scope[:-1].rpartition("/")[2]
        return [
            None if value is None else make("Identity", [convert(value) * factor], f"{own}/_{i}")
            for i, value in enumerate(t_list)
        ], length


# ------------------------------------------------------------------ losses
def weighted(
    losses: Tensor,
    weights: TensorLike,
    loss_collection: str | None,
    reduction: str,
) -> Tensor:
    """Return a sum or mean of weighted losses, and put it in a collection."""
    refuse(reduction not in REDUCED, f"Invalid Reduction Key {reduction}.", ValueError)
    weight = convert(weights, float32)
    each: Any = FUNCTIONS["multiply"](losses, cast(weight, losses.dtype.base_dtype))
    value = REDUCED[reduction](each, FUNCTIONS["ones_like"](each) * weight)
    if loss_collection is not None:
        get_default_graph().add_to_collection(loss_collection, value)
    return value


def safe_quotient(total: Tensor, count: Tensor) -> Tensor:
    """Return a quotient, 0 if there is nothing to divide by."""
    is_none = FUNCTIONS["equal"](count, 0.0)
    return where(
        is_none, zeros_like(total), truediv(total, where(is_none, FUNCTIONS["ones_like"](count), count)), "value"
    )


REDUCED: dict[str, Callable[[Any, Any], Tensor]] = {
    "none": lambda each, weight: each,
    "weighted_sum": lambda each, weight: _sum(each),
    "weighted_mean": lambda each, weight: safe_quotient(_sum(each), _sum(weight)),
    "weighted_sum_over_batch_size": lambda each, weight: safe_quotient(_sum(each), cast(size(each), float32)),
    "weighted_sum_by_nonzero_weights": lambda each, weight: safe_quotient(
        _sum(each), _sum(cast(FUNCTIONS["not_equal"](weight, 0.0), float32))
    ),
}
"""How losses become one, by the words of ``tf.losses.Reduction``."""


def declare_loss(name: str, formula: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return one of ``tf.losses``: the formula gives each element's loss and has this loss's own arguments."""
    own = list(signature(formula).parameters.values())
    whole = Signature([*own[:2], COMMON[0], *own[2:], *COMMON[1:]])

    def loss(*args: Any, **kwargs: Any) -> Tensor:
        call = whole.bind(*args, **kwargs)
        call.apply_defaults()
        common = {entry.name: call.arguments.pop(entry.name) for entry in COMMON}
        operands = list(call.arguments.values())[:2]
        refuse(any(one is None for one in operands), f"{own[0].name} and {own[1].name} must not be None.", ValueError)
        with operation_scope(common_graph(*operands), common.pop("scope"), name):
            return weighted(formula(**call.arguments), **common)

    return loss


def usual_arguments(
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = "losses",
    reduction: str = "weighted_sum_by_nonzero_weights",
) -> None:
    """Have the arguments of all losses."""


COMMON = list(signature(usual_arguments).parameters.values())


def as_numbers(value: TensorLike) -> Any:
    """Return labels or predictions as floating numbers."""
    return cast(value, float32)


def of_log(labels: TensorLike, predictions: TensorLike, epsilon: float = 1e-7) -> Tensor:
    """Return the cross entropy of two classes, for probabilities."""
    p, z = as_numbers(predictions), as_numbers(labels)
    return -z * FUNCTIONS["log"](p + epsilon) - (1 - z) * FUNCTIONS["log"](1 - p + epsilon)


def of_huber(labels: TensorLike, predictions: TensorLike, delta: float = 1.0) -> Tensor:
    """Return half the square of small errors, and a line for larger ones."""
    error = FUNCTIONS["abs"](as_numbers(predictions) - as_numbers(labels))
    near = FUNCTIONS["minimum"](error, delta)
    return near * near * 0.5 + (error - near) * delta


def of_softmax(onehot_labels: TensorLike, logits: TensorLike, label_smoothing: float = 0) -> Tensor:
    """Return the cross entropy of a softmax, for constant labels that may be smoothed."""
    scores = convert(logits)
    labels: Any = cast(onehot_labels, scores.dtype.base_dtype)
    if label_smoothing:
        labels = labels * (1 - label_smoothing) + label_smoothing / int(scores.shape[-1])
    return cross_entropy(FUNCTIONS["stop_gradient"](labels), scores)


def of_sigmoid(multi_class_labels: TensorLike, logits: TensorLike, label_smoothing: float = 0) -> Tensor:
    """Return the cross entropy of a sigmoid, for labels that may be smoothed."""
    labels: Any = cast(multi_class_labels, convert(logits).dtype.base_dtype)
    smooth = labels * (1 - label_smoothing) + 0.5 * label_smoothing if label_smoothing else labels
    return sigmoid_cross_entropy(smooth, logits)


LOSSES: dict[str, Callable[..., Any]] = {
    name: declare_loss(name, formula)
    for name, formula in {
        "mean_squared_error": lambda labels, predictions: FUNCTIONS["squared_difference"](
            as_numbers(predictions), as_numbers(labels)
        ),
        "absolute_difference": lambda labels, predictions: FUNCTIONS["abs"](
            as_numbers(predictions) - as_numbers(labels)
        ),
        "hinge_loss": lambda labels, logits: BASIC["relu"](1 - (as_numbers(labels) * 2 - 1) * as_numbers(logits)),
        "log_loss": of_log,
        "huber_loss": of_huber,
        "softmax_cross_entropy": of_softmax,
        "sigmoid_cross_entropy": of_sigmoid,
        "sparse_softmax_cross_entropy": sparse_cross_entropy,
    }.items()
}


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Return the sum of all losses; ValueError if there are none."""
    graph = get_default_graph()
    keys = ("losses", *([REGULARIZATION_LOSSES] if add_regularization_losses else []))
    losses = [loss for key in keys for loss in graph.get_collection(key, scope)]
    refuse(not losses, "No losses were added", ValueError)
    return FUNCTIONS["add_n"](losses, name)


LOSSES |= {
    "get_total_loss": get_total_loss,
    "get_losses": lambda scope=None, loss_collection="losses": get_default_graph().get_collection(
        loss_collection, scope
    ),
    "get_regularization_losses": lambda scope=None: get_default_graph().get_collection(REGULARIZATION_LOSSES, scope),
    "add_loss": lambda loss, loss_collection="losses": get_default_graph().add_to_collection(loss_collection, loss),
}
LOSSES["compute_weighted_loss"] = (
    lambda losses, weights=1.0, scope=None, loss_collection="losses", reduction=COMMON[3].default: weighted(
        convert(losses), weights, loss_collection, reduction
    )
)

REDUCTIONS = {
    "NONE": "none", "SUM": "weighted_sum", "MEAN": "weighted_mean",
    "SUM_OVER_BATCH_SIZE": "weighted_sum_over_batch_size",
    **dict.fromkeys(("SUM_OVER_NONZERO_WEIGHTS", "SUM_BY_NONZERO_WEIGHTS"), "weighted_sum_by_nonzero_weights"),
}  # fmt: skip
"""The words of ``tf.losses.Reduction``."""

NN: dict[str, Callable[..., Any]] = {
    **BASIC,
    **{function.__name__: function for function in (
        conv2d, dropout, embedding_lookup, in_top_k, moments, l2_normalize, batch_normalization, nce_loss,
        sampled_softmax_loss,
    )},
    "sparse_softmax_cross_entropy_with_logits": sparse_cross_entropy,
    "sigmoid_cross_entropy_with_logits": sigmoid_cross_entropy,
    "max_pool": partial(pool, "MaxPool"), "avg_pool": partial(pool, "AvgPool"),
    "max_pool2d": lambda input, ksize, strides, padding, data_format="NHWC", name=None: (
        pool("MaxPool", input, ksize, strides, padding, data_format, name)
    ),
    "l2_loss": lambda t, name=None: apply("L2Loss", "t", [t], name),
    "xw_plus_b": lambda x, weights, biases, name=None: BASIC["bias_add"](
        FUNCTIONS["matmul"](x, weights), biases, name=name or "xw_plus_b"
    ),
    "relu6": lambda features, name=None: FUNCTIONS["clip_by_value"](features, 0.0, 6.0, name or "Relu6"),
}  # fmt: skip
"""The functions of ``tf.nn`` and of ``tf.losses``."""
