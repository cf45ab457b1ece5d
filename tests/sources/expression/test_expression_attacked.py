"""Whatever is typed, an expression is computed or refused in words: no other exception, nothing unprintable."""

from __future__ import annotations

import math
import warnings
from typing import Any

import fuzzing
import pytest
from hypothesis import given, strategies as st

from gviz.errors import GvizError
from gviz.options import SourceOptions
from gviz.sources.expression import allowed as names, evaluate
from gviz.sources.run import Run

pytestmark = pytest.mark.fuzz
relaxed = fuzzing.relaxed(150)

SIGNS = "xwyab012 3.eE+-*/@%^&|~!<>=()[]{},;:\n\t\r'\"#\\$?_`·×（）＋＊²√πα−\u200b\ufeff\x00\x0b\x1b\ud800\U0001f600ᵀⁿ½"
WORDS = [
    "lambda", "if", "else", "for", "in", "import", "def", "not", "and", "or", "yield", "await",
    "...", ":=", "**", "sum(", "log", "sin", ".T", ".__class__", "with", "class", "0x", "1j", "print",
]  # fmt: skip
ATOMS = [
    "x",
    "w",
    "W",
    "2",
    "3.5",
    "0",
    "10**3",
    "pi",
    "None",
    "[1,2]",
    "(2,3)",
    "...",
    "ones(2,3)",
    "'mean'",
    "inf",
    "10**30",
    "float64",
]
PROGRAMS = [
    "y=(x+w)*(w+1)",
    "b = w1*a; c = w2*a; d = w3*b + w4*c; L = 10 - d",
    "e = a*b + log(d)*c",
    "v, i = max(x, dim=0); y = v.sum()",
    "y=W[1:, 0].T\nz=y.sum()",
]
VALUES = {"x": "[1.,2.]", "w": "2", "W": "[[1,2],[3,4]]"}

junk = st.lists(st.sampled_from([*SIGNS, *WORDS]), max_size=30).map("".join)
any_text = st.text(max_size=40) | junk


def formula(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Formulas of the right grammar and of any sense."""
    arguments = st.lists(part, max_size=3).map(", ".join)
    return st.one_of(
        st.tuples(part, st.sampled_from(["+", "-", "*", "/", "**", "@", "//", "%", "<", "==", "&"]), part).map(
            "({0[0]} {0[1]} {0[2]})".format
        ),
        st.tuples(st.sampled_from(sorted(names.functions())), arguments).map("{0[0]}({0[1]})".format),
        st.tuples(part, st.sampled_from(sorted(names.tensor_methods())), arguments).map(
            "({0[0]}).{0[1]}({0[2]})".format
        ),
        st.tuples(part, part).map("({0[0]})[{0[1]}]".format),
        st.tuples(part, part).map("({0[0]})[{0[1]}:, None]".format),
        st.tuples(part, st.sampled_from(["T", "shape", "values", "indices", "dtype"])).map("({0[0]}).{0[1]}".format),
        arguments.map("[{}]".format),
    )


formulas = st.recursive(st.sampled_from(ATOMS), formula, max_leaves=8)


def attempt(text: str, values: dict[str, str] | None = None, **options: Any) -> Run | None:
    """What an expression comes to, None where it is refused in words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return evaluate(text, SourceOptions(values=VALUES if values is None else values, **options))
    except GvizError as error:
        report = str(error)
        assert report.strip()
        assert all(character.isprintable() or character in "\n\t" for character in report)
        return None


@relaxed
@given(any_text)
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    attempt(text)


@relaxed
@given(st.binary(max_size=60))
def test_any_bytes_are_an_expression_or_refused(content: bytes) -> None:
    attempt(content.decode("utf-8", "surrogateescape"))
    attempt(content.decode("latin-1"))


@relaxed
@given(st.sampled_from(PROGRAMS), st.integers(0, 60), st.integers(0, 3), any_text)
def test_a_program_with_a_mistake_in_it_is_computed_or_refused(
    program: str, start: int, cut: int, mistake: str
) -> None:
    attempt(program[:start] + mistake[:3] + program[start + cut :])


@relaxed
@given(formulas)
def test_a_formula_of_any_sense_is_computed_or_refused(text: str) -> None:
    attempt(f"y={text}")


@relaxed
@given(any_text, any_text)
def test_any_text_is_a_value_or_refused(name: str, value: str) -> None:
    attempt("y=x", {"x": value})
    attempt("y=x", {name: "2"})


@relaxed
@given(any_text)
def test_any_name_in_an_option_is_known_or_refused(name: str) -> None:
    for option in ("roots", "frozen", "retain"):
        attempt("y=x*2", {"x": "1"}, **{option: (name,)})
    attempt("y=x*2", {"x": "1"}, dtype=name)
    attempt("y=x*2", {"x": "[1,2]"}, grad_output=name)


arithmetic = st.recursive(
    st.sampled_from(["x", "w", "2", "0.5", "3", "1.25"]),
    lambda part: (
        st.tuples(part, st.sampled_from(["+", "-", "*", "/", "**"]), part).map("({0[0]} {0[1]} {0[2]})".format)
        | part.map("(-{})".format)
    ),
    max_leaves=12,
)


@relaxed
@given(arithmetic)
def test_arithmetic_is_pythons_own(text: str) -> None:
    try:
        expected = eval(text, {"x": 1.75, "w": 0.3})  # noqa: S307 - the text is arithmetic that was made above
    except (ZeroDivisionError, OverflowError):
        return
    result = attempt(f"y={text} + x*0", {"x": "1.75", "w": "0.3"}, dtype="float64")
    if result is None or isinstance(expected, complex) or abs(expected) > 1e100:
        return
    assert result.roots["y"].item() == pytest.approx(expected, rel=1e-9)


@relaxed
@given(arithmetic)
def test_what_the_letters_stand_for_computes_the_same(text: str) -> None:
    result = attempt(f"y={text} + x*0", {"x": "1.75", "w": "0.3"}, dtype="float64")
    if result is None:
        return
    program = "; ".join(f"{name} = {formula}" for name, formula in result.expressions.items())
    last = list(result.names)[-2] if result.expressions else "x"
    again = attempt(f"{program}; y = {last}*1" if program else "y = x*1", {"x": "1.75", "w": "0.3"}, dtype="float64")
    assert again is not None
    for name in result.expressions:
        found, expected = again.names[name].item(), result.names[name].item()
        assert found == expected or (math.isnan(found) and math.isnan(expected))
