"""Graphviz's DOT language: the boxes and arrows that TorchViz draws, in a theme, or as TorchViz draws them.

The text is the same for equal graphs, needs no Graphviz, and is made in one pass over the nodes and one over the edges.
Source: the DOT grammar, https://graphviz.org/doc/info/lang.html, and escString, https://graphviz.org/docs/attr-types/escString/.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

from gviz.passes.expressions import UNKNOWN, with_expressions
from gviz.render import html
from gviz.render.labels import Span, boxes
from gviz.render.look import ARROWS, BOX, BOXES, CLUSTER, LABEL, LONGEST_LINE, LONGEST_PIECE, picture_size
from gviz.render.theme import FONT, THEMES, box_attributes, edge_attributes, error_attributes
from gviz.text import shorten, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gviz.graph import Graph
    from gviz.render.options import RenderOptions

__all__ = ["edge_lines", "is_large", "quote", "render"]

SUFFIXES = ("dot", "gv")
TEXTS = SUFFIXES
DESCRIPTION = "Graphviz's language, in TorchViz's look; dot and other programs draw it"

LARGE = 300
"""Boxes from which on a picture has TorchViz's size, no legend and one ink: nobody reads it box by box."""

LEGEND = {
    "leaf": "leaf: made by you, keeps its grad",
    "operation": "operation (its grad_fn)",
    "output": "root",
    "intermediate": "base of a view",
    "saved": "saved for backward",
    "frozen": "needs no gradient",
}
STATIC_LEGEND = {
    "placeholder": "placeholder: gets its value at each run",
    "variable": "variable: keeps its value between runs",
    "constant": "constant",
    "operation": "operation",
    "output": "root",
}
"""What the legend says of each kind of box."""

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


def render(graph: Graph, options: RenderOptions, extra: Mapping[str, str] | None = None) -> str:
    """Return the graph as DOT.

    Args:
        graph: any graph.
        options: ``show``, ``theme``, ``rankdir``, ``legend``, ``precision`` and ``max_chars`` are read.
        extra: further attributes of the graph, for the layout's sake.

    Returns:
        Text that begins with ``digraph`` and ends with a newline.
    """
    if options.view != "torchviz":
        return _view(graph, options, extra or {})
    graph = graph if not options.show or is_large(graph) else with_expressions(graph)
    ids = {node.id: _identifier(node.id) for node in graph.nodes}
    statements = [f"{name} {box}" for name, box in zip(ids.values(), _boxes(graph, options), strict=True)]
    nodes = _clusters(graph, statements, options) if graph.kind == "static" else map("    {}".format, statements)
    parts = [*_head(graph, options, extra or {}), *nodes, *_edges(graph, options), "}"]
    return "\n".join(parts) + "\n"


def _view(graph: Graph, options: RenderOptions, extra: Mapping[str, str]) -> str:
    """Return the graph as DOT in another view than TorchViz's."""
    view = import_module(f"gviz.views.{options.view}")
    shown, theme = view.prepare(graph), THEMES[options.theme]
    legend = {"label": view.legend(shown, options, theme), "labelloc": "b"} if options.legend else {}
    statements = (
        f"    {name} [{_attributes(attributes)}]" if attributes else f"    {name}"
        for name, attributes in view.statements(shown, options, theme)
    )
    return "\n".join([*_themed_head(shown, options, {**view.SPACE, **legend, **extra}), *statements, "}"]) + "\n"


def is_large(graph: Graph) -> bool:
    """Return whether a picture has too many boxes for anybody to read them all."""
    return len(graph.nodes) > LARGE


def _identifier(text: str) -> str:
    """Return a node's id, bare if the grammar allows it."""
    return text if text.isidentifier() and text.isascii() and text.lower() not in _KEYWORDS else quote(text)


def _head(graph: Graph, options: RenderOptions, extra: Mapping[str, str]) -> Iterator[str]:
    size = {"size": picture_size(len(graph.nodes) + len(graph.edges))}
    if options.show:
        own = size if is_large(graph) else {"label": _legend(graph, options)} if options.legend else {}
        own |= {"ranksep": "0.3" if options.rankdir in ("TB", "BT") else "0.4", "nodesep": "0.3"}
        yield from _themed_head(graph, options, {**own, **extra})
        return
    yield from _opening(graph)
    yield f"    graph [{_attributes({**size, **_direction(options), **extra})}]"
    yield f"    node [{_attributes(BOX)}]"
    if any(edge.label and edge.kind == "data" for edge in graph.edges):
        yield f"    edge [{_attributes(LABEL)}]"


def _opening(graph: Graph) -> Iterator[str]:
    name = quote(shorten(graph.title.replace("\n", " "), LONGEST_LINE, middle=True)) + " " if graph.title else ""
    yield f"digraph {name}{{"
    yield "    // made by gviz"  # the mark of gviz's own files: see marks.py


def _direction(options: RenderOptions) -> dict[str, str]:
    return {} if options.rankdir == "TB" else {"rankdir": options.rankdir}


def _themed_head(graph: Graph, options: RenderOptions, own: Mapping[str, str]) -> Iterator[str]:
    theme = THEMES[options.theme]
    text = {"fontname": FONT, "fontcolor": theme.ink}
    page = {"bgcolor": theme.page, **text, "fontcolor": theme.muted, "fontsize": "9", "pad": "0.15"}
    page["labelloc"] = "t" if options.rankdir == "BT" else "b"  # BT turns the picture over
    yield from _opening(graph)
    yield f"    graph [{_attributes({**page, **_direction(options), **own})}]"
    box = {"fontsize": "12", "shape": "box", "style": "filled", "margin": "0.11,0.055", "height": "0.3", "width": "0.3"}
    yield f"    node [{_attributes({**text, **box})}]"
    arrow = {"fontsize": "10", "color": theme.line, "penwidth": "1.1", "arrowsize": "0.6"}
    yield f"    edge [{_attributes({**text, **arrow})}]"


def _legend(graph: Graph, options: RenderOptions) -> html.Html:
    """Return the text below the picture: its kinds of boxes, and which way data and gradients go."""
    kinds = {node.kind for node in graph.nodes} | ({"output"} if graph.roots else set())
    is_static = graph.kind == "static"
    told = {kind: text for kind, text in (STATIC_LEGEND if is_static else LEGEND).items() if kind in kinds}
    forward, back = {"TB": "↓↑", "BT": "↑↓", "LR": "→←", "RL": "←→"}[options.rankdir]
    has_unknown = any(UNKNOWN in node.expression for node in graph.nodes)
    notes = [f"{UNKNOWN} an input that needs no grad"] if has_unknown else []
    notes.append(f"{forward} data" if is_static else f"{forward} data; gradients flow back {back}")
    return html.legend(told, [(Span(note),) for note in notes], THEMES[options.theme], options.rankdir, error=graph.error)


def _attributes(attributes: Mapping[str, str], label: str | None = None) -> str:
    """Return attributes as they stand between brackets; words, numbers and HTML-like labels are bare, a plain label never is."""
    written = [] if label is None else [f"label={label if isinstance(label, html.Html) else quote(label)}"]
    for key, value in attributes.items():
        is_bare = isinstance(value, html.Html) or _WORD.fullmatch(value)
        written.append(f"{key}={value if is_bare else quote(value)}")
    return " ".join(written)


def _boxes(graph: Graph, options: RenderOptions) -> list[str]:
    """Return the attributes of each box; those of equal ones are written once."""
    drawn, theme = boxes(graph, options), THEMES[options.theme]
    unique = list(dict.fromkeys(drawn))
    has_inks = bool(options.show) and not is_large(graph)
    texts = html.labels(unique, theme) if has_inks else [html.plain(box) for box in unique]
    looks = {kind: BOXES[kind] if not options.show else box_attributes(kind, theme) for kind in {box.kind for box in unique}}
    written = {}
    for box, text in zip(unique, texts, strict=True):
        look = looks[box.kind] | (error_attributes(theme) if box.is_error else {})
        written[box] = f"[{_attributes(look, text)}]"
    return [written[box] for box in drawn]


def _clusters(graph: Graph, statements: list[str], options: RenderOptions) -> Iterator[str]:
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
    look = {**CLUSTER, "color": THEMES[options.theme].line} if options.show else CLUSTER
    look = {**look, "labelloc": "b" if options.rankdir == "BT" else "t"}  # BT turns the picture over: at the top all the same
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


def edge_lines(graph: Graph, options: RenderOptions) -> list[str]:
    """Return the statements for the graph's arrows alone."""
    return list(_edges(graph, options))


def _edges(graph: Graph, options: RenderOptions) -> Iterator[str]:
    """Yield the statement of each arrow."""
    ids = {node.id: _identifier(node.id) for node in graph.nodes}
    tensors = {node.id for node in graph.nodes if node.kind == "saved"}
    looks = edge_attributes(THEMES[options.theme]) if options.show else ARROWS
    written = {kind: f" [{_attributes(look)}]" if look else "" for kind, look in looks.items()}
    for edge in graph.edges:
        start, end, kind = ids[edge.source], ids[edge.target], edge.kind
        if kind == "saved":  # TorchViz's way round, which puts what is saved below the operation
            start, end = end, start
            if options.show and edge.source not in tensors:  # but a leaf stays above the operations that keep it
                yield f"    {start} -> {end} [{_attributes({**looks[kind], 'constraint': 'false'})}]"
                continue
        if kind == "data" and edge.label:
            yield f"    {start} -> {end} [{_attributes(looks[kind], shorten(edge.label, LONGEST_LINE, middle=True))}]"
        else:
            yield f"    {start} -> {end}{written[kind]}"
