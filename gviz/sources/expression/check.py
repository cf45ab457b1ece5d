"""What an expression may contain: an allow-list over Python's syntax tree, looked through before anything is computed.

The walk has a stack of its own, so that whatever the parser accepts can be checked, however deep it is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gviz.errors import SourceError
from gviz.sources.expression.allowed import (
    ATTRIBUTES,
    CONSTANTS,
    DTYPES,
    FIELDS,
    KEYWORDS_REFUSED,
    MODULES,
    OTHER_MODULES,
    RANDOM,
    is_function,
    methods,
)
from gviz.sources.expression.compiled import SIGNS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gviz.sources.expression.parse import Source

__all__ = ["Program", "RefusedError", "called_function", "check"]

MAX_NAME = 200
"""Characters of a name; a longer one could not be drawn."""


class RefusedError(Exception):
    """A piece of syntax that an expression may not contain.

    Args:
        node: the piece.
        program: what it is a part of.
    """

    def __init__(self, node: ast.AST, program: Program) -> None:
        super().__init__(type(node).__name__)
        self.node, self.program = node, program


class Program:
    """An expression that has passed the check.

    Args:
        source: its text.
        statements: assignments and bare expressions, in order.
        given: names that have a value, which win over functions and constants.

    Attributes:
        free: names that need a value, in the order of their first appearance.
        assigned: names that it assigns, in order.
        constants: names that stand for a number such as pi, in order.
        bound: names that are no functions, because they are given or assigned a value.
        parts: by the id of a piece of syntax, the pieces that its value is made from, in the order of computing.
        words: likewise, the function that a call calls (none for a method), or the constant that ``torch.pi`` stands for.
        names: every name that it mentions, functions included.
        is_random: whether it draws random numbers.
    """

    def __init__(self, source: Source, statements: list[ast.Assign | ast.Expr], given: Collection[str]) -> None:
        self.source = source
        self.statements = statements
        self.given = given
        self.free: list[str] = []
        self.assigned: list[str] = []
        self.constants: list[str] = []
        self.names: set[str] = set()
        self.bound: set[str] = set(given)
        self.parts: dict[int, list[ast.expr]] = {}
        self.words: dict[int, str] = {}
        self.is_random = False


def check(statements: list[ast.stmt], source: Source, given: Collection[str] = ()) -> Program:
    """Look through an expression and collect its names.

    Args:
        statements: as the parser gives them.
        source: their text, for the errors' places.
        given: names that have a value, which win over functions and constants.

    Raises:
        RefusedError: something that is not on the allow-list.
    """
    program = Program(source, [node for node in statements if isinstance(node, ast.Assign | ast.Expr)], given)
    for node in statements:
        if not isinstance(node, ast.Assign | ast.Expr):
            raise RefusedError(node, program)
    for statement in program.statements:
        if isinstance(statement, ast.Assign):
            program.bound.update(name.id for target in statement.targets for name in _targets(target, program))
    checker = _Checker(program)
    for statement in program.statements:
        if isinstance(statement, ast.Expr) and _is_equation(statement.value):
            raise RefusedError(statement, program)
        checker.expression(statement.value)
        if isinstance(statement, ast.Assign):
            checker.assigned(name.id for target in statement.targets for name in _targets(target, program))
    return program


class _Checker:
    """Looks through one expression after the other and notes the names in the order of their appearance."""

    def __init__(self, program: Program) -> None:
        self.program, self.bound = program, program.bound
        self.seen: dict[str, None] = {}
        self.arguments: set[int] = set()

    def assigned(self, names: Iterator[str]) -> None:
        for name in names:
            self.program.names.add(name)
            if name not in self.program.assigned:
                self.program.assigned.append(name)

    def expression(self, root: ast.expr) -> None:
        todo: list[ast.expr] = [root]
        while todo:
            node = todo.pop()
            self._node(node)
            parts = children(node, self.bound)
            if parts:
                self.program.parts[id(node)] = parts
                todo.extend(reversed(parts))

    def _node(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name):
            self._name(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Attribute):
            name = constant_name(node, self.bound)
            if name is not None:
                self.program.words[id(node)] = name
            elif node.attr not in ATTRIBUTES | FIELDS:
                raise RefusedError(node, self.program)
        elif not _is_allowed(node) or (_is_text(node) and id(node) not in self.arguments):
            raise RefusedError(node, self.program)

    def _name(self, node: ast.Name) -> None:
        name, program = node.id, self.program
        program.names.add(name)
        if len(name) > MAX_NAME:
            what = f"this name has {len(name):,} characters"
            raise SourceError(what, place=program.source.place(node), hint="choose a shorter one")
        if name == "__debug__":
            raise RefusedError(node, program)
        if name in program.assigned or name in self.seen:
            return
        self.seen[name] = None
        if name in program.given or (name not in CONSTANTS and name not in DTYPES):
            program.free.append(name)
        elif name in CONSTANTS:
            program.constants.append(name)

    def _is_foreign(self, function: ast.Attribute) -> bool:
        """Whether this is ``np.log``, and np has no value."""
        return (
            isinstance(function.value, ast.Name) and function.value.id in OTHER_MODULES and function.value.id not in self.bound
        )

    def _call(self, node: ast.Call) -> None:
        from_torch = called_function(node, self.bound)
        program = self.program
        if from_torch is not None:
            program.names.add(from_torch)
            program.words[id(node)] = from_torch
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr in methods() and not self._is_foreign(node.func)
        if not (is_method if from_torch is None else is_function(from_torch)):
            raise RefusedError(node, program)
        program.is_random = program.is_random or from_torch in RANDOM
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in KEYWORDS_REFUSED:
                raise RefusedError(keyword, program)
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if isinstance(argument, ast.Starred):
                raise RefusedError(argument, program)
            self.arguments.add(id(argument))


def children(node: ast.expr, bound: Collection[str] = ()) -> list[ast.expr]:
    """The expressions that a node's value is made from, in the order of computing."""
    if isinstance(node, ast.Attribute):
        return [] if constant_name(node, bound) else [node.value]
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) and called_function(node, bound) is None else []
        return [*receiver, *node.args, *(keyword.value for keyword in node.keywords)]
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


def called_function(node: ast.Call, bound: Collection[str]) -> str | None:
    """The name of the function that is called, ``log`` for ``log(d)`` and ``torch.log(d)``; None for a method's call."""
    if isinstance(node.func, ast.Name):
        return node.func.id if node.func.id not in bound else None
    if isinstance(node.func, ast.Attribute) and (module := _module(node.func.value, bound)) is not None:
        return node.func.attr if module != "F" or node.args else None  # F.sum() is a method of someone's F
    return None


def constant_name(node: ast.expr, bound: Collection[str]) -> str | None:
    """``pi`` for ``torch.pi``, ``float64`` for ``torch.float64``; None for what is no such thing."""
    if isinstance(node, ast.Attribute) and _module(node.value, bound) is not None:
        return node.attr if node.attr in CONSTANTS or node.attr in DTYPES else None
    return None


def _module(node: ast.expr, bound: Collection[str]) -> str | None:
    """``torch.nn.functional`` if that is what the node says, and no value has that name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < len(MODULES):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id in bound:
        return None
    name = ".".join([node.id, *reversed(parts)])
    return name if name in MODULES else None


def _is_allowed(node: ast.expr) -> bool:
    """Whether a node other than a name, a call or an attribute is on the allow-list."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | str) or node.value is None or node.value is ...
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return type(node.op) in SIGNS
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and type(node.ops[0]) in SIGNS
    return isinstance(node, ast.List | ast.Tuple | ast.Subscript | ast.Slice)


def _is_equation(node: ast.expr) -> bool:
    """``y == (x+w)*2`` as a statement, which compares and names nothing."""
    return isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and isinstance(node.ops[0], ast.Eq)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _targets(target: ast.expr, program: Program) -> list[ast.Name]:
    """The names that an assignment's target binds: one, or those of ``values, indices = ...``."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    names = [part for part in parts if isinstance(part, ast.Name) and part.id != "__debug__"]  # Python keeps that one
    if len(names) != len(parts) or not parts:
        wrong = next((part for part in parts if part not in names), target)
        raise RefusedError(wrong, program)
    return names
