"""Static graphs for TensorBoard: ``tf.summary.FileWriter`` and the bytes that it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gviz import events
from gviz.static.dtypes import DType
from gviz.static.graph import Graph
from gviz.writer import write_events

if TYPE_CHECKING:
    import os

    from gviz.static.graph import Operation

__all__ = ["FileWriter", "graph_def"]

LARGEST = 1024
"""Bytes of a constant's value that are written; TensorBoard shows no longer ones."""


def graph_def(graph: Graph) -> bytes:
    """All operations of a graph, in the order of making, as a GraphDef in wire form."""
    return events.graph_def(
        events.Op(
            op.name,
            op.type,
            (*(t.name.removesuffix(":0") for t in op.inputs), *(f"^{c.name}" for c in op.control_inputs)),
            attrs(op),
            tuple(t.shape.dims for t in op.outputs),
        )
        for op in graph.get_operations()
    )


def attrs(op: Operation) -> dict[str, bytes]:
    """The fixed parameters that can be told, and ``T``, the dtype that the operation works on."""
    known = {name: attr(name, value) for name, value in op.attrs.items()}
    taken = [t.dtype.base_dtype for t in op.inputs]
    if taken:
        known.setdefault("T", attr("T", next((t.dtype for t in op.outputs if t.dtype.base_dtype in taken), taken[0])))
    return {name: value for name, value in known.items() if value is not None}


def attr(name: str, value: Any) -> bytes | None:
    """One parameter in wire form; None for what only gviz has a use for, or nobody could read."""
    if isinstance(value, DType):
        return events.dtype_attr(value.base_dtype.name)
    if name == "shape":
        return events.shape_attr(value)
    if isinstance(value, np.ndarray):
        dtype = "string" if value.dtype == object else value.dtype.name
        return None if value.nbytes > LARGEST else events.tensor_attr(dtype, value.shape, value.ravel().tolist())
    return events.plain_attr(value.item() if isinstance(value, np.generic) else value)


class FileWriter:
    """Writes a graph where TensorBoard finds it: ``tensorboard --logdir LOGDIR`` shows it.

    The graph is written as it is when it is given; the file that gviz wrote there before is replaced. The folder is made.
    """

    def __init__(self, logdir: str | os.PathLike[str], graph: Graph | None = None, **_ignored: Any) -> None:
        self._folder = logdir
        if graph is not None:
            self.add_graph(graph)

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder."""
        return self._folder

    def add_graph(self, graph: Graph, _global_step: Any = None) -> None:
        """Write a graph; FileError where that cannot be done, TypeError for what is no graph."""
        if not isinstance(graph, Graph):
            raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        write_events(self._folder, events.event_file(graph_def(graph)))

    def flush(self) -> None:
        """Nothing is left to be written."""

    close = reopen = flush

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
