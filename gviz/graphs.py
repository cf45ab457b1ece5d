"""The graph as data: plain, frozen, ordered values that every renderer and pass reads.

A :class:`Graph` comes from :func:`gviz.walk.walk` (or from its own JSON) and knows nothing of the engine that
recorded it: names, numbers and text only, no memory address anywhere, so that equal programs give equal bytes.

Edges point the way the data flows, from the leaves to the root, as TorchViz draws them: ``source`` is the
``next_functions[slot]`` of ``target``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from gviz.text import excerpt, line_text

Value: TypeAlias = "float | int | bool | str | tuple[Value, ...] | None"
"""A number for 0-d, else nested tuples of numbers; not-a-number and infinities are the texts "nan", "inf", "-inf"."""

KINDS = (
    "operation",
    "accumulate",
    "leaf",
    "output",
    "intermediate",
    "saved",
    "constant",
    "frozen",
    "placeholder",
    "variable",
)
"""The kinds of a node. ``output`` is a root tensor; ``intermediate`` a tensor on the way (the base of a view);
``placeholder`` and ``variable`` are operations of static graphs."""

EDGE_KINDS = ("data", "view", "saved", "control")
"""``data`` is an autograd edge, ``view`` joins a base to its view, ``saved`` an operation to what it keeps; ``control``
says that one operation of a static graph runs before another."""

MOST_IN_NOTEBOOK = 300
"""Boxes of a picture that a notebook shows by itself; the layout of a larger one may take minutes."""

FORMAT = "gviz-graph"
VERSION = 1


class Node(NamedTuple):
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
        state: honest remark, such as ``freed``, ``retained`` or ``not retained``; "" for none.
        slots: how many inputs the operation has, empty ones (constants, frozen inputs) included.
        attrs: what the operation saved, (name, text) in order of the names, as in ``("alpha", "1")``.
        scope: the name scope of a static graph's operation, as in ``outer/inner``.
        expression: what an operation computes, in the program's names, as in ``x + w``; "" where that is not known.
        outputs: names of what an operation with several outputs makes, in their order; "" for one without a name.
        arrives: the gradient that arrives at an operation when backward runs; None where that was not asked for.
        is_letter: whether gviz has named what an operation makes, since the program gave it no name.
        line: of the program that an operation was recorded at, counted from 1; 0 where that was not asked for.
        column: of an expression, counted from 1; 0 for a script.
        file: where that line is, if it is not in the source itself.
        turn: the how manieth run of a line that was, counted over the whole program.
        seconds: how long the call took; None where that was not asked for.
        kept: bytes of the tensors that it saves for backward; None where that was not asked for.
        is_written: whether it has written its result in place, at that line.
        held: the tensors without gradient that it saves and that can be told: (attribute, name), or a number of the
            program's.
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
    expression: str = ""
    outputs: tuple[str, ...] = ()
    arrives: Value = None
    is_letter: bool = False
    line: int = 0
    column: int = 0
    file: str = ""
    turn: int = 0
    seconds: float | None = None
    kept: int | None = None
    is_written: bool = False
    held: tuple[tuple[str, str], ...] = ()


class Edge(NamedTuple):
    """One arrow, in the direction of the data.

    Args:
        source: id of the node the data comes from.
        target: id of the node that uses it.
        slot: which input of ``target`` this is, counted from 0.
        label: text on the arrow, such as a local derivative; "" for none.
        kind: one of :data:`EDGE_KINDS`.
        output: which output of ``source`` is used (``unbind`` has several), counted from 0.
        symbol: the local derivative of ``target`` for this input, as in ``b`` for a * b; "" where that was not asked
            for.
        local: its value, if it is a factor for each element.
        handed: the gradient that ``target`` hands on to this input.
        jacobian: the derivatives of ``target`` for this input as a matrix, a row for each element of ``target``, a
            column for each of the input; None where that was not asked for, or ``local`` says as much.
    """

    source: str
    target: str
    slot: int = 0
    label: str = ""
    kind: str = "data"
    output: int = 0
    symbol: str = ""
    local: Value = None
    handed: Value = None
    jacobian: Value = None


class TensorRow(NamedTuple):
    """One named tensor of the program: a row of ``gviz inspect``.

    Args:
        name: as in the program; nested ones as ``parts[0]``, ``d['k']``, ``net.fc.weight``.
        shape: sizes.
        dtype: as in ``float32``.
        requires_grad: True if gradients flow to it.
        is_leaf: True if the user made it, rather than a recorded operation.
        retains_grad: True for a non-leaf that keeps its gradient.
        grad_fn: class name of its grad_fn, or None.
        value: its numbers.
        grad: its gradient now, or None.
        expression: that of an unnamed intermediate (``x + w``), or None.
        line: of the program that made it; 0 where that is not known.
        file: where that line is, if it is not in the source itself.
        cut: why it is outside the graph though it was made from tensors inside: ``detached``, ``no_grad`` or
            ``no derivative``; "" otherwise.
        cut_by: the call that did it.
        cut_at: where, as in ``line 3``.
        cut_from: the name of the tensor inside, if it has one.
        before: its gradient when backward was called, where lines were asked for.
        leaves: names of the leaves that a non-leaf is made from, likewise.
        taken_at: where the program has set its gradient to None or to zeros, after the last backward that brought one,
            as in ``line 3``; "" if it has not, or that was not asked for.
        was_used: whether it was used by then: the program has read the gradient, or the tensor was written.
        was_early: whether a later backward, of something else, followed on that.
        cured_at: where it was made to require a gradient, though it had been cut off; this brings no graph back.
        is_written: whether its memory was written in place at its line.
        by_hand_at: where ``torch.autograd.grad`` was asked for its gradient last, which leaves .grad as it is.
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
    line: int = 0
    file: str = ""
    cut: str = ""
    cut_by: str = ""
    cut_at: str = ""
    cut_from: str = ""
    before: Value = None
    leaves: tuple[str, ...] = ()
    taken_at: str = ""
    was_used: bool = False
    was_early: bool = False
    cured_at: str = ""
    by_hand_at: str = ""
    is_written: bool = False


class Cut(NamedTuple):
    """A line of the program that cut tensors off from the graph.

    Args:
        at: the line, as in ``line 3``.
        by: the call that did it.
        why: ``detached``, ``no_grad`` or ``no derivative``.
        leaves: names of the leaves behind what was cut off.
        is_used: whether what came of it is used in the graph.
        is_number: whether numbers came of it, as by ``item()`` or ``numpy()``: what becomes of these cannot be
            followed.
    """

    at: str
    by: str
    why: str
    leaves: tuple[str, ...] = ()
    is_used: bool = False
    is_number: bool = False


@dataclass(frozen=True)
class Graph:
    """A computational graph, ready to be drawn, listed or saved.

    Args:
        nodes: in the order of the walk; ids are unique.
        edges: in the order of the walk; both ends are among the nodes.
        roots: ids of the root tensors' nodes, in the order asked for.
        tensors: the program's named tensors, in the order of their first assignment.
        title: of the picture; usually the roots' names.
        kind: "autograd" for a graph that was recorded, "static" for one that was defined to be run later.
        error: why the program stopped, its line and the message, if it did; the picture says so.
        code: the program, where its lines were asked for.
        line: of it, at which backward was called; 0 where that is not known.
        file: where that line is, if it is not in the source itself: ``cell 2`` of a notebook.
        codes: the places in other files, or in a notebook's cells, that something in the graph names, each with its
            code.
        writes: the writes in place that an error is about, each with its line and the name of the call, in order.
        cuts: the lines that cut tensors off from it.
        turn: of the last line that had run when the backward before this one was called; 0 if this was the first.

    Raises:
        ValueError: an id twice, an edge or root without its node.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    roots: tuple[str, ...] = ()
    tensors: tuple[TensorRow, ...] = ()
    title: str = ""
    kind: str = "autograd"
    error: str = ""
    code: str = ""
    line: int = 0
    file: str = ""
    codes: tuple[tuple[str, str], ...] = ()
    writes: tuple[tuple[str, str], ...] = ()
    cuts: tuple[Cut, ...] = ()
    turn: int = 0

    def __post_init__(self) -> None:
        """Refuse what no renderer could draw; the records themselves are not checked, since walks make very many of them."""
        ids: set[str] = set()
        for node in self.nodes:
            if not node.id or not isinstance(node.id, str):
                raise ValueError(f"a node needs a text as id, not {excerpt(repr(node.id))}")
            if node.id in ids:
                raise ValueError(f"two nodes have the id {excerpt(repr(node.id))}")
            if node.kind not in KINDS:
                raise ValueError(
                    f"node {excerpt(repr(node.id))} has the unknown kind {excerpt(repr(node.kind))}; one of {', '.join(KINDS)}"
                )
            if node.slots < 0:
                raise ValueError(f"node {excerpt(repr(node.id))} has {node.slots} slots")
            ids.add(node.id)
        for source, target, slot, _, kind, output, *_ in self.edges:
            if source not in ids or target not in ids:
                missing = excerpt(repr(target if source in ids else source))
                raise ValueError(f"{_arrow(source, target)}: there is no node {missing}")
            if kind not in EDGE_KINDS:
                word = excerpt(repr(kind))
                raise ValueError(
                    f"{_arrow(source, target)} has the unknown kind {word}; one of {', '.join(EDGE_KINDS)}"
                )
            if slot < 0 or output < 0:
                raise ValueError(f"{_arrow(source, target)} has a negative slot or output")
        for root in self.roots:
            if root not in ids:
                raise ValueError(f"there is no node {excerpt(repr(root))} to be a root")

    def __repr__(self) -> str:
        """Return the title and the size: ``<Graph y: 8 boxes, 7 arrows>``."""
        return f"<{self.summary('Graph')}>"

    def summary(self, word: str) -> str:
        """Return the word, the title and the size, as a short representation has them."""
        boxes = "1 box" if len(self.nodes) == 1 else f"{len(self.nodes)} boxes"
        arrows = "1 arrow" if len(self.edges) == 1 else f"{len(self.edges)} arrows"
        return f"{' '.join(filter(None, [word, excerpt(self.title)]))}: {boxes}, {arrows}"

    @cached_property
    def by_id(self) -> dict[str, Node]:
        """The nodes by their ids, in their order."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def inputs(self) -> dict[str, list[Edge]]:
        """For each node the edges that lead to it, in the order of the walk."""
        inputs: dict[str, list[Edge]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            inputs[edge.target].append(edge)
        return inputs

    @cached_property
    def uses(self) -> dict[str, list[Edge]]:
        """For each node the edges that lead from it, likewise."""
        uses: dict[str, list[Edge]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            uses[edge.source].append(edge)
        return uses

    def node(self, node_id: str) -> Node:
        """Return the node of that id; KeyError if there is none."""
        return self.by_id[node_id]

    def inputs_first(self, kinds: Collection[str] = EDGE_KINDS) -> list[Node]:
        """Return the nodes, each after those that edges of these kinds lead from; without those on a circle."""
        waiting = {node: sum(edge.kind in kinds for edge in edges) for node, edges in self.inputs.items()}
        ready = [node for node, count in waiting.items() if not count]
        for node in ready:  # grows while it is read
            for edge in self.uses[node]:
                if edge.kind in kinds:
                    waiting[edge.target] -= 1
                    if not waiting[edge.target]:
                        ready.append(edge.target)
        return [self.by_id[node] for node in ready]

    def code_of(self, line: int, file: str = "") -> str:
        """Return the code of a line that something in the graph names, without its indent; "" if it is not known.

        Args:
            line: as nodes and rows have it.
            file: likewise.
        """
        return self.code_at(line_text(line, file))

    def code_at(self, place: str) -> str:
        """Return the code at a place in words, as ``cut_at`` has it: ``line 3``, ``model.py:3``, ``cell 2, line 3``."""
        number, lines = place.removeprefix("line "), self.code.split("\n")
        if not number.isdigit():
            return dict(self.codes).get(place, "")
        return lines[int(number) - 1].strip() if 0 < int(number) <= len(lines) else ""

    def save(self, path: str | os.PathLike[str], options: object = None) -> str:
        """Write the picture to a file, whole or not at all; return the path.

        Args:
            path: its suffix is the format: ``y.pdf``, ``y.svg``, ``y.json``.
            options: how to draw it, a :class:`gviz.RenderOptions`.

        Raises:
            RenderError: an unknown format, or a picture that cannot be made.
            FileError: the file cannot be written.
        """
        return str(import_module("gviz.render").save(self, path, options))

    def _repr_svg_(self) -> str | None:
        """Return the picture as SVG, as notebooks show it; None for a large graph, of which they show a line of text."""
        return str(import_module("gviz.render").render(self, "svg")) if len(self.nodes) <= MOST_IN_NOTEBOOK else None

    def to_json(self) -> str:
        """Return the whole graph as JSON text, ending in a newline; :meth:`from_json` is the inverse.

        >>> Graph.from_json(Graph(nodes=(Node("n0", "leaf"),)).to_json()).nodes[0].kind
        'leaf'
        """
        import json  # here, since most graphs are drawn and never saved

        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def columns(self) -> dict[str, int]:
        """Return where the operation that makes a tensor stands in an expression, by the tensor's name, counted from 1."""
        made = (node for node in reversed(self.nodes) if node.kind == "operation" and node.column)
        return {node.name: node.column for node in made if node.name}

    def as_dict(self) -> dict[str, Any]:
        """Return the graph as JSON-able dicts; fields that hold their default are left out of nodes and edges."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            **({} if self.kind == "autograd" else {"kind": self.kind}),
            **({"error": self.error} if self.error else {}),
            **({"code": self.code, "line": self.line} if self.code else {}),
            **({"file": self.file} if self.file else {}),
            **({"codes": [list(one) for one in self.codes]} if self.codes else {}),
            **({"writes": [list(one) for one in self.writes]} if self.writes else {}),
            **({"cuts": [_record(cut) for cut in self.cuts]} if self.cuts else {}),
            **({"turn": self.turn} if self.turn else {}),
            "roots": list(self.roots),
            "nodes": [_record(node) for node in self.nodes],
            "edges": [_record(edge) for edge in self.edges],
            "tensors": [_record(row) for row in self.tensors],
        }

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: not JSON, not a graph of gviz, a newer version, or a graph that breaks its own rules.
        """
        import json

        try:
            return cls.from_dict(json.loads(text))
        except RecursionError:
            raise ValueError("the JSON is nested too deeply for a graph of gviz") from None

    @classmethod
    def from_dict(cls, data: object) -> Graph:
        """Return the graph of these dicts: the inverse of :meth:`as_dict`, and the one check of JSON.

        Raises:
            ValueError: as for :meth:`from_json`.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f'this JSON is not a graph of gviz (it has no "format": "{FORMAT}")')
        if data.get("version") != VERSION:
            raise ValueError(f"this graph has the version {data.get('version')!r}; this gviz reads version {VERSION}")
        for part in ("nodes", "edges"):
            if part not in data:
                raise ValueError(f'there is no "{part}" in this graph')
        return cls(
            nodes=tuple(_read(Node, row, f"nodes[{number}]") for number, row in _rows(data, "nodes")),
            edges=tuple(_read(Edge, row, f"edges[{number}]") for number, row in _rows(data, "edges")),
            roots=tuple(_checked(root, "str", f"roots[{number}]") for number, root in _rows(data, "roots")),
            tensors=tuple(_read(TensorRow, row, f"tensors[{number}]") for number, row in _rows(data, "tensors")),
            title=_checked(data.get("title", ""), "str", "title"),
            kind=_checked(data.get("kind", "autograd"), "str", "kind"),
            error=_checked(data.get("error", ""), "str", "error"),
            code=_checked(data.get("code", ""), "str", "code"),
            line=_checked(data.get("line", 0), "int", "line"),
            file=_checked(data.get("file", ""), "str", "file"),
            codes=_checked(data.get("codes", []), "tuple[tuple[str, str], ...]", "codes"),
            writes=_checked(data.get("writes", []), "tuple[tuple[str, str], ...]", "writes"),
            cuts=tuple(_read(Cut, row, f"cuts[{number}]") for number, row in _rows(data, "cuts")),
            turn=_checked(data.get("turn", 0), "int", "turn"),
        )


def to_value(nested: object) -> Value:
    """Return numbers as ``tolist()`` gives them, made fit for JSON: lists to tuples, nan and infinities to text.

    >>> to_value([1.0, float("inf")])
    (1.0, 'inf')
    """
    if isinstance(nested, list | tuple):
        is_plain = {*map(type, nested)} == {float} and math.isfinite(sum(nested))  # many at once: a model's weights
        return tuple(nested) if is_plain else tuple(to_value(item) for item in nested)
    if isinstance(nested, complex):
        return str(nested)
    if isinstance(nested, float) and not math.isfinite(nested):
        return "nan" if math.isnan(nested) else "inf" if nested > 0 else "-inf"
    return nested  # type: ignore[return-value]


def size_of(value: Value) -> tuple[int, ...]:
    """Return the sizes of nested values, read off the first of each."""
    found = []
    while isinstance(value, tuple):
        found.append(len(value))
        value = value[0] if value else None
    return tuple(found)


_ALWAYS = {"slot", "kind", "grad", "expression"}
"""Fields that a record has even where they hold their default: programs look for them."""


def _arrow(source: object, target: object) -> str:
    """Return what an error calls an edge."""
    return f"edge {excerpt(str(source))} -> {excerpt(str(target))}"


def _record(item: Node | Edge | TensorRow | Cut) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults, and all that have none."""
    always = _ALWAYS if not isinstance(item, Node) else {"kind"}
    defaults = item._field_defaults
    return {
        name: value
        for name, value in item._asdict().items()
        if name in always or name not in defaults or value != defaults[name]
    }


def _is_value(value: object) -> bool:
    """Return True if all that is nested in the value are a tensor's numbers; a list to work off, since it may be deep."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo.extend(item)
        elif type(item) not in (bool, int, float, str, type(None)) or (type(item) is int and item.bit_length() > 64):
            return False
    return True


def _is_shape(value: object, *, unknown: bool = False) -> bool:
    """Return True for a tuple of sizes, of which some may be None if they may be unknown."""
    return isinstance(value, tuple) and all((type(n) is int and n >= 0) or (n is None and unknown) for n in value)


def _is_pairs(value: object) -> bool:
    """Return True for a tuple of pairs of texts."""
    pairs = value if isinstance(value, tuple) else (None,)
    return all(isinstance(pair, tuple) and [type(part) for part in pair] == [str, str] for pair in pairs)


_FORMS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "str": ("a text", lambda value: type(value) is str),
    "str | None": ("a text or null", lambda value: value is None or type(value) is str),
    "int": ("a whole number", lambda value: type(value) is int),
    "int | None": ("a whole number or null", lambda value: value is None or type(value) is int),
    "float | None": ("a number or null", lambda value: value is None or type(value) in (int, float)),
    "bool": ("true or false", lambda value: type(value) is bool),
    "Value": ("a number or nested lists of numbers", _is_value),
    "tuple[int, ...]": ("a list of sizes", _is_shape),
    "tuple[int | None, ...] | None": ("a list of sizes", lambda value: value is None or _is_shape(value, unknown=True)),
    "tuple[str, ...]": (
        "a list of texts",
        lambda value: isinstance(value, tuple) and all(type(one) is str for one in value),
    ),
    "tuple[tuple[str, str], ...]": ("a list of pairs of texts", _is_pairs),
}
"""The form of each field that is read from JSON, by its annotation in the records above: in words, and as a check."""


def _rows(data: Mapping[str, Any], part: str) -> enumerate[Any]:
    """Return the numbered items of a part of the JSON."""
    rows = data.get(part, [])
    if not isinstance(rows, list):
        raise ValueError(f'"{part}" is {excerpt(repr(rows))}, not a list')  # noqa: TRY004 - what is wrong is the text
    return enumerate(rows)


def _read(record: type[Any], row: object, place: str) -> Any:
    """Return a record from its JSON, each field checked against its annotation.

    Raises:
        ValueError: with the place of what is wrong, as in ``nodes[3].label``.
    """
    if not isinstance(row, Mapping):
        raise ValueError(f"{place} is {excerpt(repr(row))}, not a record of fields")  # noqa: TRY004 - likewise
    for name in row:
        if name not in record._fields:
            raise ValueError(f"{place} has the unknown field {excerpt(repr(name))}")
    for name in record._fields:
        if name not in row and name not in record._field_defaults:
            raise ValueError(f"{place} has no {name}")
    forms = record.__annotations__
    return record(
        **{name: _checked(value, forms[name].__forward_arg__, f"{place}.{name}") for name, value in row.items()}
    )


def _checked(value: object, form: str, place: str) -> Any:
    """Return the value, its lists as tuples, if it has the form."""
    words, fits = _FORMS[form]
    plain = to_value(value)
    if not fits(plain):
        raise ValueError(f"{place} is {excerpt(repr(value))}, not {words}")
    return plain
