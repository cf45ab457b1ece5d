"""Shared by the benchmarks: programs run in turn, medians, and the lines of the report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent


@dataclass(frozen=True)
class Usage:
    """The cost of one process: wall and processor time in ms, peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def plain_environment(**extra: str) -> dict[str, str]:
    """This environment without what changes how Python starts; bytecode is kept between runs, as pip would have written it."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | extra


def measure(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Usage:
    """Run a program to its end and return its cost, that of the programs that it starts included.

    Raises:
        SystemExit: the program failed; the message has its output.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None  # noqa: S101 for the type checker
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{output.decode(errors='replace')}")
    unit = 2**20 if sys.platform == "darwin" else 2**10  # ru_maxrss is in bytes there, in kB elsewhere
    return Usage(1000 * wall, 1000 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss / unit)


def in_turn(runs: int, *programs: Sequence[str], environment: Mapping[str, str], folder: Path) -> list[Usage]:
    """Medians of several programs that run A B A B ..., after one round that does not count."""
    rounds = [[measure(program, environment, folder) for program in programs] for _ in range(runs + 1)][1:]
    return [
        Usage(*(median(getattr(row[place], what) for row in rounds) for what in ("wall", "cpu", "memory")))
        for place in range(len(programs))
    ]


def workers_in_turn(runs: int, script: str, *interpreters: tuple[str, str]) -> list[dict[str, float]]:
    """Medians of what a script prints as JSON under several (interpreter, argument) pairs that run A B A B ..."""
    results: list[list[dict[str, float]]] = [[] for _ in interpreters]
    for _ in range(runs):
        for place, (interpreter, argument) in enumerate(interpreters):
            results[place].append(_worker(interpreter, script, argument))
    return [{key: median(result[key] for result in of_one) for key in of_one[0]} for of_one in results]


def _worker(interpreter: str, script: str, argument: str) -> dict[str, float]:
    environment = plain_environment(PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    done = subprocess.run(
        [interpreter, str(HERE / script), "--worker", argument],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{interpreter} {script} --worker {argument} failed:\n{done.stderr}")
    answer: Any = json.loads(done.stdout.splitlines()[-1])
    return {str(key): float(value) for key, value in answer.items()}


def report(what: str, ours: float, theirs: float, unit: str, target: float | None = None) -> None:
    """Print one line: both figures, their ratio, and what it should be at most."""
    aim = "" if target is None else f"  target {target:4.2f}  {'met' if ours / theirs <= target else 'MISSED'}"
    print(f"{what:44} gviz {ours:8.2f}  peer {theirs:8.2f} {unit:5} ratio {ours / theirs:5.2f}{aim}", flush=True)


def report_limit(what: str, ours: float, limit: float, unit: str) -> None:
    """Print one line: a figure, and what it should be at most."""
    print(f"{what:44} gviz {ours:8.2f} {unit:19} limit {limit:.0f}  {'met' if ours <= limit else 'MISSED'}", flush=True)
