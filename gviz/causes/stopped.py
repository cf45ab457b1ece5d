"""Why there is no gradient, or a spoiled one: the program stopped with an error."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import lru_cache

from gviz.causes import fixes
from gviz.causes.assignments import assigned_pairs, line_numbers, own_parts
from gviz.causes.cuts import cuts_to_blame, detached_in, detached_values
from gviz.causes.diagnosis import (
    NO_GRAPH,
    NOT_SCALAR,
    SECOND,
    Cause,
    Diagnosis,
    Lines,
    at_line,
    first_true,
    in_code,
    sign_in_program,
)
from gviz.causes.facts import TensorFacts
from gviz.causes.fixes import named_in
from gviz.causes.missing import GRADIENT, SEVERAL, beside_root, is_computed, never_required, outside
from gviz.causes.not_finite import SINGULAR
from gviz.causes.syntax import calls_of, last_name, parse, statements, statements_at
from gviz.graphs import LOST, Edge, GraphCut, Node, Place, Stop, TensorRow
from gviz.reaching import reached
from gviz.reference.error_help import help_in
from gviz.text import joined
from gviz.walk import INPLACE

LEAF_WRITTEN = "a leaf Variable that requires grad"
"""PyTorch's words."""

WRITE_ANEW = "write the result into a new tensor; of a layer, leave out inplace=True"
"""What to do about a write where no line is known that would do without."""

_MAKER = re.compile(r"which is output \d+ of (?:\w+::)*(\w+)")


def is_about(facts: TensorFacts) -> bool:
    """Return whether the error spoils a gradient that is there, or is about its tensor."""
    stop, name = facts.case.stop, re.escape(facts.name)
    if stop is None or not facts.row.is_leaf:
        return False
    if facts.case.graph.failure is not None:
        return is_behind_failure(facts)
    is_live = not facts.case.graph.code and facts.is_leaf_of_graph  # the error is that of its backward
    is_named = LEAF_WRITTEN in stop.message and (
        re.search(rf"\b{name}\b", stop.code) is not None or facts.name in names_in_loop(facts.case, stop)
    )
    return is_live or is_named or SECOND in stop.message or INPLACE in stop.message


@lru_cache(maxsize=1)  # all tensors of a graph ask the same
def names_in_loop(case: Diagnosis, stop: Stop) -> list[str]:
    """Return the tensors of which a loop has given one the name that the line writes: of a module, or of a list."""
    written = {fixes.written_in(one) or (fixes.targets_of(one) or [""])[0] for one in statements(stop.code)}
    loops = [one for one in case.assignments.lines if isinstance(one, ast.For) and ast.unparse(one.target) in written]
    names = [fixes.base_of(one.iter) for one in loops]
    return [
        row.name
        for row in case.rows.values()
        if row.is_leaf and row.requires_grad and any(row.name.startswith((f"{name}.", f"{name}[")) for name in names)
    ]


def is_behind_failure(facts: TensorFacts) -> bool:
    """Return whether what the last backward failed on is made from a leaf, be it that the leaf was cut off."""
    case, failure = facts.case, facts.case.graph.failure
    if failure is not None and NO_GRAPH not in failure.message:
        return case.is_reached(facts.row)
    is_never_required = not facts.row.requires_grad and is_without_graph(case)
    is_read = (leaf := gradient_read(case)) is not None and leaf.name == facts.name
    return is_never_required or is_read or any(facts.name in cut.leaves for cut in case.graph.breaks if cut.is_used)


@lru_cache(maxsize=1)  # all tensors of a graph ask the same
def ways_lost(case: Diagnosis) -> dict[object, TensorFacts]:
    """Return what keeps leaves out of a root without a graph, each with one that no other call has brought gradients.

    That is the places of cuts, or that what an optimizer has requires no gradient; of two, nothing tells which the root
    is to train.
    """
    leaves = (TensorFacts(case, row) for row in case.rows.values() if row.is_leaf)
    return {
        one.is_frozen_in_optimizer or tuple(cut.place for cut in one.cuts): one
        for one in leaves
        if not one.is_of_other_call
        and (
            one.is_frozen_in_optimizer
            or (one.row.requires_grad and (one.cuts or (one.history.is_optimized and one.last_cut)))
        )
    }


@lru_cache(maxsize=1)  # all tensors of a graph ask the same
def is_without_graph(case: Diagnosis) -> bool:
    """Return whether backward was called on what nothing that requires a gradient is in."""
    is_cut = any(row.broken is not None and row.broken.reason != "frozen" for row in case.graph.tensors) or any(
        cuts_to_blame(case, row) for row in case.rows.values() if row.requires_grad
    )
    return case.stop is not None and NO_GRAPH in case.stop.message and not is_cut


def is_frozen_for_root(facts: TensorFacts) -> bool:
    """Return whether backward failed since nothing requires a gradient, and a tensor is one of those that may be meant.

    Such is what an optimizer has, and a root that no call tells to be cut off. Where the program has frozen some that
    the root is made from, or has others to train, those that never required one are its data.
    """
    case, stop = facts.case, facts.case.stop
    is_root = facts.own_cut is None and facts.row is case.rows.get(named_in(case.code_of(case.line_of_stop)))
    is_number = "float" in facts.row.dtype or "complex" in facts.row.dtype  # and not an integer, which can have none
    is_meant = (
        (facts.row.is_leaf and is_number)
        and is_without_graph(case)
        and (facts.name in case.frozen or not (case.frozen or beside_data(case)))
    )
    return stop is not None and NO_GRAPH in stop.message and (facts.is_frozen_in_optimizer or is_root or is_meant)


@lru_cache(maxsize=1)  # all tensors of a graph ask the same
def beside_data(case: Diagnosis) -> list[TensorFacts]:
    """Return the leaves that require a gradient; none where a frozen one, or what a backward has left, may be meant."""
    leaves = [TensorFacts(case, row) for row in case.rows.values() if row.is_leaf]
    has_meant = case.frozen or any(one.history.is_optimized for one in leaves if not one.row.requires_grad)
    return [] if has_meant or gradient_read(case) else [one for one in leaves if one.row.requires_grad]


def stopped(facts: TensorFacts) -> Cause | None:
    """Return the cause for a program that raised before the gradient could come; None if that was of no matter."""
    stop, failure, is_over = facts.case.stop, facts.case.graph.failure, facts.case.graph.stop is not None
    is_other = (  # a backward on the root asked about has run, and this is another one
        stop is not None and facts.case.graph.backward is not None and ".backward(" in stop.code
    )
    is_behind = facts.is_leaf_of_graph or bool(facts.case.graph.code) or stop is None or NO_GRAPH in stop.message
    is_elsewhere = (
        is_other or not is_behind  # of tensors without a program, the error is that of the backward of their graph
        if failure is None
        else facts.is_of_other_call and bool(ways_lost(facts.case))
        if NO_GRAPH in failure.message
        else not facts.case.is_reached(facts.row)
    )
    if stop is None or is_elsewhere or not (is_over or is_behind_failure(facts)):
        return None
    cause = next((one for words, one in ANSWERS.items() if words in stop.message), other_error)(facts, stop)
    if cause is None or failure is None:
        return cause
    caught = "" if is_over else ". The program caught the error, and went on"
    left = first_true(
        (facts.grad is None, ""),
        (NO_GRAPH in stop.message or facts.before == facts.grad, "of an earlier backward"),
        (facts.before is None, "what had come to it until then"),
        (True, ""),
    )
    return cause._replace(what=cause.what + caught + f". {facts.name}.grad is {left}" * bool(left))


def other_error(facts: TensorFacts, stop: Stop) -> Cause | None:
    """Return the cause for an error that is not about gradients; None if it came after the backward."""
    case, message = facts.case, stop.message
    if case.graph.failure is None and ".backward(" not in stop.code and is_past_backward(facts, stop):
        return None
    hooks = facts.node.grad.hooks if facts.node is not None and " hooks " in message else ()
    whole = message.partition(": ")[2].split()
    words = next((part for part in (" ".join(whole[:8]), " ".join(whole)) if help_in(part) is not None), "")
    mend = first_true(
        (stop.mend, stop.mend),
        ("singular" in message and "LinAlgError" in message, SINGULAR.format(x="matrix")),
        (words, f'gviz explain "{words}" says what helps'),
        (
            "grad" in stop.code and ("NoneType" in message or "nested_tensorlist" in message),
            "see first why the gradient that it takes is None",
        ),
        (True, f"mend {'this line' if stop.place is not None else 'that'} first"),
    )
    return facts.cause(
        "failed",
        f"{'the program stopped' if case.graph.stop is not None else 'backward failed'}: {message}",
        (
            *case.line_of_stop,
            *(case.line_of_backward if case.graph.failure is not None else ()),
            *(line for one in hooks for line in case.line_of(one.place)),
        ),
        mend,
    )


def returned_wrongly(facts: TensorFacts, stop: Stop) -> Cause:
    """Return the cause for what the backward of a Function of the program's own returns, and autograd refuses."""
    label, words = re.findall(r"(\w+) returned (.*)", stop.message, re.DOTALL)[0]
    numbers = re.findall(r"\[[\d, ]*\]|\d+", words)
    mend = first_true(
        ("number of" in words, f"return {numbers[0]}: one for each argument of forward() after ctx, be it None"),
        ("position" in words, f"return None at position {numbers[0]}: that argument of forward() is no tensor"),
        (
            "shape" in words,
            f"return there one of shape {numbers[-1]}: of what forward() has broadcast, the sum_to_size()",
        ),
        (True, "return there what it expects"),
    )
    return facts.cause(
        "failed",
        f"backward failed: that of {label.removesuffix('Backward')} has returned {words}",
        (*facts.case.line_of_own(label), *facts.case.line_of_stop),
        mend,
    )


def is_past_backward(facts: TensorFacts, stop: Stop) -> bool:
    """Return whether an error came after the backward that was to bring a leaf its gradient, as far as that is known.

    A call of ``autograd.grad`` is none that was, if the program calls ``backward()``; and a backward on another root may
    have been to come to what the last one did not, unless the line reads its gradient.
    """
    case, history, owners = facts.case, facts.history, facts.name.split(".")[:-1] or [facts.name]
    is_reading = GRADIENT.search(stop.code) is not None or "clip_grad" in stop.code
    is_read = is_reading and not {*owners}.isdisjoint(re.findall(r"\w+", stop.code))
    is_of_grad = ".backward(" in case.text and "backward" not in case.code_of(case.line_of_backward)
    is_met = history.arrivals or not history.is_optimized or case.is_reached(facts.row)
    return case.graph.backward is not None and bool(is_read or (is_met and not is_of_grad))


def leaf_written(facts: TensorFacts, stop: Stop) -> Cause:
    """Return the cause for a leaf that was to be written in place."""
    case, code = facts.case, stop.code
    leaves = [node for name, node in case.named.items() if name in code and re.search(rf"\b{re.escape(name)}\b", code)]
    is_needed = case.graph.backward is None and any(case.uses[node.id] for node in leaves)  # as it was, by backward
    better = fixes.out_of_place(code) if is_needed else ""
    is_variable = better != "" and "." not in fixes.assigned_in(better)[0]  # and no parameter of a module
    target, under = next(map(fixes.written_in, statements(code)), ""), f"with torch.no_grad(): {code}"
    called = {last_name(one) for part in statements(code) for one in ast.walk(part) if isinstance(one, ast.Call)}
    own = called & {one.lstrip(".") for one in case.assignments.functions}  # of which nothing tells what they give
    taken = [
        row.name
        for row in (facts.row, *case.rows.values())
        if row.requires_grad
        and row.name != target
        and (
            called & {*row.name.split(".")[:-1]}
            or (row.name in code and re.search(rf"(?<![\w.]){re.escape(row.name)}\b(?!\.(grad|data|detach))", code))
        )
    ]
    anew = f"make {target} without requires_grad, if it is to hold what is computed" + "".join(
        f" from {one}" for one in taken[:1]
    )
    is_of_loop = any(target in fixes.targets_of(one) for one in case.assignments.lines if isinstance(one, ast.For))
    mend = first_true(
        (is_variable, f"{better}; with another name for the result, if {target}.grad is to be read"),
        (is_of_loop, under),  # over parameters, as a moving average is written
        (not target, WRITE_ANEW),
        (taken, anew),
        (own, f"{anew}; else {under}"),
        (True, under),
    )
    return facts.cause(
        "failed",
        "the program stopped: a leaf that requires a gradient cannot be written in place while operations are recorded",
        case.line_of_stop,
        mend,
    )


def asked_in_vain(facts: TensorFacts, stop: Stop) -> Cause:
    """Return the cause for ``autograd.grad`` that is asked for a tensor which its root is not made from."""
    case, asked, at = facts.case, fixes.asked_in(stop.code), re.search(r"at index (\d+)", stop.message)
    index, root = int(at[1]) if at is not None else 0, named_in(stop.code) or "the root"
    names = (*asked[index : index + 1], *(f"{one}[{index}]" for one in asked[:1]))
    row = next((case.rows[name] for name in names if name in case.rows), None)
    name = names[0] if index or row else "a tensor that this call of autograd.grad() takes"  # x may be a list
    what, lines, mend = f"{root} is not made from {name}", Lines(), ""
    # a root may be cut off from what others are made from
    if row is not None and not any(row.name in one.leaves for one in case.rows.values()):
        what, lines, mend = beside_root(TensorFacts(case, row), set(), root)
    return facts.cause("failed", f"the program stopped: {what}", (*case.line_of_stop, *lines), mend)


def asked_of_none(facts: TensorFacts, stop: Stop) -> Cause:
    """Return the cause for ``autograd.grad`` that is asked for the gradient of a tensor which requires none."""
    case = facts.case
    names = [name for name in fixes.asked_in(stop.code) if name in case.rows and not case.rows[name].requires_grad]
    lines = (line for name in names for line in case.line_of(case.rows[name].place))
    calls = ", ".join(f"{name}.requires_grad_()" for name in names) or "requires_grad_()"
    return facts.cause(
        "failed",
        f"the program stopped: {joined(names) or 'a tensor'} in this call of autograd.grad() requires no gradient",
        (*case.line_of_stop, *lines),
        f"{calls} where {'it is' if len(names) < 2 else 'they are'} made, before anything is computed of it",
    )


def without_derivative(facts: TensorFacts, stop: Stop) -> Cause:
    """Return the cause for an operation that PyTorch has no derivative of."""
    case, match = facts.case, re.search(r"derivative for (?:aten::)?(\w+)", stop.message)
    name = match[1] if match is not None else "an operation"
    lines = case.line_of_node(next((node for node in case.shown.nodes if node.label == "NotImplemented"), None))
    return facts.cause(
        "failed",
        f"backward did not run: {name} has no derivative",
        (*case.line_of_stop, *lines),
        f"compute the loss from something that changes smoothly; or, for a number alone, detach() what {name} takes",
    )


def not_scalar(facts: TensorFacts, _: Stop) -> Cause:
    """Return the cause for a root of several elements."""
    case, code = facts.case, facts.case.code_of(facts.case.line_of_stop)
    root = next(map(ast.unparse, fixes.roots_in(parse(code))), case.root_name)
    return facts.cause(
        "failed",
        f"backward did not run: {root} {SEVERAL}",
        case.line_of_stop,
        fixes.summed(code) or case.call_of_backward,
    )


@lru_cache(maxsize=1)  # all tensors of a graph ask the same
def gradient_read(case: Diagnosis) -> TensorRow | None:
    """Return the leaf whose ``.grad`` is what a backward found without a graph, or in what that is computed of."""
    if case.stop is None or NO_GRAPH not in case.stop.message:
        return None
    ends, roots = {place.line for place, _ in case.line_of_stop}, fixes.roots_in(parse(case.stop.code))
    read = {
        ast.unparse(node.value)
        for one in case.assignments.lines
        for node in own_parts(one)
        if isinstance(node, ast.Attribute) and fixes.is_gradient(node)
        if one.lineno in ends
        or not {*map(ast.unparse, roots)}.isdisjoint(fixes.targets_of(one))
        or (not case.graph.breaks and any(step.is_result for step in case.assignments.way(one, node, ends, ends)))
    }
    brought = [row for row in case.graph.tensors if row.history.brought]
    named = [row for row in brought if in_code(row.name) in read]
    return next(iter(named or (brought if read - case.rows.keys() else [])), None)  # p of a loop may be any


def of_gradient(facts: TensorFacts, stop: Stop, leaf: TensorRow) -> Cause | None:
    """Return the cause for a root that is the gradient of a leaf, or computed of it; None for what it is not about."""
    case, lines = facts.case, facts.case.line_of(leaf.history.brought)
    is_for_it = facts.history.is_optimized and facts.grad is None
    if facts.name not in (leaf.name, *map(ast.unparse, fixes.roots_in(parse(stop.code)))) and not is_for_it:
        return None
    grad = f"{in_code(leaf.name)}.grad"
    better = fixes.with_keyword(case.code_of(lines), ("backward",), "create_graph", value=True) or "create_graph=True"
    added = f"; {grad} becomes the sum of both, which torch.autograd.grad() keeps apart"
    return facts.cause(
        "detached",
        f"backward did not run: {grad} has no graph, since the call that brought it was made without create_graph=True",
        (*case.line_of_stop, *lines),
        better + added * (".backward(" in stop.code),
    )


def without_graph(facts: TensorFacts, stop: Stop) -> Cause | None:
    """Return the cause for a root that has no graph; None for a leaf that this is of no matter for."""
    return of_gradient(facts, stop, leaf) if (leaf := gradient_read(facts.case)) else beside_cuts(facts, stop)


def beside_cuts(facts: TensorFacts, stop: Stop) -> Cause | None:
    """Return the cause for a root without a graph that is no gradient; None for a leaf of no matter for it."""
    case, root, name = facts.case, facts.case.rows.get(named_in(stop.code)), named_in(stop.code) or "the root"
    own, head = TensorFacts(case, root).own_cut if root else None, f"backward did not run: {name} has no graph; "
    others = (TensorFacts(case, one) for one in case.rows.values() if facts.row is root and one.requires_grad)
    behind = next((one for one in others if one.cuts), facts) if own is None else facts
    is_other = (  # nothing of it has come to what has cut off the root
        (facts.row is not root and facts.row.requires_grad and not facts.cuts)
        and (own is not None and bool(own.leaves) and facts.name not in own.leaves)
    )
    if (facts.cuts or is_other) and facts.row is not root and facts.history.is_optimized is False:
        return facts.cause(
            "not trained",
            f"{head}and no optimizer has {facts.name}",
            case.line_of_stop,
            "none, unless it is to be trained",
        )
    cause = None if root is None or facts.is_frozen_in_optimizer or is_other else outside(TensorFacts(case, root), head)
    if behind.cuts and not (is_within(facts, own) or facts.is_frozen_in_optimizer or facts.name in case.frozen):
        (lines, mend), what = behind.at_cuts, f"{head}{behind.clause_of_cuts}"
        cause = facts.cause(behind.cuts[0].reason, what, lines, mend)
    if cause is not None and cause.verdict != "frozen":
        ways = ways_lost(case)
        is_one_of_several = len(ways) > 1 and not all(
            one.row.requires_grad and is_within(one, own) for one in ways.values()
        )
        of_several = f"if {name} is to train {facts.name}: " * (is_one_of_several and facts.row is not root)
        return facts.cause(cause.verdict, cause.what, (*case.line_of_stop, *cause.lines), f"{of_several}{cause.mend}")
    if facts.row.requires_grad and facts.row is not root:
        if root is None and ".backward(" not in stop.code:  # but autograd.grad(), for which others may be meant
            return other_error(facts, stop)
        what, lines, mend = beside_root(facts, set(), name)
        return facts.cause("no path", f"{head}{what}", (*case.line_of_stop, *lines), mend)
    return never_required_root(facts, root, name)


def never_required_root(facts: TensorFacts, root: TensorRow | None, name: str) -> Cause | None:
    """Return the cause for a root of leaves that require no gradient; None for a leaf that it is not made from.

    What is asked about is to require one; of a root it is not known which of its leaves, if there are several. They are
    data, if there are others that require one.
    """
    case, own = facts.case, root.name if root is not None else ""
    behind, given = sources_of_stop(case)
    if facts.row is not root and facts.name not in (*behind, *case.frozen):
        return None
    leaves = [name for name in case.frozen or given if name != own]
    leaves = [facts.name] if facts.name in leaves else leaves
    leaf = TensorFacts(case, case.rows[leaves[0]]) if len(leaves) == 1 else None
    several = (
        "leave out of --frozen what is to have a gradient"
        if case.is_expression
        else f"make what is to have a gradient {'' if leaves else 'of floating-point numbers '}with requires_grad=True"
    ) + f": {joined(leaves, 3)}" * bool(leaves)
    better = (outside(leaf) or never_required(leaf)) if leaf is not None else Cause("", "", "", (), several)
    if beside := beside_data(case):
        better = Cause(name, "", *beside_root(beside[0], set(), name or "the root"))
    is_alone = facts.row is root or len(ways_lost(case)) < 2  # else others require one, and were cut off
    nothing = (
        f"nothing that {name if root else 'the root'} is made from"
        if is_alone
        else f"{name} has no graph, and {facts.name}"
    )
    what = f"backward did not run: {nothing} requires {'a' if is_alone else 'no'} gradient"
    return facts.cause(
        "frozen root",
        what,
        (*case.line_of_stop, *better.lines),
        f"if {name} is to train {facts.name}: " * (not is_alone) + better.mend,
    )


@lru_cache(maxsize=1)  # all tensors of a graph ask the same
def sources_of_stop(case: Diagnosis) -> tuple[list[str], list[str]]:
    """Return the tensors without a gradient that the line of the error is reached from; and which are no results."""
    rows = (one for one in case.rows.values() if one.is_leaf and "float" in one.dtype and not one.requires_grad)
    behind = {one.name: one for one in rows if is_behind_stop(case, one)}
    facts = [TensorFacts(case, one) for one in behind.values() if not (case.is_expression and one.place is not None)]
    return [*behind], [one.name for one in facts if not is_computed(one, behind.keys())]


def is_behind_stop(case: Diagnosis, row: TensorRow) -> bool:
    """Return whether the text of the program leads from the line that makes a tensor to the one that stopped it."""
    number, ends = case.line_in_text(case.line_of(row.place)), {place.line for place, _ in case.line_of_stop}
    made = statements_at(case.graph.code, number)[-1:] if number else []
    pairs = [pair for one in made for pair in assigned_pairs(one)]
    values = [value for value, to in pairs if ast.unparse(to) == row.name] or [value for value, _ in pairs]
    return not made or any(case.assignments.way(made[0], value, ends, set()) for value in values)


def is_within(facts: TensorFacts, own: GraphCut | None) -> bool:
    """Return whether all that cuts a leaf off comes into what has cut off the root itself."""
    return own is not None and all(facts.name in own.leaves or is_inside(facts.case, cut, own) for cut in facts.cuts)


def is_inside(case: Diagnosis, cut: GraphCut, other: GraphCut) -> bool:
    """Return whether what a cut has left comes into another one, which cuts off other leaves as well.

    It comes into its expression, or to where gradients are switched off.
    """
    begin, end = (other.span[:2], other.span[2:]) if other.span is not None and other.leaves else ((0, 0), (0, 0))
    return (bool(other.leaves) and other.reason == "no_grad") or any(
        begin <= one.span[:2] and one.span[2:] <= end for one in case.chain_of(cut) if one.span
    )


def second_backward(facts: TensorFacts, _: Stop) -> Cause:
    """Return the cause for a backward through a graph that an earlier one has freed."""
    what, lines, mend = freed_before(facts.case, facts.name)
    return facts.cause("second backward", what, (*facts.case.line_of_stop, *lines), mend)


def freed_before(case: Diagnosis, name: str) -> tuple[str, Lines, str]:
    """Return what has freed a graph that backward was to go through, its lines, and the mend.

    Args:
        case: the graph.
        name: of the tensor that is asked about.
    """
    links, called = links_of(case), named_in(case.code_of(case.line_of_stop))
    asked = (one.history.autograd_grad for one in case.graph.tensors if case.is_reached(one))
    asked_at = next(filter(None, asked), None)
    if asked_at and not case.graph.earlier_runs:
        return (
            "torch.autograd.grad went through this graph before, and freed it",
            case.line_of(asked_at),
            "torch.autograd.grad(..., create_graph=True) if its result is in the loss, else retain_graph=True",
        )
    if links and not has_had_backward(case):
        return linked(case)
    if not case.graph.code:
        return (
            f"the backward of another root went through a part of {case.root_name}'s graph, and freed it",
            (),
            "add the two and call backward() once, or call the first with backward(retain_graph=True)",
        )
    if called not in ("", case.root):  # another root is asked about
        return (
            f"{called}.backward() went on into a graph that an earlier one had freed",
            (),
            f"gviz why SOURCE {name} --root {called} tells what links the two",
        )
    is_same = any(one.history.brought == place for one in case.graph.tensors for place, _ in case.line_of_stop)
    return (
        "backward ran twice through the same graph, and the first time freed it",
        (),
        f"compute {case.root_name} anew before each backward()"
        if is_same or has_stepped(case, case.shown.roots)
        else "call it once, or the first time with backward(retain_graph=True)",
    )


def has_stepped(case: Diagnosis, ends: Iterable[str]) -> bool:
    """Return whether leaves behind some nodes were written since, so that to keep their graph may be of no use."""
    below = reached(ends, lambda one: [edge.source for edge in case.shown.inputs[one]])
    return any(
        case.rows[name].history.is_updated for name in case.rows.keys() & {case.nodes[one].name for one in below}
    )


def has_had_backward(case: Diagnosis) -> bool:
    """Return whether the backward before the last one was called on the root, as its name and its age tell."""
    name, root = named_in(case.code_of(case.line_of_stop)), case.nodes[case.shown.roots[0]]
    return 0 < root.run <= max(case.graph.earlier_runs, default=0) and name != "" and name in names_called(case)


def names_called(case: Diagnosis) -> set[str]:
    """Return the names that backward was called on when it brought the gradients that are there."""
    return {named_in(case.code_of(case.line_of(one))) for one in {row.history.brought for row in case.graph.tensors}}


@lru_cache(maxsize=1)  # all tensors of a graph ask the same
def linked(case: Diagnosis) -> tuple[str, Lines, str]:
    """Return what is said of two graphs that are linked, the lines of the link, and the mend."""
    links = links_of(case)
    sources, user_lines = [case.nodes[one.source] for one in links], case.line_of_node(case.nodes[links[0].target])
    lines = tuple(dict.fromkeys(line for one in sources for line in case.line_of_node(one)))[:3]
    carried = carried_over(case, sources[0], case.nodes[links[0].target])
    at, code = (
        f", made in {joined(str(place) for place, _ in lines)}," if lines else "",
        case.code_of(case.line_of_stop),
    )
    made = (
        " or ".join(fixes.assigned_in(case.code_of(case.line_of_node(one)))) or case.name_of(one) for one in sources
    )
    names = [name for name, _, _ in carried] or [*dict.fromkeys(made)][::-1]
    what = (
        f"backward went on into a graph that an earlier one had freed: {joined(names, 3)}{at}"
        f" {'links' if len(names) == 1 else 'link'} the two"
    )
    sums = re.fullmatch(r"([\w.]+) (?:\+=|= \1 \+) ([\w.]+)", case.code_of(user_lines))
    if sums is not None and sums[1] == named_in(code):  # a sum that may begin as a number
        return what, (*lines, *user_lines), f"call backward() on {sums[2]}, and add {sums[2]}.item() to {sums[1]}"
    if carried:
        again = [name for name, _, mend in carried if not mend]
        mends = list(dict.fromkeys(mend for _, _, mend in carried if mend))
        to, used = ", ".join(again), "it is used again" if len(again) == 1 else "they are used again"
        mends += [f"{to} = {detached_values(case, again)} before {used}"] * bool(again)
        return what, (*lines, *user_lines, *(line for _, more, _ in carried for line in more)), "; and ".join(mends)
    if any(at_line(node) == at_line(sources[0]) and node.run > sources[0].run for node in case.shown.nodes):
        return (
            what,
            (*lines, *user_lines),
            f"detach in {user_lines[0][0] if user_lines else 'the next run'} what is left of the run before",
        )
    owners = [name for name in names if name in names_called(case) and name != named_in(code)]
    if owners and (last := fixes.roots_in(parse(code))):
        return what, lines, f"call backward() on {owners[0]} or on {ast.unparse(last[0])}, and not on both"
    own = {*case.rows[names[0]].leaves} if len(names) == 1 and names[0] in case.rows else set()
    earlier = {
        one for one in names_called(case) & case.rows.keys() - {case.root} if {*case.rows[one].leaves} > own > set()
    }
    if earlier and any(case.rows[one].history.steps for one in own & case.rows.keys()):
        earlier = {named_in(code)}  # the earlier root is to train it, and this one others
    written = [detached_in(case, names[0], one) for one in sorted(earlier)]
    detached, before = first_true(
        (any(written), (f"write {'; and '.join(filter(None, written))}, if it is to be a constant there", "the one")),
        (len(names) == 1, (f"take {names[0]}.detach() if it is to be a constant", "the one")),
        (True, ("take detach() of each if they are to be a constant", "those")),
    )
    steps = {ast.unparse(call.func) for one in case.assignments.lines for call in calls_of(one, "step")}
    freed = {one.source for one in links}
    is_all = not any(  # no graph is left without what was freed
        case.nodes[one].kind == "leaf"
        for one in reached(
            case.shown.roots, lambda one: [way.source for way in case.shown.inputs[one] if way.source not in freed]
        )
    )
    return (
        what,
        lines,
        (
            f"compute {joined(names, 3)} anew before each backward()"
            f"{f', or {detached}' * (any(written) or not is_all)}"
            f"{f'; or give {before} before retain_graph=True' * (not has_stepped(case, freed))}"
            f"{'; or call backward() once, on the sum of the losses' * (len(steps) < 2)}"  # of two, one clears for both
        ),
    )


def carried_over(case: Diagnosis, freed: Node, user: Node) -> list[tuple[str, Lines, str]]:
    """Return the tensors that the line of an operation takes from its run before.

    Args:
        case: the graph.
        freed: what it takes of a graph that was freed: no tensor is that one whose line ran for the last time before.
        user: the operation.

    Returns:
        of each its name, the line that keeps it, and, if it is another line, that with the tensor out of its graph; of a
        leaf that an optimizer has, what writes into it.
    """
    number, found = case.line_in_text(case.line_of_node(user)), dict[str, tuple[str, Lines, str]]()
    carried = [*case.assignments.carried_into(number)] if number else []
    at_stop = {id(one) for one in statements_at(case.graph.code, case.line_in_text(case.line_of_stop))}
    own = [one for one in carried if id(case.assignments.lines[one[1]].function) in at_stop] or [
        one
        for one in carried
        if isinstance(one[0], ast.Attribute)  # and no variable of a call that has ended
    ]
    for node, statement, value in own or carried:  # what one backward() leaves to the next one is kept around it
        name, lines = ast.unparse(node), case.line_of(Place(statement.lineno))
        has_graph = any(  # a leaf that is written in place links nothing
            row.name.partition("[")[0].rpartition(".")[2] == last_name(node) and not row.is_leaf
            for row in case.rows.values()
        )
        own_lines = line_numbers(statement)
        runs = [one.run for one in case.shown.nodes if case.line_in_text(case.line_of_node(one)) in own_lines]
        is_it = freed.run <= max([run for run in runs if run < user.run], default=freed.run)
        better = first_true(
            (
                isinstance(statement, ast.Expr)  # which writes what a loop is over, such as parameters
                and any(name in fixes.targets_of(one) for one in case.assignments.lines if isinstance(one, ast.For)),
                f"with torch.no_grad(): {ast.unparse(statement)}",
            ),
            (number in own_lines, ""),
            (name == named_in(case.code_of(case.line_of_stop)), ""),  # this backward() needs the graph of it
            (True, fixes.detaching([statement], {value}.__contains__)),
        )
        if fixes.targets_of(statement) == [name] and any(
            one in (case.nodes[edge.source].name for edge in case.shown.inputs[freed.id])
            or fixes.may_be(name, re.sub(r"^leaf of | \(1st\)$", "", one))
            for one in case.optimized
            if " " in one
        ):
            better = f"with torch.no_grad(): {name}.copy_({ast.unparse(value)})"  # the optimizer has the leaf
        if is_it and (has_graph or not case.rows):
            found[name] = name, lines, better
    return [*found.values()]


def links_of(case: Diagnosis) -> list[Edge]:
    """Return the edges at which a backward comes to operations that an earlier one had freed, the last first.

    They had run when one was called that came after the operation at which this one stopped, and what uses them had
    not; if all of it had, they are where nothing flows.
    """
    nodes, flowing = case.nodes, [edge for edge in case.shown.edges if edge.flow.handed is not None]
    targets = {edge.target for edge in flowing}
    last = [edge for edge in flowing if nodes[edge.source].kind == "operation" and edge.source not in targets]
    called = next((at for at in case.graph.earlier_runs if all(nodes[one.source].run <= at for one in last)), 0)
    old = {node.id for node in nodes.values() if node.kind == "operation" and 0 < node.run <= called}
    links = [edge for edge in case.shown.edges if edge.source in old and edge.target not in old] or last
    freed = [
        link
        for link in links
        if any(
            nodes[one].state in LOST
            for one in reached([link.source], lambda one: [edge.source for edge in case.shown.inputs[one]])
        )
    ]
    return sorted(freed or links, key=lambda edge: -nodes[edge.source].run)  # others go into graphs that nobody freed


def written_after_saving(facts: TensorFacts, stop: Stop) -> Cause:
    """Return the cause for a tensor that was written after an operation had saved it."""
    case, saver = facts.case, saver_of_written(facts.case, stop)
    writes = tuple(line for place, _ in case.graph.writes[:1] for line in case.line_of(place))
    by = f" by {sign_in_program(saver)}" if saver is not None else ""
    what = f"backward did not run to its end: a tensor that was saved{by} for backward was written in place afterwards"
    code, made = case.code_of(writes), fixes.assigned_in(case.code_of(case.line_of_node(saver)))
    others = "" if case.root_name in made else ", with all that it is computed from"  # as that may have saved it, too
    again = f"compute {case.root_name} again after that{others}{f', such as {made[0]}' if made and others else ''}"
    mend = (
        f"call each backward() before step(), if step() is to use its gradient; else {again}"
        if ".step(" in code
        else into_new_tensor(case, code)
    )
    is_made = (maker := _MAKER.search(stop.message)) is not None and (
        maker[1] not in ("AsStrided", "AsStridedBackward0", "TBackward0", "T")  # as the transpose of a leaf may be
    )
    leaf = "" if writes or saver is None or is_made else written_leaf(case, saver, shape_in(stop))
    if leaf:
        what = f"backward did not run to its end: {leaf} was written in place after it had been saved{by} for backward"
        mend = f"call backward() before {leaf} is written, as by step(); or {again}"
    links = links_of(case) if ".step(" in code and case.graph.earlier_runs else []
    if links and case.nodes[links[0].source].run <= max(case.graph.earlier_runs) < case.nodes[links[0].target].run:
        # what is of an earlier run was computed with weights that have been stepped since
        mend = linked(case)[2].partition("; or ")[0]
    lines, meant = (*case.line_of_stop, *case.line_of_node(saver), *writes), ""
    if not is_made and not case.graph.code and facts.grad is not None:  # an update, of which nothing tells when it was
        meant = f"if backward() ran on {case.root_name} before the write, as of step(): ask before that"
        mend = f"call backward() before the write; or {again}"
    return facts.cause("written in place", what, lines, mend, meant)


def into_new_tensor(case: Diagnosis, code: str) -> str:
    """Return a write in place as one into a new tensor; in words where another tensor would keep its old numbers."""
    better = fixes.out_of_place(code)
    names, places = fixes.assigned_in(better), {place.without_run for place, _ in case.graph.writes[:1]}
    is_in_view = any(node.label == "CopySlices" and at_line(node) in places for node in case.shown.nodes)
    if is_in_view and names and ".clone()" not in better:
        return (
            f"{names[0]} is a view, and the tensor behind it is written, too: make a clone() of that before, and take"
            " the view of the clone()"
        )
    loops = (
        one
        for place in places
        for one in statements_at(case.graph.code, case.line_in_text(case.line_of(place)))
        if isinstance(one, ast.For) and not {*names}.isdisjoint(fixes.targets_of(one))
    )
    if loop := next(loops, None):  # which gives the name to another tensor in its next run
        new = ast.unparse(  # of several statements it is ""
            parse(f"[{better.partition(' = ')[2]} for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}]")
        )
        return (
            "put what the loop computes into a new list, where gradients are recorded, and use that in place of the old"
            f" tensors{': ' * bool(new)}{new}"
        )
    if any(
        row.is_leaf and row.requires_grad and fixes.may_be(name, row.name)
        for row in case.rows.values()
        for name in names
    ):
        return f"call backward() before {names[0]} is written; or compute the loss again after that"
    if any(one.startswith(f"{name}[") for name in names for one in case.rows):
        return WRITE_ANEW  # an item of a list, which has no clone()
    others = (
        f"; and {ast.unparse(to)} = {names[0]} after it, if both are to change"
        for one in case.assignments.lines
        for value, to in assigned_pairs(one)
        if isinstance(value, ast.Name) and value.id in names
    )
    return better + next(others, "") or WRITE_ANEW


def shape_in(stop: Stop) -> tuple[int, ...] | None:
    """Return the shape of the written tensor in PyTorch's message; None if it has none."""
    return (
        tuple(map(int, re.findall(r"\d+", sizes[1])))
        if (sizes := re.search(r"\[torch\.\w+ \[([\d, ]*)\]\]", stop.message))
        else None
    )


def written_leaf(case: Diagnosis, saver: Node, shape: tuple[int, ...] | None) -> str:
    """Return the leaf, or the transpose of one, that an operation has saved with this shape; "" if that is not sure."""
    names = []
    for edge in case.shown.inputs[saver.id]:
        node, own = case.nodes[edge.source], shape
        if node.label == "TBackward0" and shape is not None:
            node, own = case.nodes[case.shown.inputs[node.id][0].source], shape[::-1]
        names += [node.name if node.kind == "leaf" else None] if node.shape == own else []
    return names[0] or "" if len(names) == 1 else ""


def saver_of_written(case: Diagnosis, stop: Stop) -> Node | None:
    """Return the operation whose backward missed a tensor as it was; None where that is not known.

    It has made the tensor, or used it. What made it is what the writing operation took; where the write was not
    recorded, PyTorch's message names its class; at the least it gives its sizes.
    """
    nodes, edges = case.shown.nodes, case.shown.edges
    freed = {node.id for node in nodes if node.state in LOST and node.kind == "operation"}
    places = {place.without_run for place, _ in case.graph.writes[:1]}
    writers = {node.id for node in nodes if node.kind == "operation" and at_line(node) in places}
    match, shape = _MAKER.search(stop.message), shape_in(stop)
    sources = {edge.source for edge in edges if edge.target in writers}
    of_class = {
        node.id
        for node in nodes
        if match is not None and match[1] in (node.label, re.sub(r"Backward\d*$", "", node.label))
    }
    of_size = {node.id for node in nodes if shape is not None and node.shape == shape}
    for makers, is_certain in ((sources & of_class, True), (sources, True), (of_class, True), (of_size, False)):
        for ids in (makers, {edge.target for edge in edges if edge.source in makers}):
            if len(ids & freed) == 1 or (is_certain and ids & freed):  # backward failed at the last of them
                return min((case.nodes[one] for one in ids & freed), key=lambda node: node.run)
    return None


ANSWERS = {
    NO_GRAPH: without_graph,
    SECOND: second_backward,
    INPLACE: written_after_saving,
    LEAF_WRITTEN: leaf_written,
    NOT_SCALAR: not_scalar,
    "One of the differentiated Tensors does not require grad": asked_of_none,
    "appears to not have been used in the graph": asked_in_vain,
    "derivative for ": without_derivative,
    "Backward returned a": returned_wrongly,
    "' object has no attribute 'backward'": lambda facts, stop: (without_graph if facts.cuts else other_error)(
        facts, stop
    ),
}
"""What an error means, by PyTorch's words."""
