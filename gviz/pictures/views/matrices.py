"""Equations between tensors in brackets: value over gradient, and below each what backward computes from g.

g is what arrives at the result of the operation, to the right. A tensor that is used several times stands at each use
with the part of its gradient that comes from there; their sum stands in a row of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product

from gviz.errors import warn_user
from gviz.formulas.backward import RESHAPING, Handed, aliased, handed_on as formula_of, noted
from gviz.formulas.expressions import operator_of
from gviz.formulas.formula import GRAD, Formula
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.layout import RenderWarning
from gviz.layout.ink import Item, Outline, Pen, Point, Sheet, Stretch
from gviz.passes.dataflow import dataflow, outputs_of
from gviz.passes.elements import AXES, ONE, spread_dims, sum_of, sum_text
from gviz.passes.quotients import with_quotients
from gviz.pictures.circuits import LINE as THIN
from gviz.pictures.equations import FORMULA, NAME, NUMBER, REMARK, SIGN, Bracket, Part, Sign, Words, Writer, grid_of
from gviz.pictures.labels import change_text, decimal, later_text, name_along
from gviz.pictures.options import RenderOptions
from gviz.pictures.picture import Picture
from gviz.pictures.sheets import LEAST, MOST_SCALE, WIDE, Block, Drawn, InkedPage, Sheets, scale_in
from gviz.pictures.sums import handed_on, sum_at
from gviz.pictures.theme import THEMES
from gviz.pictures.typesetting import Setter, TypeBox, circled_dot, name_box, row, text_box, typeset
from gviz.pictures.views import circuit
from gviz.pictures.views.circuit import as_formula

IGNORES = circuit.IGNORES

MOST = 20
"""Operations of equations; a larger graph is drawn as the view dataflow draws it."""

LETTERS = ("g", "delta", "gamma", "eta")
"""Names of the gradient that arrives, the first that the program does not have."""

WIDEST = 250.0
"""Points of a formula below a tensor; a longer one is left out."""

LONG = 60.0
"""Points of a name above a tensor; a longer one is smaller."""

WIDTHS = (560.0, 700.0, 850.0, 1000.0, 1200.0, 1450.0, 1750.0, 2100.0)
"""How wide rows are tried to be on a page."""

FEW_DECIMALS = 2
"""Decimals of a page that more of them would make too small to be read."""

COLUMN, ROW = "column", "row"

SIGNS = {ast.Add: "+", ast.Sub: "−", ast.MatMult: "·", ast.Div: "÷", ast.Mult: "·", ast.Pow: "^"}
"""Operators as they stand between tensors."""


def picture(graph: Graph, options: RenderOptions) -> Picture:
    """Return the picture in Graphviz's words, for formats that are nothing else: that of the view dataflow."""
    return circuit.picture(graph, options, "equations")


def sheet(graph: Graph, options: RenderOptions) -> Sheet | None:
    """Return the equations of a graph; None of one that has too many operations for them, which is said."""
    shown = with_quotients(dataflow(graph))
    operations = [node for node in shown.nodes if node.kind == "operation"]
    if len(operations) > MOST:
        told = f"matrices are drawn of at most {MOST} operations: this graph is drawn by --view dataflow"
        warn_user(told, RenderWarning)
        return None
    if not any(node.shape for node in shown.nodes):
        warn_user("all tensors of this graph are single numbers: --view circuit shows more of them", RenderWarning)
    return Equations(shown, options).page()


class Reader(circuit.Reader):
    """What the rows of a graph say.

    Args:
        graph: as :func:`dataflow` returns it.
        options: ``precision`` and ``show`` are read.
    """

    @cached_property
    def letter(self) -> str:
        """The name of the gradient that arrives."""
        names = {node.name for node in self.graph.nodes} | {row.name for row in self.graph.tensors}
        return next((letter for letter in LETTERS if letter not in names), GRAD)

    @cached_property
    def made(self) -> dict[str, dict[int, Node]]:
        """The tensors that each node makes, by the number of the output."""
        made = outputs_of(self.graph)
        return {node.id: made[node.id] if node.recorded.outputs else {0: node} for node in self.graph.nodes}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """What stands in formulas for names that are none to Python."""
        names = [node.name for made in self.made.values() for node in made.values() if node.kind != "constant"]
        strange = dict.fromkeys(name for name in names if name and not name.isidentifier())
        return {name: f"name_{number}" for number, name in enumerate(strange)}

    @cached_property
    def arrays(self) -> set[str]:
        """The names, or what stands for them, of tensors with several elements, and of their gradients."""
        named = (node for made in self.made.values() for node in made.values() if node.name and node.shape)
        return {self.aliases.get(node.name or "", node.name or "") for node in named}

    def source(self, edge: Edge) -> Node:
        """Return the tensor that goes along an edge."""
        made = self.made[edge.source]
        return made.get(edge.output) or self.nodes[edge.source]

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

        for node in self._in_order():
            result = self.made[node.id].get(0, node)
            for edge in self.inputs[node.id]:
                source = self.source(edge)
                way = self.way(node, edge)
                for one, own in zip((source, result), way, strict=True):
                    if own and len(one.shape or ()) == 1:
                        votes.setdefault(lead(one.id), own)
                if way == ("", "") and source.shape == result.shape and len(source.shape or ()) == 1:
                    one, other = lead(source.id), lead(result.id)
                    leads[other] = one
                    if other in votes:
                        votes.setdefault(one, votes[other])
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
            case ast.Call(func=ast.Name(id="squeeze_dim"), args=[_, ast.Constant(value=int(place))]):
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
    def bracket(self, node: Node, grad: Numbers | None = None, *, is_again: bool = False, **more: object) -> Bracket:
        """Return a tensor in brackets.

        Args:
            node: the tensor.
            grad: what stands below it.
            is_again: whether it stands elsewhere, too.
            more: fields of the bracket.
        """
        is_column = self.ways.get(node.id, COLUMN) == COLUMN
        precision, shown = self.options.precision, self.options.show
        value = grid_of(node.value, precision, is_column=is_column) if "value" in shown else None
        if value is not None and is_again and value.is_turned:
            value = value._replace(is_turned=True)
        below = grid_of(grad, precision, is_column=is_column) if "grad" in shown else None
        kind = "output" if node.id in self.graph.roots else node.kind
        size = "×".join("?" if one is None else str(one) for one in node.shape or ())
        if value is not None and value.is_cut and node.value is not None:
            size += f", ‖·‖ = {decimal(node.value.norm, precision)}"
        box = self.named(node.name or "", NAME)
        if box.width > LONG:
            box = self.named(node.name or "", FORMULA)
        remarks = tuple(more.pop("remarks", ()))  # type: ignore[call-overload]
        if below is not None and below.is_cut and grad is not None:
            remarks = (*remarks, f"‖gradient‖ = {decimal(grad.norm, precision)}")
        kind = kind if kind in ("leaf", "frozen", "constant", "output", "operation") else "leaf"
        return Bracket(kind, box, size, value, below, remarks=remarks, is_again=is_again, **more)  # type: ignore[arg-type]

    def named(self, name: str, size: float) -> TypeBox:
        """Return a name, or what stands in place of one, as mathematics sets it."""
        return name_box(name, size) if name in self.aliases or name.isidentifier() else typeset(name, size)

    def remarks(self, node: Node) -> list[str]:
        """Return what is to be said of a tensor once: its state, hooks, and what the program has made of it since."""
        shown, precision = self.options.show, self.options.precision
        later = later_text(node.later, shown, precision)
        hooks = [change_text(one, precision) for one in node.grad.hooks] if "grad" in shown else []
        state = node.state if node.kind in ("leaf", "frozen") and "state" in {*shown, "state"} else ""
        return [text for text in (state, *hooks, *later.split("; ")) if text]

    # ------------------------------------------------------------ gradients
    def uses(self, node: Node) -> list[Edge]:
        """Return the uses of a tensor that hand a gradient on to it, or would."""
        own = [edge for edge in self.graph.uses.get(node.id, ()) if edge.kind == "data"]
        return [edge for edge in own if edge.flow.handed is not None or edge.flow.symbol]

    def is_shared(self, node: Node) -> bool:
        """Return whether the gradient of a tensor is another one than the part that comes from a use."""
        is_added = node.kind == "leaf" and node.grad.before is not None
        return len(self.uses(node)) > 1 or is_added or bool(node.grad.hooks) or node.id in self.graph.roots

    def backward(self, edge: Edge, node: Node) -> Handed | None:
        """Return what an operation hands on to an input, as a formula; None if none says it."""
        flow = edge.flow
        if not flow.symbol or any(one.kind == "handed" for one in node.grad.hooks):
            return None
        found = Formula.read(aliased(flow.symbol, self.aliases))
        if found is None:
            return None
        has_jacobian = GRAD not in found.names and flow.local is None and ("[i" in flow.symbol or "diag(" in flow.symbol)
        is_factor = GRAD not in found.names and not has_jacobian and (flow.local is not None or flow.handed is None)
        return formula_of(
            flow.symbol, self.letter, self.aliases, is_factor=is_factor, is_summed=bool(sum_text(edge))
        )

    def set(self, formula: Formula, *, is_array: bool) -> TypeBox:
        """Return a formula in type."""
        shown = Setter(self.arrays | ({self.letter} if is_array else set())).set(formula.node, FORMULA, 1)
        return self.restored(shown)

    def restored(self, box: TypeBox) -> TypeBox:
        """Return a box with the names that others stand for."""
        return box

    def below(self, edge: Edge, node: Node) -> dict[str, object]:
        """Return what stands below a tensor at a use: formulas and remarks."""
        found, source = self.backward(edge, node), self.source(edge)
        if found is None:
            return {}
        brief = self.set(found.formula, is_array=bool(node.shape))
        if brief.width > WIDEST:
            return {}
        root = self.names[0] if len(self.names) == 1 else ""
        is_part = self.is_shared(source) or not root.isidentifier() or self.graph.has_hooks
        head = [] if is_part else [*self.quotient(source), text_box(" = ", FORMULA)]
        remarks = [text for text in (sum_text(edge).removeprefix("Σ "), copied(edge, node, found)) if text]
        remarks += ["for each i"] * found.is_by_rows
        part = ["a part: sum below"] if len(self.uses(source)) > 1 and edge.flow.handed is not None else []
        return {"formula": row(*head, brief), "brief": brief, "remarks": (*remarks, *part)}

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
        for node in self._in_order():
            operands = [edge for edge in self.inputs[node.id] if self.nodes[edge.source].kind != "constant"]
            results = list(self.made[node.id].values()) or [node]
            if not operands:
                continue
            parts = self.step(node, operands, seen)
            first = self.source(operands[0])
            is_first = isinstance(parts[0], Bracket) and parts[0].name == self.bracket(first).name
            if rows and first.id == last and is_first and not self.is_shared(first):
                own = parts[0]
                if isinstance(own, Bracket):
                    before = rows[-1][-1]
                    notes = before.remarks if isinstance(before, Bracket) else ()
                    own = own._replace(is_again=False, remarks=(*own.remarks, *notes))
                rows[-1][-1:] = [own, *parts[1:]]
            else:
                rows.append(parts)
            for result in results:
                comma = [Words(text_box(",", SIGN))] if result is not results[0] else []
                grad = result.grad.arrived or (result.grad.value if result.id in self.graph.roots else None)
                rows[-1] += [*comma, self.bracket(result, grad, remarks=self.remarks(result))]
                seen.add(result.id)
            last = results[0].id if len(results) == 1 else ""
        return rows + [sum_row for node in self.tensors() for sum_row in self.sums(node)]

    def tensors(self) -> Iterator[Node]:
        """Yield what operations make and are made from, each once."""
        seen: set[str] = set()
        for node in self._in_order():
            for one in (*(self.source(edge) for edge in self.inputs[node.id]), *self.made[node.id].values()):
                if one.id not in seen:
                    seen.add(one.id)
                    yield one

    def step(self, node: Node, operands: Sequence[Edge], seen: set[str]) -> list[Part]:
        """Return an operation on its operands, up to its result."""
        cards: list[Bracket] = []
        for edge in operands:
            source = self.source(edge)
            below = self.below(edge, node)
            if source.id not in seen:
                below["remarks"] = (*below.get("remarks", ()), *self.remarks(source))  # type: ignore[misc]
            cards.append(self.bracket(source, edge.flow.handed, is_again=source.id in seen, **below))
            seen.add(source.id)
        between = self.infix(node, operands, cards) if len(cards) > 1 else None
        if between is not None:
            return [*between, Words(text_box("=", SIGN))]
        parts: list[Part] = [part for card in cards for part in (Words(text_box(",", SIGN)), card)][1:]
        return [*parts, Sign(self._sign(node), is_arrow=True)]

    def infix(self, node: Node, operands: Sequence[Edge], cards: Sequence[Bracket]) -> list[Part] | None:
        """Return operands with signs between, in the order of the formula; None if it is no formula of signs alone."""
        found = as_formula(aliased(node.expression, self.aliases))
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
                    parts.append(Words(Setter().set(number, SIGN, 1)))
                case _:
                    return None
        return parts if parts and not waiting else None

    def operator(self, whole: ast.BinOp, node: Node) -> Sign:
        """Return the sign between two operands, and over what the smaller one is spread."""
        sides = [self.size_named(part) for part in (whole.left, whole.right)]
        is_product = isinstance(whole.op, ast.Mult) and all(sides)
        box = circled_dot(SIGN) if is_product else text_box(SIGNS[type(whole.op)], SIGN)
        sizes = node.shape or ()
        known = [side for side in sides if side is not None and all(isinstance(one, int) for one in side)]
        spread = ""
        if not isinstance(whole.op, ast.MatMult) and len(known) == 2 and all(isinstance(one, int) for one in sizes):
            smaller = [side for side in known if side != sizes and len(side) <= len(sizes)]
            dims = spread_dims(sizes, smaller[0]) if len(smaller) == 1 else ()  # type: ignore[arg-type]
            spread = places(dims, len(sizes)) if dims else ""
        return Sign(box, remark=spread and f"to {spread}")

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
        if "grad" not in self.options.show or not parts or not self.is_shared(node):
            return
        sent = node.grad.sent
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
        head = self.quotient(node) if is_own and not self.graph.has_hooks else [self.grad_of(node)]
        row_of_terms: list[Part] = [Words(row(*head, text_box(" =", FORMULA)), is_red=True)]
        for number, (term, remark) in enumerate(terms):
            row_of_terms += [Sign(text_box("+", SIGN))] if number else []
            row_of_terms.append(self.alone(node, term, (remark,) if remark else ()))
        yield [*row_of_terms, Words(text_box("=", SIGN)), self.alone(node, whole)]

    def grad_of(self, node: Node) -> TypeBox:
        """Return the gradient of a tensor by its name in the program."""
        return row(self.named(node.name or "", FORMULA), text_box(".grad", FORMULA))

    def alone(self, node: Node, grad: Numbers | None, remarks: tuple[str, ...] = ()) -> Bracket:
        """Return a gradient in brackets of its own."""
        is_column = self.ways.get(node.id, COLUMN) == COLUMN
        return Bracket("grad", value=grid_of(grad, self.options.precision, is_column=is_column), remarks=remarks)


def places(dims: Sequence[int], count: int) -> str:
    """Return where a smaller tensor is spread to.

    >>> places((0,), 2), places((1,), 2), places((0, 1), 2)
    ('each row', 'each column', 'every element')
    """
    if len(dims) == count:
        return "every element"
    return f"each {AXES[dims[0]][:-1]}" if count == len(AXES) else f"each along dim {', '.join(map(str, dims))}"


def copied(edge: Edge, node: Node, found: Handed) -> str:
    """Return where the numbers of a smaller gradient are copied to; "" for nowhere."""
    whole, part = size_of(edge.flow.handed), size_of(node.grad.arrived)
    if edge.flow.handed is None or node.grad.arrived is None or found.is_by_rows:
        return ""
    if found.copied >= 0 and len(whole) > len(part):
        return f"copied to {places((found.copied,), len(whole))}"
    is_plain = isinstance(found.formula.node, ast.Name | ast.BinOp)
    if not is_plain or len(whole) < len(part) or Numbers(whole).numel <= Numbers(part).numel:
        return ""
    dims = spread_dims(whole, part)
    is_whole = GRAD not in (edge.flow.symbol or "") and edge.flow.local is not None
    return f"copied to {places(dims, len(whole))}" if is_whole and not names_arrays(found) else ""


def names_arrays(found: Handed) -> bool:
    """Return whether a formula has more names than that of the gradient, and so the sizes of another tensor."""
    return len(found.formula.names) > 1


class Equations(Sheets):
    """The page of the equations of a graph.

    Args:
        graph: as :func:`dataflow` returns it.
        options: those of a page, and ``precision`` and ``show``.
    """

    def __init__(self, graph: Graph, options: RenderOptions) -> None:
        self.reader = Reader(graph, options)
        theme = THEMES["light" if options.theme == "torchviz" else options.theme]
        nothing: tuple[list[object], list[object]] = [], []
        drawn = Drawn(lambda _: nothing, self.reader.titles(), self.reader.names, ())  # type: ignore[arg-type,return-value]
        super().__init__(drawn, graph, options, theme)
        self.shown = self.reader.rows()

    def _readable(self) -> Block:
        """Return the equations, in rows no wider than a page of text."""
        return Block(*Writer(self.theme).fitted(self.shown, WIDE))

    def _largest(self, room: Point) -> tuple[Block, float]:
        """Return the equations in the rows that have the largest type on a page, and their scale."""
        least = LEAST[self.options.fit]
        best: tuple[float, Block, float] | None = None
        for is_brief, wide in product((False, True), WIDTHS):
            block = Block(*Writer(self.theme, is_brief=is_brief).fitted(self.shown, wide))
            scale = min(scale_in(room, block), MOST_SCALE)
            score = scale * (0.96 if is_brief else 1.0)
            if best is None or score > best[0]:
                best = score, block, scale
        if best is None:
            return Block([], (0.0, 0.0)), 1.0
        if best[2] * REMARK < least:
            warn_user(
                f"the smallest type on the page has {best[2] * REMARK:.1f} points, below {least:g}: "
                "--root NAME draws a part of the graph",
                RenderWarning,
            )
        return best[1], best[2]

    def _legend(self, size: float) -> Iterator[Item]:
        """Yield what brackets of each colour are, of those that occur."""
        brackets = [part for row_ in self.shown for part in row_ if isinstance(part, Bracket)]
        kinds = {part.kind for part in brackets}
        words = {
            "leaf": "leaf", "operation": "result", "output": "root",
            "frozen": "no gradient: dashed", "constant": "no gradient: dashed",
        }  # fmt: skip
        x, told = 0.0, set[str]()
        for kind, word in words.items():
            if kind in kinds and word not in told:
                told.add(word)
                fill, pen = self.theme.boxes[kind]
                yield from small_bracket(x, size, fill, Pen(pen, THIN, (3.0, 2.0) if "dashed" in word else ()))
                yield from text_box(word, size).ink(x + 1.9 * size, 0, self.theme.ink)
                x += 1.9 * size + text_box(word, size).width + 20
        if any(part.grad is not None for part in brackets):
            yield from small_bracket(x, size, Writer(self.theme).pale, Pen(self.theme.gradient, THIN))
            box = self._gradient_of(size)
            yield from box.ink(x + 1.9 * size, 0, self.theme.ink)
            x += 1.9 * size + box.width + 20
        if any(part.formula.parts for part in brackets):
            letter = name_box(self.reader.letter, size)
            box = row(letter, text_box(": the gradient of the result, to the right", size))
            yield from box.ink(x, 0, self.theme.gradient)

    def _gradient_of(self, size: float) -> TypeBox:
        """Return what a gradient is of."""
        names = self.drawn.names
        if len(names) != 1:
            return text_box("gradient of the sum of the roots, below the value", size)
        (name,) = names
        top = name_box(name, size) if name.isidentifier() else text_box(f"({name})", size)
        return row(text_box("∂", size), top, text_box("/∂(this tensor), below the value", size))

    def description(self) -> str:
        """Return what the picture shows, for those who cannot see it."""
        return f"The equations of {'; '.join(self.drawn.titles)}, each tensor in brackets, its gradient below its value"


def small_bracket(x: float, size: float, fill: str, pen: Pen) -> Iterator[Item]:
    """Yield brackets as the legend has them."""
    top, low, wide = -0.85 * size, 0.2 * size, 1.4 * size
    yield Outline((x + wide / 2, (top + low) / 2), (wide - 3, low - top - 2), 0.0, fill, Pen(fill, 1.0))
    for side, inner in ((x, x + 4), (x + wide, x + wide - 4)):
        yield Stretch([(inner, top), (side, top), (side, low), (inner, low)], pen)


__all__ = ["IGNORES", "NUMBER", "Equations", "InkedPage", "Reader", "picture", "sheet"]
