"""Slides of native shapes, written by python-pptx: boxes that hold their texts, and lines that hold on to boxes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from math import dist
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_LINE
from pptx.enum.shapes import MSO_CONNECTOR, MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.oxml.xmlchemy import BaseOxmlElement
from pptx.shapes.base import BaseShape
from pptx.slide import Slide
from pptx.text.text import TextFrame
from pptx.util import Pt

from gviz.graphs import Graph
from gviz.layout.ink import Outline, Pen, Point, Sheet, Stretch, TextLine, shifted, text_width
from gviz.layout.spots import Rect
from gviz.pictures.look import PAGES
from gviz.pictures.options import RenderOptions
from gviz.pictures.places import points_on
from gviz.pictures.slide import warn_of_small_type
from gviz.render._scene import Scene, inked_picture
from gviz.render.tikz import hexadecimal
from gviz.text import visible

WIDE, HIGH, MARGIN = 960.0, 540.0, 24.0
"""Points of a slide, and around a picture on it."""

TITLE, HEAD = 24.0, 60.0
"""Points of the type of a title, and of the room for it."""

MOST_SCALE = 1.6
"""How far a small picture is enlarged."""

FACES = {"mono": "Consolas", "sans": "Arial", "bold": "Arial", "math": "Times New Roman"}
"""The face of an office's computer for each of gviz's."""

OTHER_FACE = 1.4
"""How much broader a line may be on a computer that has other faces."""

NEAR = 4.0
"""Points from the end of a line to the box that it holds on to."""

BLANK_TITLE = 5
"""The number of python-pptx's layout that has a title and nothing else."""


class Deck:
    """A file of slides.

    Args:
        title: of the file.
    """

    def __init__(self, title: str) -> None:
        self.file = Presentation()
        self.file.slide_width, self.file.slide_height = Pt(WIDE), Pt(HIGH)
        about = self.file.core_properties
        about.title, about.author, about.last_modified_by = legal(title)[:255], "gviz", "gviz"
        about.comments = "made by gviz"

    def add_slide(self, title: str, ink: str = "") -> Slide:
        """Return a new slide. A title without an ink is for screen readers: it stands above, where nobody sees it."""
        slide = self.file.slides.add_slide(self.file.slide_layouts[BLANK_TITLE])
        own, frame = slide.shapes.title, slide.shapes.title.text_frame
        own.left, own.top, own.width, own.height = (
            Pt(part) for part in (MARGIN, 12 if ink else -100, WIDE - 2 * MARGIN, 40)
        )
        frame.text, frame.vertical_anchor = legal(title), MSO_ANCHOR.TOP
        paragraph = frame.paragraphs[0]
        paragraph.alignment, paragraph.font.size = PP_ALIGN.LEFT, Pt(TITLE if ink else 12)
        if ink:
            paragraph.font.color.rgb = rgb(ink)
        return slide

    def add_sheet(self, sheet: Sheet, title: str, ink: str = "") -> None:
        """Add a page as a slide of native shapes; ``ink`` is that of a title for one that has none of its own."""
        SlideWriter(self.add_slide(title, ink), sheet, top=HEAD if ink else MARGIN).draw()

    def add_image(self, png: bytes, title: str) -> None:
        """Add a page that is an image."""
        image = self.add_slide(title).shapes.add_picture(io.BytesIO(png), Pt(0), Pt(0), Pt(WIDE), Pt(HIGH))
        name_shape(image, "steps", title)

    @property
    def data(self) -> bytes:
        """The file, the same each time: without the time of day, and with gviz's mark where it can be read."""
        saved, packed = io.BytesIO(), io.BytesIO()
        self.file.save(saved)
        with ZipFile(saved) as old, ZipFile(packed, "w") as new:
            for name in old.namelist():
                method = ZIP_STORED if name == "docProps/core.xml" else ZIP_DEFLATED
                new.writestr(ZipInfo(name, (2000, 1, 1, 0, 0, 0)), old.read(name), method)
        return packed.getvalue()


def scale_on_slide(sheet: Sheet, top: float) -> float:
    """Return how many times larger a page becomes on a slide, below so many points."""
    wide, high = sheet.size
    if (wide, high) == (WIDE, HIGH):
        return 1.0
    return min((WIDE - 2 * MARGIN) / wide, (HIGH - top - MARGIN) / high, MOST_SCALE)


def points_on_slide(shown: Graph, options: RenderOptions) -> float:
    """Return the size of the smallest type of a picture on a slide with a title."""
    sheet = inked_picture(shown, replace(options, title=""))
    sizes = (item.size for item in sheet.items() if isinstance(item, TextLine))
    return min(sizes, default=WIDE) * scale_on_slide(sheet, HEAD)


class SlideWriter:
    """A page on a slide, as large as it can be.

    Args:
        slide: an empty slide of python-pptx.
        sheet: the page.
        top: points above it.
    """

    def __init__(self, slide: Slide, sheet: Sheet, top: float) -> None:
        self.slide, self.sheet = slide, sheet
        self.is_loose = isinstance(sheet, Scene)  # so that lines may be straight where they were curves
        wide, high = sheet.size
        is_slide, scale = (wide, high) == (WIDE, HIGH), scale_on_slide(sheet, top)
        place = (WIDE - wide * scale) / 2, 0.0 if is_slide else top + (HIGH - top - MARGIN - high * scale) / 2
        self.items = list(shifted(sheet.items(), *place, scale))
        if self.is_loose:
            points = min((item.size for item in self.items if isinstance(item, TextLine)), default=WIDE)
            warn_of_small_type(points, "--max-nodes N, --root NAME, --depth 1 of a model", PAGES["slide"])
        self.shapes: dict[int, Any] = {}
        self.rects = {
            at: Rect.around(item.middle, *item.size) for at, item in enumerate(self.items) if isinstance(item, Outline)
        }
        self.texts = self._texts_of_boxes()
        self.joined: set[tuple[int, int]] = set()

    def draw(self) -> None:
        """Put all on the slide, what is behind first: boxes before their lines, which hold on to them."""
        if self.sheet.page:
            fill = self.slide.background.fill
            fill.solid()
            fill.fore_color.rgb = rgb(self.sheet.page)
        inside = {at for lines in self.texts.values() for at in lines}
        for at, item in enumerate(self.items):
            if isinstance(item, Outline):
                self.shapes[at] = self.box(at, item)
        for at, item in enumerate(self.items):
            if isinstance(item, Stretch) and item.pen.colour:
                self.shapes[at] = self.line(item)
            elif isinstance(item, TextLine) and at not in inside and plain_text(item).strip():
                self.shapes[at] = self.text(item)
        tree = self.slide.shapes.element
        for at in sorted(self.shapes):
            tree.append(self.shapes[at].element)

    def _texts_of_boxes(self) -> dict[int, list[int]]:
        """Return which lines of text stand in the middle of which box."""
        texts: dict[int, list[int]] = {at: [] for at in self.rects}
        box = -1
        for at, item in enumerate(self.items):
            if isinstance(item, Outline):
                box = at
            elif box >= 0 and isinstance(item, TextLine) and item.is_centred:
                left, top, right, bottom = self.rects[box]
                if abs(item.place[0] - (left + right) / 2) < 1 and top <= item.place[1] <= bottom:
                    texts[box].append(at)
        for box, lines in texts.items():
            heights = [item.place[1] - 0.35 * item.size for at in lines if isinstance(item := self.items[at], TextLine)]
            _, top, _, bottom = self.rects[box]
            if lines and abs(sum(heights) / len(heights) - (top + bottom) / 2) > NEAR:
                texts[box] = []
        return texts

    def box(self, at: int, item: Outline) -> Any:
        """Draw a box with its text."""
        wide, high = item.size
        is_round, is_circle = item.radius > 0, self.is_circle(at)
        kind = MSO_SHAPE.OVAL if is_circle else MSO_SHAPE.ROUNDED_RECTANGLE if is_round else MSO_SHAPE.RECTANGLE
        left, top, _, _ = self.rects[at]
        shape = self.slide.shapes.add_shape(kind, *emu(left, top, wide, high))
        if is_round and not is_circle:
            shape.adjustments[0] = min(item.radius / min(wide, high), 0.5)
        if item.fill:
            shape.fill.solid()
            shape.fill.fore_color.rgb = rgb(item.fill)
        else:
            shape.fill.background()
        set_pen(shape, item.pen)
        lines = [line for number in self.texts[at] if isinstance(line := self.items[number], TextLine)]
        write_lines(shape.text_frame, lines)
        text = "\n".join(map(plain_text, lines))
        name_shape(shape, text.partition("\n")[0] or "frame", item.tip or text)
        return shape

    def text(self, item: TextLine) -> Any:
        """Draw a line of text that stands alone."""
        wide, (x, y) = text_width(item.words, item.size), item.place
        left = x - wide / 2 * item.is_centred
        room = wide if item.is_centred else min(wide * OTHER_FACE, WIDE - left)
        shape = self.slide.shapes.add_textbox(*emu(left, y - 0.95 * item.size, room, 1.2 * item.size))
        write_lines(shape.text_frame, [item])
        shape.text_frame.word_wrap = not item.is_centred  # a line that may not wrap is put in the middle of its box
        name_shape(shape, plain_text(item), "")
        return shape

    def line(self, item: Stretch) -> Any:
        """Draw a line: a connector that holds on to its boxes where it can be one, else as it was laid out."""
        ends: list[Point] = [(stroke[-2], stroke[-1]) for stroke in (item.strokes[0], item.strokes[-1])]
        boxes = [self.box_at(end) for end in ends]
        sites = [self.site(box, end) for box, end in zip(boxes, ends, strict=True)]
        is_straight = len(item.strokes) == 2 and len(item.strokes[1]) == 2
        is_held = self.is_free(boxes, [place for _, place in sites])
        if not self.is_loose:
            is_held &= is_straight and all(dist(end, place) < 1 for end, (_, place) in zip(ends, sites, strict=True))
        if not (is_held or is_straight):
            shape = self.bent(item)
        else:
            start, end = [place for _, place in sites] if is_held else ends
            shape = self.slide.shapes.add_connector(MSO_CONNECTOR.STRAIGHT, *emu(*start, *end))
        if is_held:
            self.joined.add((boxes[0], boxes[1]))
            for tag, box, (site, _) in zip(("a:stCxn", "a:endCxn"), boxes, sites, strict=True):
                holds = shape.element.xpath("p:nvCxnSpPr/p:cNvCxnSpPr")[0]
                add_part(holds, tag, id=str(self.shapes[box].shape_id), idx=str(site))
        set_pen(shape, item.pen)
        for tag, end in zip(("a:headEnd", "a:tailEnd"), ends, strict=True):
            if any(dist(tip, end) <= item.size for tip, _ in item.heads):
                pen = shape.line._get_or_add_ln()  # noqa: SLF001 - no other way
                large = "lg" if item.size > 8 else "med" if item.size > 5 else "sm"
                add_part(pen, tag, type="triangle", w=large, len=large)
        names = [self.shapes[box].name if box >= 0 else "" for box in boxes]
        name_shape(shape, "arrow" if item.heads else "line", " to ".join(names) if all(names) else "")
        return shape

    def box_at(self, point: Point) -> int:
        """Return the number of the box at whose edge a point is, -1 for none."""
        nearest, least = -1, NEAR
        for at, rect in self.rects.items():
            x, y = (rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2
            if self.is_circle(at):
                away = abs(dist(point, (x, y)) - (rect.right - rect.left) / 2)
            else:
                wide, high = (rect.right - rect.left) / 2, (rect.bottom - rect.top) / 2
                away = abs(max(abs(point[0] - x) - wide, abs(point[1] - y) - high))
            if away < least:
                nearest, least = at, away
        return nearest

    def is_circle(self, box: int) -> bool:
        """Return whether a box is a circle."""
        left, top, right, bottom = self.rects[box]
        radius = getattr(self.items[box], "radius", 0.0)
        return radius >= (bottom - top) / 2 > 0 and abs(right - left - bottom + top) < 1

    def site(self, box: int, point: Point) -> tuple[int, Point]:
        """Return the place where a connector holds on to a box, the nearest to a point, with its number."""
        if box < 0:
            return -1, point
        left, top, right, bottom = self.rects[box]
        x, y = (left + right) / 2, (top + bottom) / 2
        away = [abs(point[1] - top), abs(point[0] - left), abs(point[1] - bottom), abs(point[0] - right)]
        places = [(x, top), (left, y), (x, bottom), (right, y)]
        if self.is_circle(box):
            away = [dist(point, place) for place in places]
        side = away.index(min(away))
        return side * (1 + self.is_circle(box)), places[side]  # a circle has others between these

    def is_free(self, boxes: Sequence[int], places: Sequence[Point]) -> bool:
        """Return whether a straight line between two boxes goes through no other one, nor along another line."""
        if min(boxes) < 0 or boxes[0] == boxes[1] or (boxes[0], boxes[1]) in self.joined:
            return False
        others = (rect for at, rect in self.rects.items() if at not in boxes)
        start = places[0]
        return not any(
            rect.grown(-1, -1).is_hit(places[0], places[1])
            for rect in others
            if not (rect.left <= start[0] <= rect.right and rect.top <= start[1] <= rect.bottom)  # a frame around it
        )

    def bent(self, item: Stretch) -> Any:
        """Return a line with all its bends and curves."""
        points: list[Point] = [(item.strokes[0][-2], item.strokes[0][-1])]
        for stroke in item.strokes[1:]:
            pulls = [points[-1], *zip(stroke[::2], stroke[1::2], strict=True)]
            points += [*points_on(pulls)][1:] if len(stroke) > 2 else pulls[1:]
        builder = self.slide.shapes.build_freeform(*emu(*points[0]))
        builder.add_line_segments([emu(*point) for point in points[1:]], close=False)
        shape = builder.convert_to_shape()
        shape.fill.background()
        return shape


def emu(*points: float) -> list[int]:
    """Return points in the unit of such files, of which an inch has 914,400."""
    return [round(point * 12700) for point in points]


def rgb(colour: str) -> Any:
    """Return a colour, ``#RRGGBB``; black for a name."""
    return RGBColor.from_string(hexadecimal(colour))


def add_part(element: BaseOxmlElement, tag: str, **attributes: str) -> Any:
    """Add an element of XML to another one; return it."""
    part = element.makeelement(qn(tag), attributes)
    element.append(part)
    return part


def set_pen(shape: BaseShape, pen: Pen) -> None:
    """Draw the outline of a shape, or a line, with a pen."""
    for style in shape.element.xpath("p:style"):  # shadows and colours of the theme
        style.getparent().remove(style)
    if not pen.colour:
        shape.line.fill.background()
        return
    shape.line.color.rgb = rgb(pen.colour)
    shape.line.width = Pt(pen.width)
    if pen.dash:
        shape.line.dash_style = MSO_LINE.ROUND_DOT if pen.dash[0] <= 2 * pen.width else MSO_LINE.DASH


def write_lines(frame: TextFrame, lines: Sequence[TextLine]) -> None:
    """Write lines of text into a shape, in its middle."""
    frame.word_wrap = False
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    frame.vertical_anchor = MSO_ANCHOR.MIDDLE
    for at, line in enumerate(lines):
        paragraph = frame.add_paragraph() if at else frame.paragraphs[0]
        paragraph.alignment = PP_ALIGN.CENTER if line.is_centred else PP_ALIGN.LEFT
        for word in line.words:
            run = paragraph.add_run()
            run.text, font = legal(word.text), run.font
            font.size, font.name = Pt(round(line.size, 1)), FACES[word.face]
            font.bold, font.italic = word.is_bold or word.face == "bold", word.face == "math"
            font.color.rgb = rgb(word.colour or line.colour)


def name_shape(shape: BaseShape, name: str, text: str) -> None:
    """Give a shape its name, and the text that screen readers say in its place."""
    shape.name = legal(name)
    shape.element.xpath(".//p:cNvPr")[0].set("descr", legal(text))


def plain_text(line: TextLine) -> str:
    """Return the text of a line."""
    return "".join(word.text for word in line.words)


def legal(text: str) -> str:
    """Return a text as XML can hold it."""
    return text if text.isprintable() else visible(text)
