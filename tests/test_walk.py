"""The walk: TorchViz's nodes and edges, from whatever has next_functions."""

from __future__ import annotations

import math
import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scripts import nested

import gviz
from gviz import engine
from gviz.graphs import Graph, Moment
from gviz.graphs.numbers import ALL_ELEMENTS, FEW_ELEMENTS, Numbers, Summary
from gviz.walk import memory_kept, numbers, tensor_row, walk

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
    assert next(node for node in graph.nodes if node.name == "a").recorded.attrs == (("alpha", "1"),)
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
    assert (rows["x"].is_leaf, nested(rows["x"].value)) == (True, [1.0, 2.0])
    assert (rows["frozen"].requires_grad, rows["frozen"].dtype) == (False, "float64")
    assert (rows["y"].grad_fn, rows["y"].shape) == ("SumBackward0", ())


def test_a_chain_deeper_than_any_recursion_limit_is_walked_and_its_first_boxes_list_what_they_saved() -> None:
    y = x = torch.tensor(1.0, requires_grad=True)
    for _ in range(30_000):
        y = y + x
    graph = walk({"y": y})
    assert len(graph.nodes) == 30_003
    assert [len(node.recorded.attrs) for node in graph.nodes if node.kind == "operation"] == [1] * 4_999 + [0] * 25_001


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


def test_values_of_a_large_tensor_are_kept_if_they_are_asked_for_and_of_a_huge_one_come_to_a_summary() -> None:
    tensors = {"y": torch.ones(50, 50), "z": torch.zeros(1001, 1000)}
    rows = {row.name: row for row in walk(tensors, most=ALL_ELEMENTS).tensors}
    assert nested(rows["y"].value) == [[1.0] * 50] * 50
    z = Numbers((1001, 1000), "float32", None, Summary(0.0, 0.0, 0.0, 0.0, zeros=1_001_000))
    assert rows["z"].value == z
    of_few = {row.name: row.value for row in walk(tensors).tensors}
    assert of_few == {"y": Numbers((50, 50), "float32", None, Summary(50.0, 1.0, 1.0, 1.0)), "z": z}
    assert [row.value for row in walk(tensors, most=None).tensors] == [None, None]


def test_an_operation_tells_the_shape_of_what_it_made_where_that_has_no_name() -> None:
    x = torch.ones(3, 2, requires_grad=True)
    y = (x @ x.t()).unbind(0)[1].sum()
    shapes = {node.label: node.shape for node in walk({"y": y}).nodes if node.kind == "operation"}
    assert shapes == {"SumBackward0": (), "UnbindBackward0": None, "MmBackward0": (3, 3), "TBackward0": (2, 3)}


# ---------------------------------------------------------------- the numbers of tensors
approx: Any = pytest.approx  # a number, for what checks types

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]


@pytest.fixture(params=ENGINES)
def library(request: pytest.FixtureRequest) -> Any:
    """The library that owns the tensors: gviz's engine, or the real torch."""
    return engine if request.param == "gviz" else pytest.importorskip("torch")


def check_summary(tensor: Any, array: np.ndarray, most: int | None = FEW_ELEMENTS) -> Summary:
    """Check the numbers of a large tensor against numpy's of the same array; return what they come to."""
    own = numbers(tensor, most)
    assert (own.shape, own.elements) == (array.shape, None)
    assert own.about is not None
    wide = array.astype(np.float64)
    facts = [np.linalg.norm(wide.ravel()), wide.min(), wide.max(), wide.mean()]
    assert list(own.about[:4]) == approx(facts, rel=1e-5, abs=1e-6, nan_ok=True)
    assert own.about[4:] == (int((wide == 0).sum()), int(np.isnan(wide).sum()), int(np.isinf(wide).sum()))
    assert all(type(fact) is float for fact in own.about[:4])
    assert all(type(fact) is int for fact in own.about[4:])
    return own.about


def samples(*shape: int) -> np.ndarray:
    """Return numbers of both signs, of which a tenth are 0."""
    array = np.random.default_rng(0).normal(0.5, 2.0, shape)
    array[np.abs(array) < 0.25] = 0.0
    return array


@pytest.mark.parametrize("chunk", [7, 100, 1 << 20])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_the_summary_of_a_large_tensor_is_numpy_s(
    library: Any, dtype: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gviz.walk.CHUNK", chunk)
    tensor = library.tensor(samples(20, 30).tolist(), dtype=getattr(library, dtype))
    about = check_summary(tensor, np.array(tensor.tolist()))
    assert numbers(tensor).dtype == dtype
    assert about.zeros > 0 > about.smallest


def test_a_tensor_is_listed_up_to_as_many_elements_as_are_asked_for(library: Any) -> None:
    few, many = library.ones(FEW_ELEMENTS), library.ones(FEW_ELEMENTS + 1)
    assert numbers(few) == Numbers((FEW_ELEMENTS,), "float32", (1.0,) * FEW_ELEMENTS)
    assert numbers(many).elements is None
    assert numbers(many, FEW_ELEMENTS + 1).elements == (1.0,) * (FEW_ELEMENTS + 1)
    assert numbers(many, None) == Numbers((FEW_ELEMENTS + 1,), "float32")
    assert numbers(few, 0).summary == numbers(few).summary


def test_the_elements_of_a_small_tensor_stand_in_their_order_in_a_transposed_view_too(library: Any) -> None:
    tensor = library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, float("nan")]])
    assert numbers(tensor) == Numbers((2, 3), "float32", (1.0, 2.0, 3.0, 4.0, 5.0, math.nan))
    assert numbers(tensor.t()) == Numbers((3, 2), "float32", (1.0, 4.0, 2.0, 5.0, 3.0, math.nan))


@pytest.mark.parametrize("view", ["t", "permute", "step", "expand"])
def test_a_view_has_the_summary_of_its_own_elements(library: Any, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gviz.walk.CHUNK", 50)
    array = samples(10, 12, 8)
    tensor = library.tensor(array.tolist(), dtype=library.float64)
    views: dict[str, tuple[Any, Any]] = {
        "t": (lambda: tensor.reshape(120, 8).t(), lambda: array.reshape(120, 8).T),
        "permute": (lambda: tensor.permute(2, 0, 1), lambda: array.transpose(2, 0, 1)),
        "step": (lambda: tensor[1::2, :, 2:], lambda: array[1::2, :, 2:]),
        "expand": (lambda: tensor[:, :1].expand(10, 12, 8), lambda: np.broadcast_to(array[:, :1], (10, 12, 8))),
    }
    own, same = views[view]
    check_summary(own(), same())


def test_a_view_of_all_elements_has_the_summary_that_is_known_of_them(library: Any) -> None:
    tensor = library.tensor(samples(10, 12, 8).tolist())
    known = numbers(tensor)._replace(about=Summary(norm=7.0))
    for view in (tensor, tensor.permute(2, 0, 1), tensor.reshape(96, 10)):
        assert numbers(view, FEW_ELEMENTS, tensor, known) == known._replace(shape=tuple(view.shape))
    others = tensor[:, :, 1:], tensor[:1].expand(10, 12, 8), tensor[::2], tensor.clone(), tensor.double()
    for other in others:
        assert numbers(other, FEW_ELEMENTS, tensor, known) == numbers(other)


def test_a_large_transposed_view_is_not_copied() -> None:
    tensor = torch.ones(1500, 2000, dtype=torch.float64).t()
    numbers(torch.ones(1000))  # what is loaded once
    tracemalloc.start()
    try:
        own = numbers(tensor)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    summary = Summary(approx(math.sqrt(3e6)), 1.0, 1.0, 1.0)
    assert own == Numbers((2000, 1500), "float64", None, summary)
    assert peak < 3e6 * 8


def test_a_tensor_of_more_than_a_million_elements_has_numbers(library: Any) -> None:
    tensor = library.zeros(1100, 1000)
    tensor[3, 4], tensor[1099, 999] = 3.0, -4.0
    about = numbers(tensor, 1_000_000).about
    assert about == Summary(5.0, -4.0, 3.0, approx(-1 / 1.1e6), 1_099_998, 0, 0)


@pytest.mark.parametrize("chunk", [4, 1 << 20])
@pytest.mark.parametrize("odd", [["nan"], ["inf"], ["-inf", "inf"], ["inf", "nan"], ["nan", "-inf", "nan"]])
@pytest.mark.filterwarnings("error")
def test_nan_and_infinities_are_counted_wherever_they_stand(
    library: Any, odd: list[str], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gviz.walk.CHUNK", chunk)
    array, nans = samples(300), odd.count("nan")
    array[5 : 5 + 90 * len(odd) : 90] = [float(one) for one in odd]
    for turned in (array, array[::-1].copy()):
        about = numbers(library.tensor(turned.tolist(), dtype=library.float64)).about
        assert about is not None
        assert (about.nans, about.infs, about.zeros) == (nans, len(odd) - nans, int((array == 0).sum()))
        assert math.isnan(about.norm) is math.isnan(about.smallest) is math.isnan(about.largest) is bool(nans)
        assert nans or (about.norm, about.smallest, about.largest) == (math.inf, array.min(), array.max())
        assert str(about.mean) == ("nan" if nans or {"inf", "-inf"} <= set(odd) else odd[0])


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_the_norm_of_very_small_and_very_large_numbers_is_their_norm(library: Any, size: float) -> None:
    about = numbers(library.full((400,), size)).about
    assert about is not None
    assert about == approx(Summary(20 * size, size, size, size), rel=1e-5)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_integers_have_their_numbers(library: Any, dtype: str) -> None:
    low = 0 if dtype == "uint8" else -100
    tensor = library.arange(low, 120).to(getattr(library, dtype))
    assert numbers(tensor) == Numbers((120 - low,), dtype, tuple(range(low, 120)))
    assert {*map(type, numbers(tensor).elements or ())} == {int}
    check_summary(tensor.repeat(3), np.tile(np.arange(low, 120), 3))


def test_the_squares_of_large_integers_do_not_overflow(library: Any) -> None:
    check_summary(library.full((300,), 2**40, dtype=library.int64), np.full(300, 2**40))


def test_bools_have_their_numbers(library: Any) -> None:
    assert numbers(library.tensor([[True, False]])) == Numbers((1, 2), "bool", (True, False))
    assert numbers(library.tensor([[True, False]])).nested() == [[True, False]]
    about = check_summary(library.tensor([True, True, False] * 100), np.tile([True, True, False], 100))
    assert (about.zeros, about.norm) == (100, approx(math.sqrt(200)))


def test_complex_numbers_are_texts_and_their_summary_has_a_norm_and_no_order(library: Any) -> None:
    assert numbers(library.tensor([1 + 2j, 0j])) == Numbers((2,), "complex64", ("(1+2j)", "0j"))
    about = numbers(library.tensor([3 + 4j, 0j] * 200)).about
    assert about is not None
    assert (about.norm, about.zeros, about.nans, about.infs) == (approx(5 * math.sqrt(200)), 200, 0, 0)
    assert all(map(math.isnan, (about.smallest, about.largest, about.mean)))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
@pytest.mark.parametrize("most", [0, FEW_ELEMENTS])
def test_an_empty_tensor_has_no_elements_and_that_is_known(library: Any, shape: tuple[int, ...], most: int) -> None:
    own = numbers(library.ones(*shape), most)
    assert own == Numbers(shape, "float32", ())
    assert (own.is_known, own.nested()) == (True, np.ones(shape).tolist())
    assert own.norm == 0.0


def test_a_tensor_without_dimensions_is_one_number(library: Any) -> None:
    assert numbers(library.tensor(2.5)) == numbers(library.tensor(2.5), 0) == Numbers((), "float32", (2.5,))
    assert numbers(library.tensor(float("-inf"))).elements == (-math.inf,)
    assert numbers(library.tensor(7)) == Numbers((), "int64", (7,))
    assert numbers(library.tensor(2.5), None) == Numbers((), "float32")
    parameter = library.tensor(2.5, requires_grad=True)
    assert numbers(parameter * 2).elements == (5.0,)


def test_reading_numbers_records_nothing_and_changes_nothing(library: Any) -> None:
    tensor = library.ones(300, requires_grad=True)
    for own in (tensor, tensor * 2):
        version = own._version
        numbers(own)
        assert (own._version, own.grad_fn is None, own.requires_grad) == (version, own is tensor, True)


def test_a_row_and_a_gradient_have_the_numbers_of_large_tensors(library: Any) -> None:
    weight = library.full((30, 40), 2.0, requires_grad=True)
    (weight * weight).sum().backward()
    (row,) = walk({"w": weight}).tensors
    assert row.value == Numbers((30, 40), "float32", None, Summary(approx(2 * math.sqrt(1200)), 2.0, 2.0, 2.0))
    assert row.grad.value is not None
    assert (row.grad.value.has_only(4.0), row.grad.value.shape) == (True, (30, 40))
    assert walk({"w": weight}, most=None).tensors[0].grad.value is None


@pytest.mark.torch
def test_a_tensor_of_the_device_meta_has_a_shape_alone() -> None:
    real = pytest.importorskip("torch")
    weight = real.ones(3, 400, device="meta", requires_grad=True)
    assert numbers(weight) == Numbers((3, 400), "float32")
    assert numbers(real.ones((), device="meta")) == Numbers((), "float32")
    graph = walk({"y": (weight * 2).sum()}, {"w": weight})
    assert [row.value for row in graph.tensors] == [None, None]
    followed = gviz.graph((weight * real.tensor(2.0, device="meta")).sum(), {"w": weight}, flow=True)
    assert {edge.flow.handed for edge in followed.edges if edge.target == "n1"} == {Numbers((3, 400), "float32")}
    assert Graph.from_json(graph.to_json()) == graph


@pytest.mark.torch
def test_a_fake_tensor_has_a_shape_alone() -> None:
    real, fake = pytest.importorskip("torch"), pytest.importorskip("torch._subclasses.fake_tensor")
    with fake.FakeTensorMode():
        for shape in ((), (2,), (30, 40)):
            assert numbers(real.ones(shape)) == Numbers(shape, "float32")
    symbols = pytest.importorskip("torch.fx.experimental.symbolic_shapes").ShapeEnv()
    with fake.FakeTensorMode(shape_env=symbols):
        assert numbers(real.ones(2).sum()) == Numbers((), "float32")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_and_jagged_tensors_have_the_shape_that_torch_tells() -> None:
    real = pytest.importorskip("torch")
    parts = [real.ones(2, 3), real.ones(4, 3)]
    strided = real.nested.nested_tensor(parts, requires_grad=True)
    assert numbers(strided) == Numbers((2, "?"), "float32")
    jagged = real.nested.nested_tensor(parts, layout=real.jagged, requires_grad=True)
    assert numbers(jagged) == Numbers((2, str(jagged.shape[1]), 3), "float32")
    assert not str(jagged.shape[1]).isdigit()
    graph = walk({"y": jagged * 2, "z": strided * 2}, {"jagged": jagged, "strided": strided})
    assert [row.value for row in graph.tensors] == [None] * 4
    assert Graph.from_json(graph.to_json()) == graph
    assert memory_kept(jagged.sin().grad_fn) is None  # nobody knows how long its parts are
    assert [*(memory_kept(real.ones(4, requires_grad=True).sin().grad_fn) or {}).values()] == [16]


def test_a_large_graph_says_whether_all_of_its_operations_list_what_they_saved() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(400):
        y = y / 2
    assert [walk({"y": y.sum()}, {}, detailed=count).is_detailed for count in (300, 5000)] == [False, True]


def test_a_row_has_a_moment_only_where_that_is_another_one_than_now() -> None:
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    assert tensor_row("x", x, moment=Moment()).moment is None, "numbers that are not said are those of now"
    for moment in (Moment(Numbers.of([3.0, 2.0])), Moment(remark="before"), Moment(requires_grad=False)):
        assert tensor_row("x", x, moment=moment).moment is moment


def test_two_names_of_one_leaf_are_one_tensor() -> None:
    w = engine.tensor(2.0, requires_grad=True)
    graph = walk({"y": w * 3}, names={"net.w": w, "model.net.w": w})
    assert [(row.name, row.same_as) for row in graph.tensors] == [("net.w", ""), ("model.net.w", "net.w"), ("y", "")]
