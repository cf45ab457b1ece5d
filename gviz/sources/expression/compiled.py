"""An expression that has passed the check as a function of Python: a line for each piece, in the order of computing.

``y = (x + w)*2`` becomes, with the functions of its pieces and a hook that is handed each piece and its value::

    def expression(x, w):
        _0 = hook(<x + w>, add(x, w))
        _1 = hook(<(x + w)*2>, mul(_0, 2))
        y = hook(<y>, _1)
        return _1

So a sum of 3,000 terms is 3,000 short lines: nothing here depends on how deeply an expression is nested.
"""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gviz.sources.expression.check import Program

__all__ = ["compiled", "failed_piece"]

FILE = "<expression>"
"""The name of the compiled code's file, by which its lines are known in a traceback."""


def compiled(
    program: Program,
    functions: Mapping[ast.expr, Any],
    hook: Callable[[ast.expr, Any], Any] | None = None,
    root: str | None = None,
) -> Callable[..., Any]:
    """Return a program as a function of its free names, in their order.

    Args:
        program: the expression, looked through.
        functions: for each piece that has a word (:attr:`Program.words`), what takes the values of its parts, or the constant
            that it is.
        hook: called with each piece and its value, and with each name that is assigned (``ast.Name``) and its value; what it
            returns is the value that the expression goes on with. None for none. Names, numbers, lists, tuples and slices
            are no pieces of their own.
        root: the name whose value the function returns; None for the value of the last statement.

    >>> import operator
    >>> from gviz.sources.expression.parse import Source, read
    >>> program = read(Source("a = x + 2; b = abs(a)*w; b - a"))
    >>> functions = {"abs": abs, "+": operator.add, "*": operator.mul, "-": operator.sub}
    >>> def hook(piece, value):
    ...     print(ast.unparse(piece), "is", value)
    ...     return value
    >>> compiled(program, {piece: functions[word] for piece, word in program.words.items()}, hook)(-5, 10)
    x + 2 is -3
    a is -3
    abs(a) is 3
    abs(a) * w is 30
    b is 30
    b - a is 33
    33
    """
    writer = _Writer(program, functions, hook)
    value: ast.expr = ast.Constant(None)
    for statement in program.statements:
        value = writer.value(statement.value)
        for target in getattr(statement, "targets", []):
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

    def __init__(self, program: Program, functions: Mapping[ast.expr, Any], hook: Any) -> None:
        self.program, self.functions = program, functions
        self.space: dict[str, Any] = {"__builtins__": {}}
        self.hook = None if hook is None else self._object(hook)
        self.lines: list[ast.stmt] = []
        self.written: dict[ast.expr, ast.expr] = {}

    def value(self, root: ast.expr) -> ast.expr:
        """Write the lines of an expression; return what stands for its value."""
        for piece in self.program.pieces[root]:
            self.written[piece] = self._piece(piece, [self.written[part] for part in self.program.parts[piece]])
        return self.written[root]

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Write the lines that give a value, or its parts, to the names of a target."""
        if isinstance(target, ast.Name):
            self._line(ast.Name(target.id, ast.Store()), self._hooked(target, value), target)
        elif isinstance(target, ast.Tuple | ast.List):
            self._line(target, ast.Call(self._object(self.functions[target]), [value], []), target)
            for name in target.elts:
                self.assign(name, ast.Name(name.id, ast.Load()))  # type: ignore[attr-defined]

    def _piece(self, piece: ast.expr, parts: list[ast.expr]) -> ast.expr:
        """Return what stands for a piece whose parts are computed; what is called has a line of its own."""
        if isinstance(piece, ast.List | ast.Tuple):
            return type(piece)(parts, ast.Load())
        if isinstance(piece, ast.Slice):
            rest = iter(parts)
            ends = [ast.Constant(None) if end is None else next(rest) for end in (piece.lower, piece.upper, piece.step)]
            return ast.Call(self._object(slice), ends, [])
        if piece not in self.program.words:
            return piece
        function = self.functions[piece]
        if not parts and not isinstance(piece, ast.Call):
            return self._object(function)
        keywords = [ast.keyword(key.arg, self.written[key.value]) for key in getattr(piece, "keywords", [])]
        call = ast.Call(self._object(function), parts[: len(parts) - len(keywords)], keywords)
        result = ast.Name(f"{len(self.lines)}", ast.Store())
        self._line(result, self._hooked(piece, call), piece)
        return ast.Name(result.id, ast.Load())

    def _hooked(self, piece: ast.expr, value: ast.expr) -> ast.expr:
        return value if self.hook is None else ast.Call(self.hook, [self._object(piece), value], [])

    def _object(self, value: Any) -> ast.Name:
        """Return a name for an object."""
        name = f"<{len(self.space)}>"
        self.space[name] = value
        return ast.Name(name, ast.Load())

    def _line(self, target: ast.expr, value: ast.expr, piece: ast.expr) -> None:
        self.lines.append(ast.copy_location(ast.Assign([target], value), piece))


def failed_piece(error: BaseException) -> Any:
    """Return the place, as syntax has it, of the piece that was computed when an error was raised; None outside a program."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != FILE:
        trace = trace.tb_next
    if trace is None:
        return None
    line, end_line, column, end_column = list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2]
    return SimpleNamespace(lineno=line, end_lineno=end_line, col_offset=column, end_col_offset=end_column)
