"""What functions of ``nn.functional`` refuse, in PyTorch's words: each check raises what PyTorch raises for that function."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from gviz.numbers.classes import MIXED, is_pytorchs, type_text
from gviz.numbers.dtypes import of
from gviz.numbers.words import type_name, warn
from gviz.autograd.row import NUMBERS
from gviz.autograd.modes import mode
from gviz.autograd.tensor import Tensor


def check_floats(function: str, **numbers: Any) -> None:
    """Whether what a method is given are real numbers, or tensors of one."""
    for i, (name, value) in enumerate(numbers.items()):
        if not isinstance(value, float | int | np.number) and not (isinstance(value, Tensor) and not value._array.ndim):
            given = type(value).__name__
            raise TypeError(f"{function}(): argument '{name}' (position {i + 1}) must be float, not {given}")


def check_sequence(name: str, input: Any, hx: Any, input_size: int) -> None:
    """The dimensions of what a recurrent layer is given."""
    rank = input._array.ndim
    if rank not in (2, 3):
        raise ValueError(f"{name}: Expected input to be 2D or 3D, got {rank}D {'tensor ' if name == 'RNN' else ''}instead")
    if hx is not None and hx._array.ndim != rank:
        told = "batched 3-D" if rank == 3 else "unbatched 2-D"
        raise RuntimeError(f"For {told} input, hx should also be {rank}-D but got {hx._array.ndim}-D tensor")
    if input._array.shape[-1] != input_size:
        raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {input_size}, got {input._array.shape[-1]}")


def check_bounds(min_val: float, max_val: float, **_: Any) -> None:
    """Those of a ``Hardtanh``."""
    if max_val <= min_val:
        raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")


def check_inputs(in1_features: int, **_: Any) -> None:
    """The size of the first input of a ``Bilinear``."""
    if in1_features <= 0:
        raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")


def check_unflattened(unflattened_size: Any, **_: Any) -> None:
    """The sizes that an ``Unflatten`` makes of one."""
    if not isinstance(unflattened_size, tuple | list):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}")
    for i, size in enumerate(unflattened_size):
        if not isinstance(size, int):
            raise TypeError(
                f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {i}"
            )


def check_remembering(
    input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any, **_: Any
) -> None:
    """The options of a recurrent layer."""
    if not isinstance(dropout, int | float) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers=1"
        )
    for name, flag in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if not isinstance(size, int) and name != "num_layers":
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")


def check_delta(delta: Any, **_: Any) -> None:
    """Where a ``HuberLoss`` becomes linear."""
    if not isinstance(delta, float | int):
        raise TypeError(f"delta must be a float or int, got: {type(delta)}")


def positive_margin(name: str) -> Any:
    """A check of the margin of a loss of three."""

    def check(margin: Any, **_: Any) -> None:
        if margin <= 0:
            raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")

    return check


LAYER_CHECKS: dict[str, Any] = {
    "Hardtanh": check_bounds, "Bilinear": check_inputs, "Unflatten": check_unflattened,
    "RNNBase": check_remembering, "HuberLoss": check_delta,
    **{name: positive_margin(name) for name in ("TripletMarginLoss",)},
}  # fmt: skip
"""What some layers refuse of their options, by the class that does so in PyTorch."""


def kind_name(value: Any) -> str:
    """What PyTorch calls the type of a value."""
    if isinstance(value, Tensor):
        return type_name(value._array.dtype)
    if isinstance(value, MethodType) and isinstance(value.__self__, Tensor):
        return f"Tensor.{value.__name__}"
    if isinstance(value, FunctionType) and value.__module__.startswith("gviz.engine"):
        engine, name = vars(sys.modules["gviz.engine"]), value.__name__
        if (family := name.partition("_")[0]) in {"linalg", "special"}:
            return f"torch._C._{family}.{name}"
        own = engine.get(name) is value or name in engine["FUNCTIONAL"]
        return f"torch.{'_VariableFunctionsClass' if own else 'nn.functional'}.{name}"
    named = value if hasattr(value, "__qualname__") or hasattr(value, "__name__") else type(value)
    home = getattr(named, "__module__", "") or ""
    mixed = f" of PyTorch ({MIXED})" if is_pytorchs(type(value)) else ""
    return (getattr(named, "__qualname__", "") if home in {"", "builtins"} else f"{home}.{named.__qualname__}") + mixed
