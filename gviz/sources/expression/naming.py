"""The names of an expression's tensors: those it assigns, and a, b, c ... for what it leaves without a name.

What a name stands for is written from the names of its parts (``a = x + w``, ``b = a * 2``), so that texts stay short
however long the expression is.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from gviz.engine import Tensor
from gviz.errors import SourceError
from gviz.formulas.expressions import letters, root_names
from gviz.sources.derivatives import forget_numbers
from gviz.sources.expression.allowed import FIELDS
from gviz.sources.expression.program import Program
from gviz.text import ordinal, shorten

MAX_TEXT = 119
"""Characters of a text; of a longer one, a list of many names for instance, the middle is left out."""

MAX_FOLDED = 24
"""Characters up to which a computed number is written as it was computed (``1 / 3``)."""


class Names:
    """Names the tensors of a program while it runs, in the order of first assignment: the hook of the compiled code.

    Args:
        program: the expression, looked through.
        leaves: name -> value of each name that is free.
        other_names: further names, which no unnamed tensor may get.
    """

    def __init__(self, program: Program, leaves: Mapping[str, Tensor], other_names: Iterable[str]) -> None:
        self.program = program
        self.expressions: dict[str, str] = {}
        self._statements: dict[int, str] = {}
        self._used_names = {*program.names, *other_names}
        self._letters = (letter for letter in letters() if letter not in self._used_names)
        self.tensors: dict[str, Tensor] = {}  # in the order of first assignment
        self._frozen: dict[str, Tensor] = {}  # results without a gradient, by their texts
        self._by_tensor: dict[int, str] = {}  # by identity; the names keep every tensor alive
        self._times: Counter[str] = Counter()
        self._values: dict[str, object] = {}
        self._has_aliases = False  # whether a tensor has got a second name
        for name, leaf in leaves.items():
            self.assign(name, leaf)
        self._replacements: dict[ast.AST, ast.expr] = {  # for a piece, or for the torch.exp of a call
            piece.func if isinstance(piece, ast.Call) else piece: ast.Name(word)
            for piece, word in program.words.items()
            if isinstance(piece, ast.Call | ast.Attribute) and not word.startswith(".")
        }
        self._live: set[ast.expr] = set()  # what a name takes part in; all else is a constant
        self._outermost: set[ast.expr] = set()
        for statement in program.statements:
            for piece in program.pieces[statement.value]:
                is_name = isinstance(piece, ast.Name) and piece not in program.words
                if is_name or not self._live.isdisjoint(program.parts[piece]):
                    self._live.add(piece)
            if (
                isinstance(statement, ast.Assign) or statement is program.statements[-1]
            ):  # the whole gets that name, and
                root = _without_plus(statement.value)  # what stands in it between commas the names of its places
                self._outermost |= {statement.value, root, *getattr(root, "elts", ())}

    def __call__(self, piece: ast.expr, value: object) -> object:
        """Name what a piece has come to, or note that a name is assigned."""
        if isinstance(piece, ast.Name):
            self.assign(piece.id, value)
            return value
        text, name = self._text(piece), None
        if isinstance(value, Tensor):
            forget_numbers(value)
            is_inner = piece in self._live and piece not in self._outermost
            if is_inner and not value.requires_grad and value.equal(before := self._frozen.setdefault(text, value)):
                value = before  # nothing tells the two apart, so one letter is enough
            name = self._by_tensor.get(id(value))
            if name is None and is_inner:
                name = self._add(next(self._letters), value, text)
            elif name is None:
                self._statements[id(value)] = text
        elif isinstance(value, int | float) and not isinstance(value, bool) and len(text) > MAX_FOLDED:
            self._replacements[piece] = ast.parse(repr(value), mode="eval").body  # as it came out
        if name or len(text) == MAX_TEXT:
            self._replacements[piece] = ast.Name(name or text)
        return value

    def root(self, value: object) -> str:
        """Return the name of the root, which the last statement has come to: its last name, or ``y`` if it has none.

        Raises:
            SourceError: it has no tensor.
        """
        statement = self.program.statements[-1]
        if isinstance(statement, ast.Expr):
            text = self._text(_without_plus(statement.value))
            if not isinstance(value, Tensor):
                raise self._no_root(value, text)
            return self._by_tensor.get(id(value)) or self._add(next(root_names(self._used_names)), value, text)
        names = [node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        tensors = [name for name in reversed(names) if isinstance(self._values[name], Tensor)]
        if not tensors:
            raise self._no_root(value, names[-1])
        return next((name for name in tensors if self.tensors[name].requires_grad), tensors[0])

    def _no_root(self, value: object, name: str) -> SourceError:
        """Return the answer to a last statement that makes no tensor."""
        from gviz.sources.expression.suggestion import values_apart  # only an error needs it

        statement, hint = (
            self.program.statements[-1],
            (values_apart(self.program.source) or ("",))[0]
            or "numbers have no graph: write names, and their values behind: y=x*2 x=3",
        )
        what = f"{name} must be a Tensor, not {type(value).__name__}"
        tensors = tensors_of(value, name)
        if tensors:
            what = f"{name} is several tensors, a root is one"
            hint = f"take one of them: {' or '.join(text for _, text in tensors[:3])}"
            match statement.value:
                case ast.Call(
                    func=ast.Name("max" | "min" as extreme), args=[operand, ast.Constant(float() | int() as bound)]
                ):
                    size, end = ("larger", "min") if extreme == "max" else ("smaller", "max")
                    short = f"relu({self._text(operand)}) or " if (extreme, bound) == ("max", 0) else ""
                    clamped = f"{short}clamp({self._text(operand)}, {end}={bound})"
                    hint = f"for the {size} of the two write {clamped}; for that of dimension {bound} {hint}"
                case ast.List() if all(isinstance(one, ast.Name) for one in statement.value.elts):
                    hint = f"for one tensor of them write stack({self._text(statement.value)})"
                case ast.List(elts=[ast.Compare(), *_]):
                    hint = "write round brackets: (x > 0)*x has x where it is greater, and 0 elsewhere"
                case ast.Tuple():
                    hint = (
                        "leave out the comma at the end"
                        if self.program.source.code.rstrip(" ;\n").endswith(",")
                        else f"a comma makes a tuple: write a decimal point as . (1.5); else {hint}"
                    )
        elif isinstance(value, list):
            hint = "a list of numbers is the value of a name: y=W*2 W=[1,2]"
        return SourceError(what, place=self.program.source.place(statement), hint=hint)

    def _text(self, piece: ast.expr) -> str:
        """Return a piece as people write it, with what is written for its parts."""
        replacements = self._replacements
        if self._has_aliases:
            names = (node for node in ast.walk(piece) if isinstance(node, ast.Name))
            replacements = replacements | {node: ast.Name(self._first_name(node.id)) for node in names}
        text = ast.unparse(_with(replacements, piece))
        return text if len(text) <= MAX_TEXT else shorten(text, MAX_TEXT, middle=True, mark=" … ")

    def _first_name(self, name: str) -> str:
        """Return the name that a tensor had before it got another one; the name itself where there is none."""
        return self._by_tensor.get(id(self._values.get(name)), name)

    @property
    def statements(self) -> dict[str, str]:
        """Name -> what its tensor was computed by."""
        texts = {name: self._statements.get(id(tensor), "") for name, tensor in self.tensors.items()}
        return {**{name: text for name, text in texts.items() if text}, **self.expressions}

    def assign(self, name: str, value: object) -> None:
        """Note that the program gives a name to a tensor, or to a tuple, whose parts are named by their places.

        A name that is assigned again belongs to the later tensor; the earlier one becomes ``x (1st)``.
        """
        self._values[name] = value
        if isinstance(value, Tensor):
            self._assign(name, value)
        for part, text in tensors_of(value, name):
            if id(part) not in self._by_tensor:
                self._assign(text, part)

    def _add(self, name: str, tensor: Tensor, text: str) -> str:
        """Give a tensor an automatic name, which stands for a text."""
        self._assign(name, tensor)
        self.expressions[name] = text
        return name

    def _assign(self, name: str, tensor: Tensor) -> None:
        before = self.tensors.get(name)
        if before is not None and before is not tensor:
            self._times[name] += 1
            old = f"{name} ({ordinal(self._times[name])})"
            for texts in (self.expressions, self._statements):  # all that has been computed was from the earlier tensor
                for key, text in texts.items():
                    texts[key] = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w| \(|=(?!=))", old, text)  # type: ignore[index]
            self.tensors = {old if key == name else key: value for key, value in self.tensors.items()}
            if self._by_tensor[id(before)] == name:
                self._by_tensor[id(before)] = old
        self.tensors[name] = tensor
        self._has_aliases |= self._by_tensor.setdefault(id(tensor), name) != name


def _without_plus(node: ast.expr) -> ast.expr:
    """Return an expression without a sign that changes nothing: +x is x itself."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
        node = node.operand
    return node


def _with(replacements: Mapping[ast.AST, ast.expr], node: object) -> Any:
    """Return syntax with what is written for some of its pieces."""
    if isinstance(node, list):
        return [_with(replacements, part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    return replacements.get(node) or type(node)(*(_with(replacements, value) for _, value in ast.iter_fields(node)))


def tensors_of(value: object, name: str) -> list[tuple[Tensor, str]]:
    """Return the tensors in a tuple or list, each as it is written: ``m.values`` for a field, else ``m[0]``."""
    if not isinstance(value, list | tuple):
        return []
    fields = {id(getattr(value, field)): f"{name}.{field}" for field in sorted(FIELDS) if hasattr(value, field)}
    return [
        (part, fields.get(id(part), f"{name}[{number}]"))
        for number, part in enumerate(value)
        if isinstance(part, Tensor)
    ]
