"""Local derivatives as symbols: ``b`` for the product y = a * b by a, ``1 - t²`` for t = tanh(x).

They are read off the table of operations: the derivative of a row is called with symbols in place of arrays, and with 1
in place of the gradient that arrives. If it then consists of functions that work element by element, that is the factor
by which the gradient is multiplied on its way to this input. Else (a matrix product, a sum over rows) there is no such
factor, and the
derivative is named for what it does to the gradient: ``grad @ w.T``.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from gviz.autograd.formulas import bind, parameters
from gviz.autograd.row import ARRAYS, COMPOSITES, MASK, ROWS, Row
from gviz.formulas.expressions import Pattern, Words, recorded_function, with_letters, words_of
from gviz.formulas.formula import GRAD, UNKNOWN, Formula
from gviz.formulas.lectures import EXTREMES, Facts, Lecture, jacobian_name, lecture, part_of_list
from gviz.formulas.operands import rows_by_label
from gviz.graphs import Edge, Flow, Graph, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.numbers.shapes import broadcast_shape

SHORT = {
    "multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div", "negative": "neg", "pow_tensor": "power",
    "mv": "mm", "bmm": "mm", "matmul": "mm", "dot": "mm", "mean_all": "mean", "mean_dim": "mean", "sum_all": "sum",
    "sum_dim": "sum", "masked_fill_tensor": "masked_fill", "view": "reshape", "squeeze_dim": "squeeze",
}  # fmt: skip
"""Other names of rows, and numpy's."""

BINARY: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "div": ast.Div, "power": ast.Pow, "mm": ast.MatMult,
}  # fmt: skip
COMPARED: dict[str, type[ast.cmpop]] = {
    "less": ast.Lt, "less_equal": ast.LtE, "greater": ast.Gt, "greater_equal": ast.GtE, "equal": ast.Eq, "not_equal": ast.NotEq,
}  # fmt: skip
"""Rows and functions of numpy that are written with a sign."""

OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
"""Each comparison, and the one that holds where it does not."""

TENSOR, MASKED = "tensor", "masked"
"""Arguments that are arrays, of numbers and of what is true, where a function is tried; others are themselves."""

PROBES = (0.75, -1.25, 2.5, 0.25, -0.5, 1.5)
"""What a function is tried with."""

LOGICAL = {"logical_and", "logical_or", "logical_not", "isnan", "isfinite"}
"""Functions that say where something holds."""

CONSTANTS = {
    math.pi: "π", math.pi / 180: "π/180", 180 / math.pi: "180/π", 1 / math.sqrt(2): "1/sqrt(2)",
    math.sqrt(2): "sqrt(2)", math.sqrt(2 * math.pi): "sqrt(2*π)", math.sqrt(2 / math.pi): "sqrt(2/π)",
    2 / math.sqrt(math.pi): "2/sqrt(π)",
    math.sqrt(math.pi) / 2: "sqrt(π)/2", 1 / math.sqrt(2 * math.pi): "1/sqrt(2*π)",
    math.log(2): "log(2)", math.log(10): "log(10)",
}  # fmt: skip
"""Numbers that have a name."""

MOST_PARTS = 100
"""The largest number below a fraction, as 3 is in 2/3."""

DIGITS = 6
"""Digits of a number without a name."""

SHAPED = {"unsqueeze", "squeeze", "reshape", "expand", "permute", "transpose", "t"}
"""Functions that leave a gradient of one element as it is, where it is multiplied with each element."""

SPREAD = ("expand", "sum_to", "cast_like", "to_dtype", "expand_as")
"""Rows that change no number: the gradient of a sum is that of each element."""


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


class NotSymbolicError(Exception):
    """A formula asks more of a symbol than a name can say: a size, an element, whether it is true."""


REFUSALS = (NotSymbolicError, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""How a formula fails on symbols, and on the options of a node, which are any text in a graph that was saved."""


class Symbol(Formula):
    """A formula to be computed with as numpy computes with arrays."""

    dtype = ARRAYS["np"].dtype(object)
    facts: Facts | None = None
    has_nan = is_nonzero = False
    made_by: tuple[str, tuple[Any, ...]] = "", ()

    @classmethod
    def of(cls, text: str, facts: Facts | None) -> Symbol:
        """Return the symbol of a tensor of which something is known."""
        symbol = cls.named(text)
        symbol.facts, symbol.has_nan = facts, facts is not None and facts.has_nan
        symbol.is_nonzero = facts is not None and facts.has_zeros is False
        return symbol

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the tensor, where they are known."""
        name, args = self.made_by
        if self.facts is not None:
            return self.facts.shape
        if works_on_each(name, tuple(TENSOR if isinstance(arg, Symbol) else arg for arg in args)):
            return broadcast_shape(*(arg.shape for arg in args if isinstance(arg, Symbol)))
        raise NotSymbolicError("shape")

    @property
    def size(self) -> int:
        """How many elements it has, where that is known."""
        return math.prod(self.shape)

    def has_zeros(self) -> bool:
        """Return whether an element is 0, where that is known."""
        if self.facts is None or self.facts.has_zeros is None:
            raise NotSymbolicError("elements")
        return self.facts.has_zeros

    def astype(self, *_: Any, **__: Any) -> Symbol:
        """Return the symbol: a dtype changes no text."""
        return self

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **_: Any) -> Any:
        return applied(function.__name__, *inputs) if method == "__call__" else NotImplemented

    def __array_function__(self, function: Any, _: Any, args: Any, __: Any) -> Symbol:
        return applied(function.__name__, *args)

    def __neg__(self) -> Symbol:
        return applied("neg", self)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else NotSymbolicError(name)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise NotSymbolicError("a symbol is neither true nor false, has no elements and no numbers")

    __bool__ = __len__ = __iter__ = __getitem__ = __and__ = __or__ = __float__ = _refuse


def _operator(name: str, *, is_reflected: bool = False) -> Callable[[Any, Any], Symbol]:
    return lambda one, other: applied(name, other, one) if is_reflected else applied(name, one, other)


for _sign, _name in {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "power", "matmul": "mm", "lt": "less",
    "le": "less_equal",
    "gt": "greater", "ge": "greater_equal",
}.items():  # fmt: skip
    setattr(Symbol, f"__{_sign}__", _operator(_name))
    if _name not in COMPARED:
        setattr(Symbol, f"__r{_sign}__", _operator(_name, is_reflected=True))


def tree(value: Any) -> ast.expr:
    """Return the syntax of a symbol, or of a number."""
    if isinstance(value, Symbol):
        return value.node
    if isinstance(value, bool | int | float):
        return number_tree(value)
    if isinstance(value, str):  # an option
        return ast.Constant(value)
    if isinstance(value, tuple):  # sizes, places
        return ast.Tuple([tree(item) for item in value], ast.Load())
    raise NotSymbolicError(f"{value!r} is neither a symbol nor a number")


def number_tree(value: Any) -> ast.expr:
    """Return the syntax of a number: by its name, if it has one, else with as many digits as people read.

    >>> [ast.unparse(number_tree(value)) for value in (2.0, -0.5, 0.7071067811865476, 1.7580993408473766, math.inf)]
    ['2', '-0.5', '1 / sqrt(2)', '1.7581', 'inf']
    """
    if value < 0:
        return ast.UnaryOp(ast.USub(), number_tree(-value))
    if isinstance(value, float) and not math.isfinite(value):
        return ast.Name(str(value), ast.Load())
    if isinstance(value, float) and not value.is_integer():
        name = next((name for known, name in CONSTANTS.items() if math.isclose(value, known, rel_tol=1e-12)), "")
        part = Fraction(value).limit_denominator(MOST_PARTS)
        if not name and math.isclose(value, part, rel_tol=1e-12) and round(value, DIGITS) != value:
            name = str(part)
        return ast.parse(name, mode="eval").body if name else ast.Constant(float(f"{value:.{DIGITS}g}"))
    return ast.Constant(int(value) if isinstance(value, float) else value)


def as_number(node: ast.expr) -> ast.expr:
    """Return a comparison as the number that it is, 1 where it holds and else 0: in square brackets."""
    return ast.List([node], ast.Load()) if isinstance(node, ast.Compare) else node


def applied(name: str, *args: Any) -> Symbol:
    """Return what a function of the table, or of numpy, comes to, simplified."""
    name = SHORT.get(name, name.partition(" ")[0])  # numpy calls one of its functions erf (vectorized)
    first = args[0] if args else None
    is_shaped = name in SHAPED and isinstance(first, Symbol)
    if is_shaped and isinstance(first, Symbol) and first.facts is not None and not first.facts.shape:
        return first
    has_nan = any(isinstance(arg, Symbol) and arg.has_nan for arg in args)
    if name in SPREAD or name == "scalar_like":
        made = Symbol(tree(args[name == "scalar_like"]))
    else:
        parts = [tree(arg) for arg in args]
        shorter = simplified(name, parts, has_nan=has_nan)
        made = Symbol(written_as(name, parts)) if shorter is None else shorter
    made.has_nan, made.is_nonzero, made.made_by = has_nan, is_shaped and args[0].is_nonzero, (name, args)
    return made


def simplified(name: str, parts: list[ast.expr], *, has_nan: bool = False) -> Symbol | None:
    """Return the same in a shorter form, by rules that change no value; None if there is none.

    Args:
        name: of the function.
        parts: its arguments.
        has_nan: whether one of them is known to have nan, of which neither a comparison holds nor its opposite.
    """
    first, texts = parts[0], [ast.unparse(part) for part in parts]
    found: ast.expr | None = None
    match name, texts:
        case ("zeros_like", ["1" | "grad"]):
            found = ast.Constant(0)
        case ("mul", ["1", _]) | ("add", ["0", _]):
            found = parts[1]
        case ("mul" | "div" | "power", [_, "1"]) | ("add" | "sub", [_, "0"]):
            found = first
        case ("mul", _):
            found = shorter_product(first, parts[1])
        case ("neg", [_]) if isinstance(first, ast.UnaryOp):
            found = first.operand
        case ("logical_and", ["False", _] | [_, "False"]):
            found = ast.Constant(False)
        case ("masked_fill", [_, _, _]):
            found = tree(applied("where", Symbol(parts[1]), Symbol(parts[2]), Symbol(first)))
        case ("where", [_, _, _]):
            found = shorter_choice(texts, parts, has_nan=has_nan)
    return None if found is None else Symbol(found)


def shorter_product(first: ast.expr, second: ast.expr) -> ast.expr | None:
    """Return a product in a shorter form; None if there is none."""
    text, found = ast.unparse(first), None
    match first, second:
        case _ if text == "-1":
            found = tree(applied("neg", Symbol(second)))
        case _ if text == ast.unparse(second) and UNKNOWN not in text:  # two that are not known may be two
            found = tree(applied("power", Symbol(first), 2))
        case _ if is_constant(first):
            pass
        case ast.BinOp(ast.Constant(1), ast.Div(), below), _ if not is_constant(second):  # (x - w)/(2·y)
            found = ast.BinOp(as_number(second), ast.Div(), below)
        case _, ast.BinOp(ast.Constant(1), ast.Div(), below) if is_constant(below):  # x/sqrt(2)
            found = ast.BinOp(as_number(first), ast.Div(), below)
        case _, ast.BinOp() if is_constant(second):  # 2/3·x
            found = written_as("mul", [second, first])
        case _, ast.Constant() | ast.Name("π") | ast.UnaryOp(ast.USub(), ast.Constant()):  # 2·x
            found = tree(applied("mul", Symbol(second), Symbol(first)))
    return found


def shorter_choice(texts: Sequence[str], parts: Sequence[ast.expr], *, has_nan: bool) -> ast.expr | None:
    """Return a choice by a condition in a shorter form; None if there is none."""
    condition = parts[0]
    if texts[0] == "False":
        return parts[2]
    if not isinstance(condition, ast.Compare):
        return None
    sign = condition.ops[0]
    if texts[1:] == ["0", "1"] and (not has_nan or isinstance(sign, ast.Eq | ast.NotEq)):  # of nan neither may hold
        return as_number(ast.Compare(condition.left, [OPPOSITE[type(sign)]()], condition.comparators))
    return as_number(condition) if texts[1:] == ["1", "0"] else None


def is_constant(node: ast.expr) -> bool:
    """Return whether a syntax is that of a number, or of one by its name.

    >>> [is_constant(ast.parse(text, mode="eval").body) for text in ("2/sqrt(π)", "-1", "sqrt", "sqrt(x)")]
    [True, True, False, False]
    """
    functions = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return all(name.id in ("sqrt", "log") if id(name) in functions else name.id == "π" for name in names)


def written_as(name: str, parts: list[ast.expr]) -> ast.expr:
    """Return a call as it is written: with a sign, if it has one."""
    if name == "neg":
        return ast.UnaryOp(ast.USub(), as_number(parts[0]))
    if name in BINARY:
        return ast.BinOp(as_number(parts[0]), BINARY[name](), as_number(parts[1]))
    if name in COMPARED:
        return ast.Compare(parts[0], [COMPARED[name]()], [parts[1]])
    if name == "t":
        return ast.Attribute(parts[0], "T", ast.Load())
    return ast.Call(ast.Name(name, ast.Load()), parts, [])


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
    space["outer"] = lambda one, other: applied("outer", one, other)  # it asks for sizes, and its name says enough
    space["array_of"] = lambda value: value
    space["numel_of"] = lambda value: value.size
    space["zeros_in"] = lambda value: value.has_zeros()
    space["recording"] = lambda: False
    space["equal"], space["logit"] = is_equal, lambda value, _: applied("logit", value)
    space["view"] = space["reshape"] = lambda value, sizes: applied("reshape", value, sizes)
    space["count_chosen"] = lambda _, mask, dim: applied("sum", Symbol(as_number(tree(mask))), dim, True)
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
    held: Mapping[str, str] | None = None,
    facts: Sequence[Facts | None] = (),
) -> Local | None:
    """Return the local derivative of an operation for one of its inputs.

    Args:
        label: the class of its node, ``MulBackward0``.
        slot: which of its inputs.
        operands: what each of its inputs is called, or how it is computed.
        result: what its result is called.
        attributes: what the node saved that is no tensor, as texts.
        held: the saved tensors by their names there: what the program calls each, or how it writes it.
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
    if row is not None and row.listed:
        part = part_of_list(label, slot, _option(attributes.get("dim", "")), facts)
        return part and Local(str(part.formula), is_factor=False)
    if row is None or slot >= len(row.edges) or len(operands) != len(row.edges):
        return None
    with suppress(*REFUSALS):
        return _from_formula(row, slot, _known(row, (*operands, result), attributes, held or {}, facts), label, facts)
    return None


def _known(
    row: Row,
    texts: Sequence[str],
    attributes: Mapping[str, str],
    held: Mapping[str, str],
    facts: Sequence[Facts | None],
) -> dict[str, Any]:
    """Return what a formula of the row may use besides the gradient, as symbols and options, by its name there."""
    known: dict[str, Any] = dict.fromkeys(row.hidden)
    known |= dict(zip(row.parameters[-len(row.defaults) :], row.defaults, strict=False))
    known |= {name: _option(text) for name, text in attributes.items() if text != "freed"}
    known |= {name: Symbol.named(text) for name, text in held.items()} | {"result": Symbol.of(texts[-1], facts[-1])}
    known |= {MASK: (True,) * len(row.edges), **(dict.fromkeys(row.hidden) if row.key in SPREAD else {})}
    inputs = zip((row.parameters[at] for at in row.edges), texts, facts, strict=False)
    missing = {name for name, text in attributes.items() if text == "None"}  # an input that may be left out
    return known | {name: None if name in missing else Symbol.of(text, about) for name, text, about in inputs}


def _from_formula(
    row: Row, slot: int, known: Mapping[str, Any], label: str, facts: Sequence[Facts | None]
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
    if (own := lecture(label, name, known, facts[slot], facts[-1])) is not None:
        return Local(lecture_text(own), own.is_factor)
    needs, derivative = parameters(formula)[1:], bind(formula, _namespace())
    sizes = facts[-1] and Facts(facts[-1].shape)
    is_single = sizes is not None and not sizes.shape
    for grad in (Symbol.of("1", sizes), Symbol.of(GRAD, sizes)):
        is_factor = isinstance(grad.node, ast.Constant)
        try:
            values = derivative(grad, *[known[need] for need in needs])
            found = as_number(tree(values[group.index(name)] if len(group) > 1 else values))
        except REFUSALS:
            return (
                Local(jacobian_name(recorded_function(label)), is_factor=True)
                if row_works_on_each(row, known)
                else None
            )
        given = [value.node for value in known.values() if isinstance(value, Symbol)]
        if not is_factor or is_single or is_elementwise(found, given) or row_works_on_each(row, known):
            return Local(str(Formula(found)), is_factor)
    return None


def lecture_text(own: Lecture) -> str:
    """Return a derivative as it is written: what is transposed in a Jacobian has the sign of lectures."""
    return str(own.formula) if own.is_factor else str(own.formula).replace(".T", "ᵀ")


def row_works_on_each(row: Row, known: Mapping[str, Any]) -> bool:
    """Return whether an operation works element by element, with the options that its node has."""
    is_plain = not (row.view or row.outputs or row.node == "NotImplemented")
    names = [name for at, name in enumerate(row.parameters) if at not in row.inputs]
    if not is_plain or not row.edges or not known.keys() >= {*names}:
        return False
    options = tuple(TENSOR if at in row.inputs else known[name] for at, name in enumerate(row.parameters))
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
    alike: dict[tuple[object, ...], Local | None] = {}
    facts = facts_of(graph)

    def derived(node: Node, slot: int, operands: Sequence[str], result: str) -> Local | None:
        told = dict(node.recorded.held)
        held = {name: told.get(name, UNKNOWN) for name in node.recorded.tensors}
        options = node.recorded.options
        return local_derivative(node.label, slot, operands, result, options, held=held, facts=facts[node.id])

    def found_for(node: Node, slot: int, said: Words) -> Local | None:
        texts = (said.result or UNKNOWN, *said.operands)
        pattern = Pattern.of(texts) if not node.recorded.held else None
        if pattern is None:
            return derived(node, slot, said.operands, texts[0])
        key = node.label, id(node.recorded), slot, facts[node.id], *pattern.texts  # equal records are mostly one
        if key not in alike:
            local = derived(node, slot, pattern.texts[1:], pattern.texts[0])
            alike[key] = local and Local(pattern.form(local.symbol), local.is_factor)
        local = alike[key]
        return local and Local(local.symbol.format(*pattern.names), local.is_factor)

    def named(edge: Edge) -> Edge:
        node, said = nodes[edge.target], words.get(edge.target)
        if edge.kind != "data" or said is None:
            return edge
        found = found_for(node, edge.slot, said)
        if found is None:
            return edge._replace(flow=edge.flow._replace(local=None))
        local = edge.flow.local if found.is_factor else None
        jacobian = edge.flow.jacobian if local is None else None
        return Edge(*edge[:6], Flow(found.symbol, local, edge.flow.handed, jacobian), *edge[7:])

    return graph.changed(edges=tuple(named(edge) for edge in graph.edges))


def facts_about(value: Numbers | None, like: Numbers | None = None) -> Facts | None:
    """Return what is known of the elements of a tensor, or the sizes alone of another one that are its own.

    >>> facts_about(Numbers.of([0.0, 1.0]))
    Facts(shape=(2,), has_zeros=True, has_nan=False, is_zero=False, ties=0)
    >>> facts_about(None, Numbers.of([[2.0]])).shape, facts_about(None)
    ((1, 1), None)
    """
    known = value if value is not None and value.shape is not None else like
    if known is None or known.shape is None:
        return None
    if known is like or not known.is_known:
        return Facts(size_of(known))
    return Facts(size_of(known), known.summary.zeros > 0, known.has_nan, known.has_only(0))


def with_ties(result: Facts | None, value: Numbers | None, of: Numbers | None) -> Facts | None:
    """Return the facts of an extreme with how many elements are equal to it."""
    if result is None or value is None or of is None or value.elements is None or of.elements is None or value.shape:
        return result
    return result._replace(ties=of.elements.count(value.elements[0]))


def facts_of(graph: Graph) -> dict[str, tuple[Facts | None, ...]]:
    """Return what is known of the inputs of each operation, in the order of its slots, and of its result."""
    nodes = graph.by_id
    data = [edge for edge in graph.edges if edge.kind == "data"]
    stands_for = {edge.target: nodes[edge.source] for edge in data if nodes[edge.target].kind == "accumulate"}
    results = {edge.source: nodes[edge.target] for edge in data if nodes[edge.target].kind == "output"}
    values: dict[str, dict[int, Numbers | None]] = {}
    inputs: dict[str, dict[int, Facts | None]] = {}
    for edge in data:
        source = stands_for.get(edge.source) or results.get(edge.source) or nodes[edge.source]
        value = source.numbers if not source.recorded.outputs else None
        values.setdefault(edge.target, {})[edge.slot] = value
        inputs.setdefault(edge.target, {})[edge.slot] = facts_about(value, edge.flow.handed)
    found = {}
    for node in graph.nodes:
        if node.kind == "operation":
            slots = inputs.get(node.id, {})
            value = None if node.recorded.outputs else results.get(node.id, node).numbers
            about = facts_about(value, node.grad.arrived)
            about = with_ties(about, value, values.get(node.id, {}).get(0)) if node.label in EXTREMES else about
            found[node.id] = (*(slots.get(slot) for slot in range(node.recorded.slots)), about)
    return found


def _option(text: str) -> Any:
    """Return an option from its text; PyTorch's getters tell -1 as 2**64 - 1."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
    return tuple(map(_signed, value)) if isinstance(value, tuple) else _signed(value)


def _signed(value: Any) -> Any:
    return value - 2**64 if isinstance(value, int) and value >= 2**63 else value


def is_elementwise(node: ast.expr, operands: Sequence[ast.expr]) -> bool:
    """Return whether an expression is computed element by element from operands, however those are computed themselves.

    >>> a, product = Symbol.named("a").node, Symbol.named("x @ w").node
    >>> is_elementwise(applied("mul", Symbol(a), Symbol(product)).node, [a, product]), is_elementwise(applied("t", 1).node, [])
    (True, False)
    """
    given = {id(operand) for operand in operands}
    todo: list[ast.AST] = [node]
    for part in todo:  # grows while it is read
        if id(part) in given:
            continue
        if isinstance(part, ast.Call):
            args = [literal_of(arg) if is_constant(arg) else argument_of(arg) for arg in part.args]
            args[:1] = [TENSOR] if {TENSOR, MASKED}.isdisjoint(args) else args[:1]  # of the gradient, which is 1
            if not works_on_each(ast.unparse(part.func), tuple(args)):
                return False
            todo += part.args
        elif isinstance(part, ast.MatMult | ast.Attribute):  # the attribute is .T
            return False
        else:
            todo.extend(ast.iter_child_nodes(part))
    return True


def literal_of(node: ast.expr) -> Any:
    """Return the number, the option or the tuple that an argument is; any number for one by its name."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return 1.0


def argument_of(node: ast.expr) -> str:
    """Return what kind of array an argument is."""
    is_mask = isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and ast.unparse(node.func) in LOGICAL)
    return MASKED if is_mask else TENSOR


@cache
def works_on_each(name: str, args: tuple[Any, ...]) -> bool:
    """Return whether a function of the table, or of numpy, works element by element: it is tried, whole and on each.

    >>> works_on_each("digamma", (TENSOR,)), works_on_each("cumsum", (TENSOR, 0))
    (True, False)
    """
    np = ARRAYS["np"]
    function = ROWS[name].forward if name in ROWS else getattr(np, name, None)
    if not callable(function):
        return False
    names = ROWS[name].parameters if name in ROWS else ()
    masks = {at for at, arg in enumerate(args) if arg == MASKED or names[at : at + 1] == ("mask",)}
    probes = [np.roll(PROBES, at) > 0 if at in masks else np.roll(PROBES, at) for at in range(len(args))]

    def made(shape: tuple[int, ...], part: Any) -> Any:
        pairs = zip(args, probes, strict=True)
        parts = (one[part].reshape(shape) if arg in (TENSOR, MASKED) else arg for arg, one in pairs)
        result = function(*parts)
        return result[0] if isinstance(result, tuple) else result

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            each = [made((1,), at) for at in range(len(PROBES))]
            wholes = [(shape, made(shape, ...)) for shape in ((2, 3), (len(PROBES),))]
    except REFUSALS:
        return False
    shapes = [np.shape(one) == shape for shape, one in [*(((1,), one) for one in each), *wholes]]
    return all(shapes) and all(np.array_equal(np.ravel(each), one.ravel(), equal_nan=True) for _, one in wholes)
