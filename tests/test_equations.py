"""An explanation is made of equations: what it says is computed again, with its own numbers."""

from __future__ import annotations

import ast
import re
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import MORE, relaxed
from hypothesis import given, strategies as st
from test_drawn_equations import SIGNS, evaluated

from gviz import engine
from gviz.answers import PageStyle, explain
from gviz.passes.dataflow import dataflow
from gviz.pictures.options import RenderOptions
from gviz.pictures.spans import text_of
from gviz.pictures.steps import steps_of
from gviz.sources import SourceOptions, read

VALUES = {
    "x": 1.5, "w": -0.75, "b": 0.4, "u": [0.5, -1.25], "v": [2.0, 0.8, -0.3], "c": [[0.7], [-1.1]],
    "W": [[0.3, -0.6, 1.2], [1.1, 0.9, -0.2]], "V": [[0.25, -1.5], [2.0, 0.6]],
    "T": [[[1.0, -2.0], [0.5, 3.0]], [[-1.0, 0.1], [0.2, 0.4]]],
}  # fmt: skip

ELEMENTS = (
    "tanh",
    "sigmoid",
    "relu",
    "exp",
    "sin",
    "gelu",
    "silu",
    "softplus",
    "leaky_relu",
    "elu",
    "abs",
    "logsigmoid",
    "square",
)

SCALARS = st.sampled_from(["x", "w", "b", "(x+1)", "u.sum()", "W[0,1]", "T.mean()", "W.max()", "v.norm()", "V.trace()"])
ROWS = st.sampled_from(["v", "W[0]", "W.sum(0)", "W.mean(0)", "(u@W)", "softmax(v,0)", "v.cumsum(0)", "W.amax(0)"])
COLUMNS = st.sampled_from(
    ["c", "W.sum(1,keepdim=True)", "W.mean(dim=1,keepdim=True)", "W.max(dim=1,keepdim=True)[0]", "u.reshape(2,1)"]
)
GRIDS = st.sampled_from(["W", "(V@W)", "(W+v)", "(W*c)", "(c+v)", "(W-W.mean(dim=1,keepdim=True))",
                         "(exp(W)/exp(W).sum(1,keepdim=True))",
                         "softmax(W,1)", "log_softmax(W,-1)", "W.flip(0)",
                         "(W/W.norm(dim=1,keepdim=True))", "W.roll(1,1)"])  # fmt: skip
CUBES = st.sampled_from(
    ["T", "(T*V)", "(T+u)", "T.transpose(0,1)", "(T-T.mean(dim=2,keepdim=True))", "T.permute(2,0,1)"]
)


def grown(start: Any, *others: Any) -> Any:
    """Return texts of one size: what elements, numbers and others that are broadcast make of it."""
    other = st.one_of(start, SCALARS, *others)
    return st.recursive(
        start,
        lambda inner: st.one_of(
            st.builds("{}({})".format, st.sampled_from(ELEMENTS), inner),
            st.builds("({}{}{})".format, inner, st.sampled_from(["+", "-", "*"]), st.one_of(inner, other)),
            st.builds("({}/(1+{}**2))".format, inner, other),
            st.builds("where({}>0,{},{})".format, inner, inner, other),
            st.builds("({}**{})".format, inner, st.sampled_from(["2", "3"])),
        ),
        max_leaves=4,
    )


ENDS = (".sum()", ".mean()", ".sum(0).norm()", ".mean(-1).sum()", ".reshape(-1)[1:].sum()", ".norm()",
        ".var()", ".std()", ".logsumexp(0).sum()",
        ".max()", ".T.sum(0).square().sum()", "[0].sum()", ".prod()")  # fmt: skip
EXPRESSIONS = st.one_of(
    grown(SCALARS),
    st.builds(
        "({}){}".format,
        st.one_of(grown(ROWS), grown(GRIDS, ROWS, COLUMNS), grown(COLUMNS), grown(CUBES)),
        st.sampled_from(ENDS),
    ),
)


def explained(text: str, **options: Any) -> Any:
    """Return the explanation of an expression, with the values of its names."""
    used = {name: value for name, value in VALUES.items() if re.search(rf"\b{name}\b", text)}
    return explain(
        f"y=({text})*1.0",
        options=SourceOptions(values=used, dtype="float64", **options),
        max_paths=40,
        say=lambda _: None,
    )


def array(numbers: Any) -> Any:
    """Return numbers of the JSON as an array."""
    return np.array(numbers, float) if numbers is not None else None


def near(one: Any, other: Any, scale: float = 0.0) -> bool:
    """Return whether two arrays are the same but for rounding."""
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=1e-9 * max(scale, 1.0), equal_nan=True)


def after_step(gradient: Any, factor: Any, kind: str, total: Any, sizes: tuple[int, ...]) -> Any:
    """Return what the gradient becomes at a step, computed as the JSON says: a product, a matrix, a sum."""
    if kind == "factor":
        product = gradient * factor
        return product.sum(tuple(total["dim"])).reshape(sizes) if total else product
    assert kind == "matrix", kind
    connected = np.where(factor == 0, 0.0, gradient.reshape(-1, 1) * factor)
    return connected.sum(0).reshape(sizes)


def checked(record: dict[str, Any]) -> int:
    """Check all paths of a tensor, and their sum; return how many equations there were."""
    assert "checked" not in record, record
    products, count = [], 0
    for path in record["paths"]:
        gradient = array(record.get("start", 1.0))
        kinds = path.get("kinds") or ["factor"] * len(path["factors"])
        sums = path.get("sums") or [None] * len(kinds)
        gradients = path.get("gradients") or [None] * len(kinds)
        assert len(path["nodes"]) == len(kinds) + 1 == len(path["symbols"]) + 1 == len(sums) + 1 == len(gradients) + 1
        for factor, kind, total, told in zip(path["factors"], kinds, sums, gradients, strict=True):
            before = gradient
            gradient = after_step(gradient, array(factor), kind, total, np.shape(told) if told is not None else ())
            if told is not None:
                scale = np.abs(before).sum() * np.abs(array(factor)).sum()
                assert near(gradient, array(told), scale), (path["nodes"], gradient, told)
                gradient, count = array(told), count + 1
        assert near(gradient, array(path["product"])), (path, gradient)
        products.append(array(path["product"]))
    scale = max(np.abs(product).max(initial=0.0) for product in products)
    if "count" not in record:
        assert near(sum(products), array(record["sum"]), scale), record
    assert near(array(record["sum"]), array(record["grad"]), scale + np.abs(array(record["grad"])).max(initial=0.0)), (
        record
    )
    return count + 2 * len(products)


NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|nan|inf)"
TENSOR = re.compile(rf"(?:{NUMBER}|\[.*\])")


def numbers_in(text: str) -> Any:
    """Return the numbers that a text is; None for any other text."""
    if not TENSOR.fullmatch(text):
        return None
    try:
        return np.array(ast.literal_eval(text.replace("nan", "None").replace("inf", "1e999")), float)
    except (ValueError, SyntaxError):
        return None


def holds(value: Any, told: str) -> bool:
    """Return whether numbers are what is told when they are rounded to as many digits; a float32 has seven at most."""
    texts = re.findall(NUMBER, told)
    halves = [
        0.5 * 10.0 ** (int(power or 0) - max(len(digits), 2 if power else 4)) for digits, power in map(parts, texts)
    ]
    wanted = np.array([float(text) for text in texts])
    return bool(
        np.all(
            (np.abs(value.ravel() - wanted) <= np.maximum(1.001 * np.array(halves), 4e-7 * np.abs(wanted)))
            | (value.ravel() == wanted)
            | np.isnan(wanted)
        )
    )


def parts(text: str) -> tuple[str, str]:
    """Return the decimals of a number, and its exponent."""
    found = re.fullmatch(r"-?\w+?(?:\.(\d+))?(?:e([+-]\d+))?", text)
    assert found is not None
    return found[1] or "", found[2] or ""


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return re.split(r" {2,}", line.strip())


def checked_lines(text: str) -> int:
    """Check the tables and the products in the lines of an explanation, as they are rounded there; return how many there were."""
    count, gradient = 0, np.array(1.0)
    for line in text.splitlines():
        if re.match(r"^    step", line) or line.startswith("  y → "):
            gradient = np.array(1.0)
        row = cells(line)
        values = [numbers_in(cell.removeprefix("J = ")) for cell in row]
        is_step = len(row) == 4 and row[0].startswith("∂")
        if row[0].startswith("Σ over") and len(row) == 2:
            told = values[-1]
            if told is not None and gradient is not None:
                axes = (
                    tuple(range(gradient.ndim))
                    if row[0].endswith("all")
                    else {"rows": (0,), "columns": (1,)}.get(row[0].split()[-1])
                )
                if axes is None:
                    axes = tuple(int(one) for one in re.findall(r"\d+", row[0]))
                total = gradient.sum(axes).reshape(told.shape)
                assert holds(total, row[-1]), (line, gradient)
                count += 1
            gradient = told
        elif is_step:
            factor, told = values[2:]
            if factor is not None and told is not None and gradient is not None:
                product = (
                    (gradient.reshape(1, -1) @ factor).reshape(told.shape)
                    if row[2].startswith("J")
                    else gradient * factor
                )
                assert holds(product, row[3]), (line, gradient)
                count += 1
            gradient = told
        elif "   ∂" in line and " = " in line:
            sides = line.split("   ", 1)[1].strip().split(" = ")
            if len(sides) > 2 and re.fullmatch(rf"(?:\(?{NUMBER}\)?(?: · |$))+", sides[-2]):
                factors = [float(one) for one in re.findall(NUMBER, sides[-2])]
                value = float(sides[-1])
                if all(map(isfinite, [*factors, value])):
                    assert holds(np.prod(factors), sides[-1]), line
                    count += 1
    return count


@pytest.mark.fuzz
@relaxed(200)
@given(text=EXPRESSIONS)
def test_the_numbers_of_an_explanation_hold_together(text: str) -> None:
    """Of each path the factors, with the sums between them, come to its product; the products to the engine's gradient."""
    found = explained(text)
    for record in found.as_dict()["wrt"]:
        assert checked(record)
    checked_lines(found.text("text", PageStyle(width=400)))
    assert MORE


def checked_values(text: str) -> int:
    """Compute each operation that an explanation lists with the numbers listed above it; return how many have a =."""
    names: dict[str, Any] = {}
    count = 0
    for line in text.split("\n\n")[1].splitlines():
        for given_value in re.findall(rf"(\w+) = ({NUMBER}|\[.*?\](?=, \w|$))(?=, \w|$)", line):
            names.setdefault(given_value[0], numbers_in(given_value[1]))
        name, *sides = line.strip().split(" = ")
        if len(sides) == 2 and "e]" not in sides[1] and (told := numbers_in(sides[1])) is not None:
            known = {
                key: engine.tensor(value, dtype=engine.float64) for key, value in names.items() if value is not None
            }
            value = evaluated(sides[0].replace("^", "**").translate(SIGNS), known)
            if value is not None and value.shape == told.shape and np.isfinite(value).all():
                assert holds(value, sides[1]), (line, value, names)
                count += 1
        names.setdefault(name.strip(), numbers_in(sides[-1].split("≈ ")[-1]))
    return count


@pytest.mark.fuzz
@relaxed(30)
@given(text=EXPRESSIONS)
def test_an_operation_that_is_said_to_equal_its_result_does_so_with_the_numbers_listed(text: str) -> None:
    checked_values(explained(text).text("text", PageStyle(width=4000)))


@pytest.mark.parametrize(
    ("text", "equations", "differing"),
    [
        ("reciprocal(reciprocal(x+w/3)+reciprocal(w*w))", 5, ""),
        ("(sin(b+0.001)-sin(b))/0.001", 5, ""),
        ("softmax(V@W,1).log().sum()", 4, ""),
        ("1000*(1+w*w/7)**(x*24)", 5, " ≈ "),
    ],
)
def test_results_have_digits_until_their_operations_hold(text: str, equations: int, differing: str) -> None:
    told = explained(text).text("text", PageStyle(width=4000))
    assert checked_values(told) >= equations, told
    assert ("≈" in told) == bool(differing), told


def checked_captions(text: str) -> int:
    """Compute the products, sums and operations in the sentences of steps; return how many have a =."""
    used = {name: value for name, value in VALUES.items() if re.search(rf"\b{name}\b", text)}
    options = SourceOptions(values=used, dtype="float64", flow=True)
    graph = dataflow(read(f"y=({text})*1.0", options, say=lambda _: None).graph)
    count = 0
    for step in steps_of(graph, RenderOptions(view="dataflow")):
        for part in (part for line in step.caption for part in text_of(line).split("   ")):
            sides = re.split(" ([=≈]) ", re.sub(r"^to \S+:|^(forward|backward).*?  ", "", part))
            for one, sign, other in zip(sides[::2], sides[1::2], sides[2::2], strict=False):
                value = evaluated(one.removeprefix("summed: ").strip().translate(SIGNS), {})
                if sign == "=" and value is not None and numbers_in(other) is not None and np.isfinite(value).all():
                    assert holds(value, other), part
                    count += 1
    return count


@pytest.mark.fuzz
@relaxed(30)
@given(text=grown(SCALARS))
def test_what_the_sentences_of_steps_say_holds_with_their_own_numbers(text: str) -> None:
    checked_captions(text)


@pytest.mark.parametrize(
    "text", ["(tanh(w*x-b)-0.3)**2", "log(1+exp(x))*w", "1/(1/x+1/b)", "sigmoid(x)*w+sigmoid(x)*b"]
)
def test_the_equations_in_the_sentences_of_steps_are_found(text: str) -> None:
    assert checked_captions(text) >= 6


ROUNDED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "y=16777217*x": ({"x": 1.0}, ["y = 16777217·x ≈ 16777216", "∂y/∂x = 16777217 ≈ 16777216"]),
    "y=1-tanh(x)**2": ({"x": 9.0}, ["b = a² ≈ 0.9999999"]),
    "y=mean(x)": ({"x": [1000000.1, 0.2]}, ["y = mean(x) ≈ 500000.16"]),
    "y=tanh(x)": ({"x": 9.0}, ["∂y/∂x = 1 - y² ≈ 1.192e-07\n"]),
    "y=0.1*x+0.2": ({"x": 3.0}, ["y = a + 0.2 = 0.5"]),
}
"""Expressions that are computed in float32, and what is written of them."""


@pytest.mark.parametrize("text", ROUNDED)
def test_what_rounding_makes_another_number_is_not_written_with_an_equals_sign(text: str) -> None:
    values, lines = ROUNDED[text]
    page = explain(text, options=SourceOptions(values=values), say=lambda _: None).text("text", PageStyle(width=100))
    assert not [line for line in lines if line not in page]


def test_the_items_of_a_list_are_operands_of_an_equation_as_names_are(tmp_path: Path) -> None:
    made = "P = [torch.tensor([-1.2, -1.36], requires_grad=True), torch.tensor(1.2, requires_grad=True)]"
    code = f"import torch\n{made}\nc = (P[0] + 0.7).sum()\nloss = (P[1] + c) + torch.tensor(0.59)\nloss.backward()\n"
    (tmp_path / "net.py").write_text(code, encoding="utf-8")
    page = explain(tmp_path / "net.py", say=lambda _: None).text("text", PageStyle(width=100))
    assert " = P[1] + c = 0.04\n" in page


def test_the_sum_of_paths_is_written_with_its_numbers_on_lines_of_its_own() -> None:
    values = {"W": [[1.25, 2.345678, 3.45678], [4.56789, 5.6789, 6.789]]}
    options = SourceOptions(values=values)
    page = explain("y=(W*W).sum()", options=options, say=lambda _: None).text("text", PageStyle(width=60))
    total = " ".join(page.split("the sum of these\n")[1].split())
    assert total.startswith("= [[2.5, 4.6914, 6.9136], [9.1358, 11.3578, 13.578]] = W.grad")


PICKED = {
    "x.topk(2).values.sum()": "scatter(zeros((5,)), -1, [1, 2], grad)",
    "x.sort().values[0]": "scatter(zeros((5,)), -1, [3, 0, 4, 1, 2], grad)",
    "x.cummax(dim=0).values.sum()": "scatter_add(zeros_like(x), 0, [0, 1, 2, 2, 2], grad)",
    "x.reshape(1,5).topk(2).values.sum()": "scatter(zeros((1, 5)), -1, [[1, 2]], grad)",
}
"""What picks some of equal numbers, and which ones its derivative tells."""


@pytest.mark.parametrize("text", PICKED)
def test_a_derivative_tells_which_of_equal_numbers_gets_the_gradient(text: str) -> None:
    options = SourceOptions(values={"x": [2.0, 5.0, 5.0, 1.0, 2.0]})
    page = explain(f"y={text}", options=options, say=lambda _: None).text("text", PageStyle(width=200))
    assert PICKED[text] in page
    assert "□" not in page
