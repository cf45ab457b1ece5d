"""``torch.nn.init``: initial values, drawn from PyTorch's own stream; what PyTorch refuses is refused in its words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.numbers import random
from gviz.numbers.words import absent, warn
from gviz.autograd.modes import no_grad
from gviz.engine.nn.checks import check_floats

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gviz.autograd.tensor import Tensor

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_",
    "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


def write(tensor: Tensor, values: Any) -> Tensor:
    """Put values into a tensor's memory, unrecorded."""
    tensor._array[...] = values
    tensor.version_cell().count += 1
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform between a and b."""
    check_floats("uniform_", **{"from": a, "to": b})
    return write(tensor, random.uniform(tensor._array.shape, a, b, tensor._array.dtype, generator))


def is_empty(tensor: Tensor) -> bool:
    """Whether there is nothing to fill, with PyTorch's warning."""
    if not tensor._array.size:
        warn("Initializing zero-element tensors is a no-op")
    return not tensor._array.size


def within(tensors: Iterable[Tensor], count: int) -> None:
    """Uniform within one over the root of a number of inputs."""
    bound = 1 / math.sqrt(count) if count > 0 else 0
    for tensor in tensors:
        uniform_(tensor, -bound, bound)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal of that mean and standard deviation."""
    check_floats("normal_", mean=mean, std=std)
    return write(tensor, random.normal(tensor._array.shape, mean, std, tensor._array.dtype, generator))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere."""
    with no_grad():
        return tensor.fill_(val)  # type: ignore[attr-defined,no-any-return]


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return write(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return write(tensor, 0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor._array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return write(tensor, np.eye(*tensor._array.shape))


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs each unit has."""
    shape = tensor._array.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor recommended for a nonlinearity."""
    if nonlinearity in ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "sigmoid"):
        return 1
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    known = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in known:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return known[nonlinearity]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot's uniform values."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot's normal values."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """He's standard deviation."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[0 if mode == "fan_in" else 1])


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """He's uniform values."""
    if is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """He's normal values."""
    if is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity), generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Normal values between a and b: those outside are drawn anew."""
    low, high = ((1.0 + math.erf((bound - mean) / std / math.sqrt(2.0))) / 2.0 for bound in (a, b))
    if high - low <= 0.3:  # where PyTorch draws in another way
        raise NotImplementedError("trunc_normal_ of so narrow a part of the distribution is not in gviz's engine")
    normal_(tensor, mean, std, generator)
    while (outside := (tensor._array < a) | (tensor._array > b)).any():
        again = random.normal(tensor._array.shape, mean, std, tensor._array.dtype, generator)
        write(tensor, np.where(outside, again, tensor._array))
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Rows, or columns if there are fewer, that are perpendicular and of length ``gain``."""
    shape = tensor._array.shape
    if len(shape) < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor._array.size:
        return tensor
    flat = random.normal((shape[0], math.prod(shape[1:])), 0.0, 1.0, tensor._array.dtype, generator)
    wide = flat.shape[0] < flat.shape[1]
    q, r = np.linalg.qr(flat.T if wide else flat)
    q = q * np.sign(np.diag(r))
    return write(tensor, (q.T if wide else q).reshape(shape) * tensor._array.dtype.type(gain))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Kernels that pass the channels on as they are."""
    sizes = tensor._array.shape
    if len(sizes) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if sizes[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    found, each = np.zeros_like(tensor._array), sizes[0] // groups
    for group in range(groups):
        for channel in range(min(each, sizes[1])):
            found[(group * each + channel, channel, *(n // 2 for n in sizes[2:]))] = 1
    return write(tensor, found)


__getattr__ = absent("torch.nn.init")
