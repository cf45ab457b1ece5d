"""What all formats say in the same words: numbers, steps of a path, remarks, the parts of an explained name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

from gviz.derivations.derivation import Derivation, begins_with_one, is_retained, step_kind
from gviz.derivations.paths import ENDS, GAP, BackwardStep, Chain, Path
from gviz.formulas.formula import GRAD, UNKNOWN, UNNAMED, Formula
from gviz.formulas.lectures import BY_ROWS, jacobian_notes
from gviz.formulas.operations import operator_of
from gviz.graphs import RETURNED, Edge, Hooked, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.elements import agree, is_finite, plus, scalar_of, times
from gviz.pictures.digits import (
    ABOUT,
    Listing,
    decimal,
    decimals_at,
    level_that_holds,
    printed_total,
)
from gviz.pictures.labels import (
    change_text,
    shape_text,
    value_text,
)
from gviz.pictures.trails import NUMBERS, printed_product
from gviz.text import joined, quotient_of

MOST_NUMBERS = 16
"""Elements of a tensor that are written out; of a larger one its size and norm."""

ROUNDED = "each step is its derivative, so that the sums differ by what rounding makes of large summands"

SKIPPED = f"of a long path the first and the last {ENDS} steps are listed"

NO_NAME = f"{UNKNOWN} is {UNNAMED}, and has no name in the graph"

LONGEST_VALUE = 48
"""Characters of the numbers of a tensor before its paths."""

PRECISION = 4
"""Decimals of a number."""


def numbers_text(value: Numbers | None, most: int = 1000, precision: int = PRECISION) -> str:
    """Return the numbers of a small tensor; the size and the norm of another; "" for none.

    >>> numbers_text(Numbers.of([[1.0, 2.5]])), numbers_text(Numbers.of([2.0])), numbers_text(Numbers.of([1.0] * 100))
    ('[[1, 2.5]]', '[2]', '(100) all 1')

    Args:
        value: any numbers.
        most: characters.
        precision: decimals.
    """
    if value is None:
        return ""
    if 0 in size_of(value):  # which says nothing of the sizes inside
        return "no elements"
    if not value.is_known:  # as of a tensor on the device meta
        return shape_text(size_of(value))
    if isinstance(number := scalar_of(value), float):
        return one_number(number, precision)
    text = value_text(value, precision) if is_short(value) else ""
    if 0 < len(text) <= most:
        return text
    about = value.summary
    is_same = about.smallest == about.largest
    rest = f"all {decimal(about.largest, PRECISION)}" if is_same else f"norm {decimal(about.norm, PRECISION)}"
    return f"{shape_text(size_of(value))} {rest}"


@cache  # many paths have the same factors
def one_number(value: float, precision: int) -> str:
    """Return a number."""
    return decimal(value, precision)


def is_short(value: Numbers | None) -> bool:
    """Return whether the numbers are few enough to be written out."""
    return 0 < math.prod(size_of(value)) <= MOST_NUMBERS


def is_scalar(path: Path) -> bool:
    """Return whether all steps of a path are plain numbers."""
    values = path.start, *path.factors, path.product, *path.gradients
    has_maps = any(
        edge.flow.jacobian is not None or (GRAD in edge.flow.symbol and edge.flow.local is None) for edge in path.edges
    )
    return not has_maps and not any(value is not None and value.shape for value in values)


def is_one_of_several(chain: Chain, path: Path) -> bool:
    """Return whether a path is one step of its own beside others.

    Its derivative would be written as their sum is: ``∂y/∂x`` is x in one step of ``y = x * x``, and 2·x for all.
    """
    return len(path.edges) == 1 < chain.count


def path_steps(chain: Chain, path: Path, digits: Listing) -> list[tuple[str, str, str, str]]:
    """Return the steps of a path: the derivative, its symbol, its numbers, and the gradient behind it.

    A sum over what the input was spread over is a step of its own. Numbers to which the symbol does not come, with the
    ``digits`` of what is in it, begin with ≈. What backward began with at the root stands first, if that is not 1.
    """
    of_start, of_steps = decimals_of(path)
    rows = [] if begins_with_one(chain) else [("start", "", "", numbers_text(path.start, precision=of_start))]
    pairs = zip(gradients_of(path), of_steps, strict=True)
    for pair, symbol, edge, text, ((product, total), (of_factor, *decimals)) in zip(
        pairwise(path.names), path.symbols, path.edges, path.sums, pairs, strict=True
    ):
        is_about = digits.sign_of_factor(edge, of_factor) == ABOUT
        factor = f"{ABOUT if is_about else ''}{derivative_text(edge, of_factor)}"
        gradient = numbers_text(product, precision=decimals[0])
        step = " → ".join(pair) if is_one_of_several(chain, path) else quotient(*pair)
        rows.append((step, symbol if edge.flow.symbol else "", factor, gradient))
        rows += [("", text, "", numbers_text(total, precision=decimals[1]))] if text else []
    return rows


def decimals_of(path: Path) -> tuple[int, list[tuple[int, int, int]]]:
    """Return the decimals of what a path begins with, and of each step.

    Of a step they are those of its local derivative, of the product, and of what that is added up to. Each gradient has
    as many as what follows from it needs.
    """
    decimals = []
    before, least = (path.start, *path.gradients, *[None] * len(path.edges)), PRECISION
    for at, (product, after) in reversed([*enumerate(gradients_of(path))]):
        edge, total = path.edges[at], least
        if path.sums[at]:
            level = level_that_holds(after, total, partial(printed_total, product, after, PRECISION))
            least, edge = decimals_at(product, PRECISION, level), edge._replace(flow=edge.flow._replace(handed=None))
        start, factor, level = before[at], edge.flow.local or edge.flow.jacobian, 0
        if all(value is None or is_short(value) for value in (start, factor)):
            level = level_that_holds(product, least, partial(printed_product, start, [edge], PRECISION))
        decimals.append((decimals_at(factor, PRECISION, level), least, total))
        least = decimals_at(start, PRECISION, level)
    return least, decimals[::-1]


def gradients_of(path: Path) -> list[tuple[Numbers | None, Numbers | None]]:
    """Return what the gradient is after each step of a path: the product, and what that is summed to."""
    gradients = path.gradients or (None,) * len(path.edges)
    return [
        (times(before, edge.flow.local) if text and after is not None else after, after)
        for before, edge, text, after in zip((path.start, *gradients), path.edges, path.sums, gradients, strict=False)
    ]


def quotient(of: str, wrt: str) -> str:
    """Return a derivative: ``∂y/∂w``; that of a sum, or by a name with spaces, in brackets."""
    return "/".join(f"∂({name})" if " " in name else f"∂{name}" for name in (of, wrt))


def derivative_text(edge: Edge, precision: int = PRECISION) -> str:
    """Return the numbers of a step: of each element, or its Jacobian; only the size of a large Jacobian."""
    kind = step_kind(edge)
    if kind == "factor":
        return numbers_text(edge.flow.local, precision=precision)
    if kind == "matrix":
        rows, columns = size_of(edge.flow.jacobian)
        return (
            f"J = {value_text(edge.flow.jacobian, precision)}"
            if is_short(edge.flow.jacobian)
            else f"J is {rows} × {columns}"
        )
    return GAP if kind == "gap" else ""


def footnotes(derivation: Derivation) -> list[str]:
    """Return what there is to say of numbers and signs in a derivation."""
    has_gaps = any(path.skipped for chain in derivation.chains for path in chain.paths)
    names = joined(derivation.of_now, 4)
    own = f"the numbers of {names} are those of now, which may not be those that the results were computed from"
    apart = f"backward from {' and '.join(derivation.of)} did not start at {joined(derivation.other_roots, 4)}, too"
    return [
        *([apart] if derivation.other_roots else ()),
        *([own] if derivation.of_now else ()),
        *([SKIPPED] if has_gaps else ()),
        *([NO_NAME] if derivation.has_unknown else ()),
        *([BY_ROWS] if derivation.is_by_rows else ()),
        *jacobian_notes(derivation.symbols),
    ]


def path_count(chain: Chain) -> str:
    """Return how many paths there are, and how many of them are listed.

    >>> from types import SimpleNamespace as Some
    >>> path_count(Some(count=2, paths=(1, 2))), path_count(Some(count=2**60, paths=(1,)))
    ('two paths', '1,152,921,504,606,846,976 paths, of which 1 is listed')
    """
    count = NUMBERS[chain.count] if chain.count < len(NUMBERS) else f"{chain.count:,}"
    length = len(chain.paths)
    rest = "" if length == chain.count else f", of which {length} {'is' if length == 1 else 'are'} listed"
    return f"{count} path{'' if chain.count == 1 else 's'}{rest}"


def target(chain: Chain) -> tuple[str, str]:
    """Return what the sum is: (the root, the tensor); ("", words) if it is no derivative.

    So it is if backward began with another than 1, or if hooks have made it.
    """
    if begins_with_one(chain) and not (chain.hooks and chain.path_sum is None):
        return " + ".join(chain.of), chain.wrt
    return "", f"the gradient of {chain.wrt}"


def answer_title(derivation: Derivation) -> str:
    """Return the title: what is derived."""
    between = " + " if all(map(begins_with_one, derivation.chains)) else " and "
    return f"The gradient of {between.join(derivation.of)}, path by path"


def grad_of(name: str) -> str:
    """Return what a tensor's gradient is called: ``w.grad``, ``(leaf of y).grad``."""
    return f"({name}).grad" if " " in name else f"{name}.grad"


def grad_name(chain: Chain) -> str:
    """Return ``w.grad`` if that is what the paths come to, ``≈ w.grad`` if but for a rounding; else ""."""
    sign = ABOUT if numbers_text(chain.sum) != numbers_text(chain.grad) else ""
    return sign + grad_of(chain.wrt) if chain.sum is not None and agree(chain.node.grad.value, chain.grad) else ""


def remark(chain: Chain) -> str:
    """Return what the sum was compared with, or why it was not; "" if it is :func:`grad_name`."""
    name = grad_of(chain.wrt) if is_retained(chain.node) else f"the engine's gradient at {chain.wrt}"
    if chain.sum is None:
        is_other = (
            chain.grad is not None
            and chain.grad.is_known
            and is_retained(chain.node)
            and chain.node.grad.value is not None
        )
        is_other = is_other and not agree(chain.node.grad.value, chain.grad)
        own = own_gradient(chain, name) if is_other else afterwards(chain.node, name) if is_retained(chain.node) else ""
        return "; ".join(filter(None, [unchecked(chain, name), own]))
    if grad_name(chain):
        return afterwards(chain.node, name)
    if not is_retained(chain.node):
        return f"equals {name}"
    later = chain.node.later
    if chain.node.grad.value is None and later is not None and later.other:
        value = numbers_text(later.grad, LONGEST_VALUE)
        return f"equals the engine's gradient; backward has not run here: {name}, {value}, is of {later.other}"
    if chain.node.grad.value is None and not chain.node.grad.hooks:
        is_returned = chain.node.state.startswith(RETURNED)
        why = chain.node.state if is_returned else "backward() has not run, or it was cleared"
        return f"equals the engine's gradient; {name} itself is None: {why}"
    has_not_run = chain.node.grad.value is None and chain.node.grad.hook_change is not None
    return f"equals what the steps of backward give; {since(chain) if has_not_run else own_gradient(chain, name)}"


def own_gradient(chain: Chain, name: str) -> str:
    """Return the gradient that backward has left, why it is not the one of the paths, and what has become of it."""
    now = afterwards(chain.node, "it")
    return f"{name} is {numbers_text(chain.node.grad.value) or 'None'}: {since(chain)}{f'; {now}' if now else ''}"


def afterwards(node: Node, name: str) -> str:
    """Return what the program has made of a gradient after backward; "" for nothing.

    >>> from gviz.graphs import Later, Place
    >>> afterwards(Node("n0", "leaf", later=Later(is_cleared=True, cleared_at=Place(5))), "w.grad")
    'w.grad was cleared afterwards, line 5'
    """
    later = node.later
    if later is not None and (later.is_cleared or later.cleared_at is not None):
        return f"{name} was cleared afterwards{f', {later.cleared_at}' if later.cleared_at is not None else ''}"
    return (
        f"{name} is now {numbers_text(later.grad, LONGEST_VALUE)}"
        if later is not None and later.grad is not None
        else ""
    )


def since(chain: Chain) -> str:
    """Return why the gradient that a tensor has is not the one that the paths come to."""
    was = f"it was {numbers_text(chain.before)} before"
    if agree(plus(chain.before, chain.grad), chain.node.grad.value):
        return f"{was}, and backward adds to it"
    own = [(chain.wrt, change) for change in chain.node.grad.hooks if chain.node.kind == "leaf"]
    if own or chain.hooks:
        return hooks_text(own or chain.hooks)  # what came to it is told before
    changed = "it is of another backward, or a hook, or the program, has changed it"
    return f"{changed}; {was}" if chain.before is not None else changed


def hooks_text(hooks: Iterable[tuple[str, Hooked]]) -> str:
    """Return what hooks have made of gradients: the tensor of each, and what it has changed."""
    return "; ".join(f"at {name} {change_text(change, PRECISION)}" for name, change in hooks)


def unchecked(chain: Chain, name: str) -> str:
    """Return why a sum is not known to be the gradient."""
    if chain.absent:
        value = (
            f"; {name} is {numbers_text(chain.node.grad.value, LONGEST_VALUE)}"
            if chain.node.grad.value is not None
            else ""
        )
        if chain.node.grad.arrived is not None:
            value += f"; backward brings {numbers_text(chain.node.grad.arrived, LONGEST_VALUE)}"
        if chain.absent == chain.node.state:
            return f"not checked: {name} has nothing of it, {chain.absent}{value}"
        return f"not checked: the steps of backward are not in this graph: {chain.absent}{value}"
    if chain.grad is None:
        return "not checked: backward did not run, so that the engine has no gradient to compare with"
    if chain.hooks:
        told = hooks_text(chain.hooks)
        if chain.node.grad.value is None and chain.node.grad.hooks:
            told += f"; then {hooks_text((chain.wrt, one) for one in chain.node.grad.hooks)}"
        return f"what comes to {chain.wrt} is {numbers_text(chain.grad)}, for hooks have changed it: {told}"
    if chain.path_sum is None:
        why = "not all steps are numbers, or small matrices, that could be multiplied"
        return f"not checked: {why}; the engine's gradient is {numbers_text(chain.grad, LONGEST_VALUE)}"
    why = odd_text(chain.odd) if chain.odd is not None else ROUNDED
    return f"this is not the engine's gradient, {numbers_text(chain.grad)}: {why}"


def odd_text(step: BackwardStep) -> str:
    """Return what backward does at a step in place of the product."""
    place = quotient_of(step.of.name or step.of.label, step.wrt)
    if is_finite(step.product) or not is_finite(step.edge.flow.handed):
        handed, product = numbers_text(step.edge.flow.handed), numbers_text(step.product)
        return f"at {place} it hands on {handed}, and not the product, {product}"
    function = operator_of(step.of.label)
    selects = f"the engine's backward of {function} selects: it hands on 0 where its derivative is 0, whatever arrives"
    return f"the nan is inf · 0 at {place}, in the product alone; {selects}"


def forward(node: Node, listing: Listing) -> tuple[str, str, str]:
    """Return what an operation computes: its name, its expression, its numbers."""
    value = "" if 0 in (node.shape or ()) else numbers_text(node.value, precision=listing.of(node))
    if value and not listing.holds(node):
        value = f"{ABOUT}{value}"
    size = "" if value or not node.shape else shape_text(node.shape)
    formula = Formula.read(node.expression) if node.expression else None
    return node.name or node.label, node.expression if formula is None else str(formula), value or size


class Section(NamedTuple):
    """A part of a text without formulas.

    Args:
        title: its heading.
        paragraphs: sentences.
        facts: (head, text).
        ways: (sentence, code).
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    ways: tuple[tuple[str, str], ...] = ()


def section_of(content: object) -> tuple[Section, ...]:
    """Return the parts of an explained name, error or word."""
    from gviz.reference.error_help import ErrorHelp
    from gviz.reference.words import Word

    if isinstance(content, ErrorHelp):
        older = [f"Older or similar wordings: {'; '.join(content.texts[1:])}."] if content.texts[1:] else []
        return (Section(content.texts[0], (content.meaning, *older), (), content.ways),)
    if isinstance(content, Word):
        return (Section(content.names[0], (content.meaning,), (), content.ways()),)
    names: Any = content
    return tuple(Section(one.operation.title, one.remarks, tuple(one.facts())) for one in names)
