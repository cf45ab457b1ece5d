"""``torch.functional``: the functions of ``torch`` that PyTorch writes in Python, by the module that they stand in."""

from __future__ import annotations

from typing import Any

import gviz.engine
from gviz.numbers.words import absent

NAMES = (
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot",
    "unique", "unique_consecutive", "unravel_index",
)  # fmt: skip
missing = absent("torch.functional")


def __getattr__(name: str) -> Any:
    return getattr(gviz.engine, name) if name in NAMES else missing(name)
