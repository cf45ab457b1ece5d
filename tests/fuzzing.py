"""What tests with input of chance have in common: how much of it, what it may do meanwhile, and how long it may take.

A run of all tests takes the same examples each time, some seconds of them. ``make fuzz`` takes new ones, many times as many,
and looks for a smaller one of those that fail, which may take minutes.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, Phase, settings

from gviz import engine, static

__all__ = [
    "FORBIDDEN",
    "MORE",
    "SECONDS",
    "Escape",
    "engine",
    "guarded",
    "relaxed",
    "seeds",
    "static",
]  # loaded before anything is watched: to import numpy loads libraries

MORE = int(os.environ.get("GVIZ_FUZZ", "1"))
"""How many times the usual number of examples there are; other than 1, they are new in each run."""

SECONDS = 60
"""An example that takes longer hangs: all of them take milliseconds on an idle machine."""

FORBIDDEN = (
    "ctypes.", "ftplib.", "os.", "pty.", "shutil.", "smtplib.", "socket.", "sqlite3.", "subprocess.", "tempfile.", "urllib.",
    "webbrowser.",
)  # fmt: skip
"""What Python tells its audit hooks of when a program does something outside of itself; an expression has no need of it."""

HARMLESS = ("os.listdir", "os.putenv", "os.scandir", "os.unsetenv")
"""What importing a module, such as numpy, does."""


class Escape(BaseException):
    """An input has done what it must not; no handler of gviz's takes it for an error of the input."""


class _Watch:
    """The hook that Python calls with all that it does; it cannot be taken off, so it is deaf most of the time."""

    active = False
    installed = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        writes = event == "open" and (
            len(arguments) > 1 and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        )
        if writes or (event.startswith(FORBIDDEN) and event not in HARMLESS):
            raise Escape(f"{event}{arguments}")


_watch = _Watch()


def relaxed(examples: int) -> settings:
    """Settings for that many examples."""
    is_usual = MORE == 1
    return settings(
        max_examples=examples * MORE,
        deadline=None,
        derandomize=is_usual,
        phases=(Phase.explicit, Phase.generate, Phase.target) if is_usual else tuple(Phase),
        suppress_health_check=list(HealthCheck),
    )


def seeds(count: int) -> list[int]:
    """That many seeds, for a test that makes its input by itself."""
    start = 0 if MORE == 1 else random.SystemRandom().randrange(2**40)
    return list(range(start, start + count * MORE))


@contextmanager
def guarded(*, watched: bool = True, seconds: float = SECONDS) -> Iterator[None]:
    """Raise Escape if the program takes too long or, if it is watched, opens a file to write, starts a process and the like."""

    def hang(_number: int, frame: FrameType | None) -> None:
        raise Escape(f"still running after {seconds} s, at {frame}")

    if not _watch.installed:
        sys.addaudithook(_watch)
        _watch.installed = True
    alarm = getattr(signal, "setitimer", None)  # not on Windows
    before = signal.signal(signal.SIGALRM, hang) if alarm else None
    _watch.active = watched
    try:
        if alarm:
            alarm(signal.ITIMER_REAL, seconds)
        yield
    finally:
        _watch.active = False
        if alarm:
            alarm(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
