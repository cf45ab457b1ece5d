"""What tensors with a mask lack in gviz's engine is said in one line, and not in PyTorch's words for what nobody has."""

from __future__ import annotations

import pytest

from gviz import engine as torch
from gviz.engine.masked import masked_tensor


@pytest.mark.parametrize("name", ["all", "var", "std"])
def test_a_reduction_that_the_engine_lacks_is_said(name: str) -> None:
    masked = masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
    with pytest.raises(NotImplementedError, match=f"{name} of a masked tensor is not in gviz's engine; .*torch"):
        getattr(masked, name)()
    with pytest.raises(TypeError, match=r"aten\.median\.default"):
        masked.median()
