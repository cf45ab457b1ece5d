"""Mermaid's flowchart: text that GitHub, GitLab, Obsidian and Notion draw in Markdown, each in its own layout.

Source: https://mermaid.js.org/syntax/flowchart.html.
"""

from __future__ import annotations

from gviz.errors import warn_user
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.pictures.labels import boxes
from gviz.pictures.options import RenderOptions
from gviz.pictures.spans import Line
from gviz.pictures.theme import THEMES
from gviz.text import visible

SUFFIXES = ("mmd", "mermaid")
TEXTS = SUFFIXES
DESCRIPTION = "a flowchart for Markdown, which GitHub and others draw"
IGNORES = ("view", "path", "fit", "scale", "transparent", "font_size", "color_by", "graph", "node", "edge", "legend")

MOST_ARROWS, MOST_TEXT = 500, 50_000
"""Arrows, and characters, of which a page of GitHub draws nothing more; nobody who writes the page can change it."""

SHAPES = {
    "leaf": ("([", "])"),
    "frozen": ("([", "])"),
    "placeholder": ("([", "])"),
    "output": ("[[", "]]"),
    "saved": ("[/", "/]"),
    "group": ("[[", "]]"),
}
"""The brackets around a box of each kind; others have square ones."""

ARROWS = {"saved": "-.-", "data": "-->", "added": "==>"}
"""The arrow of each kind of edge; others are dashed."""

DASHED = ("frozen", "constant", "repeat", "carried")

THICK = ("leaf", "output", "group")

_PLAIN = frozenset(" ().,:=+-/_'")


def render(graph: Graph, options: RenderOptions) -> str:
    """Return the graph as a flowchart."""
    says, theme = boxes(graph, options, table=False), THEMES[options.theme]
    number = {
        node.id: f"g{place}" for place, node in enumerate(graph.nodes)
    }  # an id such as "end" is a word of its own
    lines = [f"flowchart {options.rankdir or 'TB'}"]
    for node, box in zip(graph.nodes, says, strict=True):
        start, end = SHAPES.get(box.kind, ("[", "]"))
        lines.append(
            f'  {number[node.id]}{start}"{"<br>".join(map(bold_text, box.lines))}"{end}:::{class_of(box.kind)}'
        )
    for edge in graph.edges:
        label = f'|"{mermaid_text(edge.label)}"|' if edge.label else ""
        lines.append(f"  {number[edge.source]} {ARROWS.get(edge.kind, '-.->')}{label} {number[edge.target]}")
    for kind in sorted({box.kind for box in says}):
        fill, pen = theme.boxes[kind]
        dash = ",stroke-dasharray:4 3" * (kind in DASHED)
        width = 1 + (kind in THICK)
        lines.append(
            f"  classDef {class_of(kind)} fill:{fill},stroke:{pen},color:{theme.ink},stroke-width:{width}px{dash}"
        )
    text = "\n".join(lines) + "\n"
    if len(graph.edges) > MOST_ARROWS or len(text) > MOST_TEXT:
        size = f"{len(graph.edges)} arrows and {len(text)} characters"
        most = (
            f"GitHub draws at most {MOST_ARROWS} and {MOST_TEXT}: --by module, --fold on or --max-nodes N draws fewer"
        )
        warn_user(f"the flowchart has {size}; {most}", RenderWarning)
    return text


def class_of(kind: str) -> str:
    """Return the name of a kind's look; ``class`` alone and the like are words of Mermaid."""
    return f"is_{kind.replace(' ', '_')}"


def bold_text(line: Line) -> str:
    """Return a line of a box."""
    text = "".join(f"<b>{mermaid_text(span.text)}</b>" if span.is_bold else mermaid_text(span.text) for span in line)
    return text or " "


def mermaid_text(text: str) -> str:
    r"""Return a text as it stands in quotes: whatever could be markup goes as the number of its character.

    >>> mermaid_text('a = x * w'), mermaid_text('<b> "end"\n')
    ('a = x #42; w', '#60;b#62; #34;end#34;<br>')
    """
    return "".join(map(_sign, visible(text)))


def _sign(c: str) -> str:
    """Return a character as it stands in quotes."""
    return c if (c.isalnum() and c.isascii()) or c in _PLAIN else "<br>" if c == "\n" else f"#{ord(c)};"
