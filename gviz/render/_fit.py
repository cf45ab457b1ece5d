"""A graph on a page whose type can be read: folded, grouped, with short boxes, or a part of it; and what was laid out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

from gviz.errors import warn_user
from gviz.graphs import Graph, Node
from gviz.layout import RenderWarning
from gviz.pictures import Picture, html, picture_of, places, sheet_of, slide
from gviz.pictures.labels import BRIEF
from gviz.pictures.look import LONGEST_TITLE, PAGES, Page
from gviz.pictures.options import SHEETS, RenderOptions
from gviz.pictures.parts import drawn_formula, drawn_parts, is_formula, once, ways_to_fit
from gviz.pictures.places import Layout
from gviz.render import dot
from gviz.text import shorten

PointsOf: TypeAlias = Callable[[Graph, RenderOptions], float]


def fit_to_page(graph: Graph, options: RenderOptions, kind: str) -> RenderOptions:
    """Return the options with which a picture can be read on its page, and say so if they are not those asked for.

    What repeats is drawn once, then modules, lines or statements are boxes, each with what it says in short if need be.
    If all of that is too small, what is nearest to the root is drawn of the way with the largest type.

    Args:
        graph: any graph.
        options: those asked for.
        kind: of the page: one of :data:`gviz.pictures.look.PAGES`.
    """
    page, points_of = PAGES[kind], points_on_page
    if options.format == "pptx":
        from gviz.render._slides import points_on_slide  # it imports python-pptx

        points_of = points_on_slide
    is_small = sum(node.kind == "operation" for node in graph.nodes) < FEW
    is_sheet = options.view in SHEETS and options.fit == "none"  # which is as large as its text
    if not options.show or graph.kind == "static" or is_sheet or (is_small and options.view == "torchviz"):
        return options
    if is_small and options.view != "torchviz" and len([*ways_to_fit(graph, options)]) == 1:
        return options
    trials: list[Trial] = []
    for way, what in ways_to_fit(graph, options):
        trial = Trial(way, what, drawn_quietly(graph, way))
        if trials and trial.is_like(trials[-1]):
            continue  # nothing repeats
        trials.append(trial.with_points(points_of))
        if way.view == "torchviz" and BRIEF_WORTH * page.least <= trials[-1].points < page.readable:
            brief, said = replace(way, max_chars=BRIEF), f"{what}, boxes are short".removeprefix(", ")
            trials.append(Trial(brief, said, drawn_quietly(graph, brief)).with_points(points_of))
        if trials[-1].points >= page.readable:
            break
    first, best = trials[0], max(trials, key=lambda one: min(one.points, page.least))
    is_small = is_small or len(best.boxes) < FEW
    is_whole = is_small or options.by == "operation" or options.max_nodes or options.path  # of a part no path is whole
    if best.points < page.readable and not is_whole:
        best = best.part(graph, page, points_of)
    if best is not first:
        small = f"type of {first.points:.1f} points" if first.points else "no room"
        count, whole = len(first.boxes), "all " * (len(first.shown.nodes) == len(graph.nodes))
        every = f"{'--fold off ' * (options.view == 'torchviz')}--by operation"
        now = f"{best.what}, {len(best.boxes)} boxes"
        warn_user(f"{whole}{count} boxes would have {small} on this page: {now}; {every} draws all", RenderWarning)
    return best.options


def points_on_page(shown: Graph, options: RenderOptions) -> float:
    """Return the size of the smallest type of a picture on the page that the options name."""
    sheet = sheet_of(shown, options)
    return page_layout(shown, options).points if sheet is None else sheet.least_type


def drawn_quietly(graph: Graph, options: RenderOptions) -> Graph:
    """Return what is drawn of a graph; nothing is said of it."""
    with warnings.catch_warnings(action="ignore", category=RenderWarning):
        return drawn_parts(graph, options)


FEW, FEWEST, MOST = 10, 5, 100
"""Operations, or boxes, that a page draws all of, however small; boxes of the smallest part; and of the largest page."""

BRIEF_WORTH = 0.4
"""How large type has to be, by what can be read, that short boxes may make it large enough."""


class Trial(NamedTuple):
    """A way to draw a graph on a page.

    Args:
        options: how.
        what: what is drawn so, in words.
        shown: the graph.
        points: the smallest type; 0 for what has no room, and for what says nothing: that all is in one box.
    """

    options: RenderOptions
    what: str
    shown: Graph
    points: float = 0.0

    @property
    def boxes(self) -> list[Node]:
        """The nodes that are boxes of the picture."""
        if not is_formula(self.shown, self.options):
            return [*self.shown.nodes]
        with warnings.catch_warnings(action="ignore", category=RenderWarning):
            return [node for node in drawn_formula(self.shown, self.options).nodes if node.kind != "constant"]

    def is_like(self, other: Trial) -> bool:
        """Return whether another way draws the same."""
        ids, others = ([node.id for node in one.boxes] for one in (self, other))
        return ids == others and (self.options.by, self.options.layout) == (other.options.by, other.options.layout)

    def with_points(self, points_of: PointsOf) -> Trial:
        """Return it with the size of its smallest type."""
        nodes = self.boxes
        is_one_box = bool(self.what) and sum(node.kind == "group" for node in nodes) == 1
        if is_one_box or len(nodes) > MOST:
            return self
        with warnings.catch_warnings(action="ignore", category=RenderWarning):
            return self._replace(points=points_of(self.shown, self.options))

    def part(self, graph: Graph, page: Page, points_of: PointsOf) -> Trial:
        """Return the part nearest to the root that can be read on a page."""
        count, part = len(self.boxes), self
        while count > FEWEST and part.points < page.readable:
            share = max((part.points / page.least) ** 2, 0.5)  # type is about as large as a box has room
            count = max(min(int(count * share), count - 1, MOST), FEWEST)
            less = replace(self.options, max_nodes=count)
            part = Trial(less, self.what, drawn_quietly(graph, less)).with_points(points_of)
        what = f"{self.what}, the part nearest to the root is drawn (--max-nodes {count})".removeprefix(", ")
        return part._replace(what=what) if part.points > self.points else self


class PageLayout(NamedTuple):
    """A picture as it is laid out for a page.

    Args:
        picture: what is drawn.
        legend: what stands below it.
        layout: where everything is.
        typed: the lines of caption that were asked for.
        points: the size of its smallest type.
        key: how good it is.
    """

    picture: Picture
    legend: str
    layout: Layout
    typed: list[str]
    points: float
    key: tuple[float, ...]


def page_layout(graph: Graph, options: RenderOptions) -> PageLayout:
    """Return the picture as it goes onto a page, in the direction that is read more easily if none was asked for.

    That is the larger type, up to what can be read; then fewer rows; then large type with few crossings and bends.
    """
    page = PAGES[options.fit]
    shown = drawn_formula(graph, options) if is_formula(graph, options) else graph
    said = "; ".join(shown.remarks)
    typed = [html.escaped(line) for text in (said, options.caption) for line in html.caption_lines(text)]
    drawn: list[PageLayout] = []
    operations = sum(node.card.operations if node.card else node.kind == "operation" for node in graph.nodes)
    least = slide.LEAST_TYPE if operations < FEW else page.readable
    for rankdir in [options.rankdir] if options.rankdir else ["TB", "LR"]:
        way = replace(options, rankdir=rankdir)
        picture = picture_of(graph, way)
        lay_out = partial(places.laid_out, picture, dot.dot_text, options.graphviz)
        layout = once(graph, (places.laid_out, way), lay_out)
        label = picture.graph.get("label", "")
        legend = label[1:-1] if isinstance(label, html.Html) else html.escaped(label)
        foot = slide.height_of(legend, page, picture, dot.dot_text)
        captions = len(picture.caption) + len(typed)
        layout = slide.folded(layout, page, captions, foot, picture, least=least)
        scale = slide.scale_of(layout, page, captions, foot)
        enough = min(scale * options.font_size, page.readable)  # then in one piece
        key = (enough, -len(layout.marks), scale * places.ease_of(layout), -len(drawn))
        drawn.append(PageLayout(picture, legend, layout, typed, float(picture.node["fontsize"]) * scale, key))
    return max(drawn, key=lambda one: one.key)


def page_of(graph: Graph, options: RenderOptions, dots: float) -> Picture:
    """Return the picture on its page, of which 1920 pixels, if it has any, are so many times as many."""
    picture, legend, layout, typed, *_ = page_layout(graph, options)
    title = (options.title or picture.heading or graph.title).replace("\n", " ")
    most = html.fitting(title, LONGEST_TITLE)
    if len(title) > most:
        warn_user(
            f"the title has {len(title)} characters, of which {most - 2} have room on the page; "
            "--caption has room for more",
            RenderWarning,
        )
    return slide.on_page(
        picture,
        layout,
        PAGES[options.fit],
        title=html.escaped(shorten(title, most, mark=" …")),
        caption=[*picture.caption, *typed],
        legend=legend,
        larger="--max-nodes N, another --view, --root NAME",
        scale=dots,
        write=dot.dot_text,
    )
