"""What a call of the program was given that has no gradient: tensors, numbers, and what is written there for them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cached_property
from types import CodeType, NoneType
from typing import Any, TypeAlias
from weakref import ref

from gviz.formulas.operands import rows_by_label
from gviz.formulas.operations import SIGNS, function_of, kind_of
from gviz.graphs.numbers import Numbers
from gviz.sources.stores import stores_of
from gviz.trace.records import NodeRecord
from gviz.walk import Argument

LONGEST = 24
"""Characters of an argument as it is written: a longer one is told by nothing."""

CALLS = {
    "Mm": "matmul linear call", "Mv": "matmul", "Dot": "matmul", "Bmm": "matmul", "Addmm": "linear call",
    "Convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d call",
    "EuclideanDist": "cdist",
    "Add": "radd iadd", "Sub": "isub", "Rsub": "rsub", "Mul": "rmul imul", "Div": "truediv itruediv",
}  # fmt: skip
"""The calls that end in an operation of another name; only of these and of its own is it known which argument is which.
``call`` is that of a layer."""

TRANSPOSING = ("Addmm", "Mm")
"""What a layer, or ``linear``, computes with its weight transposed: only its input is an operand as it is."""

NUMBERED = ("Rsub", "Where", *SIGNS)
"""Operations of which a number may be an operand; to others it is an option."""


Texts: TypeAlias = "dict[int | tuple[int, int], tuple[str, bool]]"
"""What is written for arguments, and for the items of lists, by their places; and whether its names mean other things later."""


class CallSites:
    """The calls of a file: which of their arguments are operands, and what is written for these.

    A loop makes a call very often: what does not depend on its arguments is looked for once.

    Args:
        tree: the syntax of the file; None where what is written in its calls is not asked for.
        file: the name that it has in code.
    """

    def __init__(self, tree: ast.Module | None, file: str) -> None:
        self.tree, self.file = tree, file
        self.entries: dict[tuple[Any, ...], tuple[str, Texts, bool, Collection[int] | None]] = {}
        self.texts: dict[tuple[Any, ...], Texts] = {}
        self.positions: dict[int, list[tuple[int | None, ...]]] = {}  # of code by its identity; the trace keeps it

    def arguments_of(self, noted: NodeRecord, label: str) -> Iterator[Argument]:
        """Yield the arguments without a gradient of the call behind an operation that are operands of it.

        Args:
            noted: what is known of the operation.
            label: its class.
        """
        call, count = noted.call, noted.argument_count
        code, instruction = call.at or (None, 0)
        key = id(code), instruction, call.name, count, label, call.place.file
        if (entry := self.entries.get(key)) is None:
            kind = kind_of(label)
            is_operator = call.name == function_of(kind) or call.name in CALLS.get(kind, "").split()
            texts = self.texts_of(noted)
            row = rows_by_label().get(label)
            is_own = row is not None and call.name == row.key and not row.takes_list and kind != "Where"
            entry = self.entries[key] = kind, texts, is_operator, row.edges if row is not None and is_own else None
        kind, texts, is_operator, places = entry
        is_turned = kind in TRANSPOSING and call.name in ("linear", "call") and any(one.at for one in noted.constants)
        yield from (Argument(None, "", one.value) for one in noted.constants if isinstance(one.value, Numbers))
        if is_turned or not is_operator:
            return
        for at, one, numbers in noted.constants:
            if places is not None and at not in places:
                continue
            if isinstance(one, ref):
                tensor = one()
                kept = tensor if numbers is None else numbers
                truths = "bool" in str(getattr(kept, "dtype", "")) or {
                    *map(type, getattr(kept, "elements", None) or ())
                } == {bool}
                if kind != "Where" or not truths:  # its condition is told apart
                    text, is_outdated = texts.get(at, ("", False))
                    yield Argument(tensor, "" if is_outdated and numbers is not None else text, numbers)
            elif kind in NUMBERED and isinstance(one, int | float):
                yield Argument(None, f"{one:.7g}", Numbers((), "", (float(one),)))
            elif kind not in NUMBERED and one is NoneType:
                yield Argument(None, "None")
        if kind == "Convolution" and count == len(("input", "weight")):
            yield Argument(None, "None")  # the bias

    def texts_of(self, noted: NodeRecord) -> Texts:
        """Return what is written for the arguments of the call behind an operation; of a loop it is read once."""
        call, count = noted.call, noted.argument_count
        code, instruction = call.at or (None, 0)
        key = id(code), instruction, call.name, count, call.place.file
        if key not in self.texts:
            is_here = call.place.file == self.file
            self.texts[key] = self.argument_texts(code, instruction, call.name, count) if is_here else {}
        return self.texts[key]

    def argument_texts(self, code: CodeType | None, instruction: int, name: str, count: int) -> Texts:
        """Return the text of each argument of a call, "" for a long one, and whether its names mean other things later.

        There are none where another call stands there.

        Args:
            code: what the call stands in; None where that is not known.
            instruction: where in it.
            name: what is called.
            count: how many arguments it was given.
        """
        if code is None:
            return {}
        match self.spans.get(self.position(code, instruction)):
            case ast.BinOp(left, _, right):
                parts = [right, left] if name in ("radd", "rsub", "rmul") else [left, right]
            case ast.Call(ast.Attribute(value, attr) | (ast.Name(attr) as value), args, keywords) if attr == name:
                parts = [*args, *(keyword.value for keyword in keywords)]
                parts = [value, *parts] if len(parts) == count - 1 else parts
            case _:
                parts = []
        if not self.tree or len(parts) != count or any(isinstance(part, ast.Starred) for part in parts):
            return {}
        is_outdated, places = stores_of(self.tree).is_outdated, dict[int | tuple[int, int], ast.expr](enumerate(parts))
        for at, part in enumerate(parts):
            items = getattr(part, "elts", ())
            is_plain = not any(isinstance(item, ast.Starred) for item in items)
            places |= {(at, number): item for number, item in enumerate(items)} if is_plain else {}
        texts = {at: ast.unparse(part) for at, part in places.items()}
        return {at: (text if len(text) <= LONGEST else "", is_outdated(places[at])) for at, text in texts.items()}

    def position(self, code: CodeType, instruction: int) -> tuple[int | None, ...]:
        """Return where an instruction of some code is written."""
        positions = self.positions.get(id(code)) or self.positions.setdefault(id(code), list(code.co_positions()))
        return positions[instruction // 2]

    @cached_property
    def spans(self) -> dict[tuple[int | None, ...], ast.AST]:
        """The calls and the signs of the file by where they are written: first and last line, first and last column."""
        nodes = ast.walk(self.tree) if self.tree is not None else ()
        calls = (one for one in nodes if isinstance(one, ast.BinOp | ast.Call))
        return {(one.lineno, one.end_lineno, one.col_offset, one.end_col_offset): one for one in calls}

    def name_of_value(self, code: CodeType, instruction: int) -> tuple[str, bool]:
        """Return what an assignment calls the value of a call, "" for none, and whether it is the first of the name."""
        is_here = code.co_filename == self.file
        return self.targets.get(self.position(code, instruction), ("", False)) if is_here else ("", False)

    @cached_property
    def targets(self) -> dict[tuple[int | None, ...], tuple[str, bool]]:
        """What assignments call the values of calls, by where these are written, and whether each is the first."""
        targets: dict[tuple[int | None, ...], tuple[str, bool]] = {}
        earlier = set[str]()
        for statement in self.tree.body if self.tree is not None else ():
            nodes = [*ast.walk(statement)]
            for node in (one for one in nodes if isinstance(one, ast.Assign)):
                for name, base, value in named_values(node):
                    span = value.lineno, value.end_lineno, value.col_offset, value.end_col_offset
                    targets[span] = name, node is statement and base not in earlier
            earlier |= {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        return targets


def named_values(statement: ast.Assign) -> Iterator[tuple[str, str, ast.expr]]:
    """Yield the expressions whose values an assignment names: the name, what it begins with, and the expression.

    >>> (one,) = ast.parse("a, V = f(x), {'p': g(y).requires_grad_()}").body
    >>> [(name, ast.unparse(value)) for name, _, value in named_values(one)]
    [('a', 'f(x)'), ("V['p']", 'g(y).requires_grad_()'), ("V['p']", 'g(y)')]
    """
    todo: list[tuple[str, str, ast.expr | None, ast.expr]]
    todo = [("", "", target, statement.value) for target in statement.targets]
    for name, base, target, value in todo:  # grows while it is read
        match target, value:
            case ast.Tuple(targets) | ast.List(targets), ast.Tuple(values) | ast.List(values):
                todo += [("", "", *pair) for pair in zip(targets, values, strict=False)]
            case ast.Name(name), _:
                todo.append((name, name, None, value))
            case None, ast.Dict(keys, values):
                pairs = [
                    (key.value, one) for key, one in zip(keys, values, strict=True) if isinstance(key, ast.Constant)
                ]
                todo += [(f"{name}[{key!r}]", base, None, one) for key, one in pairs]
            case None, ast.Tuple(values) | ast.List(values):
                todo += [(f"{name}[{at}]", base, None, one) for at, one in enumerate(values)]
            case None, ast.Call(function):
                yield name, base, value
                if isinstance(function, ast.Attribute) and function.attr == "requires_grad_":
                    todo.append((name, base, None, function.value))
