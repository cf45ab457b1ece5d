"""What is known of all blocks of a fold where one is drawn: numbers that vary, ranges, shares of a gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gviz.graphs import Blocks, Graph, Node, Share, Varying
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import MINUS_ONE, agree, plus, sum_of, times
from gviz.passes.forms import varying_numbers
from gviz.passes.wires import Coordinates

ROUNDING = 0.01
"""Of the sizes of what is added up, how much counts where a sum is compared."""


def known_of_blocks(graph: Graph, places: Sequence[Coordinates], *, has_ranges: bool) -> dict[int, Blocks]:
    """Return the remarks on all blocks of a fold, by the drawn nodes that they stand beside.

    Args:
        graph: the whole one, without AccumulateGrad.
        places: where each of its nodes is drawn.
        has_ranges: whether ranges of values and gradients are asked for.
    """
    members: dict[int, list[tuple[tuple[int, ...], Node]]] = {}
    for node, (representative, blocks) in zip(graph.nodes, places, strict=True):
        if blocks:
            members.setdefault(representative, []).append(((*blocks.values(),), node))
    blocks_of = {representative: Blocks(shares=shares) for representative, shares in shares_of(graph, places).items()}
    for representative, several in members.items():
        several.sort(key=lambda one: one[0])
        nodes = [node for _, node in several]
        facts = Blocks(varies_in(nodes), shares=blocks_of.get(representative, Blocks()).shares)
        if has_ranges:
            cards = [node.card.grad if node.card else norm_of(node.grad.value) for node in nodes]
            facts = facts._replace(values=span(norm_of(node.value) for node in nodes), grads=span(cards))
        if facts != Blocks():
            blocks_of[representative] = facts
    return blocks_of


def varies_in(nodes: Sequence[Node]) -> tuple[Varying, ...]:
    """Return the numbers of calls that vary, each row once."""
    rows = [varying_numbers(node) for node in nodes]
    rows = [row for row in rows if len(row) == len(rows[-1])]  # a first block without one has the others' numbers
    columns = (Varying(column[-1][0], tuple(text for _, text in column)) for column in zip(*rows, strict=True))
    return tuple(dict.fromkeys(one for one in columns if len({*one.texts}) > 1))


def norm_of(numbers: Numbers | None) -> float | None:
    """Return the one element, or the norm of more; None if it is not known."""
    if numbers is None or not numbers.is_known:
        return None
    is_number = numbers.numel == 1 and numbers.elements is not None and isinstance(numbers.elements[0], float)
    return numbers.elements[0] if is_number else numbers.norm  # type: ignore[index,return-value]


def span(values: Iterable[float | None]) -> tuple[float, ...]:
    """Return the smallest and the largest number; nan twice if one is nan; () if one is not known.

    >>> span([2.0, 1.0]), span([1.0, None]), span([1.0, math.nan])
    ((1.0, 2.0), (), (nan, nan))
    """
    items = [*values]
    present = [value for value in items if value is not None]
    if not present or len(present) < len(items):
        return ()
    return (math.nan, math.nan) if any(map(math.isnan, present)) else (min(present), max(present))


def shares_of(graph: Graph, places: Sequence[Coordinates]) -> dict[int, tuple[Share, ...]]:
    """Return what each block hands to the leaves that blocks share, where that comes to their gradient.

    The last blocks are first; what does not come from a block is behind them, without a number.
    """
    place_of = {node.id: number for number, node in enumerate(graph.nodes)}
    gradients: dict[int, dict[tuple[int, ...], list[Numbers | None]]] = {}
    for edge in graph.edges:
        source = place_of[edge.source]
        representative, own = places[source]
        if representative == source and edge.kind == "data" and graph.nodes[source].kind == "leaf":
            blocks = places[place_of[edge.target]][1]
            key = tuple(block for one, block in blocks.items() if one not in own)
            gradients.setdefault(source, {}).setdefault(key, []).append(edge.flow.handed)
    shares: dict[int, tuple[Share, ...]] = {}
    for number, parts in gradients.items():
        grad = graph.nodes[number].grad
        total = grad.value if not norm_of(grad.before) else plus(grad.value, times(grad.before, MINUS_ONE))
        sums = {key: sum_of(several) for key, several in sorted(parts.items(), reverse=True)}
        amounts = [one for one in sums.values() if one is not None]
        if len({*sums} - {()}) > 1 and len(amounts) == len(sums) and not grad.hooks and come_to(amounts, total):
            texts = (".".join(str(block + 1) for block in key) for key in sums)
            shares[number] = tuple(map(Share, texts, amounts))
    return shares


def come_to(parts: Sequence[Numbers], total: Numbers | None) -> bool:
    """Return whether parts add up to a total, as far as their elements are listed; else whether their norms may."""
    if total is None or not total.is_known or not all(one.is_known and one.is_finite for one in (*parts, total)):
        return False
    if all(one.elements is not None for one in (*parts, total)):
        return agree(sum_of(parts), total, ROUNDING * sum(one.norm for one in parts))
    return total.norm <= 1.001 * sum(one.norm for one in parts)
