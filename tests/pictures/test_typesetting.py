"""Formulas as mathematics: what is written, where scripts and rules are, and that widths are those of the type."""

from __future__ import annotations

import pytest

from gviz.layout.fonts.faces import type_width
from gviz.pictures.typesetting import Rule, TypeBox, TypeRun, name_box, number_box, row, text_box, typeset


@pytest.mark.parametrize(
    ("text", "written"),
    {
        "w * x + b": "wx + b",
        "2 * x": "2x",
        "x * 2": "x · 2",
        "loss * rate": "loss · rate",
        "2 * 3": "2 · 3",
        "(a + b) * c": "(a + b)c",
        "a * (b - c)": "a(b − c)",
        "a - (b - c)": "a − (b − c)",
        "-(a + b)": "−(a + b)",
        "x.T @ (W @ x)": "xT(Wx)",
        "exp(-x)": "e−x",
        "sum(x) * y": "(Σx) · y",
        "abs(x)": "|x|",
        "a < b": "[a < b]",
        "tanh(z) ** 2": "tanh2(z)",
        "sigmoid(w * x)": "σ(wx)",
        "softmax(x, dim=1)": "softmax(x, dim=1)",
        "2e-07 * x": "2 · 10−7x",
        "x_1 + theta_2": "x1 + θ2",
        "f(x": "f(x",
        "100(y - x) ** 2": "100(y − x)2",
        "w * sin(x)": "wsin(x)",
        "g * one_hot(0, 2)": "g · one_hot(0, 2)",
        "dot(a, b) / 2": "aTb2",
        "p[0][1] * 2": "p0, 1 · 2",
        "y = a ** b": "y  =  ab",
    }.items(),
)
def test_a_formula_is_written_as_mathematics_writes_it(text: str, written: str) -> None:
    assert typeset(text, 10).text == written


def test_a_power_stands_higher_and_smaller_and_an_index_lower() -> None:
    base, power = (part for part in typeset("x ** 2", 10).parts if isinstance(part, TypeRun))
    assert power.y < 0
    assert power.size < base.size
    assert power.x > base.x
    base, index = (part for part in name_box("w_1", 10).parts if isinstance(part, TypeRun))
    assert index.y > 0
    assert index.size < base.size


def test_a_fraction_has_a_rule_between_its_parts_and_a_root_one_above() -> None:
    fraction = typeset("(a + 1) / b", 10)
    (rule,) = (part for part in fraction.parts if isinstance(part, Rule))
    top, low = ([part.y for part in fraction.parts if isinstance(part, TypeRun) and part.text == name] for name in "ab")
    assert top[0] < rule.y < low[0]
    assert rule.y == rule.to_y
    assert sum(isinstance(part, Rule) for part in typeset("sqrt(x)", 10).parts) == 4


@pytest.mark.parametrize(
    ("text", "is_of_elements"),
    {"u * v": True, "W[0] * u": True, "u[0] * v[1]": False, "W[0, 1] * u": False, "W[0, 1] * u[-1]": False}.items(),
)
def test_the_product_of_two_numbers_is_none_of_elements(text: str, is_of_elements: bool) -> None:
    rules = [part for part in typeset(text, 10, {"u": 1, "v": 1, "W": 2}).parts if isinstance(part, Rule)]
    assert bool(rules) is is_of_elements


def test_the_product_of_elements_has_a_sign_of_its_own() -> None:
    assert any(isinstance(part, Rule) for part in typeset("g * x", 10, {"g": 1, "x": 1}).parts)
    assert not any(isinstance(part, Rule) for part in typeset("g * x", 10, {"g": 1}).parts)


def test_boxes_are_as_wide_as_their_type() -> None:
    one, two = text_box("abc", 10), text_box("de", 10)
    assert one.width == type_width("abc", 10)
    assert row(one, TypeBox(5), two).width == pytest.approx(one.width + 5 + two.width)


@pytest.mark.parametrize(
    ("text", "written"), [("-2.5", "−2.5"), ("1e-05", "10−5"), ("-1.5e+20", "−1.5 · 1020"), ("nan", "nan")]
)
def test_numbers(text: str, written: str) -> None:
    assert number_box(text, 10).text == written


def test_a_formula_that_is_too_deep_is_code() -> None:
    assert typeset("+".join(["x"] * 2_000), 10).parts[0].face == "mono"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("5 % 3 * x", "(5 mod 3)x"),
        ("a * (b % c)", "a(b mod c)"),
        ("(a % b) ** 2", "(a mod b)2"),
        ("-(a % b)", "−(a mod b)"),
        ("(a + b) % c", "(a + b) mod c"),
        ("a % b + c", "a mod b + c"),
    ],
)
def test_a_remainder_keeps_its_brackets(formula: str, told: str) -> None:
    assert typeset(formula, 20).text == told
