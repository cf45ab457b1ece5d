"""Comparisons as text, with a bar for each form, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from textwrap import fill
from typing import Any

from gviz.compare import Comparison
from gviz.compare.picture import bars, seconds
from gviz.text import aligned_text

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
    sentences = [f"static / dynamic: {comparison.ratio:.2g}; {paid(comparison)}.", same(comparison)]
    if pair.in_tensorflow:
        sentences.append(f"In the real TensorFlow (measured elsewhere, not here) {pair.in_tensorflow}.")
    head, *tail = [fill(line, max(width, NARROWEST)) for line in (f"{pair.title}: {pair.computes}", *sentences)]
    return "\n".join([head, "", aligned_text(rows), *bars(comparison, width, block), "", *tail, ""])


def paid(comparison: Comparison) -> str:
    """Return after how many runs building has paid."""
    count = comparison.paid_after
    never = "building does not pay, because a static run is not faster"
    return never if count is None else f"building has paid after {count} run{'s' * (count != 1)}"


def same(comparison: Comparison) -> str:
    """Return whether the numbers are the same."""
    if comparison.differs is not None:
        return (
            f"The numbers are NOT the same, first in run {comparison.differs}: {comparison.where}; "
            f"the relative difference is {comparison.largest:.2g}. "
            "TensorFlow and PyTorch define a few derivatives differently, as of maximum(a, a)."
        )
    return (
        f"Both give the same numbers: "
        f"{comparison.values} compared, the largest relative difference is {comparison.largest:.1g}."
    )


def as_json(comparisons: Sequence[Comparison]) -> str:
    """Return all numbers, times in seconds."""
    record = {"comparisons": list(map(as_dict, comparisons)), "notes": HOW}
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the record of one program."""
    pair, static, runs = comparison.pair, comparison.static, len(comparison.pair.feeds)
    return {
        "program": pair.title,
        "computes": pair.computes,
        "runs": runs,
        "same": comparison.differs is None,
        "compared": comparison.values,
        "largest_difference": comparison.largest if math.isfinite(comparison.largest) else "inf",
        "first_that_differs": comparison.differs,
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
