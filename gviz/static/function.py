"""``tf.function``: a Python function traced to a graph, once for each kind of arguments."""

from __future__ import annotations

import functools
from itertools import repeat
from typing import TYPE_CHECKING, Any

from gviz.static.arrays import placeholder
from gviz.static.convert import convert
from gviz.static.dtypes import as_dtype, as_value, is_array
from gviz.static.graph import Graph, Tensor
from gviz.static.session import Session
from gviz.static.structures import leaves, refilled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["function"]


class Traced:
    """A function that is traced when it meets a kind of arguments for the first time, and runs as a graph from then on.

    Arrays and tensors are arguments of the graph, by dtype and shape; all else (numbers, text) is part of the kind, as in
    TensorFlow. Called with tensors of a graph, its operations are added to that graph; called with arrays, it is run at once.
    """

    def __init__(self, python_function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.traces: dict[Any, tuple[Session, list[Tensor], Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = [list(args), kwargs]
        if any(isinstance(v, Tensor) for v in leaves(given)):
            return self.python_function(*args, **kwargs)
        session, inputs, outputs = self.trace(given)
        return session.run(outputs, dict(zip(inputs, filter(is_array, leaves(given)), strict=True)))

    def trace(self, given: Any) -> tuple[Session, list[Tensor], Any]:
        """The graph for arguments of this kind: its session, its placeholders and its results."""
        key = (str(refilled(given, repeat(0))), *map(kind, leaves(given)))
        if key not in self.traces:
            graph = Graph()
            inputs: list[Tensor] = []

            def symbolic(value: Any) -> Any:
                if not is_array(value):
                    return value
                inputs.append(placeholder(as_dtype(value.dtype), value.shape))
                return inputs[-1]

            with graph.as_default():
                args, kwargs = refilled(given, map(symbolic, leaves(given)))
                found = self.python_function(*args, **kwargs)
                outputs = refilled(found, (v if v is None else convert(v) for v in leaves(found)))
            self.traces[key] = (Session(graph=graph), inputs, outputs)
        return self.traces[key]

    def experimental_get_tracing_count(self) -> int:
        """How many graphs there are."""
        return len(self.traces)


def kind(value: Any) -> Any:
    """What a trace depends on: dtype and shape of an array, anything else itself."""
    if is_array(value):
        return as_value(value, None).dtype.name, value.shape
    return type(value).__name__, value


def function(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Trace a Python function to a graph, once per signature; also as a decorator with options (which are accepted)."""
    return Traced(func) if func is not None else Traced
