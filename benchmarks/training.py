"""Training scripts as in courses, start included: ``gviz run`` beside Python with torch."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cold import gviz
from measure import in_turn, plain_environment, report

SCRATCH = """
import random
import torch

torch.manual_seed(0)
X = torch.normal(0, 1, (1000, 2))
y = (X @ torch.tensor([2, -3.4]) + 4.2 + torch.normal(0, 0.01, (1000,))).reshape(-1, 1)
w, b = torch.normal(0, 0.01, (2, 1), requires_grad=True), torch.zeros(1, requires_grad=True)
for epoch in range(3):
    order = list(range(1000))
    random.shuffle(order)
    for i in range(0, 1000, 10):
        batch = torch.tensor(order[i : i + 10])
        loss = (torch.matmul(X[batch], w) + b - y[batch].reshape(-1, 1)) ** 2 / 2
        loss.sum().backward()
        with torch.no_grad():
            for param in (w, b):
                param -= 0.03 * param.grad / 10
                param.grad.zero_()
"""

NETWORK = """
import torch
from torch import nn

torch.manual_seed(0)
X, y = torch.randn({count}, *{shape}), torch.randint(0, 10, ({count},))
net = nn.Sequential({layers})
loss, trainer = nn.CrossEntropyLoss(), torch.optim.{trainer}(net.parameters(), lr=0.01)
for epoch in range(5):
    total = 0.0
    for i in range(0, {count}, 64):
        value = loss(net(X[i : i + 64]), y[i : i + 64])
        trainer.zero_grad()
        value.backward()
        trainer.step()
        total += value.item()
"""

SOFTMAX = "nn.Flatten(), nn.Linear(784, 10)"
PERCEPTRON = "nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10)"
LENET = ("nn.Conv2d(1, 6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Sigmoid(), nn.AvgPool2d(2), "
         "nn.Flatten(), nn.Linear(400, 120), nn.Sigmoid(), nn.Linear(120, 10)")  # fmt: skip
PROGRAMS = {
    "linear regression, from scratch": SCRATCH,
    "softmax regression": NETWORK.format(count=2560, shape=(1, 28, 28), layers=SOFTMAX, trainer="SGD"),
    "perceptron with a hidden layer": NETWORK.format(count=1024, shape=(64,), layers=PERCEPTRON, trainer="Adam"),
    "LeNet": NETWORK.format(count=640, shape=(1, 28, 28), layers=LENET, trainer="SGD"),
}


def run(torch: str, runs: int = 5) -> None:
    """Print the ratio for each script."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        environment = plain_environment(HOME=str(folder / "home"))
        for program, text in PROGRAMS.items():
            (folder / "train.py").write_text(text)
            ours, theirs = in_turn(
                runs, [gviz()[0], "run", "train.py"], [torch, "train.py"], environment=environment, folder=folder
            )
            report(program, ours.wall, theirs.wall, "ms", 1.5)
