"""What people hold in their hands: a graph, or a source that was read, that draws itself and is saved as a picture."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gviz import sources
from gviz.flow import flow_of
from gviz.graphs import NOW, Graph
from gviz.graphs.numbers import ALL_ELEMENTS, FEW_ELEMENTS
from gviz.passes.modules import with_modules
from gviz.walk import FREED, TensorLike, by_name, is_tensor, walk

if TYPE_CHECKING:
    from gviz.pictures.options import (
        RenderOptions,  # most readings are never drawn, so nothing here loads the renderers
    )

MOST_IN_NOTEBOOK = 300
"""Boxes of a picture that a notebook shows by itself; the layout of a larger one may take minutes."""

Values: TypeAlias = Literal["summary", "full"]

MOST: dict[Values | None, int | None] = {"summary": FEW_ELEMENTS, "full": sys.maxsize, None: None}
"""How many elements of a tensor are listed."""


class Drawing(Graph):
    """A graph that draws itself: ``gviz.graph(loss).save("loss.svg")``. A notebook shows it as its picture."""

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is a graph with the same in it, whoever holds it."""
        return isinstance(other, Graph) and all(
            getattr(self, one.name) == getattr(other, one.name) for one in fields(Graph)
        )

    __hash__ = Graph.__hash__

    def save(self, path: str | os.PathLike[str], options: RenderOptions | None = None) -> str:
        """Write the picture to a file, whole or not at all; return the path.

        Args:
            path: its suffix is the format: ``y.pdf``, ``y.svg``, ``y.json``.
            options: how to draw it.

        Raises:
            RenderError: an unknown format, or a picture that cannot be made.
            FileError: the file cannot be written.
        """
        from gviz.render import save

        return save(self, path, options)

    def _repr_svg_(self) -> str | None:
        """Return the picture as SVG, as notebooks show it.

        None for a large graph, of which they show a line of text.
        """
        from gviz.render import render

        return str(render(self, "svg")) if len(self.nodes) <= MOST_IN_NOTEBOOK else None


class Reading(sources.Reading):
    """A source that was read, and draws itself: ``gviz.read("y=x*w", x=2).save("y.svg")``."""

    graph: Drawing

    def save(self, path: str | os.PathLike[str], options: RenderOptions | None = None) -> str:
        """Write the graph to a file, as :meth:`Drawing.save` does; return the path."""
        return self.graph.save(path, options)

    def _repr_svg_(self) -> str | None:
        """Return the picture as SVG, as notebooks show it; None for a large graph."""
        return self.graph._repr_svg_()


def drawn(graph: Graph) -> Drawing:
    """Return a graph as one that draws itself."""
    return Drawing(**{field.name: getattr(graph, field.name) for field in fields(Graph)})


@wraps(sources.read)
def read(*args: Any, **options: Any) -> Reading:
    """Read a source, as :func:`gviz.sources.read` says, for somebody who wants to draw it."""
    reading = sources.read(*args, **options)
    facts = {field.name: getattr(reading, field.name) for field in fields(sources.Reading)}
    return Reading(**{**facts, "graph": drawn(reading.graph)})


def graph(
    tensors: Any,
    params: Any = None,
    *,
    saved: bool = False,
    flow: bool = False,
    values: Values | None = "summary",
    model: Any = None,
) -> Drawing:
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
        values: ``summary`` for the elements of small tensors, and norm, extremes, mean, zeros, nan and inf of large
            ones; ``full`` for all elements; None to read no numbers.
        model: the ``nn.Module`` that has computed them: its parameters get their names, and operations the modules that
            they belong to, as far as the names of the parameters tell.

    Raises:
        TypeError: an argument is not a tensor.
        ValueError: ``values`` is something else.
    """
    if values not in MOST:
        raise ValueError(f"values is 'summary', 'full' or None, not {values!r}")
    first = tensors[0] if isinstance(tensors, list | tuple) and tensors else tensors
    owner = getattr(first, "graph", first)
    if (static := sys.modules.get("gviz.static")) is not None and isinstance(owner, static.Graph):
        from gviz.static.out import static_picture  # TensorFlow's face is loaded if the program has used it

        return drawn(static_picture(owner, title=getattr(first, "name", "").partition(":")[0]))
    names = {**(dict(model.named_parameters()) if model is not None else {}), **by_name(params)}
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
    most = ALL_ELEMENTS if flow and values == "summary" else MOST[values]
    graph = walk(roots, names, saved=saved, most=most, flow=flow_of(tensors) if flow else None)
    graph = as_it_is_now(graph, {**names, **roots})
    if model is not None:
        graph = with_modules(graph, {path: type(module).__name__ for path, module in model.named_modules()})
    return drawn(graph)


def as_it_is_now(graph: Graph, tensors: Mapping[str, TensorLike]) -> Graph:
    """Return a graph that says which of its numbers may not be those of its backward, which ran before anybody watched.

    PyTorch counts how often a tensor was written: an optimizer's step is a write.
    """
    if not any(node.state == FREED for node in graph.nodes):
        return graph
    written = {name for name, tensor in tensors.items() if getattr(tensor, "_version", 0)}
    nodes = (node._replace(state=NOW) if node.kind == "leaf" and node.name in written else node for node in graph.nodes)
    return replace(graph, nodes=tuple(nodes))


def notebook_picture(tensor: TensorLike) -> str | None:
    """Return the graph of a tensor as SVG, as notebooks show it.

    None, for its text, if it is a leaf or the graph is large.
    """
    return None if tensor.is_leaf else graph(tensor)._repr_svg_()
