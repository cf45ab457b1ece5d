"""Random programs on gviz's engine and on real PyTorch, statement by statement; ``torch_parity.py`` prints differences."""

from __future__ import annotations

import os
import time

import pytest
from torch_parity import TOPICS, Difference, run

from gviz import engine

PROGRAMS = int(os.environ.get("GVIZ_PROGRAMS", "100"))
SEED = int(os.environ.get("GVIZ_SEED", str(int(time.time()))))
"""Programs are new in each run; a failure names its seeds, and GVIZ_SEED=... makes the same programs again."""
KNOWN = 0.01
"""The share of programs that may differ: the rest of PyTorch's own oddities.

Some of it: a hook on a lone root runs though nothing that is wanted lies below it; a gradient that is a view of the given one
requires a gradient as that does; gradients of a layer norm that are nothing but rounding; writing to expanded gradients; a
logsumexp over no dims; what is said of an ``out`` of another dtype; softmax of no integers at all; points of two dtypes in
lerp; among wrong calls, 0-d tensors of floats where a whole number belongs.
"""


@pytest.mark.torch
@pytest.mark.parametrize("topic", TOPICS)
def test_programs_do_the_same_as_in_pytorch(topic: str) -> None:
    torch = pytest.importorskip("torch")
    differing = []
    for seed in range(SEED, SEED + PROGRAMS):
        try:
            run(torch, engine, seed, topic)
        except Difference as difference:
            differing.append(f"seed {seed}: {difference}")
    most = max(KNOWN * PROGRAMS, 2)
    assert len(differing) <= most, "\n".join(
        [f"{len(differing)} of {PROGRAMS} from GVIZ_SEED={SEED} differ", *differing[:5]]
    )
