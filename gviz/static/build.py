"""One operation more in the graph: what all functions that build do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from gviz.numbers.words import refuse
from gviz.static.graph import Graph, Operation, Tensor, TensorLike, get_default_graph
from gviz.static.table import infer_outputs
from gviz.static.types import ArrayLike, DType, DTypeLike, as_dtype, as_value, bool_, int32, leaves

Builds = TypeVar("Builds", bound="Callable[..., Any]")


def check_others(function: str, arguments: Mapping[str, object], **usual: object) -> None:
    """Refuse arguments that a function lacks.

    Args:
        function: its name.
        arguments: arguments by name that it does not read.
        usual: those among TensorFlow's that gviz has no use for, with their defaults.

    Raises:
        TypeError: TensorFlow has none of that name.
        ValueError: it asks for something that gviz does not do.
    """
    for name, value in arguments.items():
        if name not in usual:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        refuse(value is not None and value != usual[name], f"gviz has no {name} for {function}()", ValueError)


def is_symbolic(value: object) -> bool:
    """Return whether it is a tensor, or a variable, which stands for one."""
    return isinstance(getattr(value, "_read", value), Tensor)


def common_graph(*values: object) -> Graph:
    """Return the graph that an operation on these belongs to: the first tensor's, else the default one."""
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            graph = getattr(item, "graph", None)
            if isinstance(graph, Graph):
                return graph
    return get_default_graph()


@contextmanager
def operation_scope(graph: Graph, name: str | None, default: str) -> Iterator[str]:
    """Open a scope for an operation's helpers; the operation itself takes the scope's name, which is returned."""
    with graph.as_default(), graph.name_scope(name or default) as scope:
        yield scope


def in_scope(default: str = "") -> Callable[[Builds], Builds]:
    """Return a decorator of functions whose operations stand in a scope of their ``name``, or of the default.

    They are called with the whole scope as their name: the operation that takes it is the one that they return.
    """

    def decorate(build: Builds) -> Builds:
        place = [*signature(build).parameters].index("name")

        @wraps(build)
        def inside(*args: object, **kwargs: object) -> Any:
            name: Any = args[place] if len(args) > place else kwargs.get("name")
            with operation_scope(common_graph(*args, *kwargs.values()), name, default) as scope:
                if len(args) > place:
                    return build(*args[:place], scope, *args[place + 1 :], **kwargs)
                return build(*args, **kwargs | {"name": scope})

        return inside  # type: ignore[return-value] # it is called alike

    return decorate


def add_operation(
    graph: Graph,
    type: str,
    inputs: Sequence[Tensor] = (),
    attrs: dict[str, Any] | None = None,
    name: str | None = None,
    control: Sequence[Operation] = (),
) -> Operation:
    """Add an operation to a graph: the one door through which all come in.

    Args:
        graph: RuntimeError if it is finalised.
        type: a row of :data:`gviz.static.table.TYPES`.
        inputs: ValueError if one is a tensor of another graph.
        attrs: fixed parameters.
        name: without scopes; one that ends in a slash stands as it is. None for the type.
        control: operations that run before it, besides those that ``control_dependencies`` asks for.
    """
    refuse(graph.finalized, "Graph is finalized and cannot be modified.")
    for tensor in inputs:
        if tensor.graph is not graph:
            raise ValueError(f"{tensor} must be from the same graph as {inputs[0]}.")
    earlier = {t.op for t in inputs}  # of what was asked for, an input may be a part, or have waited for it
    waits = [
        op for before, operations in graph.control if not operations & earlier for op in before if op not in earlier
    ]
    op = Operation(graph, graph.new_name(name or type), type, attrs or {}, dict.fromkeys([*waits, *control]))
    op.inputs = tuple(inputs) if op.context is None else op.context.captured(inputs, op)
    op.outputs = [Tensor(op, i, dtype, dims) for i, (dtype, dims) in enumerate(infer_outputs(op))]
    op.number = len(graph.operations)  # what it brings in comes before it
    graph.operations[op.name] = op
    for _, operations in graph.control:
        operations.add(op)
    return op


def make(type: str, inputs: Sequence[Tensor], name: str | None = None, **attrs: object) -> Tensor:
    """Add an operation and return its first output."""
    return add_operation(common_graph(*inputs), type, inputs, attrs, name).outputs[0]


def constant(
    value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Iterable[int] | None = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Return a tensor with a value that is known now; ValueError for more elements than the shape has.

    Python's floats are float32 and its integers int32 if no dtype is asked for. The last element fills what a shape has
    left; with ``verify_shape`` that is a TypeError.
    """
    array = as_value(value, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        size = tuple(shape)
        most = int(np.prod(size))
        refuse(verify_shape and size != array.shape, f"Expected Tensor's shape: {size}, got {array.shape}.", TypeError)
        refuse(
            most < array.size or (most and not array.size),
            f"Too many elements provided. Takes at most {most}, but got {array.size}.",
            ValueError,
        )
        array = np.pad(array.ravel(), (0, most - array.size), "edge").reshape(size)
    own = as_dtype(array.dtype if array.dtype.kind != "O" else str)
    return make("Const", (), name, value=array.copy() if array is value else array, dtype=own)


def convert(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, hint: DType | None = None
) -> Tensor:
    """Return a tensor as it is, a variable's value, anything else as a constant of that name.

    A constant has the dtype, or that of ``hint`` if its value can have it. ValueError for a tensor that has another
    dtype, TypeError for an operation and for a value that does not fit.
    """
    whole: Any = getattr(value, "_read", value)  # what a variable holds
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(whole, Tensor):
        if dtype is not None and whole.dtype.base_dtype != dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {whole.dtype.name}: {whole!r}"
            )
        return whole
    if isinstance(whole, Operation):
        raise TypeError(f"Can't convert Operation '{whole.name}' to Tensor")
    if isinstance(whole, (list, tuple)):
        inner = next(filter(is_symbolic, leaves(whole)), None)
        if inner is not None:
            with operation_scope(common_graph(*whole), name, "packed") as scope:
                parts = [convert(part, dtype or inner.dtype.base_dtype, str(i)) for i, part in enumerate(whole)]
                return make("Pack", parts, scope, axis=0)
    if hint is not None:
        with suppress(TypeError, ValueError):  # it has a dtype of its own
            return constant(whole, hint, name=name or "Const")
    return constant(whole, dtype, name=name or "Const")


def apply(
    type: str,
    spec: str,
    values: Sequence[TensorLike],
    name: str | None = None,
    default: str | None = None,
    **attrs: object,
) -> Tensor:
    """Add an operation on values as TensorFlow's generated functions do.

    Args:
        type: of the operation.
        spec: the names of its inputs. They share a dtype, which the first has, and constants below the operation's name
            have it; ``y~`` may have another if its value does not fit, ``i:int`` is int32 or int64, ``c:bool`` boolean.
        values: for the inputs.
        name: of the operation.
        default: its name if none is given; None for the type.
        attrs: fixed parameters.
    """
    graph = common_graph(*values)
    with operation_scope(graph, name, default or type) as scope:
        shared: dict[str, DType] = {}  # the first input that has a say, and its dtype
        tensors = []
        for entry, value in zip(spec.split(), values, strict=True):
            label, _, fixed = entry.partition(":")
            if fixed:
                tensors.append(of_dtype(type, label, value, int32 if fixed == "int" else bool_))
                continue
            tensors.append(of_shared_dtype(type, shared, label.rstrip("~"), value, by_hint=label.endswith("~")))
            shared = shared or {label: tensors[-1].dtype.base_dtype}
        return add_operation(graph, type, tensors, attrs, scope).outputs[0]


def of_dtype(type: str, label: str, value: TensorLike, dtype: DType) -> Tensor:
    """Return an input whose dtype the operation fixes; TypeError if it has another one."""
    tensor = convert(value, None, label, dtype)
    own = tensor.dtype.base_dtype
    refuse(
        own != dtype and not (dtype.is_integer and own.name == "int64"),
        f"Input '{label}' of '{type}' Op has type {own.name} that does not match expected type of {dtype.name}.",
        TypeError,
    )
    return tensor


def of_shared_dtype(
    type: str, shared: dict[str, DType], label: str, value: TensorLike, *, by_hint: bool = False
) -> Tensor:
    """Return an input that shares the dtype of another one, if there is one; TypeError if it has its own."""
    first, dtype = next(iter(shared.items()), ("", None))
    tensor = convert(value, None if by_hint or is_symbolic(value) else dtype, label, dtype)
    own = tensor.dtype.base_dtype
    if dtype not in (None, own):
        raise TypeError(
            f"Input '{label}' of '{type}' Op "
            f"has type {own.name} that does not match type {dtype.name} of argument '{first}'."
        )
    return tensor


def alike(type: str, label: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """Return tensors of one dtype; TypeError if they have several."""
    names = [t.dtype.base_dtype.name for t in tensors]
    refuse(
        len(set(names)) > 1,
        f"Tensors in list passed to '{label}' of '{type}' Op have types [{', '.join(names)}] that don't all match.",
        TypeError,
    )
    return tensors


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Return a tensor in another dtype; one that has it is returned as it is."""
    target = as_dtype(dtype)
    if is_symbolic(x) and convert(x).dtype.base_dtype == target:
        return convert(x)
    with operation_scope(common_graph(x), name, "Cast") as scope:
        tensor = convert(x, name="x")
        return tensor if tensor.dtype.base_dtype == target else make("Cast", [tensor], scope, DstT=target)
