"""Workers of a loader, without processes.

Each has its own random numbers, dataset and place in a stream, as PyTorch's have.
"""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from gviz.numbers.random import Generator, default_generator


class WorkerInfo(NamedTuple):
    """What a dataset may ask of the worker that it is read by.

    Fields:
        id: which worker, from 0.
        num_workers: of how many.
        seed: what its random numbers begin at.
        dataset: its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


class Worker:
    """One worker: what is called by it draws from its own random numbers, of ``torch``, ``random`` and numpy."""

    now: WorkerInfo | None = None
    """Who is at work."""

    def __init__(self, number: int, loader: Any, base: int) -> None:
        self.info = WorkerInfo(number, loader.num_workers, base + number, copy.copy(loader.dataset))
        words = np.random.SeedSequence([number, base & 0xFFFFFFFF, base >> 32, 0]).generate_state(4)
        own, plain = Generator().manual_seed(self.info.seed), random.Random(self.info.seed)  # noqa: S311
        self.states = vars(own), plain.getstate(), np.random.RandomState(words).get_state()
        if loader.worker_init_fn is not None:
            self.call(loader.worker_init_fn, number)

    def call(self, function: Callable[..., Any], *args: object) -> Any:
        """Call a function as this worker."""
        before = states()
        Worker.now, info = self.info, Worker.now
        take(self.states)
        try:
            return function(*args)
        finally:
            self.states = states()
            Worker.now = info
            take(before)


def states() -> Any:
    """Return where the random numbers are that every program draws from."""
    return vars(default_generator), random.getstate(), np.random.get_state()  # noqa: NPY002 - what scripts draw from


def take(states: tuple[Any, ...]) -> None:
    """Go on with these random numbers."""
    default_generator.__dict__, state, words = states
    random.setstate(state)
    np.random.set_state(words)  # noqa: NPY002 - as above


def get_worker_info() -> WorkerInfo | None:
    """Return what the worker is that is at work; None in the main program."""
    return Worker.now


def batches_by(workers: list[Worker], loader: Any, order: Iterator[Any]) -> Iterator[Any]:
    """Return the batches of workers in turn; the order is drawn ahead, as far as PyTorch does."""
    if loader._streams:
        return streamed([(worker, worker.call(loader._parts_, worker.info.dataset)) for worker in workers], loader)
    factor = 2 if loader.prefetch_factor is None else loader.prefetch_factor
    return mapped(workers, loader, order, deque(islice(order, factor * len(workers))))


def mapped(workers: list[Worker], loader: Any, order: Iterator[Any], ahead: deque[Any]) -> Iterator[Any]:
    """Yield the batches of the indices ahead, and of those that follow."""
    number = 0
    while ahead:
        worker, indices = workers[number % len(workers)], ahead.popleft()
        rows = loader._rows_(indices)  # without any random number: a worker takes time
        batch = worker.call(loader._batch_, worker.info.dataset, indices) if rows is None else rows
        ahead.extend(islice(order, 1))
        yield batch
        number += 1


def streamed(streams: list[Any], loader: Any) -> Iterator[Any]:
    """Yield a batch of each worker's stream in turn, until all are at their end."""
    waiting, end = deque(streams), object()
    while waiting:
        worker, parts = waiting.popleft()
        samples = worker.call(next, parts, end)
        if samples is not end:
            waiting.append((worker, parts))
            yield worker.call(loader._batch_, worker.info.dataset, samples)
