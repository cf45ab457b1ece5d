"""Places: where Graphviz has put the boxes, lines and frames of a picture, as data that can be moved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gviz.layout.graphviz import draw
from gviz.pictures.picture import Arrow, Frame, Picture, Shape, Statement


class Layout(NamedTuple):
    """Where everything is: attributes of boxes by id, lines by number, frames by path; the box around all.

    The marks are texts with their places: the ends of lines that go on in another row have the same number.
    """

    shapes: Mapping[str, Mapping[str, str]]
    arrows: Sequence[Mapping[str, str]]
    frames: Mapping[str, Mapping[str, str]]
    bounds: tuple[float, float, float, float]
    marks: Sequence[tuple[str, float, float]] = ()


def laid_out(picture: Picture, write: Callable[[Picture], str], graphviz: str) -> Layout:
    """Return the layout of a picture without its legend.

    Args:
        picture: what is laid out.
        write: returns a picture as DOT.
        graphviz: the engine that lays out.
    """
    numbered: list[Statement] = []
    count = 0
    for one in picture.statements:
        if isinstance(one, Arrow):
            numbered.append(one._replace(look={**one.look, "id": f"e{count}"}))
            count += 1
        elif isinstance(one, Frame) and one.path:
            numbered.append(one._replace(look={**one.look, "id": one.path.encode().hex()}))
        elif isinstance(one, Shape):
            numbered.append(one._replace(look={**one.look, "id": one.id.encode().hex()}))
        else:
            numbered.append(one)
    bare = {key: value for key, value in picture.graph.items() if key not in ("label", "size")}
    data = json.loads(
        draw(write(replace(picture, graph={**bare, "pad": "0"}, statements=numbered)), "json0", using=graphviz)
    )
    shapes, frames = {}, {}
    for item in data.get("objects", []):
        if "pos" in item:
            shapes[bytes.fromhex(item["id"]).decode()] = {key: item[key] for key in ("pos", "width", "height")}
        elif "bb" in item:
            frames[bytes.fromhex(item["id"]).decode()] = {
                k: item[k] for k in ("bb", "lp", "lwidth", "lheight") if k in item
            }
    arrows: list[Mapping[str, str]] = [{}] * count
    for item in data.get("edges", []):
        arrows[int(item["id"][1:])] = {key: item[key] for key in ("pos", "lp") if key in item}
    left, bottom, right, top = (float(number) for number in data["bb"].split(","))
    return Layout(shapes, arrows, frames, (left, bottom, right, top))


def placed(statements: Iterable[Statement], layout: Layout) -> list[Statement]:
    """Return boxes and lines with the places of a layout; a shape of a fixed size keeps it, as its label is larger."""
    result: list[Statement] = []
    count = 0
    for one in statements:
        if isinstance(one, Arrow):
            result.append(one._replace(look={**one.look, **layout.arrows[count]}))
            count += 1
        elif isinstance(one, Shape):
            own = {key: one.look[key] for key in ("width", "height") if "fixedsize" in one.look and key in one.look}
            result.append(one._replace(look={**one.look, **layout.shapes[one.id], **own}))
        else:
            result.append(one._replace(look={**one.look, **layout.frames.get(one.path, {})}) if one.path else one)
    return result
