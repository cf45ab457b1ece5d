"""The backward pass: every reachable node once, youngest first.

A node is always younger than its inputs, so sorting by creation number is a topological order; no recursion, no stack.
A gradient waits in the ``pending`` slot of the node it is for; a broadcast one is summed back once, on its way there.
:func:`sweep` is the plain way, on arrays; ``towards.py`` serves all else.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.modes import mode
from gviz.engine.node import Parts
from gviz.engine.tensor import Tensor, edge_of, from_array
from gviz.engine.towards import finish_leaves, fit, leaves, leaves_early, on_the_way, sweep_towards, warn_cycle, watched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gviz.engine.node import Node

__all__ = ["backward", "call_node", "grad", "run"]

by_seq = attrgetter("seq")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves below them.

    Args:
        tensors: one tensor or several.
        grad_tensors: a gradient for each; None for ones of a one-element tensor.
        retain_graph: keep saved tensors; default: as ``create_graph``.
        create_graph: record the computation of the gradients.
        inputs: accumulate only into these.

    Raises:
        RuntimeError: in PyTorch's words.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.backward.html
    """
    if inputs is not None:
        inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    starts = starts_of(tensors, grad_tensors, create=create_graph)
    if create_graph:
        warn_cycle()
    for tensor in inputs or ():
        tensor.retain_grad()
    keep = create_graph if retain_graph is None else retain_graph
    run(starts, keep=bool(keep), create=bool(create_graph), only=None if inputs is None else [edge_of(t) for t in inputs])


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, without touching any ``.grad``.

    Raises:
        RuntimeError: in PyTorch's words; also where an input is not in the graph and ``allow_unused`` is not given.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad.html
    """
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    starts = starts_of(outputs, grad_outputs, create=create_graph)
    for tensor in wanted:
        if tensor._edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    catch: dict[Any, Any] = {edge_of(t): None for t in wanted}
    run(starts, keep=bool(keep), create=bool(create_graph), catch=catch)
    results: list[Tensor | None] = []
    known = {(id(one._array), one.dtype): one for _, one in starts if isinstance(one, Tensor)}  # those come back as they are
    for i, tensor in enumerate(wanted):
        found = catch[edge_of(tensor)]
        if found is None and materialize_grads:
            found = from_array(np.zeros_like(tensor._array), None)
            found.requires_grad = create_graph
        if found is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        if found is not None and not isinstance(found, Tensor):
            key = id(found), tensor.dtype
            if key not in known:
                known[key] = from_array(np.array(found, dtype=tensor._array.dtype), None)
            found = known[key]
        results.append(found)
    return tuple(results)


def starts_of(tensors: Any, gradients: Any, *, create: bool) -> list[tuple[Any, Any]]:
    """The nodes to start from and their gradients.

    Raises:
        RuntimeError: a gradient is missing, of a wrong shape, or for a tensor that is in no graph.
    """
    roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    given = [gradients] if isinstance(gradients, Tensor) else [None] * len(roots) if gradients is None else list(gradients)
    made = [start_gradient(root, one, i, create=create) for i, (root, one) in enumerate(zip(roots, given, strict=False))]
    if len(roots) != len(given):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    return [(root_edge(root, i), one) for i, (root, one) in enumerate(zip(roots, made, strict=True))]


def root_edge(root: Tensor, position: int) -> Any:
    """The edge to start from.

    Raises:
        RuntimeError: the tensor is in no graph.
    """
    edge = edge_of(root)
    if edge is None:
        raise RuntimeError(f"element {position} of tensors does not require grad and does not have a grad_fn")
    return edge


def start_gradient(root: Tensor, gradient: Any, position: int, *, create: bool) -> Any:
    """The gradient to start with: the tensor given, or a one for a tensor of one element.

    Raises:
        RuntimeError: none given for several elements, or of another shape.
    """
    if gradient is None:
        if root._edge is not None and root._array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        ones = np.ones_like(root._array)
        return from_array(ones, None) if create else ones
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient._array.shape != root._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {gradient.shape} and output[{position}] has a "
            f"shape of {root.shape}."
        )
    return gradient if gradient._array.dtype == root._array.dtype else gradient.to(root.dtype)


def reach(starts: list[Any]) -> list[Any]:
    """All nodes below the starts, youngest first (the list grows while it is walked)."""
    order = list(dict.fromkeys(starts))
    seen = set(order)
    add, push = seen.add, order.append
    for node in order:
        edge = node.left
        if edge is not None and edge not in seen:
            add(edge)
            push(edge)
        edge = node.right
        if edge is not None and edge not in seen:
            if edge.__class__ is tuple:  # all the others
                fresh = [one for one in dict.fromkeys(edge) if one is not None and one not in seen]
                seen.update(fresh)
                order.extend(fresh)
            else:
                add(edge)
                push(edge)
    order.sort(key=by_seq, reverse=True)
    return order


def run(
    starts: Sequence[tuple[Any, Any]],
    *,
    keep: bool,
    create: bool,
    catch: dict[Any, Any] | None = None,
    only: list[Any] | None = None,
) -> None:
    """Run the nodes below the starts, each once, when all its gradient has arrived.

    Args:
        starts: (node, gradient) of each root.
        keep: leave the saved tensors in place.
        create: gradients are tensors and every step is recorded.
        catch: nodes whose gradient is wanted: filled in; only nodes on the way to one of these are run.
        only: run these and the nodes on the way to them, no others.
    """
    order = reach([edge for edge, _ in starts])
    stash = [getattr(node, "pending", None) for node in order] if State.running else None
    for node in order:
        node.pending = None
    if order[-1].seq < 0 and any(watched(node) for node in leaves(order)):
        order = leaves_early(order)
    needed = None if catch is None and only is None else on_the_way(order, catch or (), only or ())
    for edge, gradient in starts:
        part = gradient._array if not create and isinstance(gradient, Tensor) else gradient
        edge.pending = part if edge.pending is None else edge.pending + part
    before = mode.on, mode.formula, State.running
    mode.on, mode.formula, State.running = create, False, True
    try:
        if needed is None and not create and not mode.anomaly:
            sweep(order, keep)
        else:
            sweep_towards(order, catch or {}, needed, keep=keep, create=create)
    finally:
        mode.on, mode.formula, State.running = before
        if stash is not None:
            for node, value in zip(order, stash, strict=True):
                node.pending = value


def sweep(order: list[Any], keep: bool) -> None:
    """Run each node that a gradient has reached, on arrays, and hand the results on."""
    sums: set[Any] | None = set() if any(leaf.variable._array.size >= LARGE for leaf in leaves(order)) else None
    try:
        for node in order:
            grad = node.pending
            if grad is None:
                continue
            node.pending = None
            out = node.apply(grad, keep)
            right = node.right
            if out.__class__ is not tuple:  # one input
                edge = node.left
                if edge is not None and out is not None:
                    if out.shape != edge.shape:
                        out = fit(out, edge, node)
                    old = edge.pending
                    edge.pending = out if old is None else old + out if sums is None else total(edge, old, out, sums)
            elif right.__class__ is not tuple:  # two inputs, or none (a leaf)
                edge = node.left
                if edge is not None and (part := out[0]) is not None:
                    if part.shape != edge.shape:
                        part = fit(part, edge, node)
                    old = edge.pending
                    edge.pending = part if old is None else old + part if sums is None else total(edge, old, part, sums)
                if right is not None and (part := out[1]) is not None:
                    if part.shape != right.shape:
                        part = fit(part, right, node)
                    old = right.pending
                    right.pending = part if old is None else old + part if sums is None else total(right, old, part, sums)
            else:
                hand_on(node, out, sums)
    except Exception:
        finish_leaves(order, node, keep)
        raise


def hand_on(node: Any, out: tuple[Any, ...], sums: set[Any] | None) -> None:
    """Give the gradients of many inputs to their nodes."""
    for edge, part in zip(node.edges, out, strict=False):
        if edge is not None and part is not None:
            fitted = part if part.shape == edge.shape else fit(part, edge, node)
            old = edge.pending
            edge.pending = fitted if old is None else old + fitted if sums is None else total(edge, old, fitted, sums)


LARGE = 2048
"""Elements of a leaf from which gradients are added in place: below, numpy is quicker with new memory."""


def total(edge: Any, old: Any, part: Any, sums: set[Any]) -> Any:
    """The sum of two gradients for a node: in place where the first is a sum made here, which nobody else can hold."""
    if edge in sums and old.dtype is part.dtype:
        return np.add(old, part, old)
    fresh = old + part
    if fresh.__class__ is np.ndarray and fresh.size >= LARGE:
        sums.add(edge)
    return fresh


class State:
    """Whether a backward pass is running: one inside it (in a hook, in a Function) puts waiting gradients aside."""

    running = False


def call_node(node: Node, grads: tuple[Any, ...]) -> Any:
    """``node(gradient, ...)``: the gradients of its inputs, recorded if the grad mode is on."""
    given = Parts({i: g for i, g in enumerate(grads) if g is not None}) if node.shape == ("parts",) else grads[0]
    return node.apply_tensors(given, keep=True)
