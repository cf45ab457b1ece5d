"""What a node of the backward graph shows to people: names, notes, saved tensors, hooks, and that it can be called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.engine.hooks import Handle

__all__ = ["Face", "rare", "seal"]


def rare(node: Any) -> dict[str, Any]:
    """What few nodes have (hooks, notes), made when first asked for."""
    if not hasattr(node, "_rare"):
        node._rare = {}
    facts: dict[str, Any] = node._rare
    return facts


def only(node: Any, name: str, given: tuple[Any, ...]) -> Any:
    """The one argument of a method. TypeError: none or several, in the words of what is written in C."""
    if len(given) != 1:
        raise TypeError(f"{type(node).__name__}.{name}() takes exactly one argument ({len(given)} given)")
    return given[0]


class Face:
    """The part of :class:`~gviz.engine.node.Node` that the engine itself does not need."""

    __slots__ = ()  # and no __getattr__: Python reads the attributes of such a class several times slower

    def name(self) -> str:
        """The class name, as PyTorch's ``grad_fn.name()``; that of a class PyTorch has written by hand with its namespace."""
        name = type(self).__name__
        written = {"AccumulateGrad", "CopyBackwards", "CopySlices", "NotImplemented"}
        return f"torch::autograd::{name}" if name in written else name

    @property
    def _input_metadata(self: Any) -> tuple[Any, ...]:
        """What is known of each output."""
        shapes = self._shape.shapes if self._shape == ("parts",) else (self._shape,)
        return tuple(SimpleNamespace(shape=shape) for shape in shapes)

    @property
    def requires_grad(self) -> bool:
        """Always: there is a node because something does."""
        return True

    @property
    def metadata(self: Any) -> dict[Any, Any]:
        """A dict for the user's own notes on the node."""
        notes: dict[Any, Any] = rare(self).setdefault("notes", {})
        return notes

    def _sequence_nr(self: Any) -> Any:
        return self._seq

    def __dir__(self) -> list[str]:
        """What PyTorch's nodes have, without the engine's own names."""
        shown = ("__", "_saved_", "_raw_saved_", "_input_metadata", "_sequence_nr")
        return [name for name in object.__dir__(self) if name[0] != "_" or name.startswith(shown)]

    def __repr__(self) -> str:
        """As PyTorch prints it: ``<AddBackward0 object at 0x...>``."""
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def register_hook(self: Any, *hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node has run; what it returns replaces grad_inputs."""
        from gviz.engine.hooks import hook_node

        return hook_node(self, "post_hooks", only(self, "register_hook", hook))

    def register_prehook(self: Any, *hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_outputs)`` before this node runs; what it returns replaces grad_outputs."""
        from gviz.engine.hooks import hook_node

        return hook_node(self, "pre_hooks", only(self, "register_prehook", hook))

    def __reduce__(self) -> Any:
        """Refused: a graph is not pickled, nor copied."""
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __call__(self: Any, *grads: Any) -> Any:
        """The gradients of the inputs for those of the outputs, as ``y.grad_fn(g)`` in PyTorch."""
        from gviz.engine.towards import call_node

        return call_node(self, grads)


def seal(kind: type, owner: str = "") -> None:
    """Let the properties of a class refuse to be set and deleted in PyTorch's words, where they have no function for it.

    Args:
        kind: the class.
        owner: what PyTorch calls it; without, the class of the object at hand.
    """
    for name, found in list(vars(kind).items()):
        if isinstance(found, property):
            refuse = refusal(name, owner)
            setattr(kind, name, property(found.fget, found.fset or refuse, found.fdel or refuse, found.__doc__))


def refusal(name: str, owner: str) -> Callable[..., None]:
    """A function that refuses to set an attribute, or to delete it."""

    def refuse(self: Any, *_: Any) -> None:
        raise AttributeError(f"attribute '{name}' of '{owner or type(self).__name__}' objects is not writable")

    return refuse
