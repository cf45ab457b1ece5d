"""The names of an expression's tensors: those it assigns, and a, b, c ... for what it leaves without a name.

What a name stands for is written from the names of its parts (``a = x + w``, ``b = a * 2``), so that texts stay short
however long the expression is.
"""

from __future__ import annotations

import ast
from itertools import count, product
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.sources.expression.allowed import FIELDS
from gviz.sources.expression.compiled import with_parts
from gviz.sources.expression.limits import is_tensor
from gviz.text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gviz.sources.expression.check import Program

__all__ = ["ROOT_NAME", "Names", "letters", "parts_of"]

ROOT_NAME = "graph"
"""The name of a root that has none."""

MAX_TEXT = 119
"""Characters of a text; of a longer one, a list of many names for instance, the middle is left out."""

MAX_FOLDED = 24
"""Characters up to which a computed number is written as it was computed (``1 / 3``)."""


class Names:
    """Names the tensors of a program while it runs, in the order of first assignment: it is the hook of the compiled code.

    Args:
        program: the expression, looked through.
        tensor: the engine's class of tensors.
        leaves: name -> value of each name that is free.
        taken: further names, which no unnamed tensor may get.
    """

    def __init__(self, program: Program, tensor: Any, leaves: Mapping[str, Any], taken: Mapping[str, Any]) -> None:
        self.program, self.tensor = program, tensor
        self.expressions: dict[str, str] = {}
        self._taken = {*program.names, *taken}
        self._letters = letters()
        self._records: list[tuple[str, Any]] = []
        self._by_tensor: dict[int, str] = {}  # by identity; the records keep every tensor alive
        self._times: dict[str, int] = {}
        self._position: dict[str, int] = {}
        self._values: dict[str, Any] = {}
        self._written: dict[int, ast.expr] = {}
        self._live: set[int] = set()
        self._outermost: set[int] = set()
        for name, leaf in leaves.items():
            self.assign(name, leaf)
        for statement in program.statements:
            if isinstance(statement, ast.Assign) or statement is program.statements[-1]:  # the whole gets that name, and
                root = _without_plus(statement.value)  # what stands in it between commas the names of its places
                self._outermost |= {id(statement.value), id(root), *(id(part) for part in getattr(root, "elts", ()))}

    def __call__(self, piece: ast.expr, value: Any) -> Any:
        """Name what a piece has come to, or note that a name is assigned."""
        if isinstance(piece, ast.Name):
            self.assign(piece.id, value)
            return value
        if any(self._is_live(part) for part in self.program.parts.get(id(piece), ())):
            self._live.add(id(piece))
        if isinstance(value, self.tensor):
            name = self._by_tensor.get(id(value)) or self._new(piece, value)
            if name is not None:
                self._written[id(piece)] = ast.Name(name)
        elif isinstance(value, int | float) and not isinstance(value, bool) and len(self._text(piece)) > MAX_FOLDED:
            number = ast.Name(repr(abs(value)))  # as it came out
            self._written[id(piece)] = ast.UnaryOp(ast.USub(), number) if value < 0 else number
        return value

    def _new(self, piece: ast.expr, tensor: Any) -> str | None:
        """The next letter for a tensor that is made from names; of a constant with a long text, the text's ends."""
        if id(piece) in self._outermost:
            return None
        text = self._text(piece)
        if id(piece) not in self._live:
            return text if len(text) == MAX_TEXT else None
        return self._add(next(letter for letter in self._letters if letter not in self._taken), tensor, text)

    def root(self, value: Any) -> str:
        """The name of the root, which the last statement has come to: its last name, ``graph`` if it has none.

        Raises:
            SourceError: there is no tensor in it.
        """
        statement = self.program.statements[-1]
        if isinstance(statement, ast.Expr):
            text = self._text(_without_plus(statement.value))
            if not isinstance(value, self.tensor):
                raise self._no_root(value, text)
            numbered = (f"{ROOT_NAME}{number}" if number > 1 else ROOT_NAME for number in count(1))
            return self._by_tensor.get(id(value)) or self._add(next(n for n in numbered if n not in self._taken), value, text)
        names = [node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        tensors = [name for name in reversed(names) if isinstance(self._values[name], self.tensor)]
        if not tensors:
            raise self._no_root(value, names[-1])
        return next((name for name in tensors if self._values[name].requires_grad), tensors[0])

    def _no_root(self, value: Any, name: str) -> SourceError:
        """The answer to a last statement that makes no tensor."""
        statement, hint = self.program.statements[-1], "write a name and give it a value: y=x*2 x=3"
        what = f"{name} must be a Tensor, not {type(value).__name__}"
        tensors = parts_of(value, name) if isinstance(value, tuple | list) else []
        if tensors:
            what = f"{name} is several tensors, a root is one"
            hint = f"take one of them: {' or '.join(text for _, text in tensors[:3])}"
            if isinstance(statement.value, ast.Tuple):
                hint = f"a comma makes a tuple: write a decimal point as . (1.5); else {hint}"
        return SourceError(what, place=self.program.source.place(statement), hint=hint)

    # -------------------------------------------------------------- texts
    def _text(self, piece: ast.expr) -> str:
        text = ast.unparse(self._tree(piece))
        return text if len(text) <= MAX_TEXT else shorten(text, MAX_TEXT, middle=True, mark=" … ")

    def _tree(self, piece: ast.expr) -> ast.expr:
        """A piece with what is written for its parts."""
        if id(piece) in self._written:
            return self._written[id(piece)]
        word = self.program.words.get(id(piece))
        if isinstance(piece, ast.Name | ast.Constant) or (word and not isinstance(piece, ast.Call)):
            return ast.Name(word) if word else piece
        return with_parts(piece, [self._tree(part) for part in self.program.parts.get(id(piece), ())], word)

    def _is_live(self, piece: ast.expr) -> bool:
        """Whether a name takes part in a piece; what none takes part in is a constant."""
        if isinstance(piece, ast.Name):
            return piece.id in self._values
        if isinstance(piece, ast.List | ast.Tuple | ast.Slice):
            return any(self._is_live(part) for part in self.program.parts.get(id(piece), ()))
        return id(piece) in self._live

    # -------------------------------------------------------------- names
    @property
    def tensors(self) -> dict[str, Any]:
        """Name -> tensor, in the order of first assignment."""
        return dict(self._records)

    def assign(self, name: str, value: Any) -> None:
        """Note that the program gives a name to a tensor, or to a tuple of tensors, whose parts are named by their places.

        A name that is assigned again belongs to the later tensor; the earlier one becomes ``x (1st)``.
        """
        self._values[name] = value
        if isinstance(value, self.tensor):
            self._assign(name, value)
        elif isinstance(value, tuple | list):
            for part, text in parts_of(value, name):
                if id(part) not in self._by_tensor:
                    self._assign(text, part)

    def _add(self, name: str, tensor: Any, text: str) -> str:
        """Give a tensor an automatic name, which stands for a text."""
        self._assign(name, tensor)
        self.expressions[name] = text
        return name

    def _assign(self, name: str, tensor: Any) -> None:
        if name in self._position:
            position = self._position[name]
            before = self._records[position][1]
            if before is tensor:
                return
            self._times[name] = self._times.get(name, 0) + 1
            old = f"{name} ({_ordinal(self._times[name])})"
            self._records[position] = (old, before)
            if self._by_tensor.get(id(before)) == name:
                self._by_tensor[id(before)] = old
        self._position[name] = len(self._records)
        self._records.append((name, tensor))
        self._by_tensor.setdefault(id(tensor), name)


def _without_plus(node: ast.expr) -> ast.expr:
    """An expression without a sign that changes nothing: +x is x itself."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
        node = node.operand
    return node


def parts_of(value: tuple[Any, ...] | list[Any], name: str) -> list[tuple[Any, str]]:
    """The tensors in a tuple, each with how it is written: ``m.values`` where it has a field's name, else ``m[0]``."""
    fields = {
        id(getattr(value, field)): field for field in sorted(FIELDS) if isinstance(value, tuple) and hasattr(value, field)
    }
    return [
        (part, f"{name}.{fields[id(part)]}" if id(part) in fields else f"{name}[{number}]")
        for number, part in enumerate(value)
        if is_tensor(part)
    ]


def letters() -> Iterator[str]:
    """a, b, ... z, aa, ab, ... without end.

    >>> from itertools import islice
    >>> list(islice(letters(), 25, 29))
    ['z', 'aa', 'ab', 'ac']
    """
    for length in count(1):
        for combination in product("abcdefghijklmnopqrstuvwxyz", repeat=length):
            yield "".join(combination)


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{endings.get(number % 10, 'th') if number % 100 not in (11, 12, 13) else 'th'}"
