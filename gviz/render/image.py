"""Pictures: everything that Graphviz makes of the DOT text, reproducible to the byte.

Graphviz writes nothing but the picture's content into most formats; cairo writes the time of day into PDF and PostScript,
which is overwritten with a fixed one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gviz.render.marks import mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gviz.graph import Graph
    from gviz.render import FormatRow
    from gviz.render.options import RenderOptions

DESCRIPTION = "pictures, by Graphviz"


class Kind(NamedTuple):
    """What is to be known of a format.

    Args:
        description: what it is good for.
        renderer: which of Graphviz's renderers to ask for, as in ``ps:cairo``; "" is its own choice.
        binary: whether it is bytes.
    """

    description: str
    renderer: str = ""
    binary: bool = True


KINDS = {
    "pdf": Kind("a page to print or to put on a slide; text can be searched"),
    "svg": Kind("a drawing for web pages; sharp at any size", binary=False),
    "png": Kind("an image, 96 points per inch"),
    "jpg": Kind("an image; lines blur, prefer png"),
    "jpeg": Kind("the same as jpg"),
    "jpe": Kind("the same as jpg"),
    "gif": Kind("an image of few colours"),
    "webp": Kind("an image, smaller than png"),
    "tif": Kind("an image for printers"),
    "tiff": Kind("the same as tif"),
    "bmp": Kind("an image without compression"),
    "wbmp": Kind("an image in black and white"),
    "ps": Kind("PostScript", renderer="cairo"),
    "eps": Kind("PostScript to put into a LaTeX document", renderer="cairo"),
    "ps2": Kind("PostScript with marks for PDF; Latin characters only"),
    "svgz": Kind("svg, compressed"),
    "svg_inline": Kind("svg to paste into a web page", binary=False),
    "plain": Kind("positions of boxes and arrows, line by line", binary=False),
    "plain-ext": Kind("the same as plain, with ports", binary=False),
    "xdot": Kind("DOT with positions and drawing operations", binary=False),
    "xdot1.2": Kind("xdot, version 1.2", binary=False),
    "xdot1.4": Kind("xdot, version 1.4", binary=False),
    "canon": Kind("DOT as Graphviz writes it, with sizes", binary=False),
    "json0": Kind("Graphviz's own JSON, with positions", binary=False),
    "dot_json": Kind("Graphviz's own JSON, without drawing operations", binary=False),
    "xdot_json": Kind("Graphviz's own JSON, with drawing operations", binary=False),
    "pic": Kind("for troff", binary=False),
    "pov": Kind("a scene for POV-Ray", binary=False),
}
"""By suffix, the usual ones first. Not among them are Graphviz's ``dot``, ``gv`` and ``json``, since gviz writes its own; image
maps, which list links, and a graph has none; ``tk``, which has memory addresses in it; ``fig``, of which a process gets its
colours right only once; and ``vrml``, which leaves a picture of each box in the current folder."""

SUFFIXES = tuple(KINDS)

_PDF_DATE = re.compile(rb"/(?:Creation|Mod)Date \(D:(\d{14})")
_PS_DATE = re.compile(rb"^%%CreationDate: ([^\r\n]*)", re.MULTILINE)
_OBJECT_STREAM = re.compile(rb"/Type\s*/ObjStm\b.*?stream\r?\n(.*?)\r?\nendstream", re.DOTALL)


def is_binary(suffix: str) -> bool:
    """Whether a picture in this format is bytes, not text."""
    return KINDS[suffix].binary


def render(graph: Graph, options: RenderOptions) -> str | bytes:
    """The graph as a picture.

    Args:
        graph: any graph.
        options: ``format`` says which; ``graphviz`` by what.

    Returns:
        The file's content, the same bytes for equal graphs wherever the same Graphviz draws them.

    Raises:
        RenderError: there is no Graphviz that makes this, or it fails.
    """
    kind = KINDS[options.format]
    output = f"{options.format}:{kind.renderer}" if kind.renderer else options.format
    picture = finished(_drawn(graph, options, output))
    return picture if kind.binary else picture.decode("utf-8", "replace")


def _drawn(graph: Graph, options: RenderOptions, output: str) -> bytes:
    """Lay the graph out and draw it, in two steps where some of its arrows are too long to be routed."""
    from gviz.layout.graphviz import draw
    from gviz.layout.plan import make_plan
    from gviz.render import dot

    plan = make_plan([node.id for node in graph.nodes], [(edge.source, edge.target) for edge in graph.edges])
    if plan.is_slow:
        warn_of_size(len(graph.nodes), len(plan.long), "DOT (-o graph.dot) and the tree (-o graph.txt) are there at once")
    if not plan.long:
        return draw(dot.render(graph, options, plan.attributes), output, using=options.graphviz)
    attributes = {**plan.attributes, "size": dot.picture_size(len(graph.nodes) + len(graph.edges))}
    short, long = ([edge for i, edge in enumerate(graph.edges) if (i in plan.long) is is_long] for is_long in (False, True))
    placed = draw(dot.render(replace(graph, edges=tuple(short)), options, attributes), "dot", using=options.graphviz)
    arrows = dot.edge_lines(replace(graph, edges=tuple(long)))
    return draw(with_straight(placed, arrows), output, using=options.graphviz, program="nop2")


def with_straight(placed: bytes, arrows: list[str]) -> str:
    """A graph as Graphviz has placed it, with further arrows, which the layout ``nop2`` then draws straight."""
    text = placed.decode("utf-8", "replace").rstrip().removesuffix("}")
    return "\n".join([text, "graph [splines=line]", *arrows, "}"])


def warn_of_size(boxes: int, straight: int, at_once: str) -> None:
    """Say that this takes long, before it does, and what does not."""
    import warnings

    from gviz.layout import RenderWarning

    remark = f"; {straight} of its arrows are so long that they are drawn straight" if straight else ""
    warnings.warn(
        f"this graph has {boxes} boxes, which may take Graphviz long{remark}. Ctrl-C stops it; {at_once}",
        RenderWarning,
        stacklevel=2,
    )


def finished(data: bytes) -> bytes:
    """A picture as gviz gives it away: without the time of day, with its mark."""
    return mark(without_date(data))


def without_date(data: bytes) -> bytes:
    """The same PDF or PostScript file, made on the first of January 2000; other files as they are.

    >>> without_date(b"%PDF-1.5 /CreationDate (D:20261121013308Z)")
    b'%PDF-1.5 /CreationDate (D:20000101000000Z)'
    """
    if data.startswith(b"%!PS"):
        return _overwrite(_PS_DATE, data, b"Sat Jan  1 00:00:00 2000")
    if not data.startswith(b"%PDF"):
        return data
    if _PDF_DATE.search(data):
        return _overwrite(_PDF_DATE, data, b"20000101000000")
    return _OBJECT_STREAM.sub(_without_date_inside, data)


def _overwrite(pattern: re.Pattern[bytes], data: bytes, text: bytes) -> bytes:
    """Put the text in place of each group that the pattern finds, cut or filled up to its length."""
    pieces, end = [], 0
    for found in pattern.finditer(data):
        start, stop = found.span(1)
        pieces += [data[end:start], text[: stop - start].ljust(stop - start)]
        end = stop
    return b"".join([*pieces, data[end:]])


def _without_date_inside(found: re.Match[bytes]) -> bytes:
    """The same for the compressed objects of newer PDF files; what decompression does not need fills them up."""
    import zlib

    before = found[0]
    try:
        inside = zlib.decompress(found[1])
    except zlib.error:
        return before
    packed = zlib.compress(_overwrite(_PDF_DATE, inside, b"20000101000000"), 9)
    if not _PDF_DATE.search(inside) or len(packed) > len(found[1]):
        return before
    return before.replace(found[1], packed.ljust(len(found[1]), b"\n"))


def rows() -> Iterator[FormatRow]:
    """What ``gviz formats`` says of each format: what makes it here, found by drawing one node in it."""
    from gviz.render import FormatRow
    from gviz.render.probe import makers

    made_by = makers({suffix: kind.renderer for suffix, kind in KINDS.items()})
    for suffix, kind in KINDS.items():
        yield FormatRow(suffix, kind.description, made_by[suffix], works=bool(made_by[suffix]))
