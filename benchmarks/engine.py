"""The engine beside torch eager: a chain of small operations, built and run backward, and the memory that it keeps."""

from __future__ import annotations

import gc
import json
import sys
from importlib import import_module
from statistics import median
from time import perf_counter
from typing import Any

from measure import report, workers_in_turn

OPERATIONS = 3
"""Recorded operations in one turn of the chain: a product, a sum, a tanh."""

SIZES = {"1": ((1,), 2000), "64x64": ((64, 64), 300), "512x512": ((512, 512), 20)}
"""Name -> shape of the tensors and turns of the chain."""

MEMORY_TURNS = 30_000
ROUNDS = 15
STEPS = 300


def run(torch: str, runs: int = 3) -> None:
    """Print forward, backward and memory per operation of both."""
    ours, theirs = workers_in_turn(runs, "engine.py", (sys.executable, "gviz.engine"), (torch, "torch"))
    our_memory, their_memory = workers_in_turn(
        runs, "engine.py", (sys.executable, "gviz.engine memory"), (torch, "torch memory")
    )
    targets = {"1": (0.6, 0.4), "64x64": (0.5, 0.6), "512x512": (1.0, 1.3)}
    for name, (forward, backward) in targets.items():
        report(f"forward, {name}, per operation", ours[f"{name} forward"], theirs[f"{name} forward"], "us", forward)
        report(f"backward, {name}, per operation", ours[f"{name} backward"], theirs[f"{name} backward"], "us", backward)
    report("a training step of 64-64-10, Adam", ours["step"], theirs["step"], "us", 1.2)
    report("memory of a recorded operation, 1 element", our_memory["memory"], their_memory["memory"], "bytes", 0.35)


def worker(task: str) -> dict[str, float]:
    """Time this process's engine: microseconds per operation, the best of some rounds; with ``memory``: bytes."""
    engine, _, memory = task.partition(" ")
    torch: Any = import_module(engine)
    if engine == "torch":
        torch.set_num_threads(1)
    if memory:
        return {"memory": _memory(torch)}
    result = {}
    for name, (shape, turns) in SIZES.items():
        times = [_round(torch, shape, turns) for _ in range(ROUNDS)]
        result[f"{name} forward"] = min(forward for forward, _ in times)
        result[f"{name} backward"] = min(backward for _, backward in times)
    return result | {"step": _step(torch)}


def _round(torch: Any, shape: tuple[int, ...], turns: int) -> tuple[float, float]:
    x = torch.full(shape, 0.5, requires_grad=True)
    w = torch.full(shape, 0.9, requires_grad=True)
    start = perf_counter()
    y = _chain(x, w, turns)
    middle = perf_counter()
    y.backward(torch.ones(shape))
    end = perf_counter()
    unit = 1e6 / (turns * OPERATIONS)
    return (middle - start) * unit, (end - middle) * unit


def _chain(x: Any, w: Any, turns: int) -> Any:
    y = x
    for _ in range(turns):
        y = (y * w + x).tanh()
    return y


def _step(torch: Any) -> float:
    """Time a training step of a network of 64, 64 and 10 units, batches of 32, Adam: microseconds, the median."""
    nn, optim, functional = (import_module(f"{torch.__name__}.{name}") for name in ("nn", "optim", "nn.functional"))
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    times = []
    for _ in range(STEPS):
        start = perf_counter()
        optimizer.zero_grad()
        functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        times.append((perf_counter() - start) * 1e6)
    return median(times)


def _memory(torch: Any) -> float:
    """Bytes that a recorded operation keeps: what this process grows by while a long chain is built."""
    x = torch.full((1,), 0.5, requires_grad=True)
    w = torch.full((1,), 0.9, requires_grad=True)
    _chain(x, w, 100)
    gc.collect()
    before = _resident()
    y = _chain(x, w, MEMORY_TURNS)
    grown = _resident() - before
    del y
    return grown / (MEMORY_TURNS * OPERATIONS)


def _resident() -> int:
    """Bytes of memory that this process has now (Linux); elsewhere its peak so far."""
    import os
    import resource

    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[2])))
