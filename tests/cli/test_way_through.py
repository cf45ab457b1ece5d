"""An expression goes from the command line to its picture by a way that a reader can follow: room by room."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

import pytest

import gviz as package
from gviz.cli import run

FOLDER = Path(package.__file__).parent

LEFT_OUT = {
    *("engine", "autograd", "signatures", "ops", "numbers"),  # rooms that are PyTorch's, and no part of the way
    *("text.py", "errors.py", "files.py", "garbage.py", "reaching.py", "standins.py"),  # helpers that every room has
    "graphs",  # the data themselves
}

CHANGES = 30
"""The number of times that the way leaves a room, which is the first folder or file below gviz/, for another."""


def room_of(frame: FrameType) -> str:
    """Return the room in which the code of a frame stands; "" is outside gviz."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(FOLDER).parts[0] if path.is_relative_to(FOLDER) else ""


def calls_with_data(words: list[str]) -> list[tuple[str, str]]:
    """Run a command and return the room and the name of what it calls, in order.

    A line that calls a function counts once, however often it does so: sharing a function, or calling it for each element,
    makes no way longer. A generator that is resumed and the inside of a comprehension are no calls, nor is it one that a
    record checks what it is made of. Nor is a function whose result is true or false: it answers a question about the data,
    which stay where they are.
    """
    calls: dict[FrameType, tuple[str, str]] = {}
    lines: set[tuple[CodeType | None, int | None, CodeType]] = set()
    questions: set[FrameType] = set()

    def note(frame: FrameType, event: str, result: object) -> None:
        if event == "return" and isinstance(result, bool):
            questions.add(frame)
        room, name = room_of(frame), frame.f_code.co_name
        if (
            event != "call"
            or frame in calls
            or room in {"", *LEFT_OUT}
            or name.endswith(("comp>", "genexpr>", "__post_init__"))
        ):
            return
        caller = frame.f_back
        while caller is not None and not room_of(caller):
            caller = caller.f_back
        line = (caller.f_code, caller.f_lineno, frame.f_code) if caller is not None else (None, None, frame.f_code)
        if line not in lines:
            lines.add(line)
            calls[frame] = room, f"{name} ({frame.f_code.co_filename}:{frame.f_code.co_firstlineno})"

    sys.setprofile(note)
    try:
        run(words)
    finally:
        sys.setprofile(None)
    return [call for frame, call in calls.items() if frame not in questions]


def test_an_expression_changes_rooms_seldom_on_its_way_to_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["render", "y=(x+w)*(w+1)", "-o", str(tmp_path / "y.pdf")]
    run(words)  # what is imported, and made once, is no part of the way
    calls = calls_with_data(words)
    changes = [f"{one} -> {other}: {name}" for (one, _), (other, name) in pairwise(calls) if one != other]
    assert {"cli", "sources", "walk.py", "pictures", "render", "layout"} <= {room for room, _ in calls}
    assert len(changes) <= CHANGES, "\n".join([f"{len(changes)} changes of room:", *changes])
    assert capsys.readouterr().err.startswith("x, w not given")
