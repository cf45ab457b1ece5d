"""From tensors to the graph as data: follow ``grad_fn`` edges as TorchViz does.

The walk asks only for what every PyTorch node has (``next_functions``, ``variable``, ``_saved_*``), so gviz's own
engine and real PyTorch look the same to it. It goes in the order in which TorchViz draws: a root, then depth first
along the slots of each node; an explicit stack takes the place of recursion, so a chain of a million operations is no
deeper than two.
"""

from __future__ import annotations

import gc
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

from gviz.graphs import Edge, Graph, Node, TensorRow, Value, to_value

SAVED = "_saved_"
FREED = "freed"

DETAILED, FEW = 5_000, 300
"""So many boxes of a large graph list what they saved, and those after them do not: reading it costs more than the
walk."""

MOST = 1_000_000
"""Elements above which a graph leaves a tensor's values out (a model's weights)."""


MOST_FLOWING = 300
"""Operations and leaves of a graph whose flow of gradients is looked at; nobody reads the derivatives of a larger
one."""


class NodeLike(Protocol):
    """A ``grad_fn`` as the walk needs it; an AccumulateGrad also has ``variable``, a user's Function ``saved_tensors``."""

    @property
    def next_functions(self) -> Slots:
        """The nodes that the gradient goes to, None for an input that needs none, each with the number of its output."""


Slots: TypeAlias = "Sequence[tuple[NodeLike | None, int]]"


class TensorLike(Protocol):
    """A tensor as the walk needs it, gviz's or PyTorch's."""

    @property
    def shape(self) -> Sequence[int]:
        """Sizes."""

    @property
    def dtype(self) -> object:
        """Its text ends in the name: ``torch.float32``."""

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to it."""

    @property
    def is_leaf(self) -> bool:
        """True if no recorded operation made it."""

    @property
    def retains_grad(self) -> bool:
        """True for a non-leaf that keeps its gradient."""

    @property
    def grad_fn(self) -> NodeLike | None:
        """The operation that made it."""

    @property
    def grad(self) -> TensorLike | None:
        """Its gradient."""

    @property
    def _base(self) -> TensorLike | None:
        """The tensor that it is a view of."""

    def _is_view(self) -> bool:
        """Return True if it is a view."""

    def element_size(self) -> int:
        """Return the bytes of an element."""

    def detach(self) -> TensorLike:
        """Return the same values, outside of any graph."""

    def tolist(self) -> object:
        """Return a number, or nested lists of numbers."""


class Flow(NamedTuple):
    """What happens at one operation when backward runs.

    Args:
        arrives: the gradient that arrives, the sum of what its users hand on; None if it has several outputs.
        factors: for each input what the operation gives for a gradient of ones; None where no gradient goes.
        handed: for each input the gradient that is handed on; None likewise.
        jacobians: for each input the matrix of the derivatives, where that was asked for.
        held: the tensors without gradient that it has saved, which backward frees, each with its attribute.
    """

    arrives: Any
    factors: Sequence[Any]
    handed: Sequence[Any]
    jacobians: Sequence[Value] = ()
    held: Sequence[tuple[str, Any]] = ()


class Line(NamedTuple):
    """Where an operation was recorded, and what it costs.

    Args:
        line: of the program, counted from 1; 0 for one that no call of the program has made itself.
        column: counted from 1; 0 for none.
        file: "" for the source itself.
        turn: the how manieth run of a line this was, counted over the whole program.
        writes: whether it wrote its result in place.
        seconds: how long the call took; None if that was not measured.
        kept: bytes that it saves for backward; None likewise.
        value: of its result, where that is small.
    """

    line: int
    column: int = 0
    file: str = ""
    turn: int = 0
    writes: bool = False
    seconds: float | None = None
    kept: int | None = None
    value: Value = None


def walk(
    roots: Mapping[str, TensorLike],
    names: Mapping[str, TensorLike] | None = None,
    *,
    saved: bool = False,
    expressions: Mapping[str, str] | None = None,
    values: bool = True,
    detailed: float = DETAILED,
    statements: Mapping[str, str] | None = None,
    flow: Mapping[NodeLike, Flow] | None = None,
    line_of: Callable[[NodeLike], Line | None] | None = None,
) -> Graph:
    """Return the graph below the roots.

    Args:
        roots: name -> tensor, in the order to draw them. A root may be a leaf; it is then drawn alone.
        names: the program's named tensors, in order; the roots are added if they are missing.
        saved: draw the tensors that operations keep for backward, as nodes of their own.
        expressions: the expression of an intermediate that gviz named, by its name.
        values: read the values and gradients of tensors.
        detailed: how many of the first nodes list what they saved.
        statements: the right side of the statement that made a tensor, by its name.
        flow: how the gradient flows through the operations, from :func:`gviz.flow.flow`.
        line_of: gives the line of the program that an operation was recorded at, where that is known.

    Returns:
        A graph with TorchViz's nodes and edges, and a row for each named tensor.
    """
    named = dict(names or {})
    for name, root in roots.items():
        named.setdefault(name, root)
    rows = {
        name: tensor_row(name, tensor, (expressions or {}).get(name), values=values) for name, tensor in named.items()
    }
    walker = Walker(named, rows, saved=saved, values=values, detailed=detailed)
    collects = gc.isenabled()
    gc.disable()  # hundreds of thousands of small objects are made and none is dropped: looking for garbage only costs
    try:
        root_ids = tuple(walker.add_root(rows[name], root) for name, root in roots.items())
    finally:
        if collects:
            gc.enable()
    if statements:
        walker.add_statements(statements)
    if flow:
        walker.add_flow(flow)
    if line_of:
        walker.add_lines(line_of)
    return Graph(
        nodes=tuple(walker.nodes),
        edges=tuple(walker.edges),
        roots=root_ids,
        tensors=tuple(rows.values()),
        title=", ".join(roots),
    )


def is_tensor(value: object) -> TypeGuard[TensorLike]:
    """Return True for a tensor, of whichever library."""
    return hasattr(value, "grad_fn") and hasattr(value, "requires_grad")


def tensor_row(name: str, tensor: TensorLike, expression: str | None = None, *, values: bool = True) -> TensorRow:
    """Return the row of one tensor in the table of ``gviz inspect``."""
    node = tensor.grad_fn
    grad = gradient(tensor) if values else None
    return TensorRow(
        name=name,
        shape=sizes(tensor.shape),
        dtype=str(tensor.dtype).rpartition(".")[2],
        requires_grad=bool(tensor.requires_grad),
        is_leaf=bool(tensor.is_leaf),
        retains_grad=bool(tensor.retains_grad),
        grad_fn=None if node is None else type(node).__name__,
        value=numbers(tensor) if values else None,
        grad=None if grad is None else numbers(grad),
        expression=expression,
    )


def sizes(shape: Iterable[int]) -> tuple[int, ...]:
    """Return a shape as plain numbers."""
    return tuple(map(int, shape))


def numbers(tensor: TensorLike) -> Value:
    """Return a tensor's values as a graph holds them; None if they are more than a person or a program will read."""
    if math.prod(sizes(tensor.shape)) > MOST:
        return None
    value = tensor.detach().tolist()
    return value if isinstance(value, float) and math.isfinite(value) else to_value(value)


def gradient(tensor: TensorLike) -> TensorLike | None:
    """Return the gradient that is there, without PyTorch's warning for a non-leaf that keeps none."""
    if not tensor.is_leaf and not tensor.retains_grad:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tensor.grad


class Walker:
    """Collects nodes and edges; nodes are keyed by identity and kept alive, and get ids in the order they are met."""

    def __init__(
        self,
        named: Mapping[str, TensorLike],
        rows: Mapping[str, TensorRow],
        *,
        saved: bool,
        values: bool,
        detailed: float,
    ) -> None:
        self.saved = saved
        self.values = values
        self.detailed = detailed
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.ids: dict[int, str] = {}
        self.alive: list[object] = []
        self.row_of: dict[int, TensorRow] = {}
        self.made_by: dict[int, TensorRow] = {}
        self.makes: dict[int, dict[int, str]] = {}
        self.attrs: dict[
            tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]
        ] = {}  # many are equal: each is kept once
        self.classes: dict[type, tuple[bool, list[tuple[str, str]]]] = {}
        for name, tensor in named.items():
            self.row_of.setdefault(id(tensor), rows[name])
            node = tensor.grad_fn
            if node is not None:
                self.alive.append(node)
                self.made_by.setdefault(id(node), rows[name])
                self.makes.setdefault(id(node), {}).setdefault(int(getattr(tensor, "output_nr", 0)), name)

    def new_id(self, thing: object) -> str:
        """Return the next id, remembered for this object."""
        self.alive.append(thing)
        self.ids[id(thing)] = name = f"n{len(self.nodes)}"
        return name

    def add_root(self, row: TensorRow, root: TensorLike) -> str:
        """Add a root tensor, all that is below it, and the bases it is a view of; return the root's id."""
        known = self.ids.get(id(root))
        if known is not None:
            return known
        tensor, here = root, self.add_tensor(root, "output", row)
        first = here
        while True:
            node = tensor.grad_fn
            if node is not None:
                self.add_below(node)
                self.edges.append(Edge(self.ids[id(node)], here, output=int(getattr(tensor, "output_nr", 0))))
            base = tensor._base if tensor._is_view() else None
            if base is None:
                return first
            known = self.ids.get(id(base))
            view, here = here, known or self.add_tensor(base, "intermediate")
            self.edges.append(Edge(here, view, kind="view"))
            if known is not None:
                return first
            tensor = base

    def add_tensor(self, tensor: TensorLike, kind: str, known: TensorRow | None = None, label: str = "") -> str:
        """Add a box for a tensor, with its row if that is known; return its id."""
        known = known or self.row_of.get(id(tensor))
        row = known or tensor_row("", tensor, values=self.values)
        node_id, name = self.new_id(tensor), known.name if known else None
        has_state = kind != "saved" or (name and row.is_leaf)  # another is a number, or its state is in another box
        state = state_of(row) if has_state else ""
        self.nodes.append(Node(node_id, kind, label, name, row.shape, row.dtype, row.value, row.grad, state))
        return node_id

    def add_below(self, start: NodeLike) -> None:
        """Add a node and everything below it, depth first along the slots, without recursion.

        TorchViz adds the edge to an input first and what is below that input then; so does this.
        """
        ids, add_edge = self.ids, self.edges.append
        new_edge = partial(
            tuple.__new__, Edge
        )  # all fields at once: half the time of Edge(...), of which there are most
        if id(start) in ids:
            return
        here, below = self.enter(start)
        slots, stack = enumerate(below), []
        while True:
            for slot, (node, output) in slots:
                if node is None:
                    continue
                source, below = ids.get(id(node)), ()
                if source is None:
                    source, below = self.enter(node)
                add_edge(new_edge((source, here, slot, "", "data", output, "", None, None, None)))
                if below:
                    stack.append((here, slots))
                    here, slots = source, enumerate(below)
                    break
            else:
                if not stack:
                    return
                here, slots = stack.pop()

    def enter(self, node: NodeLike) -> tuple[str, Slots]:
        """Add a box for an operation, or for a leaf's AccumulateGrad with the leaf; return its id and its slots."""
        node_id, label, slots = self.new_id(node), type(node).__name__, node.next_functions
        if label == "AccumulateGrad" and (variable := getattr(node, "variable", None)) is not None:
            self.nodes.append(Node(node_id, "accumulate", label))
            self.edges.append(Edge(self.add_leaf(variable), node_id))
            return node_id, slots
        row = self.made_by.get(id(node))
        is_custom, attributes = self.classes.get(type(node)) or self.learn(node)
        if row is None and not self.saved and not is_custom and len(self.nodes) >= self.detailed:
            self.nodes.append(Node(node_id, "operation", label, slots=len(slots)))
            return node_id, slots
        kept = [(key, saved_value(node, attribute)) for key, attribute in attributes]
        attrs = tuple([(key, brief(value)) for key, value in kept])
        attrs = self.attrs.setdefault(attrs, attrs)
        state = FREED if FREED in dict(attrs).values() else "retained" if row is not None and row.retains_grad else ""
        if row is None:
            box = Node(node_id, "operation", label, None, made_shape(node), None, None, None, state, len(slots), attrs)
        else:
            facts = row.name, row.shape, row.dtype, row.value, row.grad
            names = self.makes[id(node)]
            outputs = tuple(names.get(number, "") for number in range(max(names) + 1)) if len(names) > 1 else ()
            is_letter = row.expression is not None
            box = Node(
                node_id, "operation", label, *facts, state, len(slots), attrs, outputs=outputs, is_letter=is_letter
            )
        self.nodes.append(box)
        if self.saved:
            self.add_saved(node_id, kept)
        if is_custom:
            self.add_saved(node_id, [("saved", saved_value(node, "saved_tensors"))])
        return node_id, slots

    def held(self, saved: Sequence[tuple[str, TensorLike]]) -> tuple[tuple[str, str], ...]:
        """Return what can be told of saved tensors without gradient: the name, or the number that Python code had there."""
        told = [(key, self.row_of[id(one)].name if id(one) in self.row_of else number_of(one)) for key, one in saved]
        return tuple([pair for pair in told if pair[1]])

    def learn(self, node: NodeLike) -> tuple[bool, list[tuple[str, str]]]:
        """Return True if a node is of a user's Function, and the names of what its class saves, each with its attribute."""
        attributes = sorted(name for name in dir(node) if name.startswith(SAVED))
        facts = hasattr(type(node), "saved_tensors"), [(name.removeprefix(SAVED), name) for name in attributes]
        self.classes[type(node)] = facts
        return facts

    def add_leaf(self, leaf: TensorLike) -> str:
        """Return the id of a leaf's box; if an operation that saved it was met first, its box becomes that of a leaf."""
        known = self.ids.get(id(leaf))
        if known is None:
            return self.add_tensor(leaf, "leaf")
        position = int(known[1:])
        box = self.nodes[position]
        if box.kind == "saved":
            state = box.state or state_of(tensor_row("", leaf, values=self.values))
            self.nodes[position] = box._replace(kind="leaf", label="", state=state)
        return known

    def add_saved(self, node_id: str, kept: list[tuple[str, object]]) -> None:
        """Add boxes for the tensors that an operation keeps; a user's Function always has them, as TorchViz draws it."""
        for key, value in kept:
            items = enumerate(value) if isinstance(value, tuple | list) else [(None, value)]
            for index, item in items:
                if is_tensor(item):
                    label = key if index is None else f"{key}[{index}]"
                    known = self.ids.get(id(item)) or self.add_tensor(item, "saved", label=label)
                    self.edges.append(Edge(known, node_id, label=label, kind="saved"))

    def add_statements(self, statements: Mapping[str, str]) -> None:
        """Add what operations compute, in the words of the statements that gave their results a name."""
        for position, node in enumerate(self.nodes):
            if node.kind == "operation" and node.name in statements:
                self.nodes[position] = node._replace(expression=statements[node.name or ""])

    def add_flow(self, flow: Mapping[NodeLike, Flow]) -> None:
        """Add what arrives at the operations, and what they hand on."""
        flows = {self.ids[id(node)]: one for node, one in flow.items() if id(node) in self.ids}
        for position, node in enumerate(self.nodes):
            if node.id in flows:
                arrives, held = flows[node.id].arrives, self.held(flows[node.id].held)
                self.nodes[position] = node._replace(arrives=None if arrives is None else numbers(arrives), held=held)
        for position, edge in enumerate(self.edges):
            if edge.kind == "data" and edge.target in flows:
                factor, handed = (each[edge.slot] for each in (flows[edge.target].factors, flows[edge.target].handed))
                local, given = (None if value is None else numbers(value) for value in (factor, handed))
                matrix = flows[edge.target].jacobians[edge.slot] if flows[edge.target].jacobians else None
                self.edges[position] = edge._replace(local=local, handed=given, jacobian=matrix)

    def add_lines(self, line_of: Callable[[NodeLike], Line | None]) -> None:
        """Add the lines of operations, and what they keep; one that no line is known of is a part of what uses it."""
        made: dict[str, Any] = {self.ids[id(thing)]: thing for thing in self.alive if id(thing) in self.ids}
        user: dict[str, str] = {}
        for edge in self.edges:
            user.setdefault(edge.source, edge.target)
        lines: dict[str, Line] = {}
        for position, node in enumerate(self.nodes):  # a user stands before what it uses
            if node.kind != "operation":
                continue
            own = line_of(made[node.id])
            line = lines[node.id] = own if own is not None and own.line else lines.get(user.get(node.id, ""), Line(0))
            told = node._replace(line=line.line, column=line.column, file=line.file, turn=line.turn)
            if own is not None:
                value = own.value if node.name is None else node.value
                told = told._replace(is_written=own.writes, seconds=own.seconds, kept=own.kept, value=value)
            self.nodes[position] = told


def bytes_kept(node: NodeLike) -> int:
    """Return the bytes of the tensors that a node saves for backward; those that it has freed are none any more."""
    values = [saved_value(node, name) for name in saved_names(type(node))]
    listed = [one for value in values for one in (value if isinstance(value, tuple | list) else (value,))]
    return sum(math.prod(sizes(one.shape)) * one.element_size() for one in listed if is_tensor(one))


def held_by(node: NodeLike) -> tuple[tuple[str, TensorLike], ...]:
    """Return the tensors without gradient that a node saves, each with its attribute."""
    saved = [
        (name.removeprefix(SAVED), saved_value(node, name))
        for name in saved_names(type(node))
        if name.startswith(SAVED)
    ]
    return tuple([(key, one) for key, one in saved if is_tensor(one) and not one.requires_grad])


@cache
def saved_names(kind: type[NodeLike]) -> tuple[str, ...]:
    """Return the attributes of a kind of node that hold what it saves."""
    return tuple(name for name in dir(kind) if name.startswith(SAVED) or name == "saved_tensors")


def saved_value(node: NodeLike, attribute: str) -> object:
    """Return what a node saved; the text "freed" for what backward has freed, or what was changed in place since."""
    try:
        return getattr(node, attribute)
    except RuntimeError:
        return FREED
    except Exception as error:  # noqa: BLE001 - a hook of the program's own unpacks it, and may raise anything
        return f"its unpack hook raised {type(error).__name__}"


def number_of(tensor: TensorLike) -> str:
    """Return a tensor without dimensions as it is typed; "" for another."""
    value = None if tuple(tensor.shape) else numbers(tensor)
    return f"{value:.7g}" if isinstance(value, int | float) and not isinstance(value, bool) else ""


def made_shape(node: NodeLike) -> tuple[int, ...] | None:
    """Return the shape of what an operation made, which a gradient that arrives must have; None if it made several tensors."""
    made: Sequence[TensorLike] = getattr(node, "_input_metadata", ())
    return sizes(made[0].shape) if len(made) == 1 else None


def state_of(row: TensorRow) -> str:
    """Return the honest remark on a tensor's gradient."""
    if row.grad is not None:
        return "retained" if not row.is_leaf else ""
    if not row.requires_grad:
        return "frozen" if row.is_leaf and row.grad_fn is None else ""
    return "no gradient yet" if row.is_leaf or row.retains_grad else "not retained"


def brief(value: object) -> str:
    """Return a saved value as one line."""
    if is_tensor(value):
        return f"[saved tensor] {sizes(value.shape)}"
    if isinstance(value, tuple) and any(map(is_tensor, value)):
        return "[saved tensors]"
    return str(value)


def by_name(params: Mapping[str, TensorLike] | None) -> dict[str, TensorLike]:
    """Return the names that a user gives to tensors; TypeError for anything but a dictionary, or pairs."""
    try:
        return {} if params is None else dict(params)
    except (TypeError, ValueError):
        example = "as dict(net.named_parameters()) is; several roots are a list"
        raise TypeError(
            f"params is a dictionary of names and tensors, {example}; not of type {type(params).__name__}"
        ) from None


def notebook_picture(tensor: TensorLike) -> str | None:
    """Return the graph of a tensor as SVG, as notebooks show it; None, for its text, if it is a leaf or the graph is large."""
    return None if tensor.is_leaf else walk({"output": tensor})._repr_svg_()
