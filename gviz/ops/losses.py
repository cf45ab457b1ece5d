"""Losses: each reduces by its own number (0 none, 1 mean, 2 sum), and has a row for its derivative."""

from __future__ import annotations

import numpy as np

from gviz.ops.checks import check_one_dtype
from gviz.numbers.dtypes import result_type
from gviz.autograd.row import ARRAYS, TENSORS, composite, op
from gviz.ops.rows import row
from gviz.ops.totals import add_up, average

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduced(losses, reduction):
    """A loss per element, or their mean or sum."""
    return losses if reduction == 0 else average(losses) if reduction == 1 else add_up(losses)


def check_same(self, target):
    """Refuse a target of another dtype."""
    check_one_dtype(target, self, "Found dtype {} but expected {}")


def share(array, reduction):
    """What one element's loss counts in the result."""
    return array.dtype.type(1 / array.size if reduction == 1 and array.size else 1)


@composite
def shared_as(value, reduction):
    """The gradient of that, spread over the elements."""
    return value / numel_of(value) if reduction == 1 else value


# ------------------------------------------------------------------ differences
@op(
    "MseLossBackward0",
    self="mse_loss_backward(grad, self, target, reduction)",
    target="mse_loss_backward(grad, target, self, reduction)",
)
def mse_loss(self, target, reduction):
    difference = self - target
    return reduced(difference * difference, reduction)


@op(
    "MseLossBackwardBackward0",
    grad_output="mse_loss_backward(grad, self, target, reduction)",
    self="shared_as(2 * (grad * grad_output), reduction)",
    target="neg(shared_as(2 * (grad * grad_output), reduction))",
)
def mse_loss_backward(grad_output, self, target, reduction):
    difference = self - target
    return grad_output * (difference * (2 * share(difference, reduction)))


@op(
    "SmoothL1LossBackward0",
    self="smooth_l1_loss_backward(grad, self, target, reduction, beta)",
    target="smooth_l1_loss_backward(grad, target, self, reduction, beta)",
)
def smooth_l1_loss(self, target, reduction, beta=1.0):
    kind = self.dtype.type
    far = np.abs(self - target)
    return reduced(np.where(far < beta, kind(0.5) * far * far / kind(beta), far - kind(0.5 * beta)), reduction)


@op(
    "SmoothL1LossBackwardBackward0",
    grad_output="smooth_l1_loss_backward(grad, self, target, reduction, beta)",
    self="shared_as(grad * grad_output * cast_like(less(absolute(self - target), beta), grad) / beta, reduction)",
    target="neg(shared_as(grad * grad_output * cast_like(less(absolute(self - target), beta), grad) / beta, reduction))",
)
def smooth_l1_loss_backward(grad_output, self, target, reduction, beta):
    difference = self - target
    inner = np.where(np.abs(difference) < beta, difference / (difference.dtype.type(beta) or 1), np.sign(difference))
    return grad_output * (inner * share(difference, reduction))


@op(
    "HuberLossBackward0",
    self="huber_loss_backward(grad, self, target, reduction, delta)",
    target="huber_loss_backward(grad, target, self, reduction, delta)",
    promote="none",
)
def huber_loss(self, target, reduction, delta=1.0):
    common = result_type(self, target)
    kind, far = common.type, np.abs(self.astype(common) - target.astype(common))
    losses = np.where(far <= delta, kind(0.5) * far * far, kind(delta) * (far - kind(0.5 * delta)))
    return reduced(losses.astype(self.dtype, copy=False), reduction)


@op(
    "HuberLossBackwardBackward0",
    grad_output="huber_loss_first(grad, grad_output, self, target, reduction, delta)",
    self="shared_as(grad * grad_output * less(absolute(self - target), delta), reduction)",
    target="neg(shared_as(grad * grad_output * less(absolute(self - target), delta), reduction))",
    promote="none",
)
def huber_loss_backward(grad_output, self, target, reduction, delta):
    check_same(self, target)
    difference = self - target
    kind = difference.dtype.type
    return grad_output * (np.clip(difference, kind(-delta), kind(delta)) * share(difference, reduction))


@composite
def huber_loss_first(grad, grad_output, self, target, reduction, delta):
    """The second derivative for the gradient that came in, written as PyTorch does."""
    if reduction == 0:
        return huber_loss_backward(grad, self, target, reduction, delta)
    return sum_all(huber_loss_backward(fill(zeros_like(grad_output), 1), self, target, reduction, delta) * grad)


# ------------------------------------------------------------------ cross entropies of probabilities
@op(
    "BinaryCrossEntropyBackward0",
    nondiff=("weight",),
    self="bce_backward(grad, self, target, weight, reduction)",
    target="bce_target_backward(grad, self, target, weight, reduction)",
)
def binary_cross_entropy(self, target, weight=None, reduction=1):
    if self.size and not (self.min() >= 0 and self.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    floor = self.dtype.type(-100)
    losses = (target - 1) * np.maximum(np.log1p(-self), floor) - target * np.maximum(np.log(self), floor)
    return reduced(losses if weight is None else losses * weight, reduction)


@op(
    "BinaryCrossEntropyBackwardBackward0",
    nondiff=("weight",),
    grad_output="bce_first(grad, self, target, weight, reduction)",
    self="bce_second(grad, grad_output, self, target, weight, reduction)",
    target="shared_as(overwritten(multiplied(neg(grad) * grad_output, weight), 'div', bce_spread(self)), reduction)",
)
def bce_backward(grad_output, self, target, weight, reduction):
    kind = self.dtype.type
    slope = (self - target) / np.maximum((1 - self) * self, kind(1e-12))
    return grad_output * (slope if weight is None else slope * weight) * share(self, reduction)


@composite
def bce_target_backward(grad, self, target, weight, reduction):
    """The gradient for the target, which is saved for its size."""
    found = multiplied(neg(logit(self, None)), grad, weight)
    return found / numel_of(target) if reduction == 1 else found


def raised(value, bound):
    """A recorded value that is kept above a bound, without a trace of that."""
    np.maximum(value._array, bound, out=value._array)
    return value


ARRAYS["raised"], TENSORS["raised"] = np.maximum, raised


@composite
def bce_spread(self):
    """What is divided by, kept away from zero."""
    return raised(overwritten(sub(scalar_like(self, 1.0), self), "mul", self), 1e-12)


@composite
def bce_first(grad, self, target, weight, reduction):
    """The second derivative for the gradient that came in; denominators are made first, as in PyTorch."""
    above = sub(scalar_like(self, 1.0), self) + 1e-12
    below = (self + 1e-12) * above
    return shared_as(multiplied((self - target) / below, grad, weight), reduction)


@composite
def bce_second(grad, grad_output, self, target, weight, reduction):
    """The second derivative of a binary cross entropy: (x^2 - 2 x y + y) / (x (1 - x))^2."""
    low, high = self + 1e-12, sub(scalar_like(self, 1.0), self) + 1e-12
    high = power(high, 2)
    spread, twice = power(low, 2) * high, 2 * self * target
    return shared_as(multiplied((self * self - twice + target) / spread, grad * grad_output, weight), reduction)


@composite
def weighted(value, weight):
    """Times the weight, where there is one."""
    return value if weight is None else value * weight


@op(
    "BinaryCrossEntropyWithLogitsBackward0",
    nondiff=("weight", "pos_weight"),
    promote="none",
    self="bce_logits_backward(grad, self, target, weight, pos_weight, reduction)",
    target="bce_logits_target_backward(grad, self, target, weight, pos_weight, reduction)",
)
def bce_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    below = np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self)))
    factor = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    losses = (1 - target) * self - factor * below
    return reduced((losses if weight is None else losses * weight).astype(target.dtype, copy=False), reduction)


@composite
def bce_logits_backward(grad, self, target, weight, pos_weight, reduction):
    """The sigmoid less the target, or its form with a weight for positive examples."""
    if pos_weight is None:
        found = (sigmoid(self) - target) * grad
    else:
        positive = pos_weight * target
        found = ((positive + 1 - target) * sigmoid(self) - positive) * grad
    return shared_as(weighted(found, weight), reduction)


@composite
def bce_logits_target_backward(grad, self, target, weight, pos_weight, reduction):
    """The gradient for the target."""
    if pos_weight is None:
        found = neg(self) * grad
    else:
        found = multiplied(log_sigmoid(neg(self)) - multiplied(log_sigmoid(self), pos_weight), grad)
    return shared_as(multiplied(found, weight), reduction)


# ------------------------------------------------------------------ negative log likelihood
def picked(self, target, weight, ignore_index):
    """Each example's class as an index into the classes (dim 1, or 0 of one example), and what it weighs."""
    target = target.reshape(()) if self.ndim == 1 else target  # the class of one example may be a list of one
    ignored = target == ignore_index
    classes = self.shape[-1 if self.ndim <= 2 else 1]
    index = np.where(ignored, 0, target)
    if index.size and (index.min() < 0 or index.max() >= classes):
        wrong = index[(index < 0) | (index >= classes)].reshape(-1)[0]
        raise IndexError(f"Target {wrong} is out of bounds.")
    weights = np.ones(target.shape, self.dtype) if weight is None else weight[index]
    return index, np.where(ignored, self.dtype.type(0), weights)


def class_axis(array):
    """The dimension of the classes."""
    return 0 if array.ndim == 1 else 1


def nll_forward(self, target, weight, reduction, ignore_index):
    """The loss and the sum of the weights."""
    index, weights = picked(self, target, weight, ignore_index)
    axis = class_axis(self)
    losses = -np.take_along_axis(self, np.expand_dims(index, axis), axis).squeeze(axis) * weights
    losses = np.where(weights == 0, self.dtype.type(0), losses) if weight is None else losses
    total = weights.sum(dtype=self.dtype)
    if reduction == 0:
        return losses, total if self.ndim == 1 else np.zeros((), self.dtype)
    return (losses.sum() / total if reduction == 1 else losses.sum()), total


def nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    """The gradient, put where each example's class is."""
    if self.ndim == 1 and target.shape not in ((), self.shape):  # which the loss itself takes
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    index, weights = picked(self, target, weight, ignore_index)
    axis = class_axis(self)
    values = -weights * (grad_output / total_weight if reduction == 1 else grad_output)
    result = np.zeros_like(self)
    np.put_along_axis(result, np.expand_dims(index, axis), np.expand_dims(np.where(weights == 0, 0, values), axis), axis)
    return result


for key, node in (("nll_loss", "NllLoss"), ("nll_loss2d", "NllLoss2D")):
    row(
        key,
        f"{node}Backward0",
        nll_forward,
        nondiff=("target", "weight"),
        extras=("total_weight",),
        self=f"{key}_backward(grad, self, target, weight, reduction, ignore_index, total_weight)",
    )
    row(
        f"{key}_backward",
        f"{node}BackwardBackward0",
        nll_backward,
        nondiff=("target", "weight", "total_weight"),
        grad_output=f"{key}(grad, target, weight, reduction, ignore_index)",
        self="zeros_like(grad)",
    )


@op("SoftMarginLossBackward0", nondiff=("target",), self="soft_margin_loss_backward(grad, self, target, reduction)")
def soft_margin_loss(self, target, reduction):
    return reduced(np.log1p(np.exp((-self * target).astype(self.dtype, copy=False))), reduction)


@op(
    "SoftMarginLossBackwardBackward0",
    nondiff=("target",),
    grad_output="soft_margin_loss_first(grad, grad_output, self, target, reduction)",
    self="shared_as(soft_margin_second(grad * grad_output, self, target), reduction)",
)
def soft_margin_loss_backward(grad_output, self, target, reduction):
    slope = -target.astype(self.dtype, copy=False) / (1 + np.exp(self * target)) * share(self, reduction)
    return grad_output * slope.astype(self.dtype, copy=False)


@composite
def soft_margin_loss_first(grad, grad_output, self, target, reduction):
    """The second derivative for the gradient that came in, written as PyTorch does."""
    if reduction == 0:
        return soft_margin_loss_backward(grad, self, target, reduction)
    return sum_all(soft_margin_loss_backward(fill(zeros_like(grad_output), 1), self, target, reduction) * grad)


@composite
def soft_margin_second(grad, self, target):
    """The second derivative of a soft margin, written as PyTorch does."""
    z = exp(self * neg(target))
    above = z + 1
    square = above * above
    return grad * (target * target) * z / square
