"""A text and the program that it is: its syntax held against an allow-list, before anything is computed.

The walk has a stack of its own, so that whatever the parser accepts can be checked, however deep it is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from keyword import iskeyword
from types import EllipsisType

from gviz.errors import Excerpt, SourceError
from gviz.sources.expression import allowed
from gviz.text import printable

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.MatMult: "@",
    ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


_SPACES = dict.fromkeys([0x0B, 0x0C, 0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")


class ExpressionText:
    """A source text with its lines, to say where in it something is.

    Args:
        text: the expression or value as typed.
        prefix: shown before the first line and not parsed, such as ``x=`` for the value of x.
    """

    def __init__(self, text: str, prefix: str = "") -> None:
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").translate(_SPACES)
        self.prefix = prefix
        self.values: Mapping[str, object] = {}  # the values of names, known when it is read
        self.lines = text.split("\n")
        self.code = "\n".join(line.lstrip() for line in self.lines)
        """The text to parse: no line of it is indented, since an expression has no blocks."""

    def place(self, node: ast.AST) -> Excerpt:
        """Return the place of a node of the parsed code; of one that spans lines, what is on its first line."""
        line, start, end = (getattr(node, key, None) for key in ("lineno", "col_offset", "end_col_offset"))
        code = self.lines[(line or 1) - 1].lstrip().encode("utf-8", "replace")  # the parser counts bytes
        end = end if getattr(node, "end_lineno", None) == line else None
        before, text = (part.decode("utf-8", "ignore") for part in (code[:start], code[start:end]))
        return self.place_at(line or 1, len(before) if start else 0, len(text))

    def place_at(self, line: int, column: int, length: int = 1) -> Excerpt:
        """Return the place of ``length`` characters at a 0-based column of the parsed code's 1-based line."""
        line = min(max(line, 1), len(self.lines))
        text = self.lines[line - 1]
        column += len(text) - len(text.lstrip())
        visible = printable(text.replace("\t", " "))
        if line == 1:
            visible, column = self.prefix + visible, column + len(self.prefix)
        return Excerpt(visible, max(column, 0), max(length, 1), line=line if len(self.lines) > 1 else None)

    def place_of(self, index: int) -> Excerpt:
        """Return the place of a character of the parsed code."""
        before = self.code[:index]
        return self.place_at(before.count("\n") + 1, index - before.rfind("\n") - 1)

    def segment(self, node: ast.AST) -> str:
        """Return the node's text as typed, of its first line."""
        place = self.place(node)
        column = place.column or 0
        return place.text[column : column + place.length]


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
        statements: as the parser gives them.
        values: names that have a value, which win over functions and constants.
        marks: operations of mathematics whose meaning depends on their operands -> what was typed, as in a piece.
        reading: returns what a text that is no Python was read as, its signs as they were chosen; "" for one that is.

    Attributes:
        statements: assignments and bare expressions, in order.
        free: names that need a value, in the order of their first appearance -> that appearance.
        assigned: names that it assigns, in order -> the statement that does it last.
        constants: names that stand for a number such as pi, in order.
        bound: names that are not functions, because they are given or assigned a value.
        names: every name that it mentions, functions included.
        readings: what else was read as another thing than what was typed, as a value ``W=[[1, 2], [3, 4]]``.
        parts: piece of syntax -> the pieces that its value is made from, in the order of computing.
        pieces: the value of a statement -> everything that it is made from, in the order of computing, itself last.
        words: piece -> the word for what it calls: ``log`` for a function, ``.sum`` for a method or an attribute, ``+``
            for an operator of one value or of two, ``·`` and ``^`` for one that is chosen by its operands, ``[]`` for an
            index, ``,`` for names that take the parts of a value;
            or the constant that it is, ``pi`` for ``torch.pi`` too.

    Raises:
        RefusedError: something that is not on the allow-list.
    """

    def __init__(
        self,
        source: ExpressionText,
        statements: Sequence[ast.stmt],
        values: Collection[str] = (),
        marks: Mapping[ast.AST, str] | None = None,
        reading: Callable[[], str] = str,
    ) -> None:
        self.source, self.values, self.marks, self.reading = source, values, marks or {}, reading
        self.free: dict[str, ast.Name] = {}
        self.assigned: dict[str, ast.stmt] = {}
        self.constants: dict[str, None] = {}
        self.names: set[str] = set()
        self.readings: list[str] = []
        self.parts: dict[ast.expr, list[ast.expr]] = {}
        self.pieces: dict[ast.expr, list[ast.expr]] = {}
        self.words: dict[ast.expr, str] = {}
        self.bound: set[str] = set(values)
        self.statements: list[ast.Assign | ast.Expr] = []
        for node in statements:
            if not isinstance(node, ast.Assign | ast.Expr):
                raise RefusedError(node, self)
            self.statements.append(node)
            self.bound.update(self._targets(node))
        for statement in self.statements:
            match statement:
                case ast.Expr(ast.Compare(ast.Name(), [first, *_])):  # y == x*2, y <- x*2 of R
                    if isinstance(first, ast.Eq) or "<-" in source.segment(statement):
                        raise RefusedError(statement, self)
            self._look_through(statement.value)
            self.assigned.update(dict.fromkeys(self._targets(statement), statement))
        self.names.update(self.assigned)

    def _targets(self, statement: ast.Assign | ast.Expr) -> list[str]:
        """Return the names that a statement binds: one, or those of ``values, indices = ...``."""
        names: list[str] = []
        for target in getattr(statement, "targets", []):
            parts = [target]
            if isinstance(target, ast.Tuple | ast.List):
                self.words[target], parts = ",", target.elts
            for part in parts or [target]:
                if not isinstance(part, ast.Name) or part.id == "__debug__" or iskeyword(part.id):  # Python's own
                    raise RefusedError(part, self)
                names.append(part.id)
        return names

    def _look_through(self, root: ast.expr) -> None:
        """Check a value, each piece before its parts; then note its pieces."""
        todo: list[ast.expr] = [root]
        while todo:
            node = todo.pop()
            self.parts[node] = self._checked(node)
            todo.extend(part for part in reversed(self.parts[node]) if part not in self.parts)
        todo, pieces = [root], []
        while todo:
            pieces.append(todo.pop())
            todo.extend(self.parts[pieces[-1]])
        self.pieces[root] = pieces[::-1]

    def _checked(self, node: ast.expr) -> list[ast.expr]:
        """Check a piece, note its word, and return its parts."""
        match node:
            case ast.Name():
                self._name(node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute(attr=word) if self._is_of_torch(node):
                self.words[node] = word
                return []
            case ast.Attribute(attr=word) if word in allowed.ATTRIBUTES | allowed.FIELDS:
                self.words[node] = f".{word}"
            case ast.BinOp() | ast.UnaryOp() | ast.Compare(ops=[_]) if sign(node):
                self.words[node] = self.marks.get(node) or sign(node)
            case ast.Subscript():
                self.words[node] = "[]"
            case ast.List() | ast.Tuple() | ast.Slice() | ast.Constant(value=int() | float() | None | EllipsisType()):
                pass
            case _:
                raise RefusedError(node, self)
        return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]

    def _is_of_torch(self, node: ast.Attribute) -> bool:
        """Return whether this is a constant or a dtype of torch: ``torch.pi``, ``torch.long``."""
        is_known = node.attr in allowed.CONSTANTS.keys() | allowed.TORCHS_DTYPES
        return is_known and torch_module(node.value, self.bound) is not None

    def _name(self, node: ast.Name) -> None:
        name = node.id
        self.names.add(name)
        if name == "__debug__" or iskeyword(name):  # "ªs" is the name "as" to Python's parser
            raise RefusedError(node, self)
        if name in self.assigned or name in self.free:
            return
        if name in self.values or name not in allowed.CONSTANTS.keys() | allowed.DTYPES:
            self.free[name] = node
        else:
            self.words[node] = name
            self.constants.update(dict.fromkeys(allowed.CONSTANTS.keys() & {name}))

    def _call(self, node: ast.Call) -> list[ast.expr]:
        """Check a call, and return what it is given: the receiver of a method first."""
        name, function = called_function(node, self.bound), node.func
        receiver: list[ast.expr] = []
        if name is not None and allowed.is_function(name):
            self.names.add(name)
            self.words[node] = name
        elif name is None and isinstance(function, ast.Attribute) and function.attr in allowed.tensor_methods():
            receiver = [function.value]
            self.words[node] = f".{function.attr}"
        else:
            raise RefusedError(node, self)
        for at, keyword in enumerate(node.keywords):
            if keyword.arg is None or keyword.arg in allowed.KEYWORDS_REFUSED:
                raise RefusedError(keyword, self)
            if any(keyword.arg == other.arg for other in node.keywords[:at]):
                raise SourceError(
                    f"{keyword.arg} is given twice", place=self.source.place(keyword), hint="leave one out"
                )
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        texts = (part for part in arguments if isinstance(part, ast.Constant) and isinstance(part.value, str))
        self.parts.update((part, []) for part in texts)  # nowhere else may one be
        return [*receiver, *arguments]


def called_function(node: ast.Call, bound: set[str]) -> str | None:
    """Return the name of the function that is called, ``log`` for ``log(d)`` and ``torch.log(d)``.

    None for a method.
    """
    if isinstance(node.func, ast.Name):
        return node.func.id if node.func.id not in bound else None
    if isinstance(node.func, ast.Attribute) and (module := torch_module(node.func.value, bound)) is not None:
        return node.func.attr if module != "F" or node.args else None  # F.sum() is a method of someone's F
    if isinstance(node.func, ast.Attribute) and module_meant(node.func.value) in allowed.OTHER_MODULES - bound:
        return ast.unparse(node.func)  # np.log is not there
    return None


def module_meant(node: ast.expr) -> str:
    """Return the module before a name, the last of several: linalg for ``torch.linalg``; "" for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def torch_module(node: ast.expr, bound: Collection[str]) -> str | None:
    """Return ``torch.nn.functional`` if that is what the node says, and no value has that name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < len(allowed.MODULES):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id in bound:
        return None
    name = ".".join([node.id, *reversed(parts)])
    return name if name in allowed.MODULES else None


def sign(node: ast.AST) -> str:
    """Return the sign of an operator, or of the piece that it makes; nothing for one that an expression may not have.

    >>> sign(ast.Add()), sign(ast.parse("x <= 2", mode="eval").body), sign(ast.Is())
    ('+', '<=', '')
    """
    operator: ast.AST = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", node)
    return SIGNS.get(type(operator), "")
