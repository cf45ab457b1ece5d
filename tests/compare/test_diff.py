"""What differs in two graphs: one difference for each thing that was changed, and all of them together the other graph."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gviz
from gviz import engine as torch
from gviz.compare.diff import Diff
from gviz.drawing import Drawing
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers


def signs(diff: Diff) -> str:
    """Return the signs of the differences that people are told of, in order."""
    return "".join(sorted(change.sign for change in diff.changes if change.is_counted))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("y=(x+w)*(w+1)", "y=(x+w)*(w+1)", ""),
        ("a=x+w; b=w+1; y=a*b", "y=(x+w)*(w+1)", ""),  # names of intermediate results are no difference
        ("y=(x+w)*(w+1)", "y=(x+w)*(w+2)", "~ given: 1 → 2"),
        ("y=x**2", "y=x**3", "~ exponent: 2 → 3"),
        ("y=x*3", "y=x*4", "~ other: 3 → 4"),
        ("y=x*w", "z=x*w", "~ name: y → z"),
        ("y=x*w", "y=x*v", "~ name: w → v"),
        ("y=x-w", "y=w-x", "~ inputs: x, w → w, x"),
        ("y=x*w", "y=w*x", "~ inputs: x, w → w, x"),
        ("y=tanh(x)+exp(w)", "y=exp(w)+tanh(x)", "~ inputs: TanhBackward0, ExpBackward0 → ExpBackward0, TanhBackward0"),
        ("y=relu(x*w)", "y=tanh(x*w)", "~ operation: ReluBackward0 → TanhBackward0"),
        ("y=x*w", "y=x*w+x", "+"),
        ("y=tanh(tanh(x))", "y=tanh(tanh(tanh(x)))", "+"),
        ("y=tanh(x)+tanh(x)", "y=tanh(x)+tanh(x)", ""),
        ("y=relu(x*w)", "y=x*w", "-"),
    ],
)
def test_a_change_of_a_formula_is_one_difference(first: str, second: str, expected: str) -> None:
    diff = gviz.diff(first, second)
    told = [f"{one.sign} {', '.join(map(str, one.fields))}".strip() for one in diff.changes if one.is_counted]
    assert told == [expected] * bool(expected)
    assert diff.is_same == (not expected) == (not diff.to_dict()["changes"])


def test_the_boxes_that_are_counted_are_those_of_the_summary_less_what_is_said_not_to_be() -> None:
    graph = gviz.read("y=tanh(x*w)+w", x=2).graph
    gradients = sum(node.kind == "accumulate" for node in graph.nodes)
    count = gviz.summary(graph).boxes - gradients
    assert gradients == 2
    assert str(gviz.diff(graph, graph)) == f"the same: {count} boxes in both, not counting AccumulateGrad"
    alone = graph.changed(nodes=tuple(one for one in graph.nodes if one.kind != "accumulate"), edges=())
    assert str(gviz.diff(alone, alone)) == f"the same: {count} boxes in both"


def test_an_input_from_a_new_leaf_in_place_of_one_that_stays_is_told() -> None:
    p, q = (torch.ones(2, requires_grad=True) for _ in range(2))
    first, second = gviz.graph((p * p).sum(), {"p": p}), gviz.graph((p * q).sum(), {"p": p, "q": q})
    assert "~ MulBackward0\n    inputs: p, p → p, q" in str(gviz.diff(first, second))
    assert "~ MulBackward0\n    inputs: p, q → p, p" in str(gviz.diff(second, first))


def stack(layers: int, *, is_named: bool) -> gviz.Graph:
    """Return the graph of so many equal layers, on one another."""
    weights = [torch.ones(2, 2, requires_grad=True) for _ in range(layers)]
    h = torch.ones(1, 2)
    for weight in weights:
        h = torch.relu(h @ weight)
    return gviz.graph(h.sum(), {f"layers.{at}": weight for at, weight in enumerate(weights)} if is_named else None)


@pytest.mark.parametrize("is_named", [True, False])
def test_a_layer_in_a_stack_of_equal_ones_is_one_insertion(is_named: bool) -> None:
    small, large = (stack(layers, is_named=is_named) for layers in (5, 6))
    added = Counter(change.node.label for change in small.diff(large).changes)
    assert added == {"MmBackward0": 1, "ReluBackward0": 1, "AccumulateGrad": 1, "": 1}
    assert signs(small.diff(large)) == "+++"
    assert signs(large.diff(small)) == "---"


def test_a_leaf_without_a_name_is_known_by_its_use() -> None:
    def graph(*more: torch.Tensor) -> gviz.Graph:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        return gviz.graph(torch.cat([*more, a.tanh(), b.exp()]).sum())

    assert gviz.diff(graph(), graph()).is_same
    diff = graph().diff(graph(torch.ones(2, requires_grad=True)))
    assert signs(diff) == "+~"  # the leaf, and torch.cat, which has its inputs at other places


def test_a_size_that_changes_is_told_where_it_changes() -> None:
    def graph(rows: int) -> gviz.Graph:
        w = torch.ones(2, 2, requires_grad=True)
        return gviz.graph(torch.relu(torch.ones(rows, 2) @ w).sum(), {"w": w})

    diff = graph(3).diff(graph(4))
    assert [(one.node.label, str(one.fields[0])) for one in diff.changes] == [
        ("MmBackward0", "shape: (3, 2) → (4, 2)"),
        ("ReluBackward0", "shape: (3, 2) → (4, 2)"),
    ]


def test_numbers_are_compared_where_that_is_asked_for() -> None:
    old, new = (gviz.read("y=x*w", x=x, w=3).graph for x in (2, 2.001))
    assert old.diff(new).is_same
    assert {field.name for one in old.diff(new, values=True).changes for field in one.fields} == {"value", "grad"}
    assert old.diff(new, values=True, tolerance=0.01).is_same


# ------------------------------------------------------------------ random graphs
LABELS = ("AddBackward0", "MulBackward0", "ReluBackward0", "TanhBackward0", "SubBackward0")


def random_graph(rng: random.Random, *, is_named: bool) -> tuple[list[Node], list[Edge]]:
    """Return a graph of 6 leaves and 30 operations, all of which lead to the root."""
    nodes = [Node(f"l{at}", "leaf", name=f"w{at}" if is_named else None, numbers=Numbers((at,))) for at in range(6)]
    edges, unused = list[Edge](), [node.id for node in nodes]
    for at in range(30):
        sources = [unused.pop(rng.randrange(len(unused)))] + [rng.choice(nodes).id] * rng.choice((0, 1, 1))
        nodes.append(Node(f"o{at}", "operation", rng.choice(LABELS), numbers=Numbers((2,))))
        edges += [Edge(source, f"o{at}", slot) for slot, source in enumerate(sources)]
        unused += [f"o{at}"] + [rng.choice(nodes[:6]).id] * (len(unused) < 2)
    nodes += [
        Node("sum", "operation", "StackBackward0", numbers=Numbers()),
        Node("y", "output", name="y", numbers=Numbers()),
    ]
    edges += [Edge(source, "sum", slot) for slot, source in enumerate(unused)]
    return nodes[::-1], [*edges, Edge("sum", "y")]


def edited(rng: random.Random, nodes: list[Node], edges: list[Edge], at: int) -> tuple[list[Node], list[Edge]]:
    """Return a graph with one change: an operation more or less, another one, another size, or another input."""
    what, place = rng.choice(("insert", "delete", "replace", "resize", "swap", "leaf")), rng.randrange(len(edges) - 1)
    edge = edges[place]
    target = next(number for number, node in enumerate(nodes) if node.id == edge.target)
    node = nodes[target]
    inputs = [number for number, one in enumerate(edges) if one.target == edge.target]
    nodes, edges = [*nodes], [*edges]
    if what == "insert":
        nodes.insert(rng.randrange(len(nodes)), Node(f"i{at}", "operation", rng.choice(LABELS), numbers=Numbers((2,))))
        edges[place] = edge._replace(source=f"i{at}")
        edges.append(Edge(edge.source, f"i{at}"))
    elif what == "delete" and len(inputs) == 1:
        del nodes[target]
        edges = [one._replace(source=edge.source) if one.source == node.id else one for one in edges if one != edge]
    elif what == "replace":
        nodes[target] = node._replace(label="ExpBackward0")
    elif what == "resize":
        nodes[target] = node._replace(numbers=Numbers((9, 9)))
    elif what == "swap":
        edges[inputs[0]], edges[inputs[-1]] = (
            edges[inputs[0]]._replace(slot=edges[inputs[-1]].slot),
            edges[inputs[-1]]._replace(slot=edges[inputs[0]].slot),
        )
    elif what == "leaf":
        nodes.append(Node(f"n{at}", "leaf", name=f"n{at}", numbers=Numbers((2,))))
        edges.append(Edge(f"n{at}", node.id, len(inputs)))
    return nodes, edges


def applied(diff: Diff) -> tuple[set[tuple[object, ...]], set[tuple[str, str, int]]]:
    """Return the nodes and edges that come of the first graph by the differences alone, by the second one's ids."""
    gone = {one.node.id for one in diff.changes if one.sign == "-"}
    nodes = {diff.pairs[node.id]: node for node in diff.first.nodes if node.id not in gone}
    nodes |= {one.node.id: one.node for one in diff.changes if one.sign in "+~"}
    lost = {edge for sign, edge in diff.edges if sign == "-"}
    kept = [edge for edge in diff.first.edges if edge not in lost]
    edges = {(diff.pairs[edge.source], diff.pairs[edge.target], edge.slot) for edge in kept}
    edges |= {(edge.source, edge.target, edge.slot) for sign, edge in diff.edges if sign == "+"}
    return {(key, node.kind, node.label, node.name, node.shape) for key, node in nodes.items()}, edges


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_there_are_few_differences_for_few_edits_and_they_make_the_other_graph(seed: int, is_named: bool) -> None:
    rng = random.Random(seed)  # noqa: S311 - a test
    nodes, edges = random_graph(rng, is_named=is_named)
    first = Graph((*nodes,), (*edges,), ("y",))
    assert Diff(first, Graph((*nodes,), (*edges,), ("y",))).is_same
    count = 1 + seed % 4
    for at in range(count):
        nodes, edges = edited(rng, nodes, edges, at)
    second = Graph((*nodes,), (*edges,), ("y",))
    diff = Diff(first, second)
    assert len(diff.changes) <= 3 * count
    assert applied(diff) == (
        {(node.id, node.kind, node.label, node.name, node.shape) for node in nodes},
        {(edge.source, edge.target, edge.slot) for edge in edges},
    )


# ------------------------------------------------------------------ pictures
def test_the_picture_marks_what_differs_and_folds_what_is_far(tmp_path: Path) -> None:
    diff = gviz.diff("y=exp(tanh(sin(cos(x*w))))", "y=exp(sigmoid(tanh(sin(cos(x*w)))))")
    boxes = {node.label: node.kind for node in diff.graph.nodes}
    assert boxes["+ SigmoidBackward0"] == "added"
    assert boxes["TanhBackward0"] == "unchanged"
    assert [label for label in boxes if label.startswith("… ")] == ["… 6 unchanged"]
    assert sorted(edge.kind for edge in diff.graph.edges if edge.kind != "data") == ["added", "added", "removed"]
    diff.save(tmp_path / "d.svg")
    assert "+ SigmoidBackward0" in (tmp_path / "d.svg").read_text("utf-8").replace("&#160;", " ")


@pytest.mark.parametrize("engine", ["gviz.engine", pytest.param("torch", marks=pytest.mark.torch)])
def test_what_names_of_parameters_do_not_tell_is_not_said_to_be_outside_of_modules(tmp_path: Path, engine: str) -> None:
    """A residual connection of two blocks: its sums are made in both, though names tell the list, or nothing."""
    library: Any = pytest.importorskip(engine)
    nn = library.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, is_residual: bool) -> None:
            super().__init__()
            self.inner, self.is_residual = nn.Linear(3, 3), is_residual

        def forward(self, x: Any) -> Any:
            y = self.inner(x).tanh()
            return x + y if self.is_residual else y

    graphs = []
    for is_residual in (False, True):
        net = nn.ModuleDict({"blocks": nn.Sequential(Block(is_residual), Block(is_residual))})
        graphs.append(gviz.graph(net["blocks"](library.ones(2, 3, requires_grad=True)).sum(), model=net))
    assert graphs[0].guesses_modules
    diff = Diff(graphs[0], graphs[1])
    lines = str(diff).splitlines()
    assert lines[1] == "modules are those that names of parameters tell"
    assert "~ module not known" in lines
    assert not any("outside of modules" in line for line in lines)
    diff.save(tmp_path / "d.dot")
    assert "blocks, as names of parameters tell" in (tmp_path / "d.dot").read_text("utf-8")


def test_the_variable_of_a_caller_is_no_name_of_the_root() -> None:
    w = torch.ones(2, requires_grad=True)
    loss = (w * 2).sum()
    other = (w * 2).sum()
    assert not gviz.graph(loss).diff(gviz.graph(other))


def test_a_leaf_that_takes_the_place_of_another_one_is_told_where_it_is_used() -> None:
    p, q = (torch.ones(2, requires_grad=True) for _ in range(2))
    text = str(gviz.graph((p * p).sum(), {"p": p}).diff(gviz.graph((p * q).sum(), {"p": p, "q": q})))
    assert "inputs: p, p → p, q" in text


def test_an_input_of_the_same_name_as_the_one_before_is_called_another() -> None:
    p = torch.ones(2, requires_grad=True)

    def graph(inputs: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Drawing:
        def of(one: torch.Tensor) -> torch.Tensor:
            return inputs(one, one + 2)

        return gviz.graph(of(p + 1), {"p": p})

    text = str(graph(lambda one, two: two * one.tanh()).diff(graph(lambda one, two: one * two.tanh())))
    assert "inputs: AddBackward0, TanhBackward0 → another AddBackward0, TanhBackward0" in text


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.second(torch.nn.functional.silu(self.first(x)))


class Stacks(torch.nn.Module):
    def __init__(self, one: int, other: int) -> None:
        super().__init__()
        self.enc = torch.nn.ModuleList(Block() for _ in range(one))
        self.dec = torch.nn.ModuleList(Block() for _ in range(other))

    def forward(self, x: Any) -> Any:
        for block in (*self.enc, *self.dec):
            x = block(x)
        return x.sum()


def test_a_block_added_to_each_of_two_stacks_leaves_the_other_blocks_as_they_were() -> None:
    def graph(one: int, other: int) -> Any:
        net = Stacks(one, other)
        return gviz.graph(net(torch.ones(1, 4)), model=net)

    diff = graph(2, 2).diff(graph(3, 3))
    text = str(diff)
    assert "+ dec.2 Block" in text
    assert "+ enc.2 Block" in text
    assert "~ dec.0 Block" not in text
    assert "~ dec.1 Block" not in text


class Adapted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base, self.up = torch.nn.Linear(4, 4).requires_grad_(False), torch.nn.Linear(4, 4, bias=False)

    def forward(self, x: Any) -> Any:
        return x + self.base(x).relu() + self.up(x)


def test_a_block_added_to_a_model_that_is_called_twice_takes_none_away() -> None:
    def graph(depth: int) -> Any:
        net = torch.nn.Sequential(*(Adapted() for _ in range(depth)))
        loss = net(torch.ones(1, 4)).sum() - net(torch.zeros(1, 4)).sum()
        return gviz.graph(loss, model=net)

    diff = graph(2).diff(graph(3))
    assert diff.counts == {"added": 13, "removed": 0, "changed": 0}
    assert {change.node.scope for change in diff.changes if change.node.scope.startswith(("0.", "1."))} == set()
