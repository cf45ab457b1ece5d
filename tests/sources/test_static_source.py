"""Which static graph a script has left, and which of its names are of that graph."""

from __future__ import annotations

from typing import Any

import pytest

import gviz.static as tf
from gviz.errors import SourceError
from gviz.sources.static import source_in
from gviz.static.graph import Graph
from gviz.static.session import Session


def graph_of(name: str) -> tuple[Graph, Any]:
    """Return a graph, and the tensor in it."""
    graph = Graph()
    with graph.as_default():
        return graph, tf.placeholder(tf.float32, (), name=name)


def test_of_two_graphs_the_first_with_operations_is_read_with_its_own_names_alone() -> None:
    with Graph().as_default():
        (first, x), (second, y) = graph_of("x"), graph_of("y")
        space = {"empty": Graph(), "first": first, "second": second, "x": x, "y": y, "_hidden": graph_of("z")[0]}
        source = source_in(space)
        assert source is not None
        assert source.graph is first
        assert [*source.names] == ["x"]
        other = source_in({**space, "session": Session(graph=second)}, "session")
        assert other is not None
        assert other.graph is second
        assert [*other.names] == ["y"]
        with pytest.raises(SourceError, match="there is no graph of that name"):
            source_in(space, "_hidden")
        assert source_in({"empty": Graph()}) is None


def test_the_default_graph_is_read_before_those_that_have_names() -> None:
    with Graph().as_default() as default:
        tf.placeholder(tf.float32, (), name="x")
        source = source_in({"named": graph_of("y")[0]})
        assert source is not None
        assert source.graph is default
