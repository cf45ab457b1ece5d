"""The differences of two graphs, as people hold them: printed, drawn, shown in a notebook."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property

from gviz.compare.differences import GraphDifferences
from gviz.compare.union import union
from gviz.graphs import Graph
from gviz.pictures.picture import LARGE
from gviz.render import RenderOptions, render, save


class Diff(GraphDifferences):
    """The differences of two graphs: ``print()`` lists them, ``save`` draws them, and it is true if there are any."""

    @cached_property
    def graph(self) -> Graph:
        """Both graphs in one: what differs is marked, what is far from that folded."""
        return union(self)

    def save(self, path: str | os.PathLike[str], /, options: RenderOptions | None = None, **look: object) -> str:
        """Write the picture to a file, whole or not at all; return the path.

        Args:
            path: its suffix is the format: ``d.svg``, ``d.png``.
            options: how to draw it.
            look: fields of :class:`gviz.RenderOptions` that are to be other than there: ``rankdir="LR"``.

        Raises:
            RenderError: an unknown format, or a picture that cannot be made.
            FileError: the file cannot be written.
        """
        own_options = replace(options or RenderOptions(), **look)  # type: ignore[arg-type] # it checks them
        return save(self.graph, path, own_options)

    def __repr__(self) -> str:
        """Return the differences as text."""
        return str(self)

    def _repr_svg_(self) -> str | None:
        """Return the picture as SVG, as notebooks show it; None for a large one, of which they show the text."""
        return str(render(self.graph, "svg")) if self and len(self.graph.nodes) <= LARGE else None
