"""Losses of how far the right classes are above the others: of one class, and of several."""

from __future__ import annotations

import numpy as np

from gviz.numbers.dtypes import of
from gviz.autograd.row import op
from gviz.ops.losses import reduced, share


def check_scores(self):
    """Refuse scores that are no matrix or vector."""
    if self.ndim > 2 or 0 in self.shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}")


def check_classes(target):
    """Refuse targets that are no numbers of classes."""
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {of(target.dtype).scalar_name}")


def beyond(self, target, weight, p, margin):
    """Each example's classes by how far they are less than the margin below its own, which counts 0; and what each weighs."""
    check_scores(self)
    rows = self.reshape(-1, self.shape[-1] if self.ndim else 1)
    classes = target.reshape(-1)
    if target.ndim > 1 or len(classes) != len(rows):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{len(rows)}], but got {list(target.shape)}. Input has shape {list(self.shape)}."
        )
    if weight is not None and weight.size != rows.shape[1]:
        raise RuntimeError(f"inconsistent weight size, expected {rows.shape[1]} but got {list(weight.shape)}")
    check_classes(target)
    if classes.size and not 0 <= classes.min() <= classes.max() < rows.shape[1]:
        raise RuntimeError("target out of range")
    each = np.arange(len(rows))
    found = np.fmax(rows.dtype.type(margin) - rows[each, classes][:, None] + rows, 0)  # what is not a number is not beyond
    found[each, classes] = 0
    return found, each, classes, (1 if weight is None else weight[classes][:, None]) / rows.dtype.type(rows.shape[1])


@op(
    "MultiMarginLossBackward0",
    nondiff=("target", "weight"),
    promote="none",
    self="multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction)",
)
def multi_margin_loss(self, target, p, margin, weight, reduction):
    found, _, _, weights = beyond(self, target, weight, p, margin)
    return reduced((found**p * weights).sum(axis=1).astype(self.dtype, copy=False).reshape(target.shape), reduction)


@op(
    "NotImplemented",
    nondiff=("target", "weight"),
    promote="none",
    grad_output__self='refuse_derivative("multi_margin_loss_backward")',
)
def multi_margin_loss_backward(grad_output, self, target, p, margin, weight, reduction):
    found, each, classes, weights = beyond(self, target, weight, p, margin)
    slope = ((found > 0) if p == 1 else 2 * found) * weights * share(target.astype(self.dtype), reduction)
    slope[each, classes] = -slope.sum(axis=1)
    return (slope * grad_output.reshape(-1, 1)).astype(self.dtype, copy=False).reshape(self.shape)


def pairs(self, target):
    """Of each example the scores, whether each class is a target, and the targets as (class, whether there is one)."""
    check_scores(self)
    if target.shape != self.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    check_classes(target)
    if target.size and not -1 <= target.min() <= target.max() < (self.shape[-1] if self.ndim else 1):
        raise RuntimeError("argument #2 'target' is out of range")
    rows, classes = (array.reshape(-1, self.shape[-1] if self.ndim else 1) for array in (self, target))
    there = np.logical_and.accumulate(classes >= 0, axis=1)
    is_target = np.zeros(rows.shape, self.dtype)
    example, place = np.nonzero(there)
    is_target[example, classes[example, place]] = 1
    return rows, is_target, list(zip(classes.T, there.T, strict=True))


def short(rows, is_target, classes, there):
    """How far each other class is less than 1 below one target of each example."""
    own = np.take_along_axis(rows, np.where(there, classes, 0)[:, None], 1)
    return np.fmax(1 - own + rows, 0) * (1 - is_target) * there[:, None]


@op(
    "MultilabelMarginLossBackward0",
    nondiff=("target",),
    promote="none",
    extras=("is_target",),
    self="multilabel_margin_loss_backward(grad, self, target, reduction, is_target)",
)
def multilabel_margin_loss(self, target, reduction):
    rows, is_target, targets = pairs(self, target)
    total = sum(short(rows, is_target, *one).sum(axis=1) for one in targets) / rows.shape[1]
    losses = np.asarray(total, self.dtype).reshape(target.shape[:-1])
    return reduced(losses, reduction), is_target.reshape(target.shape)


@op(
    "NotImplemented",
    nondiff=("target", "is_target"),
    promote="none",
    grad_output__self='refuse_derivative("multilabel_margin_loss_backward")',
)
def multilabel_margin_loss_backward(grad_output, self, target, reduction, is_target):
    rows, is_target, targets = pairs(self, target)
    slope = np.zeros_like(rows)
    for classes, there in targets:
        over = (short(rows, is_target, classes, there) > 0).astype(rows.dtype)
        slope += over
        np.add.at(slope, (np.arange(len(rows)), np.where(there, classes, 0)), -over.sum(axis=1))
    slope *= share(rows[:, 0], reduction) / rows.dtype.type(rows.shape[1])
    return (slope * grad_output.reshape(-1, 1)).reshape(self.shape)
