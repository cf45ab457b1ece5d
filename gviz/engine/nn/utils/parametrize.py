"""``torch.nn.utils.parametrize``: a parameter that modules compute from another tensor whenever it is asked for.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.register_parametrization.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.containers import ModuleDict, ModuleList
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.dtypes import dtype
from gviz.numbers.words import absent, refuse

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]

CHANGED = (
    "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled.\n"
    "unparametrized {}: {}\nparametrized {}: {}"
)


class Cache:
    """What was computed within :func:`cached`, by module and name; None outside of it."""

    kept: dict[Any, Any] | None = None


@contextmanager
def cached() -> Iterator[None]:
    """Within the block each parametrized tensor is computed once."""
    before, Cache.kept = Cache.kept, {} if Cache.kept is None else Cache.kept
    try:
        yield
    finally:
        Cache.kept = before


def keep(module: Module, name: str, tensor: Any) -> None:
    """Make a tensor a parameter or a buffer of the module."""
    (module.register_parameter if isinstance(tensor, Parameter) else module.register_buffer)(name, tensor)


class ParametrizationList(ModuleList):
    """The modules that make a tensor one after the other, and what they make it of: ``original``."""

    def __init__(self, modules: Iterable[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        shape, dtype = original.shape, original.dtype
        value = self.inverse(original, needed=False)
        self.is_tensor = isinstance(value, Tensor)
        if self.is_tensor:
            original.data = value.data
            keep(self, "original", original)
        for i, part in enumerate(() if self.is_tensor else value):
            is_parameter = isinstance(original, Parameter)
            keep(self, f"original{i}", Parameter(part.detach(), original.requires_grad) if is_parameter else part)
        if not unsafe:
            compare(self(), shape, dtype)

    def originals(self) -> list[Any]:
        """Return what the tensor is made of: one tensor, or several."""
        several = {**self._parameters, **self._buffers}
        return [several[name] for name in sorted(several) if name.startswith("original")]

    def right_inverse(self, value: Tensor) -> None:
        """Let the tensor become a value: write what makes it."""
        parts = self.inverse(value, needed=True)
        for original, part in zip(self.originals(), [parts] if self.is_tensor else parts, strict=True):
            original.data = part.data

    def inverse(self, value: Tensor, needed: bool) -> Any:
        """Return what makes a value: a tensor, or several. A module that cannot go back is ``needed`` or left out."""
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with nullcontext() if needed else suppress(NotImplementedError):
                        value = module.right_inverse(value)
                else:
                    refuse(needed, f"parametrization {type(module).__name__} does not implement right_inverse.")
        return value

    def forward(self) -> Any:
        """Return the tensor."""
        first, *others = self
        tensor = first(*self.originals())
        for module in others:
            tensor = module(tensor)
        return tensor


def compare(tensor: Tensor, shape: tuple[int, ...], dtype: dtype) -> None:
    """Refuse a parametrization that changes the shape or the type."""
    for what, before in (("dtype", dtype), ("shape", shape)):
        refuse(
            getattr(tensor, what) != before, CHANGED.format(what, what, before, what, getattr(tensor, what)), ValueError
        )


def inject(module: Module, name: str) -> None:
    """Let the module's own class compute the tensor."""

    def value_of(self: Any) -> Any:
        key, cache = (id(self), name), {} if Cache.kept is None else Cache.kept
        if key not in cache:
            cache[key] = self.parametrizations[name]()
        return cache[key]

    setattr(
        type(module), name, property(value_of, lambda self, value: self.parametrizations[name].right_inverse(value))
    )


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """Let a module compute a parameter or a buffer of another one, from what it was or from its right inverse.

    ValueError: there is no such tensor, or its shape or dtype would change and ``unsafe`` is false.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        before = getattr(module, tensor_name)
        if not unsafe:
            compare(parametrization(before), before.shape, before.dtype)
        module.parametrizations[tensor_name].append(parametrization)
        return module
    refuse(
        tensor_name not in {**module._parameters, **module._buffers},
        f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'",
        ValueError,
    )
    parts = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = type(f"Parametrized{type(module).__name__}", (type(module),), {})
        module.parametrizations = ModuleDict()
    inject(module, tensor_name)
    module.parametrizations[tensor_name] = parts
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a tensor of a module is computed, or any."""
    parametrizations = getattr(module, "parametrizations", None)
    return isinstance(parametrizations, ModuleDict) and (
        len(parametrizations) > 0 if tensor_name is None else tensor_name in list(parametrizations)
    )


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a tensor a plain one again: what it was computed to be last, or what it was computed of."""
    refuse(
        not is_parametrized(module, tensor_name),
        f"Module {module} does not have a parametrization on {tensor_name}",
        ValueError,
    )
    parts = module.parametrizations[tensor_name]
    refuse(
        not leave_parametrized and not parts.is_tensor,
        "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence "
        "of tensors.",
        ValueError,
    )
    original, now = parts.originals()[0], getattr(module, tensor_name).detach()
    if not parts.is_tensor:
        original = Parameter(now, original.requires_grad) if isinstance(original, Parameter) else now
    elif leave_parametrized:
        original.data = now.data
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    keep(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


__getattr__ = absent("torch.nn.utils.parametrize")
