"""Graphs whose blocks repeat, built by hand: loops, layers, branches, and programs of chance."""

from __future__ import annotations

from random import Random
from typing import Any

from gviz.graphs import Edge, Graph, Node, Recorded
from gviz.graphs.numbers import Numbers


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

    def constant(self, name: str = "2") -> str:
        """Add a constant."""
        self.nodes.append(Node(f"c{len(self.nodes)}", "constant", name=name))
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


# ---------------------------------------------------------------- programs of chance
LABELS = ("Mul", "Add", "Tanh", "Mm")
ATTRS: tuple[tuple[tuple[str, str], ...], ...] = (
    (), (), (("alpha", "2"),), (("dim", "1"),), (("self", "freed"),), (("index", "3"),),
)  # fmt: skip
MOST = 700
"""Nodes of a program that is not too long for a test."""


class Program:
    """Loops inside loops, written by chance and run: each block takes from itself, the blocks before, and outside.

    Args:
        random: where chance comes from.
    """

    def __init__(self, random: Random) -> None:
        self.random, self.one = random, Builder()
        self.leaves: dict[str, str] = {}
        self.stems = 0
        self.handed: list[str] = []

    def graph(self) -> Graph:
        """Write a program, run it, and return its graph."""
        random = self.random
        start = self.leaf("x")
        depths = [random.choice((0, 0, 1, 1, 2)) for _ in range(random.choice((1, 1, 2)))]
        plan = [self.loop(random.randint(2, 6), depth) for depth in depths]
        ends = self.run(plan, start, (), [], {})[-1:]
        if self.handed and random.random() < 0.5:
            ends.append(random.choice((self.handed[0], self.one.op("Cat", *self.handed[:40]))))
        return self.one.graph(*ends)

    def leaf(self, name: str) -> str:
        """Return the leaf of that name."""
        if name not in self.leaves:
            self.leaves[name] = self.one.leaf(name)
        return self.leaves[name]

    def stem(self) -> str:
        """Return a name for leaves, one of those that there are or a new one."""
        if self.stems and self.random.random() < 0.3:
            return f"s{self.random.randint(1, self.stems)}"
        self.stems += 1
        return f"s{self.stems}"

    def loop(self, times: int, depth: int) -> tuple[Any, ...]:
        """Write a loop: how often, its body, the stem of its leaves, and what becomes of the results."""
        return "loop", times, self.body(depth), self.stem(), self.random.choice(("last", "stack", "reverse", "sum"))

    def body(self, depth: int) -> list[tuple[Any, ...]]:
        """Write the lines of a block."""
        random = self.random
        lines: list[tuple[Any, ...]] = []
        for _ in range(random.randint(1, 5)):
            if depth and random.random() < 0.35:
                lines.append(self.loop(random.randint(2, 5), depth - 1))
                continue
            inputs = [self.input() for _ in range(random.choice((1, 1, 2, 2, 3)))]
            inputs += inputs[:1] * (random.random() < 0.2)
            look = random.choice(LABELS), random.choice(((2,), (2,), (3,))), random.choice(ATTRS)
            wire = random.choice((0, 0, 0, 1)), random.choice(("", "", "", ".T"))
            lines.append(("op", look, inputs, wire, random.random() < 0.15))
        return lines

    def input(self) -> tuple[Any, ...]:
        """Write where an operation takes an input from."""
        random = self.random
        return random.choice((
            ("local", random.randint(1, 3)), ("local", 1), ("local", 1), ("outer",), ("none",), ("constant",),
            ("carried", random.randint(0, 4), random.choice((1, 1, 1, 2))), ("across", random.randint(-2, 2)),
            ("shared", random.choice("UVW")), ("own", self.stem()), ("same constant",),
        ))  # fmt: skip

    def run(
        self,
        lines: list[tuple[Any, ...]],
        outer: str,
        path: tuple[Any, ...],
        before: list[list[str]],
        state: dict[Any, Any],
    ) -> list[str]:
        """Run a block; return what each line has made.

        Args:
            lines: of the block.
            outer: what is there when it begins.
            path: the loops around, each with the number of the block.
            before: what the blocks before have made.
            state: what the loop remembers from block to block.
        """
        values: list[str] = []
        for at, (kind, *what) in enumerate(lines):
            if kind == "loop":
                values.append(self.run_loop(what, (values or [outer])[-1], path, state, at))
                continue
            (label, shape, attrs), inputs, (output, text), hands = what
            found = [self.source(one, at, values, outer, path, before, state) for one in inputs]
            first = len(self.one.edges)
            value = self.one.op(label, *found, shape=shape, recorded=Recorded(len(found), attrs))
            for number in range(first, len(self.one.edges)):
                edge = self.one.edges[number]
                own = output * edge.source.startswith("o")
                self.one.edges[number] = edge._replace(output=own, label=text)
            values.append(value)
            self.handed += [value] * hands
        return values

    def run_loop(self, what: list[Any], start: str, path: tuple[Any, ...], state: dict[Any, Any], at: int) -> str:
        """Run a loop; return what comes of it."""
        times, body, stem, result = what
        rows: list[list[str]] = []
        own: dict[Any, Any] = {"previous": state.get(("rows", at), ())}
        for turn in range(times):
            rows.append(self.run(body, start, (*path, stem, turn), rows, own))
        state["rows", at] = rows
        ends = [row[-1] for row in rows]
        if result == "sum":
            total = ends[0]
            for end in ends[1:]:
                total = self.one.op("Plus", total, end)
            return total
        return ends[-1] if result == "last" else self.one.op("Stack", *(ends if result == "stack" else ends[::-1]))

    def source(  # noqa: PLR0911, PLR0917 - a case for each kind of input
        self,
        one: tuple[Any, ...],
        at: int,
        values: list[str],
        outer: str,
        path: tuple[Any, ...],
        before: list[list[str]],
        state: dict[Any, Any],
    ) -> str:
        """Return the node that an input comes from; "" for none."""
        match one:
            case ("local", back):
                return values[-int(back)] if len(values) >= back else outer
            case ("carried", line, back):
                if len(before) >= back:
                    row = before[-int(back)]
                    return row[min(int(line), len(row) - 1)]
                starts = outer, "", self.leaf("h0"), self.one.constant("0")
                return str(state.setdefault((at, one), self.random.choice(starts)))
            case ("across", shift):
                rows, turn = state.get("previous", ()), len(before) + shift
                return str(rows[turn][-1]) if 0 <= turn < len(rows) else ""
            case ("shared", name):
                return self.leaf(name)
            case ("own", stem):
                return self.leaf(".".join(map(str, (stem, *path[-2:], "w"))))
            case ("outer",):
                return outer
            case ("constant",):
                return self.one.constant()
            case ("same constant",):
                self.leaves.setdefault("a constant", self.one.constant("7"))
                return self.leaves["a constant"]
        return ""


def program(random: Random) -> Graph:
    """Return the graph of a program of chance that is not too long."""
    graph = Program(random).graph()
    while len(graph.nodes) > MOST:
        graph = Program(random).graph()
    return graph


# ---------------------------------------------------------------- changes
CHANGES = (
    "label", "shape", "slots", "attrs", "given", "written", "outputs", "kind", "output", "text", "wire kind", "none",
    "constant", "swap", "twin", "slot", "leaf shape", "leaf dtype", "rewire", "saved", "constant name",
)  # fmt: skip
"""What may be changed of a node, or of an edge."""

MORE_ATTRS = (*ATTRS, (("self", "None"),), (("max", "None"),), (("alpha", "3"), ("self", "freed")))


def mutated(graph: Graph, random: Random, most: int = 5) -> Graph:
    """Return the graph with some changes of chance, and now and then with its nodes or edges in another order."""
    nodes, edges = [*graph.nodes], [*graph.edges]
    for _ in range(random.randint(0, most)):
        change = random.choice(CHANGES)
        change_node(nodes, change, random)
        change_edge(nodes, edges, change, random)
    if random.random() < 0.3:
        random.shuffle(edges)
    if random.random() < 0.2:
        random.shuffle(nodes)
    return Graph(tuple(nodes), tuple(edges), graph.roots)


def change_node(nodes: list[Node], change: str, random: Random) -> None:  # noqa: C901 - a case for each kind of change
    """Change an operation, a leaf or a constant."""
    kind = {"leaf shape": "leaf", "leaf dtype": "leaf", "constant name": "constant"}.get(change, "operation")
    fitting = [number for number, node in enumerate(nodes) if node.kind == kind]
    if not fitting:
        return
    number = random.choice(fitting)
    node = nodes[number]
    recorded = node.recorded
    match change:
        case "label":
            node = node._replace(label="OtherBackward0")
        case "shape":
            node = node._replace(numbers=random.choice((None, Numbers((7,)))))
        case "slots":
            node = node._replace(recorded=recorded._replace(slots=recorded.slots + 1))
        case "attrs":
            node = node._replace(recorded=recorded._replace(attrs=random.choice(MORE_ATTRS)))
        case "given":
            given = random.choice((("0.5",), ("x",), ("True",), ("1",)))
            node = node._replace(recorded=recorded._replace(given=given))
        case "written":
            node = node._replace(recorded=recorded._replace(is_written=True))
        case "outputs":
            node = node._replace(numbers=None, recorded=recorded._replace(outputs=("a", "b")))
        case "kind":
            node = node._replace(kind=random.choice(("group", "variable")))
        case "leaf shape":
            node = node._replace(numbers=Numbers((5,)))
        case "leaf dtype":
            node = node._replace(numbers=Numbers((2,), "float64"))
        case "constant name":
            node = node._replace(name="9")
    nodes[number] = node


def change_edge(nodes: list[Node], edges: list[Edge], change: str, random: Random) -> None:  # noqa: C901 - likewise
    """Change an edge to an operation; none goes back, so that no circle comes of it."""
    place = {node.id: number for number, node in enumerate(nodes)}
    fitting = [number for number, edge in enumerate(edges) if nodes[place[edge.target]].kind == "operation"]
    if not fitting:
        return
    number, other = random.choice(fitting), random.choice(fitting)
    edge = edges[number]
    match change:
        case "output":
            edges[number] = edge._replace(output=random.choice((0, 1, 3)))
        case "text":
            edges[number] = edge._replace(label=random.choice(("", ".T")))
        case "wire kind":
            edges[number] = edge._replace(kind=random.choice(("control", "saved")))
        case "none":
            del edges[number]
        case "constant":
            nodes.insert(0, Node(f"d{len(nodes)}", "constant", name="2"))
            edges[number] = edge._replace(source=nodes[0].id)
        case "swap":
            mate = edges[other]
            if place[edge.source] < place[mate.target] and place[mate.source] < place[edge.target]:
                edges[number] = edge._replace(source=mate.source, output=mate.output)
                edges[other] = mate._replace(source=edge.source, output=edge.output)
        case "twin":
            edges.append(edge._replace(slot=2000 + len(edges)))
        case "slot":
            edges[number] = edge._replace(slot=1000 + number)
        case "rewire":
            earlier = [node.id for node in nodes[: place[edge.target]] if node.kind in ("operation", "accumulate")]
            edges[number] = edge._replace(source=random.choice([edge.source, *earlier]))
        case "saved":
            nodes.insert(0, Node(f"s{len(nodes)}", "saved", "self", numbers=Numbers((2,))))
            edges.append(Edge(nodes[0].id, edge.target, 0, kind="saved"))
