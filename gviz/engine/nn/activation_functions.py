"""Activations as functions: each a row of the table, or made of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.inplace import in_place
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import from_array
from gviz.numbers import random
from gviz.numbers.words import warn
from gviz.ops import gates as _gates  # noqa: F401 - stores its rows

if TYPE_CHECKING:
    Tensor = Any  # whose methods the table gives

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


def activation(key: str, inplace: bool | None = None, **options: Any) -> Any:
    """Return the function of a row with one tensor and options: ``inplace`` among them, or always in place, or never."""
    names, defaults = ["input", *options], [default for default in options.values() if default is not ...]
    kinds = {name: "str" if isinstance(default, str) else "float" for name, default in options.items()}
    if inplace is None:
        names, defaults = [*names, "inplace"], [*defaults, False]
    values = ", ".join(["input", *options])
    text = f"lambda {', '.join(names)}: run({key!r}, {'inplace' if inplace is None else inplace}, {values})"
    function = eval(text, {"run": run})  # noqa: S307 - so that it has the parameters that PyTorch's has
    function.__defaults__, function.__annotations__ = tuple(defaults), {"input": "Tensor", **kinds, "inplace": "Any"}
    return function


def run(key: str, inplace: Any, input: Tensor, *options: Any) -> Tensor:
    """Return what a row gives, or write it in place: by the row with an underscore, if there is one with another derivative."""
    return in_place(call.get(f"{key}_", call[key]), input, *options) if inplace else call[key](input, *options)


relu, relu_ = (activation("relu", always) for always in (None, True))
silu, mish, hardswish, hardsigmoid = map(activation, ("silu", "mish", "hardswish", "hardsigmoid"))
sigmoid, tanh, logsigmoid = (activation(key, inplace=False) for key in ("sigmoid", "tanh", "log_sigmoid"))
leaky_relu, leaky_relu_ = (activation("leaky_relu", always, negative_slope=0.01) for always in (None, True))
hardtanh, hardtanh_ = (activation("hardtanh", always, min_val=-1.0, max_val=1.0) for always in (None, True))
threshold, threshold_ = (activation("threshold", always, threshold=..., value=...) for always in (None, True))
elu, elu_ = (activation("elu", always, alpha=1.0) for always in (None, True))
celu, celu_ = (activation("celu", always, alpha=1.0) for always in (None, True))
gelu, softplus = activation("gelu", False, approximate="none"), activation("softplus", False, beta=1, threshold=20)
hardshrink, softshrink = activation("hardshrink", False, lambd=0.5), activation("softshrink", False, lambd=0.5)


def selu(input: Tensor, inplace: Any = False) -> Tensor:
    """Return the self-normalizing form of :func:`elu`."""
    return run("elu", inplace, input, 1.6732632423543772, 1.0507009873554805, 1)


def selu_(input: Tensor) -> Tensor:
    """Do :func:`selu` in place."""
    return selu(input, inplace=True)


def relu6(input: Tensor, inplace: Any = False) -> Tensor:
    """Return the values kept between 0 and 6."""
    return hardtanh(input, 0, 6, inplace)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: Any = False
) -> Tensor:
    """Return a leaky relu whose slopes are drawn at random while training, else are their mean."""
    noise = np.zeros_like(input._array)
    if training:
        noise[...] = 1
        below = input._array <= 0
        noise[below] = random.uniform((int(below.sum()),), lower, upper, np.dtype(np.float64), None)
    return run("rrelu_with_noise", inplace, input, from_array(noise, None), lower, upper, training)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """Do :func:`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return a leaky relu whose slope is learned, one for all or one per channel."""
    rank, channels = input.ndim, input.shape[1] if input.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and channel "
            f"size = {channels}."
        )
    if weight.ndim != rank:
        weight = weight.view((1, -1, *(1,) * (rank - 2)) if rank > 1 else (1,) * rank)
    return call["prelu_kernel"](input, weight)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half times the sigmoid of the second."""
    if (size := input.shape[dim]) % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % input.ndim} is size {size}")
    return call["glu"](input, dim)


def softsign(input: Tensor) -> Tensor:
    """Return ``x / (|x| + 1)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """Return ``x - tanh(x)``."""
    return input - input.tanh()


# ------------------------------------------------------------------ softmax
def prepared(name: str, input: Tensor, dim: int | None, dtype: Any) -> tuple[Tensor, int]:
    """Return the input in that dtype and the dim of a softmax; one that was not given is chosen, with PyTorch's warning."""
    if dim is None:
        warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
        dim = 0 if input.ndim in (0, 1, 3) else 1
    return input if dtype is None else input.to(dtype), dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return exponentials that sum to one along ``dim``."""
    return call["softmax_row"](*prepared("softmax", input, dim, dtype))


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return the logarithm of :func:`softmax`, computed stably."""
    return call["log_softmax_row"](*prepared("log_softmax", input, dim, dtype))


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return the :func:`softmax` of the negative."""
    return call["softmax_row"](*prepared("softmin", -input, dim, dtype))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Return the :func:`softmax` with Gumbel noise; if ``hard``, a one at the largest, with the gradient of the soft one."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = call["zeros_like"](logits.detach())
    soft = ((logits + -noise.exponential_().log()) / tau).softmax(dim)
    if not hard:
        return soft
    one = noise.zero_().scatter_(dim, soft.max(dim, keepdim=True)[1], 1.0)
    return one - soft.detach() + soft
