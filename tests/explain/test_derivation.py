"""Gradients derived path by path: the products, their sum, and the engine's gradient are one."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gviz
from gviz.answers import Explanation, explain
from gviz.errors import SourceError
from gviz.explain.derivation import single
from gviz.sources import SourceOptions

ARTICLE = "y=(x+w)*(w+1)"
NAMES = ("x", "w", "v")


def record(source: str, *wrt: str, **values: Any) -> dict[str, Any]:
    """Return what --json prints."""
    found: dict[str, Any] = json.loads(
        explain(source, wrt, options=SourceOptions(values=values), say=lambda _: None).text("json")
    )
    return found


def test_the_record_of_the_article_is_the_one_that_is_relied_upon() -> None:
    assert record(ARTICLE, "w", x=2, w=1) == {
        "of": "y",
        "wrt": [
            {
                "name": "w",
                "paths": [
                    {"nodes": ["y", "a", "w"], "factors": [2.0, 1.0], "symbols": ["b", "1"], "product": 2.0},
                    {"nodes": ["y", "b", "w"], "factors": [3.0, 1.0], "symbols": ["a", "1"], "product": 3.0},
                ],
                "sum": 5.0,
                "grad": 5.0,
            }
        ],
    }


def test_without_names_all_leaves_are_derived_in_the_order_of_the_program() -> None:
    assert [chain["name"] for chain in record("b=w1*a; c=w2*a; L=b+c")["wrt"]] == ["w1", "a", "w2"]


# ------------------------------------------------------------------ random expressions
LEAVES = st.sampled_from([*NAMES, "(2.0*x)", "(w+0.5)", "(1.25-v)"])  # functions take tensors, not numbers
UNARY = ("tanh({})", "sigmoid({})", "sin({})", "exp(-{0}*{0})", "({})**2", "log(1+({0})*({0}))", "sqrt(1+({0})*({0}))", "-({})")
BINARY = ("({}+{})", "({}-{})", "({}*{})", "({0}/(1+({1})*({1})))")
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda form, one: form.format(one), st.sampled_from(UNARY), inner),
        st.builds(lambda form, one, other: form.format(one, other), st.sampled_from(BINARY), inner, inner),
    ),
    max_leaves=8,
)
NUMBERS = st.floats(-2, 2, width=32).map(lambda value: round(value, 3))


def computed(text: str, values: dict[str, float]) -> float:
    """Return the value of an expression in double precision, by Python itself."""
    functions = {name: getattr(math, name) for name in ("tanh", "sin", "exp", "log", "sqrt")}
    functions["sigmoid"] = lambda x: 1 / (1 + math.exp(-x))
    return float(eval(text, {**functions, **values}))  # noqa: S307 - the test's own text


def slope(text: str, name: str, values: dict[str, float]) -> float:
    """Return a central difference."""
    step = 1e-5
    ends = [computed(text, {**values, name: values[name] + sign * step}) for sign in (1, -1)]
    return (ends[0] - ends[1]) / (2 * step)


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_the_products_of_all_paths_add_up_to_backpropagation_and_to_differences(text: str, numbers: tuple[float, ...]) -> None:
    values = dict(zip(NAMES, numbers, strict=True))
    assume(text not in NAMES)
    used = set(re.findall(r"\w+", text)) & set(NAMES)
    options = SourceOptions(values={name: values[name] for name in used}, dtype="float64")
    found = explain(f"root={text}", options=options, max_paths=1000, say=lambda _: None).as_dict()
    assert {chain["name"] for chain in found["wrt"]} == used
    for chain in found["wrt"]:
        for path in chain["paths"]:
            assert path["product"] == pytest.approx(math.prod(path["factors"]), rel=1e-9, abs=1e-12)
        assert "count" not in chain
        assert "checked" not in chain
        total = sum(path["product"] for path in chain["paths"])
        assert total == pytest.approx(chain["sum"], rel=1e-9, abs=1e-12)
        assert total == pytest.approx(chain["grad"], rel=1e-9, abs=1e-12)
        assert total == pytest.approx(slope(text, chain["name"], values), rel=1e-4, abs=1e-6)


TENSORS = [
    "L=((W@x-v)**2).sum()",
    "L=(relu(W@x)*v).mean()",
    "L=(softmax(W@x,0)*v).sum()",
    "L=(W.sum(1)*W.sum(0)).sum()",
    "L=(x.T@W@x).sum()+(W.T*v).sum()",
    "L=(cumsum(W,0)*x).sum()",
    "L=(cat([W,x],1)**2).mean()",
    "L=((W+v)*(W*s)).sum()",
    "L=W.reshape(4)@W.T.reshape(4)",
    "L=log_softmax(W,1).diagonal().sum()*s",
]
GIVEN = {"W": [[1.0, -2.0], [0.5, 4.0]], "x": [[1.0], [-2.0]], "v": [[0.5], [1.5]], "s": 0.75}


@pytest.mark.parametrize("text", TENSORS)
def test_small_tensors_have_matrices_so_that_each_path_has_its_product_and_the_sum_is_checked(text: str) -> None:
    used = {name: value for name, value in GIVEN.items() if re.search(rf"\b{name}\b", text)}
    for chain in record(text, **used)["wrt"]:
        assert "checked" not in chain
        flat = [leaves(path["product"]) for path in chain["paths"]]
        assert None not in [number for numbers in flat for number in numbers]
        assert [sum(column) for column in zip(*flat, strict=True)] == pytest.approx(leaves(chain["grad"]), rel=1e-4, abs=1e-5)


def leaves(value: Any) -> list[Any]:
    """Return the numbers of nested lists."""
    return [number for part in value for number in leaves(part)] if isinstance(value, list) else [value]


def test_a_step_that_is_a_matrix_has_its_jacobian_as_its_factor_and_its_name_as_its_symbol() -> None:
    (path,) = record("L=(W@x).sum()", "x", W=[[1, 2], [3, 4]], x=[1, 1])["wrt"][0]["paths"]
    assert path["kinds"] == ["factor", "matrix"]
    assert path["factors"][1] == [[1, 2], [3, 4]]
    assert path["product"] == [4, 6]


def test_a_large_step_is_named_and_the_sum_is_said_to_be_unchecked() -> None:
    (chain,) = record("L=(W@x).sum()", "x", W="ones(100,100)", x="ones(100,100)")["wrt"]
    assert chain["checked"] is False
    assert chain["sum"] is None
    assert chain["paths"][0]["kinds"] == ["factor", "vjp"]
    assert chain["paths"][0]["symbols"][1] == "W.T @ grad"
    assert chain["paths"][0]["product"] == chain["grad"]


# ------------------------------------------------------------------ sources
def test_two_to_the_sixty_paths_are_counted_and_those_asked_for_listed() -> None:
    found = explain("y=x" + "; y=y+y" * 60, options=SourceOptions(values={"x": 1}), max_paths=3)
    (chain,) = found.as_dict()["wrt"]
    assert (chain["count"], len(chain["paths"]), chain["sum"]) == (2**60, 3, 2.0**60)
    assert "1,152,921,504,606,846,976 paths, of which 3 are listed" in str(found)


def test_each_of_several_results_has_its_own_name() -> None:
    (chain,) = record("a,b=x.unbind(); y=a*b", x=[2, 3])["wrt"]
    assert [path["nodes"] for path in chain["paths"]] == [["y", "a", "x"], ["y", "b", "x"]]


def test_a_number_that_was_spread_over_nothing_has_no_gradient() -> None:
    assert [chain["sum"] for chain in record("y=(x*w).sum()", x=[], w=2)["wrt"]] == [[], 0]


def test_a_root_of_one_element_begins_with_one_and_another_with_the_gradient_that_was_given() -> None:
    assert "start" not in record("y=x*w", x=[2], w=[3])["wrt"][0]
    options = SourceOptions(values={"x": [1, 2]}, grad_output="[1, 10]")
    chain = explain("y=x*2", options=options).as_dict()["wrt"][0]
    assert (chain["start"], chain["sum"]) == ((1, 10), (2, 20))
    assert single(chain["start"]) == (1, 10)


def test_a_script_is_explained_as_it_was_when_backward_was_called(tmp_path: Any) -> None:
    script = tmp_path / "net.py"
    lines = ["import torch", "w = torch.tensor(3.0, requires_grad=True)", "y = w * w", "y.backward()"]
    script.write_text("\n".join([*lines, "with torch.no_grad():", "    w -= 1"]))
    (chain,) = explain(str(script), say=lambda _: None).as_dict()["wrt"]
    assert [path["product"] for path in chain["paths"]] == [3, 3]
    script.write_text("\n".join(lines[:3]))
    found = explain(str(script), say=lambda _: None)
    assert found.as_dict()["wrt"][0]["sum"] == 6
    assert "w.grad itself is None" in str(found)


def test_a_second_call_that_fails_is_explained_by_the_first(tmp_path: Any) -> None:
    script = tmp_path / "net.py"
    script.write_text("import torch\nw = torch.ones((), requires_grad=True)\ny = w * w\ny.backward()\ny.backward()\n")
    found = explain(str(script), say=lambda _: None)
    assert found.reading is not None
    assert found.reading.failed
    assert found.as_dict()["wrt"][0]["sum"] == 2


def test_a_saved_graph_without_steps_has_symbols_and_says_that_nothing_was_checked(tmp_path: Any) -> None:
    saved = tmp_path / "y.json"
    gviz.read(ARTICLE, x=2, w=1).save(saved)
    found = explain(str(saved), "w")
    (chain,) = found.as_dict()["wrt"]
    assert [path["symbols"] for path in chain["paths"]] == [("b", "1"), ("a", "1")]
    assert chain["checked"] is False
    assert "not checked: the steps of backward are not in this graph" in str(found)
    assert "w.grad is 5" in str(found)


def test_a_hook_that_changes_a_gradient_is_noticed(tmp_path: Any) -> None:
    script = tmp_path / "net.py"
    script.write_text(
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nw.register_hook(lambda g: g * 10)\n(w * 2).backward()\n"
    )
    assert "w.grad is 20: backward ran before, or it was changed" in " ".join(
        str(explain(str(script), say=lambda _: None)).split()
    )


@pytest.mark.parametrize(
    ("source", "wrt", "words"),
    [
        (ARTICLE, "v", "there is no tensor of that name"),
        (ARTICLE, "y", "it is the root itself"),
        ("z=x*3; y=x*2", "z", "y is not made from it"),
    ],
)
def test_a_tensor_without_a_path_is_refused(source: str, wrt: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        record(source, wrt)


def test_a_frozen_tensor_has_no_path() -> None:
    with pytest.raises(SourceError, match="it is frozen"):
        explain(ARTICLE, "x", options=SourceOptions(values={"x": 2, "w": 1}, frozen=("x",)))


def test_a_leaf_alone_has_nothing_to_explain(tmp_path: Any) -> None:
    script = tmp_path / "leaf.py"
    script.write_text("import torch\nw = torch.ones((), requires_grad=True)\nw.backward()\n")
    with pytest.raises(SourceError, match="w is a leaf: no operation has made it"):
        explain(str(script), say=lambda _: None)


def test_python_has_the_same_as_a_function() -> None:
    found = gviz.explain(ARTICLE, "w", x=2, w=1)
    assert isinstance(found, Explanation)
    assert found.as_dict()["wrt"][0]["sum"] == 5
    assert "∂y/∂w = 2 + 3 = 5 = w.grad" in str(found)
    assert "**∂y/∂w = 2 + 3 = 5 = w.grad**" in found._repr_markdown_()
