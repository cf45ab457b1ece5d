"""Values into tensors, and one operation more in the graph: what all building functions do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gviz.static.dtypes import as_dtype, as_value
from gviz.static.graph import Graph, Operation, Tensor, get_default_graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gviz.static.dtypes import DType

__all__ = ["constant", "convert", "graph_of", "make", "named"]


def graph_of(*values: Any) -> Graph:
    """The graph that an operation on these belongs to: the first tensor's, else the default one."""
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            graph = getattr(item, "graph", None)
            if isinstance(graph, Graph):
                return graph
    return get_default_graph()


@contextmanager
def named(graph: Graph, name: str | None, default: str) -> Iterator[str]:
    """A scope for an operation's helpers; the operation itself takes the scope's name, which is given."""
    with graph.as_default(), graph.name_scope(name or default) as scope:
        yield scope


def make(type: str, inputs: Sequence[Tensor], name: str | None = None, **attrs: Any) -> Tensor:
    """Add an operation and give its first output."""
    return graph_of(*inputs).create_op(type, inputs, attrs, name).outputs[0]


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor with a value that is known now.

    Args:
        value: a number, a list or an array.
        dtype: of its elements; float32 for Python's floats and int32 for its integers where it is not given.
        shape: to fill with a number, or into which a list is put.
        name: of the operation.
    """
    import numpy as np

    array = as_value(value, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        size = tuple(shape)
        array = np.full(size, array) if array.ndim == 0 else array.reshape(size)
    kind = as_dtype(array.dtype if array.dtype.kind != "O" else str)
    attrs = {"value": array.copy() if array is value else array, "dtype": kind}
    return get_default_graph().create_op("Const", (), attrs, name).outputs[0]


def convert(value: Any, dtype: DType | None = None, name: str = "Const") -> Tensor:
    """A tensor as it is, a variable's value, anything else as a constant.

    Raises:
        ValueError: a tensor has another dtype.
    """
    value = getattr(value, "_read", value)  # what a variable holds
    if isinstance(value, Tensor):
        if dtype is not None and value.dtype.base_dtype != dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, Operation):
        raise TypeError(f"Can't convert Operation '{value.name}' to Tensor")
    if isinstance(value, (list, tuple)) and any(isinstance(getattr(v, "_read", v), Tensor) for v in value):
        from gviz.static.operations import stack

        return stack([convert(v, dtype) for v in value], name=name)
    return constant(value, dtype, name=name)
