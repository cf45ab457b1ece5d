"""Functions of the user that see gradients pass: hooks of tensors and nodes; the gradients that non-leaves retain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self
from weakref import ref

from gviz.autograd.node import AccumulateGrad, Edge, Node, target_of
from gviz.autograd.tensor import Tensor, from_array, recorded_edge
from gviz.numbers.classes import type_text
from gviz.numbers.words import refuse, type_name


class Hooks:
    """The hooks that are registered on one node.

    Slots:
        of_tensors: hooks of the tensors that are its outputs, by number.
        retained: weak references to the outputs that retain their gradient, by number.
        before, after: hooks of the node itself.
    """

    __slots__ = ("after", "before", "of_tensors", "retained")

    def __init__(self) -> None:
        self.of_tensors: dict[int, list[Any]] = {}
        self.retained: dict[int, Any] = {}
        self.before: list[Any] = []
        self.after: list[Any] = []


class RemovableHandle:
    """The object that ``register_hook`` returns: it removes the hook, at once or at the end of a ``with`` block.

    Each of its places is (the list or dict that the hook is in, the hook's entry or key there); most handles have one.
    """

    __module__ = "torch.utils.hooks"

    def __init__(self, *places: tuple[Any, Any]) -> None:
        self.places = places

    def remove(self) -> None:
        """Take the hook off; a second call does nothing."""
        for hooks, entry in self.places:
            if isinstance(hooks, dict):
                hooks.pop(entry, None)
            else:
                hooks[:] = [one for one in hooks if one is not entry]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def append(hooks: list[Any], hook: Callable[..., Any], *, prepend: bool = False) -> RemovableHandle:
    """Add a hook behind the others, or before them; the entry is unique: the same function can be registered twice."""

    def entry(*args: object) -> Any:
        return hook(*args)

    entry.__name__ = getattr(hook, "__name__", "<unknown>")
    entry.hook = hook  # type: ignore[attr-defined] # a function takes attributes
    hooks.insert(0 if prepend else len(hooks), entry)
    return RemovableHandle((hooks, entry))


def hooks_of(node: Node) -> Hooks:
    """Return the hooks of a node; they are made when they are first asked for."""
    if node._hooks is None:
        node._hooks = Hooks()
    return node._hooks  # type: ignore[no-any-return]


# ------------------------------------------------------------------ registering
NO_HOOK = "cannot register a hook on a tensor that doesn't require gradient"


def register_hook(self: Tensor, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(grad)`` when the gradient of this tensor is computed; what it returns replaces the gradient."""
    refuse(not self.requires_grad, NO_HOOK)
    edge = None if self.is_leaf else recorded_edge(self)
    if edge is None:
        return append(self._autograd_meta().hooks, hook)
    node, number = target_of(edge)
    return append(hooks_of(node).of_tensors.setdefault(number, []), hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(tensor)`` after a gradient was added to this leaf."""
    refuse(not self.requires_grad, NO_HOOK)
    refuse(not self.is_leaf, "post accumulate grad hooks cannot be registered on non-leaf tensors")
    return append(self._autograd_meta().post_hooks, hook)


def retain_grad(self: Tensor) -> None:
    """Make this non-leaf keep its gradient; nothing to do for a leaf."""
    refuse(not self.requires_grad, "can't retain_grad on Tensor that has requires_grad=False")
    edge = None if self.is_leaf else recorded_edge(self)
    if edge is not None and not self.retains_grad:
        self._autograd_meta().retains = True
        retain_at(self, edge)


def retain_at(tensor: Tensor, edge: Edge) -> None:
    """Make a tensor retain the gradient that arrives there."""
    node, number = target_of(edge)
    hooks_of(node).retained[number] = ref(tensor)


def move_edge(tensor: Tensor, edge: Edge) -> None:
    """Give a tensor a new place in the graph; one that retains its gradient retains what arrives there."""
    if tensor.retains_grad:
        if (old := recorded_edge(tensor)) is not None:
            node, number = target_of(old)
            hooks_of(node).retained.pop(number, None)
        retain_at(tensor, edge)
    tensor._edge = edge


Tensor.register_hook = register_hook
Tensor.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
Tensor.retain_grad = retain_grad
Node.register_hook = lambda self, hook: append(hooks_of(self).after, hook)  # type: ignore[attr-defined]
Node.register_prehook = lambda self, hook: append(hooks_of(self).before, hook)  # type: ignore[attr-defined]


# ------------------------------------------------------------------ running
def before_node(node: Node, grads: list[Any], *, tensors_only: bool = False) -> list[Any]:
    """Return the gradients of a node's outputs after the hooks of its tensors, and (if it runs) after its own."""
    meta = node.variable._meta if isinstance(node, AccumulateGrad) and grads[0] is not None else None
    for hook in () if meta is None else tuple(meta.hooks):
        grads = [run_hook(hook, grads[0])]
    hooks = node._hooks
    if hooks is None:
        return grads
    grads = list(grads)
    for number, some in tuple(hooks.of_tensors.items()):
        for hook in tuple(some):
            grads[number] = run_hook(hook, grads[number])
    for number, keeper in hooks.retained.items():
        tensor = keeper()
        if tensor is not None and grads[number] is not None:
            before, grad = tensor._autograd_meta().grad, grads[number]
            own = grad if grad.requires_grad else from_array(grad._array.copy(), None)
            tensor._autograd_meta().grad = own if before is None else before + grad
    for hook in () if tensors_only else tuple(hooks.before):
        grads = list(run_hook(hook, tuple(grads)))
    return grads


def after_node(node: Node, outs: tuple[Any, ...], grads: list[Any]) -> tuple[Any, ...]:
    """Return the gradients of a node's inputs after its hooks."""
    for hook in tuple(node._hooks.after):
        outs = run_hook(hook, outs, tuple(grads))
    return outs


def run_hook(hook: Callable[..., Any], grads: Any, *more: object) -> Any:
    """Return a gradient, or a tuple of them, after a hook; refuse results of another number, dtype or shape."""
    new = hook(grads, *more)
    if new is None:
        return grads
    if not isinstance(grads, tuple):
        check_hooked(hook, new, grads)
        return new
    refuse(not isinstance(new, tuple), f"expected tuple, but hook returned '{type_text(new)}'", TypeError)
    refuse(
        len(new) != len(grads),
        f"hook '{hook.__name__}' has returned an incorrect number of values (got {len(new)}, "
        f"but expected {len(grads)})",
    )
    for one, was in zip(new, grads, strict=True):
        if one is not None:
            check_hooked(hook, one, was)
    return new


def check_hooked(hook: Callable[..., Any], new: object, old: Tensor | None) -> None:
    """Refuse a gradient that may not take the place of another."""
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type_text(new)}'")
    if new._array.dtype != old._array.dtype:
        was, got = (type_name(t._array.dtype) for t in (old, new))
        raise RuntimeError(f"hook '{hook.__name__}' has changed the type of value (was {was} got {got})")
    refuse(new._array.shape != old._array.shape, f"hook '{hook.__name__}' has changed the size of value")
