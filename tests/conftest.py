"""Fixtures that many tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Program


@pytest.fixture
def gviz(tmp_path: Path) -> Program:
    """The gviz of this tree as a program, in an empty folder, with an empty home."""
    folder, home = tmp_path / "here", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    return Program(folder, home)
