"""Values of an expression's names, as people type them."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from program import Program

from gviz import engine, explain
from gviz.errors import SourceError
from gviz.options import SourceOptions
from gviz.sources.expression import evaluate
from gviz.sources.expression.values import find_dtype, make_value, normalize_name


def value(text: str, **options: Any) -> Any:
    return make_value("x", text, options.pop("dtype", engine.float32), **options)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2", 2.0),
        ("-1", -1.0),
        ("+3", 3.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e-3", 0.001),
        ("1/3", 1 / 3),
        ("2**10", 1024.0),
        ("1_000", 1000.0),
        ("0x10", 16.0),
        ("pi", math.pi),
        ("sqrt(2)", math.sqrt(2)),
        ("True", 1.0),
        ("10**30", 1e30),
        ("[2]", [2.0]),
        ("[1, 2.5]", [1.0, 2.5]),
        ("(1, 2)", [1.0, 2.0]),
        ("[[1,2],[3,4]]", [[1.0, 2.0], [3.0, 4.0]]),
        ("[[[1]]]", [[[1.0]]]),
        ("[-1, 1/2, pi*0]", [-1.0, 0.5, 0.0]),
        ("[]", []),
        ("[[], []]", [[], []]),
        ("ones(2)", [1.0, 1.0]),
        ("torch.ones(2)", [1.0, 1.0]),
        ("zeros(1,2)", [[0.0, 0.0]]),
        ("eye(2)", [[1.0, 0.0], [0.0, 1.0]]),
        ("full((2,), 7)", [7.0, 7.0]),
        ("arange(6).reshape(2,3)", [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
        ("linspace(0,1,3)", [0.0, 0.5, 1.0]),
        ("tensor([1,2])", [1.0, 2.0]),
        ("ones(2) > 0", [1.0, 1.0]),
        ("ones(2,3).T.sum(0)*2", [6.0, 6.0]),
        (" 2 ", 2.0),
        ("\u00a02", 2.0),
    ],
)
def test_a_value_is_read_as_people_write_it(text: str, numbers: Any) -> None:
    assert value(text).tolist() == (pytest.approx(numbers) if isinstance(numbers, float) else numbers)


@pytest.mark.parametrize(
    "text",
    ["2", "[1,2]", "ones(2)", "arange(6).reshape(2,3)", "ones(2,3).T", "True", "arange(3) > 1", "(ones(2)*2)[0]"],
)
def test_a_value_is_a_leaf_of_its_own_that_requires_gradients(text: str) -> None:
    tensor = value(text)
    assert tensor.is_leaf
    assert tensor.requires_grad
    assert tensor.grad_fn is None
    assert str(tensor.dtype) == "torch.float32"
    assert not tensor._is_view()


def test_a_value_can_have_no_gradient_and_another_dtype() -> None:
    tensor = value("arange(3)", dtype=engine.float64, requires_grad=False)
    assert not tensor.requires_grad
    assert str(tensor.dtype) == "torch.float64"


def test_not_a_number_and_infinity_are_values() -> None:
    assert math.isnan(value("nan").item())
    assert value("[-inf, inf, 1e400]").tolist() == [-math.inf, math.inf, math.inf]


def test_a_value_of_many_numbers_is_read() -> None:
    assert value(str([[0.5] * 100] * 200)).shape == (200, 100)


@pytest.mark.parametrize(
    ("text", "what", "marked"),
    [
        ("abc", "abc is not a value", "abc"),
        ("w", "w is not a value", "w"),
        ("[1, w]", "w is not a value", "w"),
        ("None", "None is not a value", "None"),
        ("[1, None]", "[1, None] is not a value", "[1, None]"),
        ("float64", "float64 is not a value", "float64"),
        ("[1,[2]]", "must be real number, not list", "[2]"),
        ("[[1,2],3]", "not a sequence", "3"),
        ("[[1,2],[3]]", "expected sequence of length 2 at dim 1 (got 1)", "[3]"),
        ("[[1],[2,3]]", "expected sequence of length 1 at dim 1 (got 2)", "[2,3]"),
        ("[[[1],[2]],[[3],[4,5]]]", "expected sequence of length 1 at dim 2 (got 2)", "[4,5]"),
        ("[[],[1]]", "expected sequence of length 0 at dim 1 (got 1)", "[1]"),
        ("1,5", "a comma makes several values", "1,5"),
        ("1,2,3", "a comma makes several values", "1,2,3"),
        ("'a'", "a text is not possible in an expression", "'a'"),
        ("2j", "complex numbers are not possible in an expression", "2j"),
        ("[ones(2), 2]", "several tensors are not one value", "[ones(2), 2]"),
        ("max(ones(2), dim=0)", "several tensors are not one value", "max(ones(2), dim=0)"),
        ("y=2", "a value is one expression", "y=2"),
        ("1; ones(2)", "a value is one expression", "ones(2)"),
        ("2,w=3", "a value is one expression", "w"),
        ("ones(2,dtype=float64), b=2", "a value is one expression", "b"),
        ("2i", "complex numbers are not possible in an expression", "2"),
        ("3+4i", "complex numbers are not possible in an expression", "4"),
        ("2x", "there is no operator between 2 and x", "x"),
        ("1 x", "there is no operator between 1 and x", "x"),
        ("1.2.3", "there is no operator between 1.2 and .3", ".3"),
        ("[1,2", "'[' was never closed", "["),
        ("–1", "– (en dash) is written - in an expression", "–"),
        ("ones(1000000,1000000)", None, "ones(1000000,1000000)"),
        ("9**9**9", None, "9**9**9"),
        ("10**400", "int too large to convert to float", "10**400"),
        ("1/0", "division by zero", "1/0"),
        ("__import__('os')", "__import__ is not allowed in an expression", "__import__"),
        ("ones(2).numpy()", "x.data, x.numpy() are not possible in an expression", "ones(2).numpy"),
        ("# nothing", "there is no value", "#"),
    ],
)
def test_what_is_no_value_is_refused_with_its_place(text: str, what: str | None, marked: str) -> None:
    with pytest.raises(SourceError) as error:
        value(text)
    place = error.value.place
    assert error.value.what == what or what is None
    assert place is not None
    assert place.text == f"x={text}"
    assert place.column is not None
    assert place.text[place.column :].startswith(marked)


@pytest.mark.parametrize("word", ["x=2,w=3", "x=2; w=3", "x=2, w = 3", "x=[1,2],w=3"])
def test_values_typed_as_one_are_told_apart_by_a_blank(gviz: Program, word: str) -> None:
    done = gviz("inspect", "y=x*w", word)
    done.assert_refused("write a blank between two values, and no other sign, as in x=2 w=3")
    assert gviz("inspect", "y=x*w", "x=2", "w=3").status == 0


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1,5", "write 1.5 for a number, [1, 5] for several"),
        ("1,000", "write 1000 or 1.000 for a number, [1, 000] for several"),
        ("[1,2],[3,4]", "write brackets around several: [[1,2], [3,4]]"),
        ("1.000,5", "write brackets around several: [1.000, 5]"),
        ("1:3", "write arange(1, 4)"),
        ("-2:0", "write arange(-2, 1)"),
    ],
)
def test_a_comma_or_a_range_gets_advice_that_can_be_pasted(text: str, hint: str) -> None:
    with pytest.raises(SourceError) as error:
        value(text)
    assert error.value.hint == hint
    for written in re.findall(r"(?:write |or |, |: )(\[+.+\]|\d+|arange\(.+\))", hint):
        value(written)


def test_a_quote_that_does_not_end_is_said_to_be_one() -> None:
    with pytest.raises(SourceError) as error:
        value('"')
    assert error.value.what == "this quote begins a text that does not end"


def test_a_complex_dtype_is_refused_as_what_expressions_have_not() -> None:
    with pytest.raises(SourceError) as error:
        find_dtype("complex64")
    assert error.value.what == "complex numbers are not possible in an expression"


def test_a_corrected_value_is_suggested_with_its_name() -> None:
    with pytest.raises(SourceError) as error:
        value("2–1")
    assert error.value.hint == "write x=2-1"


def test_what_a_terminal_cannot_show_is_not_shown() -> None:
    with pytest.raises(SourceError) as error:
        normalize_name("x\x1b[31m\udc80")
    assert all(character.isprintable() or character == "\n" for character in str(error.value))


def test_values_that_are_not_used_are_read_all_the_same() -> None:
    with pytest.raises(SourceError, match="abc is not a value"):
        evaluate("y=x", SourceOptions(values={"x": "1", "z": "abc"}))


@pytest.mark.parametrize(
    "text", ["tensor([2, 1], dtype=torch.long)", "tensor([2,1]).long()", "tensor([2,1], dtype=int64)"]
)
def test_a_value_that_is_made_of_integers_stays_one_and_has_no_gradient(text: str) -> None:
    names = evaluate("y=cross_entropy(x,t)", SourceOptions(values={"x": "[[1,2,3],[1,2,3]]", "t": text})).names
    assert (str(names["t"].dtype), names["t"].requires_grad, names["x"].grad is None) == ("torch.int64", False, False)


def test_other_values_of_integers_are_real_numbers() -> None:
    names = evaluate("y=(x*w).sum()", SourceOptions(values={"x": "arange(3)", "w": "[1, 2, 3]"})).names
    assert {str(names[name].dtype) for name in "xw"} == {"torch.float32"}


def test_a_dtype_of_pytorch_is_one_of_an_expression() -> None:
    result = evaluate("y=cross_entropy(x, tensor([2, 1], dtype=torch.long))", SourceOptions(values={"x": "ones(2,3)"}))
    assert result.roots["y"].item() == pytest.approx(1.0986, abs=1e-4)


def test_a_name_of_an_option_may_have_the_signs_that_it_was_typed_with() -> None:
    text = "z₁=w₁x₁+w₁₂; y=2z₁"
    run = evaluate(text, SourceOptions(roots=("z₁",), frozen=("w₁₂",), retain=("z₁",)))
    assert (list(run.roots), run.names["w_12"].requires_grad, run.names["z_1"].retains_grad) == (["z_1"], False, True)
    assert "∂y/∂w_1: one path" in str(explain(text, "w₁"))
