"""Graphs made by hand, so that a renderer's test needs no engine."""

from __future__ import annotations

from typing import Any

from gviz.graphs import Edge, Gradient, Graph, Module, Node, Place, Recorded
from gviz.graphs.numbers import Numbers, Sizes


def numbers(value: Any, shape: Sizes | None = None, dtype: str = "float32") -> Numbers | None:
    """The numbers of nested lists; a shape alone where there are none."""
    if value is None:
        return None if shape is None else Numbers(shape, dtype)
    of_value = Numbers.of(value, dtype)
    return of_value if shape is None or not isinstance(shape, tuple) else of_value._replace(shape=shape)


def node(  # noqa: PLR0917 - the facts that most tests give come first, as in the record
    node_id: str,
    kind: str,
    label: str = "",
    name: str | None = None,
    shape: Sizes | None = None,
    dtype: str = "float32",
    value: Any = None,
    grad: Any = None,
    *,
    arrived: Any = None,
    line: int = 0,
    column: int = 0,
    scope: str = "",
    state: str = "",
    expression: str = "",
    is_letter: bool = False,
    **recorded: Any,
) -> Node:
    """A node by its facts, each in its facet."""
    return Node(
        node_id,
        kind,
        label,
        name,
        numbers(value, shape, dtype),
        Gradient(numbers(grad), arrived=numbers(arrived)),
        state,
        expression,
        is_letter,
        Place(line, column=column) if line else None,
        Module(scope) if scope else None,
        Recorded(**recorded),
    )


def leaf(node_id: str, name: str | None, value: Any, grad: Any = None, shape: tuple[int, ...] = ()) -> Node:
    return node(node_id, "leaf", name=name, shape=shape, value=value, grad=grad)


def operation(node_id: str, label: str, name: str | None = None, value: Any = None, slots: int = 2) -> Node:
    return node(node_id, "operation", label, name, None if value is None else (), value=value, slots=slots)


def article() -> Graph:
    """y = (x+w)*(w+1) with x = 2, w = 1, after backward."""
    return Graph(
        nodes=(
            node("n0", "output", name="y", shape=(), dtype="float32", value=6.0),
            operation("n1", "MulBackward0", "y", 6.0),
            operation("n2", "AddBackward0", "a", 3.0),
            node("n3", "accumulate", "AccumulateGrad"),
            leaf("n4", "x", 2.0, 2.0),
            node("n5", "accumulate", "AccumulateGrad"),
            leaf("n6", "w", 1.0, 5.0),
            operation("n7", "AddBackward0", "b", 2.0),
        ),
        edges=(
            Edge("n2", "n1", 0),
            Edge("n3", "n2", 0),
            Edge("n4", "n3"),
            Edge("n5", "n2", 1),
            Edge("n6", "n5"),
            Edge("n7", "n1", 1),
            Edge("n5", "n7", 0),
            Edge("n1", "n0"),
        ),
        roots=("n0",),
        title="y",
    )


def every_kind() -> Graph:
    """A view of a product of a matrix: bases, saved tensors, attributes, states, a label on an arrow, a ghost."""
    matrix = tuple(tuple(float(3 * row + column) for column in range(3)) for row in range(3))
    return Graph(
        nodes=(
            node("n0", "output", name="q", shape=(3,), dtype="float32", value=(0.0, 2.0, 4.0), state="not retained"),
            node(
                "n1",
                "operation",
                "SelectBackward0",
                "q",
                (3,),
                "float32",
                (0.0, 2.0, 4.0),
                slots=1,
                attrs=(("dim", "0"), ("self_sym_sizes", "(3, 3)")),
            ),
            operation("n2", "MulBackward0", slots=2),
            node("n3", "saved", "other", shape=(), dtype="float64", value=2.0),
            node("n4", "accumulate", "AccumulateGrad"),
            node("n5", "leaf", name="W", shape=(3, 3), dtype="float32", value=matrix, grad=matrix, state="retained"),
            node("n6", "intermediate", shape=(3, 3), dtype="float32", value=matrix),
            node("n7", "saved", "self", "z", (2,), "float32", ("nan", "-inf")),
            node("n8", "frozen", name="c", shape=(), dtype="int64", value=7, state="frozen"),
        ),
        edges=(
            Edge("n2", "n1"),
            Edge("n3", "n2", label="other", kind="saved"),
            Edge("n7", "n2", label="self", kind="saved"),
            Edge("n4", "n2", label="dq/dW = 2"),
            Edge("n5", "n4"),
            Edge("n1", "n0"),
            Edge("n2", "n6"),
            Edge("n6", "n0", kind="view"),
            Edge("n8", "n2", 1),
        ),
        roots=("n0",),
        title="q",
    )


def named(*names: str) -> Graph:
    """A root and a leaf of each name."""
    nodes = [node("root", "output", name="root", shape=(), value=0.0)]
    nodes += [leaf(f"n{index}", name, 1.0) for index, name in enumerate(names)]
    return Graph(tuple(nodes), tuple(Edge(node.id, "root") for node in nodes[1:]), ("root",))


def chain(length: int) -> Graph:
    """A root and that many operations below each other."""
    nodes = (node("r", "output", name="y"), *(operation(f"n{index}", "AddBackward0") for index in range(length)))
    edges = (Edge("n0", "r"), *(Edge(f"n{index + 1}", f"n{index}") for index in range(length - 1)))
    return Graph(nodes, edges, ("r",))


def loop(steps: int) -> Graph:
    """A leaf that every operation of a chain uses again."""
    below = chain(steps)
    again = tuple(Edge("w", f"n{index}", 1) for index in range(steps))
    return Graph((*below.nodes, leaf("w", "w", 1.0)), (*below.edges, *again), ("r",), title="y")
