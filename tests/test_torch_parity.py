"""Random programs on gviz's engine and on real PyTorch, statement by statement; ``torch_parity.py`` prints differences."""

from __future__ import annotations

import pytest
from torch_parity import TOPICS, Difference, run

from gviz import engine

PROGRAMS = 200
KNOWN = 0.01
"""The share of programs that may differ: the rest of PyTorch's own oddities, named in torch_parity.py."""


@pytest.mark.torch
@pytest.mark.parametrize("topic", TOPICS)
def test_programs_do_the_same_as_in_pytorch(topic: str) -> None:
    torch = pytest.importorskip("torch")
    differing = []
    for seed in range(PROGRAMS):
        try:
            run(torch, engine, seed, topic)
        except Difference as difference:
            differing.append(f"seed {seed}: {difference}")
    assert len(differing) <= KNOWN * PROGRAMS, "\n".join(differing[:5])
