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
from dataclasses import replace
from html import escape

from gviz.errors import warn_user
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.pictures.interactive import page_data
from gviz.pictures.options import RenderOptions
from gviz.pictures.theme import THEMES, Theme
from gviz.render import image
from gviz.render.terminal import render as tree

SUFFIXES = ("html",)
TEXTS = SUFFIXES
DESCRIPTION = "a page to move in, fold, search and play, in one file"
IGNORES = ("fit", "scale", "transparent", "font_size", "color_by", "repeat_leaves", "graph", "node", "edge", "caption")

SCRIPTS = ("layout.js", "drawing.js", "panel.js", "control.js")
"""In this order they are one script."""

MANY = 20_000
"""Boxes from which on a browser takes long to open the page."""

STILL = 60
"""Boxes up to which a browser without scripts shows a picture, and lines of the tree that it shows of more."""

_FIELD = re.compile(r"\{\{(\w+)\}\}")
_INDENT = re.compile(r"^ *//[^\n]*\n|^/\*.*?\*/\n|^ +", re.MULTILINE | re.DOTALL)
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
    title = str(data["title"])
    data["stem"] = re.sub(r"[^A-Za-z0-9._-]+", "_", title)[:60].strip("._-") or "graph"
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_MEANT)
    script = '"use strict";\n' + _INDENT.sub("", "".join(map(_read, SCRIPTS)))
    chosen = options.theme if options.theme in ("dark", "light") and options.theme != options.usual_theme else ""
    light = THEMES["torchviz" if options.theme == "dark" else options.theme]
    fields = {
        "title": escape(title),
        "theme": f' data-theme="{chosen}"' if chosen else "",
        "css": _filled(_read("page.css"), {"light": variables(light), "dark": variables(THEMES["dark"])}),
        "picture": _read("picture.css"),
        "script": script,
        "hash": hash_of(script),
        "data": text,
        "still": still(graph, options),
    }
    return _filled(_read("page.html"), fields)


def live(page: str, number: int) -> str:
    """Return a page that a server shows: it asks ``state``, beside it, for a later picture and for what is wrong.

    Args:
        page: what :func:`render` has returned, or any other page.
        number: of the picture; ``state`` has the number of the last one, and ``text``, what is wrong.
    """
    script = _filled(_INDENT.sub("", _read("live.js")), {"number": str(number)})
    rule = f"connect-src 'self'; script-src 'sha256-{hash_of(script)}' 'sha256-"
    head, end, tail = page.replace("script-src 'sha256-", rule, 1).rpartition("</body>")
    return f"{head}<script>{script}</script>\n{end}{tail}"


def hash_of(script: str) -> str:
    """Return the hash by which a page's security policy knows a script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def still(graph: Graph, options: RenderOptions) -> str:
    """Return what a browser without scripts shows: a picture, or the beginning of the tree."""
    own = RenderOptions(view=options.view, precision=options.precision, legend=False)
    if len(graph.nodes) > STILL or own.view != "torchviz":
        return f"<pre>{escape(tree(graph, replace(own, max_lines=STILL)))}</pre>"
    drawn = image.render(graph, replace(own, format="svg"))
    text = drawn if isinstance(drawn, str) else drawn.decode()
    return text[text.index("<svg") :]


def variables(theme: Theme) -> str:
    """Return the colours of a theme as properties of CSS: ``--leaf-fill: #ADD8E6;``."""
    words = {
        "page": theme.page,
        "ink": theme.ink,
        "muted": theme.muted,
        "gradient": theme.gradient,
        "line": theme.line,
        "faint": theme.faint,
        "value": theme.value,
        "focus": theme.paths[0],
    }
    for kind, pair in theme.boxes.items():
        name = kind.replace(" ", "-")
        words |= {f"{name}-fill": pair.fill, f"{name}-pen": pair.pen}
    return " ".join(f"--{name}: {colour};" for name, colour in words.items())


def _read(name: str) -> str:
    """Return the text of a file of the page."""
    with open(os.path.join(_HOLDER, name), encoding="utf-8") as file:
        return file.read()


def _filled(text: str, fields: dict[str, str]) -> str:
    """Return a text with what stands for each of its fields."""
    return _FIELD.sub(lambda match: fields[match[1]], text)
