"""PyTorch's own operator tests on gviz's engine and on real PyTorch; ``torch_opinfo.py NAME`` prints differences."""

from __future__ import annotations

import pytest
from torch_opinfo import compare

KNOWN = {"float64": 0.01, "float32": 0.01, "int64": 0.005, "turned": 0.01, "refused": 0.06}
"""The share of calls that may differ, to be lowered as it falls."""


@pytest.mark.torch
@pytest.mark.parametrize("calls", KNOWN)
def test_operations_do_the_same_as_in_pytorch(calls: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    dtypes = {"refused": [], "turned": ["float64"]}.get(calls, [calls])
    report = compare([], dtypes, samples=3, refused=calls == "refused", turned=calls == "turned")
    shown = "\n".join(f"{case}: {found}" for case, found in report.differences[:20])
    assert report.compared.total() > 300, "hardly anything was compared"
    assert report.differing <= KNOWN[calls], f"{report.differing:.1%} of {report.compared.total()} differ, for example\n{shown}"
