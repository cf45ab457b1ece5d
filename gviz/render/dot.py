"""Graphviz's DOT language.

The text is the same for equal graphs, needs no Graphviz, and is made in one pass over the boxes and arrows of the picture.
Source: the DOT grammar, https://graphviz.org/doc/info/lang.html, and escString, https://graphviz.org/docs/attr-types/escString/.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gviz.pictures import Arrow, Frame, picture_of
from gviz.pictures.html import Html
from gviz.pictures.look import LONGEST_LINE, LONGEST_PIECE
from gviz.text import shorten, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gviz.graph import Graph
    from gviz.pictures import Picture, Statement
    from gviz.pictures.options import RenderOptions

__all__ = ["quote", "render", "statements", "text_of"]

SUFFIXES = ("dot", "gv")
TEXTS = SUFFIXES
DESCRIPTION = "Graphviz's language; dot and other programs draw it"

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


def render(graph: Graph, options: RenderOptions) -> str:
    """Return the graph as DOT: text that begins with ``digraph`` and ends with a newline."""
    return text_of(picture_of(graph, options))


def text_of(picture: Picture, extra: Mapping[str, str] | None = None) -> str:
    """Return a picture as DOT, with further attributes of the whole, for the layout's sake."""
    name = quote(shorten(picture.title.replace("\n", " "), LONGEST_LINE, middle=True)) + " " if picture.title else ""
    head = [f"digraph {name}{{", "    // made by gviz"]  # the mark of gviz's own files: see marks.py
    for word, look in (("graph", {**picture.graph, **(extra or {})}), ("node", picture.node), ("edge", picture.edge)):
        head += [f"    {word} [{_attributes(look)}]"] if look else []
    return "\n".join([*head, *statements(picture.statements), "}"]) + "\n"


def statements(listed: Iterable[Statement]) -> Iterator[str]:
    """Yield a line for each box and arrow; what boxes or arrows share is written once."""
    written: dict[int, str] = {}
    names: dict[str, str] = {}
    indent = "    "

    def name(node: str) -> str:
        if node not in names:
            names[node] = _identifier(node)
        return names[node]

    for one in listed:
        if isinstance(one, Frame):
            if one.path:
                yield f"{indent}subgraph {quote('cluster_' + one.path)} {{"
                indent += "    "
                yield f"{indent}{_attributes(one.look)}"
            else:
                indent = indent[4:]
                yield f"{indent}}}"
            continue
        look = written.get(id(one.look))
        if look is None:
            look = written[id(one.look)] = f" [{_attributes(one.look)}]" if one.look else ""
        if isinstance(one, Arrow):
            tail, head = (f":{side}" if side else "" for side in (one.tail, one.head))
            yield f"{indent}{name(one.start)}{tail} -> {name(one.end)}{head}{look}"
        else:
            yield f"{indent}{name(one.id)}{look}"


def _identifier(text: str) -> str:
    """Return a node's id, bare if the grammar allows it."""
    return text if text.isidentifier() and text.isascii() and text.lower() not in _KEYWORDS else quote(text)


def _attributes(attributes: Mapping[str, str]) -> str:
    """Return attributes as they stand between brackets; words, numbers and HTML-like labels are bare, a plain label never is."""
    written = []
    for key, value in attributes.items():
        is_bare = isinstance(value, Html) or (key != "label" and _WORD.fullmatch(value))
        written.append(f"{key}={value if is_bare else quote(value)}")
    return " ".join(written)
