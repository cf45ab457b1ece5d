"""Calls that PyTorch refuses, on all of its built-in functions that the engine has: the same words from both."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from signatures import places

from gviz import engine
from gviz.engine.calls.signatures import lines
from gviz.numbers.unpack import infer

CALLS: dict[str, Callable[[Any, Any], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "nothing": lambda x, t: ((), {}),
    "an object": lambda x, t: ((object(),), {}),
    "a text": lambda x, t: (("a",), {}),
    "a list of texts": lambda x, t: ((["a", "b"],), {}),
    "a number, a text": lambda x, t: ((1, "a"), {}),
    "a tensor, a text": lambda x, t: ((x, "a"), {}),
    "a tensor, a real number": lambda x, t: ((x, 1.5, "a"), {}),
    "two tensors, a text": lambda x, t: ((x, x, "a"), {}),
    "many tensors": lambda x, t: ((x,) * 12, {}),
    "a strange keyword": lambda x, t: ((x,), {"foo": 3}),
    "only a strange keyword": lambda x, t: ((), {"foo": x}),
    "a wrong dim": lambda x, t: ((x,), {"dim": "a"}),
    "a wrong dtype": lambda x, t: ((x, 0), {"dtype": "a"}),
    "twice the same": lambda x, t: ((x, 0), {"input": x, "dim": 0}),
    "an element type": lambda x, t: ((x, t.float32, t.device("cpu")), {}),
}
KNOWN = 0.03
"""The share of functions that may differ: some take a text for a flag; those of one or two tensors, once they have been
called, count more than two arguments too many in Python's words."""
NAMES = sorted(name for name in lines() if not name.startswith("_VF.") and name not in {"new", "device"})
"""All but what is called through a function of Python's only, and the constructors of tensors and devices."""


def function(torch: Any, name: str) -> Any:
    """The function of a name in the list of signatures."""
    if name.startswith("."):
        return partial(getattr(torch.Tensor, name[1:]), torch.ones(2, 2))
    for prefix, place in (("F.", torch.nn.functional), ("special_", torch.special), ("linalg_", torch.linalg)):
        if name.startswith(prefix):
            return getattr(place, name.removeprefix(prefix))
    return getattr(torch, name)


def is_quick(name: str) -> bool:
    """Whether a function is that of a row on its hot path."""
    refusal(engine, name, "an object")  # makes the row ready
    found = function(engine, name)
    return "surplus" in getattr(found, "func", found).__code__.co_varnames


def refusal(torch: Any, name: str, call: str) -> str:
    """What a call is refused with; empty if it is not, or for another reason than its arguments."""
    x = torch.ones(2, 2)
    args, kwargs = CALLS[call](x, torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(torch, name)(*args, **kwargs)
        except TypeError as error:
            return str(error)
        except Exception:  # noqa: BLE001 - what else may be wrong is not asked here
            return ""
    return ""


@pytest.mark.torch
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_pytorch_refuses_is_refused_in_its_words(call: str) -> None:
    torch = pytest.importorskip("torch")
    differing = []
    for name in NAMES:
        if is_quick(name) and (CALLS[call](None, torch)[1] or call == "many tensors"):
            continue  # words that the quick function of a row does not know are refused in Python's
        theirs, ours = refusal(torch, name, call), refusal(engine, name, call)
        if theirs != ours and "takes exactly" not in theirs:
            differing.append(f"{name}\n  PyTorch: {theirs}\n  gviz:    {ours}")
    assert len(differing) <= KNOWN * len(NAMES), f"{len(differing)} of {len(NAMES)}:\n" + "\n".join(differing)


@pytest.mark.torch
def test_the_call_forms_of_nearly_all_functions_are_known() -> None:
    torch = pytest.importorskip("torch")
    names = [name for name, *_ in places(torch)]
    missing = [name for name in names if name not in lines()]
    assert len(missing) <= KNOWN * len(names), f"python tests/signatures.py writes them: {missing}"


@pytest.mark.torch
def test_what_is_of_pytorch_is_refused_by_that_name() -> None:
    torch: Any = pytest.importorskip("torch")
    ours, theirs = engine.ones(3), torch.ones(3)
    calls: list[Callable[[], Any]] = [
        lambda: ours + theirs, lambda: theirs * ours, lambda: ours == theirs, lambda: theirs @ ours,
        lambda: engine.add(ours, theirs), lambda: engine.exp(theirs),
        lambda: ours[torch.tensor([0])], lambda: ours[torch.tensor(0), ...], lambda: infer([1.0, theirs[0]]),
        lambda: engine.zeros(3, dtype=torch.float64), lambda: ours.backward(theirs), lambda: engine.nn.Parameter(theirs),
        lambda: engine.nn.functional.mse_loss(ours, theirs), lambda: engine.optim.SGD([theirs], lr=0.1),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises((TypeError, AttributeError), match="do not mix"):
            call()
