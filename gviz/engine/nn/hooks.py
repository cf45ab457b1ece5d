"""Hooks on modules: around forward, and around backward between a module's inputs and outputs.

The latter are run by two nodes of a Function that passes on what it is given, one before and one behind the module.
Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.autograd.hooks import Handle, append
from gviz.autograd.modes import mode
from gviz.autograd.tensor import Tensor
from gviz.engine.autograd.function import Function
from gviz.numbers.words import warn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Hooks"]

NO_INPUTS = ("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
             "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
             "#torch.nn.Module.register_full_backward_hook for more details.")
NO_GRADIENT = "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
NOT_TENSORS = "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "

def register(hooks: list[Any], hook: Callable[..., Any], prepend: bool) -> Handle:
    """Add a hook at the end, or before the others."""
    handle = append(hooks, hook)
    hooks.insert(0 if prepend else len(hooks), hooks.pop())
    return handle

class Hooks:
    """The part of a module that calls it with its hooks."""

    forward: Callable[..., Any]

    def __init__(self) -> None:
        self._backward_hooks: list[Any] = []
        self._backward_pre_hooks: list[Any] = []
        self._forward_hooks: list[Any] = []
        self._forward_pre_hooks: list[Any] = []

    def register_forward_pre_hook(self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Call ``hook(module, args)`` before each forward for new arguments; ``with_kwargs`` with keywords too, for both."""

        def positional(module: Any, args: Any, kwargs: Any) -> Any:
            new = hook(module, args)
            return None if new is None else (new if isinstance(new, tuple) else (new,), kwargs)

        return register(self._forward_pre_hooks, hook if with_kwargs else positional, prepend)

    def register_forward_hook(self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False) -> Handle:
        """Call ``hook(module, args, output)`` after each forward for a new output; ``with_kwargs`` with keywords before it."""
        called = hook if with_kwargs else lambda module, args, kwargs, output: hook(module, args, output)
        return register(self._forward_hooks, called, prepend)

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> Handle:
        """Call ``hook(module, grad_output)`` before the gradients go through the module; what it returns replaces them."""
        return register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> Handle:
        """Call ``hook(module, grad_input, grad_output)`` when they went through; what it returns replaces ``grad_input``."""
        return register(self._backward_hooks, hook, prepend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward``, with the hooks around it."""
        if not (self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks):
            return self.forward(*args, **kwargs)
        for hook in tuple(self._forward_pre_hooks):
            if (new := hook(self, args, kwargs)) is not None:
                if not isinstance(new, tuple) or len(new) != 2:
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                       f"{new}.")
                args, kwargs = new
        backward = BackwardHook(self) if self._backward_hooks or self._backward_pre_hooks else None
        args = backward.inputs(args) if backward else args
        result = self.forward(*args, **kwargs)
        for hook in tuple(self._forward_hooks):
            new = hook(self, args, kwargs, result)
            result = result if new is None else new
        return backward.outputs(result) if backward else result

class BackwardHookFunction(Function):
    """The tensors themselves; on the way back what the hooks make of the gradients."""

    @staticmethod
    def forward(ctx: Any, hooked: Any, *tensors: Any) -> Any:
        """Return the tensors."""
        ctx.hooked = hooked
        ctx.set_materialize_grads(hooked.__name__ == "after")  # hooks are given zeros for inputs, None for outputs
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Return the gradients after the hooks."""
        return None, *ctx.hooked(grads)

class BackwardHook:
    """The backward hooks of one call of a module; ``grads`` are those of its outputs, until they went through."""

    def __init__(self, module: Any) -> None:
        self.module, self.count = module, 0
        self.grads: Any = None
        self.places: Any = None
        self.hooks, self.pre_hooks = list(module._backward_hooks), list(module._backward_pre_hooks)

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, their tensors behind a node."""
        self.count = len(args)
        args, self.places = marked(args, self.after)
        return args

    def outputs(self, result: Any) -> Any:
        """Return the result, its tensors behind a node."""
        if not isinstance(result, Tensor | tuple):
            warn(f"{NOT_TENSORS}{type(result)}")
        values = result if isinstance(result, tuple) else (result,)
        found, places = marked(values, lambda grads: self.before(spread(grads, places, len(values)), places))
        return found if isinstance(result, tuple) else found[0]

    def before(self, grads: Any, places: Any) -> Any:
        """Return what the node behind the module passes on: the gradients of the outputs after the pre-hooks."""
        for hook in self.pre_hooks:
            grads = replaced(hook(self.module, grads), grads, "pre hook", "grad_output")
        self.grads = grads
        if self.places is None:  # no gradient will go through the module
            warn(NO_INPUTS)
            for hook in self.hooks:
                new = hook(self.module, (None,) * self.count, grads)
                if new is not None and not (isinstance(new, tuple) and all(one is None for one in new)):
                    raise RuntimeError(NO_GRADIENT)
            self.grads = None
        return tuple(grads[i] for i in places)

    def after(self, grads: tuple[Any, ...]) -> Any:
        """Return what the node before the module passes on: the gradients of the inputs after the hooks."""
        if self.grads is None:  # a gradient that did not come through the outputs, as in a second derivative
            return grads
        found = spread(grads, self.places, self.count)
        for hook in self.hooks:
            found = replaced(hook(self.module, found, self.grads), found, "hook", "grad_input")
        self.grads = None
        return tuple(found[i] for i in self.places or ())

def replaced(new: Any, grads: Any, hook: str, what: str) -> Any:
    """Return the gradients, or those that a hook put in their place."""
    if new is not None and len(new) != len(grads):
        raise RuntimeError(f"Backward {hook} returned an invalid number of {what}, got {len(new)}, but expected {len(grads)}")
    return grads if new is None else new

def marked(values: Any, hooked: Callable[..., Any]) -> tuple[Any, Any]:
    """Return values with their tensors behind a node that calls the hook, and their places; None if there is no gradient."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (mode.on and any(values[i].requires_grad for i in places)):
        return values, None
    tensors = BackwardHookFunction.apply(hooked, *(values[i] for i in places))
    found = dict(zip(places, tensors, strict=True))
    made = [found.get(i, value) for i, value in enumerate(values)]
    return tuple(made) if type(values) is tuple else type(values)(*made), places

def spread(grads: tuple[Any, ...], places: Any, count: int) -> tuple[Any, ...]:
    """Return gradients of tensors as those of all arguments: None for those that are not tensors."""
    found = dict(zip(places, grads, strict=False))
    return tuple(found.get(i) for i in range(count))
