"""Values into tensors, and one operation more in the graph: what all building functions do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.static.dtypes import as_dtype, as_value, bool_, int32
from gviz.static.graph import Graph, Operation, Tensor, get_default_graph
from gviz.static.structures import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gviz.static.dtypes import DType

__all__ = ["apply", "constant", "convert", "graph_of", "is_tensor", "make", "named"]


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor, or a variable, which stands for one."""
    return isinstance(getattr(value, "_read", value), Tensor)


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
        shape: to put them in; the last one fills what is left.
        name: of the operation.

    Raises:
        ValueError: there are more elements than the shape has.
    """
    array = as_value(value, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        size = tuple(shape)
        left = int(np.prod(size)) - array.size
        if left < 0 or (left and not array.size):
            raise ValueError(f"Too many elements provided. Needed at most {array.size + left}, but received {array.size}")
        array = np.pad(array.ravel(), (0, left), "edge").reshape(size)
    kind = as_dtype(array.dtype if array.dtype.kind != "O" else str)
    attrs = {"value": array.copy() if array is value else array, "dtype": kind}
    return get_default_graph().create_op("Const", (), attrs, name).outputs[0]


def convert(value: Any, dtype: Any = None, name: str | None = None, hint: DType | None = None) -> Tensor:
    """A tensor as it is, a variable's value, anything else as a constant.

    Args:
        value: a tensor, a number, a list, an array.
        dtype: that it must have.
        name: of the constant.
        hint: the dtype where the value can have it.

    Raises:
        ValueError: a tensor has another dtype.
        TypeError: it is an operation, or a value that does not fit the dtype.
    """
    value = getattr(value, "_read", value)  # what a variable holds
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        if dtype is not None and value.dtype.base_dtype != dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, Operation):
        raise TypeError(f"Can't convert Operation '{value.name}' to Tensor")
    if isinstance(value, (list, tuple)):
        inner = next(filter(is_tensor, leaves(value)), None)
        if inner is not None:
            kind = dtype or inner.dtype.base_dtype
            with named(graph_of(*value), name, "packed") as scope:
                return make("Pack", [convert(v, kind, str(i)) for i, v in enumerate(value)], scope, axis=0)
    if hint is not None:
        try:
            return constant(value, hint, name=name or "Const")
        except (TypeError, ValueError):
            pass  # it has a dtype of its own
    return constant(value, dtype, name=name or "Const")


def apply(
    type: str, spec: str, values: Sequence[Any], name: str | None = None, default: str | None = None, **attrs: Any
) -> Tensor:
    """Add an operation on values as TensorFlow's generated functions do.

    Args:
        type: of the operation.
        spec: the names of its inputs. They share a dtype, which the first has, and constants below the operation's name have
            them; ``y~`` may have another if its value does not fit, ``i:int`` is int32 or int64, ``c:bool`` boolean.
        values: for the inputs.
        name: of the operation.
        default: its name where none is given; None for the type.
        attrs: fixed parameters.
    """
    graph = graph_of(*values)
    with named(graph, name, default or type) as scope:
        if graph.promotes:
            values = promoted(values)
        shared: Tensor | None = None
        tensors = []
        for entry, value in zip(spec.split(), values, strict=True):
            label, _, kind = entry.partition(":")
            if kind:
                tensors.append(of_kind(type, label, value, int32 if kind == "int" else bool_))
                continue
            tensors.append(beside(type, shared, label.rstrip("~"), value, by_hint=label.endswith("~")))
            shared = tensors[-1] if shared is None else shared
        return graph.create_op(type, tensors, attrs, scope).outputs[0]


def promoted(values: Sequence[Any]) -> Sequence[Any]:
    """Operands of a derivative's formula, in which booleans and integers count as numbers of the dtype beside them."""
    real = next((v.dtype.base_dtype for v in values if isinstance(v, Tensor) and v.dtype.is_floating), None)
    if real is None:
        return values
    return [make("Cast", [v], DstT=real) if isinstance(v, Tensor) and not v.dtype.is_floating else v for v in values]


def of_kind(type: str, label: str, value: Any, kind: DType) -> Tensor:
    """An input whose dtype the operation fixes; TypeError where it has another one."""
    found = convert(value, None, label, kind)
    have = found.dtype.base_dtype
    if kind.is_integer and have.name not in ("int32", "int64"):
        raise TypeError(
            f"Value passed to parameter '{label}' has DataType {have.name} not in list of allowed values: int32, int64"
        )
    if kind.is_bool and not have.is_bool:
        raise TypeError(f"Input '{label}' of '{type}' Op has type {have.name} that does not match expected type of bool.")
    return found


def beside(type: str, first: Tensor | None, label: str, value: Any, *, by_hint: bool = False) -> Tensor:
    """An input that has the dtype of the first one; TypeError where it has another one."""
    kind = None if first is None else first.dtype.base_dtype
    if kind is None or by_hint or is_tensor(value):
        found = convert(value, None, label, kind)
        if kind is not None and found.dtype.base_dtype != kind:
            raise TypeError(
                f"Input '{label}' of '{type}' Op has type {found.dtype.base_dtype.name} that does not match type {kind.name} "
                "of argument 'x'."
            )
        return found
    try:
        return convert(value, kind, label)
    except TypeError as error:
        raise TypeError(
            f"Expected {kind.name} passed to parameter '{label}' of op '{type}', got {value!r} of type "
            f"'{value.__class__.__name__}' instead. Error: {error}"
        ) from None
