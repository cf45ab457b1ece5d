"""The rare things of a node and of a tensor: hooks, retained gradients, gradients cast back to the dtypes of mixed operands.

They cost nothing where they are not used: a node that gets one changes to the careful variant of its class, whose
``apply`` runs them around the plain one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gviz.engine.data.classes import call_after, type_text
from gviz.engine.data.words import type_name
from gviz.engine.face import rare
from gviz.engine.node import AccumulateGrad, Parts, public_edge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from gviz.engine.node import Node

__all__ = ["Handle", "Hooked", "append", "careful", "cast_gradients", "hook_node", "parts_shape", "retain"]

CAREFUL: dict[type, type] = {}


class Several(tuple[str]):  # noqa: SLOT001 - a tuple takes no slots with something in them
    """What stands for the shape of a node with several outputs: equal to that of :class:`Parts`, and has theirs."""

    shapes: tuple[tuple[int, ...], ...]


@lru_cache(256)
def parts_shape(shapes: tuple[tuple[int, ...], ...]) -> Several:
    """The same for all nodes with outputs of those shapes."""
    shape = Several(Parts.shape)
    shape.shapes = shapes
    return shape


class Handle:
    """What ``register_hook`` returns: removes the hook again, at once or at the end of a ``with`` block."""

    __module__, __qualname__ = "torch.utils.hooks", "RemovableHandle"

    def __init__(self, hooks: list[Any], entry: Any) -> None:
        self.hooks = hooks
        self.entry = entry

    def remove(self) -> None:
        """Take the hook off; a second call does nothing."""
        self.hooks[:] = [entry for entry in self.hooks if entry is not self.entry]

    def __enter__(self) -> Self:
        """The handle itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the hook off."""
        self.remove()


Handle.__name__ = "RemovableHandle"
call_after("RemovableHandle", Handle)


def append(hooks: list[Any], hook: Callable[..., Any]) -> Handle:
    """Add a hook; the entry is unique, so that the same function can be registered twice."""

    def entry(*args: Any) -> Any:
        return hook(*args)

    entry.__name__ = getattr(hook, "__name__", "<unknown>")
    entry.hook = hook  # type: ignore[attr-defined] # a function takes attributes
    hooks.append(entry)
    return Handle(hooks, entry)


class Hooked:
    """The part of :class:`gviz.engine.tensor.Tensor` that waits for its gradient."""

    __slots__ = ()
    _edge: Any
    if TYPE_CHECKING:  # what the tensor adds, as far as it is used here
        rare: Any
        refresh: Any
        is_leaf = requires_grad = retains_grad = property()

    def retain_grad(self) -> None:
        """Make this non-leaf keep its gradient; nothing to do for a leaf.

        Raises:
            RuntimeError: it requires no gradient.
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._edge is not None and self._edge.__class__ is not ref and not self.retains_grad:
            self.refresh()
            self.rare().retains = True
            retain(self._edge, self)

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(grad)`` when the gradient of this tensor is computed; what it returns replaces the gradient.

        Raises:
            RuntimeError: it requires no gradient.
        """
        if not self.requires_grad:
            raise RuntimeError(NO_HOOK)
        if self.is_leaf:
            return append(self.leaf_hooks("hooks"), hook)
        self.refresh()
        return hook_node(self._edge, "tensor_hooks", hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call ``hook(tensor)`` after a gradient was added to this leaf.

        Raises:
            RuntimeError: not a leaf, or it requires no gradient.
        """
        if not self.requires_grad:
            raise RuntimeError(NO_HOOK)
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return append(self.leaf_hooks("post_hooks"), hook)

    def leaf_hooks(self, kind: str) -> list[Any]:
        """The hooks of that kind of this leaf: a list that stays the same."""
        rare = self.rare()
        if getattr(rare, kind) is None:
            setattr(rare, kind, [])
        found: list[Any] = getattr(rare, kind)
        return found


call_after("Tensor", Hooked)


NO_HOOK = "cannot register a hook on a tensor that doesn't require gradient"


def hook_node(edge: Any, kind: str, hook: Callable[..., Any]) -> Handle:
    """Register a hook of that kind on a node (pre_hooks, post_hooks), or on the tensor whose edge it is (tensor_hooks)."""
    node, number = public_edge(edge)
    careful(node)
    kept = node._rare.setdefault(kind, {} if kind == "tensor_hooks" else [])
    return append(kept.setdefault(number, []) if kind == "tensor_hooks" else kept, hook)


def retain(edge: Any, tensor: Any) -> None:
    """Keep the gradient of the tensor with that edge: after all tensor hooks, as PyTorch does."""
    node, number = public_edge(edge)
    careful(node)
    node._rare.setdefault("retain", {})[number] = ref(tensor)


def forget(edge: Any) -> None:
    """No longer keep the gradient of the tensor that had that edge."""
    node, number = public_edge(edge)
    if getattr(type(node), "_careful", False):
        node._rare.get("retain", {}).pop(number, None)


def cast_gradients(node: Node, kinds: list[Any]) -> None:
    """Give the gradients the dtypes of the inputs, which were not all that of the result."""
    careful(node)
    node._rare["dtypes"] = kinds


def careful(node: Node) -> None:
    """Change a node to the careful variant of its class (same name, same row); that of a leaf runs the leaf's hooks too."""
    plain: Any = type(node)
    if plain._careful:
        return
    if isinstance(node, AccumulateGrad):
        rare(node)["tensor_hooks"] = {0: node._leaf.leaf_hooks("hooks")}
    if plain not in CAREFUL:
        CAREFUL[plain] = type(
            plain.__name__,
            (plain,),
            {
                "__slots__": (),
                "_careful": True,
                "_always": True,
                "plain": plain,
                "_apply": apply,
                "_apply_tensors": apply_tensors,
                "__module__": plain.__module__,
            },
        )
    rare(node)
    node.__class__ = CAREFUL[plain]


def apply(node: Any, grad: Any, keep: bool) -> Any:
    """Run hooks on tensors around the plain derivative on arrays."""
    return run(node, tensor_hooks(node, grad, on_tensors=False), keep, on_tensors=False)


def apply_tensors(node: Any, grad: Any, keep: bool) -> Any:
    """The same where gradients are tensors already."""
    return run(node, tensor_hooks(node, grad, on_tensors=True), keep, on_tensors=True)


def tensor_hooks(node: Any, grad: Any, *, on_tensors: bool) -> Any:
    """The gradients of a node's outputs after the hooks of these tensors; retained where that was asked for."""
    hooks, keepers = node._rare.get("tensor_hooks"), node._rare.get("retain")
    if not hooks and not keepers:
        return grad
    grads = list(hook_arguments(node, grad, on_tensors=on_tensors))
    for number, some in tuple((hooks or {}).items()):
        for hook in tuple(some):
            grads[number] = hooked(hook, grads[number])
    for number, keeper in (keepers or {}).items():
        if grads[number] is not None and (kept := keeper()) is not None:
            keep_gradient(kept, grads[number], on_tensors=on_tensors)
    return from_hook(node, grads, on_tensors=on_tensors)


def keep_gradient(kept: Any, grad: Any, *, on_tensors: bool) -> None:
    """Add a gradient to what a non-leaf has retained."""
    rare = kept.rare()
    if rare.grad is None:
        rare.grad = grad if on_tensors else to_tensor(np.array(grad._array, order="C"), on_tensors=False)
    else:
        rare.grad = rare.grad + grad


def only_wanted(node: Any, grad: Any, keep: bool, derive: Callable[..., Any], wanted: tuple[bool, ...] | None) -> Any:
    """A node's derivative for the wanted ones of its inputs, None for the others; meanwhile it has no edges to those."""
    if wanted is None:
        return derive(node, grad, keep)
    edges = node._edges
    node._edges = tuple(edge if want else None for edge, want in zip(edges, wanted, strict=True))
    try:
        out = derive(node, grad, keep)
    finally:
        node._edges = edges
    outs = out if isinstance(out, tuple) else (out,)
    return tuple(part if want else None for part, want in zip(outs, wanted, strict=True))


def run(node: Any, grad: Any, keep: bool, *, on_tensors: bool, wanted: tuple[bool, ...] | None = None) -> Any:
    """Pre-hooks, the plain derivative (for all inputs, or the wanted ones), casts, post-hooks."""
    facts = node._rare
    plain = type(node).plain
    given = grad
    for hook in tuple(facts.get("pre_hooks") or ()):
        given = grad = from_hook(node, hooked(hook, hook_arguments(node, grad, on_tensors=on_tensors)), on_tensors=on_tensors)
    kinds, post = facts.get("dtypes"), tuple(facts.get("post_hooks") or ())
    late = bool(post) and not keep and hasattr(node, "_row")  # freed when its hooks have gone well
    if grad is None and not plain._always:
        out: Any = (None,) * len(node._edges)
    else:
        out = only_wanted(node, grad, keep or late, plain._apply_tensors if on_tensors else plain._apply, wanted)
    lone = not isinstance(out, tuple)
    outs = (out,) if lone else out
    if kinds or post:
        from gviz.engine.towards import fit

        outs = tuple(
            None
            if edge is None and hasattr(node, "_row")
            else cast(
                g if edge is None or g is None or g.shape == edge._shape else fit(g, edge, node), kind, on_tensors=on_tensors
            )
            for g, kind, edge in zip(outs, kinds or (None,) * len(outs), node._edges, strict=True)
        )
    if post:
        grads_in = tuple(None if g is None else to_tensor(g, on_tensors=on_tensors) for g in outs)
        for hook in post:
            grads_in = hooked(hook, grads_in, hook_arguments(node, given, on_tensors=on_tensors))
        outs = tuple(None if g is None else g if on_tensors else g._array for g in grads_in)
    if late:
        node._row.release(node)
    return outs[0] if lone else outs


def hook_arguments(node: Any, grad: Any, *, on_tensors: bool) -> tuple[Any, ...]:
    """The gradients of a node's outputs as hooks see them."""
    if node._shape != Parts.shape:
        return (to_tensor(grad, on_tensors=on_tensors),)
    found = {} if grad is None else grad.by_number
    return tuple(to_tensor(found.get(i), on_tensors=on_tensors) for i in range(len(node._shape.shapes)))


def from_hook(node: Any, grads: Iterable[Any], *, on_tensors: bool) -> Any:
    """What a hook made of them, as the derivative takes it."""
    plain = [g if on_tensors or g is None else g._array for g in grads]
    if node._shape != Parts.shape:
        return plain[0]
    found = {i: g for i, g in enumerate(plain) if g is not None}
    return Parts(found) if found else None


def cast(grad: Any, kind: Any, *, on_tensors: bool) -> Any:
    """A gradient in the dtype of its input."""
    if grad is None or kind is None or kind.kind not in "fc":
        return grad
    if on_tensors:
        from gviz.engine.data import dtypes

        return grad if grad._array.dtype == kind else grad.to(dtypes.of(kind))
    return grad if grad.dtype == kind else np.asarray(grad).astype(kind)


def to_tensor(grad: Any, *, on_tensors: bool) -> Any:
    """A gradient as a tensor."""
    if on_tensors or grad is None:
        return grad
    from gviz.engine.tensor import from_array

    return from_array(np.asarray(grad), None)


def run_hooks(hooks: list[Any] | None, grad: Any, *, on_tensors: bool) -> Any:
    """A gradient after tensor hooks: each sees a tensor and may replace it."""
    tensor = to_tensor(grad, on_tensors=on_tensors)
    for hook in tuple(hooks or ()):
        tensor = hooked(hook, tensor)
    return tensor if on_tensors else tensor._array


def hooked(hook: Callable[..., Any], given: Any, *more: Any) -> Any:
    """A gradient, or a tuple of them, after a hook.

    Raises:
        RuntimeError: it returned another number of them, or one of another dtype or shape.
        TypeError: it returned something else.
    """
    new = hook(given, *more)
    if new is None:
        return given
    if not isinstance(given, tuple):
        check_hooked(hook, new, given)
        return new
    if not isinstance(new, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type_text(new)}'")
    if len(new) != len(given):
        raise RuntimeError(
            f"hook '{hook.__name__}' has returned an incorrect number of values (got {len(new)}, but expected {len(given)})"
        )
    for one, was in zip(new, given, strict=True):
        if one is not None:
            check_hooked(hook, one, was)
    return new


def check_hooked(hook: Callable[..., Any], new: Any, old: Any) -> None:
    """Whether a gradient may take the place of another; errors as :func:`hooked`."""
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not hasattr(new, "_array"):
        raise TypeError(f"expected Variable, but hook returned '{type_text(new)}'")
    if new._array.dtype != old._array.dtype:
        was, got = (type_name(t._array.dtype) for t in (old, new))
        raise RuntimeError(f"hook '{hook.__name__}' has changed the type of value (was {was} got {got})")
    if new._array.shape != old._array.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")


def before_adding(node: Any, grad: Any, *, on_tensors: bool) -> Any:
    """The gradient of a leaf after its hooks; None where, after the graph was made, it was said that it requires none.

    Raises:
        RuntimeError: it is no leaf any more.
    """
    leaf = node._leaf
    grad = grad if node._careful else run_hooks(leaf.rare().hooks, grad, on_tensors=on_tensors)  # else they have run already
    if leaf._edge is not None and leaf._edge.__class__ is not ref:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    if leaf._edge is None:
        run_post_hooks(leaf.rare().post_hooks or [], leaf)
        return None
    return grad


def run_post_hooks(hooks: list[Any], leaf: Any) -> None:
    """What is called after a gradient was added to a leaf.

    Raises:
        RuntimeError: it returned something.
    """
    seen = [leaf]
    for hook in tuple(hooks):  # each is given what the one before it returned; the error comes after the last
        seen.append(hooked(hook, seen[-1]))
    if any(one is not leaf for one in seen):
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
