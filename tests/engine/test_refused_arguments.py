"""What torch.nn and gradcheck refuse, in the words of PyTorch 2.13."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gviz import engine
from gviz.engine import nn
from gviz.engine.autograd.gradcheck import gradcheck
from gviz.engine.nn import functional as F

torch: Any = engine


def test_gradcheck_finds_a_backward_that_cannot_do_without_a_gradient() -> None:
    class Needy(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if grad is None:
                raise RuntimeError("no gradient")
            return grad * 2

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Expected backward function to handle undefined output grads"):
        gradcheck(Needy.apply, x)
    assert gradcheck(Needy.apply, x, check_undefined_grad=False)


def test_bounds_the_wrong_way_round_are_refused_when_the_layer_is_made() -> None:
    with pytest.raises(AssertionError, match=re.escape("max_val (-1) must be greater than min_val (1)")):
        nn.Hardtanh(1, -1)


@pytest.mark.parametrize("shape", [(1, 1, 5), (1, 5), (1, 1, 5, 5)])
@pytest.mark.parametrize("name", ["conv1d", "conv_transpose1d"])
def test_a_convolution_over_one_dimension_refuses_the_weight_of_an_image(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match=r"Expected (4-dimensional input for|2D \(unbatched\) or 3D)"):
        getattr(F, name)(torch.ones(shape), torch.ones(1, 1, 1, 3))
