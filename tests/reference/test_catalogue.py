"""The catalogue of operations: every row with the names that lead to it, and its formulas as people read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from program import ROOT

from gviz import engine
from gviz.autograd.row import COMPOSITES, ROWS
from gviz.formulas import symbols
from gviz.reference.catalogue import TableOperation, matching, operations
from gviz.signatures.pytorch import pytorch_names


@pytest.fixture(scope="module")
def listed() -> dict[str, TableOperation]:
    return {operation.key: operation for operation in operations()}


# ------------------------------------------------------------------ the list
@pytest.mark.parametrize("key", sorted(ROWS))
def test_every_row_is_listed_with_what_it_saves_and_its_formulas(listed: dict[str, TableOperation], key: str) -> None:
    row, operation = ROWS[key], listed[key]
    assert operation.grad_fn == row.node
    assert operation.saved == tuple(name for name in dir(row.cls) if name.startswith("_saved_"))
    assert [inputs.split(", ") for inputs, _ in operation.formulas] == [
        re.split("__(?!_)", name) for name in row.formulas
    ]
    assert all(
        formula and "<" not in formula.replace(" < ", "").replace(" <= ", "") for _, formula in operation.formulas
    )
    assert bool(operation.formulas) == (row.node is not None)


def test_every_row_can_be_found_by_its_names() -> None:
    for operation in operations()[::7]:  # to look for all names of all rows takes seconds
        for name in operation.names():
            assert operation in matching(name), name


def test_every_form_is_a_name_of_pytorchs(listed: dict[str, TableOperation]) -> None:
    names = pytorch_names()
    for operation in listed.values():
        for form in (*operation.forms, *operation.part_of):
            owner, _, name = form.rpartition(".")
            if form.replace(".", "_").isidentifier():  # no operator
                assert name in names[owner if owner == "torch" else f"torch.{owner}"], form


x, y, matrix = (engine.ones(*size).requires_grad_() for size in ((3,), (3,), (3, 3)))


@pytest.mark.parametrize(
    ("form", "run"),
    [
        ("torch.sum", lambda: engine.sum(matrix)),
        ("Tensor.sum", lambda: matrix.sum(0)),
        ("x + y", lambda: x + y),
        ("2 - x", lambda: 2 - x),
        ("2 / x", lambda: 2 / x),
        ("x ** y", lambda: x**2),
        ("2 ** x", lambda: 2**x),
        ("x[...]", lambda: matrix[0]),
        ("-x", lambda: -x),
        ("Tensor.T", lambda: matrix.T),
        ("torch.max", lambda: engine.max(x)),
        ("Tensor.mul_", lambda: (x * 1).mul_(y)),
        ("nn.functional.relu", lambda: engine.nn.functional.relu(x)),
        ("nn.functional.softmax", lambda: engine.nn.functional.softmax(x, 0)),
        ("linalg.det", lambda: engine.linalg.det(matrix)),
        ("special.expit", lambda: import_module("gviz.engine.special").expit(x)),
        ("torch.cat", lambda: engine.cat([x, y])),
    ],
)
def test_a_form_makes_the_node_that_it_is_listed_with(form: str, run: Callable[[], Any]) -> None:
    made = type(run().grad_fn).__name__
    assert made in {operation.grad_fn for operation in operations() if form in operation.forms}


def test_an_option_that_is_called_like_a_row_makes_no_function_part_of_it(listed: dict[str, TableOperation]) -> None:
    assert "torch.quantile" not in listed["addmm"].part_of  # interpolation="linear" is no linear layer
    assert "nn.functional.linear" in listed["addmm"].part_of


def test_a_function_of_several_operations_is_listed_with_each() -> None:
    assert "torch.kron" in next(operation for operation in operations() if operation.key == "mul").part_of
    parts = {operation.grad_fn for operation in operations() if "torch.matmul" in operation.part_of}
    assert {"MmBackward0", "MvBackward0", "DotBackward0", "BmmBackward0"} <= parts
    assert sorted(operation.key for operation in matching("matmul")) == sorted(
        operation.key for operation in operations() if "torch.matmul" in operation.part_of
    )


# ------------------------------------------------------------------ formulas as text
@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("(grad + 1) * neg(self)", "(grad + 1) * -self"),
        ("grad * neg(sin(self))", "grad * -sin(self)"),
        ("sub(a, sub(b, c)) - a", "a - (b - c) - a"),
        ("div(div(a, mul(b, c)), c) * 2", "a / (b * c) / c * 2"),
        ("power(power(a, b), neg(a))", "(a ** b) ** (-a)"),
        ("where(less(self, power(result, 2)), grad, 0)", "where(self < result ** 2, grad, 0)"),
        ("add(self, other, alpha)", "add(self, other, alpha)"),
        ("grads[0].shape[1:] if dims else 0", "grads[0].shape[1:] if dims else 0"),
    ],
)
def test_a_row_that_stands_for_a_sign_is_written_with_it(formula: str, text: str) -> None:
    assert symbols.formula_text(formula) == text


def test_a_composite_has_its_steps_or_words() -> None:
    assert symbols.meaning("div_backward_other").endswith("= -grad * ratio, with ratio = self / other / other")
    assert symbols.meaning("maybe_multiply").endswith("= grad if number == 1 else grad * number")
    assert symbols.meaning("var_backward").startswith("var_backward(grad, self, dim, correction, keepdim): gviz/ops/")
    for name, function in COMPOSITES.items():
        words = re.escape((function.__doc__ or "").partition("\n")[0]) or r"gviz/ops/\w+\.py:\d+"
        assert re.fullmatch(rf"{re.escape(name)}\(.*?\)( = .+|: {words})", symbols.meaning(name), re.DOTALL)


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("torch.conv2d", "ConvolutionBackward0 (convolution)"),
        ("conv2d", "ConvolutionBackward0 (convolution)"),
        ("nn.Linear", "AddmmBackward0 (addmm)"),
        ("nn.ReLU", "ReluBackward0 (relu)"),
        ("nn.functional.cross_entropy", "LogSoftmaxBackward0 (log_softmax_row)"),
        ("Tensor.__mul__", "MulBackward0 (mul)"),
        ("AccumulateGrad", "AccumulateGrad (AccumulateGrad)"),
        ("CopySlices", "CopySlices (CopySlices)"),
    ],
)
def test_what_is_asked_for_comes_first(pattern: str, first: str) -> None:
    operation = matching(pattern)[0]
    assert f"{operation.grad_fn} ({operation.key})" == first


@pytest.mark.parametrize("call", ["torch.conv2d", "nn.Conv2d", "nn.functional.conv2d"])
def test_call_forms_that_torch_has_of_functional_are_listed(listed: dict[str, TableOperation], call: str) -> None:
    assert call in listed["convolution"].part_of


def test_the_line_of_a_row_is_given(listed: dict[str, TableOperation]) -> None:
    for operation in listed.values():
        file, _, line = operation.source.partition(":")
        text = (ROOT / file).read_text(encoding="utf-8").split("\n", int(line) - 1)[-1]
        loop = text.startswith(" ")  # rows that are alike are made in one, or by a function of the file
        assert loop or re.match(r'@op\(|\w+\(\s*"', text), (operation, text[:80])


def test_the_arguments_of_a_row_are_given(listed: dict[str, TableOperation]) -> None:
    assert listed["mul"].takes == ("(Tensor input, Tensor other)",)
    assert "(Tensor input, Tensor other, *, Number alpha = 1)" in listed["add"].takes
    assert "torch.max" in listed["maximum"].forms
