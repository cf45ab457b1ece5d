"""A series of slides, one for each step of a computation, on which nothing moves.

The graph is laid out once, with the widest text that each box will ever have. On each slide all boxes and lines are
there, at
their places: what is not known yet is faint or invisible, and what the step is about is lit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import NamedTuple

from gviz.formulas.operations import operator_of
from gviz.graphs import Edge, Graph, Node
from gviz.layout.fonts.faces import type_width
from gviz.passes.starts import is_from_one
from gviz.pictures import html, slide
from gviz.pictures.digits import Listing
from gviz.pictures.labels import REPEATED, name_line
from gviz.pictures.legend import unknown_entries
from gviz.pictures.look import Page
from gviz.pictures.options import RenderOptions
from gviz.pictures.page import WAYS, themed
from gviz.pictures.picture import Arrow, Picture, Plate, Shape, Statement
from gviz.pictures.places import Layout, curve_of, laid_out
from gviz.pictures.repeat import with_repeats
from gviz.pictures.spans import Line, Span, text_of
from gviz.pictures.steps import PHASES, Step, graph_of_steps, has_backward, lines_at, root_name, steps_of
from gviz.pictures.theme import FONT, THEMES, Theme, box_attributes
from gviz.pictures.views.dataflow import MOST_EDGES, circle, derivative
from gviz.text import quotient_of, shorten

SPACE = {"nodesep": "0.16", "ranksep": "0.28"}
"""Inches between boxes, with room for an arrow against the stream beside each text."""

LIT_PEN, LIT_LINE, ARROW = "3", "3", 0.9
"""Widths of what a step is about, and the size of an arrow against the stream."""

LONGEST_PLATE = 16
"""Characters of a local derivative on one line; one that is longer takes two on all lines."""

FOOT = 28.0
"""Points for the line that tells how far it is."""

LONGEST_CODE, MARGIN_OF_CODE, LETTER, NO_BREAK = 42, 6, 0.602, "\u00a0"
"""Characters of a line of code, and of its number; a letter's width in parts of its size; the space that Graphviz
keeps."""

CODE_WIDE, CODE_HIGH = 0.25, 0.5
"""Parts of a page that a program takes whose type is larger than it has to be."""

MOST_DOTS = 24
"""Steps of one half that are shown as dots; more are numbers."""


class Slide(NamedTuple):
    """A step as a picture.

    Args:
        picture: with the places of all boxes and lines; to be drawn as it is.
        step: what it shows.
        number: of the step, counted from 1 in the whole series.
        of: how many steps the whole series has.
    """

    picture: Picture
    step: Step
    number: int
    of: int


def series(
    graph: Graph,
    options: RenderOptions,
    page: Page,
    write: Callable[[Picture], str],
    wanted: Sequence[int] = (),
) -> list[Slide]:
    """Return the slides.

    Args:
        graph: a graph that tells local derivatives and gradients on their way.
        options: ``theme``, ``rankdir``, ``precision``, ``title`` and ``graphviz`` are read.
        page: the size of each slide.
        write: returns a picture as DOT.
        wanted: numbers of the steps that are drawn, counted from 1; all if there is none.
    """
    shown, options = graph_of_steps(graph), replace(options, view="dataflow", fit="slide")
    page = with_code(page, graph.code)
    steps = steps_of(shown, options)
    deepest = max(len(step.caption) for step in steps)
    theme, title = THEMES[options.theme], html.escaped(options.title or graph.title)
    scene, layout = _set(shown, options, steps, page, write)
    rows = slide.rows_beside(page, deepest, FOOT)
    slides = []
    for number in wanted or range(1, len(steps) + 1):
        step = steps[number - 1]
        caption = [html.line_text(line, theme) or " " for line in step.caption]
        foot = html.line_text(progress(steps, number, scene.note), theme)
        side = _beside(graph.code, step.line, rows, theme) if options.every == "line" else ""
        placed = slide.on_page(
            scene.at(number - 1),
            scene.turned(number - 1, layout),
            page,
            side=side,
            beside=width_beside(graph, options, page),
            scale=options.scale,
            write=write,
            title=title,
            caption=[*caption, *[" "] * (deepest - len(caption))],
            legend=f'<TABLE BORDER="0" CELLSPACING="0"><TR><TD>{foot}</TD></TR></TABLE>',
        )
        slides.append(Slide(placed, step, number, len(steps)))
    return slides


def _set(
    graph: Graph, options: RenderOptions, steps: Sequence[Step], page: Page, write: Callable[[Picture], str]
) -> tuple[_Scene, Layout]:
    """Return the scene and its layout, in the direction that gives the larger type.

    If it is too small even so, there are no texts on the lines, and short ones in the boxes.
    """
    captions = max(len(step.caption) for step in steps)
    choices: list[tuple[float, _Scene, Layout]] = []
    for compact, rankdir in product((False, True), [options.rankdir] if options.rankdir else ["LR", "TB"]):
        most = max((size for size, *_ in choices), default=0.0)
        if most >= (slide.LEAST_TYPE if compact else slide.GOOD_TYPE):
            break
        scene = _Scene(graph, replace(options, rankdir=rankdir), steps, compact=compact)
        layout = scene.laid_out(write, page, captions)
        size = slide.scale_of(layout, page, captions, FOOT, beside=width_beside(graph, options, page))
        choices.append((size * options.font_size, scene, layout))
    _, scene, layout = max(choices, key=itemgetter(0))
    return scene, layout


def progress(steps: Sequence[Step], number: int, note: str = "") -> Line:
    """Return the line at the foot: how far it is, forward and backward, and a note."""
    cells: list[Span] = []
    for half, ink in (("forward", "value"), ("backward", "gradient")):
        numbers = [
            count
            for count, step in enumerate(steps, 1)
            if PHASES[step.phase] == half and step.phase not in ("leaves", "done")
        ]
        done = sum(count <= number for count in numbers)
        if numbers:
            dots = (
                "●" * done + "○" * (len(numbers) - done) if len(numbers) <= MOST_DOTS else f"{done} of {len(numbers)}"
            )
            cells += [Span(f"{half} ", "muted"), Span(dots, ink), Span("   ")]
    return (*cells, Span("   ".join(filter(None, [f"{number}/{len(steps)}", note])), "muted"))


def with_code(page: Page, code: str) -> Page:
    """Return a page whose type for a program is as large as that of a caption, where the program has so much room."""
    lines = code.rstrip().expandtabs(4).split("\n")
    columns = min(max(map(len, lines)), LONGEST_CODE) + MARGIN_OF_CODE
    size = min(
        page.caption, CODE_WIDE * page.width / (columns * LETTER), CODE_HIGH * page.height / (len(lines) * slide.LINE)
    )
    return page._replace(code=max(page.code, size))


def width_beside(graph: Graph, options: RenderOptions, page: Page) -> float:
    """Return the points that the code beside a graph takes, as wide as its longest line; 0 for steps without it."""
    longest = max(len(text.rstrip().expandtabs(4)) for text in graph.code.split("\n"))
    return (min(longest, LONGEST_CODE) + MARGIN_OF_CODE) * page.code * LETTER if options.every == "line" else 0.0


def code_beside(code: str, line: int, most: int) -> list[tuple[bool, Line]]:
    """Return the lines of a program with their numbers, each with whether it runs; of a long one those around that."""
    texts = code.rstrip().split("\n")
    half = most // 2 or 1
    first = 0 if len(texts) <= most else min((max(line, 1) - 1) // half * half, len(texts) - most)
    rows: list[tuple[bool, Line]] = []
    for number, text in enumerate(texts[first : first + most], first + 1):
        shown = shorten(text.expandtabs(4), LONGEST_CODE, mark="…").replace(" ", NO_BREAK) or NO_BREAK
        head = Span(f"{number:>3}{NO_BREAK}".replace(" ", NO_BREAK), "muted")
        rows.append((number == line, (head, Span(shown, "" if number == line else "muted"))))
    return rows


def _beside(code: str, line: int, rows: int, theme: Theme) -> str:
    """Return the program as a table with the line that runs lit."""
    cells = []
    for is_lit, (number, text) in code_beside(code, line, max(rows, 1)):
        fill = f' BGCOLOR="{theme.boxes["lit"].fill}"' if is_lit else ""
        cells.append(
            f'<TR><TD ALIGN="RIGHT">{html.span_text(number, theme)}</TD>'
            f'<TD ALIGN="LEFT"{fill}>{html.span_text(text, theme)}</TD></TR>'
        )
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{"".join(cells)}</TABLE>'
    return f'<FONT FACE="{FONT}">{table}</FONT>'


class _Scene:
    """The boxes and the lines of all slides."""

    def __init__(self, graph: Graph, options: RenderOptions, steps: Sequence[Step], *, compact: bool = False) -> None:
        self.graph, self.options, self.steps, self.theme = (
            with_repeats(graph, options),
            options,
            steps,
            THEMES[options.theme],
        )
        self.nodes = self.graph.by_id
        self.leaf_of = [edge.source for edge in graph.edges]
        self.lines = lines_at(graph, options, steps, compact=compact)
        self.plates = {} if compact else dict(self.texts_on_lines())
        self.is_across = options.direction in ("LR", "RL")
        """Whether lines run from left to right, or the other way."""
        about = (
            f"∂ = ...: the gradient {quotient_of(root_name(graph), '...')}"
            if compact and has_backward(graph) and is_from_one(graph)
            else ""
        )
        said = [
            *(line for step in steps for line in step.caption),
            *(line for rows in self.lines.values() for line in rows[-1]),
        ]
        said += [(Span(text),) for texts in self.plates.values() for text in texts]
        self.note = "   ".join(filter(None, [about, *(one.text for one in unknown_entries(map(text_of, said)))]))

    def texts_on_lines(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield the local derivative for each edge that has one, on one line or on two."""
        options = self.options
        values = Listing([node for node in self.graph.nodes if node.value], self.graph, options.precision, 1)
        signs = [values.sign_of_factor(edge, options.precision) for edge in self.graph.edges]
        pairs = zip(self.graph.edges, signs, strict=True)
        texts = [derivative(edge, self.nodes, options, sign) for edge, sign in pairs]
        is_two = sum(map(bool, texts)) > MOST_EDGES
        is_two = is_two or any(len(" = ".join(text)) > LONGEST_PLATE for text in texts)
        for number, text in enumerate(texts):
            if text:
                yield number, text if is_two else (" = ".join(text),)

    def at(self, at: int) -> Picture:
        """Return the picture of a step."""
        return themed(self.graph, self.options, SPACE, [*self.boxes(at), *self.arrows(at), *self.bridges(at)])

    def laid_out(self, write: Callable[[Picture], str], page: Page, captions: int) -> Layout:
        """Return the layout of all steps: each line of a box is as long as the longest that will stand there."""
        longest = {
            node: [max(rows, key=lambda row: type_width(text_of(row), 1.0)) for rows in zip(*series, strict=True)]
            for node, series in self.lines.items()
        }
        statements = [*self.boxes(len(self.steps) - 1, longest), *self.arrows(len(self.steps) - 1)]
        picture = themed(self.graph, self.options, SPACE, statements)
        layout = laid_out(picture, write, self.options.graphviz)
        layout = slide.folded(
            layout, page, captions, FOOT, picture, beside=width_beside(self.graph, self.options, page)
        )
        return layout._replace(
            arrows=[*layout.arrows, *(bridge(layout.shapes[f"p{number}"], self.is_across) for number in self.plates)]
        )

    def boxes(self, at: int, lines: Mapping[str, Sequence[Line]] | None = None) -> Iterator[Statement]:
        """Yield the boxes at a step, with the lines of that step unless others are given."""
        step = self.steps[at]
        lit = [number for number, edge in enumerate(self.graph.edges) if is_lit(number, edge, step)]
        reached = {end for number in lit for end in (self.graph.edges[number].source, self.leaf_of[number])}
        for node in self.graph.nodes:
            if node.state == REPEATED:
                yield Shape(
                    node.id, {**box_attributes("repeat", self.theme), "label": html.box([name_line(node)], self.theme)}
                )
                continue
            said = (lines or {}).get(node.id) or self.lines[node.id][at]
            if node.kind == "operation":
                yield Shape(node.id, self.operation(node, said, step))
            else:
                look = {**box_attributes(node.kind, self.theme), "label": html.box(said, self.theme)}
                if node.id not in step.computed and not lines:
                    look |= {"style": "invis"}
                if node.id in step.nodes or (node.id in reached and step.phase == "backward"):
                    look |= {"color": self.theme.boxes["lit"].pen, "penwidth": LIT_PEN}
                yield Shape(node.id, look)
        for number, text in self.plates.items():
            ink = "" if is_lit(number, self.graph.edges[number], step) else "muted"
            plate = html.plate([(Span(part, ink),) for part in text], self.theme)
            is_there = number in step.handed or lines  # from the step on in which it is used
            yield Plate(f"p{number}", plate if is_there else {**plate, "style": "invis"})

    def operation(self, node: Node, lines: Sequence[Line], step: Step) -> dict[str, str]:
        """Return the look of an operation: lit, known, or faint until it is computed."""
        is_known = node.id in step.computed
        is_root = node.id in self.graph.roots
        ink = "" if is_known else "faint"
        look = circle(
            operator_of(node.label), lines, self.theme, is_root=is_root, ink=ink, is_upright=not self.is_across
        )
        if not is_known:
            style = ",".join(dict.fromkeys([*look.get("style", "filled").split(","), "dashed"]))
            return {**look, "fillcolor": self.theme.page, "color": self.theme.faint, "style": style, "penwidth": "1.2"}
        if node.id not in step.nodes and not (step.phase == "start" and is_root):
            return look
        fill, pen = self.theme.boxes["lit"]
        return {**look, "fillcolor": fill, "color": pen, "penwidth": LIT_PEN}

    def arrows(self, at: int) -> Iterator[Arrow]:
        """Yield the lines at a step, in two parts where a text stands on one."""
        out, into = WAYS[self.options.direction][:2]
        step = self.steps[at]
        for number, edge in enumerate(self.graph.edges):
            pen = self.pen(number, edge, step)
            is_back = pen.get("dir") == "back"
            if number in self.plates:
                yield Arrow(edge.source, f"p{number}", {**pen, **({} if is_back else {"arrowhead": "none"})}, out, into)
                yield Arrow(f"p{number}", edge.target, {**pen, **({"arrowtail": "none"} if is_back else {})}, out, into)
            else:
                yield Arrow(edge.source, edge.target, pen, out, into)

    def bridges(self, at: int) -> Iterator[Arrow]:
        """Yield the line behind each text on a line, for as long as the text is not there."""
        step = self.steps[at]
        for number in self.plates:
            look = self.pen(number, self.graph.edges[number], step)
            pen = {key: value for key, value in look.items() if not key.startswith("arrow")}
            hidden = {"style": "invis"} if number in step.handed else {"dir": "none"}
            yield Arrow(f"p{number}", f"p{number}", {**pen, **hidden})

    def pen(self, number: int, edge: Edge, step: Step) -> dict[str, str]:
        """Return the look of an edge."""
        is_known = edge.target in step.computed
        if self.nodes[edge.source].kind in ("constant", "frozen"):
            return {
                "style": "dashed",
                "color": self.theme.boxes["dashed"].pen if is_known else self.theme.faint,
                "arrowhead": "none",
            }
        if is_lit(number, edge, step):
            if step.phase == "forward":
                return {"penwidth": LIT_LINE, "color": self.theme.value}
            back = {"dir": "back", "arrowhead": "none", "arrowtail": "normal", "arrowsize": f"{ARROW:g}"}
            return {"penwidth": LIT_LINE, "color": self.theme.gradient, **back}
        return {} if is_known else {"style": "dashed", "color": self.theme.faint}

    def turned(self, at: int, layout: Layout) -> Layout:
        """Return the layout with the arrows of a step that run against the stream turned round."""
        arrows = list(layout.arrows)
        for number, arrow in enumerate(self.arrows(at)):
            if arrow.look.get("dir") == "back":
                is_free = arrow.look.get("arrowtail") == "none"
                arrows[number] = {**arrows[number], "pos": turned(arrows[number]["pos"], has_arrow=not is_free)}
        return layout._replace(arrows=arrows)


def is_lit(number: int, edge: Edge, step: Step) -> bool:
    """Return whether a step is about an edge: one into its operation, backward one that a gradient takes."""
    return edge.target in step.nodes and (step.phase != "backward" or number in step.handed)


# ------------------------------------------------------------------ places
def turned(place: str, *, has_arrow: bool) -> str:
    """Return the place of a line with its arrow at the other end.

    >>> turned("e,40,0 0,0 10,0 20,0 34,0", has_arrow=True)
    's,0.00,0.00 9.00,0.00 14.40,0.00 20.00,0.00 40.00,0.00'
    >>> turned("0,0 10,0 20,0 34,0", has_arrow=False)
    '0.00,0.00 10.00,0.00 20.00,0.00 34.00,0.00'

    One in several pieces has its arrow at the beginning of the first, which Graphviz wants last then.
    """
    first, *others = place.split(";")
    if others:
        return ";".join([*(turned(other, has_arrow=False) for other in others), turned(first, has_arrow=has_arrow)])
    points, _, tip = curve_of(place)
    points[-1] = tip or points[-1]
    if not has_arrow:
        return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    (x, y), (x1, y1) = points[0], next((point for point in points if point != points[0]), points[-1])
    length = math.hypot(x1 - x, y1 - y) or 1
    size = 10 * ARROW
    points[:2] = [(x + (x1 - x) / length * far, y + (y1 - y) / length * far) for far in (size, max(length, 1.6 * size))]
    return f"s,{x:.2f},{y:.2f} " + " ".join(f"{x:.2f},{y:.2f}" for x, y in points)


def bridge(shape: Mapping[str, str], is_across: bool) -> dict[str, str]:
    """Return the place of a line through a box, from side to side and a little further, so that no seam is seen."""
    x, y = (float(number) for number in shape["pos"].split(","))
    dx, dy = (float(shape["width"]) * 36 + 0.5, 0.0) if is_across else (0.0, float(shape["height"]) * 36 + 0.5)
    return {"pos": " ".join(f"{x + part * dx:.2f},{y + part * dy:.2f}" for part in (-1, -0.3, 0.3, 1))}
