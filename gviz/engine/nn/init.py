"""``torch.nn.init``: initial values, drawn from PyTorch's own stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.random import permuted_range
from gviz.numbers import random
from gviz.numbers.words import absent, refuse, warn

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def write(tensor: Tensor, values: object) -> Tensor:
    """Put values into a tensor's memory, unrecorded."""
    with no_grad():
        return tensor.copy_(from_array(np.asarray(values), None))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: random.Generator | None = None) -> Tensor:
    """Write numbers uniform between a and b."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: random.Generator | None = None) -> Tensor:
    """Write normal numbers of that mean and standard deviation."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def within(tensors: Iterable[Tensor], count: int) -> None:
    """Write numbers uniform within one over the root of a number of inputs."""
    bound = 1 / math.sqrt(count) if count > 0 else 0
    for tensor in tensors:
        uniform_(tensor, -bound, bound)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Write one value everywhere."""
    return write(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Write ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Write zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Write the identity matrix."""
    refuse(tensor.dim() != 2, "Only tensors with 2 dimensions are supported", ValueError)
    return write(tensor, np.eye(*tensor.shape))


def fans(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs and outputs each unit has."""
    refuse(
        tensor.dim() < 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions", ValueError
    )
    outputs, inputs, *field = tensor.shape
    return inputs * math.prod(field), outputs * math.prod(field)


_calculate_fan_in_and_fan_out = fans

GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "sigmoid"), 1),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
    "leaky_relu": math.sqrt(2.0 / (1 + 0.01**2)),
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor recommended for a nonlinearity."""
    refuse(nonlinearity not in GAINS, f"Unsupported nonlinearity {nonlinearity}", ValueError)
    return (
        math.sqrt(2.0 / (1 + param**2)) if nonlinearity == "leaky_relu" and param is not None else GAINS[nonlinearity]
    )


def even(tensor: Tensor, std: float, generator: random.Generator | None) -> Tensor:
    """Write uniform numbers of mean 0 and that standard deviation."""
    return uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: random.Generator | None = None) -> Tensor:
    """Write Glorot's uniform values."""
    return even(tensor, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: random.Generator | None = None) -> Tensor:
    """Write Glorot's normal values."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """Return He's standard deviation; that of a tensor without elements is of no use."""
    if not tensor.numel():
        warn("Initializing zero-element tensors is a no-op")
        return 0.0
    modes = ["fan_in", "fan_out"]
    refuse(mode.lower() not in modes, f"Mode {mode} not supported, please use one of {modes}", ValueError)
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[modes.index(mode.lower())])


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: random.Generator | None = None,
) -> Tensor:
    """Write He's uniform values."""
    return even(tensor, kaiming_std(tensor, a, mode, nonlinearity), generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: random.Generator | None = None,
) -> Tensor:
    """Write He's normal values."""
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity), generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: random.Generator | None = None,
) -> Tensor:
    """Write normal values between a and b: those outside are drawn anew."""
    low, high = ((1.0 + math.erf((bound - mean) / std / math.sqrt(2.0))) / 2.0 for bound in (a, b))
    refuse(
        high - low <= 0.3,
        "trunc_normal_ of so narrow a part of the distribution is not in gviz's engine",
        NotImplementedError,
    )
    values, outside = tensor._array, np.ones(tensor.shape, bool) & (not tensor.is_meta)
    while outside.any():
        values = np.where(outside, random.normal(values.shape, mean, std, values.dtype, generator), values)
        outside = (values < a) | (values > b)
    return write(tensor, values)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: random.Generator | None = None) -> Tensor:
    """Write rows, or columns if there are fewer, that are perpendicular and of length ``gain``."""
    shape = tensor._array.shape
    flat = normal_(tensor.new_empty((shape[0], math.prod(shape[1:]))), generator=generator)._array
    wide = flat.shape[0] < flat.shape[1]
    q, r = np.linalg.qr(flat.T if wide else flat)
    q = q * np.sign(np.diag(r))
    return write(tensor, (q.T if wide else q).reshape(shape) * gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: random.Generator | None = None) -> Tensor:
    """Write normal values, and zeros in that share of the rows of each column."""
    refuse(tensor.ndim != 2, "Only tensors with 2 dimensions are supported", ValueError)
    rows, columns = tensor.shape
    values = random.normal((rows, columns), 0.0, std, tensor._array.dtype, generator)
    for column in range(columns):
        values[permuted_range(rows)[: math.ceil(sparsity * rows)], column] = 0
    return write(tensor, values)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Write the kernel of a convolution that gives its input back, channel by channel."""
    refuse(tensor.ndim not in (3, 4, 5), "Only tensors with 3, 4, or 5 dimensions are supported", ValueError)
    outputs, inputs, *field = tensor.shape
    refuse(outputs % groups, "dim 0 must be divisible by groups", ValueError)
    values, middle = np.zeros(tensor.shape), tuple(size // 2 for size in field)
    for group in range(groups):
        for channel in range(min(outputs // groups, inputs)):
            values[(group * (outputs // groups) + channel, channel, *middle)] = 1
    return write(tensor, values)


def renamed(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function under the name that it had before PyTorch 0.4: without the underscore, and with a warning."""
    new = function.__name__

    def old(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"`nn.init.{new[:-1]}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = new[:-1]
    return old


RENAMED = (
    uniform_, normal_, constant_, eye_, xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_, orthogonal_,
    dirac_, sparse_,
)  # fmt: skip
globals().update({function.__name__[:-1]: renamed(function) for function in RENAMED})
__getattr__ = absent("torch.nn.init")
