"""Inference tensors: what PyTorch lets them do outside ``inference_mode``, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

import gviz.engine as torch


def inference(*size: int) -> Any:
    """A tensor made in inference mode."""
    with torch.inference_mode():
        return torch.ones(*size)


def test_what_is_made_in_inference_mode_says_so_and_what_is_made_of_it_outside_does_not() -> None:
    made = inference(2)
    assert torch.is_inference(made)
    assert all(one.is_inference() for one in (made, made[0], made.view(2, 1), made.detach()))
    assert not any(one.is_inference() for one in (made * 2, made.clone()))


def test_a_view_made_inside_of_a_normal_tensor_is_normal() -> None:
    normal = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert not normal.view(2).is_inference()
        assert (normal * 2).is_inference()


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda made: made.add_(1), "Inplace update to inference tensor outside InferenceMode is not allowed."),
        (lambda made: made.__setitem__(0, 3.0), "Inplace update to inference tensor outside InferenceMode is not allowed."),
        (lambda made: made * torch.ones(2, requires_grad=True), "Inference tensors cannot be saved for backward."),
        (
            lambda made: made.requires_grad_(),
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
        ),
        (lambda made: made._version, "Inference tensors do not track version counter."),
    ],
)
def test_outside_they_are_not_written_nor_saved_nor_made_to_require_gradients(act: Any, words: str) -> None:
    with pytest.raises(RuntimeError) as raised:
        act(inference(2))
    assert str(raised.value).startswith(words)


def test_what_saves_nothing_takes_an_inference_tensor() -> None:
    total = inference(2) + torch.ones(2, requires_grad=True)
    total.sum().backward()
    assert total.tolist() == [2.0, 2.0]


def test_new_data_from_outside_makes_it_a_normal_tensor() -> None:
    made = inference(2)
    made.data = torch.zeros(2)
    assert not made.is_inference()
