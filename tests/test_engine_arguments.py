"""Arguments: which ones a function takes, and PyTorch's words for the others."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from tested import IS_GVIZ, torch

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


REFUSED = [
    ("torch.ones(2, dtype=str)", "ones(): argument 'dtype' must be torch.dtype, not type"),
    ("torch.log(1.0)", "log(): argument 'input' (position 1) must be Tensor, not float"),
    ("torch.sin(2)", "sin(): argument 'input' (position 1) must be Tensor, not int"),
    ("torch.maximum(x, 3)", "maximum(): argument 'other' (position 2) must be Tensor, not int"),
    ("torch.softmax(x)", 'softmax() missing 1 required positional arguments: "dim"'),
    ("x.log_softmax()", 'log_softmax() missing 1 required positional arguments: "dim"'),
    ("torch.exp()", 'exp() missing 1 required positional arguments: "input"'),
    ("torch.transpose(x)", 'transpose() missing 2 required positional argument: "dim0", "dim1"'),
    ("torch.matmul(x)", 'matmul() missing 1 required positional arguments: "other"'),
    ("torch.exp(x, 3)", "exp() takes 1 positional argument but 2 were given"),
    ("torch.exp(x, foo=3)", "exp() got an unexpected keyword argument 'foo'"),
    ("x.exp(1)", "TensorBase.exp() takes no arguments (1 given)"),
    ("torch.sum(3)", "sum(): argument 'input' (position 1) must be Tensor, not int"),
    ("torch.relu(3.0)", "relu(): argument 'input' (position 1) must be Tensor, not float"),
    ("nn.ReLU()(3.0)", "relu(): argument 'input' (position 1) must be Tensor, not float"),
    ("F.gelu(3.0)", "gelu(): argument 'input' (position 1) must be Tensor, not float"),
    ("torch.matmul(x, 2)", "matmul(): argument 'other' (position 2) must be Tensor, not int"),
    ("x.matmul(2)", "matmul(): argument 'other' (position 1) must be Tensor, not int"),
    ("torch.dot(v, 2)", "dot(): argument 'tensor' (position 2) must be Tensor, not int"),
    ("x.mv(2)", "mv(): argument 'vec' (position 1) must be Tensor, not int"),
    ("x.type_as(2)", "type_as(): argument 'other' (position 1) must be Tensor, not int"),
    ("x.expand_as(2)", "expand_as(): argument 'other' (position 1) must be Tensor, not int"),
    ("torch.zeros_like([1])", "zeros_like(): argument 'input' (position 1) must be Tensor, not list"),
    ("torch.rand_like(2)", "rand_like(): argument 'input' (position 1) must be Tensor, not int"),
    ("torch.logical_or(x, None)", "logical_or(): argument 'other' (position 2) must be Tensor, not NoneType"),
    ("torch.cat(3)", "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not int"),
    ("torch.stack([1, 2])", "expected Tensor as element 0 in argument 0, but got int"),
    ("torch.zeros('a')", "zeros(): argument 'size' (position 1) must be tuple of ints, not str"),
    ("x['a']", "new(): invalid data type 'str'"),
    ("torch.argmax(x, True)", "argmax(): argument 'dim' (position 2) must be int, not bool"),
    ("x.norm(x)", "linalg_vector_norm(): argument 'ord' (position 2) must be Number, not Tensor"),
    ("x.max(x, {})", "max(): argument 'dim' (position 1) must be int, not Tensor"),
    ("x.softmax(x)", "softmax(): argument 'dim' (position 1) must be int, not Tensor"),
    ("x.norm(out='a')", "Tensor.norm() got an unexpected keyword argument 'out'"),
    ("torch.norm(x, out='a')", "linalg_vector_norm(): argument 'out' must be Tensor, not str"),
    ("x.max(0, [])", "max(): argument 'keepdim' (position 2) must be bool, not list"),
    ("torch.argmax(x, keepdim=7)", "argmax(): argument 'keepdim' must be bool, not int"),
    ("x.prod(None, torch.float32)", "prod(): argument 'dim' (position 1) must be int, not NoneType"),
    ("torch.amax(x, {})", "amax(): argument 'dim' (position 2) must be tuple of ints, not dict"),
    ("x.flatten(True)", "flatten(): argument 'start_dim' (position 1) must be int, not bool"),
    ("x.nan_to_num([])", "nan_to_num(): argument 'nan' (position 1) must be float, not list"),
    ("torch.roll(x, True)", "roll(): argument 'shifts' (position 2) must be tuple of ints, not bool"),
    ("torch.reshape(x, True)", "reshape(): argument 'shape' (position 2) must be tuple of ints, not bool"),
    ("torch.reshape(x, 4)", "reshape(): argument 'shape' (position 2) must be tuple of ints, not int"),
    ("torch.permute(x, 1, 0)", "permute() takes 2 positional arguments but 3 were given"),
    ("x.split()", "Tensor.split() missing 1 required positional argument: 'split_size'"),
    ("torch.split(x, 1j)", "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not complex"),
    ("x.norm(foo=1)", "Tensor.norm() got an unexpected keyword argument 'foo'"),
    ("x.norm([])", "linalg_vector_norm(): argument 'ord' (position 2) must be Number, not list"),
    (
        "torch.roll(x, (0, 'a'), (0, 'b'))",
        "roll(): argument 'dims' failed to unpack the object at pos 2 with error \"type must be tuple of ints,but got str\"",
    ),
    ("x.requires_grad_(3)", "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not int"),
]


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_an_argument_is_refused_in_pytorchs_words(text: str, words: str) -> None:
    with pytest.raises(TypeError) as error:
        evaluate(text)
    assert str(error.value) == words


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("x & x", NotImplementedError, "\"bitwise_and\" not implemented for 'Float'"),
        ("~x", NotImplementedError, "\"bitwise_not\" not implemented for 'Float'"),
        ("torch.cat([])", ValueError, "torch.cat(): expected a non-empty list of Tensors"),
        ("torch.zeros(-1)", RuntimeError, "zeros: Dimension size must be non-negative."),
        ("torch.ones(-1)", RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        ("torch.addmm(x, v, i)", RuntimeError, "self and mat2 must have the same dtype, but got Float and Long"),
        ("x.norm(1j)", RuntimeError, "linalg.vector_norm: Expected a non-complex scalar as the order of norm."),
        (
            "x.index_select(7, v)",
            IndexError,
            "Dimension out of range (expected to be in range of [-2, 1], but got 7)",
        ),
        ("x.norm('a')", RuntimeError, "linalg.matrix_norm: Order a not supported."),
        ("i.clamp(1j)", NotImplementedError, "clamp is not supported for complex types"),
        ("x.clamp(1j)", RuntimeError, "value cannot be converted to type double without overflow"),
        ("x.cuda()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("nn.Linear(2, 2)(torch.arange(3))", RuntimeError, "mat1 and mat2 must have the same dtype, but got Long and Float"),
        ("setattr(x, 'requires_grad', 3)", RuntimeError, "requires_grad must be a bool"),
        ("torch.meshgrid([], indexing='ij')", RuntimeError, "meshgrid expects a non-empty TensorList"),
        ("v.mH", RuntimeError, "tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor."),
        ("v.H", RuntimeError, "tensor.H is only supported on matrices (2-D tensors). Got 1-D tensor."),
        ("v.adjoint()", RuntimeError, "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."),
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
        "x.any(True)",
        "torch.split(x, True)",
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
        "torch.linspace(0, 1)",
    ],
)
def test_a_call_that_fits_none_of_several_forms_lists_them(text: str) -> None:
    with pytest.raises(TypeError, match=r"\(\) received an invalid combination of arguments - got \(.*\), but expected"):
        evaluate(text)


def test_a_function_with_one_form_says_it() -> None:
    with pytest.raises(TypeError) as error:
        torch.add(torch.ones(1))
    assert str(error.value) == (
        "add() received an invalid combination of arguments - got (Tensor), but expected "
        "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"
    )


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
    with pytest.raises(TypeError, match=r"^special_erf\(\): argument 'input' \(position 1\) must be Tensor, not int$"):
        torch.special.erf(3)
    with pytest.raises(AttributeError, match=r"^module 'torch.special' has no attribute 'foo'$"):
        _ = torch.special.foo


@pytest.mark.skipif(not IS_GVIZ, reason="gviz's own table")
@pytest.mark.parametrize(("key", "function"), [("exp", np.exp), ("sin", np.sin), ("tanh", np.tanh)])
def test_a_row_that_is_one_call_of_numpy_is_that_function(key: str, function: Any) -> None:
    from gviz.autograd.formulas import direct
    from gviz.autograd.row import ROWS

    assert direct(ROWS[key].forward) is function


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


def test_a_norm_of_nothing_has_no_least_element() -> None:
    with pytest.raises(
        RuntimeError, match=r"^linalg.vector_norm cannot compute the -1 norm on the dimension 0because this dim"
    ):
        torch.zeros(0, 3).norm(-1, 0)
    assert torch.zeros(0, 3).norm(-1, 1).shape == (0,)


def test_one_tensor_is_a_list_of_tensors_too() -> None:
    (grid,) = torch.meshgrid(torch.tensor([1.0, 2.0]), indexing="ij")
    (same,) = torch.broadcast_tensors(grid)
    assert grid.tolist() == same.tolist() == [1.0, 2.0]
