"""``torch.fx.passes.shape_prop``: run a graph once, and note the size of each result."""

from __future__ import annotations

from typing import Any, NamedTuple

from gviz.autograd.tensor import Tensor
from gviz.engine.fx.interpreter import Interpreter
from gviz.engine.fx.node import Argument, Node, map_aggregate
from gviz.numbers.words import absent

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its numbers."""

    shape: Argument
    dtype: Argument
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Argument
    is_quantized: bool
    qparams: dict[str, Any]


def metadata_of(tensor: Tensor) -> TensorMetadata:
    """Return what is known of a tensor without its numbers."""
    from gviz import engine

    layout = engine.contiguous_format if tensor.is_contiguous() else None
    return TensorMetadata(tensor.shape, tensor.dtype, tensor.requires_grad, tensor.stride(), layout, False, {})


class ShapeProp(Interpreter):
    """Runs a graph: ``propagate(*inputs)`` leaves ``meta["tensor_meta"]`` at each node."""

    def run_node(self, n: Node) -> Any:
        """Return the result of a node, and note its size."""
        result, tensors = super().run_node(n), list[Tensor]()

        def note(one: Argument) -> Any:
            if not isinstance(one, Tensor):
                return one
            tensors.append(one)
            return metadata_of(one)

        meta = map_aggregate(result, note)
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    propagate = Interpreter.run


__getattr__ = absent("torch.fx.passes.shape_prop")
