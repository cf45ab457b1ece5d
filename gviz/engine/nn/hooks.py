"""Hooks on modules: around forward, and around backward between a module's inputs and outputs.

The latter are run by two nodes of a Function that passes on what it is given, one before and one behind the module.
Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from gviz.autograd.hooks import RemovableHandle, append
from gviz.autograd.modes import mode
from gviz.autograd.tensor import Tensor
from gviz.engine.autograd.function import Function
from gviz.numbers.words import refuse, warn

NO_INPUTS = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)
NO_GRADIENT = (
    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
)


MIXED = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
)
OLD_HOOK = (
    "Using a non-full backward hook {} is deprecated and will be removed in future versions. This hook will be missing "
    "{}. Please use register_full_backward_hook to get the documented behavior."
)
KEYS = itertools.count()
"""The keys of all hooks on modules, as they come."""


def put(
    hooks: OrderedDict[int, Any], flags: dict[int, bool], hook: Callable[..., Any], with_kwargs: bool, prepend: bool
) -> RemovableHandle:
    """Add a hook behind the others, or before them, and note whether it gets the keywords."""
    key = next(KEYS)
    hooks[key] = hook
    if with_kwargs:
        flags[key] = True
    if prepend:
        hooks.move_to_end(key, last=False)
    return RemovableHandle((hooks, key), (flags, key))


class Hooks:
    """The part of a module that calls it with its hooks."""

    forward: Callable[..., Any]

    def __init__(self) -> None:
        self._backward_hooks, self._backward_pre_hooks = list[Any](), list[Any]()
        self._forward_hooks, self._forward_pre_hooks = OrderedDict[int, Any](), OrderedDict[int, Any]()
        self._old_backward_hooks = list[Any]()
        self._forward_hooks_with_kwargs, self._forward_pre_hooks_with_kwargs = dict[int, bool](), dict[int, bool]()
        self._state_dict_hooks, self._state_dict_pre_hooks = list[Any](), list[Any]()
        self._load_state_dict_pre_hooks, self._load_state_dict_post_hooks = list[Any](), list[Any]()

    def __setstate__(self, state: dict[str, Any]) -> None:
        Hooks.__init__(self)
        own = dict(self.__dict__)
        self.__dict__.update(state)
        if isinstance(state.get("_backward_hooks"), dict):  # of a file in PyTorch's format
            self.__dict__.update(own)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each forward for new arguments.

        ``with_kwargs`` with keywords too, for both.
        """
        return put(self._forward_pre_hooks, self._forward_pre_hooks_with_kwargs, hook, with_kwargs, prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each forward for a new output.

        ``with_kwargs`` with keywords before it.
        """
        return put(self._forward_hooks, self._forward_hooks_with_kwargs, hook, with_kwargs, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` with the gradients of the operation that gave the output.

        What it returns replaces those of that operation's inputs. PyTorch advises the full hook.
        """
        refuse(self._backward_hooks or self._backward_pre_hooks, MIXED)
        return append(self._old_backward_hooks, hook)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the gradients go through the module.

        What it returns replaces them.
        """
        return append(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when they went through.

        What it returns replaces ``grad_input``.
        """
        refuse(self._old_backward_hooks, MIXED)
        return append(self._backward_hooks, hook, prepend=prepend)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run ``forward``, with the hooks around it."""
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or self._old_backward_hooks
        ):
            return self.forward(*args, **kwargs)
        for key, hook in tuple(self._forward_pre_hooks.items()):
            with_kwargs = key in self._forward_pre_hooks_with_kwargs
            if (new := hook(self, args, kwargs) if with_kwargs else hook(self, args)) is not None:
                if not with_kwargs:
                    new = new if isinstance(new, tuple) else (new,), kwargs
                if not isinstance(new, tuple) or len(new) != 2:
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {new}."
                    )
                args, kwargs = new
        backward = BackwardHook(self, args) if self._backward_hooks or self._backward_pre_hooks else None
        args = backward.args if backward else args
        result = self.forward(*args, **kwargs)
        for key, hook in tuple(self._forward_hooks.items()):
            words = (kwargs,) if key in self._forward_hooks_with_kwargs else ()
            result = result if (new := hook(self, args, *words, result)) is None else new
        if self._old_backward_hooks:
            watch_last_node(self, args, result)
        return backward.outputs(result) if backward else result


def watch_last_node(module: Hooks, inputs: tuple[Any, ...], result: Any) -> None:
    """Hang a module's old backward hooks on the operation that gave its output; warn where that is not all of it."""
    first = result
    while not isinstance(first, Tensor):
        first = next(one for one in first.values() if isinstance(one, Tensor)) if isinstance(first, dict) else first[0]
    node: Any = first.grad_fn
    if node is None:
        return
    for hook in module._old_backward_hooks:
        node.register_hook(partial(hook, module))
    outputs = (result,) if isinstance(result, Tensor) else result
    makers = {one.grad_fn for one in outputs} if tensors_only(outputs) else None
    takes_tensors = tensors_only(inputs)
    befores = {one.grad_fn for one in inputs} - {None} if takes_tensors else set()
    reasons = {
        ("on a Module that does not return a single Tensor or a tuple of Tensors", "some of the grad_output"): (
            makers is None
        ),
        ("on a Module that does not take as input a single Tensor or a tuple of Tensors", "some of the grad_input"): (
            not takes_tensors
        ),
        ("when outputs are generated by different autograd Nodes", "some grad_output"): makers != {node},
        ("when the forward contains multiple autograd Nodes", "some grad_input"): (
            befores != {of for of, _ in node.next_functions}
        ),
    }
    for where_and_what in [texts for texts, is_so in reasons.items() if is_so][:1]:
        warn(OLD_HOOK.format(*where_and_what), FutureWarning)


def tensors_only(values: object) -> bool:
    """Return whether it is a tuple of tensors."""
    return isinstance(values, tuple) and all(isinstance(one, Tensor) for one in values)


class BackwardHookFunction(Function):
    """The tensors themselves; on the way back what the hooks make of the gradients."""

    @staticmethod
    def forward(ctx: Any, hooked: Callable[..., Any], zeros: bool, *tensors: Tensor) -> Any:
        """Return the tensors."""
        ctx.hooked = hooked
        ctx.set_materialize_grads(zeros)
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Return the gradients after the hooks."""
        return None, None, *ctx.hooked(grads)


class BackwardHook:
    """The backward hooks of one call of a module; ``grads`` are those of its outputs, until they went through."""

    def __init__(self, module: Hooks, args: tuple[Any, ...]) -> None:
        self.module = module
        self.grads: Any = None
        self.hooks, self.pre_hooks = list(module._backward_hooks), list(module._backward_pre_hooks)
        self.args = marked(args, self.after)
        self.blank = (None,) * len(args) if self.args is args else None

    def outputs(self, result: object) -> Any:
        """Return the result, its tensors behind a node."""
        if isinstance(result, tuple):
            return marked(result, self.before)
        if not isinstance(result, Tensor):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}"
            )
        return marked((result,), self.before)[0]

    def before(self, grads: tuple[Tensor | None, ...]) -> Any:
        """Return what the node behind the module passes on: the gradients of the outputs after the pre-hooks."""
        for hook in self.pre_hooks:
            grads = replaced(hook(self.module, grads), grads, "pre hook", "grad_output")
        self.grads = grads
        if self.blank is not None:  # no gradient will go through the module
            warn(NO_INPUTS)
            refuse(any(one is not None for one in self.after(self.blank)), NO_GRADIENT)
        return grads

    def after(self, grads: tuple[Tensor | None, ...]) -> Any:
        """Return what the node before the module passes on: the gradients of the inputs after the hooks."""
        for hook in (
            self.hooks if self.grads is not None else ()
        ):  # None if they came another way, as in a second derivative
            grads = replaced(hook(self.module, grads, self.grads), grads, "hook", "grad_input")
        self.grads = None
        return grads


def replaced(new: tuple[Tensor | None, ...] | None, grads: tuple[Tensor | None, ...], hook: str, what: str) -> Any:
    """Return the gradients, or those that a hook put in their place."""
    if new is not None and len(new) != len(grads):
        raise RuntimeError(
            f"Backward {hook} returned an invalid number of {what}, got {len(new)}, but expected {len(grads)}"
        )
    return grads if new is None else new


def marked(values: tuple[Any, ...], hooked: Callable[..., Any]) -> Any:
    """Return values with their tensors behind a node that calls the hook.

    The values themselves if there is no gradient.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (mode.recording and any(values[i].requires_grad for i in places)):
        return values

    def of_tensors(grads: tuple[Tensor | None, ...]) -> Any:
        several = dict(zip(places, grads, strict=True))
        results = hooked(tuple(several.get(i) for i in range(len(values))))
        return [results[i] for i in places]

    zeros = hooked.__name__ == "after"  # hooks are given zeros for inputs, None for outputs
    tensors = dict(
        zip(places, BackwardHookFunction.apply(of_tensors, zeros, *(values[i] for i in places)), strict=True)
    )
    values_marked = tuple(tensors.get(i, value) for i, value in enumerate(values))
    return values_marked if type(values) is tuple else type(values)(*values_marked)
