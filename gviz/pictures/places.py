"""Places: where Graphviz has put the boxes, lines and frames of a picture, as data that can be moved."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gviz.layout.graphviz import draw
from gviz.pictures.picture import Arrow, Frame, Picture, Shape, Statement

_POINT = re.compile(r"([es],)?(-?[\d.]+(?:e[-+]?\d+)?),(-?[\d.]+(?:e[-+]?\d+)?)")

Point = tuple[float, float]
Curve = tuple[list[Point], Point | None, Point | None]
"""The points of a line, and where its arrowheads end, if it has any: at its start, at its end."""


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
        elif name := one.id if isinstance(one, Shape) else one.path:
            numbered.append(one._replace(look={**one.look, "id": name.encode().hex()}))
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


def curve_of(place: str) -> Curve:
    """Return a line as Graphviz writes its place.

    >>> curve_of("e,40,0 0,0 10,0 20,0 34,0")
    ([(0.0, 0.0), (10.0, 0.0), (20.0, 0.0), (34.0, 0.0)], None, (40.0, 0.0))
    """
    marked = [(mark, (float(x), float(y))) for mark, x, y in _POINT.findall(place)]
    tips = dict(marked)
    return [point for mark, point in marked if not mark], tips.get("s,"), tips.get("e,")


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


def with_free_titles(picture: Picture, write: Callable[[Picture], str], graphviz: str) -> Picture:
    """Return a picture whose frames have their titles on the right where a line would strike them through on the left.

    Nothing else moves by that. A title that is struck on both sides stays on the left.

    Args:
        picture: what is laid out.
        write: returns a picture as DOT.
        graphviz: the engine that lays out.
    """
    layout = laid_out(picture, write, graphviz)
    points = [point for arrow in layout.arrows for point in points_on(curve_of(arrow.get("pos", ""))[0])]

    def strikes(lines: Sequence[str], place: Mapping[str, str]) -> list[bool]:
        left, _, right, _ = (float(number) for number in place["bb"].split(","))
        middle, half = float(place["lp"].split(",")[1]), 36 * float(place["lheight"])
        width = 72 * float(place["lwidth"]) * max(len(line.strip()) for line in lines) / max(map(len, lines))
        beside = [x for x, y in points if abs(y - middle) < half]
        return [any(start < x < start + width for x in beside) for start in (left, right - width)]

    def turned(one: Statement) -> Statement:
        if not isinstance(one, Frame) or "lp" not in (place := layout.frames.get(one.path, {})):
            return one
        lines = one.look["label"].split("\n")
        if strikes(lines, place) != [True, False]:
            return one
        label = "\n".join(line.strip().rjust(len(line)) for line in lines)
        return one._replace(look={**one.look, "label": label, "labeljust": "r"})

    return replace(picture, statements=[turned(one) for one in picture.statements])


def points_on(curve: Sequence[Point]) -> Iterator[Point]:
    """Yield points on a line of Bezier curves, so near to one another that none passes a letter unseen.

    >>> list(points_on([(0.0, 0.0), (0.0, 2.0), (0.0, 4.0), (0.0, 6.0)]))
    [(0.0, 0.0), (0.0, 3.0), (0.0, 6.0)]
    """
    for at in range(0, len(curve) - 3, 3):
        a, b, c, d = curve[at : at + 4]
        steps = 1 + round(max(abs(d[0] - a[0]), abs(d[1] - a[1])) / 5)
        for step in range(steps + 1):
            t, u = step / steps, 1 - step / steps
            weights = u**3, 3 * u * u * t, 3 * u * t * t, t**3
            x, y = (sum(w * point[axis] for w, point in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
            yield x, y
