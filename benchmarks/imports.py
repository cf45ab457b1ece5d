"""The time of importing gviz's engine, beyond that of numpy."""

from __future__ import annotations

import sys

from measure import ROOT, in_turn, plain_environment, report_limit


def run(torch: str, runs: int = 21) -> None:
    """Print the milliseconds that each import takes, whole process."""
    environment = plain_environment(PYTHONPATH=str(ROOT), OPENBLAS_NUM_THREADS="1")
    ours = [[sys.executable, "-c", line] for line in ("pass", "import gviz", "import numpy", "import gviz.engine")]
    usages = in_turn(runs, *ours, [torch, "-c", "import torch"], environment=environment, folder=ROOT)
    nothing, package, numpy, engine, peer = (usage.wall for usage in usages)
    print(f"python {nothing:.0f} ms, numpy {numpy:.0f} ms, gviz.engine {engine:.0f} ms, torch {peer:.0f} ms")
    report_limit("import gviz, beyond Python", package - nothing, 5, "ms")
    report_limit("import gviz.engine, beyond numpy", engine - numpy, 30, "ms")
