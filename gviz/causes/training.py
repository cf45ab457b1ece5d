"""What has happened to a gradient over time: used by a step or not, taken away, added to, spoiled by the program."""

from __future__ import annotations

from collections.abc import Sequence

from gviz.causes import fixes
from gviz.causes.diagnosis import Cause, Diagnosis
from gviz.causes.outside import at_cuts, clause_of_cuts, cuts_to_blame
from gviz.graphs import GraphCut, Place, TensorRow
from gviz.passes.elements import is_finite

NOT_WASTED = "none, if these steps are left out on purpose; else call zero_grad() after each step() alone"
"""What to do about gradients that are taken away unused, of which some are used."""

BEFORE_EACH = "optimizer.zero_grad(), or {}.grad = None, before each backward()"
"""What to do about a gradient that is still there."""


def is_used(row: TensorRow) -> bool:
    """Return whether a gradient was used by the time that it was taken away: by a step, if an optimizer has the tensor.

    To read it alone, as for a print, is no use then.
    """
    history = row.history
    is_trained = history.steps != 0 or history.is_updated or not history.is_optimized
    return history.was_used and is_trained


def why_cleared(row: TensorRow) -> str:
    """Return when a gradient was taken away, if that is right: after its use, or where nothing trains its tensor."""
    if is_used(row):
        return "after the program had used it"
    is_of_other = row.history.was_early and not row.history.is_optimized
    return "before a later backward, of something else" if is_of_other else ""


def mend_of_clearing(case: Diagnosis, row: TensorRow) -> str:
    """Return what to do about a line that takes a gradient away before anything has used it."""
    history, lines = row.history, case.line_of(row.history.grad_cleared)
    code = case.code_of(lines)
    if "clip_grad" in code:
        return f"give {'clip_grad_value_' if 'clip_grad_value_' in code else 'clip_grad_norm_'} a bound above 0"
    if history.is_optimized and not history.steps and not history.idle_steps:
        return f"call step() of the optimizer that has {row.name} before that"
    if not history.is_optimized and "zero_grad(" not in code:
        return "read .grad before that"
    if "zero_grad(" in code:
        before = "once, before the first backward() of the two" if history.was_early else "before backward()"
        mend = f"call zero_grad() {before}, so that step() has a gradient to use"
        return mend if history.is_optimized else f"{mend}; or read .grad before it"
    mend = fixes.without_statement(code, (".grad",)) or case.without(lines)
    return f"{mend}; or {row.name}.requires_grad_(False), if it is not to be trained"


def cause_taken_away(case: Diagnosis, row: TensorRow, cuts: Sequence[GraphCut] = ()) -> Cause:
    """Return the cause for a gradient that the program has taken away again.

    Args:
        case: the graph.
        row: the leaf.
        cuts: between it and the root, if the root brings it none.
    """
    lines = case.line_of(row.history.grad_cleared)
    if not (when := why_cleared(row)):
        who = "a step()" if row.history.is_optimized else "anything"
        what = f"{row.name} had a gradient after backward, and it was taken away before {who} had used it"
        return Cause(row.name, "taken away", what, lines, mend_of_clearing(case, row))
    what = f"{row.name} had its gradient until it was taken away, {when}"
    return with_other_cuts(case, Cause(row.name, "cleared", what, lines), cuts)


def cause_of_other_backward(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a leaf with a gradient that the last backward did not add to.

    Nothing is wrong with it if another call has brought it; if the same call did, an earlier time, it was cut off now.
    """
    cuts = cuts_to_blame(case, row)
    if cuts and row.history.is_same_call:
        lines, mend = at_cuts(case, cuts)
        what = f"{row.name} has the gradient that an earlier run of this backward() has left: this time comes none"
        clause = clause_of_cuts(case, cuts, "what is made from it")
        return Cause(row.name, cuts[0].reason, f"{what}: {clause}", lines, mend)
    what = f"{row.name} has the gradient that another backward has left"
    if cuts:
        return with_other_cuts(case, Cause(row.name, "ok", what), cuts)
    return Cause(row.name, "ok", f"{what}: {case.root_name} is not made from it", case.line_of(row.place))


def with_other_cuts(case: Diagnosis, cause: Cause, cuts: Sequence[GraphCut]) -> Cause:
    """Return a cause for a gradient of another backward, with what cuts its tensor off from the root."""
    if not cuts:
        return cause
    lines, mend = at_cuts(case, cuts)
    what = f"{cause.what}; from {case.root_name} comes none: {clause_of_cuts(case, cuts, 'what is made from it')}"
    mend = f"none, unless {case.root_name} is to train it: {mend}"
    return cause._replace(what=what, lines=tuple(dict.fromkeys((*cause.lines, *lines))), mend=mend)


def cause_of_own_gradient(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return the cause for a gradient that the program itself has put there; None for any other."""
    lines = case.line_of(row.history.grad_set)
    return Cause(row.name, "ok", f"{row.name} has the gradient that this line has given it", lines) if lines else None


def as_far_as_used(cause: Cause, row: TensorRow) -> Cause:
    """Return a cause with how many gradients were taken away unused, though steps have used others that came alike."""
    arrivals, wasted, is_trained = row.history.arrivals, row.history.wasted, row.history.is_optimized
    if not wasted or not row.history.steps or not is_trained:
        return cause
    what = (
        f"{cause.what}; {wasted} of the {arrivals} that this backward() has brought went before a step() had used them"
    )
    what, is_most = what.replace(", and nothing is wrong with it", ""), wasted * 2 > arrivals
    return cause._replace(verdict="taken away" if is_most else cause.verdict, what=what, mend=NOT_WASTED)


def cause_not_used(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return the cause for a gradient that no step has used, though there is an optimizer; None for any other."""
    history, is_ended = row.history, case.stop is None
    is_changed = history.steps != history.still_steps or history.is_updated
    if history.is_optimized is None or is_changed or not is_ended or not row.is_leaf:
        return None
    if not history.is_optimized:
        return cause_not_optimized(case, row)
    lines = (*case.line_of(history.stepped), *case.line_of_backward)
    if history.still_steps:
        what = (
            f"{row.name} has a gradient, but each step() of its optimizer had the learning rate 0, and changed nothing"
        )
        mend = "see what sets the learning rate: lr= of the optimizer, or a scheduler; it is to be above 0"
        is_fault = history.still_steps > 1  # a warm-up may begin with 0
        return Cause(row.name, "not used", what, lines, mend) if is_fault else None
    if not history.idle_steps:
        what = f"{row.name} has a gradient, but step() of the optimizer that has it was not called"
        return Cause(row.name, "not used", what, lines, "call step() of the optimizer after backward()")
    what = f"{row.name} has a gradient, but each step() of its optimizer ran while {row.name}.grad was empty"
    mend = "call step() after backward(), and before the next zero_grad()"
    return Cause(row.name, "not used", what, lines, mend)


def cause_not_optimized(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return the cause for a gradient of a leaf that no optimizer has; None if the program has read the gradient."""
    node, lines = case.named.get(row.name), case.line_of(row.history.optimizer) or case.line_of_backward
    if row.history.was_used and (node is None or node.module is None):
        return None
    what = f"{row.name} has a gradient, but no optimizer has {row.name}: no step() changes it"
    writers = dict.fromkeys(one.statement for one in case.assignments.writers.get((".", row.name.split(".")[-1]), ()))
    anew = [(case.line_of(Place(one.lineno)), better) for one in writers if (better := fixes.as_copy(one))]
    if anew and len(writers) <= 2:  # and not an attribute of another class
        what = f"{what}; the line makes a new parameter of the old one"
        return Cause(row.name, "overwritten", what, *anew[0])
    if case.has_idle_optimizer:
        mend = f"give {row.name} to the optimizer, whose step() has no gradient to use; or, if not, see why it has none"
        return Cause(row.name, "not used", what, lines, mend)
    mend = (
        "none, if it is not to be trained; else make the optimizer after the tensor,"
        " or give it to the optimizer's add_param_group()"
    )
    return Cause(row.name, "not trained", what, lines, mend)


def cause_accumulated(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a gradient that was added to what an earlier backward had left."""
    history, before_each = row.history, BEFORE_EACH.format(row.name)
    what = f"{row.name}.grad is the sum of more than one backward: it was not empty when the last one began"
    mend = f"{before_each}; unless the sum is what you want"
    verdict = "accumulated" if history.is_optimized is not False or history.is_updated else "not trained"
    if history.is_optimized is False:
        what = f"{what}; no optimizer has {row.name}, so that no zero_grad() of one clears it"
        mend = (
            f"{row.name}.requires_grad_(False), if it is not to be trained; else give it to the optimizer,"
            f" or {row.name}.grad = None before each backward()"
        )
    elif history.is_stale:
        what = f"{what}, though {row.name} had been updated with it by then"
        mend = before_each if history.was_used else f"none, if no step() is to use the sum; else {before_each}"
    elif history.steps:
        mend = f"none, if the sum is meant, as of several batches for one step; else {before_each}"
    return Cause(row.name, verdict, what, case.line_of_backward, mend)


def spoiled_row(case: Diagnosis, row: TensorRow | None = None) -> TensorRow | None:
    """Return the leaf into whose finite gradient the program has written nan or inf: this one, or one of the graph."""
    rows = [row] if row is not None else [one for one in case.rows.values() if case.graph.earlier]
    return next((one for one in rows if one.history.spoiled is not None), None)


def cause_spoiled(case: Diagnosis, name: str, what: str, spoiled: TensorRow) -> Cause:
    """Return the cause for nan or inf that the program itself has written into a gradient.

    Args:
        case: the graph.
        name: of the tensor that is asked about.
        what: that it is not finite, as a clause.
        spoiled: the leaf with the gradient.
    """
    lines = case.line_of(spoiled.history.spoiled)
    without = fixes.without_statement(case.code_of(lines), (".grad", "clip_grad")) or case.without(lines)
    of = f"{spoiled.name}.grad"
    then = f"; from there they came into {spoiled.name}" if name != spoiled.name else ""
    what = f"{what}: backward had left finite numbers in {of}, and this line has written nan or inf into it{then}"
    return Cause(name, "nan", what, lines, f"write finite numbers into {of}; or {without}")


def cause_spread(case: Diagnosis, row: TensorRow, number: str) -> Cause:
    """Return the cause for a gradient that another one has made nan or inf, as all are clipped to one norm."""
    others = [one for one in case.rows.values() if one.is_leaf and one is not row and one.history.spread is None]
    origin = next((one.name for one in others if one.moment is not None and not is_finite(one.moment.grad.value)), "")
    what = f"{row.name}.grad is {number}: backward had left finite numbers in it, and this line has written others"
    what = f"{what}, since the gradient of {origin or 'another tensor'} was not finite"
    mend = (
        f"gviz why SCRIPT {origin} tells where that began" if origin else "see which gradient is not finite before it"
    )
    return Cause(row.name, "nan", what, case.line_of(row.history.spread), mend)
