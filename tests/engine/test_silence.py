"""The engine's warnings: PyTorch's, and none of numpy's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from program import python

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
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gviz\.")  # as importing the engine does
    result = getattr(torch.tensor([3e38, 3e38]), method)()

    assert result.item() == float("inf")
    assert [str(warning.message) for warning in recwarn] == []


def test_the_mean_of_nothing_is_not_a_number_without_a_word(recwarn: pytest.WarningsRecorder) -> None:
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gviz\.")

    assert str(torch.zeros(0).mean()) == "tensor(nan)"
    assert str(torch.ones(2, 0).mean(1)) == "tensor([nan, nan])"
    assert [str(warning.message) for warning in recwarn] == []


def test_a_number_taken_out_of_the_graph_is_warned_of_once() -> None:
    done = python(NUMBERS)

    assert done.stderr.count("Converting a tensor with requires_grad=True to a scalar") == 1
    assert done.stderr.startswith("<string>:3: UserWarning: ")


@pytest.mark.parametrize("numpy_too", [False, True])
@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (lambda x: x.log(), "tensor([-inf, nan], grad_fn=<LogBackward0>)"),
        (lambda x: x / x, "tensor([nan, 1.], grad_fn=<DivBackward0>)"),
        (lambda x: 1 / x, "tensor([inf, -1.], grad_fn=<MulBackward0>)"),
        (lambda x: x / 0, "tensor([nan, -inf], grad_fn=<DivBackward0>)"),
        (lambda x: (x * 3e38 * 3e38).cumprod(0), "tensor([0., nan], grad_fn=<CumprodBackward0>)"),
        (lambda x: torch.nn.functional.log_softmax(x / 0, 0), "tensor([nan, nan], grad_fn=<LogSoftmaxBackward0>)"),
        (lambda x: torch.autograd.grad(x.sqrt().sum(), x)[0], "tensor([inf, nan])"),
        (lambda x: torch.autograd.grad(x.sqrt().sum(), x, create_graph=True)[0].detach(), "tensor([inf, nan])"),
    ],
)
def test_numpys_remarks_are_no_errors_where_a_program_makes_warnings_errors(
    program: Any, printed: str, *, numpy_too: bool
) -> None:
    x = torch.tensor([0.0, -1.0], requires_grad=True)
    with warnings.catch_warnings(), np.errstate(all="raise" if numpy_too else "warn"):
        warnings.simplefilter("error")

        assert str(program(x)) == printed


def test_numpy_s_warnings_do_not_reach_whoever_reads_an_expression_first() -> None:
    done = python(
        'import gviz\nreading = gviz.read("y=log(x)+1/x", x=0)\nreading.why("x")\ngviz.inspect("y=sqrt(x)", x=-1)\n'
    )

    assert done.returncode == 0
    assert done.stderr.count("GvizWarning") >= 2
    assert "RuntimeWarning" not in done.stderr
