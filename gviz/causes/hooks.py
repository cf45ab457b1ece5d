"""What a hook of the program has made of a gradient: zero, not a number, or another one."""

from __future__ import annotations

from collections.abc import Iterator

from gviz.causes.diagnosis import Cause, Diagnosis
from gviz.causes.facts import TensorFacts
from gviz.graphs import Graph, Hooked
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import has_only, is_finite

MEND_OF_HOOK = "take the hook away, or let it return what it is given (None keeps the gradient as it is)"


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
    name, change = changes[-1]
    verdict, state = ("zero", "0") if facts.is_zero else ("nan", "not finite")
    return facts.cause(
        verdict,
        f"the gradient of {facts.name} is {state}: a hook on {name} has made it so: {made_text(change)}",
        facts.case.line_of(change.place),
        MEND_OF_HOOK,
    )


def enlarged_by_hook(graph: Graph, cause: Cause, excess: float) -> Cause:
    """Return the cause for a gradient that explodes; with the hook that has made it so, if one has.

    Args:
        graph: that of the tensor.
        cause: that it explodes.
        excess: how many times as large it is as one may be that does not.
    """
    case = Diagnosis(graph)
    for name, change in hooks_above(TensorFacts(case, case.rows[cause.name])):
        given, made = change.given or Numbers(), change.made or Numbers()
        if made.norm > excess * given.norm > 0:
            what = f"{cause.what}: a hook on {name} has made it so: {made_text(change)}"
            return cause._replace(what=what, lines=case.line_of(change.place), mend=MEND_OF_HOOK)
    return cause


def as_it_came(facts: TensorFacts) -> Cause:
    """Return that nothing is wrong with a gradient; and what hooks have made of it on its way."""
    case, hooks = facts.case, list(hooks_above(facts))[::-1]
    if hooks:
        texts = "; ".join(f"at {name} {made_text(change)}" for name, change in hooks)
        lines = tuple(line for _, change in hooks for line in case.line_of(change.place))
        return facts.cause("ok", f"{facts.name} has a gradient, which hooks have changed on its way: {texts}", lines)
    is_gone = case.graph.code and not case.nodes  # its graph, or a later one was never made
    gone = "; the graph that brought it is gone, and there is no other to look at"
    fine = "" if case.has_mixed else ", and nothing is wrong with it"  # it may have been written after it was saved
    return facts.cause("ok", f"{facts.name} has a gradient{gone if is_gone else fine}", case.line_of_backward)


def made_text(change: Hooked) -> str:
    """Return what a hook was given, and what it made of that."""
    return " → ".join("None" if one is None else _text(one) for one in (change.given, change.made))


def _text(value: Numbers) -> str:
    """Return a number, or few; of a large tensor the norm."""
    if value.elements is not None and value.numel == 1 and not isinstance(value.elements[0], str):
        return f"{value.elements[0]:.4g}"
    return f"norm {value.summary.norm:.4g}"
