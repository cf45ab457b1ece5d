"""The graph as data: plain, frozen, ordered values that every renderer and pass reads.

A :class:`Graph` comes from :func:`gviz.walk.walk` (or from its own JSON) and knows nothing of the engine that
recorded it: names, numbers and text only, no memory address anywhere, so that equal programs give equal bytes.

Edges point the way the data flows, from the leaves to the root, as TorchViz draws them: ``source`` is the
``next_functions[slot]`` of ``target``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

__all__ = ["EDGE_KINDS", "KINDS", "Edge", "Graph", "Node", "TensorRow", "Value"]

Value: TypeAlias = "float | int | bool | str | tuple[Value, ...] | None"
"""A number for 0-d, else nested tuples of numbers; not-a-number and infinities are the texts "nan", "inf", "-inf"."""

KINDS = ("operation", "accumulate", "leaf", "output", "intermediate", "saved", "constant", "frozen", "placeholder", "variable")
"""What a node stands for. ``output`` is a root tensor; ``intermediate`` a tensor on the way (the base of a view);
``placeholder`` and ``variable`` are operations of static graphs."""

EDGE_KINDS = ("data", "view", "saved", "control")
"""``data`` is an autograd edge, ``view`` joins a base to its view, ``saved`` an operation to what it keeps; ``control`` says
that one operation of a static graph runs before another."""

FORMAT = "gviz-graph"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Node:
    """One box of the picture.

    Args:
        id: ``n0``, ``n1``, ... counted in the order of the walk.
        kind: one of :data:`KINDS`.
        label: class name of the grad_fn (``MulBackward0``), or of the saved attribute (``other``); "" for tensors.
        name: name of the tensor that the node holds or makes; None where the program gave it none.
        shape: of that tensor; None in it for a length that a static graph does not know.
        dtype: of that tensor, as in ``float32``.
        value: of that tensor.
        grad: its gradient, None where there is none.
        state: honest remark, such as ``freed``, ``retained`` or ``not retained``; "" for nothing to say.
        slots: how many inputs the operation has, empty ones (constants, frozen inputs) included.
        attrs: what the operation saved, (name, text) in order of the names, as in ``("alpha", "1")``.
        scope: the name scope of a static graph's operation, as in ``outer/inner``.
    """

    id: str
    kind: str
    label: str = ""
    name: str | None = None
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    value: Value = None
    grad: Value = None
    state: str = ""
    slots: int = 0
    attrs: tuple[tuple[str, str], ...] = ()
    scope: str = ""

    def __post_init__(self) -> None:
        """Refuse a node that no renderer could draw."""
        if self.kind not in KINDS:
            raise ValueError(f"node {self.id!r} has the unknown kind {self.kind!r}; one of {', '.join(KINDS)}")
        if not self.id or not isinstance(self.id, str):
            raise ValueError(f"a node needs a text as id, not {self.id!r}")
        if self.slots < 0:
            raise ValueError(f"node {self.id!r} has {self.slots} slots")


@dataclass(frozen=True, slots=True)
class Edge:
    """One arrow, in the direction of the data.

    Args:
        source: id of the node the data comes from.
        target: id of the node that uses it.
        slot: which input of ``target`` this is, counted from 0.
        label: text on the arrow, such as a local derivative; "" for none.
        kind: one of :data:`EDGE_KINDS`.
        output: which output of ``source`` is used (``unbind`` has several), counted from 0.
    """

    source: str
    target: str
    slot: int = 0
    label: str = ""
    kind: str = "data"
    output: int = 0

    def __post_init__(self) -> None:
        """Refuse an edge of no known kind, or one with a negative slot."""
        if self.kind not in EDGE_KINDS:
            raise ValueError(f"edge {self.source} -> {self.target} has the unknown kind {self.kind!r}")
        if self.slot < 0 or self.output < 0:
            raise ValueError(f"edge {self.source} -> {self.target} has a negative slot or output")


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One named tensor of the program: a row of ``gviz inspect``.

    Args:
        name: as in the program; nested ones as ``parts[0]``, ``d['k']``, ``net.fc.weight``.
        shape: sizes.
        dtype: as in ``float32``.
        requires_grad: whether gradients flow to it.
        is_leaf: whether the user made it, rather than a recorded operation.
        retains_grad: whether a non-leaf keeps its gradient.
        grad_fn: class name of its grad_fn, or None.
        value: its numbers.
        grad: its gradient now, or None.
        expression: what an unnamed intermediate stands for (``x + w``), or None.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool
    grad_fn: str | None
    value: Value
    grad: Value = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """A computational graph, ready to be drawn, listed or saved.

    Args:
        nodes: in the order of the walk; ids are unique.
        edges: in the order of the walk; both ends are among the nodes.
        roots: ids of the root tensors' nodes, in the order asked for.
        tensors: the program's named tensors, in the order of their first assignment.
        title: what the picture is of; usually the roots' names.
        kind: "autograd" for a graph that was recorded, "static" for one that was defined to be run later.

    Raises:
        ValueError: an id twice, an edge or root without its node.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    roots: tuple[str, ...] = ()
    tensors: tuple[TensorRow, ...] = ()
    title: str = ""
    kind: str = "autograd"

    def __post_init__(self) -> None:
        """Check that ids are unique and that every end of an edge exists."""
        ids = {node.id for node in self.nodes}
        if len(ids) != len(self.nodes):
            seen: set[str] = set()
            twice = next(n.id for n in self.nodes if n.id in seen or seen.add(n.id))  # type: ignore[func-returns-value]
            raise ValueError(f"two nodes have the id {twice!r}")
        for edge in self.edges:
            if edge.source not in ids or edge.target not in ids:
                lost = edge.target if edge.source in ids else edge.source
                raise ValueError(f"edge {edge.source} -> {edge.target}: there is no node {lost!r}")
        for root in self.roots:
            if root not in ids:
                raise ValueError(f"there is no node {root!r} to be a root")

    def node(self, node_id: str) -> Node:
        """The node of that id.

        Raises:
            KeyError: there is none.
        """
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    def to_json(self) -> str:
        """The whole graph as JSON text, ending in a newline; :meth:`from_json` is the inverse.

        >>> Graph.from_json(Graph(nodes=(Node("n0", "leaf"),)).to_json()).nodes[0].kind
        'leaf'
        """
        import json  # here, since most graphs are drawn and never saved

        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """The graph as JSON-able dicts; fields that hold their default are left out of nodes and edges."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            **({} if self.kind == "autograd" else {"kind": self.kind}),
            "roots": list(self.roots),
            "nodes": [_record(node) for node in self.nodes],
            "edges": [_record(edge) for edge in self.edges],
            "tensors": [{f.name: getattr(row, f.name) for f in fields(row)} for row in self.tensors],
        }

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: not JSON, not a graph of gviz, a newer version, or a graph that breaks its own rules.
        """
        import json

        try:
            data = json.loads(text)
        except RecursionError:
            raise ValueError("the JSON is nested too deeply for a graph of gviz") from None
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: object) -> Graph:
        """The inverse of :meth:`as_dict`.

        Raises:
            ValueError: as for :meth:`from_json`.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f'this JSON is no graph of gviz (no "format": "{FORMAT}" in it)')
        if data.get("version") != VERSION:
            raise ValueError(f"this graph has the version {data.get('version')!r}; this gviz reads version {VERSION}")
        try:
            return cls(
                nodes=tuple(_build(Node, row) for row in data["nodes"]),
                edges=tuple(_build(Edge, row) for row in data["edges"]),
                roots=tuple(data.get("roots", ())),
                tensors=tuple(_build(TensorRow, row) for row in data.get("tensors", ())),
                title=str(data.get("title", "")),
                kind=str(data.get("kind", "autograd")),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this graph is incomplete or has unknown parts: {error}") from None


def to_value(nested: object) -> Value:
    """Numbers as ``tolist()`` gives them, made fit for JSON: lists to tuples, nan and infinities to text.

    >>> to_value([1.0, float("inf")])
    (1.0, 'inf')
    """
    if isinstance(nested, list | tuple):
        return tuple(to_value(item) for item in nested)
    if isinstance(nested, complex):
        return str(nested)
    if isinstance(nested, float) and not math.isfinite(nested):
        return "nan" if math.isnan(nested) else "inf" if nested > 0 else "-inf"
    return nested  # type: ignore[return-value]


def _record(item: Node | Edge) -> dict[str, Any]:
    """The fields of a node or edge that differ from their defaults, and all that have none."""
    pairs: Iterable[tuple[str, Any, Any]] = ((f.name, getattr(item, f.name), f.default) for f in fields(item))
    return {name: value for name, value, default in pairs if value != default or name in ("slot", "kind")}


def _build(kind: type[Any], row: Mapping[str, Any]) -> Any:
    """A dataclass from its JSON record; lists become tuples again."""
    return kind(**{str(k): _tuples(v) for k, v in row.items()})


def _tuples(value: object) -> object:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
