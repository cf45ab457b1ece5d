"""Public names: each refuses a wrong kind of argument by name, and has help; single wrong calls are in tests/ops."""

from __future__ import annotations

import warnings
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any

import pytest
from tested import IS_GVIZ, torch

from gviz.autograd.names import KINDS, NAMES, NO

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
    for form in (form for form in name.forms if not form.old):
        words = {one.name: VALUES[one.kind] for one in form.parameters if one.keyword and one.default is NO}
        for i, parameter in enumerate(form.parameters):
            if parameter.kind == "Any":
                continue
            before = [VALUES[one.kind] for one in form.parameters[: min(i, form.places)]]
            wrong: Any = words | {parameter.name: object()} if parameter.keyword else {}
            rest = [VALUES[one.kind] for one in form.parameters[i + 1 : form.places] if one.default is NO]
            with pytest.raises(TypeError) as error:
                function(*before, **wrong) if wrong else function(*before, object(), *rest)
            argument = "input" if parameter.name == "self" else parameter.name
            message = str(error.value)
            assert message.startswith(f"{name.told}()")
            assert argument in message
            assert KINDS[parameter.kind][0] in message


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's own points into PyTorch")
def test_a_warning_about_sizes_points_at_the_line_that_calls() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.MSELoss()(torch.ones(2, 1), torch.ones(2))
    assert [one.filename for one in caught] == [__file__]


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's help is its own")
def test_help_says_what_a_function_takes_and_its_derivatives() -> None:
    assert torch.mul.__doc__ == torch.Tensor.mul.__doc__
    assert torch.mul.__doc__ == "(self, other): {'self': 'grad * other', 'other': 'grad * self'}"
    assert torch.full.__doc__ == "(size, fill_value): Return one value everywhere; its kind decides the dtype."
    assert torch.eq.__doc__ == "(self, other)"
    assert torch.sum.__doc__.count("(self") == len(NAMES["sum"].forms)
