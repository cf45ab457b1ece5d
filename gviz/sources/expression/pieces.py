"""What mathematics is read as, in pieces that keep the place of what was typed, and the program of such pieces."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gviz.sources.expression.program import ExpressionText, Program, RefusedError
from gviz.sources.expression.tokens import Token


@dataclass(eq=False)
class Piece:
    """A piece of what is written.

    Args:
        text: as Python has it.
        first: the token that it comes from.
        last: the last token that it comes from.
        is_apart: if a space is before it.
        mark: ``·`` or ``×`` for a product whose sign depends on its operands, ``^`` for a power that may be one of
            matrices, ``|`` for bars, which are no absolute value of a vector.
        node: the operation of such a sign; the program changes it when it runs.
    """

    text: str
    first: Token
    last: Token
    is_apart: bool = False
    mark: str = ""
    node: ast.BinOp | None = None


def program_of(source: ExpressionText, pieces: Sequence[Piece]) -> Program | RefusedError | SyntaxError | None:
    """Return the program of pieces, with the places that were typed; or why they are none, if that has a place."""
    starts: dict[tuple[int, int], Piece] = {}
    ends: dict[tuple[int, int], int] = {}
    text, line, column = "", 1, 0
    for at, piece in enumerate(pieces):
        starts[line, column + piece.is_apart] = piece
        text, column = text + " " * piece.is_apart + piece.text, column + piece.is_apart + len(piece.text.encode())
        ends[line, column] = at
        if piece.text == "\n":
            line, column = line + 1, 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        marks = {node: mark for node in ast.walk(tree) if (mark := _mark(node, pieces, starts, ends))}
        lines = source.code.split("\n")
        for node in ast.walk(tree):
            _place(node, lines, pieces, starts, ends)
        return Program(source, tree.body, source.values, marks, partial(_text, pieces))
    except RefusedError as error:
        return error
    except SyntaxError as error:
        where = error.lineno or 1, (error.offset or 1) - 1
        after = next((piece.first for (start, piece) in starts.items() if start >= where), None)
        end = len(source.code.split("\n")), len(source.code.split("\n")[-1])
        error.lineno, error.offset = (after.line, after.column + 1) if after else (end[0], end[1] + 1)
        return error
    except (ValueError, RecursionError, MemoryError):
        return None


def _text(pieces: Sequence[Piece]) -> str:
    """Return what was written, with the signs that were chosen."""
    text = ""
    for piece in pieces:
        is_matrices = piece.mark in ("·", "×") and piece.node is not None and isinstance(piece.node.op, ast.MatMult)
        text += " " * piece.is_apart + (" @ " if is_matrices else piece.text)
    return "; ".join(" ".join(line.split()) for line in text.split("\n") if line.strip())


def _mark(
    node: ast.AST,
    pieces: Sequence[Piece],
    starts: Mapping[tuple[int, int], Piece],
    ends: Mapping[tuple[int, int], int],
) -> str:
    """Return the mark of a call, or that of an operation's sign, and note the operation with it."""
    if isinstance(node, ast.Call):
        return starts[node.lineno, node.col_offset].mark
    if not isinstance(node, ast.BinOp):
        return ""
    at = ends[node.left.end_lineno or 0, node.left.end_col_offset or 0] + 1
    while pieces[at].text == ")":
        at += 1
    pieces[at].node = node
    return pieces[at].mark


def _place(
    node: Any,
    lines: Sequence[str],
    pieces: Sequence[Piece],
    starts: Mapping[tuple[int, int], Piece],
    ends: Mapping[tuple[int, int], int],
) -> None:
    """Give a node the place of what was typed, which Python counts in bytes."""
    start = starts.get((getattr(node, "lineno", 0), getattr(node, "col_offset", -1)))
    end = ends.get((getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", -1)))
    if start is not None and end is not None:
        first, last = start.first, pieces[end].last
        node.lineno, node.col_offset = first.line, len(lines[first.line - 1][: first.column].encode())
        stop = last.column + len(last.text)
        node.end_lineno, node.end_col_offset = last.line, len(lines[last.line - 1][:stop].encode())
