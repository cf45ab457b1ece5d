"""What cuts tensors off from the graph: which of the cuts are to blame, what they have done, and their mends."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gviz.causes import fixes
from gviz.causes.assignments import assigned_pairs, line_numbers
from gviz.causes.diagnosis import Diagnosis, Lines, first_true, in_code, is_own
from gviz.causes.syntax import (
    COPIERS,
    NUMPY_CALLS,
    calls_of,
    has,
    is_stored,
    last_name,
    parse,
    statements,
    statements_at,
)
from gviz.graphs import GraphCut, Place, TensorRow
from gviz.text import joined
from gviz.trace.switches import LIBRARY

CUT_SENTENCES = {
    "frozen": "{it} does not require a gradient any more",
    "detached": "{it} was cut off{source} by {by}",
    "no_grad": "{it} was made where gradients are switched off, by {switch}",
    "no derivative": "{by} has no derivative",
}
"""How a tensor left the graph, as a clause, by the reason of the cut."""

ANY_SWITCH = "torch.no_grad() or set_grad_enabled(False)"
"""What is said of a switch that is not known."""

CUT_MENDS = {
    "detached": "leave out {by}",
    "no_grad": "take the line, and what is computed from it there, out of {switch}",
    "inference": (
        "take the line, what is computed from it there, and what makes the tensors that it takes, out of {switch}"
    ),
    "": f"do it outside of {ANY_SWITCH}",
    LIBRARY: "call something that gradients flow through, or that is not under torch.no_grad() itself",
    "no derivative": (
        "compute the loss from something that changes smoothly, or let gradients through a choice:"
        " soft + (hard - soft).detach()"
    ),
}
"""What to write in place of a cut, by its reason, or by what has switched gradients off where there is no block."""

NUMPY = "compute it with torch: numpy keeps no graph"
"""What to do about numbers that numpy computes with."""

ONLY_PRINTED = re.compile(
    r"print\(|assert\b|(if|elif|while)\b|(log|logs|logger|logging|writer|wandb)\.|.*\.state_dict\("
)
"""A line that only prints numbers, logs or keeps them, or decides by them: no loss is computed from them there."""

DISCRETE = re.compile(
    r"\b(Bernoulli|Categorical|OneHotCategorical|Multinomial|Poisson|Geometric|(Negative)?Binomial)\("
)
"""Distributions whose samples no gradient goes through: they have no rsample()."""

MOST_CUTS = 6
"""Lines of an answer that cut off one leaf."""


def mend_of_cut(case: Diagnosis, cut: GraphCut) -> str:
    """Return what to write in place of an expression that cuts off what is made from a tensor."""
    lines = case.line_of(cut.place)
    code = case.code_of(lines)
    if keeps_graph(case, cut):
        own = next((node.label.removesuffix("Backward") for node in case.shown.nodes if is_own(node)), "")
        constant = "the derivative is a constant, through which no gradient flows: use another function"
        return f"let the backward of {own} compute with tensors of the graph: without detach()" if own else constant
    if cut.call == "grad":
        return fixes.with_keyword(code, fixes.DERIVATIVES, "create_graph", value=True) or "create_graph=True"
    if cut.reason == "frozen":
        return (fixes.requiring(code) or case.without(lines, "")) or (
            f"{joined(map(in_code, cut.leaves))}.requires_grad_() before it is used again"
        )
    made = fixes.assigned_in(code) if cut.reason == "no_grad" or cut.call == "detach" else []
    steps = (ast.unparse(one) for one in case.statements_of(cut) if has(one, fixes.is_gradient))  # to new tensors
    leaves = [fixes.as_leaf(one, name) for one in steps for name in made[:1]]
    if any(leaves) and "requires_grad_" not in code:
        return leaves[0]
    if cut.reason == "detached":
        return mend_of_detach(case, cut, code)
    roots = {ast.unparse(one) for one in fixes.roots_in(parse(case.stop.code))} if case.stop is not None else set()
    is_unknown, off = cut.reason == "no_grad" and cut.switch in ("", LIBRARY), lines_of_switch(case, cut)
    number = fixes.decorated_line(case.graph.code, case.line_in_text(lines), cut.switch)
    return first_true(
        (
            cut.reason == "no_grad" and asks_within(case, cut),
            (
                f"compute {joined(roots)} from {joined(fixes.asked_in(case.code_of(case.line_of_stop)))} on under"
                f" torch.enable_grad(), within {cut.switch}"
            ),
        ),
        (
            number,  # of all that the function computes, as a rollout for several passes does
            (
                f"compute it outside of {cut.switch}, which stands above its function in line {number},"
                " for each backward() anew"
            ),
        ),
        (
            off,
            (
                "put what is to run without gradients into a block under with torch.no_grad():"
                f" in place of {joined(str(place) for place, _ in off[:1])}, if that has left them off;"
                " or write torch.set_grad_enabled(True) after it"
            ),
        ),
        (
            is_unknown,
            (
                is_unknown
                and not DISCRETE.search(case.text)
                and fixes.through_library(without_other_cuts(case, cut) or code)
            )
            or CUT_MENDS.get(cut.switch, ""),
        ),
        (is_left_off(case, cut), "write torch.set_grad_enabled(True) where gradients are wanted again"),
        (
            True,
            CUT_MENDS["inference" if "inference_mode" in cut.switch else cut.reason].format(switch=cut.switch)
            + "".join(
                f"; or give it another name than {name}, if the {name} of another line is meant"
                for name in made
                if name in roots and sum(name in fixes.targets_of(one) for one in case.assignments.lines) > 1
            ),
        ),
    )


def asks_within(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether a call of autograd.grad fails where the same block, or decorator, switches gradients off."""
    is_asked = "grad(" in case.code_of(case.line_of_stop) and "inference_mode" not in cut.switch  # which nothing ends
    own = statements_at(case.graph.code, case.line_in_text(case.line_of_stop)) if is_asked else []
    around = (one for one in statements_at(case.graph.code, case.line_in_text(case.line_of(cut.place))) if one in own)
    return any(
        ast.unparse(head) == cut.switch != ""
        for one in around
        for head in (*getattr(one, "items", ()), *getattr(one, "decorator_list", ()))
    )


def lines_of_switch(case: Diagnosis, cut: GraphCut) -> Lines:
    """Return the lines of a program that may have switched gradients off for good, where no block around a cut has."""
    all_lines = case.assignments.lines if cut.reason == "no_grad" and cut.switch == "" else ()
    off = (one for one in all_lines if re.match(r"torch\.set_grad_enabled\((?!True\))", ast.unparse(one)))
    return tuple(line for one in off for line in case.line_of(Place(one.lineno)))


def is_left_off(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether gradients were switched off by a line of its own, and not around a block or a function."""
    return cut.reason == "no_grad" and cut.switch in ("", case.code_of(case.line_of(cut.place)))


def mend_of_detach(case: Diagnosis, cut: GraphCut, code: str) -> str:
    """Return what to write in place of an expression that takes a tensor out of its graph, or makes numbers of it."""
    written = {fixes.written_in(one) for one in statements(code)} - {""}
    pairs = (pair for one in (case.assignments.lines if written else ()) for pair in assigned_pairs(one))
    makers = [ast.unparse(value) for value, to in pairs if ast.unparse(to) in written]
    if ".numpy(" in code or any(maker.startswith(NUMPY_CALLS) for maker in makers):
        return NUMPY
    if (estimator := straight_through(case, cut)) is not None:
        return mend_of_straight_through(case, cut, estimator)
    better = fixes.with_keyword(code, ("state_dict",), "keep_vars", value=True) or "; ".join(
        filter(None, (without_cut(case, cut, one) for one in case.statements_of(cut)))
    )
    return better or (
        "compute it with torch: Python's own numbers keep no graph"
        if code != "" and cut.call not in code and (cut.is_number or cut.call in fixes.FROM_NUMBERS)
        else CUT_MENDS["detached"].format(by=by_call(case, cut))
    )


def without_other_cuts(case: Diagnosis, cut: GraphCut) -> str:
    """Return the statement of a cut without the other cuts in it; "" if there are none."""
    statements, pairs = case.statements_of(cut), filter(None, map(case.pair_of, case.graph.breaks))
    others = [expression for _, expression in pairs if expression is not case.expression_of(cut)]
    text, _ = fixes.without_cuts(statements[0], others.__contains__) if others and statements else ("", "")
    return "" if text == fixes.IDLE else text


def without_cut(case: Diagnosis, cut: GraphCut, statement: ast.stmt) -> str:
    """Return a statement without what cuts a tensor off in it, and what is cut behind that; "" for no such thing."""
    expression, chains = case.expression_of(cut), map(case.chain_of, case.graph.breaks)
    parts = {*ast.walk(expression)} if expression is not None else set()  # without which a gradient comes to its leaves
    ways = [
        [case.expression_of(one) for one in chain]
        for chain in chains
        if case.expression_of(chain[0]) not in parts or {*chain[0].leaves} - {*cut.leaves}
    ]
    is_number = cut.is_number or cut.call in fixes.FROM_NUMBERS  # of which none is meant more than those beside it
    beside = [one for one in case.graph.breaks if is_number and (one.place, one.call) == (cut.place, cut.call)]
    alike = {case.expression_of(one) for one in beside if not is_compared(case, one)} - {None}
    all_cuts = {expression, *(way[0] for way in ways if expression in way), *alike}

    def is_cut(node: ast.AST) -> bool:
        is_set = isinstance(getattr(node, "ctx", None), ast.Store) and isinstance(statement, ast.Assign)
        return node in all_cuts if expression is not None else last_name(node) == cut.call and not is_set

    text, obstacle = fixes.without_cuts(statement, is_cut, is_list=cut.is_list, is_nested=cut.call == "tolist")
    if text != fixes.IDLE:
        return words_for(obstacle) if obstacle else text
    lines = case.line_of(cut.place)
    return case.without(lines) if len(statements(case.code_of(lines))) < 2 else f"leave out {ast.unparse(statement)}"


def words_for(obstacle: str) -> str:
    """Return what to do about a function, or a place in an expression, that no gradient goes through."""
    if obstacle.startswith(NUMPY_CALLS):
        return NUMPY
    return (
        f"no gradient goes through {'this argument of ' * obstacle.endswith(')')}{obstacle}:"
        " compute it with operations on tensors"
    )


def mends_on_way(case: Diagnosis, cut: GraphCut) -> Iterator[tuple[Lines, str]]:
    """Yield the lines that carry on what a cut has left, each with what to write there to stay in the graph."""
    for carrier in case.way_of(cut)[1:] if cut.reason != "frozen" else ():  # a frozen leaf hands on no number
        text, obstacle = fixes.without_cuts(
            carrier.statement, carrier.is_taking, is_list=carrier.is_list, is_nested=cut.call == "tolist"
        )
        reads = [ast.unparse(one) for one in ast.walk(carrier.statement) if carrier.is_taking(one)]  # self.mean
        name, line = (reads or [min(carrier.names)])[0], case.line_of(Place(carrier.statement.lineno))
        parts = ast.unparse(carrier.statement).split(f"{name}.detach()")
        is_free = text == name.join(parts) and len(reads) >= len(parts)  # as in hard - soft.detach() + soft
        if text == fixes.IDLE:
            yield line, f"leave out {ast.unparse(carrier.statement)}"
        elif (text and not is_free) or (obstacle and cut.reason != "no derivative"):
            yield line, text or f"{words_for(obstacle)}, in {line[0][0]}"
        if carrier.is_kept and case.graph.earlier_runs:
            yield (
                (),
                (f"empty {name}" if carrier.is_list else f"{name} = {detached_values(case, [name])}")
                + " after each backward()",
            )


def detached_elsewhere(case: Diagnosis, cut: GraphCut, name: str) -> Iterator[str]:
    """Yield the lines of other roots that are to go on without the graph behind a tensor, each as it should be.

    None where what is cut off becomes a leaf: the other root is there for its gradient, as in an inner loop; nor of
    what the line of the root has made, as the losses of earlier passes, or of a total of these.
    """
    makers = [*case.statements_of(cut), *(one.statement for one in case.assignments.writers.get((None, name), ()))]
    is_inner = cut.call == "grad" or any([*calls_of(one, "requires_grad_")] for one in makers)
    is_sure = len({one.lineno for one in makers}) == 1  # else the name may be that of something else there
    for other in cut.others if is_sure and not is_inner else ():
        lines, root = (
            case.line_of(one.place) if one is not None else () for one in (case.rows.get(other), case.root_row)
        )
        read = {*re.findall(r"\w+", case.code_of(lines).partition("=")[2])}
        if (lines != root or not root) and read.isdisjoint((other, case.root)):
            in_words = f"{name}.detach() where {other} is computed from it" * (
                [name] == fixes.assigned_in(case.code_of(case.line_of(cut.place)))  # else another may be used there
            )
            yield from filter(None, [detached_in(case, name, other) or in_words])


def detached_in(case: Diagnosis, name: str, other: str) -> str:
    """Return the line of another root without the graph behind a tensor that it uses; "" if the line does not."""
    parts = statements(case.code_of(case.line_of(case.rows[other].place))) if other in case.rows else []
    parts = [one for one in parts if other in fixes.targets_of(one)] or parts  # of several in one line
    return fixes.detaching(parts, lambda one: isinstance(one, ast.Name) and one.id == name and not is_stored(one))


def detached_values(case: Diagnosis, names: Sequence[str]) -> str:
    """Return what tensors, and tuples of tensors, are without their graphs."""
    return ", ".join(
        f"tuple(one.detach() for one in {name})"
        if any(row.startswith(f"{name}[") for row in case.rows)
        else f"{name}.detach()"
        for name in names
    )


def keeps_graph(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether a call of ``torch.autograd.grad`` has asked for a graph."""
    return cut.call == "grad" and "create_graph=True" in case.code_of(case.line_of(cut.place))


def cut_clause(case: Diagnosis, cut: GraphCut, it: str, source: str = "") -> str:
    """Return what a call has cut off, as a clause: ``it was cut off from h by .data``."""
    if cut.call == "grad":
        return (
            "the gradient that autograd returned has no graph: nothing that it is computed from requires one"
            if keeps_graph(case, cut)
            else "the gradients that autograd returns have no graph of their own without create_graph=True"
        )
    by = by_call(case, cut)
    sentence = CUT_SENTENCES[cut.reason].format(it=it, by=by, source=source, switch=cut.switch or ANY_SWITCH)
    is_index = cut.reason == "no derivative" and cut.call in (  # which gives values, too, and these have one
        "topk", "sort", "max", "min", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin",
    )  # fmt: skip
    return f"the indices of {by} have no derivative" if is_index else sentence


def clause_of_cuts(case: Diagnosis, cuts: Sequence[GraphCut], it: str) -> str:
    """Return what some calls have cut off, as a clause."""
    clauses = dict.fromkeys(cut_clause(case, cut, it) for cut in cuts)
    are_several = len({cut.block or cut for cut in cuts}) > 1
    return "; on another way, ".join(clauses) + ", in several places, one of which may be meant" * are_several


def by_call(case: Diagnosis, cut: GraphCut) -> str:
    """Return the call that cuts off, as a program writes it: of detach() that is called within it, nn.Parameter()."""
    own = case.expression_of(cut) if cut.call == "detach" else None
    if isinstance(own, ast.Call) and last_name(own) != cut.call:
        return f"{ast.unparse(own.func)}()"
    return {"data": ".data", "gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}.get(
        cut.call, f"{cut.call}()"
    )


def cuts_to_blame(case: Diagnosis, row: TensorRow) -> list[GraphCut]:
    """Return the cuts between a leaf and the root, one on each way; [] if none is known.

    A cut behind another one is left out if that cuts off the leaf as well. Cuts whose result is only added to the root
    come before those whose result is a factor: a factor, such as an advantage, may be meant to be a constant.
    """
    all_cuts = [
        cut
        for cut in case.graph.breaks
        if row.name in cut.leaves
        and cut.reason != "frozen"
        and not makes_next_leaves(case, cut)
        and not (  # gives a tensor that is made of others alone: it hands on each by itself, or counts lengths
            cut.reason == "no derivative" and cut.call in ("broadcast_tensors", "meshgrid", "pack_padded_sequence")
        )
    ]
    if row.history.is_optimized:  # a copy, as of a target network, is a leaf of its own
        all_cuts = [cut for cut in all_cuts if last_name(case.expression_of(cut) or ast.Pass()) not in COPIERS]
    cuts = [cut for cut in all_cuts if cut.is_used or is_followed_in_text(case, cut)]
    cuts = [  # not a sampled index, nor one of numbers that are cut off, and come to the root as well
        cut for cut in cuts if cut.reason != "no derivative" or (cut.is_used and not cut.is_of_leaves)
    ] or cuts
    to_open = {cut: {one.block or one for one in case.chain_of(cut)} for cut in cuts}  # the whole of a block
    cuts = [cut for cut in cuts if not any(one < to_open[cut] for one in to_open.values())]
    cuts = [cut for cut in cuts if not is_compared(case, cut)] or cuts
    if through := [cut for cut in cuts if is_straight_through(case, cut)]:  # with an argmax, as well
        cuts = [cut for cut in cuts if cut not in through and cut.reason != "no derivative"] or through
    if cuts:
        is_any = any(cut.is_summand for cut in cuts)
        cuts = [cut for cut in cuts if cut.is_summand or not cut.is_used] if is_any else cuts
        has_number = any(cut.is_number and cut.reason == "detached" for cut in cuts)
        draws = ("multinomial", "bernoulli", "poisson")  # a number in place of its probability is the fault, then
        cuts = [cut for cut in cuts if not (has_number and cut.call in draws)]
        return sorted(cuts, key=lambda cut: cut.reason == "no_grad")  # a block may be meant more than a call of its own
    cuts = sorted(all_cuts, key=lambda cut: cut.reason != "no derivative")  # and not the indices of max()
    return [
        cut
        for cut in cuts
        if not ONLY_PRINTED.match(case.code_of(case.line_of(cut.place)))
        and ((cut.is_number and not case.is_in_text(cut)) or not case.nodes)
    ][-1:]


def is_followed_in_text(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether the text tells how what a cut has left comes to the graph, where no call of a tensor tells it.

    So it is of numbers, of what a copier copies, and of a root that is a leaf, as a Variable is.
    """
    way, root = case.way_of(cut), case.root_row
    is_copied = any(True for one in way for _ in calls_of(one.statement, "Tensor", *COPIERS))
    return bool(way) and (cut.is_number or is_copied or (root is not None and root.is_leaf))


def takes_from_earlier(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether a cut takes what an earlier pass has left: the backward() of that has freed its graph.

    The pass is one of a loop that calls backward(), and not of one within it, as over the steps of a sequence.
    """
    flows, at = case.assignments, case.line_in_text(case.line_of(cut.place))
    lines = {number: one for one in flows.lines.values() for number in line_numbers(one.statement)}
    reads = (
        (one.statement, part) for one in case.way_of(cut)[1:] for part in ast.walk(one.statement) if one.is_taking(part)
    )
    parts = [(at, case.expression_of(cut)), *((statement.lineno, part) for statement, part in reads)]
    carried = (flows.lines[writer] for number, part in parts for _, writer, _ in flows.carried_into(number, part))
    last = lines.get(case.line_in_text(case.line_of_backward)) if case.graph.earlier_runs else None
    return cut.is_freed or any(
        last is not None and flows.depth_of_loop(lines[at], one) <= flows.depth_of_loop(lines[at], last)
        for one in carried
    )


def is_compared(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether a cut makes a number that its statement compares with another."""
    own = case.expression_of(cut)
    return own is not None and any(
        isinstance(part, ast.Compare) and own in ast.walk(part)
        for one in case.statements_of(cut)
        for part in ast.walk(one)
    )


def makes_next_leaves(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether a cut is a step along ``.grad`` to new leaves, which take the place of the old ones."""
    code = case.code_of(case.line_of(cut.place)) if cut.call in ("detach", "data", "data_") else ""
    is_leaf = "requires_grad_" in code or "Parameter(" in code
    return is_leaf and any(has(one, fixes.is_gradient) for one in case.statements_of(cut))


def is_straight_through(case: Diagnosis, cut: GraphCut) -> bool:
    """Return whether a cut is the one that a straight-through estimator has: ``hard - y.detach() + y``.

    It is with one detach() too many, too; the other one is to be blamed.
    """
    expression = case.expression_of(cut)
    plain = ast.unparse(expression).removesuffix(".detach()") if expression is not None else ""
    return straight_through(case, cut) is not None or any(
        isinstance(one.left, ast.BinOp)
        and isinstance(one.left.op, ast.Sub)
        and one.left.right is expression
        and ast.unparse(one.right).removesuffix(".detach()") == plain
        for one in sums_with(case, cut)
    )


def straight_through(case: Diagnosis, cut: GraphCut) -> ast.BinOp | None:
    """Return the sum ``x + (hard - x).detach()`` that a cut stands in; None for any other cut."""
    pairs = (
        (one, ast.unparse(one.left).removesuffix(".detach()"))
        for one in sums_with(case, cut)
        if one.right is case.expression_of(cut)
    )
    return next((one for one, left in pairs if ast.unparse(one.right).endswith(f" - {left}).detach()")), None)


def sums_with(case: Diagnosis, cut: GraphCut) -> list[ast.BinOp]:
    """Return the sums in the statement that a detach() stands in."""
    return [
        one
        for statement in (case.statements_of(cut) if cut.call == "detach" else ())
        for one in ast.walk(statement)
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add)
    ]


def mend_of_straight_through(case: Diagnosis, cut: GraphCut, estimator: ast.BinOp) -> str:
    """Return what to do about an estimator that hands the gradient on to the other one of its tensors.

    If that is a constant, the two are on each other's sides.
    """
    constant, expression = ast.unparse(estimator.left).removesuffix(".detach()"), ast.unparse(estimator.right)
    cut_off = expression.removeprefix("(").removesuffix(f" - {constant}).detach()")
    place = cut.place.without_run if cut.place is not None else None
    is_in_graph = any(node.place is not None and node.place.without_run == place for node in case.shown.nodes)
    trained = f"add to {case.root_name} what trains it, such as ({cut_off} - {constant}.detach()).pow(2).mean()"
    return trained if is_in_graph else f"write {cut_off} + ({constant} - {cut_off}).detach()"


def at_cuts(case: Diagnosis, cuts: Sequence[GraphCut]) -> tuple[Lines, str]:
    """Return the lines that cut off what is made from a leaf, and the mend: of several ways, that of one or another."""
    lines, mends, besides = dict[tuple[Place, str], None](), dict[str, None](), dict[str, None]()
    root = case.root_row
    flagged_at = case.line_of(root.history.requires_grad_set) if root is not None else ()
    if not flagged_at and (root is None or root.is_leaf):  # its name stands for another tensor by now
        setting = (one for one in case.assignments.lines if ast.unparse(one) == f"{case.root}.requires_grad = True")
        flagged_at = tuple(line for one in setting for line in case.line_of(Place(one.lineno)))[:1]
    code = case.code_of(flagged_at)
    flags = (
        [f"leave out {code}"] if re.search(r"\.requires_grad\s*=\s*True$", code) else []
    )  # PyTorch refuses it for what has a graph
    second = [cut for cut in cuts[:MOST_CUTS] if is_of_second_order(case, cut, cuts)]
    for cut in [*(one for one in cuts[:MOST_CUTS] if one not in second), *second]:
        parts, others = dict[str, None](), dict[str, None]()
        for one in case.chain_of(cut):
            on_way = [*mends_on_way(case, one)]
            own = [*case.line_of(one.place), *lines_of_switch(case, one)]
            lines |= dict.fromkeys((*own, *(line for more, _ in on_way for line in more)))
            again = first_true(
                (
                    one.is_freed and one.call != "grad",
                    "; and compute what it takes anew: another backward() has freed that graph",
                ),
                (case.is_shared(one), ", and run it before each backward()"),
                (True, ""),
            )
            own_mend = mend_of_cut(case, one)  # with numpy, all on the way is written anew
            parts |= dict.fromkeys([f"{own_mend}{again}", *(text for _, text in on_way if own_mend != NUMPY)])
            names = fixes.assigned_in(case.code_of(case.line_of(one.place)))
            others |= dict.fromkeys(text for name in names[:1] for text in detached_elsewhere(case, one, name))
        (besides if cut in second else mends)["; and ".join(["; and then ".join(parts), *others, *flags])] = None
    lines |= dict.fromkeys(flagged_at if flags else ())
    return tuple(lines), "; and, for second derivatives, too, ".join(["; or ".join(mends), *besides])


def is_of_second_order(case: Diagnosis, cut: GraphCut, cuts: Sequence[GraphCut]) -> bool:
    """Return whether gradients that autograd returns without a graph come into the graph where another cut stands.

    So does a step that takes them from ``w.data``: the other cut is the first that has to go.
    """
    carriers = {one.statement for one in case.way_of(cut)[1:]} if cut.call == "grad" else set()
    return any(statement in carriers for one in cuts if one is not cut for statement in case.statements_of(one))
