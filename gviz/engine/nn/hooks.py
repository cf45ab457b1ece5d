"""Hooks on modules: around forward here; around backward between a module's inputs and outputs in ``backward_hooks.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gviz.numbers.classes import call_after
from gviz.numbers.words import warn
from gviz.autograd.hooks import Handle

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Hooks"]

SILENCED = (
    "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in "
    "forward: "
)


class Hook(NamedTuple):
    """A hook, and how it is called."""

    call: Callable[..., Any]
    with_kwargs: bool = False
    always: bool = False


def register(hooks: list[Hook], hook: Hook, *, prepend: bool) -> Handle:
    """Add a hook at the end, or before the others."""
    hooks.insert(0 if prepend else len(hooks), hook)
    return Handle(hooks, hook)


class Hooks:
    """The part of a module that calls it with its hooks."""

    forward: Callable[..., Any]
    _backward_hooks: list[Hook]
    _backward_pre_hooks: list[Hook]
    _forward_hooks: list[Hook]
    _forward_pre_hooks: list[Hook]

    def __init__(self) -> None:
        self.__dict__.update(_backward_hooks=[], _backward_pre_hooks=[], _forward_hooks=[], _forward_pre_hooks=[])

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call ``hook(module, args)`` before each forward; what it returns replaces the arguments.

        With ``with_kwargs`` it is called with the keywords too, and returns both.
        """
        return register(self._forward_pre_hooks, Hook(hook, with_kwargs), prepend=prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Handle:
        """Call ``hook(module, args, output)`` after each forward; what it returns replaces the output.

        With ``with_kwargs`` the keywords stand before the output; with ``always_call`` it is called even where forward fails.
        """
        return register(self._forward_hooks, Hook(hook, with_kwargs, always_call), prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(module, grad_output)`` before the gradients go through the module; what it returns replaces them."""
        return register(self._backward_pre_hooks, Hook(hook), prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call ``hook(module, grad_input, grad_output)`` when they went through; what it returns replaces ``grad_input``."""
        return register(self._backward_hooks, Hook(hook), prepend=prepend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``forward``, with the hooks around it."""
        if not (self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks):
            return self.forward(*args, **kwargs)
        always = [hook for hook in self._forward_hooks if hook.always]
        try:
            args, kwargs = self.before_forward(args, kwargs)
            backward = self.backward_hook()
            args = args if backward is None else backward.inputs(args)
            result = self.forward(*args, **kwargs)
            for hook in tuple(self._forward_hooks):
                always = [other for other in always if other is not hook]
                new = hook.call(self, args, *([kwargs] if hook.with_kwargs else ()), result)
                result = result if new is None else new
            return result if backward is None else backward.outputs(result)
        except Exception:
            for hook in always:
                try:
                    hook.call(self, args, *([kwargs] if hook.with_kwargs else ()), None)
                except Exception as error:  # noqa: BLE001 - that of forward is raised
                    warn(f"{SILENCED}{error}")
            raise

    def before_forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The arguments after the hooks that come before."""
        for hook in tuple(self._forward_pre_hooks):
            if hook.with_kwargs:
                if (new := hook.call(self, args, kwargs)) is not None:
                    if not isinstance(new, tuple) or len(new) != 2:
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {new}."
                        )
                    args, kwargs = new
            elif (new := hook.call(self, args)) is not None:
                args = new if isinstance(new, tuple) else (new,)
        return args, kwargs

    def backward_hook(self) -> Any:
        """What runs the hooks on backward of this call, if there are any."""
        if not (self._backward_hooks or self._backward_pre_hooks):
            return None
        from gviz.engine.nn.backward_hooks import BackwardHook

        return BackwardHook(self, [hook.call for hook in self._backward_hooks], [h.call for h in self._backward_pre_hooks])


call_after("Module", Hooks)
