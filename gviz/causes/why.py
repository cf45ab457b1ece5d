"""Why a gradient is None, zero, not a number, or the sum of several: the cause, the line that causes it, and the mend.

All of it is read off the graph as data: the rows of tensors with their lines and what cut them off, the gradients on
their way back, and the error that the program stopped with. So it is the same for gviz's engine and for the real
PyTorch. ``stopped.py`` has the causes that are errors, ``outside.py`` those of tensors outside the graph,
``gradients.py`` those of gradients that are there; here are the question, and the gradients that are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gviz.causes import fixes
from gviz.causes.diagnosis import CLASS, Cause, Diagnosis
from gviz.causes.gradients import cause_left_out, cause_not_finite, cause_of_gradient
from gviz.causes.hooks import made_text
from gviz.causes.outside import (
    at_cuts,
    cause_false_cure,
    cause_never_required,
    cause_outside,
    clause_of_cuts,
    cut_clause,
    cuts_to_blame,
    with_parameter,
)
from gviz.causes.stopped import cause_stopped, is_about, is_without_graph
from gviz.causes.training import cause_taken_away, is_used
from gviz.errors import SourceError
from gviz.graphs import Graph, GraphCut, Node, TensorRow
from gviz.records import without_collecting
from gviz.text import did_you_mean, excerpt, joined, name_among
from gviz.trace.switches import LIBRARY

LONGEST = 60
"""Characters of what a letter of gviz's stands for, from which on others in it stay."""

GRADIENT = re.compile(r"([\w.\[\]]+)\.grad\b(?!\s*\()")
"""A use of ``.grad``, and not of ``torch.autograd.grad``: of which tensor."""


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
        there = f"the tensors are {joined(case.rows, 12)}" if case.rows else "it leaves no tensors"
        raise SourceError(f"there is no tensor {excerpt(name)}", hint=did_you_mean(name, case.rows, there))
    if case.is_expression and row.expression is not None:
        cause, made = cause_of(case, row), row.expression
        for other in reversed(case.rows.values()):  # a - t is w * x - t
            if other.expression is not None and len(made) <= LONGEST:
                made = re.sub(rf"\b{other.name}\b", f"({other.expression})", made)
        what = f"the formula has no {name}, and gviz gives that name to {made}; {cause.what}"
        return cause._replace(what=what)
    if not row.same_as:
        return cause_of(case, row)
    cause = cause_of(case, case.rows[row.same_as])
    whose = f"{name} and {row.same_as} are one tensor, whose gradient is the sum over all its uses"
    return cause._replace(name=name, what=f"{whose}. {cause.what}")


@without_collecting()
def why_all(graph: Graph) -> list[Cause]:
    """Return the causes for all leaves, and for what has the name that a leaf should have, in the order of the program.

    A leaf of several names has the first of them.
    """
    case = Diagnosis(graph)
    rows = case.rows.values()
    names_taken = {row.name for row in rows if took_name(case, row) or (not row.is_leaf and leaf_within(case, row))}
    names = names_taken | {
        row.name
        for row in rows
        if row.is_leaf and (row.requires_grad or (row.broken is None or row.broken.reason == "frozen"))
    }
    trained = [row for row in rows if row.name in names and not row.same_as]
    behind = {leaf for row in trained if not row.is_leaf for leaf in row.leaves}
    return [cause_of(case, row) for row in trained if row.name not in behind]


def cause_of(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a tensor."""
    if row.moment is not None and row.moment.is_of_other and case.graph.backward is None and row.is_leaf:
        return cause_of_other_root(case, row)
    if row.grad.value is None:
        return next(filter(None, causes_of_none(case, row)), None) or cause_not_reached(case, row)
    return (cause_stopped(case, row) if is_about(case, row) else None) or cause_of_gradient(case, row)


# ---------------------------------------------------------------- the gradient is None
def causes_of_none(case: Diagnosis, row: TensorRow) -> Iterator[Cause | None]:
    """Yield the causes for which a gradient may be None, those that explain most first."""
    yield cause_overwritten(case, row)
    if not row.requires_grad:
        is_reason = is_without_graph(case) and row.is_leaf and "float" in row.dtype
        yield cause_stopped(case, row) if is_reason else cause_outside(case, row)
        yield cause_never_required(case, row)
    if row.is_leaf:
        yield cause_stopped(case, row)
    yield cause_not_finite(case, row)
    if not row.is_leaf:
        yield cause_not_retained(case, row)
    root = case.root_row
    if root is not None and root.is_leaf and root.broken is not None:
        yield cause_false_cure(case, root, row)


def cause_overwritten(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return the cause if the name stands for another tensor than the leaf that has the gradient."""
    if not took_name(case, row):
        return None
    lines = case.line_of(row.place)
    if row.is_leaf and row.requires_grad:
        what = f"{row.name} is another leaf than backward knew, and its gradient comes with the next backward"
        return Cause(row.name, "new leaf", what, lines)
    better = fixes.as_write_in_place(case.code_of(lines), row.name)
    what = f"{row.name} is no longer the leaf: the line gives the name to a new tensor, whose .grad is None"
    head = "" if row.broken is not None and row.broken.reason == "no_grad" else "with torch.no_grad(): "
    return Cause(row.name, "overwritten", what, lines, f"{head}{better or f'write into {row.name} in place'}")


def took_name(case: Diagnosis, row: TensorRow) -> bool:
    """Return whether a tensor took over the name of a leaf: one in the graph, or one that its own line names."""
    if row.grad.value is not None:
        return False
    lines, node = case.line_of(row.place), case.named.get(row.name)
    if node is not None and node.kind == "leaf":
        return (
            not row.is_leaf
            or not row.requires_grad
            or (node.grad.value is not None and not row.history.grad_cleared and node.later is None)
        )
    code = case.code_of(lines)
    updated = [*GRADIENT.findall(code), *(fixes.assigned_in(code) if GRADIENT.search(code) else ())]
    return any(fixes.may_be(name, row.name) for name in updated) and bool(
        row.leaves or (row.broken is not None and row.broken.source)
    )


def leaf_within(case: Diagnosis, row: TensorRow) -> str:
    """Return the line that would make a leaf of a tensor, if the leaf is only a part of its line now.

    "" for any other.
    """
    is_made = row.grad_fn is not None and row.name != case.root and not row.retains_grad
    return fixes.retaining_leaf(case.code_of(case.line_of(row.place)), row.name) if is_made else ""


def cause_not_retained(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a tensor that an operation made: only leaves keep their gradients."""
    lines, better = case.line_of(row.place), leaf_within(case, row)
    maker = f"{row.grad_fn} made it"
    if better:
        what = f"{row.name} is not a leaf: {maker} from the tensor that requires a gradient, and that has no name"
        return Cause(row.name, "not a leaf: the leaf has no name", what, lines, better)
    what = f"{row.name} is not a leaf: {maker}, and only leaves keep their gradient"
    mend = f"--retain {row.name}" if case.is_expression else f"{row.name}.retain_grad() before backward()"
    return Cause(row.name, "not a leaf", what, lines, mend)


def cause_not_reached(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a leaf that no gradient has come to."""
    node = case.named.get(row.name)
    if case.has_run and node is not None and node.kind == "leaf":
        return cause_left_out(case, row) or cause_without_trace(case, row, node)
    cuts = cuts_to_blame(case, row)
    if case.has_run and row.history.grad_cleared and not (cuts and (row.history.is_same_call or not is_used(row))):
        return cause_taken_away(case, row, cuts)  # the gradient of another backward
    if node is not None and node.later is not None and node.later.is_cleared:  # a saved graph has no places
        what = f"{row.name} had its gradient until it was taken away"
        return Cause(row.name, "cleared", what, case.line_of(node.later.cleared_at))
    if cuts and (case.has_run or not case.nodes):
        clause = clause_of_cuts(case, cuts, "what is made from it")
        what = f"no gradient comes from {case.root_name} to {row.name}: {clause}"
        lines, mend = at_cuts(case, cuts)
        if (module := module_beside(case, row, cuts)) and case.has_run:
            what = f"{what}, and so is all of {module}, as of a teacher or a target: {case.root_name} trains others"
            return Cause(row.name, "not trained", what, lines, f"none, unless {module} is to be trained: {mend}")
        if row.history.is_optimized and case.has_idle_optimizer:
            what = f"{what}; the optimizer has {row.name}, and nothing that {case.root_name} is made from"
            mend = f"{mend}; or give the optimizer what {case.root_name} is to train, in place of {row.name}"
        elif cuts[0].reason == "no_grad" and not row.history.is_optimized:
            mend = f"{mend}; or, if it is not to be trained, call {row.name}.requires_grad_(False)"
        return with_parameter(case, Cause(row.name, cuts[0].reason, what, lines, mend), row)
    return cause_no_path(case, row) if case.has_run else cause_not_run(case, row)


def module_beside(case: Diagnosis, row: TensorRow, cuts: Sequence[GraphCut]) -> str:
    """Return the module of a leaf if all of it stands beside the graph, and nothing of the graph is behind the cuts.

    "" for a leaf that is in no module, for one of a module that the root trains a part of, and where what was cut off
    is made from a leaf of the graph as well: such a cut is hardly meant, nor one by a library, as in
    ``Normal.sample()``. "" too for a leaf that an optimizer has, which never got a gradient.
    """
    if row.history.is_optimized:
        return ""
    module, dot, _ = row.name.partition(".")
    leaves = [node.name or "" for node in case.shown.nodes if node.kind == "leaf"]
    behind = {name for cut in cuts for name in cut.leaves}
    is_beside = not any(name in behind or name.partition(".")[0] == module for name in leaves)
    is_meant = all(cut.reason in ("detached", "no_grad") and not cut.is_number for cut in cuts)
    is_meant = is_meant and (row.history.is_optimized is False or all(cut.switch != LIBRARY for cut in cuts))
    return module if dot and leaves and is_meant and is_beside else ""


def cause_no_path(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a leaf that the root is not made from: what is made of it instead, if that is known."""
    own = set(case.root_row.leaves) if case.root_row is not None else set()
    uses = [other for other in case.rows.values() if row.name in other.leaves and not own <= {*other.leaves}]
    what = f"{case.root_name} is not made from {row.name}"
    if uses:
        last = uses[-1]
        what = f"{what}: {last.name} is, and {case.root_name} does not use it"
        mend = f"use {last.name} where {case.root_name} is computed"
        return Cause(row.name, "no path", what, case.line_of(last.place), mend)
    deep = [cut for cut in case.graph.breaks if row.name in cut.leaves and not cut.is_of_leaves]
    if deep:
        return cause_cut_beside(case, row, deep[-1])
    since, mend = row.history.requires_grad_set, f"use {row.name} where {case.root_name} is computed"
    names = {name for name in case.rows if not name.startswith("leaf ")}
    unnamed = (node for node in case.shown.nodes if node.kind == "leaf" and node.name not in names)
    if row.history.is_optimized is False and any(node.shape == row.shape for node in unnamed):
        what = (
            f"{what}, but from a tensor of its sizes that has no name any more, as after {row.name} = nn.Parameter(...)"
        )
        mend = f"with torch.no_grad(): {row.name}.copy_(...), which writes into the parameter that is there"
        return Cause(row.name, "overwritten", what, case.line_of(since), mend)
    if row.history.is_updated and not row.history.is_optimized:
        what = f"{what}, and the program writes it itself, as a moving average or a copy of other weights"
        return Cause(
            row.name, "not trained", what, case.line_of(row.place), f"none, unless it is to be trained: {mend}"
        )
    if since is not None:
        what = f"{what}, or was before {row.name} required a gradient"
        mend = f"call requires_grad_() before {row.name} is used; or {mend}"
    what = f"{what}: there is no path between them"
    return Cause(row.name, "no path", what, case.line_of(since or row.place), mend)


def cause_cut_beside(case: Diagnosis, row: TensorRow, cut: GraphCut) -> Cause:
    """Return the cause for a leaf that the root is not made from, where a cut is on its way to something else."""
    lines, mend = at_cuts(case, [cut._replace(others=())])
    what = f"{case.root_name} is not made from {row.name}: {cut_clause(case, cut, 'what comes of it')}"
    what = f"{what}, on its way to {cut.others[0]}" if cut.others else f"{what}, and {case.root_name} does not use it"
    if row.history.is_optimized is False:
        what = f"{what}; no optimizer that steps has {row.name}"
        return Cause(row.name, "not trained", what, lines, f"none, unless {row.name} is to be trained: {mend}")
    mend = mend if cut.others else f"{mend}; and use it where {case.root_name} is computed"
    return Cause(row.name, "no path", what, lines, mend)


def cause_not_run(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a leaf of a program that has not called backward."""
    root = next((case.nodes[root] for root in case.shown.roots), None)
    lines, what = case.line_of(row.place), f"{row.name}.grad is None: no backward has run to its end"
    mend = f"{case.root}.backward()" if case.root else f"compute a loss from {row.name}, and call its backward()"
    if ".backward(" in case.graph.code:
        mend = (
            "let the program come to its backward(), and let an error of it be seen:"
            " as it ran, it ended before, or failed"
        )
    if row.history.autograd_grad:
        mend = f"{case.root or 'loss'}.backward() in its place, or give each tensor its .grad"
        lines = case.line_of(row.history.autograd_grad)
        what = "torch.autograd.grad returns the gradients, and leaves .grad as it is"
    elif case.is_expression and root is not None and root.shape:
        what = f"backward did not run: {case.root_name} has more than one element, and needs a gradient to start with"
        mend = "--grad-output ones, or a scalar as the root, as .sum() makes it"
        return Cause(row.name, "failed", what, lines, mend)
    elif case.is_expression:
        mend = "leave out --no-backward"
    return Cause(row.name, "backward not run", what, lines, mend)


def cause_of_other_root(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a leaf whose gradient is of another root, since backward has not run on this one."""
    moment, root = row.moment, case.root_name
    whose = moment.grad_of if moment is not None and moment.grad_of else "another backward"
    what = f"backward has not run on {root}: the gradient that {row.name} has had is of {whose}"
    lines = case.line_of(moment.grad_at) if moment is not None else ()
    return Cause(
        row.name, "backward not run", what, lines or case.line_of(row.place), f"{case.root or 'loss'}.backward()"
    )


def is_handed(case: Diagnosis, node: Node) -> bool:
    """Return whether a gradient has come to what uses an operation, and so to the operation."""
    return any(case.nodes[edge.target].grad.arrived is not None for edge in case.uses[node.id])


def cause_without_trace(case: Diagnosis, row: TensorRow, node: Node) -> Cause:
    """Return the cause for a leaf in the graph without a gradient after backward: it was taken away, or never came."""
    if row.history.grad_cleared:
        return cause_taken_away(case, row)
    users = [case.nodes[edge.target] for edge in case.uses[node.id]]
    functions = (one for one in (*users, *case.above(node)) if not CLASS.fullmatch(one.label))
    own = next((one for one in functions if one in users or is_handed(case, one)), None)
    if own is not None:
        of = row.name if own in users else f"its input, which {row.name} is behind"
        what = f"the backward of {own.label.removesuffix('Backward')} gives no gradient for {of}"
        mend = "return a gradient for each input in its backward"
        return Cause(row.name, "no gradient", what, case.line_of_node(own), mend)
    lines = case.line_of_backward
    if node.grad.hooks:
        change = node.grad.hooks[-1]
        what = f"{row.name} had its gradient until {change.where}, set .grad to None: {made_text(change)}"
        return Cause(row.name, "cleared", what, case.line_of(change.place))
    what = f"backward has left no gradient in {row.name}, though there is a path to it"
    return Cause(row.name, "no gradient", what, lines, "look at hooks, and at what changes .grad")
