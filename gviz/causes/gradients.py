"""What is wrong with a gradient that is there: it is zero, not a number, or the sum of several."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import reduce

from gviz.causes.diagnosis import Cause, Diagnosis, is_own, sign_in_program
from gviz.causes.hooks import cause_as_it_came, causes_of_hooks
from gviz.causes.outside import at_cuts, cause_false_cure, clause_of_cuts, cuts_to_blame, made_parameter, no_parameter
from gviz.causes.training import (
    as_far_as_used,
    cause_accumulated,
    cause_not_used,
    cause_of_other_backward,
    cause_of_own_gradient,
    cause_spoiled,
    cause_spread,
    mend_of_clearing,
    spoiled_row,
    why_cleared,
)
from gviz.graphs import LEFT_OUT, RETURNED, Edge, Node, TensorRow
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.elements import has_only, is_finite, plus, positions
from gviz.text import joined

MOST = 3
"""Places that are listed."""

MENDS_OF_NAN = {
    "log": "log is infinite at 0, and nan below: keep its input above 0, as {x}.clamp(min=1e-6) does",
    "exp": "exp is too large for its dtype: subtract the maximum first, or use torch.log_softmax or torch.logsumexp",
    "/": "it is a division by 0: add a small number to the divisor",
    "reciprocal": "it is a division by 0: add a small number to the divisor",
    "std": "std of one element is nan: give it more of them, or correction=0",
    "var": "var of one element is nan: give it more of them, or correction=0",
    "sqrt": "sqrt is nan below 0: keep its input above it",
    "softmax": "a row of nothing but -inf has no softmax: leave an element of each row unmasked",
}
MENDS_OF_SLOPE = {
    **dict.fromkeys(("acos", "asin", "atanh"), "as {x}.clamp(-1 + 1e-6, 1 - 1e-6) does"),
    **dict.fromkeys(("sqrt", "**", "norm", "acosh"), "add a small number, or clamp it"),
}
"""How to keep away from where a derivative is infinite."""

LEAST_AT_ZERO = ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "abs")
"""Functions that are never less than 0."""

SUMS = {"sum": 1, "mean": 1, "*": 1, "/": 1, "+": 2}
"""Operations that are sums of so many inputs, with factors that are numbers."""

GROWN = (
    "the numbers grow from one backward to the next: take a smaller learning rate, or torch.nn.utils.clip_grad_norm_"
)
GIVEN = "look at what goes into it: a number that is not finite, or one that is too large for its dtype"
MUCH = 10
"""How many times its norm a leaf has come to, where it is said to grow."""

MENDS_OF_ZERO = {
    "relu": "give it inputs above 0, or use a function such as leaky_relu or softplus",
    "round": "rounding has no slope: {x} + ({x}.round() - {x}).detach() lets the gradient through",
    "floor": "rounding has no slope: {x} + ({x}.floor() - {x}).detach() lets the gradient through",
    "sign": "sign has no slope: {x} + ({x}.sign() - {x}).detach() lets the gradient through",
    "where": "the condition picks the other side everywhere: see what it is made from",
    "sigmoid": "it is flat for inputs this large: make them smaller, or use a loss that takes logits",
    "tanh": "it is flat for inputs this large: make them smaller",
    "clamp": "its input lies outside of the bounds, where the slope is 0: widen them",
    "*": "the other factor is 0: give it another value",
    "@": "the other factor is 0: see what makes it so, such as a relu that lets nothing through",
    "addmm": "the other factor is 0: see what makes it so, such as a relu that lets nothing through",
    "embedding": "look up tokens that are no padding",
    "norm": "the norm has no slope at 0: begin elsewhere",
    "softmax": "softmax sums to 1 whatever its input is: use log_softmax, or only the elements of the right classes",
    "normal": "random numbers have no slope: mean + std * torch.randn_like(std) lets the gradient through",
}
"""What to do where an operation makes nan or inf, and where it makes a gradient 0."""

MIXES = ("Softmax", "LogSoftmax", "NativeLayerNorm", "NativeBatchNorm", "NativeGroupNorm")
"""Operations whose derivative is not 0, but which hand on 0 if all that they make counts alike: its sum is constant."""

PUT_IN = ("MaskedFill", "Where")
"""Operations that put inf into a tensor because the program says so."""


def cause_of_gradient(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause of a gradient that is there."""
    cause = next(filter(None, causes_of_number(case, row)), None)
    return cause or as_far_as_used(cause_as_it_came(case, row), row)


def causes_of_number(case: Diagnosis, row: TensorRow) -> Iterator[Cause | None]:
    """Yield what may be wrong with a gradient that is there."""
    root, before = case.root_row, row.grad.before
    if row.history.grad_cleared:  # what it was is gone: the tensor itself tells
        yield cause_not_finite(case, row)
    if not is_finite(row.grad.value):
        yield from causes_of_nan(case, row)
    if root is not None and root.is_leaf and (root is row or root.broken is not None):
        yield cause_false_cure(case, root, row)
    yield from causes_of_hooks(case, row)
    if not has_only(row.grad.value, 0.0):
        yield cause_of_own_gradient(case, row)
    if (left_out := cause_left_out(case, row)) is not None and not has_only(row.grad.value, 0.0):
        what = f"{row.name} has the gradient that an earlier backward has left: {left_out.what}"
        mend = f"none, unless it is to have this one too: {left_out.mend}"
        left_out = left_out._replace(verdict="ok", what=what, mend=mend)
    yield left_out
    if has_only(row.grad.value, 0.0):
        yield from causes_of_zero(case, row)
    if row.unlisted is not None and (row.moment is None or row.moment.numbers in (None, row.numbers)):
        what = f"{row.name} has a gradient, but {no_parameter(row.unlisted)}: an optimizer of these leaves it as it is"
        yield Cause(row.name, "no parameter", what, *made_parameter(case, row.unlisted, row))
    if is_of_other_root(case, row):
        yield cause_of_other_backward(case, row)
    unused = cause_not_used(case, row)
    if unused is not None and unused.is_wrong:
        yield unused
    if before is not None and not has_only(before, 0.0) and case.graph.backward:
        cause, node = cause_accumulated(case, row), case.named.get(row.name)
        parts = [edge.flow.handed for edge in case.uses[node.id]] if node is not None else []
        if parts and all(part is not None and has_only(part, 0.0) for part in parts):
            nothing = cause_zero(case, row)
            what = f"{cause.what}; and what this one brings is 0: {nothing.what.partition(': ')[2]}"
            lines = (*cause.lines, *nothing.lines)
            cause = cause._replace(what=what, lines=lines, mend=f"{nothing.mend}; {cause.mend}")
        yield cause
    yield unused


def is_of_other_root(case: Diagnosis, row: TensorRow) -> bool:
    """Return whether the gradient of a leaf is of another backward than that of the root, which is not made from it."""
    return case.has_run and bool(case.nodes) and not case.is_reached(row)


def causes_of_zero(case: Diagnosis, row: TensorRow) -> Iterator[Cause]:
    """Yield the causes for a gradient of zeros: what has written them, or where it becomes zero on its way."""
    if (spoiled := spoiled_row(case, row) if row.history.grad_cleared else None) is not None:
        what = f"{row.name}.grad is 0, which {row.history.grad_cleared} has written"
        yield cause_spoiled(case, row.name, what, spoiled)
    if is_of_other_root(case, row) and not row.history.grad_cleared:
        what = f"{row.name}.grad is 0, as another backward has left it: {case.root_name} is not made from {row.name}"
        yield Cause(row.name, "zero", what, mend="gviz why --root NAME tells of that one")
    yield cause_zero(case, row)


def causes_of_nan(case: Diagnosis, row: TensorRow) -> Iterator[Cause]:
    """Yield the causes for a gradient that is not finite."""
    verdict, number = "nan" if has_nan(row.grad.value) else "inf", first_not_finite_number(row.grad.value)
    if (spoiled := spoiled_row(case, row)) is not None:
        yield cause_spoiled(case, row.name, f"{row.name}.grad is {number}", spoiled)._replace(verdict=verdict)
    if row.history.spread is not None and row.grad.before is None:
        yield cause_spread(case, row, number)._replace(verdict=verdict)
    yield from causes_elsewhere(case, row)
    yield from causes_of_hooks(case, row)
    yield cause_gradient_not_finite(case, row)._replace(verdict=verdict)


def cause_left_out(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return the cause for a leaf that a pass could have come to and did not add to; None for any other."""
    lines, root, node = case.line_of_backward, case.root or "loss", case.named.get(row.name)
    if node is None or not node.state.startswith((LEFT_OUT, RETURNED)):
        return None
    if node.state.startswith(RETURNED):
        what = "torch.autograd.grad returns the gradients, and leaves .grad as it is"
        return Cause(row.name, "backward not run", what, lines, f"{root}.backward()")
    call = node.state.removeprefix(LEFT_OUT).rpartition(", line")[0]
    what = f"{call} was asked for the gradients of other tensors: {row.name} is not among its inputs"
    is_grad = call.startswith("autograd.grad")
    mend = f"add {row.name} to its inputs, or {root}.backward()" if is_grad else f"add {row.name} to inputs="
    return Cause(row.name, "no gradient", what, lines, mend)


def causes_elsewhere(case: Diagnosis, row: TensorRow) -> Iterator[Cause]:
    """Yield the cause for a gradient that is not finite, and that this backward has not made so."""
    number, before = first_not_finite_number(row.grad.value), row.grad.before
    if before is not None and not is_finite(before):
        what = f"{row.name}.grad was {first_not_finite_number(before)} before this backward: an earlier one has left it"
        mend = f"optimizer.zero_grad(), or {row.name}.grad = None, before each backward(); gviz why --root tells of it"
        yield Cause(row.name, "nan", what, case.line_of_backward, mend)
    elif (
        not case.graph.is_first_bad
        and row.moment is not None
        and row.moment.grad.value is not None
        and is_finite(row.moment.grad.value)
    ):
        what = f"{row.name}.grad is {number}, though backward has left finite numbers: the program has changed it since"
        yield Cause(row.name, "nan", what, case.line_of_backward, "look at what changes .grad")


# ---------------------------------------------------------------- zero
def cause_zero(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a gradient of zeros: where it becomes zero on its way."""
    node = case.named.get(row.name)
    parts = [edge.flow.handed for edge in case.uses[node.id]] if node is not None else []
    if any(part is not None and not has_only(part, 0.0) for part in parts):
        return cause_zeroed(case, row, parts)
    cuts = list(cutting(case, node)) if node is not None else []
    if not cuts:
        what = f"the gradient of {row.name} is 0, and where it became so is not known"
        mend = "gviz render --view dataflow shows the gradients on their way"
        return Cause(row.name, "zero", what, case.line_of_backward, mend)
    unknown = (one for one in cuts if one.flow.handed is not None and not has_only(one.flow.handed, 0.0))
    ends = (*(case.nodes[edge.target] for edge in cuts), *(case.nodes[edge.source] for edge in unknown))
    own = next(filter(is_own, ends), None)
    if own is not None:  # a gradient came to it that was not 0
        what = f"the gradient of {row.name} is 0: the backward of {own.label.removesuffix('Backward')} gives 0"
        cause = Cause(row.name, "zero", what, case.line_of_node(own), "look at what its backward returns")
        return with_other_ways(case, cause, row)
    texts = list(dict.fromkeys(cut_text(case, edge) for edge in cuts[:MOST]))
    more = f", and {len(cuts) - MOST} more" if len(cuts) > MOST else ""
    lines = dict.fromkeys(line for edge in cuts[:MOST] for line in case.line_of_node(case.nodes[edge.target]))
    what = f"the gradient of {row.name} is 0: {'; '.join(texts)}{more}"
    first = case.nodes[cuts[0].target]
    sign = sign_in_program(first)
    mend = MENDS_OF_ZERO.get(sign, f"give {sign} inputs where its derivative is not 0")
    mend = with_operand(case, mend, case.nodes[cuts[0].source])
    if sign == "softmax" and first.value is not None and has_only(first.value, 1.0):
        mend = "softmax of one element is 1 whatever it is: use sigmoid, or a loss that takes logits"
    elif sign == "softmax" and not is_alike(first):
        mend = "it is flat for inputs this far apart: make them smaller, or use a loss that takes logits"
    if first.expression.startswith("dropout("):
        mend = "dropout has set it to 0 in this run: training=False leaves it as it is"
    if is_least(case):
        mend = f"none: {case.root_name} is 0, and never less"
    cause = Cause(row.name, "zero", what, tuple(lines), mend)
    return with_other_ways(case, cause, row) if "has no slope" in mend else cause


def with_operand(case: Diagnosis, mend: str, node: Node | None) -> str:
    """Return a mend with the input of an operation as the program can write it, in place of ``{x}``.

    That is its name, or what it is computed by from what has a name; else the word input.
    """
    if "{x}" not in mend:
        return mend
    if node is not None and node.name and not node.is_letter:
        return mend.format(x=node.name)
    text = node.expression if node is not None else ""
    letters = {one.name for one in case.shown.nodes if one.is_letter}
    if text and not letters & {*re.findall(r"[^\W\d]\w*", text)}:
        return mend.format(x=f"({text})")
    return mend.format(x="input")


def is_least(case: Diagnosis) -> bool:
    """Return whether the root is 0, and a sum of squares, sizes or losses, none of them with a negative factor."""
    todo = [case.nodes[root] for root in case.shown.roots]
    for node in todo:  # grows while it is read
        inputs, arrives, sign = case.shown.inputs[node.id], node.grad.arrived, sign_in_program(node)
        exponent = node.recorded.options.get("exponent", "") if sign == "**" else ""
        is_square = sign in LEAST_AT_ZERO or (exponent.isdecimal() and not int(exponent) % 2)
        if arrives is None or not arrives.summary.smallest >= 0 or not (is_square or len(inputs) == SUMS.get(sign)):
            return False
        todo += [] if is_square else [case.nodes[edge.source] for edge in inputs]
    return all(value is not None and has_only(value, 0.0) for value in case.root_values)


def with_other_ways(case: Diagnosis, cause: Cause, row: TensorRow) -> Cause:
    """Return the cause for a function without slope with what cuts its tensor off on other ways.

    Another operation may make the gradient 0 at some inputs alone, and stand on those ways, too.
    """
    cuts = cuts_to_blame(case, row)
    if not cuts:
        return cause
    lines, mend = at_cuts(case, cuts)
    what = f"{cause.what}; on another way, {clause_of_cuts(case, cuts, 'what is made from it')}"
    return cause._replace(
        what=what, lines=tuple(dict.fromkeys((*cause.lines, *lines))), mend=f"{cause.mend}; or {mend}"
    )


def cause_zeroed(case: Diagnosis, row: TensorRow, parts: list[Numbers | None]) -> Cause:
    """Return the cause for a gradient that was not 0 on its way: the parts cancel, or the program has made it 0."""
    total, before = reduce(plus, parts), row.grad.before
    if not all(map(is_finite, parts)):
        number = next(filter(None, map(first_not_finite_number, parts)))
        what = f"backward brought {number} to {row.name}, and it was set to 0 afterwards"
        cause = cause_forward(case, row.name, what) or Cause(row.name, "nan", what, case.line_of_backward)
        places = dict.fromkeys((*cause.lines, *case.line_of(row.history.grad_cleared)))
        return cause._replace(verdict="nan", lines=tuple(places))
    if total is not None and has_only(total, 0.0):
        what = f"the gradient of {row.name} is 0: what comes over its {len(parts)} paths cancels out"
        return Cause(row.name, "zero", what, case.line_of_backward, f"gviz explain --wrt {row.name} shows the paths")
    both = None if before is None else plus(total, before)
    if before is not None and (has_only(both, 0.0) if both is not None else not has_only(before, 0.0)):
        what = f"the gradient of {row.name} is 0: what this backward has brought cancels what was there before"
        mend = (
            f"optimizer.zero_grad(), or {row.name}.grad = None, before each backward(); unless the sum is what you want"
        )
        return Cause(row.name, "zero", what, case.line_of_backward, mend)
    if not row.history.grad_cleared:
        what = f"the gradient of {row.name} is 0, though backward brought one: a hook, or the program, has made it 0"
        return Cause(row.name, "zero", what, case.line_of_backward, "look at what changes .grad, and at hooks")
    what = f"the gradient of {row.name} is 0: it was set to 0 after backward"
    lines = case.line_of(row.history.grad_cleared)
    if when := why_cleared(row):
        return Cause(row.name, "cleared", f"{what} had brought it, {when}", lines)
    return Cause(row.name, "zero", what, lines, mend_of_clearing(case, row))


def cutting(case: Diagnosis, node: Node) -> Iterator[Edge]:
    """Yield the edges on which a gradient that is not 0 becomes 0, above a node."""
    todo, seen = [node.id], {node.id}
    for here in todo:  # grows while it is read
        for edge in case.uses[here]:
            arrives = case.nodes[edge.target].grad.arrived
            if arrives is not None and not has_only(arrives, 0.0):
                yield edge
            elif edge.target not in seen:
                seen.add(edge.target)
                todo.append(edge.target)


def is_alike(node: Node) -> bool:
    """Return whether an operation that mixes its elements hands on 0 since all that comes to it is the same."""
    arrives = node.grad.arrived
    if not node.label.startswith(MIXES) or arrives is None:
        return False
    return arrives.elements is None or len({*arrives.elements}) == 1 or not node.label.startswith("Softmax")


def cut_text(case: Diagnosis, edge: Edge) -> str:
    """Return why a gradient becomes 0 at an operation."""
    source, target = case.nodes[edge.source], case.nodes[edge.target]
    sign, name = sign_in_program(target), case.name_of(source)
    place = f" in {target.place}" if target.place is not None else ""
    if is_alike(target):
        return f"{sign}{place} hands on 0 to {name}: what comes to it cancels out there"
    negatives = positions(source.value, lambda number: number < 0) if sign in ("relu", "threshold") else []
    if negatives and size_of(source.value):
        indices = [f"{''.join(f'[{i}]' for i in at)} = {number:.4g}" for at, number in negatives]
        examples = joined([f"{name if name != 'its input' else 'input'}{text}" for text in indices], MOST)
        return f"{sign}{place} has the derivative 0 at negative inputs ({examples})"
    if negatives:
        return f"{sign}{place} has the derivative 0 at a negative input ({name} = {negatives[0][1]:.4g})"
    padding = target.recorded.options.get("padding_idx", "-1")
    if sign == "embedding" and padding != "-1":
        return f"{sign}{place} was asked for nothing but padding (padding_idx={padding}), which gets no gradient"
    return f"the derivative of {sign}{place} for {name} is 0 here"


# ---------------------------------------------------------------- nan and inf
def cause_gradient_not_finite(case: Diagnosis, row: TensorRow) -> Cause:
    """Return the cause for a gradient with nan or inf: the operation that made the first one, forward or backward."""
    number = first_not_finite_number(row.grad.value)
    turning = [edge for edge in case.shown.edges if turns(case, edge)]
    edge = max(turning, key=lambda edge: case.nodes[edge.target].run, default=None)  # backward meets the last one first
    is_picked = edge is not None and all(map(is_finite, case.root_values)) and chooser(case, edge) is not None
    if not is_picked and (cause := cause_forward(case, row.name, f"{row.name}.grad is {number}")) is not None:
        return cause
    own = next((case.nodes[one.source] for one in case.shown.edges if is_given_to_own(case, one)), None)
    if edge is not None and is_own(case.nodes[edge.target]):
        own, edge = case.nodes[edge.target], None
    if edge is None and own is not None:
        what = f"{row.name}.grad is {number}: the backward of {own.label.removesuffix('Backward')} gives it"
        return Cause(row.name, "nan", what, case.line_of_node(own), "look at what its backward returns")
    if edge is None:
        what = f"{row.name}.grad is {number}, and where it began is not known"
        return Cause(row.name, "nan", what, case.line_of_backward)
    source, target, where = case.nodes[edge.source], case.nodes[edge.target], chooser(case, edge)
    sign, name, lines = sign_in_program(target), case.name_of(source), case.line_of_node(target)
    kind = "nan" if has_nan(edge.flow.local) else "inf"
    origin = (
        f"{sign} hands on {number}" if is_finite(edge.flow.local) else f"the derivative of {sign} for {name} is {kind}"
    )
    if where is None:
        away = MENDS_OF_SLOPE.get(sign, "clamp it")
        mend = f"keep the input of {sign} away from where its derivative is infinite: {away}"
        mend = with_operand(case, mend, source)
        if kind == "nan" and not is_finite(edge.flow.local):
            mend = f"keep the input of {sign} within its domain"
        if sign == "**" and edge.slot == 1:
            mend = "keep the base of ** above 0: the derivative for the exponent has its logarithm"
        return Cause(row.name, "nan", f"{row.name}.grad is {number}: {origin}, backward", lines, mend)
    what = (
        f"{row.name}.grad is {number}: {origin}, and where() picks the other side, "
        f"but 0 times {kind} is nan all the same"
    )
    inner = with_operand(case, "torch.where(condition, {x}, 1)", source)
    harmless = f"{sign}({inner})" if sign.isidentifier() else f"{inner} in place of {name}"
    mend = f"give {sign} a harmless input where it is not picked: {harmless}"
    return Cause(row.name, "nan", what, tuple(dict.fromkeys((*lines, *case.line_of_node(where)))), mend)


def is_given_to_own(case: Diagnosis, edge: Edge) -> bool:
    """Return whether a finite gradient comes to a Function of the program's own, which alone knows what it hands on."""
    return is_own(case.nodes[edge.source]) and edge.flow.handed is not None and is_finite(edge.flow.handed)


def chooser(case: Diagnosis, edge: Edge) -> Node | None:
    """Return the torch.where above an edge; None if there is none."""
    return next((node for node in case.above(case.nodes[edge.target]) if node.label == "WhereBackward0"), None)


def turns(case: Diagnosis, edge: Edge) -> bool:
    """Return whether a finite gradient is handed on as one that is not."""
    arrives = case.nodes[edge.target].grad.arrived
    return (
        arrives is not None and is_finite(arrives) and edge.flow.handed is not None and not is_finite(edge.flow.handed)
    )


def cause_not_finite(case: Diagnosis, row: TensorRow) -> Cause | None:
    """Return the cause for a tensor that is not finite itself; None for any other."""
    if row.value is None or is_finite(row.value):
        return None
    return cause_forward(case, row.name, f"{row.name} is {first_not_finite_number(row.value)}")


def first_not_finite(case: Diagnosis) -> set[str]:
    """Return the nodes at which nan or inf begin: what the program has put in, else the first operation."""
    inputs = [node for node in case.whole.nodes if node.kind != "operation" and not is_finite(node.value)]
    operations = [node for node in case.whole.nodes if node.kind == "operation" and makes_not_finite(case, node)]
    if case.root_row is not None and has_nan(case.root_row.value):  # an inf may be there on purpose: a mask
        inputs = [node for node in inputs if has_nan(node.value) or node.kind == "leaf"] or (
            [] if operations else inputs
        )
        operations = [node for node in operations if not node.label.startswith(PUT_IN)] or operations
    first = min(
        reversed(operations), key=lambda node: node.run, default=None
    )  # of one line, a user stands before what it uses
    return {node.id for node in inputs or (first,) if node is not None}


def makes_not_finite(case: Diagnosis, node: Node) -> bool:
    """Return whether an operation makes nan, or inf of finite inputs; values that are left out are finite."""
    if node.value is None or is_finite(node.value):
        return False
    inputs = [case.whole.by_id[edge.source] for edge in case.whole.inputs[node.id]]
    if node.value.has_nan:  # of an inf, such as a mask has
        return not any(has_nan(one.value) for one in inputs)
    return all(is_finite(one.value) for one in inputs)


def cause_forward(case: Diagnosis, name: str, what: str) -> Cause | None:
    """Return the cause that is the first nan or inf, forward: put in, or made by an operation.

    None if none is known.
    """
    if (spoiled := spoiled_row(case)) is not None:
        return cause_spoiled(case, name, what, spoiled)
    nodes = [case.whole.by_id[one] for one in sorted(first_not_finite(case))]
    first = next((node for node in nodes if node.name == name), nodes[0] if nodes else None)
    if first is None:
        return None
    if first.kind != "operation":
        row = case.rows.get(first.name or "")
        lines = case.line_of(row.history.written or row.place) if row is not None else ()
        if case.graph.earlier and first.kind == "leaf":
            what = f"{what}: {first.name} was not finite any more when this backward began"
            return cause_written_not_finite(case, Cause(name, "nan", what, lines), row)
        calls = dict.fromkeys(re.findall(r"\.(\w+)\(", case.code_of(lines)))
        mend = "; ".join(["look at the data", *(MENDS_OF_NAN[call] for call in calls if call in MENDS_OF_NAN)])
        return Cause(name, "nan", f"{what}: {first.name} is not finite itself", lines, mend)
    sign = sign_in_program(first)
    is_plain = sign in ("+", "-", "*", "@", "sum", "mean", "addmm") or not has_nan(first.value)  # it is too large
    general = GIVEN if is_plain else f"keep the input of {sign} within its domain"
    mend = MENDS_OF_NAN.get(sign, GROWN if case.graph.earlier and has_grown(case) else general)
    inputs = case.whole.inputs[first.id]
    mend = with_operand(case, mend, case.whole.by_id[inputs[0].source] if inputs else None)
    return Cause(name, "nan", f"{what}: {sign} makes the first of them, forward", case.line_of_node(first), mend)


def cause_written_not_finite(case: Diagnosis, cause: Cause, row: TensorRow | None) -> Cause:
    """Return the cause for a leaf that was not finite when a backward began, with the line that wrote it last."""
    if row is None or row.history.written is None:
        return cause._replace(what=f"{cause.what}, and what has written it is not known")
    code = cause.lines[0][1] if cause.lines else ""
    is_update = ".step(" in code or ".grad" in code
    mend = GROWN if has_grown(case) else "look at the options of the optimizer, such as its learning rate"
    mend = mend if is_update else "write finite numbers there"
    return cause._replace(what=f"{cause.what}, and was written last by this line", mend=mend)


def has_grown(case: Diagnosis) -> bool:
    """Return whether the leaves have become much larger since their first gradients came."""
    norms = [(row.history.first_norm, row.at_backward()[0].norm) for row in case.rows.values()]
    known = [(first, now) for first, now in norms if first is not None and math.isfinite(first + now)]
    before, now = (math.hypot(*side) for side in zip(*known, strict=True)) if known else (0.0, 0.0)
    return now > MUCH * max(before, 1.0)


def first_not_finite_number(value: Numbers | None) -> str:
    """Return the first of the numbers that is not finite."""
    return value.not_finite if value is not None else ""


def has_nan(value: Numbers | None) -> bool:
    """Return whether one of the numbers is nan."""
    return value is not None and value.has_nan
