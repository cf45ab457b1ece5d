"""Computes an expression that has passed the check, one node after the other, with a stack of its own instead of recursion.

What the engine refuses comes back as a SourceError with PyTorch's text and the place of the failing piece.
"""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING, Any, ClassVar

from gviz.errors import GvizError, MissingError, SourceError
from gviz.sources.expression_check import called_function, children, constant_name
from gviz.sources.expression_limits import MAX_BITS, Budget, TooLargeError, check_power, flat, is_tensor
from gviz.sources.expression_text import ATOM, Item, kind_of, number_text, operator_sign, text_of
from gviz.sources.names import CONSTANTS, DTYPES, FIELDS, FIRST_IS_NO_TENSOR, FUNCTIONS, find_function

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from gviz.sources.expression_parse import Source

__all__ = ["ENGINE_ERRORS", "Runner", "engine_error", "of_numbers"]

ENGINE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What the engine raises for a call that PyTorch refuses too."""

_OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "+": (operator.add, "add"),
    "-": (operator.sub, "sub"),
    "*": (operator.mul, "mul"),
    "/": (operator.truediv, "div"),
    "//": (operator.floordiv, "floor_divide"),
    "%": (operator.mod, "remainder"),
    "**": (operator.pow, "pow"),
    "@": (operator.matmul, "matmul"),
    "<<": (operator.lshift, "lshift"),
    ">>": (operator.rshift, "rshift"),
    "&": (operator.and_, "bitwise_and"),
    "|": (operator.or_, "bitwise_or"),
    "==": (operator.eq, "eq"),
    "!=": (operator.ne, "ne"),
    "<": (operator.lt, "lt"),
    "<=": (operator.le, "le"),
    ">": (operator.gt, "gt"),
    ">=": (operator.ge, "ge"),
}
"""What an operator does, and the name that its size is bounded by."""

_SIGNS: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}

_OF_NUMBERS: dict[str, Callable[[float], float]] = {
    "abs": abs,
    **{
        function.__name__: function
        for function in (math.sqrt, math.exp, math.log, math.log2, math.log10, math.log1p, math.expm1)
    },
    **{function.__name__: function for function in (math.sin, math.cos, math.tan, math.asin, math.acos, math.atan)},
    **{function.__name__: function for function in (math.sinh, math.cosh, math.tanh, math.floor, math.ceil, math.trunc)},
}
"""Functions that people write of a number, as in ``x * sqrt(2)``; PyTorch has them for tensors only, Python in ``math``."""


_UNFORESEEN = (AssertionError, AttributeError, KeyError, UnboundLocalError)
"""What comes out of the engine where it was handed something that it does not expect, a number instead of a tensor."""


def engine_error(error: BaseException, source: Source, node: ast.AST) -> SourceError:
    """What the engine said, with the place of what it said it about."""
    if isinstance(error, MemoryError):
        return SourceError("there is not enough memory for this", place=source.place(node), hint="take smaller tensors")
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    what = text.partition(", but expected one of:")[0]  # a list of call forms is too long for one line
    return SourceError(what or type(error).__name__, place=source.place(node))


class Runner:
    """Computes expressions over named values.

    Args:
        engine: the engine's module.
        source: the text, for the errors' places.
        values: name -> value; assignments are the caller's to store here.
        bound: names that are no functions, because the program gives or assigns them a value.
        budget: how much may be computed.
        named: asked for the name of each tensor that is computed on the way: ``named(tensor, text, is_new)``,
            which returns the name, or None for a tensor that stays without.
    """

    def __init__(
        self,
        engine: Any,
        source: Source,
        values: Mapping[str, Any],
        bound: Collection[str],
        *,
        budget: Budget,
        named: Callable[[Any, str, bool], str | None] | None = None,
    ) -> None:
        self.engine = engine
        self.source = source
        self.values = values
        self.bound = bound
        self.budget = budget
        self.named = named

    def run(self, root: ast.expr) -> Item:
        """The value of an expression.

        It gets no name itself, nor does what stands in it between commas: those are for the caller to name.

        Raises:
            SourceError: the engine refuses it, or it is too large.
            MissingError: a function that the engine does not have yet.
        """
        while isinstance(root, ast.UnaryOp) and isinstance(root.op, ast.UAdd):
            root = root.operand  # +x is x itself
        outermost = {id(root), *(id(part) for part in getattr(root, "elts", ()))}
        todo: list[tuple[ast.expr, int]] = [(root, -1)]
        done: list[Item] = []
        while todo:
            node, count = todo.pop()
            if count < 0:
                parts = children(node, self.bound)
                todo.append((node, len(parts)))
                todo.extend((part, -1) for part in reversed(parts))
                continue
            items = done[len(done) - count :]
            del done[len(done) - count :]
            item = self._computed(node, items)
            done.append(
                item if isinstance(node, ast.Name) else self._with_name(item, is_new=bool(count) and id(node) not in outermost)
            )
        return done.pop()

    def _with_name(self, item: Item, *, is_new: bool) -> Item:
        """The item under its name, where it is a tensor that has one or is given one now."""
        if self.named is None or not is_tensor(item.value):
            return item
        name = self.named(item.value, item.text, is_new and item.live)
        return item if name is None else item._replace(text=name, rank=ATOM)

    def _computed(self, node: ast.expr, parts: Sequence[Item]) -> Item:
        try:
            if isinstance(node, ast.Constant):
                return self._constant(node)
            if isinstance(node, ast.Name):
                return self._name(node.id)
            function = called_function(node, self.bound) if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Attribute) and not parts:
                return self._name(constant_name(node, self.bound) or node.attr)
            value = self._value(node, parts, function)
            if is_tensor(value):
                _check_dtype(value)
        except GvizError:
            raise
        except TooLargeError as error:
            raise SourceError(
                f"too large: {error}", place=self.source.place(node), hint="take a smaller one; gviz draws for people to read"
            ) from None
        except TypeError as error:
            raise self._no_operator(node, parts, error) or engine_error(error, self.source, node) from error
        except _UNFORESEEN as error:
            raise self._wrong_arguments(node, parts) from error
        except ENGINE_ERRORS as error:
            raise engine_error(error, self.source, node) from error
        text, rank = text_of(node, parts, function)
        if isinstance(value, int | float) and not isinstance(value, bool):
            text, rank = number_text(text, rank, value)
        self.budget.count(value)
        return Item(value, text, rank, any(part.live for part in parts))

    def _constant(self, node: ast.Constant) -> Item:
        value = node.value
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise SourceError(
                "this number has too many digits", place=self.source.place(node), hint="write it as a power of ten, as in 1e30"
            )
        return Item(value, "..." if value is ... else repr(value))

    def _name(self, name: str) -> Item:
        if name in self.values:
            return Item(self.values[name], name, live=True)
        if name in CONSTANTS:
            return Item(CONSTANTS[name], name)
        if name in DTYPES:
            return Item(getattr(self.engine, name), name)
        raise KeyError(name)

    def _value(self, node: ast.expr, parts: Sequence[Item], function: str | None) -> Any:
        values = [part.value for part in parts]
        if isinstance(node, ast.Call):
            return self._call(node, values, function)
        return self._compute[type(node)](self, node, values)

    def _unary(self, node: ast.UnaryOp, values: list[Any]) -> Any:
        self._check_operand(node.operand, values[0])
        return _SIGNS[operator_sign(node.op)](values[0])

    def _binary(self, node: ast.BinOp | ast.Compare, values: list[Any]) -> Any:
        left, right = values
        sign = operator_sign(node.op if isinstance(node, ast.BinOp) else node.ops[0])
        compute, name = _OPERATORS[sign]
        for part, value in zip(children(node), values, strict=True):
            self._check_operand(part, value)
        if is_tensor(left) or is_tensor(right):
            self._check_arguments(node, name, values, {})
            return compute(left, right)
        check_power(sign, left, right)
        try:
            result = compute(left, right)
        except ZeroDivisionError:
            raise SourceError(
                "this divides by zero", place=self.source.place(node), hint="of tensors it would be inf: give the number a name"
            ) from None
        except OverflowError:
            raise SourceError(
                "this number is too large", place=self.source.place(node), hint="the largest is about 1.8e308"
            ) from None
        if isinstance(result, complex):
            raise SourceError(
                "this is no real number", place=self.source.place(node), hint="a root of a negative number is not computed"
            )
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise TooLargeError(f"a number of {result.bit_length() * 30103 // 100000 + 1:,} digits")
        return result

    def _no_operator(self, node: ast.expr, parts: Sequence[Item], error: TypeError) -> MissingError | None:
        """The answer to an operator between tensors that PyTorch has, and the engine has not; None for other errors."""
        of_tensors = any(is_tensor(part.value) for part in parts)
        if of_tensors and isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult) and "unsupported" in str(error):
            return self._missing(node, operator_sign(node.op))
        return None

    def _wrong_arguments(self, node: ast.expr, parts: Sequence[Item]) -> SourceError:
        """What PyTorch says of arguments that a function does not take."""
        kinds = ", ".join(type(part.value).__name__ for part in parts)
        what = f"this cannot be computed of ({kinds})"
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else self.source.segment(node.func)
            what = f"{name}() received an invalid combination of arguments - got ({kinds})"
        return SourceError(what, place=self.source.place(node))

    def _check_arguments(self, node: ast.expr, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Refuse what makes too large a result, and whole numbers beyond 64 bits, as PyTorch does."""
        for value in flat([*args, *kwargs.values()]):
            if isinstance(value, int) and value.bit_length() > 64:
                is_factor = isinstance(node, ast.BinOp | ast.Compare)
                hint = (
                    "write it as a decimal number, as in 1e30"
                    if is_factor
                    else "sizes, dims and indices are small whole numbers"
                )
                raise SourceError("int too big to convert", place=self.source.place(node), hint=hint)
        self.budget.check(name, args, kwargs)

    def _check_operand(self, node: ast.expr, value: object) -> None:
        """Refuse what takes no part in arithmetic: lists, tuples, None, dtypes."""
        if isinstance(value, int | float) or is_tensor(value):
            return
        hint = None
        if isinstance(value, list):
            hint = "square brackets make a list: write round ones, (x + w)*2, or give the list a name, as in W=[[1,2],[3,4]]"
        elif isinstance(value, tuple):
            hint = "a comma makes a tuple: take one part of it, as in p[0], or write a decimal point as . (1.5)"
        raise SourceError(f"{kind_of(value)} takes no part in arithmetic", place=self.source.place(node), hint=hint)

    def _indexed(self, node: ast.Subscript, values: list[Any]) -> Any:
        value, index = values
        if is_tensor(value):
            self._check_arguments(node, "index", [value, index], {})
            return value[index]
        if isinstance(value, tuple | list) and isinstance(index, int | slice):
            return value[index]
        raise SourceError(
            f"{kind_of(value)} has no parts to take like that",
            place=self.source.place(node),
            hint="tensors and tuples of tensors have",
        )

    def _attribute(self, node: ast.Attribute, values: list[Any]) -> Any:
        name, value = node.attr, values[0]
        if is_tensor(value) and name not in FIELDS:
            if hasattr(value, name):
                return getattr(value, name)
            raise self._missing(node, f"Tensor.{name}")
        if isinstance(value, tuple) and name in FIELDS and hasattr(value, name):
            return getattr(value, name)
        hint = (
            f"{name} is a method: write .{name}()"
            if is_tensor(value)
            else "tensors have .T and .shape, the results of max, min, sort .values and .indices"
        )
        raise SourceError(f"there is no {name} of this", place=self.source.place(node), hint=hint)

    def _call(self, node: ast.Call, values: list[Any], function: str | None) -> Any:
        method = node.func.attr if function is None and isinstance(node.func, ast.Attribute) else None
        receiver = [values.pop(0)] if method else []
        args = values[: len(node.args)]
        kwargs = {str(keyword.arg): value for keyword, value in zip(node.keywords, values[len(node.args) :], strict=True)}
        if method is None:
            return self._call_function(node, str(function), args, kwargs)
        if not is_tensor(receiver[0]):
            raise self._no_method(node, method, receiver[0])
        self._check_arguments(node, method, [*receiver, *args], kwargs)
        found = getattr(receiver[0], method, None)
        if found is None:
            raise self._missing(node, f"Tensor.{method}")
        return found(*args, **kwargs)

    def _call_function(self, node: ast.Call, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        of_number = _OF_NUMBERS.get(name)
        if of_number is not None and len(args) == 1 and not kwargs and isinstance(args[0], int | float):
            return self._of_number(node, of_number, args[0])
        found = find_function(self.engine, name)
        if found is None:
            raise self._missing(node, name)
        if args and not is_tensor(args[0]) and name not in FIRST_IS_NO_TENSOR:
            what = f"{name}(): argument 'input' (position 1) must be Tensor, not {type(args[0]).__name__}"
            raise SourceError(what, place=self.source.place(node), hint="a number is a tensor under a name: give it as a value")
        self._check_arguments(node, name, args, kwargs)
        return found(*args, **kwargs)

    def _of_number(self, node: ast.Call, function: Callable[[float], float], number: float) -> float:
        try:
            return function(number)
        except (ValueError, OverflowError):
            what = f"{self.source.segment(node)} is no number that can be computed"
            raise SourceError(
                what, place=self.source.place(node), hint="of a tensor it would be nan or inf: give the number a name"
            ) from None

    def _no_method(self, node: ast.Call, method: str, receiver: object) -> SourceError:
        hint = f"write {method}(...) of a tensor" if method in FUNCTIONS else "tensors have methods"
        return SourceError(f"{kind_of(receiver)} has no method {method}", place=self.source.place(node), hint=hint)

    def _missing(self, node: ast.expr, name: str) -> MissingError:
        hint = "a script can run with PyTorch itself: gviz render file.py --engine torch"
        return MissingError(f"{name} is PyTorch's, but not in gviz's engine yet", place=self.source.place(node), hint=hint)

    _compute: ClassVar[dict[type[ast.expr], Callable[[Runner, Any, list[Any]], Any]]] = {
        ast.BinOp: _binary,
        ast.Compare: _binary,
        ast.UnaryOp: _unary,
        ast.List: lambda _, __, values: values,
        ast.Tuple: lambda _, __, values: tuple(values),
        ast.Slice: lambda _, node, values: _slice(node, values),
        ast.Subscript: _indexed,
        ast.Attribute: _attribute,
    }
    """How the value of each kind of node is made from those of its parts."""


def of_numbers(sign: str, left: Any, right: Any) -> Any:
    """An operator between two numbers.

    >>> of_numbers("/", 1, 2)
    0.5
    """
    return _OPERATORS[sign][0](left, right)


def _check_dtype(tensor: Any) -> None:
    """Refuse a tensor of what is no number: numpy holds None and whole numbers beyond 64 bits as objects, PyTorch does not."""
    try:
        known = tensor.dtype is not None
    except TypeError:
        known = False
    if not known:
        raise AssertionError("the result holds no numbers")


def _slice(node: ast.Slice, values: list[Any]) -> slice:
    found = iter(values)
    return slice(*(next(found) if part is not None else None for part in (node.lower, node.upper, node.step)))
