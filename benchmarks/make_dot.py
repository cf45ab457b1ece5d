"""``gviz.make_dot`` beside torchviz's on graphs of models that torch recorded: those of the tests with more than 50 boxes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from measure import HERE, ROOT, plain_environment, report

LARGE = 50
ROUNDS = 15


def run(torch: str) -> None:
    """Print the ratio for each model and set of options."""
    environment = plain_environment(PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
    command = [torch, str(HERE / "make_dot.py"), "--worker"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    times: dict[str, tuple[float, float]] = json.loads(done.stdout)
    for name, (ours, theirs) in times.items():
        report(f"make_dot, {name}", ours, theirs, "ms", 1.0)
    largest = max(times.values(), key=lambda one: one[0] / one[1])
    report(f"make_dot, the largest ratio of {len(times)}", *largest, "ms", 1.0)


def worker() -> dict[str, tuple[float, float]]:
    """Return the processor times of a picture's text, gviz's and torchviz's, in ms: the best of rounds that alternate."""
    import torch
    import torchviz

    import gviz

    warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT / "tests"))
    cases = import_module("torchviz_models")
    best: dict[str, tuple[float, float]] = {}
    for name, model in cases.MODELS.items():
        call = model(torch)
        for options, words in cases.OPTIONS.items():
            text = gviz.make_dot(**call, **words).source
            boxes = text.count(" [label=")
            if boxes > LARGE:
                rounds = [
                    (milliseconds(gviz.make_dot, **call, **words), milliseconds(torchviz.make_dot, **call, **words))
                    for _ in range(ROUNDS)
                ]
                best[f"{name}, {options}, {boxes} boxes"] = (min(a for a, _ in rounds), min(b for _, b in rounds))
    return best


def milliseconds(make_dot: Callable[..., Any], **call: Any) -> float:
    """Return the processor time of a call, and of its text."""
    start = time.process_time()
    make_dot(**call).source  # noqa: B018 the text is made here
    return 1000 * (time.process_time() - start)


if __name__ == "__main__":
    print(json.dumps(worker()))
