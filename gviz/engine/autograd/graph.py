"""``torch.autograd.graph``: nodes, edges, hooks on saved tensors and on several tensors at once."""

from __future__ import annotations

from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gviz.autograd import node
from gviz.autograd.hooks import RemovableHandle
from gviz.autograd.modes import mode as STATE
from gviz.autograd.node import AccumulateGrad, target_of
from gviz.autograd.requests import GradientEdge, place_of
from gviz.autograd.tensor import Tensor, edge_of
from gviz.engine.autograd.packing import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    saved_tensors_hooks,
)
from gviz.numbers.words import absent, refuse

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


abstract = {name: abstractmethod(lambda _: None) for name in node.SHOWN if name not in ("__call__", "requires_grad")}
Node = ABCMeta("Node", (ABC,), {"__module__": "torch.autograd.graph", **abstract})
"""What every node is an instance of, though not derived from it."""
Node.register(node.Node)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge of a tensor that requires a gradient."""
    refuse(
        not tensor.requires_grad,
        "It is not possible to get the gradient edge for a Tensor that does not require gradients",
    )
    edge: Any = edge_of(tensor)  # None of a view that was made where nothing is recorded
    refuse(edge is None, "Expected gradient function to be set", AssertionError)
    return GradientEdge(*target_of(edge))


class save_on_cpu(saved_tensors_hooks):
    """Within the block saved tensors are kept in memory, where they are.

    Nothing is copied, and writing them is not noticed.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor), lambda packed: packed[1])


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Note that a tensor's memory was written, or that of each of several; inference tensors have no version."""
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not one.is_inference():
            one._version_counter().count += 1


class _MultiHandle(RemovableHandle):
    """The object that :func:`register_multi_grad_hook` returns: it removes the hook from every tensor."""

    __module__ = "torch.autograd.graph"


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> _MultiHandle:
    """Call ``fn(gradients)`` in each backward pass when the last gradient of these tensors is there, or the first one.

    A tensor that has no part in the pass is not waited for: its gradient is None. In the mode "any" the first gradient
    is all.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.register_multi_grad_hook
    """
    refuse(mode not in ("all", "any"), f"Expects mode to be one of ('all', 'any') but got {mode}", ValueError)
    if mode == "any":
        ran: list[Any] = [None]

        def first(grad: Tensor) -> None:
            if ran[0] is not STATE.running:
                ran[0] = STATE.running
                fn(grad)

        return _MultiHandle(
            *(place for one in tensors if one.requires_grad for place in one.register_hook(first).places)
        )
    refuse(not all(tensor.requires_grad for tensor in tensors), "Expected gradient function to be set", AssertionError)
    nodes = [place_of(tensor)[0] for tensor in tensors]
    arrived: dict[int, dict[int, Any]] = {}

    def hook_for(number: int) -> Callable[[Any], None]:
        def inner(grad: Tensor) -> None:
            task = id(STATE.running)
            arrived.setdefault(task, {})[number] = grad
            if len(arrived[task]) == sum(will_run(node) for node in nodes):
                gradients = arrived.pop(task)
                fn([gradients.get(i) for i in range(len(nodes))])

        return inner

    return _MultiHandle(*(place for i, one in enumerate(tensors) for place in one.register_hook(hook_for(i)).places))


def will_run(node: node.Node) -> bool:
    """Return whether the running backward pass has a part for this node.

    Refuse a leaf that gets no ``.grad`` from it.
    """
    running = STATE.running
    if running.needed is None:
        return node in running.dependencies
    refuse(
        node in running.caught and isinstance(node, AccumulateGrad),
        "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
        "currently not supported.",
    )
    return node in running.needed or node in running.caught


__getattr__ = absent("torch.autograd.graph")
