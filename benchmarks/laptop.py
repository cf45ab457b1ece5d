"""Whole scripts at the sizes that people take on a laptop: GoogLeNet, ResNet-18, a distillation, an LSTM over characters."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cold import gviz
from measure import HERE, in_turn, plain_environment, report


def run(torch: str, runs: int = 3) -> None:
    """Print processor time and peak memory of each script of the folder ``laptop``, beside those on torch."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        environment = plain_environment(HOME=str(folder / "home"))
        for script in sorted((HERE / "laptop").glob("*.py")):
            programs = [gviz()[0], "run", str(script)], [torch, str(script)]
            ours, theirs = in_turn(runs, *programs, environment=environment, folder=folder)
            report(f"{script.stem}, processor time", ours.cpu, theirs.cpu, "ms", 3.0)
            report(f"{script.stem}, wall time", ours.wall, theirs.wall, "ms", 3.0)
            report(f"{script.stem}, peak memory", ours.memory, theirs.memory, "MB", 1.5)
