"""From tensors to the graph as data: follow ``grad_fn`` edges as TorchViz does.

The walk asks only for what every PyTorch node has (``next_functions``, ``variable``, ``_saved_*``), so gviz's own engine and
real PyTorch look the same to it. It goes in the order in which TorchViz draws: a root, then depth first along the slots of
each node; an explicit stack takes the place of recursion, so a chain of a million operations is no deeper than two.
"""

from __future__ import annotations

import gc
import math
import warnings
from typing import TYPE_CHECKING, Any, Protocol

from gviz.graph import Edge, Graph, Node, TensorRow, Value, to_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["NodeLike", "TensorLike", "graph", "is_tensor", "tensor_row", "walk"]

SAVED = "_saved_"
DETAILED = 5_000
"""Only the first boxes of a large graph tell what they saved: reading it costs more than the walk itself."""
FREED = "freed"
MANY, MOST = 1_000, 1_000_000
"""Elements from which values are looked at as a whole, and above which a graph leaves them out (a model's weights)."""


class NodeLike(Protocol):
    """What the walk asks of a ``grad_fn``; an AccumulateGrad also has ``variable``, a user's Function ``saved_tensors``."""

    @property
    def next_functions(self) -> Sequence[tuple[NodeLike | None, int]]:
        """The nodes that the gradient goes to, None for an input that needs none, each with the number of its output."""


class TensorLike(Protocol):
    """What the walk asks of a tensor, gviz's or PyTorch's."""

    @property
    def shape(self) -> Sequence[int]:
        """Sizes."""

    @property
    def dtype(self) -> object:
        """Its text ends in the name: ``torch.float32``."""

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to it."""

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it."""

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf keeps its gradient."""

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
        """Whether it is a view."""

    def detach(self) -> Any:
        """Return the same values, outside of any graph."""


def walk(
    roots: Mapping[str, TensorLike],
    names: Mapping[str, TensorLike] | None = None,
    *,
    saved: bool = False,
    expressions: Mapping[str, str] | None = None,
    values: bool = True,
    detailed: float = DETAILED,
) -> Graph:
    """Return the graph below the roots.

    Args:
        roots: name -> tensor, in the order to draw them. A root may be a leaf; it is then drawn alone.
        names: the program's named tensors, in order; the roots are added if they are missing.
        saved: draw the tensors that operations keep for backward, as nodes of their own.
        expressions: what an intermediate that gviz named stands for, by its name.
        values: read the values and gradients of tensors.
        detailed: how many of the first nodes tell what they saved.

    Returns:
        A graph with TorchViz's nodes and edges, and a row for each named tensor.
    """
    named = dict(names or {})
    for name, root in roots.items():
        named.setdefault(name, root)
    rows = {name: tensor_row(name, tensor, (expressions or {}).get(name), values=values) for name, tensor in named.items()}
    walker = Walker(named, rows, saved=saved, values=values, detailed=detailed)
    collects = gc.isenabled()
    gc.disable()  # hundreds of thousands of small objects are made and none is dropped: looking for garbage only costs
    try:
        root_ids = tuple(walker.add_root(name, root) for name, root in roots.items())
    finally:
        if collects:
            gc.enable()
    return Graph(
        nodes=tuple(walker.nodes),
        edges=tuple(walker.edges),
        roots=root_ids,
        tensors=tuple(rows.values()),
        title=", ".join(roots),
    )


def is_tensor(value: object) -> bool:
    """Whether the value is a tensor, of whichever library."""
    return hasattr(value, "grad_fn") and hasattr(value, "requires_grad")


def tensor_row(name: str, tensor: TensorLike, expression: str | None = None, *, values: bool = True) -> TensorRow:
    """Return what ``gviz inspect`` tells of one tensor."""
    node = tensor.grad_fn
    grad = gradient(tensor) if values else None
    return TensorRow(
        name=name,
        shape=sizes(tensor),
        dtype=str(tensor.dtype).rpartition(".")[2],
        requires_grad=bool(tensor.requires_grad),
        is_leaf=bool(tensor.is_leaf),
        retains_grad=bool(tensor.retains_grad),
        grad_fn=None if node is None else type(node).__name__,
        value=numbers(tensor) if values else None,
        grad=None if grad is None else numbers(grad),
        expression=expression,
    )


def sizes(tensor: TensorLike) -> tuple[int, ...]:
    """Return the shape as plain numbers."""
    return tuple(int(size) for size in tensor.shape)


def numbers(tensor: TensorLike) -> Value:
    """Return a tensor's values as a graph holds them; None if they are more than a person or a program will read."""
    count = math.prod(sizes(tensor))
    if count > MOST:
        return None
    detached = tensor.detach()
    if count > MANY and bool(detached.isfinite().all()):
        return finite_value(detached.tolist(), len(tensor.shape))
    value = detached.tolist()
    return value if isinstance(value, float) and math.isfinite(value) else to_value(value)


def finite_value(nested: Any, depth: int) -> Value:
    """Return what ``to_value`` does, for numbers that are all finite: whole rows at a time."""
    return tuple(nested) if depth == 1 else tuple(finite_value(part, depth - 1) for part in nested)


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
        self, named: Mapping[str, TensorLike], rows: Mapping[str, TensorRow], *, saved: bool, values: bool, detailed: float
    ) -> None:
        self.rows = rows
        self.saved = saved
        self.values = values
        self.detailed = detailed
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.ids: dict[int, str] = {}
        self.alive: list[object] = []
        self.name_of: dict[int, str] = {}
        self.made_by: dict[int, str] = {}
        self.saved_names: dict[type, list[str]] = {}
        for name, tensor in named.items():
            self.name_of.setdefault(id(tensor), name)
            node = tensor.grad_fn
            if node is not None:
                self.alive.append(node)
                self.made_by.setdefault(id(node), name)

    def new_id(self, thing: object) -> str:
        """Return the next id, remembered for this object."""
        self.alive.append(thing)
        self.ids[id(thing)] = name = f"n{len(self.nodes)}"
        return name

    def add_root(self, name: str, root: TensorLike) -> str:
        """Add a root tensor, all that is below it, and the bases it is a view of; return the root's id."""
        first = self.ids.get(id(root))
        tensor, view = root, None
        while first is None or view is not None:
            known = self.ids.get(id(tensor))
            here = known or self.add_tensor(tensor, *(("output", name) if tensor is root else ("intermediate", None)))
            first = first or here
            if view is not None:
                self.edges.append(Edge(here, view, kind="view"))
            if known is not None:
                break
            if tensor.grad_fn is not None:
                self.add_below(tensor.grad_fn)
                self.edges.append(Edge(self.ids[id(tensor.grad_fn)], here, output=int(getattr(tensor, "output_nr", 0))))
            base = tensor._base if tensor._is_view() else None
            if base is None:
                break
            tensor, view = base, here
        return first

    def add_tensor(self, tensor: TensorLike, kind: str, name: str | None = None, label: str = "") -> str:
        """Add a box for a tensor."""
        name = self.name_of.get(id(tensor)) if name is None else name
        row = self.rows.get(name) if name is not None else None
        if row is None:
            row = tensor_row(name or "", tensor, values=self.values)
        node_id = self.new_id(tensor)
        plain = kind == "saved" and (row.name == "" or not row.is_leaf)  # a number, or what another box tells of
        state = "" if plain else state_of(row, tensor)
        self.nodes.append(Node(node_id, kind, label, name, row.shape, row.dtype, row.value, row.grad, state))
        return node_id

    def add_below(self, start: NodeLike) -> None:
        """Add a node and everything below it, depth first along the slots, without recursion.

        TorchViz adds the edge to an input first and what is below that input then; so does this.
        """
        if id(start) in self.ids:
            return
        ids, add_edge = self.ids, self.edges.append
        here, below = self.enter(start)
        stack = [(here, enumerate(below))]
        while stack:
            target, slots = stack[-1]
            for slot, (node, number) in slots:
                if node is None:
                    continue
                known = ids.get(id(node))
                if known is None:
                    known, below = self.enter(node)
                    add_edge(Edge(known, target, slot, "", "data", number))
                    stack.append((known, enumerate(below)))
                    break
                add_edge(Edge(known, target, slot, "", "data", number))
            else:
                stack.pop()

    def enter(self, node: NodeLike) -> tuple[str, Sequence[tuple[NodeLike | None, int]]]:
        """Add a box for an operation, or for a leaf's AccumulateGrad with the leaf; return its id and its slots."""
        node_id, cls = self.new_id(node), type(node)
        label, slots = cls.__name__, node.next_functions
        if label == "AccumulateGrad" and (variable := getattr(node, "variable", None)) is not None:
            self.nodes.append(Node(node_id, "accumulate", label))
            self.edges.append(Edge(self.add_leaf(variable), node_id))
            return node_id, slots
        name, custom = self.made_by.get(id(node)), hasattr(cls, "saved_tensors")
        if name is None and not self.saved and not custom and len(self.nodes) >= self.detailed:
            self.nodes.append(Node(node_id, "operation", label, slots=len(slots)))
            return node_id, slots
        attributes = tuple(self.saved_attributes(node))
        attrs = tuple((key, brief(value)) for key, value in attributes)
        state = FREED if any(text == FREED for _, text in attrs) else ""
        if name is not None:
            row = self.rows[name]
            state = state or ("retained" if row.retains_grad else "")
            self.nodes.append(
                Node(node_id, "operation", label, row.name, row.shape, row.dtype, row.value, row.grad, state, len(slots), attrs)
            )
        else:
            shape = made_shape(node)
            self.nodes.append(Node(node_id, "operation", label, shape=shape, state=state, slots=len(slots), attrs=attrs))
        if self.saved:
            self.add_saved(node_id, attributes)
        if custom:
            self.add_saved(node_id, (("saved", custom_saved(node)),))
        return node_id, slots

    def add_leaf(self, leaf: TensorLike) -> str:
        """Return the id of a leaf's box; if an operation that saved it was met first, its box becomes that of a leaf."""
        known = self.ids.get(id(leaf))
        if known is None:
            return self.add_tensor(leaf, "leaf")
        position = int(known[1:])
        if self.nodes[position].kind == "saved":
            state = self.nodes[position].state or state_of(tensor_row("", leaf, values=self.values), leaf)
            self.nodes[position] = self.nodes[position]._replace(kind="leaf", label="", state=state)
        return known

    def add_saved(self, node_id: str, attributes: tuple[tuple[str, Any], ...]) -> None:
        """Add boxes for the tensors that an operation keeps."""
        for key, value in attributes:
            items = enumerate(value) if isinstance(value, tuple | list) else [(None, value)]
            for index, item in items:
                if not is_tensor(item):
                    continue
                label = key if index is None else f"{key}[{index}]"
                known = self.ids.get(id(item)) or self.add_tensor(item, "saved", label=label)
                self.edges.append(Edge(known, node_id, label=label, kind="saved"))

    def saved_attributes(self, node: NodeLike) -> Iterator[tuple[str, Any]]:
        """Yield (name, value) of what the node saved, in order of the names; a freed tensor is the text "freed"."""
        names = self.saved_names.get(type(node))
        if names is None:
            names = self.saved_names[type(node)] = sorted(name for name in dir(node) if name.startswith(SAVED))
        for name in names:
            try:
                value = getattr(node, name)
            except RuntimeError:  # PyTorch's answer for what backward has freed, or what was changed in place since
                value = FREED
            yield name.removeprefix(SAVED), value


def made_shape(node: object) -> tuple[int, ...] | None:
    """Return the shape of what an operation made, which a gradient that arrives must have; None if it made several tensors."""
    made: Any = getattr(node, "_input_metadata", ())
    return sizes(made[0]) if len(made) == 1 else None


def state_of(row: TensorRow, tensor: TensorLike) -> str:
    """Return the honest remark on a tensor's gradient."""
    if row.grad is not None:
        return "retained" if not row.is_leaf else ""
    if not row.requires_grad:
        return "frozen" if row.is_leaf and tensor.grad_fn is None else ""
    return "no gradient yet" if row.is_leaf or row.retains_grad else "not retained"


def custom_saved(node: Any) -> tuple[object, ...]:
    """Return what the user's own Function saved, which TorchViz always draws; nothing if backward has freed it."""
    try:
        return tuple(node.saved_tensors)
    except RuntimeError:
        return ()


def brief(value: Any) -> str:
    """Return a saved value as one line."""
    if is_tensor(value):
        return f"[saved tensor] {sizes(value)}"
    if isinstance(value, tuple) and any(map(is_tensor, value)):
        return "[saved tensors]"
    return str(value)


def graph(tensors: Any, params: Mapping[str, Any] | None = None, *, saved: bool = False) -> Graph:
    """Return the graph of tensors, of gviz's engine or of the real torch: ``gviz.graph(loss).save("loss.svg")``.

    Args:
        tensors: the root: a tensor; for several roots a list of tensors, or a dict of their names.
        params: tensors by name, as in ``dict(model.named_parameters())``: names for boxes, and rows of the table.
        saved: whether the tensors that operations save for backward are nodes of their own.

    Raises:
        TypeError: an argument is not a tensor.

    >>> from gviz import engine as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> [(node.kind, node.name) for node in graph(x * x, {"x": x}).nodes]
    [('output', 'output'), ('operation', 'output'), ('accumulate', None), ('leaf', 'x')]
    """
    names = dict(params or {})
    if not isinstance(tensors, dict):
        roots = list(tensors) if isinstance(tensors, list | tuple) else [tensors]
        known = {id(tensor): name for name, tensor in reversed(names.items())}
        fresh = ("output" if len(roots) == 1 else f"output{number}" for number in range(1, len(roots) + 1))
        tensors = {known.get(id(root), name): root for root, name in zip(roots, fresh, strict=True)}
    for name, tensor in (tensors | names).items():
        if not is_tensor(tensor):
            raise TypeError(f"gviz.graph() takes tensors, but {name!r} is a {type(tensor).__name__}")
    return walk(tensors, names, saved=saved)


MOST_IN_NOTEBOOK = 300
"""Boxes of a tensor's picture in a notebook; of a larger graph it shows the tensor's numbers, for a layout may take minutes."""


def notebook_picture(tensor: Any) -> str | None:
    """Return the graph of a tensor as SVG, as notebooks show it; None, for its text, if it is a leaf or the graph is large."""
    if tensor.is_leaf:
        return None
    drawn = graph(tensor)
    return drawn._repr_svg_() if len(drawn.nodes) <= MOST_IN_NOTEBOOK else None
