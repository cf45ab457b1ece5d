"""Comparisons as text, with a bar for each form, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import chain
from statistics import median
from textwrap import fill
from typing import Any

from gviz.compare.measuring import Agreement, Comparison
from gviz.compare.picture import bars, seconds, total
from gviz.compare.scripts import ScriptComparison
from gviz.text import aligned_text, amount, joined

HOW = (
    "Times are of this machine: for a run the median after a warm-up, both forms in turn; for building the shortest.",
    "Python's garbage collector is on.",
    (
        "A static run feeds the planned graph; "
        "a dynamic run makes the leaves, computes, goes backward and drops its graph."
    ),
    "No time includes reading the expression. To build is to define the graph, its derivatives and the plan.",
)
"""The way of taking the times."""

HOW_SCRIPTS = (
    "Each script ran once, and these are the times of its own runs, on this machine.",
    "A static run is a call of Session.run; the first one plans the graph.",
    (
        "A dynamic run is a call of backward() or autograd.grad(), timed from the moment its first operation is recorded."
    ),
    "A later run is the median of all but the first. Until the first run: from the first operation of the graph on.",
    "Of few runs most is what is done for the first time; gviz compare of an expression times many.",
)
"""The way of counting and timing the runs of scripts."""

FORMS = ("static", "dynamic")

NARROWEST = 20
"""Columns of a sentence, however narrow the terminal is."""


def as_text(comparisons: Sequence[Comparison], width: int, block: str = "█") -> str:
    """Return a table and bars for each program, in lines of that width."""
    parts = [program_text(comparison, width, block) for comparison in comparisons]
    return "\n".join([*parts, *(fill(line, max(width, NARROWEST)) for line in HOW)]) + "\n"


def program_text(comparison: Comparison, width: int, block: str) -> str:
    """Return the text on one program."""
    pair, runs, size = comparison.pair, len(comparison.pair.feeds), len(comparison.static.graph.operations)
    rows = [
        ("", "static", "dynamic"),
        ("graphs built", "1", str(runs) if pair.picture is not None else "none kept"),
        ("runs", str(runs), str(runs)),
        ("operations each", str(size), str(pair.recorded)),
        ("operations in all", str(size), str(runs * pair.recorded)),
        ("computed a run", str(comparison.static.computed), str(pair.computed)),
        ("build and plan", seconds(comparison.build), "in each run"),
        ("a run takes", seconds(comparison.static_run), seconds(comparison.dynamic_run)),
    ]
    sentences = [f"static / dynamic: {comparison.ratio:.2g}; {paid(comparison)}.", same(comparison.numbers)]
    if pair.in_tensorflow:
        sentences.append(f"In the real TensorFlow (measured elsewhere, not here) {pair.in_tensorflow}.")
    head, *tail = [fill(line, max(width, NARROWEST)) for line in (f"{pair.title}: {pair.computes}", *sentences)]
    return "\n".join([head, "", aligned_text(rows), *bars(comparison, width, block), "", *tail, ""])


def scripts_text(comparison: ScriptComparison, width: int) -> str:
    """Return the text on two scripts, in lines of that width."""
    static, dynamic = comparison.static, comparison.dynamic
    rows = [
        ("", "static", "dynamic"),
        ("script", *comparison.files),
        ("graphs built", str(len(static.operations)), str(len(dynamic.operations))),
        ("runs", str(len(static.times)), str(len(dynamic.times))),
        ("operations", str(static.operations[0]), total(dynamic.operations)),
        ("until the first run", time_text([static.build or 0.0]), "built in each run"),
        ("the first run takes", time_text(static.times[:1]), time_text(dynamic.times[:1])),
        ("a later run takes", time_text(static.times[1:]), time_text(dynamic.times[1:])),
    ]
    sentences = [fill(line, max(width, NARROWEST)) for line in (results_text(comparison), *HOW_SCRIPTS)]
    return "\n".join([aligned_text(rows), *sentences, ""])


def time_text(times: Sequence[float]) -> str:
    """Return the median of times; nothing for none."""
    return seconds(median(times)) if times else "-"


def results_text(comparison: ScriptComparison) -> str:
    """Return what was compared, and whether it is the same."""
    if not comparison.names:
        return "No result of a run has the same name in both scripts, so that no numbers were compared."
    ours, theirs = comparison.runs
    some = f" (the scripts have {ours} and {theirs})" if ours != theirs else ""
    what = f"{joined(comparison.names)} in {amount(min(ours, theirs), 'run')}{some}"
    own, other = ({*chain.from_iterable(side.results)} for side in (comparison.static, comparison.dynamic))
    left_out = sorted((own & other).difference(comparison.names))
    apart = f" No run of the same number has {joined(left_out)} in both scripts." if left_out else ""
    return f"Compared are {what}. {same(comparison.numbers)}{apart}"


def paid(comparison: Comparison) -> str:
    """Return after how many runs building has paid."""
    count = comparison.paid_after
    never = "building does not pay, because a static run is not faster"
    return never if count is None else f"building has paid after {count} run{'s' * (count != 1)}"


def same(numbers: Agreement) -> str:
    """Return whether the numbers are the same."""
    if numbers.differs is not None:
        return (
            f"The numbers are NOT the same, first in run {numbers.differs}: {numbers.where}; "
            f"the relative difference is {numbers.largest:.2g}. "
            "TensorFlow and PyTorch define a few derivatives differently, as of maximum(a, a)."
        )
    odd = f" ({numbers.not_finite} of them nan or inf)" if numbers.not_finite else ""
    return (
        f"Both give the same numbers: "
        f"{numbers.values} compared{odd}, the largest relative difference is {numbers.largest:.1g}."
    )


def as_json(comparisons: Sequence[Comparison]) -> str:
    """Return all numbers, times in seconds."""
    record = {"comparisons": list(map(as_dict, comparisons)), "notes": HOW}
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def scripts_json(comparison: ScriptComparison) -> str:
    """Return all that is known of two scripts, times in seconds."""
    numbers, sides = comparison.numbers, (comparison.static, comparison.dynamic)
    record: dict[str, Any] = {
        "same": numbers.differs is None if comparison.names else None,
        "compared": numbers.values,
        "results": comparison.names,
        "runs": min(comparison.runs),
        "largest_difference": numbers.largest if math.isfinite(numbers.largest) else "inf",
        "first_that_differs": numbers.differs,
    }
    for form, file, side in zip(FORMS, comparison.files, sides, strict=True):
        record[form] = {
            "script": file,
            "graphs": len(side.operations),
            "operations": side.operations,
            "operations_in_all": sum(side.operations),
            "build": side.build,
            "runs": side.times,
        }
    return json.dumps({**record, "notes": HOW_SCRIPTS}, ensure_ascii=False, indent=1) + "\n"


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the record of one program."""
    pair, static, numbers = comparison.pair, comparison.static, comparison.numbers
    runs = len(pair.feeds)
    return {
        "program": pair.title,
        "computes": pair.computes,
        "runs": runs,
        "same": numbers.differs is None,
        "compared": numbers.values,
        "largest_difference": numbers.largest if math.isfinite(numbers.largest) else "inf",
        "first_that_differs": numbers.differs,
        "static": {
            **counts(1, len(static.graph.operations), static.computed),
            "build": comparison.build,
            "run": comparison.static_run,
        },
        "dynamic": {**counts(runs, pair.recorded, pair.computed), "run": comparison.dynamic_run},
        "ratio": comparison.ratio,
        "paid_after": comparison.paid_after,
        "in_tensorflow": pair.in_tensorflow or None,
    }


def counts(graphs: int, operations: int, computed: int) -> dict[str, int]:
    """Return the graphs and operations of a form."""
    return {"graphs": graphs, "operations": operations, "operations_in_all": graphs * operations, "computed": computed}
