"""The formula, from left to right: circles with signs, name and value below, the local derivative on each line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gviz.formulas.formula import UNKNOWN
from gviz.formulas.lectures import BY_ROWS, is_by_rows
from gviz.formulas.operations import jacobian_symbol, operator_of
from gviz.graphs import Edge, Graph, Node
from gviz.passes.elements import scalar_of, sum_text
from gviz.passes.starts import handed_on, starts_of
from gviz.pictures import html
from gviz.pictures.digits import (
    ABOUT,
    EQUAL,
    decimal,
)
from gviz.pictures.labels import (
    BEFORE,
    MOST_OUTPUTS,
    REPEATED,
    equation,
    gradient_line,
    hook_lines,
    is_brief,
    later_lines,
    matrix,
    name_along,
    name_line,
    norm,
    place_lines,
    short,
    small_text,
    statement_of,
    uses_line,
    value_lines,
    value_text,
)
from gviz.pictures.legend import FORMULA_WORDS, LegendEntry, kind_entries, kinds_in, unknown_entries
from gviz.pictures.options import FOLDING, RenderOptions
from gviz.pictures.page import WAYS, themed
from gviz.pictures.parts import drawn_formula
from gviz.pictures.picture import Arrow, Picture, Plate, Shape, Statement, labels_of
from gviz.pictures.repeat import with_repeats
from gviz.pictures.spans import Line, Span, text_of
from gviz.pictures.sums import Decimals, decimals_for, in_room, sum_at
from gviz.pictures.theme import THEMES, Theme, box_attributes, faded, with_alarm
from gviz.pictures.trails import WITHOUT_FACTORS, Trails, heading, trails_of, words
from gviz.text import quotient_of

IGNORES = ("ghosts", *FOLDING)

SPACE = {"nodesep": "0.16", "ranksep": "0.2"}

CIRCLE, LONGEST_SIGN = "0.5", 3
"""Inches of a circle, and letters in it."""

SIGN, WORD = 22, 13
"""Points: of a sign in a circle, and of a function's name."""

OUTSIDE = ("constant", "frozen")
"""Kinds of boxes to which no gradient goes."""

ENDS = ("frozen", "intermediate")
"""Kinds of boxes that say what they are computed by: no box that is drawn computes them."""

MOST_EDGES = 6
"""Lines from which on a local derivative stands on two lines."""

MOST_BELOW = 8
"""Lines below the graph on a page; more of them leave no room for it."""

_NUMBER = re.compile(r"-?\d+(\.\d*)?(e[-+]?\d+)?")
"""A symbol that says more than the numbers of all elements."""

GRAD = re.compile(r"\bgrad\b")
"""The gradient that arrives, in the symbol of a derivative that is not a factor."""

LONGEST_SYMBOL, LONGEST_NUMBER = 24, 28
"""Characters of a symbol, and of the numbers of its elements."""

LONGEST = 20
"""Characters of a tensor's numbers, and of a local derivative on one line: longer ones would make a strip of the
picture."""

DIGITS = 4
"""Characters more for each decimal beyond the usual ones: of a small tensor, so many numbers have it."""


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture of a graph."""
    shown, theme = drawn_formula(graph, options), THEMES[options.theme]
    trails = trails_of(shown, options.path)
    decimals = decimals_for(shown, options.precision, in_room(LONGEST, DIGITS), has_local)
    drawn = list(_statements(shown, options, theme, decimals, trails))
    if trails is None:
        return themed(shown, options, SPACE, drawn, _legend(shown, drawn, options, decimals))
    lines = list(words(trails, options, decimals.values))
    is_page = options.fit != "none" and not graph.stop  # which has a place of its own for them
    if is_page and len(lines) > MOST_BELOW:
        lines = [*words(trails, options, decimals.values, is_brief=True), (Span(WITHOUT_FACTORS, "muted"),)]
    notes = notes_on(shown, drawn, decimals.remark(options.show), lines)
    page = themed(shown, options, SPACE, drawn, None if is_page else notes, words=[] if is_page else lines)
    return replace(page, heading=heading(trails), caption=html.caption([*lines, *(note.line for note in notes)], theme))


def _statements(
    graph: Graph, options: RenderOptions, theme: Theme, decimals: Decimals, trails: Trails | None
) -> Iterator[Statement]:
    """Yield the boxes and the lines."""
    shown = with_repeats(graph, options)
    nodes = shown.by_id
    on_path = (
        trails.nodes | {edge.source for edge in shown.edges if trails.has(edge)} if trails is not None else set(nodes)
    )
    roots = [nodes[root] for root in starts_of(graph)]
    start = roots[0].grad.arrived if len(roots) == 1 else None
    is_derivative = len(roots) == 1 and not shown.has_hooks and (start is None or scalar_of(start) == 1)
    root = (roots[0].name or "") if is_derivative else ""
    room = room_of(options, options.precision)
    shapes: dict[str, Shape] = {}
    for node in shown.nodes:
        of_grad, lines = room_of(options, decimals.arrived(node.id)), list[Line]()
        outputs = [*decimals.tensors(node)]
        for one, uses in outputs if len(outputs) <= MOST_OUTPUTS else [(node, [])]:
            of_value = room_of(options, decimals.values.of(one))
            lines += value_lines(one._replace(expression=one.expression if node.kind in ENDS else ""), of_value)
            lines += gradient_lines(one, uses, root, of_grad, options.precision)
        lines += [
            *hook_lines(node, room),
            *([(Span(node.state, "muted"),)] if node.kind == "frozen" and node.state else []),
            *later_lines(node, room),
            *place_lines(node, options),
            *uses_line(node),
        ]
        own = theme if node.id in on_path else faded(theme)
        if trails is not None and node.id in trails.nodes:
            parts = trails.parts(node.id, options.precision) if has_parts(node, room) else None
            lines = with_parts(lines, parts, node, options.precision)
        statement = statement_of(node, options)
        sign = short(str(statement), LONGEST_NUMBER) if statement else operator_of(node.label)
        look = _box(
            node, lines, own, sign, is_root=node.id in graph.roots, is_upright=options.direction in ("TB", "BT")
        )
        shapes[node.id] = Shape(
            node.id, with_alarm(look if own is theme else {**look, "fontcolor": own.ink, "penwidth": "1"}, lines, own)
        )
    outside = {
        edge.source: shapes.pop(edge.source)
        for edge in shown.edges
        if edge.source in shapes and nodes[edge.source].kind in OUTSIDE
    }
    yield from shapes.values()
    texts = []
    number = {node.id: at for at, node in enumerate(shown.nodes)}
    for edge in sorted(shown.edges, key=lambda edge: (number[edge.target], edge.slot)):  # operands in their order
        text = derivative(edge, nodes, replace(options, precision=decimals.local(edge)), decimals.sign(edge))
        # where other ways lead to a root, ∂y/∂x is their sum
        is_one_of_several = bool(root) and edge.target in graph.roots and len(graph.uses.get(edge.source, [])) > 1
        texts.append((edge, text[1:] if is_one_of_several and len(text) > 1 else text))
    for line in _lines_of(texts, nodes, options, theme, trails):
        if isinstance(line, Arrow) and line.start in outside:
            yield outside.pop(line.start)  # Graphviz begins with boxes in the order in which it hears of them
        yield line


def room_of(options: RenderOptions, precision: int) -> RenderOptions:
    """Return the options for numbers with so many decimals: what the lines of a circle may take grows with them."""
    most = min(options.max_chars, LONGEST + DIGITS * max(precision - 4, 0))
    return replace(options, precision=precision, max_chars=most)


def has_parts(node: Node, options: RenderOptions) -> bool:
    """Return whether there is room for the gradient of a node as a sum: that of its norm would be none."""
    value = node.grad.value if node.kind == "leaf" else node.grad.arrived
    return "grad" in options.show and is_brief(value, options.precision, options.max_chars)


def with_parts(lines: list[Line], sums: tuple[Line, str] | None, node: Node, precision: int) -> list[Line]:
    """Return the lines of a node on a path, where an ink means a path: the sum in those of its summands.

    What was there before backward is one of them, whether or not the sum had room in the box.
    """
    ink = "" if node.kind == "leaf" else "muted"
    plain: list[Line] = [
        tuple(span._replace(ink=ink) if span.ink == "gradient" else span for span in line) for line in lines
    ]
    before = node.grad.before if node.kind == "leaf" and norm(node.grad.before) > 0 else None
    if sums is None or (len(sums[0]) == 1 and before is None):
        return plain
    parts, sign = sums
    head = Span(sign if before is None else f"{sign}{value_text(before, precision)}{BEFORE} + ")
    return [line for line in plain if not line[0].text.startswith((EQUAL, ABOUT))] + [(head, *parts)]


def _box(node: Node, lines: list[Line], theme: Theme, sign: str, *, is_root: bool, is_upright: bool) -> dict[str, str]:
    """Return the look of a node; of an operation with a sign."""
    if node.kind == "operation":
        rows = [row for line in lines for row in matrix(line)]
        return circle(sign, rows, theme, is_root=is_root, is_upright=is_upright)
    is_repeated = node.state == REPEATED
    if node.kind == "constant" or is_repeated:
        lines = [name_line(node)]
    rows = [row for line in lines for row in matrix(line)]
    return {**box_attributes("repeat" if is_repeated else node.kind, theme), "label": html.box(rows, theme)}


def _lines_of(
    texts: Sequence[tuple[Edge, tuple[str, ...]]],
    nodes: dict[str, Node],
    options: RenderOptions,
    theme: Theme,
    trails: Trails | None,
) -> Iterator[Statement]:
    """Yield the lines, each with its local derivative on a plate in the middle."""
    out, side = WAYS[options.direction][:2]
    boxes = {node for node in nodes if statement_of(nodes[node], options)}
    is_two = on_two_lines([text for _, text in texts])
    for number, (edge, text) in enumerate(texts):
        is_off = trails is not None and not trails.has(edge)
        look = trails.look(edge, theme) if trails is not None else {}
        into = "" if edge.target in boxes else side  # lines that all end at one point of a box run along it
        if nodes[edge.source].kind in OUTSIDE:
            pen = theme.faint if is_off else theme.boxes["dashed"].pen
            yield Arrow(edge.source, edge.target, {"style": "dashed", "color": pen, "arrowhead": "none"}, out, into)
        elif not text:
            yield Arrow(edge.source, edge.target, look, out, into)
        else:
            ink, is_bold = (trails.ink(edge), not is_off) if trails is not None and not is_off else ("muted", False)
            parts = text if is_two else (" = ".join(text),)
            plate = html.plate(
                [(Span(part, ink, is_bold=is_bold),) for part in parts], faded(theme) if is_off else theme
            )
            yield Plate(f"p{number}", plate)
            yield Arrow(edge.source, f"p{number}", {**look, "arrowhead": "none"}, out, into)
            yield Arrow(f"p{number}", edge.target, look, out, into)


def derivative(edge: Edge, nodes: dict[str, Node], options: RenderOptions, sign: str = EQUAL) -> tuple[str, ...]:
    """Return the local derivative of a line: the quotient, then its symbol and number; nothing if neither is known.

    Of one that is not a factor, such as a matrix product, there is no quotient: the formula is told, or the name of the
    function that makes the gradient, and what it makes: the number, or the norm of several.
    """
    if nodes[edge.source].kind in OUTSIDE:
        return ()
    has_symbol, has_number = options.symbols in ("symbol", "both"), options.symbols in ("number", "both")
    number, own = small_text(edge.flow.local, options.precision), edge.flow.symbol
    if len(own) > LONGEST_SYMBOL:
        function = operator_of(nodes[edge.target].label)
        has_name = function.isidentifier() and options.by != "statement" and not is_vjp(edge)
        own = f"{function}′" if has_name else ""
    is_name = own.startswith("J(")  # which says less than its numbers
    symbol = own if has_symbol and not (number and (UNKNOWN in own or is_name)) else ""
    if is_vjp(edge) and (not symbol or GRAD.search(symbol)):
        if has_symbol and not symbol:
            user = nodes[edge.target]
            has_formula = user.label and options.by != "statement"
            name = jacobian_symbol(user.label) if has_formula else f"grad through {user.name or '·'}"
            symbol = short(name, LONGEST_SYMBOL)
        handed = edge.flow.handed if has_number and "grad" in options.show else None
        size = f"norm {decimal(norm(handed), options.precision)}" if handed is not None else ""
        if handed is not None and handed.numel == 1:
            size = f"{'= ' * bool(symbol)}{value_text(handed, options.precision)}"
        return tuple(filter(None, [symbol, size]))
    if len(number) > LONGEST_NUMBER or not has_number or _NUMBER.fullmatch(symbol):
        number = ""
    text = f" {sign}".join(dict.fromkeys(part for part in (symbol, number) if part))
    quotient = quotient_of(nodes[edge.target].name or "·", name_along(edge, nodes[edge.source]))
    total = f", {sum_text(edge)}" if sum_text(edge) else ""
    if symbol and number and len(text) > LONGEST:
        return (quotient, symbol, f"{sign}{number}{total}")
    return (quotient, f"{text}{total}") if text else ()


def has_local(edge: Edge, decimals: int) -> bool:
    """Return whether the number of a local derivative stands on its line, with so many decimals."""
    return edge.flow.local is not None and in_room(LONGEST_NUMBER)(edge.flow.local, decimals)


def is_vjp(edge: Edge) -> bool:
    """Return whether a derivative is no factor, but told by what it makes of the gradient that arrives."""
    return edge.flow.local is None and (not edge.flow.symbol or bool(GRAD.search(edge.flow.symbol)))


def on_two_lines(texts: Sequence[tuple[str, ...]]) -> bool:
    """Return whether the local derivatives stand on lines below each other: they are many, or long."""
    are_long = any(
        sum(map(len, text)) > LONGEST or text[-1].startswith(("norm ", EQUAL, ABOUT)) for text in texts if text
    )
    return are_long or sum(map(bool, texts)) > MOST_EDGES


def gradient_lines(node: Node, uses: list[Edge], root: str, options: RenderOptions, precision: int) -> Iterator[Line]:
    """Yield the gradient of a node; and the sum, where it arrives in several ways, or to what was there before.

    The parts of the sum have at least ``precision`` decimals.
    """
    if "grad" not in options.show:
        return
    if node.kind == "leaf":
        yield from gradient_line(node, options)
    elif node.grad.arrived is not None:
        quotient = quotient_of(root, node.name or "·") if root else "grad"
        quotient = quotient if len(quotient) <= LONGEST else "grad"
        yield (Span(equation(quotient, node.grad.arrived, options.precision, options.max_chars), "gradient"),)
    total = sum_at(node, handed_on(uses))
    is_equation = total.is_whole and is_brief(total.total, options.precision, options.max_chars)  # norms do not add up
    texts, sign = total.texts(precision, options.precision) if is_equation else ([], "")
    text = f"{sign}{' + '.join(texts)}"
    if len(texts) > 1 and len(text) <= 2 * options.max_chars:
        yield (Span(text, "gradient"),)


def circle(
    text: str, lines: Sequence[Line], theme: Theme, *, is_root: bool, ink: str = "", is_upright: bool = False
) -> dict[str, str]:
    """Return the look of an operation: a circle with its sign, lines where no arrow goes; or a box with its formula."""
    sign = Span(text, ink, is_bold=True)
    fill, pen = theme.boxes["output" if is_root else "operation"]
    look = {"fillcolor": fill, "color": pen, "penwidth": "2.4" if is_root else "1.2"}
    if len(sign.text) > LONGEST_SIGN:  # only of circles does Graphviz find the edge below a text that is larger
        return {**look, "label": html.box([(sign,), *lines], theme)}
    place = html.beside if is_upright else html.centred
    label = place((sign,), lines, SIGN if len(sign.text) == 1 else WORD, theme)
    return {**look, "shape": "circle", "width": CIRCLE, "height": CIRCLE, "fixedsize": "shape", "label": label}


def notes_on(graph: Graph, drawn: Sequence[Statement], remark: str, lines: Sequence[Line] = ()) -> list[LegendEntry]:
    """Return the remarks on signs in the symbols of a picture, and on its numbers."""
    rows = BY_ROWS if any(is_by_rows(edge.flow.symbol) for edge in graph.edges) else ""
    texts = (*labels_of(drawn), *map(text_of, lines))
    return [*unknown_entries(texts), *(LegendEntry(text, ink="muted") for text in (remark, rows) if text)]


def _legend(graph: Graph, drawn: Sequence[Statement], options: RenderOptions, decimals: Decimals) -> list[LegendEntry]:
    """Return the text below the picture."""
    derivatives = {is_vjp(edge) for edge in graph.edges if derivative(edge, graph.by_id, options)}
    texts = {False: "local derivative", True: "what becomes of grad, which arrives"}
    about = " or ".join(texts[each] for each in sorted(derivatives))
    notes = [LegendEntry(f"on a line: {about}")] if about else []
    if "grad" in options.show and any(node.grad.arrived is not None for node in graph.nodes):
        text = f"∂…/∂…, grad: gradient, flows {WAYS[options.direction].flows}"
        notes.append(LegendEntry(text, ink="gradient"))
    notes += notes_on(graph, drawn, decimals.remark(options.show))
    return [*kind_entries(FORMULA_WORDS, kinds_in(graph)), *notes]
