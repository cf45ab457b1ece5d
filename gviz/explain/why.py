"""Why a gradient is None, zero, not a number, or the sum of several: the cause, the line that causes it, and the mend.

All of it is read off the graph as data: the rows of tensors with their lines and what cut them off, the gradients on their way
back, and the error that the program stopped with. So it is the same for gviz's engine and for the real PyTorch.
"""

from __future__ import annotations

import re
from functools import cached_property, reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gviz.errors import SourceError
from gviz.explain import mends
from gviz.passes.dataflow import dataflow
from gviz.passes.elements import NOT_FINITE, elements, has_only, is_finite, plus, positions
from gviz.passes.expressions import operator_of
from gviz.text import did_you_mean, excerpt, joined, line_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gviz.graph import Edge, Graph, Node, TensorRow, Value

__all__ = ["FINE", "Cause", "why", "why_all"]

FINE = ("ok", "frozen", "integer", "accumulated", "cleared", "not a leaf")
"""Verdicts that are no fault of the program: of a tensor that is not trained, say."""

CLASS = re.compile(r"\w+Backward\d+|AccumulateGrad|CopySlices|CopyBackwards")
"""PyTorch's own operations: a user's Function has no number."""

MOST = 3
"""Places that are listed."""

MENDS_OF_NAN = {
    "log": "log is infinite at 0, and nan below: keep its input above 0, as x.clamp(min=1e-6) does",
    "exp": "exp is too large for its dtype: subtract the maximum first, or use torch.log_softmax or torch.logsumexp",
    "÷": "it is a division by 0: add a small number to the divisor",
    "reciprocal": "it is a division by 0: add a small number to the divisor",
    "sqrt": "sqrt is nan below 0: keep its input above it",
    "softmax": "a row of nothing but -inf has no softmax: leave an element of each row unmasked",
}
GROWN = "the numbers grow from one backward to the next: take a smaller learning rate, or torch.nn.utils.clip_grad_norm_"
MENDS_OF_ZERO = {
    "relu": "give it inputs above 0, or use a function such as leaky_relu or softplus",
    "round": "rounding has no slope: x + (x.round() - x).detach() lets the gradient through",
    "floor": "rounding has no slope: x + (x.floor() - x).detach() lets the gradient through",
    "clamp": "its input lies outside of the bounds, where the slope is 0: widen them",
    "×": "the other factor is 0: give it another value",
    "norm": "the norm has no slope at 0: begin elsewhere",
}
"""What to do where an operation makes nan or inf, and where it makes a gradient 0."""

PUT_IN = ("MaskedFill", "Where")
"""Operations that put inf into a tensor because the program says so."""

NO_GRAPH = "does not require grad and does not have a grad_fn"
SECOND = "Trying to backward through the graph a second time"
CHANGED = "modified by an inplace operation"
LEAF_WRITTEN = "a leaf Variable that requires grad"
NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
"""PyTorch's words."""

REASONS = {
    "detached": "{}() cut off what is made from it",
    "no_grad": "what is made from it was made under torch.no_grad()",
    "no derivative": "{}() has no derivative",
}
"""How a line cuts tensors off."""

_BACKWARD = re.compile(r"\b([A-Za-z_]\w*)(?:\.\w+\(\))*\.backward\s*\((?:\s*\[?\s*([A-Za-z_]\w*))?")


Lines: TypeAlias = "tuple[tuple[str, str], ...]"
"""Places in a program, each with its code."""


class Cause(NamedTuple):
    """Why a gradient is what it is.

    Args:
        name: of the tensor.
        verdict: in a word or two: ``not a leaf``, ``detached`` ...; ``ok`` if nothing is wrong.
        what: one sentence on what happened.
        lines: the lines that cause it, each with its code ("" for one of another file).
        mend: what to write, or to do; "" if nothing is wrong.
    """

    name: str
    verdict: str
    what: str
    lines: Lines = ()
    mend: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the program has to be mended."""
        return self.verdict not in FINE


def why(graph: Graph, name: str) -> Cause:
    """Return why the gradient of a tensor is what it is.

    Args:
        graph: one that was read with lines and with gradients on their way (``SourceOptions(diagnose=True)``).
        name: of the tensor.

    Raises:
        SourceError: there is no tensor of that name.
    """
    return _Case(graph).cause(name)


def why_all(graph: Graph) -> list[Cause]:
    """Return the causes for all leaves, and for what has the name that a leaf should have, in the order of the program."""
    case = _Case(graph)
    taken = {row.name for row in graph.tensors if not row.is_leaf and (case.took_name(row) or case.leaf_within(row))}
    wanted = [row for row in graph.tensors if (row.is_leaf and (row.requires_grad or not row.cut)) or row.name in taken]
    behind = {leaf for row in wanted if not row.is_leaf for leaf in row.leaves}
    return [case.cause(row.name) for row in wanted if row.name not in behind]


class _Case:
    """A graph, looked up by what a question needs."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.shown = graph, dataflow(graph) if graph.nodes else graph
        self.rows = {row.name: row for row in graph.tensors}
        self.code = graph.code.split("\n")
        self.nodes = {node.id: node for node in self.shown.nodes}
        self.named = {node.name: node for node in reversed(self.shown.nodes) if node.name}
        self.uses: dict[str, list[Edge]] = {node: [] for node in self.nodes}
        self.inputs: dict[str, list[str]] = {node: [] for node in self.nodes}
        for edge in self.shown.edges:
            self.uses[edge.source].append(edge)
            self.inputs[edge.target].append(edge.source)
        self.root = next((self.nodes[root].name or "" for root in self.shown.roots), "")

    # ---------------------------------------------------------------- lines
    def line(self, number: int, file: str = "") -> Lines:
        """Return a line with its code; nothing for one that is not known."""
        if not number:
            return ()
        code = self.code[number - 1].strip() if not file and number <= len(self.code) else ""
        return ((line_text(number, file), code),)

    def line_of(self, place: str) -> Lines:
        """Return the line of a place in words, ``line 3``."""
        number = place.removeprefix("line ")
        return self.line(int(number)) if number.isdigit() else (((place, ""),) if place else ())

    def find(self, pattern: str, after: int = 0) -> int:
        """Return the last line with a pattern, after another one; 0 for none."""
        found = [number for number, text in enumerate(self.code, 1) if number > after and re.search(pattern, text)]
        return found[-1] if found else 0

    # ---------------------------------------------------------------- the question
    def cause(self, name: str) -> Cause:
        """Return the cause for a tensor."""
        row = self.rows.get(name)
        if row is None:
            there = f"the tensors are {joined(self.rows, 12)}" if self.rows else "it leaves no tensors"
            raise SourceError(f"there is no tensor {excerpt(name)}", hint=did_you_mean(name, self.rows, there))
        causes = self.of_none(row) if row.grad is None else iter((self.failed(row) if self.is_hit(row) else None,))
        found = next(filter(None, causes), None)
        return found or (self.of_gradient(row) if row.grad is not None else self.below(row))

    def is_hit(self, row: TensorRow) -> bool:
        """Return whether the error that the program stopped with spoils a gradient that is there, or is about its tensor."""
        place, _, message = self.graph.error.partition("\n")
        is_named = re.search(rf"\b{re.escape(row.name)}\b", place) is not None
        return row.is_leaf and (SECOND in message or CHANGED in message or (LEAF_WRITTEN in message and is_named))

    def of_none(self, row: TensorRow) -> Iterator[Cause | None]:
        """Yield the causes for which a gradient may be None, those that explain most first."""
        yield self.overwritten(row)
        if not row.requires_grad:
            yield self.outside(row)
            has_reason = NO_GRAPH in self.graph.error and not any(other.cut for other in self.graph.tensors)
            yield self.failed(row) if has_reason else self.never_required(row)
        if self.graph.error and row.is_leaf:
            yield self.failed(row)
        yield self.not_finite_root(row)
        if not row.is_leaf:
            yield self.not_retained(row)
        root = self.rows.get(self.root)
        if root is not None and root.is_leaf and root.cut:
            yield self.false_cure(root)._replace(name=row.name)

    def overwritten(self, row: TensorRow) -> Cause | None:
        """Return the cause if the name stands for another tensor than the leaf that has the gradient."""
        if not self.took_name(row):
            return None
        lines = self.line(row.line, row.file)
        better = mends.in_place(lines[0][1]) if lines else ""
        what = f"{row.name} is no longer the leaf: the line gives the name to a new tensor, whose .grad is None"
        head = "" if row.cut == "no_grad" else "with torch.no_grad(): "
        mend = f"{head}{better}" if better else f"write into {row.name} in place, under torch.no_grad()"
        return Cause(row.name, "overwritten", what, lines, mend)

    def took_name(self, row: TensorRow) -> bool:
        """Return whether a tensor took over the name of a leaf: one in the graph, or one that its own line names."""
        line = self.line(row.line, row.file)
        is_update = bool(line) and ".grad" in line[0][1] and may_be(mends.assigned_in(line[0][1]), row.name)
        node = self.named.get(row.name)
        is_other = node is not None and node.kind == "leaf" and (not row.is_leaf or not row.requires_grad)
        return is_other or (is_update and bool(row.leaves or row.cut_from))

    def leaf_within(self, row: TensorRow) -> str:
        """Return the line that would make a leaf of a tensor, if the leaf is only a part of its line now; "" for any other."""
        is_made = row.grad_fn is not None and row.name != self.root and not row.retains_grad
        lines = self.line(row.line, row.file) if is_made else ()
        return mends.retaining_leaf(lines[0][1]) if lines else ""

    def outside(self, row: TensorRow) -> Cause | None:
        """Return the cause for a tensor that something has cut off from the graph."""
        if not row.cut:
            return None
        lines = self.line_of(row.cut_at)
        source = f" from {row.cut_from}" if row.cut_from else ""
        code = lines[0][1] if lines else ""
        if row.cut == "frozen":
            what = f"{row.name} does not require a gradient any more"
            return Cause(row.name, "frozen", what, lines, "leave the line out")
        if row.cut == "detached":
            what = f"{row.name} is outside the graph: {row.cut_by}() cut it off{source}"
            return Cause(row.name, "detached", what, lines, mends.within_graph(code) or f"leave out {row.cut_by}()")
        if row.cut == "no_grad":
            what = f"{row.name} is outside the graph: it was made under torch.no_grad()"
            return Cause(row.name, "no_grad", what, lines, "take the line out of torch.no_grad()")
        what = f"{row.name} is outside the graph: {row.cut_by}() has no derivative"
        return Cause(row.name, "no derivative", what, lines, "compute the loss from something that changes smoothly")

    def never_required(self, row: TensorRow) -> Cause:
        """Return the cause for a tensor that never required a gradient."""
        lines = self.line(row.line, row.file)
        if "float" not in row.dtype and "complex" not in row.dtype:
            what = f"{row.name} has the dtype {row.dtype}: only floating-point tensors have gradients"
            return Cause(row.name, "integer", what, lines, f"write floating-point numbers, or {row.name}.float()")
        better = mends.requiring(lines[0][1]) if lines else ""
        what = f"{row.name} does not require a gradient"
        return Cause(row.name, "frozen", what, lines, better or f"{row.name}.requires_grad_()")

    def not_retained(self, row: TensorRow) -> Cause:
        """Return the cause for a tensor that an operation made: only leaves keep their gradients."""
        lines, better = self.line(row.line, row.file), self.leaf_within(row)
        maker = f"{row.grad_fn} made it"
        if better:
            what = f"{row.name} is not a leaf: {maker} from the tensor that requires a gradient, and that has no name"
            return Cause(row.name, "not a leaf: the leaf has no name", what, lines, better)
        what = f"{row.name} is not a leaf: {maker}, and only leaves keep their gradient"
        return Cause(row.name, "not a leaf", what, lines, f"{row.name}.retain_grad() before backward()")

    def below(self, row: TensorRow) -> Cause:
        """Return the cause for a leaf that no gradient has come to."""
        lines = self.line(row.line, row.file)
        node = self.named.get(row.name)
        is_there = node is not None and node.kind == "leaf"
        if self.graph.line and node is not None and is_there:
            return self.without_trace(row, node)
        by_hand = self.find(r"autograd\.grad\s*\(")
        if by_hand and not self.graph.line:
            what = "torch.autograd.grad returns the gradients, and leaves .grad as it is"
            return Cause(row.name, "backward not run", what, self.line(by_hand), f"{self.root or 'loss'}.backward()")
        if not self.graph.line and not self.has_gradients():
            what = f"{row.name}.grad is None: backward has not run yet"
            return Cause(row.name, "backward not run", what, lines, f"{self.root or 'loss'}.backward()")
        cut = next((cut for cut in self.graph.cuts if cut.is_used and row.name in cut.leaves), None)
        if cut is not None:
            told = self.outside(row._replace(cut=cut.why, cut_by=cut.by, cut_at=cut.at))
            what = f"no gradient comes from {self.root or 'the root'} to {row.name}: {REASONS[cut.why].format(cut.by)}"
            return Cause(row.name, cut.why, what, self.line_of(cut.at), told.mend if told is not None else "")
        what = f"{self.root or 'the root'} is not made from {row.name}: there is no path between them"
        return Cause(row.name, "no path", what, lines, f"use {row.name} where {self.root or 'the root'} is computed")

    def without_trace(self, row: TensorRow, node: Node) -> Cause:
        """Return the cause for a leaf in the graph that has no gradient after backward: it was taken away, or never came."""
        users = (self.nodes[edge.target] for edge in self.uses[node.id])
        own = next((user for user in users if not CLASS.fullmatch(user.label)), None)
        taken = self.find(r"zero_grad\s*\(|\.grad\s*=\s*None", self.graph.line)
        step = self.find(r"\.step\s*\(", self.graph.line)
        if own is not None and not taken:
            what = f"the backward of {own.label.removesuffix('Backward')} gives no gradient for {row.name}"
            mend = "return a gradient for each input in its backward"
            return Cause(row.name, "no gradient", what, self.line(own.line, own.file), mend)
        if taken and self.graph.line < step < taken:
            what = f"{row.name} had its gradient until it was taken away, after step() had used it"
            return Cause(row.name, "cleared", what, self.line(taken))
        what = f"{row.name} had a gradient after backward, and it was taken away again"
        mend = (
            "call zero_grad() before backward(), so that step() has a gradient to use"
            if taken < step
            else "read .grad before it"
        )
        return Cause(row.name, "taken away", what, self.line(taken), mend)

    def has_gradients(self) -> bool:
        """Return whether backward has left a gradient anywhere."""
        return any(row.grad is not None for row in self.graph.tensors)

    # ---------------------------------------------------------------- the error that the program stopped with
    def failed(self, row: TensorRow) -> Cause | None:
        """Return the cause for a program that raised before the gradient could come."""
        place, _, message = self.graph.error.partition("\n")
        number, _, code = place.removeprefix("line ").partition("  ")
        lines = ((f"line {number}", code),) if number.isdigit() else ()
        answers = {NO_GRAPH: self.without_graph, SECOND: self.second, CHANGED: self.written, LEAF_WRITTEN: self.leaf_written}
        for words, answer in {**answers, NOT_SCALAR: self.not_scalar}.items():
            if words in message:
                return answer(row, lines, code)
        if _BACKWARD.search(code) or not self.graph.line:
            return Cause(row.name, "failed", f"the program stopped: {message}", lines, "mend this line first")
        return None

    def leaf_written(self, row: TensorRow, lines: Lines, code: str) -> Cause:
        """Return the cause for a leaf that was to be written in place."""
        what = "the program stopped: a leaf that requires a gradient cannot be written in place while operations are recorded"
        return Cause(row.name, "failed", what, lines, f"with torch.no_grad(): {code}")

    def not_scalar(self, row: TensorRow, lines: Lines, code: str) -> Cause:
        """Return the cause for a root of several elements."""
        root = named_in(code) or "loss"
        what = f"backward did not run: {root} has more than one element, and needs a gradient to start with"
        mend = f"{root}.sum().backward(), or {root}.backward(torch.ones_like({root}))"
        return Cause(row.name, "failed", what, lines, mend)

    def without_graph(self, row: TensorRow, lines: Lines, code: str) -> Cause:
        """Return the cause for a root that has no graph."""
        root = self.rows.get(named_in(code), None)
        told = self.outside(root) if root is not None else None
        if root is not None and told is not None:
            what = f"backward did not run: {root.name} has no graph; {told.what.partition(': ')[2]}"
            return told._replace(name=row.name, what=what, lines=(*lines, *told.lines))
        leaves = [one for one in self.graph.tensors if one.is_leaf and "float" in one.dtype and one is not root]
        what = f"backward did not run: nothing that {root.name if root else 'the root'} is made from requires a gradient"
        first = leaves[0] if leaves else None
        better = self.never_required(first) if first is not None else None
        more = better.lines if better is not None else ()
        return Cause(
            row.name, "frozen root", what, (*lines, *more), better.mend if better is not None else "requires_grad=True"
        )

    def second(self, row: TensorRow, lines: Lines, _: str) -> Cause:
        """Return the cause for a backward through a graph that an earlier one has freed."""
        old = {node.id for node in self.shown.nodes if node.kind == "operation" and 0 < node.turn <= self.graph.turn}
        links = [edge for edge in self.shown.edges if edge.source in old and edge.target not in old]
        link = max((self.nodes[edge.source] for edge in links), key=lambda node: node.turn, default=None)
        if link is None:
            what = "backward ran twice through the same graph, and the first time freed it"
            mend = "call it once, or the first time with backward(retain_graph=True)"
            return Cause(row.name, "second backward", what, lines, mend)
        made = self.line(link.line, link.file)
        name = (mends.assigned_in(made[0][1]) if made else "") or link.name or "a tensor"
        what = f"backward went on into a graph that an earlier one had freed: {name}, made in the second line, links the two"
        is_again = any(node.line == link.line and node.id not in old for node in self.shown.nodes)
        mend = f"{name} = {name}.detach() before it is used again"
        if not is_again or not name.isidentifier():
            mend = f"compute {name} anew before each backward(), or call backward(retain_graph=True)"
        return Cause(row.name, "second backward", what, (*lines, *made), mend)

    def written(self, row: TensorRow, lines: Lines, _: str) -> Cause:
        """Return the cause for a tensor that was written after an operation had saved it."""
        writes = [one for place, _ in self.graph.writes for one in self.line_of(place)]
        freed = [node for node in self.shown.nodes if node.state == "freed" and node.kind == "operation"]
        saver = min(
            freed, key=lambda node: node.turn, default=None
        )  # backward frees one after the other, and failed at the last
        made = self.line(saver.line, saver.file) if saver is not None else ()
        by = f" by {operator_of(saver.label)}" if saver is not None else ""
        what = f"backward did not run: a tensor that was saved{by} for backward was written in place afterwards"
        stepped = self.find(r"\.step\s*\(")
        is_step = ".step(" in (writes[0][1] if writes else self.code[stepped - 1] if stepped else "")
        writes = writes or (list(self.line(stepped)) if is_step else [])
        better = "" if is_step or not writes else mends.out_of_place(writes[0][1])
        mend = better or ("call each backward() before step()" if is_step else "write the result into a new tensor")
        return Cause(row.name, "written in place", what, (*lines, *made, *writes), mend)

    # ---------------------------------------------------------------- gradients that are there
    def of_gradient(self, row: TensorRow) -> Cause:
        """Return the cause of a gradient that is there."""
        fine = Cause(row.name, "ok", f"{row.name} has a gradient, and nothing is wrong with it", self.line(self.graph.line))
        return next(filter(None, self.of_number(row)), fine)

    def of_number(self, row: TensorRow) -> Iterator[Cause | None]:
        """Yield what may be wrong with a gradient that is there."""
        root = self.rows.get(self.root)
        yield self.not_finite_root(row)
        if not is_finite(row.grad):
            yield self.not_finite(row)
        if root is not None and root.is_leaf and (root is row or root.cut):
            yield self.false_cure(root)._replace(name=row.name)
        if has_only(row.grad, 0.0):
            yield self.zero(row)
        if row.before is not None and not has_only(row.before, 0.0) and self.graph.line:
            what = f"{row.name}.grad is the sum of more than one backward: it was not empty when the last one began"
            mend = f"optimizer.zero_grad(), or {row.name}.grad = None, before each backward(); unless the sum is what you want"
            yield Cause(row.name, "accumulated", what, self.line(self.graph.line), mend)

    def false_cure(self, row: TensorRow) -> Cause:
        """Return the cause for a root that was made a leaf: backward ends where it begins."""
        told = self.outside(row)
        if told is None:
            return Cause(
                row.name, "leaf root", f"{row.name} is a leaf itself: backward ends where it begins", self.line(row.line)
            )
        cured = self.find(rf"\b{re.escape(row.name)}\.requires_grad(_\(|\s*=)")
        what = f"requires_grad makes a leaf of {row.name}, and brings no graph back: {told.what.partition(': ')[2]}"
        return told._replace(verdict="false cure", what=what, lines=(*told.lines, *self.line(cured)))

    def zero(self, row: TensorRow) -> Cause:
        """Return the cause for a gradient of zeros: where it becomes zero on its way."""
        node = self.named.get(row.name)
        parts = [edge.handed for edge in self.uses[node.id]] if node is not None else []
        if any(part is not None and not has_only(part, 0.0) for part in parts):
            return self.zeroed(row, parts)
        cuts = list(self.cutting(node)) if node is not None else []
        if not cuts:
            what = f"the gradient of {row.name} is 0, and where it became so is not known"
            return Cause(
                row.name,
                "zero",
                what,
                self.line(self.graph.line),
                "gviz render --view dataflow shows the gradients on their way",
            )
        texts = [self.cut_text(edge) for edge in cuts[:MOST]]
        more = f", and {len(cuts) - MOST} more" if len(cuts) > MOST else ""
        lines = dict.fromkeys(line for edge in cuts[:MOST] for line in self.line(self.nodes[edge.target].line))
        what = f"the gradient of {row.name} is 0: {'; '.join(texts)}{more}"
        sign = operator_of(self.nodes[cuts[0].target].label)
        mend = MENDS_OF_ZERO.get(sign, f"give {sign} inputs at which its derivative is not 0")
        return Cause(row.name, "zero", what, tuple(lines), mend)

    def zeroed(self, row: TensorRow, parts: list[Value]) -> Cause:
        """Return the cause for a gradient that was not 0 on its way: the parts cancel, or the program has made it 0."""
        total = reduce(plus, parts)
        if total is not None and has_only(total, 0.0):
            what = f"the gradient of {row.name} is 0: what comes over its {len(parts)} paths cancels out"
            return Cause(row.name, "zero", what, self.line(self.graph.line), f"gviz explain --wrt {row.name} shows the paths")
        taken = self.find(r"zero_grad\s*\(|\.grad\b.*(zero_\s*\(|=\s*0)", self.graph.line)
        if not taken:
            what = f"the gradient of {row.name} is 0, though backward brought one: a hook, or the program, has made it 0"
            return Cause(row.name, "zero", what, self.line(self.graph.line), "look at what changes .grad, and at hooks")
        is_used = self.graph.line < self.find(r"\.step\s*\(", self.graph.line) < taken
        what = f"the gradient of {row.name} is 0: it was set to 0 after backward"
        return Cause(
            row.name, "cleared" if is_used else "zero", what, self.line(taken), "" if is_used else "read .grad before that"
        )

    def cutting(self, node: Node) -> Iterator[Edge]:
        """Yield the edges on which a gradient that is not 0 becomes 0, above a node."""
        todo, seen = [node.id], {node.id}
        for here in todo:  # grows while it is read
            for edge in self.uses[here]:
                arrives = self.nodes[edge.target].arrives
                if arrives is not None and not has_only(arrives, 0.0):
                    yield edge
                elif edge.target not in seen:
                    seen.add(edge.target)
                    todo.append(edge.target)

    def cut_text(self, edge: Edge) -> str:
        """Return why a gradient becomes 0 at an operation."""
        source, target = self.nodes[edge.source], self.nodes[edge.target]
        sign, name = operator_of(target.label), source.name or "its input"
        place = f" in {line_text(target.line, target.file)}" if target.line else ""
        found = positions(source.value, lambda number: number < 0) if sign in ("relu", "threshold") else []
        if found and isinstance(source.value, tuple):
            elements = joined([f"{name}{''.join(f'[{i}]' for i in at)} = {number:.4g}" for at, number in found], MOST)
            return f"{sign}{place} has the derivative 0 at negative inputs ({elements})"
        if found:
            return f"{sign}{place} has the derivative 0 at a negative input ({name} = {found[0][1]:.4g})"
        factor = f" = {edge.symbol}" if edge.symbol and edge.symbol != "0" else ""
        return f"the derivative of {sign}{place} for {name}{factor} is 0 here"

    # ---------------------------------------------------------------- nan and inf
    def not_finite(self, row: TensorRow) -> Cause:
        """Return the cause for a gradient with nan or inf: the operation that made the first one, forward or backward."""
        number = number_of(row.grad)
        if (told := self.born(row.name, f"{row.name}.grad is {number}")) is not None:
            return told
        turning = [edge for edge in self.shown.edges if self.turns(edge)]
        edge = max(turning, key=lambda edge: self.nodes[edge.target].turn, default=None)  # backward meets the last one first
        if edge is None:
            return Cause(
                row.name, "nan", f"{row.name}.grad is {number}, and where it began is not known", self.line(self.graph.line)
            )
        source, target = self.nodes[edge.source], self.nodes[edge.target]
        sign, name = operator_of(target.label), source.name or "its input"
        made = [
            f"the derivative of {sign} for {name} is not finite" if not is_finite(edge.local) else f"{sign} hands on {number}"
        ]
        lines = self.line(target.line, target.file)
        chooses = next((node for node in self.above(target) if node.label == "WhereBackward0"), None)
        if chooses is not None:
            made.append("where() picks the other side, but 0 times inf is nan all the same")
            lines = (*lines, *(one for one in self.line(chooses.line, chooses.file) if one not in lines))
            mend = f"give {sign} a harmless input where it is not picked: {sign}(torch.where(condition, {name}, 1))"
            return Cause(row.name, "nan", f"{row.name}.grad is {number}: {', and '.join(made)}", lines, mend)
        mend = f"keep the input of {sign} away from where its derivative is infinite: add a small number, or clamp it"
        return Cause(row.name, "nan", f"{row.name}.grad is {number}: {made[0]}, backward", lines, mend)

    def not_finite_root(self, row: TensorRow) -> Cause | None:
        """Return the cause for a tensor that is not finite, or for a root that is not and is made from it."""
        for name in (row.name, self.root):
            value = self.rows[name].value if name in self.rows else None
            if value is not None and not is_finite(value):
                told, node = self.born(row.name, f"{name} is {number_of(value)}"), self.named.get(row.name)
                reached = {one.id for one in self.above(node)} | {node.id} if node is not None else set()
                return told if row.name == name or reached & self.not_finite_nodes else None
        return None

    @cached_property
    def not_finite_nodes(self) -> set[str]:
        """The nodes at which nan or inf begin: what the program has put in, else the first operation."""
        given = [node for node in self.shown.nodes if node.kind != "operation" and not is_finite(node.value)]
        made = [node for node in self.shown.nodes if node.kind == "operation" and self.is_born(node)]
        if self.root in self.rows and "nan" in elements(self.rows[self.root].value):  # an inf may be there on purpose: a mask
            given = [node for node in given if "nan" in elements(node.value)] or ([] if made else given)
            made = [node for node in made if not node.label.startswith(PUT_IN)] or made
        first = min(reversed(made), key=lambda node: node.turn, default=None)  # of one line, a user stands before what it uses
        return {node.id for node in given or (first,) if node is not None}

    def born(self, name: str, what: str) -> Cause | None:
        """Return the cause that is the first nan or inf, forward: put in, or made by an operation; None if none is known."""
        first = next((self.nodes[one] for one in sorted(self.not_finite_nodes)), None)
        if first is None:
            return None
        if first.kind != "operation":
            row = self.rows.get(first.name or "")
            lines = self.line(row.line, row.file) if row is not None else ()
            return Cause(name, "nan", f"{what}: {first.name} is not finite from the start", lines, "look at the data")
        sign = operator_of(first.label)
        mend = MENDS_OF_NAN.get(sign, GROWN if self.graph.turn else f"keep the input of {sign} within its domain")
        return Cause(name, "nan", f"{what}: {sign} makes the first of them, forward", self.line(first.line, first.file), mend)

    def is_born(self, node: Node) -> bool:
        """Return whether an operation makes nan, or inf of finite inputs; values that are left out are finite."""
        if node.value is None or is_finite(node.value):
            return False
        inputs = [self.nodes[source] for source in self.inputs[node.id]]
        if "nan" in elements(node.value):  # of an inf, such as a mask has
            return not any("nan" in elements(one.value) for one in inputs)
        return all(is_finite(one.value) for one in inputs)

    def turns(self, edge: Edge) -> bool:
        """Return whether a finite gradient is handed on as one that is not."""
        arrives = self.nodes[edge.target].arrives
        return arrives is not None and is_finite(arrives) and edge.handed is not None and not is_finite(edge.handed)

    def above(self, node: Node) -> Iterator[Node]:
        """Yield the operations that use a node, and those that use these."""
        todo, seen = [node.id], {node.id}
        for here in todo:  # grows while it is read
            for edge in self.uses[here]:
                if edge.target not in seen:
                    seen.add(edge.target)
                    todo.append(edge.target)
                    yield self.nodes[edge.target]


def may_be(written: str, name: str) -> bool:
    """Return whether a name in a line of the program may be that of a tensor: the line may call its object, or its place, else.

    >>> may_be("w", "w"), may_be("self.w", "model.w"), may_be("ws[k]", "ws[0]"), may_be("w", "model.w")
    (True, True, True, False)
    """
    last, other = written.partition("[")[0].rpartition("."), name.partition("[")[0].rpartition(".")
    return last[1:] == other[1:] and ("[" in written) == ("[" in name)


def number_of(value: Value) -> str:
    """Return the first of the numbers that is not finite."""
    return next(str(item) for item in elements(value) if item in NOT_FINITE)


def named_in(code: str) -> str:
    """Return the name that a line calls backward on.

    >>> named_in("loss.backward()"), named_in("loss.sum().backward()"), named_in("torch.autograd.backward([a])")
    ('loss', 'loss', 'a')
    """
    found = [name for match in _BACKWARD.finditer(code) for name in match.groups() if name not in (None, "autograd", "torch")]
    return found[0] if found else ""
