"""One program as a static graph and as dynamic ones: built, run, timed, and compared.

Static: one graph of the root and its derivatives is defined, planned once, and fed again and again. Dynamic: the engine
records a graph anew in each run, goes backward through it, and drops it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from gviz import engine
from gviz.errors import SourceError
from gviz.graphs import Graph
from gviz.static.errors import OpError
from gviz.static.types import Value
from gviz.text import excerpt

SHORT = 2e-4
"""Seconds that are timed in one go: short, so that few goes are hit when another process gets the processor."""

SECONDS = 0.4
"""The time that both are timed together."""

GOES = (5, 3000)
"""The least and the most goes of each that are timed."""

BUILDS = 15
"""Builds that are timed, after a first one."""


@dataclass(frozen=True)
class Static:
    """A static graph, ready to be run.

    Args:
        graph: a ``gviz.static.Graph``.
        run: a feed's values -> the root's value and its derivatives (None if the root does not depend on it), as
            arrays.
        computed: the operations that a run computes.
    """

    graph: Any
    run: Callable[[Sequence[Any]], list[Any]]
    computed: int


@dataclass(frozen=True)
class ProgramPair:
    """A program in both forms.

    Args:
        title: its text.
        computes: its results, as in "the value and the gradients of a, b".
        build: makes the static graph and its plan.
        run: a feed's values -> the root's value and its derivatives, as the engine's tensors; a new graph each time.
        feeds: the values of each run.
        recorded: the operations that a run records.
        computed: those that it computes.
        picture: the graph that a run records; None if it keeps none.
        results: what each result is, as in "the gradient of a".
        in_tensorflow: a sentence on this program in the real TensorFlow.
    """

    title: str
    computes: str
    build: Callable[[], Static]
    run: Callable[[Sequence[Any]], list[Any]]
    feeds: Sequence[Sequence[Any]]
    recorded: int
    computed: int
    picture: Graph | None = None
    results: Sequence[str] = ("the value",)
    in_tensorflow: str = ""


class Agreement(NamedTuple):
    """What the numbers of both forms have in common.

    Args:
        values: the count of those that were compared.
        largest: the largest difference between two of them, relative to the largest number of their tensor.
        differs: the number of the first run (from 1) that differs; None if none does.
        where: which of its results differs, and both of its values.
        not_finite: how many of the numbers are nan or inf.
    """

    values: int
    largest: float
    differs: int | None
    where: str = ""
    not_finite: int = 0


@dataclass(frozen=True)
class Comparison:
    """The result; times are seconds on this machine.

    Args:
        pair: the program.
        static: its static graph.
        build: the time to define the graph, its derivatives and its plan.
        static_run: the time of a run.
        dynamic_run: likewise, building included.
        numbers: those of all runs.
    """

    pair: ProgramPair
    static: Static
    build: float
    static_run: float
    dynamic_run: float
    numbers: Agreement

    @property
    def ratio(self) -> float:
        """Return a static run's time over a dynamic one's."""
        return self.static_run / self.dynamic_run

    @property
    def paid_after(self) -> int | None:
        """Return after how many runs building has paid; None if a static run is not faster."""
        saved = self.dynamic_run - self.static_run
        return math.ceil(self.build / saved) if saved > 0 else None


def measure(pair: ProgramPair) -> Comparison:
    """Build, run, check and time both forms; SourceError if the static graph cannot be built or run."""
    try:
        static, build = time_build(pair.build)
        numbers = agreement_of(static, pair)
    except (TypeError, ValueError, LookupError, NotImplementedError, RuntimeError, OpError) as error:
        raise SourceError(f"as a static graph: {error}") from None
    static_run, dynamic_run = time_runs(static.run, pair.run, pair.feeds)
    return Comparison(pair, static, build, static_run, dynamic_run, numbers)


def time_build(build: Callable[[], Static]) -> tuple[Static, float]:
    """Return the static graph, and the quickest time that it takes to build; the first one warms up."""
    static, times = build(), []
    for _ in range(BUILDS):
        start = perf_counter()
        static = build()
        times.append(perf_counter() - start)
    return static, min(times)


def time_runs(
    static: Callable[[Sequence[Any]], Any], dynamic: Callable[[Sequence[Any]], Any], feeds: Sequence[Sequence[Any]]
) -> tuple[float, float]:
    """Return the median time of a run of each; both take turns, so that other work of the machine slows both."""
    forms = [
        (program, max(1, int(SHORT / run_time(program, feeds[:1]))), cycle(feeds), list[float]())
        for program in (static, dynamic)
    ]
    least, most = GOES
    end = perf_counter() + SECONDS
    for go in range(most):
        if go >= least and perf_counter() > end:
            break
        for program, count, source, times in forms:
            times.append(run_time(program, list(islice(source, count))) / count)
    return median(forms[0][3]), median(forms[1][3])


def run_time(program: Callable[[Sequence[Any]], Any], feeds: Sequence[Sequence[Any]]) -> float:
    """Return the time of all runs, one for each feed."""
    start = perf_counter()
    for feed in feeds:
        program(feed)
    return max(perf_counter() - start, 1e-9)


def agreement_of(static: Static, pair: ProgramPair) -> Agreement:
    """Compare the numbers of all runs."""
    return agreement_between(
        (number, name, ours, theirs)
        for number, feed in enumerate(pair.feeds, 1)
        for name, ours, theirs in zip(pair.results, static.run(feed), pair.run(feed), strict=True)
    )


def agreement_between(results: Iterable[tuple[int, str, Value | None, engine.Tensor | None]]) -> Agreement:
    """Compare results of both forms.

    Args:
        results: the number of a run, the name of a result, and what it is as a static graph and as a dynamic one.
    """
    count, largest, differs, where, not_finite = 0, 0.0, None, "", 0
    for number, name, ours, theirs in results:
        size, apart, is_same = distance(ours, theirs)
        count, largest = count + size, max(largest, apart)
        not_finite += 0 if theirs is None else int((~theirs.isfinite()).sum())
        if not is_same and differs is None:
            values = ("none" if value is None else excerpt(str(value.tolist())) for value in (ours, theirs))
            differs, where = number, "{} is {} as a static graph, {} as a dynamic one".format(name, *values)
    return Agreement(count, largest, differs, where, not_finite)


def distance(ours: Value | None, theirs: engine.Tensor | None) -> tuple[int, float, bool]:
    """Return the count of the numbers of two tensors, the largest difference, and whether that is within rounding.

    A missing derivative (None) counts as zeros: ``floor`` has none in TensorFlow, and zeros in PyTorch.
    """
    if ours is None and theirs is None:
        return 0, 0.0, True
    dynamic = engine.zeros_like(engine.tensor(ours)) if theirs is None else theirs.detach()
    static = engine.zeros_like(dynamic) if ours is None else engine.tensor(ours)
    if static.shape != dynamic.shape:
        return dynamic.numel(), math.inf, False
    limit = 1e-9 if dynamic.dtype == engine.float64 else 1e-2 if dynamic.dtype.itemsize == 2 else 1e-5
    static, dynamic = static.double(), dynamic.double()
    finite = static.isfinite() & dynamic.isfinite()
    size = max(1e-30, *dynamic[finite].abs().tolist(), 0.0)
    apart = max(0.0, *(static - dynamic)[finite].abs().tolist(), 0.0)
    matches = bool(engine.isclose(static, dynamic, rtol=limit, atol=limit * size, equal_nan=True).all())
    return dynamic.numel(), apart / size, matches
