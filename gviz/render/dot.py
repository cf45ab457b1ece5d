"""Graphviz's DOT language, in TorchViz's look: the same boxes, colours and arrows, and more text in the boxes.

The text is the same for equal graphs, needs no Graphviz, and is made in one pass over the nodes and one over the edges.
Source: the DOT grammar, https://graphviz.org/doc/info/lang.html, and escString, https://graphviz.org/docs/attr-types/escString/.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gviz.render.labels import LONGEST_LINE, texts
from gviz.render.marks import DOT_MARK
from gviz.text import shorten, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gviz.graph import Graph
    from gviz.render.options import RenderOptions

__all__ = ["COLOURS", "NODE_ATTRIBUTES", "edge_lines", "picture_size", "quote", "render"]

SUFFIXES = ("dot", "gv")
DESCRIPTION = "Graphviz's language, in TorchViz's look; dot and other programs draw it"

NODE_ATTRIBUTES = {
    "style": "filled",
    "shape": "box",
    "align": "left",
    "fontsize": "10",
    "ranksep": "0.1",
    "height": "0.2",
    "fontname": "monospace",
}
"""What all boxes have in common, as TorchViz sets it (two of them, align and ranksep, do nothing on a node)."""

COLOURS = {
    "leaf": "lightblue",
    "output": "darkolivegreen1",
    "intermediate": "darkolivegreen3",
    "saved": "orange",
    "placeholder": "lightblue",
    "variable": "khaki",
}
"""Fill colours by kind; operations have Graphviz's own lightgrey."""

_GHOST = ' style="filled,dashed" fillcolor=white color=grey50 fontcolor=grey50'
_STYLES = {
    "operation": "",
    "accumulate": "",
    "constant": _GHOST,
    "frozen": _GHOST,
    **{kind: f" fillcolor={colour}" for kind, colour in COLOURS.items()},
}
_CLUSTER = "labeljust=l style=rounded color=grey60 fontsize=10 fontname=monospace"
_EDGE_STYLES = {"data": "", "view": " [style=dotted]", "saved": " [dir=none]", "control": " [style=dashed color=grey50]"}

_LONGEST = 4_000
"""Characters of a piece; Graphviz reads no more than 16,384 bytes at a time."""

_WORD = re.compile(r"[A-Za-z]+|[0-9]+(\.[0-9]+)?")
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
    if len(text) > _LONGEST:
        return " + ".join(quote(text[start : start + _LONGEST]) for start in range(0, len(text), _LONGEST))
    text = text if text.replace("\n", "").isprintable() else visible(text)
    return f'"{text.translate(_ESCAPES)}"'


def picture_size(statements: int) -> str:
    """Return TorchViz's size of a picture, in inches: 12, and more where there are more than 80 boxes and arrows.

    >>> picture_size(16), picture_size(400)
    ('12,12', '60,60')
    """
    inches = f"{max(12, statements * 0.15):g}"
    return f"{inches},{inches}"


def is_binary(_suffix: str) -> bool:
    """Return False: DOT is text."""
    return False


def render(graph: Graph, options: RenderOptions, extra: dict[str, str] | None = None) -> str:
    """Return the graph as DOT.

    Args:
        graph: any graph.
        options: ``show``, ``rankdir`` and ``max_chars`` are read.
        extra: further attributes of the graph, for the layout's sake.

    Returns:
        Text that begins with ``digraph`` and ends with a newline.
    """
    ids = {node.id: _identifier(node.id) for node in graph.nodes}
    boxes = _boxes(graph, options)
    nodes = _clusters(graph, options, ids, boxes) if graph.kind == "static" else map("    {} {}".format, ids.values(), boxes)
    parts = [*_head(graph, options, extra or {}), *nodes, *_edges(graph, ids), "}"]
    return "\n".join(parts) + "\n"


def _identifier(text: str) -> str:
    """Return a node's id, bare if the grammar allows it."""
    return text if text.isidentifier() and text.isascii() and text.lower() not in _KEYWORDS else quote(text)


def _head(graph: Graph, options: RenderOptions, extra: dict[str, str]) -> Iterator[str]:
    name = quote(shorten(graph.title.replace("\n", " "), LONGEST_LINE, middle=True)) + " " if graph.title else ""
    yield f"digraph {name}{{"
    yield f"    // {DOT_MARK}"
    attributes = {"size": picture_size(len(graph.nodes) + len(graph.edges))}
    if options.rankdir != "TB":
        attributes["rankdir"] = options.rankdir
    yield f"    graph [{_attributes({**attributes, **extra})}]"
    yield f"    node [{_attributes(NODE_ATTRIBUTES)}]"
    if any(edge.label and edge.kind == "data" for edge in graph.edges):
        yield "    edge [fontsize=10 fontname=monospace]"


def _attributes(attributes: dict[str, str]) -> str:
    """Return attributes as they stand between brackets; words and numbers are bare."""
    return " ".join(f"{key}={value if _WORD.fullmatch(value) else quote(value)}" for key, value in attributes.items())


def _boxes(graph: Graph, options: RenderOptions) -> list[str]:
    """Return the attributes of each box; equal ones are written once."""
    pairs = [(node.kind, text) for node, text in zip(graph.nodes, texts(graph.nodes, options), strict=True)]
    written = {(kind, text): f"[label={quote(text)}{_STYLES[kind]}]" for kind, text in set(pairs)}
    return [written[pair] for pair in pairs]


def _clusters(graph: Graph, options: RenderOptions, ids: dict[str, str], boxes: list[str]) -> Iterator[str]:
    """Yield the nodes of a static graph, each name scope a cluster of its own within the one around it."""
    inside: dict[str, list[str]] = {"": []}
    scopes: dict[str, list[str]] = {"": []}
    for node in graph.nodes:
        path = ""
        for part in node.scope.split("/") if node.scope else ():
            outer, path = path, f"{path}/{part}" if path else part
            if path not in scopes:
                scopes[outer].append(path)
                scopes[path], inside[path] = [], []
    for node, box in zip(graph.nodes, boxes, strict=True):  # what has the name of a scope belongs into it, with its helpers
        inside[node.name if node.name in scopes else node.scope].append(f"{ids[node.id]} {box}")
    cluster = _CLUSTER + " labelloc=b" * (options.rankdir == "BT")  # which turns the picture over: at the top all the same
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
            yield f"{indent}label={quote(path.rpartition('/')[2])} {cluster}"
            waiting.append((path, True))
        yield from (indent + statement for statement in inside[path])
        waiting.extend((scope, False) for scope in reversed(scopes[path]))


def edge_lines(graph: Graph) -> list[str]:
    """Return the statements for the graph's arrows alone."""
    return list(_edges(graph, {node.id: _identifier(node.id) for node in graph.nodes}))


def _edges(graph: Graph, ids: dict[str, str]) -> Iterator[str]:
    for edge in graph.edges:
        start, end = ids[edge.source], ids[edge.target]
        if edge.kind == "saved":  # TorchViz's way round, which puts what is saved below the operation
            start, end = end, start
        label = edge.kind == "data" and edge.label
        style = f" [label={quote(shorten(label, LONGEST_LINE, middle=True))}]" if label else _EDGE_STYLES[edge.kind]
        yield f"    {start} -> {end}{style}"
