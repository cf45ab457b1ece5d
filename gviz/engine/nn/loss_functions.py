"""Losses as functions: which row each means, and what PyTorch refuses."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from gviz.autograd import inplace as writing
from gviz.numbers.dtypes import get_default_dtype, no_kernel, of, result_type
from gviz.numbers.shapes import check_written
from gviz.numbers.words import bound, warn
from gviz.autograd.formulas import parameters
from gviz.engine.nn.checks import check_classes, check_constant
from gviz.autograd.row import TENSORS as call
from gviz.ops import losses as rows
from gviz.ops.arithmetic import check_neg, check_sub
from gviz.engine.surface.rearranging import broadcast_tensors
from gviz.autograd.tensor import Tensor, from_array

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "huber_loss", "kl_div", "l1_loss", "mse_loss",
    "nll_loss", "smooth_l1_loss", "soft_margin_loss",
]  # fmt: skip


def reduction_number(reduction: str) -> int:
    """The number by which rows know a reduction."""
    if reduction not in rows.REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return rows.REDUCTIONS[reduction]


class Told(str):
    """A reduction that was told by its old names: nobody is then told how it will change."""

    __slots__ = ("beside",)
    beside: str
    """The one that was given by its own name, too."""


def told_of_old(reduction: str, size_average: Any, reduce: Any) -> str:
    """The reduction, or what two old arguments mean by their truth, with PyTorch's warning."""
    if size_average is reduce is None:
        return reduction
    mean = bool(size_average is None or size_average)  # asked first: whether it is true may be refused
    means = Told("none" if reduce is not None and not reduce else "mean" if mean else "sum")
    warn(f"size_average and reduce args will be deprecated, please use reduction='{means}' instead.")
    return means


def old(loss: Any) -> Any:
    """A loss that takes ``size_average`` and ``reduce``, too, as PyTorch's did before there was ``reduction``."""
    names = list(parameters(loss))
    options = dict.fromkeys(names, ...) | dict(zip(reversed(names), reversed(loss.__defaults__), strict=False))
    place = names.index("reduction")
    first = place - (names[place - 1] in ("ignore_index", "eps"))
    placed = [*names[:first], "size_average", *names[first:place], "reduce", *names[place:]]

    @wraps(loss)
    def call(*args: Any, **given: Any) -> Any:
        if len(args) <= first and not {"size_average", "reduce"} & given.keys():
            return loss(*args, **given)
        values = bound(loss.__name__, {name: options.get(name) for name in placed}, args, given)
        beside = values["reduction"]
        values["reduction"] = told_of_old(beside, values.pop("size_average"), values.pop("reduce"))
        if isinstance(values["reduction"], Told):
            values["reduction"].beside = beside
        return loss(**values)

    return call


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """A loss per element, or their mean or sum."""
    number = reduction_number(reduction)
    return losses if number == 0 else call["mean_all" if number == 1 else "sum_all"](losses)


def pair(input: Tensor, target: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Input and target broadcast to one shape, with PyTorch's warning where they differ."""
    if target._array.shape == input._array.shape:
        return input, target
    warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
        "incorrect results due to broadcasting. Please ensure they have the same size.",
    )
    first, second = broadcast_tensors(input, target)
    return first, second


def counted(losses: Tensor, weight: Tensor, size: tuple[int, ...], reduction: str, *, share: bool = True) -> Any:
    """Losses times their weights, or the mean or sum of these. ValueError: no such reduction, weights of another shape.

    Args:
        losses: one per element.
        weight: as many.
        size: the shape that it has to have.
        reduction: "none", "sum" or "mean".
        share: whether the mean is a share of the sum of the weights.
    """
    if weight._array.shape != size:
        raise ValueError("Weights and input must have the same size.")
    found = call["mul"](losses, weight)
    if reduction not in {"none", "sum", "mean"}:
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    if reduction == "mean" and share:
        return call["div"](call["sum_all"](found), call["sum_all"](weight))
    return reduced(found, reduction)


@old
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Any = None) -> Tensor:
    """Squared differences."""
    size = input.shape
    input, target = pair(input, target)
    if weight is not None:
        return counted(call["power"](call["sub"](input, target), 2), weight, size, reduction)  # type: ignore[no-any-return]
    return call["mse_loss"](input, target, reduction_number(reduction))  # type: ignore[no-any-return]


@old
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Any = None) -> Tensor:
    """Absolute differences."""
    size = input.shape
    losses = call["absolute"](call["sub"](*pair(input, target)))
    return reduced(losses, reduction) if weight is None else counted(losses, weight, size, reduction)


@old
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Squared differences below ``beta``, absolute ones above."""
    input, target = pair(input, target)
    if not beta >= 0:  # nor not a number
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0.0:
        return reduced(call["absolute"](call["sub"](input, target)), reduction)
    return call["smooth_l1_loss"](input, target, reduction_number(reduction), float(beta))  # type: ignore[no-any-return]


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """Half the square below ``delta``, linear above."""
    if not delta > 0:  # nor not a number
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    size = input.shape
    input, target = pair(input, target)
    writing.refuse_cast(result_type(input._array, target._array), input._array.dtype)
    if weight is not None:
        losses = call["huber_loss"](input, target, 0, float(delta))
        return counted(losses, weight, size, reduction, share=False)  # type: ignore[no-any-return]
    return call["huber_loss"](input, target, reduction_number(reduction), float(delta))  # type: ignore[no-any-return]


@old
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``."""
    if not all(isinstance(t, Tensor) for t in (input, target)):
        raise TypeError
    check_constant("soft_margin_loss", target=target)
    scores, signs = input._array, target._array
    check_neg(scores)  # type: ignore[no-untyped-call]
    for kind in (result_type(scores, signs), get_default_dtype().np):  # that of the product, and of its exponential
        writing.refuse_cast(kind, scores.dtype)
    check_written(scores.shape, signs.shape)
    return call["soft_margin_loss"](input, target, reduction_number(reduction))  # type: ignore[no-any-return]


@old
def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The divergence of a distribution from the one whose logarithm ``input`` is."""
    if reduction == "mean" and not isinstance(reduction, Told):
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by "
            "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release."
        )
    if not all(isinstance(t, Tensor) for t in (input, target)) or not isinstance(log_target, bool):
        raise TypeError
    if not (kinds := {input._array.dtype.kind, target._array.dtype.kind}) <= {"f"}:
        raise RuntimeError(f"kl_div: {'Complex' if 'c' in kinds else 'Integral'} inputs not supported.")
    if log_target:
        difference = call["sub"](target, input)
        losses = call["mul"](call["exp"](target), difference)
    else:
        product = call["mul"](target, input)
        losses = call["sub"](call["xlogy"](target, target), product)
    batch = "batchmean" in (reduction, getattr(reduction, "beside", ""))
    found = reduced(losses, "sum" if reduction == "batchmean" else reduction)
    return found / input._array.shape[0] if batch else found


@old
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """The cross entropy of probabilities and targets in [0, 1]."""
    number = reduction_number(reduction)
    if target._array.shape != input._array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    rows.check_same(input._array, target._array)  # type: ignore[no-untyped-call]
    if input._array.dtype.kind != "f":
        raise no_kernel("binary_cross_entropy", input._array.dtype)
    check_constant("binary_cross_entropy", weight=weight)
    if ((target._array < 0) | (target._array > 1)).any():
        raise RuntimeError("all elements of target should be between 0 and 1")
    if weight is not None:
        check_written(target._array.shape, weight._array.shape)
        weight = call["expand"](weight, target._array.shape)
    return call["binary_cross_entropy"](input, target, weight, number)  # type: ignore[no-any-return]


@old
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None
) -> Tensor:
    """:func:`binary_cross_entropy` of the sigmoid, computed stably."""
    number = reduction_number(reduction)
    check_constant("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    if target._array.shape != input._array.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    check_sub(target._array, target._array)  # type: ignore[no-untyped-call]
    writing.refuse_cast(result_type(input._array, target._array), target._array.dtype)
    if pos_weight is not None:
        call["broadcast_shape"](pos_weight._array.shape, target._array.shape)
    return call["bce_with_logits"](input, target, weight, pos_weight, number)  # type: ignore[no-any-return]


@old
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """The negative of the log probability of each example's class."""
    number, sizes = reduction_number(reduction), input._array.shape
    if not sizes:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(sizes) > 1 and (not target._array.ndim or sizes[0] != target._array.shape[0]):
        have = target._array.shape[0] if target._array.ndim else 0
        raise ValueError(f"Expected input batch_size ({sizes[0]}) to match target batch_size ({have}).")
    out = (sizes[0], *sizes[2:])
    if len(sizes) not in (1, 2, 4) and target._array.shape != out:
        raise RuntimeError(f"Expected target size {list(out)}, got {list(target._array.shape)}")
    check_classes(input, target, weight)
    check_constant("nll_loss_forward" if len(sizes) <= 2 else "nll_loss2d_forward", weight=weight)
    if len(sizes) <= 2:
        return call["nll_loss"](input, target, weight, number, ignore_index)  # type: ignore[no-any-return]
    if len(sizes) == 4:
        return call["nll_loss2d"](input, target, weight, number, ignore_index)  # type: ignore[no-any-return]
    flat, places = (
        call["view"](call["contiguous_of"](t), (*lead, 1, -1)) for t, lead in ((input, sizes[:2]), (target, sizes[:1]))
    )
    found = call["nll_loss2d"](flat, places, weight, number, ignore_index)
    return found if number else call["view"](found, out)  # type: ignore[no-any-return]


@old
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The cross entropy of unnormalized scores: with classes, or with probabilities of the input's shape."""
    label_smoothing = float(max(0.0, label_smoothing))  # less than none is none
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if target._array.shape == input._array.shape and (kind := target._array.dtype).kind != "f":
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {of(kind).scalar_name}")
    if target._array.shape == input._array.shape and ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    axis = 0 if input._array.ndim == 1 else 1
    logs = call["log_softmax_row"](input, axis)
    if target._array.shape == input._array.shape:
        return soft_cross_entropy(logs, target, weight, reduction, label_smoothing)
    loss: Tensor = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return loss
    spread: Any = logs if weight is None else weighed(logs, weight, axis)
    smooth = call["neg"](call["sum_dim"](spread, (axis,), False))
    ignored = call["equal"](target, ignore_index)
    smooth = writing.in_place(call["masked_fill"], smooth, ignored, 0.0)
    if reduction == "mean":
        kept = ~ignored._array
        count = kept.sum() if weight is None else weight._array[target._array[kept]].sum()
        smooth = call["div"](call["sum_all"](smooth), from_array(np.asarray(count), None))
    elif reduction == "sum":
        smooth = call["sum_all"](smooth)
    share = label_smoothing / logs._array.shape[axis]
    return call["add"](call["mul_scalar"](loss, 1 - label_smoothing), call["mul_scalar"](smooth, share))  # type: ignore[no-any-return]


def weighed(values: Tensor, weight: Tensor, axis: int) -> Any:
    """Values times what each class weighs, whose axis that is."""
    return call["mul"](values, call["view"](weight, [-1 if i == axis else 1 for i in range(values._array.ndim)]))


def soft_cross_entropy(logs: Tensor, target: Any, weight: Tensor | None, reduction: str, smoothing: float) -> Tensor:
    """The cross entropy of log probabilities and probabilities."""
    axis = 0 if logs._array.ndim == 1 else 1
    classes = logs._array.shape[axis]
    if smoothing:
        target = call["add_scalar"](call["mul_scalar"](target, 1 - smoothing), smoothing / classes)
    product = call["mul"](logs, target)
    if weight is not None:
        product = weighed(product, weight, axis)
    if reduction_number(reduction) == 0:
        return call["neg"](call["sum_dim"](product, (axis,), False))  # type: ignore[no-any-return]
    if not product._array.size and reduction == "mean":
        return call["neg"](writing.in_place(call["fill"], call["sum_all"](product), float("nan")))  # type: ignore[no-any-return]
    total = call["neg"](call["sum_all"](product))
    return call["div_scalar"](total, logs._array.size // classes) if reduction == "mean" else total  # type: ignore[no-any-return]
