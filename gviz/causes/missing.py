"""Why a gradient is None: its tensor is outside the graph, nothing came to it, or backward did not run."""

from __future__ import annotations

import ast
import re
from collections.abc import Set as AbstractSet

from gviz.causes import fixes
from gviz.causes.assignments import Key, line_numbers
from gviz.causes.cuts import (
    at_cuts,
    clause_of_cuts,
    cut_clause,
    is_left_off,
    is_straight_through,
    makes_next_leaves,
    takes_from_earlier,
)
from gviz.causes.diagnosis import CLASS, Cause, Diagnosis, Lines, first_true
from gviz.causes.facts import TensorFacts
from gviz.causes.syntax import calls_of, has, parse, parts_of_sum, statements, statements_at
from gviz.causes.training import IN_TURNS, made_text
from gviz.graphs import AT_BACKWARD, LEFT_OUT, MADE_LATER, NO_HISTORY, RETURNED, GraphCut, Moment, TensorRow, Unlisted
from gviz.passes.part import SAME_NUMBERS
from gviz.text import joined
from gviz.trace.switches import LIBRARY

GRADIENT = re.compile(r"([\w.\[\]'\"]+)(?<!autograd)\.grad\b(?!\s*\()")
"""A use of ``.grad``, and not of ``torch.autograd.grad``: of which tensor."""

SEVERAL = "has more than one element, and needs a gradient to start with"
"""What is said of a root that backward() is called on without a gradient."""

RETURNS = "torch.autograd.grad returns the gradients, and leaves .grad as it is"
"""What is said of a call that brings no leaf its gradient."""


# ---------------------------------------------------------------- the name
def took_name(facts: TensorFacts) -> bool:
    """Return whether a tensor took over the name of a leaf: one in the graph, or one that its own line names.

    It has, if it is a leaf that was made after backward; if another leaf of its shape had the name at backward, and it
    is made of that; or if its line computes it from ``.grad`` of what the line gives the name to. A result with a graph
    has not where each pass makes its leaf anew, so that an earlier backward has run, and did not come to it.
    """
    row, code, older, rows = facts.row, facts.code, f"{facts.name}{AT_BACKWARD}", facts.case.rows
    is_first = not any(rows[one].history.arrivals > 1 for one in row.leaves if one in rows)  # backward on its leaves
    if facts.grad is not None or facts.is_leaf_of_graph or (row.grad_fn and is_first and facts.case.graph.earlier_runs):
        return False
    is_later = row.is_leaf and row.requires_grad and row.moment is not None and row.moment.remark == MADE_LATER
    names, sources = fixes.assigned_in(code), {*row.leaves, *(row.broken.leaves if row.broken is not None else ())}
    own = [one for one in names if fixes.may_be(one, row.name) or row.name.startswith(f"{one}[")]
    is_reused = any(len(re.findall(rf"(?<![\w.]){re.escape(one)}(?!\w)", code)) > 1 for one in own)
    is_newer = (
        facts.node is None
        and older in rows
        and rows[older].required_grad  # and no data
        and rows[older].shape == row.shape  # and no list of all its steps
        and (own or not names)
        and (is_reused or not sources.isdisjoint((row.name, older)))
    )
    around = statements_at(facts.case.graph.code, facts.case.line_in_text(facts.lines))
    others = {name for one in around if isinstance(one, ast.For) for name in fixes.targets_of(one)}  # a sum of them
    is_own = (row.leaves or row.broken is not None) and any(
        (row.leaves and is_reused and one not in others)
        or fixes.may_be(one, row.name)
        or row.name.startswith(f"{one}[")
        for one in GRADIENT.findall(code)
    )
    return is_later or is_newer or bool(is_own)


def is_lost(facts: TensorFacts) -> bool:
    """Return whether a line gives a new tensor to the variable of a loop, and nothing reads it before its next run."""
    flows, key, at = facts.case.assignments, (None, facts.name), facts.case.line_in_text(facts.lines)
    writers = flows.writers.get(key, [])
    return any(isinstance(one.statement, ast.For) for one in writers) and any(
        one.statement.lineno == at
        and not any(
            reader.statement.lineno > at and not flows.is_overwritten(key, one, reader)
            for reader in flows.readers.get(key, ())
        )
        for one in writers
    )


def has_replaced(facts: TensorFacts) -> bool:
    """Return whether a module has got a leaf that no optimizer has, as large as one in the graph without a name now.

    Nor has one that: what optimizers have trained is replaced after that, as by what is to be kept.
    """
    return facts.history.put_in is not None and any(
        (one.kind == "leaf" and (one.name or "leaf ").startswith("leaf ") and one.shape == facts.row.shape)
        and one.name not in facts.case.optimized
        for one in facts.case.shown.nodes
    )


def overwritten(facts: TensorFacts) -> Cause:
    """Return the cause for a name that stands for another tensor than the leaf that has the gradient."""
    case, name, is_leaf = facts.case, facts.name, facts.row.is_leaf
    call = "backward" if ".backward(" in case.text or not case.text else "autograd.grad"
    what = f"{name} is another leaf than {call} knew"
    lines = case.line_of(facts.history.put_in)
    if has_replaced(facts) and fixes.assigned_in(case.code_of(lines)):  # and not by what takes a constraint away
        return facts.cause(
            "overwritten",
            f"{what}: that one, of its sizes, has no name any more, and no optimizer has the new one",
            lines,
            f"with torch.no_grad(): {facts.in_code}.copy_(...), which writes into the parameter that is there",
        )
    older = case.rows.get(f"{name}{AT_BACKWARD}", facts.row._replace(history=NO_HISTORY))
    if cuts := cuts_of_older(facts) if not older.history.arrivals else []:
        lines, mend = at_cuts(case, cuts)
        what = f"{what}, and no gradient came to that one, either: {clause_of_cuts(case, cuts, 'what is made from it')}"
        return facts.cause(cuts[0].reason, what, (*lines, *facts.lines), mend)
    if facts.row.requires_grad and is_leaf:
        return facts.cause("new leaf", f"{what}, and its gradient comes with the next {call}", facts.lines)
    is_alias = any(
        isinstance(getattr(one.statement, "value", None), ast.Name)
        for one in case.assignments.writers.get((None, name), ())
    )  # of data, which stay
    in_place = "" if is_alias else fixes.as_write_in_place(facts.code, name)
    is_again = any(  # in the next run of a loop
        isinstance(one, ast.For | ast.While) for one in statements_at(case.graph.code, case.line_in_text(facts.lines))
    )
    is_summed = is_again and not re.search(r"zero_grad|\.grad\.(zero_|fill_|data)|\.grad = ", case.text)
    write = (
        f"{'with torch.no_grad(): ' * (facts.reason != 'no_grad')}{in_place or f'write into {name} in place'}"
        f"{'; and set its .grad to None after it, as backward() adds to it' * is_summed}"
    )
    message = case.stop.message if case.stop is not None else ""
    is_asked = "does not require grad" in message or (
        "NoneType" in message and GRADIENT.search(case.code_of(case.line_of_stop))
    )
    is_moved = (  # once, along its gradient: an input of layers
        not is_again
        and (moved := case.named.get(older.name)) is not None
        and moved.module is None
        and any(one.kind == "leaf" and one.module is not None for one in case.shown.nodes)
    )
    is_used = (is_leaf or is_moved) and not (is_asked or is_lost(facts))  # the gradient of the leaf, when this was made
    return facts.cause(
        "new leaf" if is_used and is_leaf else "overwritten",
        f"{name} is no longer the leaf: the line gives the name to a new tensor, whose .grad is None",
        facts.lines,
        (not in_place and fixes.as_leaf(facts.code, name)) or write,
        f"if {name} is to get no further gradient" * is_used,
    )


def cuts_of_older(facts: TensorFacts) -> list[GraphCut]:
    """Return what cuts off the leaf that had a name before, if the graph has the result of that and not the leaf."""
    case, is_renamed = facts.case, facts.node is None and facts.row.is_leaf
    cuts = (
        cut
        for cut in case.graph.breaks
        if (is_renamed and cut.is_used and cut.call != "grad")
        and not (case.line_of(cut.place) == facts.lines or makes_next_leaves(case, cut))
        and not any(has(one, fixes.is_gradient) for one in case.statements_of(cut))  # it had one, then
    )
    parts = ((cut, ast.unparse(one)) for cut in cuts for one in ast.walk(case.expression_of(cut) or ast.Pass()))
    return [
        cut
        for cut, one in parts
        if (one == facts.name or ("[" not in one and fixes.may_be(one, facts.name)))
        and not any(fixes.may_be(one, leaf) for leaf in cut.leaves)  # of another object, as of what this is a copy of
    ]


def given_to_other_name(facts: TensorFacts) -> Cause | None:
    """Return the cause for a leaf that the program wanted to write, and has not: it gave a name to a new tensor.

    So does ``p = p - lr * p.grad`` in a loop over parameters.
    """
    own, rows = facts.name.removesuffix(AT_BACKWARD), facts.case.rows.values()
    others = [
        one
        for one in (TensorFacts(facts.case, row) for row in rows)
        if took_name(one) and (one.name == own or is_lost(one))
    ]
    cause = overwritten(min(others, key=lambda one: one.name != own)) if others else None
    return cause and cause._replace(
        name=facts.name,
        what=f"the program has used the gradient of {facts.name}, and {facts.name} is as it was:"
        f" the line gives the name {cause.name} to a new tensor",
    )


def leaf_within(facts: TensorFacts) -> str:
    """Return the line that would make a leaf of a tensor, if the leaf is only a part of its line now.

    "" for any other.
    """
    has_own = (
        facts.row.grad_fn is None or facts.row.retains_grad or (facts.name == facts.case.root and not is_refused(facts))
    )
    return "" if has_own else fixes.retaining_leaf(facts.code, facts.name)


def is_refused(facts: TensorFacts) -> bool:
    """Return whether an optimizer has refused a tensor, since it is no leaf."""
    stop, names = facts.case.stop, re.findall(r"[A-Za-z_]\w*", facts.name)
    return (
        stop is not None
        and "non-leaf Tensor" in stop.message
        and not {*re.findall(r"\w+", stop.code)}.isdisjoint(names)
    )


def not_retained(facts: TensorFacts) -> Cause:
    """Return the cause for a tensor that an operation made: only leaves keep their gradients."""
    what = f"{facts.name} is not a leaf: {facts.row.grad_fn} made it"
    case, call = facts.case, f"{facts.in_code}.retain_grad() before backward()"
    if better := leaf_within(facts):
        cuts = [  # of the numbers that its line makes the leaf of
            cut
            for cut in case.graph.breaks
            if case.line_in_text(facts.lines) in (one.statement.lineno for one in case.way_of(cut))
        ]
        return facts.cause(
            "false cure" if cuts else "not a leaf: the leaf has no name",
            f"{what} from the tensor that requires a gradient, and that has no name"
            + (f", nor a graph: {clause_of_cuts(case, cuts, 'it')}" if cuts else ""),
            *(at_cuts(case, cuts) if cuts else (facts.lines, better)),
        )
    mend = first_true(
        (case.is_expression, f"--retain {facts.name}"),
        (is_refused(facts), f"give the optimizer what {facts.name} is made from: {joined(facts.row.leaves, 3)}"),
        (facts.node is None and case.nodes, f"{call} on what is made from it: {case.root_name} is not"),
        (True, call),
    )
    return facts.cause("not a leaf", f"{what}, and only leaves keep their gradient", facts.lines, mend)


def keeps_graphs(facts: TensorFacts) -> Cause:
    """Return the cause for a parameter that passes write while operations are recorded, as a moving average."""
    return facts.cause(
        "graph kept",
        f"the line writes {facts.name} while operations are recorded: its graph grows with each pass, and"
        f" {facts.case.root_name} does not use it",
        facts.lines,
        f"with torch.no_grad(): {'; '.join(map(ast.unparse, statements(facts.code)))}",
    )


# ---------------------------------------------------------------- outside the graph
def outside(facts: TensorFacts, head: str = "") -> Cause | None:
    """Return the cause for a tensor that something has cut off from the graph; None if nothing has.

    Args:
        facts: of the tensor.
        head: what that means, as the sentence begins; "" for that it is outside the graph.
    """
    cut, case = facts.own_cut, facts.case
    if cut is None:
        return None
    it = "it" if facts.row.broken is not None else "what its numbers come from"
    clause = cut_clause(case, cut, it, f" from {cut.source}" if cut.source else "")
    head, (lines, mend) = (
        head or f"{facts.name} is outside the graph: ",
        at_cuts(case, [cut._replace(leaves=(facts.name,)) if cut.reason == "frozen" else cut]),
    )
    if cut.reason == "frozen" and "the lines" in mend:  # which freeze others, too
        mend = f"{mend}; or, for {facts.name} alone, {facts.in_code}.requires_grad_() before it is used again"
    if cut.reason == "frozen" and facts.is_written_by_program and (case.stop is None or not facts.history.is_optimized):
        twin = case.twins.get(facts.name, "")
        how = f"; {twin} is the same tensor" if twin else ", as a moving average or a copy of others"
        apart = f"let {twin} be a tensor of its own, as copy.deepcopy() makes one, if they are to be two; else "
        return facts.cause(
            cut.reason,
            f"{head}{clause}, and the program writes it itself{how}",
            lines,
            f"none, unless {facts.name} is to be trained: {apart * bool(twin)}{mend}",
        )
    return facts.cause(cut.reason, f"{head}{clause}", lines, mend)


def never_required(facts: TensorFacts) -> Cause:
    """Return the cause for a tensor that never required a gradient."""
    row, name = facts.row, facts.name
    if "float" not in row.dtype and "complex" not in row.dtype:
        return facts.cause(
            "integer",
            f"{name} has the dtype {row.dtype}: only floating-point tensors have gradients",
            facts.lines,
            f"write floating-point numbers, or {facts.in_code}.float()",
        )
    what = f"{name} does not require a gradient"
    if row.unlisted is not None and not any(  # what each pass makes anew is to be no parameter
        getattr(one, "name", "") == "forward"
        for one in statements_at(facts.case.graph.code, facts.case.line_in_text(facts.lines))
    ):
        return facts.cause("frozen", f"{what}: {no_parameter(row.unlisted)}", *made_parameter(facts, row.unlisted))
    better = f"leave {name} out of --frozen" if facts.case.is_expression else fixes.requiring(facts.code, name)
    leaf, is_result = f"{facts.in_code}.requires_grad_()", is_computed(facts, facts.case.rows.keys())
    either = f"compute it of what requires a gradient; or {leaf}, if it is to be a leaf" if is_result else leaf
    return facts.cause("frozen", what, facts.lines, better or either)


def is_computed(facts: TensorFacts, names: AbstractSet[str]) -> bool:
    """Return whether the line that makes a tensor computes it of others, of these names, and does not give it numbers."""
    value = facts.code.partition("=")[2]
    return any(one in value and re.search(rf"(?<![\w.]){re.escape(one)}(?!\w)", value) for one in names)


def no_parameter(part: Unlisted) -> str:
    """Return what a module holds in place of a parameter, as a clause.

    >>> no_parameter(Unlisted("net", "layers", "ModuleList"))
    'net.layers is a plain list, and net.parameters() does not list what is in it'
    """
    kind, it = first_true(
        (part.wrapper.endswith("List"), ("plain list", "what is in it")),
        (part.wrapper.endswith("Dict"), ("plain dict", "what is in it")),
        (True, ("buffer" if part.is_buffer else "plain tensor", "it")),
    )
    return f"{part.module}.{part.attribute} is a {kind}, and {part.module}.parameters() does not list {it}"


def made_parameter(facts: TensorFacts, unlisted: Unlisted) -> tuple[Lines, str]:
    """Return the line that gives a module what is no parameter of it, and how the line would make it one."""
    case = facts.case
    lines = case.line_of(unlisted.place or facts.row.place)
    wrapper = f"{'nn' if 'nn' in case.names_in_program else 'torch.nn'}.{unlisted.wrapper}"
    is_by_number = wrapper.endswith("Dict") and re.search(rf"\b{unlisted.attribute}\[\d", facts.name)
    mend = (
        f"none, if it is to be a buffer; else {unlisted.module}.{unlisted.attribute} = {wrapper}(...) in its place"
        if unlisted.is_buffer and unlisted.place is None
        else fixes.as_parameter(case.code_of(lines), unlisted.attribute, wrapper)
        or f"put what {unlisted.module}.{unlisted.attribute} holds into {wrapper}"
    )
    return lines, mend + f"; its keys are strings: {unlisted.attribute}[str(...)] where it is used" * bool(is_by_number)


def not_listed(facts: TensorFacts) -> Cause | None:
    """Return the cause for a gradient of a tensor that no ``parameters()`` lists, and that nothing uses; else None."""
    unlisted, moment, history = facts.row.unlisted, facts.row.moment, facts.history
    return (
        facts.cause(
            "no parameter",
            f"{facts.name} has a gradient, but {no_parameter(unlisted)}: an optimizer of these leaves it as it is",
            *made_parameter(facts, unlisted),
        )
        if unlisted is not None
        and (moment is None or moment.numbers in (None, facts.row.numbers))
        and not (history.is_optimized or history.was_used)
        else None
    )


def false_cure(facts: TensorFacts) -> Cause | None:
    """Return the cause of a leaf for a root that was made a leaf, too: backward ends where it begins.

    The leaf may be such a root itself, of a backward before the last one.
    """
    case, lines, mend = facts.case, Lines(), ""
    is_own = facts.reason and fixes.named_in(case.code_of(case.line_of(facts.history.brought))) == facts.name
    root = facts.row if is_own else facts.leaf_root
    if root is None or not (
        root is facts.row
        or (  # steps that have used what another root's backward has brought need nothing of this one
            root.broken is not None
            and not (facts.is_of_other_call and (facts.history.steps or facts.history.is_updated))
        )
    ):
        return None
    what = f"requires_grad makes a leaf of {root.name}, and brings no graph back"
    if facts.row is not root and facts.cuts:
        if module_beside(facts):
            return None
        what = f"{what}: {clause_of_cuts(case, facts.cuts, f'what is made from {facts.name}')}"
        lines, mend = facts.at_cuts
    elif root.broken is None:
        lines, set_at = case.line_of(root.place), case.line_of(root.history.requires_grad_set)
        code, others = f"({case.code_of(lines)})", case.rows.keys() - {root.name}
        is_set = set_at or "requires_grad_(" in code
        if not (is_set and any(re.search(rf"[^\w.]{re.escape(one)}\W", code) for one in others)):
            is_in_turn = any(row.history.is_same_call and row.history.steps for row in case.rows.values())
            what = f"{root.name} is a leaf itself: backward ends where it begins"
            return facts.cause(
                "leaf root",
                what,
                lines,
                "",
                "if this pass is to bring none, as of a batch without targets" * is_in_turn,
            )
        what = f"{what}: nothing that it is made from required a gradient then"
        mend = (
            f"{case.without(set_at, 'requires_grad') or 'leave requires_grad_() out'}; and let what {root.name} is made"
            " from require a gradient before it is used"
        )
    elif facts.row is not root and case.graph.breaks and not case.is_expression:
        return None  # nothing tells that the root was made from it
    elif (cause := outside(TensorFacts(case, root), f"{what}: ")) is not None:
        what, lines, mend = cause.what, cause.lines, cause.mend
    return facts.cause("false cure", what, (*lines, *case.line_of(root.history.requires_grad_set)), mend)


# ---------------------------------------------------------------- no path from the root
def is_taken_away(facts: TensorFacts) -> bool:
    """Return whether the gradient of another backward was taken away, and no cut explains more.

    None does where that backward is the one that its optimizer steps after: it was not to come from the root.
    """
    history = facts.history
    is_explained = history.is_same_call or (history.steps and history.idle_steps)
    is_cut = facts.cuts and (is_explained or not (facts.is_used or history.is_own_turn))
    return bool(facts.case.has_run and history.grad_cleared and not is_cut)


def cleared_in_saved_graph(facts: TensorFacts) -> Cause | None:
    """Return the cause for a leaf of a saved graph, which has no places, whose gradient was taken away."""
    later = facts.node.later if facts.node is not None else None
    if later is None or not later.is_cleared:
        return None
    return facts.cause(
        "cleared",
        f"{facts.name} had its gradient until it was taken away; whether a step() had used it by then is not known",
        facts.case.line_of(later.cleared_at),
        "call zero_grad() before backward(), so that step() has a gradient to use",
        "if a step() had used it",
    )


def stepped_later(facts: TensorFacts) -> Cause:
    """Return the cause for a leaf whose optimizer was made when the last backward had run, as for a second phase."""
    return facts.cause(
        "backward not run",
        f"no backward() has run since the optimizer of {facts.name} was made, and no step() has found a gradient of it",
        (*facts.case.line_of(facts.history.stepped), *facts.lines),
        f"call backward() on what is made from {facts.name}, before step()",
    )


def beside_functions(facts: TensorFacts) -> Cause:
    """Return the cause for a leaf of a program that asks autograd itself, or torch.func, for the gradients."""
    asked_at, name = facts.case.line_of(facts.history.grad_of_others), facts.name
    return facts.cause(
        "not trained",
        f"nothing calls backward(): gradients come from {asked_at[0][0]}, "
        + (  # of torch.func, which computes with tensors of its own, nobody knows
            f"for other tensors than {name}"
            if "autograd.grad(" in facts.case.code_of(asked_at)
            else "which sets no .grad"
        ),
        asked_at,
        f"none, unless backward() is to train {name}",
    )


def not_trained(facts: TensorFacts, what: str, lines: Lines, mend: str, module: str = "") -> Cause:
    """Return the cause for a leaf that the root is not to train: an optimizer does not, or the program writes it.

    Args:
        facts: of the leaf.
        what: that no gradient comes to it, with the cause.
        lines: of that.
        mend: what to write if it is to be trained.
        module: that is beside the root as a whole; "" for none.
    """
    beside = first_true(
        (module, f"so it is with all of {module}, as of a teacher or a target: {facts.case.root_name} trains others"),
        (facts.history.is_updated, "the program writes it itself, as a moving average or a copy of other weights"),
        (True, f"no optimizer that steps has {facts.name}"),
    )
    mend = f"none, unless {module or facts.name} is to be trained: {mend}"
    return facts.cause("not trained", f"{what}; {beside}", lines, mend)


def cut_off(facts: TensorFacts) -> Cause:
    """Return the cause for a leaf that cuts have taken off the root."""
    case, name, root = facts.case, facts.name, facts.case.root_name
    (lines, mend), what = facts.at_cuts, f"no gradient comes from {root} to {name}: {facts.clause_of_cuts}"
    unlisted, history, has_backward = facts.row.unlisted, facts.history, case.has_run or case.is_beside_run
    if module := module_beside(facts) if has_backward else "":
        return not_trained(facts, what, lines, mend, module)
    is_fault = unlisted or history.put_in or history.copied or case.has_idle_optimizer or not case.has_run
    is_kept = history.is_optimized is False or (facts.is_written_by_program and history.is_optimized)
    if is_kept and history.autograd_grad is None and not is_fault:
        return not_trained(facts, what, lines, mend)
    used = {*map(ast.unparse, fixes.roots_in(parse(case.graph.code)))} | {cut.source for cut in facts.cuts}
    lost = [one for one in results_beside(facts, {*case.root_row.leaves} if case.root_row else set()) if not one.shape]
    is_of_others = all(cut.call == "detach" for cut in facts.cuts)  # which is meant, then
    if lost and history.is_optimized and is_of_others and lost[0].name not in used:
        what = f"{what}; {lost[0].name}, which is made from it, is not used by {root}"
        mend = f"use {lost[0].name} where {root} is computed, if that is to train {name}; else {mend}"
        lines = (*lines, *case.line_of(lost[0].place))
    if history.is_optimized and case.has_idle_optimizer:
        what = f"{what}; the optimizer has {name}, and nothing that {root} is made from"
        mend = f"{mend}; or, if {name} is not to be trained, give the optimizer what {root} is to train"
    elif facts.cuts[0].reason == "no_grad" and not history.is_optimized:
        mend = f"{mend}; or, if it is not to be trained, call {facts.in_code}.requires_grad_(False)"
    if unlisted is not None and facts.row.requires_grad:
        own, more = made_parameter(facts, unlisted)
        what, lines, mend = f"{what}; besides, {no_parameter(unlisted)}", (*lines, *own), f"{mend}; and {more}"
    is_trained = case.has_run or case.stop or case.is_expression or facts.history.is_optimized is not None
    return facts.cause(
        facts.cuts[0].reason,
        what,
        lines,
        mend,
        f"if torch.autograd.grad alone is to use {name}"
        if facts.history.autograd_grad is not None and facts.history.is_optimized is False
        else IN_TURNS
        if facts.is_cut_in_turns
        else "if nothing is to be trained"  # as where a model predicts
        * (
            not is_trained
            and ".backward(" not in case.text
            and all("no_grad" in one.switch or "inference" in one.switch for one in facts.cuts)
        ),
    )


def module_beside(facts: TensorFacts) -> str:
    """Return the module of a leaf if all of it stands beside the graph, and nothing of the graph is behind the cuts.

    It may be in a module, or in an object, of which the graph has others, if an optimizer has those alone.
    "" for a leaf that is in no module, for one of a module that the root trains a part of, and where what was cut off
    is made from a leaf of the graph as well: such a cut is hardly meant, nor one by a library, as in
    ``Normal.sample()``. "" too for a leaf that an optimizer has, which never got a gradient, unless the program writes
    it itself, as a moving average; and, where no optimizer tells what is trained, if what is cut off goes on into the
    graph, as of an encoder.
    """
    is_optimized = facts.history.is_optimized
    is_apart = is_optimized is False or facts.is_written_by_program
    leaves = [
        node.name or ""
        for node in facts.case.shown.nodes
        if node.kind == "leaf"  # a root that is one trains nothing; a teacher has no part in an optimizer
        and (node.id not in facts.case.shown.roots or is_apart)
    ]
    parts, behind = facts.name.split("."), {name for cut in facts.cuts for name in cut.leaves}
    most = len(parts) if is_apart else min(2, len(parts))  # self.target, of an agent
    modules = [".".join(parts[:count]) for count in range(1, most)]
    module = next((one for one in modules if not any(name.startswith(f"{one}.") for name in leaves)), "")
    new_leaf = r"requires_grad=True|Parameter\(" + r"|requires_grad_\(" * (is_optimized is None)
    is_meant = all(
        (
            is_apart
            or any(
                one.reason in ("detached", "no_grad") and facts.name in one.leaves
                for one in (cut, *(facts.case.graph.breaks if cut.reason == "no derivative" else ()))
            )
        )
        and (cut.is_used or not cut.is_number)
        and not (is_optimized is None and cut.reason == "detached" and cut.is_input)
        and not re.search(new_leaf, facts.case.code_of(facts.case.line_of(cut.place)))
        for cut in facts.cuts  # a new leaf is to mend it; an index may be one of what was cut off on purpose
    )
    is_free = is_apart or (not is_optimized and all(cut.switch != LIBRARY for cut in facts.cuts))
    return module if leaves and behind.isdisjoint(leaves) and is_meant and is_free else ""


def no_path(facts: TensorFacts) -> Cause:
    """Return the cause for a leaf that the root is not made from: what is made of it instead, if that is known.

    It is no fault where no optimizer has the leaf, as of a model that was kept to predict with.
    """
    case, name, history, root = facts.case, facts.name, facts.history, facts.case.root_name
    what, lines, mend = beside_root(facts, {*case.root_row.leaves} if case.root_row is not None else set(), root)
    other = case.rows.get(f"{name}{AT_BACKWARD}")
    if other is not None and case.is_reached(other) and history.is_optimized and not other.history.is_optimized:
        what, lines, mend = (
            f"{root} is made from another {name}, such as that of a copy, which no optimizer has",
            facts.lines,
            f"compute {root} from this one, or give the optimizer the other",
        )
    elif history.is_optimized and case.has_idle_optimizer:
        mend = f"{mend}; or give the optimizer, which has nothing that {root} is made from, what {root} is to train"
    is_to_be = not facts.is_written_by_program if history.is_optimized else history.is_optimized is None
    if is_to_be and (history.is_optimized or not history.is_updated):
        return facts.cause("no path", what, lines, mend)
    return not_trained(facts, what, lines, mend)


def beside_root(facts: TensorFacts, leaves: AbstractSet[str], root: str) -> tuple[str, Lines, str]:
    """Return that a root is not made from a leaf, with what it is not made through, the lines of that, and the mend.

    Args:
        facts: of the leaf.
        leaves: of the root.
        root: its name.
    """
    case, name = facts.case, facts.name
    what, mend = f"{root} is not made from {name}", f"use {name} where {root} is computed"
    if facts.cuts:
        return f"{what}: {facts.clause_of_cuts}", *facts.at_cuts
    cut = facts.last_cut
    is_of_numbers = cut is not None and cut.is_number and case.root_row is not None and case.root_row.is_leaf
    if not is_of_numbers and (last := next(iter(results_beside(facts, leaves)), None)):
        what = f"{what}: {last.name} is, and {root} does not use it"
        return what, case.line_of(last.place), f"use {last.name} where {root} is computed, or in a loss of its own"
    if cut and not facts.history.brought:  # what another backward goes through needs none of it
        lines, mend = at_cuts(case, [cut._replace(others=())])
        way = f", on its way to {cut.others[0]}" if cut.others else ""
        used = "" if cut.others else f"; and use it where {root} is computed, if that does not"
        return f"{what}: {cut_clause(case, cut, 'what comes of it')}{way}", lines, f"{mend}{used}"
    since = case.line_of(facts.history.requires_grad_set)
    if since not in ((), facts.lines):
        what = f"{what}, or was before {name} required a gradient"
        mend = f"call {facts.in_code}.requires_grad_() before it is used; or {mend}"
    return f"{what}: there is no path between them", since or facts.lines, mend


def results_beside(facts: TensorFacts, leaves: AbstractSet[str]) -> list[TensorRow]:
    """Return the results that are made from a leaf, and not from all leaves of a root: the last one first."""
    rows = [row for row in reversed(facts.case.rows.values()) if facts.name in row.leaves]
    return [row for row in rows if not (leaves and leaves <= {*row.leaves})]


def bias_beside_derivatives(facts: TensorFacts) -> Cause | None:
    """Return the cause for a bias that has no part in a root of derivatives, as the weight beside it has; else None.

    The root has the weight of derivatives alone: an operation of the forward pass would have had the bias, too.
    """
    case, name, root = facts.case, facts.name, facts.case.root_name
    weight = case.rows.get(re.sub(r"\bbias$", "weight", name))
    is_second = any(row.history.autograd_grad is not None for row in case.rows.values()) or any(
        "BackwardBackward" in node.label for node in case.shown.nodes
    )
    is_of_result = any(
        node.module is not None and f"{node.module.path}.bias" == name and not SAME_NUMBERS.fullmatch(node.label)
        for node in case.shown.nodes
        if node.kind == "operation"
    )
    if weight is None or is_of_result or not is_second or not case.is_reached(weight):
        return None
    return facts.cause(
        "no path",
        f"{root} is not made from {name}, but from {weight.name} and derivatives, in which what is added has no part",
        facts.lines,
        f"use {name} where {root} is computed",
        f"if {root} is made of derivatives alone",
    )


def with_later_losses(facts: TensorFacts, cause: Cause) -> Cause:
    """Return a cause that is no fault with what cuts off a penalty on gradients, or a later loss; others may be meant.

    The penalty is added to a loss and has no graph; the loss was made while a switch that was left off was in force.
    """
    case = facts.case
    if cause.is_wrong or not facts.is_leaf_of_graph:
        return cause
    is_through = any(is_straight_through(case, cut) for cut in case.graph.breaks)  # so that the choice is meant, too
    cuts = (
        cut
        for cut in case.graph.breaks
        if facts.name in cut.leaves
        and (cut.is_summand or cut.added_to)
        and not (is_through and (cut.reason == "no derivative" or is_straight_through(case, cut)))
    )
    ranks = {"no_grad": 1, "no derivative": 2}  # a block may be meant more, and a choice most
    if cut := min(cuts, key=lambda one: ranks.get(one.reason, 0), default=None):
        lines, mend = at_cuts(case, [cut._replace(others=(), is_freed=False)])
        if cut.call != "grad" and cut.reason != "no derivative":  # it is written that it has no graph
            mend = f"none{'' if takes_from_earlier(case, cut) else f', if it is to be one; else {mend}'}"
        return cause.besides(
            f"a part of {case.root_name if cut.is_summand else cut.added_to[0]} is a constant for it:"
            f" {cut_clause(case, cut, 'that part')}",
            lines,
            mend,
        )
    later = case.rows.get(fixes.named_in(case.stop.code if case.stop is not None else "") or case.root)
    off = later.broken if later is not None and not later.requires_grad else None
    return (
        cause.besides(f"a later {later.name} has no graph: {cut_clause(case, off, 'it')}", *at_cuts(case, [off]))
        if later is not None and off is not None and is_left_off(case, off)
        else cause
    )


def with_way_cut_off(facts: TensorFacts, cause: Cause) -> Cause:
    """Return a cause for a gradient that came, with what lets none through, such as a detach(), on another way to the root.

    It may be meant, and nothing tells whether it is; what shifts an exponent, lets a choice through, or keeps a pass
    from the graph of an earlier one, always is, and says nothing of the others.
    """
    cuts = [
        cut
        for cut in (facts.cuts if facts.is_leaf_of_graph else ())
        if cut.reason in ("detached", "no_grad")
        and (cut.is_used or comes_surely(facts.case, cut))
        and not (
            is_straight_through(facts.case, cut)
            or re.search(  # an extreme, by which a formula is shifted and comes to the same
                r"\.(a?max|a?min|logsumexp)\([^()]*\)(\[0\]|\.values)?\.detach\(",
                facts.case.code_of(facts.case.line_of(cut.place)),
            )
            or takes_from_earlier(facts.case, cut)
        )
    ]
    if cause.verdict not in ("ok", "cleared") or cause.mend or not cuts:
        return cause
    lines, mend = at_cuts(facts.case, cuts)
    return cause.besides(
        f"none comes: {clause_of_cuts(facts.case, cuts, 'what is made from it')}",
        lines,
        f"none, unless {facts.name} is to be trained on that way, too: {mend}",
        "on another way, which may be meant,",
    )


def comes_surely(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether numbers come to the line that makes the root, by variables that no other line gives a value.

    The root is the line's target there, or, as the run tells, was made in it: in a function, of a sum or a product with
    the numbers. And by results of functions that have one way out, and are called once; not out of a loop, of which one
    run is last.
    """
    way, flows = case.way_of(cut) if cut.is_number else [], case.assignments
    lines = [flows.lines[one.statement] for one in way]
    keys: list[Key] = [
        ("()", name) if one.is_result else flows.key(ast.Name(name), line.function)
        for one, line in zip(way, lines, strict=True)
        for name in one.names
    ]
    return (
        any(
            case.root in fixes.targets_of(one.statement)
            or (
                case.root_row is not None
                and case.line_in_text(case.line_of(case.root_row.place)) in line_numbers(one.statement)
                and any(
                    part is case.expression_of(cut) or one.is_taking(part)
                    for part in parts_of_sum(getattr(one.statement, "value", None))
                )
            )
            for one in way[-1:]
        )
        and all(flows.depth_of_loop(one, one) in (0, flows.depth_of_loop(one, lines[-1])) for one in lines)
        and all(len(flows.writers.get(key, ())) == 1 for key in keys)
        and all(len({*flows.readers.get(key, ())}) == 1 for key in keys if key[0] == "()")
    )


# ---------------------------------------------------------------- backward
def of_other_root(facts: TensorFacts) -> Cause:
    """Return the cause for a leaf of the root that is asked for, if its gradient is of another root than that."""
    moment, case, root = facts.row.moment or Moment(), facts.case, facts.case.root_name
    lines, call = case.line_of(moment.grad_at or facts.history.brought), case.call_of_backward
    own = call.removesuffix(".backward()")
    mend = first_true(
        (
            moment.is_of_whole,
            (
                f"torch.autograd.grad({own}, {facts.in_code}, retain_graph=True) before"
                f" {lines[0][0] if lines else 'it'}, which gives the gradient of {own} alone"
            ),
        ),
        (
            case.is_freed,
            (
                f"one backward() on the sum of {moment.grad_of or 'the other root'} and {own}; or the first with"
                f" retain_graph=True, and then {call}"
            ),
        ),
        (True, call + f", which adds to what {facts.in_code}.grad has" * (facts.grad is not None)),
    )
    return facts.cause(
        "backward not run",
        f"backward has not run on {root}: the gradient that {facts.name} has had is of "
        + (moment.grad_of or "another backward"),
        lines or facts.lines,
        mend,
        f"if it is enough that {root} has a part in it" * moment.is_of_whole,
    )


def beside_asked(facts: TensorFacts) -> Cause:
    """Return the cause for a leaf that the root is not made from, which may be meant: another one trains it."""
    cause = cut_off(facts) if facts.cuts else bias_beside_derivatives(facts) or no_path(facts)
    return (
        cause._replace(mend=f"none, if another root is to train it; else {cause.mend}", is_meant=True)
        if cause.is_wrong and (facts.history.brought or facts.case.graph.failure is not None)
        else cause
    )


def is_forgotten(facts: TensorFacts) -> bool:
    """Return whether a gradient is missing for no cut: an optimizer has the leaf, and nothing calls backward.

    So, too, where ``torch.autograd.grad`` has returned it, and no graph is left, as in a function.
    """
    case = facts.case
    return (facts.history.autograd_grad is not None and not case.nodes) or (
        bool(facts.history.is_optimized)
        and not case.has_run
        and not re.search(r"\.backward\(|(?<!\w)grad\(", case.text)
        and not any(is_left_off(case, cut) for cut in facts.cuts)
    )


def not_run(facts: TensorFacts) -> Cause:
    """Return the cause for a leaf of a program that has not called backward, or not on the root."""
    case, name, stepped = facts.case, facts.name, facts.case.line_of(facts.history.stepped)
    if facts.history.autograd_grad:
        lines = case.line_of(facts.history.autograd_grad)
        asked = map(ast.unparse, fixes.roots_in(parse(case.code_of(lines))))
        call = next((f"{one}.backward()" for one in asked if one in case.rows and not case.rows[one].shape), "")
        return returned(facts, lines, f"{call or case.call_of_backward} in its place, or give each tensor its .grad")
    if case.is_expression and any(case.nodes[root].shape for root in case.shown.roots[:1]):
        return facts.cause(
            "failed",
            f"backward did not run: {case.root_name} {SEVERAL}",
            facts.lines,
            "--grad-output ones, or a scalar as the root, as .sum() makes it",
        )
    at, call = case.uncalled("backward")
    mend = first_true(
        (case.is_expression, "leave out --no-backward"),
        (call, call),
        (
            facts.closure,
            f"in {facts.closure}, which step() calls for the gradients, call backward() on what it returns",
        ),
        (
            ".backward(" in case.text,
            (
                "let the program come to its backward(), and let an error of it be seen:"
                " as it ran, it did not, or that failed"
            ),
        ),
        (
            (case.is_reached(facts.row) or not case.nodes)
            and case.root
            and not (facts.history.is_optimized and ".sum()" in case.call_of_backward),
            case.call_of_backward,
        ),
        (facts.cuts and case.root, f"{facts.at_cuts[1]}; and then {case.call_of_backward}"),
        (True, f"compute a loss from {name}, and call its backward()"),
    )
    made = () if case.root_row is None or case.is_expression else case.line_of(case.root_row.place)
    return (
        facts.cause(
            "backward not run",
            f"backward has not run on {case.root_name}, but on another",
            (*facts.lines, *made),
            f"gviz why SOURCE {name} without --root tells of that one"
            + f"; else {case.call_of_backward}" * (facts.is_leaf_of_graph and not case.is_freed),
        )
        if any(one.history.brought for one in case.rows.values())
        else facts.cause(
            "backward not run",
            f"{name}.grad is None: no backward has run to its end",
            at or (stepped if facts.closure else (*facts.lines, *made)),
            mend,
        )
    )


def returned(facts: TensorFacts, lines: Lines, mend: str) -> Cause:
    """Return the cause for a leaf whose gradient torch.autograd.grad has returned.

    It is meant if the program reads the result, and nothing asks for ``.grad``: neither the program nor an optimizer.

    Args:
        facts: of the leaf.
        lines: the line of the call.
        mend: what to write if it is not meant.
    """
    case, code = facts.case, facts.case.text
    calls = [(one, ast.unparse(call)) for one in statements(case.code_of(lines)) for call in calls_of(one, "grad")]
    if (
        any(
            isinstance(one, ast.Assign) or ast.unparse(one).startswith(call)
            for one, call in calls
            if not any(len(re.findall(rf"\b{re.escape(name)}\b", code)) > 1 for name in fixes.targets_of(one))
        )
        or case.stop is not None
        or (facts.history.is_optimized and not facts.history.steps)
        or (GRADIENT.search(code) and not facts.history.is_updated)  # that of others
    ):
        return facts.cause("backward not run", RETURNS, lines, mend)
    what = (
        f"writes {facts.name} itself" if not facts.history.steps else f"gives step() a gradient of {facts.name} itself"
    )
    return (
        facts.cause("ok", f"{RETURNS}; the program {what}", lines)
        if facts.history.is_updated
        else facts.cause("not trained", RETURNS, lines, mend, "if the program uses what it returns")
    )


def left_out(facts: TensorFacts) -> Cause | None:
    """Return the cause for a leaf that a pass could have come to and did not add to; None for any other."""
    case, name, state = facts.case, facts.name, facts.node.state if facts.node is not None else ""
    if state.startswith(RETURNED):
        return returned(facts, case.line_of_backward, case.call_of_backward)
    if not state.startswith(LEFT_OUT):
        return None
    is_of_module = facts.node is not None and facts.node.module is not None and not facts.history.is_optimized
    if is_of_module and facts.history.grad_of_others and not any(row.history.is_updated for row in case.rows.values()):
        return beside_functions(facts)
    call = state.removeprefix(LEFT_OUT).rpartition(", line")[0]
    is_of_other_turn = bool(facts.history.steps) and (facts.grad is None or facts.is_zero)
    return facts.cause(
        "cleared" if is_of_other_turn else "no gradient",
        f"{call} was asked for the gradients of other tensors: {name} is not among its inputs"
        + "; steps have used those that earlier calls have brought it" * is_of_other_turn,
        case.line_of_backward,
        f"add {name} to {f'its inputs, or {case.call_of_backward}' if call.startswith('autograd.grad') else 'inputs='}",
        "if it is to have its gradients in turns" * is_of_other_turn,
    )


def left_out_this_time(facts: TensorFacts) -> Cause | None:
    """Return that a leaf has a gradient of another time, if this pass could have come to it and did not.

    What ``torch.autograd.grad`` would return for it is no gradient in ``.grad``, and so no mend.
    """
    cause, moment, node = left_out(facts), facts.row.moment, facts.node
    later = facts.case.line_of(facts.history.brought) if moment is not None and moment.grad.value is None else ()
    was_there = "was there before" if moment is None or moment.grad.value == facts.grad else "is not of this call"
    return cause and cause._replace(
        verdict="ok",
        what=f"{facts.name} has a gradient that {'a later backward has brought' if later else was_there}: {cause.what}",
        lines=(*cause.lines, *later),
        mend=""
        if node is not None and "autograd.grad" in node.state
        else f"none, unless it is to have this one too: {cause.mend}",
    )


def without_trace(facts: TensorFacts) -> Cause | None:
    """Return the cause for a leaf in the graph without a gradient after backward: it never came, or a hook took it."""
    case, name, node = facts.case, facts.name, facts.case.named[facts.name]
    users = [case.nodes[edge.target] for edge in case.uses[node.id]]
    functions = (one for one in (*users, *case.above(node)) if not CLASS.fullmatch(one.label))
    reached = {edge.source for edge in case.shown.edges if case.nodes[edge.target].grad.arrived is not None}
    own = next((one for one in functions if one in users or one.id in reached), None)
    if own is not None:
        of = name if own in users else f"its input, which {name} is behind"
        return facts.cause(
            "no gradient",
            f"the backward of {own.label.removesuffix('Backward')} gives no gradient for {of}",
            case.line_of_own(own.label, own),
            "return a gradient for each input in its backward",
        )
    if node.grad.hooks:
        change = node.grad.hooks[-1]
        return facts.cause(
            "cleared",
            f"{name} had its gradient until {change.where}, set .grad to None: {made_text(change)}",
            case.line_of(change.place),
        )
    return (not case.graph.code and cleared_in_saved_graph(facts)) or facts.cause(
        "no gradient",
        f"{name} has no gradient after backward, though there is a path to it",
        case.line_of_backward,
        "see what sets .grad to None: zero_grad() after backward, or a hook",
    )
