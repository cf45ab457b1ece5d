"""A graph and its program, looked up by what a question about a gradient needs; and the answer to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cached_property
from textwrap import wrap
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gviz.causes import fixes
from gviz.causes.assignments import Assignments, Carrier, Line, line_numbers
from gviz.causes.syntax import expression_at, parse, parsed, statements, whole_statement
from gviz.formulas.expressions import output_name
from gviz.formulas.operations import operator_of
from gviz.graphs import LOST, MIXED, NO_GRADIENT, NO_HISTORY, Graph, GraphCut, Node, Place, Stop, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.passes.dataflow import dataflow
from gviz.passes.elements import is_finite
from gviz.reaching import reached
from gviz.text import display_width, printable

FINE = ("ok", "frozen", "integer", "accumulated", "cleared", "new leaf", "not a leaf", "not trained", "hidden")
"""Verdicts that are no fault of the program: of a tensor that is not trained, say."""

NO_GRAPH = "does not require grad and does not have a grad_fn"
NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
SECOND = "Trying to backward through the graph a second time"
"""PyTorch's words for a backward that it refuses."""

CLASS = re.compile(r"\w+Backward\d+|AccumulateGrad|CopySlices|CopyBackwards")
"""PyTorch's own operations: a user's Function has no number."""

OF_WHOLE_RUN = (
    "is_optimized", "optimizer", "put_in", "steps", "still_steps", "idle_steps", "stepped", "is_updated", "brought",
    "is_same_call", "was_used", "used_sum",
)  # fmt: skip
"""What is known of a tensor's gradients, and steps, that an earlier backward than the last one is asked about with."""

WIDTH = 78
"""Columns of an answer on a terminal that is wider, and in a pipe."""

Lines: TypeAlias = tuple[tuple[Place, str], ...]
"""Places in a program, each with its code."""


T = TypeVar("T")


def first_true(*rules: tuple[object, T]) -> T:
    """Return what stands beside the first condition that holds; the last one is to hold always.

    >>> first_true((False, "a"), (1, "b"), (True, "c"))
    'b'
    """
    return next(value for is_so, value in rules if is_so)


class Cause(NamedTuple):
    """Why a gradient is what it is.

    Args:
        name: of the tensor.
        verdict: in a word or two: ``not a leaf``, ``detached`` ...; ``ok`` if nothing is wrong.
        what: one sentence on what happened.
        lines: the lines that cause it, each with its code ("" for one of another file).
        mend: what to write, or to do; "" if nothing is wrong.
        is_meant: whether that may be just as it should be, though most programs with this verdict have a fault.
    """

    name: str
    verdict: str
    what: str
    lines: Lines = ()
    mend: str = ""
    is_meant: bool = False

    def __repr__(self) -> str:
        """Return it as people read it: the verdict, what happened, the lines of the program, and the mend."""
        return self.text()

    def text(self, width: int = WIDTH, ink: Callable[[str, str], str] = lambda text, _: text) -> str:
        """Return it as lines of so many columns.

        Args:
            width: the columns.
            ink: gives a text in a style: ``bold``, ``good``, ``bad`` or ``dim``.
        """
        column = max([len("mend"), *(display_width(str(place)) for place, _ in self.lines)]) + 3
        lines = [f"{ink(self.name, 'bold')}: {ink(self.verdict, 'bad' if self.is_wrong else 'good')}"]
        lines += wrap(f"{self.what.removesuffix('.')}.", width)
        lines += [
            f"  {ink(str(place), 'dim')}{' ' * (column - display_width(str(place)))}{printable(code)}".rstrip()
            for place, code in self.lines
        ]
        if self.mend:
            mend = wrap(self.mend, max(width - column - 2, 20), break_long_words=False)
            lines += [f"  {ink('mend', 'bold')}{' ' * (column - len('mend'))}" + f"\n  {' ' * column}".join(mend)]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON: ``{"name", "verdict", "is_meant", "is_wrong", "what", "lines", "mend"}``."""
        return {
            **self._asdict(),
            "is_wrong": self.is_wrong,
            "lines": [[str(place), code] for place, code in self.lines],
        }

    def besides(self, what: str, lines: Lines, mend: str, head: str = "besides,", joint: str = "besides,") -> Cause:
        """Return it with what else is to be said of its tensor, the sentence and the mend each after a word."""
        before = self.what.removesuffix(", which is finite and not 0")
        return self._replace(
            what=f"{before}; {head} {what}",
            lines=tuple(dict.fromkeys((*self.lines, *lines))),
            mend=f"{self.mend}; {joint} {mend}" if self.mend else mend,
        )

    @property
    def is_wrong(self) -> bool:
        """Whether the program has a fault."""
        return self.verdict not in FINE and not self.is_meant


class Diagnosis:
    """A graph, looked up by names and by what uses what.

    Args:
        graph: one that was read for this (``SourceOptions(diagnose=True)``).
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.shown = graph, dataflow(graph, has_constants=False) if graph.nodes else graph
        self.nodes, self.uses = self.shown.by_id, self.shown.uses
        self.named = {node.name: node for node in reversed(self.shown.nodes) if node.name}
        self.named |= {
            alias: node
            for name, node in (self.named.items() if graph.aliases else ())
            for alias in graph.names_of(name)
            if alias not in self.named
        }
        renamed = (row for row in graph.tensors if row.is_leaf and " " in row.name and row.name not in self.named)
        for row in renamed:  # leaf of y, w (1st): a leaf whose name another tensor has now
            own, grad, _ = row.at_backward()
            alike = [
                node
                for node in self.shown.nodes
                if node.kind == "leaf" and (node.numbers, node.grad.value) == (own, grad.value)
            ]
            self.named |= {row.name: alike[0]} if len(alike) == 1 else {}
        self.rows = {row.name: self.at_its_backward(row) if graph.is_followed else row for row in graph.tensors}
        self.root = next((self.nodes[root].name or "" for root in self.shown.roots), "")
        self.is_expression = any(row.place is not None and row.place.column for row in graph.tensors)

    def at_its_backward(self, row: TensorRow) -> TensorRow:
        """Return a tensor as it was when the backward of the root ran, and not as a later one has left it."""
        numbers, grad, _ = row.at_backward()
        is_newer = row.moment is None and grad.before is None and not self.is_reached(row)
        then = row._replace(
            numbers=numbers,
            grad=NO_GRADIENT if is_newer else grad,
            moment=None,
            history=NO_HISTORY._replace(
                **{one: getattr(row.history, one) for one in OF_WHOLE_RUN}, is_stale=row.history.used_sum
            ),  # a later backward may have added to what was used, which no step is to use
        )
        return then if is_finite(row.grad.value) or self.is_reached(row) else row  # nan or inf of another root

    def is_reached(self, row: TensorRow) -> bool:
        """Return whether a tensor is in the graph, be it by another name."""
        return (node := self.named.get(row.name)) is not None and (node.kind == "leaf" or not row.is_leaf)

    @property
    def has_run(self) -> bool:
        """Whether backward was called on the root; of an expression, whether it ran; of tensors alone, or was tried."""
        is_alone = not self.graph.code.strip()  # as of a model
        return (
            self.graph.backward is not None
            or (is_alone and self.stop is not None)
            or ((self.is_expression or is_alone) and any(row.grad.value is not None for row in self.graph.tensors))
        )

    @cached_property
    def is_beside_run(self) -> bool:
        """Whether backward was called, and not on the root, which somebody has asked for then: it has a graph."""
        return (
            bool(self.nodes)
            and self.graph.backward is None
            and (self.graph.failure is not None or any(row.history.brought for row in self.rows.values()))
            and (self.stop is None or NO_GRAPH not in self.stop.message)  # else nobody has asked: that one has no graph
        )

    # ---------------------------------------------------------------- lines of the program
    def line_of(self, place: Place | None) -> Lines:
        """Return a line with its code, of an expression the statement there; nothing for one that is not known."""
        if place is None:
            return ()
        code, at = self.graph.code_at(place), max(place.column - 1, 0)
        if place.column:
            code = code[code.rfind(";", 0, at) + 1 :].partition(";")[0].strip()
        return ((place.without_run, code),)

    def code_of(self, lines: Lines) -> str:
        """Return the code of the first of these lines, for a mend: the whole of a statement of several lines."""
        return whole_statement(self.graph.code, self.line_in_text(lines)) or (lines[0][1] if lines else "")

    def line_in_text(self, lines: Lines) -> int:
        """Return the number of the first of these lines in the program's text; 0 for one of another file, or a cell."""
        place = lines[0][0] if lines else None
        return place.line if place is not None and not (place.file or place.cell or self.is_expression) else 0

    # ---------------------------------------------------------------- cuts
    def chain_of(self, cut: GraphCut) -> list[GraphCut]:
        """Return a cut, and those nearer to the root through which alone what came of it comes into the graph."""
        chain = [cut]
        while 0 <= chain[-1].behind < len(self.graph.breaks) and self.graph.breaks[chain[-1].behind] not in chain:
            chain.append(self.graph.breaks[chain[-1].behind])
        return chain

    @cached_property
    def frozen(self) -> list[str]:
        """The tensors that a root without a graph is made from, of those that the program has frozen.

        Where optimizers have others that require gradients, those alone that one has: a copy is frozen on purpose.
        """
        has_others = any(self.rows[name].requires_grad for name in self.optimized)
        own = (
            name
            for cut in self.graph.breaks
            if cut.reason == "frozen"
            for name in cut.leaves
            if name in self.rows and not self.rows[name].same_as
        )
        return [name for name in own if not has_others or name in self.optimized]

    def is_shared(self, cut: GraphCut) -> bool:
        """Return whether a cut ran once, before more than one backward: without it the second would fail."""
        return cut.place is not None and 0 < cut.place.run <= max(self.graph.earlier_runs, default=0) and not cut.others

    def is_in_text(self, cut: GraphCut) -> bool:
        """Return whether a cut is written in the text of the program, and not in another file or a cell."""
        return bool(cut.span and cut.span[0] and self.line_in_text(self.line_of(cut.place)))

    def pair_of(self, cut: GraphCut) -> tuple[ast.stmt, ast.expr] | None:
        """Return the statement of a cut and its expression, where they are known."""
        lines, span = self.line_of(cut.place), cut.span
        if span is None or not lines:
            return None
        program, span = (self.graph.code, span) if self.is_in_text(cut) else (lines[0][1], (1, span[1], 1, span[3]))
        return expression_at(program, span)

    def expression_of(self, cut: GraphCut) -> ast.expr | None:
        """Return the expression that cuts a tensor off; None where it is not known."""
        pair = self.pair_of(cut)
        return pair[1] if pair is not None else None

    def statements_of(self, cut: GraphCut) -> list[ast.stmt]:
        """Return the statement that an expression cuts a tensor off in, or those of its line."""
        pair = self.pair_of(cut)
        return [pair[0]] if pair is not None else statements(self.code_of(self.line_of(cut.place)))

    def way_of(self, cut: GraphCut) -> list[Carrier]:
        """Return the statements through which what a cut has left comes to the graph; [] where that is not known."""
        pair = self.pair_of(cut) if self.is_in_text(cut) and cut.reason != "no_grad" else None
        if pair is None:
            return []
        root, stop = self.root_row, self.graph.stop
        own = self.graph.backward, root.place if root is not None else None, stop.place if stop is not None else None
        last = {place.line for place in own if place is not None and not place.file}
        ends = last | {
            node.place.line
            for node in self.shown.nodes
            if node.kind == "operation" and node.place is not None and not node.place.file
        }
        return self.assignments.way(*pair, ends, last)

    @cached_property
    def text(self) -> str:
        """The program without its comments, in which a call may stand that is not made."""
        return ast.unparse(parsed(self.graph.code))

    @cached_property
    def assignments(self) -> Assignments:
        """What the program assigns to which names."""
        return Assignments(self.graph.code)

    def without(self, lines: Lines, *words: str) -> str:
        """Return what to leave out, so that the first of these lines is not run.

        Args:
            lines: the lines.
            words: if there are any, a statement with one of them is to go, and "" is returned where others need it.
        """
        parts, number = statements(self.code_of(lines)), self.line_in_text(lines)
        apart = [f"leave {ast.unparse(one)} out" for one in parts if fixes.is_apart(one, words)]
        if words and not (apart and len(parts) == 1):
            return next(iter(apart), "")
        return fixes.without_line(self.graph.code, number) if number else "leave the line out"

    def line_of_node(self, node: Node | None) -> Lines:
        """Return the line that recorded an operation."""
        return self.line_of(node.place) if node is not None else ()

    def line_of_own(self, label: str, node: Node | None = None) -> Lines:
        """Return the line that called a Function of the program's own, if it is known, and those that return gradients.

        Args:
            label: of its operations.
            node: the one that the call has recorded.
        """
        returns = (
            one.lineno
            for kind in ast.walk(parsed(self.graph.code))
            if isinstance(kind, ast.ClassDef) and kind.name == label.removesuffix("Backward")
            for method in kind.body
            if isinstance(method, ast.FunctionDef) and method.name == "backward"
            for one in ast.walk(method)
            if isinstance(one, ast.Return)
        )
        return (*self.line_of_node(node), *(line for number in returns for line in self.line_of(Place(number))))

    def uncalled(self, method: str) -> tuple[Lines, str]:
        """Return a line of the program that names a method and does not call it, and the call; else (), ""."""
        return next(
            (  # of a notebook the text does not tell the cell
                (
                    () if any(place.cell for place, _ in self.graph.codes) else self.line_of(Place(one.lineno)),
                    f"{ast.unparse(one)}(), with its brackets",
                )
                for one in ast.walk(parsed(self.graph.code))
                if isinstance(one, ast.Expr) and getattr(one.value, "attr", "") == method
            ),
            ((), ""),
        )

    @cached_property
    def names_in_program(self) -> set[str]:
        """The names in the text of the program, and the variables with tensors, without gviz's letters."""
        letters = {node.name for node in self.shown.nodes if node.is_letter}
        return {one.id for one in ast.walk(parsed(self.graph.code)) if isinstance(one, ast.Name)} | {
            re.split(r"\W", name)[0] for name in self.rows if name not in letters
        }

    def expression_in_program(self, text: str) -> ast.expr | None:
        """Return a text as syntax, if the program can compute it: it is an expression of names that the program has."""
        match parse(text).body:
            case [ast.Expr(value)] if self.names_in_program.issuperset(
                one.id for one in ast.walk(value) if isinstance(one, ast.Name)
            ):
                return value
        return None

    @property
    def stop(self) -> Stop | None:
        """The error that the program stopped with; or else that of its last backward, which the program has caught."""
        return self.graph.stop or self.graph.failure

    @property
    def line_of_backward(self) -> Lines:
        """The line that called backward."""
        return self.line_of(self.graph.backward)

    @property
    def line_of_stop(self) -> Lines:
        """The line that raised the error that the program stopped with, or that its last backward failed with."""
        stop = self.stop
        return ((stop.place, stop.code),) if stop is not None and stop.place is not None and stop.code else ()

    # ---------------------------------------------------------------- the graph
    @cached_property
    def whole(self) -> Graph:
        """The graph with the constants, and with the inputs that need no gradient: they may not be finite."""
        return dataflow(self.graph)

    @cached_property
    def root_row(self) -> TensorRow | None:
        """The row of the root; None if its name stands for another tensor by now, or it has none."""
        row = self.rows.get(self.root)
        is_operation = any(self.nodes[root].kind == "operation" for root in self.shown.roots)
        return row if row is not None and not (is_operation and row.is_leaf) else None

    @cached_property
    def has_idle_optimizer(self) -> bool:
        """Whether no optimizer has any of the parameters in the graph, and one has made steps without any gradient."""
        of_parameters = [
            row.history
            for row in self.rows.values()
            if row.is_leaf and row is not self.root_row and self.is_reached(row) and re.fullmatch(r"\S+\.\S+", row.name)
        ]
        return all(one.is_optimized is False for one in of_parameters) and any(
            one.idle_steps > 0 for one in of_parameters
        )

    @cached_property
    def optimized(self) -> list[str]:
        """The names of the tensors that optimizers have."""
        return [row.name for row in self.rows.values() if row.history.is_optimized]

    def line_at(self, place: Place | None) -> Line | None:
        """Return the statement of the program at a place; None for none, and of another file."""
        number = self.line_in_text(self.line_of(place))
        return next((one for one in self.assignments.lines.values() if number in line_numbers(one.statement)), None)

    def is_below_root(self, cut: GraphCut) -> bool:
        """Return whether a cut stands below the line that makes the root, in the same function: too late for that."""
        root, own = self.line_at(self.root_row.place if self.root_row is not None else None), self.line_at(cut.place)
        return (root is not None and own is not None and root.function is own.function) and (
            own.statement.lineno > root.statement.lineno
        )

    @cached_property
    def is_told_of_optimizer(self) -> bool:
        """Whether an optimizer has tensors with names of which no step has found a gradient: they are told it then."""
        return any(
            history.idle_steps and not history.steps for history in (self.rows[name].history for name in self.optimized)
        )

    @cached_property
    def twins(self) -> dict[str, str]:
        """Other names of tensors: of other attributes, and not those of the same one by a longer way."""
        return {
            row.same_as: row.name
            for row in reversed(self.rows.values())
            if row.same_as and re.fullmatch(r"\w+\.[\w.]+", row.name) and not row.name.endswith(f".{row.same_as}")
        }

    @cached_property
    def has_mixed(self) -> bool:
        """Whether a tensor of the graph was written between its uses."""
        return any(node.state == MIXED for node in self.whole.nodes)

    @property
    def is_freed(self) -> bool:
        """Whether a backward has freed operations of the graph, so that another one through them fails."""
        return any(node.state in LOST for node in self.shown.nodes)

    @property
    def root_values(self) -> list[Numbers | None]:
        """The values of the roots, as far as they are known."""
        return [self.nodes[root].value for root in self.shown.roots]

    @property
    def root_name(self) -> str:
        """The name of the root, for a sentence."""
        return self.root or "the root"

    @property
    def call_of_backward(self) -> str:
        """What calls backward on the root; on the sum of one with several elements, as PyTorch begins at a scalar."""
        is_several = any((self.nodes[one].numbers or Numbers.of([0.0])).numel != 1 for one in self.shown.roots[:1])
        return f"{self.root or 'loss'}{'.sum()' * is_several}.backward()"

    @staticmethod
    def name_of(node: Node, output: int = 0) -> str:
        """Return the name that the program has for a value, or for one of several, for a sentence."""
        name = output_name(node, output)
        return name if name and not node.is_letter else "its input"

    def above(self, *nodes: Node) -> list[Node]:
        """Return the operations that use some nodes, and those that use these, the nearest first."""

        def users(one: str) -> list[str]:
            return [edge.target for edge in self.uses[one]]

        return [self.nodes[one] for one in reached((user for node in nodes for user in users(node.id)), users)]


def in_code(name: str) -> str:
    """Return the name of a tensor as a program can write it.

    >>> in_code("net.0.weight"), in_code("0.weight")
    ('net[0].weight', 'model[0].weight')
    """
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", f"model.{name}" if name[:1].isdigit() else name)


def at_line(node: Node) -> Place | None:
    """Return the line that recorded an operation, whichever run of it."""
    return node.place.without_run if node.place is not None else None


def is_own(node: Node) -> bool:
    """Return whether an operation is a Function of the program's own."""
    return node.kind == "operation" and not CLASS.fullmatch(node.label)


def backward_of(node: Node) -> str:
    """Return what computes the gradient of such a Function, for a sentence: its backward, or a hook of a module."""
    return (
        "a backward hook of a module"
        if node.label == "BackwardHookFunctionBackward"
        else f"the backward of {node.label.removesuffix('Backward')}"
    )


def sign_in_program(node: Node) -> str:
    """Return the sign, or the function, of an operation, as a program writes it.

    >>> from gviz.graphs import Node
    >>> sign_in_program(Node("n", "operation", "PowBackward0")), sign_in_program(Node("n", "operation", "DivBackward0"))
    ('**', '/')
    """
    sign = operator_of(node.label)
    return {"^": "**", "×": "*", "÷": "/", "−": "-"}.get(sign, sign)
