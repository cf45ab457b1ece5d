"""``torch.ao.quantization``: where a model is to be quantized, and its layers fused for that; its numbers stay floats.

What makes integers of them (``prepare``, ``convert``) is not here.
"""

from __future__ import annotations

import copy
from typing import Any

from gviz.autograd.tensor import Tensor
from gviz.engine import nn
from gviz.engine.nn.utils.fusion import fuse_conv_bn_eval
from gviz.numbers.words import absent, refuse

__all__ = ["DeQuantStub", "QuantStub", "fuse_modules"]


class Stub(nn.Module):
    """A place in a model; in a float model it hands on what it gets."""

    def __init__(self, qconfig: object = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """Return the input."""
        return x


class QuantStub(Stub):
    """Where floats become integers in a quantized model."""


class DeQuantStub(Stub):
    """Where integers become floats in a quantized model."""


WITH_RELU = {"Linear": "LinearReLU", **{f"Conv{n}d": f"ConvReLU{n}d" for n in (1, 2, 3)}}
"""A layer -> the two layers in one that it becomes with the ReLU behind it."""


def fuse_modules(
    model: nn.Module, modules_to_fuse: list[Any], inplace: bool = False, fuser_func: object = None, **_: object
) -> Any:
    """Return a model in which lists of neighbours (a layer, its batch norm, its ReLU) are one layer each.

    The layer stands where the first of them was, and an Identity in place of the others.
    """
    model = model if inplace else copy.deepcopy(model)
    lists = modules_to_fuse if isinstance(modules_to_fuse[0], list | tuple) else [modules_to_fuse]
    for names in lists:
        layers = [model.get_submodule(name) for name in names]
        kinds = [type(layer).__name__ for layer in layers]
        rest = ["BatchNorm" if kind.startswith("BatchNorm") else kind for kind in kinds[1:]]
        refuse(
            kinds[0] not in WITH_RELU or rest not in (["BatchNorm"], ["ReLU"], ["BatchNorm", "ReLU"]) or model.training,
            f"fuse_modules of {', '.join(kinds)}{' in training' * model.training} is not in gviz's engine; run with "
            "--engine torch",
            NotImplementedError,
        )
        fused = fuse_conv_bn_eval(layers[0], layers[1]) if rest[0] == "BatchNorm" else layers[0]
        if rest[-1] == "ReLU":
            fused = type(WITH_RELU[kinds[0]], (nn.Sequential,), {})(fused, layers[-1])
        for name, layer in zip(names, [fused, *(nn.Identity() for _ in rest)], strict=True):
            model.set_submodule(name, layer)
    return model


__getattr__ = absent("torch.ao.quantization")
