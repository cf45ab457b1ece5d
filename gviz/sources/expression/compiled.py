"""An expression that has passed the check as a function of Python: a line for each piece, in the order of computing.

``y = (x + w)*2`` becomes, with a hook that is handed each piece of the syntax and the value that it has come to::

    def expression(x, w):
        _0 = hook(<x + w>, x + w)
        _1 = hook(<(x + w)*2>, _0*2)
        y = hook(<y>, _1)
        return _1

So a sum of 3,000 terms is 3,000 short lines: nothing here depends on how deeply an expression is nested.
"""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gviz.sources.expression.check import Program

__all__ = ["compiled", "failed_piece", "sign", "with_parts"]

FILE = "<expression>"
"""The name of the compiled code's file, by which its lines are known in a traceback."""

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.MatMult: "@",
    ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def compiled(
    program: Program,
    hook: Callable[[ast.expr, Any], Any] | None,
    namespace: Callable[[str, ast.expr], Any],
    root: str | None = None,
) -> Callable[..., Any]:
    """Return a program as a function of its free names, in their order.

    Args:
        program: the expression, looked through.
        hook: called with each piece and its value, and with each name that is assigned (``ast.Name``) and its value; what it
            returns is the value that the expression goes on with. None for none. Names, numbers, lists, tuples and slices
            are no pieces of their own.
        namespace: asked once for what a piece calls, with the piece: ``log`` for a function, ``.sum`` for a method or an
            attribute, ``+`` for an operator of one value or of two, ``[]`` for an index, ``pi`` or ``float64`` for a name that
            has no value. It returns what takes the values of the piece's parts; or None for what Python itself does with
            an operator, an index, an attribute or a method. For ``,``, names that take the parts of a value, what it returns
            takes that value, and returns what has so many parts.
        root: the name whose value the function returns; None for the value of the last statement.

    >>> from gviz.sources.expression.check import check
    >>> from gviz.sources.expression.parse import Source, parse
    >>> source = Source("a = x + 2; b = abs(a)*w; b - a")
    >>> def hook(piece, value):
    ...     print(ast.unparse(piece), "is", value)
    ...     return value
    >>> compiled(check(parse(source), source), hook, lambda word, piece: {"abs": abs}.get(word))(-5, 10)
    x + 2 is -3
    a is -3
    abs(a) is 3
    abs(a) * w is 30
    b is 30
    b - a is 33
    33
    """
    writer = _Writer(program, hook, namespace)
    value: ast.expr = ast.Constant(None)
    for statement in program.statements:
        value = writer.value(statement.value)
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                writer.assign(target, value)
    writer.lines.append(ast.Return(value if root is None else ast.Name(root, ast.Load())))
    module: Any = ast.parse(f"def expression({', '.join(program.free)}): pass")
    module.body[0].body = writer.lines
    module = ast.fix_missing_locations(module)
    exec(compile(module, FILE, "exec"), writer.space)  # noqa: S102 - the check has looked through it
    return writer.space["expression"]  # type: ignore[no-any-return]


class _Writer:
    """Writes a program's lines.

    What a line refers to (functions, constants, the hook, the syntax of its piece) has a name that no expression can have.
    """

    def __init__(self, program: Program, hook: Any, namespace: Callable[[str, ast.expr], Any]) -> None:
        self.program, self.known = program, set(program.free)
        self.namespace = namespace
        self.space: dict[str, Any] = {"__builtins__": {}}
        self.hook = None if hook is None else self._object(hook)
        self.lines: list[ast.stmt] = []

    def value(self, root: ast.expr) -> ast.expr:
        """Write the lines of an expression, deepest piece first; return what stands for its value."""
        todo: list[tuple[ast.expr, int]] = [(root, -1)]
        done: list[ast.expr] = []
        while todo:
            node, count = todo.pop()
            if count < 0:
                parts = self.program.parts.get(id(node), [])
                todo.append((node, len(parts)))
                todo.extend((part, -1) for part in reversed(parts))
                continue
            parts = done[len(done) - count :]
            del done[len(done) - count :]
            done.append(self._piece(node, parts))
        return done[0]

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Write the lines that give a value, or its parts, to the names of a target."""
        if isinstance(target, ast.Name):
            self._line([ast.Name(target.id, ast.Store())], self._hooked(target, value), target)
            self.known.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            several = self.namespace(",", target)
            self._line([target], value if several is None else ast.Call(self._object(several), [value], []), target)
            for name in target.elts:
                self.assign(name, ast.Name(name.id, ast.Load()))  # type: ignore[attr-defined]

    def _piece(self, node: ast.expr, parts: list[ast.expr]) -> ast.expr:
        if isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in self.known):
            return node
        name = node.id if isinstance(node, ast.Name) else self.program.words.get(id(node))
        if name is not None and not isinstance(node, ast.Call):
            return self._object(self.namespace(name, node))
        if isinstance(node, ast.List | ast.Tuple):
            return with_parts(node, parts)
        if isinstance(node, ast.Slice):
            rest = iter(parts)
            ends = [ast.Constant(None) if end is None else next(rest) for end in (node.lower, node.upper, node.step)]
            return ast.Call(self._object(slice), ends, [])
        result = ast.Name(f"{len(self.lines)}", ast.Store())
        self._line([result], self._hooked(node, self._computed(node, parts)), node)
        return ast.Name(result.id, ast.Load())

    def _computed(self, node: ast.expr, parts: list[ast.expr]) -> ast.expr:
        """The code of one piece, whose parts are computed."""
        called = self.namespace(self.program.words.get(id(node)) or word(node), node)
        if called is None:
            return with_parts(node, parts)
        if isinstance(node, ast.Call):
            given = len(parts) - len(node.keywords)
            named = [ast.keyword(key.arg, part) for key, part in zip(node.keywords, parts[given:], strict=True)]
            return ast.Call(self._object(called), parts[:given], named)
        return ast.Call(self._object(called), parts, [])

    def _hooked(self, node: ast.expr, value: ast.expr) -> ast.expr:
        return value if self.hook is None else ast.Call(self.hook, [self._object(node), value], [])

    def _object(self, value: Any) -> ast.Name:
        """A name for an object."""
        name = f"<{len(self.space)}>"
        self.space[name] = value
        return ast.Name(name, ast.Load())

    def _line(self, targets: list[ast.expr], value: ast.expr, node: ast.expr) -> None:
        self.lines.append(ast.copy_location(ast.Assign(targets, value), node))


def word(node: ast.expr) -> str:
    """What a piece that calls no function is known by: its sign, ``[]``, or ``.sum``."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    return "[]" if isinstance(node, ast.Subscript) else sign(node)


def sign(node: ast.AST) -> str:
    """The sign of an operator, or of the piece that it makes.

    >>> sign(ast.Add()), sign(ast.parse("x <= 2", mode="eval").body)
    ('+', '<=')
    """
    operator: ast.AST = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", node)
    return SIGNS[type(operator)]


def with_parts(node: ast.expr, parts: Iterable[ast.expr], function: str | None = None) -> ast.expr:
    """Return a piece with others in place of its parts, in their order.

    Args:
        node: the piece.
        parts: what is put in place of its parts.
        function: the name of the function that it calls; None for a method.
    """
    rest = iter(parts)

    def put(old: Any) -> Any:
        return [put(part) for part in old] if isinstance(old, list) else next(rest) if isinstance(old, ast.expr) else old

    if isinstance(node, ast.Call):
        called = with_parts(node.func, rest) if function is None else ast.Name(function, ast.Load())
        return ast.Call(called, put(node.args), [ast.keyword(key.arg, put(key.value)) for key in node.keywords])
    return type(node)(*(put(value) for _, value in ast.iter_fields(node)))


def failed_piece(error: BaseException) -> Any:
    """Return the place, as syntax has it, of the piece that was computed when an error was raised; None outside a program."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != FILE:
        trace = trace.tb_next
    if trace is None:
        return None
    line, end_line, column, end_column = list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2]
    return SimpleNamespace(lineno=line, end_lineno=end_line, col_offset=column, end_col_offset=end_column)
