"""The steps of a computation as files: a PDF, a page of HTML that plays them, an animation, or images.

One drawing for each step comes from Graphviz. What puts them together is here, for PDF in pypdf (Graphviz's own writer
ends a file with its first page), for animations in Pillow, if that is installed. The same steps give the same bytes.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from gviz.errors import RenderError, warn_user
from gviz.files import write
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.layout.graphviz import draw
from gviz.pictures.circuit_steps import CircuitSlide, circuit_slides
from gviz.pictures.look import PAGES
from gviz.pictures.options import RenderOptions
from gviz.pictures.series import Slide, series
from gviz.pictures.sheets import InkedPage
from gviz.pictures.spans import text_of
from gviz.render import ELSEWHERE, dot, html, image, require
from gviz.text import closest, shorten

WHOLE = {
    "pdf": "a page for each step",
    "html": "one file that plays the steps in a browser",
    "pptx": "slides whose shapes can be edited, for PowerPoint and Impress (with python-pptx)",
    "tex": "Beamer's slides for LaTeX, an overlay for each step",
    "gif": "an animation (with Pillow)",
    "webp": "an animation, smaller than gif (with Pillow)",
}
"""Formats that hold all steps in one file."""

EACH = tuple(suffix for suffix in image.FORMATS if suffix not in WHOLE)
"""Formats with a file for each step."""

MOVING = ("gif", "webp")
"""Animations, which are made of images."""

Watch: TypeAlias = Callable[[Sequence[Any]], Iterable[Any]]
"""Yields the slides as they are drawn."""

DESCRIPTIONS = {**WHOLE, **dict.fromkeys(EACH, "an image for each step")}

SECONDS, LAST = 2.0, 2
"""How long a step is shown in an animation, and how many times as long the last one."""

ANIMATED, POINTS = 2 / 3, 0.5
"""The size of an animation beside that of an image: 1280 by 720 pixels; and of a drawing, 960 by 540 points."""

DRAWN = ("pdf", "svg", "ps", "eps")
"""Formats without pixels."""


def series_format(suffix: str) -> str:
    """Return a format in small letters.

    Raises:
        RenderError: steps cannot be written in it, or its package is not installed.
    """
    known = suffix.lower()
    if known in DESCRIPTIONS:
        require(known)
        return known
    here = [row.suffix for row in image.rows() if row.works]
    each = ", ".join(suffix for suffix in EACH if suffix in here)
    ways = f"The steps of a computation are written as {', '.join(WHOLE)}, or as images, one for each: {each}."
    if not known:
        raise RenderError(
            "the file's name has no suffix that tells the format", hint=f"{ways}\nfor a folder of images: -o frames/"
        )
    meant = closest(known, DESCRIPTIONS)
    advice = f"{ELSEWHERE[known]}\n" if known in ELSEWHERE else f"Did you mean {meant}? " if meant else ""
    raise RenderError(f"{suffix!r} is not a format for steps", hint=advice + ways)


def is_folder(path: str) -> bool:
    """Return whether a path names a folder: one that is there, or by the slash at its end."""
    return path.endswith(("/", os.sep)) or os.path.isdir(path)


def render(
    graph: Graph,
    suffix: str,
    options: RenderOptions,
    wanted: Sequence[int] = (),
    seconds: float = SECONDS,
    *,
    watch: Watch = iter,
) -> bytes:
    """Return the steps in one file.

    Args:
        graph: one that tells local derivatives and gradients on their way (:attr:`gviz.SourceOptions.flow`).
        suffix: a word of :data:`WHOLE`.
        options: how to draw.
        wanted: numbers of the steps, counted from 1; all if there is none.
        seconds: how long each step is shown, where it plays.
        watch: yields the slides as they are drawn, and may tell of it.

    Raises:
        RenderError: a picture cannot be made, or a package is needed and not installed.
    """
    if suffix == "pptx":
        return deck_file(graph, options, wanted, watch)
    if suffix in MOVING:
        try:
            import PIL.Image  # noqa: F401 - before anything is drawn
        except ImportError:
            hint = "pip install pillow; or -o steps.html, which plays in a browser and needs nothing else"
            raise RenderError(f"an animated {suffix} needs Pillow, which is not installed", hint=hint) from None
    if suffix == "tex":
        return beamer_file(graph, options, wanted, watch).encode()
    if suffix == "html":
        return html.render_steps(graph, options, wanted, seconds).encode("utf-8", "backslashreplace")
    drawn = _drawn(graph, suffix, options, wanted, watch)
    if suffix == "pdf":
        return pdf(drawn, options, graph.title)
    return animation(drawn, suffix, seconds)


def save(
    graph: Graph,
    path: str,
    options: RenderOptions,
    wanted: Sequence[int] = (),
    seconds: float = SECONDS,
    *,
    watch: Watch = iter,
) -> list[str]:
    """Write the steps to a file, or to a file for each; return the names.

    ``y.png`` becomes ``y-01.png``, ``y-02.png`` ..., as ImageMagick and pdftoppm number pages; in a folder,
    ``frames/``, they are ``01.png``, ``02.png`` ....

    Args:
        graph: one that tells local derivatives and gradients on their way.
        path: where to; its suffix is the format unless the options name one. A folder gets images, ``png`` by default.
        options: how to draw.
        wanted: numbers of the steps, counted from 1; all if there is none.
        seconds: how long each step is shown, where it plays.
        watch: yields the slides as they are drawn, and may tell of it.

    Raises:
        RenderError: an unknown format, or a picture that cannot be made.
        FileError: a file cannot be written.
    """
    in_folder = is_folder(path)
    stem, ending = os.path.splitext(path)
    suffix = series_format(options.format or ("png" if in_folder else ending[1:]))
    if suffix in WHOLE:
        name = os.path.join(path, f"steps.{suffix}") if in_folder else path
        data = render(graph, suffix, options, wanted, seconds, watch=watch)
        return [write(name, data)]
    drawn = _drawn(graph, suffix, options, wanted, watch)
    digits = max(2, len(str(drawn[0][0].of)))
    names = []
    for slide, data in drawn:
        number = f"{slide.number:0{digits}}"
        names.append(write(os.path.join(path, f"{number}.{suffix}") if in_folder else f"{stem}-{number}{ending}", data))
    return names


@contextmanager
def _said_once() -> Iterator[None]:
    """Say of all slides together what is to be said of each."""
    with warnings.catch_warnings():
        if not any(
            action == "ignore" and issubclass(RenderWarning, kind) for action, _, kind, *_ in warnings.filters[:1]
        ):
            warnings.simplefilter("default", RenderWarning)
        yield


def _slides(graph: Graph, suffix: str, options: RenderOptions, wanted: Sequence[int]) -> Sequence[Slide | CircuitSlide]:
    """Return the slides, in the size that a format needs."""
    scale = POINTS if suffix in DRAWN else options.scale * (ANIMATED if suffix in WHOLE else 1)
    slides = circuit_slides(graph, options, PAGES["slide"], wanted)
    return slides or series(graph, replace(options, scale=scale), PAGES["slide"], dot.dot_text, wanted)


def _drawn(
    graph: Graph, suffix: str, options: RenderOptions, wanted: Sequence[int], watch: Watch
) -> list[tuple[Slide | CircuitSlide, bytes]]:
    """Return the slides, each with its drawing."""
    output = "png" if suffix in MOVING else suffix
    own = replace(options, scale=options.scale * ANIMATED) if suffix in MOVING else options
    with _said_once():
        slides = watch(_slides(graph, suffix, options, wanted))
        return [(slide, drawing(slide, output, own)) for slide in slides]


def drawing(slide: Slide | CircuitSlide, suffix: str, options: RenderOptions) -> bytes:
    """Return a slide in a format."""
    if isinstance(slide.picture, InkedPage):
        own = replace(options, format=suffix, fit="slide")
        return image.finish(image.sheet_file(slide.picture, own, image.output_of(suffix)))
    return image.finish(
        draw(dot.dot_text(slide.picture), image.output_of(suffix), using=options.graphviz, program="nop2")
    )


# ------------------------------------------------------------------ LaTeX
def beamer_file(graph: Graph, options: RenderOptions, wanted: Sequence[int], watch: Watch) -> str:
    """Return the slides as a document of Beamer; RenderError where Graphviz draws them."""
    from gviz.render import tikz

    pages = [slide.picture for slide in watch(circuit_slides(graph, options, PAGES["slide"], wanted))]
    if not pages or not all(isinstance(page, InkedPage) for page in pages):
        hint = "-o y.pdf writes a page for each step: \\includegraphics[page=3]{y.pdf}"
        raise RenderError("the steps of this graph are drawn by Graphviz, not as LaTeX", hint=hint)
    return tikz.beamer(pages)


# ------------------------------------------------------------------ PowerPoint
def deck_file(graph: Graph, options: RenderOptions, wanted: Sequence[int], watch: Watch) -> bytes:
    """Return the slides as a file of such; where Graphviz draws them, each has an image."""
    from gviz.render._slides import Deck

    deck = Deck(options.title or graph.title)
    own = circuit_slides(graph, options, PAGES["slide"], wanted)
    for slide in watch(own) if own else ():
        deck.add_sheet(slide.picture, text_of(slide.step.caption[0]))
    if not own:
        warn_user("the steps of this graph are drawn by Graphviz: each slide has an image", RenderWarning)
        for slide, png in _drawn(graph, "png", options, wanted, watch):
            deck.add_image(png, text_of(slide.step.caption[0]))
    return deck.data


# ------------------------------------------------------------------ PDF
def pdf(slides: Sequence[tuple[Slide | CircuitSlide, bytes]], options: RenderOptions, title: str) -> bytes:
    """Return a PDF file with a page for each slide; its outline names them."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    for number, (slide, drawn) in enumerate(slides):
        writer.append(PdfReader(io.BytesIO(drawn)), import_outline=False)
        title_of_page = shorten(text_of(slide.step.caption[0]), 60, mark=" …")
        writer.add_outline_item(title_of_page, page_number=number)  # type: ignore[call-arg]
    writer.metadata = None
    writer.add_metadata({"/Title": options.title or title, "/Producer": "gviz"})
    out = io.BytesIO()
    writer.write(out)
    return image.finish(out.getvalue())


# ------------------------------------------------------------------ animations
def animation(slides: Sequence[tuple[Slide | CircuitSlide, bytes]], suffix: str, seconds: float) -> bytes:
    """Return an animated image, repeated for ever."""
    from PIL import Image

    frames: list[Any] = [Image.open(io.BytesIO(drawn)).convert("RGB") for _, drawn in slides]
    if suffix == "gif":
        frames = [frame.quantize(colors=128, dither=Image.Dither.NONE) for frame in frames]
    lasting = [round(seconds * 1000)] * len(frames)
    lasting[-1] *= LAST
    how: dict[str, Any] = (
        {"optimize": True, "disposal": 1} if suffix == "gif" else {"lossless": True, "quality": 30, "method": 4}
    )
    out = io.BytesIO()
    frames[0].save(out, suffix, save_all=True, append_images=frames[1:], duration=lasting, loop=0, **how)
    return image.finish(out.getvalue())
