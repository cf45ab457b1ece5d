"""Pictures: everything that Graphviz makes of the DOT text, reproducible to the byte.

Graphviz writes nothing but the picture's content into most formats; cairo writes the time of day into PDF and
PostScript, which is overwritten with a fixed one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from gviz.errors import RenderError, warn_user
from gviz.graphs import Graph
from gviz.layout import NoEngineError, RenderWarning
from gviz.layout.graphviz import draw, engines, time_limit
from gviz.layout.plan import is_for_layered, make_plan
from gviz.pictures import LARGE, Arrow, Frame, Picture, Shape, picture_of, sheet_of
from gviz.pictures.options import RenderOptions
from gviz.pictures.page import TITLE, is_moved
from gviz.render import FormatRow, dot
from gviz.render.marks import mark
from gviz.wiring import Wires

if TYPE_CHECKING:
    from gviz.layout.ink import Sheet


DESCRIPTION = "pictures, by Graphviz"


FORMATS = {
    "pdf": "a page to print or to put on a slide; text can be searched",
    "svg": "a drawing for web pages; sharp at any size",
    "png": "an image, 96 points per inch",
    "jpg": "an image; lines blur, prefer png",
    "gif": "an image of few colours",
    "webp": "an image, smaller than png",
    "tif": "an image for printers",
    "bmp": "an image without compression",
    "ps": "PostScript",
    "eps": "PostScript to put into a LaTeX document",
}
"""The formats that people use, by suffix, with what each is good for."""

SUFFIXES = tuple(FORMATS)
PAGE = ""

RASTER = ("png", "jpg", "jpeg", "jpe", "gif", "webp", "tif", "tiff", "bmp", "wbmp")
"""Formats whose size is counted in pixels."""

OPAQUE = ("jpg", "jpeg", "jpe", "bmp", "wbmp", "ps", "eps", "ps2")
"""Formats whose page hides what is behind it."""

_POSITIONS = ("plain", "plain-ext", "xdot", "xdot1.2", "xdot1.4", "canon", "json0", "dot_json", "xdot_json")
TEXTS = ("svg", "svg_inline", "pic", "pov", *_POSITIONS)

ALSO = (*TEXTS[1:], "jpeg", "jpe", "tiff", "wbmp", "ps2", "svgz")
"""Further suffixes, which are handed to Graphviz. Not ``dot``, ``gv`` and ``json``, since gviz writes its own."""

NEVER = ("cmap", "cmapx", "cmapx_np", "imap", "imap_np", "ismap", "tk", "fig", "vrml", "xlib", "x11", "gtk")
"""Image maps, which list links; ``tk``, which has memory addresses in it; ``fig``, of which a process gets its colours
right only once; ``vrml``, which leaves a picture of each box in the current folder; and what opens a window."""

OWN = ("svg", "pdf")
"""The formats that gviz can write itself."""

PIXELS = 1.12
"""How wide bold letters are by those of the shipped font, where Graphviz rounds them to whole pixels."""

MOST_PIXELS = 1e8
"""Pixels of an image of a large graph: four bytes each of memory."""


_PDF_DATE = re.compile(rb"/(?:Creation|Mod)Date \(D:(\d{14})")
_PS_DATE = re.compile(rb"^%%CreationDate: ([^\r\n]*)", re.MULTILINE)
_OBJECT_STREAM = re.compile(rb"/Type\s*/ObjStm\b.*?stream\r?\n(.*?)\r?\nendstream", re.DOTALL)


def render(graph: Graph, options: RenderOptions) -> str | bytes:
    """Return the graph as a picture: the same bytes for equal graphs if the same Graphviz draws them.

    Args:
        graph: any graph.
        options: ``format`` says which; ``graphviz`` by what.

    Raises:
        RenderError: there is no Graphviz that makes this, or it fails.
    """
    if options.transparent and options.format in OPAQUE:
        _warn(f"a {options.format} is never transparent: its page has the colour of the theme")
        options = replace(options, transparent=False)
    if options.pages and options.format != "pdf":
        _warn(f"only a pdf has pages: the {options.format} is in one piece")
    Wires.stage("layout")
    try:
        with time_limit(options.timeout) if options.timeout else nullcontext():
            picture = finish(_drawn(graph, options, output_of(options.format)))
    finally:
        Wires.stage("")
    return picture.decode("utf-8", "replace") if options.format in TEXTS else picture


def output_of(suffix: str) -> str:
    """Return Graphviz's name for a format: PostScript is made by cairo, which knows all characters."""
    return f"{suffix}:cairo" if suffix in ("ps", "eps") else suffix


def _drawn(graph: Graph, options: RenderOptions, output: str) -> bytes:
    """Draw the graph; where there is no Graphviz, as well as gviz can by itself."""
    try:
        return _draw(graph, options, output)
    except NoEngineError as error:
        if options.format not in OWN or options.layout != "auto" or options.graphviz != "auto":
            raise
        page = "" if options.fit == "none" else ", not put on a page"
        _warn(f"{error.what}: the picture is laid out and written by gviz itself{page}")
        return _draw(graph, replace(options, layout="layered", fit="none"), output)


def _draw(graph: Graph, options: RenderOptions, output: str) -> bytes:
    """Lay the graph out and draw it, in two steps where some of its arrows are too long to be routed."""
    sheet = sheet_of(graph, options)
    if sheet is not None:
        return sheet_file(sheet, options, output)
    if options.fit != "none" and len(graph.nodes) > LARGE:
        _warn(
            f"a page does not hold {len(graph.nodes)} boxes: the picture is as large as it is; "
            "--max-nodes N draws a part of it"
        )
        options = replace(options, fit="none")
    if options.fit != "none":
        from gviz.render._fit import page_of  # few pictures are put on a page

        scale = options.scale if options.format in RASTER else 0.5  # a point of the page is a point of a PDF
        page = page_of(graph, options, scale)
        return _by_graphviz(page, dot.dot_text(page), output, options, program="nop2")
    picture = picture_of(graph, options)
    if options.format in RASTER and options.scale != 1:
        picture = replace(picture, graph={**picture.graph, "dpi": f"{96 * options.scale:g}"})
    listed = list(picture.statements)
    picture = replace(picture, statements=listed)
    shapes = [one.id for one in listed if isinstance(one, Shape)]
    arrows = [one for one in listed if isinstance(one, Arrow)]
    ends = [(arrow.start, arrow.end) for arrow in arrows]
    is_own = options.layout == "layered" or (options.pages and options.format == "pdf")
    if options.layout == "auto" and not is_own:
        has_labels = any("label" in one.look for one in arrows)
        is_own = is_for_layered(shapes, ends, is_bare=not options.show, has_labels=has_labels)
    if is_own:
        has_frames = graph.regions or any(isinstance(one, Frame) and one.path not in ("", TITLE) for one in listed)
        if has_frames and options.view == "torchviz":
            _warn("gviz's own layout has no frames: each box says what it is in; --layout dot draws them")
            own = picture_of(graph, replace(options, layout="layered"))
            picture = replace(own, graph={**own.graph, **picture.graph}, statements=list(own.statements))
        return _draw_layered(picture, options, output)
    plan = make_plan(shapes, ends)
    if plan.is_slow:
        warn_of_size(len(shapes), len(plan.long), "DOT (graph.dot) and the tree (graph.txt) are there at once")
    is_large_image = options.format in RASTER and len(shapes) > LARGE
    if not plan.long and not is_large_image:
        write = partial(dot.dot_text, extra=plan.attributes)
        if len(shapes) <= LARGE and any(map(is_moved, listed)):
            from gviz.pictures.places import with_places  # few pictures need it

            picture = with_places(picture, write, options.graphviz)
            return _by_graphviz(picture, write(picture), output, options, program="nop2")
        return _by_graphviz(picture, write(picture), output, options)
    long = {id(arrows[number]) for number in plan.long}
    kept = replace(picture, statements=[one for one in listed if id(one) not in long])
    placed = draw(dot.dot_text(kept, plan.attributes), "dot", using=options.graphviz)
    dots = [f"graph [dpi={dots_per_inch(picture, size_of_layout(placed, picture))}]"] if is_large_image else []
    straight = [*dots, *dot.dot_lines(one for one in listed if id(one) in long)]
    return _by_graphviz(picture, with_straight(placed, straight), output, options, program="nop2")


def size_of_layout(placed: bytes, picture: Picture) -> tuple[float, float]:
    """Return width and height of a picture as Graphviz has laid it out, in points, at most those that it has."""
    corner = re.search(rb'bb="[-.\d]+,[-.\d]+,([-.\d]+),([-.\d]+)"', placed)
    wide, high = map(float, corner.groups()) if corner is not None else (1.0, 1.0)
    most = [72 * float(side) for side in picture.graph.get("size", "1e9,1e9").rstrip("!").split(",")]
    scale = min(1.0, most[0] / wide, most[-1] / high)
    return wide * scale, high * scale


def dots_per_inch(picture: Picture, size: tuple[float, float]) -> str:
    """Return how sharp an image of that many points is: less than was asked for if no memory would hold it."""
    asked, sharpest = picture.graph.get("dpi", "96"), 72 * (MOST_PIXELS / (size[0] * size[1])) ** 0.5
    if float(asked) <= sharpest:
        return asked
    _warn(f"the image is made smaller, to {MOST_PIXELS:,.0f} pixels; pdf and svg are sharp at any size")
    return f"{sharpest:.3g}"


def _by_graphviz(picture: Picture, text: str, output: str, options: RenderOptions, program: str = "dot") -> bytes:
    """Return a picture as Graphviz draws it, given as DOT, too; the boxes of an SVG have tooltips."""
    drawn = draw(text, output, using=options.graphviz, program=program)
    if output != "svg":
        return drawn
    from gviz.render._tips import with_tips, with_widths

    svg = with_widths(drawn.decode())
    return (with_tips(svg, picture) if options.show else svg).encode()


def sheet_file(sheet: Sheet, options: RenderOptions, output: str) -> bytes:
    """Return a page of gviz's own; what gviz does not write itself is drawn by Graphviz, item by item."""
    from gviz.render import _pdf, _svg, _xdot  # few pictures need them

    if options.format == "svg":
        return _svg.svg_text(sheet).encode()
    if options.format == "pdf":
        return _pdf.pdf_bytes(sheet)
    dots = 96 * options.scale if options.format in RASTER else 96.0
    return draw(
        _xdot.background(sheet, dots * (1.5 if options.fit != "none" else 1)),
        output,
        using=options.graphviz,
        program="nop2",
    )


def _draw_layered(picture: Picture, options: RenderOptions, output: str) -> bytes:
    """Draw a picture by gviz's own layout; what gviz does not write itself is drawn by Graphviz at these places."""
    from gviz.render import _pdf, _scene, _svg  # few pictures need them

    scene = _scene.Scene(picture, 1.0 if options.format in OWN else PIXELS)
    Wires.stage("drawing")
    if options.format == "svg":
        return _svg.svg_text(scene).encode()
    if options.format == "pdf":
        return _pdf.pdf_bytes(scene, in_pages=options.pages)
    page = {key: value for key, value in picture.graph.items() if key not in ("label", "size", "rankdir")}
    if options.format in RASTER:
        page["dpi"] = dots_per_inch(picture, scene.size)
    page["outputorder"] = "edgesfirst"  # boxes, and texts, are drawn over lines
    is_list = options.format in _POSITIONS  # of boxes and lines alone
    looks, notes = _scene.placed_looks(scene, has_labels=is_list), () if is_list else _scene.placed_notes(scene)
    placed = replace(picture, graph=page, statements=[*looks, *notes])
    return draw(dot.dot_text(placed), output, using=options.graphviz, program="nop2")


def with_straight(placed: bytes, arrows: list[str]) -> str:
    """Return a graph as Graphviz has placed it, with further arrows, which the layout ``nop2`` then draws straight."""
    return "\n".join(
        [placed.decode("utf-8", "replace").rstrip().removesuffix("}"), "graph [splines=line]", *arrows, "}"]
    )


def warn_of_size(boxes: int, straight: int, at_once: str) -> None:
    """Warn that this takes long, before it does, and name the formats that do not."""
    remark = f"; {straight} of its arrows are so long that they are drawn straight" if straight else ""
    _warn(f"this graph has {boxes} boxes, which may take Graphviz long{remark}. Ctrl-C stops it; {at_once}")


def _warn(remark: str) -> None:
    """Say something worth knowing about a picture."""
    warn_user(remark, RenderWarning)


def finish(data: bytes) -> bytes:
    """Return a picture as gviz gives it away: without the time of day, with its mark."""
    return mark(without_date(data))


def without_date(data: bytes) -> bytes:
    """Return the same PDF or PostScript file, made on the first of January 2000; other files as they are.

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
    return pattern.sub(lambda old: old[0].replace(old[1], text[: len(old[1])].ljust(len(old[1]))), data)


def _without_date_inside(packed: re.Match[bytes]) -> bytes:
    """Return the compressed objects of a newer PDF file without the date, filled up to their length with newlines."""
    import zlib

    try:
        inside = zlib.decompress(packed[1])
    except zlib.error:
        return packed[0]
    repacked = zlib.compress(_overwrite(_PDF_DATE, inside, b"20000101000000"), 9)
    if not _PDF_DATE.search(inside) or len(repacked) > len(packed[1]):
        return packed[0]
    return packed[0].replace(packed[1], repacked.ljust(len(packed[1]), b"\n"))


def rows() -> Iterator[FormatRow]:
    """Yield the line of each format for ``gviz formats``: one node is drawn in it by each engine until one succeeds."""
    here = engines()
    for suffix, description in FORMATS.items():
        own = "gviz" if suffix in OWN else ""
        made_by = next((title for engine, title in here.items() if _can_draw(engine, suffix)), own)
        mend = "install Graphviz, https://graphviz.org/download" * (not made_by)
        yield FormatRow(suffix, description, made_by, works=bool(made_by), mend=mend)


def _can_draw(engine: str, suffix: str) -> bool:
    """Return True if an engine draws one node in a format; its remarks would come once for each format."""
    with warnings.catch_warnings(action="ignore", category=RenderWarning):
        try:
            return bool(draw("digraph { node [shape=box fontname=monospace] a }", output_of(suffix), using=engine))
        except RenderError:
            return False
