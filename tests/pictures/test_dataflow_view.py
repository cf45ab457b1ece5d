"""The view of the formula: constants, statements, what stands on the lines, tensors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from program import Program

from gviz import SourceOptions, read
from gviz.formulas.expressions import with_letters
from gviz.graphs import Edge, Graph
from gviz.passes.dataflow import dataflow
from gviz.passes.statements import by_statement
from gviz.pictures import RenderOptions, Shape, picture_of
from gviz.render import render

FIVE = "b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d"
VALUES = {"a": 2, "w1": 1, "w2": 2, "w3": 3, "w4": 4}
MATRICES = {"W": [[1, 2], [3, 4]], "x": [[1], [2]], "y": [[1], [1]]}


def graph(source: str, **values: object) -> Graph:
    return read(source, SourceOptions(values=values, flow=True), say=lambda _: None).graph


def formula(source: str, **values: object) -> Graph:
    return dataflow(graph(source, **values))


def factor(edge: Edge) -> tuple[str, object]:
    """Return the local derivative of an edge, and its numbers."""
    return edge.flow.symbol, None if edge.flow.local is None else edge.flow.local.nested()


def edges(shown: Graph) -> dict[str, tuple[str, object]]:
    names = {node.id: node.name for node in shown.nodes}
    return {f"{names[edge.source]}->{names[edge.target]}": factor(edge) for edge in shown.edges}


def plates(source: str, options: RenderOptions, **values: object) -> list[str]:
    """Return what stands on the lines."""
    shapes = [one for one in picture_of(graph(source, **values), options).statements if isinstance(one, Shape)]
    rows = [re.findall(r"<TD>(.*?)</TD>", one.look["label"]) for one in shapes if one.id.startswith("p")]
    return [" | ".join(re.sub(r"<[^>]*>", "", row) for row in found) for found in rows]


# ------------------------------------------------------------------ constants
@pytest.mark.parametrize(
    ("source", "constant", "slot"),
    [
        ("L=10-d", "10", 0),
        ("y=x-3", "3", 1),
        ("y=x**2", "2", 1),
        ("y=2**x", "2", 0),
        ("y=x/4", "4", 1),
        ("y=2/x", "2", 1),
        ("y=0.5*x", "0.5", 1),  # recorded as x * 0.5
    ],
)
def test_a_constant_is_a_node_at_its_place(source: str, constant: str, slot: int) -> None:
    shown = formula(source)
    node = next(node for node in shown.nodes if node.kind == "constant")
    assert node.name == constant
    assert [edge.slot for edge in shown.edges if edge.source == node.id] == [slot]
    assert len({(edge.target, edge.slot) for edge in shown.edges}) == len(shown.edges)


def test_what_an_operation_holds_besides_its_operands_is_behind_them() -> None:
    shown = formula("y=nll_loss(log_softmax(W,1),k,v.detach())", W=[[1, 2], [3, 4]], k=[1, 0], v=[2, 3])
    names = {node.id: node.name for node in shown.nodes}
    (last,) = (node.id for node in shown.nodes if node.name == "y")
    slots = sorted((edge.slot, names[edge.source]) for edge in shown.edges if edge.target == last)
    assert slots == [(0, "a"), (1, "k"), (2, "b")]


def test_an_operand_that_is_detached_where_it_is_used_says_so_with_its_line(tmp_path: Path) -> None:
    script = "import torch\nx = torch.tensor(2.0, requires_grad=True)\nh = x * 3\ny = h.detach() * x\ny.backward()\n"
    (tmp_path / "net.py").write_text(script)
    shown = dataflow(read(tmp_path / "net.py", SourceOptions(lines=True), say=lambda _: None).graph)
    states = [(node.name, node.state) for node in shown.nodes if node.kind == "frozen"]
    assert states == [("h.detach()", "detached from h, line 4")]


@pytest.mark.parametrize("call", ["x.mul(h.detach())", "torch.mul(x, h.detach())", "torch.matmul(x, h.detach())"])
def test_an_argument_of_a_call_is_told_by_what_is_written_there(call: str, tmp_path: Path) -> None:
    head = "import torch\nx = torch.ones(2, 2, requires_grad=True)\nh = x * 3\n"
    (tmp_path / "net.py").write_text(f"{head}y = {call}\ny.sum().backward()\n")
    shown = dataflow(read(tmp_path / "net.py", SourceOptions(lines=True), say=lambda _: None).graph)
    assert [node.name for node in shown.nodes if node.kind == "frozen"] == ["h.detach()"]


def test_a_condition_of_one_operation_is_a_node_once() -> None:
    shown = formula("m=x>0; y=where(m,x,0)", x=[1, -2])
    assert [(node.name, node.state) for node in shown.nodes if node.kind == "frozen"] == [("m", "")]


IN_A_LOOP = """
import torch
X, Y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 2.0])
w = torch.tensor([0.5, -0.5], requires_grad=True)
loss = 0
for i in range(2):
    loss = loss + torch.nn.functional.mse_loss((w * X[i]).sum(), Y[i]) + w.dot(torch.ones(2) if i else X[0] * 2)
loss.backward()
"""


def test_operands_without_a_name_have_their_own_numbers_and_no_other_input_stands_beside(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(IN_A_LOOP)
    whole = read(tmp_path / "loop.py", SourceOptions(flow=True, lines=True), say=lambda _: None).graph
    shown = dataflow(with_letters(whole))
    frozen = [(node.name, node.numbers.nested()) for node in shown.nodes if node.kind == "frozen" and node.numbers]
    assert sorted(frozen) == [("X[0]", [1, 2]), ("X[1]", [3, 4]), ("c", [2, 4]), ("h", [1, 1])]


def test_each_of_several_tensors_that_an_operation_makes_has_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import torch\nw = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\ny = 0\n"
        "for wi in w:\n    y = y + wi**2\n(y + sum(w * 2)).backward()\n"
    )
    whole = read(tmp_path / "loop.py", SourceOptions(flow=True, lines=True), say=lambda _: None).graph
    shown = dataflow(with_letters(whole))
    made = [node.recorded.outputs for node in shown.nodes if node.label == "UnbindBackward0"]
    squares = [node.expression for node in shown.nodes if node.label == "PowBackward0"]
    assert len({name for names in made for name in names}) == 6
    assert len({*squares}) == 3
    assert all(any(f"{name} ** 2" in squares for name in names) for names in made if "wi" in names)


def test_the_symbol_of_two_over_x_is_that_of_the_operations_pytorch_records() -> None:
    assert edges(formula("y=2/x", x=4)) == {"2->y": ("", None), "a->y": ("2", 2.0), "x->a": ("-a²", -0.0625)}


# ------------------------------------------------------------------ statements
def test_one_node_for_each_statement_with_the_composed_derivative() -> None:
    shown = by_statement(formula(FIVE, **VALUES))
    assert [node.name for node in shown.nodes if node.kind == "operation"] == ["L", "d", "b", "c"]
    assert {key: edges(shown)[key] for key in ("b->d", "w3->d", "c->d", "w4->d", "d->L")} == {
        "b->d": ("w3", 3.0), "w3->d": ("b", 2.0), "c->d": ("w4", 4.0), "w4->d": ("c", 4.0), "d->L": ("-1", -1.0),
    }  # fmt: skip


def test_ways_within_a_statement_are_added_in_the_names_of_the_program() -> None:
    shown = by_statement(formula("y=(x+w)*(w+1)", x=2, w=1))
    assert edges(shown) == {"x->y": ("w + 1", 2.0), "w->y": ("x + w + (w + 1)", 5.0), "1->y": ("", None)}


def test_a_statement_with_a_matrix_product_has_the_gradient_as_a_formula() -> None:
    shown = by_statement(formula("L=((W@x-y)**2).sum()", **MATRICES))
    assert edges(shown)["W->L"] == ("grad·(2·(W @ x - y)) @ x.T", None)
    assert edges(shown)["y->L"] == ("-(2·(W @ x - y))", [[-8.0], [-20.0]])


def test_many_ways_within_a_statement_take_no_time() -> None:
    text = "x"
    for _ in range(6):
        text = f"({text})*({text})"
    assert edges(by_statement(formula(f"y={text}", x=1)))["x->y"][1] == 64.0


def test_statements_of_a_script_are_told_from_what_the_engine_names(gviz: Program) -> None:
    lines = [
        "import torch",
        "a, w = torch.tensor([2., 3.], requires_grad=True)",
        "d = w*a + a*a",
        "loss = 10 - d",
        "loss.backward()",
    ]
    (gviz.folder / "five.py").write_text("\n".join(lines), encoding="utf-8")
    done = gviz("render", "five.py", "--by", "statement", "-o", "five.dot")
    assert done.status == 0, done.err
    text = (gviz.folder / "five.dot").read_text(encoding="utf-8")
    assert "∂loss/∂d" in text
    assert text.count("circle") == 1  # that of 10 - d
    assert "<B>w·a + a·a</B>" in text
    assert "unbind" in text


def test_the_names_of_a_saved_graph_are_told_apart_as_well(gviz: Program) -> None:
    assert gviz("render", FIVE, "--by", "statement", "-o", "L.json").status == 0
    saved = gviz("render", "L.json", "--by", "statement", "-o", "-")
    assert saved.out == gviz("render", FIVE, "--by", "statement", "-o", "-").out


# ------------------------------------------------------------------ on the lines
@pytest.mark.parametrize(
    ("symbols", "told"),
    [
        ("both", ["∂y/∂x = w = 3", "∂y/∂w = x = 2"]),
        ("symbol", ["∂y/∂x = w", "∂y/∂w = x"]),
        ("number", ["∂y/∂x = 3", "∂y/∂w = 2"]),
        ("off", []),
    ],
)
def test_lines_have_symbols_numbers_both_or_nothing(symbols: str, told: list[str]) -> None:
    assert plates("y=x*w", RenderOptions(view="dataflow", symbols=symbols), x=2, w=3) == told


def test_a_derivative_that_is_no_factor_is_told_as_a_formula_with_the_norm_it_makes() -> None:
    told = plates("L=((W@x-y)**2).sum()", RenderOptions(view="dataflow"), **MATRICES)
    assert "grad @ x.T | norm 48.1664" in told
    assert "∂c/∂b | 2·b = [[8], [20]]" in told


def test_where_there_is_no_formula_the_function_is_named_with_the_norm_that_it_hands_on() -> None:
    source, values = "y=cat([x,w])", {"x": [3, 4], "w": [1, 1]}
    told = plates("z=(cat([x,w])*cat([x,x])).sum()", RenderOptions(view="dataflow"), **values)
    handed = ["grad[0:2] | norm 5", "grad[2:4] | norm 5", "grad[0:2] | norm 5", "grad[2:4] | norm 1.4142"]
    assert [line for line in told if "grad[" in line] == handed
    symbols = plates(f"{source}.sum()", RenderOptions(view="dataflow", symbols="symbol"), **values)
    assert "grad[2:4]" in symbols
    told = plates("y=x.pinverse().sum()", RenderOptions(view="dataflow"), x=[[2, 0], [0, 1]])
    assert any(line.startswith("grad @ J(pinv) | norm ") for line in told)
    whole = plates(f"{source}.sum()", RenderOptions(by="statement"), **values)
    assert "grad[2:4] | norm 1.4142" in whole
    whole = plates("y=x.pinverse(); z=(y*y).sum()", RenderOptions(by="statement"), x=[[2, 0], [0, 1]])
    assert any(line.startswith("grad through y | norm ") for line in whole)
    told = plates("m=x.mean(); z=(x-m)/2; y=z[0]*3", RenderOptions(by="statement"), x=[1, 2, 6])
    assert any(line.endswith(" | = -1.5") for line in told), "a number has its sign, which a norm has not"


def test_without_grad_no_norm_of_a_gradient_stands_on_a_line() -> None:
    assert "grad @ x.T" in plates("L=((W@x-y)**2).sum()", RenderOptions(view="dataflow", show=("value",)), **MATRICES)


def test_a_transposed_gradient_is_no_factor() -> None:
    told = plates("y=(W.t()*2).sum()", RenderOptions(view="dataflow"), W=[[1, 2, 3], [4, 5, 6]])
    assert "grad.T | norm 4.899" in told


def test_a_matrix_stands_in_rows_and_a_long_one_as_its_shape() -> None:
    label = next(
        one.look["label"]
        for one in picture_of(graph("y=W.sum()", W=[[1, 2], [3, 4]]), RenderOptions(view="dataflow")).statements
        if isinstance(one, Shape) and "<B>W</B>" in one.look["label"]
    )
    assert "[[1, 2]," in label
    assert "[3, 4]]" in label
    long = picture_of(graph("y=W.sum()", W=[[1.23456, 2.34567], [3.45678, 4.56789]]), RenderOptions(view="dataflow"))
    assert any("2×2" in one.look["label"] for one in long.statements if isinstance(one, Shape))


@pytest.mark.parametrize("view", ["dataflow", "micrograd"])
def test_the_picture_of_a_small_net_is_no_strip(gviz: Program, view: str) -> None:
    words = ["L=((W@x-y)**2).sum()", "W=[[1,2],[3,4]]", "x=[[1],[2]]", "y=[[1],[1]]"]
    assert gviz("render", *words, "--view", view, "-o", "L.svg").status == 0
    box = re.search(r'viewBox="0.00 0.00 ([\d.]+) ([\d.]+)"', (gviz.folder / "L.svg").read_text(encoding="utf-8"))
    assert box is not None
    assert float(box[1]) < 4.5 * float(box[2])


@pytest.mark.parametrize("rankdir", ["TB", "BT"])
def test_upright_the_text_of_a_circle_stands_beside_it(gviz: Program, rankdir: str) -> None:
    assert (
        gviz("render", "y=(x+w)*(w+1)", "--view", "dataflow", "--rankdir", rankdir, "-o", "y.svg").err.count("warning")
        == 0
    )
    svg = (gviz.folder / "y.svg").read_text(encoding="utf-8")
    circle = re.search(r'<ellipse[^>]* cx="([-\d.]+)" cy="([-\d.]+)".*?>y</text>', svg, re.DOTALL)
    name = re.search(r'x="([-\d.]+)" y="([-\d.]+)"[^>]*>y</text>', svg)
    assert circle is not None
    assert name is not None
    assert float(name[1]) > float(circle[1]) + 15


def test_a_statement_has_a_line_for_each_output_that_it_uses(tmp_path: Path) -> None:
    (tmp_path / "split.py").write_text(
        "import torch\nx = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
        "a, b, c = x.unbind()\ny = a * b + c\ny.backward()\n"
    )
    shown = by_statement(dataflow(read(str(tmp_path / "split.py"), SourceOptions(flow=True)).graph))
    made = [edge for edge in shown.edges if edge.target == shown.roots[0]]
    assert {(edge.output, *factor(edge)) for edge in made} == {(0, "b", 2.0), (1, "a", 1.0), (2, "1", 1.0)}


def test_the_numbers_of_a_derivative_say_more_than_the_name_of_a_class(gviz: Program) -> None:
    program = "import torch\nx = torch.tensor([1.0, -2.0], requires_grad=True)\n"
    program += "y = torch.where(x > 0, x * 2, x * 3).sum()\ny.backward()\n"
    (gviz.folder / "p.py").write_text(program)
    assert gviz("render", "p.py", "--view", "dataflow", "-o", "p.dot").status == 0
    text = (gviz.folder / "p.dot").read_text(encoding="utf-8")
    assert "WhereBackward0(1)" not in text
    assert "[1, 0]" in text
    assert "[0, 1]" in text


@pytest.mark.parametrize("view", ["dataflow", "micrograd"])
def test_operands_stand_in_their_order_from_top_to_bottom(view: str) -> None:
    svg = str(render(graph("y=(1-w)*x**2", w=3, x=5), "svg", RenderOptions(view=view)))
    places = {text.strip(): float(y) for y, text in re.findall(r'<text[^>]* y="([-\d.]+)"[^>]*>([^<]+)</text>', svg)}
    one, two = ("data 1", "data 2") if view == "micrograd" else ("1", "2")
    assert places[one] < places["w"] < places["x"] < places[two]
