"""Exercises: the local derivatives and gradients of a graph as questions, with hints, and the graph without them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from gviz.derivations.parts import with_parts_apart
from gviz.formulas.expressions import with_letters
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers
from gviz.passes.dataflow import dataflow
from gviz.passes.elements import scalar_of
from gviz.passes.rounding import without_rounding
from gviz.passes.starts import is_from_one
from gviz.text import quotient_of

BLANK = Numbers((), "", ("?",))
"""What stands in a picture for a number that is asked for."""

CLOSE = 0.05
"""How far a rounded answer may be from the number, by the number."""


class Question(NamedTuple):
    """A number that is asked for.

    Args:
        about: what it is about: a statement with its values, or a tensor.
        asked: the derivative, as in ``∂y/∂a``.
        answer: the number.
        hints: what helps, from what says little to what says much.
        node: the id of the box that it is about.
    """

    about: str
    asked: str
    answer: float
    hints: tuple[str, ...]
    node: str = ""

    def is_right(self, text: str) -> bool:
        """Return whether an answer is the number, or the number rounded to the decimals that were typed.

        >>> question = Question("y = sin(x)", "∂y/∂x", 0.54030, ())
        >>> [question.is_right(text) for text in ("0.54", "0.5403", "0.55", "1")]
        [True, True, False, False]

        Raises:
            ValueError: the text is no number.
        """
        given = read_number(text)
        if math.isclose(given, self.answer, rel_tol=1e-4, abs_tol=1e-9) or (
            math.isnan(given) and math.isnan(self.answer)
        ):
            return True
        mantissa, _, power = text.lower().partition("e")
        half = 0.51 * 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2])) if text.find("/") < 0 else 0.0
        return abs(given - self.answer) <= half and math.isclose(given, self.answer, rel_tol=CLOSE)


def read_number(text: str) -> float:
    """Return the number of a text: ``-0.5``, ``2e-3`` or ``1/3``; ValueError if it is none."""
    above, _, below = text.partition("/")
    divisor = float(below or 1)
    if not divisor:
        raise ValueError("a fraction of 0")
    return float(above) / divisor


def questions_of(graph: Graph) -> list[Question]:
    """Return the questions, as backward goes: local derivatives, and gradients as soon as all parts of them are known.

    Only derivatives that are one number are asked for.

    Args:
        graph: one that was recorded with its flow (:attr:`gviz.SourceOptions.flow`).
    """
    shown = formula_of_quiz(graph)
    nodes, totals, questions = shown.by_id, dict[str, float](), list[Question]()
    root = " + ".join(nodes[one].name or "root" for one in shown.roots) if is_from_one(shown) else ""
    for node in reversed(shown.order):
        uses = shown.uses[node.id]
        handed = [scalar_number(edge.flow.handed) for edge in uses]
        start = scalar_number(node.grad.arrived) if node.id in shown.roots else None
        if start is not None:
            totals[node.id] = start
        elif handed and not any(map(math.isnan, handed)) and node.name:
            totals[node.id] = sum(handed)
            is_local = len(uses) == 1 and totals.get(uses[0].target) == 1  # the same number, which was asked for
            if not is_local and all(is_product(edge, totals) for edge in uses):
                hints = tuple(ways_to(node, uses, totals, nodes, root))
                about = (
                    f"{node.name}: the gradient that arrives{f', which {node.name}.grad gets' * (node.kind == 'leaf')}"
                )
                asked = quotient_of(root, node.name) if root else "grad"
                questions.append(Question(about, asked, totals[node.id], hints, node.id))
        questions += [
            local_question(edge, shown)
            for edge in shown.inputs[node.id]
            if not math.isnan(scalar_number(edge.flow.local))
        ]
    return questions


def formula_of_quiz(graph: Graph) -> Graph:
    """Return the formula of a graph, with a name for each result."""
    return with_parts_apart(dataflow(without_rounding(with_letters(graph))))


def scalar_number(numbers: Numbers | None) -> float:
    """Return a number; nan for one that is not known, and for a tensor."""
    number = scalar_of(numbers)
    return float(number) if isinstance(number, int | float) else math.nan


def is_product(edge: Edge, totals: dict[str, float]) -> bool:
    """Return whether the gradient on a line is the target's times the local derivative: no hook has changed it."""
    product = totals.get(edge.target, math.nan) * scalar_number(edge.flow.local)
    return math.isclose(product, scalar_number(edge.flow.handed), rel_tol=1e-4, abs_tol=1e-9)


def ways_to(node: Node, uses: list[Edge], totals: dict[str, float], nodes: dict[str, Node], root: str) -> Iterator[str]:
    """Yield the hints for a gradient, way by way: what arrives, and by which local derivative it is multiplied."""
    if len(uses) > 1:
        yield f"{node.name} is used {len(uses)} times: a product for each, and their sum"
    for edge in uses:
        user = nodes[edge.target].name or "the root"
        factor, arriving = quotient_of(user, node.name or ""), quotient_of(root, user) if root else "grad"
        yield f"by way of {user}: {arriving} = {totals[edge.target]:g} arrives, times {factor}"
    yield " + ".join(f"{totals[edge.target]:g} · {scalar_number(edge.flow.local):g}" for edge in uses)


def local_question(edge: Edge, graph: Graph) -> Question:
    """Return the question for a local derivative."""
    source, target = graph.by_id[edge.source], graph.by_id[edge.target]
    inputs = graph.inputs[edge.target]
    values = {
        one.name: f"{one.name} = {scalar_number(one.numbers):g}"
        for one in (*(graph.by_id[each.source] for each in inputs), target)
        if one.name and one.kind != "constant" and not math.isnan(scalar_number(one.numbers))
    }
    asked = quotient_of(target.name or "·", source.name or "·")
    statement = f"{target.name} = {target.expression or target.label}"
    is_twice = sum(each.source == edge.source for each in inputs) > 1
    through = f", by its operand {edge.slot + 1} alone" * is_twice
    symbol = edge.flow.symbol
    is_told = symbol and not symbol.replace(".", "").lstrip("-").isdigit()
    step = f"if {source.name} grows by a small step and all else stays, how many such steps does {target.name} grow?"
    return Question(
        f"{statement}{' at ' * bool(values)}{', '.join(values.values())}{through}",
        asked,
        scalar_number(edge.flow.local),
        (step, *([f"{asked} = {symbol}"] if is_told else [])),
        target.id,
    )


def blanked(graph: Graph) -> Graph:
    """Return the graph with a question mark for each local derivative and each gradient but that of the root."""
    shown = formula_of_quiz(graph)
    nodes = tuple(
        node
        if node.id in shown.roots
        else node._replace(
            grad=node.grad._replace(
                value=node.grad.value and BLANK, before=None, arrived=node.grad.arrived and BLANK, hooks=()
            )
        )
        for node in shown.nodes
    )
    edges = tuple(
        edge._replace(flow=edge.flow._replace(symbol="?", local=BLANK, handed=None, jacobian=None))
        if edge.flow.local is not None
        else edge
        for edge in shown.edges
    )
    return shown.changed(nodes=nodes, edges=edges, tensors=())
