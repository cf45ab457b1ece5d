"""The circuit that lectures on backpropagation draw: value above each line, gradient below it, local derivatives once.

Constants stand in the circle of their operation (``+ 1``, ``1/z``, ``10 − z``), where z is what comes in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from gviz.errors import warn_user
from gviz.formulas.expressions import operator_of
from gviz.formulas.formula import GRAD, UNKNOWN, Formula
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.layout import RenderWarning
from gviz.layout.ink import Sheet
from gviz.layout.layered.ranks import ranks_of
from gviz.passes.dataflow import dataflow
from gviz.passes.elements import has_only, is_finite, scalar_of
from gviz.passes.quotients import with_quotients
from gviz.pictures.circuits import NOTE, NUMBER, Component, End, Wire
from gviz.pictures.labels import decimal, in_brackets, later_text, name_along, size_text, small_text
from gviz.pictures.options import FOLDING, RenderOptions
from gviz.pictures.picture import Picture
from gviz.pictures.sheets import Drawn, circuit_page
from gviz.pictures.sums import handed_on, sum_at
from gviz.pictures.typesetting import (
    SIGNS as SET,
    Setter,
    TypeBox,
    fenced,
    name_box,
    number_box,
    row,
    text_box,
    typeset,
)
from gviz.pictures.views import dataflow as boxes

IGNORES = ("ghosts", "rankdir", "layout", "color_by", "symbols", "by", *FOLDING)

MOST = 60
"""Boxes of a circuit; a larger graph is drawn as the view dataflow draws it."""

COMES_IN = "z"
"""The name of what comes into an operation."""

LEAF, SIGN = 18.0, 22.0
"""Points: of the name of a leaf, and of a sign in a circle."""

LONGEST, LONGEST_TEXT = 24, 14
"""Characters of a local derivative as a symbol, and of a tensor's numbers on a line."""

FAR = 3
"""Columns from the first use of a leaf from which on it stands again beside a further one, if it has more than two."""

MODULES = ("torch", "F", "nn", "math", "np")
"""Names that stand before functions."""

BETWEEN_TWO = ("−", "÷", "^")
"""Signs whose two local derivatives stand below their circle; those of + and × can be read off."""


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture in Graphviz's words, for formats that are nothing else: that of the view dataflow."""
    if options.format in ("dot", "gv"):
        warn_user("DOT has no circuits: the boxes are those of the view dataflow", RenderWarning)
    return boxes.picture(graph, options)


def sheet(graph: Graph, options: RenderOptions) -> Sheet | None:
    """Return the circuit of a graph; None of one that has too many boxes for it, which is said."""
    shown = with_quotients(dataflow(graph))
    if sum(node.kind != "constant" for node in shown.nodes) > MOST:
        warn_user(f"a circuit has at most {MOST} boxes: this graph is drawn by --view dataflow", RenderWarning)
        return None
    reader = Reader(shown, options)
    return circuit_page(Drawn(reader.circuit, reader.titles(), reader.names, reader.example()), graph, options)


class Reader:
    """What the cards and wires of a graph say.

    Args:
        graph: as :func:`dataflow` returns it.
        options: ``precision`` and ``show`` are read.
    """

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.graph, self.options = graph, options
        self.nodes = graph.by_id
        self.inputs: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
        for edge in sorted(graph.edges, key=lambda edge: edge.slot):
            if edge.kind == "data":
                self.inputs[edge.target].append(edge)

    def number(self, value: Numbers | None, *, is_gradient: bool = False) -> str:
        """Return a tensor as a text on a line: its numbers, if they are few; else its size, of a gradient its norm."""
        if value is None:
            return ""
        text = small_text(value, self.options.precision)
        if text and len(text) <= LONGEST_TEXT:
            return text.replace("-", "−")
        if is_gradient:
            return f"norm {decimal(value.norm, self.options.precision)}"
        return size_text(size_of(value)) or text

    # ------------------------------------------------------------ cards and wires
    @property
    def names(self) -> list[str]:
        """The names of the roots."""
        return [self.nodes[root].name or "" for root in self.graph.roots if root in self.nodes]

    def circuit(self, far: int = FAR) -> tuple[list[Component], list[Wire]]:
        """Return the cards and wires.

        Args:
            far: columns after which a leaf stands again; 0 for beside each use.
        """
        inside = self._constants_inside()
        shown = [node for node in self.graph.nodes if node.id not in inside]
        number = {node.id: at for at, node in enumerate(shown)}
        wires = [
            self._wire(edge, number) for node in shown for edge in self.inputs[node.id] if edge.source not in inside
        ]
        return with_copies([self._card(node) for node in shown], wires, far)

    def _constants_inside(self) -> set[str]:
        """Return the constants that stand in the circle of the one operation that has them."""
        found = set()
        for node in self.graph.nodes:
            constants = [edge.source for edge in self.inputs[node.id] if self.nodes[edge.source].kind == "constant"]
            if len(constants) < len(self.inputs[node.id]) < 3:
                found |= {*constants}
        return found

    def _wire(self, edge: Edge, number: Mapping[str, int]) -> Wire:
        """Return an edge as a wire."""
        source = self.nodes[edge.source]
        has_value, has_grad = "value" in self.options.show, "grad" in self.options.show
        value = self.number(source.value) if has_value and source.kind != "constant" else ""
        grad = self.number(edge.flow.handed, is_gradient=True) if has_grad else ""
        is_cut = source.kind in ("constant", "frozen")
        return Wire(number[edge.source], number[edge.target], edge.slot, value, grad, is_cut)

    def _card(self, node: Node) -> Component:
        """Return a node as a card."""
        is_root, name = node.id in self.graph.roots, node.name or ""
        tip = " = ".join(filter(None, [name, node.expression, self.number(node.value)]))
        is_wrong = not is_finite(node.value)
        end = self._end(node) if is_root else None
        if node.kind == "operation":
            note, brief = self._notes(node)
            kind, shown = "output" if is_root else "operation", TypeBox() if node.is_letter else name_box(name, NUMBER)
            return Component(self._sign(node), kind, shown, note, brief, self._total(node), end, tip, is_wrong=is_wrong)
        kind = node.kind if node.kind in ("leaf", "frozen", "constant") else "leaf"
        later = later_text(node.later, self.options.show, self.options.precision)
        note = text_box("; ".join(filter(None, [node.state if kind == "frozen" else "", later])), NOTE)
        box = typeset(name, NUMBER) if kind == "constant" else name_box(name, LEAF)
        total = self._total(node) if kind == "leaf" else TypeBox()
        return Component(box, kind, TypeBox(), note, note, total, end, tip, is_wrong=is_wrong)

    def _end(self, node: Node) -> End:
        """Return what stands at the end of the line out of a root."""
        grad = node.grad.arrived if node.kind == "operation" else node.grad.value
        shown = self.options.show
        value = self.number(node.value) if "value" in shown else ""
        return End(
            name_box(node.name or "", LEAF), value, self.number(grad, is_gradient=True) if "grad" in shown else ""
        )

    def _total(self, node: Node) -> TypeBox:
        """Return the gradient of what arrives in several ways, or besides what was there before, as a sum."""
        uses = self.graph.uses.get(node.id, [])
        if "grad" not in self.options.show or node.recorded.outputs:
            return TypeBox()
        total = sum_at(node, handed_on(uses))
        texts = total.texts(self.options.precision) if total.is_whole else []
        text = f"{' + '.join(texts)} = {self.number(total.total, is_gradient=True)}"
        if len(texts) < 2 or len(text) > 3 * LONGEST:
            return TypeBox()
        return text_box(text.replace("-", "−"), NOTE)

    # ------------------------------------------------------------ circles
    def _operand(self, node: Node) -> tuple[str, Formula | None]:
        """Return the one operand that is no constant, and what is computed of it with z in its place."""
        free = [edge for edge in self.inputs[node.id] if self.nodes[edge.source].kind != "constant"]
        if len(free) != 1:
            return "", None
        name = name_along(free[0], self.nodes[free[0].source])
        formula = as_formula(node.expression)
        if formula is None or name not in formula.names:
            return name, None
        return name, formula.replaced({name: Formula.named(COMES_IN)})

    def _sign(self, node: Node) -> TypeBox:
        """Return what stands in a circle: a sign, the name of a function, or what is done with z."""
        _, formula = self._operand(node)
        sign = operator_of(node.label)
        own = with_z(formula.node, sign) if formula is not None else None
        return own if own is not None else text_box(sign, SIGN if len(sign) == 1 else NUMBER)

    def _notes(self, node: Node) -> tuple[TypeBox, TypeBox]:
        """Return the local derivative below a circle, and the same in numbers alone."""
        flows = [edge for edge in self.inputs[node.id] if edge.flow.local is not None or edge.flow.symbol]
        numbers = [small_text(edge.flow.local, self.options.precision) for edge in flows]
        if len(flows) == 2 and operator_of(node.label) in BETWEEN_TWO and all(numbers):
            both = number_box(", ".join(numbers), NOTE)
            return both, both
        if len(flows) != 1:
            return TypeBox(), TypeBox()
        text = numbers[0] if len(numbers[0]) <= LONGEST_TEXT else ""
        brief = number_box(text, NOTE) if text else TypeBox()
        symbol = self._symbol(node, flows[0])
        if symbol is None or symbol.is_number:
            return brief, brief
        formula = Setter(arrays=()).set(symbol.node, NOTE, 2)
        return (row(formula, text_box(" = ", NOTE), number_box(text, NOTE)) if text else formula), brief

    def _symbol(self, node: Node, edge: Edge) -> Formula | None:
        """Return a local derivative in terms of z; None if it is long, or no factor."""
        text = edge.flow.symbol
        found = Formula.read(text) if text and UNKNOWN not in text else None
        name, formula = self._operand(node)
        if found is None or formula is None or GRAD in found.names:
            return None
        result = self.nodes[edge.target].name or ""
        found = found.replaced({result: formula, name: Formula.named(COMES_IN)})
        is_known = variables(found) <= {COMES_IN} and len(found.python) <= LONGEST
        return found if is_known else None

    # ------------------------------------------------------------ words
    def titles(self) -> list[str]:
        """Return the statements that the circuit computes: one for each named result, with the others in them."""
        formulas: dict[str, Formula] = {}
        named: list[str] = []
        for node in self._in_order():
            formula, name = as_formula(node.expression), node.name or ""
            if formula is None:
                continue
            whole = formula.replaced(formulas)
            if node.is_letter and node.id not in self.graph.roots:
                formulas[name] = whole
            else:
                named.append(f"{name} = {whole.python}")
        return named

    def _in_order(self) -> Iterator[Node]:
        """Yield the operations, each after what it is made from, operands from left to right."""
        todo, done = [self.nodes[root] for root in reversed(self.graph.roots)], set[str]()
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

    def example(self) -> Sequence[tuple[TypeBox, str]]:
        """Return what backward does at one operation of the circuit: its sign, and the product of numbers."""
        found: list[tuple[int, TypeBox, str]] = []
        for node in self.graph.nodes:
            flows = [edge for edge in self.inputs[node.id] if edge.flow.local is not None]
            if node.kind != "operation" or len(flows) != 1:
                continue
            numbers = [node.grad.arrived, flows[0].flow.local, flows[0].flow.handed]
            texts = [small_text(value, self.options.precision) for value in numbers]
            if not all(texts) or any(scalar_of(value) is None for value in numbers):
                continue
            plain = has_only(numbers[1], 1.0) + has_only(numbers[1], -1.0) + has_only(numbers[0], 1.0)
            text = f"{texts[0]} · {in_brackets(texts[1])} = {texts[2]}"
            found.append((plain, self._sign(node), text.replace("-", "−")))
        return [(sign, text) for _, sign, text in sorted(found, key=lambda one: one[0])[:1]]


def as_formula(text: str) -> Formula | None:
    """Return what an operation computes, ``relu(x)`` for ``x.relu()``; None if that is not known."""
    formula = Formula.read(text) if text else None
    return Formula(Functions().visit(formula.node)) if formula is not None else None


class Functions(ast.NodeTransformer):
    """Writes calls of methods, and those with a module's name, as calls of functions."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Return a call as that of a function."""
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        owner, name = node.func.value, ast.Name(node.func.attr, ast.Load())
        own = [] if isinstance(owner, ast.Name) and owner.id in MODULES else [owner]
        return ast.Call(name, [*own, *node.args], node.keywords)


def variables(formula: Formula) -> set[str]:
    """Return the names in a formula that are no functions."""
    called = {id(node.func) for node in ast.walk(formula.node) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(formula.node) if isinstance(node, ast.Name) and id(node) not in called}


def with_z(node: ast.expr, sign: str) -> TypeBox | None:
    """Return what is done with z as it stands in a circle; None for a sign, or a function's name, alone.

    Args:
        node: the formula.
        sign: of the operation.
    """
    found = None
    match node:
        case ast.BinOp(left=ast.Name(id="z"), right=other, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            box = Setter().set(other, NUMBER, 1)
            found = row(text_box(f"{sign} ", NUMBER), fenced(box, NUMBER) if isinstance(other, ast.UnaryOp) else box)
        case ast.BinOp(left=other, right=ast.Name(id="z"), op=ast.Add() | ast.Mult()):
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


def with_copies(cards: list[Component], wires: list[Wire], far: int) -> tuple[list[Component], list[Wire]]:
    """Return cards and wires with a leaf standing again beside uses that are far from its first.

    No line then leads across half of the picture.
    """
    rank = ranks_of([1.0] * len(cards), [wire[:2] for wire in wires])
    cards, wires = list(cards), list(wires)
    for number, card in enumerate(list(cards)):
        own = sorted(
            (at for at, wire in enumerate(wires) if wire.source == number), key=lambda at: rank[wires[at].target]
        )
        if card.is_round or not own or (far and len(own) < 3):
            continue
        copy, user = number, wires[own[0]].target
        where = rank[user]
        for at in own[1:]:
            target = wires[at].target
            if target != user and rank[target] - where >= far:
                copy, user, where = len(cards), target, rank[target]
                cards.append(card._replace(total=TypeBox(), note=TypeBox(), brief=TypeBox(), is_again=True, end=None))
            wires[at] = wires[at]._replace(source=copy)
    return cards, wires
