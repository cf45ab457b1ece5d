"""Paths of the chain rule in a picture: a colour and a dash for each, products and sums in words, all else faint."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap

from gviz.derivations.derivation import begins_with_one, step_kind, without_large
from gviz.derivations.paths import GAP, MOST, Chain, Path, above, find_chains, gradient_along
from gviz.formulas.formula import GRAD, Formula
from gviz.graphs import NO_FLOW, Edge, Graph
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.elements import agree, sum_of
from gviz.pictures.digits import (
    ABOUT,
    EQUAL,
    Listing,
    decimals_at,
    joined_sides,
    level_that_holds,
    printed,
    printed_sum,
)
from gviz.pictures.labels import (
    MOST_VALUES,
    SPACE_KEPT,
    cause_of_hooks,
    equation,
    in_brackets,
    is_small,
    of_one_pass,
    short,
    short_value,
    value_text,
)
from gviz.pictures.options import RenderOptions
from gviz.pictures.spans import Line, Span
from gviz.pictures.theme import Theme
from gviz.text import quotient_of

STYLES = ("solid", "dashed", "dotted", "solid")
SAMPLES = ("━━", "╍╍", "┉┉", "══")
"""Each path's line, and how it looks in a text; the fourth is a double line."""

WIDTH, DOUBLE, SHARED = "2.6", "1.3", "4.5"
"""Pens: of a path, of each half of a double line, and of several paths in one ink."""

LONGEST, LONGEST_PART = 84, 30
"""Characters of a line in words, and of the names of a path, or its symbols."""

MOST_PARTS = 24
"""Parts of a product that are written; of a longer one those at its ends."""

MOST_ENTRIES = 16
"""Numbers of a Jacobian that are written out."""

AT = "@ "
"""The sign before a Jacobian."""

WITHOUT_FACTORS = "the factors along each path are left out: there is no room for them"

NUMBERS = ("no", "one", "two", "three", "four")


@dataclass(frozen=True)
class Trails:
    """Paths as they are drawn.

    Args:
        chains: all paths to each tensor that was asked for.
        listed: those that are drawn, each with its chain.
        through: the edges of all paths, by target and slot, each with the numbers of the listed ones through it.
        nodes: the nodes on them.
        in_words: these, and those whose names are in the symbols of the listed paths.
        remarks: what is left out of the graph, through which there may be other paths.
    """

    chains: tuple[Chain, ...]
    listed: tuple[tuple[Chain, Path], ...]
    through: dict[tuple[str, int], tuple[int, ...]]
    nodes: frozenset[str]
    in_words: frozenset[str]
    remarks: tuple[str, ...]

    def has(self, edge: Edge) -> bool:
        """Return whether an edge is on a path."""
        return (edge.target, edge.slot) in self.through

    def ink(self, edge: Edge) -> str:
        """Return the ink of what stands on an edge: the usual one where several paths go."""
        numbers = self.through.get((edge.target, edge.slot), ())
        return f"path {numbers[0]}" if len(numbers) == 1 else ""

    def look(self, edge: Edge, theme: Theme) -> dict[str, str]:
        """Return the attributes of an edge's line."""
        numbers = self.through.get((edge.target, edge.slot))
        if not numbers:
            return {"color": theme.faint} if numbers is None else {}
        colours = [theme.paths[number] for number in numbers]
        if len(numbers) == 1 and numbers[0] == MOST - 1:
            return {"color": f"{colours[0]}:{theme.page}:{colours[0]}", "penwidth": DOUBLE}
        if len(numbers) == 1:
            return {"color": colours[0], "penwidth": WIDTH, "style": STYLES[numbers[0]]}
        if len(set(colours)) == 1:
            return {"color": colours[0], "penwidth": SHARED}
        return {"color": ":".join(colours), "penwidth": WIDTH}

    def parts(self, node: str, precision: int) -> tuple[Line, str] | None:
        """Return the products of the paths to a node as a sum, and the sign before.

        None if that is not all of it, or its ``.grad`` is something else.
        """
        for chain in self.chains:
            grad = chain.node.grad
            is_own = grad.value is None or agree(grad.value, chain.grad) or agree(of_one_pass(grad), chain.grad)
            if chain.node.id == node and chain.is_complete and chain.sum is not None and is_own:
                own = [(number, path) for number, (owner, path) in enumerate(self.listed) if owner is chain]
                return summands(own, precision)
        return None


def trails_of(graph: Graph, names: Sequence[str]) -> Trails | None:
    """Return the paths to tensors of these names; None if there is no name.

    Of several tensors each gets one path in turn, as long as there are colours.

    Raises:
        SourceError: there is no path to one of them.
    """
    if not names:
        return None
    chains = find_chains(without_large(graph), names)
    turns: list[tuple[int, int]] = []
    for turn in range(MOST):
        turns += [(number, turn) for number, chain in enumerate(chains) if turn < len(chain.paths)]
    pairs = tuple((chains[number], chains[number].paths[turn]) for number, turn in sorted(turns[:MOST]))
    nodes = frozenset(above(graph, [chain.node.id for chain in chains]))
    through: dict[tuple[str, int], tuple[int, ...]] = {
        (edge.target, edge.slot): () for edge in graph.edges if edge.source in nodes
    }
    for number, (_, path) in enumerate(pairs):
        for edge in path.edges:
            key = edge.target, edge.slot
            if key in through:  # what stands for the steps that a long path leaves out is no edge
                through[key] = (*through[key], number)
    factors = {
        name
        for _, path in pairs
        for symbol in path.symbols
        if (formula := Formula.read(symbol)) is not None
        for name in formula.names
    }
    in_words = nodes | {node.id for node in graph.nodes if node.name in factors}
    return Trails(chains, pairs, through, nodes, in_words, graph.remarks)


def heading(trails: Trails) -> str:
    """Return what stands above a picture of one tensor's paths."""
    if len(trails.chains) > 1:
        return f"{', '.join(_quotient(chain) for chain in trails.chains)} by the chain rule"
    chain, where = trails.chains[0], " in what is drawn" if trails.remarks else ""
    if chain.count == 1:
        return f"{_quotient(chain)} by the chain rule: one path{where}, multiply along"
    count = NUMBERS[chain.count] if chain.count < len(NUMBERS) else f"{chain.count:,}"
    return f"{_quotient(chain)} by the chain rule: {count} paths{where}, multiply along, add"


def words(trails: Trails, options: RenderOptions, values: Listing, *, is_brief: bool = False) -> Iterator[Line]:
    """Yield the lines of each path that is drawn, on request one without its factors, and one for each sum."""
    for chain in trails.chains:
        own = [(number, path) for number, (owner, path) in enumerate(trails.listed) if owner is chain]
        for number, path in own:
            lines = list(path_lines(number, path, chain, options, values))
            yield from [brief_line(number, path, options.precision)] if is_brief and len(lines) > 1 else lines
        if len(own) < chain.count:
            yield (
                Span(f"{len(own)} of the {chain.count:,} paths from {' and '.join(chain.of)} to {chain.wrt} are drawn"),
            )
        yield tuple(_sum_line(chain, own, options, trails.remarks))


def brief_line(number: int, path: Path, precision: int) -> Line:
    """Return a path in one line: its names and its product, if this is small."""
    names = short(" → ".join(path.names), LONGEST - 8)
    is_number = path.product is not None and is_small(size_of(path.product))
    product = f": {value_text(path.product, precision)}" if is_number else ""
    return (Span(f"{SAMPLES[number]}  {names}{product}", f"path {number}"),)


def path_lines(number: int, path: Path, chain: Chain, options: RenderOptions, values: Listing) -> Iterator[Line]:
    """Yield a path in words: names, symbols, numbers, product; in more than one line if they are long."""
    ink, names = f"path {number}", " → ".join(path.names)
    head = f"{SAMPLES[number]}  {names if len(names) < LONGEST - 8 else short(names, LONGEST_PART)}:   "
    compute = partial(printed_product, path.start, path.edges, options.precision)
    is_whole = len(path.edges) <= MOST_PARTS
    level = level_that_holds(path.product, options.precision, compute) if is_whole else 0
    start = (
        []
        if begins_with_one(chain) or not is_small(size_of(path.start))
        else [value_text(path.start, decimals_at(path.start, options.precision, level))]
    )
    sums = ["", *path.sums] if start else path.sums
    sign = EQUAL
    sides = [product_text([*start, *(symbol.replace(".T", "ᵀ") for symbol in path.symbols)], sums)]
    product, along = "", ""
    if path.product is not None and is_small(size_of(path.product)):
        product = value_text(path.product, options.precision)
        if (numbers := factors_in_numbers(path, options.precision, level)) is not None:
            places = ((edge, decimals_at(edge.flow.local, options.precision, level)) for edge in path.edges)
            is_about = any(values.sign_of_factor(edge, decimals) == ABOUT for edge, decimals in places)
            sides.append(f"{ABOUT if is_about else ''}{product_text([*start, *numbers], sums)}")
            sign = ABOUT if level is None or sides[-1] == f"{ABOUT}{product}" else EQUAL
        else:
            along = gradients_along(path, options.precision)
    sides = [side for side in dict.fromkeys(sides) if side.removeprefix(ABOUT) != product]
    lines = [f"{head}{joined_sides(sides)}{f' {sign}' if product and sides else ''}"]
    if len(lines[0]) + len(product) > LONGEST:
        indent = SPACE_KEPT * 4
        folded = [
            wrap(f"{EQUAL * (bool(at) and not side.startswith(ABOUT))}{side}", LONGEST, break_on_hyphens=False)
            for at, side in enumerate(sides)
        ]
        rows = [row for one in folded for row in one]
        lines = [f"{head}{rows[0]}", *(indent + row for row in rows[1:])]  # as much on a line as it holds
        if len(lines[0]) > LONGEST:
            lines[:1] = [head, indent + rows[0]]
        if product and len(lines[-1]) + len(product) <= LONGEST:
            lines[-1] += f" {sign}"
        elif product:
            lines.append(f"{indent}{sign}")
    yield from ((Span(line, ink),) for line in lines[:-1])
    yield (Span(lines[-1], ink), *([Span(product, ink, is_bold=True)] if product else []))
    yield from ((Span(SPACE_KEPT * 4 + row, ink),) for row in wrap(along, LONGEST, break_on_hyphens=False))


def printed_product(start: Numbers | None, edges: Sequence[Edge], precision: int, level: int) -> Numbers | None:
    """Return what a gradient becomes along some edges, all numbers as they are printed."""
    value = printed(start, precision, level)
    for edge in edges:
        flow = edge.flow
        local, jacobian = (printed(one, precision, level) for one in (flow.local, flow.jacobian))
        rounded_flow = flow if flow is NO_FLOW else flow._replace(local=local, jacobian=jacobian)
        value = gradient_along(value, edge._replace(flow=rounded_flow))
    return value


def gradients_along(path: Path, precision: int) -> str:
    """Return what a gradient becomes along a path with more than factors; "" where it is long, or unknown."""
    values = [path.start, *path.gradients]
    if len(values) != len(path.names) or len(values) > MOST_PARTS or not all(values):
        return ""
    texts = (short_value(value, precision) for value in values)
    pairs = zip(path.names, texts, strict=True)
    steps = " → ".join(f"{name}: {text}".replace(" ", SPACE_KEPT) for name, text in pairs)
    return f"{GRAD}, step by step: {steps}"


def factors_in_numbers(path: Path, precision: int, level: int | None) -> list[str] | None:
    """Return the numbers of each step of a path; None where one is not known, large, or no product of what is shown.

    A Jacobian, which stands behind @, is a product with what is before it where that is a number or a vector.
    """
    texts = []
    for edge, gradient in zip(path.edges, path.gradients, strict=False):
        is_matrix = step_kind(edge) == "matrix"
        value = edge.flow.jacobian if is_matrix else edge.flow.local
        most = MOST_ENTRIES if is_matrix else MOST_VALUES
        if value is None or not 0 < math.prod(size_of(value)) <= most or (is_matrix and len(size_of(gradient)) != 1):
            return None
        texts.append(f"{AT if is_matrix else ''}{value_text(value, decimals_at(value, precision, level))}")
    return texts if len(texts) == len(path.factors) else None


def product_text(parts: Sequence[str], sums: Sequence[str]) -> str:
    """Return a product of parts, with what is added up behind each of them.

    >>> product_text(["2·a", "1", "x - y"], ["", "Σ over rows", ""]), product_text(["x - y"], [""])
    ('Σ over rows (2·a · 1) · (x - y)', 'x - y')
    >>> product_text(["[1, 2]", "@ [[3, 4], [5, 6]]"], ["", ""])
    '[1, 2] @ [[3, 4], [5, 6]]'
    """
    text, rows = "", list(zip(parts, sums, strict=True))
    for part, total in (
        rows if len(rows) <= MOST_PARTS else [*rows[: MOST_PARTS // 2], (GAP, ""), *rows[-MOST_PARTS // 2 :]]
    ):
        is_matrix = part.startswith(AT)
        sign, own = ("", part) if is_matrix else ("· ", in_brackets(part))
        text = f"{text} {sign}{own}" if text else own.removeprefix(AT) if len(parts) > 1 else part.removeprefix(AT)
        text = f"{total} ({text})" if total else text
    return text


def _sum_line(
    chain: Chain, own: Sequence[tuple[int, Path]], options: RenderOptions, remarks: Sequence[str]
) -> Iterator[Span]:
    """Yield the spans of what the paths come to, or of why no numbers are claimed."""
    grad = f"{chain.wrt}.grad" if chain.node.kind == "leaf" else _quotient(chain)
    if chain.grad is None:
        gradient, why = chain.node.grad.value, "there is no gradient to compare with"
        if gradient is not None:
            why = (
                f"{equation(grad, gradient, options.precision)}, and what an operation on the way hands on is not known"
            )
        yield Span(f"{why}: no numbers are claimed", "muted")
        return
    hooks = [*(hook for _, hook in chain.hooks), *chain.node.grad.hooks]
    if chain.sum is None and chain.hooks and chain.path_sum is not None and begins_with_one(chain):
        came = equation(grad, chain.node.grad.value, options.precision) if chain.node.kind == "leaf" else ""
        came = came or f"{short_value(chain.grad, options.precision)} comes to {chain.wrt}"
        yield Span(equation(_quotient(chain), chain.path_sum, options.precision), is_bold=True)
        yield Span(f"   but {came}: {cause_of_hooks(hooks)}", "muted")
        return
    if chain.sum is None:
        why = "hooks have changed it on its way" if chain.hooks else "not all steps are factors"
        yield Span(
            f"{why}: no numbers are claimed; {equation(grad, chain.grad, options.precision)}",
            "muted",
        )
        return
    is_derivative = begins_with_one(chain)
    whole = equation(_quotient(chain) if is_derivative else grad, chain.sum, options.precision)
    bars = "‖" * whole.startswith("‖")  # a norm of a large sum
    is_known = chain.node.kind == "leaf" and chain.node.grad.value is not None
    is_all = any(agree(one, chain.grad) for one in (chain.node.grad.value, of_one_pass(chain.node.grad)))
    is_part = bool(remarks) and is_known and not is_all
    yield Span("along what is drawn" if is_part else whole.partition(" = ")[0], is_bold=True)
    yield Span(" = ")
    if len(own) == chain.count > 1 and is_small(size_of(chain.sum)):
        parts, sign = summands(own, options.precision)
        if sum(len(span.text) for span in parts) <= LONGEST_PART + LONGEST_PART // 2:
            yield from parts
            yield Span(f" {sign}")
    elif chain.count > 1:
        summed = "their sum" if len(own) == chain.count else f"the sum of all {chain.count:,}"
        yield Span(f"{bars}{summed}{bars} = ")
    yield Span(whole.partition(" = ")[2], is_bold=True)
    if not is_known:
        return
    if agree(chain.node.grad.value, chain.grad):
        near = "nearly " * (equation(_quotient(chain), chain.grad, options.precision) != whole)
        yield Span(f"   which is {near}{bars}{grad}{bars}" if is_derivative else "", "muted")
    elif agree(of_one_pass(chain.node.grad), chain.grad):
        yield Span(f"   added to {grad}, which was {short_value(chain.node.grad.before, options.precision)}", "muted")
    else:
        unknown = (
            f"not all is drawn, {'; '.join(remarks)}" if is_part else "a hook, or another backward, has changed it"
        )
        why = cause_of_hooks(hooks) if hooks else unknown
        yield Span(f"   but {equation(grad, chain.node.grad.value, options.precision)}: {why}", "muted")


def summands(own: Sequence[tuple[int, Path]], precision: int) -> tuple[Line, str]:
    """Return the products of paths with a + between them, and the sign between these and their sum."""
    spans: list[Span] = []
    parts = [path.product for _, path in own]
    level = level_that_holds(sum_of(parts), precision, partial(printed_sum, parts, precision))
    for number, path in own:
        spans += [Span(" + ")] if spans else []
        text = value_text(path.product, decimals_at(path.product, precision, level))
        spans.append(Span(in_brackets(text), f"path {number}", is_bold=True))
    return tuple(spans), ABOUT if level is None else EQUAL


def _quotient(chain: Chain) -> str:
    """Return the derivative as it is written: ``∂y/∂w``; in words where backward has not begun with 1."""
    return quotient_of(" + ".join(chain.of), chain.wrt) if begins_with_one(chain) else f"the gradient of {chain.wrt}"
