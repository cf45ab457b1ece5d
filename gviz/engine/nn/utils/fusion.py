"""``torch.nn.utils.fusion``: a batch norm that no longer learns, taken into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from gviz.autograd.tensor import Tensor
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import absent, refuse_any


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return the weight and bias of a convolution that does what another and the batch norm behind it do."""
    old: Any = bn_rm.new_zeros(bn_rm.shape) if conv_b is None else conv_b
    scale = (bn_rv + bn_eps).rsqrt() if bn_w is None else bn_w * (bn_rv + bn_eps).rsqrt()
    shape = [1] * conv_w.dim()
    shape[int(transpose)] = -1
    weight, bias = conv_w * scale.reshape(shape), (old - bn_rm) * scale + (0.0 if bn_b is None else bn_b)
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, old.requires_grad)


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """Return a copy of a convolution, or of a linear layer, that does what it and the batch norm behind it do."""
    refuse_any(
        {
            "Fusion only for eval!": conv.training or bn.training,
            "bn.running_mean must not be None": bn.running_mean is None,
        },
        AssertionError,
    )
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


fuse_linear_bn_weights, fuse_linear_bn_eval = fuse_conv_bn_weights, fuse_conv_bn_eval
__getattr__ = absent("torch.nn.utils.fusion")
