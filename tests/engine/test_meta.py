"""Tensors of the device meta: every row of the table gives sizes without numbers, at no cost, and pictures show no number."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from table_samples import NO_SLOPE, ONCE, SAMPLES, sample

from gviz import engine
from gviz.answers import PageStyle, explain
from gviz.autograd.row import ROWS
from gviz.autograd.tensor import Tensor
from gviz.engine import fast
from gviz.engine.nn import functional as F
from gviz.sources import read

CASES = [pytest.param(key, i, id=f"{key}-{i}") for key in SAMPLES for i in range(len(SAMPLES[key]))]
BY_NUMBERS = {"distinct", "masked_select", "nonzero", "sample_dirichlet", "unique2", "unique_dim"}
"""Rows whose result has a size that depends on numbers, and two that read one."""
READING = {"index_fill_tensor", "masked_fill_tensor", "pack_padded_sequence", "scatter_reduce"}
"""Rows whose derivative reads a number."""
ON_CPU = {"pack_padded_sequence": 1}
"""The operand of a row that is on the CPU, whatever the others are."""


def moved(value: Any, device: str) -> Any:
    """Return the tensors of a value, also of a list, on a device, as leaves that require a gradient if they can."""
    if isinstance(value, list | tuple):
        return type(value)(moved(one, device) for one in value)
    if not isinstance(value, Tensor):
        return value
    return value.detach().to(device).requires_grad_(value.is_floating_point())


def facts(value: Any) -> Any:
    """Return what is known of tensors without their numbers."""
    if isinstance(value, list | tuple):
        return [facts(one) for one in value]
    return (value.shape, value.stride(), value.dtype, value.requires_grad) if isinstance(value, Tensor) else value


def tensors(value: Any) -> list[Any]:
    """Return the tensors of a value."""
    if isinstance(value, list | tuple):
        return [one for part in value for one in tensors(part)]
    return [value] if isinstance(value, Tensor) else []


@pytest.mark.parametrize(("key", "number"), CASES)
def test_a_row_gives_the_same_sizes_without_numbers(key: str, number: int) -> None:
    row, given = ROWS[key], sample(ROWS[key], number, np.random.default_rng(0))
    if key in BY_NUMBERS or (key, number) == ("embedding_bag", 2):
        with pytest.raises(RuntimeError, match=r"data-independent|Meta tensors|meta tensor"):
            row(*moved(given, "meta"))
        return
    fast.compile_row(row)
    results, inputs = {}, {}
    slopes = row.node not in (None, "NotImplemented") and key not in {*NO_SLOPE, *ONCE, *READING}
    for device in ("cpu", "meta"):
        args = [moved(one, "cpu" if ON_CPU.get(key) == i else device) for i, one in enumerate(given)]
        results[device], inputs[device] = row(*args), args
        outputs = [one for one in tensors(results[device]) if one.grad_fn is not None]
        if slopes and outputs:
            engine.autograd.backward(outputs, [engine.ones_like(one) for one in outputs])
    assert facts(results["cpu"]) == facts(results["meta"])
    assert all(one.is_meta for one in tensors(results["meta"]))
    pairs = [(one.grad, other.grad) for one, other in zip(*map(tensors, inputs.values()), strict=True)]
    shapes = [None if other is None else (other.is_meta, other.shape) for _, other in pairs]
    assert shapes == [None if one is None else (True, one.shape) for one, _ in pairs]


@pytest.mark.parametrize("key", ["add", "mul", "mse_loss", "copy_into", "addmm"])
def test_a_call_of_its_own_knows_what_has_no_numbers(key: str) -> None:
    x, c = engine.empty(3, 3, device="meta"), engine.ones(3, 3)
    fast.compile_row(ROWS[key])
    call: Any = {"mse_loss": F.mse_loss, "copy_into": lambda a, b: a.copy_(b), "addmm": lambda a, b: a.addmm(b, b)}.get(
        key
    )
    call = call or getattr(engine, key)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"is not on the expected device|no data"):
            call(c, x)
        assert call(x, x).is_meta


def test_a_large_tensor_costs_nothing() -> None:
    engine.nn.Linear(2, 2, device="meta")(engine.empty(1, 2, device="meta")).sum().backward()  # what is made once
    tracemalloc.start()
    begin = time.process_time()
    layer = engine.nn.Linear(100_000, 100_000, device="meta")
    x = engine.randn(100_000, 100_000, device="meta")
    loss = F.mse_loss(layer(x).relu().softmax(-1), x)
    loss.backward()
    engine.optim.Adam(layer.parameters()).step()
    assert time.process_time() - begin < 5
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert layer.weight.grad.is_meta
    assert layer.weight.grad.shape == (100_000, 100_000)


PROGRAM = """import torch
from torch import nn
torch.set_default_device("meta")
model = nn.Sequential(nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 2))
x, y = torch.randn(2, 3), torch.empty(2, 2)
loss = ((model(x) - y) ** 2).mean()
loss.backward()
"""


def test_a_graph_has_sizes_and_no_number(tmp_path: Any) -> None:
    file = tmp_path / "net.py"
    file.write_text(PROGRAM)
    graph = read(str(file)).graph
    assert str(engine.get_default_device()) == "cpu"
    (weight,) = [node for node in graph.nodes if node.name == "model.0.weight"]
    assert weight.grad.value is not None
    assert (weight.shape, weight.grad.value.shape) == ((20, 3), (20, 3))
    assert all(node.value is None for node in graph.nodes)
    assert not any(node.grad.value.is_known for node in graph.nodes if node.grad.value is not None)


def test_an_explanation_tells_no_norm_of_what_has_no_numbers(tmp_path: Any) -> None:
    file = tmp_path / "net.py"
    file.write_text(PROGRAM)
    text = explain(str(file)).text("text", PageStyle(100))
    assert "norm" not in text
    assert "the gradient of model.0.weight = (20, 3)" in text
    assert "has changed it" not in text


def test_what_has_no_numbers_is_not_saved_as_zeros(tmp_path: Any) -> None:
    with pytest.raises(NotImplementedError, match="run with --engine torch"):
        engine.save(engine.empty(2, device="meta"), tmp_path / "a.pt")
    assert not (tmp_path / "a.pt").exists()
