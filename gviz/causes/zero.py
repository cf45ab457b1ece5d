"""Why a gradient is 0: where it became so on its way, or what the program has done with it since."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

from gviz.causes.cuts import at_cuts, clause_of_cuts, takes_from_earlier
from gviz.causes.diagnosis import Cause, Diagnosis, Lines, backward_of, first_true, is_own, sign_in_program
from gviz.causes.facts import TensorFacts
from gviz.causes.fixes import named_in, out_of_place
from gviz.causes.not_finite import LOGITS, behind, brought_not_finite, is_by_number, noted_value, users_of, with_input
from gviz.causes.training import BEFORE_EACH, accumulated, mend_of_clearing, why_cleared
from gviz.formulas.formula import UNKNOWN
from gviz.graphs import MIXED, Edge, Node, Place
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.elements import has_only, is_finite, plus, positions, summed_dims, times
from gviz.passes.part import SAME_NUMBERS, nodes_saved, slope_formula
from gviz.reaching import reached
from gviz.text import joined

MOST = 3
"""Places that are listed."""

SUMS = {"sum": 1, "mean": 1, "*": 1, "/": 1, "+": 2}
"""Operations that are sums of so many inputs, with factors that are numbers."""

NORMALIZATIONS = ("layer_norm", "batch_norm", "group_norm")
NORMALIZED = "compare it with targets, as mse_loss does: the sum of what {} makes is the same for any input"
"""What to do where all elements that a normalization makes count alike."""

MENDS_OF_ZERO = {
    **{name: f"{NORMALIZED.format(name)}; or see whether its input has differences" for name in NORMALIZATIONS},
    "relu": "give it inputs above 0, or use a function such as leaky_relu or softplus",
    "round": "rounding has no slope: {x} + ({x}.round() - {x}).detach() lets the gradient through",
    "floor": "rounding has no slope: {x} + ({x}.floor() - {x}).detach() lets the gradient through",
    "sign": "sign has no slope: {x} + ({x}.sign() - {x}).detach() lets the gradient through",
    "bernoulli": "a sample has no slope: {x} + (torch.bernoulli({x}) - {x}).detach() lets the gradient through",
    "where": "the condition picks the other side wherever it is used: see what it is made from",
    "masked_fill": "the mask covers whatever of it is used: see what it is made from",
    "sigmoid": "it is flat for inputs this large: make them smaller, or use a loss that takes logits",
    "tanh": "it is flat for inputs this large: make them smaller",
    "clamp": (
        "its input lies outside of the bounds, where the slope is 0: bring it within them, or widen them if what"
        " follows is finite there, too"
    ),
    "*": "the other factor is 0 where it is used: see what makes it so",
    "**": "its input is 0, where x ** n has no slope, or n is 0: see what makes it so",
    **dict.fromkeys(
        ("@", "addmm", "convolution", "trilinear", "mkldnn_rnn_layer"),
        "see whether the other factor is 0, or its parts cancel out",
    ),
    "clamp_min": "give it inputs above its bound",
    "multi_margin_loss": "",
    "nll_loss": "see what the targets are made from",
    **dict.fromkeys(
        ("embedding", "embedding_bag"), "look up tokens that are no padding; or see what is taken from what"
    ),
    "norm": "its input is 0, where a norm has the slope 0: see what makes it so, such as a tensor less its own copy",
    "softmax": (
        "softmax sums to 1 whatever its input is, and is flat for inputs far apart: use log_softmax, smaller inputs, or"
        " only the elements of the right classes"
    ),
    "nan_to_num": "its input is nan or infinite there, which it hides: see what makes it so",
    "normal": "random numbers have no slope: their mean plus their deviation times torch.randn() lets the gradient through",
}
"""What to do where an operation makes a gradient 0."""

ONE_CLASS = "softmax of one element is 1 whatever it is: give it a dim of several, or use sigmoid for one class"

PRODUCTS = {
    **dict.fromkeys(("*", "@", "convolution"), ((0, 1),)),
    "addmm": ((1, 2),),
    "trilinear": ((0, 1, 2),),
    "mkldnn_rnn_layer": ((0, 1), (5, 2)),
    **dict.fromkeys(NORMALIZATIONS, ((0, 1),)),
}
"""Operations that have products, each with the places of the factors of each product among its inputs."""

FLAT_AT_0 = ("**", "abs", "norm", "relu", "mse_loss", "smooth_l1_loss", "huber_loss")
"""Operations that have no slope at 0; losses, where both inputs are 0."""

SELECTIONS = ("index", "index_select", "masked_select", "slice", "select", "gather", "take")
"""Operations that pick elements."""

ADDED_UP = (*SUMS, *SELECTIONS, "where", "masked_fill", "**")
"""What a loss may make of the margins of its examples, before they are one number."""


class Mend(NamedTuple):
    """What to do about a gradient of zeros.

    Args:
        text: what to write, or to do, and
        meant: when the zeros are as they should be, both as :meth:`TensorFacts.cause` takes them.
        of: what has happened, of what is no derivative of 0: a text with places for the operation, and for its input.
    """

    text: str
    meant: str = ""
    of: str = ""


def left_by_other_root(facts: TensorFacts) -> Cause:
    """Return the cause for zeros, or nan or inf, that another backward has left."""
    name, root, beside = facts.name, facts.case.root_name, beside_bias(facts)
    lines = facts.case.line_of(facts.history.brought)
    other = next((one for _, code in lines for one in [named_in(code)] if one not in ("", root)), "NAME")
    is_for_functions = facts.history.autograd_grad is not None and not facts.history.is_optimized
    is_written = re.search(r"set_to_none=False|\.zero_\(", facts.case.text) if facts.is_zero else None
    return facts.cause(
        "nan" if facts.number else "zero",
        f"{name}.grad is {facts.number or 0}, as {'zero_grad(), or ' * bool(is_written)}another backward has left it:"
        f" {root} is not made from {name}{beside}",
        lines,
        f"{'give its root a name of its own, and ' * (other == 'NAME')}"
        f"gviz why SOURCE --root {other} tells of that one",
        first_true(
            (beside, f"if what comes to {name} is to cancel out"),
            (is_written, "if it was cleared"),
            (is_for_functions, f"if torch.autograd.grad alone is to use {name}"),
            (True, ""),
        ),
    )


def beside_bias(facts: TensorFacts) -> str:
    """Return, of a bias, that the weight beside it has got a gradient that is not 0, as a clause; "" for any other.

    What comes to such a bias may cancel out by design.
    """
    weight = facts.case.rows.get(re.sub(r"\bbias$", "weight", facts.name), facts.row)
    has_own = weight is not facts.row and (
        is_not_0(weight.at_backward()[1].value)
        or (weight.grad.value is not None and weight.history.grad_cleared is not None)  # set to 0 since
    )
    return f"; that of {weight.name} was not 0" if has_own and facts.is_zero else ""


def has_others(case: Diagnosis) -> bool:
    """Return whether backward has brought a tensor that the root is made from a gradient that is not 0."""
    return any(is_not_0(row.at_backward()[1].value) for row in case.rows.values() if case.is_reached(row))


def is_empty(node: Node) -> bool:
    """Return whether a result has no elements."""
    return node.value is not None and not node.value.numel


def is_not_0(value: Numbers | None) -> bool:
    """Return whether there are numbers that are known, and not all of them are 0."""
    return value is not None and value.is_known and value.numel > 0 and not has_only(value, 0.0)


def accumulated_zero(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient of an earlier backward, to which this one adds nothing but zeros."""
    cause, nothing = accumulated(facts), zero(facts)
    return facts.cause(
        cause.verdict,
        f"{cause.what}; and what this one brings is 0: {nothing.what.partition(': ')[2]}",
        (*cause.lines, *nothing.lines),
        f"{nothing.mend}; {cause.mend}",
    )


def zero(facts: TensorFacts) -> Cause:
    """Return the cause for a gradient of zeros: where it becomes zero on its way."""
    case, head = facts.case, f"the gradient of {facts.name} is 0"
    if any(part is not None and not has_only(part, 0.0) for part in facts.parts):
        return zeroed(facts, head)
    edges = edges_to_zero(case, facts.node) if facts.node is not None else []
    if not edges:
        return facts.cause(
            "zero",
            f"{head}, and where it became so is not known{beside_bias(facts)}",
            case.line_of_backward,
            "gviz render SOURCE --view dataflow shows the gradients on their way",
            f"if what comes to {facts.name} is to cancel out" * bool(beside_bias(facts)),
        )
    ends = (case.nodes[end] for edge in edges for end in (edge.target, *[edge.source] * is_not_0(edge.flow.handed)))
    own = next(filter(is_own, ends), None)
    if own is not None:  # a gradient came to it that was not 0
        return with_other_ways(
            facts,
            facts.cause(
                "zero",
                f"{head}: {backward_of(own)} gives 0",
                case.line_of_own(own.label, own),
                "look at what it returns",
            ),
            edges,
        )
    if written := written_unseen(facts, edges, head):
        return written
    distinct = [*dict.fromkeys(zero_text(case, edge) for edge in edges)]
    texts = "; ".join(distinct[:MOST]) + f", and {len(distinct) - MOST} more" * (len(distinct) > MOST)
    lines = tuple(line for edge in edges[:MOST] for line in case.line_of_node(case.nodes[edge.target]))
    edge = min(  # of which most is known: what a where() does not pick comes on another way
        edges,
        key=lambda one: (not origins_of_factor(case, one), sign_in_program(case.nodes[one.target]) == "where"),
    )
    mend, ways = mend_of_zero(case, edge), [edge]
    if mend is MENDS_OF_SUMS["of parts"]:  # a gate that is to begin at 0 may keep from that part what comes to others
        ways = [
            way
            for node in case.above(case.nodes[edge.target])
            for way in case.shown.inputs[node.id]
            if is_not_0(node.grad.arrived) and has_only(way.flow.handed, 0.0)
        ]
    origins = {one.id: one for way in ways for one in origins_of_factor(case, way)}.values()
    if "weight_hh" in facts.name and all(is_by_first_state(case, edge) for edge in edges):
        mend = MENDS_OF_SUMS["with the first state"]
    elif factors := [
        one
        for one in origins
        if (
            one.kind == "leaf" and is_not_0(one.grad.value)  # a gate
            if mend is MENDS_OF_SUMS["of parts"]
            else one.kind == "operation" or is_named(one)
        )
    ]:
        more_lines, of_factor = mend_of_factor(case, factors)
        lines, mend = (
            (*lines, *more_lines),
            mend._replace(meant=of_factor.meant) if mend is MENDS_OF_SUMS["of parts"] else of_factor,
        )
    else:
        lines += tuple(
            line
            for one in factors_of(case, case.nodes[edge.target], edge.slot)
            if is_nothing(case, one)
            for line in case.line_of_node(one)
        )
    cause = facts.cause("zero", f"{head}: {texts}", lines, mend.text, mend.meant)
    return (
        with_other_ways(facts, cause, edges)
        if "has no slope" in mend.text or mend.text == MENDS_OF_ZERO["*"]  # the latter by a number
        else cause
    )


def written_unseen(facts: TensorFacts, edges: Iterable[Edge], head: str) -> Cause | None:
    """Return the cause for a tensor that was written, as through ``.data``, after an operation had saved it; or None.

    Args:
        facts: of the leaf.
        edges: the ways on which the operation may be.
        head: what is wrong with the gradient, as a clause.
    """
    case = facts.case
    for edge in edges if case.has_mixed else ():
        saver = case.nodes[edge.target]
        for node in nodes_saved(case.whole, edge):
            name, own = case.name_of(node), case.line_in_text(case.line_of_node(saver))
            writes = (one for one in case.assignments.lines if f"{name}.data" in ast.unparse(one) and one.lineno > own)
            lines = tuple(line for one in writes for line in case.line_of(Place(one.lineno)))[:1]
            is_after = lines or node is saver or (node.kind == "leaf" and len(case.uses[node.id]) == 1)
            if node.state == MIXED and is_after:  # others may have been written before they were saved
                return facts.cause(
                    "written in place",
                    f"{head}: {name}, which {sign_in_program(saver)} had saved for backward, was written after that,"
                    " unseen by autograd",
                    (*case.line_of_node(saver), *lines),
                    out_of_place(case.code_of(lines)) or f"write after backward(), or into {name}.clone()",
                )
    return None


def computed_from_new(facts: TensorFacts) -> Cause | None:
    """Return the cause for a gradient that was computed from numbers which the program has written since."""
    nodes = [facts.node, *facts.case.above(facts.node)] if facts.node is not None and facts.case.has_mixed else []
    return written_unseen(
        facts,
        (edge for node in nodes for edge in facts.case.uses[node.id]),
        f"the gradient of {facts.name} may not be that of {facts.case.root_name}",
    )


def mend_of_zero(case: Diagnosis, edge: Edge) -> Mend:
    """Return what to do where a gradient becomes 0."""
    first = case.nodes[edge.target]
    sign, source = sign_in_program(first), case.nodes[edge.source]
    if sign not in PRODUCTS and not edge.flow.is_underflow and is_least(case):
        return mend_of_least(case)
    if text := (
        ONE_CLASS * (sign_in_program(source) == "softmax" and has_only(source.value, 1.0))
        or dropout_of(case, first)
        or mend_of_values(first, sign)
    ):
        return Mend(
            text, "if some batches leave it out, as an expert of a mixture" * (is_empty(first) and has_others(case))
        )
    if sums := sums_to_zero(case, edge):
        return sums
    if sign == "sgn" or sign.endswith("_backward"):
        return Mend(
            "take a smooth function, such as silu: the second derivative of one of straight pieces, such as relu, is 0",
            f"if {case.root_name} is made of gradients, as a gradient penalty is",
        )
    text = first_true(
        (sign in MENDS_OF_ZERO, MENDS_OF_ZERO.get(sign, "")),
        (is_flat(first, edge.slot), "it has no slope at any input: take a function that has one"),
        (
            sign in ("mse_loss", "smooth_l1_loss", "huber_loss"),
            "its inputs are the same where they are used: see what each is made from",
        ),
        (True, f"give {sign} inputs where its derivative is not 0"),
    )
    text = text.removesuffix(  # it gives no probability to the loss then
        f", or use {LOGITS}" * any(sign_in_program(user) in ("@", "addmm") for user in case.above(first))
    )
    return Mend(
        with_input(case, text, edge),
        first_true(
            (
                sign == "multi_margin_loss"
                or (is_hinge(case, source if sign == "**" else first) and not is_to_grow(first)),
                "if it is a margin that all examples keep, or free bits",
            ),
            (sign == "nll_loss" and has_others(case), "if all targets are to be ignored, or of weight 0"),
            (True, ""),
        ),
    )


def with_way_of_0(facts: TensorFacts, cause: Cause) -> Cause:
    """Return a cause for a gradient that came, with what has no slope on another way at any input, as a rounding."""
    case, is_whole = facts.case, cause.verdict in ("ok", "cleared") and not cause.mend
    below = [facts.node, *case.above(facts.node)] if facts.node is not None and facts.is_leaf_of_graph else []
    for edge in (edge for node in below if is_whole for edge in case.uses[node.id]):
        if is_flat(case.nodes[edge.target], edge.slot) and is_not_0(case.nodes[edge.target].grad.arrived):
            mend = mend_of_zero(case, edge).text
            return cause.besides(
                f"comes only 0: {zero_text(case, edge)}",
                case.line_of_node(case.nodes[edge.target]),
                f"none, unless {facts.name} is to be trained on that way, too: {mend}",
                "on another way, which may be meant,",
            )
    return cause


def is_hinge(case: Diagnosis, node: Node) -> bool:
    """Return whether an operation may be the margin of a loss, or free bits: a floor of what is only added up."""
    sign, above, options = sign_in_program(node), case.above(node), node.recorded.options
    ways = case.shown.inputs[node.id]
    is_positive = all((one := noted_value(case, case.nodes[way.source])) and one.summary.smallest >= 0 for way in ways)
    is_at_0 = re.fullmatch(r"-?0(\.0*)?", options.get("min", ""))
    is_floor = options.get("max", "None") == "None" and (is_at_0 or (is_positive and "min" in options))
    is_floor = is_floor or (sign == "maximum" and is_positive and len(ways) == 1)
    may_be = sign in ("clamp", "maximum") or (sign == "relu" and above != [])
    return bool(is_floor or (may_be and all(has_only(one, 0.0) for one in case.root_values))) and all(
        sign_in_program(one) in ADDED_UP
        or SAME_NUMBERS.fullmatch(one.label)
        or math.prod(size_of(one.grad.arrived)) == 1
        for one in above
    )


def is_to_grow(node: Node) -> bool:
    """Return whether a step would make some of a result larger, as of a reward: no margin holds that down."""
    return (
        node.recorded.options.get("max", "None") == "None"
        and node.grad.arrived is not None
        and node.grad.arrived.summary.smallest < 0
    )


def is_flat(node: Node, slot: int) -> bool:
    """Return whether the derivative of an operation for an input is 0 everywhere, as the table of operations has it.

    That of a division that rounds is, too.
    """
    return node.recorded.options.get("rounding_mode", "None") != "None" or (
        slope_formula(node.label, slot).startswith("zeros_")
    )


def mend_of_least(case: Diagnosis) -> Mend:
    """Return what to do where the root is 0, and never less: nothing, unless float16 may have made it 0."""
    halves = (
        node.value is None or not node.value.is_known or has_only(node.value, 0.0)
        for node in case.shown.nodes
        if node.kind == "operation"
        and HALF in [one.dtype for one in (node.value, node.grad.arrived) if one is not None]
    )
    return (
        Mend(
            f"{HALF} makes 0 of what is less than 6e-8: compute in float32, or scale what is as small",
            f"if {case.root_name}, which is never less than 0, is 0 since all fits",
        )
        if any(halves)
        else Mend("", f"since {case.root_name} is 0, and never less")
    )


def dropout_of(case: Diagnosis, node: Node) -> str:
    """Return what to do where dropout has made 0 of all that is used; "" for any other operation."""
    module = node.module if node.module is not None and "Dropout" in node.module.kind else None
    return (
        f"{module.path} ({module.kind}) has set {'all' if is_nothing(case, node) else 'what is used'} of it to 0"
        " in this run: call it in eval(), or give it a smaller p"
        if module
        else ""
    )


def mend_of_values(node: Node, sign: str) -> str:
    """Return what to do about a selection of nothing, a softmax or a normalization, that hands on 0; "" for others."""
    options = {"normalized_shape": "0", "C": "0", "HxW": "0", "group": "1", **node.recorded.options}
    return first_true(
        (
            is_empty(node),
            (
                f"see why {sign} {'picks no element' if sign in SELECTIONS else 'is given no elements'},"
                " or leave out a batch of which nothing is picked"
            ),
        ),
        (
            sign == "log_softmax" and has_only(node.value, 0.0) and math.prod(size_of(node.value)[1:]) > 1,
            "log_softmax of one element is 0 whatever it is: give it a dim of several",
        ),
        (
            sign == "log_softmax" and has_only(node.value, 0.0),
            "there is one class alone: give it an output for each, or use binary_cross_entropy_with_logits",
        ),
        (sign in ("softmax", "safe_softmax") and has_only(node.value, 1.0), ONE_CLASS),
        (
            sign in NORMALIZATIONS
            and (
                {*re.findall(r"\d+", options["normalized_shape"])} == {"1"}
                or int(options["C"]) * int(options["HxW"]) == int(options["group"])
            ),
            f"{sign} over one element makes 0 of any input, but for its bias: let it normalize over several",
        ),
        (True, ""),
    )


HALF = "float16"

MENDS_OF_SUMS = {
    "with the first state": Mend(
        "give it the state that the step before has left: the one at the beginning is 0",
        "if each sequence has one step alone",
    ),
    "over a batch": Mend(
        "",
        "if its parts are to cancel out: what each example of a batch brings adds up to 0",
        of="{} hands on 0 to {}: what comes to it cancels out there",
    ),
    "of nothing": Mend(
        "see why there is nothing in it, such as a batch of no examples",
        of="{} hands on 0 to {}: there are no elements in it",
    ),
    "over ways": Mend(
        "see what is taken from what, or divided by what",
        "if the ways are to cancel out",
        of="what comes to {1} over its ways cancels out",
    ),
    "of parts": Mend(
        "see how that part of its result is used",
        of="{} hands on 0 to {}: nothing but 0 comes to it where its derivative is not 0",
    ),
    "in a product": Mend(
        "see where the other factor is 0, such as by a relu",
        "if its parts are to cancel out",
        of="{} hands on 0 to {}: each sum in the product of what comes to it with the other factor is 0",
    ),
    "embedding": Mend(
        MENDS_OF_ZERO["embedding"],
        of="{} hands on 0 to {}: all rows that are looked up are padding, or what comes to them cancels out",
    ),
    "even": Mend("", of="{} hands on 0 to {}: what comes to it cancels out there, or it is flat at its input"),
    "of elements": Mend(
        "see what is taken from what, and which elements are used",
        "if its parts are to cancel out",
        of="{} hands on 0 to {}: what comes to it cancels out there, or comes to no element of it",
    ),
}
"""What to do where sums come to 0."""


def sums_to_zero(case: Diagnosis, edge: Edge) -> Mend | None:
    """Return how an operation hands on 0, though neither what comes to it nor its derivative is 0; None if it does not.

    Its sums come to 0, or those over several ways to its input; or its dtype has no number as small.
    """
    if is_not_0(edge.flow.handed):
        return MENDS_OF_SUMS["over ways"]
    node, handed = case.nodes[edge.target], edge.flow.handed
    if handed is not None and (edge.flow.is_underflow or is_by_number(node)) and not is_flat(node, edge.slot):
        return Mend(
            f"{handed.dtype} has no number as small: compute it in {'float32' if handed.dtype == HALF else 'float64'},"
            " or scale the loss, as torch.amp.GradScaler does",
            of=f"what {{}} hands on to {{}} is less than a {handed.dtype} can hold",
        )
    if 0 in [one.numel for one in (node.grad.arrived, handed) if one is not None]:
        return MENDS_OF_SUMS["of nothing"]
    return sums_within(case, edge, node) if is_not_0(node.grad.arrived) and has_only(handed, 0.0) else None


def sums_within(case: Diagnosis, edge: Edge, node: Node) -> Mend | None:
    """Return how the sums of an operation come to 0; None for one that only has derivatives to be 0."""
    sign = sign_in_program(node)
    is_linear = sign not in MENDS_OF_ZERO.keys() - {"embedding"} and not (
        is_flat(node, edge.slot) or slope_formula(node.label, edge.slot) == "" or nodes_saved(case.whole, edge)
    )
    factors = [one.value for one in factors_of(case, node, edge.slot)]
    return first_true(
        (
            sign in ("+", "-")
            or (sign == "addmm" and edge.slot == 0)
            or (summed_dims(edge) and is_not_0(times(edge.flow.local, node.grad.arrived))),  # before they are added up
            MENDS_OF_SUMS["over a batch"]
            if math.prod(size_of(edge.flow.handed)) < math.prod(size_of(node.grad.arrived))
            else None,
        ),
        (sign == "embedding", MENDS_OF_SUMS["embedding"]),
        (sign in ("softmax", *NORMALIZATIONS), MENDS_OF_SUMS["even"]._replace(text=MENDS_OF_ZERO.get(sign, ""))),
        (is_linear or sign == "log_softmax", MENDS_OF_SUMS["of elements"]),
        (
            sign not in (*MENDS_OF_ZERO, *PRODUCTS) and is_not_0(edge.flow.local),
            MENDS_OF_SUMS["of parts"],
        ),  # such as cat
        (
            sign in PRODUCTS and sign not in ("*", *NORMALIZATIONS) and not origins_of_factor(case, edge),
            MENDS_OF_SUMS["in a product"]
            if factors and all(map(is_not_0, factors))
            else MENDS_OF_SUMS["in a product"]._replace(text=MENDS_OF_ZERO["@"], meant=""),
        ),
        (True, None),
    )


def origins_of_factor(case: Diagnosis, edge: Edge) -> list[Node]:
    """Return what the other factor of a product is 0 from: tensors of the program, or operations on other numbers.

    So, too, of what takes a product of 0 and has no slope at 0: a mask may have made it.
    """

    def zeros(nodes: Iterable[Node]) -> list[str]:
        pairs = ((one, behind(case, one, SAME_NUMBERS)) for one in nodes)
        return [node.id for one, node in pairs if is_nothing(case, one) or is_nothing(case, node)]

    def inputs_of(one: str) -> list[str]:
        return zeros(
            part for part in factors_of(case, case.whole.by_id[one]) if part.kind == "operation" or is_named(part)
        )

    source, target = case.nodes[edge.source], case.nodes[edge.target]
    factors = factors_of(case, target, edge.slot) or [
        one
        for one in factors_of(case, source)
        if (sign_in_program(source), one.kind) == ("*", "frozen") and sign_in_program(target) in FLAT_AT_0
    ]
    found = (case.whole.by_id[one] for one in reached(zeros(factors), inputs_of) if not inputs_of(one))
    return [node for node in found if node.kind != "operation" or makes_zeros(case, node)]


def factors_of(case: Diagnosis, node: Node, slot: int | None = None) -> list[Node]:
    """Return the factors of an operation that has products: its bias is no reason for zeros; else all its inputs.

    Of one of its inputs, what that is multiplied by. What elements are picked by is no reason, either.
    """
    sign, edges = sign_in_program(node), case.whole.inputs[node.id]
    products = PRODUCTS.get(sign, ((0,),) if sign in ("embedding", *SELECTIONS) and slot is None else ())
    slots = {one for places in products if slot is None or slot in places for one in places} - {slot}
    return [case.whole.by_id[edge.source] for edge in edges if edge.slot in slots or (slot is None and not products)]


def makes_zeros(case: Diagnosis, node: Node) -> bool:
    """Return whether an operation with a result of zeros is what has made them: its inputs are known, or it is flat."""
    are_known = len(case.whole.inputs[node.id]) == node.recorded.slots and all(
        one.value is not None and one.value.is_known for one in factors_of(case, node)
    )
    return multiplies_by_0(case, node) or sign_in_program(node) in MENDS_OF_ZERO.keys() - PRODUCTS.keys() or are_known


def is_nothing(case: Diagnosis, node: Node) -> bool:
    """Return whether a result is known to be 0, be it as a product with zeros, of which no number was kept."""
    return (has_only(noted_value(case, node), 0.0) or multiplies_by_0(case, node)) or (
        (node.value is None or not node.value.is_known)
        and sign_in_program(node) in ("*", "@")
        and any(has_only(behind(case, one, SAME_NUMBERS).value, 0.0) for one in factors_of(case, node))
    )


def multiplies_by_0(case: Diagnosis, node: Node) -> bool:
    """Return whether an operation multiplies by the number 0, or by zeros, as dropout of all does."""
    return node.label.startswith("Mul") and (
        dict(node.recorded.held).get("other") == "0"
        or any(has_only(edge.flow.local, 0.0) for edge in case.whole.inputs[node.id])
    )


def is_by_first_state(case: Diagnosis, edge: Edge) -> bool:
    """Return whether a recurrent layer multiplies a weight by a state that no step has made, and that is 0."""
    target = case.nodes[edge.target]
    return sign_in_program(target) in PRODUCTS and all(
        one.kind == "frozen" and not is_not_0(one.value) for one in factors_of(case, target, edge.slot)
    )


def is_named(node: Node) -> bool:
    """Return whether the program has a name for what is no operation."""
    return bool(node.name) and not node.is_letter and node.name != UNKNOWN and node.kind != "constant"


def mend_of_factor(case: Diagnosis, origins: list[Node]) -> tuple[Lines, Mend]:
    """Return the lines that make the other factor of a product 0, and what to do about it."""
    tensors, first, sign = (
        [one for one in origins if one.kind != "operation"],
        origins[0],
        sign_in_program(origins[0]),
    )
    if not tensors:
        general = first_true(
            (multiplies_by_0(case, first), "it multiplies by 0"),
            (sign == "relu", MENDS_OF_ZERO["relu"]),
            (True, "see its inputs"),
        )
        text = dropout_of(case, first) or f"the other factor is 0, since {sign} makes it so: {general}"
        return case.line_of_node(first), Mend(text)
    rows = [case.rows[one.name or ""] for one in tensors if one.name in case.rows]
    names, is_one = joined([one.name or "" for one in tensors]), len(tensors) == 1
    are, them = ("is", "it") if is_one else ("are", "them")
    is_fed = all(is_not_0(one.grad.value or one.grad.arrived) for one in origins)  # or is to arrive
    fault = is_fed * first_true(
        (
            any(row.history.grad_cleared and not row.history.was_used for row in rows),
            f": see what takes away the gradient that comes to {them}",
        ),
        (
            any(row.history.is_optimized is False and not row.history.is_updated for row in rows),
            f", and no step changes {them}: give {them} to an optimizer",
        ),
        (
            any(1 < row.history.still_steps == row.history.steps for row in rows),  # and no warm-up
            f", and each step() has had the learning rate 0 for {them}: see what sets it",
        ),
        (True, ""),
    )
    may_be_mask = (
        case.graph.code and not any(row.broken and row.broken.reason != "no derivative" for row in rows)
    ) and all(
        one.kind == "frozen"  # data, or a comparison: what was cut off is none
        and "(" not in (one.name or "")
        and math.prod(size_of(one.value)) > 1
        and all(sign_in_program(user) == "*" for user in users_of(case, one))
        for one in tensors
    )
    mask = f"if {names} {are} to mask what is used, see why all of it is masked; else " * bool(may_be_mask)
    return tuple(line for row in rows for line in case.line_of(row.history.written or row.place)), Mend(
        f"the other factor is 0, as {names} {are}{fault or f': {mask}give {them} other numbers'}",
        f"if {names} {are} to begin at 0: a gradient comes to {them}, and a step changes {them}"
        * (is_fed and not fault),
    )


def with_other_ways(facts: TensorFacts, cause: Cause, edges: Sequence[Edge]) -> Cause:
    """Return the cause for a function without slope with what cuts its tensor off on other ways.

    Another operation may make the gradient 0 at some inputs alone, and stand on those ways, too. Nothing would come
    along a way on which the gradient is 0 already where it is cut off, nor through a graph that was freed before; a
    block under no_grad() is written on purpose, as that of a target network; and a cut of what is made with leaves that
    come in after the function is behind it, and on no other way.
    """
    case = facts.case
    closed = {one.id for edge in edges for one in case.above(case.nodes[edge.target])}
    late = {node.name for node in case.named.values() if {use.target for use in case.uses[node.id]} <= closed}
    cuts = [
        cut
        for cut in facts.cuts
        if cut.is_used and cut.reason != "no_grad" and late.isdisjoint(cut.leaves)
        if not (takes_from_earlier(case, cut) or case.chain_of(cut)[-1].is_idle)
    ]
    return (
        cause.besides(clause_of_cuts(case, cuts, "what is made from it"), *at_cuts(case, cuts), "on another way,", "or")
        if cuts
        else cause
    )


def zeroed(facts: TensorFacts, head: str) -> Cause:
    """Return the cause for a gradient that was not 0 on its way: the parts cancel, or the program has made it 0.

    Args:
        facts: of the leaf.
        head: that its gradient is 0, as a clause.
    """
    case, name, parts, before = facts.case, facts.name, facts.parts, facts.before
    total, lines = reduce(plus, parts), case.line_of(facts.history.grad_cleared)
    if number := next((part.not_finite for part in parts if part is not None and not is_finite(part)), ""):
        cause = brought_not_finite(facts, f"backward brought {number} to {name}, and it was set to 0 afterwards")
        return facts.cause("nan", cause.what, (*cause.lines, *lines), cause.mend)
    is_left = has_only(facts.row.at_backward()[1].value, 0.0)  # by backward itself, whatever was written since
    both = total if before is None or has_only(before, 0.0) else plus(total, before)
    if is_left and both is not total and (both is None or has_only(both, 0.0)):
        return facts.cause(
            "zero",
            f"{head}: what this backward has brought cancels what was there before",
            case.line_of_backward,
            f"{BEFORE_EACH.format(facts.in_code)}; unless the sum is what you want",
            "if the sum is meant, as others have gradients" * has_others(case),
        )
    if is_left and (has_only(total, 0.0) or (total is None and len(parts) > 1)):
        return cancelled(facts, f"{head}: what comes to it from its {len(parts)} uses cancels out")
    what, when = f"{head}: it was set to 0 after backward", why_cleared(facts) if lines else ""
    return (
        facts.cause("cleared", f"{what} had brought it, {when}", lines)
        if when
        else facts.cause(
            "zero",
            what,
            lines or case.line_of_backward,
            mend_of_clearing(facts) if lines else "look at what changes .grad, and at hooks",
        )
    )


def is_least(case: Diagnosis) -> bool:
    """Return whether the root is 0, and a sum of squares, sizes or losses, none of them with a negative factor."""
    todo = [case.nodes[root] for root in case.shown.roots]
    for node in todo:  # grows while it is read
        inputs, arrives, sign = case.shown.inputs[node.id], node.grad.arrived, sign_in_program(node)
        exponent = node.recorded.options.get("exponent", "") if sign == "**" else ""
        is_square = (exponent.isdecimal() and not int(exponent) % 2) or (
            sign in ("abs", "norm") or sign.endswith(("mse_loss", "l1_loss", "huber_loss"))
        )
        if arrives is None or not arrives.summary.smallest >= 0 or not (is_square or len(inputs) == SUMS.get(sign)):
            return False
        if is_square and any(is_not_0(edge.flow.handed) for edge in inputs):  # the dtype alone makes it 0
            return False
        todo += [] if is_square else [case.nodes[edge.source] for edge in inputs]
    return all(value is not None and has_only(value, 0.0) for value in case.root_values)


def cancelled(facts: TensorFacts, what: str) -> Cause:
    """Return the cause for paths whose gradients cancel out, with the operation where they meet, if there is one."""
    case, meant = facts.case, ""
    is_variable = facts.name.isidentifier() and (facts.node is None or facts.node.module is None)
    wrt = facts.name if is_variable else f'"{facts.name}", params=model'
    mend = (
        f"gviz explain SOURCE --wrt {facts.name} shows the paths"
        if case.graph.code
        else f"gviz.explain({case.root or 'loss'}, wrt={wrt}) shows the paths"
    )
    users = [case.nodes[edge.target] for edge in case.uses[facts.node.id]] if facts.node is not None else []
    above = [{user.id, *(one.id for one in case.above(user))} for user in users]
    common = sorted(set.intersection(*above)) if above else []
    if not common:
        return facts.cause("zero", what, case.line_of_backward, mend)
    meeting = max(common, key=lambda one: len([*case.above(case.nodes[one])]))
    sides = [case.nodes[edge.source] for edge in case.shown.inputs[meeting]]
    names = [one.name for one in sides if one.name and not one.is_letter]
    if has_only(case.nodes[meeting].value, 0.0) and len({*names}) == 2:
        what = f"{what}, where {names[0]} and {names[1]}, which are the same numbers, are taken from each other"
        mend = (
            f"see what {names[0]} and {names[1]} are made from, if they are to differ; {names[0]}.detach() or"
            f" {names[1]}.detach(), if one of them is to be a constant; {mend}"
        )
    elif has_others(case):
        meant = "if they are to cancel out, as others have gradients"
    lines = (line for node in (case.nodes[meeting], *sides) for line in case.line_of_node(node))
    return facts.cause("zero", what, (*lines, *case.line_of_backward), mend, meant)


def edges_to_zero(case: Diagnosis, node: Node) -> list[Edge]:
    """Return the edges on which a gradient that is not 0 becomes 0, above a node."""

    def turns(edge: Edge) -> bool:
        arrives = case.nodes[edge.target].grad.arrived
        several = case.uses[edge.target] if arrives is None else ()  # of an operation with several results
        return any(is_not_0(use.flow.handed) for use in several) or not (arrives is None or has_only(arrives, 0.0))

    below = reached([node.id], lambda one: [edge.target for edge in case.uses[one] if not turns(edge)])
    return [edge for one in below for edge in case.uses[one] if turns(edge)]


def zero_text(case: Diagnosis, edge: Edge) -> str:
    """Return why a gradient becomes 0 at an operation."""
    source, target = case.nodes[edge.source], case.nodes[edge.target]
    sign, name = sign_in_program(target), case.name_of(source, edge.output)
    place = f" in {target.place}" if target.place is not None else ""
    sums = sums_to_zero(case, edge)
    if sums is not None and not origins_of_factor(case, edge):
        return sums.of.format(f"{sign}{place}", name)
    negatives = positions(source.value, lambda number: number < 0) if sign in ("relu", "threshold") else []
    own, inputs = (
        (name.removeprefix("its "), "negative inputs") if size_of(source.value) else (name, "a negative input")
    )
    indices = [f"{own}{''.join(f'[{i}]' for i in at)} = {number:.4g}" for at, number in negatives]
    is_everywhere = sign not in MENDS_OF_ZERO and is_flat(target, edge.slot)
    return first_true(
        (negatives, f"{sign}{place} has the derivative 0 at {inputs} ({joined(indices, MOST)})"),
        (
            is_empty(target),
            f"{sign}{place} {'picks no element' if sign in SELECTIONS else 'has no elements'} of {name}",
        ),
        (True, f"the derivative of {sign}{place} for {name} is 0 {'everywhere' if is_everywhere else 'here'}"),
    )
