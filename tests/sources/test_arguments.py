"""What a call was given that has no gradient: tensors, numbers where they are operands, and None where a tensor may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gviz import engine as torch
from gviz.sources.arguments import CallSites
from gviz.trace import Trace
from gviz.trace.records import record_of


@pytest.mark.parametrize(
    ("call", "texts"),
    [
        (lambda x: torch.nn.functional.conv1d(x, torch.ones(1, 1, 2), None), ["", "None"]),
        (lambda x: torch.nn.functional.conv1d(x, torch.ones(1, 1, 2)), ["", "None"]),
        (lambda x: torch.div(x, 2.0, rounding_mode=None), ["2"]),
        (lambda x: torch.div(x, 2.0, rounding_mode="floor"), ["2"]),
        (lambda x: torch.where(torch.ones(4) > 0, x, 0.5), ["0.5"]),
        (lambda x: x.where(torch.ones(4) > 0, torch.ones(4)), [""]),
        (lambda x: x.sum(dim=2), []),
        (lambda x: x.permute([2, 1, 0]), []),
    ],
)
def test_arguments_without_a_gradient(call: Callable[[Any], Any], texts: list[str]) -> None:
    trace = Trace(torch, lambda file: file == __file__)
    with trace.listening():
        result = call(torch.ones(1, 1, 4, requires_grad=True))
    record = record_of(result.grad_fn)
    assert record is not None
    arguments = CallSites(None, __file__).arguments_of(record, type(result.grad_fn).__name__)
    assert [one.text for one in arguments] == texts
