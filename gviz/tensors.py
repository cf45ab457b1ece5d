"""The graph of tensors that a program has in its hands: ``gviz.graph(loss)``."""

from __future__ import annotations

import sys
from typing import Any

from gviz.flow import flow_of
from gviz.graphs import Graph
from gviz.walk import by_name, is_tensor, walk


def graph(tensors: Any, params: Any = None, *, saved: bool = False, flow: bool = False) -> Graph:
    """Return the graph of tensors: ``gviz.graph(loss).save("loss.svg")``.

    >>> from gviz import engine as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> [(node.kind, node.name) for node in graph(x * x, {"x": x}).nodes]
    [('output', 'output'), ('operation', 'output'), ('accumulate', None), ('leaf', 'x')]

    Args:
        tensors: the root, of gviz's engine or of the real torch: a tensor; for several roots a list of tensors, or a
            dict of their names. A tensor of ``gviz.static``, or its graph, gives the whole static graph.
        params: tensors by name, as in ``dict(model.named_parameters())``: names for boxes, and rows of the table.
        saved: True to draw the tensors that operations save for backward, as nodes of their own.
        flow: True for local derivatives, and for the gradients on their way if backward were to start here with ones:
            what the views ``dataflow``, ``teaching`` and ``micrograd`` show. Not after a backward that has freed the
            graph.

    Raises:
        TypeError: an argument is not a tensor.
    """
    first = tensors[0] if isinstance(tensors, list | tuple) and tensors else tensors
    owner = getattr(first, "graph", first)
    if (static := sys.modules.get("gviz.static")) is not None and isinstance(owner, static.Graph):
        from gviz.static.out import picture  # TensorFlow's face is loaded if the program has used it

        return picture(owner, title=getattr(first, "name", "").partition(":")[0])
    names = by_name(params)
    if isinstance(tensors, dict):
        roots: dict[str, Any] = tensors
    else:
        listed = tensors if isinstance(tensors, list | tuple) else [tensors]
        known = {id(tensor): name for name, tensor in reversed(names.items())}
        fresh = ("output" if len(listed) == 1 else f"output{number}" for number in range(1, len(listed) + 1))
        roots = {known.get(id(root), name): root for root, name in zip(listed, fresh, strict=True)}
    for name, tensor in (roots | names).items():
        if not is_tensor(tensor):
            raise TypeError(f"gviz.graph() takes tensors, but {name!r} is of type {type(tensor).__name__}")
    return walk(roots, names, saved=saved, flow=flow_of(tensors) if flow else None)
