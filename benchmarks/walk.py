"""Walk and DOT text of a recorded chain, beside torchviz's ``make_dot``."""

from __future__ import annotations

import json
import sys
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


def worker(who: str) -> dict[str, float]:
    """Time this process's walk: seconds."""
    draw = {"gviz": _gviz, "torchviz": _torchviz}[who]
    result = {"some": median(draw(SOME) for _ in range(5))}
    if who == "gviz":
        result["many"] = median(draw(MANY) for _ in range(3))
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


def _torchviz(operations: int) -> float:
    import torch
    from torchviz import make_dot

    sys.setrecursionlimit(10 * operations)  # it recurses, a call for each operation
    x, y = _chain(torch, operations)
    start = perf_counter()
    text = make_dot(y, params={"x": x, "y": y}).source
    took = perf_counter() - start
    if text.count("AddBackward0") < operations:
        raise SystemExit("the DOT text is not whole")
    return took


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[2])))
