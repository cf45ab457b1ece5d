"""Saved graphs: the JSON that gviz wrote, read back without running anything."""

from __future__ import annotations

import json
import re

from gviz.errors import SourceError
from gviz.files import parse_json
from gviz.graph import Edge, Graph
from gviz.passes.expressions import inputs_first

__all__ = ["load"]

HALF = re.compile("[\ud800-\udfff]")
"""Half of a pair: JSON can write one, and no file, stream or picture can hold it."""


def load(text: str, file: str) -> Graph:
    """Return the graph that the JSON text holds: what ``-o graph.json`` or ``inspect --json`` wrote.

    Args:
        text: JSON.
        file: its name, for messages.

    Raises:
        FileError: it is not JSON.
        SourceError: it is not a graph.
    """
    data = parse_json(text, file)
    if isinstance(data, dict) and "nbformat" in data:
        hint = "give it the suffix .ipynb, and gviz runs its code"
        raise SourceError(f"{file} is a Jupyter notebook, not a graph of gviz", hint=hint)
    if isinstance(data, dict) and "format" not in data and isinstance(data.get("graph"), dict):
        data = data["graph"]  # `inspect --json` wraps the graph
    try:
        if re.search(r"\\u[dD][89a-fA-F]", text):
            codes = HALF.sub(lambda half: f"\\\\u{ord(half[0]):x}", json.dumps(data, ensure_ascii=False))
            data = json.loads(codes)
        graph = Graph.from_dict(data)
    except ValueError as error:
        hint = "`gviz render SOURCE -o graph.json` writes one; files of values go to --values and --feeds"
        raise SourceError(f"{file}: {error}", hint=hint) from None
    except RecursionError:
        raise SourceError(f"{file}: the JSON is nested too deeply for a graph of gviz") from None
    if graph.kind != "static" and _has_circle(graph):
        hint = "no operation is computed from its own result: gviz never saves such a graph"
        raise SourceError(f"{file}: the arrows of this graph go round in a circle", hint=hint)
    return graph


def _has_circle(graph: Graph) -> bool:
    """Return whether data comes back to where it was."""
    inputs: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        if edge.kind == "data":
            inputs[edge.target].append(edge)
    return sum(1 for _ in inputs_first(graph, inputs)) < len(graph.nodes)
