"""What has happened to a gradient over time: used by a step or not, taken away, added to, spoiled by the program."""

from __future__ import annotations

import ast
import re

from gviz.causes import fixes
from gviz.causes.diagnosis import Cause, Diagnosis
from gviz.causes.facts import TensorFacts
from gviz.causes.hooks import as_it_came
from gviz.graphs import Place, TensorRow
from gviz.passes.elements import is_finite

AFTER_STEP = "call zero_grad() after each step() alone"
"""What to do where gradients of several calls of backward are for one step, and each was taken away."""

BEFORE_EACH = "optimizer.zero_grad(), or {}.grad = None, before each backward()"
"""What to do about a gradient that is still there."""

ON_PURPOSE = "if these steps are left out on purpose"
"""When nothing is to be done about gradients that are taken away unused."""


# ---------------------------------------------------------------- taken away
def why_cleared(facts: TensorFacts) -> str:
    """Return when a gradient was taken away, if that is right: after its use, or where nothing trains its tensor by it.

    An unused one that is not counted as wasted is not what the steps of its tensor use.
    """
    history = facts.history
    if facts.is_used:
        return "after the program had used it"
    if history.arrivals and not history.wasted and not history.was_used:
        return "and each step() of its optimizer had used the gradient of another backward"
    is_of_other = history.was_early and not history.is_optimized
    return "before a later backward, of something else" if is_of_other else ""


def mend_of_clearing(facts: TensorFacts) -> str:
    """Return what to do about a line that takes a gradient away before anything has used it."""
    case, history, lines = facts.case, facts.history, facts.case.line_of(facts.history.grad_cleared)
    code = case.code_of(lines)
    if "clip_grad" in code:
        return f"give {'clip_grad_value_' if 'clip_grad_value_' in code else 'clip_grad_norm_'} a bound above 0"
    if history.is_optimized and not history.steps and not history.idle_steps:
        return f"call step() of the optimizer that has {facts.name} before that"
    if "zero_grad(" in code and 0 < (history.steps or 0) + history.idle_steps < history.arrivals:
        return AFTER_STEP
    if "zero_grad(" in code:
        before = "once, before the first backward() of the two" if history.was_early else "before backward()"
        mend = f"call zero_grad() {before}, so that step() has a gradient to use"
        return mend if history.is_optimized else f"{mend}; or read .grad before it"
    if not history.is_optimized:
        return "read .grad before that"
    mend = fixes.without_statement(code, (".grad",)) or case.without(lines)
    return f"{mend}; or {facts.in_code}.requires_grad_(False), if it is not to be trained"


def taken_away(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient that the program has taken away again, with what cuts its tensor off besides."""
    lines = facts.case.line_of(facts.history.grad_cleared)
    if when := why_cleared(facts):
        what = f"{facts.name} had its gradient until it was taken away, {when}"
        return with_cuts(facts, facts.cause("cleared", what, lines))
    who = "a step()" if facts.history.is_optimized else "anything"
    return facts.cause(
        "taken away",
        f"{facts.name} had a gradient after backward, and it was taken away before {who} had used it",
        lines,
        mend_of_clearing(facts),
    )


# ---------------------------------------------------------------- of another backward
def of_other_backward(facts: TensorFacts) -> Cause | None:
    """Return the cause for a leaf with a gradient that the last backward did not add to; None if no step has used it.

    Nothing is wrong with it if another call has brought it; if the same call did, an earlier time, it was cut off now.
    """
    if facts.cuts and facts.history.is_same_call:
        what = f"{facts.name} has the gradient that an earlier run of this backward() has left: this time comes none"
        return facts.cause(facts.cuts[0].reason, f"{what}: {facts.clause_of_cuts}", *facts.at_cuts)
    what = f"{facts.name} has the gradient that another backward has left"
    if facts.cuts:
        return with_cuts(facts, facts.cause("ok", what))
    if is_unused(facts):
        return None
    lines = facts.case.line_of(facts.history.brought) or facts.lines
    return facts.cause("ok", f"{what}: {facts.case.root_name} is not made from it", lines)


def with_cuts(facts: TensorFacts, cause: Cause) -> Cause:
    """Return a cause for a gradient of another backward, with what cuts its tensor off from the root."""
    if facts.is_leaf_of_graph or not facts.cuts:
        return cause
    (lines, mend), root = facts.at_cuts, facts.case.root_name
    return facts.cause(
        cause.verdict,
        f"{cause.what}; from {root} comes none: {facts.clause_of_cuts}",
        (*cause.lines, *lines),
        f"none, unless {root} is to train it: {mend}",
    )


# ---------------------------------------------------------------- used by a step, or not
def as_far_as_used(facts: TensorFacts) -> Cause:
    """Return a gradient as it came, and how many alike were taken away unused, though steps have used others."""
    arrivals, wasted, cause = facts.history.arrivals, facts.history.wasted, as_it_came(facts)
    if not wasted or not facts.history.steps or not facts.history.is_optimized:
        return cause
    what = cause.what.replace(", and nothing is wrong with it", "")
    what = f"{what}; {wasted} of the {arrivals} that this backward() has brought went before a step() had used them"
    if wasted * 2 > arrivals:
        return cause._replace(verdict="taken away", what=what, mend=f"{AFTER_STEP}; or none, {ON_PURPOSE}")
    return cause._replace(what=what, mend=f"none, {ON_PURPOSE}; else {AFTER_STEP}")


def is_read_alone(facts: TensorFacts) -> bool:
    """Return whether the program has used the gradient of a leaf, and neither it nor an optimizer changed the leaf."""
    history = facts.history
    is_named = facts.is_leaf_of_graph and not facts.name.startswith("leaf ")
    return is_named and history.was_used and not history.is_updated and not history.is_optimized


def is_unused(facts: TensorFacts) -> bool:
    """Return whether there is an optimizer, and no step has changed a leaf, though it has a gradient."""
    history = facts.history
    is_changed = history.steps != history.still_steps or history.is_updated
    return not is_changed and history.is_optimized is not None and facts.case.stop is None and facts.row.is_leaf


def is_unknown_to_optimizers(facts: TensorFacts) -> bool:
    """Return whether no optimizer has an unused leaf; a tensor whose gradient the program reads itself needs none."""
    is_parameter = facts.node is not None and facts.node.module is not None
    is_alone = is_parameter or not facts.history.was_used
    return is_alone and not facts.history.is_optimized and is_unused(facts)


def not_used(facts: TensorFacts) -> Cause | None:
    """Return the cause for a gradient that no step of its optimizer has used; None if that begins with a warm-up."""
    history, case, what = facts.history, facts.case, f"{facts.name} has a gradient, but"
    if history.still_steps == 1:  # with the learning rate 0
        return None
    if history.still_steps:
        what = f"{what} each step() of its optimizer had the learning rate 0, and changed nothing"
        mend = "see what sets the learning rate: lr= of the optimizer, or a scheduler; it is to be above 0"
    elif history.idle_steps:
        what = f"{what} each step() of its optimizer ran while {facts.name}.grad was empty"
        mend = "call step() after backward(), and before the next zero_grad()"
    else:
        what = f"{what} step() of the optimizer that has it was not called"
        mend = "call step() of the optimizer after backward()"
    return facts.cause("not used", what, (*case.line_of(history.stepped), *case.line_of_backward), mend)


def beside_optimizer(facts: TensorFacts) -> Cause | None:
    """Return the cause for a leaf that no optimizer has though one should: a pass makes it anew, or all steps idle."""
    case, name, cause = facts.case, facts.name, not_optimized(facts)
    writers = dict.fromkeys(one.statement for one in case.assignments.writers.get((".", name.split(".")[-1]), ()))
    anew = [(case.line_of(Place(one.lineno)), better) for one in writers if (better := fixes.as_copy(one))]
    if anew and len(writers) <= 2:  # and not an attribute of another class
        return facts.cause("overwritten", f"{cause.what}; the line makes a new parameter of the old one", *anew[0])
    mend = f"give {name} to the optimizer, whose step() has no gradient to use; or, if not, see why it has none"
    owner, number = name.partition(".")[0], case.line_in_text(cause.lines)
    later = [one for one in case.assignments.writers.get((None, owner), ()) if one.statement.lineno > number > 0]
    if later and isinstance(later[0].statement, ast.Assign) and f"{owner}.parameters()" in case.code_of(cause.lines):
        lines = (*cause.lines, *case.line_of(Place(later[0].statement.lineno)))
        cause = cause._replace(what=f"{cause.what}, since {owner} was another module when it was made", lines=lines)
        mend = f"make the optimizer after the line that gives {owner} its last value"
    return facts.cause("not used", cause.what, cause.lines, mend) if case.has_idle_optimizer else None


def not_optimized(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient of a leaf that no optimizer has."""
    lines = facts.case.line_of(facts.history.optimizer) or facts.case.line_of_backward
    return facts.cause(
        "not trained",
        f"{facts.name} has a gradient, but no optimizer has {facts.name}: no step() changes it",
        lines,
        given_to_optimizer(facts),
        "if it is not to be trained",
    )


def given_to_optimizer(facts: TensorFacts) -> str:
    """Return what gives a leaf to an optimizer: the line that makes one, if the leaf is there by then, or words."""
    lines, all_lines = facts.case.line_of(facts.history.optimizer), facts.case.assignments.lines.values()
    number, words = facts.case.line_in_text(lines), re.findall(r"[A-Za-z_]\w*", facts.name)
    writers = [
        own
        for word in words
        for key in ((None, word), (".", word))
        for own in facts.case.assignments.writers.get(key, ())
    ]
    is_there = all(one.statement.lineno < number for one in writers) if writers else False
    is_plain = any(one.function is None and one.statement.lineno == number for one in all_lines)
    better = fixes.optimizing(facts.case.code_of(lines), facts.in_code) if is_there and is_plain else ""
    return (
        better or f"make the optimizer after {facts.name}, and with it, or give it to the optimizer's add_param_group()"
    )


def accumulated(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient that was added to what an earlier backward had left."""
    history, name, is_named = facts.history, facts.name, facts.case.expression_in_program(facts.in_code) is not None
    clear = f"{facts.in_code}.grad = None" if is_named else "set its .grad to None"
    is_for_one = history.is_optimized and 0 < (history.steps or 0) < history.arrivals
    clear = f"optimizer.zero_grad(), or {clear}," if history.is_optimized else clear
    before_each = f"{clear} {'after each step()' if is_for_one else 'before each backward()'}"
    what = f"{name}.grad is the sum of more than one backward: it was not empty when the last one began"
    mend, meant = f"{before_each}; unless the sum is what you want", ""
    if history.is_optimized is False and history.autograd_grad is not None:
        mend, meant = before_each, f"if torch.autograd.grad alone is to use {name}"
    elif history.is_optimized is False:
        what = f"{what}; no optimizer has {name}, so that no zero_grad() of one clears it"
        mend = (
            f"{facts.in_code}.requires_grad_(False), if it is not to be trained; else"
            f" {given_to_optimizer(facts)}; or {before_each}"
        )
    elif history.is_stale:
        what = f"{what}, though {name} had been updated with it by then"
        before_each = before_each if history.is_optimized else f"{clear} after each update"
        mend, meant = before_each, "" if history.was_used else "if no step() is to use the sum"
    elif history.steps:
        mend, meant = before_each, "if the sum is meant, as of several batches for one step"
    verdict = "not cleared" if history.is_stale and not meant else "accumulated"
    verdict = verdict if history.is_optimized is not False or history.is_updated else "not trained"
    lines = (*facts.case.line_of_backward, *facts.case.line_of(history.optimizer))
    return facts.cause(verdict, what, lines, mend, meant)


# ---------------------------------------------------------------- written by the program
def spoiled_row(case: Diagnosis) -> TensorRow | None:
    """Return the leaf of a graph into whose finite gradient the program has written nan or inf in an earlier pass."""
    rows = case.rows.values() if case.graph.earlier else ()
    return next((one for one in rows if one.history.spoiled is not None), None)


def spoiled(case: Diagnosis, name: str, what: str, leaf: TensorRow) -> Cause:
    """Return the cause for nan or inf that the program itself has written into a gradient.

    Args:
        case: the graph.
        name: of the tensor that is asked about.
        what: that it is not finite, as a clause.
        leaf: the one with the gradient.
    """
    lines, of = case.line_of(leaf.history.spoiled), f"{leaf.name}.grad"
    without = fixes.without_statement(case.code_of(lines), (".grad", "clip_grad")) or case.without(lines)
    then = f"; from there they came into {leaf.name}" if name != leaf.name else ""
    return Cause(
        name,
        "nan",
        f"{what}: backward had left finite numbers in {of}, and this line has written nan or inf into it{then}",
        lines,
        f"write finite numbers into {of}; or {without}",
    )


def spoiled_by_program(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient into which the program has written nan or inf, and zeros since, it may be."""
    state = f"0, which {facts.history.grad_cleared} has written" if facts.is_zero else facts.number
    return spoiled(facts.case, facts.name, f"{facts.name}.grad is {state}", facts.row)


def made_by_clipping(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient that another one has made nan or inf, as all are clipped to one norm."""
    others = [
        one for one in facts.case.rows.values() if one.is_leaf and one is not facts.row and not one.history.spread
    ]
    origin = next((one.name for one in others if one.moment is not None and not is_finite(one.moment.grad.value)), "")
    mend = (
        f"gviz why SCRIPT {origin} tells where that began" if origin else "see which gradient is not finite before it"
    )
    return facts.cause(
        "nan",
        f"{facts.name}.grad is {facts.number}: backward had left finite numbers in it,"
        " and this line has written others,"
        f" since the gradient of {origin or 'another tensor'} was not finite",
        facts.case.line_of(facts.history.spread),
        mend,
    )


def given_by_program(facts: TensorFacts) -> Cause:
    """Return that a gradient is one that the program itself has put there."""
    return facts.cause(
        "ok", f"{facts.name} has the gradient that this line has given it", facts.case.line_of(facts.history.grad_set)
    )
