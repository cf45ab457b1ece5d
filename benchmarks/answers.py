"""``gviz explain`` and ``gviz why`` of long chains: with a leaf for each operation, and with 100,000 operations."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

from cold import gviz
from measure import in_turn, plain_environment, report, report_limit

LEAVES = (750, 1500, 3000)
OPERATIONS, LIMIT = 100_000, 5.0

PRODUCT = """
import torch
xs = [torch.tensor(1.0 + 1.0 / (i + 2), requires_grad=True) for i in range({count})]
y = xs[0]
for x in xs[1:]:
    y = y * x
y.backward()
"""

CHAIN = """
import torch
w = torch.tensor(0.5, requires_grad=True)
x = torch.tensor(1.0)
h = x
for i in range({count}):
    h = h * w + x
h.backward()
"""


def run(_torch: str, runs: int = 3) -> None:
    """Print the processor time for each number of leaves, beside that for half as many, and for 100,000 operations."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        environment = plain_environment(HOME=str(folder / "home"))

        def seconds(command: str, text: str) -> float:
            (folder / "program.py").write_text(text)
            usages = in_turn(runs, [gviz()[0], command, "program.py"], environment=environment, folder=folder)
            return usages[0].cpu / 1000

        times = {count: seconds("explain", PRODUCT.format(count=count)) for count in LEAVES}
        for few, many in pairwise(LEAVES):
            report(f"explain, {many:,} leaves beside {few:,}", times[many], times[few], "s", 2.0)
        for command in ("explain", "why"):
            text = CHAIN.format(count=OPERATIONS // 2)
            report_limit(f"{command}, {OPERATIONS:,} operations", seconds(command, text), LIMIT, "s")
