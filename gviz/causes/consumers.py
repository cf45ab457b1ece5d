"""What takes a tensor of the graph where a program writes a number, by gviz's own table of PyTorch's functions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from importlib import import_module

from gviz.causes.syntax import has, last_name
from gviz.signatures.forms import ALIASES, CallForm
from gviz.signatures.names import NAMES

SPACES = {
    "torch": "torch", "torch.Tensor": "", "F": "F", "nn.functional": "F", "torch.nn.functional": "F",
    "torch.linalg": "linalg", "torch.special": "special",
}  # fmt: skip
"""Modules of PyTorch as programs write them, by the name of each in the table."""

OF_NUMBERS = {"copy", "math", "nn", "np", "numpy", "operator", "pickle", "random", "torch", "torch.nn"}
"""Modules whose functions take no tensor of the graph, or lose the graph, if the table has none of that name."""

COPIERS = {"deepcopy", "dumps"}
"""Functions, often imported by name, that lose the graph or refuse it."""

ANYTHING = {
    "abs", "dict", "enumerate", "float", "getattr", "iter", "list", "max", "min", "next", "pow", "reversed", "set",
    "setattr", "sorted", "sum", "tuple", "type", "zip",
}  # fmt: skip
"""Python's own functions that take a tensor as they take a number, and give what has its graph."""


def forms_of(function: ast.expr) -> list[CallForm]:
    """Return the forms of the calls of a function of torch, or of a method of tensors; [] if the table has none.

    >>> [len(forms_of(ast.parse(one, mode="eval").body)) for one in ("y.mul", "y.fill", "torch.relu", "F.zero")]
    [1, 0, 1, 0]
    """
    import_module("gviz.engine.nn.functional")  # which fills the table, the engine being below it
    name, space = last_name(function), SPACES.get(ast.unparse(function).rpartition(".")[0], "")
    keys = (f"{space}.{name}", name)
    return next((NAMES[key].forms for key in keys if key in NAMES), [])


def operands_of_call(call: ast.Call) -> list[ast.expr]:
    """Return what a function of torch is called with, a method of tensors with its owner first; without keywords.

    >>> calls = [ast.parse(one, mode="eval").body for one in ("torch.exp(x)", "x.pow(2)")]
    >>> [[*map(ast.unparse, operands_of_call(call))] for call in calls]
    [['x'], ['x', '2']]
    """
    owner = getattr(call.func, "value", None)
    return [*([] if owner is None or ast.unparse(owner) in SPACES else [owner]), *call.args]


def takes_tensor(call: ast.Call, argument: ast.AST) -> bool:
    """Return whether a call takes a tensor of the graph for one of its arguments; True for a function of the program.

    >>> calls = [ast.parse(one, mode="eval").body for one in ("torch.clamp(x, p)", "torch.full(x, p)", "range(p)")]
    >>> [takes_tensor(call, call.args[-1]) for call in calls]
    [True, False, False]
    """
    name, owner = last_name(call), ast.unparse(call.func).rpartition(".")[0]
    if owner == "":
        return name in ANYTHING or not (hasattr(builtins, name) or name in COPIERS)
    forms = forms_of(call.func)
    if not forms or isinstance(argument, ast.Starred):
        return owner not in OF_NUMBERS and name not in COPIERS
    place = call.args.index(argument) + (owner not in SPACES) if argument in call.args else None
    word = (argument.arg or "") if isinstance(argument, ast.keyword) else ""
    for form in forms:
        many = form.parameters[1 if form.parameters[0].type == "str" else 0].name in ("tensors", "operands")
        named = [one for at, one in enumerate(form.parameters) if at == place or one.name == ALIASES.get(word, word)]
        is_taken = any(one.type in ("Tensor", "Tensors", "Operand", "Any") for one in named)
        if many or (is_taken and len(call.args) <= form.places):
            return True
    return False


def obstacle(statement: ast.AST, is_inside: Callable[[ast.AST], bool]) -> str:
    """Return the first thing that a part of a statement comes to and no gradient goes through; "" for nothing.

    >>> line = ast.parse("y = x[:int(p)] + torch.full((2,), p)")
    >>> obstacle(line, lambda node: last_name(node) == "p")
    'int()'
    """
    for node in reversed([*ast.walk(statement)]):  # the inner ones first
        match node:
            case ast.Call(function, arguments, words):
                parts = [one for one in (*arguments, *words) if has(one, is_inside)]
                if any(not takes_tensor(node, one) for one in parts):
                    return f"{ast.unparse(function)}()"
            case ast.Subscript(_, index) if has(index, is_inside):
                return "an index"
            case ast.Compare() if has(node, is_inside):
                return "a comparison"
    return ""
