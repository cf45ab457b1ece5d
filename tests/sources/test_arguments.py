"""What a call was given that has no gradient: tensors, numbers where they are operands, and None where a tensor may be."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gviz import SourceOptions, engine as torch, read
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


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_the_product_in_a_vector_times_a_matrix_has_its_operand_and_its_numbers(tmp_path: Path, engine: str) -> None:
    code = """
    import torch
    W = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    loss = 0.0
    for i in range(2):
        x = torch.nn.functional.one_hot(torch.tensor(i), 2).float()
        loss = loss + (x @ W).sum()
    loss.backward()
    """
    (tmp_path / "net.py").write_text(textwrap.dedent(code))
    options = SourceOptions(engine=engine, flow=True, lines=True)
    nodes = read(tmp_path / "net.py", options).graph.nodes
    products = [node for node in nodes if node.label == "MmBackward0"]
    numbers = [own and own.nested() for node in products for own in (node.numbers, *node.recorded.given_numbers)]
    assert len({node.recorded.given for node in products}) == 2  # the rows of the two rounds have letters
    assert numbers == [[[1.0, 2.0]], [[1.0, 0.0]], [[3.0, 4.0]], [[0.0, 1.0]]]
