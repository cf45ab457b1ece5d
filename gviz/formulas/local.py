"""Local derivatives as symbols: ``b`` for the product y = a * b by a, ``1 - t²`` for t = tanh(x).

They are read off the table of operations: the derivative of a row is called with symbols in place of arrays, and with 1
in place of the gradient that arrives. If it then consists of functions that work element by element, that is the factor
by which the gradient is multiplied on its way to this input. Else (a matrix product, a sum over rows) there is no such
factor, and the
derivative is named for what it does to the gradient: ``grad @ w.T``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from gviz.autograd.formulas import bind, parameters
from gviz.autograd.row import ARRAYS, COMPOSITES, MASK, ROWS, Row
from gviz.formulas.expressions import Words, with_letters, words_of
from gviz.formulas.facts import facts_of
from gviz.formulas.formula import GRAD, UNKNOWN, Formula
from gviz.formulas.lectures import JACOBIANS, Facts, Lecture, lecture, part_of_list
from gviz.formulas.operands import rows_by_label
from gviz.formulas.operations import jacobian_name, recorded_function
from gviz.formulas.symbolic import (
    REFUSALS,
    TENSOR,
    Symbol,
    applied,
    as_number,
    is_elementwise,
    tree,
    works_on_each,
)
from gviz.graphs import LOST, Edge, Flow, Graph

MOST_DERIVED = 20_000
"""Nodes of a graph that gets formulas as a whole: of a larger one there are formulas for what is shown alone."""


class Local(NamedTuple):
    """A local derivative.

    Args:
        symbol: the factor (``b``), or what is done to the gradient (``grad @ w.T``).
        is_factor: whether it is a factor, element by element.
    """

    symbol: str
    is_factor: bool


def _symbolic(row: Row) -> Callable[..., Any]:
    """Return a row as a function of symbols: what its forward computes if that is a derivative, else its name."""

    def call(*args: Any) -> Any:
        if row.key.endswith("_backward"):
            try:
                return row.forward(*args)
            except REFUSALS:  # its name says more than nothing
                return applied(row.key, *args)
        return applied(row.key, *args)

    return call


@cache
def _namespace() -> dict[str, Any]:
    """Return what the formulas of the table call, as functions of symbols."""
    space = {**ARRAYS, **{key: _symbolic(row) for key, row in ROWS.items()}}
    space.update((name, bind(composite, space)) for name, composite in COMPOSITES.items())
    space |= {
        "outer": lambda one, other: applied("outer", one, other),  # it asks for sizes, and its name says enough
        "array_of": lambda value: value,
        "threshold_backward": lambda grad, value, threshold: applied("where", value <= threshold, 0, grad),
        "numel_of": lambda value: value.size,
        "zeros_in": lambda value: value.has_zeros(),
        "recording": lambda: False,
        "equal": is_equal,
        "zeros_of": lambda _, sizes: Symbol.parse(f"zeros({sizes})"),
        "logit": lambda value, _: applied("logit", value),
        "view": lambda value, sizes: applied("reshape", value, sizes),
        "reshape": lambda value, sizes: applied("reshape", value, sizes),
        "count_chosen": lambda _, mask, dim: applied("sum", Symbol(as_number(tree(mask))), dim, True),
    }
    return space


def is_equal(one: Any, other: Any) -> Any:
    """Return the comparison of two symbols; False for one with 0 that is known to have no zeros."""
    is_known = isinstance(one, Symbol) and one.is_nonzero and isinstance(other, int | float)
    return False if is_known and other == 0 else applied("equal", one, other)


def local_derivative(
    label: str,
    slot: int,
    operands: Sequence[str],
    result: str,
    attributes: Mapping[str, str],
    *,
    constants: Mapping[str, str] | None = None,
    facts: Sequence[Facts | None] = (),
) -> Local | None:
    """Return the local derivative of an operation for one of its inputs.

    Args:
        label: the class of its node, ``MulBackward0``.
        slot: which of its inputs.
        operands: what each of its inputs is called, or how it is computed.
        result: what its result is called.
        attributes: what the node saved that is no tensor, as texts.
        constants: the saved tensors by their names there: what the program calls each, or how it writes it.
        facts: what is known of the elements of each input, and of the result.

    Returns:
        None if the table has no such operation, or its derivative depends on more than is known.

    >>> local_derivative("MulBackward0", 0, ["a", "b"], "y", {})
    Local(symbol='b', is_factor=True)
    >>> local_derivative("TanhBackward0", 0, ["x"], "t", {})
    Local(symbol='1 - t²', is_factor=True)
    >>> local_derivative("MmBackward0", 0, ["x", "w"], "y", {"self_sym_sizes": "(2, 3)", "self_sym_strides": "(3, 1)"})
    Local(symbol='grad @ w.T', is_factor=False)
    """
    row = rows_by_label().get(label)
    facts = facts or (None,) * (len(operands) + 1)
    if row is not None and row.takes_list:
        part = part_of_list(label, slot, option_value(attributes.get("dim", "")), facts)
        return part and Local(str(part.formula), is_factor=False)
    if row is None or slot >= len(row.edges) or len(operands) != len(row.edges):
        return None
    with suppress(*REFUSALS):
        return _from_formula(
            row, slot, _variables(row, (*operands, result), attributes, constants or {}, facts), label, facts
        )
    return None


def _variables(
    row: Row,
    texts: Sequence[str],
    attributes: Mapping[str, str],
    constants: Mapping[str, str],
    facts: Sequence[Facts | None],
) -> dict[str, Any]:
    """Return what a formula of the row may use besides the gradient, as symbols and options, by its name there."""
    values: dict[str, Any] = dict.fromkeys(row.hidden)
    values |= dict(zip(row.parameters[-len(row.defaults) :], row.defaults, strict=False))
    values |= {name: option_value(text) for name, text in attributes.items() if text not in LOST}
    values |= {name: Symbol.parse(text) for name, text in constants.items()} | {
        "result": Symbol.of(texts[-1], facts[-1])
    }
    values |= {MASK: (True,) * len(row.edges)}
    inputs = zip((row.parameters[at] for at in row.edges), texts, facts, strict=False)
    missing = {name for name, text in attributes.items() if text == "None"}  # an input that may be left out
    return values | {name: None if name in missing else Symbol.of(text, about) for name, text, about in inputs}


def _from_formula(
    row: Row, slot: int, variables: Mapping[str, Any], label: str, facts: Sequence[Facts | None]
) -> Local | None:
    """Return what the formula for an input comes to with symbols.

    None if there is none, or it needs what is not known; of a row that works element by element, what backward makes
    of 1. Where the result is one number, that is the factor, whatever the formula.
    """
    name = row.parameters[row.edges[slot]]
    group = next((one for one in row.groups if name in one), ())
    formula = row.formulas.get("__".join(group))
    if formula is None:
        return None
    if (own := lecture(label, name, variables, facts[slot], facts[-1])) is not None:
        return Local(lecture_text(own), own.is_factor)
    if recorded_function(label) in JACOBIANS:  # of which a sentence says more than the table's program
        return None
    needs, derivative = parameters(formula)[1:], bind(formula, _namespace())
    sizes = facts[-1] and Facts(facts[-1].shape)
    is_single = sizes is not None and not sizes.shape
    for grad in (Symbol.of("1", sizes), Symbol.of(GRAD, sizes)):
        is_factor = isinstance(grad.node, ast.Constant)
        try:
            values = derivative(grad, *[variables[need] for need in needs])
            slope = as_number(tree(values[group.index(name)] if len(group) > 1 else values))
        except REFUSALS:
            return Local(jacobian_name(label), is_factor=True) if row_works_on_each(row, variables) else None
        nodes = [value.node for value in variables.values() if isinstance(value, Symbol)]
        if not is_factor or is_single or is_elementwise(slope, nodes) or row_works_on_each(row, variables):
            return Local(str(Formula(slope)), is_factor)
    return None


def lecture_text(own: Lecture) -> str:
    """Return a derivative as it is written: what is transposed in a Jacobian has the sign of lectures."""
    return str(own.formula) if own.is_factor else str(own.formula).replace(".T", "ᵀ")


def row_works_on_each(row: Row, values: Mapping[str, Any]) -> bool:
    """Return whether an operation works element by element, with the options that its node has."""
    is_plain = not (row.view or row.outputs or row.node == "NotImplemented")
    names = [name for at, name in enumerate(row.parameters) if at not in row.inputs]
    if not is_plain or not row.edges or not values.keys() >= {*names}:
        return False
    options = tuple(TENSOR if at in row.inputs else values[name] for at, name in enumerate(row.parameters))
    return all(isinstance(one, Hashable) for one in options) and works_on_each(row.key, options)


def with_formula(graph: Graph) -> Graph:
    """Return the graph with a letter for each result that has no name, and the symbols of local derivatives."""
    return with_symbols(with_letters(graph))


def with_symbols(graph: Graph, words: Mapping[str, Words] | None = None) -> Graph:
    """Return the graph with the symbol of the local derivative on each edge into an operation.

    The value of one that is no factor is taken away: it is what a gradient of ones would become. So is the Jacobian of
    one that is a factor for each element.

    Args:
        graph: one with names.
        words: what is said of its operations; None to find that out.
    """
    words = words_of(graph) if words is None else words
    nodes = graph.by_id
    facts = facts_of(graph, {node: of_node.operands for node, of_node in words.items()})

    def with_symbol(edge: Edge) -> Edge:
        node, of_node = nodes[edge.target], words.get(edge.target)
        if edge.kind != "data" or of_node is None:
            return edge
        derivative = local_derivative(
            node.label,
            edge.slot,
            of_node.operands,
            of_node.result or UNKNOWN,
            node.recorded.options,
            constants=dict.fromkeys(node.recorded.tensors, UNKNOWN) | dict(node.recorded.held),  # which may be freed
            facts=facts[node.id],
        )
        if derivative is None:
            return edge._replace(flow=edge.flow._replace(local=None))
        local = edge.flow.local if derivative.is_factor else None
        jacobian = edge.flow.jacobian if local is None else None
        flow = Flow(derivative.symbol, local, edge.flow.handed, jacobian, edge.flow.is_underflow)
        return Edge(*edge[:6], flow, *edge[7:])

    return graph.changed(edges=tuple(with_symbol(edge) for edge in graph.edges))


def option_value(text: str) -> Any:
    """Return an option from its text; PyTorch's getters tell -1 as 2**64 - 1."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
    return tuple(map(_signed, value)) if isinstance(value, tuple) else _signed(value)


def _signed(value: Any) -> Any:
    return value - 2**64 if isinstance(value, int) and value >= 2**63 else value
