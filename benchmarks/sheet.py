"""One sheet of all views and themes: a few graphs in each, as slides; it is looked at, and is in docs/pictures.md."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gviz.errors import GvizWarning
from gviz.pictures.options import VIEWS
from gviz.pictures.theme import THEMES
from gviz.render import RenderOptions, render
from gviz.sources import SourceOptions, read

if TYPE_CHECKING:
    from gviz.graphs import Graph

ROOT = Path(__file__).parent.parent
SHEET = ROOT / "docs" / "pictures" / "sheet.png"

WIDTH, HEIGHT, GAP = 480, 270, 6
"""Pixels of a slide, a quarter of 1920 by 1080, and between two of them."""

BETWEEN = "#7F8589", "#B8B8B8", "#DDDDDD"
"""Colours of the edges of letters, besides those of the themes: few colours keep the file small."""


@dataclass(frozen=True)
class Sample:
    """A graph of the sheet: its source, and the values that go with it."""

    source: str
    values: dict[str, Any]
    frozen: tuple[str, ...] = ()


SAMPLES = (
    Sample("y=(x+w)*(w+1)", {"x": 2, "w": 1}),
    Sample("h=w*x+b", {"x": 1, "w": 4, "b": 0.5}, ("x",)),
    Sample("e=a*b+log(d)*c", {"a": 2, "b": 3, "c": 5, "d": 10}),
    Sample(str(ROOT / "samples" / "five_neurons_twice.py"), {}),
    Sample("L=((W@x-t)**2).sum()", {"W": [[1, 2], [3, 4]], "x": [5, 6], "t": [1, 1]}, ("t",)),
    Sample("y=log(x)*w", {"x": -1, "w": 3}),
    Sample("h=tanh(w*x+b); g=tanh(u*h+b); f=tanh(u*g+b); e=tanh(u*f+b); y=tanh(u*e+b)", {"w": 0.5, "u": 0.8}),
)


def main() -> None:
    """Write the sheet, or the slides at full size into the folder that is named."""
    warnings.simplefilter("ignore", GvizWarning)
    graphs = [graph_of(sample) for sample in SAMPLES]
    rows = [(view, "light") for view in VIEWS] + [("torchviz", theme) for theme in THEMES if theme != "light"]
    rows.append(("dataflow", "dark"))
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(exist_ok=True)
        for view, theme in rows:
            for number, graph in enumerate(graphs):
                (folder / f"{view}_{theme}_{number}.png").write_bytes(slide(graph, view, theme, 1))
        return
    write(SHEET, [[slide(graph, view, theme, 0.5) for graph in graphs] for view, theme in rows])


def graph_of(sample: Sample) -> Graph:
    """Return the graph of a sample, with the gradients on their way."""
    return read(
        sample.source, SourceOptions(frozen=sample.frozen, flow=True), say=lambda _: None, **sample.values
    ).graph


def slide(graph: Graph, view: str, theme: str, scale: float) -> bytes:
    """Return a slide as PNG, so many times 1920 pixels wide."""
    made = render(graph, "png", RenderOptions(view=view, theme=theme, fit="slide", scale=scale))
    return made if isinstance(made, bytes) else made.encode()


def write(file: Path, rows: list[list[bytes]]) -> None:
    """Write images side by side, a row above the next one."""
    from PIL import Image

    size = (len(rows[0]) * (WIDTH + GAP) + GAP, len(rows) * (HEIGHT + GAP) + GAP)
    sheet = Image.new("RGB", size, "#808080")
    for down, row in enumerate(rows):
        for across, image in enumerate(row):
            place = (GAP + across * (WIDTH + GAP), GAP + down * (HEIGHT + GAP))
            sheet.paste(
                Image.open(BytesIO(image)).convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS), place
            )
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in colours() for part in bytes.fromhex(colour[1:])])
    sheet.quantize(palette=palette, dither=Image.Dither.NONE).save(file, optimize=True)


def colours() -> list[str]:
    """Return the colours of all themes, each once."""
    found = list(BETWEEN)
    for theme in THEMES.values():
        found += [theme.page, theme.ink, theme.muted, theme.gradient, theme.line]
        found += [colour for pair in theme.boxes.values() for colour in pair]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    main()
