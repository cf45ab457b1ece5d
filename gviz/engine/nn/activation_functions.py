"""Activations as functions: each a row, or made of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.autograd import inplace as writing
from gviz.numbers import random
from gviz.numbers.shapes import wrap_dim
from gviz.numbers.words import bound, warn
from gviz.engine.nn.checks import check_dim, check_numbers, check_slopes
from gviz.autograd.row import TENSORS as call
from gviz.ops import gates as _gates  # noqa: F401 - stores its rows
from gviz.engine.surface import reductions
from gviz.autograd.tensor import Tensor, from_array

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


def activation(key: str, in_place: bool | None = None, **options: Any) -> Any:
    """The public function of a row with one tensor and options: ``inplace`` among them, or always in place, or never.

    Where it is done in place, a row of that name with an underscore is taken if there is one: its derivative is another.
    """
    written = f"{key}_" if f"{key}_" in call else key
    taken = {**options, "inplace": False} if in_place is None else options
    usual = None if in_place or ... in options.values() else tuple(options.values())

    def apply(input: Tensor, *args: Any, **given: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError
        if key == "hardtanh" and input._array.dtype.kind == "b":
            raise RuntimeError("Bool inputs not supported for hardtanh")
        if usual is not None and not args and not given:
            return call[key](input, *usual)  # type: ignore[no-any-return]
        values = bound(key, taken, args, given, before=1, needs=f"_{key}")
        values = {n: number(v) for n, v in values.items()}
        inplace = values.pop("inplace", in_place)
        if key != "hardtanh" or in_place:  # whose bounds Python compares first
            check_numbers(f"{key}_" if inplace else key, **{n: v for n, v in values.items() if not isinstance(options[n], str)})
        return writing.in_place(call[written], input, *values.values()) if inplace else call[key](input, *values.values())

    return apply


def number(value: Any) -> Any:
    """A 0-d tensor that requires no gradient as the number that it stands for."""
    return value.item() if isinstance(value, Tensor) and not value._array.ndim and not value.requires_grad else value


relu, relu_ = activation("relu"), activation("relu", in_place=True)
silu, mish, hardswish, hardsigmoid = map(activation, ("silu", "mish", "hardswish", "hardsigmoid"))
sigmoid, tanh, logsigmoid = (activation(key, in_place=False) for key in ("sigmoid", "tanh", "log_sigmoid"))
leaky_relu, leaky_relu_ = (activation("leaky_relu", always, negative_slope=0.01) for always in (None, True))
hardtanh, hardtanh_ = activation("hardtanh", min_val=-1.0, max_val=1.0), activation("hardtanh", True, min_val=-1, max_val=1)
threshold, threshold_ = (activation("threshold", always, threshold=..., value=...) for always in (None, True))
elu, elu_ = activation("elu", alpha=1.0), activation("elu", True, alpha=1)
celu, celu_ = (activation("celu", always, alpha=1.0) for always in (None, True))
gelu, softplus = activation("gelu", False, approximate="none"), activation("softplus", False, beta=1, threshold=20)
hardshrink, softshrink = activation("hardshrink", False, lambd=0.5), activation("softshrink", False, lambd=0.5)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalizing form of :func:`elu`."""
    given = (1.6732632423543772, 1.0507009873554805, 1)
    return writing.in_place(call["elu_"], input, *given) if inplace else call["elu"](input, *given)


def selu_(input: Tensor) -> Tensor:
    """:func:`selu` in place."""
    return selu(input, inplace=True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Values kept between 0 and 6."""
    return hardtanh(input, 0, 6, inplace)  # type: ignore[no-any-return]


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """A leaky relu whose slopes are drawn at random while training, else are their mean."""
    check_numbers("rrelu_" if inplace else "rrelu", lower=lower, upper=upper)
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = np.zeros_like(input._array)
    if training:
        noise[...] = 1
        below = input._array <= 0
        noise[below] = random.uniform((int(below.sum()),), lower, upper, np.dtype(np.float64), None)
    given = (from_array(noise, None), lower, upper, training)
    return writing.in_place(call["rrelu_with_noise_"], input, *given) if inplace else call["rrelu_with_noise"](input, *given)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """:func:`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half times the sigmoid of the second."""
    if not input._array.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    size = input._array.shape[place := wrap_dim(dim, input._array.ndim)]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {place} is size {size}")
    return call["glu"](input, dim)  # type: ignore[no-any-return]


def softsign(input: Tensor) -> Tensor:
    """``x / (|x| + 1)``."""
    return input / (call["absolute"](input) + 1)  # type: ignore[no-any-return]


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return input - tanh(input)  # type: ignore[no-any-return]


def implicit_dim(name: str, input: Tensor, dim: int | None) -> int:
    """The dim of a softmax; one that was not told is chosen, with PyTorch's warning."""
    check_dim("log_softmax" if name == "log_softmax" else "softmax", dim)
    if dim is not None:
        return dim
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if input._array.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials that sum to one along ``dim``."""
    return reductions.softmax(input, implicit_dim("softmax", input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, computed stably."""
    return reductions.log_softmax(input, implicit_dim("log_softmax", input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """:func:`softmax` of the negative."""
    return reductions.softmax(call["neg"](input), implicit_dim("softmin", input, dim), dtype)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """:func:`softmax` of the logits with Gumbel noise; ``hard`` is a one at the largest, with the gradient of the soft one."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise: Any = call["zeros_like"](logits.detach())
    soft = ((logits + -noise.exponential_().log()) / tau).softmax(dim)
    if not hard:
        return soft
    one = noise.zero_().scatter_(dim, soft.max(dim, keepdim=True)[1], 1.0)
    return one - soft.detach() + soft


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """A leaky relu whose slope is learned, one for all or one per channel."""
    check_slopes(input, weight)
    rank = input._array.ndim
    if weight._array.ndim != rank:
        weight = call["view"](weight, (1, weight._array.size, *(1,) * (rank - 2)) if rank > 1 else (1,) * rank)
    return call["prelu_kernel"](input, weight)  # type: ignore[no-any-return]
