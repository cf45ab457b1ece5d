"""The part of a graph that is drawn, and what is drawn as one: the passes that the options ask for, in their order.

First what does not matter is left out, then nodes become groups, then groups that repeat become one: so that each pass
sees what the one before has made of the graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from gviz.errors import warn_user
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.passes import part
from gviz.passes.dataflow import dataflow
from gviz.passes.quotients import with_quotients
from gviz.passes.rounding import without_rounding
from gviz.passes.scopes import without_derivatives
from gviz.passes.statements import by_statement
from gviz.pictures.labels import LONGEST_STATEMENT, why_without_numbers
from gviz.pictures.options import GROUPS, READABLE, SHEETS, RenderOptions
from gviz.pictures.picture import LARGE
from gviz.text import joined

Made = TypeVar("Made")


def settled(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph with 0 for what rounding has left of a sum; as data it keeps what the engine has."""
    is_data = options.format == "json" or graph.kind == "static" or len(graph.nodes) > LARGE
    return graph if is_data else once(graph, without_rounding, lambda: without_rounding(graph))


def by_groups(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph with its modules, or lines, as boxes and frames."""
    from gviz.passes import groups  # few pictures need it

    if options.ghosts and graph.kind != "static":  # which groups do not name
        from gviz.passes.ghosts import with_ghosts

        graph = with_ghosts(graph)
    is_tried = may_fold(options, options.format) and not options.unfold  # names of folds are those of one depth
    boxes_of = (lambda shown: len(with_folds(shown, options)[0].nodes)) if is_tried else None
    return groups.grouped(graph, options.groups, options.depth, options.collapse, options.expand, boxes_of=boxes_of)


READABLE_GROUPS = 40
"""The same as ``READABLE`` for a picture of groups, whose boxes are larger."""

DATA = ("json", "html", "dot", "gv", "txt", "tensorboard")
"""Formats that have all of a graph unless folds are asked for; a page folds by itself."""


PARTS = ("around", "between", "hide", "max_nodes", "color_by", "ghosts")
"""Options of what a picture shows, which say that its operations are wanted."""


def may_group(options: RenderOptions, suffix: str) -> bool:
    """Return whether modules are boxes if there are too many operations: nobody has said what is drawn."""
    is_usual = options.view == "torchviz" and bool(options.show) and not options.by
    return is_usual and not options.differs(*PARTS) and suffix not in DATA


def is_by_module(graph: Graph, options: RenderOptions) -> bool:
    """Return whether modules, or the name scopes of a static graph, are boxes though nobody asks for them.

    The picture could not be read otherwise.
    """
    is_large = len(graph.nodes) > (READABLE_GROUPS if graph.kind == "static" else READABLE)
    return is_large and may_group(options, options.format) and graph.has_modules


def may_fold(options: RenderOptions, suffix: str) -> bool:
    """Return whether blocks that repeat are drawn once, if there are any."""
    is_picture = options.view == "torchviz" and bool(options.show)
    return options.fold != "off" and is_picture and (options.asks_folds or suffix not in DATA)


def with_folds(graph: Graph, options: RenderOptions) -> tuple[Graph, Sequence[str] | None]:
    """Return the graph with blocks that repeat drawn once, if that is wanted, and what these are; None if it is not."""
    is_asked, few = options.asks_folds, READABLE_GROUPS if options.groups else READABLE
    if not may_fold(options, options.format) or (not is_asked and len(graph.nodes) <= few):
        return graph, None
    from gviz.passes.fold import Folding  # few pictures need it

    asked = options.fold_min, options.unfold, options.fold == "range"
    folding = once(graph, (Folding, *asked), lambda: Folding(graph, *asked[:2], has_ranges=asked[2]))
    most = min(LARGE, len(graph.nodes) / 2)
    if not is_asked and (folding.least_boxes > most or len(folding.folded.nodes) > most):
        return graph, None
    return folding.folded, [*dict.fromkeys(f"{title} × {fold.count}" for fold, title in folding.titles.items())]


def without_repeats(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph with blocks that repeat drawn once, and say so where nobody has asked for it."""
    shown, texts = with_folds(graph, options)
    if texts is None:
        return graph
    if not texts and not options.unfold:
        warnings.warn("no blocks that repeat were found", RenderWarning, stacklevel=2)
    elif texts and not options.asks_folds:
        less = f"{len(shown.nodes)} boxes in place of {len(graph.nodes)}"
        what = f"blocks that repeat are drawn once: {joined(texts, most=3)}"
        warnings.warn(f"{what}; {less}; --fold off draws all", RenderWarning, stacklevel=2)
    return shown


def ways_to_fit(graph: Graph, options: RenderOptions) -> Iterator[tuple[RenderOptions, str]]:
    """Yield options with which a picture has fewer and fewer boxes, those asked for first, each with what is drawn.

    What somebody has chosen stays: ``--fold off`` folds nothing, ``--by operation`` groups nothing.
    """
    yield options, ""
    places = [node.place for node in graph.nodes if node.place is not None]
    if options.view in BY_STATEMENT and not options.by:
        statements = [node for node in by_statement(dataflow(graph)).nodes if node.kind == "operation"]
        if len(statements) > 1 and max(len(node.expression) for node in statements) <= LONGEST_STATEMENT:
            yield replace(options, by="statement"), "each statement is a box"
    if options.view != "torchviz" or not options.show:
        return
    folded = replace(options, fold="on") if options.fold == "auto" else options
    if folded is not options:
        yield folded, "blocks that repeat are drawn once"
    has_parts = graph.has_modules or bool(graph.functions) or any(not place.column for place in places)
    if not has_parts or options.by not in ("", *GROUPS):
        return
    is_free = options.by in ("", "module") and options.depth is None
    by = "code" if is_free else options.by or "module"
    hide = tuple(dict.fromkeys((*options.hide, "accumulate")))
    from gviz.passes.groups import Groups  # few pictures need it

    deepest = max(Groups(graph, by).levels) + 1
    depths = dict.fromkeys(min(depth, deepest) for depth in DEPTHS) if options.depth is None else (options.depth,)
    for depth in depths:
        for way in dict.fromkeys((options, folded)):
            what = "" if way is options else ", what repeats is drawn once"
            own = replace(way, by=by, depth=depth, hide=hide, layout="layered")  # without frames, so in several rows
            yield own, f"{PARTS_OF[by]} are boxes (--by {by} --depth {depth}){what}"


PARTS_OF = {"module": "modules", "function": "functions", "line": "lines", "code": "parts of the program"}
"""What is a box, in words, by the option."""

BY_STATEMENT = ("dataflow", *SHEETS)
"""Views that can draw each statement as one box."""

DEPTHS = (3, 2, 1)
"""Levels of modules that are opened on a page, until its type can be read."""

PASSES: dict[str, Callable[[Graph, RenderOptions], Graph]] = {
    "show": settled,
    "gradients": lambda graph, options: without_derivatives(graph) if options.gradients == "off" else graph,
    "hide": lambda graph, options: part.hidden(graph, options.hide),
    "between": lambda graph, options: part.between(graph, *options.between, has_ends=is_formula(graph, options)),
    "around": lambda graph, options: part.around(
        graph, options.around, options.hops, has_ends=is_formula(graph, options)
    ),
    "groups": by_groups,
    "fold": without_repeats,
    "max_nodes": lambda graph, options: part.nearest_to_roots(
        graph, options.max_nodes, has_ends=is_formula(graph, options)
    ),
}
"""Each by the option that asks for it, in the order in which they run."""

SELECTIONS = ("between", "around", "max_nodes")
"""Those that leave out boxes: of a formula they count what is drawn, and not what PyTorch has recorded."""

NOT_DRAWN = ("json", "txt", "tensorboard")
"""Formats that have the graph as it was recorded, whatever the view."""


def is_formula(graph: Graph, options: RenderOptions) -> bool:
    """Return whether a picture is of the formula: of values, and operations or statements between them."""
    is_view = options.view in BY_STATEMENT and options.format not in NOT_DRAWN
    return is_view and graph.kind != "static"


def drawn_parts(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph that a picture is of; the part of a formula is taken by :func:`drawn_formula`.

    Args:
        graph: as it was recorded.
        options: what is left out, grouped and folded.
    """
    later = SELECTIONS if is_formula(graph, options) else ()
    for option, apply in PASSES.items():
        if getattr(options, option) and option not in later:
            graph = apply(graph, options)
    return graph


def drawn_formula(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph of the formula with a node for each operation, or for each statement: the part that is drawn.

    Args:
        graph: what :func:`drawn_parts` returns.
        options: ``view``, ``by``, and what is left out.
    """
    key = drawn_formula, options.view in SHEETS, options.by, *(getattr(options, name) for name in (*SELECTIONS, "hops"))
    whole = with_derivatives(graph)

    def selected() -> Graph:
        shown = dataflow(whole)
        if options.view in SHEETS:
            shown = with_quotients(shown)
        if options.by == "statement":
            shown = by_statement(shown)
        for option in SELECTIONS:
            if getattr(options, option):
                shown = PASSES[option](shown, options)
        return shown

    return once(whole, key, selected)


def once(graph: Graph, key: object, make: Callable[[], Made]) -> Made:
    """Return what is made of a graph, which is made once for each key: a page tries several ways to draw one graph."""
    result: Made = graph.memo[key] if key in graph.memo else graph.memo.setdefault(key, make())
    return result


def with_derivatives(graph: Graph) -> Graph:
    """Return the graph with names of results and symbols of local derivatives; one that has them stays."""
    is_bare = not any(edge.flow.local is not None or edge.flow.handed is not None for edge in graph.edges)
    if is_bare and any(node.kind == "operation" for node in graph.nodes):
        warn_user(
            f"there are no numbers of gradients and local derivatives: {why_without_numbers(graph)}", RenderWarning
        )
    if any(edge.flow.symbol for edge in graph.edges):
        return graph
    from gviz.formulas.local import with_formula

    return once(graph, with_formula, lambda: with_formula(graph))
