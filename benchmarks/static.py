"""Static graphs beside numpy written by hand, the dynamic engine, torch eager, and TensorFlow where it is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import timeit
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from measure import plain_environment, report, workers_in_turn

VALUES = {"a": 2.0, "b": 3.0, "c": 5.0, "d": 10.0}
SIZE, TURNS = 1000, 10
"""Elements of the long expression, and its turns of three operations."""
ROUNDS = 7


def run(torch: str, runs: int = 3) -> None:
    """Print a run's time beside each of the others, and how many runs pay for making the plan."""
    names = [(sys.executable, "gviz"), (torch, "torch")]
    if (
        subprocess.run(
            [torch, "-c", "import tensorflow"], capture_output=True, env=plain_environment(), check=False
        ).returncode
        == 0
    ):
        names.append((torch, "tensorflow"))
    ours, *others = workers_in_turn(runs, "static.py", *names)
    report("e = a*b + log(d)*c, 4 gradients / rebuilt", ours["small"], ours["small dynamic"], "us", 0.35)
    report("30 operations, 1000 elements / numpy", ours["long"], ours["long numpy"], "us", 1.3)
    for (_, name), theirs in zip(names[1:], others, strict=True):
        report(f"e with 4 gradients / {name}", ours["small"], theirs["small"], "us")
        report(f"30 operations, 1000 elements / {name}", ours["long"], theirs["long"], "us")
    saved = ours["small dynamic"] - ours["small"]
    print(
        f"building and planning e with 4 gradients     gviz {ours['build']:8.0f} us: paid for after "
        f"{ours['build'] / saved:.0f} runs that would else rebuild; over 1000 runs {ours['build'] / 1000:.2f} us a run"
    )


def expression(log: Callable[[Any], Any], inputs: list[Any]) -> Any:
    """The article's expression."""
    a, b, c, d = inputs
    return a * b + log(d) * c


def long_expression(x: Any) -> Any:
    """Thirty elementwise operations."""
    y = x
    for _ in range(TURNS):
        y = (y * x + x) - x
    return y


def timed(function: Callable[[], Any], number: int) -> float:
    """The best of some rounds, in microseconds a call."""
    return min(timeit.repeat(function, number=number, repeat=ROUNDS)) / number * 1e6


def data() -> Any:
    """The long expression's input."""
    return np.random.default_rng(0).random(SIZE, dtype=np.float32)


def of_static(module: str) -> dict[str, float]:
    """Build once and run often, with gviz or TensorFlow."""
    tf: Any = import_module(module)
    if module != "gviz.static":
        tf.disable_v2_behavior()

    def build() -> tuple[Any, list[Any], dict[Any, float]]:
        with tf.Graph().as_default():
            inputs = [tf.placeholder(tf.float32, name=name) for name in VALUES]
            e = expression(tf.log, inputs)
            fetches = [e, *tf.gradients(e, inputs)]
            feeds = dict(zip(inputs, VALUES.values(), strict=True))
            session = tf.Session()
            session.run(fetches, feeds)
        return session, fetches, feeds

    session, fetches, feeds = build()
    times = {"build": timed(build, 20), "small": timed(lambda: session.run(fetches, feeds), 3000)}
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [SIZE])
        y = long_expression(x)
        session = tf.Session()
    feeds = {x: data()}
    return times | {"long": timed(lambda: session.run(y, feeds), 1000)}


def of_dynamic(module: str) -> dict[str, float]:
    """Build anew each time, with gviz or torch."""
    torch: Any = import_module(module)
    if module == "torch":
        torch.set_num_threads(1)

    def small() -> Any:
        leaves = [torch.tensor(v, requires_grad=True) for v in VALUES.values()]
        e = expression(torch.log, leaves)
        e.backward()
        return [e, *(leaf.grad for leaf in leaves)]

    x = torch.tensor(data())
    return {"small": timed(small, 1000), "long": timed(lambda: long_expression(x), 1000)}


def worker(name: str) -> dict[str, float]:
    """Time what this process is for: microseconds a run."""
    if name == "torch":
        return of_dynamic("torch")
    if name == "tensorflow":
        return of_static("tensorflow.compat.v1")
    x = data()
    dynamic = of_dynamic("gviz.engine")
    both = {"small dynamic": dynamic["small"], "long dynamic": dynamic["long"]}
    return of_static("gviz.static") | both | {"long numpy": timed(lambda: long_expression(x), 1000)}


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[2])))
