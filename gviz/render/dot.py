"""Graphviz's DOT language, in TorchViz's look: the same boxes, colours and arrows, and more text in the boxes.

The text is the same for equal graphs, needs no Graphviz, and is made in one pass over the nodes and one over the edges.
Source: the DOT grammar, https://graphviz.org/doc/info/lang.html, and escString, https://graphviz.org/docs/attr-types/escString/.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gviz.render.labels import texts
from gviz.render.look import ARROWS, BOX, BOXES, CLUSTER, LABEL, LONGEST_LINE, LONGEST_PIECE, picture_size
from gviz.text import shorten, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gviz.graph import Graph
    from gviz.render.options import RenderOptions

__all__ = ["edge_lines", "quote", "render"]

SUFFIXES = ("dot", "gv")
TEXTS = SUFFIXES
DESCRIPTION = "Graphviz's language, in TorchViz's look; dot and other programs draw it"

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*|[0-9]+(\.[0-9]+)?")
_KEYWORDS = frozenset(("node", "edge", "graph", "digraph", "subgraph", "strict"))
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "&": "&amp;", "\n": "\\n"})


def quote(text: str) -> str:
    r"""Return any text as a DOT string that shows exactly that text.

    Quotes would end the string, ``\N`` or ``\l`` would stand for something else, ``&lt;`` would be read as HTML does;
    what no picture can hold (control characters, lone surrogates) is written as Python would escape it. A very long text
    is written in pieces, which Graphviz joins.

    >>> print(quote('say "hi"'), quote("<b>"), quote("a&b"))
    "say \"hi\"" "<b>" "a&amp;b"
    >>> print(quote("\\N"), quote("C:\\"), quote("&lt;"))
    "\\N" "C:\\" "&amp;lt;"
    >>> print(quote("two\nlines"), quote("nul\x00"), quote("\udc80"), quote("損失 😀"))
    "two\nlines" "nul\\x00" "\\udc80" "損失 😀"
    >>> print(quote(""))
    ""
    """
    if len(text) > LONGEST_PIECE:
        return " + ".join(quote(text[start : start + LONGEST_PIECE]) for start in range(0, len(text), LONGEST_PIECE))
    text = text if text.replace("\n", "").isprintable() else visible(text)
    return f'"{text.translate(_ESCAPES)}"'


def render(graph: Graph, options: RenderOptions, extra: dict[str, str] | None = None) -> str:
    """Return the graph as DOT.

    Args:
        graph: any graph.
        options: ``show``, ``rankdir`` and ``max_chars`` are read.
        extra: further attributes of the graph, for the layout's sake.

    Returns:
        Text that begins with ``digraph`` and ends with a newline.
    """
    statements = [f"{_identifier(node.id)} {box}" for node, box in zip(graph.nodes, _boxes(graph, options), strict=True)]
    nodes = _clusters(graph, statements, options.rankdir) if graph.kind == "static" else [f"    {one}" for one in statements]
    parts = [*_head(graph, options, extra or {}), *nodes, *edge_lines(graph), "}"]
    return "\n".join(parts) + "\n"


def _identifier(text: str) -> str:
    """Return a node's id, bare if the grammar allows it."""
    return text if text.isidentifier() and text.isascii() and text.lower() not in _KEYWORDS else quote(text)


def _head(graph: Graph, options: RenderOptions, extra: dict[str, str]) -> Iterator[str]:
    name = quote(shorten(graph.title.replace("\n", " "), LONGEST_LINE, middle=True)) + " " if graph.title else ""
    yield f"digraph {name}{{"
    yield "    // made by gviz"  # the mark of gviz's own files: see marks.py
    attributes = {"size": picture_size(len(graph.nodes) + len(graph.edges))}
    if options.rankdir != "TB":
        attributes["rankdir"] = options.rankdir
    yield f"    graph [{_attributes({**attributes, **extra})}]"
    yield f"    node [{_attributes(BOX)}]"
    if any(edge.label and edge.kind == "data" for edge in graph.edges):
        yield f"    edge [{_attributes(LABEL)}]"


def _attributes(attributes: dict[str, str], label: str | None = None) -> str:
    """Return attributes as they stand between brackets; words and numbers are bare, a label never is."""
    written = [] if label is None else [f"label={quote(label)}"]
    written += [f"{key}={value if _WORD.fullmatch(value) else quote(value)}" for key, value in attributes.items()]
    return " ".join(written)


def _boxes(graph: Graph, options: RenderOptions) -> list[str]:
    """Return the attributes of each box; equal ones are written once."""
    written: dict[tuple[str, str], str] = {}
    boxes = []
    for node, text in zip(graph.nodes, texts(graph.nodes, options), strict=True):
        box = written.get((node.kind, text))
        if box is None:
            box = written[node.kind, text] = f"[{_attributes(BOXES[node.kind], text)}]"
        boxes.append(box)
    return boxes


def _clusters(graph: Graph, statements: list[str], rankdir: str) -> Iterator[str]:
    """Yield the statements of a static graph's nodes, each name scope a cluster of its own within the one around it."""
    inside: dict[str, list[str]] = {"": []}
    scopes: dict[str, list[str]] = {"": []}
    for node in graph.nodes:
        path = ""
        for part in node.scope.split("/") if node.scope else ():
            outer, path = path, f"{path}/{part}" if path else part
            if path not in scopes:
                scopes[outer].append(path)
                scopes[path], inside[path] = [], []
    for node, statement in zip(graph.nodes, statements, strict=True):  # a node with a scope's name is in it, as its helpers are
        inside[node.name if node.name in scopes else node.scope].append(statement)
    look = {**CLUSTER, "labelloc": "b"} if rankdir == "BT" else CLUSTER  # BT turns the picture over: at the top all the same
    waiting: list[tuple[str, bool]] = [("", False)]
    while waiting:  # a stack: scopes nest as deep as they like
        path, is_done = waiting.pop()
        depth = path.count("/") + 1 if path else 0
        indent = "    " * (depth + 1)
        if is_done:
            yield f"{indent[4:]}}}"
            continue
        if path:
            yield f"{indent[4:]}subgraph {quote('cluster_' + path)} {{"
            yield indent + _attributes(look, path.rpartition("/")[2])
            waiting.append((path, True))
        yield from (indent + statement for statement in inside[path])
        waiting.extend((scope, False) for scope in reversed(scopes[path]))


def edge_lines(graph: Graph) -> Iterator[str]:
    """Yield the statement of each arrow."""
    ids = {node.id: _identifier(node.id) for node in graph.nodes}
    looks = {kind: f" [{_attributes(look)}]" if look else "" for kind, look in ARROWS.items()}
    for edge in graph.edges:
        start, end, kind = ids[edge.source], ids[edge.target], edge.kind
        if kind == "saved":  # TorchViz's way round, which puts what is saved below the operation
            start, end = end, start
        if kind == "data" and edge.label:
            yield f"    {start} -> {end} [{_attributes(ARROWS[kind], shorten(edge.label, LONGEST_LINE, middle=True))}]"
        else:
            yield f"    {start} -> {end}{looks[kind]}"
