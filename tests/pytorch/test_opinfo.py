"""The samples of PyTorch's own operator tests on gviz's engine and on real PyTorch: results, gradients and second gradients.

PyTorch tells of each of its operations with which inputs it is called. Only numbers are compared here, and only of what the
engine has: graphs and errors are those of people's programs, which are recorded elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from torch_parity import close

from gviz import engine

TOLERANCE = {"float32": (5e-4, 1e-4), "float64": (1e-7, 1e-8)}
DRAWN, TAKEN = 200, 3
"""Samples that are drawn of each operation, and how many of these, evenly spread, are taken."""
KNOWN = 0.01
"""The share of samples that may differ: options that are rare, limits of integers that are not whole."""
FREE = {
    "empty", "empty_like", "new_empty", "empty_permuted", "linalg.eig", "linalg.eigh", "linalg.svd", "svd",
    "nn.functional.rrelu", "nn.functional.triplet_margin_with_distance_loss",
}  # fmt: skip
"""Operations whose results are whatever is in memory, or vectors of either direction; the last is given PyTorch's own functions."""

TIED = {"topk", "kthvalue", "mode"}
"""Operations that may name any of several equal elements, which random integers are."""


def function_of(root: Any, name: str) -> Any:
    """A function of an operation's name, or the method; None if there is none."""
    for home in (root, root.Tensor):
        place = home
        for part in name.split("."):
            place = getattr(place, part, None)
        if place is not None:
            return place
    return None


def samples(torch: Any, op: Any, dtype: Any) -> Iterator[Any]:
    """Some of the calls that PyTorch's tests make of an operation with dense, real tensors."""
    torch.default_generator.manual_seed(0)
    wanted = bool(op.supports_autograd and dtype.is_floating_point)
    drawn = islice(op.sample_inputs("cpu", dtype, requires_grad=wanted, set_seed=False), DRAWN)
    plain = [sample for sample in drawn if is_plain(torch, sample)]
    yield from plain[:: max(1, -(-len(plain) // TAKEN))]


def is_plain(torch: Any, value: Any) -> bool:
    """Return whether all tensors in a value are dense and real, and none is without elements."""
    if isinstance(value, torch.Tensor):
        known = value.dtype not in (torch.float16, torch.bfloat16) and not value.dtype.is_complex
        return bool(value.layout == torch.strided and known and not value.is_quantized and value.numel())
    if isinstance(value, list | tuple):
        return all(is_plain(torch, one) for one in value)
    if hasattr(value, "kwargs"):
        return is_plain(torch, [value.input, *value.args, *value.kwargs.values()])
    return not isinstance(value, complex)


def translated(torch: Any, value: Any, space: Any, leaves: list[Any]) -> Any:
    """An input for an engine (or a copy for PyTorch); tensors that require a gradient are noted."""
    if isinstance(value, torch.Tensor):
        made = space.from_numpy(value.detach().numpy().copy())
        if value.requires_grad:
            leaves.append(made.requires_grad_())
        return made
    if isinstance(value, list | tuple):
        return [translated(torch, one, space, leaves) for one in value]
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return getattr(space, str(value).removeprefix("torch."))
    return str(value) if isinstance(value, torch.device) else value


ONCE = ("nn.functional.ctc_loss",)
"""Operations that PyTorch lists as twice differentiable, and whose second derivative it refuses."""


def computed(torch: Any, space: Any, function: Any, sample: Any, twice: bool) -> list[tuple[str, Any]]:
    """Return the numbers that come of a call: (result or gradient, array)."""
    leaves: list[Any] = []
    args = [translated(torch, one, space, leaves) for one in (sample.input, *sample.args)]
    kwargs = {name: translated(torch, one, space, leaves) for name, one in sample.kwargs.items()}
    space.default_generator.manual_seed(0)
    outputs = tensors(function(*args, **kwargs), space)
    seen = [("result", one) for one in outputs]
    for step in ("gradient", "second gradient")[: 1 + twice]:
        outputs = [one for one in outputs if one is not None and one.requires_grad]
        if not outputs or not leaves:
            break
        kinds = [one.detach().numpy(force=True) for one in outputs]
        weights = [space.from_numpy(np.random.default_rng(0).uniform(-1, 1, a.shape).astype(a.dtype)) for a in kinds]
        outputs = list(
            space.autograd.grad(outputs, leaves, weights, create_graph=twice, retain_graph=True, allow_unused=True)
        )
        seen += [(step, one) for one in outputs]
    return [(step, None if one is None else one.detach().numpy(force=True)) for step, one in seen]


def tensors(result: Any, space: Any) -> list[Any]:
    """The tensors in a result."""
    if isinstance(result, list | tuple):
        return [one for part in result for one in tensors(part, space)]
    return [result] if isinstance(result, space.Tensor) else []


def same(theirs: Any, ours: Any) -> bool:
    """Return whether two arrays agree in dtype, shape and numbers; small ones by the largest of them."""
    if theirs is None or ours is None:
        return theirs is ours
    if theirs.dtype != ours.dtype or theirs.shape != ours.shape:
        return False
    rtol, atol = TOLERANCE.get(theirs.dtype.name, (0, 0))
    largest = float(np.abs(theirs.astype(float))[np.isfinite(theirs)].max(initial=1))
    return close(theirs, ours, rtol, atol * largest)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_operations_compute_the_same_as_in_pytorch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    compared, differing = 0, list[str]()
    for op in op_db:
        function, ours = function_of(torch, op.name), function_of(engine, op.name)
        left_out = FREE | TIED if dtype == "int64" else FREE
        if function is not op.op or ours is None or op.name in left_out or op.name.startswith(("__r", "as_strided")):
            continue
        if getattr(torch, dtype) not in op.dtypes:
            continue
        twice = op.supports_gradgrad and op.name not in ONCE
        for sample in samples(torch, op, getattr(torch, dtype)):
            expected = computed(torch, torch, function, sample, twice)
            if any(array is not None and array.dtype.kind == "c" for _, array in expected):
                continue
            try:
                got = computed(torch, engine, ours, sample, twice)
                wrong = [step for (step, one), (_, other) in zip(expected, got, strict=True) if not same(one, other)]
            except NotImplementedError:  # an option that is left to the other engine
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, PyTorch computes
                wrong = [f"{type(error).__name__}: {str(error)[:200]}"]
            compared += 1
            if wrong:
                differing.append(f"{op.name} {op.variant_test_name} {sample.summary()[:300]}: {wrong[0]}")
    assert compared > 300, "hardly anything was compared"
    assert len(differing) <= KNOWN * compared, "\n".join([f"{len(differing)} of {compared} differ", *differing[:60]])
