"""Folds say all that the whole graph says: graphs that repeat, changed at random, are unfolded and compared."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from fuzzing import seeds
from repeating import FAMILIES, mutated, program
from unfolding import assert_unfolds

from gviz.graphs import Graph
from gviz.passes import wires
from gviz.passes.fold import Folding


def boxes_saved(make: Callable[[Random], Graph], numbers: list[int]) -> int:
    """Fold changed graphs, compare each with what it unfolds to, and return how many nodes are not drawn in all."""
    saved = 0
    for seed in numbers:
        random = Random(seed)  # noqa: S311 - a test's
        folding = Folding(mutated(make(random), random))
        try:
            assert_unfolds(folding)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        assert Graph.from_json(folding.folded.to_json()) == folding.folded
        saved += len(folding.graph.nodes) - len(folding.folded.nodes)
    return saved


@pytest.mark.fuzz
@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_a_folded_graph_unfolds_to_the_whole_one(family: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "MOST_PAIRS", 1000)
    numbers = seeds(80)
    assert boxes_saved(FAMILIES[family], [1000 * family + seed for seed in numbers]) > 3 * len(numbers)


@pytest.mark.fuzz
def test_a_program_of_loops_inside_loops_unfolds_to_the_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "MOST_PAIRS", 100_000)
    numbers = seeds(250)
    assert boxes_saved(program, numbers) > 3 * len(numbers)
