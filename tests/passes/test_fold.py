"""Folds say all that the whole graph says: random graphs that repeat, changed at random, are unfolded and compared."""

from __future__ import annotations

import re
import time
from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest

from gviz.graphs import Blocks, Card, Edge, Graph, Node, Recorded, Region
from gviz.graphs.numbers import Numbers
from gviz.passes import fold
from gviz.passes.fold import Folding, without_accumulate
from gviz.passes.repeats import varying_numbers, without_numbers


class Builder:
    """A graph, operation by operation."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def leaf(self, name: str, shape: tuple[int, ...] = (2,)) -> str:
        """Add a leaf with its AccumulateGrad; return the id of that."""
        self.nodes += [Node(f"l{len(self.nodes)}", "leaf", name=name, numbers=Numbers(shape))]
        self.nodes += [Node(f"a{len(self.nodes)}", "accumulate", "AccumulateGrad")]
        self.edges.append(Edge(self.nodes[-2].id, self.nodes[-1].id))
        return self.nodes[-1].id

    def op(self, label: str, *inputs: str, shape: tuple[int, ...] = (2,), kind: str = "operation", **more: Any) -> str:
        """Add an operation."""
        name = f"o{len(self.nodes)}"
        recorded = more.pop("recorded", Recorded(len(inputs)))
        self.nodes.append(Node(name, kind, f"{label}Backward0", numbers=Numbers(shape), recorded=recorded, **more))
        self.edges += [Edge(source, name, slot) for slot, source in enumerate(inputs) if source]
        return name

    def graph(self, *ends: str) -> Graph:
        """Return the graph, with a root for each end."""
        for number, end in enumerate(ends):
            self.nodes.append(Node(f"r{number}", "output", name=f"y{number}"))
            self.edges.append(Edge(end, f"r{number}"))
        return Graph(tuple(self.nodes), tuple(self.edges), tuple(f"r{number}" for number in range(len(ends))))


def rnn(steps: int, *, start: bool = True) -> Graph:
    """Return an RNN with shared weights; without a start the first step lacks a wire."""
    one = Builder()
    u, w = one.leaf("U"), one.leaf("W")
    h = one.leaf("h0") if start else ""
    for _ in range(steps):
        h = one.op("Tanh", one.op("Add", one.op("Mm", h, u), one.op("Mm", "", w, recorded=Recorded(2))))
    return one.graph(one.op("Sum", h))


def layers(count: int, *, residual: bool = True, prefix: str = "net.blocks") -> Graph:
    """Return layers with weights of their own."""
    one = Builder()
    x = one.op("Embedding", one.leaf("table"))
    for number in range(count):
        y = one.op("Addmm", x, one.leaf(f"{prefix}.{number}.fc.weight"), one.leaf(f"{prefix}.{number}.fc.bias"))
        y = one.op("Relu", y)
        x = one.op("Add", x, y) if residual else y
    return one.graph(one.op("Mse", x))


def parallel(count: int) -> Graph:
    """Return branches that are stacked."""
    one = Builder()
    x = one.leaf("x")
    return one.graph(one.op("Stack", *(one.op("Sum", one.op("Sin", one.op("Mul", x))) for _ in range(count))))


def nested(turns: int, count: int) -> Graph:
    """Return a loop whose body has layers, the same in each turn; the losses are added."""
    one = Builder()
    total = one.leaf("zero")
    table = one.leaf("table")
    weights = [(one.leaf(f"blocks.{number}.weight"), one.leaf(f"blocks.{number}.bias")) for number in range(count)]
    for _ in range(turns):
        x = one.op("Embedding", table)
        for weight, bias in weights:
            x = one.op("Add", x, one.op("Relu", one.op("Addmm", x, weight, bias)))
        total = one.op("AddLoss", total, one.op("Mse", x))
    return one.graph(total)


def steps_that_hand_out(count: int) -> Graph:
    """Return a loop whose results are all used, and that looks back two steps."""
    one = Builder()
    before, now, found = one.leaf("a"), one.leaf("b"), []
    for number in range(count):
        before, now = now, one.op("Tanh", one.op("Add", now, before), one.leaf(f"w{number}"))
        found.append(one.op("Norm", one.op("Exp", now)))
    return one.graph(one.op("Stack", *found), now)


def encoder_decoder(count: int) -> Graph:
    """Return two loops: the second takes the results of the first, in their order or turned round."""
    one = Builder()
    x, kept = one.leaf("x"), []
    for number in range(count):
        x = one.op("Relu", one.op("Conv", x, one.leaf(f"down.{number}.weight")))
        x = one.op("Pool", x)
        kept.append(x)
    for number, other in enumerate(kept if count % 2 else kept[::-1]):
        x = one.op("Up", x, one.leaf(f"up.{number}.weight"))
        x = one.op("Tanh", one.op("Cat", one.op("Sigmoid", x), other))
    return one.graph(x)


def stages(turns: int, count: int) -> Graph:
    """Return stages of layers, each with weights of its own."""
    one = Builder()
    x = one.leaf("x")
    for turn in range(turns):
        for number in range(count):
            y = one.op("Addmm", x, one.leaf(f"net.{turn}.layers.{number}.weight"))
            x = one.op("Add", x, one.op("Tanh", y))
        x = one.op("Relu", one.op("Conv", x, one.leaf(f"net.{turn}.down.weight")))
    return one.graph(x)


def counted(steps: int) -> Graph:
    """Return a loop with numbers that grow, one of them in an attribute."""
    one = Builder()
    h, w = one.leaf("h0"), one.leaf("W")
    for number in range(steps):
        part = one.op("Select", w, recorded=Recorded(1, (("dim", "0"), ("index", f"{number}"))))
        h = one.op("Tanh", one.op("Add", one.op("Mul", h, part), recorded=Recorded(2, given=(f"{number / 4}",))))
    return one.graph(h)


FAMILIES = (
    lambda random: counted(random.randint(3, 9)),
    lambda random: stages(random.randint(3, 5), random.randint(3, 5)),
    lambda random: rnn(random.randint(3, 9), start=random.random() < 0.5),
    lambda random: layers(random.randint(3, 8), residual=random.random() < 0.7),
    lambda random: parallel(random.randint(3, 12)),
    lambda random: nested(random.randint(3, 5), random.randint(3, 5)),
    lambda random: steps_that_hand_out(random.randint(4, 9)),
    lambda random: encoder_decoder(random.randint(3, 7)),
)


def mutated(graph: Graph, random: Random) -> Graph:  # noqa: C901 - a case for each kind of change
    """Return the graph with up to four changes: labels, shapes, slots, attributes, outputs, wires, places of inputs."""
    nodes, edges = [*graph.nodes], [*graph.edges]
    place = {node.id: number for number, node in enumerate(nodes)}
    for _ in range(random.randint(0, 4)):
        number = random.choice([n for n, node in enumerate(nodes) if node.kind == "operation"])
        node, wire = nodes[number], random.randrange(len(edges))
        edge = edges[wire]
        match random.choice(["label", "shape", "slots", "attrs", "output", "wire", "leaf", "kind", "none", "constant"]):
            case "none" if nodes[place[edge.target]].kind == "operation" and edge.kind == "data":
                del edges[wire]
            case "constant" if nodes[place[edge.target]].kind == "operation" and edge.kind == "data":
                nodes.append(Node(f"c{len(nodes)}", "constant", name="2"))
                edges[wire] = edge._replace(source=nodes[-1].id)
            case "label":
                nodes[number] = node._replace(label="OtherBackward0")
            case "shape":
                nodes[number] = node._replace(numbers=Numbers((7, 7)))
            case "slots":
                nodes[number] = node._replace(recorded=node.recorded._replace(slots=9))
            case "attrs":
                attrs = random.choice(
                    [(("alpha", "2"),), (("self", "None"),), (("self", "freed"),), (("max", "None"),)]
                )
                nodes[number] = node._replace(recorded=node.recorded._replace(attrs=attrs))
            case "output":
                edges[wire] = edge._replace(output=3)
            case "kind" if nodes[place[edge.target]].kind == "operation":
                edges[wire] = edge._replace(kind="control")
            case "leaf":
                leaf = random.choice([n for n, node in enumerate(nodes) if node.kind == "leaf"])
                nodes[leaf] = nodes[leaf]._replace(numbers=Numbers((5,)))
            case "wire" if nodes[place[edge.target]].kind == "operation":
                earlier = [n.id for n in nodes[: place[edge.target]] if n.kind in ("operation", "accumulate")]
                if earlier:
                    edges[wire] = edge._replace(source=random.choice(earlier))
    return Graph(tuple(nodes), tuple(edges), graph.roots)


# ---------------------------------------------------------------- unfolding, which knows nothing of how folds are found
Instance = tuple[str, tuple[tuple[int, int], ...]]


def unfolded(folding: Folding) -> Counter[tuple[Any, ...]]:
    """Return the wires of the whole graph, as the folded one says them: from the labels on its arrows alone.

    Which node of the whole graph is which block's is all that is taken from the folding.
    """
    whole = folding.graph
    folded = folding.folded if folding.folds else whole
    name: dict[Instance, str] = {}
    dims: dict[str, dict[int, int]] = {}
    for node, (drawn, blocks) in zip(whole.nodes, folding.coordinates, strict=True):
        of = whole.nodes[drawn].id
        key = of, tuple(sorted((id(one), block) for one, block in blocks.items()))
        assert key not in name, "two nodes are the same block's"
        name[key] = node.id
        dims[of] = {id(one): fold.count_of(one) for one in blocks}
    for of, sizes in dims.items():
        assert sum(key[0] == of for key in name) == len(list(product(*map(range, sizes.values())))), of
    wires: Counter[tuple[Any, ...]] = Counter()
    signs = {node.id for node in folded.nodes if node.kind == "carried"}
    into: dict[str, list[Edge]] = {sign: [edge for edge in folded.edges if edge.target == sign] for sign in signs}
    for edge in folded.edges:
        if edge.target in signs:
            continue
        for one in into.get(edge.source, [edge]):
            carried = one.kind == "carried"
            pairs = instances(one.label, dims[one.source], dims[edge.target], is_carried=carried)
            for source, target in pairs:
                ends = name[one.source, tuple(sorted(source.items()))], name[edge.target, tuple(sorted(target.items()))]
                every = re.search(r"to every (-?\d+)[.] input|in reverse", one.label)
                step = 0 if not several_slots(one.label, source, target) else int(every[1] or -1) if every else 1
                order = sorted(tuple(sorted(found.items())) for found, _ in pairs)
                slot = edge.slot - step * (len(order) - 1 - order.index(tuple(sorted(source.items()))))
                wires[(*ends, slot, "data" if carried else one.kind, one.output)] += 1
    return wires


def several_slots(label: str, source: dict[int, int], target: dict[int, int]) -> bool:
    """Return whether each block has an input of its own in a node outside."""
    return bool(source) and not target and bool(re.search("each|blocks ", label))


NUMBERS = r"blocks? (\d+(?:…\d+)?(?:, \d+(?:…\d+)?)*)"


def numbers_of(text: str) -> set[int]:
    """Return the blocks that a text lists."""
    found: set[int] = set()
    for part in text.split(", "):
        first, _, last = part.partition("…")
        found |= {*range(int(first) - 1, int(last or first))}
    return found


def instances(label: str, start: dict[int, int], end: dict[int, int], *, is_carried: bool) -> list[Any]:
    """Return the pairs of blocks that a wire stands for, by what is written on it."""
    both, only_start, only_end = start.keys() & end.keys(), start.keys() - end.keys(), end.keys() - start.keys()
    sizes = {**start, **end}
    if "→" in label:
        assert "…" not in label
        assert len(start) == len(end) == 1, label
        (a,), (b,) = start, end
        pairs = [pair.split(" → ") for pair in label.split(", ")]
        return [({a: int(x) - 1}, {b: int(y) - 1}) for x, y in pairs]

    def said(word: str, one: int, several: bool) -> set[int] | None:
        size, around = sizes[one], [*(end if word == "for" else start)]
        is_one = [sizes[other] for other in around].count(size) == 1
        which = "inner" if one == around[-1] else "outer"
        of = (f" of × {size}" if is_one else f" of the {which} × {size}") if several else ""
        if word == "for" and re.search(rf"(?:^|, )first{of}(?:$|, )", label):
            return {0}
        if word == "of" and re.search(rf"(?:^|, )each{of}(?:$|, )", label):
            return {*range(size)}
        listed = re.search(rf"{word} {NUMBERS}{of}(?:$|, [a-z])", label)
        return numbers_of(listed[1]) if listed else None

    several = len(sizes) > 1
    each = re.search(r"(?:^|, )each(?: of the (inner|outer) × \d+)?(?:$|, )", label)
    which = {"inner": list(end)[-1:], "outer": list(end)[:1]}.get(each[1] or "", [*end]) if each else []
    in_step = {(a, b) for a in only_start for b in only_end if start[a] == end[b] and several and b in which}
    back = re.search(r"of (\d+) blocks before", label)
    distance = int(back[1]) if back else int(is_carried)
    choices: list[list[tuple[dict[int, int], dict[int, int]]]] = []
    for one in both:
        chosen = said("for", one, several)
        step = distance if is_carried and (len(both) == 1 or one == max(both, key=list(end).index)) else 0
        choices.append([({one: k - step}, {one: k}) for k in chosen or range(step, sizes[one])])
    for a, b in in_step:
        choices.append([({a: k}, {b: k}) for k in range(sizes[a])])
    starts, ends = only_start - {a for a, _ in in_step}, only_end - {b for _, b in in_step}
    choices += [[({a: k}, {}) for k in said("of", a, several) or {sizes[a] - 1}] for a in starts]
    choices += [[({}, {b: k}) for k in said("for", b, several) or range(sizes[b])] for b in ends]
    return [
        ({k: v for a, _ in parts for k, v in a.items()}, {k: v for _, b in parts for k, v in b.items()})
        for parts in product(*choices)
    ]


def plain_wires(graph: Graph) -> Counter[tuple[Any, ...]]:
    return Counter((edge.source, edge.target, edge.slot, edge.kind, edge.output) for edge in graph.edges)


@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_a_folded_graph_unfolds_to_the_whole_one(family: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "MOST_PAIRS", 1000)
    saved = 0
    for seed in range(80):
        random = Random(1000 * family + seed)  # noqa: S311 - a test's
        graph = mutated(FAMILIES[family](random), random)
        folding = Folding(graph)
        whole = without_accumulate(graph)
        assert unfolded(folding) == plain_wires(whole), seed
        for node, (drawn, _) in zip(whole.nodes, folding.coordinates, strict=True):
            other = whole.nodes[drawn]
            same = ("kind", "label", "numbers")
            assert [getattr(node, name) for name in same] == [getattr(other, name) for name in same], seed
            lacks = {edge.slot for edge in whole.inputs[node.id]} < {edge.slot for edge in whole.inputs[other.id]}
            assert without_numbers(node.recorded) == without_numbers(other.recorded) or lacks, seed
        assert_what_varies_is_said(folding)
        assert_what_lacks_is_said(folding)
        saved += len(whole.nodes) - len(folding.folded.nodes)
    assert saved > 80 * 3


def assert_what_varies_is_said(folding: Folding) -> None:
    """Compare the numbers of each block with those that the drawn one says."""
    whole, known = folding.graph, folding.folded.by_id
    found: dict[str, list[Any]] = {}
    for node, (drawn, blocks) in zip(whole.nodes, folding.coordinates, strict=True):
        if blocks:
            found.setdefault(whole.nodes[drawn].id, []).append(((*blocks.values(),), varying_numbers(node)))
    for name, several in found.items():
        rows = [numbers for _, numbers in sorted(several, key=lambda one: one[0])]
        columns = [[text for _, text in column] for column in zip(*rows, strict=True)]
        varies = {one.texts for one in (known[name].blocks or Blocks()).varies}
        assert varies == {tuple(column) for column in columns if len({*column}) > 1}


def assert_what_lacks_is_said(folding: Folding) -> None:
    """Compare the text of each sign with the blocks that have no wire where it leads to."""
    whole, folded = folding.graph, folding.folded
    has = {(edge.target, edge.slot) for edge in whole.edges}
    signs = {node.id: node for node in folded.nodes if node.kind == "carried"}
    for edge in folded.edges:
        if edge.source in signs:
            lacking = [
                blocks
                for node, (drawn, blocks) in zip(whole.nodes, folding.coordinates, strict=True)
                if whole.nodes[drawn].id == edge.target and (node.id, edge.slot) not in has
            ]
            text = signs[edge.source].expression
            assert text.endswith(": a constant") == bool(lacking)
            for blocks in lacking if all(len(blocks) == 1 for blocks in lacking) else ():
                (number,) = blocks.values()
                assert text.endswith(": a constant")
                assert number in (numbers_of(re.sub(r"blocks? |:.*", "", text)) if "first" not in text else {0})


def recurrent(first: str, attrs: tuple[tuple[str, str], ...] = (), steps: int = 6) -> Graph:
    """Return a loop whose first step has a constant in place of what is carried, a leaf, or nothing."""
    one = Builder()
    w = one.leaf("W")
    one.nodes.append(Node("c", "constant", name="0"))
    h = {"constant": "c", "leaf": one.leaf("h0"), "none": ""}[first]
    for number in range(steps):
        recorded = Recorded(2, attrs if number == 0 else (("alpha", "1"), ("mat2", "freed")))
        h = one.op("Tanh", one.op("Mm", h, w, recorded=recorded))
    return one.graph(h)


@pytest.mark.parametrize("first", ["constant", "leaf", "none"])
@pytest.mark.parametrize("mat2", ["freed", "None", "other"])
@pytest.mark.parametrize("alpha", ["1", "None", "2"])
def test_what_the_first_step_gets_is_said_or_it_stands_beside(first: str, mat2: str, alpha: str) -> None:
    attrs = ("alpha", alpha), *([("other", "freed")] if mat2 == "other" else [("mat2", mat2)])
    folding = Folding(recurrent(first, attrs))
    is_same = alpha == "1" and (mat2 == "freed" or (mat2, first) == ("None", "none"))
    assert [fold.count for fold in folding.folds] == [6 if is_same else 5]
    (sign,) = (node for node in folding.folded.nodes if node.kind == "carried")
    assert sign.expression == ("first: a constant" if is_same and first == "none" else "")
    firsts = [edge.source for edge in folding.folded.edges if edge.target == sign.id and edge.label == "first"]
    assert len(firsts) == (not sign.expression)


# ---------------------------------------------------------------- what is found
def folds_of(graph: Graph) -> list[Any]:
    """Return title, blocks, operations in each, and the folds inside."""
    folding = Folding(graph)

    def listed(folds: Any) -> list[Any]:
        return [(folding.titles[one], one.count, one.period, listed(one.inside)) for one in folds]

    return listed(folding.folds)


def test_layers_are_one_block_with_their_names_and_what_the_first_gets() -> None:
    graph = layers(12)
    assert folds_of(graph) == [("net.blocks.{0…11}", 12, 3, [])]
    folded = Folding(graph).folded
    assert [(one.title, one.times) for one in folded.regions] == [("net.blocks.{0…11}", 12)]
    inside = [node.name or node.label for node in folded.nodes if node.region == 0]
    assert {"net.blocks.{0…11}.fc.weight", "net.blocks.{0…11}.fc.bias", "↻ Add of the block before"} <= {*inside}
    (first,) = (edge for edge in folded.edges if edge.label == "first")
    assert folded.by_id[first.source].label == "EmbeddingBackward0"
    assert [edge.kind for edge in folded.edges if edge.target == first.target] == ["data", "carried"]
    assert Graph.from_json(folded.to_json()) == folded


def test_a_loop_inside_a_loop_is_a_fold_inside_a_fold() -> None:
    ((_, count, period, inside),) = folds_of(nested(3, 4))
    assert (count, period, inside) == (3, 15, [("blocks.{0…3}", 4, 3, [])])


def test_branches_side_by_side_and_results_of_all_steps() -> None:
    graph = Folding(parallel(1000)).folded
    assert len(graph.nodes) == 6
    assert [edge.label for edge in graph.edges].count("each") == 1


def cards(count: int, *, odd: int = -1) -> Graph:
    """Return a model of blocks that are closed to cards, one of which may be of another class."""
    one = Builder()
    x = one.op("Embedding", one.leaf("table"))
    for number in range(count):
        card = Card("Other" if number == odd else "Block", 49, 12, 3000, ((2, 10),), ((2, 10),), 2048, 0.1 * number)
        x = one.op("Block", x, kind="group", name=f"net.blocks.{number}", card=card)
    return one.graph(one.op("Mse", x))


def test_cards_fold_whose_names_differ_by_numbers_alone() -> None:
    assert folds_of(cards(12)) == [("net.blocks.{0…11}", 12, 1, [])]
    assert "net.blocks.{0…11}" in [node.name for node in Folding(cards(12)).folded.nodes]
    assert [count for _, count, *_ in folds_of(cards(12, odd=5))] == [5, 6]


def test_frames_around_blocks_become_the_frame_of_the_fold() -> None:
    graph = layers(6)
    regions = Region("net", "Net"), *(Region(f"net.blocks.{number}", "Block", 0) for number in range(6))
    number_of = {node.id: int(number) for number, node in enumerate(graph.nodes)}
    starts = [number_of[node.id] for node in graph.nodes if node.label == "AddmmBackward0"]
    nodes = []
    for number, node in enumerate(graph.nodes):
        block = sum(start - 4 <= number for start in starts) - 1
        nodes.append(
            node._replace(region=0 if block < 0 or node.label == "MseBackward0" or node.kind == "output" else 1 + block)
        )
    framed = Graph(tuple(nodes), graph.edges, graph.roots, regions=regions)
    folded = Folding(framed).folded
    assert [(one.title, one.kind, one.within, one.times) for one in folded.regions] == [
        ("net", "Net", -1, 1),
        ("net.blocks.{0…5}", "Block", 0, 6),
    ]
    cut = [
        node._replace(region=2 if node.region == 1 and node.label == "AddBackward0" else node.region) for node in nodes
    ]
    assert [count for _, count, *_ in folds_of(Graph(tuple(cut), graph.edges, graph.roots, regions=regions))] == [4]


def test_what_is_folded_stays_as_it_is() -> None:
    folded = Folding(layers(12)).folded
    assert Folding(folded).folded is folded


def test_a_step_that_differs_stands_beside_the_fold() -> None:
    folded = Folding(rnn(8)).folded
    assert [one.times for one in folded.regions] == [8]
    graph = rnn(8)
    last = max(number for number, node in enumerate(graph.nodes) if node.label == "TanhBackward0")
    nodes = [
        node._replace(label="ReluBackward0") if number == last else node for number, node in enumerate(graph.nodes)
    ]
    folded = Folding(Graph(tuple(nodes), graph.edges, graph.roots)).folded
    assert [one.times for one in folded.regions] == [7]
    (relu,) = (node for node in folded.nodes if node.label == "ReluBackward0")
    assert relu.region == -1


@pytest.mark.parametrize(
    "graph",
    [
        Graph(),
        Graph((Node("n0", "leaf", name="x"),), roots=("n0",)),
        layers(4, prefix="x" * 10_000),
    ],
)
def test_graphs_without_operations_and_long_names_are_folded_as_any(graph: Graph) -> None:
    assert len(Folding(graph).folded.nodes) <= max(len(graph.nodes), 1)


def test_a_thousand_roots_stay_and_say_of_which_block_they_are() -> None:
    one = Builder()
    h, ends = one.leaf("h"), []
    for _ in range(1000):
        h = one.op("Tanh", one.op("Mul", one.op("Add", h)))
        ends.append(h)
    folded = Folding(one.graph(*ends)).folded
    assert sum(node.kind == "output" for node in folded.nodes) == 1000
    assert {edge.label for edge in folded.edges if edge.target == "r0"} == {"of block 1"}


def test_one_operation_with_very_many_inputs_is_not_a_block() -> None:
    one = Builder()
    x = one.leaf("x")
    folded = Folding(one.graph(one.op("Stack", *[x] * 50_000))).folded
    assert len(folded.edges) == 50_002


def test_many_different_folds_are_found_in_a_time_that_grows_with_the_graph() -> None:
    def seconds(count: int) -> float:
        one = Builder()
        x = one.leaf("x")
        for number in range(count):
            for _ in range(3):
                for part in "abc":
                    x = one.op(f"Op{number}{part}", x)
        graph, start = one.graph(x), time.process_time()
        assert len(Folding(graph).folds) == count
        return time.process_time() - start

    assert seconds(4000) < 16 * max(seconds(500), 0.05)


def test_operations_of_which_nobody_knows_what_they_saved_do_not_fold() -> None:
    graph = rnn(200)
    known = Recorded(1, (("alpha", "1"),))
    nodes = [
        node._replace(recorded=known) if node.label == "TanhBackward0" and number > 500 else node
        for number, node in enumerate(graph.nodes)
    ]
    folding = Folding(Graph(tuple(nodes), graph.edges, graph.roots))
    found = [folding.graph.nodes[number] for block in folding.folds[0].blocks for number in block]
    assert len(folding.folds) == 1
    assert {node.recorded for node in found if node.label == "TanhBackward0"} == {known}


def test_each_sign_says_of_which_loop_the_block_before_is() -> None:
    one = Builder()
    h, w, v = "", one.leaf("w"), one.leaf("v")
    for _ in range(4):
        for _ in range(5):
            h = one.op("Tanh", one.op("Add", one.op("Mm", h, w, recorded=Recorded(2)), v))
        h = one.op("Relu", one.op("Div", one.op("Bmm", h, v), v))
    (sign,) = (node for node in Folding(one.graph(h)).folded.nodes if node.kind == "carried")
    assert sign.label == "↻ Tanh of the block before of × 5"
    assert sign.expression.split("\n") == [
        "Relu: of the block before of × 4, first of × 5",
        "first of × 4, first of × 5: a constant",
    ]
