"""What a call of the program was given that has no gradient: tensors, numbers, and what is written there for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, NoneType
from typing import Any
from weakref import ref

from gviz.formulas.expressions import SIGNS, function_of, kind_of
from gviz.trace import NodeRecord

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

NUMBERED = ("Rsub", *SIGNS)
"""Operations of which a number may be an operand; to others it is an option."""


def arguments_of(noted: NodeRecord, label: str, tree: ast.Module | None) -> Iterator[tuple[Any, str]]:
    """Yield the arguments without a gradient of the call that recorded an operation, each with what is written there.

    Args:
        noted: what is known of the operation.
        label: its class.
        tree: the syntax of the file that the call stands in; None where that is not known.
    """
    kind, name = kind_of(label), noted.call.name
    is_turned = kind in TRANSPOSING and name in ("linear", "call") and any(at for at, _ in noted.given)
    if is_turned or (name != function_of(kind) and name not in CALLS.get(kind, "").split()):
        return
    texts = (
        written(*noted.call.at, name, noted.arguments, tree) if noted.call.at is not None and tree is not None else []
    )
    for at, one in noted.given:
        if isinstance(one, ref):
            yield one(), texts[at] if texts else ""
        elif kind in NUMBERED and not isinstance(one, type):
            yield None, f"{one:.7g}"
        elif kind not in NUMBERED and one is NoneType:
            yield None, "None"
    if kind == "Convolution" and noted.arguments == len(("input", "weight")):
        yield None, "None"  # the bias


def written(code: CodeType, instruction: int, name: str, count: int, tree: ast.Module) -> list[str]:
    """Return what is written for each argument of a call, "" for what is long; nothing where the call is another one.

    Args:
        code: what the call stands in.
        instruction: where in it.
        name: what is called.
        count: how many arguments it was given.
        tree: the syntax of the file.
    """
    match spans(tree).get(positions(code)[instruction // 2]):
        case ast.BinOp(left, _, right):
            parts = [right, left] if name in ("radd", "rsub", "rmul") else [left, right]
        case ast.Call(ast.Attribute(value, attr) | (ast.Name(attr) as value), args, keywords) if attr == name:
            parts = [*args, *(keyword.value for keyword in keywords)]
            parts = [value, *parts] if len(parts) == count - 1 else parts
        case _:
            parts = []
    texts = [ast.unparse(part) for part in parts if not isinstance(part, ast.Starred)]
    return [text if len(text) <= LONGEST else "" for text in texts] if len(texts) == count else []


@lru_cache(maxsize=512)
def positions(code: CodeType) -> list[tuple[int | None, ...]]:
    """Return where each instruction is written: first and last line, first column and the one behind the last."""
    return list(code.co_positions())


@lru_cache(maxsize=8)
def spans(tree: ast.Module) -> dict[tuple[int | None, ...], ast.AST]:
    """Return the calls and the signs of a program by where they are written."""
    calls = (one for one in ast.walk(tree) if isinstance(one, ast.BinOp | ast.Call))
    return {(one.lineno, one.end_lineno, one.col_offset, one.end_col_offset): one for one in calls}
