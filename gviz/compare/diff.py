"""The differences of two graphs, as people hold them: printed, shown in a notebook, and drawn as both graphs in one."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import replace
from functools import cached_property

from gviz.compare.differences import ADDED, REMOVED, SIGNS, Difference, GraphDifferences, title_of_node
from gviz.graphs import Graph, Node
from gviz.passes.boxes import Boxes
from gviz.pictures.labels import short
from gviz.pictures.picture import LARGE
from gviz.reaching import reached
from gviz.render import RenderOptions, render, save

UNCHANGED = "unchanged"

GONE = "-"
"""How the ids of nodes begin that the first graph has alone."""

LONGEST_FIELD = 60
"""Characters of a line in a box."""


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


def union(differences: GraphDifferences) -> Graph:
    """Return a graph of all nodes of both graphs, those that both have once.

    A node that differs is of the kind ``added``, ``removed`` or ``changed``; an edge that one graph has alone likewise.
    All others are ``unchanged``; those that are far from what differs are one box for each part of the graph.
    """
    changes = {GONE * (change.sign == REMOVED) + change.node.id: change for change in differences.changes}
    second = [*differences.second.nodes]
    nodes = [marked_box(differences.second, node, changes.get(node.id)) for node in second]
    gone = [change for change in differences.changes if change.sign == REMOVED]
    nodes += [marked_box(differences.first, change.node, change)._replace(id=GONE + change.node.id) for change in gone]
    new = {edge for sign, edge in differences.edges if sign == ADDED}
    edges = [edge._replace(kind="added" if edge in new else "data") for edge in differences.second.edges]
    ids = {node.id: differences.pairs.get(node.id, GONE + node.id) for node in differences.first.nodes}
    lost = [edge for sign, edge in differences.edges if sign == REMOVED]
    edges += [edge._replace(source=ids[edge.source], target=ids[edge.target], kind="removed") for edge in lost]
    title = " → ".join(dict.fromkeys(filter(None, (differences.first.title, differences.second.title))))
    return folded_far(Graph((*nodes,), (*edges,), title=title))


def marked_box(graph: Graph, node: Node, change: Difference | None) -> Node:
    """Return a node as it is drawn: its title with its sign, its module, and what differs."""
    if change is None:
        return Node(node.id, UNCHANGED, title_of_node(graph, node) if node.kind != "accumulate" else node.label)
    title = node.label if node.kind == "accumulate" else title_of_node(graph, node)
    how = ", as names of parameters tell" * graph.guesses_modules
    lines = [f"{node.scope}{how}"] * bool(node.scope and node.kind == "operation")
    lines += [short(str(field), LONGEST_FIELD) for field in change.fields]
    return Node(node.id, SIGNS[change.sign], f"{change.sign} {title}", expression="\n".join(lines))


def folded_far(graph: Graph) -> Graph:
    """Return the graph with unchanged nodes that are beside unchanged ones alone as one box for each connected part."""
    differing = {node.id for node in graph.nodes if node.kind != UNCHANGED}
    differing |= {end for edge in graph.edges if edge.kind != "data" for end in edge[:2]}
    near = differing | {end for edge in graph.edges if not differing.isdisjoint(edge[:2]) for end in edge[:2]}
    links = defaultdict[str, list[str]](list)
    for edge in graph.edges:
        if near.isdisjoint(edge[:2]):
            links[edge.source].append(edge.target)
            links[edge.target].append(edge.source)
    part_of = dict.fromkeys(near, -1)
    for number, node in enumerate(graph.nodes):
        if node.id not in part_of:
            part_of |= dict.fromkeys(reached([node.id], links.__getitem__), number)
    boxes = Boxes(graph, {node.id: part_of[node.id] for node in graph.nodes})
    nodes = [
        inside[0] if len(inside) == 1 else Node(inside[0].id, UNCHANGED, f"… {len(inside)} unchanged")
        for inside in boxes.members.values()
    ]
    return graph.changed(nodes=(*nodes,), edges=boxes.edges)
