"""What the engine says unasked: PyTorch's warnings, and none of numpy's."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

from gviz import engine

torch: Any = engine
NUMBERS = """from gviz import engine as torch
x = torch.tensor(2.0, requires_grad=True)
float(x)
float(x * x)
int(x)
(x * x).item()
"""


@pytest.mark.parametrize("method", ["sum", "mean", "prod", "norm", "var"])
def test_a_result_that_overflows_is_infinite_without_a_word(method: str, recwarn: pytest.WarningsRecorder) -> None:
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gviz\.engine\b")  # as importing the engine does
    result = getattr(torch.tensor([3e38, 3e38]), method)()

    assert result.item() == float("inf")
    assert [str(warning.message) for warning in recwarn] == []


def test_the_mean_of_nothing_is_not_a_number_without_a_word(recwarn: pytest.WarningsRecorder) -> None:
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gviz\.engine\b")

    assert str(torch.zeros(0).mean()) == "tensor(nan)"
    assert str(torch.ones(2, 0).mean(1)) == "tensor([nan, nan])"
    assert [str(warning.message) for warning in recwarn] == []


def test_a_number_taken_out_of_the_graph_is_warned_of_once() -> None:
    done = subprocess.run([sys.executable, "-c", NUMBERS], capture_output=True, text=True, check=True)

    assert done.stderr.count("Converting a tensor with requires_grad=True to a scalar") == 1
    assert done.stderr.startswith("<string>:3: UserWarning: ")


def test_where_with_one_argument_takes_a_0_d_condition() -> None:
    assert str(torch.where(torch.tensor(1.0))) == "(tensor([0]),)"
