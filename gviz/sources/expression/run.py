"""Runs an expression that has passed the check, compiled to a function of Python: a line for each piece, in order.

``y = (x + w)*2`` becomes, with the functions of its pieces and a hook that is handed each piece and its value::

    def expression(x, w):
        _0 = hook(<x + w>, add(x, w))
        _1 = hook(<(x + w)*2>, mul(_0, 2))
        y = hook(<y>, _1)
        return _1

So a sum of 2,500 terms is 2,500 short lines: nothing here depends on how deeply an expression is nested. What it calls
is guarded; what the engine or Python refuses is a SourceError with their text and the place of the piece.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

from gviz import engine
from gviz.engine import Tensor
from gviz.errors import SourceError
from gviz.sources.expression.allowed import CONSTANTS, find_function
from gviz.sources.expression.limits import Budget, check_power
from gviz.sources.expression.program import ExpressionText, Program

Hook: TypeAlias = "Callable[[ast.expr, object], object]"

FILE = "<expression>"
"""The name of the compiled code's file, by which its lines are known in a traceback."""

ENGINE_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError, SourceError, TypeError, ValueError
)  # fmt: skip
"""The errors of the engine for a call that PyTorch refuses too, of Python for numbers, of gviz for what is too
large."""

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "[]": operator.getitem, ",": tuple,
}  # fmt: skip

UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}

OF_NUMBERS: dict[str, Callable[[float], float]] = {"abs": abs} | {
    function.__name__: function
    for function in (
        math.sqrt, math.exp, math.log, math.log2, math.log10, math.log1p, math.expm1, math.sin, math.cos, math.tan, math.asin,
        math.acos, math.atan, math.sinh, math.cosh, math.tanh, math.floor, math.ceil, math.trunc,
    )
}  # fmt: skip
"""Functions that people write of a number, as in ``x * sqrt(2)``; PyTorch has them for tensors only, Python in
``math``."""

SEVERAL = (
    "max, sort and the like give values and indices with dim: write max(x, dim=0).values, or amax(x, dim=0); for the "
    "larger of x and 0, write relu(x)"
)

HINTS: list[tuple[type[Exception], str, str]] = [
    (MemoryError, "", "take smaller tensors"),
    (OverflowError, "", "the largest number is about 1.8e308"),
    (ZeroDivisionError, "", "of tensors it would be inf: give the number a name"),
    (ValueError, "^math ", "of a tensor it would be nan or inf: give the number a name"),
    (
        TypeError,
        r"not list$|got \(list",
        "write x + w to add tensors, stack([x, w]) to join them, tensor([1, 2]) for numbers",
    ),
    (ValueError, "^expected sequence", "all rows need the same length, as in [[1,2],[3,4]]"),
    (
        TypeError,
        r"^log\w*\(\) takes 1|argument 'base'",
        "for another base, write log(x)/log(2); the base of that is 2",
    ),
    (TypeError, "not subscriptable", "square brackets take a part: write round ones to multiply, 2*(x + 1)"),
    (TypeError, r"^diff\(\)", 'a derivative is found by gviz explain "y=x**2" --wrt x'),
    (TypeError, r"^(max|min)\(\) .*got \((max|min),", "write clamp(x, min=0, max=1)"),
    (TypeError, r"^(max|min)\(\) .*, list", "write amax(x, dim=0), or amin(x, dim=0)"),
    (
        TypeError,
        r"^max\(\) received .*\(Tensor, Tensor, ",
        "it takes two: write max(max(x, w), v); of a number clamp(x, min=2)",
    ),
    (
        TypeError,
        r"^min\(\) received .*\(Tensor, Tensor, ",
        "it takes two: write min(min(x, w), v); of a number clamp(x, max=2)",
    ),
    (TypeError, r"^max\(\) received|^maximum\(\): ", "for the larger of x and 0 write relu(x), or clamp(x, min=0)"),
    (TypeError, r"^min\(\) received|^minimum\(\): ", "for the smaller of x and 1 write clamp(x, max=1)"),
    (TypeError, r"^round\(\) takes", "write round(x, decimals=2)"),
    (TypeError, r"^transpose\(\) missing", "write x.T"),
    (RuntimeError, "^1D tensors expected.*2D", "write @ for a product with a matrix: A @ x"),
    (
        TypeError,
        r"for @: .*'(int|float)'",
        "@ is for vectors and matrices: write * to multiply by a number",
    ),
    (TypeError, r"Tensor, not (max|min|sort|topk|median|mode|kthvalue|cummax|cummin)\b", SEVERAL),
    (IndexError, "0-dim tensor", "a number has no parts: give it a value with several, as in x=[1,2]"),
    (RuntimeError, "^1D tensors expected", "give both a value with several numbers: x=[1,2] w=[3,4]"),
    (RuntimeError, "^.bitwise_or_cpu", "| is for true and false: write abs(x) for |x|"),
    (
        IndexError,
        "^Dimension out of range",
        "the tensor has no dimension of that number; to bound each element, write clamp(x, min=0) or clamp(x, max=1)",
    ),
    (IndexError, "^Target .* out of bounds", "classes are counted from 0: of three classes the last one is 2"),
    (RuntimeError, "Long|int64|index tensor", "the numbers of classes and places are integers: write t.long() for t"),
    (RuntimeError, "^both arguments to matmul", "@ is for vectors and matrices: w=[1,2] x=[3,4]; write * for numbers"),
    (TypeError, "^iteration over a 0-d", "write ; between two statements: y=x; z=w"),
    (TypeError, 'missing .*"(input|self)"', "write in the brackets what it is computed of, as in relu(x)"),
    (TypeError, r"^sum\(\) received", "write x + w to add tensors; sum(x) adds all elements of one"),
    (
        TypeError,
        r"^(mean|prod|std|var)\(\) received .*Tensor, Tensor",
        "it takes one tensor: write stack([x, w]) for two",
    ),
    (RuntimeError, "zero-dimensional tensor .* concatenated", "to join numbers, write stack([x, w])"),
    (
        RuntimeError,
        "size mismatch|cannot be multiplied",
        "a matrix has as many columns as what is behind @ has rows: W=[[1,2],[3,4]] x=[1,2]",
    ),
    (RuntimeError, "is singular", "its determinant is 0, so that there is no inverse: give it other numbers"),
    (RuntimeError, "must match the size", "give both as many numbers, or one of them a single number: x=[1,2] w=3"),
    (RuntimeError, "^inconsistent tensor size", "both need as many numbers: x=[1,2] w=[3,4]"),
    (
        ValueError,
        "^Shape must be rank 2 but is rank 1",
        "a static graph multiplies matrices: write a vector as a column, as in x=[[1],[2]]",
    ),
    (RuntimeError, "aten::remainder", "% is the remainder of a division: for 20 percent of x, write 0.2*x"),
    (RuntimeError, "floor_divide", "write / to divide; what is said beside a formula begins with #"),
    (RuntimeError, "^.bitwise_and_cpu", "& is for true and false: (x > 0) & (w > 0)"),
    (TypeError, r"^~ \(operator.invert\)", "~ is for true and false: write -x for the negative"),
    (RuntimeError, "^.[lr]shift_cpu", "<< and >> are for whole numbers: write x*2 or x/2 or x**2"),
    (TypeError, 'missing .*"dim"', "name the dimension, as in softmax(x, dim=-1)"),
    (
        IndexError,
        "^tensors used as indices",
        "an index is made of whole numbers: write x[i.long()] for the elements at i, x*(w) for a product",
    ),
    (TypeError, r"got \((int|float)(, (int|float))*\)$", "all of these are numbers: write what it comes to"),
    (TypeError, "must be Tensor, not (int|float)$", "put tensor(...) around the number there, as in tensor(2) for 2"),
    (ValueError, "^'then' and 'else'", "both need the shape of the condition, as in x*0 + w"),
]
"""Kind of error, what is in its text, and what to do."""


def run_program(program: Program, values: Iterable[object], budget: Budget, hook: Hook) -> object:
    """Compute a program, and return what its last statement comes to.

    Args:
        program: the expression, looked through.
        values: those of its free names, in their order.
        budget: how much may be computed.
        hook: called with each piece, or assigned name, and its value, which it returns.

    Raises:
        SourceError: it is too large, or the engine or Python refuses it.
    """
    guarded = {piece: _guarded(word, piece, program, budget) for piece, word in program.words.items()}
    try:
        return compile_program(program, guarded, hook)(*values)
    except ENGINE_ERRORS as error:
        raise _with_values(engine_error(error, program.source), program) from error


def _with_values(error: SourceError, program: Program) -> SourceError:
    """Return an error with what to do about names in it that have no value, or a single number."""
    start, length = (error.place.column or 0, error.place.length) if error.place else (0, 0)
    text = error.place.text[start : start + length] if error.place else ""
    if re.search("^both arguments to matmul|expected a matrix|least 2 dim|1D or 2D", error.what) and error.place:
        names = re.findall(r"\w+", text)
        missing = [name for name in program.free if name in names and name not in program.values]
        from gviz.sources.expression.suggestion import example_values  # only an error needs it

        error.hint = f"{', '.join(missing)} not given: write {example_values(missing)}" if missing else error.hint
    return error


def compile_program(
    program: Program, functions: Mapping[ast.expr, object], hook: Hook | None = None, root: str | None = None
) -> Callable[..., Any]:
    """Return a program as a function of its free names, in their order.

    Args:
        program: the expression, looked through.
        functions: for each piece that has a word (:attr:`Program.words`), what takes the values of its parts, or the
            constant that it is.
        hook: called with each piece and its value, and with each name that is assigned (``ast.Name``) and its value;
            what it returns is the value that the expression goes on with. None for none. Names, numbers, lists, tuples
            and slices are not pieces of their own.
        root: the name whose value the function returns; None for the value of the last statement.

    >>> import operator
    >>> from gviz.sources.expression.parse import read_program
    >>> from gviz.sources.expression.program import ExpressionText
    >>> program = read_program(ExpressionText("a = x + 2; b = abs(a)*w; b - a"))
    >>> functions = {"abs": abs, "+": operator.add, "*": operator.mul, "-": operator.sub}
    >>> def hook(piece, value):
    ...     print(ast.unparse(piece), "is", value)
    ...     return value
    >>> compile_program(program, {piece: functions[word] for piece, word in program.words.items()}, hook)(-5, 10)
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

    What a line refers to (functions, constants, the hook, the syntax of its piece) has a name that no expression can
    have.
    """

    def __init__(self, program: Program, functions: Mapping[ast.expr, object], hook: Hook | None) -> None:
        self.program, self.functions = program, functions
        self.space: dict[str, Any] = {"__builtins__": {}}
        self.hook = None if hook is None else self._object(hook)
        self.lines: list[ast.stmt] = []
        self.code_of: dict[ast.expr, ast.expr] = {}

    def value(self, root: ast.expr) -> ast.expr:
        """Write the lines of an expression; return what stands for its value."""
        for piece in self.program.pieces[root]:
            self.code_of[piece] = self._piece(piece, [self.code_of[part] for part in self.program.parts[piece]])
        return self.code_of[root]

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
        keywords = [ast.keyword(key.arg, self.code_of[key.value]) for key in getattr(piece, "keywords", [])]
        call = ast.Call(self._object(function), parts[: len(parts) - len(keywords)], keywords)
        result = ast.Name(f"{len(self.lines)}", ast.Store())
        self._line(result, self._hooked(piece, call), piece)
        return ast.Name(result.id, ast.Load())

    def _hooked(self, piece: ast.expr, value: ast.expr) -> ast.expr:
        return value if self.hook is None else ast.Call(self.hook, [self._object(piece), value], [])

    def _object(self, value: object) -> ast.Name:
        """Return a name for an object."""
        name = f"<{len(self.space)}>"
        self.space[name] = value
        return ast.Name(name, ast.Load())

    def _line(self, target: ast.expr, value: ast.expr, piece: ast.expr) -> None:
        self.lines.append(ast.copy_location(ast.Assign([target], value), piece))


def engine_error(error: BaseException, source: ExpressionText, piece: ast.AST | None = None) -> SourceError:
    """Return what the engine or Python said, with the place of a piece, or of that which was computed."""
    place = source.place(piece or _failed_piece(error))
    if isinstance(error, SourceError):
        error.place = error.place or place
        return error
    if isinstance(error, RecursionError):
        return SourceError("lists in lists, nested too deeply to compute with", place=place)
    text = str(error.args[-1] if error.args else "")
    what = text.partition(", but expected one of:")[0]  # a list of call forms is too long for one line
    hints = (hint for kind, pattern, hint in HINTS if isinstance(error, kind) and re.search(pattern, what))
    return SourceError(what or type(error).__name__, place=place, hint=next(hints, None))


def _failed_piece(error: BaseException) -> Any:
    """Return the place, as syntax has it, of the piece that was computed when an error was raised; None for none."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != FILE:
        trace = trace.tb_next
    if trace is None:
        return None
    line, end_line, column, end_column = list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2]
    return SimpleNamespace(lineno=line, end_lineno=end_line, col_offset=column, end_col_offset=end_column)


def find_callee(word: str, piece: ast.expr) -> Any:
    """Return what a piece calls, or the constant that it is.

    Args:
        word: the piece's word (:attr:`Program.words`).
        piece: the piece.
    """
    name = word.lstrip(".")
    match piece:
        case ast.Call():
            function = _method(name) if word.startswith(".") else takes_number(word, find_function(word))
            return (
                function
                if name not in NEEDS_DIM
                else lambda *args, **kwargs: function(*args, **with_dim(name, args, kwargs))
            )
        case ast.Attribute() if word.startswith("."):
            return operator.attrgetter(name)
        case ast.UnaryOp():
            return UNARY[word]
    if word in CHOSEN:
        return lambda one, other: OPERATORS[chosen_sign(word, one, other)](one, other)
    return OPERATORS.get(word) or CONSTANTS.get(word) or getattr(engine, word)


def _method(name: str) -> Any:
    """Return the method of that name as a function of its tensor."""
    return lambda one, *args, **kwargs: getattr(one, name)(*args, **kwargs)


def takes_number(word: str, function: Callable[..., object]) -> Any:
    """Return a function that leaves a number to Python, if people write it of numbers.

    >>> takes_number("sqrt", None)(4)
    2.0
    """
    of_number = OF_NUMBERS.get(word)
    if of_number is None:
        return function

    def call(*args: Any, **kwargs: object) -> object:
        is_number = len(args) == 1 and not kwargs and isinstance(args[0], int | float)
        return of_number(args[0]) if is_number else function(*args, **kwargs)

    return call


def _guarded(word: str, piece: ast.expr, program: Program, budget: Budget) -> Any:
    """Return what a piece calls, behind a look at what it is given and at the size of its result."""
    function, name = find_callee(word, piece), "unbind" if word == "," else word.lstrip(".")

    def call(*args: object, **kwargs: object) -> object:
        if program.marks.get(piece) == "|" and isinstance(piece, ast.Call):
            refuse_bars(piece, args[0])
        kwargs = _noted_dim(name, args, kwargs, piece, program)
        budget.check(name, args, kwargs)
        return budget.count(function(*args, **kwargs))

    def compute(*args: object) -> object:
        nonlocal function, name
        refuse_lists(args, program.parts[piece], program.source)
        if word in CHOSEN:
            name = choose_sign(piece, program, *args)
            function = OPERATORS[name]
        if any(isinstance(value, Tensor) for value in args):
            return call(*args)
        if name in ("**", "<<"):
            check_power(name, *args)
        result = budget.count(function(*args))
        if isinstance(result, complex):
            raise SourceError("this is not a real number", hint="a root of a negative number is not computed")
        return result

    def attribute(value: object) -> object:
        result = function(value)
        if callable(result):
            raise SourceError(f"{name} is a method", hint=f"write .{name}() with brackets")
        return result

    if isinstance(piece, ast.BinOp | ast.Compare | ast.UnaryOp):
        return compute
    if isinstance(piece, ast.Attribute) and word.startswith("."):
        return attribute
    return function if isinstance(piece, ast.Attribute | ast.Name) else takes_number(word, call)


CHOSEN = ("·", "×", "^")
"""Signs of mathematics that mean another thing of matrices."""

NEEDS_DIM = ("softmax", "log_softmax", "softmin", "logsumexp")
"""Functions that need a dimension, which is certain for a vector."""


def with_dim(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a call, with the dimension that the softmax of a vector, or of a number, has."""
    is_vector = name in NEEDS_DIM and len(args) == 1 and not kwargs and len(getattr(args[0], "shape", (0, 0))) < 2
    return {"dim": -1} if is_vector else kwargs


def _noted_dim(
    name: str, args: Sequence[Any], kwargs: dict[str, Any], piece: ast.expr, program: Program
) -> dict[str, Any]:
    """Return the keyword arguments of a call as :func:`with_dim` does, and note it where the dimension is left out."""
    new_kwargs = with_dim(name, args, kwargs)
    if new_kwargs is not kwargs and isinstance(piece, ast.Call):
        piece.keywords.append(ast.keyword("dim", ast.Constant(-1)))
        program.readings.append(f"{name}(..., dim=-1), of a {'vector' if args[0].shape else 'number'}")
    return new_kwargs


def chosen_sign(sign: str, left: Any, right: Any, typed: tuple[str, str] = ("x", "w")) -> str:
    """Return the operator that a sign of mathematics is between two values: ``*``, ``@`` or ``**``.

    Args:
        sign: ``·`` or ``×`` for a product, also one without a sign; ``^`` for a power.
        left: a number, or a tensor of the engine or of a static graph.
        right: likewise.
        typed: what was typed for the two.

    Raises:
        SourceError: it may be one or the other.

    >>> W, x = engine.ones(2, 2), engine.ones(2)
    >>> chosen_sign("·", 2, W), chosen_sign("·", W, x), chosen_sign("^", x, 2)
    ('*', '@', '**')
    """
    one, other = (tuple(getattr(value, "shape", ())) for value in (left, right))
    if sign == "^" and (len(one) < 2 or one[-1] != one[-2]):
        return "**"
    if sign != "^" and (not one or not other):
        return "*"
    if sign != "^" and len(one) + len(other) > 2:
        return "@"
    first, second = map(as_operand, typed)
    if sign != "^":
        is_cross = sign == "×" and one == other == (3,)
        cross = f"cross({typed[0]}, {typed[1]}, dim=0), " if is_cross else ""
        hint = f"write {cross}{first}*{second} for each element or {first} @ {second}"
        raise SourceError(f"a product of vectors has {'several' if cross else 'two'} readings", hint=hint)
    of_matrices = f"inverse({typed[0]})" if right == -1 else f"matrix_power({typed[0]}, {typed[1]})"
    hint = f"write {first}**{second} for each element or {of_matrices}"
    raise SourceError("a power of matrices has two readings", hint=hint)


def choose_sign(piece: Any, program: Program, left: object, right: object) -> str:
    """Return the operator of a piece whose sign depends on its values, and note it in the piece's syntax.

    Raises:
        SourceError: it may be one or the other; so may a product of matrices behind ``*``, as in ``A*B x``.
    """
    before = piece.left
    is_behind_times = isinstance(before, ast.BinOp) and isinstance(before.op, ast.Mult) and before not in program.marks
    is_behind_times = is_behind_times and not isinstance(before.left, ast.Constant)  # 2*A x
    if is_behind_times and isinstance(before.right, ast.Constant) and program.words[piece] != "^":  # x*2w
        return "*"
    name = chosen_sign(program.words[piece], left, right, (ast.unparse(before), ast.unparse(piece.right)))
    if name == "@":
        if is_behind_times:
            one, two, three = (as_operand(ast.unparse(part)) for part in (before.left, before.right, piece.right))
            ways = f"write {one}*({two} @ {three}) or ({one}*{two}) @ {three}"
            raise SourceError("a product of matrices behind * has two readings", hint=ways)
        piece.op = ast.MatMult()
    return name


def refuse_bars(piece: ast.Call, value: object) -> None:
    """Refuse bars around a vector or a matrix, unless a sum or the like is of them."""
    dims, text = len(getattr(value, "shape", ())), ast.unparse(piece.args[0])
    if dims:
        kind, others = ("vector", f"norm({text})") if dims == 1 else ("matrix", f"norm({text}) or det({text})")
        hint = f"write abs({text}) for each element or {others}"
        raise SourceError(f"bars around a {kind} have several readings", hint=hint)


def as_operand(text: str) -> str:
    """Return an operand as it stands beside a sign that binds more strongly than its own.

    >>> [as_operand(text) for text in ("x[0]", "x + w", "-x", "2")]
    ['x[0]', '(x + w)', '(-x)', '2']
    """
    node = ast.parse(text, mode="eval").body
    return f"({text})" if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare) else text


LISTS = {
    list: "square brackets make a list: write round ones, (x + w)*2; tensor([1, 2]) of numbers, stack([x, w]) of names",
    tuple: "a comma makes a tuple: take one part of it, as in p[0], or write a decimal point as . (1.5)",
}
"""What Python would repeat or join rather than compute with, and what to do."""


def refuse_lists(values: Iterable[object], parts: Iterable[ast.expr], source: ExpressionText) -> None:
    """Refuse to compute with a list or a tuple: SourceError with the place of the part that came to it."""
    for part, value in zip(parts, values, strict=True):
        if isinstance(value, list | tuple):
            what, hint = (
                f"a {type(value).__name__} takes no part in arithmetic",
                SEVERAL if hasattr(value, "indices") else LISTS[list if isinstance(value, list) else tuple],
            )
            raise SourceError(what, place=source.place(part), hint=hint)
