"""Cold pictures: the whole process of ``gviz render`` beside that of a torch + torchviz script."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from measure import ROOT, in_turn, plain_environment, report

EXPRESSION = ["y=(x+w)*(w+1)", "x=2", "w=1"]

PROGRAM = """
import torch
from torchviz import make_dot
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(1.0, requires_grad=True)
y = (x + w) * (w + 1)
y.backward()
picture = make_dot(y, params={"x": x, "w": w, "y": y})
"""

BY_DOT = 'picture.render("peer", format="pdf", cleanup=True)\n'

IN_PROCESS = """
import pygraphviz
pygraphviz.AGraph(string=picture.source).draw("peer.pdf", prog="dot")
"""


def run(torch: str, runs: int = 11) -> None:
    """Print wall time, processor time and peak memory of both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        (folder / "peer.py").write_text(PROGRAM + (BY_DOT if shutil.which("dot") else IN_PROCESS))
        print(
            "the torch script draws with",
            shutil.which("dot") or "the Graphviz inside pygraphviz (there is no dot here)",
        )
        environment = plain_environment(HOME=str(folder / "home"))
        ours, theirs = in_turn(runs, gviz(), [torch, "peer.py"], environment=environment, folder=folder)
        for written in ("y.pdf", "peer.pdf"):
            if not (folder / written).read_bytes().startswith(b"%PDF"):
                raise SystemExit(f"{written} is no PDF")
    report("cold picture (PDF), wall time", ours.wall, theirs.wall, "ms", 0.09)
    report("cold picture (PDF), processor time", ours.cpu, theirs.cpu, "ms")
    report("cold picture (PDF), peak memory", ours.memory, theirs.memory, "MB", 0.25)


def gviz() -> list[str]:
    """The command as it is installed beside this interpreter, else the one of this tree."""
    command = Path(sys.executable).with_name("gviz")
    start = [str(command)] if command.exists() else [sys.executable, "-c", _FROM_TREE]
    return [*start, "render", *EXPRESSION, "-o", "y.pdf"]


_FROM_TREE = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from gviz.__main__ import main; main()"
