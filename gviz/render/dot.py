"""Graphviz's DOT language.

The text is the same for equal graphs, needs no Graphviz, and is made in one pass over the boxes and arrows of the
picture.
Source: the DOT grammar, https://graphviz.org/doc/info/lang.html, and
escString, https://graphviz.org/docs/attr-types/escString/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gviz.graphs import Graph
from gviz.pictures import Arrow, Picture, Shape, Statement, picture_of
from gviz.pictures.html import Html
from gviz.pictures.look import LONGEST_LINE, LONGEST_PIECE
from gviz.pictures.options import RenderOptions
from gviz.text import shorten, visible

SUFFIXES = ("dot", "gv")
TEXTS = SUFFIXES
DESCRIPTION = "Graphviz's language; dot and other programs draw it"
IGNORES = ("fit", "scale")

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*|[0-9]+(\.[0-9]+)?")
_KEYWORDS = frozenset(("node", "edge", "graph", "digraph", "subgraph", "strict"))
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "&": "&amp;", "\n": "\\n"})


def quote(text: str) -> str:
    r"""Return any text as a DOT string that shows exactly that text.

    Quotes would end the string, ``\N`` or ``\l`` would stand for something else, ``&lt;`` would be read as HTML does;
    what no picture can hold (control characters, lone surrogates) is written as Python would escape it. A very long
    text is written in pieces, which Graphviz joins.

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
    return dot_text(picture_of(graph, options))


def dot_text(picture: Picture, extra: Mapping[str, str] | None = None) -> str:
    """Return a picture as DOT, with further attributes of the whole, for the layout's sake."""
    title = picture.title.replace("\n", " ")
    title = title if len(title) <= LONGEST_LINE else shorten(title, LONGEST_LINE, middle=True)
    name = f"{quote(title)} " if title else ""
    head = [f"digraph {name}{{", "    // made by gviz"]  # the mark of gviz's own files: see marks.py
    for word, look in (("graph", {**picture.graph, **(extra or {})}), ("node", picture.node), ("edge", picture.edge)):
        head += [f"    {word} [{_attributes(look)}]"] if look else []
    return "\n".join([*head, *dot_lines(picture.statements), "}"]) + "\n"


def dot_lines(statements: Iterable[Statement]) -> list[str]:
    """Return a line for each box and arrow; the attributes that boxes or arrows share are written once."""
    names, looks, indent = _Ids(), _Looks(), "    "
    lines: list[str] = []
    look, text = None, ""
    for one in statements:
        if one.look is not look:  # most arrows have that of the one before
            look = one.look
            text = looks.get(id(look)) or looks.write(look)
        if isinstance(one, Arrow):
            start, end, _, tail, head = one
            lines.append(f"{indent}{names[start]}{tail and ':' + tail} -> {names[end]}{head and ':' + head}{text}")
        elif isinstance(one, Shape):
            lines.append(f"{indent}{names[one.id]}{text}")
        elif one.path:
            kind = "" if "rank" in look else "cluster_"
            lines.append(f"{indent}subgraph {quote(kind + one.path)} {{")
            indent += "    "
            lines.append(f"{indent}graph{text}")
        else:
            indent = indent[4:]
            lines.append(f"{indent}}}")
    return lines


class _Ids(dict[str, str]):
    """The ids of nodes as they stand in DOT, each looked at once."""

    def __missing__(self, text: str) -> str:
        """Return an id, bare if the grammar allows it."""
        is_bare = text.isidentifier() and text.isascii() and text.lower() not in _KEYWORDS
        self[text] = name = text if is_bare else quote(text)
        return name


class _Looks(dict[int, str]):
    """Attributes as they stand in DOT, by the identity of what has them: what many share is written once."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[Mapping[str, str]] = []

    def write(self, look: Mapping[str, str]) -> str:
        """Return attributes in brackets; nothing for none."""
        self.alive.append(look)
        self[id(look)] = text = f" [{_attributes(look)}]" if look else ""
        return text


def _attributes(attributes: Mapping[str, str]) -> str:
    """Return attributes as they stand in brackets; words, numbers and HTML-like labels are bare, plain labels never."""
    bare = {
        k for k, value in attributes.items() if isinstance(value, Html) or (k != "label" and _WORD.fullmatch(value))
    }
    return " ".join(f"{key}={value if key in bare else quote(value)}" for key, value in attributes.items())
