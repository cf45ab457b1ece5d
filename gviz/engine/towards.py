"""Backward passes that are not the plain one: recorded, watched for NaN, towards certain tensors, or seen by hooks of leaves.

``backward.py`` comes here with ``create_graph=True`` (gradients are tensors and every step is recorded), where the gradients of
certain tensors only are wanted, in anomaly mode, where a hook on a leaf can see the order, and after an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.data.shapes import broadcast_shape
from gviz.engine.data.words import warn_once
from gviz.engine.hooks import only_wanted, run_hooks, tensor_hooks
from gviz.engine.hooks import run as run_hooked
from gviz.engine.modes import mode
from gviz.engine.node import AccumulateGrad, Parts
from gviz.engine.op import TENSORS
from gviz.engine.tensor import Tensor
from gviz.engine.views import CopySlices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gviz.engine.node import Node

__all__ = [
    "call_node",
    "finish_leaves",
    "fit",
    "leaves",
    "leaves_early",
    "on_the_way",
    "refuse_sizes",
    "sweep_towards",
    "warn_cycle",
    "watched",
]


def sweep_towards(
    order: list[Any], catch: dict[Any, Any], caught: set[Any], needed: set[Any] | None, *, keep: bool, create: bool
) -> None:
    """The same where gradients are recorded, or watched for NaN, or only those of certain tensors are wanted."""
    if mode.anomaly:
        from gviz.engine.autograd import watch
    for node in order:
        grad = node._pending
        if grad is None and not node._always:
            continue
        node._pending = None
        try:
            if needed is not None:
                out = step_towards(node, grad, catch, caught, needed, keep=keep, create=create)
            else:
                out = node._apply_tensors(grad, keep) if create else node._apply(grad, keep)
        except BaseException:  # an interrupt too
            if mode.anomaly:
                watch.warn_of(node)
            finish_leaves([one for one in order if needed is None or one in needed or one is node], node, keep, create=create)
            raise
        if mode.anomaly:
            watch.check(node, out)
        if create and isinstance(out, tuple):  # all are fitted before they are added: both are recorded
            out = tuple(
                part if edge is None or part is None or part.shape == edge._shape else fit(part, edge, node)
                for edge, part in zip(node._edges, out, strict=False)
            )
        for edge, part in zip(node._edges, out if isinstance(out, tuple) else (out,), strict=False):
            if edge is not None and part is not None:
                fitted = fit(part, edge, node) if part.shape != edge._shape else part
                edge._pending = fitted if edge._pending is None else edge._pending + fitted


def step_towards(
    node: Any, grad: Any, catch: dict[Any, Any], caught: set[Any], needed: set[Any], *, keep: bool, create: bool
) -> Any:
    """One step of a backward pass that is after the gradients of certain tensors only: it computes no others.

    As in PyTorch a wanted gradient is that before the hooks of its tensor if the pass goes on from there, else the one after.
    """
    if node in caught:
        given = grad if node in needed else after_hooks(node, grad, create=create)
        parts = given.by_number if isinstance(given, Parts) else {0: given}
        catch.update({(node, number): part for number, part in parts.items() if (node, number) in catch})
    if node not in needed or (grad is None and not node._always):
        return ()
    left, right, wanted = node._left, node._right, None
    if not ((left is None or left in needed or left in caught) and (right is None or right in needed or right in caught)):
        row = getattr(type(node), "_row", None)
        if isinstance(node, CopySlices) if row is None else not row.lists:  # all of a list or none
            wanted = tuple(edge in needed or edge in caught for edge in node._edges)
    if node._careful:
        return run_hooked(node, tensor_hooks(node, grad, on_tensors=create), keep, on_tensors=create, wanted=wanted)
    return only_wanted(node, grad, keep, type(node)._apply_tensors if create else type(node)._apply, wanted)


def after_hooks(node: Any, grad: Any, *, create: bool) -> Any:
    """The gradients of a node's outputs after the hooks of its tensors, where the node itself is not run."""
    if isinstance(node, AccumulateGrad):
        rare = node._leaf._rare
        return grad if rare is None or not rare.hooks else run_hooks(rare.hooks, grad, on_tensors=create)
    return tensor_hooks(node, grad, on_tensors=create) if node._careful else grad


def fit(grad: Any, edge: Any, node: Any) -> Any:
    """Undo broadcasting: sum a gradient back to the shape of the input.

    Raises:
        RuntimeError: the shapes do not belong together (a custom Function returned a wrong one).
    """
    got, shape = tuple(grad.shape), edge._shape
    extra = len(got) - len(shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, size in enumerate(shape) if extra >= 0 and size == 1 and got[i + extra] != 1
    )
    if extra < 0 or any(size not in (1, got[i + extra]) for i, size in enumerate(shape)):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {node._edges.index(edge)} - got {list(got)} but "
            f"expected shape compatible with {list(shape)}"
        )
    if isinstance(grad, Tensor):
        if not shape:
            return TENSORS["sum_all"](grad)
        if axes:
            grad = TENSORS["sum_dim"](grad, axes, True)
        return TENSORS["view"](grad, shape) if extra else grad
    return np.add.reduce(grad, axis=axes, keepdims=True).reshape(shape)


def refuse_sizes(error: ValueError) -> None:
    """Raise PyTorch's error for numpy's where a derivative met other sizes: a hook unpacked them, or data were exchanged."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    ours = trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("gviz.engine")
    told = str(error)
    if ours and told.startswith("operands could not be broadcast"):
        shapes = re.findall(r"\(([\d,]*)\)", told)
        broadcast_shape(*(tuple(map(int, filter(None, shape.split(",")))) for shape in shapes))


def leaves(order: list[Any]) -> list[Any]:
    """The leaves' nodes, which stand at the end."""
    count = 0
    while count < len(order) and order[-1 - count]._seq < 0:
        count += 1
    return order[len(order) - count :]


def watched(node: Any) -> bool:
    """Whether somebody would notice when this leaf is run."""
    rare = node._leaf._rare
    return (rare is not None and bool(rare.hooks or rare.post_hooks)) or node._careful


def leaves_early(order: list[Any]) -> list[Any]:
    """Each leaf right after the last node that feeds it, as PyTorch runs them: hooks can see the order."""
    last: dict[Any, Any] = {}
    for node in order:
        for edge in node._edges:
            if edge is not None and edge._seq < 0:
                last[edge] = node
    after: dict[Any, list[Any]] = {}
    for leaf, node in last.items():
        after.setdefault(node, []).append(leaf)
    early = [leaf for leaf in leaves(order) if leaf not in last]  # only roots themselves
    for node in order:
        if node._seq >= 0:
            early.append(node)
            ready = after.get(node, ())
            early.extend(dict.fromkeys(e for e in node._edges if e in ready))
    return early


def on_the_way(order: list[Any], caught: set[Any], only: Iterable[Any]) -> set[Any]:
    """The nodes that have to run so that every wanted gradient arrives."""
    needed = set(only)
    for node in reversed(order):
        if any(edge is not None and (edge in needed or edge in caught) for edge in node._edges):
            needed.add(node)
    return needed


def finish_leaves(order: list[Any], failed: Any, keep: bool, *, create: bool = False) -> None:
    """Before an error goes on: the leaves that have all their gradients get them, as they would have had in PyTorch."""
    if failed._seq < 0:
        return  # the others come after it
    waiting = order[order.index(failed) :]
    fed = {edge for node in waiting for edge in node._edges}
    for leaf in leaves(waiting):
        if leaf not in fed and leaf is not failed and leaf._pending is not None:
            (leaf._apply_tensors if create else leaf._apply)(leaf._pending, keep)
            leaf._pending = None


def warn_cycle() -> None:
    """PyTorch's warning for ``backward(create_graph=True)``."""
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have "
        "to use this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle "
        "and avoid the leak."
    )


def call_node(node: Node, grads: tuple[Any, ...]) -> Any:
    """``node(gradient, ...)``: the gradients of its inputs, recorded if the grad mode is on; no hook hears of it."""
    shape: Any = node._shape
    wanted = len(shape.shapes) if shape == Parts.shape else 1
    if len(grads) != wanted:
        raise TypeError(f"expected {wanted} arguments, got {len(grads)} instead")
    for i, grad in enumerate(grads):
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(f"argument {i} is not a Variable")
    given = Parts({i: g for i, g in enumerate(grads) if g is not None}) if node._shape == ("parts",) else grads[0]
    if all(grad is None for grad in grads):
        return (None,) * len(node._edges)
    return getattr(type(node), "plain", type(node))._apply_tensors(node, given, keep=True)
