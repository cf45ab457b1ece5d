"""``torch.nn.utils.parametrize``: a parameter that is computed from another tensor by modules, whenever it is asked for.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.register_parametrization.html
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.containers import ModuleDict, ModuleList
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import absent

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]

CHANGED = ("Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled.\n"
           "unparametrized {}: {}\nparametrized {}: {}")

class Cache:
    """What was computed within :func:`cached`, by module and name; None outside of it."""

    kept: dict[Any, Any] | None = None
    depth = 0

@contextmanager
def cached() -> Iterator[None]:
    """Within the block each parametrized tensor is computed once."""
    Cache.depth, Cache.kept = Cache.depth + 1, {} if Cache.kept is None else Cache.kept
    try:
        yield
    finally:
        Cache.depth -= 1
        Cache.kept = Cache.kept if Cache.depth else None

def keep(module: Any, name: str, tensor: Any) -> None:
    """Make a tensor a parameter or a buffer of the module."""
    (module.register_parameter if isinstance(tensor, Parameter) else module.register_buffer)(name, tensor)

class ParametrizationList(ModuleList):
    """The modules that make a tensor, and what they make it of: ``original``, or ``original0``, ``original1``, ..."""

    def __init__(self, modules: Any, original: Any, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe, self.is_tensor, shape, dtype = unsafe, True, original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                new = module.right_inverse(new) if hasattr(module, "right_inverse") else new
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            original.data = new.data
            keep(self, "original", original)
        for i, one in enumerate(() if self.is_tensor else new):
            made = Parameter(one, original.requires_grad) if isinstance(original, Parameter) else one
            keep(self, f"original{i}", made.requires_grad_(original.requires_grad))
        if not unsafe:
            compare(self(), shape, dtype)

    def originals(self) -> list[Any]:
        """Return what the tensor is made of."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Let the tensor become a value: write what makes it."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            for original, one in zip(self.originals(), [value] if self.is_tensor else value, strict=True):
                original.data = one.data

    def forward(self) -> Any:
        """Return the tensor."""
        first, *rest = self
        made = first(*self.originals())
        for module in rest:
            made = module(made)
        return made

def compare(made: Any, shape: Any, dtype: Any) -> None:
    """Refuse a parametrization that changes the shape or the type."""
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")  # noqa: TRY004 - as PyTorch
    for what, before in (("dtype", dtype), ("shape", shape)):
        if getattr(made, what) != before:
            raise ValueError(CHANGED.format(what, what, before, what, getattr(made, what)))

def inject(module: Any, name: str) -> None:
    """Let the module's own class compute the tensor."""

    def found(self: Any) -> Any:
        if Cache.kept is None:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in Cache.kept:
            Cache.kept[key] = self.parametrizations[name]()
        return Cache.kept[key]

    setattr(type(module), name, property(found, lambda self, value: self.parametrizations[name].right_inverse(value)))

def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Let a module compute a parameter or a buffer of another one, from what it was or from its right inverse."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        before = getattr(module, tensor_name)
        if not unsafe:
            compare(parametrization(before), before.shape, before.dtype)
        module.parametrizations[tensor_name].append(parametrization)
        return module
    if tensor_name not in {**module._parameters, **module._buffers}:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = type(f"Parametrized{type(module).__name__}", (type(module),), {})
        module.parametrizations = ModuleDict()
    inject(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module

def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Return whether a tensor of a module is computed, or any."""
    held = getattr(module, "parametrizations", None)
    return isinstance(held, ModuleDict) and (len(held) > 0 if tensor_name is None else tensor_name in list(held))

def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a tensor a plain one again: what it was computed to be last, or what it was computed of."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    made = module.parametrizations[tensor_name]
    if not (leave_parametrized or made.is_tensor):
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")
    with no_grad():
        value = getattr(module, tensor_name) if leave_parametrized else made.original
    original = made.original if made.is_tensor else Parameter(value, any(one.requires_grad for one in made.originals()))
    original.data = value.data
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    keep(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module

__getattr__ = absent("torch.nn.utils.parametrize")
