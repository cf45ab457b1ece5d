"""The table of a program's tensors: its columns as texts, whoever shows them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from gviz.errors import ArgumentError
from gviz.graphs import GRAD_OF, MADE_LATER, NOW, Graph, Moment, Place, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.passes.rounding import without_rounding
from gviz.pictures.labels import later_text, shape_text, short, value_text
from gviz.pictures.look import LONGEST_LINE
from gviz.pictures.picture import LARGE
from gviz.text import aligned_text, cut, joined

LONGEST_CELL = 40
"""Characters of a value, for its shape stands beside it."""

LEAST_WIDTH = 24
"""Columns of a sentence in a table, at least."""


def rows_to_list(graph: Graph, only: str | None, sort: str | None) -> list[TensorRow]:
    """Return the rows that are asked for, in the order that is asked for; the program's where that says nothing.

    They tell of each leaf whose box does so that its numbers are those of now.
    """
    of_now = {node.name for node in graph.nodes if node.state == NOW}
    rows = (
        row._replace(moment=Moment(grad=row.grad, remark=NOW)) if row.name in of_now and row.moment is None else row
        for row in graph.tensors
    )
    fits: dict[str, Callable[[TensorRow], bool]] = {
        "": lambda _: True,
        "leaf": lambda row: row.as_it_was.is_leaf and row.required_grad,
        "nonleaf": lambda row: not row.as_it_was.is_leaf,
        "frozen": lambda row: not row.required_grad,
        "none": lambda row: row.grad.value is None,
    }
    keys: dict[str, Callable[[TensorRow], Any]] = {
        "": lambda _: 0,
        "name": lambda row: row.name.lower(),
        "line": lambda row: (row.place is not None and bool(row.place.file), row.place or ()),
        "grad": lambda row: -largest_amount(row.grad.value),
        "size": lambda row: -row.numbers.numel,
    }
    for word, words in ((only, fits), (sort, keys)):
        if (word or "") not in words:
            raise ArgumentError(f"{word!r} is none of {joined(filter(None, words))}")
    return sorted(filter(fits[only or ""], rows), key=keys[sort or ""])


def largest_amount(numbers: Numbers | None) -> float:
    """Return the largest amount among the numbers; inf for nan, -1 for none at all.

    >>> largest_amount(Numbers.of([1.0, -3.0])), largest_amount(Numbers.of("nan")), largest_amount(None)
    (3.0, inf, -1.0)
    """
    if numbers is None or not numbers.numel:
        return -1.0
    about = numbers.summary
    return float("inf") if about.nans else max(abs(about.smallest), abs(about.largest))


def settled_rows(graph: Graph, rows: Sequence[TensorRow]) -> list[TensorRow]:
    """Return rows as they were when backward ran, with 0 for what rounding has left of a sum, as pictures have it."""
    settled = graph if graph.kind == "static" or len(graph.nodes) > LARGE else without_rounding(graph)
    pairs = zip(graph.nodes, settled.nodes, strict=True)
    new = {(old.name, old.numbers, old.grad.value): node for old, node in pairs if old is not node}
    new_rows = []
    for row in (one.as_it_was for one in rows):
        then, grad, _ = row.at_backward()
        node = new.get((row.name, then, grad.value))
        grad = grad if node is None else grad._replace(value=node.grad.value)
        if node is not None and row.moment is not None:
            row = row._replace(moment=row.moment._replace(numbers=node.numbers, grad=grad))  # noqa: PLW2901
        elif node is not None:
            row = row._replace(numbers=node.numbers or row.numbers, grad=grad)  # noqa: PLW2901
        new_rows.append(row)
    return new_rows


def columns_of(rows: Sequence[TensorRow], places: Mapping[str, int], *, before: bool) -> dict[str, list[str]]:
    """Return the texts of each column, by its key; without lines, places or notes if there are none.

    Numbers are those of when backward ran; what the program has made of a tensor since has a column of its own.

    Args:
        rows: the tensors.
        places: where in an expression some of them are computed, by their names.
        before: whether backward ran, so that there is a gradient before it.
    """
    then = [row.at_backward() for row in rows]
    keys = ("is_leaf", "required_grad", "grad_fn", "retains_grad")
    columns = {
        "name": [short(" = ".join(filter(None, [row.name, row.expression])), LONGEST_LINE) for row in rows],
        **{key.replace("required", "requires"): [str(getattr(row, key)) for row in rows] for key in keys},
        "shape": [shape_text(recorded_value(row).shape or ()) for row in rows],
        "dtype": [recorded_value(row).dtype for row in rows],
        "value": [cell_text(own if own.is_known else None) for own in map(recorded_value, rows)],
        **({"grad_before": [cell_text(grad.before) for _, grad, _ in then]} if before else {}),
        "grad_after" if before else "grad": [cell_text(grad.value) for _, grad, _ in then],
        "backward_adds": [cell_text(grad.arrived) for _, grad, _ in then],
        "later": [_later(row) for row in rows],
        "line": [row.place.number if row.place is not None else "" for row in rows],
        "column": [str(places.get(row.name, "")) for row in rows],
        "note": [note_of(row) for row in rows],
    }
    lines = {row.place.without_run for row in rows if row.place is not None}
    conditions = {
        "line": len(lines) > 1 or (len(rows) == 1 and not places),  # all of an expression is in line 1
        "column": bool(places),
        "backward_adds": not before and any(one.grad.arrived not in (None, one.grad.value) for one in rows),
        "later": any(columns["later"]),
        "note": any(map(note_of, rows)),
    }
    return {key: cells for key, cells in columns.items() if conditions.get(key, True)}


def recorded_value(row: TensorRow) -> Numbers:
    """Return what a tensor was when its graph was recorded; what it is now, if it was several things then."""
    then, _, _ = row.at_backward()
    return then if then.is_known else row.numbers


def _later(row: TensorRow) -> str:
    """Return what the program has made of a tensor since; of one that was several things, its value is that of now."""
    then, _, later = row.at_backward()
    return later_text(later, ("value", "grad") if then.is_known else ("grad",))


def cell_text(value: Numbers | None) -> str:
    """Return a value as a cell has it."""
    return cut(value_text(value), LONGEST_CELL)


def note_of(row: TensorRow) -> str:
    """Return why a tensor is outside the graph; "" for one that is inside, unless it was written in place, or has more names."""
    remark = row.moment.remark if row.moment is not None else ""
    if remark and (remark != MADE_LATER or row.requires_grad):
        return remark
    same, reason = f"is {row.same_as}" if row.same_as else "", reason_of(row)
    return "; ".join(filter(None, [f"later: {reason}" if remark else reason, same]))


def reason_of(row: TensorRow) -> str:
    """Return that reason, whenever the tensor was made."""
    if row.required_grad and not row.requires_grad:  # which is so since later
        return ""
    if row.broken is not None and row.at_backward()[1].value is None:
        is_here = row.broken.place is None or str(row.broken.place) == str(row.place)
        return row.broken.reason if is_here else f"{row.broken.reason}, {row.broken.place}"
    if row.requires_grad:
        return f"written in place at {row.place}" if row.is_written and row.place is not None else ""
    return "booleans" if row.dtype == "bool" else "integers" if "int" in row.dtype else "frozen"


def totals(graph: Graph) -> list[str]:
    """Return the line below the table: how many operations, leaves and bytes there are, and of what the gradients are."""
    operations, leaves = (sum(node.kind == kind for node in graph.nodes) for kind in ("operation", "leaf"))
    if not operations:
        return []
    kept = [node.recorded.kept for node in graph.nodes if node.kind == "operation"]
    sizes = [size for size in kept if size is not None]
    parts = [f"{operations:,} operation{'s' * (operations > 1)}", f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}"]
    line = ", ".join([*parts, *([f"{sum(sizes):,} bytes saved for backward"] if len(sizes) == len(kept) else [])])
    return ["; ".join([line, *sorted({node.state for node in graph.nodes if node.state.startswith(GRAD_OF)})])]


def table_beside(columns: Mapping[str, Sequence[str]], last: Mapping[str, Sequence[str]], width: int) -> str:
    """Return columns as a table of text, with sentences in what is left of the width beside them.

    >>> print(table_beside({"name": ["x", "y"]}, {"mend": ["call backward()"] * 2}, 0))
    name  mend
    x     call backward()
    y     likewise

    Args:
        columns: the texts of each, by its heading.
        last: the column of sentences, by its heading; {} for none.
        width: columns of the terminal.
    """
    lines = aligned_text([[*columns], *zip(*columns.values(), strict=True)]).rstrip("\n").split("\n")
    column = max(map(len, lines)) + 2
    room = max(width - column, LEAST_WIDTH)
    rows, above = [], ""
    sentences = next(([heading, *texts] for heading, texts in last.items()), [""] * len(lines))
    for line, sentence in zip(lines, sentences, strict=True):
        text, above = ("likewise" if sentence == above != "" else sentence), sentence
        first, *rest = wrap(text, room, break_long_words=False) or [""]
        rows += [f"{line.ljust(column)}{first}".rstrip(), *(f"{' ' * column}{more}" for more in rest)]
    return "\n".join(rows)


def html_table(columns: Mapping[str, Sequence[str]]) -> str:
    """Return columns of texts as a table of HTML, as notebooks show it."""
    head = "".join(f"<th>{escape(key)}</th>" for key in columns)
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in zip(*columns.values(), strict=True))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def near(place: Place) -> Place:
    """Return a line with its cell of a notebook, by IPython's number, or with the path from the current folder."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cells = getattr(getattr(shell, "compile", None), "_filename_map", {})  # of IPython's own tracebacks
    path = os.path.relpath(place.file)
    file = "" if place.file in cells else place.file if path.startswith("..") else path
    return place._replace(file=file, cell=cells.get(place.file, place.cell))
