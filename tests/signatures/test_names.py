"""Public names: each refuses a wrong kind of argument by name, and has help; single wrong calls are in tests/ops."""

from __future__ import annotations

import inspect
import pydoc
import warnings
from functools import partial
from importlib import import_module
from inspect import CO_VARARGS, CO_VARKEYWORDS
from pkgutil import iter_modules
from typing import Any

import pytest
from tested import IS_GVIZ, torch

from gviz import ops
from gviz.signatures.arguments import ARG_TYPES, NO_VALUE
from gviz.signatures.forms import CallForm
from gviz.signatures.names import NAMES, Name
from gviz.signatures.sentences import SENTENCES

VALUES = {
    "Tensor": torch.ones(2), "Operand": torch.ones(2), "Tensors": [torch.ones(2)], "int": 0, "Ints": (0,), "Ints1": (1,),
    "Ints2": (1, 1), "Ints3": (1, 1, 1), "Size": (2,), "bool": True, "float": 1.0, "Number": 1.0, "str": "mean",
    "Dtype": torch.float32, "object": None, "Any": None,
}  # fmt: skip
"""A value of each kind."""

PLAIN: Any = vars(pydoc)["plaintext"]

for one in iter_modules(ops.__path__):  # some rows are stored when their module is named
    import_module(f"gviz.ops.{one.name}")
_ = torch.linalg, torch.special, torch.nn.functional.relu


def is_left_to_python(name: Name) -> bool:
    return any(function.__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS) for function, _ in name.declared)


def arguments_of_a_kind(name: Name) -> list[tuple[CallForm, int]]:
    """The places of the arguments that take one kind of value alone, each with its call form."""
    if is_left_to_python(name):
        return []
    forms = [form for form in name.forms if not form.deprecated]
    return [(form, i) for form in forms for i, one in enumerate(form.parameters) if one.type not in ("object", "Any")]


@pytest.mark.skipif(not IS_GVIZ, reason="gviz's own words")
@pytest.mark.parametrize("spec", [spec for spec, name in NAMES.items() if arguments_of_a_kind(name)])
def test_a_wrong_kind_is_refused_by_the_names_of_the_function_the_argument_and_the_kind(spec: str) -> None:
    name = NAMES[spec]
    function = name.function
    for form, i in arguments_of_a_kind(name):
        parameter = form.parameters[i]
        words = {p.name: VALUES[p.type] for p in form.parameters if p.keyword_only and p.default is NO_VALUE}
        before = [VALUES[one.type] for one in form.parameters[: min(i, form.places)]]
        wrong: Any = words | {parameter.name: object()} if parameter.keyword_only else {}
        rest = [VALUES[one.type] for one in form.parameters[i + 1 : form.places] if one.default is NO_VALUE]
        with pytest.raises(TypeError) as error:
            function(*before, **wrong) if wrong else function(*before, object(), *rest)
        argument = "input" if parameter.name == "self" else parameter.name
        message = str(error.value)
        assert message.startswith(f"{name.qualified}()")
        assert argument in message
        assert ARG_TYPES[parameter.type].text in message


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's own points into PyTorch")
def test_a_warning_about_sizes_points_at_the_line_that_calls() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.MSELoss()(torch.ones(2, 1), torch.ones(2))
    assert [one.filename for one in caught] == [__file__]


# ------------------------------------------------------------------ help
def homes(name: Name) -> list[Any]:
    """The places where programs find a name."""
    spaces = {
        "torch": torch, "F": torch.nn.functional, "linalg": torch.linalg, "special": torch.special,
        "Tensor": torch.Tensor,
    }  # fmt: skip
    functions = [getattr(spaces[name.space], name.base)] if name.space in spaces else []
    return functions + ([getattr(torch.Tensor, name.method)] if name.method else [])


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's help is its own")
@pytest.mark.parametrize("spec", NAMES)
def test_a_signature_has_the_parameters_of_the_first_form(spec: str) -> None:
    name = NAMES[spec]
    form = next(form for form in name.forms if not form.deprecated)
    found = homes(name)
    assert found
    for function in found:
        signature = inspect.signature(function)
        assert isinstance(signature, inspect.Signature)
        if is_left_to_python(name):
            continue
        parameters = list(signature.parameters.values())
        assert str(signature)
        if function is getattr(torch, name.base, None):
            assert parameters.pop().name == "out"
        names = [one.name for one in form.parameters]
        own = getattr(torch.Tensor, name.method or "_", None) is function
        assert [one.name for one in parameters] == (names if own else ["input" if n == "self" else n for n in names])
        for one, declared in zip(parameters, form.parameters, strict=True):
            assert (one.kind is one.KEYWORD_ONLY) == declared.keyword_only
            assert one.default is (one.empty if declared.default is NO_VALUE else declared.default)


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's help is its own")
@pytest.mark.parametrize("spec", NAMES)
def test_help_has_a_sentence(spec: str) -> None:
    for function in homes(NAMES[spec]):
        doc = inspect.getdoc(function)
        assert doc is not None
        assert "Compute " not in doc
        for line in doc.splitlines() if len(NAMES[spec].declared) > 1 or NAMES[spec].writes else [doc]:
            text = line.partition("): ")[2] if line.startswith(f"{NAMES[spec].base}(") else line
            assert text[0].isupper() or text.startswith("``"), text
            assert text.rstrip().endswith((".", ":")), text
            assert "{'" not in text
        assert doc.partition("\n")[0] in pydoc.render_doc(function, renderer=PLAIN)


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's help is its own")
def test_help_is_the_form_of_the_call_and_a_sentence() -> None:
    text = pydoc.render_doc(torch.softmax, renderer=PLAIN)
    assert "softmax(input: torch.Tensor, dim: int, dtype: torch.dtype | None = None, *, out: " in text
    assert "Return the exponentials of elements over their sum along a dim." in text
    assert torch.mul.__doc__ == torch.Tensor.mul.__doc__
    assert torch.mul.__doc__ == (
        "Return the product of each two elements. Gradient of self: grad * other; of other: grad * self."
    )
    assert torch.full.__doc__ == "Return one value everywhere; its kind decides the dtype."
    assert torch.eq.__doc__ == "Return whether each two elements are equal. It has no gradient."
    assert torch.sum.__doc__.count("sum(self") == len(NAMES["sum"].forms)


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's signatures are its own")
def test_a_signature_can_be_bound_changed_and_compared() -> None:
    signature = inspect.signature(torch.add)
    assert str(signature) == (
        "(input: torch.Tensor | complex, other: torch.Tensor | complex, *, alpha: complex = 1, "
        "out: torch.Tensor | None = None)"
    )
    assert signature.bind(1, other=2).arguments == {"input": 1, "other": 2}
    assert signature == inspect.signature(torch.add)
    assert signature != inspect.signature(torch.exp)
    assert list(signature.replace(parameters=()).parameters) == []
    assert list(inspect.signature(torch.ones(2).add).parameters) == ["other", "alpha"]
    assert list(inspect.signature(partial(torch.add, 1)).parameters) == ["other", "alpha", "out"]


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's signatures are its own")
def test_the_forms_of_a_name_are_not_read_before_somebody_asks() -> None:
    vars(NAMES["torch.tril_indices"]).pop("forms", None)
    _ = torch.tril_indices.__signature__
    assert "forms" not in vars(NAMES["torch.tril_indices"])
    assert inspect.signature(torch.tril_indices).parameters
    assert "forms" in vars(NAMES["torch.tril_indices"])


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch's help is its own")
def test_each_sentence_is_about_a_function() -> None:
    assert not SENTENCES.keys() - {name.base.strip("_") for name in NAMES.values()}


def test_a_generator_is_taken_in_each_form_of_a_call() -> None:
    ones = torch.ones(3)
    drawn = [torch.bernoulli(ones / 2, generator=torch.Generator().manual_seed(1))]
    drawn.append(torch.bernoulli(ones, 0.5, generator=torch.Generator().manual_seed(1)))
    assert all(set(one.tolist()) <= {0.0, 1.0} for one in drawn)


def test_a_method_takes_no_out() -> None:
    x = torch.ones(2)
    assert torch.add(x, x, out=torch.empty(2)).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match=r"add\(\) got an unexpected keyword argument 'out'"):
        x.add(x, out=torch.empty(2))
