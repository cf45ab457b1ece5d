"""A page of HTML in which the graph can be folded, searched and played: one file that loads nothing from elsewhere.

Python says what stands in the boxes (:mod:`gviz.pictures.interactive`); the scripts of ``page/`` lay them out, as often
as somebody folds or unfolds something. All texts of the graph are data: the page makes text of them, never markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

from gviz.errors import warn_user
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.layout.fonts.faces import FACES
from gviz.pictures.interactive import MANY, Data, page_data
from gviz.pictures.options import RenderOptions
from gviz.pictures.parts import drawn_parts, ways_to_fit
from gviz.pictures.theme import THEMES, Theme, colour_names
from gviz.render import image
from gviz.render.terminal import render as tree
from gviz.text import joined

SUFFIXES = ("html",)
TEXTS = SUFFIXES
DESCRIPTION = "a page to move in, fold, search and play, in one file"
IGNORES = ("fit", "scale", "transparent", "font_size", "color_by", "repeat_leaves", "graph", "node", "edge", "caption")

SCRIPTS = (
    *(
        "elements.js",
        "layered.js",
        "layout.js",
        "graph.js",
        "circuit.js",
        "drawing.js",
        "marks.js",
        "choice.js",
        "panel.js",
    ),
    *("search.js", "table.js", "steps.js", "save.js", "control.js", "start.js"),
)
"""In this order they are one script."""

FAMILIES = {"mono": "mono", "sans": "sans", "serif": "math"}
"""The families of fonts by the names of their properties, each with a face of it."""

STILL = 60
"""Boxes of the picture that a browser without scripts shows, and lines of the tree of a graph that has more."""

FOLDED = 24
"""Boxes of it where modules are boxes, or lines of the program: what is folded should fit into a window."""

_FIELD = re.compile(r"\{\{(\w+)\}\}")
_TEXTS = r""" "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `(?:\\.|[^`\\])*` """
_PATTERNS = r"(?:(?<=[(,=:])|(?<=[(,=:][ ]))/(?![/*])(?:\\.|[^/\\\n])+/[a-z]*"
_BLANK = r"(?>\s|//[^\n]*|/\*.*?\*/)"
_ARROW = rf"{_BLANK}*(?<![\w$])\((?P<name>[\w$]+)\)[ ]=>{_BLANK}*"
_CONST = r"(?P<const>(?<![\w$.])const\b)"
_SCRIPT = re.compile(
    rf"(?P<kept>{_TEXTS}|{_PATTERNS})|{_ARROW}|{_CONST}|;{_BLANK}*(?=}})|{_BLANK}+", re.DOTALL | re.VERBOSE
)
_STYLE = re.compile(r"/\*.*?\*/|\s*([{};,>])\s*|(?<=:)\s+", re.DOTALL)
_SPACED = re.compile(r'(<text [^<>]*) xml:space="preserve">')
_LINES = re.compile(r'<(?:path|polygon) class="(\w+)" (?:d|points)="([^"]*)"/>')
_BETWEEN = re.compile(r">\s*\n\s*(?=<)")
_HOLDER = os.path.join(os.path.dirname(__file__), "page")
_MEANT = str.maketrans({"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(graph: Graph, options: RenderOptions) -> str:
    """Return the page."""
    if len(graph.nodes) > MANY:
        hint = "--by module, --fold on or --max-nodes N makes a smaller one"
        warn_user(
            f"the page has {len(graph.nodes)} boxes, which takes a browser seconds to open: {hint}", RenderWarning
        )
    data = page_data(graph, options)
    shown: Any = data["views"]
    views = [view["name"] for view in shown]
    if options.view not in views:
        warn_user(f"this page has the views {joined(views)}; an SVG can have --view {options.view}", RenderWarning)
    return filled_page(data, still(graph, options), options, options.usual_theme)


def render_steps(graph: Graph, options: RenderOptions, numbers: Sequence[int], seconds: float) -> str:
    """Return the page that opens on the first step.

    Args:
        graph: one that tells local derivatives and gradients on their way.
        options: how to draw; ``every`` says what a step is.
        numbers: of the steps, counted from 1; all if there is none.
        seconds: how long each step is shown when it plays.
    """
    data = page_data(graph, options, numbers, is_player=True) | {"seconds": seconds}
    return filled_page(data, still(graph, options), options, "light")


def render_quiz(blank: Graph, questions: Sequence[Data], options: RenderOptions) -> str:
    """Return the page that asks for what is missing in a picture, and checks the answers.

    Args:
        blank: the graph without the numbers that are asked for.
        questions: in the order in which they are asked, each with what it is ``about``, what is ``asked``, the
            ``answer``, its ``hints`` and the id of its ``node``.
        options: how to draw.
    """
    asked = [one | {"answer": str(one["answer"]).replace("inf", "Infinity")} for one in questions]
    data = page_data(blank, options, has_formula=False) | {"quiz": asked}
    return filled_page(data, still(blank, options), options, options.usual_theme)


def filled_page(data: Data, picture: str, options: RenderOptions, usual: str) -> str:
    """Return a page.

    Args:
        data: the graph.
        picture: what a browser without scripts shows.
        options: the theme is read.
        usual: the theme that nobody asks for: it is light or dark as the system is.
    """
    title = str(data["title"])
    data["stem"] = re.sub(r"[^A-Za-z0-9._-]+", "_", title)[:60].strip("._-") or "graph"
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_MEANT)
    script = '"use strict";' + shorter_script("".join(map(_read, [*SCRIPTS, "quiz.js"] if "quiz" in data else SCRIPTS)))
    chosen = options.theme if options.theme in ("dark", "light") and options.theme != usual else ""
    light = THEMES["torchviz" if options.theme == "dark" else options.theme]
    families = {name: FACES[face].css.partition(";")[0] for name, face in FAMILIES.items()}
    css = _filled(_read("page.css"), {"light": variables(light), "dark": variables(THEMES["dark"]), **families})
    fields = {
        "title": escape(title),
        "theme": f' data-theme="{chosen}"' if chosen else "",
        "css": shorter_style(css),
        "picture": shorter_style(_read("picture.css")),
        "script": script,
        "hash": hash_of(script),
        "data": text,
        "still": picture,
    }
    return _filled(_BETWEEN.sub(">", _read("page.html")), fields)


def live(page: str, number: int) -> str:
    """Return a page that a server shows: it asks ``state``, beside it, for a later picture and for what is wrong.

    Args:
        page: what :func:`render` has returned, or any other page.
        number: of the picture; ``state`` has the number of the last one, and ``text``, what is wrong.
    """
    script = _filled(shorter_script(_read("live.js")), {"number": str(number)})
    rule = f"connect-src 'self'; script-src 'sha256-{hash_of(script)}' 'sha256-"
    head, end, tail = page.replace("script-src 'sha256-", rule, 1).rpartition("</body>")
    return f"{head}<script>{script}</script>\n{end}{tail}"


def hash_of(script: str) -> str:
    """Return the hash by which a page's security policy knows a script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def still(graph: Graph, options: RenderOptions) -> str:
    """Return what a browser without scripts shows: a picture, of the modules if need be, or the beginning of the tree."""
    own = RenderOptions(precision=options.precision, legend=False, format="svg", layout="layered")
    most = STILL if len(graph.nodes) <= STILL else FOLDED
    with warnings.catch_warnings(action="ignore", category=RenderWarning):
        ways = ((drawn_parts(graph, way), way) for way, _ in ways_to_fit(graph, own))
        shown, way = next(((shown, way) for shown, way in ways if len(shown.nodes) <= most), (None, own))
        if shown is None:
            return f"<pre>{escape(tree(graph, replace(own, max_lines=STILL)))}</pre>"
        drawn = image.render(shown, way)
    text = drawn if isinstance(drawn, str) else drawn.decode()
    text = _SPACED.sub(r"\1>", text[text.index("<svg") :])  # the page's own style keeps blanks
    lines: dict[str, str] = {}
    for look, points in _LINES.findall(text):
        lines[look] = lines.get(look, "") + (points if points.startswith("M") else f"M{points}z")
    paths = "".join(f'<path class="{look}" d="{path}"/>' for look, path in lines.items())
    return _BETWEEN.sub(">", _LINES.sub("", text).replace("/>", f"/>{paths}", 1))  # upon the paper


def shorter_script(text: str) -> str:
    """Return a script without comments, and without blanks that mean nothing; its statements end in semicolons.

    >>> shorter_script("const a = (b) => 1;  /* one */ if (a) { f(a + +1, 'b // c'); } else return a;  // two")
    "let a=b=>1;if(a){f(a+ +1,'b // c')}else return a;"
    """

    def short(match: re.Match[str]) -> str:
        if match["const"]:
            return "let"
        around = text[match.start() - 1 : match.start()] + (match["name"] or text[match.end() : match.end() + 1])
        blank = " " * (around in ("++", "--") or bool(re.match(r"[\w$]{2}", around)))
        return match["kept"] or blank + (f"{match['name']}=>" if match["name"] else "")

    return _SCRIPT.sub(short, text)


def shorter_style(text: str) -> str:
    """Return a style sheet without comments, and without blanks that mean nothing.

    >>> shorter_style("a > b { color: red; margin: 0 1px; } /* c */")
    'a>b{color:red;margin:0 1px}'
    """
    return _STYLE.sub(lambda match: match[1] or "", text).replace(";}", "}").strip()


def variables(theme: Theme) -> str:
    """Return the colours of a theme as properties of CSS: ``--leaf-fill: #ADD8E6;``."""
    return " ".join(f"--{name}: {colour};" for name, colour in colour_names(theme).items())


def _read(name: str) -> str:
    """Return the text of a file of the page."""
    with open(os.path.join(_HOLDER, name), encoding="utf-8") as file:
        return file.read()


def _filled(text: str, fields: dict[str, str]) -> str:
    """Return a text with what stands for each of its fields."""
    return _FIELD.sub(lambda match: fields[match[1]], text)
