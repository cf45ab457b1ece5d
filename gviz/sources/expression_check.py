"""What an expression may contain: an allow-list over Python's syntax tree, looked through before anything is computed.

The walk has a stack of its own, so that whatever the parser accepts can be checked, however deep it is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.sources.names import (
    ATTRIBUTES,
    CONSTANTS,
    DTYPES,
    FIELDS,
    FUNCTIONS,
    KEYWORDS_REFUSED,
    METHODS,
    MODULES,
    OTHER_MODULES,
    RANDOM,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from gviz.sources.expression_parse import Source

__all__ = ["Program", "called_function", "check", "children", "constant_name"]

MAX_NAME = 200
"""Characters of a name; a longer one could not be drawn."""

_BINARY = (
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.MatMult,
    ast.BitAnd,
    ast.BitOr,
    ast.LShift,
    ast.RShift,
)
_COMPARED = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


class Program:
    """An expression that has passed the check.

    Args:
        source: its text.
        statements: assignments and bare expressions, in order.

    Attributes:
        free: names that need a value, in the order of their first appearance.
        assigned: names that it assigns, in order.
        constants: names that stand for a number such as pi, in order.
        names: every name that it mentions, functions included.
        is_random: whether it draws random numbers.
    """

    def __init__(self, source: Source, statements: list[ast.Assign | ast.Expr]) -> None:
        self.source = source
        self.statements = statements
        self.free: list[str] = []
        self.assigned: list[str] = []
        self.constants: list[str] = []
        self.names: set[str] = set()
        self.is_random = False


def check(statements: list[ast.stmt], source: Source, given: Collection[str] = ()) -> Program:
    """Look through an expression and collect its names.

    Args:
        statements: as the parser gives them.
        source: their text, for the errors' places.
        given: names that have a value, which win over functions and constants.

    Raises:
        SourceError: something that is not on the allow-list.
    """
    allowed: list[ast.Assign | ast.Expr] = []
    for statement in statements:
        if not isinstance(statement, ast.Assign | ast.Expr):
            raise _refused(statement, source)
        allowed.append(statement)
    program = Program(source, allowed)
    bound = set(given)
    for statement in allowed:
        if isinstance(statement, ast.Assign):
            bound.update(name.id for target in statement.targets for name in _targets(target, source))
    checker = _Checker(program, given, bound)
    for statement in allowed:
        if isinstance(statement, ast.Expr) and _is_equation(statement.value):
            raise _refused(statement, source)
        checker.expression(statement.value)
        if isinstance(statement, ast.Assign):
            checker.assigned(name.id for target in statement.targets for name in _targets(target, source))
    return program


class _Checker:
    """Looks through one expression after the other and notes the names in the order of their appearance."""

    def __init__(self, program: Program, given: Collection[str], bound: Collection[str]) -> None:
        self.program = program
        self.given = given
        self.bound = bound
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
            todo.extend(reversed(children(node, self.bound)))

    def _node(self, node: ast.expr) -> None:
        source = self.program.source
        if isinstance(node, ast.Name):
            self._name(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Attribute):
            if not constant_name(node, self.bound) and node.attr not in ATTRIBUTES | FIELDS:
                raise _refused(node, source)
        elif not _is_allowed(node) or (_is_text(node) and id(node) not in self.arguments):
            raise _refused(node, source)

    def _name(self, node: ast.Name) -> None:
        name, program = node.id, self.program
        program.names.add(name)
        if len(name) > MAX_NAME:
            raise SourceError(
                f"this name has {len(name):,} characters", place=program.source.place(node), hint="choose a shorter one"
            )
        if name in program.assigned or name in self.seen:
            return
        self.seen[name] = None
        if name in self.given or (name not in CONSTANTS and name not in DTYPES):
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
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and not self._is_foreign(node.func)
        if from_torch not in FUNCTIONS and not (is_method and from_torch is None):
            raise _refused_call(node, program.source, self.bound, self.given)
        program.is_random = program.is_random or from_torch in RANDOM
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in KEYWORDS_REFUSED:
                raise _refused(keyword, program.source)
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if isinstance(argument, ast.Starred):
                raise _refused(argument, program.source)
            self.arguments.add(id(argument))


def children(node: ast.expr, bound: Collection[str] = ()) -> list[ast.expr]:
    """The expressions that a node's value is made from, in the order of computing."""
    if isinstance(node, ast.Attribute):
        return [] if constant_name(node, bound) else [node.value]
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) and called_function(node, bound) is None else []
        return [*receiver, *node.args, *(keyword.value for keyword in node.keywords)]
    parts = _PARTS.get(type(node))
    return [] if parts is None else parts(node)


_PARTS: dict[type[ast.expr], Callable[[Any], list[ast.expr]]] = {
    ast.BinOp: lambda node: [node.left, node.right],
    ast.UnaryOp: lambda node: [node.operand],
    ast.Compare: lambda node: [node.left, *node.comparators],
    ast.List: lambda node: list(node.elts),
    ast.Tuple: lambda node: list(node.elts),
    ast.Subscript: lambda node: [node.value, node.slice],
    ast.Slice: lambda node: [part for part in (node.lower, node.upper, node.step) if part is not None],
}


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
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _BINARY)
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], _COMPARED)
    return isinstance(node, ast.List | ast.Tuple | ast.Subscript | ast.Slice)


def _is_equation(node: ast.expr) -> bool:
    """``y == (x+w)*2`` as a statement, which compares and names nothing."""
    return isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and isinstance(node.ops[0], ast.Eq)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _targets(target: ast.expr, source: Source) -> list[ast.Name]:
    """The names that an assignment's target binds: one, or those of ``values, indices = ...``."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    names = [part for part in parts if isinstance(part, ast.Name)]
    if len(names) != len(parts) or not parts:
        wrong = next((part for part in parts if not isinstance(part, ast.Name)), target)
        raise _refused(wrong, source)
    return names


def _refused(node: ast.AST, source: Source) -> SourceError:
    from gviz.sources.notation_refused import refused  # only an error needs it

    return refused(node, source)


def _refused_call(node: ast.Call, source: Source, bound: Collection[str], given: Collection[str]) -> SourceError:
    from gviz.sources.notation_refused import refused_call

    return refused_call(node, source, bound, given)
