"""``torch.nn.utils``: gradient clipping, and parameters as one vector; ``rnn`` has sequences of several lengths."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from gviz.autograd.modes import no_grad
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.engine.creation import zeros
from gviz.engine.nn.module import Module
from gviz.engine.nn.utils import rnn
from gviz.engine.random import fork_rng
from gviz.numbers.words import absent, refuse

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "rnn", "skip_init",
    "vector_to_parameters",
]  # fmt: skip


def gradients(parameters: Tensor | Iterable[Tensor]) -> list[Any]:
    """Return the gradients of a tensor, or of several, as far as there are any."""
    return [t.grad for t in ((parameters,) if isinstance(parameters, Tensor) else parameters) if t.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: object = None,
) -> Any:
    """Return the norm of several tensors together."""
    grads, order = ([tensors] if isinstance(tensors, Tensor) else list(tensors)), float(norm_type)
    with no_grad():
        total: Any = call["stack"]([grad.norm(order) for grad in grads] or [zeros(())], 0).norm(order)
    refuse(
        error_if_nonfinite and not np.isfinite(total._array),
        f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot "
        "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
        "`error_if_nonfinite=False`",
    )
    return total


def skip_init(module_cls: type[Module], *args: object, **kwargs: object) -> Any:
    """Return a module whose initial values take no random numbers from the stream: they are to be written anew."""
    with fork_rng():
        return module_cls(*args, **kwargs)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: object = None,
) -> Tensor:
    """Scale gradients down so that their norm together is at most ``max_norm``; return the norm before."""
    grads = gradients(parameters)
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    with no_grad():
        scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(scale)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: object = None) -> None:
    """Keep every element of the gradients between ``-clip_value`` and ``clip_value``; without any it is an error."""
    refuse(
        not (grads := gradients(parameters)),
        "Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be improved?  If"
        " so, please report an enhancement request to PyTorch.)",
    )
    with no_grad():
        for grad in grads:
            grad.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """Return all elements one after the other."""
    return call["cat"]([p.reshape(-1) for p in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Any]) -> None:
    """Let each parameter be its part of the vector."""
    parameters = list(parameters)
    for parameter, part in zip(parameters, vec.split([one.numel() for one in parameters]), strict=True):
        parameter.data = part.view_as(parameter).data


missing = absent("torch.nn.utils", "fusion", "parametrizations", "parametrize", "prune")
FUSIONS = ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights")
NORMS = ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm")


def __getattr__(name: str) -> Any:
    """Load what few programs name: a module, or a function of one."""
    if name in (*FUSIONS, *NORMS):
        return getattr(import_module(f"gviz.engine.nn.utils.{'norms' if name in NORMS else 'fusion'}"), name)
    return missing(name)
