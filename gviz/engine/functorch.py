"""``functorch``: the old names of :mod:`torch.func`, each with PyTorch's warning."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gviz.autograd.tensor import Tensor
from gviz.engine import func
from gviz.engine.nn.module import Module
from gviz.numbers.words import absent, refuse, warn

__all__ = [
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional",
    "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


def warn_deprecated(name: str, new_name: str) -> None:
    """Warn that a name of ``functorch`` is old."""
    warn(
        f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is "
        f"deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use "
        f"`{new_name}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more "
        "details https://pytorch.org/docs/main/func.migrating.html",
        FutureWarning,
    )


def deprecated(function: Callable[..., Any], home: str = "torch.func") -> Callable[..., Any]:
    """Return a function that warns and then is the one of today."""

    @functools.wraps(function)
    def run(*args: object, **kwargs: object) -> Any:
        warn_deprecated(function.__name__, f"{home}.{function.__name__}")
        return function(*args, **kwargs)

    return run


grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = (
    deprecated(one)
    for one in (func.grad, func.grad_and_value, func.hessian, func.jacfwd, func.jacrev, func.jvp, func.vjp)
)
vmap = deprecated(func.vmap, "torch")


class FunctionalModule(Module):
    """A module that is called with its parameters, then with the arguments of the module that it is made of."""

    def __init__(self, stateless_model: Module) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(name for name, _ in stateless_model.named_parameters())

    def forward(self, params: Sequence[Tensor], *args: object, **kwargs: object) -> Any:  # type: ignore[override]
        """Call the module with these parameters."""
        return func.functional_call(
            self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs
        )


class FunctionalModuleWithBuffers(FunctionalModule):
    """A module that is called with its parameters and its buffers, then with its own arguments."""

    def __init__(self, stateless_model: Module) -> None:
        super().__init__(stateless_model)
        self.param_names += tuple(name for name, _ in stateless_model.named_buffers())

    def forward(  # type: ignore[override]
        self, params: Sequence[Tensor], *args: Sequence[Tensor], **kwargs: object
    ) -> Any:
        """Call the module with these parameters, and the buffers that come first in the arguments."""
        return super().forward((*params, *args[0]), *args[1:], **kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, tuple[Tensor, ...]]:
    """Return a function of parameters and inputs, which is the module, and the parameters that it has now."""
    warn_deprecated("make_functional", "torch.func.functional_call")
    refuse(
        [*model.buffers()],
        "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.",
    )
    return FunctionalModule(copy.deepcopy(model)), copies_of(model.parameters(), disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Any, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return a function of parameters, buffers and inputs, which is the module, its parameters and its buffers."""
    warn_deprecated("make_functional_with_buffers", "torch.func.functional_call")
    params, buffers = copies_of(model.parameters(), disable_autograd_tracking), copies_of(model.buffers(), False)
    return FunctionalModuleWithBuffers(copy.deepcopy(model)), params, buffers


def copies_of(tensors: Iterable[Tensor], frozen: bool) -> tuple[Tensor, ...]:
    """Return copies of tensors, which require no gradient if they are frozen."""
    return tuple(copy.deepcopy(one).requires_grad_(False) if frozen else copy.deepcopy(one) for one in tensors)


__getattr__ = absent("functorch")
