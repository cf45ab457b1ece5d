"""Saved graphs: the JSON that gviz wrote, read back without running anything."""

from __future__ import annotations

from gviz.errors import SourceError
from gviz.files import parse_json
from gviz.graph import Graph

__all__ = ["load"]


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
        return Graph.from_dict(data)
    except ValueError as error:
        hint = "`gviz render SOURCE -o graph.json` writes one; files of values go to --values and --feeds"
        raise SourceError(f"{file}: {error}", hint=hint) from None
    except RecursionError:
        raise SourceError(f"{file}: the JSON is nested too deeply for a graph of gviz") from None
