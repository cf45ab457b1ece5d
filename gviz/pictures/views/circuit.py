"""The circuit that lectures on backpropagation draw: value above each line, gradient below it, local derivatives once.

Constants stand in the circle of their operation (``+ 1``, ``1/z``, ``10 − z``), where z is what comes in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gviz.errors import warn_user
from gviz.formulas.expressions import operator_of
from gviz.formulas.formula import GRAD, UNKNOWN, Formula
from gviz.formulas.lectures import BY_ROWS, is_by_rows
from gviz.graphs import GRAD_OF, NOW, Edge, Graph, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.layout import RenderWarning
from gviz.layout.ink import Sheet
from gviz.layout.layered.ranks import ranks_of
from gviz.passes.dataflow import dataflow, outputs_of
from gviz.passes.elements import has_only, is_finite, scalar_of
from gviz.passes.quotients import with_quotients
from gviz.pictures.circuits import NOTE, NUMBER, Component, End, Wire
from gviz.pictures.labels import (
    SPACE_KEPT,
    TOLD,
    change_text,
    decimal,
    in_brackets,
    later_text,
    name_along,
    not_finite_first,
    place_text,
    size_text,
    small_text,
    value_text,
    why_without_numbers,
)
from gviz.pictures.options import FOLDING, RenderOptions
from gviz.pictures.picture import Picture
from gviz.pictures.sheets import COMES_IN, LEAD, Drawn, Remark, circuit_page
from gviz.pictures.sums import handed_on, sum_at
from gviz.pictures.theme import THEMES
from gviz.pictures.trails import SAMPLES, heading, trails_of, words
from gviz.pictures.typesetting import (
    SIGNS as SET,
    Setter,
    TypeBox,
    TypeRun,
    fenced,
    in_stack,
    name_box,
    number_box,
    phrase,
    row,
    text_box,
)
from gviz.pictures.views import dataflow as boxes

IGNORES = (
    *("ghosts", "rankdir", "layout", "color_by", "symbols", "by", "font_size", "repeat_leaves"),
    *("graph", "node", "edge", *FOLDING),
)

MOST = 60
"""Boxes of a circuit; a larger graph is drawn as the view dataflow draws it."""

LEAF, SIGN = 18.0, 22.0
"""Points: of the name of a leaf, and of a sign in a circle."""

LONGEST, LONGEST_TEXT = 24, 18
"""Characters of a local derivative as a symbol, or a sum at its leaf, and of a tensor's numbers on a line."""

SMALLER = 0.8
"""The size of a long sum below the circuit beside that of other lines."""

CODE = 0.85
"""The size of code beside that of mathematics."""

FAR = 3
"""Columns from the first use of a leaf from which on it stands again beside a further one, if it has more than two."""

MODULES = ("torch", "F", "nn", "math", "np")
"""Names that stand before functions."""

BETWEEN_TWO = ("−", "÷", "^")
"""Signs whose two local derivatives stand below their circle; those of + and × can be read off."""


def picture(graph: Graph, options: RenderOptions, missing: str = "circuits") -> Picture:
    """Return the picture in Graphviz's words, for formats that are nothing else: that of the view dataflow."""
    if options.format in ("dot", "gv") and not options.path:
        warn_user(f"DOT has no {missing}: the boxes are those of the view dataflow", RenderWarning)
    return boxes.picture(graph, options)


def sheet(graph: Graph, options: RenderOptions) -> Sheet | None:
    """Return the circuit of a graph; None of one that has too many boxes for it, which is said.

    Raises:
        SourceError: a path was asked for to a tensor that there is none to.
    """
    shown = with_quotients(dataflow(graph))
    count = sum(node.kind != "constant" for node in shown.nodes)
    if count > MOST:
        if not options.path:
            why = f"a circuit has at most {MOST} boxes, and this one would have {count}: drawn by --view dataflow"
            warn_user(f"{why}; --root NAME, or --around NAME, draws a part", RenderWarning)
        return None
    reader = CircuitReader(shown, options)
    drawn = Drawn(reader.circuit, reader.titles(), reader.gradient, reader.remarks, has_z=reader.has_z())
    return circuit_page(drawn, graph, options)


class CircuitReader:
    """What the cards and wires of a graph say.

    Args:
        graph: as :func:`dataflow` returns it.
        options: ``precision``, ``show``, ``path``, ``math`` and ``theme`` are read.
    """

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.graph, self.options = graph, options
        self.nodes, self.outputs = graph.by_id, outputs_of(graph)
        self.inputs: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
        for edge in sorted(graph.edges, key=lambda edge: edge.slot):
            if edge.kind == "data":
                self.inputs[edge.target].append(edge)
        self.trails = trails_of(graph, options.path)
        self.first_wrong = not_finite_first(graph)
        face = THEMES[options.theme].gradient_face
        self.slanted = face if face != "bold" else "sans"

    # ------------------------------------------------------------ type
    def typeset(self, formula: Formula, size: float, depth: int = 0) -> TypeBox:
        """Return a formula as mathematics sets it, or as code."""
        if self.options.math == "off":
            return text_box(formula.python, CODE * size, "mono")
        return Setter(arrays=()).set(formula.node, size, depth)

    def name(self, name: str, size: float) -> TypeBox:
        """Return a name as mathematics sets it, or as code."""
        return name_box(name, size) if self.options.math == "on" else text_box(name, CODE * size, "mono")

    def phrase(self, text: str, size: float) -> TypeBox:
        """Return a text with names in it."""
        return phrase(text, size) if self.options.math == "on" else text_box(text, CODE * size, "mono")

    def number(self, value: Numbers | None) -> str:
        """Return a tensor as a text on a line: its numbers, if they are few; else its norm, or its size alone."""
        if value is None:
            return ""
        text = small_text(value, self.options.precision)
        if not text and value.is_known:
            return f"norm {decimal(value.norm, self.options.precision)}"
        if len(text) > LONGEST_TEXT:
            return f"norm {decimal(value.norm, self.options.precision)}"
        return (text or size_text(size_of(value))).replace("-", "−")

    def size(self, node: Node) -> str:
        """Return the size of a tensor whose line has its norm alone; "" of any other."""
        return size_text(size_of(node.numbers)) if self.number(node.numbers).startswith("norm ") else ""

    # ------------------------------------------------------------ cards and wires
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
        cards, wires = with_copies([self._card(node) for node in shown], wires, far)
        if self.trails is None:
            return cards, wires
        lit = {end for wire in wires if not wire.is_faint for end in wire[:2]}
        return [card._replace(is_faint=at not in lit) for at, card in enumerate(cards)], wires

    def _constants_inside(self) -> set[str]:
        """Return the constants that stand in the circle of the one operation that has them."""
        found = set()
        for node in self.graph.nodes:
            constants = [edge.source for edge in self.inputs[node.id] if self.nodes[edge.source].kind == "constant"]
            if len(constants) < len(self.inputs[node.id]) < 3:
                found |= {*constants}
        return found

    def _wire(self, edge: Edge, number: Mapping[str, int]) -> Wire:
        """Return an edge as a wire; one of several outputs has its name with its value."""
        source, trails = self.nodes[edge.source], self.trails
        has_value, has_grad = "value" in self.options.show, "grad" in self.options.show
        made = self.outputs[edge.source].get(edge.output, source)
        value = self.number(made.numbers) if has_value and source.kind != "constant" else ""
        if source.recorded.outputs:
            value = " = ".join(filter(None, [made.name or "", value]))
        grad = self.number(edge.flow.handed) if has_grad else ""
        is_cut = source.kind in ("constant", "frozen")
        paths = trails.through.get((edge.target, edge.slot), ()) if trails is not None else ()
        is_faint = trails is not None and not trails.has(edge)
        return Wire(number[edge.source], number[edge.target], edge.slot, value, grad, is_cut, paths, is_faint)

    def _card(self, node: Node) -> Component:
        """Return a node as a card."""
        is_root, name = node.id in self.graph.roots, node.name or ""
        tip = " = ".join(filter(None, [name, node.expression, self.number(node.numbers)]))
        end = self._end(node) if is_root else None
        is_wrong = node.id in self.first_wrong or self._has_stopped(node)
        if node.kind == "operation":
            is_named = name and not (node.is_letter or node.recorded.outputs)
            size = "" if is_root else self.size(node)
            shown = row(
                *([self.name(name, NUMBER)] if is_named else []),
                text_box(f"{'  ' * bool(is_named)}{size}", NOTE) if size else TypeBox(),
            )
            notes = (*self._notes(node), TypeBox())
            note, brief, bare = (in_stack([box, *self._states(node)], 4.0) for box in notes)
            kind = "output" if is_root else "operation"
            total, is_long = self._total(node)
            total = row(text_box("… ", NOTE), self._sum_text(self.number(node.grad.arrived))) if is_long else total
            return Component(self._sign(node), kind, shown, note, brief, bare, total, end, tip, is_wrong=is_wrong)
        kind = node.kind if node.kind in ("leaf", "frozen", "constant") else "leaf"
        is_wrong = node.value is not None and not is_finite(node.value)
        note = in_stack(self._states(node), 4.0)
        box = self.phrase(name, NUMBER) if kind == "constant" else self.name(name, LEAF)
        total, is_long = self._total(node) if kind == "leaf" else (TypeBox(), False)
        if is_long:
            total = self._sum_text(f"… = {self.number(node.grad.value)}")
        return Component(box, kind, TypeBox(), note, note, note, total, end, tip, is_wrong=is_wrong)

    def _states(self, node: Node) -> list[TypeBox]:
        """Return what a card says besides: its size, why it gets no gradient, what hooks made of it, what it is now."""
        texts = [self.size(node)] if node.kind != "operation" else []
        is_told = node.state.startswith(TOLD) and not node.state.startswith(GRAD_OF)
        texts += [node.state] if node.kind == "frozen" or is_told else []
        if "grad" in self.options.show:
            texts += [change_text(change, self.options.precision) for change in node.grad.hooks]
        if not node.state.startswith(NOW):
            texts.append(later_text(node.later, self.options.show, self.options.precision))
        if "line" in self.options.show and node.place is not None:
            texts.append(place_text(node))
        return [text_box(text.replace("-", "−") if "→" in text else text, NOTE) for text in texts if text]

    def _has_stopped(self, node: Node) -> bool:
        """Return whether backward has come to an operation, and not through it, since the program stopped there."""
        uses = self.graph.uses.get(node.id, [])
        has_come = any(edge.flow.handed is not None for edge in uses) or node.id in self.graph.roots
        is_through = any(edge.flow.handed is not None for edge in self.inputs[node.id])
        return self.graph.stop is not None and node.kind == "operation" and has_come and not is_through

    def _end(self, node: Node) -> End:
        """Return what stands at the end of the line out of a root."""
        grad = node.grad.arrived if node.kind == "operation" else node.grad.value
        shown = self.options.show
        value = self.number(node.numbers) if "value" in shown else ""
        return End(self.name(node.name or "", LEAF), value, self.number(grad) if "grad" in shown else "")

    def _sum_text(self, text: str) -> TypeBox:
        """Return a sum of gradients."""
        return text_box(text.replace("-", "−"), NOTE, self.slanted)

    def _total(self, node: Node) -> tuple[TypeBox, bool]:
        """Return the gradient of what arrives in several ways, or besides what was there before, as a sum.

        The second is whether it is too long to stand beside its card.
        """
        uses = self.graph.uses.get(node.id, [])
        if "grad" not in self.options.show or node.recorded.outputs:
            return TypeBox(), False
        total = sum_at(node, handed_on(uses))
        texts = total.texts(self.options.precision) if total.is_whole else []
        if len(texts) < 2:
            return TypeBox(), False
        first = texts[0][1:-1] if texts[0].startswith("(-") else texts[0]
        text = f"{' + '.join([first, *texts[1:]])} = {value_text(total.total, self.options.precision)}"
        return self._sum_text(text), len(text) > LONGEST

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
        if self.options.math == "off":
            has_operand = formula is not None and COMES_IN in formula.names and len(formula.python) <= LONGEST_TEXT
            return (
                self.typeset(formula, NUMBER) if formula is not None and has_operand else text_box(sign, NUMBER, "mono")
            )
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
        formula = self.typeset(symbol, NOTE, 2)
        return (row(formula, text_box(" = ", NOTE), number_box(text, NOTE)) if text else formula), brief

    def _symbol(self, node: Node, edge: Edge) -> Formula | None:
        """Return a local derivative in terms of z; None if it is long, or no factor."""
        text = edge.flow.symbol
        found = Formula.read(text) if text and UNKNOWN not in text else None
        name, formula = self._operand(node)
        if found is None or formula is None or GRAD in found.names:
            return None
        z = Formula.named(COMES_IN)
        is_step = operator_of(node.label) == "relu"  # whose result is above 0 where what comes in is
        found = found.replaced({node.name or "": z if is_step else formula, name: z})
        is_known = found.variables <= {COMES_IN} and len(found.python) <= LONGEST
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
                named.append(f"{', '.join(one or '_' for one in node.recorded.outputs) or name} = {whole.python}")
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

    def has_z(self) -> bool:
        """Return whether what comes in has its name in a circle, or below one."""
        return any(
            COMES_IN in part.text
            for node in self.graph.nodes
            if node.kind == "operation"
            for box in (self._sign(node), self._notes(node)[0])
            for part in box.parts
            if isinstance(part, TypeRun) and (part.face == "math" or self.options.math == "off")
        )

    def gradient(self, size: float) -> TypeBox:
        """Return what the numbers below the lines are: a quotient where backward has started from 1, and no hook is."""
        roots = [self.nodes[root] for root in self.graph.roots]
        starts = [root.grad.arrived if root.kind == "operation" else root.grad.value for root in roots]
        if self.graph.has_hooks or not all(start is None or has_only(start, 1.0) for start in starts):
            return text_box("gradient, below the line", size)
        total = row(*[part for root in roots for part in (text_box(" + ", size), self.name(root.name or "", size))][1:])
        if any(size_of(root.numbers) for root in roots):
            total = row(text_box("Σ ", size), total)
        if len(roots) > 1 or not (roots and (roots[0].name or "").isidentifier()):
            total = fenced(total, size)
        quotient = row(text_box("∂", size), total, text_box("/∂", size))
        return row(quotient, text_box("(this value), below the line", size))

    def remarks(self, size: float) -> list[Remark]:
        """Return what stands below: paths with their products, or an example of a step; long sums; why numbers lack."""
        found = list(self._trails(size)) if self.trails is not None else list(self._example(size))
        if not self.options.legend and self.trails is None:
            found = []
        for node in self.graph.nodes:
            box, is_long = self._total(node) if self.trails is None else (TypeBox(), False)
            if is_long:
                head = row(text_box("gradient of ", size), self.name(node.name or "", size), text_box(": ", size))
                found.append(Remark(row(head, box.scaled(size / NOTE)).scaled(SMALLER), "gradient"))
        if self.options.legend and "grad" in self.options.show and self.graph.edges and not self._has_gradients():
            found.append(Remark(text_box(f"no gradients: {why_without_numbers(self.graph)}", size), "muted"))
        return found

    def _has_gradients(self) -> bool:
        """Return whether gradients are known."""
        return any(edge.flow.handed is not None for edge in self.graph.edges)

    def _trails(self, size: float) -> Iterator[Remark]:
        """Yield what is said of paths: how they are read, each with its product, and their sum."""
        assert self.trails is not None  # noqa: S101 - who calls has looked
        yield Remark(self.phrase(heading(self.trails), size))
        last = -1
        for line in words(self.trails, self.options):
            number = int(line[0].ink.removeprefix("path ")) if line[0].ink.startswith("path ") else -1
            text = "".join(span.text for span in line)
            for sample in SAMPLES:
                text = text.removeprefix(sample)
            depth = LEAD * 0.25 if number >= 0 and number == last else 0.0
            yield Remark(self.phrase(text.replace(SPACE_KEPT, " ").strip(), size), path=number, depth=depth)
            last = number
        if any(is_by_rows(edge.flow.symbol) for edge in self.graph.edges):
            yield Remark(text_box(BY_ROWS, SMALLER * size), "muted")

    def _example(self, size: float) -> Iterator[Remark]:
        """Yield what backward does at one operation of the circuit: its sign, and the product of numbers."""
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
        for _, sign, text in sorted(found, key=lambda one: one[0])[:1]:
            small = sign.scaled(size * 1.1 / (SIGN if len(sign.text) == 1 and not sign.text.isalnum() else NUMBER))
            head = text_box("backward: what arrives × local derivative, through ", size)
            yield Remark(row(head, small, text_box(f":  {text}", size)), "gradient", is_backward=True)


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
                cards.append(
                    card._replace(
                        total=TypeBox(), note=TypeBox(), brief=TypeBox(), bare=TypeBox(), is_again=True, end=None
                    )
                )
            wires[at] = wires[at]._replace(source=copy)
    return cards, wires
