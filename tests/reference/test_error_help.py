"""Errors about autograd are known by their texts, as PyTorch prints them, with whatever is pasted around them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from gviz.autograd import words
from gviz.errors import SourceError
from gviz.reference.error_help import ERRORS, help_for, help_in, looks_like_an_error

torch: Any = import_module("gviz.engine")

TEXTS = [(text, trouble) for trouble in ERRORS for text in trouble.texts]


@pytest.mark.parametrize(("text", "trouble"), TEXTS, ids=[text[:40] for text, _ in TEXTS])
def test_each_wording_is_known_as_its_own_error(text: str, trouble: Any) -> None:
    whole = text.replace("...", "[2, 3] of Foo0")
    assert help_in(whole) is trouble
    assert help_in(f"RuntimeError: {whole}\n") is trouble
    assert looks_like_an_error(whole)


@pytest.mark.parametrize(("text", "trouble"), TEXTS, ids=[text[:40] for text, _ in TEXTS])
def test_line_breaks_colours_and_what_pytest_prints_change_nothing(text: str, trouble: Any) -> None:
    whole = text.replace("...", "0")
    half = len(whole) // 2
    assert help_in(f"{whole[:half]}\n{whole[half:]}") is trouble
    assert help_in(f"E       RuntimeError: {whole[:half]}\nE       {whole[half:]}") is trouble
    assert help_in(f"\x1b[31mRuntimeError\x1b[0m: {whole.upper()}") is trouble


def leaf(*sizes: int) -> Any:
    return torch.ones(*sizes, requires_grad=True)


def again() -> None:
    y = leaf(2).exp().sum()
    y.backward()
    y.backward()


def changed() -> None:
    y = leaf(2).exp()
    y.add_(1)
    y.sum().backward()


def of_several() -> None:
    first, _ = (leaf(2, 2) * 1).unbind()
    first.add_(1)


def of_no_grad() -> None:
    x = leaf(2) * 1
    with torch.no_grad():
        view = x[:1]
    view.mul_(2)


def nan() -> None:
    with torch.autograd.set_detect_anomaly(True):
        x = torch.zeros(1, requires_grad=True)
        (x.sqrt() * 0).sum().backward()


def of_inference() -> None:
    with torch.inference_mode():
        x = torch.ones(2)
    (leaf(2) * x).sum().backward()


RAISED: dict[str, tuple[Callable[[], Any], str]] = {
    "no graph": (lambda: torch.ones(()).backward(), "no recorded operation has made"),
    "freed": (again, "frees what the operations saved"),
    "in place": (changed, "was written in place afterwards"),
    "leaf in place": (lambda: leaf(2).add_(1), "A leaf that requires a gradient is written in place"),
    "view of a leaf": (lambda: leaf(2)[:1].add_(1), "A slice or another view of a leaf"),
    "no scalar": (lambda: torch.autograd.backward(leaf(2) * 2), "a tensor of several elements"),
    "unused": (lambda: torch.autograd.grad(leaf(1) * 2, leaf(1)), "not computed from this very x"),
    "no grad asked": (lambda: torch.autograd.grad(leaf(1) * 2, torch.ones(1)), "x requires no gradient"),
    "integers": (lambda: torch.tensor(2, requires_grad=True), "integers or booleans"),
    "integers later": (lambda: torch.tensor(2).requires_grad_(), "integers or booleans"),
    "numpy": (lambda: leaf(2).numpy(), "numpy records no operations"),
    "flag": (lambda: setattr(leaf(2) * 2, "requires_grad", False), "cannot be switched"),
    "shape": (lambda: (leaf(2) * 2).backward(torch.ones(3)), "of another size than the tensor"),
    "several views": (of_several, "unbind, split, chunk"),
    "no_grad view": (of_no_grad, "A view was made under no_grad()"),
    "deepcopy": (lambda: copy.deepcopy(leaf(2) * 2), "copy.deepcopy() was called"),
    "nan": (nan, "Anomaly detection has found"),
    "retain": (lambda: torch.ones(2).retain_grad(), "no graph behind it"),
    "hook": (lambda: torch.ones(2).register_hook(print), "this tensor gets none"),
    "inference": (of_inference, "made under inference_mode()"),
    "out": (lambda: torch.add(leaf(2), 1, out=torch.ones(2)), "not recorded"),
    "item": (lambda: leaf(2).item(), "of several elements"),
    "grad size": (lambda: setattr(leaf(2), "grad", torch.ones(3)), "needs the size and the dtype"),
    "none": (lambda: 0.1 * leaf(2).grad, ".grad is None"),
    "module": (lambda: torch.nn.Linear(2, 2)(torch.nn.ReLU(leaf(2))), "computes nothing of h"),
    "module without options": (lambda: torch.nn.Tanh(leaf(2)), "computes nothing of h"),
    "expanded": (lambda: torch.ones(1).expand(3).add_(1), "the same number in memory"),
}


@pytest.mark.parametrize("case", RAISED)
def test_what_the_engine_raises_is_explained(case: str) -> None:
    raise_it, meaning = RAISED[case]
    with warnings.catch_warnings(action="ignore"), pytest.raises((RuntimeError, TypeError)) as raised:
        raise_it()
    traceback = 'Traceback (most recent call last):\n  File "net.py", line 3, in <module>\n    loss.backward()\n'
    assert meaning in help_for(f"{traceback}{raised.typename}: {raised.value}").meaning


@pytest.mark.parametrize(
    "name", [name for name in vars(words) if name.isupper() and isinstance(getattr(words, name), str)]
)
def test_the_engine_s_long_sentences_are_explained(name: str) -> None:
    known = help_in(getattr(words, name).replace("{}", "[2]"))
    assert (known is None) == (name in {"COMPLEX", "ONE_DTYPE", "USE_DETACH", "RESIZED", "VIEW_OF_BLOCK"})


@pytest.mark.torch
def test_what_a_scaler_of_losses_raises_is_explained() -> None:
    real = pytest.importorskip("torch")
    weight = real.ones(2, requires_grad=True)
    optimizer = real.optim.SGD([weight], lr=0.1)

    def stepped(has_gradient: bool = True) -> Any:
        scaler = real.amp.GradScaler("cpu")
        loss = scaler.scale(weight.sum())
        if has_gradient:
            loss.backward()
        else:
            weight.grad = None
        scaler.step(optimizer)
        return scaler

    def unscale_twice() -> None:
        scaler = real.amp.GradScaler("cpu")
        scaler.scale(weight.sum()).backward()
        scaler.unscale_(optimizer)
        scaler.unscale_(optimizer)

    for raise_it, meaning in (
        (lambda: stepped().unscale_(optimizer), "update() was left out"),
        (lambda: stepped().step(optimizer), "update() was left out"),
        (unscale_twice, "update() was left out"),
        (lambda: stepped(has_gradient=False), "there was none"),
    ):
        with pytest.raises((RuntimeError, AssertionError)) as raised:
            raise_it()
        assert meaning in help_for(f"{raised.typename}: {raised.value}").meaning


def test_the_last_error_of_a_traceback_with_two_is_the_one_that_is_meant() -> None:
    first, second = (
        "Can't call numpy() on Tensor that requires grad.",
        "grad can be implicitly created only for scalar outputs",
    )
    between = "During handling of the above exception, another exception occurred:"
    text = f"RuntimeError: {first}\n\n{between}\n\nRuntimeError: {second}"
    assert "several elements" in help_for(text).meaning


def test_an_unknown_error_is_named_and_one_that_is_near_is_offered() -> None:
    with pytest.raises(SourceError, match="gviz does not know this error: ValueError: no such thing as that"):
        help_for('Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no such thing as that\n')
    with pytest.raises(SourceError) as refused:
        help_for("RuntimeError: grad can be implicitly created for scalars")
    assert "did you mean this one? grad can be implicitly created only for scalar outputs" in str(refused.value)


@pytest.mark.parametrize(
    "text", ["y=(x+w)*(w+1)", "y = x * w  # the product of the two", "AddBackward0", "a=x+w; b=w+1"]
)
def test_no_expression_is_an_error(text: str) -> None:
    assert not looks_like_an_error(text)
