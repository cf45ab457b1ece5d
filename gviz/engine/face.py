"""What a node of the backward graph shows to people: names, notes, saved tensors, hooks, and that it can be called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.engine.hooks import Handle

__all__ = ["Face"]


class Face:
    """The part of :class:`~gviz.engine.node.Node` that the engine itself does not need."""

    __slots__ = ()

    def name(self) -> str:
        """The class name, as PyTorch's ``grad_fn.name()``; that of CopyBackwards comes with its namespace."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name == "CopyBackwards" else name

    @property
    def metadata(self: Any) -> dict[Any, Any]:
        """A dict for the user's own notes on the node."""
        notes: dict[Any, Any] = self._rare.setdefault("notes", {})
        return notes

    def _sequence_nr(self: Any) -> Any:
        return self._seq

    def __repr__(self) -> str:
        """As PyTorch prints it: ``<AddBackward0 object at 0x...>``."""
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def register_hook(self: Any, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node has run; what it returns replaces grad_inputs."""
        from gviz.engine.hooks import hook_node

        return hook_node(self, "post_hooks", hook)

    def register_prehook(self: Any, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad_outputs)`` before this node runs; what it returns replaces grad_outputs."""
        from gviz.engine.hooks import hook_node

        return hook_node(self, "pre_hooks", hook)

    def __call__(self: Any, *grads: Any) -> Any:
        """The gradients of the inputs for those of the outputs, as ``y.grad_fn(g)`` in PyTorch."""
        from gviz.engine.backward import call_node

        return call_node(self, grads)

    def __getattr__(self: Any, name: str) -> Any:
        """``_saved_NAME``, read from what the forward call kept; ``_rare``, the first time."""
        if name == "_rare":
            rare: dict[str, Any] = {}
            self._rare = rare
            return rare
        if name.startswith("_saved_") and (row := getattr(type(self), "_row", None)) is not None:
            return row.read_saved(self, name[7:])
        if name.startswith("_raw_saved_"):
            from gviz.engine.autograd.packing import raw_saved

            return raw_saved(self, name[11:])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        """The usual names and ``_saved_*``."""
        row = getattr(type(self), "_row", None)
        return [*object.__dir__(self), *(f"_saved_{name}" for name in (row.saved_names() if row is not None else ()))]
