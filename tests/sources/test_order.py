"""``--order N``: the graph of the N-th derivative, its values and names, and what has none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from program import Program
from scripts import nested

from gviz.errors import SourceError
from gviz.formulas.formula import UNKNOWN
from gviz.graphs import Graph
from gviz.passes.dataflow import dataflow, has_names
from gviz.sources import SourceOptions, read

FORMULAS = [
    "x**3",
    "tanh(x*w) + exp(w)*x",
    "sigmoid(x)*sin(w/x)",
    "log(x**2 + w**2)",
    "sqrt(x + 2*w)*x",
    "softplus(x*w)/(1 + x)",
    "relu(x*w)**3 + cos(x)",
]


def derivative(formula: str, order: int, x: float = 0.7, w: float = 1.3, **options: str) -> Graph:
    """The graph of a formula's derivative by x, in double precision."""
    given = {name: value for name, value in {"x": x, "w": w}.items() if name in formula.replace("exp", "")}
    chosen = SourceOptions(values=given, order=order, wrt=("x",), dtype="float64", **options)  # type: ignore[arg-type]
    return read(f"y = {formula}", chosen).graph


def root_of(graph: Graph) -> float:
    value = nested(next(node.value for node in graph.nodes if node.id in graph.roots))
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_derivative_has_the_value_of_central_differences(formula: str, order: int) -> None:
    def before(x: float) -> float:
        if order > 1:
            return root_of(derivative(formula, order - 1, x))
        options = SourceOptions(values={"x": x, "w": 1.3}, dtype="float64")
        rows = read(f"y = {formula}", options, say=lambda _: None).graph.tensors
        (value,) = (nested(row.value) for row in rows if row.name == "y")
        assert isinstance(value, float)
        return value

    step = 1e-5
    expected = (before(0.7 + step) - before(0.7 - step)) / (2 * step)
    assert math.isclose(root_of(derivative(formula, order)), expected, rel_tol=1e-6, abs_tol=1e-8)


def test_the_graph_is_the_one_that_create_graph_records() -> None:
    graph = derivative("x**3", 1, x=2.0)
    labels = [node.label for node in graph.nodes if node.kind == "operation"]
    assert labels == ["MulBackward0", "MulBackward1", "PowBackward0"]
    assert (graph.title, root_of(graph)) == ("∂y/∂x", 12.0)
    assert {row.name: nested(row.grad.value) for row in graph.tensors} == {"x": 12.0, "y": None, "∂y/∂x": None}


@pytest.mark.torch
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("formula", FORMULAS)
def test_the_graph_is_pytorchs(tmp_path: Path, formula: str, order: int) -> None:
    torch = pytest.importorskip("torch")
    script = tmp_path / "net.py"
    script.write_text(
        "import torch\nfrom torch import *\nfrom torch.nn.functional import softplus\n"
        "x = torch.tensor(0.7, requires_grad=True)\nw = torch.tensor(1.3, requires_grad=True)\n"
        f"y = {formula}\n"
    )
    ours, theirs = (
        read(str(script), SourceOptions(order=order, wrt=("x",), engine=engine)).graph for engine in ("gviz", "torch")
    )
    assert [(node.kind, node.label) for node in ours.nodes] == [(node.kind, node.label) for node in theirs.nodes]
    assert [(edge.source, edge.target, edge.slot) for edge in ours.edges] == [
        (edge.source, edge.target, edge.slot) for edge in theirs.edges
    ]
    space = {name: getattr(torch, name) for name in dir(torch) if not name.startswith("__")}
    x, w = (torch.tensor(value, requires_grad=True) for value in (0.7, 1.3))
    y = eval(formula, {**space, "softplus": torch.nn.functional.softplus, "x": x, "w": w})  # noqa: S307 - a formula of this file
    for _ in range(order):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
    assert math.isclose(root_of(theirs), y.item(), rel_tol=1e-6)
    assert math.isclose(root_of(ours), y.item(), rel_tol=1e-4, abs_tol=1e-5)
    assert next(node.label for node in theirs.nodes if node.kind == "operation") == type(y.grad_fn).__name__


def test_several_leaves_have_a_root_each_and_what_is_constant_is_said(gviz: Program) -> None:
    done = gviz("render", "y=x*w+exp(w)+b", "x=2", "w=1", "b=1", "--order", 1, "-o", "-", "--format", "txt")
    assert done.status == 0
    assert "∂y/∂x = 1\n" in done.out
    assert "∂y/∂w = 4.7183\n" in done.out
    assert "∂y/∂b" not in done.out
    assert "∂y/∂b = 1 is constant: it does not require grad, and has no graph" in done.err


def test_the_file_has_the_name_of_the_derivative(gviz: Program) -> None:
    assert gviz("render", "y=x**3", "x=2", "--order", 2, "--format", "svg").out == "d2y_dx2.svg\n"
    assert ">∂²y/∂x²<" in (gviz.folder / "d2y_dx2.svg").read_text(encoding="utf-8")
    saved = gviz.graph("y=x**3", "x=2", "--order", 1)
    assert saved["title"] == "∂y/∂x"
    assert "∂y/∂x = 12" in gviz("render", "graph.json", "-o", "-", "--format", "txt").out


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "teaching", "autograd", "micrograd"])
def test_each_view_draws_it(gviz: Program, view: str) -> None:
    done = gviz(
        "render", "y=x**3*w", "x=2", "w=3", "--order", 2, "--wrt", "x", "--view", view, "-o", "-", "--format", "svg"
    )
    assert (done.status, done.err) == (0, "")
    assert ">∂²y/∂x²" in done.out
    if view == "dataflow":
        assert "×: ∂²y/∂x² = 36, grad = 1<" in done.out
    if view == "teaching":
        assert "∂(∂²y/∂x²)/∂(∂²y/∂x²) = 1<" in done.out


def test_the_paths_of_a_derivative_come_to_the_next_one(gviz: Program) -> None:
    done = gviz(
        *("render", "y=x**3*w", "x=2", "w=3", "--order", 1, "--wrt", "x", "--view", "dataflow", "--path", "x"),
        *("-o", "-", "--format", "svg"),
    )
    assert (done.status, done.err) == (0, "")
    text = done.out.replace("\N{NO-BREAK SPACE}", " ")
    assert "  ∂y/∂x → f → c → x:   b · 3 · 2·x = 3 · 3 · 4 = </text>" in text
    assert all(part in text for part in (">∂(∂y/∂x)/∂x</text>", ">36</text>", ">   which is x.grad</text>"))


def test_a_script_is_differentiated_from_its_root(gviz: Program) -> None:
    head = "import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x ** 3\n"
    (gviz.folder / "net.py").write_text(head + "y.backward(retain_graph=True)\n")
    done = gviz("render", "net.py", "--order", 1, "--path", "x", "-o", "-", "--format", "txt")
    assert "∂y/∂x = 12\n" in done.out
    (gviz.folder / "net.py").write_text(head + "y.backward()\n")
    gviz("render", "net.py", "--order", 1).assert_refused(
        "second time", "backward(retain_graph=True)", files=("net.py",)
    )
    (gviz.folder / "net.py").write_text(head + "y.backward(retain_graph=True)\nwith torch.no_grad():\n    x += 1\n")
    gviz("render", "net.py", "--order", 1).assert_refused("inplace operation", "take that out", files=("net.py",))


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        (["y=x*2", "--order", 1], ["∂y/∂x = 2 is constant", "does not require grad"]),
        (["y=x*w", "--order", 2, "--wrt", "x"], ["∂y/∂x does not depend on x, so ∂²y/∂x² is 0", "smaller --order"]),
        (["y=x+z", "z=1", "--order", 1, "--wrt", "w"], ["--wrt w: there is no tensor of that name"]),
        (["y=x*w", "--frozen", "w", "--order", 1, "--wrt", "w"], ["--wrt w: w requires no gradient"]),
        (["y=x*x", "x=[1,2]", "--order", 1], ["scalar outputs", "y has shape (2,); --grad-output ones"]),
        (["y=x.sum()**3", "x=[1,2]", "--order", 2], ["scalar outputs", "∂y/∂x has shape (2,)"]),
    ],
)
def test_what_has_no_graph_is_said(gviz: Program, words: Sequence[object], phrases: list[str]) -> None:
    gviz("render", *words).assert_refused(*phrases)


def test_wrt_goes_with_order(gviz: Program) -> None:
    gviz("render", "y=x*w", "--wrt", "x").assert_refused("--wrt names what --order N differentiates by", status=2)


def test_a_saved_graph_cannot_be_differentiated(gviz: Program) -> None:
    gviz.graph("y=x*w")
    gviz("render", "graph.json", "--order", 1).assert_refused("cannot be differentiated", files=("graph.json",))


def test_the_gradient_of_a_root_that_is_no_scalar_is_given() -> None:
    values = {"x": [1, 2], "w": [3, 4]}
    graph = read("y = x**2*w", SourceOptions(values=values, order=1, wrt="x", grad_output="[10, 1]")).graph  # type: ignore[arg-type]
    assert nested(next(node.value for node in graph.nodes if node.id in graph.roots)) == [60.0, 16.0]
    with pytest.raises(SourceError, match="Mismatch in shape"):
        read("y = x**2*w", SourceOptions(values=values, order=1, grad_output="[1, 2, 3]"))


def test_what_a_derivative_starts_from_is_put_in_once() -> None:
    graph = read("y=x**3", SourceOptions(values={"x": "[1, 2]"}, order=2, grad_output="[10, 1]")).graph
    assert nested(next(node.value for node in graph.nodes if node.id in graph.roots)) == [60.0, 12.0]


def test_it_is_said_that_mixed_derivatives_are_not_drawn() -> None:
    notes = [note.text for note in read("f=x**2*y**2", SourceOptions(order=2)).notes]
    assert "each is derived by one tensor alone: mixed derivatives, such as ∂(∂f/∂x)/∂y, are not drawn" in notes
    assert not any("mixed" in note.text for note in read("f=x**3", SourceOptions(order=2)).notes)


def test_the_derivative_of_a_scalar_is_not_weighted() -> None:
    with pytest.raises(SourceError, match=r"--grad-output 2: with --order, the derivatives of a scalar start from 1"):
        read("y=x**3", SourceOptions(values={"x": "2"}, order=2, grad_output="2"), say=lambda _: None)


@pytest.mark.parametrize(
    ("formula", "order"),
    [("x**3 - 2*x - 5", 1), ("x**4 - 2*x**2 + 5*x", 1), ("sigmoid(x*w)", 2), ("x*exp(w) + 3*x*x", 1)],
)
def test_no_operand_of_a_derivative_is_without_its_number(formula: str, order: int) -> None:
    graph = dataflow(derivative(formula, order))
    operands = [node for node in graph.nodes if node.kind in ("frozen", "constant")]
    assert operands
    assert not [
        node.name for node in operands if node.name == UNKNOWN or (node.value is None and has_names(node.name or ""))
    ]
    assert not [node.name for node in graph.nodes if node.kind == "operation" and node.value is None]


def test_the_graph_that_a_script_s_grad_records_has_its_numbers_too(tmp_path: Path) -> None:
    text = "import torch\nx = torch.tensor(2.0, requires_grad=True)\nf = x**3 - 2*x - 5\n"
    text += "df, = torch.autograd.grad(f, x, create_graph=True)\n"
    (tmp_path / "newton.py").write_text(text)
    graph = dataflow(read(tmp_path / "newton.py", SourceOptions(flow=True, lines=True)).graph)
    assert {-2.0, 1.0, 3.0} <= {float(node.name or "") for node in graph.nodes if node.kind == "constant"}
    assert not [node.name for node in graph.nodes if node.kind == "operation" and node.value is None]
