"""Why a tensor is outside the graph: something cut it off, or it never required a gradient."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gviz.causes import fixes
from gviz.causes.diagnosis import Cause, Diagnosis, Lines, is_own
from gviz.graphs import GraphBreak, TensorRow, Unlisted
from gviz.trace.switches import LIBRARY

CUTS = {
    "frozen": "{it} does not require a gradient any more",
    "detached": "{it} was cut off{source} by {by}",
    "no_grad": "{it} was made where gradients are switched off, by {switch}",
    "no derivative": "{by} has no derivative",
}
"""How a tensor left the graph."""

MENDS = {
    "detached": "leave out {by}()",
    "no_grad": "take the line out of {switch}",
    "no derivative": "compute the loss from something that changes smoothly",
}
"""What to do about it."""

ANY_SWITCH = "torch.no_grad() or set_grad_enabled(False)"
"""What is said of a switch that is not known."""

SWITCHED = {
    "": f"do it outside of {ANY_SWITCH}",
    LIBRARY: "call something that gradients flow through, or that is not under torch.no_grad() itself",
}
"""What to do where the program has no block to take a line out of, by what has switched gradients off."""

WITHOUT_LEAVES = "the gradient that autograd returned has no graph: nothing that it is computed from requires one"
"""What is said of a call that has asked for a graph."""

LINEAR = "the derivative is a constant, through which no gradient flows: use another function"
"""What to do about that, where no function of the program's own has cut anything off."""

GRADIENTS = "the gradients that autograd returns have no graph of their own without create_graph=True"
"""What is said of a call of ``torch.autograd.grad``, and of functions that call it."""

NUMBERS = "compute it with torch: Python's own numbers keep no graph"
"""What to do about a function that makes a number of a tensor by itself."""

INDICES = {"topk", "sort", "max", "min", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin"}
"""Calls that give values, which have a derivative, and indices, which have none."""

COMPARISONS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
"""Calls that a program writes as signs."""

PLAIN = {"List": ("list", "what is in it"), "Dict": ("dict", "what is in it")}
"""What a module holds in place of a ModuleList, say, and what its parameters() do not list then."""

HAS_NN = re.compile(r"^\s*(from torch import .*\bnn\b|import torch\.nn as nn\b)", re.MULTILINE)
"""A program that knows torch.nn as nn."""


ONLY_SHOWN = re.compile(r"print\(|assert\b|(if|elif|while)\b|(log|logs|logger|logging|writer|wandb)\.")
"""A line whose numbers go nowhere else."""

MOST_CUTS = 3
"""Lines of an answer that cut off one leaf."""


def cause_cut_off(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return what has cut a tensor off from the graph, its ``what`` being a clause; None if nothing has."""
    broken = row.broken
    if broken is None:
        return None
    source = f" from {broken.source}" if broken.source else ""
    what, mend = cut_clause(case, broken, "it", source), mend_of_cut(case, broken)
    return Cause(row.name, broken.reason, what, case.line_of(broken.place), mend)


def mend_of_cut(case: Diagnosis, broken: GraphBreak) -> str:
    """Return what to write in place of a line that cuts off what is made from a tensor."""
    lines = case.line_of(broken.place)
    code = case.code_of(lines)
    if keeps_graph(case, broken):
        own = next((node.label.removesuffix("Backward") for node in case.shown.nodes if is_own(node)), "")
        return f"let the backward of {own} compute with tensors of the graph: without detach()" if own else LINEAR
    if broken.call == "grad":
        return fixes.keeping_graph(code) or "create_graph=True"
    if broken.reason == "frozen":
        return case.without(lines)
    if broken.reason != "detached":
        mend = MENDS[broken.reason].format(by=broken.call, switch=broken.switch)
        if broken.reason == "no_grad" and broken.switch in ("", LIBRARY):
            mend = fixes.through_library(code) or SWITCHED[broken.switch]
        elif broken.switch == code != "":
            mend = "write torch.set_grad_enabled(True) where gradients are wanted again"
        return mend
    if ".numpy(" in code:
        return "compute it with torch: numpy keeps no graph"
    is_hidden = code != "" and broken.call not in code  # as float() in math.erfc(w)
    better = fixes.within_graph(code, broken.call, is_list=broken.is_list)
    better = case.without(lines) if better == fixes.WITHOUT else better
    better = better or (NUMBERS if is_hidden else MENDS["detached"].format(by=broken.call))
    return "; and ".join([better, *detached_elsewhere(case, broken, next(iter(fixes.assigned_in(code)), "it"))])


def detached_elsewhere(case: Diagnosis, broken: GraphBreak, name: str) -> Iterator[str]:
    """Yield the lines of other roots that are to go on without the graph behind a tensor, each as it should be."""
    for other in broken.others:
        code = case.code_of(case.line_of(case.rows[other].place))
        yield fixes.detaching(code, name) or f"{name}.detach() where {other} is computed from it"


def keeps_graph(case: Diagnosis, broken: GraphBreak) -> bool:
    """Return whether a call of ``torch.autograd.grad`` has asked for a graph."""
    return broken.call == "grad" and "create_graph=True" in case.code_of(case.line_of(broken.place))


def cut_clause(case: Diagnosis, broken: GraphBreak, it: str, source: str = "") -> str:
    """Return what a call has cut off, as a clause: ``it was cut off from h by .data``."""
    if broken.call == "grad":
        return GRADIENTS if not keeps_graph(case, broken) else WITHOUT_LEAVES
    by = f".{broken.call}" if broken.call == "data" else COMPARISONS.get(broken.call) or f"{broken.call}()"
    if broken.reason == "no derivative" and broken.call in INDICES:
        return f"the indices of {by} have no derivative"
    return CUTS[broken.reason].format(it=it, by=by, source=source, switch=broken.switch or ANY_SWITCH)


def cuts_to_blame(case: Diagnosis, row: TensorRow) -> list[GraphBreak]:
    """Return the cuts between a leaf and the root, one of which is to be mended; [] if none is known.

    A cut behind another one is no such, since the other would still be there. If what some cuts left is only added to
    the root, so that it trains nothing, it is these: a factor, such as an advantage, may be meant to be a constant.
    """
    cuts = [cut for cut in case.graph.breaks if row.name in cut.leaves]
    used = [cut for cut in cuts if cut.is_used]
    used = [cut for cut in used if cut.reason != "no derivative"] or used  # such as an argmax beside the way
    used = [cut for cut in used if not cut.is_behind] or used
    if used:
        return [cut for cut in used if cut.is_summand] or used
    passed = [cut for cut in cuts if not ONLY_SHOWN.match(case.code_of(case.line_of(cut.place)))]
    return [cut for cut in passed if cut.is_number or not case.nodes][-1:]  # nobody knows where a number goes


def at_cuts(case: Diagnosis, cuts: Sequence[GraphBreak]) -> tuple[Lines, str]:
    """Return the lines that cut off what is made from a leaf, and the mend: of several, that of one line or another."""
    lines = tuple(line for cut in cuts[:MOST_CUTS] for line in case.line_of(cut.place))
    mends = [mend_of_cut(case, cut) for cut in cuts[:MOST_CUTS]]
    return lines, "; or ".join(dict.fromkeys(mends))


def with_root(case: Diagnosis, cause: Cause, root: TensorRow | None) -> Cause:
    """Return a cause with the line of a root that was made from numbers: that cuts, too, what comes as a tensor."""
    lines = case.line_of(root.place) if root is not None else ()
    lines = lines if root is not None and (root.is_leaf or "tensor(" in case.code_of(lines)) else ()
    is_list = any(".append(" in code for _, code in cause.lines)
    better = fixes.within_graph(case.code_of(lines), is_list=is_list)
    if not better or set(lines) & set(cause.lines):
        return cause
    return cause._replace(lines=(*cause.lines, *lines), mend=f"{cause.mend}; and then {better}")


def cause_outside(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return the cause for a tensor that something has cut off from the graph."""
    cause = cause_cut_off(case, row)
    return cause and cause._replace(what=f"{row.name} is outside the graph: {cause.what}")


def cause_never_required(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a tensor that never required a gradient."""
    lines = case.line_of(row.place)
    if "float" not in row.dtype and "complex" not in row.dtype:
        what = f"{row.name} has the dtype {row.dtype}: only floating-point tensors have gradients"
        return Cause(row.name, "integer", what, lines, f"write floating-point numbers, or {row.name}.float()")
    if row.unlisted is not None:
        what = f"{row.name} does not require a gradient: {no_parameter(row.unlisted)}"
        return Cause(row.name, "frozen", what, *made_parameter(case, row.unlisted, row))
    better = (
        f"leave {row.name} out of --frozen" if case.is_expression else fixes.requiring(case.code_of(lines), row.name)
    )
    what = f"{row.name} does not require a gradient"
    return Cause(row.name, "frozen", what, lines, better or f"{row.name}.requires_grad_()")


def no_parameter(held: Unlisted) -> str:
    """Return what a module holds in place of a parameter, as a clause.

    >>> no_parameter(Unlisted("net", "layers", "ModuleList"))
    'net.layers is a plain list, and net.parameters() does not list what is in it'
    """
    kind, it = PLAIN.get(held.wrapper[-4:], ("tensor", "it"))
    return f"{held.module}.{held.attribute} is a plain {kind}, and {held.module}.parameters() does not list {it}"


def made_parameter(case: Diagnosis, held: Unlisted, row: TensorRow) -> tuple[Lines, str]:
    """Return the line that gives a module what is no parameter of it, and how the line would make it one."""
    lines = case.line_of(held.place or row.place)
    wrapper = f"nn.{held.wrapper}" if HAS_NN.search(case.graph.code) else f"torch.nn.{held.wrapper}"
    better = fixes.as_parameter(case.code_of(lines), held.attribute, wrapper)
    return lines, better or f"put what {held.module}.{held.attribute} holds into {wrapper}"


def with_parameter(case: Diagnosis, cause: Cause, row: TensorRow) -> Cause:
    """Return a cause with what keeps its tensor out of a module's parameters besides, if anything does."""
    if row.unlisted is None or not row.requires_grad:
        return cause
    lines, mend = made_parameter(case, row.unlisted, row)
    what = f"{cause.what}; besides, {no_parameter(row.unlisted)}"
    return cause._replace(what=what, lines=(*cause.lines, *lines), mend=f"{cause.mend}; and {mend}")


def cause_false_cure(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a root that was made a leaf: backward ends where it begins."""
    cause = cause_cut_off(case, row)
    if cause is None:
        what = f"{row.name} is a leaf itself: backward ends where it begins"
        return Cause(row.name, "leaf root", what, case.line_of(row.place))
    what = f"requires_grad makes a leaf of {row.name}, and brings no graph back: {cause.what}"
    return cause._replace(
        verdict="false cure",
        what=what,
        lines=tuple(dict.fromkeys((*cause.lines, *case.line_of(row.history.requires_grad_set)))),
    )
