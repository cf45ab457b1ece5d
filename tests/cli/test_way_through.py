"""An expression goes from the command line to its picture by a way that a reader can follow: file by file."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest

import gviz as package
from gviz.cli import run

FOLDER = Path(package.__file__).parent
ENGINE = ("engine", "autograd", "ops", "numbers")
"""Rooms that are PyTorch's, and no part of the way."""

CHANGES = 90
"""The number of times that the way leaves a file for another; it is only ever lowered."""


def test_an_expression_changes_files_seldom_on_its_way_to_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["render", "y=(x+w)*(w+1)", "-o", str(tmp_path / "y.pdf")]
    run(words)  # what is imported, and made once, is no part of the way
    called: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(FOLDER) and path.relative_to(FOLDER).parts[0] not in ENGINE:
            called.append(str(path.relative_to(FOLDER)))

    sys.setprofile(note)
    try:
        run(words)
    finally:
        sys.setprofile(None)
    changes = sum(before != after for before, after in pairwise(called))
    assert changes <= CHANGES, f"{changes} changes of file among {len(called)} calls"
    assert capsys.readouterr().err.startswith("x, w not given")
