"""Why a gradient is None, zero, not a number, or the sum of several: the cause, the line that causes it, and the mend.

All of it is read off the graph as data: the rows of tensors with their lines and what cut them off, the gradients on
their way back, and the error that the program stopped with. So it is the same for gviz's engine and for the real
PyTorch. The way of a question is this: ``facts.py`` collects what is known of the tensor; the first row of an ordered
list below whose condition holds answers, by a function of ``missing.py``, ``stopped.py``, ``zero.py``,
``not_finite.py`` or ``training.py``, which has the sentence, the lines and the mend; ``cuts.py`` has
these for what left the graph, and ``fixes.py`` writes lines as they should be.
"""

from __future__ import annotations

import re

from gviz.causes import missing, training, zero
from gviz.causes.diagnosis import NO_GRAPH, Cause, Diagnosis, first_true
from gviz.causes.facts import TensorFacts, Verdict, always, first_answer
from gviz.causes.not_finite import gradient_not_finite, not_finite_before, not_finite_itself, not_finite_since
from gviz.causes.stopped import is_about, is_frozen_for_root, stopped
from gviz.errors import SourceError
from gviz.garbage import without_collecting
from gviz.graphs import Graph, GraphCut
from gviz.passes.elements import has_only, is_finite
from gviz.text import did_you_mean, excerpt, joined, name_among

LONGEST = 60
"""Characters of what a letter of gviz's stands for, from which on others in it stay."""

ON_OTHER_ROOT = (
    Verdict(
        lambda one: (
            (one.case.is_beside_run and one.row.is_leaf and one.row.requires_grad)
            and one.is_of_other_root
            and not (one.number or one.leaf_root is not None or missing.took_name(one))
        ),
        missing.beside_asked,
    ),
    Verdict(
        lambda one: (
            (one.case.is_beside_run and one.row.is_leaf and one.row.requires_grad)
            and (one.row.moment is not None and one.row.moment.is_of_other)
            and (one.grad is not None or one.history.brought is not None)
            and one.case.stop is None
        ),
        missing.of_other_root,
    ),
)
"""The verdicts on a leaf where backward was called on another root than the one that is asked for."""

OF_IDLE_OPTIMIZER = (
    Verdict(
        lambda one: (
            (one.case.has_run and one.is_leaf_of_graph and one.history.grad_cleared)
            and (one.history.is_optimized and one.history.still_steps and training.is_unused(one))
        ),
        training.not_used,
    ),
    Verdict(
        lambda one: (
            (one.case.has_run and one.is_leaf_of_graph and one.history.grad_cleared)
            and training.is_unknown_to_optimizers(one)
        ),
        training.beside_optimizer,
    ),
)
"""The verdicts on a gradient that was taken away, and that no step could have used to change its tensor."""

WITHOUT_GRADIENT = (
    *ON_OTHER_ROOT,
    Verdict(lambda one: one.history.is_stepped_later and not one.history.arrivals, missing.stepped_later),
    Verdict(missing.took_name, missing.overwritten),
    # It is not in the graph at all.
    Verdict(lambda one: not one.row.requires_grad and is_frozen_for_root(one), stopped),
    Verdict(lambda one: not one.row.requires_grad and not one.is_leaf_of_graph, missing.outside),
    Verdict(lambda one: not one.row.requires_grad and not one.is_leaf_of_graph, missing.never_required),
    # It requires a gradient.
    Verdict(lambda one: one.row.is_leaf, stopped),
    Verdict(lambda one: not is_finite(one.row.value), not_finite_itself),
    Verdict(lambda one: one.history.is_grown and one.node is None, missing.keeps_graphs),
    Verdict(lambda one: not one.row.is_leaf, missing.not_retained),
    Verdict(lambda one: one.row is not one.leaf_root or one.reason, missing.false_cure),
    # It is a leaf of the graph, and backward has run.
    Verdict(lambda one: one.history.took_bad and one.history.spread, training.made_by_clipping),
    Verdict(training.is_read_alone, missing.given_to_other_name),
    Verdict(lambda one: one.case.has_run and one.is_leaf_of_graph, missing.left_out),
    Verdict(
        lambda one: one.case.has_run and one.history.grad_cleared and one.history.is_stale and one.history.used_sum,
        training.accumulated,
    ),
    *OF_IDLE_OPTIMIZER,
    Verdict(lambda one: one.case.has_run and one.is_leaf_of_graph and one.history.grad_cleared, training.taken_away),
    Verdict(lambda one: one.case.has_run and one.is_leaf_of_graph, missing.without_trace),
    # It is not.
    Verdict(missing.is_taken_away, training.taken_away),
    Verdict(always, missing.cleared_in_saved_graph),
    Verdict(lambda one: one.history.stepped_after and not one.history.arrivals, training.of_other_steps),
    Verdict(
        lambda one: (
            one.history.grad_of_others
            and not (one.history.is_optimized or one.case.stop or ".backward(" in one.case.text)
        ),
        missing.beside_functions,
    ),
    Verdict(missing.is_forgotten, missing.not_run),
    Verdict(
        lambda one: one.case.has_run and one.is_of_other_call and (one.history.steps or one.history.is_updated),
        training.of_other_backward,
    ),
    Verdict(lambda one: one.cuts and (one.case.has_run or not one.case.nodes), missing.cut_off),
    Verdict(lambda one: one.case.has_run, missing.bias_beside_derivatives),
    Verdict(lambda one: one.case.has_run and missing.has_replaced(one), missing.overwritten),
    Verdict(lambda one: one.case.has_run, missing.no_path),
    Verdict(always, missing.not_run),
)
"""The verdicts on a gradient that is None, those that explain most first."""

WITH_GRADIENT = (
    *ON_OTHER_ROOT,
    Verdict(is_about, stopped),
    # What the gradient was is gone: the tensor itself tells.
    Verdict(lambda one: one.history.grad_cleared and not is_finite(one.row.value), not_finite_itself),
    # It is nan or inf.
    Verdict(lambda one: one.number and one.history.spoiled, training.spoiled_by_program),
    Verdict(lambda one: one.number and one.history.spread and one.before is None, training.made_by_clipping),
    Verdict(lambda one: one.number and one.is_of_other_root, zero.left_by_other_root),
    Verdict(lambda one: one.number and not is_finite(one.before), not_finite_before),
    Verdict(lambda one: one.number, not_finite_since),
    Verdict(lambda one: one.number or one.is_zero, training.made_by_hook),
    Verdict(lambda one: one.number, gradient_not_finite),
    Verdict(always, missing.false_cure),
    # It is 0.
    Verdict(lambda one: one.is_zero and one.history.took_bad and one.history.spread, training.made_by_clipping),
    Verdict(lambda one: one.is_zero, missing.left_out),
    Verdict(lambda one: one.is_zero and one.history.grad_cleared and one.history.spoiled, training.spoiled_by_program),
    Verdict(
        lambda one: one.is_zero and one.history.grad_cleared and one.history.is_stale and one.history.used_sum,
        training.accumulated,
    ),
    Verdict(
        lambda one: one.is_zero and one.is_of_other_root and one.history.stepped_after and not one.history.steps,
        training.of_other_steps,
    ),
    Verdict(lambda one: one.is_zero and one.is_of_other_root and not one.history.grad_cleared, zero.left_by_other_root),
    Verdict(lambda one: one.is_zero and one.is_of_other_root and one.history.grad_cleared, training.taken_away),
    *OF_IDLE_OPTIMIZER,
    Verdict(lambda one: one.is_zero, zero.zero),
    # It is a number like any other.
    Verdict(always, zero.computed_from_new),
    Verdict(
        lambda one: one.history.grad_set and one.history.is_optimized and training.is_unused(one), training.not_used
    ),
    Verdict(lambda one: one.history.grad_set and training.is_unknown_to_optimizers(one), training.beside_optimizer),
    Verdict(lambda one: one.history.grad_set and not one.is_added, training.given_by_program),
    Verdict(always, missing.left_out_this_time),
    Verdict(always, missing.not_listed),
    Verdict(lambda one: one.is_of_other_root and one.history.is_stale and one.history.used_sum, training.accumulated),
    Verdict(lambda one: one.is_of_other_root, training.of_other_backward),
    # Whether an optimizer, or the program, uses it.
    Verdict(training.is_read_alone, missing.given_to_other_name),
    Verdict(lambda one: one.history.is_optimized and training.is_unused(one), training.not_used),
    Verdict(training.is_unknown_to_optimizers, training.beside_optimizer),
    Verdict(lambda one: one.history.grad_set, training.given_by_program),
    Verdict(
        lambda one: one.is_added and one.parts and all(has_only(part, 0.0) for part in one.parts),
        zero.accumulated_zero,
    ),
    Verdict(lambda one: one.is_added, training.accumulated),
    Verdict(training.is_unknown_to_optimizers, training.not_optimized),
    Verdict(always, training.as_far_as_used),
)
"""The verdicts on a gradient that is there."""


def why(graph: Graph, name: str) -> Cause:
    """Return why the gradient of a tensor is what it is.

    Args:
        graph: one that was read for this (``SourceOptions(diagnose=True)``).
        name: of the tensor.

    Raises:
        SourceError: there is no tensor of that name.
    """
    case = Diagnosis(graph)
    name = name_among(name, case.rows)
    row = case.rows.get(name)
    if row is None:
        raise SourceError(f"there is no tensor {excerpt(name)}", hint=hint_of_name(case, name))
    facts = TensorFacts(case, case.rows[row.same_as or name])
    cause = zero.with_way_of_0(facts, missing.with_way_cut_off(facts, cause_of(facts)))
    if row.same_as:
        return cause._replace(
            name=name,
            what=f"{name} and {row.same_as} are one tensor, whose gradient is the sum over all its uses. {cause.what}",
        )
    if not case.is_expression or row.expression is None:
        return cause
    text = row.expression
    for other in reversed(case.rows.values()):  # a - t is w * x - t
        if other.expression is not None and len(text) <= LONGEST:
            text = re.sub(rf"\b{other.name}\b", f"({other.expression})", text)
    return cause._replace(what=f"the formula has no {name}, and gviz gives that name to {text}; {cause.what}")


def hint_of_name(case: Diagnosis, name: str) -> str:
    """Return what to ask about in place of a name that is not that of a tensor."""
    parts, originals = (
        [one for one in case.rows if one.startswith(begin)]
        for begin in ((f"{name}[", f"{name}."), re.sub(r"\w+$", r"parametrizations.\g<0>.original", name))
    )
    owner = next((one for one, own in case.assignments.variables.items() if name in own), "")  # the program's is first
    return first_true(
        (parts, f"{name} holds {joined(parts, 4)}"),
        (originals, f"{name} is parametrized, and computed from {joined(originals, 4)}"),
        (owner is None, f"{name} is no tensor at the end"),
        (owner, f"{name} is a variable of {getattr(owner, 'name', '')}(), gone when that has returned"),
        (
            case.graph.kind == "static",
            "a static graph has no backward: its gradients are operations of their own, which gviz static draws",
        ),
        (
            True,
            did_you_mean(
                name, case.rows, f"the tensors are {joined(case.rows, 12)}" if case.rows else "it leaves no tensors"
            ),
        ),
    )


@without_collecting()
def why_all(graph: Graph) -> list[Cause]:
    """Return the causes for all leaves, and for what has the name that a leaf should have, in the order of the program.

    A leaf of several names has the first of them. One that has none any more, in a graph that is not asked about, is
    left out: nobody can be asked to use it.
    """
    case = Diagnosis(graph)
    asked = [*filter(stands_for_leaf, (TensorFacts(case, row) for row in case.rows.values() if not row.same_as))]
    behind = {leaf for one in asked if not one.row.is_leaf for leaf in one.row.leaves if leaf.startswith("leaf ")}
    return [
        one
        for one in map(cause_of, (facts for facts in asked if facts.name not in behind))
        if not (one.name.startswith("leaf ") and one.verdict in ("no path", "not trained", "not used"))
    ]


def stands_for_leaf(facts: TensorFacts) -> bool:
    """Return whether a tensor is a leaf, or has the name that a leaf should have."""
    return (
        facts.history.is_grown
        or missing.took_name(facts)
        or (facts.row.is_leaf and (facts.row.requires_grad or facts.reason in ("", "frozen")))
        or (not facts.row.is_leaf and missing.leaf_within(facts) != "")
    )


def cut_of_constant(facts: TensorFacts, cause: Cause) -> GraphCut | None:
    """Return what has cut off a tensor that may be a constant on purpose; None for any other."""
    cut = facts.own_cut if cause.is_wrong else None
    return None if cut is None or facts.row is facts.case.root_row or cause.verdict != cut.reason else cut


def cause_alone(facts: TensorFacts) -> Cause:
    """Return the cause for a tensor, without what is known of others that it was made from."""
    cause = first_answer(WITH_GRADIENT if facts.grad is not None else WITHOUT_GRADIENT, facts)
    numbers = facts.grad if facts.number else facts.row.value
    is_infinite = numbers is not None and numbers.not_finite and not numbers.has_nan
    cause = cause._replace(verdict="inf") if is_infinite and cause.verdict == "nan" else cause
    return training.with_misplaced_call(facts, missing.with_later_losses(facts, cause))


def cause_of(facts: TensorFacts) -> Cause:
    """Return the cause for a tensor; one outside the graph, such as what a loss is compared with, may be a constant.

    It may be one where the cut is not what is wrong with the gradients of what it was made from; that may be a
    constant, too, and in a loop one that was made from the tensor itself.
    """
    cause = cause_alone(facts)
    rows, todo, seen = facts.case.rows, [(facts, cause)], {facts.name}
    if (own_cut := cut_of_constant(facts, cause)) is None:
        return cause
    at_cut, stop = facts.case.line_of(own_cut.place), facts.case.stop
    is_no_fault = stop is None or NO_GRAPH not in stop.message  # that a root lacks its graph is the cut's, or another's
    for one, own in todo:  # grows while it is read
        cut = cut_of_constant(one, own)
        if cut is None and own.is_wrong and not {*own.lines}.isdisjoint(at_cut):
            return cause
        is_no_fault = is_no_fault or (cut is None and own.is_wrong)
        new = [leaf for leaf in cut.leaves if leaf in rows and leaf not in seen] if cut is not None else []
        seen.update(new)
        todo += [(leaf, cause_alone(leaf)) for leaf in (TensorFacts(facts.case, rows[name]) for name in new)]
    return (
        cause._replace(mend=f"none, if {facts.name} is to have no graph; else {cause.mend}", is_meant=True)
        if is_no_fault
        else cause
    )
