"""From tensors to the graph as data: follow ``grad_fn`` edges as TorchViz does.

The walk asks only for what every PyTorch node has (``next_functions``, ``variable``, ``_saved_*``), so gviz's own engine and
real PyTorch look the same to it. It goes in the order in which TorchViz draws: a root, then depth first along the slots of
each node; an explicit stack takes the place of recursion, so a chain of a million operations is no deeper than two.
"""

from __future__ import annotations

import gc
import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gviz.graph import Edge, Graph, Node, TensorRow, Value, to_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["tensor_row", "walk"]

SAVED = "_saved_"


def walk(
    roots: Mapping[str, Any],
    names: Mapping[str, Any] | None = None,
    *,
    saved: bool = False,
    expressions: Mapping[str, str] | None = None,
) -> Graph:
    """The graph below the roots.

    Args:
        roots: name -> tensor, in the order to draw them. A root may be a leaf; it is then drawn alone.
        names: the program's named tensors, in order; the roots are added where they are missing.
        saved: draw the tensors that operations keep for backward, as nodes of their own.
        expressions: what an intermediate that gviz named stands for, by its name.

    Returns:
        A graph with TorchViz's nodes and edges, and a row for each named tensor.
    """
    named = dict(names or {})
    for name, root in roots.items():
        named.setdefault(name, root)
    rows = {name: tensor_row(name, tensor, (expressions or {}).get(name)) for name, tensor in named.items()}
    walker = Walker(named, rows, saved=saved)
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


def tensor_row(name: str, tensor: Any, expression: str | None = None) -> TensorRow:
    """What ``gviz inspect`` tells of one tensor."""
    node = tensor.grad_fn
    return TensorRow(
        name=name,
        shape=tuple(int(size) for size in tensor.shape),
        dtype=str(tensor.dtype).rpartition(".")[2],
        requires_grad=bool(tensor.requires_grad),
        is_leaf=bool(tensor.is_leaf),
        retains_grad=bool(tensor.retains_grad),
        grad_fn=None if node is None else type(node).__name__,
        value=numbers(tensor),
        grad=None if (grad := gradient(tensor)) is None else numbers(grad),
        expression=expression,
    )


MANY, MOST = 1_000, 1_000_000
"""Elements from which values are looked at as a whole, and above which a graph leaves them out (a model's weights)."""


def numbers(tensor: Any) -> Value:
    """A tensor's values as a graph holds them; None where there are more than a person or a program will read."""
    count = math.prod(int(size) for size in tensor.shape)
    if count > MOST:
        return None
    detached = tensor.detach()
    if count > MANY and bool(detached.isfinite().all()):
        return finite_value(detached.tolist(), len(tensor.shape))
    return to_value(detached.tolist())


def finite_value(nested: Any, depth: int) -> Value:
    """The same as ``to_value`` for numbers that are all finite: whole rows at a time."""
    return tuple(nested) if depth == 1 else tuple(finite_value(part, depth - 1) for part in nested)


def gradient(tensor: Any) -> Any:
    """The gradient that is there, without PyTorch's warning for a non-leaf that keeps none."""
    if not tensor.is_leaf and not tensor.retains_grad:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tensor.grad


class Walker:
    """Collects nodes and edges; nodes are keyed by identity and kept alive, and get ids in the order they are met."""

    def __init__(self, named: Mapping[str, Any], rows: Mapping[str, TensorRow], *, saved: bool) -> None:
        self.rows = rows
        self.saved = saved
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.ids: dict[int, str] = {}
        self.alive: list[Any] = []
        self.name_of: dict[int, str] = {}
        self.made_by: dict[int, list[str]] = {}
        self.saved_names: dict[type, list[str]] = {}
        for name, tensor in named.items():
            self.name_of.setdefault(id(tensor), name)
            node = tensor.grad_fn
            if node is not None:
                self.alive.append(node)
                self.made_by.setdefault(id(node), []).append(name)

    def new_id(self, thing: Any) -> str:
        """The next id, remembered for this object."""
        self.alive.append(thing)
        self.ids[id(thing)] = name = f"n{len(self.nodes)}"
        return name

    def add_root(self, name: str, root: Any) -> str:
        """A root tensor, all that is below it, and the bases it is a view of; returns the root's id."""
        first = self.ids.get(id(root))
        tensor, view_of = root, None
        while first is None or view_of is not None:
            known = id(tensor) in self.ids
            here = self.ids[id(tensor)] if known else self.add_root_tensor(tensor, name if tensor is root else None)
            first = first or here
            if view_of is not None:
                self.edges.append(Edge(here, view_of, kind="view"))
            if known:
                break
            if tensor.grad_fn is not None:
                self.add_below(tensor.grad_fn)
                self.edges.append(Edge(self.ids[id(tensor.grad_fn)], here, output=int(getattr(tensor, "output_nr", 0))))
            if not is_view(tensor):
                break
            tensor, view_of = tensor._base, here
        return first

    def add_root_tensor(self, tensor: Any, name: str | None) -> str:
        """A box for a root, or (without a name of its own) for a base that it is a view of."""
        return self.add_tensor(tensor, name, "intermediate" if name is None else "output")

    def add_tensor(self, tensor: Any, name: str | None, kind: str, label: str = "") -> str:
        """A box for a tensor."""
        name = self.name_of.get(id(tensor), name) if name is None else name
        row = self.rows.get(name) if name is not None else None
        if row is None:
            row = tensor_row(name or "", tensor)
        node_id = self.new_id(tensor)
        plain = kind == "saved" and (row.name == "" or not row.is_leaf)  # a number, or what another box tells of
        state = "" if plain else state_of(row, tensor)
        self.nodes.append(Node(node_id, kind, label, name, row.shape, row.dtype, row.value, row.grad, state))
        return node_id

    def add_below(self, start: Any) -> None:
        """A node and everything below it, depth first along the slots, without recursion.

        TorchViz adds the edge to an input first and what is below that input then; so does this.
        """
        if id(start) in self.ids:
            return
        ids, edges = self.ids, self.edges
        here, slots = self.enter(start)
        stack = [(here, enumerate(slots))]
        while stack:
            target, slots = stack[-1]
            for slot, (node, number) in slots:
                if node is None:
                    continue
                known = ids.get(id(node))
                if known is None:
                    known, below = self.enter(node)
                    edges.append(Edge(known, target, slot, "", "data", number))
                    stack.append((known, enumerate(below)))
                    break
                edges.append(Edge(known, target, slot, "", "data", number))
            else:
                stack.pop()

    def enter(self, node: Any) -> tuple[str, Any]:
        """A box for an operation, or for a leaf's AccumulateGrad together with the leaf; returns its id and its slots."""
        node_id = self.new_id(node)
        label, slots = type(node).__name__, node.next_functions
        if label == "AccumulateGrad" and (variable := getattr(node, "variable", None)) is not None:
            self.nodes.append(Node(node_id, "accumulate", label))
            self.edges.append(Edge(self.add_leaf(variable), node_id))
            return node_id, slots
        names, custom = self.made_by.get(id(node)), hasattr(type(node), "saved_tensors")
        if not names and not self.saved and not custom and len(self.nodes) >= DETAILED:
            self.nodes.append(Node(node_id, "operation", label, slots=len(slots)))
            return node_id, slots
        attributes = tuple(self.saved_attributes(node))
        attrs = tuple((key, brief(value)) for key, value in attributes)
        state = FREED if any(text == FREED for _, text in attrs) else ""
        if names:
            row = self.rows[names[0]]
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

    def add_leaf(self, leaf: Any) -> str:
        """The box of a leaf; where an operation that saved it was met first, its box becomes that of a leaf."""
        known = self.ids.get(id(leaf))
        if known is None:
            return self.add_tensor(leaf, None, "leaf")
        position = int(known[1:])
        if self.nodes[position].kind == "saved":
            state = self.nodes[position].state or state_of(tensor_row("", leaf), leaf)
            self.nodes[position] = replace(self.nodes[position], kind="leaf", label="", state=state)
        return known

    def add_saved(self, node_id: str, attributes: tuple[tuple[str, Any], ...]) -> None:
        """Boxes for the tensors that an operation keeps."""
        for key, value in attributes:
            items = enumerate(value) if isinstance(value, tuple | list) else [(None, value)]
            for index, item in items:
                if not hasattr(item, "grad_fn"):
                    continue
                label = key if index is None else f"{key}[{index}]"
                known = self.ids.get(id(item)) or self.add_tensor(item, None, "saved", label)
                self.edges.append(Edge(known, node_id, label=label, kind="saved"))

    def saved_attributes(self, node: Any) -> Iterator[tuple[str, Any]]:
        """(name, value) of what the node saved, in order of the names; freed tensors are told as such."""
        names = self.saved_names.get(type(node))
        if names is None:
            names = self.saved_names[type(node)] = sorted(name for name in dir(node) if name.startswith(SAVED))
        for name in names:
            try:
                value = getattr(node, name)
            except RuntimeError:  # PyTorch's answer for what backward has freed, or what was changed in place since
                value = FREED
            yield name.removeprefix(SAVED), value


DETAILED = 5_000
"""Only the first boxes of a large graph tell what they saved: reading it costs more than the walk itself."""
FREED = "freed"


def is_view(tensor: Any) -> bool:
    """Whether the tensor is a view of another one."""
    return bool(tensor._is_view()) and tensor._base is not None


def made_shape(node: Any) -> tuple[int, ...] | None:
    """The shape of what an operation made, which a gradient that arrives must have; None where it made several tensors."""
    made: Any = getattr(node, "_input_metadata", ())
    return tuple(int(size) for size in made[0].shape) if len(made) == 1 else None


def state_of(row: TensorRow, tensor: Any) -> str:
    """The honest remark on a tensor's gradient."""
    if row.grad is not None:
        return "retained" if not row.is_leaf else ""
    if not row.requires_grad:
        return "frozen" if row.is_leaf and tensor.grad_fn is None else ""
    return "no gradient yet" if row.is_leaf or row.retains_grad else "not retained"


def custom_saved(node: Any) -> tuple[Any, ...]:
    """What the user's own Function saved, which TorchViz always draws; nothing where backward has freed it."""
    try:
        return tuple(node.saved_tensors)
    except RuntimeError:
        return ()


def brief(value: Any) -> str:
    """A saved value as one line."""
    if hasattr(value, "grad_fn"):
        return f"[saved tensor] {tuple(int(size) for size in value.shape)}"
    return str(value)
