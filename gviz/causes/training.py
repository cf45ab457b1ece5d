"""What has happened to a gradient over time: used by a step or not, taken away, added to, spoiled, made by a hook."""

from __future__ import annotations

from collections.abc import Iterator

from gviz.causes import fixes
from gviz.causes.diagnosis import Cause, Diagnosis, Lines, first_true
from gviz.causes.facts import TensorFacts
from gviz.graphs import Hooked, Place, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import has_only, is_finite

AFTER_STEP = "call zero_grad() after each step() alone"
"""What to do where gradients of several calls of backward are for one step, and each was taken away."""

BEFORE_EACH = "call zero_grad(), or {}.grad = None, before each backward()"
"""What to do about a gradient that is still there."""


IN_TURNS = "if some passes alone are to train it"
"""When that a pass brings no gradient is as it should be, though earlier ones have."""


# ---------------------------------------------------------------- taken away
def why_cleared(facts: TensorFacts) -> str:
    """Return when a gradient was taken away, if that is right: after its use, or where nothing trains its tensor by it.

    An unused one that is not counted as wasted is not what the steps of its tensor use.
    """
    history = facts.history
    return first_true(
        (facts.is_used, f"after the program had {'used' if history.steps else 'read'} it"),
        (
            history.arrivals and not history.wasted and not history.was_used,
            "and each step() of its optimizer had used the gradient of another backward",
        ),
        (
            history.is_optimized and history.steps and 0 < history.wasted * 2 < history.arrivals,
            "this time without a step()",
        ),
        (history.was_early and not history.is_optimized, "before a later backward, of something else"),
        (True, ""),
    )


def mend_of_clearing(facts: TensorFacts) -> str:
    """Return what to do about a line that takes a gradient away before anything has used it."""
    case, history, lines = facts.case, facts.history, facts.case.line_of(facts.history.grad_cleared)
    code, steps = case.code_of(lines), (history.steps or 0) + history.idle_steps
    before = f"before {'the backward() that brings it' if history.was_early else 'backward()'}"  # later ones bring none
    after = ", and step() after it" if history.is_optimized else "; or read .grad before it"
    run = case.without(lines, ".grad").removesuffix(" out").replace("leave", "run") or "change .grad"
    return first_true(
        ("clip_grad_value_" in code, "give clip_grad_value_ a bound above 0"),
        (
            "clip_grad" in code and not any(f"{zero})" in code for zero in (" 0", " 0.0", "=0", "=0.0")),
            "give clip_grad_norm_ gradients whose norm is finite, which it divides by, and a bound above 0",
        ),
        ("clip_grad" in code, "give clip_grad_norm_ a bound above 0"),
        (
            history.is_optimized and not (steps or case.stop),
            f"call step() of the optimizer that has {facts.name} before that",
        ),
        ("zero_grad(" in code and 0 < steps < history.arrivals, AFTER_STEP),
        ("zero_grad(" in code, f"call zero_grad() {before}{after}"),
        (not history.is_optimized, "read .grad before that"),
        (True, f"{run} after step(); or {facts.in_code}.requires_grad_(False), if it is not to be trained"),
    )


def taken_away(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient that the program has taken away again, with what cuts its tensor off besides."""
    lines = facts.case.line_of(facts.history.grad_cleared)
    if when := why_cleared(facts):
        return as_far_as_used(
            facts,
            with_cuts(
                facts, facts.cause("cleared", f"{facts.name} had its gradient until it was taken away, {when}", lines)
            ),
        )
    return facts.cause(
        "taken away",
        f"{facts.name} had a gradient after backward, and it was taken away before"
        f" {'a step()' if facts.history.is_optimized else 'anything'} had used it",
        lines,
        mend_of_clearing(facts),
    )


# ---------------------------------------------------------------- of another backward
def of_other_backward(facts: TensorFacts) -> Cause | None:
    """Return the cause for a leaf that the last backward did not come to, though one has brought it a gradient.

    Nothing is wrong with it if another call did, and its steps have used that; if the same call did, an earlier time,
    it was cut off now. None if there is no optimizer that has it, and another's steps do not use it.
    """
    history, is_idle = facts.history, bool(facts.history.steps and facts.history.idle_steps)
    if facts.cuts and (history.is_same_call or is_idle) and (history.is_optimized or history.is_updated):
        return facts.cause(
            facts.cuts[0].reason,
            (
                f"earlier steps have used gradients of {facts.name}, and those of its last optimizer have found none"
                if is_idle and not history.is_same_call
                else f"an earlier run of this backward() has brought {facts.name} a gradient: this time comes none"
            )
            + f": {facts.clause_of_cuts}",
            *facts.at_cuts,
            IN_TURNS * facts.is_cut_in_turns,
        )
    if is_unused(facts):
        return not_used(facts) if facts.history.is_optimized else None
    return with_cuts(
        facts,
        facts.cause(
            "ok",
            f"the gradient of {facts.name} is of other calls of backward, of which this one came to it last"
            + f": {facts.case.root_name} is not made from it" * (not facts.cuts),
            facts.case.line_of(facts.history.brought) or facts.lines,
        ),
    )


def with_cuts(facts: TensorFacts, cause: Cause) -> Cause:
    """Return a cause for a gradient of another backward, with what cuts its tensor off from the root."""
    if facts.is_leaf_of_graph or not facts.cuts:
        return cause
    (lines, mend), root = facts.at_cuts, facts.case.root_name
    is_one_call = all(cut.reason == "detached" for cut in facts.cuts)  # and not a block, with all that is meant in it
    return facts.cause(
        cause.verdict,
        f"{cause.what}; from {root} comes none: {facts.clause_of_cuts}",
        (*cause.lines, *lines),
        f"none, unless {root} is to train it{f': {mend}' if is_one_call else ', too'}",
    )


# ---------------------------------------------------------------- used by a step, or not
def as_far_as_used(facts: TensorFacts, found: Cause | None = None) -> Cause:
    """Return a gradient as it came, and how many alike were taken away unused, though steps have used others.

    Args:
        facts: of its tensor.
        found: what is known of the gradient, if that is no longer there.
    """
    arrivals, wasted, cause = facts.history.arrivals, facts.history.wasted, found or as_it_came(facts)
    if not wasted or not facts.history.steps or not facts.history.is_optimized:
        return cause
    is_most = wasted * 2 > arrivals or wasted * 2 == arrivals > 2  # such as each first one of two batches for a step
    lost = cause.besides(
        f"{wasted} of the {arrivals} that this backward() has brought went before a step() had used them",
        facts.case.line_of(facts.history.wasted_at),
        ("{0}; or {1}" if is_most else "{1}; else {0}").format(
            AFTER_STEP, "none, if these steps are left out on purpose"
        ),
        "but",
    )
    return lost._replace(verdict="taken away") if is_most else lost


def is_read_alone(facts: TensorFacts) -> bool:
    """Return whether the program has used the gradient of a leaf, and neither it nor an optimizer changed the leaf."""
    history, is_named = facts.history, facts.is_leaf_of_graph and not facts.name.startswith("leaf ")
    return is_named and history.was_used and not history.is_updated and not history.is_optimized


def is_unused(facts: TensorFacts) -> bool:
    """Return whether there is an optimizer, and no step has changed a leaf, though it has a gradient."""
    history = facts.history
    is_written = history.is_updated and not (history.is_optimized and history.idle_steps)  # and not only clamped
    return (
        (history.steps == history.still_steps and not is_written)
        and history.is_optimized is not None
        and facts.case.stop is None
        and facts.row.is_leaf
    )


def is_unknown_to_optimizers(facts: TensorFacts) -> bool:
    """Return whether no optimizer has an unused leaf; a tensor whose gradient the program reads itself needs none."""
    return (
        (not facts.history.was_used or (facts.node is not None and facts.node.module is not None))
        and not facts.history.is_optimized
        and is_unused(facts)
    )


def not_used(facts: TensorFacts) -> Cause | None:
    """Return the cause for a gradient that no step of its optimizer has used; None if that begins with a warm-up."""
    history, case = facts.history, facts.case
    if history.still_steps == 1 or history.stepped_after:  # with the learning rate 0; or in another turn
        return None if history.still_steps else of_other_steps(facts)
    what, mend = first_true(
        (
            history.still_steps,
            (
                "each step() of its optimizer had the learning rate 0, and changed nothing",
                "see what sets the learning rate: lr= of the optimizer, or a scheduler; it is to be above 0",
            ),
        ),
        (
            history.idle_steps,
            (
                f"each step() of its optimizer ran while {facts.name}.grad was empty",
                "call step() after backward(), and before the next zero_grad(), or what else empties .grad",
            ),
        ),
        (
            True,
            (
                "step() of an optimizer that has it was not called",
                (
                    "call step() of that one after backward(), and see that its param_groups still have the parameter;"
                    " if its name is now another's, give each a name of its own"
                ),
            ),
        ),
    )
    return facts.cause(
        "not used",
        f"{facts.name} {'had' if history.grad_cleared else 'has'} a gradient, but {what}",
        (
            *case.line_of(history.stepped),
            *(case.line_of(history.brought) if facts.is_of_other_root else case.line_of_backward),
        ),
        mend,
        "if its group is not to be trained"
        * any(  # the same step() has changed others
            (row.history.steps or 0) > row.history.still_steps and row.history.stepped == history.stepped
            for row in case.rows.values()
            if history.still_steps
        ),
    )


def of_other_steps(facts: TensorFacts) -> Cause:
    """Return the cause for a leaf whose optimizer steps after another backward than the root's, which brings it none.

    What cuts it off from the root explains nothing then, as the detach() that a discriminator's loss has.
    """
    case, name, history = facts.case, facts.name, facts.history
    backward, step = case.line_of(history.stepped_after), case.line_of(history.stepped)
    number = 0 if backward == case.line_of_backward else case.line_in_text(step)  # which may be another model's, too
    return facts.cause(
        "no gradient",
        f"the optimizer of {name} steps after an earlier backward() than that of {case.root_name}, and that has brought"
        f" {name} no gradient",
        (*backward, *step),
        f"call step() after {case.root_name}'s backward(), if that is to train {name}; else "
        * (facts.is_leaf_of_graph and case.has_run)
        + (
            f"gviz why SCRIPT {name} --until {number} tells why, at that backward()" * (number > 0)
            or f"see what that backward() is called on, and whether it is made from {name}"
        ),
    )


def with_misplaced_call(facts: TensorFacts, cause: Cause) -> Cause:
    """Return a cause that is no fault; or that each gradient was used twice, or came after it was to be clipped.

    That a line clips nothing at all is told of another fault, too, since that may be what it was to prevent.
    """
    history, name = facts.history, facts.name
    place = history.stepped_twice or history.unclipped or history.clipped_scaled or history.clips_nothing
    if place is None or (cause.is_wrong and not history.clips_nothing):
        return cause
    verdict, what, mend = first_true(
        (
            history.stepped_twice,
            (
                "stepped twice",
                f"this step() has used a gradient of {name} that another one had used: none had come between them",
                f"call step() once after each backward() that brings {name} one, of the one optimizer that has it",
            ),
        ),
        (
            history.unclipped,
            (
                "not clipped",
                f"this line has found no gradient of {name} that a step() was to use, nor of anything else",
                "clip between backward() and step()",
            ),
        ),
        (
            history.clips_nothing == place,
            (
                "not clipped",
                (
                    "this line clips the gradients of what an iterator gives, such as a generator, and has run when"
                    f" that had come to its end: there was none to clip then, neither that of {name} nor another"
                ),
                "give clip_grad_norm_ a list, as of list(model.parameters()): an iterator gives what it has once",
            ),
        ),
        (
            True,
            (
                "not clipped",
                f"this line clips the gradient of {name} before a GradScaler has divided it by its scale",
                "call unscale_() of the GradScaler before this line, with the optimizer that it steps",
            ),
        ),
    )
    is_bound_scaled = place == history.clipped_scaled and any(
        "get_scale(" in line and "print(" not in line for line in facts.case.text.splitlines()
    )
    meant, lines = "if its bound is multiplied by the scale, too" * is_bound_scaled, facts.case.line_of(place)
    return cause.besides(what, lines, mend) if cause.is_wrong else facts.cause(verdict, what, lines, mend, meant)


def beside_optimizer(facts: TensorFacts) -> Cause | None:
    """Return the cause for a leaf that no optimizer has though one should: a pass makes it anew, or all steps idle."""
    case, name, cause = facts.case, facts.name, not_optimized(facts)
    writers = dict.fromkeys(case.assignments.writers.get((".", name.split(".")[-1]), ()))
    anew = [
        (case.line_of(Place(one.statement.lineno)), better)
        for one in writers
        if getattr(one.function, "name", "") != "__init__" and (better := fixes.as_copy(one.statement))
    ]
    if anew and len(writers) <= 2:  # and not an attribute of another class
        return facts.cause("overwritten", f"{cause.what}; the line makes a new parameter of the old one", *anew[0])
    is_idle = facts.history.idle_steps and not case.is_told_of_optimizer
    lines, mend = missed_by_optimizer(facts)
    is_thawed = ".requires_grad" in case.code_of(lines) and facts.node is not None and facts.node.module
    is_fault = is_idle or (mend and (facts.history.put_in or facts.history.copied or is_thawed))
    return facts.cause("not used", cause.what, cause.lines, mend or given_to_optimizer(facts)) if is_fault else None


def not_optimized(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient of a leaf that no optimizer has."""
    return facts.cause(
        "not trained",
        f"{facts.name} {'had' if facts.history.grad_cleared else 'has'} a gradient, but no optimizer has {facts.name}:"
        " no step() changes it",
        (
            *(
                facts.case.line_of(facts.history.optimizer)
                or (
                    facts.case.line_of(facts.history.brought) if facts.is_of_other_root else facts.case.line_of_backward
                )
            ),
            *missed_by_optimizer(facts)[0],
        ),
        given_to_optimizer(facts),
        "if it is not to be trained",
    )


def given_to_optimizer(facts: TensorFacts) -> str:
    """Return what gives a leaf to an optimizer: the line that makes one, if the leaf is there by then, or words."""
    lines, all_lines = facts.case.line_of(facts.history.optimizer), facts.case.assignments.lines.values()
    plain = {one.statement.lineno for one in all_lines if one.function is None and facts.lines}
    return (
        missed_by_optimizer(facts)[1]
        or (
            fixes.optimizing(facts.case.code_of(lines), facts.in_code, facts.case.graph.code)
            if {facts.case.line_in_text(lines)} & plain
            else ""
        )
        or made_after(facts, facts.name)
    )


def made_after(facts: TensorFacts, what: str) -> str:
    """Return that an optimizer is to be made after something, or given it: a scheduler knows no later group."""
    when = " before its scheduler is made" if "lr_scheduler" in facts.case.graph.code else ""
    return f"make the optimizer after {what}, and with it, or give it to the optimizer's add_param_group(){when}"


def missed_by_optimizer(facts: TensorFacts) -> tuple[Lines, str]:
    """Return the line that makes a leaf where an optimizer cannot have it, and the mend; nothing for another leaf.

    Each call of a model makes it anew; or it is made, or comes to require a gradient, below the optimizer's line; or
    an optimizer has a copy in its place, of which the line is that of step().
    """
    case, optimizer = facts.case, facts.case.line_in_text(facts.case.line_of(facts.history.optimizer))
    functions = {one.statement.lineno: one.function for one in case.assignments.lines.values()}
    put_in, thawed = map(case.line_of, (facts.history.put_in, facts.history.requires_grad_set))
    own = put_in or facts.lines or case.line_of(facts.history.written)  # of PyTorch's parameters the first numbers tell
    is_within = getattr(functions.get(case.line_in_text(own)), "name", "") == "forward"
    if is_within and fixes.assigned_in(case.code_of(own)) and facts.history.arrivals < 2:  # and only written there
        return own, f"make the parameters of {own[0][0]} in __init__(), which runs once, and not in forward()"
    for what, line in (("is put in", put_in), ("comes to require a gradient", thawed), ("is made", facts.lines)):
        within = functions.get(number := case.line_in_text(line), facts)
        is_later = number > optimizer and within is functions.get(optimizer, "")  # else nothing tells which ran first
        if line and (
            is_later
            or line == put_in
            or (line == thawed != facts.lines and ".requires_grad" in case.code_of(line))  # and is not made there
        ):
            return line, made_after(facts, f"{line[0][0]}, where {facts.name} {what}")
    copied = case.line_of(facts.history.copied)
    mend = (
        f"give the optimizer {facts.name} itself, in place of a tensor with the same numbers, of which this step()"
        " finds no gradient; or compute the loss with that one"
    )
    return copied, mend * bool(copied)


def accumulated(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient that was added to what an earlier backward had left."""
    history, name, is_named = facts.history, facts.name, facts.case.expression_in_program(facts.in_code) is not None
    clear = f"{facts.in_code}.grad = None" if is_named else "set its .grad to None"
    clear = f"call zero_grad(), or {clear}," if history.is_optimized else clear
    when = first_true(
        (facts.closure, f"in {facts.closure}(), before each backward()"),
        (history.is_optimized and 0 < (history.steps or 0) < history.arrivals, "after each step()"),
        (
            history.used_sum and facts.case.text.count(".backward(") > 1,
            "before the first backward() for each step()",
        ),
        (history.is_stale and history.is_optimized is None, "after each update"),
        (True, "before each backward()"),
    )
    at, call = facts.case.uncalled("zero_grad")
    before_each = call or f"{clear} {when}"
    what = (
        f"{name}.grad {'was' if history.grad_cleared else 'is'} the sum of more than one backward:"
        " it was not empty when the last one began"
    )
    mend, meant = f"{before_each}; unless the sum is what you want", ""
    if history.is_optimized is False:
        what = f"{what}; no optimizer has {name}, so that no zero_grad() of one clears it"
        is_asked = history.autograd_grad is not None  # which takes none that is frozen
        mend, meant = (
            f"{facts.in_code}.requires_grad_(False), if it is not to be trained; else "
            * (history.requires_grad_set is None and not is_asked)
            + f"{given_to_optimizer(facts)}; or {before_each}",
            "if it is not to be trained, and nothing reads its .grad" * is_asked,
        )
    elif history.is_stale:
        what = (
            f"{what}, though {name} had been updated with it by then"
            f"{'; its last step() has used such a sum' * history.used_sum}"
        )
        mend, meant = before_each, "" if history.was_used or history.used_sum else "if no step() is to use the sum"
    elif history.steps:
        mend, meant = before_each, "if the sum is meant, as of several batches for one step"
    verdict = first_true(
        (history.is_optimized is False and not history.is_updated, "not trained"),
        (history.is_stale and not meant, "not cleared"),
        (True, "accumulated"),
    )
    return facts.cause(
        verdict,
        what,
        (
            *(facts.case.line_of(history.brought) if facts.is_of_other_root else facts.case.line_of_backward),
            *facts.case.line_of(history.stepped if history.used_sum else history.optimizer),
            *facts.case.line_of(history.grad_cleared),
            *at,
        ),
        mend,
        meant,
    )


# ---------------------------------------------------------------- written by the program
def spoiled(case: Diagnosis, name: str, what: str, leaf: TensorRow) -> Cause:
    """Return the cause for nan or inf that the program itself has written into a gradient.

    Args:
        case: the graph.
        name: of the tensor that is asked about.
        what: that it is not finite, as a clause.
        leaf: the one with the gradient.
    """
    lines, of = case.line_of(leaf.history.spoiled), f"{leaf.name}.grad"
    without, is_clipped = case.without(lines, ".grad", "clip_grad"), "clip_grad" in case.code_of(lines)
    return Cause(
        name,
        "nan",
        f"{what}: backward had left finite numbers in {of}, and this line has written nan or inf into it"
        + f"; from there they came into {leaf.name}" * (name != leaf.name),
        lines,
        ("give it a finite bound" if is_clipped else f"write finite numbers into {of}")
        + f"; or {without}" * bool(without),
    )


def spoiled_by_program(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient into which the program has written nan or inf, and zeros since, it may be."""
    state = f"0, which {facts.history.grad_cleared} has written" if facts.is_zero else facts.number
    return spoiled(facts.case, facts.name, f"{facts.name}.grad is {state}", facts.row)


def made_by_clipping(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient that another one has made nan or inf, as all are clipped to one norm."""
    origin = next(
        (
            one.name
            for one in facts.case.rows.values()
            if (one.is_leaf and one is not facts.row and not one.history.spread)
            and one.moment is not None
            and not is_finite(one.moment.grad.value)
        ),
        "",
    )
    return facts.cause(
        "nan",
        (
            f"{facts.name}.grad is {facts.number}"
            if facts.number
            else f"a step() has used nan or inf of {facts.name}.grad"
        )
        + ": backward had left finite numbers in it, and this line has written others,"
        f" since the gradient of {origin or 'another tensor'} was not finite",
        facts.case.line_of(facts.history.spread),
        f"gviz why SCRIPT {origin} tells where that began" if origin else "see which gradient is not finite before it",
    )


def given_by_program(facts: TensorFacts) -> Cause:
    """Return that a gradient is one that the program itself has put there, be it that backward has added to it."""
    history, name = facts.history, facts.name
    return (
        facts.cause(
            "accumulated",
            f"{name}.grad is the sum of what backward has brought and of what {history.grad_set} has given it, or that"
            " alone",
            facts.case.line_of_backward,
        )
        if facts.is_added
        else facts.cause(
            "ok", f"{name} has the gradient that this line has given it", facts.case.line_of(history.grad_set)
        )
    )


# ---------------------------------------------------------------- made by hooks
def hooks_above(facts: TensorFacts) -> Iterator[tuple[str, Hooked]]:
    """Yield what hooks have made of a gradient on its way to a tensor, each with where: nearest to the tensor first."""
    for node in [facts.node, *facts.case.above(facts.node)] if facts.node is not None else []:
        is_named = node is facts.node or (node.name and not node.is_letter)
        name = (facts.name if node is facts.node else node.name or "") if is_named else node.label
        yield from ((name, change) for change in reversed(node.grad.hooks))


def made_by_hook(facts: TensorFacts) -> Cause | None:
    """Return the cause for a gradient that a hook has made zero, or not finite; None for any other."""

    def is_bad(value: Numbers | None) -> bool:
        return has_only(value, 0.0) if facts.is_zero else not is_finite(value)

    changes = [one for one in hooks_above(facts) if is_bad(one[1].made) and not is_bad(one[1].given)]
    if not is_bad(facts.grad) or not changes:
        return None
    (name, change), (verdict, state) = changes[-1], ("zero", "0") if facts.is_zero else ("nan", "not finite")
    return facts.cause(
        verdict,
        f"the gradient of {facts.name} is {state}: a hook on {name} has made it so: {made_text(change)}",
        facts.case.line_of(change.place),
        "take the hook away, or let it return what it is given (None keeps the gradient as it is)",
    )


def as_it_came(facts: TensorFacts) -> Cause:
    """Return that no fault of a gradient is known; and what hooks have made of it on its way."""
    case, hooks = facts.case, list(hooks_above(facts))[::-1]
    if hooks:
        texts = "; ".join(f"at {name} {made_text(change)}" for name, change in hooks)
        lines = tuple(line for _, change in hooks for line in case.line_of(change.place))
        return facts.cause("ok", f"{facts.name} has a gradient, which hooks have changed on its way: {texts}", lines)
    end = first_true(
        (
            case.graph.code and not case.nodes,  # or a later one was never made
            "; the graph that brought it is gone, and there is no other to look at",
        ),
        (case.has_mixed or facts.is_zero or facts.number, ""),  # it may have been written after it was saved
        (True, ", which is finite and not 0"),
    )
    return facts.cause("ok", f"{facts.name} has a gradient{end}", case.line_of_backward)


def made_text(change: Hooked) -> str:
    """Return what a hook was given, and what it made of that."""
    return " → ".join("None" if one is None else _text(one) for one in (change.given, change.made))


def _text(value: Numbers) -> str:
    """Return a number, or few; of a large tensor the norm."""
    number = value.elements[0] if value.elements is not None and value.numel == 1 else ""
    return f"norm {value.summary.norm:.4g}" if isinstance(number, str) else f"{number:.4g}"
