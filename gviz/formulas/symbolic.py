"""Symbols in place of arrays: the table's formulas are called with them, and what comes out is written shortly.

Whether that works element by element is tried with numbers.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from gviz.autograd.row import ARRAYS, ROWS
from gviz.formulas.formula import UNKNOWN, Formula
from gviz.formulas.lectures import Facts
from gviz.numbers.shapes import broadcast_shape

TENSOR, MASKED = "tensor", "masked"
"""Arguments that are arrays, of numbers and of what is true, where a function is tried; others are themselves."""

PROBES = (0.75, -1.25, 2.5, 0.25, -0.5, 1.5)
"""What a function is tried with."""

LOGICAL = {"logical_and", "logical_or", "logical_not", "isnan", "isfinite"}
"""Functions that say where something holds."""

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

CONSTANTS = {
    math.pi: "π", math.pi / 180: "π/180", 180 / math.pi: "180/π", 1 / math.sqrt(2): "1/sqrt(2)",
    math.sqrt(2): "sqrt(2)", math.sqrt(2 * math.pi): "sqrt(2*π)", math.sqrt(2 / math.pi): "sqrt(2/π)",
    2 / math.sqrt(math.pi): "2/sqrt(π)",
    math.sqrt(math.pi) / 2: "sqrt(π)/2", 1 / math.sqrt(2 * math.pi): "1/sqrt(2*π)",
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
        symbol = cls.parse(text)
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

    >>> [ast.unparse(number_tree(value)) for value in (2.0, -0.5, 0.7071067811865476, math.log(3), 1.7581, math.inf)]
    ['2', '-0.5', '1 / sqrt(2)', 'log(3)', '1.7581', 'inf']
    """
    if value < 0:
        return ast.UnaryOp(ast.USub(), number_tree(-value))
    if isinstance(value, float) and not math.isfinite(value):
        return ast.Name(str(value), ast.Load())
    if isinstance(value, float) and not value.is_integer():
        name = next((name for constant, name in CONSTANTS.items() if math.isclose(value, constant, rel_tol=1e-12)), "")
        base = round(math.exp(min(value, 10.0)), 4)  # the derivative of 3^x has log(3)
        if math.isclose(value, math.log(base), rel_tol=1e-12):
            name = f"log({base:g})"
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
        result = Symbol(tree(args[name == "scalar_like"]))
    else:
        parts = [tree(arg) for arg in args]
        shorter = simplified(name, parts, has_nan=has_nan)
        result = Symbol(written_as(name, parts)) if shorter is None else shorter
    result.has_nan, result.is_nonzero, result.made_by = has_nan, is_shaped and args[0].is_nonzero, (name, args)
    return result


def simplified(name: str, parts: list[ast.expr], *, has_nan: bool = False) -> Symbol | None:
    """Return the same in a shorter form, by rules that change no value; None if there is none.

    Args:
        name: of the function.
        parts: its arguments.
        has_nan: whether one of them is known to have nan, of which neither a comparison holds nor its opposite.
    """
    first, texts = parts[0], [ast.unparse(part) for part in parts]
    short: ast.expr | None = None
    match name, texts:
        case ("zeros_like", ["1" | "grad"]):
            short = ast.Constant(0)
        case ("mul", ["1", _]) | ("add", ["0", _]):
            short = parts[1]
        case ("mul" | "div" | "power", [_, "1"]) | ("add" | "sub", [_, "0"]):
            short = first
        case ("mul", _):
            short = shorter_product(first, parts[1])
        case ("neg", [_]) if isinstance(first, ast.UnaryOp):
            short = first.operand
        case ("logical_and", ["False", _] | [_, "False"]):
            short = ast.Constant(False)
        case ("masked_fill", [_, _, _]):
            short = tree(applied("where", Symbol(parts[1]), Symbol(parts[2]), Symbol(first)))
        case ("where", [_, _, _]):
            short = shorter_choice(texts, parts, has_nan=has_nan)
    return None if short is None else Symbol(short)


def shorter_product(first: ast.expr, second: ast.expr) -> ast.expr | None:
    """Return a product in a shorter form; None if there is none."""
    text, short = ast.unparse(first), None
    match first, second:
        case _ if text == "-1":
            short = tree(applied("neg", Symbol(second)))
        case _ if text == ast.unparse(second) and UNKNOWN not in text:  # two that are not known may be two
            short = tree(applied("power", Symbol(first), 2))
        case _ if is_constant(first):
            pass
        case ast.BinOp(ast.Constant(1), ast.Div(), below), _ if not is_constant(second):  # (x - w)/(2·y)
            short = ast.BinOp(as_number(second), ast.Div(), below)
        case _, ast.BinOp(ast.Constant(1), ast.Div(), below) if is_constant(below):  # x/sqrt(2)
            short = ast.BinOp(as_number(first), ast.Div(), below)
        case _, ast.BinOp() if is_constant(second):  # 2/3·x
            short = written_as("mul", [second, first])
        case _, ast.Constant() | ast.Name("π") | ast.UnaryOp(ast.USub(), ast.Constant()):  # 2·x
            short = tree(applied("mul", Symbol(second), Symbol(first)))
    return short


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


def is_constant(node: ast.expr) -> bool:
    """Return whether a syntax is that of a number, or of one by its name.

    >>> [is_constant(ast.parse(text, mode="eval").body) for text in ("2/sqrt(π)", "-1", "sqrt", "sqrt(x)")]
    [True, True, False, False]
    """
    functions = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return all(name.id in ("sqrt", "log") if id(name) in functions else name.id == "π" for name in names)


def is_elementwise(node: ast.expr, operands: Sequence[ast.expr]) -> bool:
    """Return whether an expression is computed element by element from operands, however those are computed themselves.

    >>> a, product = Symbol.parse("a").node, Symbol.parse("x @ w").node
    >>> is_elementwise(applied("mul", Symbol(a), Symbol(product)).node, [a, product]), is_elementwise(applied("t", 1).node, [])
    (True, False)
    """
    ids = {id(operand) for operand in operands}
    todo: list[ast.AST] = [node]
    for part in todo:  # grows while it is read
        if id(part) in ids:
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
    """Return the number, the option or the tuple that an argument is; any number for a name, an array for places."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return 1.0
    return TENSOR if isinstance(value, list) else value


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

    def probe(shape: tuple[int, ...], part: Any) -> Any:
        pairs = zip(args, probes, strict=True)
        parts = (one[part].reshape(shape) if arg in (TENSOR, MASKED) else arg for arg, one in pairs)
        result = function(*parts)
        return result[0] if isinstance(result, tuple) else result

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            each = [probe((1,), at) for at in range(len(PROBES))]
            wholes = [(shape, probe(shape, ...)) for shape in ((2, 3), (len(PROBES),))]
    except REFUSALS:
        return False
    shapes = [np.shape(one) == shape for shape, one in [*(((1,), one) for one in each), *wholes]]
    return all(shapes) and all(np.array_equal(np.ravel(each), one.ravel(), equal_nan=True) for _, one in wholes)
