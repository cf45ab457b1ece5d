"""The backward pass.

One loop for all: a node runs when every edge that leads to it has been served, the youngest of those that are ready
first, a leaf at once. Gradients are tensors; with ``create_graph`` the grad mode is on meanwhile, and that is the whole
difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import copy_context
from heapq import heappop, heappush
from itertools import count
from sys import getrefcount
from threading import Thread
from typing import Any

import numpy as np

from gviz.autograd import anomaly
from gviz.autograd.hooks import after_node, before_node, run_hook
from gviz.autograd.modes import mode
from gviz.autograd.node import AccumulateGrad, Array, Edge, Node, Output, target_of
from gviz.autograd.row import TENSORS
from gviz.autograd.tensor import Tensor, from_array, recorded_edge
from gviz.autograd.words import NO_DATA
from gviz.numbers.dtypes import INEXACT
from gviz.numbers.shapes import check_written
from gviz.numbers.words import refuse

DEEPEST = 30
"""So many passes may run inside each other on one stack (a node's backward may call backward); PyTorch takes 60."""


class Pass:
    """One backward pass.

    Args:
        roots: (edge, gradient) to start from.
        keep: leave the saved tensors in place.
        create: record every step.
        catch: edges whose gradient is wanted, with None: filled in. Only nodes on the way to one of these run.
        only: run these nodes and those on the way to them, no others.
    """

    def __init__(
        self,
        roots: list[tuple[Output, Tensor]],
        *,
        keep: bool,
        create: bool,
        catch: dict[Output, Tensor | None] | None = None,
        only: list[Node] | None = None,
    ) -> None:
        self.roots, self.keep, self.create, self.only = roots, keep or mode.keep, create, only
        self.catch: Any = catch

    def prepare(self) -> None:
        """Count the edges that lead to each node; find the nodes that have to run and those to which gradients go."""
        self.dependencies = count_dependencies(node for (node, _), _ in self.roots)
        self.caught = {node for node, _ in self.catch or ()}
        self.needed = self.goals = None
        if self.catch is None and self.only is None:
            return
        self.needed = set(self.only or ())
        self.goals = self.needed | self.caught
        for node in sorted(self.dependencies, key=lambda node: node._seq):
            if any(edge is not None and target_of(edge)[0] in self.goals for edge in node._next):
                self.needed.add(node)
                self.goals.add(node)

    def start(self) -> None:
        """Run; deep inside other passes in a thread with a stack of its own, so that no depth is too great."""
        self.depth = 0 if mode.running is None else mode.running.depth + 1
        if self.depth % DEEPEST or not self.depth:
            self.run()
            return
        errors: list[BaseException] = []

        def run() -> None:
            try:
                self.run()
            except BaseException as error:  # noqa: BLE001 - it goes on where the thread was started
                errors.append(error)

        thread = Thread(target=copy_context().run, args=(run,), daemon=True)
        thread.start()
        thread.join()
        if errors:
            raise errors.pop()

    def run(self) -> None:
        """Run the nodes below the roots, each once, when all its gradient has arrived."""
        self.prepare()
        self.input_buffers: dict[Node, list[Any]] = {}
        self.ready: list[Any] = []
        self.tie = count().__next__
        self.callbacks: list[Callable[[], object]] = []  # to be called at the end: they may add others
        for (node, number), gradient in self.roots:
            self.accumulate(node, number, gradient)
        for node in dict.fromkeys(node for (node, _), _ in self.roots):
            if not self.dependencies[node]:
                heappush(self.ready, (-node._seq, self.tie(), node))
        before = mode.recording, mode.grad_enabled, mode.formula, mode.running, mode.node_callbacks
        mode.recording = mode.grad_enabled = self.create
        mode.formula, mode.running = False, self
        try:
            with np.errstate(all="ignore"):
                while self.ready:
                    self.node = node = heappop(self.ready)[2]
                    self.step(node, self.input_buffers.pop(node))
                for callback in self.callbacks:
                    callback()
        except BaseException:
            if mode.anomaly:
                anomaly.warn_of(node)
            raise
        finally:
            mode.recording, mode.grad_enabled, mode.formula, mode.running, mode.node_callbacks = before

    def step(self, node: Node, grads: list[Any]) -> None:
        """Run one node and give its results to the nodes of its inputs."""
        runs = self.needed is None or node in self.needed
        if node in self.caught:  # before the hooks of its tensors if the pass goes on from there, else after them
            results = grads if runs else before_node(node, grads, tensors_only=True)
            self.catch.update((edge, results[edge[1]]) for edge in self.catch if edge[0] is node)
        if not runs:
            return
        if node._hooks is not None or isinstance(node, AccumulateGrad):
            grads = before_node(node, grads)
        edges = node._next
        mask = [edge is not None and (self.goals is None or target_of(edge)[0] in self.goals) for edge in edges]
        outs = type(node).apply(node, grads, mask)  # not what a user has put on a ctx under that name
        outs = [
            None if out is None or edge is None else unbroadcast(out, edge, node)
            for out, edge in zip(outs, edges)  # noqa: B905 - a leaf has neither
        ]
        if node._hooks is not None and node._hooks.after:
            outs = after_node(node, tuple(outs), grads)
        if not self.keep:  # after all that may refuse the gradients, but for anomaly mode
            type(node).release(node)
        if mode.anomaly == "nan":
            anomaly.refuse_nan(node, tuple(outs))
        for edge, out in zip(edges, outs):  # noqa: B905 - a leaf has neither
            if edge is not None:
                target, number = target_of(edge)
                self.accumulate(target, number, out)
                self.dependencies[target] = count = self.dependencies[target] - 1
                if not count:
                    heappush(self.ready, (-target._seq, self.tie(), target))

    def accumulate(self, node: Node, number: int, gradient: Tensor | None) -> None:
        """Add the gradient of one of its outputs to those that wait for a node."""
        slots = self.input_buffers.get(node)
        if slots is None:
            slots = self.input_buffers[node] = [None] * len(node._outputs)
        if gradient is not None:
            old = slots[number]
            slots[number] = gradient if old is None else old + gradient


def count_dependencies(roots: Iterable[Node]) -> dict[Any, int]:
    """Return all nodes below the roots, and how many edges lead to each (the list grows while it is walked)."""
    counts = dict.fromkeys(roots, 0)
    todo = list(counts)
    for node in todo:
        for edge in node._next:
            if edge is not None:
                target = target_of(edge)[0]
                if target not in counts:
                    todo.append(target)
                counts[target] = counts.get(target, 0) + 1
    return counts


def unbroadcast(grad: Tensor, edge: Edge, node: Node) -> Tensor:
    """Return a gradient in the shape and dtype of what it is for: broadcasting is undone here, for all operations.

    Raises:
        RuntimeError: the shapes do not belong together (a custom Function returned a wrong one).
    """
    target, number = target_of(edge)
    shape, kind = target._outputs[number]
    array = grad._array
    if array.shape != shape:
        got, extra = array.shape, array.ndim - len(shape)
        if extra < 0 or any(size not in (1, got[i + extra]) for i, size in enumerate(shape)):
            raise RuntimeError(
                f"Function {type(node).name(node)} returned an invalid gradient at index {node._next.index(edge)} - "
                f"got {list(got)} but expected shape compatible with {list(shape)}"
            )
        grad = TENSORS["sum_to"](grad, shape)
    return grad if array.dtype == kind or kind is None or kind.kind not in INEXACT else TENSORS["to_dtype"](grad, kind)


def accumulate_grad(self: Tensor, grads: list[Any]) -> None:
    """Add a gradient (the only one in the list) to that of this leaf: in place, or (recorded) to a new tensor.

    The first is taken as it is if nobody else has it, else copied.
    """
    meta = self._autograd_meta()
    refuse(recorded_edge(self) is not None, "leaf variable has been moved into the graph interior")
    if self._edge is not None:
        free = can_steal(grads, self._array)
        new = grads[0]._array
        refuse(new.device != self._array.device, NO_DATA, NotImplementedError)
        if mode.recording:
            empty = from_array(np.empty_like(self._array), None)
            meta.grad = TENSORS["copy_into"](empty, grads[0]) if meta.grad is None else meta.grad + grads[0]
        elif meta.grad is None:
            if new.shape != self._array.shape:
                check_written(self._array.shape, new.shape)
            meta.grad = from_array(new if free or hasattr(new, "mask") else copied(new, self._array), None)
        else:
            check_written(meta.grad._array.shape, new.shape)
            if not meta.grad._array.flags.writeable or meta.grad._edge is not None:  # a graph may have the array
                meta.grad._array = meta.grad._array.copy()
            np.add(meta.grad._array, new, out=meta.grad._array, casting="unsafe")
            meta.grad._version_counter().count += 1
    tensors = [self]
    for hook in tuple(meta.post_hooks):  # each is given what the one before it returned; the error comes after the last
        tensors.append(run_hook(hook, tensors[-1]))
    refuse(any(one is not self for one in tensors), "Tensor post accumulate grad hooks should return None.")


def can_steal(grads: list[Any], like: Array) -> bool:
    """Return whether the list alone has its tensor and that alone its memory, with elements as in a leaf's array."""
    if getrefcount(grads[0]) != 2 or getrefcount(grads[0]._array) != 2:  # one of the two is the call's
        return False
    new = grads[0]._array
    return bool(new.flags.owndata and new.flags.c_contiguous and like.flags.c_contiguous and new.dtype == like.dtype)


def copied(grad: Array, like: Array) -> Array:
    """Return a copy of a gradient with the dtype of its leaf, and its strides if they leave no gaps."""
    new = np.empty_like(like)
    new = new if new.strides == like.strides else np.empty(like.shape, like.dtype)
    new[...] = grad
    return new


Tensor._accumulate_grad = accumulate_grad
