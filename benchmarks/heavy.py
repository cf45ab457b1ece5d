"""The heaviest operations, forward and backward, where torch takes about a millisecond, each on one thread."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from time import perf_counter
from typing import Any

from measure import report, workers_in_turn

ROUNDS = 5

HEAVY: dict[str, tuple[str, tuple[tuple[int, ...], ...]]] = {
    "conv2d": ("F.conv2d(a, b, padding=1)", ((16, 3, 32, 32), (16, 3, 3, 3))),
    "conv2d, many small images": ("F.conv2d(a, b)", ((3000, 1, 5, 5), (1, 1, 3, 3))),
    "conv2d, a group per channel": ("F.conv2d(a, b, padding=1, groups=32)", ((8, 32, 28, 28), (32, 1, 3, 3))),
    "conv_transpose2d": ("F.conv_transpose2d(a, b, stride=2, padding=1)", ((16, 16, 14, 14), (16, 8, 4, 4))),
    "conv3d": ("F.conv3d(a, b)", ((2, 3, 8, 16, 16), (8, 3, 3, 3, 3))),
    "max_pool2d": ("F.max_pool2d(a, 2)", ((32, 6, 28, 28),)),
    "avg_pool2d": ("F.avg_pool2d(a, 3, 2, 1)", ((32, 6, 28, 28),)),
    "adaptive_avg_pool2d": ("F.adaptive_avg_pool2d(a, 5)", ((32, 6, 28, 28),)),
    "interpolate, bilinear": ("F.interpolate(a, scale_factor=2, mode='bilinear')", ((4, 3, 32, 32),)),
    "unfold": ("F.unfold(a, 3)", ((16, 8, 14, 14),)),
    "unique": ("torch.unique((a.detach() * 100).long()).float() + 0 * a.sum()", ((50000,),)),
    "cdist": ("torch.cdist(a, b)", ((300, 16), (300, 16))),
    "sort": ("a.sort()[0]", ((20000,),)),
    "mode": ("a.round().mode(1)[0]", ((200, 50),)),
    "embedding": ("F.embedding(index, a)", ((1000, 16),)),
    "index": ("a[index]", ((1000, 16),)),
    "index_add": ("a.index_add(0, index, b)", ((1000, 8), (10000, 8))),
    "attention": ("F.scaled_dot_product_attention(a, a, a)", ((4, 4, 64, 16),)),
    "batch_norm": ("F.batch_norm(a, None, None, training=True)", ((32, 16, 14, 14),)),
    "svd": ("torch.linalg.svd(a)[1]", ((64, 64),)),
    "LSTM": ("torch.nn.LSTM(16, 32)(a)[0]", ((20, 16, 16),)),
    "reflected border": ("F.pad(a, (3, 3, 3, 3), mode='reflect')", ((8, 8, 64, 64),)),
    "cdist, p=1": ("torch.cdist(a, b, p=1)", ((300, 16), (300, 16))),
    "gather": ("a.gather(1, index.view(20, 500))", ((20, 1000),)),
    "solve": ("torch.linalg.solve(a, b)", ((200, 200), (200, 16))),
    "det": ("torch.det(a)", ((32, 32, 32),)),
    "gelu": ("F.gelu(a)", ((20000,),)),
    "erfinv": ("torch.erfinv(a.tanh())", ((20000,),)),
    "lgamma": ("torch.lgamma(a)", ((20000,),)),
}
"""Name -> the expression and the shapes of its tensors a and b."""


def run(torch: str, runs: int = 3) -> None:
    """Print the ratio of each."""
    ours, theirs = workers_in_turn(runs, "heavy.py", (sys.executable, "gviz.engine"), (torch, "torch"))
    for name in HEAVY:
        report(name, ours[name], theirs[name], "ms", 5.0)


def worker(engine: str) -> dict[str, float]:
    """Time this process's engine: milliseconds, the best of some rounds."""
    torch: Any = import_module(engine)
    if engine == "torch":
        torch.set_num_threads(1)
    torch.manual_seed(0)
    functional, index = torch.nn.functional, torch.randint(0, 1000, (10000,))
    return {name: _best(torch, functional, index, *what) for name, what in HEAVY.items()}


def _best(torch: Any, functional: Any, index: Any, text: str, shapes: tuple[tuple[int, ...], ...]) -> float:
    tensors = [torch.randn(*shape, requires_grad=True) for shape in shapes]
    names = {"torch": torch, "F": functional, "index": index, **dict(zip("ab", tensors, strict=False))}
    code, times = compile(text, "<heavy>", "eval"), []
    for _ in range(ROUNDS):
        start = perf_counter()
        eval(code, names).sum().backward()  # noqa: S307 - expressions of ours
        times.append(1000 * (perf_counter() - start))
    return min(times)


if __name__ == "__main__" and len(sys.argv) == 3:
    print(json.dumps(worker(sys.argv[2])))
