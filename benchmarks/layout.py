"""Pictures of large graphs, whole processes: saved graphs of chance from 100 to 1,000,000 operations, a loop, a row, a mesh."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from cold import gviz
from measure import in_turn, measure, plain_environment, report, report_limit

CURVE: Mapping[int, float] = {100: 1.0, 300: 1.0, 1_000: 1.5, 10_000: 4.0, 100_000: 30.0, 1_000_000: 600.0}
"""Seconds that a graph of so many operations may take; the last is there to see that it ends."""

MEMORY, MEASURED = 1_024.0, 100_000
"""Megabytes that a graph of so many operations may take."""

NEAR = 50
"""How many operations before it the ones are that an operation uses, on average."""

Ends = tuple[int, int]


def chance(count: int) -> Iterable[Ends]:
    """Yield the lines of operations that use one or two others near by, which is a tangle."""
    draw = random.Random(count)  # noqa: S311 - a graph, not a key
    for number in range(1, count):
        for _ in range(1 if draw.random() < 0.4 else 2):
            yield max(0, number - 1 - int(draw.expovariate(1 / NEAR))), number


def mesh(width: int, rows: int) -> Iterable[Ends]:
    """Yield the lines of rows in which each uses two of the row before."""
    for row in range(rows):
        for column in range(width):
            for right in (0, 1):
                yield row * width + (column + right) % width, (row + 1) * width + column


def recurrent(steps: int) -> Iterable[Ends]:
    """Yield the lines of an RNN of three operations a step with three parameters."""
    for step in range(steps):
        first = 3 + 3 * step
        yield from [(0, first), (1, first + 1), (first, first + 1), (2, first + 2), (first + 1, first + 2)]
        if step:
            yield first - 1, first


def beside(count: int) -> Iterable[Ends]:
    """Yield the lines of operations side by side, three in a chain, from one leaf to one sum."""
    for number in range(count // 3):
        first = 1 + 3 * number
        yield from [(0, first), (first, first + 1), (first + 1, first + 2), (first + 2, count + 1)]


UNITS: Mapping[str, tuple[Iterable[Ends], float]] = {
    "RNN of 300 steps": (recurrent(300), 3.0),
    "3,000 operations side by side": (beside(3_000), 5.0),
    "mesh of 33,000": (mesh(100, 330), 30.0),
}
"""Graphs, and how many times as long as a cold picture of four operations they may take."""


def run(_torch: str, runs: int = 1) -> None:
    """Print the seconds of processor time of each, and its peak memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        environment = plain_environment(HOME=str(folder / "home"))
        program = gviz()[0]
        formula = [program, "render", "y=(x+w)*(w+1)", "x=2", "w=1", "-o", "y.svg"]
        unit = in_turn(runs, formula, environment=environment, folder=folder)[0].cpu / 1000
        for what, (lines, limit) in UNITS.items():
            (folder / "graph.json").write_text(saved(lines))
            words = [program, "render", "graph.json", "-o", "graph.svg"]
            usage = in_turn(runs, words, environment=environment, folder=folder)[0]
            report(what, usage.cpu / 1000, unit, "s", limit)
        for count, seconds in CURVE.items():
            (folder / "graph.json").write_text(saved(chance(count)))
            words = [program, "render", "graph.json", "-o", "graph.svg"]
            usage = measure(words, environment, folder)
            report_limit(f"{count:,} operations to SVG", usage.cpu / 1000, seconds, "s")
            if count == MEASURED:
                report_limit(f"{count:,} operations, memory", usage.memory, MEMORY, "MB")


def saved(lines: Iterable[Ends]) -> str:
    """Return a graph of operations with these lines between them, as gviz saves it."""
    ends = list(lines)
    inputs: dict[int, int] = {}
    edges = []
    for source, target in ends:
        edges.append({"source": f"n{source}", "target": f"n{target}", "slot": inputs.get(target, 0)})
        inputs[target] = inputs.get(target, 0) + 1
    used = {source for source, _ in ends}
    count = 1 + max(max(pair) for pair in ends)
    nodes = [
        {
            "id": f"n{number}",
            "kind": "operation",
            "label": f"Op{number % 7}Backward0",
            "recorded": {"slots": inputs[number]},
        }
        if number in inputs
        else {"id": f"n{number}", "kind": "leaf", "name": f"v{number}"}
        for number in range(count)
    ]
    roots = [f"n{number}" for number in range(count) if number not in used]
    return json.dumps(
        {"format": "gviz-graph", "version": 2, "roots": roots, "nodes": nodes, "edges": edges, "tensors": []}
    )
