"""Local derivatives as symbols: ``b`` for the product y = a * b by a, ``1 - t²`` for t = tanh(x).

They are read off the table of operations: the derivative of a row is called with symbols in place of arrays, and with 1 in place
of the gradient that arrives. If it then consists of functions that work element by element, that is the factor by which the
gradient is multiplied on its way to this input. Else (a matrix product, a sum over rows) there is no such factor, and the
derivative is named for what it does to the gradient: ``grad @ w.T``.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, NamedTuple

from gviz import ops
from gviz.autograd.formulas import bind, parameters
from gviz.autograd.row import ARRAYS, COMPOSITES, ROWS, Row
from gviz.passes.expressions import UNKNOWN, words_of
from gviz.passes.formulas import written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gviz.graph import Edge, Graph

__all__ = ["Local", "local_derivative", "with_symbols"]

UNARY: dict[str, type[ast.unaryop]] = {"neg": ast.USub, "negative": ast.USub}
BINARY: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "subtract": ast.Sub, "mul": ast.Mult, "multiply": ast.Mult, "div": ast.Div,
    "divide": ast.Div, "true_divide": ast.Div, "power": ast.Pow, "pow_tensor": ast.Pow, "mm": ast.MatMult, "mv": ast.MatMult, "bmm": ast.MatMult,
    "matmul": ast.MatMult, "dot": ast.MatMult,
}  # fmt: skip
COMPARED: dict[str, type[ast.cmpop]] = {
    "less": ast.Lt, "less_equal": ast.LtE, "greater": ast.Gt, "greater_equal": ast.GtE, "equal": ast.Eq, "not_equal": ast.NotEq,
}  # fmt: skip
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
"""Rows and functions of numpy that are written with a sign."""

EACH = {
    "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "rsqrt", "sgn", "sign", "sigmoid", "where", "absolute",
    "square", "reciprocal", "masked_fill", "log10", "log2", "expm1", "isnan", "logical_and", "logical_or", "erf", "log1p", "exp2", "maximum", "minimum",
}  # fmt: skip
"""Further functions that work element by element."""

SPREAD = ("expand", "sum_to", "cast_like", "to_dtype", "expand_as")
"""Rows that change no number: the gradient of a sum is that of each element."""


class Local(NamedTuple):
    """A local derivative.

    Args:
        symbol: the factor (``b``), or what is done to the gradient (``grad @ w.T``).
        is_factor: whether it is a factor, element by element.
    """

    symbol: str
    is_factor: bool


class Symbol:
    """An expression over the names of a program, to be computed with as numpy computes with arrays."""

    dtype = None

    def __init__(self, node: ast.expr) -> None:
        self.node = node

    def astype(self, *_: Any, **__: Any) -> Symbol:
        """Return the symbol: a dtype changes no text."""
        return self

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **_: Any) -> Any:
        return called(function.__name__, *inputs) if method == "__call__" else NotImplemented

    def __array_function__(self, function: Any, _: Any, args: Any, __: Any) -> Symbol:
        return called(function.__name__, *args)

    def __neg__(self) -> Symbol:
        return called("neg", self)

    def __bool__(self) -> bool:
        raise TypeError("a symbol is neither true nor false")


def _operator(name: str, *, is_reflected: bool = False) -> Callable[[Any, Any], Symbol]:
    return lambda one, other: called(name, other, one) if is_reflected else called(name, one, other)


for _sign, _name in {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "power", "matmul": "mm", "lt": "less", "le": "less_equal",
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
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        return ast.UnaryOp(ast.USub(), ast.Constant(-number)) if number < 0 else ast.Constant(number)
    raise TypeError(f"{value!r} is neither a symbol nor a number")


def called(name: str, *args: Any) -> Any:
    """Return what a function of the table, or of numpy, comes to: simplified by rules that change no value."""
    name = name.partition(" ")[0]  # numpy's own addition: erf (vectorized)
    if name in SPREAD:
        return args[0]
    if name == "scalar_like":
        return args[1]
    parts = [tree(arg) for arg in args]
    values = [part.value if isinstance(part, ast.Constant) else None for part in parts]
    match name, values:
        case ("mul" | "multiply", [1, _]) | ("add", [0, _]):
            return Symbol(parts[1])
        case ("mul" | "multiply" | "div" | "divide" | "true_divide" | "power", [_, 1]) | ("add" | "sub" | "subtract", [_, 0]):
            return Symbol(parts[0])
        case ("mul" | "multiply", [None, None]) if ast.dump(parts[0]) == ast.dump(parts[1]):
            return called("power", args[0], 2)
        case ("where", [None, 0, 1]) if isinstance(parts[0], ast.Compare):
            return Symbol(ast.Compare(parts[0].left, [OPPOSITE[type(parts[0].ops[0])]()], parts[0].comparators))
        case ("where", [None, 1, 0]) if isinstance(parts[0], ast.Compare):
            return Symbol(parts[0])
    if name in ("mul", "multiply") and ast.unparse(parts[0]) == "-1":
        return called("neg", args[1])
    if name in UNARY:
        if isinstance(parts[0], ast.UnaryOp):
            return Symbol(parts[0].operand)
        return Symbol(ast.UnaryOp(UNARY[name](), parts[0]))
    if name in BINARY:
        return Symbol(ast.BinOp(parts[0], BINARY[name](), parts[1]))
    if name in COMPARED:
        return Symbol(ast.Compare(parts[0], [COMPARED[name]()], [parts[1]]))
    if name == "t":
        return Symbol(ast.Attribute(parts[0], "T", ast.Load()))
    return Symbol(ast.Call(ast.Name(name, ast.Load()), parts, []))


def _symbolic(row: Row) -> Callable[..., Any]:
    """Return a row as a function of symbols: what its forward computes if that is a derivative, else its name."""

    def call(*args: Any) -> Any:
        if row.key.endswith("_backward"):
            try:
                return row.forward(*args)
            except (AttributeError, TypeError, ValueError):
                pass
        return called(row.key, *args)

    return call


@cache
def _namespace() -> dict[str, Any]:
    """Return what the formulas of the table call, as functions of symbols."""
    space = {**ARRAYS, **{key: _symbolic(row) for key, row in ROWS.items()}}
    space.update((name, bind(composite, space)) for name, composite in COMPOSITES.items())
    return space


@cache
def _rows() -> dict[str, Row]:
    """Return the row of each class of graph nodes; of several, the first."""
    for module in iter_modules(ops.__path__):  # some rows are stored when their module is named
        import_module(f"gviz.ops.{module.name}")
    return {str(row.node): row for row in reversed(ROWS.values())}


def local_derivative(
    label: str, slot: int, operands: Sequence[str], result: str, attributes: Mapping[str, str]
) -> Local | None:
    """Return the local derivative of an operation for one of its inputs.

    Args:
        label: the class of its node, ``MulBackward0``.
        slot: which of its inputs.
        operands: what each of its inputs is called, or how it is computed.
        result: what its result is called.
        attributes: what the node saved besides tensors, as texts.

    Returns:
        None if the table has no such operation, or its derivative depends on more than is known.

    >>> local_derivative("MulBackward0", 0, ["a", "b"], "y", {})
    Local(symbol='b', is_factor=True)
    >>> local_derivative("TanhBackward0", 0, ["x"], "t", {})
    Local(symbol='1 - t²', is_factor=True)
    >>> local_derivative("MmBackward0", 0, ["x", "w"], "y", {"self_sym_sizes": "(2, 3)", "self_sym_strides": "(3, 1)"})
    Local(symbol='grad @ w.T', is_factor=False)
    """
    row = _rows().get(label)
    if row is None or row.listed or slot >= len(row.edges) or len(operands) != len(row.edges):
        return None
    known: dict[str, Any] = dict(zip(row.parameters[-len(row.defaults) :], row.defaults, strict=False))
    known |= {name: _value(text) for name, text in attributes.items()} | {"result": symbol_of(result)}
    known |= {row.parameters[at]: symbol_of(text) for at, text in zip(row.edges, operands, strict=True)}
    name = row.parameters[row.edges[slot]]
    formula = row.formulas.get(name)
    if formula is None:
        return None
    derivative = bind(formula, _namespace())
    for grad in (Symbol(ast.Constant(1)), symbol_of("grad")):
        try:
            found = tree(derivative(grad, *[known[need] for need in parameters(formula)[1:]]))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None
        is_factor = isinstance(grad.node, ast.Constant)
        if is_elementwise(found) or not is_factor:
            return Local(written(found), is_factor)
    return None


def with_symbols(graph: Graph) -> Graph:
    """Return the graph with the symbol of the local derivative on each edge into an operation.

    The value of one that is no factor is taken away: it is what a gradient of ones would become.
    """
    words = words_of(graph)
    nodes = {node.id: node for node in graph.nodes}

    def named(edge: Edge) -> Edge:
        node, told = nodes[edge.target], words.get(edge.target)
        if edge.kind != "data" or told is None:
            return edge
        found = local_derivative(node.label, edge.slot, told.operands, told.result or UNKNOWN, dict(node.attrs))
        if found is None:
            return edge._replace(local=None)
        return edge._replace(symbol=found.symbol, local=edge.local if found.is_factor else None)

    return replace(graph, edges=tuple(named(edge) for edge in graph.edges))


def symbol_of(text: str) -> Symbol:
    """Return the symbol of a name, or of an expression."""
    try:
        return Symbol(ast.parse(text, mode="eval").body)
    except SyntaxError:  # a name such as x (1st), or an operand that is not known
        return Symbol(ast.Name(text, ast.Load()))


def _value(text: str) -> Any:
    """Return an option from its text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def is_elementwise(node: ast.expr) -> bool:
    """Return whether an expression is computed element by element."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and not (isinstance(part.func, ast.Name) and part.func.id in EACH):
            return False
        if isinstance(part, ast.MatMult):
            return False
    return True
