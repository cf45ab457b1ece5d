"""The walk: TorchViz's nodes and edges, from whatever has next_functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gviz import engine
from gviz.graphs import Graph
from gviz.walk import walk

torch: Any = engine


@pytest.fixture
def y_of_x_and_w() -> dict[str, Any]:
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(1.0, requires_grad=True)
    a = x + w
    b = w + 1
    y = a * b
    return {"x": x, "w": w, "a": a, "b": b, "y": y}


def kinds(graph: Graph) -> list[str]:
    return [node.kind for node in graph.nodes]


def test_ids_are_counted_from_the_root_in_the_order_of_the_walk(y_of_x_and_w: dict[str, Any]) -> None:
    graph = walk({"y": y_of_x_and_w["y"]}, y_of_x_and_w)
    assert [node.id for node in graph.nodes] == [f"n{i}" for i in range(8)]
    assert graph.roots == ("n0",)
    assert [node.name for node in graph.nodes if node.kind != "accumulate"] == ["y", "y", "a", "x", "w", "b"]
    assert next(node for node in graph.nodes if node.name == "a").attrs == (("alpha", "1"),)
    again = walk({"y": y_of_x_and_w["y"]}, y_of_x_and_w)
    assert again == graph
    assert again.to_json() == graph.to_json()


def test_both_slots_of_a_square_are_edges() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    graph = walk({"y": x * x})
    assert sorted((edge.source, edge.slot) for edge in graph.edges if edge.target == "n1") == [("n2", 0), ("n2", 1)]


def test_several_roots_are_drawn_in_the_order_given_and_each_tensor_once(y_of_x_and_w: dict[str, Any]) -> None:
    b, y = y_of_x_and_w["b"], y_of_x_and_w["y"]
    graph = walk({"b": b, "y": y}, y_of_x_and_w)
    assert graph.title == "b, y"
    assert [graph.node(root).name for root in graph.roots] == ["b", "y"]
    assert kinds(graph).count("output") == 2
    assert walk({"y": y, "again": y}).roots == ("n0", "n0")


def test_a_leaf_alone_is_a_graph_of_one_node() -> None:
    graph = walk({"x": torch.tensor(1.0, requires_grad=True)})
    assert (kinds(graph), graph.edges) == (["output"], ())


def test_a_view_as_root_shows_its_base_by_a_view_edge() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    graph = walk({"y": x.t()}, {"x": x})
    (edge,) = [edge for edge in graph.edges if edge.kind == "view"]
    assert edge.target == graph.roots[0]
    assert graph.node(edge.source).name == "x"


def test_saved_tensors_are_nodes_when_asked_for(y_of_x_and_w: dict[str, Any]) -> None:
    y = y_of_x_and_w["y"]
    assert "saved" not in kinds(walk({"y": y}))
    graph = walk({"y": y}, y_of_x_and_w, saved=True)
    assert [(edge.label, edge.kind) for edge in graph.edges if edge.kind == "saved"] == [
        ("other", "saved"),
        ("self", "saved"),
    ]


def test_an_operation_whose_saved_tensors_are_gone_is_freed(y_of_x_and_w: dict[str, Any]) -> None:
    y_of_x_and_w["y"].backward()
    assert [node.state for node in walk({"y": y_of_x_and_w["y"]}).nodes if node.label == "MulBackward0"] == ["freed"]


def test_a_row_for_each_named_tensor_even_outside_the_graph() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    frozen = torch.ones(2, dtype=torch.float64)
    rows = {row.name: row for row in walk({"y": (x * 2).sum()}, {"x": x, "frozen": frozen}).tensors}
    assert list(rows) == ["x", "frozen", "y"]
    assert (rows["x"].is_leaf, rows["x"].value) == (True, (1.0, 2.0))
    assert (rows["frozen"].requires_grad, rows["frozen"].dtype) == (False, "float64")
    assert (rows["y"].grad_fn, rows["y"].shape) == ("SumBackward0", ())


def test_a_chain_deeper_than_any_recursion_limit_is_walked_and_its_first_boxes_list_what_they_saved() -> None:
    y = x = torch.tensor(1.0, requires_grad=True)
    for _ in range(30_000):
        y = y + x
    graph = walk({"y": y})
    assert len(graph.nodes) == 30_003
    assert [len(node.attrs) for node in graph.nodes if node.kind == "operation"] == [1] * 4_999 + [0] * 25_001


def test_the_walk_needs_no_more_than_next_functions() -> None:
    class AccumulateGrad:
        next_functions = ()

    class FooBackward0:
        next_functions: tuple[object, ...] = ()

    def tensor(**facts: object) -> SimpleNamespace:
        plain = {"shape": (), "dtype": "torch.float32", "requires_grad": True, "is_leaf": True, "retains_grad": False}
        made = SimpleNamespace(**plain, grad=None, grad_fn=None, _is_view=lambda: False, _base=None)
        made.detach = lambda: SimpleNamespace(tolist=lambda: 1.0)
        made.__dict__.update(facts)
        return made

    leaf = AccumulateGrad()
    leaf.variable = tensor()  # type: ignore[attr-defined]
    node = FooBackward0()
    node.next_functions = ((None, 0), (leaf, 0))
    graph = walk({"y": tensor(is_leaf=False, grad_fn=node)})
    assert [n.label for n in graph.nodes] == ["", "FooBackward0", "AccumulateGrad", ""]
    assert [(e.source, e.target, e.slot) for e in graph.edges] == [("n3", "n2", 0), ("n2", "n1", 1), ("n1", "n0", 0)]


def test_a_leaf_that_was_met_as_a_saved_tensor_is_still_a_leaf() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    graph = walk({"y": x * x}, {"x": x}, saved=True)
    assert kinds(graph) == ["output", "operation", "leaf", "accumulate"]
    assert [edge.label for edge in graph.edges if edge.kind == "saved"] == ["other", "self"]


def test_only_a_named_leaf_is_frozen_among_what_operations_saved() -> None:
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    graph = walk({"y": (x * 2).exp() * w}, {"x": x, "w": w}, saved=True)
    states = {(node.label, node.name): node.state for node in graph.nodes if node.kind == "saved"}
    assert states == {("other", "w"): "frozen", ("other", None): "", ("result", None): ""}


def test_a_leaf_without_a_name_keeps_its_state_where_it_was_met_as_saved_first() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    graph = walk({"y": torch.tensor(3.0, requires_grad=True) * x}, {"x": x}, saved=True)
    assert [node.state for node in graph.nodes if node.kind == "leaf"] == ["no gradient yet"] * 2


def test_what_the_users_own_function_saved_is_always_drawn() -> None:
    class Square(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

    x = torch.tensor(3.0, requires_grad=True)
    graph = walk({"y": Square.apply(x * 2)})
    assert [node.label for node in graph.nodes if node.kind == "saved"] == ["saved[0]"]


def test_values_of_a_large_tensor_are_kept_and_of_a_huge_one_left_out() -> None:
    rows = {row.name: row for row in walk({"y": torch.ones(50, 50), "z": torch.zeros(1001, 1000)}).tensors}
    assert rows["y"].value == ((1.0,) * 50,) * 50
    assert (rows["z"].value, rows["z"].shape) == (None, (1001, 1000))


def test_an_operation_tells_the_shape_of_what_it_made_where_that_has_no_name() -> None:
    x = torch.ones(3, 2, requires_grad=True)
    y = (x @ x.t()).unbind(0)[1].sum()
    shapes = {node.label: node.shape for node in walk({"y": y}).nodes if node.kind == "operation"}
    assert shapes == {"SumBackward0": (), "UnbindBackward0": None, "MmBackward0": (3, 3), "TBackward0": (2, 3)}
