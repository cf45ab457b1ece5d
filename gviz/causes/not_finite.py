"""Where nan and inf come from: put in, made by an operation, forward or backward, or by what the program did."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from gviz.causes.diagnosis import (
    Cause,
    Diagnosis,
    Lines,
    at_line,
    backward_of,
    first_true,
    in_code,
    is_own,
    sign_in_program,
)
from gviz.causes.facts import TensorFacts
from gviz.causes.fixes import FROM_NUMBERS
from gviz.causes.syntax import calls_of, has, last_name, operands_of_call, statements, statements_at
from gviz.causes.training import BEFORE_EACH, spoiled
from gviz.formulas.expressions import output_name
from gviz.formulas.formula import UNKNOWN
from gviz.formulas.operands import input_names
from gviz.formulas.operations import PUT_IN
from gviz.graphs import Edge, Node, Place
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.elements import is_finite, magnitude, positions, times
from gviz.passes.part import SAME_NUMBERS, nodes_saved
from gviz.reaching import reached
from gviz.text import joined

DIVISIONS = ("/", "reciprocal")
OF_QUOTIENT = "the divisor is too small for its dtype, or for what it divides: compute in float64, or in other units"

CLAMPED = "{x}.clamp(min=1e-6) does, whose slope is 0 there"

MENDS_OF_NAN = {
    "log": f"log is infinite at 0, and nan below: keep its input above 0, as {CLAMPED}",
    "exp": (
        "exp is too large for its dtype: in a softmax or sigmoid, use torch.log_softmax, logsumexp or torch.sigmoid;"
        " elsewhere keep its input small, as {x}.clamp(max=10) does, whose slope is 0 there"
    ),
    **dict.fromkeys(DIVISIONS, "it is a division by 0: add a small number to the divisor"),
    **{one: f"{one} of one element is nan: give it more of them" for one in ("std", "var", "std_mean", "var_mean")},
    "rsqrt": f"rsqrt is infinite at 0, and nan below: keep its input above 0, as {CLAMPED}",
    "sqrt": "sqrt is nan below 0: keep its input above it",
    "xlogy": f"xlogy, or a derivative of it, is not finite at 0: keep its input above 0, as {CLAMPED}",
    "nll_loss": "the mean of no targets is nan: leave out batches in which all are ignored, or of weight 0",
    "softmax": "a row of nothing but -inf has no softmax, nor has one with inf: leave an element of each row unmasked",
    "log1p": "log1p is infinite at -1, and nan below: keep its input above -1",
    "ctc_loss": (
        "ctc_loss is infinite where a target is longer than its input, which needs one step more between equal labels:"
        " leave such examples out, or write zero_infinity=True"
    ),
}
POWER_OF_ZERO = f"a negative power of 0 is infinite: keep its base above 0, as {CLAMPED}"
SINGULAR = (
    "the matrix has no inverse, as its rows depend on one another: add a small number to its diagonal, as"
    " {x} + 1e-6 * torch.eye(len({x})) does, or see what it is made from"
)
EQUAL_VALUES = (
    "its derivative divides by the differences of the {}, and two of them are equal{}: take a function of the"
    " values alone, or make them differ, as by a small diagonal of different numbers that is added"
)
MENDS_OF_MATRICES = {
    **dict.fromkeys(("slogdet", "logdet", "inv", "inverse", "inv_ex", "solve", "solve_ex"), SINGULAR),
    "qr": "its columns depend on one another, where qr has no derivative: see what it is made from",
    **dict.fromkeys(("eigh", "eig"), EQUAL_VALUES.format("eigenvalues", "")),
    "svd": EQUAL_VALUES.format("singular values", ", or one is 0"),
}
"""What to do where the derivative of an operation on a matrix is not finite."""

GROWN = (
    "the numbers grow from one backward to the next: take a smaller learning rate, or torch.nn.utils.clip_grad_norm_"
)
MANY_CALLS, GROWTH, LARGE = 10, 1e3, 1e9
"""How many calls of a line are those of a loop, how many times as large numbers are that grow in it, and how large."""

LOGITS = "a loss that takes logits"
LOGARITHMS = {
    "softmax": f"0 or 1 here: use log_softmax, or {LOGITS}",
    "sigmoid": f"0 or 1 here: use logsigmoid, or {LOGITS}",
    "exp": "0 here, as its result is too small for its dtype: use logsumexp, or the input of exp itself",
}
"""What is to be done about the logarithm of an operation whose result is 0."""

MASKING, OF_REST = ("*", "where", "masked_fill"), ("Sub", "Rsub", "Log1P")
"""Operations whose 0 may be that of a mask; beginnings of the labels of those that give 0, or log 0, at p = 1."""

DOMAINS = {
    "**", "acos", "acosh", "asin", "atanh", "binary_cross_entropy", "digamma", "erfinv", "lgamma", "log", "log10",
    "log1p", "log2", "logit", "rsqrt", "sqrt", "xlogy",
}  # fmt: skip
"""Operations that are nan, or have a derivative that is, at some finite inputs: outside of their domain."""

DATA = "look at the data, and at what is computed of them"
"""What to do about numbers that were not finite before any operation on tensors."""

PLAIN = ("+", "-", "*", "@", "sum", "mean", "addmm")
"""Operations that are finite for all finite inputs, unless these are too large."""


def not_finite_before(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient that an earlier backward has left so."""
    return facts.cause(
        "nan",
        f"{facts.name}.grad was {facts.before.not_finite if facts.before else ''} before this backward:"
        " an earlier one has left it",
        facts.case.line_of_backward,
        f"{BEFORE_EACH.format(facts.in_code)}; gviz why SOURCE --root NAME tells of it",
    )


def not_finite_since(facts: TensorFacts) -> Cause | None:
    """Return the cause for a gradient that the program has changed since backward; None if it was so by then."""
    moment = facts.row.moment
    left = moment.grad.value if moment is not None and not facts.case.graph.is_first_bad else None
    if left is None or not is_finite(left):
        return None
    return facts.cause(
        "nan",
        f"{facts.name}.grad is {facts.number}, though backward has left finite numbers:"
        " the program has changed it since",
        facts.case.line_of_backward,
        "look at what changes .grad",
    )


def gradient_not_finite(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient with nan or inf."""
    return brought_not_finite(
        facts,
        ("{}.grad is {}" if facts.case.graph.code else "the gradient of {} is {}").format(facts.name, facts.number),
    )


def brought_not_finite(facts: TensorFacts, head: str) -> Cause:
    """Return the cause for nan or inf that backward brings: the operation that made the first one, forward or backward.

    What was not finite forward is the cause only where a derivative on the way computes with it.

    Args:
        facts: of the tensor.
        head: that it, or its gradient, is not finite, as a clause.
    """
    case, edges = facts.case, first_turning(facts)
    edge = edges[0] if edges else None
    where = next(
        (
            node
            for first in edges[:1]
            for node in case.above(case.nodes[first.target])
            if node.label == "WhereBackward0"
            and (not case.graph.code or "where" in case.code_of(case.line_of_node(node)))  # and not one within logdet
            and hides(case, node, first)
        ),
        None,
    )
    is_picked = where is not None and all(map(is_finite, case.root_values))
    bad = bad_operands(facts, edges) if edges else bad_before(facts)
    if not is_picked and (cause := not_finite_forward(case, facts.name, head, bad)) is not None:
        return cause
    if edge is not None and not is_own(case.nodes[edge.target]):
        return derivative_not_finite(facts, head, edges, where)
    came_later = facts.parts and all(part is not None and part.is_finite for part in facts.parts)  # than this backward
    ends = (
        [edge.target]
        if edge is not None
        else [
            one.source for one in case.shown.edges if not came_later and one.flow.handed and one.flow.handed.is_finite
        ]
    )
    own = next((case.nodes[one] for one in ends if is_own(case.nodes[one])), None)
    if own is not None:
        return facts.cause(
            "nan",
            f"{head}: {backward_of(own)} gives it",
            case.line_of_own(own.label, own),
            "look at what it returns",
        )
    origins = [row.name for row in case.rows.values() if row.is_leaf and first_turning(TensorFacts(case, row))]
    return facts.cause(
        "nan",
        f"{head}, and where it began is not known",
        case.line_of_backward,
        f"gviz why SOURCE {origins[0]} tells where that of {origins[0]} began" if origins else "",
    )


def bad_before(facts: TensorFacts) -> tuple[str, ...]:
    """Return the roots, if their backward was the first with nan or inf and has brought none: a later one has.

    So, too, where nobody has followed the program, if the data has nan or inf: then no gradient was followed.
    """
    case, is_finite_yet = facts.case, facts.node is not None and all(map(is_finite, facts.parts))
    return (*case.shown.roots,) if is_finite_yet and (case.graph.is_first_bad or not case.graph.code) else ()


def bad_operands(facts: TensorFacts, edges: Sequence[Edge]) -> tuple[str, ...]:
    """Return the inputs that are not finite of operations whose derivatives compute with them.

    With their results, if these have seen nan or inf first. Nothing is known of the derivatives of a user's Function:
    all its inputs count.
    """
    case, bad = facts.case, dict[str, None]()
    for edge in edges:
        node = case.nodes[edge.target]
        used = nodes_saved(case.whole, edge) if input_names(node.label) else (*operands_of(case, node), node)
        bad |= {one.id: None for one in (*used, *[node] * may_make_not_finite(case, node)) if is_bad(case, one)}
    own = facts.node if bad and facts.node is not None and is_bad(case, facts.node) else None
    return (*bad,) if own is None else (own.id, *bad)


def noted_value(case: Diagnosis, node: Node) -> Numbers | None:
    """Return a value, also that of a view of which nobody has noted it; None where it is not known."""
    return behind(case, node, SAME_NUMBERS, to_value=True).value


def is_bad(case: Diagnosis, node: Node) -> bool:
    """Return whether a value is not finite."""
    return not is_finite(noted_value(case, node))


PART, OF_ZEROS = (
    re.compile(rf"(Select|Slice|Split|SplitWithSizes|UnsafeSplit|Index|IndexSelect|Unbind{more})Backward\d+")
    for more in ("", "|Sum")
)
"""Operations that show some elements of a tensor; with those whose 0 may be that of zeros."""


def behind(case: Diagnosis, node: Node, operation: re.Pattern[str], *, to_value: bool = False) -> Node:
    """Return what some operations, in a row, have made a node of, such as views; or the first whose value is noted."""
    while operation.fullmatch(node.label) and not (to_value and node.value) and (inputs := operands_of(case, node)):
        node = inputs[0]
    return node


def brings_bad(case: Diagnosis, node: Node, run: int) -> bool:
    """Return whether nan or inf may come through an operand: be it that it is 0, as 1 / inf and exp(-inf) are.

    Of a program that was followed, what nobody has noted is finite, but for a part of the very call that uses it.
    """
    node = behind(case, node, OF_ZEROS if has_zero(node.value) else PART)
    hides_bad = sign_in_program(node) in (*DIVISIONS, "exp") and any(
        is_bad(case, one) for one in operands_of(case, node)
    )
    return hides_bad or is_bad(case, node) or (node.value is None and (not case.graph.code or node.run == run > 0))


def derivative_not_finite(facts: TensorFacts, head: str, edges: Sequence[Edge], where: Node | None) -> Cause:
    """Return the cause for an operation that hands on nan or inf of a finite gradient.

    Args:
        facts: of the tensor.
        head: that its gradient is not finite, as a clause.
        edges: on which it becomes so, at operations of a line that do the like.
        where: the torch.where above it; None if there is none.
    """
    case, edge = facts.case, edges[0]
    source, target = case.nodes[edge.source], case.nodes[edge.target]
    sign, name, lines = sign_in_program(target), case.name_of(source, edge.output), case.line_of_node(target)
    kind, is_local = "nan" if has_nan(edge.flow.local) else "inf", not is_finite(edge.flow.local)
    handed = edge.flow.handed or Numbers()
    origin = (  # a sum or product that is too large is none of its own derivative
        f"the derivative of {sign} for {name} is " if is_local or sign in MENDS_OF_MATRICES else f"{sign} hands on "
    ) + (kind if is_local else handed.not_finite)
    if where is not None:
        is_known = (  # that it is not picked there: of a sum of what it picks nothing tells that
            edge.flow.local is not None
            and edge.flow.local.elements is not None
            and size_of(edge.flow.local) == size_of(where.grad.arrived)
        )
        maker = next(  # of the infinite factor of a product
            (one for one in first_not_finite(case, bad_operands(facts, edges)) if one.kind == "operation"), target
        )
        return facts.cause(
            "nan",
            f"{head}: {origin}, and {'' if is_known else 'where '}where() picks the other side,"
            f" {'but ' * is_known}0 times {kind} is nan all the same",
            (*lines, *case.line_of_node(maker), *case.line_of_node(where)),
            f"give {sign_in_program(maker)} harmless inputs where they are not picked, by a torch.where before it: one"
            f" behind is too late"
            + ("" if is_known else f"; where they are picked, keep them away from where this is {kind}"),
        )
    too_large = (
        f"see whether its inputs, or what comes to it, are too large for {handed.dtype or 'their dtype'}"
        + ", which ends at 65504: take a smaller loss scale, as torch.amp.GradScaler does" * (handed.dtype == "float16")
    )
    mend = first_true(
        (
            sign == "**" and edge.slot == 1,
            "keep the base of ** above 0: the derivative for the exponent has its logarithm",
        ),
        (
            sign == "/" and edge.slot == 0 and is_local,
            small_divisor(case, target) or MENDS_OF_NAN["/"],
        ),  # it is 1 over the divisor
        (sign == "softmax" and is_local, f"{MENDS_OF_NAN['softmax']}; or see what makes its input nan or inf"),
        (
            sign in ("*", "@", "addmm", "convolution") and is_local,
            f"it is made of the other factor: look at where that one is {kind}",
        ),
        (sign in MENDS_OF_MATRICES, MENDS_OF_MATRICES.get(sign, "")),
        (kind == "nan" and is_local, MENDS_OF_NAN.get(sign, outside_of_domain(sign, *operands_of(case, target)))),
        (not is_local and case.graph.earlier_runs and has_grown(case), GROWN),
        (not is_local, grown_in_loop(case, target) or too_large),
        (sign == "exp", MENDS_OF_NAN["exp"]),  # whose derivative is its result
        (
            True,
            f"keep the input of {sign} away from where its derivative is infinite: "
            + first_true(
                (sign in ("acos", "asin", "atanh"), "as {x}.clamp(-1 + 1e-6, 1 - 1e-6) does, whose slope is 0 there"),
                (sign in ("sqrt", "rsqrt", "**", "norm", "acosh"), "add a small number, or clamp it"),
                (True, "clamp it"),
            ),
        ),
    )
    origin += ", backward" * (kind == "inf" or not is_local)  # the derivative of what is nan forward is nan, too
    return facts.cause("nan", f"{head}: {origin}", lines, with_input(case, mend, *edges))


def hides(case: Diagnosis, where: Node, edge: Edge) -> bool:
    """Return whether a where() may pick the other side at each number that is not finite of a derivative below it.

    Where it picks what is made with that, it hands on a gradient which makes it infinite. It hides nothing if both of
    its sides are made with that, as those of a Huber loss are, or if it picks all of one.
    """
    above = {edge.target, *(one.id for one in case.above(case.nodes[edge.target]))}
    handed = [way.flow.handed for way in case.shown.inputs[where.id] if way.source in above]
    is_infinite = any(
        size_of(one) == size_of(edge.flow.local) and positions(times(edge.flow.local, one), math.isinf)
        for one in handed
    )
    is_below = has_nan(edge.flow.handed) and not is_finite(edge.flow.local)
    return is_below and [*map(has_zero, handed)] == [True] and not is_infinite


def first_turning(facts: TensorFacts) -> list[Edge]:
    """Return the edges above a leaf that backward comes to first of those on which a finite gradient becomes none.

    They are several where operations of a line do the like.
    """
    case, edges = facts.case, turning_edges(facts.case)
    above = {one.id: (one.run, one.label) for one in case.above(facts.node)} if facts.node is not None and edges else {}
    edges = [edge for edge in edges if edge.target in above]
    first = max(edges, key=lambda edge: above[edge.target][0], default=None)
    return [edge for edge in edges if first is not None and above[edge.target] == above[first.target]]


@lru_cache(maxsize=1)  # all leaves of a graph ask the same
def turning_edges(case: Diagnosis) -> list[Edge]:
    """Return the edges on which finite gradients are handed on as one that is not."""
    return [edge for edge in case.shown.edges if not is_finite(edge.flow.handed) and gets_finite(case, edge.target)]


def gets_finite(case: Diagnosis, node: str) -> bool:
    """Return whether the gradients that come to an operation are finite, be it that their sum is too large."""
    arrived, parts = case.nodes[node].grad.arrived, [use.flow.handed for use in case.uses[node]]
    is_start = node in case.shown.roots and arrived is None  # of several results: it begins with ones
    return (arrived is not None and arrived.is_finite) or (
        bool(parts or is_start) and all(part is not None and part.is_finite for part in parts)
    )


def not_finite_itself(facts: TensorFacts) -> Cause | None:
    """Return the cause for a tensor that is not finite itself."""
    node, case, number = facts.node, facts.case, facts.row.value.not_finite if facts.row.value is not None else ""
    is_so_yet = node is not None and (node.kind == "operation" or is_bad(case, node))  # a leaf may be written later
    ends = (node.id,) if node is not None and is_so_yet else bad_before(facts)
    cause = not_finite_forward(case, facts.name, f"{facts.name} is {number}", ends)
    is_mask = number == "-inf" and not has_inf(facts.row.value) and not has_nan(facts.row.value)
    is_harmless = (is_mask and case.has_run) and all(
        map(is_finite, (*case.root_values, *(edge.flow.handed for edge in case.shown.edges)))
    )
    meant = f"if {facts.name} is masked by it: {case.root_name} and all gradients are finite" * is_harmless
    return cause and facts.cause(cause.verdict, cause.what, cause.lines, cause.mend, meant)


@lru_cache(maxsize=4)  # most leaves of a graph ask the same
def first_not_finite(case: Diagnosis, ends: tuple[str, ...]) -> list[Node]:
    """Return the nodes at which nan or inf begin: what the program has put in, else the first operation.

    With those of its line that do the like.

    Args:
        case: the graph.
        ends: values that are not finite, to which they have come.
    """
    nodes, seen = [case.whole.by_id[one] for one in ends], {*ends}
    for node in nodes:  # grows while it is read
        new = [one for one in shown_by(case, node) if one.id not in seen and brings_bad(case, one, node.run)]
        seen.update(one.id for one in new)
        nodes += new
    inputs = [node for node in nodes if node.kind != "operation" and not is_finite(node.value)]
    operations = [node for node in nodes if node.kind == "operation" and may_make_not_finite(case, node)]
    values = [case.root_row.value if case.root_row is not None else None, *(node.value for node in operations)]
    is_infinite = any(  # by no mask, or -inf
        has_inf(one.value) for node in operations for one in operands_of(case, node)
    ) and not any(has_inf(one.value) for one in operations)
    if any(map(has_nan, values)):  # an inf may be there on purpose: a mask
        inputs = [node for node in inputs if has_nan(node.value) or node.kind == "leaf" or is_infinite] or (
            [] if operations else inputs
        )
        operations = [
            node  # and not of a mask without a name, which it was given
            for node in operations
            if not node.label.startswith(PUT_IN)
            and (has_nan(node.value) or len(operands_of(case, node)) >= node.recorded.slots)
        ] or operations
    users = {one.id for one in case.above(*operations)}
    order = {node.id: at for at, node in enumerate(case.whole.nodes)}
    makers = sorted(operations, key=lambda node: (node.run, node.id in users, -order[node.id]))
    alike = [node for node in makers if (node.label, node.run) == (makers[0].label, makers[0].run)]
    if not is_infinite and any(not node.label.startswith(PUT_IN) for node in alike):  # their results may have made it
        inputs = [
            node
            for node in inputs
            if node.kind == "leaf"
            or node.name in case.rows
            or any(user.run < makers[0].run for user in users_of(case, node))
        ]
    return (
        sorted(
            inputs,
            key=lambda node: (
                node.name not in case.rows,
                min(((user.run, -order[user.id]) for user in users_of(case, node)), default=()),
            ),
        )
        or alike
    )


def shown_by(case: Diagnosis, node: Node) -> list[Node]:
    """Return what a node is made from; what a view shows, or a copy, has its numbers, if nobody has noted its own.

    A constant without a name is made from what its text names.
    """
    operands, is_same = operands_of(case, node), SAME_NUMBERS.fullmatch(node.label)
    if node.kind == "frozen" and node.name not in case.rows:
        operands += [case.named[one] for one in re.findall(r"[A-Za-z_]\w*", node.name or "") if one in case.named]
    return [one._replace(numbers=node.numbers) if is_same and one.value is None else one for one in operands]


def is_given_unknown(case: Diagnosis, node: Node) -> bool:
    """Return whether an operation was given numbers that are not known.

    Values that are left out are finite, but for a graph without a program: nobody has looked at them.
    """
    return not case.graph.code and any(
        one.value is None for one in shown_by(case, node) if one.kind in ("operation", "frozen")
    )


def may_make_not_finite(case: Diagnosis, node: Node) -> bool:
    """Return whether an operation makes nan, or inf of finite inputs, as far as these are known."""
    given = [
        one.value or (shown := behind(case, one, SAME_NUMBERS)).value or behind(case, shown, PART).value
        for one in shown_by(case, node)
    ]
    return not is_finite(node.value) and not any(
        has_nan(one) if has_nan(node.value) else not is_finite(one)  # of an inf, such as a mask has
        for one in given
    )


def not_finite_forward(case: Diagnosis, name: str, what: str, ends: tuple[str, ...]) -> Cause | None:
    """Return the cause that is the first nan or inf, forward: put in, or made by an operation.

    None if none is known.

    Args:
        case: the graph.
        name: of the tensor that is asked about.
        what: that it, or its gradient, is not finite, as a clause.
        ends: the values to which it has come.
    """
    if row := next((one for one in case.rows.values() if case.graph.earlier_runs and one.history.spoiled), None):
        return spoiled(case, name, what, row)
    nodes = first_not_finite(case, ends)
    first = next((node for node in nodes if node.name == name), nodes[0] if nodes else None)
    if first is None:
        return None
    user = next(iter(users_of(case, first) if first.kind != "operation" else ()), first)
    sign, line = sign_in_program(user), case.line_of_node(user)
    is_unseen = (
        has_nan(first.value)
        and sign not in (*DOMAINS, *MENDS_OF_NAN, *MENDS_OF_MATRICES)
        and len(operands_of(case, first)) < first.recorded.slots
    )
    is_by_number = any((one.kind, one.name) == ("constant", "nan") for one in operands_of(case, first))
    if is_unseen or is_by_number or (first.name == UNKNOWN and line):
        head, made_at = f"{what}: what {sign} is given is not finite", numbers_to(case, line) if is_by_number else ()
        general = "see what makes that number" if is_by_number else f"{DATA}, up to this line"
        mend = next(filter(None, (told_by_result(case, code) for _, code in made_at)), general)
        cause = begun_outside(case, name, head, user) or Cause(name, "nan", head, made_at, mend)
        return cause._replace(lines=tuple(dict.fromkeys((*line, *cause.lines))))
    if first.kind != "operation":
        return not_finite_input(case, name, what, first)
    number = first.value.not_finite if first.value is not None else ""
    them = number if number.removeprefix("-") != what.rpartition(" ")[2].removeprefix("-") else "of them"
    origin = first_true(
        (
            sign == "/"
            and (
                dict(first.recorded.held).get("other") == "0"
                or (  # of a saved graph the quotient is not kept
                    not case.graph.code and any(has_zero(one.value) for one in operands_of(case, first)[-1:])
                )
            ),
            "/ divides by 0, which gives nan or inf whatever is divided",
        ),
        (
            is_given_unknown(case, first),
            f"the result of {sign} is not finite, forward; its input was not kept, and may be so, too",
        ),
        (first.label.startswith(PUT_IN), f"{sign} puts in the first {them}, forward"),
        (True, f"{sign} makes the first {them}, forward"),
    )
    return Cause(name, "nan", f"{what}: {origin}", case.line_of_node(first), mend_of_first(case, first, nodes))


def mend_of_first(case: Diagnosis, first: Node, alike: Sequence[Node]) -> str:
    """Return what to do about what has made the first nan or inf, with those beside it that do the like."""
    sign, inputs = sign_in_program(first), operands_of(case, first)
    is_plain = sign in PLAIN or not has_nan(first.value)  # it is too large
    edges = [min(case.whole.inputs[one.id], key=lambda edge: edge.slot) for one in alike if inputs]
    general = "look at what goes into it: a number that is not finite, or one that is too large for its dtype"
    number = first.value.not_finite if first.value is not None else "inf"
    text = first_true(
        (
            first.label.startswith(PUT_IN),
            f"put in a finite number in place of {number}, such as {'-' * (number[0] == '-')}1e4: 0 times inf is nan",
        ),
        (sign.startswith(("nll_loss", "std", "var")) and (is_plain or is_given_unknown(case, first)), general),
        (
            first.recorded.options.get("exponent", "").startswith("-") and has_zero(inputs[-1].value),
            POWER_OF_ZERO,
        ),
        (sign in MENDS_OF_MATRICES, MENDS_OF_MATRICES.get(sign, "")),
        (sign in MENDS_OF_NAN, MENDS_OF_NAN.get(sign, "")),
        (case.graph.earlier_runs and has_grown(case), GROWN),
        (sign in PLAIN, general),
        (is_plain, f"{general}, or one at which {sign} is infinite"),
        (True, outside_of_domain(sign, *inputs)),
    )
    return (
        f"{sign} of no elements is nan: leave out a batch of which nothing is picked"
        * any(one.value is not None and not one.value.numel for one in inputs)
        or (sign in DIVISIONS and small_divisor(case, first))
        or (sign in ("log", "log1p") and flat_probability(case, first))
        or (is_plain and grown_in_loop(case, first))
        or with_input(case, text, *edges)
    )


def outside_of_domain(sign: str, *inputs: Node) -> str:
    """Return what to do about an operation whose result is nan, or whose derivative is."""
    return first_true(
        (sign in DOMAINS, f"keep the input of {sign} within its domain"),
        (
            inputs and all(is_finite(one.value) for one in inputs),
            f"keep the input of {sign} away from where that is so",
        ),
        (True, "see what makes its input nan or inf"),
    )


def small_divisor(case: Diagnosis, division: Node) -> str:
    """Return the mend for a division by what is not 0, or is 0 since it is too small; "" for another one."""
    slot = int(sign_in_program(division) == "/")
    node = next((case.whole.by_id[one.source] for one in case.whole.inputs[division.id] if one.slot == slot), None)
    if (
        node is None or node.value is None or any(one.kind == "constant" for one in operands_of(case, division))
    ):  # a constant divides
        return OF_QUOTIENT * is_by_number(division)
    if not has_zero(node.value):
        return OF_QUOTIENT * is_finite(node.value)
    while node.kind == "operation":  # to where the 0 came from
        inputs, sign = operands_of(case, node), sign_in_program(node)
        zeros = [one for one in inputs if has_zero(one.value)]
        is_hidden = sign in ("*", "/") and (len(inputs) < 2 or any(one.kind == "constant" for one in inputs))
        are_known = all(
            one.kind == "constant" or (one.value is not None and one.value.is_known and one.value.is_finite)
            for one in inputs
        )
        # a 0 of other numbers is one that is too small; but a mask may be hidden, or be a constant
        if not zeros and sign in ("*", "/", "**", "exp", "square") and are_known and not is_hidden:
            return (
                f"the divisor is 0: {sign} gives it of numbers that are not, as it is too small for its dtype:"
                " compute in float64, or in other units"
            )
        if len(zeros) != 1:
            break
        node = zeros[0]
    return ""


def is_by_number(node: Node) -> bool:
    """Return whether an operation multiplies by a number other than 0, or divides by it: it makes 0 of small ones."""
    return node.label.startswith(("Mul", "Div")) and bool(
        re.fullmatch(r"-?[0.]*[1-9][\d.]*(e[+-]?\d+)?", dict(node.recorded.held).get("other", ""))
    )


def grown_in_loop(case: Diagnosis, node: Node) -> str:
    """Return the mend for an operation by which a loop makes ever larger numbers, or that takes such; else "".

    Numbers as large that it was given, such as a value of the data that stands for none, are no growth.
    """
    below = {*reached([node.id], lambda one: [edge.source for edge in case.whole.inputs[one]])}
    sizes = defaultdict[tuple[str, Place | None], list[float]](list)
    for one in case.whole.nodes:
        if one.id in below and one.place is not None:
            sizes[one.label, one.place.without_run].append(magnitude(one.value))
    given = max(
        (magnitude(one.value) for one in case.whole.nodes if one.id in below and one.kind in ("frozen", "constant")),
        default=0.0,
    )
    for (_, place), values in sizes.items():
        least = max(LARGE, GROWTH * max(given, min(filter(None, values), default=math.inf)))
        if len(values) >= MANY_CALLS and max(values) > least:
            return (
                f"the numbers grow from one call of {'this line' if place == at_line(node) else place} to the next:"
                " take smaller initial weights, fewer calls, or a function that is bounded, such as tanh"
            )
    return ""


def flat_probability(case: Diagnosis, node: Node) -> str:
    """Return the mend for the logarithm of 0, which a sigmoid, a softmax or exp gives, or 1 - p; "" for another one."""
    logarithm = "log is infinite at 0" if sign_in_program(node) == "log" else "log1p is infinite at -1"
    is_of_rest = False  # is the logarithm that of 1 - p?
    while len(inputs := [one for one in operands_of(case, node) if one.kind not in ("constant", "frozen")]) == 1:
        sign, value, is_of_rest = sign_in_program(node), node.value, is_of_rest ^ node.label.startswith(OF_REST)
        if sign in MASKING and any(has_zero(one.value) for one in operands_of(case, node) if one.id != inputs[0].id):
            break
        (node,) = inputs  # and no index, as of p[y]
        is_sure = sign == "sigmoid" or case.graph.code or node.value is not None  # no mask of -inf makes the zeros
        is_flat = (value is not None and value.summary.largest == 1) if is_of_rest else has_zero(value)
        if sign in LOGARITHMS and is_flat and is_finite(node.value) and is_sure:
            return f"{logarithm}, and {sign} is {LOGARITHMS[sign]}"
    return ""


def operands_of(case: Diagnosis, node: Node) -> list[Node]:
    """Return what a node is made from, its constants first."""
    return [case.whole.by_id[edge.source] for edge in case.whole.inputs[node.id]]


def users_of(case: Diagnosis, node: Node) -> list[Node]:
    """Return the operations that use a node."""
    return [case.whole.by_id[edge.target] for edge in case.whole.uses[node.id]]


def not_finite_input(case: Diagnosis, name: str, what: str, node: Node) -> Cause:
    """Return the cause for nan or inf that a leaf, or the data, had when it was used."""
    row = case.rows.get(node.name or "")
    lines = case.line_of(row.history.written or row.place) if row is not None else ()
    code, dtype = case.code_of(lines), row.value.dtype if row is not None and row.value is not None else ""
    is_written = node.kind == "leaf" and row is not None and row.history.written is not None
    if not is_written and (
        begun := begun_outside(case, name, f"{what}: {node.name} is not finite itself", *users_of(case, node))
    ):
        return begun
    is_step = row is not None and row.broken is not None  # made anew of what it was before
    if node.kind != "leaf" or not (case.graph.earlier_runs or is_step):
        return Cause(
            name,
            "nan",
            f"{what}: {node.name} is not finite itself",
            lines,
            first_true(
                (node.kind == "leaf" and not case.graph.code, "see what has written it"),
                (is_written, "see what it writes"),
                (code.startswith("return "), "see what it computes"),
                (
                    row is None or is_step,
                    told_by_result(case, code or node.name or "") or "see what it is computed from",
                ),
                (True, "look at the data"),
            )
            + "; and at what is cast to float16, which ends at 65504" * (dtype == "float16"),
        )
    what = f"{what}: {node.name} was not finite any more when this backward began"
    if row is None or not (is_step or row.history.written):
        return Cause(name, "nan", f"{what}, and what has written it is not known")
    return Cause(
        name,
        "nan",
        f"{what}, and was written last by this line"
        + "; a step of its optimizer was given a gradient of it that was not finite" * row.history.took_bad,
        lines,
        first_true(
            (row.history.took_bad, f"gviz why SCRIPT {row.name} tells where that began"),
            (not (is_step or ".step(" in code or ".grad" in code), "write finite numbers there"),
            (has_grown(case), GROWN),
            (is_step, "take a smaller learning rate, if it is a step along a gradient; else see what it computes"),
            (row.history.spread, "see which gradient is not finite before it is clipped"),
            (True, "look at the options of the optimizer, such as its learning rate"),
        ),
    )


def numbers_to(case: Diagnosis, line: Lines) -> Lines:
    """Return the lines that make numbers of tensors which come to a line, as the text of the program tells."""
    own = statements_at(case.graph.code, case.line_in_text(line))
    return tuple(
        one
        for cut in case.graph.breaks
        if cut.is_number and any(last.statement in own for last in case.way_of(cut)[-1:])
        for one in case.line_of(cut.place)
    )


def told_by_result(case: Diagnosis, code: str) -> str:
    """Return what tells where nan or inf of a constant began: the first result that its text names, and that has some.

    "" for none: that has a graph of its own, and may be a root.
    """
    return next(
        (
            f"gviz why SOURCE {one.name} --root {one.name} tells where that of {one.name} began"
            for one in case.rows.values()
            if one.grad_fn and not is_finite(one.value) and re.search(rf"(?<![\w.]){re.escape(one.name)}(?!\w)", code)
        ),
        "",
    )


def begun_outside(case: Diagnosis, name: str, what: str, *users: Node) -> Cause | None:
    """Return the cause that is a call outside of the graph: as the program ran, it made the first nan or inf.

    None where none is known.

    Args:
        case: the graph.
        name: of the tensor that is asked about.
        what: that it, or its gradient, is not finite, and what has brought that, as a clause.
        users: the operations that were given what is not finite.
    """
    call = next((user.recorded.began for user in users if user.recorded.began is not None), None)
    if call is None:
        return None
    lines, part = case.line_of(call.place), case.expression_of(call)
    if call.call in FROM_NUMBERS:
        makers = (
            case.assignments.writers.get((None, getattr(one, "id", "")), ()) for one in ast.walk(part or ast.Pass())
        )
        given = (line for own in makers if len(own) == 1 for line in case.line_of(Place(own[0].statement.lineno)))
        lines = tuple(dict.fromkeys((*lines, *given)))
        return Cause(name, "nan", f"{what}, nor what {call.call}() was given", lines, DATA)
    sign = first_true(("div" in call.call, "/"), ("pow" in call.call, "**"), (True, call.call))
    operand = operand_of(part)
    text = first_true(
        (
            sign == "/",
            "its divisor is 0, or too small for its dtype: add a small number to " + ("{x}" if operand else "it"),
        ),
        (sign == "**" and has(part or ast.Pass(), lambda one: isinstance(one, ast.USub)), POWER_OF_ZERO),
        (sign in (*DOMAINS, *MENDS_OF_NAN), MENDS_OF_NAN.get(sign, outside_of_domain(sign))),
        (
            True,
            MENDS_OF_MATRICES.get(sign, f"see what {sign} is given: inf, numbers too large for its dtype, or none"),
        ),
    )
    return Cause(
        name,
        "nan",
        f"{what}; {sign} makes the first such number, outside of the graph",
        lines,
        with_text(text, operand, sign).replace(", whose slope is 0 there", ""),
    )


def operand_of(node: ast.AST | None) -> ast.expr | None:
    """Return the operand of an expression that is to be another one, as what it is divided by; None for none.

    >>> from gviz.causes.syntax import parse
    >>> parts = (parse(one).body[0].value for one in ("d ** -0.5", "1 / d", "torch.div(x, d)", "d.log()"))
    >>> [ast.unparse(operand_of(part)) for part in parts]
    ['d', 'd', 'd', 'd']
    """
    match node:
        case ast.BinOp(part, ast.Pow()) | ast.BinOp(_, ast.Div(), part):
            return part
        case ast.Call():
            return next(iter(operands_of_call(node)["div" in last_name(node) :]), None)
    return None


def with_input(case: Diagnosis, mend: str, *edges: Edge) -> str:
    """Return a mend with the input of an operation in place of ``{x}``; besides, with those of others likewise."""
    if not edges:
        return mend
    value, operands = case.whole.by_id[edges[0].source].value, [operand_in_program(case, edge) for edge in edges]
    if value is not None and value.is_known and value.summary.largest < 0:  # all of it would have the slope 0
        mend = mend.replace(CLAMPED, "{x}.exp() is")
    _, *others = dict.fromkeys(ast.unparse(one) if one is not None else "" for one in operands)
    text = with_text(mend, operands[0], sign_in_program(case.nodes[edges[0].target]))
    return f"{text}; likewise with {joined(filter(None, others))}" if any(others) and "{x}" in mend else text


def operand_in_program(case: Diagnosis, edge: Edge) -> ast.expr | None:
    """Return the input of an operation as its line has it, or as its name tells it; None if that cannot be written."""
    source, target = case.whole.by_id[edge.source], case.whole.by_id[edge.target]
    parts = statements(case.code_of(case.line_of_node(target)))
    texts = [in_code(output_name(source, edge.output)) * (not source.is_letter), source.expression]
    calls = [call for one in parts for call in calls_of(one, sign_in_program(target))]
    alike = [node for node in case.whole.nodes if node.label == target.label and node.place == target.place]
    if len(calls) == len(alike) == 1:
        texts = [*map(ast.unparse, operands_of_call(calls[0])[edge.slot : edge.slot + 1]), *texts]
    return next(filter(None, map(case.expression_in_program, texts)), None)


def with_text(mend: str, operand: ast.expr | None, sign: str) -> str:
    """Return a mend with an operand in place of ``{x}``; in words where there is none that can be written there.

    A call is written once alone, as each time it may give other numbers.
    """
    if "{x}" not in mend:
        return mend
    if operand is None or (mend.count("{x}") > 1 and has(operand, lambda part: isinstance(part, ast.Call))):
        return f"{mend.format(x='input')}; input stands for what {sign} takes"
    text, is_whole = ast.unparse(operand), isinstance(operand, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    return mend.format(x=text if is_whole else f"({text})")


def has_grown(case: Diagnosis) -> bool:
    """Return whether the leaves have become ten times as large since their first gradients came, and not the data."""
    norms = [(row.history.first_norm, row.at_backward()[0].norm) for row in case.rows.values()]
    known = [(first, now) for first, now in norms if first is not None and math.isfinite(first + now)]
    before, now = (math.hypot(*side) for side in zip(*known, strict=True)) if known else (0.0, 0.0)
    return now > 10 * max(before, 1.0) and not any(
        magnitude(one.value) >= now for one in case.whole.nodes if one.kind in ("frozen", "constant")
    )


def has_zero(value: Numbers | None) -> bool:
    """Return whether one of the numbers is 0."""
    return value is not None and value.summary.zeros > 0


def has_inf(value: Numbers | None) -> bool:
    """Return whether one of the numbers is inf, and none is nan; -inf does not count."""
    return value is not None and value.is_known and value.summary.largest == math.inf


def has_nan(value: Numbers | None) -> bool:
    """Return whether one of the numbers is nan."""
    return value is not None and value.has_nan
