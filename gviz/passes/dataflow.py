"""The graph as the formula is read: operations between values, without AccumulateGrad and with the constants.

Each operation holds the name, value and gradient of its result; each edge the local derivative. A constant, or an input
that needs no gradient, is a node of its own, as far as the expression of its operation names it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import reduce

from gviz.formulas.expressions import Words, constant_of, output_name, words_of
from gviz.formulas.formula import UNKNOWN, Formula
from gviz.formulas.operands import in_empty_slots, input_names
from gviz.graphs import NO_GRADIENT, Edge, Graph, Node, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.passes.boxes import ELSEWHERE
from gviz.passes.elements import plus

DETACHED = ".detach()"


def dataflow(graph: Graph, words: Mapping[str, Words] | None = None, *, has_constants: bool = True) -> Graph:
    """Return the graph of the values.

    >>> from gviz.passes.boxes import ELSEWHERE
    >>> from gviz.graphs import Edge, Graph, Node, Recorded
    >>> product = Node("n1", "operation", "MulBackward0", expression="2 * x", recorded=Recorded(slots=2))
    >>> leaf = Node("n2", "accumulate", "AccumulateGrad"), Node("n3", "leaf", name="x")
    >>> nodes = Node("n0", "output", name="y"), product, *leaf
    >>> edges = Edge("n1", "n0"), Edge("n2", "n1", 1), Edge("n3", "n2")
    >>> [(node.kind, node.label, node.name) for node in dataflow(Graph(nodes, edges, ("n0",))).nodes]
    [('operation', 'MulBackward0', 'y'), ('constant', '', '2'), ('leaf', '', 'x')]

    Args:
        graph: one of operations and AccumulateGrad nodes.
        words: what is said of its operations; None to find that out.
        has_constants: whether to read what operations compute, and the constants in it; this takes longest.
    """
    nodes = graph.by_id
    rows = {row.name: row for row in graph.tensors}
    if words is None:
        words = words_of(graph) if has_constants else {}
    stands_for = {edge.target: edge.source for edge in graph.edges if nodes[edge.target].kind == "accumulate"}
    data = [edge for edge in graph.edges if edge.kind == "data"]
    aside = {node.id for node in graph.nodes if node.kind in ("accumulate", "saved", "intermediate")}
    results = {e.source: nodes[e.target] for e in data if nodes[e.target].kind == "output" and e.source not in aside}
    slots = {(edge.target, edge.slot) for edge in graph.edges} if has_constants else set()
    told = {edge.target for edge in graph.edges if nodes[edge.source].kind == "constant"}  # of a graph made here before
    merged = {result.id for result in results.values()}
    shifted: dict[str, int] = {}  # a number on the left has the first place
    outside = Outside(rows, {node.name for node in graph.nodes})
    new_nodes = outside.nodes

    for node in graph.nodes:
        if node.id in aside or node.id in merged:
            continue
        if node.kind != "operation":
            new_nodes.append(node._replace(kind="leaf") if node.kind == "output" else node)
            continue
        own_words, result = words.get(node.id), results.get(node.id, node)
        tensor = node
        if result is not node:
            grad = result.grad._replace(arrived=node.grad.arrived, hooks=node.grad.hooks)
            tensor = node._replace(name=result.name, numbers=result.numbers, grad=grad, later=result.later)
        if own_words is None:
            new_nodes.append(tensor)
            continue
        new_nodes.append(tensor._replace(expression=own_words.expression))
        outside.add_operands(node, own_words, slots)
        constant = constant_of(node.label, own_words) if node.id not in told else None
        if constant is not None:
            shifted.update({node.id: 1} if constant.is_left else {})
            outside.add(constant.text, node.id, 1 - constant.is_left)
    ends = {node.id for node in new_nodes}
    edges = outside.edges + [
        moved(edge, stands_for, shifted) if edge.source in stands_for or edge.target in shifted else edge
        for edge in data
        if edge.target in ends
    ]
    edges = [edge for edge in edges if edge.source in ends]
    made_by = {result.id: node for node, result in results.items()}
    return graph.changed(
        nodes=tuple(new_nodes), edges=tuple(edges), roots=tuple(made_by.get(root, root) for root in graph.roots)
    )


class Outside:
    """Numbers, and tensors that need no gradient, that operations are computed from: each becomes a node.

    Args:
        rows: the tensors of the program by their names.
        names: the names that have a node.
    """

    def __init__(self, rows: Mapping[str, TensorRow], names: set[str | None]) -> None:
        self.rows, self.names = rows, names
        self.node_ids: dict[str, str] = {}
        """The first node of each, by its text."""
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def add_operands(self, node: Node, words: Words, slots: Container[tuple[str, int]]) -> None:
        """Add the operands that no edge leads to, and what else an operation holds: conditions, classes, indices."""
        inner = [slot for slot in range(node.recorded.slots) if (node.id, slot) in slots]
        given = dict(in_empty_slots(node, inner, node.recorded.given_numbers))
        for slot, operand in enumerate(words.operands):
            row = self.rows.get(operand)
            is_left_out = row is not None and row.requires_grad and operand not in self.names  # of a part of a graph
            is_written = operand == UNKNOWN and UNKNOWN not in words.expression
            is_left_out = is_left_out or is_written or operand in (ELSEWHERE, "None")
            if (node.id, slot) not in slots and not is_left_out:
                state = "" if operand in self.rows else why_cut(operand, node)
                self.add(operand, node.id, slot, state, given.get(slot))
        inputs = {*input_names(node.label), "result"} if node.recorded.held else set[str]()
        texts = (words.expression, *words.operands) if "[" in words.expression else ()
        whole, *parts = [one.names if (one := Formula.read(text)) is not None else set[str]() for text in texts] or [
            set()
        ]
        indices = sorted((whole & self.rows.keys()).difference(*parts))
        others = [*(text for key, text in node.recorded.held if key not in inputs), *indices]
        slot = len(words.operands)
        for text in others:
            if text in self.node_ids:  # what another operation holds, too
                self.edges.append(Edge(self.node_ids[text], node.id, slot))
            elif text in self.rows and text not in self.names:
                self.add(text, node.id, slot)
            else:
                continue
            slot += 1

    def add(self, text: str, user: str, slot: int, state: str = "", given: Numbers | None = None) -> None:
        """Add an operand, and what this one is made from in turn, as far as gviz has named its steps.

        Args:
            text: what it is called.
            user: the operation.
            slot: of the operation.
            state: why it is outside of the graph.
            given: its numbers, if it is no named tensor of the program.
        """
        todo = [(text, user, slot, state)]
        for name, target, place, why in todo:  # grows while it is read
            row, own = self.rows.get(name), f"c{len(self.edges)}"
            is_number = row is None and not has_names(name)
            numbers, _, later = row.at_backward() if row is not None else (None if is_number else given, None, None)
            if numbers is not None:  # its box has no dtype: state tells of one that takes no gradient
                numbers = numbers._replace(dtype="")
            formula = Formula.read(row.expression) if row is not None and row.expression else None
            node = Node(own, "constant" if is_number else "frozen", name=name, numbers=numbers)
            remark = row.moment.remark if row is not None and row.moment is not None else ""
            outside = remark or why or (why_outside(row) if row is not None else "")
            expression = formula.python if formula is not None else ""
            self.nodes.append(node._replace(state=outside, expression=expression, later=later))
            self.edges.append(Edge(own, target, place))
            self.names.add(name)
            self.node_ids.setdefault(name, own)
            names = sorted(formula.names & self.rows.keys() - self.names) if formula is not None else []
            todo += [(one, own, at, "cut off" * self.rows[one].requires_grad) for at, one in enumerate(names)]


def moved(edge: Edge, sources: Mapping[str, str], shifts: Mapping[str, int]) -> Edge:
    """Return an edge with its new source, and with its slot moved by one where a constant comes first."""
    source, target, slot, *others = edge
    # all fields at once: a third of the time of _replace, of which there may be as many as operations
    return tuple.__new__(Edge, (sources.get(source, source), target, slot + shifts.get(target, 0), *others))


def outputs_of(graph: Graph) -> dict[str, dict[int, Node]]:
    """Return the tensors that each node makes and others use, by the number of the output.

    Several have names of their own.

    >>> from gviz.passes.boxes import ELSEWHERE
    >>> from gviz.graphs import Edge, Flow, Graph, Node, Recorded
    >>> two, one = Flow(handed=Numbers.of(2.0)), Flow(handed=Numbers.of(1.0))
    >>> split = Node("s", "operation", "SplitBackward0", "a", recorded=Recorded(outputs=("a", "b", "c")))
    >>> nodes = split, Node("y", "operation", "MulBackward0", "y")
    >>> edges = Edge("s", "y", 0, output=0, flow=two), Edge("s", "y", 1, output=2, flow=one)
    >>> outputs = outputs_of(Graph(nodes, edges, ("y",)))["s"]
    >>> [(number, made.id, made.name, made.grad.arrived.nested()) for number, made in outputs.items()]
    [(0, 's', 'a', 2.0), (2, 's_2', 'c', 1.0)]

    Args:
        graph: what :func:`dataflow` returns.
    """
    rows = {row.name: row for row in graph.tensors}
    gradients: dict[str, dict[int, list[Numbers | None]]] = {node.id: {} for node in graph.nodes}
    for edge in graph.edges:
        gradients[edge.source].setdefault(edge.output, []).append(edge.flow.handed)
    nodes: dict[str, dict[int, Node]] = {}
    for node in graph.nodes:
        if node.recorded.outputs and node.id in graph.roots and node.name in node.recorded.outputs:
            gradients[node.id][node.recorded.outputs.index(node.name)] = [None]  # what it starts with is not known
        if not node.recorded.outputs and len(gradients[node.id]) < 2:
            nodes[node.id] = dict.fromkeys(gradients[node.id] or [0], node)
            continue
        of_node = nodes[node.id] = {}
        for number in sorted(gradients[node.id]):
            name = output_name(node, number)
            row, arrives = rows.get(name) if node.recorded.outputs else None, reduce(plus, gradients[node.id][number])
            unnamed = node.recorded.result(number), NO_GRADIENT, None
            numbers, grad, later = row.at_backward() if row is not None else unnamed
            of_node[number] = node._replace(
                id=f"{node.id}_{number}" if of_node else node.id,
                name=name,
                numbers=numbers,
                grad=grad._replace(arrived=arrives),
                later=later,
                recorded=node.recorded._replace(outputs=(), results=()),
            )
    return nodes


def why_outside(row: TensorRow) -> str:
    """Return why a tensor has no gradient, and where, as far as the lines of the program are known.

    >>> from gviz.passes.boxes import ELSEWHERE
    >>> from gviz.graphs import TensorRow
    >>> from gviz.passes.boxes import ELSEWHERE
    >>> from gviz.graphs import GraphCut, Place
    >>> facts = {"requires_grad": False, "is_leaf": True, "retains_grad": False, "grad_fn": None}
    >>> broken = GraphCut(Place(3), "detach", "detached", source="h")
    >>> why_outside(TensorRow("d", Numbers.of(1.0), **facts, place=Place(3), broken=broken))
    'detached from h, line 3'
    """
    broken = row.broken
    if broken is not None:
        source = f"detached from {broken.source}" if broken.source else "detached"
        why = {"detached": source, "no_grad": "under no_grad"}.get(broken.reason, f"{broken.call}() has no derivative")
        return f"{why}, {broken.place}"
    why = row.dtype if "float" not in row.dtype else "requires_grad=False"
    return f"{why}, {row.place}" if row.place is not None else ""


def why_cut(text: str, user: Node) -> str:
    """Return why an operand without a name has no gradient, if it is cut off where it is used.

    >>> from gviz.passes.boxes import ELSEWHERE
    >>> from gviz.graphs import Node, Place
    >>> why_cut("h.detach()", Node("n0", "operation", place=Place(3))), why_cut("t + 1", Node("n0", "operation"))
    ('detached from h, line 3', '')
    """
    if not text.endswith(DETACHED):
        return ""
    where = "" if user.place is None or user.place.column else f", {user.place}"
    return f"detached from {text.removesuffix(DETACHED)}{where}"


OF_NUMBERS = {"inf", "nan", "pi", "π", "math", "sqrt", "exp", "log"}
"""Names that stand for numbers, or for what makes a number from a number."""


def has_names(text: str) -> bool:
    """Return whether an operand is computed from something with a name, such as h.detach(), or is it.

    >>> has_names("h.detach()"), has_names("8 ** 0.5"), has_names("-inf"), has_names("sqrt(2 * π)")
    (True, False, False, False)
    """
    formula = Formula.read(text)
    return formula is not None and not formula.names <= OF_NUMBERS
