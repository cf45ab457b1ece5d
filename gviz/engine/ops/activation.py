"""What ``torch.nn.functional`` adds: activations, losses and the linear layer, as rows and as functions made of rows."""

from __future__ import annotations

import numpy as np

from gviz.engine.op import composite, everywhere, op

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


@op("MseLossBackward0", self=lambda grad, self, target, reduction: mse_loss_backward(grad, self, target, reduction),
    target=lambda grad, self, target, reduction: mse_loss_backward(grad, target, self, reduction))  # fmt: skip
def mse_loss_row(self, target, reduction):
    return reduced((self - target) ** 2, reduction)


def reduced(losses, reduction):
    """A loss per element, or their mean or sum."""
    return losses if reduction == 0 else losses.mean() if reduction == 1 else losses.sum()


@everywhere
def share(numel, reduction):
    """What one element's loss counts in the result."""
    return 1.0 / numel if reduction == 1 and numel else 1.0


@op(
    "MseLossBackwardBackward0",
    grad_output=lambda grad, self, target, reduction: sum_like_reduction(grad * (2 * (self - target)), reduction),
    self=lambda grad, grad_output, self, reduction: (grad * grad_output) * (2 * share(numel_of(self), reduction)),
    target=lambda grad, grad_output, self, reduction: (grad * grad_output) * (-2 * share(numel_of(self), reduction)),
)
def mse_loss_backward(grad_output, self, target, reduction):
    return grad_output * ((self - target) * self.dtype.type(2 * share(self.size, reduction)))


@composite
def sum_like_reduction(value, reduction):
    """Reduce as the loss did."""
    return value if reduction == 0 else mean_all(value) if reduction == 1 else sum_all(value)


@op("LeakyReluBackward0", self=lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope))
def leaky_relu(self, negative_slope=0.01):
    return np.where(self > 0, self, self * self.dtype.type(negative_slope))


@op("LeakyReluBackwardBackward0", grad_output=lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope),
    self=lambda grad: zeros_like(grad))  # fmt: skip
def leaky_relu_backward(grad_output, self, negative_slope):
    return np.where(self > 0, grad_output, grad_output * grad_output.dtype.type(negative_slope))


@composite
def linear(input, weight, bias=None):
    """``input @ weight.T + bias``, as the nodes that PyTorch makes for it."""
    if bias is None:
        return matmul(input, t(weight))
    if len(input.shape) == 2:
        return addmm(bias, input, t(weight))
    rows = 1
    for size in input.shape[:-1]:
        rows *= size
    flat = view(input, (rows, input.shape[-1]))
    return view(addmm(bias, flat, t(weight)), (*input.shape[:-1], weight.shape[0]))
