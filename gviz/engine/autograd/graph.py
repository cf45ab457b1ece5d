"""``torch.autograd.graph``: nodes, edges, and hooks on saved tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gviz.engine.autograd.packing import disable_saved_tensors_hooks, saved_tensors_hooks
from gviz.engine.node import Node, public_edge
from gviz.engine.tensor import Tensor, edge_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: a node, and the number of its output."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor that requires a gradient."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, number = public_edge(edge_of(tensor))
    return GradientEdge(node, number)


class save_on_cpu(saved_tensors_hooks):
    """Within the block saved tensors are copies in memory (there is no other device here)."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda tensor: tensor)  # type: ignore[attr-defined]


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Note that a tensor's memory was written."""
    for one in [tensor] if isinstance(tensor, Tensor) else tensor:
        one.version_cell().count += 1
