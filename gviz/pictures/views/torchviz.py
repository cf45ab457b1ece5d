"""TorchViz's boxes and arrows, nothing more and nothing less, with values in them; or its own picture, to the pixel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from gviz.graphs import ROW, Edge, Graph, Node, Region
from gviz.passes.scopes import GRADIENTS, derivative_ids, with_scopes
from gviz.pictures import html
from gviz.pictures.digits import EQUAL, Listing
from gviz.pictures.labels import boxes, leaf_kind, local_text, short
from gviz.pictures.legend import LegendEntry, kind_entries, unknown_entries
from gviz.pictures.look import ARROWS, BOX, BOXES, CLUSTER, LABEL, LONGEST_LINE, picture_size
from gviz.pictures.options import RenderOptions
from gviz.pictures.page import USUAL, WAYS, direction, themed
from gviz.pictures.picture import LARGE, Arrow, Frame, LazyStatements, Picture, Shape, Statement, labels_of
from gviz.pictures.repeat import with_repeats
from gviz.pictures.spans import Box, Span
from gviz.pictures.theme import THEMES, box_attributes, edge_attributes, error_attributes
from gviz.text import shorten

LONGEST_TITLE = 120
"""Characters of a name in the title of a frame, which is as wide as that."""

IGNORES = ("path", "by", "symbols")

LEGEND = {
    "leaf": "leaf: made by you, keeps its grad",
    "operation": "operation (its grad_fn)",
    "output": "root",
    "intermediate": "base of a view",
    "saved": "saved for backward",
    "frozen": "needs no gradient",
    "constant": "constant",
    "group": "many operations in one box",
    "carried": "what the block before has made (dashed arrow)",
    "added": "+ added",
    "removed": "- removed",
    "changed": "~ changed: old → new",
    "unchanged": "unchanged",
}
STATIC_LEGEND = {
    "placeholder": "placeholder: gets its value at each run",
    "variable": "variable: keeps its value between runs",
    "constant": "constant",
    "operation": "operation",
    "output": "root",
    "group": "name scope",
}
GROUPS = {
    "module": "module, as its calls were recorded",
    "names": "module, as names of parameters tell",
    "function": "function of the program",
    "line": "line of the program",
    "code": "part of the program",
}
"""What the legend says of each kind of box, and of groups."""


HIDDEN = {"style": "invis"}
"""A line that is not drawn, and holds boxes in their places."""

REPEATED_FRAME = {"penwidth": "2", "fontsize": "13"}
"""The frame of a block that stands for several."""


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture; ``options.show`` is empty for TorchViz's own."""
    shown, is_large = (
        with_scopes(graph) if graph.kind == "static" and not graph.regions else graph,
        len(graph.nodes) > LARGE,
    )
    if options.ghosts and options.show and graph.kind != "static" and not is_large and not options.groups:
        from gviz.passes.ghosts import with_ghosts

        shown = with_ghosts(shown)
    if options.show:
        shown = with_repeats(shown, options)
    in_frames = bool(shown.regions) and options.layout != "layered"
    drawn = boxes(shown, options, has_frames=in_frames)
    if shown.regions and not in_frames:
        drawn = _with_titles(drawn, shown)
    arrows = edge_attributes(THEMES[options.theme]) if options.show else ARROWS
    looks = _looks(drawn, options, has_inks=bool(options.show) and not is_large)

    def statements() -> Iterator[Statement]:
        yield from _frames(shown, looks, options) if in_frames else _shapes(shown.nodes, looks)
        lines = _lines(shown.edges, shown, arrows, options)
        yield from _with_derivatives(lines, shown, options) if in_frames and graph.kind == "static" else lines

    listed = LazyStatements(statements) if is_large else list(statements())
    size = {"size": picture_size(len(graph.nodes) + len(graph.edges))} if is_large or not options.show else {}
    if not options.show:
        label = LABEL if any(edge.label and edge.kind == "data" for edge in graph.edges) else {}
        return Picture(graph.title, {**size, **direction(options)}, BOX, label, listed)
    space = {"ranksep": "0.3" if options.direction in ("TB", "BT") else "0.4", "nodesep": "0.3"}
    if any(region.kind == ROW for region in shown.regions):
        space["remincross"] = "false"  # which would put the boxes of rows within frames into another order
    below = None if is_large else _legend(shown, listed, options)
    return themed(graph, options, {**size, "label": "", **space}, listed, below)


def _legend(graph: Graph, drawn: Iterable[Statement], options: RenderOptions) -> list[LegendEntry]:
    """Return the text below the picture: its kinds of boxes, and which way data and gradients go."""
    kinds = {node.kind for node in graph.nodes} | ({"output"} if graph.roots else set())
    results, is_static = {edge.target for edge in graph.edges}, graph.kind == "static"
    kinds |= {leaf_kind(graph.by_id[root]) for root in graph.roots if root not in results and not is_static}
    texts = {**LEGEND, **STATIC_LEGEND} if is_static and "leaf" in kinds else STATIC_LEGEND if is_static else LEGEND
    if options.groups and not is_static:
        is_told = options.groups == "module" and graph.guesses_modules
        texts = {**texts, "group": GROUPS["names" if is_told else options.groups]}
    way = WAYS[options.direction]
    back = f"{way.back} derivatives" if options.gradients == "beside" and derivative_ids(graph) else ""
    about = f"{way.data} data  {back}".rstrip() if is_static else f"{way.data} data; gradients flow back {way.back}"
    has_control = any(edge.kind == "control" for edge in graph.edges)
    dashed = "runs first, hands on no value" if is_static else "no gradient flows back"
    notes = [about, *([f"dashed arrow: {dashed}"] * has_control)]
    return [*kind_entries(texts, kinds), *unknown_entries(labels_of(drawn)), *map(LegendEntry, notes)]


def _looks(drawn: list[Box], options: RenderOptions, *, has_inks: bool) -> list[dict[str, str]]:
    """Return the look of each box; equal ones share theirs."""
    theme = THEMES[options.theme]
    unique = {id(box): box for box in drawn}
    looks = {
        kind: {} if kind == USUAL else box_attributes(kind, theme) if options.show else BOXES[kind]
        for kind in {box.kind for box in unique.values()}
    }
    look_of = {
        key: {
            "label": html.label(box, theme) if has_inks else html.plain(box),
            **looks[box.kind],
            **(error_attributes(theme) if box.is_error else {}),
        }
        for key, box in unique.items()
    }
    return [look_of[id(box)] for box in drawn]


def _shapes(nodes: Iterable[Node], looks: Iterable[dict[str, str]]) -> Iterator[Shape]:
    """Return the boxes, each with its look."""
    new_shape = partial(tuple.__new__, Shape)  # all fields at once: half the time of Shape(...)
    return (new_shape((node.id, look)) for node, look in zip(nodes, looks, strict=True))


def _frames(graph: Graph, looks: list[dict[str, str]], options: RenderOptions) -> Iterator[Statement]:
    """Yield the boxes, each within its frame, and each frame within the one around it."""
    inside: list[list[Shape]] = [[] for _ in (*graph.regions, None)]  # the last is what is in no frame
    within: list[list[int]] = [[] for _ in inside]
    paths: list[str] = []
    for number, region in enumerate(graph.regions):
        within[region.within].append(number)
        path = f"{paths[region.within]}/{region.title}" if region.within >= 0 else region.title
        paths.append(path if path not in paths else f"{path} ({number})")
    for node, shape in zip(graph.nodes, _shapes(graph.nodes, looks), strict=True):
        inside[node.region].append(shape)
    look = {**CLUSTER, "color": THEMES[options.theme].line} if options.show else CLUSTER
    over, below = ("b", "t") if options.direction == "BT" else ("t", "b")  # BT turns the picture over
    back = derivative_ids(graph) if options.gradients == "beside" and graph.kind == "static" else set[str]()
    ends = [(edge.target, edge.source) if edge.source in back else (edge.source, edge.target) for edge in graph.edges]
    entered, left = _entered(graph, ends), _entered(graph, [(end, start) for start, end in ends])
    drawn = {around for region in {node.region for node in graph.nodes} for around in graph.frames_around(region)}
    waiting: list[tuple[int, bool]] = [(-1, False)]
    while waiting:  # a stack: frames nest as deep as they like
        number, is_done = waiting.pop()
        if is_done:
            yield Frame()
            continue
        if number >= 0:
            region = graph.regions[number]
            is_below = number in entered and number not in left and region.times == 1
            place = below if is_below else over  # where no arrow strikes the title through
            own = {**look, "penwidth": "1", "labelloc": place, **(REPEATED_FRAME if region.times > 1 else {})}
            outer = graph.regions[region.within].title if region.within >= 0 else ""
            is_row = region.kind == ROW
            yield Frame(paths[number], {"rank": "same"} if is_row else {"label": frame_title(region, outer), **own})
            if is_row:
                yield from (Arrow(left.id, right.id, HIDDEN) for left, right in pairwise(inside[number]))
            waiting.append((number, True))
        yield from inside[number]
        waiting.extend((inner, False) for inner in reversed(within[number]) if inner in drawn)


def _with_derivatives(lines: Iterable[Arrow], graph: Graph, options: RenderOptions) -> Iterator[Arrow]:
    """Yield the lines of a static graph, and some that are not drawn, which keep its derivatives below their root.

    Derivatives that are to stand beside what they are of have lines that are laid out backwards: they begin level with
    the root, and go back as the data comes.
    """
    ids, is_beside = derivative_ids(graph), options.gradients == "beside"
    for line in lines:
        if not is_beside or line.end not in ids:
            yield line
        elif line.start in ids:
            yield Arrow(line.end, line.start, {**line.look, "dir": "back"})
        else:
            yield line._replace(look={**line.look, "constraint": "false"})
    outer = {number for number, region in enumerate(graph.regions) if region.title.startswith(GRADIENTS)}
    first = [node for node in graph.nodes if node.region in outer and not graph.inputs[node.id]]
    look = {**HIDDEN, **({"minlen": "0"} if is_beside else {})}
    for root in (node for node in graph.nodes if node.id in graph.roots and node.id not in ids):
        own = {-1, *graph.frames_around(root.region)}
        yield from (Arrow(root.id, node.id, look) for node in first if graph.regions[node.region].within in own)


def _with_titles(drawn: Iterable[Box], graph: Graph) -> list[Box]:
    """Return the boxes, each with a line for the frame that it is in, as a layout without frames needs it."""
    known: dict[tuple[int, int], Box] = {}
    found = []
    for box, node in zip(drawn, graph.nodes, strict=True):
        region = graph.regions[node.region] if node.region >= 0 else Region("")
        is_said = region.times == 1 and (node.name or "").startswith(f"{region.title}.")  # by its own name
        is_inside = node.region >= 0 and not is_said
        if is_inside:
            if (key := (id(box), node.region)) not in known:
                text = titles_around(graph.regions, node.region).removeprefix(node.name or " ").strip()
                label, *others = box.lines
                if node.kind == "carried" and node.label.startswith(f"↻ {region.title}"):  # which the title says
                    label = (Span("↻ from the block before"),)
                known[key] = box._replace(
                    lines=(label, *others, (Span(text if text.startswith("×") else f"in {text}", "muted"),))
                )
            box = known[key]  # noqa: PLW2901 - the same box with a line more
        found.append(box)
    return found


def titles_around(regions: Sequence[Region], number: int) -> str:
    """Return what the title of a frame says, with those around it that it does not begin with, and how often they repeat.

    >>> titles_around((Region("loop", times=3), Region("net", "Net", 0), Region("net.{0…4}", "Block", 1, 5)), 2)
    'net.{0…4}  Block  × 5 × 3'
    >>> titles_around((Region("layer3"), Region("norm", within=0)), 1)
    'layer3/norm'
    """
    inner, text = regions[number], frame_title(regions[number])
    while inner.within >= 0:
        outer = regions[inner.within]
        if outer.times > 1:
            text += f" × {outer.times}"
        elif not inner.title.startswith(outer.title):
            text = f"{outer.title}/{text}"
        inner = outer
    return text


def frame_title(region: Region, outer: str = "") -> str:
    """Return what is written on a frame; within another, of whose title it is a part, the rest of it.

    A fold has its whole title, by which ``--unfold`` knows it; so has what would be a number, which says how many.

    >>> frame_title(Region("net.blocks.{0…11}", "Block", times=12), "net"), frame_title(Region("net.fc", "Linear"), "net")
    ('net.blocks.{0…11}  Block  × 12', 'fc  Linear')
    """
    times = f"× {region.times}" if region.times > 1 else ""
    rest = region.title.removeprefix(f"{outer}.")
    title = region.title if times or not rest or rest[0].isdigit() else rest
    return "  ".join(filter(None, [short(title, LONGEST_TITLE), short(region.kind, LONGEST_TITLE), times]))


def _entered(graph: Graph, arrows: Iterable[tuple[str, str]]) -> set[int]:
    """Return the frames into which an arrow, told by its ends, leads from outside."""
    frames = {node.id: node.region for node in graph.nodes}
    entered: set[int] = set()
    for start, end in arrows:
        outside, frame = set[int](), frames[start]
        while frame >= 0:
            outside.add(frame)
            frame = graph.regions[frame].within
        frame = frames[end]
        while frame >= 0 and frame not in outside:
            entered.add(frame)
            frame = graph.regions[frame].within
    return entered


def _lines(
    edges: Iterable[Edge], graph: Graph, looks: Mapping[str, Mapping[str, str]], options: RenderOptions
) -> Iterator[Arrow]:
    """Yield the arrows of a graph, or some of them, with the looks of their kinds."""
    tensors = {node.id for node in graph.nodes if node.kind == "saved"}
    signs = {node.id for node in graph.nodes if node.kind == "carried"}
    outputs = {node.id: node.recorded.outputs for node in graph.nodes if node.recorded.outputs and options.show}
    data, has_locals = looks["data"], "local" in options.show
    listed = [node for node in graph.nodes if node.value is not None] if has_locals else []
    values = Listing(listed, graph, options.precision, 1) if has_locals else None
    new_arrow = partial(
        tuple.__new__, Arrow
    )  # all fields at once: half the time of Arrow(...), of which there are most
    for edge in edges:
        start, end, _, label, kind, output, *_ = edge
        if kind == "data" and not label and not has_locals and start not in outputs:
            yield new_arrow((start, end, data, "", ""))
            continue
        look = looks[kind]
        if kind == "saved":  # TorchViz's way round, which puts what is saved below the operation
            is_above = options.show and start not in tensors  # a leaf stays above the operations that keep it
            yield Arrow(end, start, {**look, "constraint": "false"} if is_above else look)
            continue
        if kind == "carried" and end in signs:  # above the block, so the arrow goes back up from what the block makes
            yield Arrow(end, start, {**look, "constraint": "true", "dir": "back"})
            continue
        if not label and output < len(outputs.get(start, ())):
            label = outputs[start][output]
        sign = values.sign_of_factor(edge, options.precision) if values is not None else EQUAL
        if has_locals and (text := local_text(edge, options.precision, sign)):
            yield Arrow(start, end, {"label": html.on_line(text, THEMES[options.theme], options), **look})
            continue
        if kind == "data" and label:
            room = " " * (graph.kind != "static")  # else its first letter touches the arrow
            look = {"label": room + shorten(label, LONGEST_LINE, middle=True), **look}
        yield Arrow(start, end, look)
