"""Losses as functions, with the distances and similarities that some are made of.

A loss is a row of the table that reduces by itself (``mse_loss``), or composed of rows as PyTorch composes it. A
parameter without an annotation is a tensor. What the three options of a reduction mean is found in one place
(:func:`loss`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from gviz.autograd.formulas import parameters
from gviz.autograd.modes import mode, no_grad
from gviz.autograd.row import NAMED, TENSORS as call, public_names
from gviz.autograd.tensor import Tensor
from gviz.numbers import dtypes
from gviz.numbers.shapes import broadcast_shape
from gviz.numbers.words import refuse, refuse_any, warn
from gviz.ops.losses import REDUCTIONS
from gviz.ops.rows import check_one_dtype


def native(function: Callable[..., Any]) -> Any:
    """Mark a function that is C++ in PyTorch: a number beside a tensor in it is the scalar overload."""

    @wraps(function)
    def run(*args: object, **kwargs: object) -> Any:
        before, mode.formula = mode.formula, True
        try:
            return function(*args, **kwargs)
        finally:
            mode.formula = before

    return run


# ------------------------------------------------------------------ reductions
def told_of_old(reduction: str, size_average: object = None, reduce: object = None) -> str:
    """Return the reduction, or what the two arguments before it mean, with PyTorch's warning."""
    if size_average is None and reduce is None:
        return reduction
    old = "none" if reduce is not None and not reduce else "mean" if size_average is None or size_average else "sum"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{old}' instead.")
    return old


def reduction_number(*options: Any) -> int:
    """Return the number by which rows know a reduction; refuses one that does not exist."""
    reduction = told_of_old(*options)
    refuse(reduction not in REDUCTIONS, f"{reduction} is not a valid value for reduction", ValueError)
    return REDUCTIONS[reduction]


def loss(function: Callable[..., Any], *, broadcast: bool = False) -> Any:
    """Name a loss that is C++ in PyTorch: it gets the number of its reduction.

    Operands of one shape, if ``broadcast``.
    """
    names, run = parameters(function), native(function)
    places = [names.index(name) for name in ("reduction", "size_average", "reduce") if name in names]

    def numbered(*values: object) -> Any:
        pair = alike(*values[:2]) if broadcast else values[:2]
        number = reduction_number(*(values[i] for i in places))
        return run(*pair, *values[2 : places[0]], number, *values[places[0] + 1 :])

    NAMED.append((f"F.{function.__name__}", function, numbered))
    return function


def reduced(losses, number, weight=None, *, share: bool = True):
    """Return a loss per element, times its weight, or their sum, or their mean.

    Over the sum of the weights, if ``share``.
    """
    if weight is not None:
        refuse(weight.shape != losses.shape, "Weights and input must have the same size.", ValueError)
        losses = losses * weight
        if number == 1 and share:
            return losses.sum() / weight.sum()
    return losses if number == 0 else losses.mean() if number == 1 else losses.sum()


def refuse_gradient(function: str, **tensors: Tensor | None) -> None:
    """Refuse tensors that require a gradient where the function has no derivative for them."""
    for name, tensor in tensors.items():
        refuse(
            mode.recording and tensor is not None and tensor.requires_grad,
            f"The function '{function}' is not differentiable with respect to argument '{name}'. This "
            "input cannot have requires_grad True.",
        )


# ------------------------------------------------------------------ differences
def alike(input, target):
    """Return input and target broadcast to one shape, with PyTorch's warning where they differ."""
    if target.size() == input.size():
        return input, target
    warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size."
    )
    shape = broadcast_shape(input.shape, target.shape)
    return tuple(one if one.shape == shape else one.expand(shape) for one in (input, target))


difference = partial(loss, broadcast=True)


@difference
def mse_loss(
    input: Any, target: Any, size_average: object = None, reduce: object = None, reduction: object = "mean", weight=None
):
    """Return the squared differences."""
    plain = weight is None
    return call["mse_loss"](input, target, reduction) if plain else reduced((input - target) ** 2, reduction, weight)


@difference
def l1_loss(
    input: Any, target: Any, size_average: object = None, reduce: object = None, reduction: object = "mean", weight=None
):
    """Return the absolute differences."""
    return reduced((input - target).abs(), reduction, weight)


@difference
def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: object = None,
    reduce: object = None,
    reduction: object = "mean",
    beta: float = 1.0,
):
    """Return squared differences below ``beta``, absolute ones above."""
    smooth = call["smooth_l1_loss"]
    return smooth(input, target, reduction, float(beta)) if beta else l1_loss(input, target, reduction=reduction)


@difference
def huber_loss(input: Any, target: Any, reduction: object = "mean", delta: float = 1.0, weight=None):
    """Return half the square of differences below ``delta``, linear above."""
    losses = call["huber_loss"](input, target, reduction if weight is None else 0, float(delta))
    return losses if weight is None else reduced(losses, reduction, weight, share=False)


# ------------------------------------------------------------------ cross entropies
@public_names("F.kl_div")
def kl_div(
    input,
    target,
    size_average: object = None,
    reduce: object = None,
    reduction: object = "mean",
    log_target: bool = False,
):
    """Return the divergence of a distribution from the one whose logarithm ``input`` is."""
    refuse(not (input.is_floating_point() and target.is_floating_point()), "kl_div: Integral inputs not supported.")
    if reduction == "mean" and size_average is None and reduce is None:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
            "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to "
            "behave the same as 'batchmean' in the next major release."
        )
    batch = reduction == "batchmean"
    number = reduction_number("sum" if batch else reduction, size_average, reduce)
    other = target - input if log_target else target * input  # made first, as in PyTorch
    losses = reduced(target.exp() * other if log_target else call["xlogy"](target, target) - other, number)
    return losses / input.shape[0] if batch else losses


@loss
def binary_cross_entropy(
    input: Any, target: Any, weight=None, size_average: object = None, reduce: object = None, reduction: object = "mean"
):
    """Return the cross entropy of probabilities and targets in [0, 1]."""
    refuse(
        target.size() != input.size(),
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
        "Please ensure they have the same size.",
        ValueError,
    )
    check_one_dtype(target._array, input._array, "Found dtype {} but expected {}")
    refuse_gradient("binary_cross_entropy", weight=weight)
    refuse(((target._array < 0) | (target._array > 1)).any(), "all elements of target should be between 0 and 1")
    return call["binary_cross_entropy"](
        input, target, None if weight is None else weight.expand(target.shape), reduction
    )


@loss
def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight=None,
    size_average: object = None,
    reduce: object = None,
    reduction: object = "mean",
    pos_weight=None,
):
    """Return the :func:`binary_cross_entropy` of the sigmoid, computed stably."""
    refuse_gradient("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    refuse(
        target.size() != input.size(),
        f"Target size ({target.shape}) must be the same as input size ({input.shape})",
        ValueError,
    )
    refuse(
        not target.is_floating_point(),
        f"result type Float can't be cast to the desired output type {target.dtype.scalar_name}",
    )
    return call["bce_with_logits"](input, target, weight, pos_weight, reduction)


@loss
def nll_loss(
    input,
    target,
    weight=None,
    size_average: object = None,
    ignore_index: int = -100,
    reduce: object = None,
    reduction: object = "mean",
):
    """Return the negative of the log probability of each example's class."""
    sizes, rank = input.shape, input.ndim
    check_classes(input, target, weight)
    refuse_gradient("nll_loss_forward" if rank <= 2 else "nll_loss2d_forward", weight=weight)
    if rank <= 2 or rank == 4:
        return call["nll_loss" if rank <= 2 else "nll_loss2d"](input, target, weight, reduction, ignore_index)
    flat, classes = input.contiguous().view(*sizes[:2], 1, -1), target.contiguous().view(sizes[0], 1, -1)
    losses = call["nll_loss2d"](flat, classes, weight, reduction, ignore_index)
    return losses if reduction else losses.view(target.shape)


def check_classes(input, target, weight) -> None:
    """Refuse targets that are not a class for each example, and weights that are not one for each class."""
    sizes, target_sizes, dtype = input._array.shape, target._array.shape, target._array.dtype
    flat, expected_sizes = len(sizes) <= 2, (*sizes[:1], *sizes[2:])
    if len(sizes) > 1 and sizes[:1] != target_sizes[:1]:
        raise ValueError(
            f"Expected input batch_size ({sizes[0]}) to match target batch_size "
            f"({target_sizes[0] if target_sizes else 0})."
        )
    refuse(flat and len(target_sizes) > 1, "0D or 1D target tensor expected, multi-target not supported")
    refuse(
        not flat and target_sizes != expected_sizes,
        f"Expected target size {list(expected_sizes)}, got {list(target_sizes)}",
    )
    refuse(
        (dtype.kind, dtype.itemsize) not in (("i", 8), ("u", 1)),
        f"expected target dtype to be Long or Byte, but got {target.dtype.scalar_name}",
    )
    if weight is not None and weight.shape != (classes := sizes[-1 if flat else 1],):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )


@loss
def cross_entropy(
    input,
    target,
    weight=None,
    size_average: object = None,
    ignore_index: int = -100,
    reduce: object = None,
    reduction: object = "mean",
    label_smoothing: float = 0.0,
):
    """Return the cross entropy of unnormalized scores: with classes, or with probabilities of the input's shape."""
    soft, smoothing = target.shape == input.shape, max(0.0, label_smoothing)
    refuse(
        soft and not target.is_floating_point(),
        f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}",
    )
    refuse(soft and ignore_index >= 0, "ignore_index is not supported for floating point target")
    refuse(smoothing > 1, f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing:g}")
    axis = 0 if input.ndim == 1 else 1
    logs, classes = call["log_softmax_row"](input, axis), input.shape[axis]
    scale = None if weight is None else weight.view([-1 if i == axis else 1 for i in range(input.ndim)])
    if soft:
        target = target * (1 - smoothing) + smoothing / classes if smoothing else target
        product = logs * target if scale is None else logs * target * scale
        if reduction == 0:
            return -product.sum((axis,))
        return -product.sum() / (product.numel() // classes) if reduction == 1 else -product.sum()
    losses = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not smoothing:
        return losses
    ignored = target == ignore_index
    smooth = (-(logs if scale is None else logs * scale).sum((axis,))).masked_fill_(ignored, 0.0)
    smooth = smooth.sum() if reduction else smooth
    if reduction == 1:
        smooth = smooth / ((~ignored).sum() if weight is None else weight[target[~ignored]].sum())
    return losses * (1 - smoothing) + smooth * (smoothing / classes)


# ------------------------------------------------------------------ other likelihoods
@loss
def poisson_nll_loss(
    input,
    target,
    log_input: bool = True,
    full: bool = False,
    size_average: object = None,
    eps: float = 1e-8,
    reduce: object = None,
    reduction: object = "mean",
):
    """Return the negative log likelihood of counts; ``input`` is their rate, or its logarithm."""
    product = target * (input if log_input else (input + eps).log())
    losses = (input.exp() if log_input else input) - product
    if full:
        rest = (target * (2 * math.pi)).log() * 0.5
        losses = losses + (target * target.log() - target + rest).masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


@public_names("F.gaussian_nll_loss")
def gaussian_nll_loss(input, target, var: Any, full: bool = False, eps: float = 1e-6, reduction: object = "mean"):
    """Return the negative log likelihood of a normal distribution with that variance."""
    number = reduction_number(reduction)
    var = call["full_as"](input, var) if isinstance(var, float) else var
    refuse((var._array < 0).any(), "var has negative entry/entries", ValueError)
    var = var.unsqueeze(-1) if var.shape == input.shape[:-1] else var
    refuse(
        var.ndim != input.ndim or [m for n, m in zip(input.shape, var.shape, strict=True) if n != m] not in ([], [1]),
        "var is of incorrect size",
        ValueError,
    )
    var = var.clone()
    with no_grad():
        var.clamp_(eps)
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, number)


# ------------------------------------------------------------------ distances
@public_names("F.cosine_similarity torch.cosine_similarity")
@native
def cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-8):
    """Return the cosine of the angle between vectors."""
    dtype = dtypes.of(dtypes.result_type(x1._array, x2._array))
    refuse(
        not dtype.is_floating_point,
        f"expected common dtype to be floating point, yet common dtype is {dtype.scalar_name}",
    )
    x1, x2 = (x if x.is_floating_point() else x.to(dtype) for x in (x1, x2))
    if x1.shape != x2.shape:
        shape = broadcast_shape(x1.shape, x2.shape)
        x2, x1 = x2.expand(shape), x1.expand(shape)  # last operands are made first, as in PyTorch
    lengths = [call["vector_norm"](x, 2, (dim,), True).clone() for x in (x1, x2)]
    with no_grad():
        for length in lengths:
            length.clamp_(eps)
    second = x2 / lengths[1]
    return (x1 / lengths[0] * second).sum((dim,))


@public_names("F.pairwise_distance torch.pairwise_distance")
@native
def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
    """Return the p-norm of the differences along the last dimension."""
    apart = x1 - x2 + eps
    return call["norm"](apart, float(p), (apart.ndim - 1,), keepdim)


# ------------------------------------------------------------------ margins
@loss
def margin_ranking_loss(
    input1,
    input2,
    target,
    margin: float = 0.0,
    size_average: object = None,
    reduce: object = None,
    reduction: object = "mean",
):
    """Return how far the first falls short of being more than the second (target 1), or less (-1)."""
    refuse(
        not input1.ndim == input2.ndim == target.ndim,
        "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
        f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} ",
    )
    more = input1 - input2
    return reduced((-target * more + margin).clamp_min_(0), reduction)


@loss
def hinge_embedding_loss(
    input, target, margin: float = 1.0, size_average: object = None, reduce: object = None, reduction: object = "mean"
):
    """Return the input where the target is 1; where it is -1 how far it falls short of the margin."""
    zero = call["zeros_like"](input)
    negative = (margin - input).clamp_min_(0).where(target != 1, zero)
    return reduced(negative + input.where(target != -1, zero), reduction)


@loss
def cosine_embedding_loss(
    input1,
    input2,
    target,
    margin: float = 0,
    size_average: object = None,
    reduce: object = None,
    reduction: object = "mean",
):
    """Return how far vectors are from alike (target 1), or how much more alike than the margin (-1)."""
    axis = (target.ndim,)
    product = (input1 * input2).sum(axis)
    one, other = ((x * x).sum(axis) + 1e-12 for x in (input1, input2))
    cosine = product / (one * other).sqrt()
    near, far = 1.0 - cosine, (cosine - margin).clamp_min_(0)
    near = near.where(target == 1, 0.0)
    return reduced(near + far.where(target == -1, 0.0), reduction)


@loss
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: object = None,
    reduce: object = None,
    reduction: object = "mean",
):
    """Return how much nearer than the margin the negative example is (``swap``: to the anchor or the positive one)."""
    refuse(margin <= 0, f"margin must be greater than 0, got {margin}", ValueError)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    far = call["minimum"](far, pairwise_distance(positive, negative, p, eps)) if swap else far
    return reduced((near + margin - far).clamp_min(0), reduction)


@loss
def soft_margin_loss(input, target, size_average: object = None, reduce: object = None, reduction: object = "mean"):
    """Return ``log(1 + exp(-target * input))``."""
    refuse_gradient("soft_margin_loss", target=target)
    return call["soft_margin_loss"](input, target, reduction)


@loss
def multi_margin_loss(
    input,
    target,
    p: int = 1,
    margin: float = 1.0,
    weight=None,
    size_average: object = None,
    reduce: object = None,
    reduction: object = "mean",
):
    """Return how far the class of each example fails to lead each other class by the margin."""
    refuse(p not in (1, 2), "only p == 1 and p == 2 supported", ValueError)
    sizes = f"inconsistent target size, expected {list(input.shape[:-1])} but got {list(target.shape)}"
    refuse(target.numel() * (input.shape[-1] if input.ndim else 1) != input.numel(), sizes)
    return call["multi_margin_loss"](input, target, p, margin, weight, reduction)


@public_names("F.multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    input, target, weight=None, size_average: object = None, reduce: object = None, reduction: object = "mean"
):
    """Return the binary cross entropies of the sigmoids, their mean over the labels of each example."""
    number, logsigmoid = reduction_number(reduction, size_average, reduce), call["log_sigmoid"]
    other = (1 - target) * logsigmoid(-input)
    losses = -(target * logsigmoid(input) + other)
    losses = losses if weight is None else losses * weight
    return reduced(losses.sum((input.dim() - 1,)) / input.shape[-1], number)


@public_names("F.triplet_margin_with_distance_loss")
def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function: object = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: object = "mean",
):
    """Return how much nearer than the margin the negative example is, by a distance of one's own."""
    distance: Any = distance_function or pairwise_distance
    refuse(margin <= 0, f"margin must be greater than 0, got {margin}", ValueError)
    near, far = distance(anchor, positive), distance(anchor, negative)
    far = call["minimum"](far, distance(positive, negative)) if swap else far
    return reduced((margin + near - far).clamp_min(0), reduction_number(reduction))


@public_names("F.ctc_loss")
def ctc_loss(
    log_probs,
    targets,
    input_lengths: object,
    target_lengths: object,
    blank: int = 0,
    reduction: object = "mean",
    zero_infinity: bool = False,
):
    """Return the negative log likelihood of labels whose times are not known: all ways to place them are summed up."""
    number, is_batch = reduction_number(reduction), log_probs.ndim == 3
    lengths: list[Any] = [
        tuple(np.asarray(getattr(one, "_array", one)).reshape(-1).tolist()) for one in (input_lengths, target_lengths)
    ]
    log_probs = log_probs if is_batch else log_probs.unsqueeze(1)
    steps, batch, classes = log_probs.shape
    refuse_any(
        {
            "blank must be in label range": not 0 <= blank < classes,
            "input_lengths must be of size batch_size": len(lengths[0]) != batch,
            "target_lengths must be of size batch_size": len(lengths[1]) != batch,
            f"Expected input_lengths to have value at most {steps}, but got value {max(lengths[0])} (while checking "
            "arguments for ctc_loss_allocate_outputs)": max(lengths[0]) > steps,
        }
    )
    losses = call["ctc_loss"](log_probs, targets, *lengths, blank, zero_infinity)
    if zero_infinity:
        losses = call["where"](losses == math.inf, call["zeros_of"](losses, ()), losses)
    if number == 1:
        return (losses / losses.new_tensor(lengths[1]).clamp_min(1)).mean()
    return losses.sum() if number == 2 else losses if is_batch else losses.squeeze(0)
