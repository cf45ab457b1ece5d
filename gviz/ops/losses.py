"""Losses: each reduces by its own number (0 none, 1 mean, 2 sum), and has a row for its derivative.

Source: PyTorch's derivatives.yaml, and Loss.cpp, LossNLL.cpp and FunctionsManual.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.numbers.summing import in_levels
from gviz.ops.reduction import add_up, average
from gviz.ops.rows import (
    ARRAYS,
    TENSORS,
    check_one_dtype,
    composite,
    exp_of,
    formula,
    lacks,
    log1p_of,
    log_of,
    op,
    refuse,
    row,
)

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduced(losses, reduction):
    """Return a loss per element, or their mean or sum."""
    return losses if reduction == 0 else average(losses) if reduction == 1 else add_up(losses)

def share(array, reduction):
    """Return what one element's loss counts in the result."""
    return array.dtype.type(1 / array.size if reduction == 1 and array.size else 1)

formula("shared_as", lambda value, reduction: value / numel_of(value) if reduction == 1 else value)  # the gradient of that

# ------------------------------------------------------------------ differences
def difference(key, node, forward, backward, bend, options="", first=""):
    """Store the rows of a loss of differences and of its derivative; ``bend`` is the second one, before it is shared."""
    formula = f"{key}_backward(grad, {{}}, {{}}, reduction{options})"
    row(key, f"{node}Backward0", forward, check=lacks(f"{key[:-5]}_cpu"), self=formula.format("self", "target"),
        target=formula.format("target", "self"))
    row(f"{key}_backward", f"{node}BackwardBackward0", backward, grad_output=first or formula.format("self", "target"),
        self=f"shared_as({bend}, reduction)", target=f"neg(shared_as({bend}, reduction))")

def smooth(self, target, reduction, beta=1.0):
    """Return squared differences below ``beta``, absolute ones above."""
    refuse(beta < 0, "smooth_l1_loss does not support negative values for beta.")
    far = np.abs(self - target)
    return reduced(np.where(far < beta, 0.5 * far * far / beta, far - 0.5 * beta), reduction)

def smooth_back(grad_output, self, target, reduction, beta):
    """Return the gradient of :func:`smooth`."""
    apart = self - target
    inner = np.where(np.abs(apart) < beta, apart / (beta or 1), np.sign(apart))
    return grad_output * (inner * share(apart, reduction))

def huber(self, target, reduction, delta=1.0):
    """Return half the square of differences below ``delta``, linear above."""
    refuse(delta <= 0, "huber_loss does not support non-positive values for delta.")
    far = np.abs(self - target)
    return reduced(np.where(far <= delta, 0.5 * far * far, delta * (far - 0.5 * delta)), reduction)

NEAR = "grad * grad_output * {}less(absolute(self - target), {}){}"
difference("mse_loss", "MseLoss", lambda self, target, reduction: reduced((self - target) ** 2, reduction),
           lambda grad_output, self, target, reduction: grad_output * ((self - target) * (2 * share(self, reduction))),
           "2 * (grad * grad_output)")
difference("smooth_l1_loss", "SmoothL1Loss", smooth, smooth_back, NEAR.format("cast_like(", "beta", ", grad) / beta"), ", beta")
difference("huber_loss", "HuberLoss", huber,
           lambda grad_output, self, target, reduction, delta:
           grad_output * (np.clip(self - target, -delta, delta) * share(self, reduction)),
           NEAR.format("", "delta", ""), ", delta",
           first="first_of(huber_loss_backward, grad, grad_output, self, target, reduction, delta)")

@composite
def first_of(backward, grad, grad_output, *options):
    """The second derivative for the gradient that came in, in PyTorch's order; the reduction is the third option."""
    return (
        backward(grad, *options)
        if options[2] == 0
        else sum_all(backward(fill(zeros_like(grad_output), 1), *options) * grad)
    )

# ------------------------------------------------------------------ cross entropies of probabilities
@op("BinaryCrossEntropyBackward0", nondiff=("weight",), check=lambda self, *rest: lacks("binary_cross_entropy")(self),
    self="bce_backward(grad, self, target, weight, reduction)",
    target="bce_target_backward(grad, self, target, weight, reduction)")
def binary_cross_entropy(self, target, weight=None, reduction=1):
    refuse(self.size and not (self.min() >= 0 and self.max() <= 1), "all elements of input should be between 0 and 1")
    losses = (target - 1) * np.maximum(log1p_of(-self), -100) - target * np.maximum(log_of(self), -100)
    return reduced(losses if weight is None else losses * weight, reduction)

@op("BinaryCrossEntropyBackwardBackward0", nondiff=("weight",), grad_output="bce_first(grad, self, target, weight, reduction)",
    self="bce_second(grad, grad_output, self, target, weight, reduction)",
    target="shared_as(overwritten(multiplied(neg(grad) * grad_output, weight), 'div', bce_spread(self)), reduction)")
def bce_backward(grad_output, self, target, weight, reduction):
    slope = (self - target) / np.maximum((1 - self) * self, 1e-12)
    return grad_output * (slope if weight is None else slope * weight) * share(self, reduction)

# the gradient for the target, which is saved as in PyTorch
formula("bce_target_backward", lambda grad, self, target, weight, reduction:
    shared_as(multiplied(neg(logit(self, None)), grad, weight), reduction))

def raised(value, bound):
    """A recorded value that is kept above a bound, without a trace of that."""
    np.maximum(value._array, bound, out=value._array)
    return value

ARRAYS["raised"], TENSORS["raised"] = np.maximum, raised

formula("bce_spread", lambda self: raised(overwritten(sub(scalar_like(self, 1.0), self), "mul", self), 1e-12))

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

@op("BinaryCrossEntropyWithLogitsBackward0", nondiff=("weight", "pos_weight"), promote="none",
    check=lambda self, *rest: lacks("log_sigmoid_cpu")(self),
    self="bce_logits_backward(grad, self, target, weight, pos_weight, reduction)",
    target="bce_logits_target_backward(grad, self, target, weight, pos_weight, reduction)")
def bce_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    below = np.minimum(self, 0) - log1p_of(exp_of(-np.abs(self)))
    losses = (1 - target) * self - (1 if pos_weight is None else (pos_weight - 1) * target + 1) * below
    return reduced((losses if weight is None else losses * weight).astype(target.dtype, copy=False), reduction)

@composite
def bce_logits_backward(grad, self, target, weight, pos_weight, reduction):
    """The sigmoid less the target, or its form with a weight for positive examples."""
    if pos_weight is None:
        result = (sigmoid(self) - target) * grad
    else:
        positive = pos_weight * target
        result = ((positive + 1 - target) * sigmoid(self) - positive) * grad
    return shared_as(result if weight is None else result * weight, reduction)

@composite
def bce_logits_target_backward(grad, self, target, weight, pos_weight, reduction):
    """The gradient for the target."""
    if pos_weight is None:
        result = neg(self) * grad
    else:
        result = multiplied(log_sigmoid(neg(self)) - multiplied(log_sigmoid(self), pos_weight), grad)
    return shared_as(multiplied(result, weight), reduction)

# ------------------------------------------------------------------ negative log likelihood
def picked(self, target, weight, ignore_index):
    """Return the places of each example's class, for numpy's indexing, what each weighs, and which count for nothing."""
    axis = 0 if self.ndim == 1 else 1
    if self.ndim == 1:  # the class of one example may be a list of one
        refuse(target.size != 1,
               f"nll_loss(): 1D target must have size 1, but got target size: {target.size}", ValueError)
        target = target.reshape(())
    index = np.where(ignored := target == ignore_index, 0, target)
    if (wrong := index[(index < 0) | (index >= self.shape[axis])]).size:
        raise IndexError(f"Target {wrong[0]} is out of bounds.")
    weights = (~ignored).astype(self.dtype) if weight is None else np.where(ignored, self.dtype.type(0), weight[index])
    if self.ndim == 1:
        return (index,), weights, ignored
    first, *others = (np.arange(len(target)),) if target.ndim == 1 else np.indices(target.shape, sparse=True)
    return (first, index, *others), weights, ignored

def check_nll(self, target, weight=None, total_weight=None):
    lacks("nll_loss_out_frame")(self)
    check_one_dtype(self, self if weight is None else weight, "expected scalar type {} but found {}")

def nll_forward(self, target, weight, reduction, ignore_index):
    """Return the loss and the sum of the weights."""
    places, weights, ignored = picked(self, target, weight, ignore_index)
    losses = np.where(ignored, self.dtype.type(0), -self[places] * weights)
    both = np.stack((losses, np.broadcast_to(weights, losses.shape)), axis=-1, dtype=self.dtype).reshape(1, -1, 2)
    # PyTorch's blocks of 16 end at examples 0, 16, 32
    loss, total = in_levels(np.concatenate((np.zeros((1, 4095, 2), self.dtype), both), axis=1))[0]
    if reduction == 0:
        return losses, total if self.ndim == 1 else np.zeros((), self.dtype)
    return (loss / total if reduction == 1 else loss), total

def nll_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    """Return the gradient, put where each example's class is."""
    if self.ndim == 1 and target.shape not in ((), self.shape):  # which the loss itself takes
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    places, weights, ignored = picked(self, target, weight, ignore_index)
    values = -weights * (grad_output / total_weight if reduction == 1 else grad_output)
    result = np.zeros_like(self)
    result[places] = np.where(ignored, 0, values)
    return result

for key, node in (("nll_loss", "NllLoss"), ("nll_loss2d", "NllLoss2D")):
    row(key, f"{node}Backward0", nll_forward, nondiff=("target", "weight"), extras=("total_weight",), check=check_nll,
        self=f"{key}_backward(grad, self, target, weight, reduction, ignore_index, total_weight)")
    row(f"{key}_backward", f"{node}BackwardBackward0", nll_backward, nondiff=("target", "weight", "total_weight"),
        promote="none", grad_output=f"{key}(grad, target, weight, reduction, ignore_index)", self="zeros_like(grad)")

# ------------------------------------------------------------------ soft margins
row("soft_margin_loss", "SoftMarginLossBackward0",
    lambda self, target, reduction: reduced(log1p_of(exp_of((-self * target).astype(self.dtype, copy=False))), reduction),
    nondiff=("target",), check=lacks("", "iu", "result type Float can't be cast to the desired output type {name}"),
    self="soft_margin_loss_backward(grad, self, target, reduction)")

@op("SoftMarginLossBackwardBackward0", nondiff=("target",),
    grad_output="first_of(soft_margin_loss_backward, grad, grad_output, self, target, reduction)",
    self="shared_as(soft_margin_second(grad * grad_output, self, target), reduction)")
def soft_margin_loss_backward(grad_output, self, target, reduction):
    slope = -target.astype(self.dtype, copy=False) / (1 + exp_of(self * target)) * share(self, reduction)
    return grad_output * slope.astype(self.dtype, copy=False)

@composite
def soft_margin_second(grad, self, target):
    """The second derivative of a soft margin, in PyTorch's order."""
    z = exp(self * neg(target))
    above = z + 1
    square = above * above
    return grad * (target * target) * z / square

# ------------------------------------------------------------------ margins between classes
def margins(self, target, p, margin, weight):
    """Return how far the class of each example fails to lead each other class by the margin, and its weight."""
    rows = np.atleast_2d(self)
    classes = target.reshape(-1, 1)
    short = np.maximum(margin - np.take_along_axis(rows, classes, 1) + rows, 0)
    np.put_along_axis(short, classes, 0, 1)
    return short, (1 if weight is None else weight[classes]) / self.dtype.type(rows.shape[1])

@op("MultiMarginLossBackward0", nondiff=("target", "weight"), check=lacks("multi_margin_loss", "biu"),
    self="multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction)")
def multi_margin_loss(self, target, p, margin, weight, reduction):
    short, weights = margins(self, target, p, margin, weight)
    losses = (short**p * weights).sum(1)
    return reduced(losses if self.ndim > 1 else losses[0], reduction).astype(self.dtype, copy=False)

@op("NotImplemented", nondiff=("target", "weight"), promote="none",
    grad_output__self='refuse_derivative("multi_margin_loss_backward")')
def multi_margin_loss_backward(grad_output, self, target, p, margin, weight, reduction):
    short, weights = margins(self, target, p, margin, weight)
    slopes = p * short ** (p - 1) * (short > 0) * weights
    np.put_along_axis(slopes, target.reshape(-1, 1), 0 - slopes.sum(1, keepdims=True), 1)
    grad = grad_output * (self.dtype.type(1 / len(short)) if reduction == 1 else 1)
    return (slopes * np.reshape(grad, (-1, 1))).reshape(self.shape).astype(self.dtype, copy=False)

# ------------------------------------------------------------------ sequences without an alignment
def alphas(logs, labels):
    """Return for each time and label the logarithm of the probability of all ways that lead there."""
    result = np.full((len(logs), len(labels)), -np.inf, logs.dtype)
    result[0, :2] = logs[0, labels[:2]]
    may_skip = labels[2:] != labels[:-2]  # a blank between two labels may be left out, unless they are the same
    for time in range(1, len(logs)):
        ways = result[time - 1].copy()
        ways[1:] = np.logaddexp(ways[1:], result[time - 1, :-1])
        ways[2:] = np.where(may_skip, np.logaddexp(ways[2:], result[time - 1, :-2]), ways[2:])
        result[time] = ways + logs[time, labels]
    return result

def examples(log_probs, targets, input_lengths, target_lengths, blank):
    """Return for each example its log probabilities, and its labels with a blank before, between and behind them."""
    ends = np.cumsum(target_lengths)
    for number, (time, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        labels = np.full(2 * length + 1, blank)
        labels[1::2] = targets[number, :length] if targets.ndim > 1 else targets[ends[number] - length : ends[number]]
        yield log_probs[:time, number], labels

@op("CtcLossBackward0", nondiff=("targets",), extras=("result0", "result1"),
    log_probs="ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, "
    "zero_infinity)")
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    longest = max(target_lengths) if targets.ndim == 1 else targets.shape[1]
    ways = np.full((len(input_lengths), len(log_probs), 2 * longest + 1), -np.inf, log_probs.dtype)
    losses = np.empty(len(input_lengths), log_probs.dtype)
    for number, (logs, labels) in enumerate(examples(log_probs, targets, input_lengths, target_lengths, blank)):
        own = alphas(logs, labels)
        ways[number, : len(logs), : len(labels)] = own
        losses[number] = -np.logaddexp.reduce(own[-1, -2:])
    return losses, losses, ways

@op("NotImplemented", nondiff=("targets", "losses", "ways"), promote="none",
    grad_output__log_probs='refuse_derivative("_ctc_loss_backward")')
def ctc_loss_backward(grad_output, log_probs, targets, input_lengths, target_lengths, losses, ways, blank,
                      zero_infinity):
    """The probabilities, less the share of each label in all ways: those that lead to it, and on from it to the end."""
    result = np.zeros_like(log_probs)
    for number, (logs, labels) in enumerate(examples(log_probs, targets, input_lengths, target_lengths, blank)):
        if zero_infinity and losses[number] == np.inf:
            continue
        through = ways[number, : len(logs), : len(labels)] + alphas(logs[::-1], labels[::-1])[::-1, ::-1]
        shares = np.full_like(logs, -np.inf)
        for place, label in enumerate(labels):
            shares[:, label] = np.logaddexp(shares[:, label], through[:, place])
        slope = exp_of(logs) - exp_of(shares + losses[number] - logs)
        result[: len(logs), number] = slope * grad_output[number]
    return result
