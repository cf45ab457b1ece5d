"""``torch.nn.utils``: gradient clipping, and parameters as one vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.numbers.words import absent
from gviz.autograd.modes import no_grad
from gviz.engine.nn.checks import kind_name
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters"]


def gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """The gradients that are there."""
    tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [t.grad for t in tensors if t.grad is not None]


def get_total_norm(tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """The norm of all of them as one vector."""
    arrays = [t._array for t in tensors]
    if not arrays:
        return from_array(np.zeros((), np.float32), None)
    norms = np.array([np.linalg.norm(a.reshape(-1), norm_type) for a in arrays], arrays[0].dtype)
    return from_array(np.asarray(np.linalg.norm(norms, norm_type), arrays[0].dtype), None)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """Scale gradients down so that their norm together is at most ``max_norm``; returns the norm before."""
    found = gradients(parameters)
    total = get_total_norm(found, float(norm_type))
    if error_if_nonfinite and not np.isfinite(total._array):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    scale = np.minimum(total._array.dtype.type(max_norm) / (total._array + total._array.dtype.type(1e-6)), 1)
    with no_grad():
        for grad in found:
            grad.mul_(from_array(np.asarray(scale, grad._array.dtype), None))  # type: ignore[attr-defined]
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Keep every element of the gradients between ``-clip_value`` and ``clip_value``."""
    with no_grad():
        for grad in gradients(parameters):
            grad.clamp_(-float(clip_value), float(clip_value))  # type: ignore[attr-defined]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements one after the other."""
    return call["cat"]([call["reshape"](p, (-1,)) for p in parameters], 0)  # type: ignore[no-any-return]


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """The reverse: each parameter becomes its part of the vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {kind_name(vec)}")
    start = 0
    for parameter in parameters:
        count = parameter._array.size
        parameter.data = from_array(vec._array[start : start + count].reshape(parameter._array.shape), None)
        start += count


__getattr__ = absent("torch.nn.utils")
