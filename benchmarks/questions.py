"""Questions to models on torch: a program that trains and asks, beside the same program that only trains."""

from __future__ import annotations

import inspect
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import HERE, ROOT, Usage, measure, plain_environment
from watch import MODELS, one_step

STEPS, ROUNDS = 10, 3

KINDS = ("why", "why of nan", "watch", "summary", "diff")
"""What a program asks in the end, or in its steps."""

COMMAND = "why SCRIPT"
"""The question that a command asks of a script that only trains."""

TIME, MEMORY = 2.0, 1.3
"""What a program with a question may take, in parts of that without it."""

SCRIPT = """\
from __future__ import annotations

from itertools import pairwise

import torch

torch.set_num_threads(1)
torch.manual_seed(0)


{functions}

models, step, loss_of = {name}(torch)
for _ in range({steps}):
    step()
"""
"""A script that makes a model and trains it, as people have it: all in one file."""


def run(torch: str) -> None:
    """Print the ratios of processor time and of peak memory for each model: the least of some rounds, which alternate."""
    environment = plain_environment(PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as folder:
        for name in [one for one in MODELS if one != "perceptron"]:
            script = Path(folder, f"{MODELS[name].__name__}.py")
            script.write_text(script_of(name))
            commands = {kind: [torch, str(HERE / "questions.py"), "--worker", name, kind] for kind in ("plain", *KINDS)}
            commands |= {
                "script": [torch, str(script)],
                COMMAND: [torch, "-m", "gviz", "why", str(script), "--engine", "torch"],
            }
            rounds: dict[str, list[Usage]] = {kind: [] for kind in commands}
            for _ in range(ROUNDS):
                for kind, command in commands.items():
                    rounds[kind].append(measure(command, environment, Path(folder)))
            for kind in (*KINDS, COMMAND):
                report(f"{name}, {kind}", least(rounds[kind]), least(rounds["script" if kind == COMMAND else "plain"]))


def script_of(name: str) -> str:
    """Return the script that trains a model."""
    functions = "\n\n".join(inspect.getsource(one) for one in (one_step, MODELS[name]))
    return SCRIPT.format(functions=functions, name=MODELS[name].__name__, steps=STEPS)


def least(usages: list[Usage]) -> Usage:
    """Return the least of each cost."""
    return Usage(*(min(getattr(one, what) for one in usages) for what in ("wall", "cpu", "memory")))


def report(what: str, asked: Usage, plain: Usage) -> None:
    """Print a line: processor time and memory with the question, those without it, and their ratios."""
    time, memory = asked.cpu / plain.cpu, asked.memory / plain.memory
    verdict = "met" if time <= TIME and memory <= MEMORY else "MISSED"
    figures = f"{asked.cpu / 1000:6.2f} of {plain.cpu / 1000:6.2f} s {time:5.2f}"
    sizes = f"{asked.memory:5.0f} of {plain.memory:5.0f} MB {memory:5.2f}"
    print(f"{what:24} {figures}   {sizes}   targets {TIME}, {MEMORY}  {verdict}", flush=True)


def worker(name: str, kind: str) -> None:
    """Train a model, and ask in the end; or watch it."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    models, step, loss_of = MODELS[name](torch)
    if kind == "watch":
        import gviz

        with gviz.watch(models):
            train(step)
        return
    train(step)
    loss, model = loss_of(), torch.nn.ModuleDict({key or "net": one for key, one in models.items()})
    if kind == "plain":
        return
    import gviz

    if kind == "diff":
        str(gviz.graph(loss, model=model).diff(gviz.graph(loss_of(), model=model)))
    elif kind == "summary":
        str(gviz.summary(loss, model))
    else:
        str(gviz.why(loss * torch.log(loss - loss.detach()) if kind == "why of nan" else loss, model))


def train(step: Any) -> None:
    """Make some steps."""
    for _ in range(STEPS):
        step()


if __name__ == "__main__":
    worker(sys.argv[2], sys.argv[3])
