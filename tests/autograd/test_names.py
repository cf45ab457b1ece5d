"""Public names: the calls that their forms take, and what is said of others."""

from __future__ import annotations

import warnings
from inspect import CO_VARARGS, CO_VARKEYWORDS
from itertools import product
from typing import Any

import pytest
from tested import IS_GVIZ, torch

from gviz.autograd.names import KINDS, NAMES

F = torch.nn.functional


def evaluate(text: str) -> Any:
    """What a text of this file means."""
    return eval(text, values())  # noqa: S307 - written here, above and below


WORDS = {"torch": torch, "F": F, "nn": torch.nn}


def values() -> dict[str, Any]:
    """What the texts below are written with."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return {**WORDS, "x": x, "v": torch.tensor([1.0, 2.0]), "i": torch.tensor([1, 2])}


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("torch.ones(2, dtype=float)", "float64"),
        ("torch.tensor([1], dtype=bool)", "bool"),
        ("torch.zeros(2, dtype=int)", "int64"),
        ("torch.full((2,), 1, dtype=complex)", "complex128"),
        ("torch.arange(3, dtype=float)", "float64"),
        ("torch.linspace(0, 1, 3, dtype=float)", "float64"),
        ("torch.eye(2, dtype=int)", "int64"),
        ("torch.rand(2, dtype=float)", "float64"),
        ("torch.ones_like(x, dtype=int)", "int64"),
        ("torch.as_tensor([1], dtype=float)", "float64"),
        ("x.to(int)", "int64"),
        ("x.to(dtype=float)", "float64"),
        ("x.sum(dtype=float)", "float64"),
        ("torch.sum(x, dtype=int)", "int64"),
        ("x.cumsum(0, dtype=float)", "float64"),
        ("F.softmax(x, dim=0, dtype=float)", "float64"),
        ("x.new_zeros(2, dtype=int)", "int64"),
        ("nn.Linear(2, 2, dtype=float).weight", "float64"),
    ],
)
def test_pythons_own_types_are_element_types(text: str, dtype: str) -> None:
    assert str(evaluate(text).dtype) == f"torch.{dtype}"


VALUES = {
    "Tensor": torch.ones(2), "Operand": torch.ones(2), "Tensors": [torch.ones(2)], "int": 0, "Ints": (0,), "Ints1": (1,),
    "Ints2": (1, 1), "Ints3": (1, 1, 1), "Size": (2,), "bool": True, "float": 1.0, "Number": 1.0, "str": "mean",
    "Dtype": torch.float32, "Any": None,
}  # fmt: skip
"""A value of each kind."""


@pytest.mark.skipif(not IS_GVIZ, reason="gviz's own words")
@pytest.mark.parametrize("word", NAMES)
def test_a_wrong_kind_is_refused_by_the_names_of_the_function_the_argument_and_the_kind(word: str) -> None:
    name = NAMES[word]
    if any(declared.__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS) for declared, _ in name.declared):
        pytest.skip("takes whatever it is called with")
    function = name.function
    for form in name.forms:
        for i, parameter in enumerate(form.parameters):
            if parameter.kind == "Any":
                continue
            before = [VALUES[one.kind] for one in form.parameters[: min(i, form.places)]]
            wrong: Any = {parameter.name: object()} if parameter.keyword else {}
            with pytest.raises(TypeError) as error:
                function(*before, **wrong) if wrong else function(*before, object())
            shown = "input" if parameter.name == "self" else parameter.name
            message = str(error.value)
            assert message.startswith(f"{name.short}()")
            assert shown in message
            assert KINDS[parameter.kind][0] in message


@pytest.mark.skipif(not IS_GVIZ, reason="gviz's own words")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torch.exp(2)", "exp(): argument 'input' (position 1) must be Tensor, not int"),
        ("torch.transpose(x)", 'transpose() missing 2 required positional arguments: "dim0", "dim1"'),
        ("torch.exp(x, foo=3)", "exp() got an unexpected keyword argument 'foo'"),
        ("torch.cat([x, 1])", "expected Tensor as element 1 in argument 0, but got int"),
        ("F.selu_(x, 0, -9)", "selu_() takes 1 positional argument but 3 were given"),
        ("x.backward(foo=1)", "Tensor.backward() got an unexpected keyword argument 'foo'"),
        ("nn.ReLU()(3.0)", "relu(): argument 'input' (position 1) must be Tensor, not float"),
    ],
)
def test_a_wrong_call_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(TypeError) as error:
        evaluate(text)
    assert str(error.value).startswith(words)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("x & x", NotImplementedError, "\"bitwise_and\" not implemented for 'Float'"),
        ("~x", NotImplementedError, "\"bitwise_not\" not implemented for 'Float'"),
        ("torch.cat([])", ValueError, "torch.cat(): expected a non-empty list of Tensors"),
        ("torch.ones(-1)", RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        ("torch.addmm(x, v, i)", RuntimeError, "self and mat2 must have the same dtype, but got Float and Long"),
        ("x.norm('a')", RuntimeError, "linalg.matrix_norm: Order a not supported."),
        ("x.index_select(7, i)", IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 7)"),
        ("x.cuda()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("nn.Linear(2, 2)(torch.arange(3))", RuntimeError, "mat1 and mat2 must have the same dtype, but got Long and Float"),
        ("setattr(x, 'requires_grad', 3)", RuntimeError, "requires_grad must be a bool"),
    ],
)
def test_a_value_that_does_not_do_is_refused_with_pytorchs_error(text: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as error:
        evaluate(text)
    assert str(error.value) == words


def test_sizes_that_do_not_fit_are_told_of_the_last_dimension_first() -> None:
    with pytest.raises(RuntimeError, match="at non-singleton dimension 1"):
        torch.ones(2, 2).expand(3, 3)


@pytest.mark.parametrize(
    "text",
    [
        "torch.where(x > 0, x)",
        "torch.where(x, None)",
        "torch.max(x, None)",
        "x.pow(None)",
        "torch.std(x, {})",
        "x.prod([1])",
        "x.prod(dtype=torch.tensor(1))",
        "torch.max(x, v, other=x)",
        "x.max(other=7)",
        "torch.var(x, [1], axis=0)",
        "x.lerp(True, 1.5)",
        "x.clamp(x, 1.5)",
        "x.squeeze(x)",
        "torch.where(x > 0, 1)",
        "torch.arange()",
    ],
)
def test_a_call_that_fits_none_of_several_forms_lists_them(text: str) -> None:
    with pytest.raises(TypeError, match=r"\(\) received an invalid combination of arguments - got \(.*\), but expected"):
        evaluate(text)


def test_arithmetic_and_comparison_take_numbers() -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.add(2, x).tolist() == [3.0, 4.0]
    assert torch.mul(x, 2).tolist() == [2.0, 4.0]
    assert torch.eq(x, 2).tolist() == [False, True]
    assert torch.where(x > 1, x, 0).tolist() == [0.0, 2.0]


def test_a_softmax_of_nn_chooses_its_dim_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        assert F.softmax(torch.ones(1, 2)).tolist() == [[0.5, 0.5]]


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's own points into PyTorch")
def test_a_warning_about_sizes_points_at_the_line_that_calls() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.MSELoss()(torch.ones(2, 1), torch.ones(2))
    assert [one.filename for one in caught] == [__file__]


@pytest.mark.parametrize(("left", "right"), [flags for flags in product([False, True], repeat=2) if any(flags)])
def test_a_product_saves_the_strides_of_the_factors_that_want_a_gradient(left: bool, right: bool) -> None:
    a, b = torch.ones(2, 3, requires_grad=left), torch.ones(3, 4, requires_grad=right)
    for node in (torch.mm(a, b).grad_fn, torch.addmm(torch.ones(4), a, b).grad_fn):
        first, second = ("self", "mat2") if node.name() == "MmBackward0" else ("mat1", "mat2")
        assert getattr(node, f"_saved_{first}_sym_strides") == ((3, 1) if left else ())
        assert getattr(node, f"_saved_{second}_sym_strides") == ((4, 1) if right else ())


def test_special_functions_are_the_same_operations() -> None:
    x = torch.tensor(0.0, requires_grad=True)
    assert torch.special.expit(x).grad_fn.name() == "SigmoidBackward0"
    assert torch.special.log1p(x).grad_fn.name() == "Log1PBackward0"
    with pytest.raises(AttributeError, match=r"^module 'torch.special' has no attribute 'foo'$"):
        _ = torch.special.foo


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x.roll(torch.tensor(1), [1])", (2, 2)),
        ("torch.tensor(1.0).roll(torch.tensor(1), [])", ()),
        ("x.clamp(torch.tensor(1), 1.5)", (2, 2)),
        ("x.expand(torch.tensor(2), 2)", (2, 2)),
        ("torch.any(x, torch.tensor(1))", (2,)),
        ("x.sum([torch.tensor(1)])", (2,)),
        ("x.reshape([torch.tensor(1), 4])", (1, 4)),
        ("torch.full_like(x, torch.tensor(0.5))", (2, 2)),
        ("torch.prod(x, dim=torch.tensor(1))", (2,)),
    ],
)
def test_a_tensor_of_one_whole_number_stands_for_it(text: str, shape: tuple[int, ...]) -> None:
    assert evaluate(text).shape == shape


def test_one_tensor_is_a_list_of_tensors_too() -> None:
    (grid,) = torch.meshgrid(torch.tensor([1.0, 2.0]), indexing="ij")
    (same,) = torch.broadcast_tensors(grid)
    assert grid.tolist() == same.tolist() == [1.0, 2.0]


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's help is its own")
def test_help_says_what_a_function_takes_and_its_derivatives() -> None:
    assert torch.mul.__doc__ == torch.Tensor.mul.__doc__
    assert torch.mul.__doc__ == "(self, other): {'self': 'grad * other', 'other': 'grad * self'}"
    assert torch.full.__doc__ == "(size, fill_value): Return one value everywhere; its kind decides the dtype."
    assert torch.eq.__doc__ == "(self, other)"
    assert torch.sum.__doc__.count("(self") == len(NAMES["sum"].forms)
