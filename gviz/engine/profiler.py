"""``torch.profiler`` and ``torch.autograd.profiler``: programs that measure themselves run, and have measured nothing.

Source: https://docs.pytorch.org/docs/2.13/profiler.html
"""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, Self

from gviz.numbers.words import absent, warn_once

__all__ = [
    "ProfilerAction", "ProfilerActivity", "emit_itt", "emit_nvtx", "profile", "record_function", "schedule",
    "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(Enum):
    """What is measured."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class ProfilerAction(Enum):
    """What a schedule says of a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class Nothing:
    """What says of anything that was measured that there is nothing."""

    def table(self, *_: object, **__: object) -> str:
        """Return the table of what was measured, which is empty."""
        return ""

    def total_average(self) -> Any:
        """Return the sum of what was measured."""
        return self

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace without events."""
        Path(path).write_text(json.dumps({"traceEvents": []}), encoding="utf-8")


class EventList(Nothing, list[Any]):
    """What was measured: nothing."""


class profile(Nothing):
    """Measures the operations of a ``with`` block in PyTorch. Here it only says, once, that it does not."""

    def __init__(
        self,
        *_: object,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        enabled: bool = True,
        **__: object,
    ) -> None:
        self.on_trace_ready, self.schedule, self.step_num = on_trace_ready, schedule, 0

    def __enter__(self) -> Self:
        warn_once("torch.profiler measures nothing here: run the script with --engine torch for times")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin."""
        self.__enter__()

    def stop(self) -> None:
        """End; what waits for the trace gets it, if there is no schedule."""
        if self.on_trace_ready is not None and self.schedule is None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Go on to the next step of the schedule."""
        if self.schedule is not None and self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            (self.on_trace_ready or (lambda _: None))(self)
        self.step_num += 1

    def events(self, *_: object, **__: object) -> EventList:
        """Return what was measured, by operation, too: nothing."""
        return EventList()

    key_averages = events

    function_events = property(events)
    self_cpu_time_total = property(lambda self: 0.0)


emit_nvtx = emit_itt = profile


class record_function:
    """A named part of a program, as a ``with`` block or a decorator."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the part."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as it is."""
        return function


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return the function that says of each step whether it is measured."""
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        turn, place = divmod(step - skip_first, length)
        if (repeat and turn >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Any:
    """Return a function that writes nothing: there is no trace to show."""
    return lambda prof: None


__getattr__ = absent("torch.profiler")
