"""PyTorch's own operator tests on gviz's engine and on real PyTorch; ``torch_opinfo.py NAME`` prints differences."""

from __future__ import annotations

import pytest
from torch_opinfo import compare

KNOWN = 0.35
"""The share of calls that may differ, to be lowered as it falls."""


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_operations_do_the_same_as_in_pytorch(dtype: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    report = compare([], [dtype], samples=5, limit=60)
    shown = "\n".join(f"{case}: {found}" for case, found in report.differences[:20])
    assert report.compared.total() > 500, "hardly anything was compared"
    assert report.differing <= KNOWN, f"{report.differing:.1%} of {report.compared.total()} differ, for example\n{shown}"
