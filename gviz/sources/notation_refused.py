"""Answers for what is Python but no part of an expression: ``x^2``, ``2(x+1)``, ``x.__class__``, ``lambda``, unknown functions.

Read only when :mod:`gviz.sources.expression_check` has refused something.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.sources.expression_text import operator_sign
from gviz.sources.names import (
    ATTRIBUTES,
    FIELDS,
    FUNCTIONS,
    METHODS,
    OTHER_MODULES,
    OTHER_NAMES,
    did_you_mean,
    functions_here,
    methods_here,
)
from gviz.sources.notation import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gviz.sources.expression_parse import Source

__all__ = ["refused", "refused_call"]

_SCRIPT = "an expression has assignments and formulas only; for a whole program: gviz render file.py"

_MODULE = "modules need a script: gviz render file.py; here, write the formula with names for the weights: y = x @ W.T + b"

_KINDS: dict[type[ast.AST], tuple[str, str]] = {
    **dict.fromkeys(
        (ast.Import, ast.ImportFrom),
        ("import is not possible in an expression", "every function is there already: write log(x) or torch.log(x)"),
    ),
    ast.AnnAssign: ("a type is not said in an expression", "write y = x*2; --dtype float64 sets the dtype"),
    ast.Delete: ("del is not possible in an expression", _SCRIPT),
    ast.Lambda: ("lambda is not possible in an expression", "write the formula itself; as a name, call it lam"),
    ast.IfExp: ("if ... else is not possible in an expression", "choose element by element with where(condition, a, b)"),
    ast.NamedExpr: (":= is not possible in an expression", "make it a statement of its own: a = x + w; y = a*2"),
    ast.Starred: ("* before a name is not possible in an expression", "write the arguments one by one"),
    ast.JoinedStr: ("a text is not possible in an expression", "numbers, names and functions are"),
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
        ("a loop is not possible in an expression", "write the terms out, or use a script: gviz render file.py"),
    ),
    **dict.fromkeys((ast.Set, ast.Dict), ("{ } are not brackets of an expression", "write round ones: (x + w)*2")),
    **dict.fromkeys(
        (ast.Tuple, ast.List),
        ("names in brackets cannot be assigned", "write one level of names, as in v, i = max(x, dim=0)"),
    ),
    ast.Await: ("await is not possible in an expression", _SCRIPT),
    **dict.fromkeys((ast.Yield, ast.YieldFrom), ("yield is not possible in an expression", _SCRIPT)),
    ast.BoolOp: ("and, or are not possible with tensors", "write (x > 0) & (x < 1), or logical_and, logical_or"),
    ast.Subscript: ("a part of a tensor cannot be assigned", "that changes it in place; use a script: gviz render file.py"),
    ast.Attribute: ("an attribute cannot be assigned", "assign to a name of its own, as in y = x*2"),
}

_PRIVATE = {
    "grad": ("x.grad is not there before backward", "gviz shows every gradient by itself; see gviz inspect"),
    "backward": ("backward runs by itself", "leave it out; --root NAME picks where it starts, --no-backward leaves it away"),
    "retain_grad": ("retain_grad is an option here", "write --retain NAME"),
    "requires_grad_": ("requires_grad is an option here", "every value requires gradients; --frozen NAME takes one out"),
    "requires_grad": ("requires_grad is an option here", "every value requires gradients; --frozen NAME takes one out"),
    "data": ("x.data is not possible in an expression", "x.detach() is the same numbers outside the graph"),
    "numpy": ("x.numpy() is not possible in an expression", "x.detach() is the same numbers outside the graph"),
    "transpose_": ("x.transpose_() changes x in place", "write x.T, or x.transpose(0, 1)"),
}

_FUNCTIONS = {
    "print": ("nothing has to be printed", "leave print out; gviz inspect shows every value"),
    "len": ("len is not possible in an expression", "write x.shape[0]"),
    "range": ("range is not possible in an expression", "write arange(n)"),
    "float": ("float is not possible in an expression", "write x.float() for a tensor"),
    "int": ("int is not possible in an expression", "write x.long() for a tensor"),
    "factorial": ("there is no factorial", "write the product: 3*2*1"),
    "cbrt": ("there is no cbrt", "write x**(1/3)"),
    "manual_seed": ("random numbers are always drawn from manual_seed(0) here", "leave it out"),
    "eval": ("eval is not possible in an expression", "write the formula itself"),
    "exec": ("exec is not possible in an expression", "write the formula itself"),
}


def refused(node: ast.AST, source: Source) -> SourceError:
    """The answer to a piece of syntax that is not on the allow-list.

    Args:
        node: the piece.
        source: the text it is from.
    """
    what, hint = _answer(node, source)
    is_power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor)
    place = source.place_after(node.left, "^") if is_power and isinstance(node, ast.BinOp) else source.place(node)
    return SourceError(what, place=place, hint=hint)


def refused_call(node: ast.Call, source: Source, bound: Collection[str], given: Collection[str]) -> SourceError:
    """The answer to a call of what is no function: ``2(x+1)``, ``x(w+1)``, ``lgo(x)``, ``x.backward()``.

    Args:
        node: the call.
        source: the text it is from.
        bound: names that have a value or are assigned.
        given: those that have a value.
    """
    module = _module_class(node.func, bound)
    if module is not None:
        what = f"{source.segment(module)} is a module, which an expression cannot have"
        return SourceError(what, place=source.place(module), hint=_MODULE)
    return _no_function(node, source, bound, given)


def _no_function(node: ast.Call, source: Source, bound: Collection[str], given: Collection[str]) -> SourceError:
    """The same for all but modules."""
    function = node.func
    place = source.place(function)
    if isinstance(function, ast.Attribute):
        what, hint = _method(function)
        return SourceError(what, place=place, hint=hint)
    if not isinstance(function, ast.Name):
        what = (
            "there is no operator before this bracket"
            if not isinstance(function, ast.Call | ast.Subscript)
            else "what a function returns cannot be called"
        )
        return SourceError(what, place=place, hint=suggestion(source) or "to multiply, write * before the bracket")
    name = function.id
    if name in bound:
        return _called_value(node, name, source, name in given)
    if name in _FUNCTIONS:
        what, hint = _FUNCTIONS[name]
        return SourceError(what, place=place, hint=hint)
    if name in OTHER_NAMES:
        return SourceError(
            f"there is no function {name}", place=place, hint=suggestion(source) or f"write {OTHER_NAMES[name]}(...)"
        )
    multiplied = suggestion(source) if len(name) == 1 else None
    hint = multiplied or did_you_mean(
        name, functions_here(), "functions are called as in PyTorch, exp(x) or relu(x); to multiply, write * before the bracket"
    )
    return SourceError(f"there is no function {name}", place=place, hint=f"to multiply, {hint}" if multiplied else hint)


def _module_class(function: ast.expr, bound: Collection[str]) -> ast.expr | None:
    """The class where ``nn.Linear``, ``torch.nn.Linear(2, 3)`` or ``Linear(2, 3)`` is called; None for anything else."""
    node = function.func if isinstance(function, ast.Call) else function
    if isinstance(node, ast.Attribute):
        base = node.value
        last = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
        return node if last == "nn" and node.attr[:1].isupper() and "nn" not in bound else None
    if node is function or not isinstance(node, ast.Name) or node.id in bound:
        return None  # Sigmoid(x) is the function, in capitals
    from gviz.engine import nn

    return node if isinstance(getattr(nn, node.id, None), type) else None


def _called_value(node: ast.Call, name: str, source: Source, is_given: bool) -> SourceError:
    """The answer to a bracket after a name that has a value."""
    kind = "has a value" if is_given else "is assigned"
    if name in FUNCTIONS:
        what = f"{name} {kind} here, so it is not the function {name}"
        return SourceError(what, place=source.place(node.func), hint=f"give the value another name, or write torch.{name}(...)")
    hint = suggestion(source, FUNCTIONS - {name}) or f"to multiply, write {name}*(...)"
    return SourceError(f"{name} {kind}: it is no function", place=source.place(node.func), hint=hint)


def _method(function: ast.Attribute) -> tuple[str, str | None]:
    """The answer to a method that is not on the list."""
    name = function.attr
    base = function.value.id if isinstance(function.value, ast.Name) else None
    meant = OTHER_NAMES.get(name, name)
    if base in {*OTHER_MODULES, "torch", "F"}:
        hint = f"write {meant}(...)" if meant in functions_here() else did_you_mean(name, functions_here(), _SCRIPT)
        what = base if base in OTHER_MODULES else f"function {base}.{name}"
        return f"there is no {what} in an expression", hint
    return _PRIVATE.get(name) or _unknown_method(name)


def _unknown_method(name: str) -> tuple[str, str | None]:
    plain = name.rstrip("_")
    if name in FUNCTIONS:
        return f"{name} is a function, not a method", f"write {name}(x, ...)"
    if name != plain and plain in METHODS:
        hint = f"write .{plain}(...), which makes a new one, or use a script: gviz render file.py"
        return f"{name} changes a tensor in place", hint
    if name in ATTRIBUTES:
        return f"{name} is no method", f"write .{name} without brackets"
    hint = did_you_mean(name, methods_here(), "tensors have PyTorch's methods, as in x.exp() or x.sum()")
    return f"there is no method {name} in an expression", hint


def _answer(node: ast.AST, source: Source) -> tuple[str, str | None]:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return _attribute(node)
    if type(node) in _KINDS:
        return _KINDS[type(node)]
    if type(node) in _ANSWERS:
        return _ANSWERS[type(node)](node, source)
    words = {"FunctionDef": "def", "AsyncFunctionDef": "async", "ClassDef": "class", "AsyncFor": "for", "AsyncWith": "with"}
    kind = type(node).__name__
    return f"{words.get(kind, kind.lower())} is not possible in an expression", _SCRIPT


def _power(node: ast.BinOp, source: Source) -> tuple[str, str | None]:
    """The answer to ``x^2``, the only operator between two operands that is refused."""
    if isinstance(node.left, ast.Name) and node.left.id == "e":
        return "^ is written ** in an expression, and e to a power exp(...)", f"write exp({source.segment(node.right)})"
    return "^ is written ** in an expression", suggestion(source) or "write x**2 for a power"


def _in_place(node: ast.AugAssign, source: Source) -> tuple[str, str | None]:
    name, value = source.segment(node.target), source.segment(node.value)
    sign = "..." if isinstance(node.op, ast.BitXor) else operator_sign(node.op)
    return "this changes a tensor in place", f"write {name} = {name} {sign} {value}, which makes a new one"


def _keyword(node: ast.keyword, _: Source) -> tuple[str, str | None]:
    if node.arg is None:
        return "** before a name is not possible in an expression", "write the arguments one by one"
    return f"{node.arg}= is not possible in an expression", "it would write into a tensor"


def _attribute(node: ast.Attribute) -> tuple[str, str | None]:
    name = node.attr
    if name in _PRIVATE:
        return _PRIVATE[name]
    if name in METHODS:
        return f"{name} is a method", f"write .{name}() with brackets"
    if isinstance(node.value, ast.Name) and node.value.id in OTHER_MODULES and name in ("pi", "inf", "nan"):
        return f"{node.value.id} is not needed", f"write {name}"
    return f"there is no attribute {name} in an expression", did_you_mean(
        name, ATTRIBUTES | FIELDS | methods_here(), "tensors have .T, .shape and their methods"
    )


def _constant(node: ast.Constant, source: Source) -> tuple[str, str | None]:
    if isinstance(node.value, complex):
        return "complex numbers are not possible in an expression", suggestion(source) or "write j as a name of its own: 2*j"
    return "a text is not possible in an expression", "text in quotes is only for arguments, as in mode='mean'"


def _compare(node: ast.Compare, _: Source) -> tuple[str, str | None]:
    if len(node.ops) > 1:
        return "comparisons cannot be chained with tensors", "write (0 < x) & (x < 1)"
    return "in, is are not possible with tensors", "compare with == or !="


_ANSWERS: dict[type[ast.AST], Callable[[Any, Source], tuple[str, str | None]]] = {
    ast.AugAssign: _in_place,
    ast.BinOp: _power,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.Expr: lambda _, source: (
        "== compares, and gives no name",
        suggestion(source) or "write = to name what is on the right",
    ),
    ast.UnaryOp: lambda _, __: ("not is not possible with tensors", "write ~(x > 0), or logical_not(x)"),
    ast.keyword: _keyword,
}
