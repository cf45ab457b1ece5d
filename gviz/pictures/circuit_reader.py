"""What the cards and wires of a circuit say: values, gradients, local derivatives, sums; and what stands below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gviz.formulas.formula import GRAD, UNKNOWN, Formula
from gviz.formulas.lectures import BY_ROWS, is_by_rows
from gviz.formulas.operations import operator_of
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.layout.layered.ranks import ranks_of
from gviz.passes.elements import has_only, is_finite, scalar_of
from gviz.passes.starts import handed_on
from gviz.pictures.circuits import NOTE, NUMBER, Component, End, Wire
from gviz.pictures.digits import (
    ABOUT,
    EQUAL,
    decimal,
    is_printed_as,
)
from gviz.pictures.labels import (
    SPACE_KEPT,
    in_brackets,
    not_finite_first,
    size_text,
    small_text,
    statement_of,
    value_text,
    why_without_numbers,
)
from gviz.pictures.options import RenderOptions
from gviz.pictures.reader import LONGEST_TEXT, SIGN, Reader
from gviz.pictures.sheets import LEAD, Remark
from gviz.pictures.sums import decimals_for, in_room, sum_at
from gviz.pictures.theme import THEMES
from gviz.pictures.trails import SAMPLES, WITHOUT_FACTORS, heading, trails_of, words
from gviz.pictures.typesetting import (
    TypeBox,
    in_stack,
    number_box,
    row,
    text_box,
)

LEAF = 18.0
"""Points: of the name of a leaf."""

LONGEST, LONGEST_SUM, LONGEST_NUMBERS = 24, 30, 27
"""Characters of a local derivative as a symbol, of a sum at its leaf, and of a tensor's numbers on a line."""

SMALLER = 0.8
"""The size of a long sum below the circuit beside that of other lines."""

FAR = 3
"""Columns from the first use of a leaf from which on it stands again beside a further one, if it has more than two."""

BETWEEN_TWO = ("−", "÷", "^")
"""Signs whose two local derivatives stand below their circle; those of + and × can be read off."""


class CircuitReader(Reader):
    """What the cards and wires of a graph say.

    Args:
        graph: as :func:`dataflow` returns it.
        options: ``precision``, ``show``, ``path``, ``math`` and ``theme`` are read.
        has_letters: whether results without a name of their own have the letters that words call them by.
    """

    def __init__(self, graph: Graph, options: RenderOptions, *, has_letters: bool = False) -> None:
        super().__init__(graph, options)
        self.has_letters = has_letters
        self.trails = trails_of(graph, options.path)
        self.decimals = decimals_for(graph, options.precision, in_room(LONGEST_NUMBERS), self.has_local)
        self.first_wrong = not_finite_first(graph)
        face = THEMES[options.theme].gradient_face
        self.slanted = face if face != "bold" else "sans"

    # ------------------------------------------------------------ type
    def number(self, value: Numbers | None, decimals: int = 0) -> str:
        """Return a tensor as a text on a line: its numbers, if they are few; else its norm, or its size alone.

        Of a large mask it is how many are true.

        They have as many decimals as that, where there is room, and no fewer than all numbers have.
        """
        if value is None:
            return ""
        text = self.numbers(value, decimals, LONGEST_NUMBERS)
        if (not text and value.is_known) or len(text) > LONGEST_NUMBERS:
            if value.elements and all(isinstance(one, bool) for one in value.elements):
                return f"{value.elements.count(True)} of {value.numel} true"
            return f"norm {decimal(value.norm, self.options.precision)}"
        return (text or size_text(size_of(value))).replace("-", "−")

    def numbers(self, value: Numbers | None, decimals: int, most: int) -> str:
        """Return a small tensor's numbers with so many decimals; with the usual ones where there is no room."""
        text = small_text(value, max(decimals, self.options.precision))
        return text if len(text) <= most else small_text(value, self.options.precision)

    def has_local(self, edge: Edge, decimals: int) -> bool:
        """Return whether the number of a local derivative stands at its circle, with so many decimals."""
        count = sum(one.flow.local is not None or bool(one.flow.symbol) for one in self.inputs[edge.target])
        is_at_circle = count == 1 or (count == 2 and operator_of(self.nodes[edge.target].label) in BETWEEN_TWO)
        return is_at_circle and edge.flow.local is not None and in_room(LONGEST_TEXT)(edge.flow.local, decimals)

    def size(self, node: Node) -> str:
        """Return the size of a tensor whose line has its norm alone, or how many are true; "" of any other."""
        text = self.number(node.numbers)
        return size_text(size_of(node.numbers)) if text.startswith("norm ") or text.endswith(" true") else ""

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
        faint = [card if at in lit else card._replace(is_faint=True, total=TypeBox()) for at, card in enumerate(cards)]
        return faint, wires

    def _constants_inside(self) -> set[str]:
        """Return the constants that stand in the circle of the one operation, or in the statement, that has them."""
        found = set()
        for node in self.graph.nodes:
            constants = [edge.source for edge in self.inputs[node.id] if self.nodes[edge.source].kind == "constant"]
            if statement_of(node, self.options) or len(constants) < len(self.inputs[node.id]) < 3:
                found |= {*constants}
        return found

    def _wire(self, edge: Edge, number: Mapping[str, int]) -> Wire:
        """Return an edge as a wire; one of several outputs has its name with its value."""
        source, trails = self.nodes[edge.source], self.trails
        has_value, has_grad = "value" in self.options.show, "grad" in self.options.show
        made = self.source(edge)
        decimals = self.decimals.values.of(made)
        value = self.number(made.numbers, decimals) if has_value and source.kind != "constant" else ""
        if source.recorded.outputs:
            value = " = ".join(filter(None, [made.name or "", value]))
        grad = self.number(edge.flow.handed, self.decimals.handed(edge)) if has_grad else ""
        is_cut = source.kind in ("constant", "frozen")
        paths = trails.through.get((edge.target, edge.slot), ()) if trails is not None else ()
        is_faint = trails is not None and not trails.has(edge)
        return Wire(number[edge.source], number[edge.target], edge.slot, value, grad, is_cut, paths, is_faint)

    def _card(self, node: Node) -> Component:
        """Return a node as a card."""
        is_root, name = node.id in self.graph.roots, node.name or ""
        tip = " = ".join(filter(None, [name, node.expression, self.number(node.numbers)]))
        end = self._end(node) if is_root or not self.graph.uses.get(node.id) else None  # a part goes on behind it
        is_wrong = node.id in self.first_wrong or self._has_stopped(node)
        if node.kind == "operation":
            total, is_long = (TypeBox(), False) if node.recorded.outputs else self._total(node)
            in_words = self.trails.in_words if self.trails is not None else {node.id} if is_long else ()
            is_told = self.has_letters or node.id in in_words  # by its letter
            is_named = name and not node.recorded.outputs and (is_told or not node.is_letter)
            size = "" if is_root else self.size(node)
            shown = row(
                *([self.name(name, NUMBER)] if is_named else []),
                text_box(f"{'  ' * bool(is_named)}{size}", NOTE) if size else TypeBox(),
            )
            notes = (*self._notes(node), TypeBox())
            note, brief, bare = (in_stack([box, *self._states(node)], 4.0) for box in notes)
            kind = "output" if is_root else "operation"
            if is_long:
                arrived = self.number(node.grad.arrived, self.decimals.arrived(node.id))
                total = row(text_box("… ", NOTE), self._sum_text(arrived))
            return Component(
                self.sign(node), kind, shown, note, brief, bare, total, end, tip, is_wrong=is_wrong, node=node.id
            )
        kind = node.kind if node.kind in ("leaf", "frozen", "constant", "intermediate") else "leaf"
        if node.recorded.outputs:
            name = ", ".join([one.name for one in self.made[node.id].values() if one.name]) or name
        is_wrong = node.value is not None and not is_finite(node.value)
        note = in_stack(self._states(node), 4.0)
        box = self.phrase(name, NUMBER) if kind == "constant" else self.name(name, LEAF)
        formula = self.outside.get(name) or (Formula.read(name) if kind == "frozen" and "(" in name else None)
        if formula is not None:
            is_brief = len(formula.python) <= LONGEST_TEXT
            box = self.typeset(formula, LEAF) if is_brief else text_box("…", LEAF) if node.is_letter else box
        total, is_long = self._total(node) if kind == "leaf" else (TypeBox(), False)
        if is_long:
            total = self._sum_text(f"… = {self.number(node.grad.value)}")
        is_told = formula is not None and self.trails is not None and node.id in self.trails.in_words
        shown = self.name(name, NUMBER) if is_told else TypeBox()
        return Component(box, kind, shown, note, note, note, total, end, tip, is_wrong=is_wrong, node=node.id)

    def _states(self, node: Node) -> list[TypeBox]:
        """Return what a card says besides: its size, and what is to be said of its tensor."""
        texts = [self.size(node)] if node.kind != "operation" else []
        return [text_box(text, NOTE) for text in (*texts, *self.facts(node)) if text]

    def _has_stopped(self, node: Node) -> bool:
        """Return whether backward has come to an operation, and not through it, since the program stopped there."""
        uses = self.graph.uses.get(node.id, [])
        has_come = any(edge.flow.handed is not None for edge in uses) or node.id in self.graph.roots
        is_through = any(edge.flow.handed is not None for edge in self.inputs[node.id])
        return self.graph.stop is not None and node.kind == "operation" and has_come and not is_through

    def _end(self, node: Node) -> End:
        """Return what stands at the end of the line out of a root."""
        grad = node.grad.value if node.kind == "leaf" else node.grad.arrived
        shown, name = self.options.show, "" if node.is_letter and node.id not in self.graph.roots else node.name
        value = self.number(node.numbers, self.decimals.values.of(node)) if "value" in shown else ""
        number = self.number(grad, self.decimals.arrived(node.id)) if "grad" in shown else ""
        return End(self.name(name or "", LEAF), value, number)

    def _sum_text(self, text: str) -> TypeBox:
        """Return a sum of gradients."""
        return text_box(text.replace("-", "−"), NOTE, self.slanted)

    def _total(self, node: Node) -> tuple[TypeBox, bool]:
        """Return the gradient of what arrives in several ways, or besides what was there before, as a sum.

        In a part of a graph the sum of a leaf may have summands that are not drawn. Of large summands, whose norms do
        not add up, the total stands alone.

        The second is whether it is too long to stand beside its card.
        """
        if "grad" not in self.options.show:
            return TypeBox(), False
        parts = handed_on(self.uses_of.get(node.id, []))
        total = sum_at(node, parts)
        decimals = self.decimals.arrived(node.id)
        (texts, sign), value = total.texts(self.options.precision, decimals), total.total
        texts = texts if total.is_whole else []
        if not total.is_whole and self.graph.remarks and not self.graph.has_hooks and node.grad.value is not None:
            texts, sign, value = [*total.texts(self.options.precision, decimals)[0], "…"], EQUAL, node.grad.value
        if not texts and total.is_whole and len(parts) > 1:
            return self._sum_text(f"sum: {self.number(value, decimals)}"), False
        if len(texts) < 2:
            return TypeBox(), False
        first = texts[0][1:-1] if texts[0].startswith("(-") else texts[0]
        text = f"{' + '.join([first, *texts[1:]])} {sign}{value_text(value, decimals)}"
        return self._sum_text(text), len(text) > LONGEST_SUM

    # ------------------------------------------------------------ circles
    def _notes(self, node: Node) -> tuple[TypeBox, TypeBox]:
        """Return the local derivative below a circle, and the same in numbers alone."""
        flows = [edge for edge in self.inputs[node.id] if edge.flow.local is not None or edge.flow.symbol]
        numbers = [self.numbers(edge.flow.local, self.decimals.local(edge), LONGEST_TEXT) for edge in flows]
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
        sign = text_box(f" {self.decimals.sign(flows[0])}", NOTE)
        return (row(formula, sign, number_box(text, NOTE)) if text else formula), brief

    def _symbol(self, node: Node, edge: Edge) -> Formula | None:
        """Return a local derivative in terms of what comes in; None if it is long, or no factor."""
        text = edge.flow.symbol
        found = Formula.read(text) if text and UNKNOWN not in text and not text.startswith("zeros_like(") else None
        name, formula = self.operand(node)
        if found is None or formula is None or GRAD in found.names:
            return None
        z = Formula.parse(self.comes_in)
        is_step = operator_of(node.label) == "relu"  # whose result is above 0 where what comes in is
        found = found.replaced({node.name or "": z if is_step else formula, name: z})
        is_known = found.variables <= {self.comes_in} and len(found.python) <= LONGEST
        return found if is_known else None

    # ------------------------------------------------------------ words
    def remarks(self, size: float, *, is_brief: bool = False) -> list[Remark]:
        """Return what stands below: paths with their products, or an example of a step; long sums; why numbers lack.

        On request the factors along the paths are left out.
        """
        found = list(self._trails(size, is_brief=is_brief)) if self.trails is not None else list(self._example(size))
        if not self.options.legend and self.trails is None:
            found = []
        for node in [one for made in self.made.values() for one in made.values()] if self.trails is None else ():
            box, is_long = self._total(node)
            if is_long or (box.width and self.nodes.get(node.id) is not node):  # one of several has no card of its own
                head = row(text_box("gradient of ", size), self.name(node.name or "", size), text_box(": ", size))
                found.append(Remark(row(head, box.scaled(size / NOTE)).scaled(SMALLER), "gradient"))
        is_bare = all(edge.flow.handed is None for edge in self.graph.edges)
        if self.options.legend and "grad" in self.options.show and self.graph.edges and is_bare:
            found.append(Remark(text_box(f"no gradients: {why_without_numbers(self.graph)}", size), "muted"))
        return found

    def _trails(self, size: float, *, is_brief: bool) -> Iterator[Remark]:
        """Yield what is said of paths: how they are read, each with its product, and their sum."""
        assert self.trails is not None  # noqa: S101 - who calls has looked
        yield Remark(self.phrase(heading(self.trails), size))
        last = -1
        for line in words(self.trails, self.options, self.decimals.values, is_brief=is_brief):
            number = int(line[0].ink.removeprefix("path ")) if line[0].ink.startswith("path ") else -1
            text = "".join(span.text for span in line)
            for sample in SAMPLES:
                text = text.removeprefix(sample)
            depth = LEAD * 0.25 if number >= 0 and number == last else 0.0
            yield Remark(self.phrase(text.replace(SPACE_KEPT, " ").strip(), size), path=number, depth=depth)
            last = number
        if is_brief:
            yield Remark(text_box(WITHOUT_FACTORS, SMALLER * size), "muted")
        elif any(is_by_rows(edge.flow.symbol) for edge in self.graph.edges):
            yield Remark(text_box(BY_ROWS, SMALLER * size), "muted")

    def _example(self, size: float) -> Iterator[Remark]:
        """Yield what backward does at one operation of the circuit: its sign, and the product of numbers."""
        found: list[tuple[int, TypeBox, str]] = []
        for node in self.graph.nodes:
            flows = [edge for edge in self.inputs[node.id] if edge.flow.local is not None]
            if node.kind != "operation" or len(flows) != 1:
                continue
            numbers = [node.grad.arrived, flows[0].flow.local, flows[0].flow.handed]
            places = self.decimals.arrived(node.id), self.decimals.local(flows[0]), self.decimals.handed(flows[0])
            texts = [small_text(value, decimals) for value, decimals in zip(numbers, places, strict=True)]
            if not all(texts) or any(scalar_of(value) is None for value in numbers):
                continue
            plain = has_only(numbers[1], 1.0) + has_only(numbers[1], -1.0) + has_only(numbers[0], 1.0)
            product = float(texts[0]) * float(texts[1])
            relation = EQUAL if is_printed_as(product, scalar_of(numbers[2]) or 0.0, places[2]) else ABOUT
            text = f"{texts[0]} · {in_brackets(texts[1])} {relation}{texts[2]}"
            found.append((plain, self.sign(node), text.replace("-", "−")))
        for _, sign, text in sorted(found, key=lambda one: one[0])[:1]:
            small = sign.scaled(size * 1.1 / (SIGN if len(sign.text) == 1 and not sign.text.isalnum() else NUMBER))
            head = text_box("backward: what arrives × local derivative, through ", size)
            yield Remark(row(head, small, text_box(f":  {text}", size)), "gradient", is_backward=True)


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
