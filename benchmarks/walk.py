"""Walk and DOT text of a recorded chain, beside torchviz's ``make_dot``."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from statistics import median
from time import perf_counter
from typing import Any

from measure import report, report_limit, workers_in_turn

MANY = 100_000
SOME = 10_000


def run(torch: str, runs: int = 3) -> None:
    """Print the time for 100,000 operations, and both times for 10,000."""
    ours, theirs = workers_in_turn(runs, "walk.py", (sys.executable, "gviz"), (torch, "torchviz"))
    report_limit(f"walk and DOT, {MANY:,} operations", ours["many"], 2, "s")
    report(f"walk and DOT, {SOME:,} operations", 1000 * ours["some"], 1000 * theirs["some"], "ms", 0.50)
    report(f"make_dot, {SOME:,} operations", 1000 * ours["make_dot"], 1000 * theirs["some"], "ms", 0.70)


def worker(who: str) -> dict[str, float]:
    """Time this process's walk: seconds."""
    if who == "torchviz":
        return {"some": median(_make_dot("torch", "torchviz") for _ in range(5))}
    result = {"some": median(_gviz(SOME) for _ in range(5)), "many": median(_gviz(MANY) for _ in range(3))}
    result["make_dot"] = median(_make_dot("gviz.engine", "gviz") for _ in range(5))
    return result


def _chain(torch: Any, operations: int) -> tuple[Any, Any]:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(operations):
        y = y + x
    return x, y


def _gviz(operations: int) -> float:
    from gviz import engine
    from gviz.render import RenderOptions, render
    from gviz.walk import walk

    x, y = _chain(engine, operations)
    start = perf_counter()
    text = render(walk({"y": y}, {"x": x, "y": y}), "dot", RenderOptions(show=(), format="dot"))
    took = perf_counter() - start
    if str(text).count("AddBackward0") < operations:
        raise SystemExit("the DOT text is not whole")
    return took


def _make_dot(library: str, drawer: str) -> float:
    torch, make_dot = import_module(library), import_module(drawer).make_dot
    sys.setrecursionlimit(10 * SOME)  # TorchViz recurses, a call for each operation
    x, y = _chain(torch, SOME)
    start = perf_counter()
    text = make_dot(y, params={"x": x, "y": y}).source
    took = perf_counter() - start
    if text.count("AddBackward0") < SOME:
        raise SystemExit("the DOT text is not whole")
    return took


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[2])))
