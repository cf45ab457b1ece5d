"""The cost of lines: ``gviz render`` of a script that trains a network, with the line of each operation and without."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cold import gviz
from measure import in_turn, plain_environment, report

NETWORK = """
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))

net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
x, t = torch.randn(32, 8), torch.randn(32, 1)
for i in range(2000):
    loss = ((net(x) - t) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

SCALARS = """
import torch
w = [torch.tensor(float(i), requires_grad=True) for i in range(5)]
for i in range(4000):
    a = w[0] * 2.0
    d = w[3] * (w[1] * a) + w[4] * (w[2] * a)
    loss = ((d - 1.0) ** 2).exp().tanh()
    loss.backward()
"""


def run(torch: str, runs: int = 5) -> None:
    """Print the ratio for a network, and for a program of nothing but small operations, on gviz's engine and on torch."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        environment = plain_environment(HOME=str(folder / "home"))
        for program, text in {"network": NETWORK, "scalars": SCALARS}.items():
            (folder / f"{program}.py").write_text(text)
            for engine, python in {"gviz": [gviz()[0]], "torch": [torch, "-m", "gviz"]}.items():
                plain = [*python, "render", f"{program}.py", "--engine", engine, "-o", "y.dot"]
                lines, without = in_turn(
                    runs, [*plain, "--show", "line"], plain, environment=environment, folder=folder
                )
                report(
                    f"lines of a {program}, on {engine}",
                    lines.wall,
                    without.wall,
                    "ms",
                    1.3 if engine == "gviz" else None,
                )
