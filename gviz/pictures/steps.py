"""The steps of a computation: forward, operation by operation; then backward, from the root to the leaves.

A step is data, not a picture: which operation it is about, what is known by then, and the arithmetic in words and
numbers.
The order is that of PyTorch: forward as the program computes, backward the other way round.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from math import isclose
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from gviz.errors import warn_user
from gviz.formulas.expressions import call_text, with_letters
from gviz.formulas.formula import GRAD
from gviz.formulas.operations import operator_of
from gviz.graphs import NOW, Edge, Gradient, Graph, Module, Node, Place as SourcePlace
from gviz.graphs.numbers import Numbers, size_of
from gviz.layout import RenderWarning
from gviz.passes.dataflow import dataflow, outputs_of
from gviz.passes.elements import is_finite, scalar_of
from gviz.passes.others import OF_OTHERS
from gviz.passes.rounding import without_rounding
from gviz.passes.starts import handed_on, is_close, is_from_one, starts_of
from gviz.pictures.digits import (
    ABOUT,
    MOST_LISTED,
    Listing,
    decimal,
    is_exact,
)
from gviz.pictures.labels import (
    BEFORE,
    change_text,
    equation,
    gradient_line,
    hook_lines,
    in_brackets,
    is_brief,
    is_small,
    lacks_steps,
    later_lines,
    name_along,
    norm,
    short,
    size_text,
    value_lines,
    value_text,
    why_without_numbers,
)
from gviz.pictures.options import RenderOptions
from gviz.pictures.spans import Line, Span, text_of
from gviz.pictures.sums import Sum, product_of, sum_at
from gviz.text import quotient_of

PHASES = {"leaves": "forward", "forward": "forward", "start": "backward", "backward": "backward", "done": "backward"}
"""What a step is: the leaves before anything is computed, an operation that is computed, the gradient that backward
starts with, an operation that hands its gradient on, and the end. Each with the half that it belongs to."""

MOST_LINES, LONGEST_CAPTION = 4, 84
"""Lines of a caption, and characters of one, that fit on a slide."""

SHORT = 12
"""Characters of a value in a box, where there is little room."""

MOST_PARTS, SPLIT = 4, 16
"""Parts of a sum that are written; characters from which on what was there before has a line of its own."""

ROUGH = 0.001
"""How far a number in an expression may be rounded, in parts of it."""

NOTHING = "Nothing is computed yet, and there is no graph."

Place: TypeAlias = tuple[str, int]
"""A node, and which of its outputs, counted from 0: each has a name and a gradient of its own."""

_ROW = re.compile(r"\[[:, ]*i\]")
"""The index of a row, in a derivative that is that of each row by itself."""

_DOUBLED = re.compile(r"\((\(-[^()]*\))\)")
"""A negative number in brackets of its own, alone in those of a call."""

_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*")
_UNKNOWN = re.compile(r"(?<![\w.])[^\W\d]\w*+(?!\()|[\w)]\.[^\W\d]|□")
"""A name, a method or an operand without a number, in an expression with numbers in place of names."""


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
    if lacks_steps(graph):
        warn_user(f"not all steps of backward are there: {why_without_numbers(graph)}", RenderWarning)
    return list(StepBuilder(graph, options).steps())


def graph_of_steps(graph: Graph) -> Graph:
    """Return the graph of the formula that steps go through; a result without a name has a letter."""
    return dataflow(without_rounding(with_letters(graph)))


def chosen(steps: Sequence[Step], only: str = "", first: int = 1, last: int | None = None) -> list[int]:
    """Return the numbers of some steps, counted from 1 in the whole series.

    Args:
        steps: all of them.
        only: ``forward`` or ``backward``; "" for both.
        first: the first that is wanted.
        last: the last that is wanted; None for the last that there is.
    """
    numbers = range(first, min(len(steps), last or len(steps)) + 1)
    return [number for number in numbers if only in ("", PHASES[steps[number - 1].phase])]


class StepBuilder:
    """Makes the steps of a graph, and what its boxes say at each of them."""

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.graph, self.options, self.nodes = graph, options, graph.by_id
        self.root, self.starts = root_name(graph), starts_of(graph)
        self.begins_with_one = is_from_one(graph)
        self.rows = {row.name: row for row in graph.tensors}
        self.made = outputs_of(graph)
        self.inputs: dict[str, list[int]] = {node.id: [] for node in graph.nodes}
        self.uses: dict[Place, list[int]] = {}
        for number in sorted(range(len(graph.edges)), key=lambda number: graph.edges[number].slot):
            edge = graph.edges[number]
            self.inputs[edge.target].append(number)
            if edge.flow.handed is not None:
                self.uses.setdefault(_place_of(edge), []).append(number)
        ways = Counter(_place_of(edge) for edge in graph.edges)
        self.sums: dict[Place, Sum] = {}
        self.counts: dict[Place, int] = {}
        for place, numbers in sorted(self.uses.items()):
            gradient = self.sums[place] = sum_at(self.nodes[place[0]], self.arrived(place, numbers))
            missing = 0 if gradient.is_whole else ways[place] - len(numbers)
            self.counts[place] = len(self.arrived(place, numbers)) + missing

    def steps(self) -> Iterator[Step]:
        """Yield the steps."""
        order = self.order()
        step, is_by_line = Step("leaves"), self.options.every == "line"
        runs = self.runs(order)
        for step in self.line_by_line(order) if is_by_line else self.run_by_run(runs):
            yield step
        if has_backward(self.graph):
            step = step._replace(phase="start", nodes=(), has_started=True, caption=self.start())
            step = step._replace(line=line_number(self.graph.backward) if is_by_line else 0)
            yield step
            for run in reversed(runs):
                inputs = (number for node in reversed(run) for number in self.inputs[node])
                handed = [number for number in inputs if self.graph.edges[number].flow.handed is not None]
                if handed:
                    so_far = (*step.handed, *handed)
                    caption = self.backward(run, handed, step.handed)
                    step = step._replace(phase="backward", nodes=run, handed=so_far, caption=caption)
                    yield step
        if has_backward(self.graph) or self.graph.stop:
            yield step._replace(phase="done", nodes=(), caption=self.done())

    # ---------------------------------------------------------------- forward
    def runs(self, order: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the operations that are one step: each by itself, or those one behind the other of a module's call."""
        if self.options.every != "module" or self.graph.guesses_modules:  # of which no call is known
            return [(node,) for node in order]
        groups = groupby(order, lambda node: self.nodes[node].module or node)
        return [tuple(group) for _, group in groups]

    def run_by_run(self, runs: Sequence[tuple[str, ...]]) -> Iterator[Step]:
        """Yield the steps forward: the leaves, then each operation, or module."""
        start_nodes = frozenset(node.id for node in self.graph.nodes if node.kind != "operation")
        head = "The leaves have values. " if any(node.kind == "leaf" for node in self.graph.nodes) else ""
        step = Step("leaves", computed=start_nodes, caption=((Span(f"{head}{NOTHING}"),),))
        yield step
        for run in runs:
            caption = self.forward(self.nodes[run[0]]) if len(run) == 1 else self.call_of(run)
            step = Step("forward", run, step.computed | {*run}, caption=caption)
            yield step

    def line_by_line(self, order: Sequence[str]) -> Iterator[Step]:
        """Yield the steps forward: each run of a line that makes leaves, or operations, of this graph."""
        runs: dict[int, list[str]] = {}
        for node in sorted(order, key=lambda node: self.nodes[node].run):
            runs.setdefault(self.nodes[node].run, []).append(node)
        places = {name: row.history.written or row.place for name, row in self.rows.items()}
        made = {node.id: places.get(node.name or "") for node in self.graph.nodes if node.kind != "operation"}
        leaves = {leaf: (place.run if place is not None else 0, line_number(place)) for leaf, place in made.items()}
        step = Step("leaves", computed=frozenset(leaf for leaf, (_, line) in leaves.items() if not line))
        for turn, run in [*runs.items(), (0, [])]:
            line = line_number(self.nodes[run[0]].place) if run else 0
            sources = {self.graph.edges[number].source for node in run for number in self.inputs[node]}
            new = [
                leaf
                for leaf, (made_in, at) in leaves.items()
                if leaf not in step.computed
                and (leaf in sources or not run or (made_in < turn if made_in and turn else at < line))
            ]
            for at, same in groupby(sorted(new, key=leaves.__getitem__), lambda leaf: leaves[leaf][1]):
                own = tuple(same)
                step = Step("leaves", own, step.computed | {*own}, caption=self.run_of(at, own), line=at)
                yield step
            if run and turn:
                step = Step("forward", tuple(run), step.computed | {*run}, caption=self.run_of(line, run), line=line)
                yield step

    def run_of(self, line: int, nodes: Sequence[str]) -> tuple[Line, ...]:
        """Return what is said of a run of a line: the line, its results, and what is recorded."""
        place = SourcePlace(line) if line else self.nodes[nodes[0]].place or SourcePlace(0)
        head = [Span(f"{place.without_run}  ", "value"), Span(self.graph.code_at(place), is_bold=True)]
        return self.told(head, nodes)

    def call_of(self, nodes: Sequence[str]) -> tuple[Line, ...]:
        """Return what is said of a call of a module: its name, its results, and what is recorded."""
        module = self.nodes[nodes[0]].module or Module("")
        again = f", call {module.call}" * (module.call > 1)
        return self.told(
            [Span("forward  ", "value"), Span(module.path, is_bold=True), Span(f"  {module.kind}{again}")], nodes
        )

    def told(self, head: list[Span], nodes: Sequence[str]) -> tuple[Line, ...]:
        """Return a heading, the results of some operations, and what is recorded."""
        inner = {self.graph.edges[number].source for node in nodes for number in self.inputs[node]}
        ends = [self.nodes[node] for node in nodes if node not in inner and self.nodes[node].name]
        values = [(name, self.text(value)) for node in ends for name, value in self.results(node)]
        results: Sequence[Span] = [Span(",  ".join(f"{short(name, 20)} = {value}" for name, value in values if value))]
        if len(nodes) == 1 and self.nodes[nodes[0]].kind == "operation":
            results = _fitting(*self.equations(self.nodes[nodes[0]]))
        labels = ", ".join(self.nodes[node].label for node in nodes if self.nodes[node].label)
        remark = [Span(f"recorded for backward: {labels}" if labels else "leaves: nothing is recorded", "muted")]
        return tuple(_cut(row) for row in (head, results, remark) if text_of(tuple(row)))

    def order(self) -> list[str]:
        """Return the operations in the order of computing: of first assignments, operands from left to right."""
        results = {node.name: node.id for node in self.graph.nodes if node.kind == "operation"}
        named_nodes = [results[name] for name in self.rows if name in results]
        todo = list(reversed([*named_nodes, *self.graph.roots, *results.values(), *self.nodes]))
        order: dict[str, None] = {}
        while todo:
            node = todo[-1]
            sources = [self.graph.edges[number].source for number in self.inputs[node]]
            waiting = [source for source in reversed(sources) if source not in order]
            if node in order or not waiting:
                order[todo.pop()] = None
            else:
                todo += waiting
        return [node for node in order if self.nodes[node].kind == "operation"]

    def forward(self, node: Node) -> tuple[Line, ...]:
        """Return what is said of an operation that is computed."""
        results = self.results(node)
        name = f"{results[0][0]}.grad_fn" if results else "its grad_fn"
        remark = (Span(f"recorded for backward: {node.label}, as {short(name, 40)}", "muted"),)
        return _fitting(*([Span("forward  ", "value"), *line] for line in self.equations(node))), remark

    def equations(self, node: Node) -> list[list[Span]]:
        """Return what an operation computes, in names, in numbers, and the result: first all of it, then less."""
        results = self.results(node)
        head = [Span(short(", ".join(name for name, _ in results) or "·", 40), is_bold=True)]
        in_numbers, holds = self.with_numbers(node)
        sides = [self.computed_by(node), in_numbers]
        expression, numbers = ([Span(f" = {text.replace(' * ', ' × ')}")] if text else [] for text in sides)
        values = [self.text(value) for _, value in results]
        ends = [Span(", ".join(values), is_bold=True)] if values and all(values) else []
        signs = " = ", " = " if holds else f" {ABOUT}"
        result, of_numbers = ([Span(sign), *ends] if ends else [] for sign in signs)
        return [
            [*head, *expression, *numbers, *(of_numbers if numbers else result)],
            [*head, *expression, *result],
            [*head, *result],
        ]

    def results(self, node: Node) -> list[tuple[str, Numbers | None]]:
        """Return the names and the values of what an operation, or a leaf, has."""
        if node.recorded.outputs:
            return [(one.name, one.value) for one in self.made[node.id].values() if one.name]
        return [(node.name, node.value)] if node.name else []

    def name_of(self, edge: Edge) -> str:
        """Return what goes along an edge is called."""
        return name_along(edge, self.nodes[edge.source])

    def computed_by(self, node: Node) -> str:
        """Return what computes an operation: a statement of several operations is told one by one."""
        names = [self.name_of(self.graph.edges[number]) for number in self.inputs[node.id]]
        if node.expression and all(_word(name).search(node.expression) for name in names):
            return node.expression
        sign = operator_of(node.label)
        return f" {sign} ".join(names) if len(names) == 2 and not sign.isidentifier() else call_text(node, names)

    def with_numbers(self, node: Node) -> tuple[str, bool]:
        """Return an expression with numbers in place of names, and whether its result is what comes of them.

        It is "" if a number is not known, or is much rounded.
        """
        numbers: dict[str, str] = {}
        edges = [self.graph.edges[number] for number in self.inputs[node.id]]
        edges = [edge for edge in edges if self.nodes[edge.source].kind != "constant"]
        operands = [self.made[edge.source][edge.output] for edge in edges]
        listing = Listing([*operands, node], self.graph, self.options.precision, MOST_LISTED)
        holds = listing.holds(node)
        for edge, operand in zip(edges, operands, strict=True):
            name = self.name_of(edge)
            value, row = scalar_of(operand.value), self.rows.get(name)
            is_changed = operand.kind == "leaf" and row is not None and row.is_written and row.moment is None
            if not isinstance(value, float) or is_changed or not _word(name).search(node.expression):
                return "", False
            text = decimal(value, listing.of(operand))
            if not isclose(float(text), value, rel_tol=ROUGH):
                return "", False
            numbers[name] = in_brackets(text)
            holds = holds and (operand.value is not None or is_exact(text, value))
        text = _DOUBLED.sub(r"\1", _WORD.sub(lambda name: numbers.get(name[0], name[0]), node.expression))
        is_known = isinstance(scalar_of(node.value), float) and not _UNKNOWN.search(text)
        return (text if numbers and is_known else ""), holds

    # ---------------------------------------------------------------- backward
    def start(self) -> tuple[Line, ...]:
        """Return what is said of the gradient that backward starts with."""
        lines = []
        for root, value in self.starts.items():
            one, name = self.text(value), short(self.nodes[root].name or "·", 20)
            text = self.gradient_name(name, name) + (f" = {one}" if one else "")
            lines.append(_cut([Span("backward", "gradient"), Span(f"  starts at {name}:  "), Span(text, "gradient")]))
        return tuple(lines[:MOST_LINES])

    def backward(self, run: Sequence[str], handed: Sequence[int], before: Sequence[int]) -> tuple[Line, ...]:
        """Return what is said of operations that hand their gradients on: a line for each input from outside."""
        sources = [self.graph.edges[number].source for number in handed]
        lines = [
            self.product(number, (*before, *handed[: at + 1]))
            for at, number in enumerate(handed)
            if sources[at] not in run
        ]
        if len(lines) > MOST_LINES:
            node = self.nodes[run[0]]
            of = node.label if len(run) == 1 or node.module is None else node.module.path
            rest = f"and to {len(lines) - MOST_LINES + 1} more inputs of {of}"
            lines[MOST_LINES - 1 :] = [(Span(rest, "muted"),)]
        return tuple(lines)

    def product(self, number: int, so_far: Sequence[int]) -> Line:
        """Return the gradient that goes to an input: incoming gradient · local derivative, and where it is added."""
        edge = self.graph.edges[number]
        head = [Span("to "), Span(short(self.name_of(edge), 20), is_bold=True), Span(":  ")]
        result = Span(self.text(edge.flow.handed), "gradient", is_bold=True)
        long, brief = (Span(f"   {text}" if text else "", "muted") for text in self.sum_so_far(edge, so_far))
        words, numbers = self.rule(edge)
        lines = [[*head, *words, *each, result, remark] for remark in (long, brief) for each in (numbers, [])]
        return _fitting(*lines, [*head, result, brief], [*head, brief._replace(text=brief.text.strip())])

    def rule(self, edge: Edge) -> tuple[list[Span], list[Span]]:
        """Return how a gradient is made from the incoming one: in names, and in numbers where they are few."""
        user, flow = self.nodes[edge.target], edge.flow
        source, target = short(self.name_of(edge), 20), short(user.name or "·", 20)
        is_start = edge.target in self.starts and not any(place[0] == edge.target for place in self.sums)
        incoming = Span(self.gradient_name(target if is_start else self.root, target), "gradient")
        is_one_of_several = [*self.starts] == [edge.target] and self.counts.get(_place_of(edge), 1) > 1
        slope = "local derivative" if is_one_of_several else quotient_of(target, source)
        words, product = [incoming, Span(f" · {slope} = ")], product_of(edge, user)
        if flow.local is not None and is_small(size_of(flow.local)):
            if not product.is_equation:
                return words, []
            *decimals, sign = product.decimals(self.options.precision)
            one, factor = map(in_brackets, map(value_text, product[:2], decimals))
            return words, [Span(one, "gradient"), Span(f" · {factor}{', summed' * product.is_summed} {sign}")]
        if flow.symbol and flow.local is not None:
            return [*words, incoming, Span(f" · {in_brackets(flow.symbol)} = ")], []
        if flow.symbol:
            symbol = flow.symbol.replace(" * ", " × ")
            if not _word(GRAD).search(symbol):  # a Jacobian: of each row by itself, if it names one
                row = _ROW.search(symbol)
                return [incoming, Span(row[0] if row else "", "gradient"), Span(f" @ ({symbol}) = ")], []
            pieces = [Span(piece) for piece in _word(GRAD).split(symbol)]
            return [pieces[0], *(span for piece in pieces[1:] for span in (incoming, piece)), Span(" = ")], []
        return [Span(f"from {user.label}: ")], []

    def gradient_name(self, root: str, name: str) -> str:
        """Return what arrives at a tensor is called: a derivative, if backward began with 1 and no hook has changed it."""
        is_derivative = self.begins_with_one and (root == name or not self.graph.has_hooks)
        return quotient_of(root, name) if is_derivative else f"gradient at {name}"

    def sum_so_far(self, edge: Edge, so_far: Sequence[int]) -> tuple[str, str]:
        """Return what is said where gradients meet: how many are here, or their sum, with and without parts."""
        place = _place_of(edge)
        count, arrived, node = self.counts[place], self.arrived(place, so_far), self.nodes[edge.source]
        if len(arrived) < count:
            return (f"part {len(arrived)} of {count}",) * 2
        if node.grad.hook_change is not None:  # the parts are those of what it was given
            return (change_text(node.grad.hook_change, self.options.precision),) * 2
        if count < 2:
            return "", ""
        whole = self.sums[place].arrived
        total, (texts, sign) = self.text(whole), self.added(Sum(arrived, total=whole))
        head = f"{short(self.name_of(edge), 20)}.grad += " if self.nodes[edge.source].kind == "leaf" else "summed: "
        return f"{head}{texts} {sign}{total}" if texts else f"{head}{total}", f"{head}{total} ({count} parts)"

    def arrived(self, place: Place, so_far: Sequence[int]) -> list[Numbers | None]:
        """Return the gradients that have come to a place; that which backward starts with is the first."""
        start = self.starts.get(place[0])
        edges = [self.graph.edges[number] for number in so_far if number in self.uses[place]]
        return [*([] if start is None else [start]), *handed_on(edges)]

    def added(self, gradient: Sum) -> tuple[str, str]:
        """Return summands with signs between them, the first few of many, and that before their total; "" if large."""
        texts, sign = gradient.texts(self.options.precision)
        if texts and texts[0].startswith("(") and gradient.before is None:
            texts[0] = texts[0][1:-1]
        more = f" + … ({len(texts)} parts)" if len(texts) > MOST_PARTS else ""
        return " + ".join(texts[:MOST_PARTS]) + more, sign

    def text(self, value: Numbers | None) -> str:
        """Return a small tensor's values; the size and the norm of a large one; nothing for one that is not known."""
        if value is None or is_small(size_of(value)):
            return "" if value is None else value_text(value, self.options.precision)
        size = f"norm {decimal(norm(value), self.options.precision)}" if is_finite(value) else "not finite"
        return ", ".join(filter(None, [size_text(size_of(value)), size]))

    def done(self) -> tuple[Line, ...]:
        """Return what is said at the end."""
        if self.graph.stop:
            lines = wrap(self.graph.stop.message, LONGEST_CAPTION, max_lines=MOST_LINES + 1, placeholder=" …")
            head = _cut([Span("✗ ", "error"), Span(self.graph.stop.where, is_bold=True)])
            return head, *((Span(line, "error"),) for line in lines)
        leaves = [node for node in self.graph.nodes if node.kind == "leaf"]
        is_whole = all((node.id, 0) in self.sums for node in leaves if node.grad.value is not None)
        is_whole &= all(len(self.arrived(place, self.uses[place])) == count for place, count in self.counts.items())
        rank = {name: number for number, name in enumerate(self.rows)}
        leaves.sort(key=lambda node: rank.get(node.name or "", len(rank)))
        grads = {node: self.sums[node.id, 0].arrived for node in leaves if is_whole and (node.id, 0) in self.sums}
        grads = grads if is_whole else {node: node.grad.value for node in leaves}
        texts = [f"{node.name}.grad = {self.text(grad)}" for node, grad in grads.items() if grad is not None]
        kept = [node for node in self.graph.nodes if node.kind == "operation" and node.grad.value is not None]
        if lacks_steps(self.graph):
            remark = f"Not all of it is followed: {why_without_numbers(self.graph)}."
        elif not is_whole:
            remark = "Not all of it is followed: not through a function of your own, nor another backward."
        elif all(node.grad.value is None for node in grads):
            remark = "backward() has not run, or its gradients were cleared: this is what it brings."
        elif not all(is_close(node.grad.value, grad) for node, grad in grads.items()):
            texts = [text.replace(".grad =", ".grad +=") for text in texts]
            is_known = all(self.sums[node.id, 0].is_whole for node in grads)
            hooks = [one.where for node in grads for one in node.grad.hooks if one.kind == "grad"]
            other = (
                f"{hooks[0]}, changed a .grad then" if hooks else "the rest is the program's, or of another backward"
            )
            rest = "they are added to what was there before" if is_known else other
            remark = f"These are of this backward alone: {rest}."
        else:
            remark = f"What {'else ' * bool(kept)}lies between leaf and root keeps no .grad: it is not a leaf."
        texts += [f"{node.name}.grad = {self.text(node.grad.value)}" for node in kept]
        most = LONGEST_CAPTION - 20
        count = max(1, sum(length <= most for length in accumulate(len(text) + 3 for text in texts)))
        rest = f",  and {len(texts) - count} more" if count < len(texts) else ""
        return _cut([Span("done  ", "gradient"), Span(",  ".join(texts[:count]) + rest)]), (Span(remark, "muted"),)

    # ---------------------------------------------------------------- boxes
    def blocks(self, node: Node, step: Step) -> Iterator[list[Line]]:
        """Yield what a node says at a step: its values, the gradients that come to it, and what came later."""
        options, is_known = self.options, node.id in step.computed
        values = value_lines(node._replace(expression=""), options)
        yield values if is_known else [(Span(" "),)] * len(values)
        places = [place for place in self.sums if place[0] == node.id]
        for place in places:
            yield list(self.gradient(node, step, place))
        if node.id in self.starts and step.has_started and node.grad.arrived is not None and not places:
            name = node.name or "·"
            is_short = self.options.max_chars == SHORT and self.begins_with_one
            quotient = "∂" if is_short else self.gradient_name(name, name)
            yield [(Span(equation(quotient, node.grad.arrived, options.precision, options.max_chars), "gradient"),)]
        elif node.kind == "leaf" and is_known and not places:
            is_there = self.graph.stop or step.phase == "done"  # from before, or in a way that is not known
            yield gradient_line(node if is_there else before(node), self.options)
        else:
            yield []
        yield later_lines(node, self.options) if is_told_at(node, step) else []

    def gradient(self, node: Node, step: Step, place: Place) -> Iterator[Line]:
        """Yield what a node says at a step of the gradient of an output."""
        options, count, total = self.options, self.counts[place], self.sums[place]
        arrived = self.arrived(place, step.handed) if step.has_started else []
        if not arrived:
            # a line that runs before backward is called does not know when an earlier backward has brought a gradient
            is_then = step.has_started or self.options.every != "line" or node.grad.before is None
            yield from gradient_line(before(node), self.options) if node.id in step.computed and is_then else []
            return
        is_short = self.options.max_chars == SHORT
        name = name_along(self.graph.edges[self.uses[place][0]], node)
        quotient = (
            f"∂{name if node.recorded.outputs else ''}"
            if is_short and self.begins_with_one and not self.graph.has_hooks
            else self.gradient_name(self.root, name)
        )
        head = "grad" if node.kind == "leaf" else quotient
        parts, sign = ("", "") if node.grad.hook_change is not None else self.added(total._replace(parts=arrived))
        parts = "" if is_short and len(parts) > SHORT else parts
        parts = parts.replace(f"{BEFORE} + ", f"{BEFORE}\n+ ") if len(parts) > SPLIT else parts
        is_here, has_several = len(arrived) == count, count + (total.before is not None) > 1
        if node.state == OF_OTHERS and is_here:
            yield (Span(equation("to grad", total.total, options.precision, options.max_chars), "gradient"),)
        elif node.kind == "leaf" and (is_here or (step.phase == "done" and node.grad.value is not None)):
            grad = total.total if is_here else node.grad.value
            yield from gradient_line(node._replace(grad=Gradient(grad)), self.options)
        elif is_here:
            yield (Span(equation(head, total.total, options.precision, options.max_chars), "gradient"),)
        else:
            text = f"{head} = {parts} + …" if parts else f"{head}: part {len(arrived)} of {count}"
            yield from [(Span(line, "gradient"),) for line in text.split("\n")]
        if is_here:
            yield from hook_lines(node, options)
        if parts and is_here and has_several and is_brief(total.total, options.precision, options.max_chars):
            yield from [(Span(line, "gradient"),) for line in f"{sign}{parts}".split("\n")]


def is_told_at(node: Node, step: Step) -> bool:
    """Return whether a step tells what became of a tensor: the last one, or each if its numbers are not the graph's."""
    return step.phase == "done" or (node.state.startswith(NOW) and node.id in step.computed)


def before(node: Node) -> Node:
    """Return a leaf with the gradient that it had when backward was called."""
    return node._replace(grad=Gradient(node.grad.before))


def root_name(graph: Graph) -> str:
    """Return what the root is called in a derivative."""
    names = {node.id: node.name or "root" for node in graph.nodes}
    first, *others = (names[root] for root in starts_of(graph))
    return short(" + ".join([first, *others]), 20) if others else first


def line_number(place: SourcePlace | None) -> int:
    """Return a line of the source itself; 0 for one of another file, or of a cell, and for none."""
    return 0 if place is None or place.file or place.cell else place.line


def _place_of(edge: Edge) -> Place:
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
    builder = StepBuilder(graph, replace(options, max_chars=SHORT) if compact else options)
    result = {}
    for node in graph.nodes:
        if node.kind in ("constant", "frozen"):
            result[node.id] = [value_lines(node._replace(expression=""), builder.options)] * len(steps)
            continue
        blocks = [list(builder.blocks(node, step)) for step in steps]
        most = [max(map(len, series)) for series in zip(*blocks, strict=True)]
        blank = [[(Span(" "),)] * size for size in most]
        result[node.id] = [
            [line for block, empty in zip(at, blank, strict=True) for line in (*block, *empty[len(block) :])]
            for at in blocks
        ]
    return result


def _word(name: str) -> re.Pattern[str]:
    """Return a pattern for a name in an expression, where it is a word of its own."""
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")


def _fitting(*lines: Sequence[Span]) -> Line:
    """Return the first of some lines that fits below a picture; the end of the last is left out if none does."""
    return _cut(next((line for line in lines if len(text_of(tuple(line))) <= LONGEST_CAPTION), lines[-1]))


def _cut(line: Sequence[Span]) -> Line:
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
