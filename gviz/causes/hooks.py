"""What a hook of the program has made of a gradient: zero, not a number, or another one."""

from __future__ import annotations

from collections.abc import Iterator

from gviz.causes.diagnosis import Cause, Diagnosis
from gviz.graphs import Hooked, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import has_only, is_finite

MEND = "take the hook away, or let it return what it is given (None keeps the gradient as it is)"


def hooks_above(case: Diagnosis, row: TensorRow) -> Iterator[tuple[str, Hooked]]:
    """Yield what hooks have made of a gradient on its way to a tensor, each with where: nearest to the tensor first."""
    node = case.named.get(row.name)
    if node is None:
        return
    yield from ((row.name, change) for change in reversed(node.grad.hooks))
    for one in case.above(node):
        name = one.name if one.name and not one.is_letter else one.label
        yield from ((name, change) for change in reversed(one.grad.hooks))


def causes_of_hooks(case: Diagnosis, row: TensorRow) -> Iterator[Cause]:
    """Yield the cause for a gradient that a hook has made zero, or not finite."""
    value, hooks = row.grad.value, list(hooks_above(case, row))
    verdicts = {
        "zero": [one for one in hooks if _is_zero(value) and _is_zero(one[1].made) and not _is_zero(one[1].given)],
        "nan": [
            one for one in hooks if not is_finite(value) and is_finite(one[1].given) and not is_finite(one[1].made)
        ],
    }
    for verdict, own in verdicts.items():
        for name, change in own[-1:]:
            what = f"a hook on {name} has made it so: {made_text(change)}"
            head = f"the gradient of {row.name} is {'0' if verdict == 'zero' else 'not finite'}"
            yield Cause(row.name, verdict, f"{head}: {what}", case.line_of(change.place), MEND)


def cause_as_it_came(case: Diagnosis, row: TensorRow) -> Cause:
    """Return that nothing is wrong with a gradient; and what hooks have made of it on its way."""
    hooks = list(hooks_above(case, row))[::-1]
    if not hooks and case.graph.code and not case.nodes:  # its graph is gone, or a later one was never made
        what = f"{row.name} has a gradient; the graph that brought it is gone, and there is no other to look at"
        return Cause(row.name, "ok", what, case.line_of_backward)
    if not hooks:
        what = f"{row.name} has a gradient, and nothing is wrong with it"
        return Cause(row.name, "ok", what, case.line_of_backward)
    texts = "; ".join(f"at {name} {made_text(change)}" for name, change in hooks)
    lines = dict.fromkeys(line for _, change in hooks for line in case.line_of(change.place))
    what = f"{row.name} has a gradient, which hooks have changed on its way: {texts}"
    return Cause(row.name, "ok", what, tuple(lines))


def _is_zero(value: Numbers | None) -> bool:
    """Return whether a gradient is there, and is 0 everywhere."""
    return value is not None and has_only(value, 0.0)


def made_text(change: Hooked) -> str:
    """Return what a hook was given, and what it made of that."""
    return " → ".join("None" if one is None else _text(one) for one in (change.given, change.made))


def _text(value: Numbers) -> str:
    """Return a number, or few; of a large tensor the norm."""
    if value.elements is not None and value.numel == 1 and not isinstance(value.elements[0], str):
        return f"{value.elements[0]:.4g}"
    return f"norm {value.summary.norm:.4g}"
