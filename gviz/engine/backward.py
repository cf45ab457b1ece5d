"""The backward pass: every reachable node once, youngest first.

A node is always younger than its inputs, so sorting by creation number is a topological order; no recursion, no stack.
A gradient waits in the ``_pending`` slot of the node it is for; a broadcast one is summed back once, on its way there.
:func:`sweep` is the plain way, on arrays; ``towards.py`` serves all else.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.modes import mode
from gviz.engine.tensor import Tensor
from gviz.engine.towards import finish_leaves, fit, leaves, leaves_early, on_the_way, refuse_sizes, sweep_towards, watched

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run"]

by_seq = attrgetter("_seq")


def reach(starts: list[Any]) -> list[Any]:
    """All nodes below the starts, youngest first (the list grows while it is walked)."""
    order = list(dict.fromkeys(starts))
    seen = set(order)
    add, push = seen.add, order.append
    for node in order:
        edge = node._left
        if edge is not None and edge not in seen:
            add(edge)
            push(edge)
        edge = node._right
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
        catch: (node, number of its output) whose gradient is wanted: filled in; only nodes on the way to one of these are run.
        only: run these nodes and those on the way to them, no others.
    """
    order = reach([edge for edge, _ in starts])
    stash = [getattr(node, "_pending", None) for node in order] if mode.running else None
    for node in order:
        node._pending = None
    if order[-1]._seq < 0 and any(watched(node) for node in leaves(order)):
        order = leaves_early(order)
    caught = {node for node, _ in catch or ()}
    needed = None if catch is None and only is None else on_the_way(order, caught, only or ())
    for edge, gradient in starts:
        part = gradient._array if not create and isinstance(gradient, Tensor) else gradient
        edge._pending = part if edge._pending is None else edge._pending + part
    before = mode.on, mode.formula, mode.running
    mode.on, mode.formula, mode.running = create, False, (order, needed, caught)
    try:
        with np.errstate(all="ignore"):
            if needed is None and not create and not mode.anomaly:
                sweep(order, keep)
            else:
                sweep_towards(order, catch or {}, caught, needed, keep=keep, create=create)
    except ValueError as error:
        refuse_sizes(error)
        raise
    finally:
        mode.on, mode.formula, mode.running = before
        if stash is not None:
            for node, value in zip(order, stash, strict=True):
                node._pending = value


def sweep(order: list[Any], keep: bool) -> None:
    """Run each node that a gradient has reached (and the user's, which see None), on arrays, and hand the results on."""
    sums: set[Any] | None = set() if any(leaf._leaf._array.size >= LARGE for leaf in leaves(order)) else None
    try:
        for node in order:
            grad = node._pending
            if grad is None and not node._always:
                continue
            node._pending = None
            out = node._apply(grad, keep)
            right = node._right
            if out.__class__ is not tuple:  # one input
                edge = node._left
                if edge is not None and out is not None:
                    if out.shape != edge._shape:
                        out = fit(out, edge, node)
                    old = edge._pending
                    edge._pending = out if old is None else old + out if sums is None else total(edge, old, out, sums)
            elif right.__class__ is not tuple:  # two inputs, or none (a leaf)
                edge = node._left
                if edge is not None and (part := out[0]) is not None:
                    if part.shape != edge._shape:
                        part = fit(part, edge, node)
                    old = edge._pending
                    edge._pending = part if old is None else old + part if sums is None else total(edge, old, part, sums)
                if right is not None and (part := out[1]) is not None:
                    if part.shape != right._shape:
                        part = fit(part, right, node)
                    old = right._pending
                    right._pending = part if old is None else old + part if sums is None else total(right, old, part, sums)
            else:
                hand_on(node, out, sums)
    except BaseException:  # an interrupt too
        finish_leaves(order, node, keep)
        raise


def hand_on(node: Any, out: tuple[Any, ...], sums: set[Any] | None) -> None:
    """Give the gradients of many inputs to their nodes."""
    for edge, part in zip(node._edges, out, strict=False):
        if edge is not None and part is not None:
            fitted = part if part.shape == edge._shape else fit(part, edge, node)
            old = edge._pending
            edge._pending = fitted if old is None else old + fitted if sums is None else total(edge, old, fitted, sums)


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
