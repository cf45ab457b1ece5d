"""Equations between tensors in brackets: value over gradient, and below each what backward computes from g.

g is what arrives at the result of the operation, to the right. A tensor that is used several times stands at each use
with the part of its gradient that comes from there; their sum stands in a row of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

from gviz.errors import warn_user
from gviz.formulas.backward import RESHAPING, Handed, aliased, backward_formula as formula_of, noted
from gviz.formulas.calls import as_formula
from gviz.formulas.formula import GRAD, Formula
from gviz.formulas.lectures import PLACES
from gviz.formulas.operations import operator_of
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.layout import RenderWarning
from gviz.layout.ink import Item, Outline, Pen, Point, Stretch
from gviz.passes.dataflow import DETACHED
from gviz.passes.elements import AXES, ONE, spread_dims, sum_of, sum_text
from gviz.passes.starts import handed_on
from gviz.pictures.circuits import LINE as THIN
from gviz.pictures.digits import ABOUT, EQUAL, decimal, holds, printed_sum
from gviz.pictures.equations import (
    FORMULA,
    NAME,
    REMARK,
    SIGN,
    WHOLE,
    Bracket,
    BracketNote,
    EquationWriter,
    NumberGrid,
    Part,
    Phrase,
    Sign,
    number_grid,
)
from gviz.pictures.labels import name_along, size_text
from gviz.pictures.legend import FORMULA_WORDS, LegendEntry, kind_entries
from gviz.pictures.look import PAGES
from gviz.pictures.options import RenderOptions
from gviz.pictures.parts import drawn_formula
from gviz.pictures.reader import Reader
from gviz.pictures.sheets import (
    WIDE,
    Block,
    InkedPage,
    Remark,
    SheetWriter,
    scale_in,
    theme_of,
)
from gviz.pictures.slide import WORTH
from gviz.pictures.sums import Decimals, sum_at
from gviz.pictures.typesetting import Setter, TypeBox, circled_dot, row, text_box
from gviz.pictures.views import circuit

IGNORES = (*circuit.IGNORES, "path", "arrows")

MOST = 20
"""Operations of equations; a larger graph is drawn as the view dataflow draws it."""

LETTERS = ("g", "delta", "gamma", "eta")
"""Names of the gradient that arrives, the first that the program does not have."""

WIDEST = 250.0
"""Points of a formula below a tensor; a longer one is left out."""

DOT = 30.0
"""Points of the dot of a product."""

LONG = 60.0
"""Points of a name above a tensor; a longer one is smaller."""

WIDTHS = (560.0, 700.0, 850.0, 1000.0, 1200.0, 1450.0, 1750.0, 2100.0)
"""How wide rows are tried to be on a page."""

FEW_DECIMALS, FEW = 2, 6
"""Decimals, and elements of a tensor that is written whole, on a page that more would make too small to be read."""

BRIEF_WORTH = 0.96
"""How formulas weigh that do not say what they are, against larger type."""

COLUMN, ROW = "column", "row"

NOTHING = BracketNote()

SIGNS = {ast.Add: "+", ast.Sub: "−", ast.MatMult: "·", ast.Div: "÷", ast.Mult: "·", ast.Pow: "^"}
"""Operators as they stand between tensors."""


def sheet(graph: Graph, options: RenderOptions) -> InkedPage | None:
    """Return the equations of a graph; None of one that has too many operations for them, which is said."""
    shown = with_same_numbers(drawn_formula(graph, options))
    operations = [node for node in shown.nodes if node.kind == "operation"]
    if len(operations) > MOST:
        told = f"matrices are drawn of at most {MOST} operations: this graph is drawn by --view dataflow"
        warn_user(told, RenderWarning)
        return None
    if not any(node.shape for node in shown.nodes):
        warn_user("all tensors of this graph are single numbers: --view circuit shows more of them", RenderWarning)
    return SheetWriter(EquationContent(shown, options), shown, options).page()


def with_same_numbers(graph: Graph) -> Graph:
    """Return the graph with the numbers of unnamed results that are those of another tensor in other sizes.

    ``W.T`` in ``X @ W.T`` has no name, and so no numbers of its own. Constants are numbers without a name in them.
    """
    nodes = dict(graph.by_id)
    rows = {row.name: row.at_backward()[0] for row in graph.tensors}
    for node in graph.nodes:
        found = Formula.read(node.name or "") if node.kind == "frozen" and node.numbers is None else None
        if found is not None and not found.variables:
            nodes[node.id] = node._replace(kind="constant")
        elif found is not None and (node.name or "").removesuffix(DETACHED) in rows:
            nodes[node.id] = node._replace(numbers=rows[(node.name or "").removesuffix(DETACHED)])
    alike = [(edge, way) for edge in graph.edges for way in [same_numbers(edge)] if way and not edge.output]
    for edge, way in [*alike[::-1], *alike]:  # from the leaves on, then back from the root
        for one, other in ((edge.source, edge.target), (edge.target, edge.source)):
            nodes[other] = nodes[other]._replace(numbers=as_standing(nodes[one].numbers, nodes[other], way))
    return graph.changed(nodes=tuple(nodes.values()))


def same_numbers(edge: Edge) -> str:
    """Return how an operation changes sizes, and none of the numbers: ``T``, ``same``, "" for another."""
    match noted(Formula.parse(edge.flow.symbol)).node if GRAD in edge.flow.symbol else None:
        case ast.Name(id="grad"):
            return "same"
        case ast.Attribute(value=ast.Name(id="grad")):
            return "T"
    return ""


def as_standing(numbers: Numbers | None, node: Node, way: str) -> Numbers | None:
    """Return the numbers of a tensor: its own, or those of one in other sizes, if it has none."""
    own = node.numbers
    if own is None or own.is_known or numbers is None or numbers.elements is None or numbers.numel != own.numel:
        return own
    elements = numbers.elements
    if way == "T":
        if len(numbers.shape or ()) != len(AXES):
            return own
        rows, wide = size_of(numbers)
        elements = tuple(elements[row * wide + at] for at in range(wide) for row in range(rows))
    return own._replace(elements=elements)


class EquationReader(Reader):
    """What the rows of a graph say.

    Args:
        graph: as :func:`dataflow` returns it.
        options: ``precision`` and ``show`` are read.
        whole: elements of a tensor that is written whole.
    """

    def __init__(self, graph: Graph, options: RenderOptions, whole: int = WHOLE) -> None:
        super().__init__(graph, options)
        self.whole = whole

    @cached_property
    def letter(self) -> str:
        """The name of the gradient that arrives."""
        return self.free(LETTERS, GRAD)

    @cached_property
    def place(self) -> str:
        """The letter for each row of a tensor."""
        return self.free(PLACES, "row")

    def free(self, letters: Sequence[str], usual: str) -> str:
        """Return the first of some letters that is no name of a tensor."""
        names = {node.name for node in self.graph.nodes} | {row.name for row in self.graph.tensors}
        return next((letter for letter in letters if letter not in names), usual)

    @cached_property
    def decimals(self) -> Decimals:
        """The decimals of the numbers in brackets; local derivatives stand in formulas alone."""
        whole = self.whole
        return Decimals(
            self.graph, self.options.precision, lambda value, _: value.numel <= whole, lambda _, __: False, most=0
        )

    # ------------------------------------------------------------ columns and rows
    @cached_property
    def ways(self) -> dict[str, str]:
        """Whether a vector stands as a column or as a row, as it multiplies; those of one sum stand alike."""
        leads: dict[str, str] = {}
        votes: dict[str, str] = {}

        def lead(one: str) -> str:
            while leads.get(one, one) != one:
                one = leads[one]
            return one

        for node in self.in_order():
            result = self.made[node.id].get(0, node)
            for edge in self.inputs[node.id]:
                source = self.source(edge)
                way = self.way(node, edge)
                for one, own in zip((source, result), way, strict=True):
                    if own and len(one.shape or ()) == 1:
                        votes.setdefault(lead(one.id), own)
                if way == ("", "") and source.shape == result.shape and len(source.shape or ()) == 1:
                    first, second = lead(source.id), lead(result.id)
                    leads[second] = first
                    if second in votes:
                        votes.setdefault(first, votes[second])
        usual = ROW if any(len(node.shape or ()) == 2 for node in self.graph.nodes) and not votes else COLUMN
        tensors = [node for made in self.made.values() for node in made.values()]
        return {node.id: votes.get(lead(node.id), usual) for node in tensors}

    def way(self, node: Node, edge: Edge) -> tuple[str, str]:
        """Return how an operand and the result of an operation stand, "" where that is not given."""
        source, result = self.source(edge).shape or (), node.shape or ()
        formula = Formula.read(aliased(edge.flow.symbol, self.aliases)) if edge.flow.symbol else None
        match formula.node if formula is not None else None:
            case ast.Call(func=ast.Name(id="unsqueeze"), args=[_, ast.Constant(value=int(place))]):
                return ("", COLUMN if place else ROW)
            case ast.Call(func=ast.Name(id="squeeze"), args=[_, ast.Constant(value=int(place))]):
                return (COLUMN if place else ROW, "")
            case ast.Call(func=ast.Name(id=name)) if name in RESHAPING:
                one, other = (COLUMN if len(sizes) == 2 and sizes[1] == 1 else ROW for sizes in (result, source))
                return (one, other)
        if len(source) == 1 and len(result) > 1:
            return (ROW, "")
        if operator_of(node.label) == "@" and 1 in (len(source), len(result)) and result:
            return (COLUMN, COLUMN)
        return ("", "")

    # ------------------------------------------------------------ tensors
    def bracket(
        self, node: Node, grad: Numbers | None, note: BracketNote, way: str = "", *, is_again: bool = False
    ) -> Bracket:
        """Return a tensor in brackets.

        Args:
            node: the tensor.
            grad: what stands below it.
            note: what is said there.
            way: whether a vector stands as a column or as a row here; "" for as usual.
            is_again: whether it stands elsewhere, too.
        """
        precision, shown = self.options.precision, self.options.show
        value = self.grid(node, node.value, way) if "value" in shown else None
        below = self.grid(node, grad, way) if "grad" in shown else None
        kind = "output" if node.id in self.graph.roots else node.kind
        size = size_text(node.shape or ())
        if value is not None and value.is_cut and node.value is not None:
            size += f", ‖·‖ = {decimal(node.value.norm, precision)}"
        if below is not None and below.is_cut and grad is not None:
            note = note.with_remarks([f"‖gradient‖ = {decimal(grad.norm, precision)}"])
        name = node.name or ""
        box = self.named(name, NAME)
        box = box if box.width <= LONG else self.named(name, FORMULA)
        tip = f"{name} = {node.expression}" if node.expression else name
        return Bracket(kind, box, size, value, below, note, is_again, tip)

    def grid(self, node: Node, numbers: Numbers | None, way: str = "") -> NumberGrid | None:
        """Return how numbers are written that have the sizes of a tensor."""
        is_column = (way or self.ways.get(node.id, COLUMN)) == COLUMN
        return number_grid(numbers, self.options.precision, is_column=is_column, whole=self.whole)

    def fact_lines(self, node: Node) -> list[str]:
        """Return what is to be said of a tensor, each thing in a line of its own."""
        return [part for text in self.facts(node) for part in text.split("; ")]

    # ------------------------------------------------------------ gradients
    def uses(self, node: Node) -> list[Edge]:
        """Return the uses of a tensor that hand a gradient on to it, or would."""
        own = [edge for edge in self.uses_of.get(node.id, ()) if edge.kind == "data"]
        return [edge for edge in own if edge.flow.handed is not None or edge.flow.symbol]

    def is_shared(self, node: Node) -> bool:
        """Return whether the gradient of a tensor is another one than the part that comes from a use."""
        is_added = node.kind == "leaf" and node.grad.before is not None
        is_one = len(self.uses(node)) == 1 and self.adds_up(node)
        return not is_one or is_added or bool(node.grad.hooks) or node.id in self.graph.roots

    def backward(self, edge: Edge, node: Node) -> Handed | None:
        """Return what an operation hands on to an input, as a formula; None if none says it."""
        flow = edge.flow
        if not flow.symbol or any(one.kind == "handed" for one in node.grad.hooks):
            return None
        found = Formula.read(aliased(flow.symbol, self.aliases))
        if found is None:
            return None
        has_jacobian = (
            GRAD not in found.names and flow.local is None and ("[i" in flow.symbol or "diag(" in flow.symbol)
        )
        is_factor = GRAD not in found.names and not has_jacobian and (flow.local is not None or flow.handed is None)
        return formula_of(
            flow.symbol,
            self.letter,
            self.aliases,
            is_factor=is_factor,
            is_summed=bool(sum_text(edge)),
            place=self.place,
        )

    def below(self, edge: Edge, node: Node) -> BracketNote:
        """Return what stands below a tensor at a use: formulas and remarks."""
        found, source = self.backward(edge, node), self.source(edge)
        part = "a part: sum below" if self.adds_up(source) else "a part"
        is_one = len(self.uses(source)) == 1 and self.adds_up(source)
        part_of = (part,) if not is_one and edge.flow.handed is not None else ()
        if found is None:
            return BracketNote(remarks=part_of)
        own = found.formula.replaced(self.restored)
        brief = Setter(self.arrays | ({self.letter: len(node.shape)} if node.shape else {})).set(own.node, FORMULA, 1)
        if brief.width > WIDEST:
            return BracketNote(remarks=part_of)
        root = self.names[0] if len(self.names) == 1 else ""
        is_part = self.is_shared(source) or not root.isidentifier() or not self.are_quotients
        head = [] if is_part else [*self.quotient(source), text_box(" = ", FORMULA)]
        remarks = [text for text in (sum_text(edge).removeprefix("Σ "), copied_text(edge, node, found)) if text]
        remarks += [f"for each {self.place}"] * found.is_by_rows
        return BracketNote(row(*head, brief), brief, (*remarks, *part_of), own.python)

    @property
    def are_quotients(self) -> bool:
        """Whether gradients are the derivatives of one number."""
        return self.are_derivatives and not any(size_of(self.nodes[root].numbers) for root in self.graph.roots)

    def quotient(self, node: Node) -> list[TypeBox]:
        """Return the derivative of the root for a tensor."""
        names = (self.named(name, FORMULA) for name in (self.names[0], node.name or ""))
        top, low = names
        return [text_box("∂", FORMULA), top, text_box("/∂", FORMULA), low]

    # ------------------------------------------------------------ rows
    def rows(self) -> list[list[Part]]:
        """Return the equations, and the sums of gradients that come from several uses."""
        rows: list[list[Part]] = []
        seen: set[str] = set()
        last = ""  # the tensor that the last row ends with
        for node in self.in_order():
            operands = self.operands(node)
            results = list(self.made[node.id].values()) or [node]
            if not operands:
                continue
            parts = self.step(node, operands, seen)
            first = self.source(operands[0])
            joined = self.joined(rows[-1][-1], parts[0]) if rows and first.id == last else None
            if joined is not None and not self.is_shared(first):
                rows[-1][-1:] = [joined, *parts[1:]]
            else:
                rows.append(parts)
            for result in results:
                comma = [Phrase(text_box(",", SIGN))] if result is not results[0] else []
                grad = result.grad.arrived or (result.grad.value if result.id in self.graph.roots else None)
                way = next((own for edge in operands for _, own in [self.way(node, edge)] if own), "")
                rows[-1] += [
                    *comma,
                    self.bracket(result, grad, BracketNote(remarks=tuple(self.fact_lines(result))), way),
                ]
                seen.add(result.id)
            last = results[0].id if len(results) == 1 else ""
        rows += [sum_row for node in self.tensors() for sum_row in self.sums(node)]
        return rows or [[self.bracket(node, node.grad.value, NOTHING)] for node in self.graph.nodes]  # a tensor alone

    def operands(self, node: Node) -> list[Edge]:
        """Return the lines from the tensors that an operation is made from, in the order of its call, if that tells."""
        edges = [edge for edge in self.inputs[node.id] if self.nodes[edge.source].kind != "constant"]
        found = as_formula(aliased(node.expression, self.aliases), self.tensor_names) if len(edges) > 1 else None
        given = found.node.args if found is not None and isinstance(found.node, ast.Call) else []
        order = [one.id for one in given if isinstance(one, ast.Name)]
        names = [name_along(edge, self.nodes[edge.source]) for edge in edges]
        own = [self.aliases.get(name, name) for name in names]
        if not {*own} <= {*order}:
            return edges
        return [edges[at] for at in sorted(range(len(edges)), key=lambda at: order.index(own[at]))]

    def joined(self, result: Part, operand: Part) -> Bracket | None:
        """Return the bracket that is both a result and an operand; None if the two do not look alike."""
        if not isinstance(result, Bracket) or not isinstance(operand, Bracket) or result[1:5] != operand[1:5]:
            return None
        return operand._replace(is_again=False, note=operand.note.with_remarks(result.note.remarks))

    def tensors(self) -> Iterator[Node]:
        """Yield what operations make and are made from, each once."""
        seen: set[str] = set()
        for node in self.in_order():
            for one in (*(self.source(edge) for edge in self.inputs[node.id]), *self.made[node.id].values()):
                if one.id not in seen:
                    seen.add(one.id)
                    yield one

    def step(self, node: Node, operands: Sequence[Edge], seen: set[str]) -> list[Part]:
        """Return an operation on its operands, up to its result."""
        cards: list[Bracket] = []
        for edge in operands:
            source = self.source(edge)
            is_again = source.id in seen
            note = self.below(edge, node).with_remarks([] if is_again else self.fact_lines(source))
            way, _ = self.way(node, edge)
            cards.append(self.bracket(source, edge.flow.handed, note, way, is_again=is_again))
            seen.add(source.id)
        between = self.infix(node, operands, cards) if len(cards) > 1 else None
        if between is not None:
            return [*between, Phrase(text_box(self.decimals.values.sign(node).strip(), SIGN))]
        parts: list[Part] = []
        for card in cards:
            parts += [Phrase(text_box(",", SIGN)), card]
        return [*parts[1:], Sign(self.sign(node), is_arrow=True)]

    def infix(self, node: Node, operands: Sequence[Edge], cards: Sequence[Bracket]) -> list[Part] | None:
        """Return operands with signs between, in the order of the formula; None if it is no formula of signs alone."""
        found = as_formula(aliased(node.expression, self.aliases), self.tensor_names)
        waiting = [
            (self.aliases.get(name, name), card, self.source(edge))
            for edge, card in zip(operands, cards, strict=True)
            for name in [name_along(edge, self.nodes[edge.source])]
        ]
        parts: list[Part] = []
        todo: list[ast.expr | ast.operator | tuple[ast.BinOp]] = [noted(found).node] if found is not None else []
        while todo:
            match todo.pop():
                case ast.BinOp(op=op) as whole if type(op) in SIGNS:
                    todo += [whole.right, (whole,), whole.left]
                case (ast.BinOp() as whole,):
                    parts.append(self.operator(whole, node))
                case ast.Name(id=name):
                    at = next((at for at, one in enumerate(waiting) if one[0] == name), None)
                    if at is None:
                        return None
                    parts.append(waiting.pop(at)[1])
                case ast.Constant() as number:
                    parts.append(Phrase(Setter().set(number, SIGN, 1)))
                case _:
                    return None
        return parts if parts and not waiting else None

    def operator(self, whole: ast.BinOp, node: Node) -> Sign:
        """Return the sign between two operands, and over what the smaller one is spread."""
        sides = [self.size_named(part) for part in (whole.left, whole.right)]
        is_product = isinstance(whole.op, ast.Mult) and all(sides)
        sign = SIGNS[type(whole.op)]
        size = DOT if sign == "·" else SIGN
        box, size = (circled_dot(SIGN), 0.0) if is_product else (text_box(sign, size), size)
        sizes = node.shape or ()
        known = [side for side in sides if side is not None and all(isinstance(one, int) for one in side)]
        spread = ""
        if not isinstance(whole.op, ast.MatMult) and len(known) == 2 and all(isinstance(one, int) for one in sizes):
            smaller = [side for side in known if side != sizes and len(side) <= len(sizes)]
            dims = spread_dims(sizes, smaller[0]) if len(smaller) == 1 else ()  # type: ignore[arg-type]
            spread = places(dims, len(sizes)) if dims else ""
        return Sign(box, remark=spread and f"to {spread}", size=size)

    def size_named(self, part: ast.expr) -> tuple[int | str | None, ...] | None:
        """Return the sizes of an operand in a formula; None where they are not known."""
        if not isinstance(part, ast.Name):
            return () if isinstance(part, ast.Constant) else None
        names = {own: name for name, own in self.aliases.items()}
        name = names.get(part.id, part.id)
        tensors = (node for made in self.made.values() for node in made.values())
        return next((node.shape for node in tensors if node.name == name), None)

    def sums(self, node: Node) -> Iterator[list[Part]]:
        """Yield the row that adds up what comes to a tensor in several ways, with what was there before."""
        parts = handed_on(self.uses(node))
        if "grad" not in self.options.show or not parts or not self.is_shared(node) or not self.adds_up(node):
            return
        sent = node.grad.hook_change
        total = sum_at(node, parts)
        whole = sum_of(parts) if sent is not None else total.total
        terms: list[tuple[Numbers | None, str]] = [(part, "") for part in parts]
        if sent is None and total.before is not None:
            terms.insert(0, (total.before, "before"))
        if node.id in self.graph.roots and not node.shape and sent is None and node.grad.arrived is not None:
            terms, whole = [(ONE, "as a root"), *terms], node.grad.arrived
        if len(terms) < 2:
            return
        is_own = len(self.names) == 1 and self.names[0].isidentifier() and total.before is None
        head = self.quotient(node) if is_own and self.are_quotients else [self.grad_of(node)]
        row_of_terms: list[Part] = [Phrase(row(*head, text_box(" =", FORMULA)), is_red=True)]
        for number, (term, remark) in enumerate(terms):
            row_of_terms += [Sign(text_box("+", SIGN), size=SIGN)] if number else []
            row_of_terms.append(self.alone(node, term, (remark,) if remark else ()))
        precision = self.options.precision
        sign = EQUAL if holds(printed_sum([term for term, _ in terms], precision, 0), whole, precision) else ABOUT
        yield [*row_of_terms, Phrase(text_box(sign.strip(), SIGN)), self.alone(node, whole)]

    def adds_up(self, node: Node) -> bool:
        """Return whether the gradient of a tensor is the sum of what is drawn: of a part of a graph it may not be."""
        known = node.grad.value if node.kind == "leaf" else node.grad.arrived
        is_root = node.id in self.graph.roots
        return (
            known is None
            or node.grad.hook_change is not None
            or is_root
            or sum_at(node, handed_on(self.uses(node))).is_whole
        )

    def grad_of(self, node: Node) -> TypeBox:
        """Return the gradient of a tensor by its name in the program."""
        return row(self.named(node.name or "", FORMULA), text_box(".grad", FORMULA))

    def alone(self, node: Node, grad: Numbers | None, remarks: tuple[str, ...] = ()) -> Bracket:
        """Return a gradient in brackets of its own."""
        return Bracket("grad", value=self.grid(node, grad), note=BracketNote(remarks=remarks))


def places(dims: Sequence[int], count: int) -> str:
    """Return where a smaller tensor is spread to.

    >>> places((0,), 2), places((1,), 2), places((0, 1), 2)
    ('each row', 'each column', 'every element')
    """
    if len(dims) == count:
        return "every element"
    return f"each {AXES[dims[0]][:-1]}" if count == len(AXES) else f"each along dim {', '.join(map(str, dims))}"


def copied_text(edge: Edge, node: Node, found: Handed) -> str:
    """Return where the numbers of a smaller gradient are copied to; "" for nowhere."""
    whole, part = size_of(edge.flow.handed), size_of(node.grad.arrived)
    if edge.flow.handed is None or node.grad.arrived is None or found.is_by_rows:
        return ""
    if Numbers(whole).numel <= Numbers(part).numel:
        return ""
    if found.copied >= 0 and len(whole) > len(part):
        return f"copied to {places((found.copied,), len(whole))}"
    is_plain = isinstance(found.formula.node, ast.Name | ast.BinOp)
    if not is_plain or len(whole) < len(part):
        return ""
    is_alone = len(found.formula.names) == 1 and edge.flow.local is not None
    return f"copied to {places(spread_dims(whole, part), len(whole))}" if is_alone else ""


class EquationContent:
    """The equations of a graph as a page shows them: see :class:`gviz.pictures.sheets.Content`.

    Args:
        graph: the graph.
        options: those of a page, and ``precision`` and ``show``.
    """

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.graph, self.options, self.theme = graph, options, theme_of(options)
        self.reader = EquationReader(graph, options)
        self.titles, self.arrays = self.reader.titles(), self.reader.arrays
        self.description = (
            f"The equations of {'; '.join(self.titles)}, each tensor in brackets, its gradient below its value"
        )
        self.shown = self.reader.rows()
        self.is_cut = False

    def as_large_as_it_is(self) -> Block:
        """Return the equations, in rows no wider than a page of text."""
        writer = EquationWriter(self.theme)
        lines, size = writer.lines(self.shown, WIDE)
        self.is_cut = sum(map(len, lines)) > len(self.shown)
        return Block(list(writer.ink(lines)), size)

    def in_room(self, room: Point) -> tuple[Block, float, float]:
        """Return the equations in the rows that have the largest type in a room, their scale, and the smallest type.

        Where that cannot be read, numbers have few decimals, and then large tensors are cut, which the page says.
        """
        block, scale = self._rows_in(self.shown, room)
        few = min(self.options.precision, FEW_DECIMALS)
        for whole, worth in ((WHOLE, 1.04), (FEW, WORTH)) if not self.options.differs("precision") else ():
            if scale * REMARK >= PAGES[self.options.fit].least:
                break
            less = EquationReader(self.graph, replace(self.options, precision=few), whole)
            cut = f", tensors of more than {whole} elements are cut" if whole == FEW else ""
            told = text_box(
                f"Numbers are rounded to {few} decimals, small ones to two digits{cut}: --precision 4 shows more.",
                REMARK,
            )
            shorter, larger = self._rows_in([*less.rows(), [Phrase(told)]], room)
            if larger > worth * scale:
                block, scale = shorter, larger
        return block, scale, scale * REMARK

    def _rows_in(self, rows: Sequence[Sequence[Part]], room: Point) -> tuple[Block, float]:
        """Return rows as they have the largest type in a room, and their scale."""
        found = []
        writers = EquationWriter(self.theme), EquationWriter(self.theme, is_brief=True)
        for writer, wide in product(writers, WIDTHS):
            lines, size = writer.lines(rows, wide)
            scale = scale_in(room, Block([], size))
            found.append((scale * (BRIEF_WORTH if writer.is_brief else 1.0), writer, lines, size, scale))
        _, writer, lines, size, scale = max(found, key=lambda one: one[0])
        self.is_cut = sum(map(len, lines)) > len(rows)
        return Block(list(writer.ink(lines)), size), scale

    def remarks(self, _: float, *, is_brief: bool) -> list[Remark]:  # noqa: ARG002
        """Return no lines: all is said below the tensors."""
        return []

    def entries(self) -> Iterator[LegendEntry]:
        """Yield what brackets of each colour are, of those that occur."""
        brackets = [part for equation in self.shown for part in equation if isinstance(part, Bracket)]
        kinds = {part.kind for part in brackets}
        kinds |= {"again"} if self.is_cut or any(part.is_again for part in brackets) else set()
        yield from kind_entries({**FORMULA_WORDS, "again": "stands above, too"}, kinds)
        if any(part.grad is not None for part in brackets):
            yield LegendEntry(self.reader.gradient_words("tensor", "value"), "grad")
        if any(part.note.formula.parts for part in brackets):
            yield LegendEntry(f"{self.reader.letter}: the gradient of the result, to the right", ink="gradient")
        if remark := self.reader.decimals.remark(self.options.show):
            yield LegendEntry(remark, ink="muted")

    def sample(self, kind: str, size: float) -> Block:
        """Return the brackets that stand before the text of an entry of the legend."""
        fill, pen, _ = EquationWriter(self.theme).look(
            "operation" if kind == "again" else kind, is_again=kind == "again"
        )
        top, low, wide = -0.85 * size, 0.2 * size, 1.4 * size
        middle, inside = (wide / 2, (top + low) / 2), (wide - 3, low - top - 2)
        items: list[Item] = [Outline(middle, inside, 0.0, fill, Pen(fill, 1.0))] if fill else []
        for side, inner in ((0.0, 4.0), (wide, wide - 4)):
            items.append(Stretch([(inner, top), (side, top), (side, low), (inner, low)], pen._replace(width=THIN)))
        return Block(items, (1.9 * size, size))
