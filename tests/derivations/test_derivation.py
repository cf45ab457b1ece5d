"""Gradients derived path by path: the products, their sum, and the engine's gradient are one."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from fuzzing import relaxed
from hypothesis import assume, given, strategies as st

import gviz
from gviz import engine as torch
from gviz.answers import Explanation, explain
from gviz.derivations.derivation import Derivation, derive, single
from gviz.derivations.paths import ENDS, GAP
from gviz.errors import SourceError
from gviz.formulas.formula import UNKNOWN
from gviz.graphs import Graph
from gviz.graphs.numbers import Numbers
from gviz.sources import SourceOptions
from gviz.walk import walk

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


def test_nothing_is_listed_before_what_it_is_made_from(tmp_path: Path) -> None:
    code = (
        "import torch\nw = torch.tensor(2.0, requires_grad=True)\nlosses = []\nfor x in (1.0, 3.0):\n    out = w * x\n"
        "    losses.append((out - 1) ** 2)\n    losses[-1].backward()\n"
    )
    (tmp_path / "l.py").write_text(code, encoding="utf-8")
    found = explain(str(tmp_path / "l.py"), say=lambda _: None).content
    assert isinstance(found, Derivation)
    assert [node.expression for node in found.operations] == ["w * 3", "out - 1", "a ** 2"]


def test_no_letter_is_a_name_that_the_program_gives_to_anything(tmp_path: Path) -> None:
    code = "import torch\na = 3\nf = lambda c: c * a\nw = torch.tensor(2.0, requires_grad=True)\ny = f(w**2) + 1\ny.backward()\n"
    (tmp_path / "s.py").write_text(code, encoding="utf-8")
    found = explain(str(tmp_path / "s.py"), say=lambda _: None).content
    assert isinstance(found, Derivation)
    assert [node.name for node in found.operations] == ["b", "g", "y"]


def test_the_elements_of_each_row_are_those_of_that_row(tmp_path: Path) -> None:
    code = "import torch\nW = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)\ny = 0\n"
    (tmp_path / "s.py").write_text(
        f"{code}for row in W:\n    for one in row:\n        y = y + one**2\ny.backward()\n", encoding="utf-8"
    )
    found = explain(str(tmp_path / "s.py"), say=lambda _: None).content
    assert isinstance(found, Derivation)
    rows = [node for node in found.operations if node.label == "UnbindBackward0"]
    assert sorted(node.numbers.nested() for node in rows if node.numbers and not node.shape) == [1, 2, 3, 4]


def test_what_was_computed_is_listed_in_the_order_of_the_program() -> None:
    found = explain("L=(w*x-y)**2+b*norm(w)**2", options=SourceOptions(values={"w": 2}), say=lambda _: None).content
    assert isinstance(found, Derivation)
    assert [node.name for node in found.operations] == ["a", "c", "f", "g", "h", "j", "L"]


def test_a_step_without_a_name_of_the_program_is_listed_before_what_uses_it() -> None:
    options = SourceOptions(values={"s": 2}, frozen=("s", "x"))
    found = explain("L=log(1/(s*sqrt(2*pi))*exp(m-x))", options=options, say=lambda _: None).content
    assert isinstance(found, Derivation)
    listed = [node.expression for node in found.operations]
    assert listed[:2] == ["s * sqrt(2 * pi)", "1 / a"]
    assert listed[-2:] == ["b * f", "log(g)"]


def test_all_that_an_expression_computes_has_its_numbers_also_within_a_function() -> None:
    text = str(explain("y=einsum('i,i->', x, w)", x=[1, 2], w=[3, 4], say=lambda _: None))
    assert "a = permute(x, 0) = [1, 2]" in text
    assert "of size" not in text
    mask = str(explain("y=sum(dropout(x))", x=[1, 2, 3, 4], say=lambda _: None))
    assert "x = [1, 2, 3, 4], b = [0, 0, 2, 0]" in mask
    assert "∂a/∂x  b           [0, 0, 2, 0]" in mask


def test_an_index_that_was_computed_is_listed_with_what_it_was_computed_from() -> None:
    values = {"z": [1.0, 2, 3], "t": 2}
    found = explain("L=-log(z[t.long()])", options=SourceOptions(values=values), say=lambda _: None).content
    assert isinstance(found, Derivation)
    assert [node.name for node in found.start_nodes] == ["z", "t"]
    assert (found.operations[0].name, found.operations[0].expression) == ("a", "t.long()")


def test_a_value_that_is_used_several_times_is_listed_once() -> None:
    options = SourceOptions(values={"x": 2}, frozen=("x", "y", "n"))
    found = explain("u=w-n*(w*x-y)*x; L=(u*x-y)**2", options=options, say=lambda _: None).content
    assert isinstance(found, Derivation)
    assert sorted(node.name or "" for node in found.start_nodes) == ["n", "w", "x", "y"]


def test_a_whole_number_has_no_point() -> None:
    found = explain("y=1e3*x+x**2.0", options=SourceOptions(values={"x": 2}), say=lambda _: None)
    assert "a = 1000·x = 2000" in str(found)
    assert "b = x² = 4" in str(found)


def test_names_without_room_are_cut_each_for_itself() -> None:
    leaf, root = "a_very_long_name_of_a_weight_in_a_model", "a_very_long_name_for_a_loss_value"
    found = explain(f"{root}={leaf}*2", options=SourceOptions(), say=lambda _: None)
    assert "a_very_long_n…_a_loss_value → a_very_long_n…ht_in_a_model" in str(found)


# ------------------------------------------------------------------ random expressions
LEAVES = st.sampled_from([*NAMES, "(2.0*x)", "(w+0.5)", "(1.25-v)"])  # functions take tensors, not numbers
UNARY = (
    "tanh({})",
    "sigmoid({})",
    "sin({})",
    "exp(-{0}*{0})",
    "({})**2",
    "log(1+({0})*({0}))",
    "sqrt(1+({0})*({0}))",
    "-({})",
)
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


@pytest.mark.fuzz
@relaxed(150)
@given(EXPRESSIONS, st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_the_products_of_all_paths_add_up_to_backpropagation_and_to_differences(
    text: str, numbers: tuple[float, ...]
) -> None:
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
        assert [sum(column) for column in zip(*flat, strict=True)] == pytest.approx(
            leaves(chain["grad"]), rel=1e-4, abs=1e-5
        )


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
    assert (chain["start"], chain["sum"]) == ([1, 10], [2, 20])
    assert single(Numbers.of(chain["start"])) == Numbers.of([1.0, 10.0])
    assert single(Numbers.of([[3.0]])) == Numbers.of(3.0)


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
    found = explain(str(script), say=lambda _: None)
    assert "w.grad is 20: at w 2 → 20: a hook, line 3" in flat(str(found))
    (chain,) = found.as_dict()["wrt"]
    assert (chain["grad"], chain["grad_before"], chain["grad_after"]) == (2, None, 20)


def test_each_of_two_hooks_is_told_once_at_the_gradient_that_it_has_changed(tmp_path: Any) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nx = torch.tensor(3.0, requires_grad=True)\ny = x**2\ny.register_hook(lambda g: g * 10)\n"
        "x.register_hook(lambda g: g + 1)\nz = y * x\nz.backward()\n"
    )
    told = flat(str(explain(str(tmp_path / "net.py"), say=lambda _: None)))
    assert "what comes to x is 189, for hooks have changed it: at y 3 → 30: a hook, line 4; x.grad is 190" in told
    assert told.endswith("x.grad is 190: at x 189 → 190: a hook, line 5")


def test_a_gradient_that_backward_adds_to_is_told_apart_from_a_changed_one(tmp_path: Any) -> None:
    script = tmp_path / "net.py"
    script.write_text(
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\n(x * 3).backward()\ny = x ** 2\ny.backward()\n"
    )
    found = explain(str(script), say=lambda _: None)
    assert "x.grad is 7: it was 3 before, and backward adds to it" in flat(str(found))
    with script.open("a") as more:
        more.write("x.grad *= 0.5\n")
    found = explain(str(script), say=lambda _: None)
    assert "x.grad is 7: it was 3 before, and backward adds to it; it is now 3.5" in flat(str(found))
    (chain,) = found.as_dict()["wrt"]
    assert (chain["sum"], chain["grad"], chain["grad_before"], chain["grad_after"]) == (4, 4, 3, 7)


def flat(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "function", "values"),
    [
        ("y=sqrt(relu(x-5))", "relu", {"x": 1}),
        ("y=sqrt(maximum(x-5,0*w))", "maximum", {"x": 1, "w": 1}),
        ("y=sqrt(where(x>0,x,0*w))", "where", {"x": -1, "w": 1}),
        ("y=sqrt(clamp(x,0,1))", "clamp", {"x": -1}),
    ],
)
def test_a_nan_that_the_product_alone_has_is_told_with_the_operation_that_selects(
    text: str, function: str, values: dict[str, float]
) -> None:
    found = explain(text, "x", options=SourceOptions(values=values), say=lambda _: None)
    (chain,) = found.as_dict()["wrt"]
    assert chain["grad"] == 0
    assert "the nan is inf · 0 at ∂" in flat(str(found))
    assert f"the engine's backward of {function} selects" in flat(str(found))


SPARE = {"y=(x+w)*(w+1)": "x", "y=sigmoid(w*x+b)*v": "v", "y=x*sin(w)*q": "x", "h=tanh(x@W+b); y=(h*exp(v)).sum()": "W"}


@pytest.mark.parametrize("text", SPARE)
def test_each_name_in_a_formula_and_in_a_factor_is_listed_with_its_value(text: str) -> None:
    values = {"x": [[1, 2]], "W": [[1, 0], [0, 1]]} if "@" in text else {}
    content = explain(text, SPARE[text], options=SourceOptions(values=values), say=lambda _: None).content
    assert isinstance(content, Derivation)
    listed = {node.name for node in (*content.start_nodes, *content.operations) if node.value is not None}
    symbols = [edge.flow.symbol for chain in content.chains for path in chain.paths for edge in path.edges]
    functions = {"sigmoid", "sin", "cos", "tanh", "exp", "sum", "grad", "T"}
    assert set(re.findall(r"[a-zA-Z][a-zA-Z0-9_]*", " ".join([*symbols, *(node.expression for node in content.operations)]))) <= {
        *listed, *functions,
    }  # fmt: skip


def of_script(tmp_path: Any, text: str, *wrt: str) -> Explanation:
    """Explain a script."""
    (tmp_path / "net.py").write_text(f"import torch\n{text}")
    return explain(str(tmp_path / "net.py"), wrt, say=lambda _: None)


def test_a_leaf_that_was_used_before_it_required_a_gradient_is_explained(tmp_path: Any) -> None:
    code = (
        "x = torch.tensor(2.0)\nw = torch.tensor(3.0, requires_grad=True)\ny = w * x\nx.requires_grad_()\nz = y * x\n"
        "z.backward()\n"
    )
    chains = {chain["name"]: (chain["sum"], chain["grad"]) for chain in of_script(tmp_path, code).as_dict()["wrt"]}
    assert chains == {"w": (4.0, 4.0), "x": (6.0, 6.0)}


def test_an_embedding_is_explained_by_its_jacobian(tmp_path: Any) -> None:
    found = of_script(tmp_path, "e = torch.nn.Embedding(3, 2)\nloss = e(torch.tensor([1, 2])).sum()\nloss.backward()\n")
    (chain,) = found.as_dict()["wrt"]
    assert chain["sum"] == chain["grad"] == [[0, 0], [1, 1], [1, 1]]
    assert chain["paths"][0]["symbols"][1] == "grad @ J(embedding)"
    assert "\\mathrm{grad}" in found.text("latex")
    assert "J(embedding) is the Jacobian of embedding: each row of the gradient is added" in flat(str(found))


def test_the_last_operation_of_a_module_names_what_it_is_made_of_and_not_what_the_module_was_given(
    tmp_path: Any,
) -> None:
    text = (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.norm = torch.nn.LayerNorm(2)\n    def forward(self, x):\n        return self.norm(x * w)\n"
        "w = torch.tensor([1.0, 2.0], requires_grad=True)\nx = torch.tensor([[1.0, 3.0]])\nnet = Net()\ny = net(x)\n"
        "loss = y[0, 0]\nloss.backward()\n"
    )
    told = flat(str(of_script(tmp_path, text)))
    assert "a = x·w = [[1, 6]]" in told
    assert "y = layer_norm(a, " in told


def test_a_leaf_without_a_name_is_called_as_in_the_table(tmp_path: Any) -> None:
    text = (
        "def f():\n    w, v = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)\n    return w * v\n"
        "y = f()\ny.backward()\n"
    )
    (chain,) = of_script(tmp_path, text, "leaf of y").as_dict()["wrt"]
    assert chain["paths"][0]["symbols"] == ("leaf 2 of y",)
    assert {one["name"]: one["grad"] for one in of_script(tmp_path, text).as_dict()["wrt"]} == {
        "leaf of y": 2,
        "leaf 2 of y": 3,
    }


def test_what_has_no_derivative_in_pytorch_has_no_jacobian() -> None:
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    text = " ".join(str(gviz.explain(torch.heaviside(x.detach(), x * 3).sum(), wrt=x)).split())
    assert re.search(r"not in this graph: the derivative of \w+ is not implemented in PyTorch", text)
    assert "J(" not in text


def test_numbers_and_data_that_operations_have_saved_are_named_as_in_the_program(tmp_path: Any) -> None:
    text = "model, data = torch.nn.Linear(2, 1), torch.ones(3, 2)\nloss = (model(data) ** 2).mean() * -0.5\nloss.backward()\n"
    content = of_script(
        tmp_path, "def f():\n    x = torch.tensor(2.0, requires_grad=True)\n    (x * 3).backward()\nf()\n"
    ).content
    assert isinstance(content, Derivation)
    assert [node.expression for node in content.operations] == ["x * 3"]
    content = of_script(tmp_path, text).content
    assert isinstance(content, Derivation)
    assert "addmm(model.bias, data, a)" in [node.expression for node in content.operations]
    assert "data" in [node.name for node in content.start_nodes]
    assert not content.has_unknown


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_what_has_no_name_has_a_sign_and_a_note_in_every_format(tmp_path: Any, form: str) -> None:
    text = "x = torch.ones(300, requires_grad=True)\n"
    text += "def f():\n    return x * torch.ones(300, dtype=torch.float32)\n(f() + 1).sum().backward()\n"
    found = of_script(tmp_path, text).text(form)
    assert "is an input that needs no grad, and has no name in the graph" in flat(found)
    assert ("x \\cdot \\square" if form == "latex" else "x·□") in found


CUBE = """\
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, grad):
        return grad * 12
x = torch.tensor(2.0, requires_grad=True)
y = Cube.apply(x) * 2
y.backward(inputs=[x])
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CUBE, "Cube is a function of your own, whose backward gviz runs no second time; x.grad is 24"),
        ("x = torch.tensor(2.0, requires_grad=True)\ny = x\nfor _ in range(301):\n    y = y + 1\ny.backward()\n",
         "it has 302 operations and leaves, and gviz follows backward through 300 at most; x.grad is 1"),
        ("x = torch.ones(500, 500, requires_grad=True)\ny = (x * x).sum()\ny.backward()\n",
         "a tensor has 250,000 elements, and the numbers of more than 200,000 are left out"),
    ],
)  # fmt: skip
def test_what_could_not_be_checked_says_why(tmp_path: Any, text: str, why: str) -> None:
    assert why in flat(str(of_script(tmp_path, text)))


def test_the_gradient_after_a_hook_is_said_where_a_step_has_no_formula(tmp_path: Any) -> None:
    text = CUBE.replace("y = Cube", "x.register_hook(lambda grad: grad * 10)\ny = Cube").replace("inputs=[x]", "")
    assert "gradient is 24; x.grad is 240: at x 24 → 240: a hook, line 11" in flat(str(of_script(tmp_path, text)))


def test_a_step_without_a_formula_is_a_jacobian_with_a_name() -> None:
    found = explain("y=x.pinverse().sum()", options=SourceOptions(values={"x": [[1, 2], [3, 4]]}), say=lambda _: None)
    assert "grad @ J(pinv)" in str(found)
    assert "= \\frac{\\partial a}{\\partial x}" not in found.text("latex")


def test_ten_thousand_paths_are_listed_in_the_time_that_their_lines_take(tmp_path: Any) -> None:
    text = "x = torch.tensor(1.0, requires_grad=True)\ny = x\nfor _ in range({}):\n    y = y * 0.5 + y * 0.5\ny.backward()\n"
    (tmp_path / "net.py").write_text("import torch\n" + text.format(60))
    found = explain(str(tmp_path / "net.py"), max_paths=200, say=lambda _: None)
    assert calls_of(found.text) < 200 * 2000  # of each path 120 factors, of which a line shows 20


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
    with pytest.raises(SourceError, match="it requires no gradient"):
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


def calls_of(function: Any) -> int:
    """Return how many functions of Python are called."""
    calls = 0

    def count(_: Any, event: str, __: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def product_of(count: int) -> Graph:
    """Return the graph of x0·x1·..., of which each factor is a leaf."""
    leaves = {f"x{number}": torch.tensor(1.0 + 1 / (number + 2), requires_grad=True) for number in range(count)}
    y = leaves["x0"]
    for leaf in list(leaves.values())[1:]:
        y = y * leaf
    return walk({"y": y}, leaves)


def test_twice_as_many_leaves_take_twice_as_many_calls() -> None:
    few, many = (product_of(count) for count in (1000, 2000))
    assert calls_of(lambda: derive(many)) < 2.5 * calls_of(lambda: derive(few))


def test_of_very_many_steps_those_at_the_ends_of_each_path_are_listed() -> None:
    derivation = derive(product_of(600))
    path = next(chain.paths[0] for chain in derivation.chains if chain.wrt == "x0")
    assert (len(path.edges), path.skipped) == (2 * ENDS + 1, 599 - 2 * ENDS)
    assert path.names[0] == "y"
    assert path.names[-1] == "x0"
    assert path.symbols[ENDS] == GAP
    assert derivation.as_dict()["wrt"][0]["paths"][0]["skipped"] == path.skipped
    for form in ("text", "markdown", "latex"):
        text = Explanation("source", derivation).text(form)
        assert f"f a long path the first and the last {ENDS} steps are listed" in text.replace("\n", " ")  # Of, or of


def test_a_large_graph_has_the_symbols_of_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = derive(product_of(100))
    monkeypatch.setattr("gviz.derivations.derivation.MOST_DERIVED", 10)
    part = derive(product_of(100))
    assert part.as_dict() == whole.as_dict()
    assert part.operations[:40] == whole.operations[:40]
    assert Explanation("source", part).text() == Explanation("source", whole).text()


def test_of_what_is_not_on_the_paths_the_operands_of_these_are_listed_first() -> None:
    source = "b=x**2; y=w*b; c=u*2; d=c*3; z=y*d"
    derivation = derive(gviz.read(source, SourceOptions(flow=True), say=lambda _: None).graph, ("w",))
    assert [node.name for node in derivation.nearest(4)] == ["b", "y", "d", "z"]


def test_the_steps_of_a_large_graph_have_the_numbers_of_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"x": 2, "w": 0.5}
    graph = gviz.read("y=tanh(x*w)*exp(w)", SourceOptions(values=values, flow=True), say=lambda _: None).graph
    whole = derive(graph)
    monkeypatch.setattr("gviz.derivations.derivation.MOST_DERIVED", 1)
    assert derive(graph).chains == whole.chains


@pytest.mark.parametrize(
    ("source", "wrt", "values", "sums"),
    [
        ("y=(X+b).sum()", "b", {"X": [[1, 2], [3, 4]], "b": [1, 2]}, [None, {"symbol": "Σ over rows", "dim": [0]}]),
        ("y=(X*w).sum()", "w", {"X": [[1, 2], [3, 4]], "w": 2}, [None, {"symbol": "Σ over all", "dim": [0, 1]}]),
        (
            "y=(X*c).sum()",
            "c",
            {"X": [[1, 2], [3, 4]], "c": [[1], [2]]},
            [None, {"symbol": "Σ over columns", "dim": [1]}],
        ),
        (
            "y=(X*c).sum()",
            "c",
            {"X": "ones(2,3,4)", "c": "ones(3,1)"},
            [None, {"symbol": "Σ over dims 0, 2", "dim": [0, 2]}],
        ),
        ("y=(X+b).sum()", "X", {"X": [[1, 2], [3, 4]], "b": [1, 2]}, None),
    ],
)
def test_the_sum_over_what_an_input_was_spread_over_is_told_with_its_dimensions(
    source: str, wrt: str, values: dict[str, Any], sums: Any
) -> None:
    (path,) = record(source, wrt, **values)["wrt"][0]["paths"]
    assert path.get("sums") == sums


@pytest.mark.parametrize(
    ("source", "x"),
    [
        ("m=x.mean(dim=1,keepdim=True); y=((x-m)**2).sum()", [[1, 2, 4], [0, 3, 5]]),
        ("e=exp(x-x.max(dim=1,keepdim=True)[0]); s=e/e.sum(dim=1,keepdim=True); y=s[0,0]", [[1, 2, 4], [0, 3, 5]]),
        (
            "m=x.mean(-1,keepdim=True); v=((x-m)**2).mean(-1,keepdim=True); y=((x-m)/sqrt(v+1e-5))[0,1]",
            [[1, 2, 4], [0, 3, 5]],
        ),
        ("y=(x/x.norm(dim=1,keepdim=True)).prod()", [[1, 2, 4], [0.5, 3, 5]]),
    ],
)
def test_what_keeps_its_dimensions_is_multiplied_as_the_engine_does_it(source: str, x: Any) -> None:
    text = explain(source, "x", options=SourceOptions(values={"x": x})).text()
    assert "checked" not in text
    assert "= x.grad" in text


@pytest.mark.parametrize(
    "source", ["y=sqrt(w.T)", "y=sqrt(w).reshape(4)", "y=sqrt(w).sum(1)", "y=cat([sqrt(w),w])", "y=sqrt(w)@w"]
)
def test_nan_goes_where_the_engine_lets_it_through_and_nowhere_else(source: str) -> None:
    options = SourceOptions(values={"w": [[0.5, 0.1], [-2, 3]]}, grad_output="ones")
    text = explain(source, options=options, say=lambda _: None).text()
    assert "= w.grad" in text
    assert "not the engine's" not in text


@pytest.mark.parametrize(
    "operation", ["lgamma", "digamma", "logit", "erfinv", "hardtanh", "relu6", "gelu", "hardsigmoid", "floor"]
)
def test_an_operation_on_each_element_has_a_factor_for_each(operation: str) -> None:
    (path,) = record(f"y={operation}(x).sum()", "x", x=[0.25, 0.5, 0.75])["wrt"][0]["paths"]
    assert "kinds" not in path
    assert [len(factor) for factor in path["factors"]] == [3, 3]


def test_a_rest_that_is_rounding_alone_is_zero() -> None:
    for source in ("y=softmax(x,0).sum()", "y=(x-x.mean()).sum()*1e3"):
        assert record(source, "x", x=[1.5, 2.5, 1.0])["wrt"][0]["sum"] == [0.0, 0.0, 0.0]
    assert record("y=x*1e-9", "x", x=2)["wrt"][0]["sum"] == pytest.approx(1e-9)


def test_what_is_left_where_nothing_was_rounded_is_no_zero() -> None:
    text = str(explain("y=1.000001*x-x", x=1, say=lambda _: None))
    assert "∂y/∂x = 1.000001 + (-1) ≈ 9.537e-07 = x.grad" in text
    (chain,) = record("y=1.000001*x-x", "x", x=1)["wrt"]
    assert chain["sum"] == chain["grad"] == 2.0**-20
    near = str(explain("y=(w-1)**2+(w-3)**2", w=2 - 2.0**-23, say=lambda _: None))
    assert "∂y/∂w = 2 + (-2) ≈ -4.768e-07 = w.grad" in near
    assert "y = sum(x) ≈ 9.537e-07" in str(explain("y=sum(x)", x=[1.000001, -1], say=lambda _: None))


def test_parts_that_do_not_come_to_their_sum_in_print_have_no_equals_sign() -> None:
    source = "m=mean(x); v=mean((x-m)**2); h=(x-m)/sqrt(v+0.00001); y=h[0]"
    assert "∂y/∂x = the sum of these ≈ [5.007e-06, -5.007e-06] = x.grad" in str(explain(source, x=[1, 3]))
    whole = str(explain(f"y=sum({'+'.join(f'{one}*x' for one in range(1001, 1009))})", x=[1, 2]))
    assert "∂y/∂x = the sum of these = [8036, 8036] = x.grad" in whole


def test_a_gradient_that_the_program_cleared_is_told(tmp_path: Any) -> None:
    script = "import torch\nw = torch.tensor([1., -1.], requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\nw.grad = None\n"
    (tmp_path / "p.py").write_text(script)
    found = explain(str(tmp_path / "p.py"), say=lambda _: None)
    assert "= w.grad\n  w.grad was cleared afterwards, line 5" in found.text()
    assert found.as_dict()["wrt"][0]["cleared"] == "line 5"


@pytest.mark.parametrize(
    ("text", "values", "lines"),
    [
        ("y=where(x>0, x*2, x).sum()", {"x": [1, -2]}, ["a = x > 0 = [True, False]", "c = where(a, b, x) = [2, -2]"]),
        ("m=x>0; y=where(m, x*2, x).sum()", {"x": [1, -2]}, ["x = [1, -2], m = [True, False]"]),
        ("y=x.masked_fill(x>2, 0).sum()", {"x": [1, 3]}, ["a = x > 2 = [False, True]"]),
        ("y=nll_loss(log_softmax(W,1), k)", {"W": [[1, 2]], "k": [1]}, ["W = [[1, 2]], k = [1]"]),
        ("h=x*w; y=(h+1).detach()*w", {"x": 2, "w": 3}, ["w = 3, h = 6", "a = h + 1 = 7", "b = a.detach() = 7"]),
        ("y=1/x", {"x": 2}, ["a = reciprocal(x) = 0.5"]),
        ("y=(x+b).sum()", {"x": [[3]], "b": [1]}, ["x = [[3]], b = [1]", "a = x + b = [[4]]", "∂y/∂b = [1] = b.grad"]),
    ],
)
def test_each_name_that_is_used_is_listed_with_its_numbers(text: str, values: dict[str, Any], lines: list[str]) -> None:
    shown = [
        line.strip()
        for line in str(explain(text, options=SourceOptions(values=values), say=lambda _: None)).splitlines()
    ]
    for line in lines:
        assert line in [each.replace(" " * 4, " ").replace("  ", " ") for each in shown], (line, shown)


def test_a_leaf_of_another_graph_is_no_part_of_the_root_though_it_has_a_gradient(tmp_path: Any) -> None:
    head = "import torch\nx = torch.tensor(2.0, requires_grad=True)\nw = torch.tensor(3.0, requires_grad=True)\n"
    (tmp_path / "p.py").write_text(head + "(w * 2).backward()\ny = x * 3\ny.backward()\n")
    with pytest.raises(SourceError, match="y is not made from it, or the way is cut off"):
        explain(str(tmp_path / "p.py"), ["w"], say=lambda _: None)


def test_paths_that_share_a_matrix_at_their_end_have_each_their_own_gradient_behind_it() -> None:
    (found,) = record("h=softmax(x,0); y=(h*h.cumsum(0)).sum()", "x", x=[1, 2])["wrt"]
    products = [path["product"] for path in found["paths"]]
    assert [path["gradients"][-1] for path in found["paths"]] == products
    assert products[0] == pytest.approx([-0.143735, 0.143735], rel=1e-4)
    assert products[1] == pytest.approx([0.052877, -0.052877], rel=1e-4)
    assert [sum(pair) for pair in zip(*products, strict=True)] == pytest.approx(found["grad"], rel=1e-4)


def test_an_operation_beside_a_path_is_listed_in_the_order_of_computing() -> None:
    found = explain("y=sin(x)*exp(w)", ["x"], options=SourceOptions(values={"x": 2, "w": 1}), say=lambda _: None)
    assert "\n  a = sin(x) = 0.909297\n  b = exp(w) = 2.71828\n  y = a·b = 2.4717\n" in str(found)


def test_what_rounding_leaves_of_a_sum_is_nothing() -> None:
    found = explain("y=layer_norm(x,[3]).sum()", options=SourceOptions(values={"x": [1, 2, 4]}), say=lambda _: None)
    assert "y = a.sum() = 0" in str(found)
    assert "∂y/∂x = [0, 0, 0] = x.grad" in str(found)
    small = explain("y=(x+1e-7)-x", options=SourceOptions(values={"x": 1}), say=lambda _: None)
    assert "1.192e-07" in str(small)  # which is what such a program is about


def test_a_sum_over_a_large_tensor_is_a_part_of_the_symbol() -> None:
    values = {"x": "ones(600,500)", "w": "2"}
    found = explain("y=(x*w).sum()", "w", options=SourceOptions(values=values), say=lambda _: None)
    assert "sum(grad·x)" in str(found)
    found = explain(
        "y=(x+w).sum()", "w", options=SourceOptions(values={**values, "w": "ones(500)"}), say=lambda _: None
    )
    assert "sum(grad, (0,))" in str(found)


def test_an_expression_without_a_gradient_is_no_value() -> None:
    found = explain("y=x/sqrt(2*π)", options=SourceOptions(values={"x": "1"}), say=lambda _: None)
    assert "  x = 1\n" in str(found)


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("a,b=split(x,2); y=sum(a*2)+sum(b)", ["eye(3)[0:2]", "eye(3)[2:3]"]),
        ("p=chunk(x,2); y=sum(p[0])*sum(p[1])", ["eye(3)[0:2]", "eye(3)[2:3]"]),
        ("a,b,c=unbind(x); y=a*b*c", ["one_hot(0, 3)", "one_hot(1, 3)", "one_hot(2, 3)"]),
        ("a,b=unbind(X,dim=-1); y=a@b", ["outer(grad, one_hot(0, 2))", "outer(grad, one_hot(1, 2))"]),
        ("a,b=split(X,[1,1],dim=1); y=sum(a*b*3)", ["pad(grad, (0, 1))", "pad(grad, (1, 0))"]),
        ("y=split(x*2,1)[2].sum()", ["eye(3)[2:3]"]),
    ],
)
def test_each_part_of_a_tensor_is_a_step_of_its_own(text: str, symbols: list[str]) -> None:
    used = {"x": [1.0, 2.0, 3.0]} if "x" in text.partition(";")[0] else {"X": [[1.0, 2.0], [3.0, 4.0]]}
    found = explain(
        text, options=SourceOptions(values={k: v for k, v in used.items() if k in text}), say=lambda _: None
    )
    (chain,) = found.as_dict()["wrt"]
    assert "checked" not in chain
    assert chain["sum"] == chain["grad"]
    assert isinstance(found.content, Derivation)
    assert set(symbols) <= found.content.symbols
    assert "J(" not in str(found)


@pytest.mark.parametrize(
    "attrs",
    [(("dim", "x"),), (("dim", "7"), ("split_size", "2")), (("dim", "0"), ("split_size", "0")), (("dim", "0"),), ()],
)
def test_options_of_a_saved_graph_that_do_not_fit_leave_the_parts_as_they_are(
    attrs: tuple[tuple[str, str], ...],
) -> None:
    settings = SourceOptions(values={"x": [1.0, 2.0, 3.0]}, flow=True, jacobians=True)
    graph = gviz.read("a,b=split(x,2); y=sum(a*2)+sum(b)", settings).graph
    nodes = (
        node._replace(recorded=node.recorded._replace(attrs=attrs)) if node.label == "SplitBackward0" else node
        for node in graph.nodes
    )
    found = derive(graph.changed(nodes=tuple(nodes)))
    assert "grad @ J(split)" in found.symbols
    assert found.chains[0].sum is None


def test_of_roots_that_backward_ran_from_one_by_one_the_last_is_derived(tmp_path: Path) -> None:
    text = "import torch\nw = torch.tensor(2.0, requires_grad=True)\nh = w**2\none = h*3\ntwo = (h - 1)**2\n"
    (tmp_path / "two.py").write_text(f"{text}one.backward(retain_graph=True)\ntwo.backward()\n")
    for others in (("one", "two"), ("h", "two")):
        answer = explain(tmp_path / "two.py", options=SourceOptions(roots=others), say=lambda _: None)
        assert json.loads(answer.text("json"))["wrt"][0]["sum"] == 24
        assert f"\nbackward from two did not start at {others[0]}, too" in answer.text()


def test_an_operation_of_many_operands_has_a_formula(tmp_path: Path) -> None:
    text = "import torch\nw = [torch.tensor(float(i), requires_grad=True) for i in range(5)]\n"
    (tmp_path / "many.py").write_text(f"{text}y = torch.stack([a*2 for a in w]).sum()\ny.backward()\n")
    assert " = stack(b, c, …, h) = [0, 2, 4, 6, 8]\n" in explain(tmp_path / "many.py", say=lambda _: None).text()


def test_what_is_written_alike_in_a_loop_is_told_apart(tmp_path: Path) -> None:
    text = """import torch
X, k = torch.tensor([[1., 2., 0.], [0., 1., 3.]]), torch.tensor([2., 3.])
w, G = torch.tensor([0.5, -1.], requires_grad=True), torch.tensor(0.)
def scaled(x):
    return (x * w).sum()
for i in range(2):
    G = w[i]*k[i] + 0.9*G + scaled(X[i, i:i + 2])
G.backward()
"""
    (tmp_path / "loop.py").write_text(text)
    answer = explain(tmp_path / "loop.py", say=lambda _: None).text()
    start, *equations = answer.split("path by path")[1].split("∂G/∂w")[0].splitlines()[2:]
    assert start == "  w = [0.5, -1], p = 0, f = [1, 2], h = [1, 3]"  # 0.9*G is of a G before this one
    sides = [re.split(" [=≈] ", line) for line in equations if line.strip()]
    formulas = [side[1] for side in sides if len(side) == 3]
    assert formulas
    assert len(formulas) == len({*formulas})


def test_a_write_into_a_part_says_what_it_wrote_into(tmp_path: Path) -> None:
    text = "import torch\na = torch.tensor([1., 2.], requires_grad=True)\nb = a * 2\nb[1] = 10.\nb[0] = a[1]\ny = b.sum()\n"
    (tmp_path / "write.py").write_text(f"{text}y.backward()\n")
    answer = explain(tmp_path / "write.py", say=lambda _: None).text()
    assert re.search(r"\n  (\w) = a·2 = \[2, 4\]\n.*\n  (\w) = \1 partly changed = \[2, 10\]\n", answer)
    assert re.search(r"\n  b = (\w) partly changed, using (\w) = \[2, 10\]\n", answer)
    text = f"{text.partition('b =')[0]}b = (a + torch.ones(2, 2)).fill_diagonal_(0)\nb.sum().backward()\n"
    (tmp_path / "write.py").write_text(text)
    assert "partly changed = [[0, 3], [2, 0]]" in explain(tmp_path / "write.py", say=lambda _: None).text()


def test_what_a_sum_in_place_began_with_has_a_name_and_its_numbers(tmp_path: Path) -> None:
    text = "import torch\nw = torch.tensor([1., 2.], requires_grad=True)\ns = torch.ones(())\nout = torch.zeros(2)\n"
    text += "for i in range(2):\n    s += w[i]*2\nout[0] = w[0]\ny = s + out.sum()\ny.backward()\n"
    (tmp_path / "sum.py").write_text(text)
    answer = explain(tmp_path / "sum.py", say=lambda _: None).text()
    assert re.search(r"\n  w = \[1, 2\], (\w) = 1, (\w) = \[0, 0\]\n", answer)
    assert UNKNOWN not in answer


OWN = """\
import torch

class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return x + w

    @staticmethod
    def backward(ctx, g):
        return g * 3, g

x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([4.0, 5.0], requires_grad=True)
y = Mul.apply(x, w)
y.sum().backward()
"""


def test_a_function_of_the_program_is_told_by_its_own_backward_whatever_its_class_is_called(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    text = str(explain(tmp_path / "own.py", say=lambda _: None))
    assert "y = Mul.apply(x, w) = [5, 7]" in text
    assert "∂y/∂x  Mul.backward(grad)" in text
    assert "Jacobian" not in text
    assert "x·w" not in text
    (tmp_path / "own.py").write_text(OWN.replace("y = Mul.apply(x, w)\ny.sum()", "Mul.apply(x, w).sum()"))
    assert "a = Mul(x, w) = [5, 7]" in str(explain(tmp_path / "own.py", say=lambda _: None))


def test_a_checkpoint_is_named_where_the_steps_of_backward_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "again.py").write_text(
        "import torch\nfrom torch.utils.checkpoint import checkpoint\nw = torch.tensor(2.0, requires_grad=True)\n"
        "y = checkpoint(lambda x: torch.tanh(x * w) * w, torch.tensor(0.5), use_reentrant=False)\ny.backward()\n"
    )
    text = " ".join(str(explain(tmp_path / "again.py", say=lambda _: None)).split())
    assert (
        "are not in this graph: what a checkpoint has left out is computed again for backward alone; w.grad is" in text
    )


MASKED = """\
import torch
torch.manual_seed(0)
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x = torch.tensor([3.0, 4.0, 5.0])
mask = torch.tensor([True, False, True])
z = torch.where(mask, w, x)
q = torch.where(torch.tensor([0.1, 0.7, 0.2]) > 0.5, w, 2 * w)
d = torch.nn.functional.dropout(w, 0.5)
y = (z * q * d).sum()
y.backward()
"""


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_conditions_and_masks_have_their_numbers(tmp_path: Path, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    (tmp_path / "masked.py").write_text(MASKED)
    text = str(explain(tmp_path / "masked.py", options=SourceOptions(engine=engine), say=lambda _: None))
    lines = (
        "  w = [1, 2, 3], x = [3, 4, 5], mask = [True, False, True], b = [0, 0, 2]",
        "  q = where([False, True, False], w, a) = [2, 2, 6]",
        "  d = torch.nn.functional.dropout(w, 0.5) = [0, 0, 6]",
    )
    assert not set(lines) - set(text.splitlines())
    assert "∂d/∂w  b  " in text


def test_a_constant_whose_text_is_long_has_a_letter_in_equations_and_in_formulas(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(
        "import torch\nQ = torch.tensor(2.0, requires_grad=True)\nZ = Q * torch.tensor([[1.0, 2.0], [3.0, 4.0]])\n"
        "y = (Z @ torch.tensor([[1.0, 0.0], [2.0, 1.0]])).sum()\ny.backward()\n"
    )
    text = str(explain(tmp_path / "long.py", say=lambda _: None))
    assert "Q = 2, c = [[1, 0], [2, 1]], a = [[1, 2], [3, 4]]" in text
    assert "  Z = Q·a = [[2, 4], [6, 8]]\n" in text
    assert "∂b/∂Z  grad @ c.T" in text


def test_what_picks_a_result_of_several_is_written_once() -> None:
    assert "\n  y = x.aminmax().max = 3\n" in str(explain("y=x.aminmax().max", x=[1, 3, 2], say=lambda _: None))
