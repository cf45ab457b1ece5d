"""Fixtures that many tests share."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from forks import Forks
from program import Program, clean_environment


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over all that was collected: a sixth of the tests' time."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs the real PyTorch where that is not installed; random numbers are the same in each run."""
    from gviz import engine

    engine.manual_seed(0)
    if item.get_closest_marker("torch") is not None:
        if find_spec("torch") is None:
            pytest.skip("needs the real torch")
        import torch

        torch.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def written_calls() -> None:
    """Write the code of a row at its first call, so that tests run it too."""
    from gviz.engine import fast

    fast.AFTER = 0


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks | None]:
    """The runner of commands in forks, on Linux; None elsewhere: libraries may not bear to be forked."""
    if sys.platform != "linux":
        yield None
        return
    forks = Forks(clean_environment(Path("/nonexistent")))
    yield forks
    forks.stop()


@pytest.fixture
def gviz(tmp_path: Path, forks: Forks | None) -> Program:
    """The gviz of this tree as a program, in an empty folder, with an empty home."""
    folder, home = tmp_path / "here", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    return Program(folder, home, forks)


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder in which a user works who is not root: root may write anywhere."""
    folder, is_root, nobody = Path(tempfile.mkdtemp()), os.geteuid() == 0, 65_534
    if is_root:
        os.chown(folder, nobody, -1)
        os.setresuid(nobody, nobody, 0)  # os.access asks for the first one
    try:
        yield folder
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
        shutil.rmtree(folder)
