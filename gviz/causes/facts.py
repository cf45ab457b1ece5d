"""The facts about one tensor on which its verdict depends, and what a verdict is: a row of an ordered list."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from gviz.causes.cuts import at_cuts, clause_of_cuts, cuts_to_blame
from gviz.causes.diagnosis import Cause, Diagnosis, Lines, in_code
from gviz.causes.fixes import FROM_NUMBERS
from gviz.causes.syntax import calls_of, parse, statements_at
from gviz.graphs import GraphCut, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import has_only


class TensorFacts:
    """One tensor in its program, with what is known of it.

    Args:
        case: the graph and its program.
        row: the tensor.
    """

    def __init__(self, case: Diagnosis, row: TensorRow) -> None:
        self.case, self.row, self.name, self.history = case, row, row.name, row.history
        self.before, self.node = row.grad.before, case.named.get(row.name)
        self.grad = row.grad.value or (self.node.grad.alarming if self.node and row.history.grad_cleared else None)
        self.reason = row.broken.reason if row.broken is not None else ""  # why it is outside the graph
        self.is_leaf_of_graph = self.node is not None and self.node.kind == "leaf"

    def cause(self, verdict: str, what: str, lines: Lines = (), mend: str = "", meant: str = "") -> Cause:
        """Return an answer, with each of its lines once.

        Args:
            verdict: in a word or two.
            what: one sentence on what happened.
            lines: the lines that cause it.
            mend: what to write, or to do; "" if there is nothing else than to let it be.
            meant: when it is as it should be, as a clause; "" where it is a fault.
        """
        text = f"none, {meant}{'; else ' * bool(mend)}{mend}" if meant else mend
        return Cause(self.name, verdict, what, tuple(dict.fromkeys(lines)), text, bool(meant))

    @cached_property
    def lines(self) -> Lines:
        """The line that made it."""
        return self.case.line_of(self.row.place)

    @cached_property
    def code(self) -> str:
        """The code of that line."""
        return self.case.code_of(self.lines)

    @cached_property
    def own_cut(self) -> GraphCut | None:
        """What has cut it off itself, or has made the numbers that it is made from, as ``numpy()`` does."""
        cut, case = self.row.broken, self.case
        if cut is None:
            return next(self.cuts_to_numbers, None)
        same = [  # a line may have been called from several, with gradients switched off here and there
            one
            for one in case.graph.breaks
            if case.line_of(one.place) == case.line_of(cut.place)
            and (one.call, one.reason) == (cut.call, cut.reason)
            and (one.reason == "no_grad" or one.span == cut.span)
        ]
        return same[0]._replace(source=cut.source, span=cut.span) if same else cut

    @property
    def cuts_to_numbers(self) -> Iterator[GraphCut]:
        """What has made numbers of tensors that come into the line that made it."""
        case, own = self.case, {self.case.line_in_text(self.lines)}
        for cut in case.graph.breaks if any(name in self.code for name in FROM_NUMBERS) else ():
            # Numbers of what is used as it is may be for a log.
            pair = case.pair_of(cut) if cut.is_number and not cut.is_used and case.is_in_text(cut) else None
            if pair is not None and case.assignments.way(*pair, own, own):
                yield cut

    @cached_property
    def cuts(self) -> list[GraphCut]:
        """What has cut off the ways between it and the root."""
        return cuts_to_blame(self.case, self.row)

    @cached_property
    def last_cut(self) -> GraphCut | None:
        """The last cut of what was made from it, be it that nothing tells what comes to the root; none below that."""
        case = self.case
        cuts = (one for one in reversed(case.graph.breaks) if self.name in one.leaves)
        cuts = (one for one in cuts if one.others or not case.is_below_root(one))  # others may be made below
        return next((one for one in cuts if not one.is_of_leaves and one.place), None)

    @cached_property
    def at_cuts(self) -> tuple[Lines, str]:
        """The lines of these cuts, and what to write there."""
        return at_cuts(self.case, self.cuts)

    @property
    def closure(self) -> str:
        """The function of the program that is given to its optimizer's step(), as LBFGS takes one; "" for none."""
        calls = calls_of(parse(self.case.code_of(self.case.line_of(self.history.stepped))), "step")
        given = (one for call in calls for one in (*call.args, *(key.value for key in call.keywords)))
        return next((name for name in map(ast.unparse, given) if f"def {name}(" in self.case.graph.code), "")

    @property
    def in_code(self) -> str:
        """Its name as the program can write it: ``net[0].weight`` of what is named ``net.0.weight``."""
        return in_code(self.name)

    @property
    def clause_of_cuts(self) -> str:
        """What these cuts have done, as a clause."""
        return clause_of_cuts(self.case, self.cuts, "what is made from it")

    @property
    def parts(self) -> list[Numbers | None]:
        """The gradients that its uses have handed on to it."""
        return [edge.flow.handed for edge in self.case.uses[self.node.id]] if self.node is not None else []

    @property
    def number(self) -> str:
        """The first number of its gradient that is not finite; "" if all are."""
        return self.grad.not_finite if self.grad is not None else ""

    @property
    def is_zero(self) -> bool:
        """Whether its gradient is 0 everywhere."""
        return has_only(self.grad, 0.0)

    @property
    def is_of_other_root(self) -> bool:
        """Whether its gradient is of another backward than that of the root, which is not made from it."""
        return (
            (self.case.has_run or self.case.is_beside_run)
            and bool(self.case.nodes)
            and not self.case.is_reached(self.row)
        )

    @property
    def is_of_other_call(self) -> bool:
        """Whether calls of backward have brought it gradients, none of them made where that of the root was."""
        return self.history.brought is not None and not self.history.is_same_call

    @property
    def is_written_by_program(self) -> bool:
        """Whether the program has written it, and no step of an optimizer: as a moving average, or a copy of others."""
        return self.history.is_updated and self.history.steps == 0  # and not None: that nobody knows how many

    @property
    def is_cut_in_turns(self) -> bool:
        """Whether steps have trained it, and what cuts it off now stands under a condition, as in each second pass."""
        around = [
            one
            for cut in self.cuts[:1]
            for one in statements_at(self.case.graph.code, self.case.line_in_text(self.case.line_of(cut.place)))
        ]
        own = takewhile(lambda one: not isinstance(one, ast.For | ast.While | ast.FunctionDef), reversed(around))
        return bool(self.history.steps) and (
            any(isinstance(one, ast.If) for one in own)  # and not around all of it, as of __name__ == "__main__"
            or any("set_grad_enabled(" in cut.switch and "False" not in cut.switch for cut in self.cuts)
        )

    @property
    def is_frozen_in_optimizer(self) -> bool:
        """Whether it requires no gradient, though the program has given it to an optimizer."""
        return self.row.is_leaf and not self.row.requires_grad and bool(self.history.is_optimized)

    @property
    def leaf_root(self) -> TensorRow | None:
        """The root, if that is a leaf itself."""
        root = self.case.root_row
        return root if root is not None and root.is_leaf else None

    @property
    def is_added(self) -> bool:
        """Whether the backward of the root has added to what an earlier backward had left."""
        return (
            not (self.before is None or has_only(self.before, 0.0))
            and self.case.graph.backward is not None
            and not self.is_of_other_root
            and not (self.is_of_other_call and len(self.case.shown.roots) > 1)  # of which another one has brought it
        )

    @property
    def is_used(self) -> bool:
        """Whether its gradient was used by the time that it was taken away: by a step, if an optimizer has the tensor.

        To read it alone, as for a print, is no use then, nor is what the program writes beside steps that had none.
        """
        history = self.history
        is_trained = history.steps != 0 or (history.is_updated and not history.idle_steps) or not history.is_optimized
        return history.was_used and is_trained


class Verdict(NamedTuple):
    """A row of an ordered list: the first whose condition holds, and that has an answer, is the verdict.

    Args:
        when: the condition on the facts.
        answer: makes the answer of them; it may find that there is none after all.
    """

    when: Callable[[TensorFacts], object]
    answer: Callable[[TensorFacts], Cause | None]


def first_answer(verdicts: Iterable[Verdict], facts: TensorFacts) -> Cause:
    """Return the answer of the first verdict that fits: of the last one, which always does, if no other."""
    answers = (verdict.answer(facts) for verdict in verdicts if verdict.when(facts))
    return next(answer for answer in answers if answer is not None)


def always(_: TensorFacts) -> bool:
    """Return True: the answer itself finds out whether it fits."""
    return True
