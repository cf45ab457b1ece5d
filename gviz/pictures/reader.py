"""The operations of a graph as formulas in type, for the views that gviz lays out by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter

from gviz.formulas.backward import aliased, noted
from gviz.formulas.calls import as_formula
from gviz.formulas.expressions import REMARKS
from gviz.formulas.formula import Formula
from gviz.formulas.operations import operator_of
from gviz.graphs import GRAD_OF, NOW, Edge, Graph, Node
from gviz.graphs.numbers import size_of
from gviz.passes.dataflow import outputs_of
from gviz.passes.starts import is_from_one, starts_of
from gviz.pictures.labels import (
    LONGEST_STATEMENT,
    TOLD,
    change_text,
    later_text,
    name_along,
    place_text,
    short,
    statement_of,
)
from gviz.pictures.options import RenderOptions
from gviz.pictures.typesetting import SIGNS as SET, Setter, TypeBox, fenced, name_box, phrase, row, text_box, typeset

NUMBER, SIGN = 15.0, 22.0
"""Points: of what stands in a circle, and of a sign alone."""

CODE = 0.85
"""The size of code beside that of mathematics."""

LONGEST_TEXT = 18
"""Characters of what stands in a circle, and of a tensor's numbers on a line."""

COMES_IN = "zuvqs"
"""Letters for what comes into an operation: the first that no tensor is called by."""

_WORD = re.compile(r"[a-zA-Z_]\w*")
"""A name in a text, also the z of ∂²z/∂x²."""

_NEGATIVE = re.compile(r"(?<![\w)])-(?=\d|inf)")
"""The hyphen before a number, which has a minus sign in pictures."""


class Reader:
    """Reads the operations of a graph.

    Args:
        graph: as :func:`gviz.passes.dataflow.dataflow` returns it.
        options: ``show``, ``precision`` and ``math`` are read.
    """

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.graph, self.options, self.nodes = graph, options, graph.by_id
        self.inputs: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
        for edge in sorted(graph.edges, key=lambda edge: edge.slot):
            if edge.kind == "data":
                self.inputs[edge.target].append(edge)

    @cached_property
    def tensor_names(self) -> set[str]:
        """The names of all tensors, and what stands in place of some."""
        names = {row.name for row in self.graph.tensors} | {node.name or "" for node in self.graph.nodes}
        return names | {*self.aliases, *self.aliases.values()}

    def typeset(self, formula: Formula, size: float, depth: int = 0) -> TypeBox:
        """Return a formula as mathematics sets it, or as code."""
        if self.options.math == "off":
            return text_box(formula.python, CODE * size, "mono")
        return Setter(self.arrays).set(formula.node, size, depth)

    def name(self, name: str, size: float) -> TypeBox:
        """Return a name as mathematics sets it, or as code."""
        return name_box(name, size) if self.options.math == "on" else text_box(name, CODE * size, "mono")

    def phrase(self, text: str, size: float) -> TypeBox:
        """Return a text with names in it."""
        return phrase(text, size) if self.options.math == "on" else text_box(text, CODE * size, "mono")

    @cached_property
    def comes_in(self) -> str:
        """The letter for what comes into an operation."""
        names = [node.name or "" for made in self.made.values() for node in made.values()]
        texts = [REMARKS.sub("", self.graph.code), *(node.expression for node in self.graph.nodes), *names]
        used = {name for text in texts for name in _WORD.findall(text)}
        return next((letter for letter in COMES_IN if letter not in used), "z_in")

    @cached_property
    def aliases(self) -> dict[str, str]:
        """What stands in formulas for names that are none to Python."""
        names = [node.name for made in self.made.values() for node in made.values() if node.kind != "constant"]
        strange = dict.fromkeys(name for name in names if name and not name.isidentifier())
        return {name: f"name_{number}" for number, name in enumerate(strange)}

    @cached_property
    def made(self) -> dict[str, dict[int, Node]]:
        """The tensors that each node makes, by the number of the output."""
        return outputs_of(self.graph)

    @cached_property
    def uses_of(self) -> dict[str, list[Edge]]:
        """The uses of each tensor, by its id."""
        uses: dict[str, list[Edge]] = {}
        for edge in self.graph.edges:
            uses.setdefault(self.source(edge).id, []).append(edge)
        return uses

    def source(self, edge: Edge) -> Node:
        """Return the tensor that goes along an edge."""
        made = self.made[edge.source]
        return made.get(edge.output) or self.nodes[edge.source]

    @cached_property
    def arrays(self) -> dict[str, int]:
        """How many axes tensors with several elements have, by name."""
        nodes = [node for made in self.made.values() for node in made.values()]
        rows = {row.name: len(row.shape) for row in self.graph.tensors if row.shape}
        return rows | {node.name: len(node.shape) for node in nodes if node.name and node.shape}

    def named(self, name: str, size: float) -> TypeBox:
        """Return a name, or what stands in place of one, as mathematics sets it."""
        return name_box(name, size) if name in self.aliases or name.isidentifier() else typeset(name, size)

    @cached_property
    def outside(self) -> dict[str, Formula]:
        """What stands for letters that gviz has given to results without a gradient, or not drawn: ``1 - t``."""
        shown = {node.name or "": node for node in self.graph.nodes}
        letters = {row.name: row.expression for row in self.graph.tensors if row.expression is not None}
        letters |= {node.name or "": "" for node in self.graph.nodes if node.kind == "intermediate" and node.is_letter}
        texts = {name: shown[name].expression if name in shown else text for name, text in letters.items()}
        drawn = {name for name, node in shown.items() if node.kind not in ("frozen", "intermediate")}
        found = {name: as_formula(text, self.tensor_names) for name, text in texts.items() if name not in drawn}
        known = {name: formula for name, formula in found.items() if formula is not None}
        return {name: formula.replaced(known) for name, formula in known.items()}

    @property
    def names(self) -> list[str]:
        """The names of the roots."""
        return [self.nodes[root].name or "" for root in self.graph.roots]

    @cached_property
    def restored(self) -> dict[str, Formula]:
        """The names that others stand for, as formulas."""
        return {own: Formula.parse(name) for name, own in self.aliases.items()}

    def operand(self, node: Node) -> tuple[str, Formula | None]:
        """Return the one operand that is no constant, and what is computed of it with a letter in its place."""
        free = [edge for edge in self.inputs[node.id] if self.nodes[edge.source].kind != "constant"]
        formula = as_formula(aliased(node.expression, self.aliases), self.tensor_names)
        name = name_along(free[0], self.nodes[free[0].source]) if len(free) == 1 else ""
        name = self.aliases.get(name, name)
        if formula is None or name not in formula.names:
            return name, None
        return name, noted(formula).replaced({**self.outside, name: Formula.parse(self.comes_in)})

    def sign(self, node: Node) -> TypeBox:
        """Return what stands in a circle: a sign, the name of a function, what is done with z; or a statement."""
        if statement := statement_of(node, self.options):
            return self.phrase(short(str(statement.replaced(self.outside)), LONGEST_STATEMENT), NUMBER)
        _, formula = self.operand(node)
        sign = operator_of(node.label)
        if self.options.math == "off":
            has_operand = formula is not None and self.comes_in in formula.names and len(formula.python) <= LONGEST_TEXT
            return (
                self.typeset(formula, NUMBER) if formula is not None and has_operand else text_box(sign, NUMBER, "mono")
            )
        own = with_operand(formula.node, sign, self.comes_in) if formula is not None else None
        return own if own is not None else text_box(sign, SIGN if len(sign) == 1 else NUMBER)

    def titles(self) -> list[str]:
        """Return the statements that are computed: one for each named result, with the others in them.

        They are in the order of the program.
        One with a letter in it that nothing is known of is left out: the letter says nothing.
        """
        formulas: dict[str, Formula] = {**self.outside}
        named: list[tuple[int, str]] = []
        unknown: set[str] = set()
        positions = {row.name: position for position, row in enumerate(self.graph.tensors)}
        for node in self.in_order():
            formula, name = as_formula(node.expression, self.tensor_names), node.name or ""
            is_inner = node.is_letter and node.id not in self.graph.roots
            whole = formula.replaced(formulas) if formula is not None else None
            if whole is None or whole.names & unknown:
                unknown |= {name} if is_inner else set()
            elif is_inner:
                formulas[name] = whole
            elif any(names := node.recorded.outputs or (name,)):  # a tensor of another's program may have none
                whole = whole.simplified if "∂" in name else whole
                position = min(positions.get(one, len(positions)) for one in names)
                named.append((position, f"{', '.join(one or '_' for one in names)} = {whole.python}"))
        return [text for _, text in sorted(named, key=itemgetter(0))]

    def facts(self, node: Node) -> list[str]:
        """Return what is to be said of a tensor: why it gets no gradient, hooks, what it is now, where it was made."""
        shown, precision = self.options.show, self.options.precision
        is_told = node.state.startswith(TOLD) and not node.state.startswith(GRAD_OF)
        state = node.state if node.kind == "frozen" or is_told else ""
        hooks = [change_text(one, precision) for one in node.grad.hooks] if "grad" in shown else []
        later = "" if node.state.startswith(NOW) else later_text(node.later, shown, precision)
        place = place_text(node) if "line" in shown and node.place is not None else ""
        return [_NEGATIVE.sub("−", text) for text in (state, *hooks, later, place) if text]

    @cached_property
    def are_derivatives(self) -> bool:
        """Whether gradients are derivatives: backward has started from 1, and no hook has changed one."""
        return not self.graph.has_hooks and is_from_one(self.graph)

    def gradient_words(self, what: str = "value", where: str = "line") -> str:
        """Return what the numbers below the lines are: a quotient where backward has started from 1, and no hook is."""
        roots = [self.nodes[root] for root in starts_of(self.graph)]
        if not roots or not self.are_derivatives:
            return f"gradient, below the {where}"
        total = " + ".join(root.name or "" for root in roots)
        if any(size_of(root.numbers) for root in roots):
            total = f"Σ {total}"
        if len(roots) > 1 or not (roots[0].name or "").isidentifier():
            total = f"({total})"
        return f"∂{total}/∂(this {what}), below the {where}"

    def in_order(self) -> Iterator[Node]:
        """Yield the operations, each after what it is made from, operands from left to right."""
        last = [node.id for node in self.graph.nodes if not self.graph.uses[node.id]]  # of a part it is no root
        todo, done = [self.nodes[one] for one in dict.fromkeys((*last, *reversed(self.graph.roots)))], set[str]()
        while todo:
            node = todo[-1]
            waiting = [edge.source for edge in self.inputs[node.id] if edge.source not in done]
            if waiting:
                todo.append(self.nodes[waiting[0]])
                continue
            todo.pop()
            if node.id not in done and node.kind == "operation":
                yield node
            done.add(node.id)


def with_operand(node: ast.expr, sign: str, comes_in: str) -> TypeBox | None:
    """Return what is done with what comes in as it stands in a circle; None for a sign, or a function's name, alone.

    Args:
        node: the formula.
        sign: of the operation.
        comes_in: the name of what comes in.
    """
    found = None
    match node:
        case ast.BinOp(left=ast.Name(id=name), right=other, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()) if (
            name == comes_in
        ):
            box = Setter().set(other, NUMBER, 1)
            found = row(text_box(f"{sign} ", NUMBER), fenced(box, NUMBER) if isinstance(other, ast.UnaryOp) else box)
        case ast.BinOp(left=other, right=ast.Name(id=name), op=ast.Add() | ast.Mult()) if name == comes_in:
            found = row(text_box(f"{sign} ", NUMBER), Setter().set(other, NUMBER, 1))
        case ast.UnaryOp(op=ast.USub()):
            found = text_box("×(−1)", NUMBER)
        case ast.BinOp(op=ast.Div()):
            found = Setter().set(node, 11.5, 0)
        case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) if name not in SET or name == "sum":
            found = text_box("Σ", SIGN) if name == "sum" else None
        case ast.Call(args=[_], keywords=[_, *_] as options) | ast.Call(args=[_, *options], keywords=[]) if options:
            text = ", ".join(map(ast.unparse, options))
            head = text_box(f"{'Σ' if sign == 'sum' else sign} ", NUMBER)
            found = row(head, text_box(text, 11)) if len(text) <= LONGEST_TEXT else None
        case ast.BinOp() | ast.Call() | ast.Subscript() | ast.Attribute():
            found = Setter().set(node, 17 if isinstance(node, ast.Call) else NUMBER, 0)
    return found
