"""Why a tensor is outside the graph: something cut it off, or it never required a gradient."""

from __future__ import annotations

from gviz.causes import fixes
from gviz.causes.diagnosis import Cause, Diagnosis
from gviz.graphs import TensorRow

CUTS = {
    "frozen": "{it} does not require a gradient any more",
    "detached": "{it} was cut off{source} by {by}()",
    "no_grad": "{it} was made where gradients are switched off, by torch.no_grad() or set_grad_enabled(False)",
    "no derivative": "{by}() has no derivative",
}
"""How a tensor left the graph."""

MENDS = {
    "frozen": "leave the line out",
    "detached": "leave out {by}()",
    "no_grad": "take the line out of torch.no_grad(); or, if it is not to be trained, call {leaf}.requires_grad_(False)",
    "no derivative": "compute the loss from something that changes smoothly",
}
"""What to do about it."""


def cut_off(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return what has cut a tensor off from the graph, its ``what`` being a clause; None if nothing has."""
    broken = row.broken
    if broken is None:
        return None
    lines = case.line_of(broken.place)
    source = f" from {broken.source}" if broken.source else ""
    better = fixes.within_graph(lines[0][1], broken.source) if lines and broken.reason == "detached" else ""
    mend = better or MENDS[broken.reason].format(by=broken.call, leaf=broken.source or row.name)
    mend = "compute it with torch: numpy keeps no graph" if lines and ".numpy(" in lines[0][1] else mend
    what = CUTS[broken.reason].format(it="it", by=broken.call, source=source)
    return Cause(row.name, broken.reason, what, lines, mend)


def outside(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return the cause for a tensor that something has cut off from the graph."""
    told = cut_off(case, row)
    return told and told._replace(what=f"{row.name} is outside the graph: {told.what}")


def never_required(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a tensor that never required a gradient."""
    lines = case.line_of(row.place)
    if "float" not in row.dtype and "complex" not in row.dtype:
        what = f"{row.name} has the dtype {row.dtype}: only floating-point tensors have gradients"
        return Cause(row.name, "integer", what, lines, f"write floating-point numbers, or {row.name}.float()")
    better = fixes.requiring(lines[0][1]) if lines else ""
    what = f"{row.name} does not require a gradient"
    return Cause(row.name, "frozen", what, lines, better or f"{row.name}.requires_grad_()")


def false_cure(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a root that was made a leaf: backward ends where it begins."""
    told = cut_off(case, row)
    if told is None:
        what = f"{row.name} is a leaf itself: backward ends where it begins"
        return Cause(row.name, "leaf root", what, case.line_of(row.place))
    what = f"requires_grad makes a leaf of {row.name}, and brings no graph back: {told.what}"
    return told._replace(
        verdict="false cure",
        what=what,
        lines=tuple(dict.fromkeys((*told.lines, *case.line_of(row.history.requires_grad_set)))),
    )
