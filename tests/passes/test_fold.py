"""Folds say all that the whole graph says: random graphs that repeat, changed at random, are unfolded and compared."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest

from gviz.graphs import Edge, Graph, Node, Recorded
from gviz.graphs.numbers import Numbers
from gviz.passes import fold
from gviz.passes.fold import Folding, without_accumulate


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


FAMILIES = (
    lambda random: rnn(random.randint(3, 9), start=random.random() < 0.5),
    lambda random: layers(random.randint(3, 8), residual=random.random() < 0.7),
    lambda random: parallel(random.randint(3, 12)),
    lambda random: nested(random.randint(3, 5), random.randint(3, 5)),
    lambda random: steps_that_hand_out(random.randint(4, 9)),
    lambda random: encoder_decoder(random.randint(3, 7)),
)


def mutated(graph: Graph, random: Random) -> Graph:
    """Return the graph with up to four changes: labels, shapes, slots, attributes, outputs, wires, places of inputs."""
    nodes, edges = [*graph.nodes], [*graph.edges]
    place = {node.id: number for number, node in enumerate(nodes)}
    for _ in range(random.randint(0, 4)):
        number = random.choice([n for n, node in enumerate(nodes) if node.kind == "operation"])
        node, wire = nodes[number], random.randrange(len(edges))
        edge = edges[wire]
        match random.choice(["label", "shape", "slots", "attrs", "output", "wire", "leaf", "kind"]):
            case "label":
                nodes[number] = node._replace(label="OtherBackward0")
            case "shape":
                nodes[number] = node._replace(numbers=Numbers((7, 7)))
            case "slots":
                nodes[number] = node._replace(recorded=node.recorded._replace(slots=9))
            case "attrs":
                nodes[number] = node._replace(recorded=node.recorded._replace(attrs=(("alpha", "2"),)))
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
    for node, (drawn, blocks) in zip(whole.nodes, folding.coordinates(), strict=True):
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

    def said(word: str, size: int, several: bool) -> set[int] | None:
        of = f" of × {size}" if several else ""
        if word == "for" and re.search(rf"(?:^|, )first{of}(?:$|, )", label):
            return {0}
        if word == "of" and re.search(rf"(?:^|, )each{of}(?:$|, )", label):
            return {*range(size)}
        listed = re.search(rf"{word} {NUMBERS}{of}(?:$|, [a-z])", label)
        return numbers_of(listed[1]) if listed else None

    several = len(sizes) > 1
    in_step = {
        (a, b)
        for a in only_start
        for b in only_end
        if start[a] == end[b] and re.search(r"(?:^|, )each(?:$|, )", label) and several
    }
    back = re.search(r"of (\d+) blocks before", label)
    distance = int(back[1]) if back else int(is_carried)
    choices: list[list[tuple[dict[int, int], dict[int, int]]]] = []
    for one in both:
        chosen = said("for", sizes[one], several)
        step = distance if is_carried and (len(both) == 1 or one == max(both, key=list(end).index)) else 0
        choices.append([({one: k - step}, {one: k}) for k in chosen or range(step, sizes[one])])
    for a, b in in_step:
        choices.append([({a: k}, {b: k}) for k in range(sizes[a])])
    starts, ends = only_start - {a for a, _ in in_step}, only_end - {b for _, b in in_step}
    choices += [[({a: k}, {}) for k in said("of", sizes[a], several) or {sizes[a] - 1}] for a in starts]
    choices += [[({}, {b: k}) for k in said("for", sizes[b], several) or range(sizes[b])] for b in ends]
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
        for node, (drawn, _) in zip(whole.nodes, folding.coordinates(), strict=True):
            other = whole.nodes[drawn]
            same = ("kind", "label", "numbers", "recorded")
            assert [getattr(node, name) for name in same] == [getattr(other, name) for name in same], seed
        saved += len(whole.nodes) - len(folding.folded.nodes)
    assert saved > 80 * 3
