"""The golden graph of a program: what its graph is made of, in a file beside it, without numbers and places."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from gviz.compare.differences import REMOVED, Difference, GraphDifferences
from gviz.graphs import NO_GRADIENT, Graph, Node, Place
from gviz.graphs.numbers import Numbers

ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
"""What stands for a character in a message to GitHub."""


def golden_file(source: str) -> str:
    """Return the file of the golden graph of a program.

    >>> golden_file("train.py"), golden_file("nets/gpt.ipynb"), golden_file("nets/gpt.py:GPT")
    ('train.graph.json', 'nets/gpt.graph.json', 'nets/gpt.GPT.graph.json')
    """
    file, _, model = source.partition(":")
    stem, suffix = os.path.splitext(file)
    return ".".join(filter(None, [stem if suffix in (".py", ".pyw", ".ipynb") else file, model, "graph.json"]))


def skeleton(graph: Graph) -> Graph:
    """Return what a graph is made of: no numbers, gradients, places or times, which change from run to run."""
    facts = {name: getattr(graph, name) for name in ("edges", "roots", "title", "kind", "modules", "is_detailed")}
    return Graph(tuple(map(bare, graph.nodes)), **facts)


def bare(node: Node) -> Node:
    """Return a node of a skeleton."""
    numbers = node.numbers and Numbers(node.numbers.shape, node.numbers.dtype)
    recorded = node.recorded._replace(seconds=None, kept=None, attrs=(*node.recorded.options.items(),), tensors=())
    recorded = recorded._replace(results=(), given_numbers=(), began=None)
    own = node._replace(numbers=numbers, grad=NO_GRADIENT, state="", expression="", place=None, recorded=recorded)
    return own._replace(later=None, name=None if node.is_letter else node.name, is_letter=False)


def places_of(differences: GraphDifferences) -> dict[Place | None, list[Difference]]:
    """Return the differences by the line of the program as it is now; None for what is gone, and has no line."""
    rows = {row.name: row.place for row in differences.second.tensors}
    by_place: dict[Place | None, list[Difference]] = {}
    for change in differences.changes:
        place = None if change.sign == REMOVED else change.node.place or rows.get(change.node.name or "")
        if change.is_counted:
            by_place.setdefault(place and place.without_run, []).append(change)
    return by_place


def annotation(program: str, place: Place | None, lines: Iterable[str]) -> str:
    r"""Return an error that GitHub shows beside a line of a pull request; without a place beside the first line.

    Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions.

    >>> annotation("net.py", Place(3), ["+ ExpBackward0", "100%"])
    '::error file=net.py,line=3,title=gviz check::+ ExpBackward0%0A100%25'
    """
    at = place or Place(1)
    file = encoded(at.file or program.partition(":")[0], {**ESCAPES, ",": "%2C", ":": "%3A"})
    return f"::error file={file},line={at.line},title=gviz check::{encoded(chr(10).join(lines), ESCAPES)}"


def encoded(text: str, signs: Mapping[str, str]) -> str:
    """Return a text with other signs for some."""
    return "".join(signs.get(sign, sign) for sign in text)
