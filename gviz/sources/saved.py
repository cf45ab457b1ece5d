"""Saved graphs: the JSON that gviz wrote, read back without running anything."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from gviz.errors import MAX_SHOWN, Place, SourceError
from gviz.graph import FORMAT, Edge, Graph, Node, TensorRow

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["load", "looks_like_json"]

Kinds = tuple[type, ...]

TEXT: Kinds = (str,)
MAYBE_TEXT: Kinds = (str, type(None))
NUMBERS: Kinds = (bool, int, float, str, type(None))

FIELDS: dict[type, dict[str, Kinds]] = {
    Node: {"label": TEXT, "name": MAYBE_TEXT, "dtype": MAYBE_TEXT, "state": TEXT, "slots": (int,)},
    Edge: {"source": TEXT, "target": TEXT, "label": TEXT, "slot": (int,), "output": (int,)},
    TensorRow: {
        "name": TEXT,
        "dtype": TEXT,
        "grad_fn": MAYBE_TEXT,
        "expression": MAYBE_TEXT,
        "requires_grad": (bool,),
        "is_leaf": (bool,),
        "retains_grad": (bool,),
    },
}
"""What a field has to be, so that every renderer can rely on it."""


def looks_like_json(text: str) -> bool:
    """Whether the text is meant as JSON: no expression and no script begins with a brace.

    >>> looks_like_json(' {"format": "gviz-graph"}'), looks_like_json("y = {x}")
    (True, False)
    """
    return text.lstrip("\ufeff \t\n").startswith("{")


def load(text: str, file: str) -> Graph:
    """The graph that the JSON text holds: what ``-o graph.json`` or ``inspect --json`` wrote.

    Args:
        text: JSON.
        file: its name, for messages.

    Raises:
        SourceError: not JSON, or not a graph.
    """
    try:
        data = json.loads(text.lstrip("\ufeff"), parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise SourceError(f"this is no JSON: {error.msg}", place=_place(error, file), hint=_cut_hint(error)) from None
    except RecursionError:
        raise _too_deep(file) from None
    except ValueError as error:  # a number of more digits than Python reads
        raise SourceError(f"{file}: {error}") from None
    if isinstance(data, dict) and "nbformat" in data:
        hint = f"save its code as a script: jupyter nbconvert --to script {file}"
        raise SourceError(f"{file} is a Jupyter notebook, not a graph of gviz", hint=hint)
    if isinstance(data, dict) and "format" not in data and isinstance(data.get("graph"), dict):
        data = data["graph"]  # `inspect --json` wraps the graph
    try:
        _check_parts(data)
        graph = Graph.from_dict(data)
        _check(graph)
    except (ValueError, TypeError) as error:
        hint = f'`gviz render SOURCE -o graph.json` writes one; it begins with "format": "{FORMAT}"'
        raise SourceError(f"{file}: {error}", hint=hint) from None
    except RecursionError:
        raise _too_deep(file) from None
    return graph


def _too_deep(file: str) -> SourceError:
    return SourceError(f"{file}: the JSON is nested too deeply for a graph of gviz")


def _constant(name: str) -> str:
    """NaN and infinities, which JSON proper lacks, as gviz's texts for them."""
    return {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[name]


def _place(error: json.JSONDecodeError, file: str) -> Place:
    """Where the JSON is wrong; the end of its last full line, where what is missing would stand behind all there is."""
    text = error.doc.rstrip()
    lines = text.split("\n")  # as the parser counts lines
    if error.pos >= len(text):
        return Place(lines[-1], column=len(lines[-1]), file=file, line=len(lines))
    return Place(lines[error.lineno - 1], column=error.colno - 1, file=file, line=error.lineno)


def _cut_hint(error: json.JSONDecodeError) -> str | None:
    """A word for the commonest cause: the file was cut short."""
    return "the file ends in the middle: was it written whole?" if not error.doc[error.pos :].strip() else None


def _check_parts(data: object) -> None:
    """Raise ValueError for JSON of another form, in the words of its writer rather than Python's."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return  # the graph itself says that
    for part in ("nodes", "edges", "roots", "tensors"):
        if not isinstance(data.get(part, []), list):
            raise ValueError(f'"{part}" is {_shown(data[part])}, not a list')  # noqa: TRY004 - what is wrong is the text
        if part in {"nodes", "edges"} and part not in data:
            raise ValueError(f'there is no "{part}" in this graph')
    for what, kind in (("node", Node), ("edge", Edge), ("tensor", TensorRow)):
        for number, item in enumerate(data.get(f"{what}s", [])):
            if not isinstance(item, dict):
                raise ValueError(f'item {number} of "{what}s" is {_shown(item)}, not a {what}')  # noqa: TRY004 - likewise
            _check_record(f"{what} {_called(item, number)}", item, kind)


def _called(item: Mapping[str, Any], number: int) -> str:
    """What a node, an edge or a tensor is called in messages."""
    if "source" in item and "target" in item:
        return f"{item['source']} -> {item['target']}"
    return _shown(item["id"] if "id" in item else item.get("name", number))


def _check_record(where: str, item: Mapping[str, Any], kind: type[Node | Edge | TensorRow]) -> None:
    known = {field.name: field for field in fields(kind)}
    for name in item:
        if name not in known:
            raise ValueError(f"{where} has a field {_shown(name)}, which is unknown")
    for name, field in known.items():
        if name not in item:
            if field.default is MISSING:
                raise ValueError(f"{where} has no {name}")
        elif (name in {"slot", "slots", "output"} and type(item[name]) is not int) or (
            name == "attrs" and not isinstance(item[name], list)
        ):
            raise ValueError(f"{where} has {_shown(item[name])} as its {name}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _check(graph: Graph) -> None:
    """Raise ValueError for a field of a wrong kind."""
    for what, items in (("node", graph.nodes), ("edge", graph.edges), ("tensor", graph.tensors)):
        for item in items:
            name = f"{item.source} -> {item.target}" if isinstance(item, Edge) else repr(getattr(item, "id", item.name))
            _check_fields(f"{what} {name}", item, FIELDS[type(item)])
            if isinstance(item, Node | TensorRow):
                _check_shape(f"{what} {item.name!r}", item)
    for node in graph.nodes:
        pairs: Any = node.attrs
        if not all(isinstance(p, tuple) and len(p) == 2 and all(isinstance(s, str) for s in p) for p in pairs):
            raise ValueError(f"node {node.id!r} has attributes that are no pairs of texts")


def _check_fields(where: str, item: object, kinds: Mapping[str, Kinds]) -> None:
    for name, allowed in kinds.items():
        value = getattr(item, name)
        if type(value) not in allowed:
            raise ValueError(f"{where} has {value!r} as its {name}")


def _check_shape(where: str, item: Node | TensorRow) -> None:
    shape: object = item.shape
    if shape is None and isinstance(item, Node):
        return
    if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"{where} has {shape!r} as its shape")
    for value in (item.value, item.grad):
        if not _is_value(value):
            raise ValueError(f"{where} has a value that is neither a number nor nested lists of them")


def _is_value(value: object) -> bool:
    """Whether all that is nested in the value are numbers; a list to work off, for values may be nested deeply."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo.extend(item)
        elif type(item) not in NUMBERS:
            return False
    return True
