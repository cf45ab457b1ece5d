"""``gviz inspect``: the leaf / non-leaf table of a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import click

from gviz.cli import streams
from gviz.cli.options import (
    OneOf,
    Source,
    SourceCommand,
    field_option,
    listed_option,
    not_blank,
    not_one_of,
    split_names,
    takes_source,
)
from gviz.cli.reading import Reading, read_source
from gviz.cli.values import refuse_first
from gviz.errors import SourceError
from gviz.graphs import NOW, Place, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.options import BY_MODULE, SourceOptions


def _columns(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Return the columns that are asked for."""
    names = split_names(text or "")
    for name in names:
        if name not in BY_MODULE:
            raise click.BadParameter(not_one_of(name, BY_MODULE))
    return names


@click.command(
    cls=SourceCommand,
    page={
        "The table": "only sort by columns watch json",
        "The source": "root frozen retain values grad-output until engine",
    },
)
@takes_source()
@listed_option(
    "--only",
    example="WORD",
    type=OneOf(("leaf", "nonleaf", "frozen", "none")),
    help="List leaves, non-leaves, what requires no gradient, or what has no gradient (None).",
)
@listed_option(
    "--sort",
    example="WORD",
    type=OneOf(("name", "line", "grad", "size")),
    help="List by name, by line, or the largest gradient or tensor first. [default: as assigned]",
)
@listed_option(
    "--by",
    type=OneOf(("tensor", "module")),
    default="tensor",
    show_default=True,
    help="A row for each tensor, or for each module: what its calls come to, with the modules in it.",
    example="module",
    short="a row for each module",
)
@listed_option(
    "--columns",
    metavar="NAMES",
    callback=_columns,
    help=f"The columns of a table by module, of {', '.join(BY_MODULE)}. [default: all]",
    example="NAMES",
    short="the columns of a table by module",
)
@field_option(SourceOptions, "watch", callback=not_blank)
@listed_option("--json", "as_json", is_flag=True, help="Print the same rows and the graph as JSON.", short="print JSON")
def inspect(
    *,
    source: Source,
    options: SourceOptions,
    only: str | None,
    sort: str | None,
    by: str,
    columns: tuple[str, ...],
    watch: str,
    as_json: bool,
) -> int:
    """List the tensors of SOURCE, or a static graph's operations.

    SOURCE is an expression, a .py script or .ipynb notebook (it is executed), a saved graph .json, or - for
    standard input.

    \b
    Examples:
      gviz inspect "y=(x+w)*(w+1)" x=2 w=1 --retain a
      gviz inspect train.py --json
      gviz inspect train.py --by module --columns params,grad_norm,saved
      gviz inspect train.py --at 12                        # before line 12 runs
      gviz inspect train.py --watch w                      # what changes w

    An expression runs backward first (unless --no-backward). A script's tensors are listed as they were when its last
    backward ran; what came later has a column of its own.
    """
    from gviz.pictures.table import rows_to_list

    own, is_by_module = "--only" if only else "--sort", by == "module"
    refuse_first(
        {
            f"--watch lists the changes of one tensor: {own} is for the table.": watch and (only or sort),
            "--only, --sort and --watch are for a table of tensors.": is_by_module and (only or sort or watch),
            "--columns is for a table by module: --by module": columns and not is_by_module,
        }
    )
    if is_by_module:
        return _print_modules(source, options, columns, as_json=as_json)
    is_script = source.kind == "script"
    changes = watch and is_script  # of an expression there are none, and the table says so
    options = replace(options, watch=watch, lines=not changes, kept=not (as_json or changes), is_whole=as_json)
    reading = read_source(source, options, product_on_stdout=True, rootless=True)
    rows = rows_to_list(reading.graph, only, sort)
    if as_json:
        streams.write_json(_data_of(reading, rows, watch))
    elif reading.changes:
        from gviz.cli.tensors import print_changes

        print_changes(reading)
    else:
        _print_table(reading, rows)
    return reading.status


def _print_modules(source: Source, options: SourceOptions, columns: Sequence[str], *, as_json: bool) -> int:
    """Print a row for each module; SourceError if there is none."""
    from gviz.answers.summary import fact_text, module_columns
    from gviz.cli.table import print_rows

    reading = read_source(source, replace(options, kept=True), product_on_stdout=True)
    facts = module_columns(reading.graph, columns)
    rows = [*zip(*facts.values(), strict=True)]
    if as_json:
        records = [dict(zip(facts, row, strict=True)) for row in rows]
        for record in records:
            if (norm := record.get("grad_norm")) is not None and not isfinite(norm):
                record["grad_norm"] = str(norm)
        streams.write_json(records)
    else:
        cells = [[*map(fact_text, facts, row)] for row in rows]
        print_rows([*facts], cells, whole=("module",))
    return reading.status


def _data_of(reading: Reading, rows: Sequence[TensorRow], watch: str = "") -> dict[str, Any]:
    """Return the table and the graph for JSON.

    Returns:
        ``{"tensors": [...], "graph": {...}, "warnings": [...], "notes": [...], "error": null}``: a tensor has the nine
        keys of its row, and ``expression``, ``line``, ``column`` (of an expression's operation) and so on where there
        is something to tell; the graph is that of ``gviz render -o graph.json``;
        warnings and notes are texts, the error is that of a script that failed. A static graph has ``operations`` in
        place of tensors.
        With a tensor to watch there are ``changes``, and ``left_out`` tells how many are missing in their middle.
    """
    if reading.graph.kind == "static":
        from gviz.cli.tensors import operation_records

        data: dict[str, Any] = {"operations": operation_records(reading.graph)}
    elif watch:
        changes = [
            {
                **_record(row),
                "line": place.line,
                **({"file": file} if (file := where_of(place)) else {}),
                "is_value": is_value,
            }
            for place, row, is_value in reading.changes
        ]
        data = {"changes": changes, "left_out": reading.unlisted}
    else:
        columns = reading.graph.columns()
        places = ({"column": columns[row.name]} if row.name in columns else {} for row in rows)
        data = {"tensors": [{**_record(row), **place} for row, place in zip(rows, places, strict=True)]}
    texts = {
        level: [note.text for note in reading.notes if note.level == level] for level in ("warning", "note", "error")
    }
    talk = {"warnings": texts["warning"], "notes": texts["note"], "error": next(iter(texts["error"]), None)}
    return {**data, "graph": reading.graph.as_dict(), **talk}


def _record(row: TensorRow) -> dict[str, Any]:
    """Return what a row tells: the nine facts that programs look for, and those of its facets that are known."""
    from gviz.pictures.table import recorded_value

    broken, history = row.broken, row.history
    places = {
        "grad_cleared_at": history.grad_cleared,
        "requires_grad_set_at": history.requires_grad_set,
        "autograd_grad_at": history.autograd_grad,
    }
    more: dict[str, Any] = {
        "expression": row.expression,
        "same_as": row.same_as,
        "line": row.place.line if row.place is not None else None,
        "file": where_of(row.place),
        **({} if broken is None else {"cut": broken.reason, "cut_by": broken.call, "cut_from": broken.source}),
        "cut_at": str(broken.place) if broken is not None and broken.place is not None else None,
        "before": _numbers(row.at_backward()[1].before),
        "leaves": list(row.leaves),
        "is_written": row.is_written,
        **{name: str(place) for name, place in places.items() if place is not None},
        "was_used": history.was_used,
        "was_early": history.was_early,
    }
    if row.moment is not None:
        value = None if row.moment.remark == NOW else recorded_value(row)
        then = {"requires_grad": row.required_grad, "is_leaf": row.as_it_was.is_leaf, "grad_fn": row.as_it_was.grad_fn}
        more["at_backward"] = {"value": _numbers(value), "grad": _numbers(row.moment.grad.value)}
        more["at_backward"] |= {name: fact for name, fact in then.items() if fact != getattr(row, name)}
        more["remark"] = row.moment.remark
    return {
        "name": row.name,
        "shape": list(row.shape),
        "dtype": row.dtype,
        "requires_grad": row.requires_grad,
        "is_leaf": row.is_leaf,
        "retains_grad": row.retains_grad,
        "grad_fn": row.grad_fn,
        "value": _numbers(row.numbers),
        "grad": _numbers(row.grad.value),
        **{name: fact for name, fact in more.items() if not (fact is None or fact is False or fact in ("", []))},
    }


def _numbers(numbers: Numbers | None) -> Any:
    """Return numbers for JSON; None for none."""
    return None if numbers is None else numbers.jsonable()


def where_of(place: Place | None) -> str:
    """Return the file of a place, or its cell, if it is not the source itself."""
    return "" if place is None else place.file or (f"cell {place.cell}" if place.cell else "")


def _print_table(reading: Reading, rows: Sequence[TensorRow]) -> None:
    """Print the table; SourceError if there is nothing to list."""
    from gviz.cli.tensors import print_tensors, show_operations
    from gviz.pictures.table import settled_rows

    if reading.graph.kind == "static":
        show_operations(reading.graph)
        return
    if not reading.graph.tensors:
        raise SourceError("there are no named tensors to list")
    if not rows:
        raise SourceError("none of the tensors is of that kind: see the table without --only")
    print_tensors(reading, settled_rows(reading.graph, rows))
