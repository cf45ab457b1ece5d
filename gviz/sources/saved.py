"""Saved graphs: the JSON that gviz wrote, read back without running anything."""

from __future__ import annotations

import json
import re

from gviz.errors import SourceError
from gviz.files import parse_json
from gviz.graphs import Graph
from gviz.text import excerpt

HALF = re.compile("[\ud800-\udfff]")
"""Half of a pair: JSON can write one, and no file, stream or picture can hold it."""

MOST_INPUTS = 100_000
"""Of one operation; each has a word in what is said of it."""


def load_graph(text: str, file: str) -> Graph:
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
        raise SourceError(
            f"{file} is a Jupyter notebook, not a graph of gviz",
            hint="give it the suffix .ipynb, and gviz runs its code",
        )
    if isinstance(data, dict) and "format" not in data and isinstance(data.get("graph"), dict):
        data = data["graph"]  # `inspect --json` wraps the graph
    try:
        if re.search(r"\\u[dD][89a-fA-F]", text):
            data = json.loads(HALF.sub(lambda half: f"\\\\u{ord(half[0]):x}", json.dumps(data, ensure_ascii=False)))
        graph = Graph.from_dict(data)
    except ValueError as error:
        raise SourceError(
            f"{file}: {error}",
            hint="`gviz render SOURCE -o graph.json` writes one; files of values go to --values and --feeds",
        ) from None
    except RecursionError:
        raise SourceError(f"{file}: the JSON is nested too deeply for a graph of gviz") from None
    if graph.kind != "static" and (what := _impossible(graph)):
        raise SourceError(f"{file}: {what}", hint="the file was not written by gviz, or was changed since")
    return graph


def _impossible(graph: Graph) -> str:
    """Return what no recorded graph has: an input beyond the last one, data that comes back to where it was.

    "" if nothing.
    """
    slots = {node.id: node.recorded.slots for node in graph.nodes if node.kind == "operation"}
    if max(slots.values(), default=0) > MOST_INPUTS:
        return f"an operation has {excerpt(str(max(slots.values())))} inputs; {MOST_INPUTS:,} are drawn"
    for edge in graph.edges:
        if edge.kind == "data" and edge.slot >= slots.get(edge.target, edge.slot + 1):
            return f"edge {excerpt(edge.source)} -> {excerpt(edge.target)}: there is no input {edge.slot}"
    is_round = len(graph.inputs_first(("data",))) < len(graph.nodes)
    return "the arrows of this graph go round in a circle" if is_round else ""
