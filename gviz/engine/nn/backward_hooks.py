"""Hooks on a module's backward: nodes of a Function that passes on what it is given stand before and behind the module.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.engine.autograd.function import Function
from gviz.numbers.words import warn
from gviz.autograd.modes import mode
from gviz.autograd.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BackwardHook"]

NO_INPUTS = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardHookFunction(Function):
    """The tensors themselves, in either direction."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        """The tensors."""
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients."""
        return grads


class BackwardHook:
    """The hooks of one call of a module."""

    def __init__(self, module: Any, hooks: list[Callable[..., Any]], pre_hooks: list[Callable[..., Any]]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grads: Any = None
        """The gradients of the outputs, from when they arrive until they went through."""

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, their tensors behind a node."""
        self.count = len(args)
        args, self.places = marked(args, self.after)
        return args

    def outputs(self, result: Any) -> Any:
        """The result, its tensors behind a node."""
        if not isinstance(result, Tensor | tuple):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}"
            )
        values = result if isinstance(result, tuple) else (result,)
        found, places = marked(values, lambda _, grads: self.before(spread(grads, places, len(values)), places))
        return found if isinstance(result, tuple) else found[0]

    def before(self, grads: tuple[Any, ...], places: Any) -> Any:
        """What the node behind the module passes on: the gradients of the outputs after the pre-hooks."""
        self.grads = grads
        for hook in self.pre_hooks:
            if (new := hook(self.module, self.grads)) is None:
                continue
            if len(new) != len(grads):
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(new)}, but expected {len(grads)}"
                )
            self.grads = new
        passed = self.grads
        if self.places is None:
            self.without_inputs()
        return tuple(passed[i] for i in places)

    def without_inputs(self) -> None:
        """Run the hooks at once, where no gradient will go through."""
        warn(NO_INPUTS)
        for hook in self.hooks:
            new = hook(self.module, (None,) * self.count, self.grads)
            if new is not None and not (isinstance(new, tuple) and all(one is None for one in new)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
        self.grads = None

    def after(self, grads: tuple[Any, ...], _: Any) -> Any:
        """What the node before the module passes on: the gradients of the inputs after the hooks."""
        if self.grads is None:  # a gradient that did not come through the outputs, as in a second derivative
            return None
        found = spread(grads, self.places, self.count)
        for hook in self.hooks:
            if (new := hook(self.module, found, self.grads)) is None:
                continue
            if len(new) != len(found):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(new)}, but expected {len(found)}"
                )
            found = new
        self.grads = None
        return tuple(found[i] for i in self.places)


def marked(values: tuple[Any, ...], hook: Callable[..., Any]) -> tuple[Any, Any]:
    """Values with their tensors behind a node that has the hook, and where these are; None where none requires a gradient."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (mode.on and any(values[i].requires_grad for i in places)):
        return values, None
    found = dict(zip(places, BackwardHookFunction.apply(*(values[i] for i in places)), strict=True))
    next(t.grad_fn for t in found.values() if t.grad_fn is not None).register_hook(hook)
    made = [found.get(i, value) for i, value in enumerate(values)]
    return tuple(made) if type(values) is tuple else type(values)(*made), places


def spread(grads: tuple[Any, ...], places: Any, count: int) -> tuple[Any, ...]:
    """Gradients of tensors as those of all arguments: None for what is no tensor."""
    found = dict(zip(places, grads, strict=False))
    return tuple(found.get(i) for i in range(count))
