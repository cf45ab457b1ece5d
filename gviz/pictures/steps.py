"""The steps of a computation: forward, operation by operation; then backward, from the root to the leaves.

A step is data, not a picture: which operation it is about, what is known by then, and the arithmetic in words and
numbers.
The order is that of PyTorch: forward as the program computes, backward the other way round.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from gviz.graphs import NO_GRADIENT, Edge, Graph, Node, Place as SourcePlace
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import agree, is_finite, plus, scalar_of, size_of, sum_of, times
from gviz.passes.expressions import called, operator_of
from gviz.pictures.labels import (
    decimal,
    gradient_line,
    is_small,
    name_along,
    norm,
    shape_text,
    short,
    short_value,
    value_lines,
    value_text,
)
from gviz.pictures.options import RenderOptions
from gviz.pictures.spans import Line, Span, text_of
from gviz.text import quotient_of

PHASES = {"leaves": "forward", "forward": "forward", "start": "backward", "backward": "backward", "done": "backward"}
"""What a step is: the leaves before anything is computed, an operation that is computed, the gradient that backward
starts with, an operation that hands its gradient on, and the end. Each with the half that it belongs to."""

MOST_LINES, LONGEST_CAPTION = 4, 84
"""Lines of a caption, and characters of one, that fit on a slide."""

SHORT = 12
"""Characters of a value in a box, where there is little room."""

MOST_PARTS = 4
"""Parts of a sum that are written."""

MINUS_ONE = Numbers((), "float32", (-1.0,))

Place: TypeAlias = tuple[str, int]
"""A node, and which of its outputs, counted from 0: each has a name and a gradient of its own."""

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    name: getattr(math, name) for name in ("exp", "log", "sin", "cos", "tan", "tanh", "sqrt", "sinh", "cosh")
} | {"abs": abs, "relu": lambda value: max(value, 0.0), "sigmoid": lambda value: 1 / (1 + math.exp(-value))}
_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*")
_SIGNS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
    ast.USub: operator.neg,
}  # fmt: skip
"""What an arithmetic of numbers may consist of, to be checked before it is shown."""


class Step(NamedTuple):
    """A step.

    Args:
        phase: one of :data:`PHASES`.
        nodes: the operations that it is about, or the leaves that a line makes.
        computed: what has its value, these included.
        handed: numbers of the edges over which a gradient has come, in the order of coming.
        has_started: whether the gradient that backward starts with is known.
        caption: what happens.
        line: of the program that runs; 0 where steps are not told by lines.
    """

    phase: str
    nodes: tuple[str, ...] = ()
    computed: frozenset[str] = frozenset()
    handed: tuple[int, ...] = ()
    has_started: bool = False
    caption: tuple[Line, ...] = ()
    line: int = 0


def has_backward(graph: Graph) -> bool:
    """Return whether a graph tells of a gradient on its way."""
    return any(edge.flow.handed is not None for edge in graph.edges) or any(
        node.grad.arrived is not None for node in graph.nodes
    )


def steps_of(graph: Graph, options: RenderOptions) -> list[Step]:
    """Return the steps.

    Args:
        graph: the graph of the formula, from :func:`gviz.passes.dataflow.dataflow`.
        options: ``precision`` is read, and ``every``: what a step forward is.
    """
    return list(_Telling(graph, options).steps())


def chosen(steps: Sequence[Step], only: str = "", first: int = 1, last: int | None = None) -> list[int]:
    """Return the numbers of some steps, counted from 1 in the whole series.

    Args:
        steps: all of them.
        only: ``forward`` or ``backward``; "" for both.
        first: the first that is wanted.
        last: the last that is wanted; None for the last that there is.
    """
    wanted = range(first, min(len(steps), last or len(steps)) + 1)
    return [number for number in wanted if only in ("", PHASES[steps[number - 1].phase])]


class _Telling:
    """A graph, looked up by what its steps need."""

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.graph, self.options = graph, options
        self.nodes = graph.by_id
        self.inputs: dict[str, list[int]] = {node.id: [] for node in graph.nodes}
        self.uses: dict[Place, list[int]] = {}
        self.ways: Counter[Place] = Counter(place_of(edge) for edge in graph.edges)
        self.values = {row.name: row.at_backward()[0] for row in graph.tensors}
        self.starts = starts_of(graph)
        for number in sorted(range(len(graph.edges)), key=lambda number: graph.edges[number].slot):
            edge = graph.edges[number]
            self.inputs[edge.target].append(number)
            if edge.flow.handed is not None:
                self.uses.setdefault(place_of(edge), []).append(number)
        self.places: dict[str, list[Place]] = {node.id: [] for node in graph.nodes}
        for place in sorted(self.uses):
            self.places[place[0]].append(place)
        self.root = root_name(graph)

    def steps(self) -> Iterator[Step]:
        """Yield the steps."""
        order = self.order()
        step, is_by_line = Step("leaves"), self.options.every == "line"
        for step in self.line_by_line(order) if is_by_line else self.one_by_one(order):
            yield step
        if has_backward(self.graph):
            step = step._replace(phase="start", nodes=(), has_started=True, caption=self.start())
            step = step._replace(line=line_number(self.graph.backward) if is_by_line else 0)
            yield step
            for node in reversed(order):
                handed = [number for number in self.inputs[node] if self.graph.edges[number].flow.handed is not None]
                if handed:
                    so_far = (*step.handed, *handed)
                    step = step._replace(
                        phase="backward", nodes=(node,), handed=so_far, caption=self.backward(node, handed, so_far)
                    )
                    yield step
        if has_backward(self.graph) or self.graph.stop:
            yield step._replace(phase="done", nodes=(), caption=self.done())

    def one_by_one(self, order: Sequence[str]) -> Iterator[Step]:
        """Yield the steps forward: the leaves, then each operation."""
        known = frozenset(node.id for node in self.graph.nodes if node.kind != "operation")
        yield (step := Step("leaves", computed=known, caption=(self.first(),)))
        for node in order:
            step = Step("forward", (node,), step.computed | {node}, caption=self.forward(self.nodes[node]))
            yield step

    def line_by_line(self, order: Sequence[str]) -> Iterator[Step]:
        """Yield the steps forward: each run of a line that makes leaves, or operations, of this graph."""
        runs: dict[int, list[str]] = {}
        for node in sorted(order, key=lambda node: self.nodes[node].run):
            runs.setdefault(self.nodes[node].run, []).append(node)
        lines = {row.name: line_number(row.place) for row in self.graph.tensors}
        leaves = {node.id: lines.get(node.name or "", 0) for node in self.graph.nodes if node.kind != "operation"}
        step = Step("leaves", computed=frozenset(leaf for leaf, line in leaves.items() if not line))
        for turn, run in [*runs.items(), (0, [])]:
            line = line_number(self.nodes[run[0]].place) if run else 0
            used = {self.graph.edges[number].source for node in run for number in self.inputs[node]}
            made = [
                leaf
                for leaf, at in leaves.items()
                if leaf not in step.computed and (at < line or leaf in used or not run)
            ]
            for at in sorted({leaves[leaf] for leaf in made}):
                own = tuple(leaf for leaf in made if leaves[leaf] == at)
                step = Step("leaves", own, step.computed | {*own}, caption=self.run_of(at, own), line=at)
                yield step
            if run and turn:
                step = Step("forward", tuple(run), step.computed | {*run}, caption=self.run_of(line, run), line=line)
                yield step

    def run_of(self, line: int, nodes: Sequence[str]) -> tuple[Line, ...]:
        """Return what is said of a run of a line: the line, what it has made, and what is recorded."""
        place = SourcePlace(line) if line else self.nodes[nodes[0]].place or SourcePlace(0)
        head = [Span(f"{place.anywhen}  ", "value"), Span(self.graph.code_at(place), is_bold=True)]
        inner = {self.graph.edges[number].source for node in nodes for number in self.inputs[node]}
        ends = [self.nodes[node] for node in nodes if node not in inner and self.nodes[node].name]
        values = [(name, told(value, self.options.precision)) for node in ends for name, value in self.made_by(node)]
        results = [Span(",  ".join(f"{short(name, 20)} = {value}" for name, value in values if value))]
        recorded = [self.nodes[node].label for node in nodes if self.nodes[node].label]
        remark = [
            Span(
                f"recorded for backward: {', '.join(recorded)}" if recorded else "leaves: nothing is recorded", "muted"
            )
        ]
        return tuple(fitted(row) for row in (head, results, remark) if text_of(tuple(row)))

    def order(self) -> list[str]:
        """Return the operations in the order of computing: as the tensors were first assigned, operands from left to right."""
        made_by = {node.name: node.id for node in self.graph.nodes if node.kind == "operation"}
        named = [made_by[row.name] for row in self.graph.tensors if row.name in made_by]
        todo = list(reversed([*named, *self.graph.roots, *made_by.values(), *self.nodes]))
        done: dict[str, None] = {}
        while todo:
            node = todo[-1]
            sources = [self.graph.edges[number].source for number in self.inputs[node]]
            waiting = [source for source in reversed(sources) if source not in done]
            if node in done or not waiting:
                done[todo.pop()] = None
            else:
                todo += waiting
        return [node for node in done if self.nodes[node].kind == "operation"]

    def first(self) -> Line:
        """Return what is said of the leaves."""
        if any(node.kind == "leaf" for node in self.graph.nodes):
            return (Span("The leaves have values. Nothing is computed yet, and there is no graph."),)
        return (Span("Nothing is computed yet, and there is no graph."),)

    def forward(self, node: Node) -> tuple[Line, ...]:
        """Return what is said of an operation that is computed."""
        made = self.made_by(node)
        head = [Span("forward  ", "value"), Span(short(", ".join(name for name, _ in made) or "·", 40), is_bold=True)]
        expression, numbers = (
            [Span(f" = {spoken(text)}")] if text else [] for text in (self.computed_by(node), self.numbers(node))
        )
        values = [told(value, self.options.precision) for _, value in made]
        result = [Span(" = "), Span(", ".join(values), is_bold=True)] if values and all(values) else []
        name = f"{made[0][0]}.grad_fn" if made else "its grad_fn"
        remark = (Span(f"recorded for backward: {node.label}, as {short(name, 40)}", "muted"),)
        lines = [*head, *expression, *numbers, *result], [*head, *expression, *result], [*head, *result]
        return fitting(*lines), remark

    def made_by(self, node: Node) -> list[tuple[str, Numbers | None]]:
        """Return the names and the values of what an operation, or a leaf, has."""
        if node.recorded.outputs:
            return [(name, self.values.get(name)) for name in node.recorded.outputs if name]
        return [(node.name, node.value)] if node.name else []

    def name_of(self, edge: Edge) -> str:
        """Return what goes along an edge is called."""
        return name_along(edge, self.nodes[edge.source])

    def computed_by(self, node: Node) -> str:
        """Return what computes an operation: a statement of several operations is told one by one."""
        names = [self.name_of(self.graph.edges[number]) for number in self.inputs[node.id]]
        if node.expression and all(is_named(name, node.expression) for name in names):
            return node.expression
        sign = operator_of(node.label)
        return f" {sign} ".join(names) if len(names) == 2 and not sign.isidentifier() else called(node, names)

    def numbers(self, node: Node) -> str:
        """Return an expression with the numbers of its operands in place of their names, if it comes to the value."""
        text, numbers = node.expression, dict[str, str]()
        if not isinstance(result := scalar_of(node.value), float):
            return ""
        for number in self.inputs[node.id]:
            operand, name = self.nodes[self.graph.edges[number].source], self.name_of(self.graph.edges[number])
            if operand.kind == "constant":
                continue
            value = scalar_of(dict(self.made_by(operand)).get(name))
            if not isinstance(value, float) or not is_named(name, text):
                return ""
            numbers[name] = bracketed(decimal(value, self.options.precision))
        text = _WORD.sub(lambda name: numbers.get(name[0], name[0]), text)
        return text if numbers and comes_to(text, result) else ""

    def start(self) -> tuple[Line, ...]:
        """Return what is said of the gradient that backward starts with."""
        lines = []
        for root, value in self.starts.items():
            one, name = told(value, self.options.precision), short(self.nodes[root].name or "·", 20)
            text = quotient_of(name, name) + (f" = {one}" if one else "")
            lines.append(fitted([Span("backward", "gradient"), Span(f"  starts at {name}:  "), Span(text, "gradient")]))
        return tuple(lines[:MOST_LINES])

    def backward(self, node: str, handed: list[int], so_far: tuple[int, ...]) -> tuple[Line, ...]:
        """Return what is said of an operation that hands its gradient on: a line for each input."""
        before = so_far[: len(so_far) - len(handed)]
        lines = [
            self.product(self.graph.edges[number], (*before, *handed[: at + 1])) for at, number in enumerate(handed)
        ]
        if len(lines) > MOST_LINES:
            rest = len(lines) - MOST_LINES + 1
            lines = [
                *lines[: MOST_LINES - 1],
                (Span(f"and to {rest} more inputs of {self.nodes[node].label}", "muted"),),
            ]
        return tuple(lines)

    def product(self, edge: Edge, so_far: tuple[int, ...]) -> Line:
        """Return the gradient that goes to an input: incoming gradient · local derivative, and where it is added."""
        head = [Span("to "), Span(short(self.name_of(edge), 20), is_bold=True), Span(":  ")]
        result = Span(told(edge.flow.handed, self.options.precision), "gradient", is_bold=True)
        long, brief = (Span(f"   {text}" if text else "", "muted") for text in self.sums_so_far(edge, so_far))
        words, numbers = self.rule(edge)
        lines = [[*head, *words, *each, result, remark] for remark in (long, brief) for each in (numbers, [])]
        return fitting(*lines, [*head, result, brief], [*head, brief._replace(text=brief.text.strip())])

    def rule(self, edge: Edge) -> tuple[list[Span], list[Span]]:
        """Return how a gradient is made from the incoming one: in names, and in numbers where they are few."""
        source, target = short(self.name_of(edge), 20), short(self.nodes[edge.target].name or "·", 20)
        root = target if edge.target in self.starts and not self.places[edge.target] else self.root
        incoming, quotient = Span(quotient_of(root, target), "gradient"), quotient_of(target, source)
        arrives = self.nodes[edge.target].grad.arrived
        if edge.flow.local is not None and is_small(size_of(edge.flow.local)):
            words = [incoming, Span(f" · {quotient} = ")]
            if arrives is None or not is_small(size_of(arrives)):
                return words, []
            one, factor = (bracketed(told(value, self.options.precision)) for value in (arrives, edge.flow.local))
            is_sum = size_of(edge.flow.handed) not in (size_of(arrives), size_of(edge.flow.local))
            return words, [Span(one, "gradient"), Span(f" · {factor}, summed = " if is_sum else f" · {factor} = ")]
        if edge.flow.symbol and edge.flow.local is not None:
            factor = (
                edge.flow.symbol
                if edge.flow.symbol.isidentifier() or edge.flow.symbol.isdigit()
                else f"({edge.flow.symbol})"
            )
            return [incoming, Span(f" · {quotient} = "), incoming, Span(f" · {factor} = ")], []
        if edge.flow.symbol:
            pieces = [Span(piece) for piece in word("grad").split(spoken(edge.flow.symbol))]
            return [pieces[0], *(span for piece in pieces[1:] for span in (incoming, piece)), Span(" = ")], []
        return [Span(f"from {self.nodes[edge.target].label}: ")], []

    def sums_so_far(self, edge: Edge, so_far: tuple[int, ...]) -> tuple[str, str]:
        """Return what is said where several gradients meet: how many are here, or their sum, with its parts and without."""
        place = place_of(edge)
        parts, arrived = self.parts(place), self.arrived(place, so_far)
        if parts < 2:
            return "", ""
        if len(arrived) < parts:
            return (f"part {len(arrived)} of {parts}",) * 2
        total, texts = told(self.total(place), self.options.precision), parts_text(arrived, self.options.precision)
        head = f"{short(self.name_of(edge), 20)}.grad += " if self.nodes[edge.source].kind == "leaf" else "summed: "
        return f"{head}{texts} = {total}" if texts else f"{head}{total}", f"{head}{total} ({parts} parts)"

    def arrived(self, place: Place, so_far: tuple[int, ...]) -> list[Numbers | None]:
        """Return the gradients that have come to a place; that which backward starts with is the first."""
        handed = [
            self.graph.edges[number].flow.handed for number in so_far if place_of(self.graph.edges[number]) == place
        ]
        start = self.starts.get(place[0])
        return handed if start is None else [start, *handed]

    def whole(self, place: Place) -> list[Numbers | None]:
        """Return the gradients that come to a place, as far as they are known."""
        return self.arrived(place, tuple(self.uses[place]))

    def known(self, place: Place) -> Numbers | None:
        """Return the gradient of a place as the engine has it."""
        node = self.nodes[place[0]]
        return node.grad.value if node.kind == "leaf" else node.grad.arrived

    def parts(self, place: Place) -> int:
        """Return in how many parts the gradient of a place comes: those that are known, unless they are not all of it."""
        parts, missing = len(self.whole(place)), self.ways[place] - len(self.uses[place])
        return parts if not missing or is_close(self.known(place), self.total(place)) else parts + missing

    def total(self, place: Place) -> Numbers | None:
        """Return the sum of the gradients that come to a place: as the engine has it, if it is that sum."""
        total, known = sum_of(self.whole(place)), self.known(place)
        return known if is_close(known, total) else total

    def done(self) -> tuple[Line, ...]:
        """Return what is said at the end."""
        if self.graph.stop:
            lines = wrap(self.graph.stop.message, LONGEST_CAPTION, max_lines=MOST_LINES - 1, placeholder=" …")
            return fitted([Span("✗ ", "error"), Span(self.graph.stop.where, is_bold=True)]), *(
                (Span(line, "error"),) for line in lines
            )
        rank = {row.name: number for number, row in enumerate(self.graph.tensors)}
        known = [node for node in self.graph.nodes if node.kind == "leaf" and node.grad.value is not None]
        unseen = [node for node in known if not self.places[node.id]]
        is_whole = not unseen and all(self.parts(place) == len(self.whole(place)) for place in self.uses)
        leaves = [node for node in self.graph.nodes if node.kind == "leaf" and (self.places[node.id] or not is_whole)]
        leaves.sort(key=lambda node: rank.get(node.name or "", len(rank)))
        grads = {node: self.total((node.id, 0)) if is_whole else node.grad.value for node in leaves}
        texts = [
            f"{node.name}.grad = {told(grad, self.options.precision)}"
            for node, grad in grads.items()
            if grad is not None
        ]
        others = [node for node, grad in grads.items() if not is_close(node.grad.value, grad)]
        if not is_whole:
            remark = "Not all of it is followed: not through a function of your own, nor another backward."
        elif others:
            texts = [text.replace(".grad =", ".grad +=") for text in texts]
            remark = "These are of this backward alone: the program changed a .grad besides."
        else:
            remark = "What lies between leaf and root keeps no .grad: it is not a leaf."
        most = LONGEST_CAPTION - 20
        kept = texts[: max(1, sum(length <= most for length in accumulate(len(text) + 3 for text in texts)))]
        rest = f",  and {len(texts) - len(kept)} more" if len(kept) < len(texts) else ""
        return fitted([Span("done  ", "gradient"), Span(",  ".join(kept) + rest)]), (Span(remark, "muted"),)


def root_name(graph: Graph) -> str:
    """Return what the root is called in a derivative."""
    names = {node.id: node.name or "root" for node in graph.nodes}
    first, *others = (names[root] for root in starts_of(graph))
    return short(" + ".join([first, *others]), 20) if others else first


def starts_of(graph: Graph) -> dict[str, Numbers | None]:
    """Return the roots that backward starts at, by their ids, each with the gradient that it starts with, None if not known.

    What arrives at a root that another one is made from consists of that gradient and what the other one hands on.
    """
    nodes = graph.by_id
    starts: dict[str, Numbers | None] = {}
    for root in graph.roots:
        arrives = nodes[root].grad.arrived
        handed = [edge.flow.handed for edge in graph.edges if edge.source == root and edge.flow.handed is not None]
        if not handed or arrives is None:
            starts[root] = arrives
        elif not is_close(arrives, sum_of(handed)):
            starts[root] = plus(arrives, times(sum_of(handed), MINUS_ONE))
    known = {root: start for root, start in starts.items() if start is not None or nodes[root].recorded.outputs}
    return known or dict.fromkeys(graph.roots)


def line_number(place: SourcePlace | None) -> int:
    """Return a line of the source itself; 0 for one of another file, or of a cell, and for none."""
    return 0 if place is None or place.file or place.cell else place.line


def place_of(edge: Edge) -> Place:
    """Return what goes along an edge."""
    return edge.source, edge.output


def lines_at(
    graph: Graph, options: RenderOptions, steps: Sequence[Step], *, compact: bool = False
) -> dict[str, list[list[Line]]]:
    """Return what each leaf and each operation says at each step, by its id.

    Each of them says as many lines at each step, some of them empty, so that nothing moves.

    Args:
        graph: the graph of the formula.
        options: ``precision`` is read.
        steps: its steps.
        compact: whether lines are to be short: tensors by their size and norm, and gradients without the quotient.
    """
    options = replace(options, max_chars=SHORT) if compact else options
    telling = _Telling(graph, options)
    result = {}
    for node in graph.nodes:
        if node.kind in ("constant", "frozen"):
            result[node.id] = [value_lines(node._replace(expression=""), options)] * len(steps)
            continue
        blocks = [list(_blocks(telling, node, step)) for step in steps]
        most = [max(map(len, series)) for series in zip(*blocks, strict=True)]
        result[node.id] = [
            [
                line
                for block, size in zip(at, most, strict=True)
                for line in [*block, *[(Span(" "),)] * (size - len(block))]
            ]
            for at in blocks
        ]
    return result


def _blocks(telling: _Telling, node: Node, step: Step) -> Iterator[list[Line]]:
    """Yield what a node says at a step: its values, then the gradient of each output that one comes to."""
    values, is_known = value_lines(node._replace(expression=""), telling.options), node.id in step.computed
    yield values if is_known else [(Span(" "),)] * len(values)
    places = telling.places[node.id]
    for place in places:
        yield list(_gradient(telling, node, step, place))
    if node.id in telling.starts and step.has_started and node.grad.arrived is not None and not places:
        quotient = "∂" if telling.options.max_chars == SHORT else quotient_of(node.name or "·", node.name or "·")
        yield [(Span(f"{quotient} = {boxed(node.grad.arrived, telling.options)}", "gradient"),)]
    elif node.kind == "leaf" and is_known and not places:
        is_there = telling.graph.stop or step.phase == "done"  # from before, or in a way that is not known
        yield gradient_line(node if is_there else node._replace(grad=NO_GRADIENT), telling.options)
    else:
        yield []


def _gradient(telling: _Telling, node: Node, step: Step, place: Place) -> Iterator[Line]:
    """Yield what a node says at a step of the gradient of an output."""
    options, is_short = telling.options, telling.options.max_chars == SHORT
    arrived, expected = telling.arrived(place, step.handed) if step.has_started else [], telling.parts(place)
    if not arrived:
        if node.kind == "leaf" and node.id in step.computed:
            yield from gradient_line(node._replace(grad=NO_GRADIENT), options)
        return
    name = name_along(telling.graph.edges[telling.uses[place][0]], node)
    quotient = f"∂{name if node.recorded.outputs else ''}" if is_short else quotient_of(telling.root, name)
    head = "grad" if node.kind == "leaf" else quotient
    parts = parts_text(arrived, options.precision)
    parts = "" if is_short and len(parts) > SHORT else parts
    total = telling.total(place)
    if len(arrived) < expected and step.phase == "done" and node.grad.value is not None:
        yield from gradient_line(node, options)
    elif len(arrived) < expected:
        yield (Span(f"{head} = {parts} + …" if parts else f"{head}: part {len(arrived)} of {expected}", "gradient"),)
    elif node.kind == "leaf":
        yield from gradient_line(node._replace(grad=node.grad._replace(value=total)), options)
    else:
        yield (Span(f"{head} = {boxed(total, options)}", "gradient"),)
    if parts and len(arrived) == expected > 1:
        yield (Span(f"= {parts}", "gradient"),)


# ------------------------------------------------------------------ words and numbers
def boxed(value: Numbers | None, options: RenderOptions) -> str:
    """Return a gradient as it stands in a box: its norm, if its values are many or long."""
    text = short_value(value, options.precision)
    return text if len(text) <= options.max_chars else f"|{decimal(norm(value), options.precision)}|"


def is_named(name: str, text: str) -> bool:
    """Return whether an expression has a name in it.

    >>> is_named("a", "a * b"), is_named("a", "tanh(b)")
    (True, False)
    """
    return word(name).search(text) is not None


def word(name: str) -> re.Pattern[str]:
    """Return a pattern for a name in an expression, where it is a word of its own."""
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")


def told(value: Numbers | None, precision: int) -> str:
    """Return a small tensor's values; the size and the norm of a large one; nothing for one that is not known.

    >>> told(Numbers.of(2.0), 4), told(Numbers.of([3.0, 4.0, 0.0, 0.0, 0.0]), 4), told(None, 4)
    ('2', '(5), norm 5', '')
    """
    if value is None:
        return ""
    sizes = size_of(value)
    if is_small(sizes):
        return value_text(value, precision)
    return f"{shape_text(sizes)}, " + (f"norm {decimal(norm(value), precision)}" if is_finite(value) else "not finite")


def parts_text(parts: Sequence[Numbers | None], precision: int) -> str:
    """Return several gradients as a sum, if they are small.

    >>> parts_text([Numbers.of(3.0), Numbers.of(-2.0)], 4), parts_text([Numbers.of(3.0)], 4)
    ('3 + (-2)', '3')
    """
    if not all(is_small(size_of(part)) for part in parts):
        return ""
    texts = [bracketed(value_text(part, precision)) for part in parts]
    if texts and texts[0].startswith("("):
        texts[0] = texts[0][1:-1]
    more = f" + … ({len(texts)} parts)" if len(texts) > MOST_PARTS else ""
    return " + ".join(texts[:MOST_PARTS]) + more


def bracketed(text: str) -> str:
    """Return a number as it stands after a sign."""
    return f"({text})" if text.startswith("-") else text


def is_close(one: Numbers | None, other: Numbers | None) -> bool:
    """Return whether two tensors are the same but for rounding."""
    return agree(one, other, scale=1e-3)


def comes_to(text: str, value: float) -> bool:
    """Return whether an arithmetic of rounded numbers comes to a value, as far as that can be seen.

    >>> comes_to("2 + 1", 3.0), comes_to("0.12 * 2", 0.4), comes_to("softmax(2)", 1.0)
    (True, False, False)
    """
    try:
        result = _computed(ast.parse(text, mode="eval").body)
    except (ArithmeticError, KeyError, SyntaxError, TypeError, ValueError):
        return False
    return math.isclose(result, value, rel_tol=1e-2, abs_tol=1e-3)


def _computed(node: ast.expr) -> float:
    """Return what an arithmetic of numbers comes to; KeyError or TypeError for anything else."""
    if isinstance(node, ast.BinOp):
        return _SIGNS[type(node.op)](_computed(node.left), _computed(node.right))
    if isinstance(node, ast.UnaryOp):
        return _SIGNS[type(node.op)](_computed(node.operand))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return _FUNCTIONS[node.func.id](_computed(node.args[0]))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    raise TypeError(ast.dump(node))


def spoken(text: str) -> str:
    """Return an expression with the sign for a product that people write."""
    return text.replace(" * ", " × ")


def fitting(*lines: Sequence[Span]) -> Line:
    """Return the first of some lines that fits below a picture; the end of the last is left out if none does."""
    return fitted(next((line for line in lines if len(text_of(tuple(line))) <= LONGEST_CAPTION), lines[-1]))


def fitted(line: Sequence[Span]) -> Line:
    """Return a line that fits below a picture."""
    if len(text_of(tuple(line))) <= LONGEST_CAPTION:
        return tuple(span for span in line if span.text)
    result: list[Span] = []
    room = LONGEST_CAPTION - 1
    for span in line:
        if len(span.text) > room:
            return (*result, span._replace(text=f"{span.text[:room].rstrip()}…"))
        result.append(span)
        room -= len(span.text)
    return tuple(result)
