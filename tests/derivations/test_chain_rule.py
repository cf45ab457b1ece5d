"""Paths of the chain rule as data: found, counted, multiplied and added up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts import nested

from gviz import SourceOptions, engine as torch, read
from gviz.answers import explain
from gviz.derivations.derivation import derive
from gviz.derivations.paths import Chain, find_chains
from gviz.errors import SourceError
from gviz.formulas.local import with_formula
from gviz.graphs import Graph
from gviz.passes.dataflow import dataflow
from gviz.passes.statements import by_statement
from gviz.walk import walk

ARTICLE = "y=(x+w)*(w+1)"
FIVE = "b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d"
VALUES = {"a": 2, "w1": 1, "w2": 2, "w3": 3, "w4": 4}
MATRICES = {"W": [[1, 2], [3, 4]], "x": [[1], [2]], "y": [[1], [1]]}


def values(source: str, **more: object) -> Graph:
    given = more or (VALUES if source == FIVE else {"x": 2, "w": 1})
    return read(source, SourceOptions(values=given, flow=True), say=lambda _: None).graph


def chain(source: str, name: str, **more: object) -> Chain:
    return find_chains(dataflow(values(source, **more)), [name])[0]


def test_each_path_has_its_names_symbols_factors_and_product() -> None:
    found = chain(ARTICLE, "w")
    assert [path.names for path in found.paths] == [("y", "a", "w"), ("y", "b", "w")]
    assert [path.symbols for path in found.paths] == [("b", "1"), ("a", "1")]
    assert [tuple(map(nested, path.factors)) for path in found.paths] == [(2.0, 1.0), (3.0, 1.0)]
    assert [nested(path.product) for path in found.paths] == [2.0, 3.0]
    assert (found.count, nested(found.sum), nested(found.grad)) == (2, 5.0, 5.0)


def test_the_articles_five_neurons_have_two_paths_to_a() -> None:
    found = chain(FIVE, "a")
    assert [path.symbols for path in found.paths] == [("-1", "1", "w3", "w1"), ("-1", "1", "w4", "w2")]
    assert [nested(path.product) for path in found.paths] == [-3.0, -8.0]
    assert nested(found.sum) == nested(found.grad) == -11.0


def test_an_intermediate_has_paths_as_a_leaf_does() -> None:
    found = chain(FIVE, "b")
    assert [path.names for path in found.paths] == [("L", "d", "f", "b")]
    assert nested(found.sum) == nested(found.grad) == -3.0


def test_both_slots_of_a_square_are_paths() -> None:
    assert [nested(path.product) for path in chain("y=x*x", "x", x=3).paths] == [3.0, 3.0]


def test_the_paths_of_two_to_the_sixty_are_counted_and_added_without_being_listed() -> None:
    found = chain("y=x" + "; y=y+y" * 60, "x", x=1)
    assert found.count == 2**60
    assert len(found.paths) == 4
    assert nested(found.sum) == 2.0**60
    assert not found.is_complete


def test_a_deep_graph_is_no_trouble() -> None:
    assert len(chain("y=x" + "; y=y+1" * 280, "x", x=1).paths[0].edges) == 280


def test_elementwise_tensors_have_products_element_by_element() -> None:
    found = chain("y=(x*w).sum()", "x", x=[1, 2], w=[3, 4])
    assert nested(found.paths[0].product) == nested(found.sum) == nested(found.grad) == [3.0, 4.0]


def test_no_numbers_are_claimed_where_a_step_is_a_matrix_product() -> None:
    found = chain("L=((W@x-y)**2).sum()", "W", **MATRICES)
    assert found.paths[0].symbols == ("1", "2·b", "1", "grad @ x.T")
    assert found.paths[0].product is found.sum is None
    assert nested(found.grad) == [[8.0, 16.0], [20.0, 40.0]]


def test_the_product_for_a_number_that_was_spread_over_a_tensor_is_a_sum() -> None:
    found = chain("y=(x*w).sum()", "w", x=[1, 2, 3], w=2)
    assert (nested(found.paths[0].product), nested(found.sum), nested(found.grad)) == (6.0, 6.0, 6.0)


def test_no_numbers_are_claimed_where_backward_did_not_run() -> None:
    graph = read(ARTICLE, SourceOptions(values={"x": 2, "w": 1}, flow=True, backward=False), say=lambda _: None).graph
    found = find_chains(dataflow(graph), ["w"])[0]
    assert (found.count, found.sum, found.grad) == (2, None, None)


def test_what_backward_starts_from_is_part_of_each_product() -> None:
    options = SourceOptions(values={"x": 2, "w": 1}, flow=True, grad_output="10")
    found = find_chains(dataflow(read(ARTICLE, options, say=lambda _: None).graph), ["w"])[0]
    assert [(nested(path.start), nested(path.product)) for path in found.paths] == [(10.0, 20.0), (10.0, 30.0)]
    assert nested(found.sum) == 50.0


def test_each_root_has_the_gradient_that_backward_starts_from_there(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nl1 = w * 2\nl2 = w ** 2\n"
        "torch.autograd.backward([l1, l2], [torch.tensor(5.0), None])\n"
    )
    graph = read(str(tmp_path / "net.py"), SourceOptions(flow=True), say=lambda _: None).graph
    found = find_chains(dataflow(graph), ["w"])[0]
    assert [(nested(path.start), nested(path.product)) for path in found.paths] == [(5.0, 10.0), (1.0, 6.0)]
    assert nested(found.sum) == 16.0
    told = " ".join(str(explain(str(tmp_path / "net.py"), say=lambda _: None)).split())
    assert (
        "the gradient of w: two paths l1 → w 5 · 2 = 10 l2 → w 1 · 2·w = 1 · 6 = 6 the gradient of w = 10 + 6 = 16"
        in told
    )
    assert "The gradient of l1 and l2, path by path" in told


def test_a_root_that_backward_is_given_twice_is_one_root_with_both_gradients(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor([3.0, 1.0], requires_grad=True)\nl1 = w * 2\nl2 = w ** 2\n"
        "start = torch.tensor([1.0, 2.0])\ntorch.autograd.backward([l1, l1, l2], [start] * 3)\n"
    )
    said: list[str] = []
    explanation = explain(str(tmp_path / "net.py"), say=lambda note: said.append(str(note)))
    assert "roots: l1, l2 (backward called at line 6)" in said
    for form, line in {
        "text": "start                            [2, 4]",
        "markdown": "| start |  |  | \\[2, 4\\] |",
        "latex": "\\text{start} & && \\text{gradient } \\begin{bmatrix} 2 & 4 \\end{bmatrix}^{\\top}",
    }.items():
        assert explanation.text(form).count(line) == 1, form


def test_a_start_has_the_decimals_that_its_product_needs(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor([3.0, 1.0], requires_grad=True)\n"
        "(w * torch.tensor([700.0, 2.0])).backward(torch.tensor([0.0001234, 1.0]))\n"
    )
    told = explain(str(tmp_path / "net.py"), say=lambda _: None).text("markdown")
    rows = [line for line in told.splitlines() if line.startswith(("| start |", "| y →", "| ∂"))]
    start, product = (float(row.rpartition("| \\[")[2].split(",")[0]) for row in rows)
    assert start * 700 == pytest.approx(product, abs=5e-5), told


@pytest.mark.parametrize("hook", ["", "a.register_hook(lambda g: g / 8)\n"])
def test_what_the_program_makes_of_a_gradient_afterwards_is_told(tmp_path: Path, hook: str) -> None:
    (tmp_path / "net.py").write_text(
        f"import torch\nw = torch.tensor(2.0, requires_grad=True)\na = w * 3\n{hook}loss = a ** 2\nloss.backward()\n"
        "w.grad *= 10\n"
    )
    explanation = explain(str(tmp_path / "net.py"), say=lambda _: None)
    (record,) = json.loads(explanation.text("json"))["wrt"]
    assert (record["grad"], record["grad_now"]) == ((4.5, 45.0) if hook else (36.0, 360.0))
    assert "grad_after" not in record
    assert f"w.grad is now {record['grad_now']:g}" in " ".join(str(explanation).split())


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_behind_a_checkpoint_formulas_know_the_options_of_operations(tmp_path: Path, engine: str) -> None:
    (tmp_path / "net.py").write_text("""\
import torch
from torch.utils.checkpoint import checkpoint
calls = []
def block(h):
    calls.append(h)
    return torch.tanh(h)
x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.3, -0.2]], requires_grad=True)
h = checkpoint(block, x, use_reentrant=False)
L = h.norm(3) + h.mean(1).sum() + h.amax(0).sum()
L.backward()
assert len(calls) == 2
""")
    options = SourceOptions(engine=engine)
    told = " ".join(str(explain(str(tmp_path / "net.py"), "h", options=options, say=lambda _: None)).split())
    assert "h·absolute(h)^1/" in told
    assert "unsqueeze(grad, 1)/3" in told
    assert "sum([reshape(" in told
    assert "(0,), True)" in told
    assert "J(" not in told


def test_paths_of_several_roots_are_added() -> None:
    options = SourceOptions(values={"x": 2, "w": 3}, flow=True, roots=("p", "q"))
    found = find_chains(dataflow(read("p=x*w; q=p+w", options, say=lambda _: None).graph), ["w"])[0]
    assert [path.names for path in found.paths] == [("p", "w"), ("q", "p", "w"), ("q", "w")]
    assert nested(found.sum) == nested(found.grad) == 5.0


def test_nan_on_a_path_is_the_gradient() -> None:
    found = chain("y=log(x)*0", "x", x=0)
    assert [str(nested(number)) for number in (found.sum, found.grad)] == ["nan", "nan"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("v", "there is no tensor of that name"),
        ("wx", "there is no tensor of that name"),
        ("y", "it is the root itself"),
        ("1", "it is a constant"),
    ],
)
def test_a_path_that_is_none_says_why(name: str, told: str) -> None:
    with pytest.raises(SourceError, match=f"no path from y to {name}: {told}"):
        chain(ARTICLE, name)


def test_a_path_to_what_the_root_is_not_made_from_is_refused() -> None:
    with pytest.raises(SourceError, match="no path from y to z: y is not made from it") as refused:
        chain("z=x*3; y=x*2", "z", x=1)
    assert refused.value.hint == "there are paths to x"


def test_a_statement_with_an_operand_that_is_not_known_keeps_its_formula_with_a_hole() -> None:
    w, b = (torch.tensor([value], requires_grad=True) for value in (2.0, 1.0))
    h = w * torch.tensor([3.0]) + b
    y = h * torch.tensor([4.0])
    graph = by_statement(dataflow(with_formula(walk({"y": y}, {"w": w, "b": b, "h": h, "y": y}))))
    names = {node.id: node.name for node in graph.nodes}
    assert {(names[edge.source], names[edge.target]): edge.flow.symbol for edge in graph.edges} == {
        ("□", "y"): "",
        ("□", "h"): "",
        ("h", "y"): "□",
        ("w", "h"): "□",
        ("b", "h"): "1",
    }
    assert {node.expression for node in graph.nodes if node.kind == "operation"} == {"h * □", "w * □ + b"}


def test_a_part_of_a_statement_has_no_path_by_statement() -> None:
    with pytest.raises(SourceError, match=r"no path from y to a: it stands for x \+ w within a statement"):
        find_chains(by_statement(dataflow(values(ARTICLE))), ["a"])[0]


@pytest.mark.parametrize("part", ["roots", "edges"])
def test_a_saved_graph_without_a_way_to_its_leaves_is_refused(part: str) -> None:
    data = json.loads(values(ARTICLE).to_json())
    data[part] = []
    with pytest.raises(SourceError, match="no path leads from a root of this graph to "):
        derive(Graph.from_json(json.dumps(data)))


def test_a_root_from_which_no_path_leads_is_left_out() -> None:
    options = SourceOptions(values={"x": "2", "w": "3"}, roots=("a", "b"), flow=True)
    (chain,) = find_chains(dataflow(read("a=x*2; b=w*3", options).graph), ["x"])
    assert len(chain.paths) == 1
