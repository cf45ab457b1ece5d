"""The JSON Schema of a saved graph, made from the records that write and read it: their fields, types and docstrings.

Source: https://json-schema.org/draft/2020-12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from gviz.graphs import EDGE_KINDS, KINDS, Edge, Graph, Node
from gviz.graphs.codec import FORMAT, VERSION, defaults_of, jsonable
from gviz.graphs.numbers import NOT_FINITE

PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"anyOf": [{"type": "number"}, {"enum": [*NOT_FINITE]}]},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
}
"""The schemas of what is no record."""

WORDS = {(Node, "kind"): KINDS, (Edge, "kind"): EDGE_KINDS}
"""The words that a field may hold, where these are few."""

_FIELD = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_MARKUP = re.compile(r":\w+:`~?([^`]*)`|``([^`]*)``")


def graph_schema() -> dict[str, Any]:
    """Return the schema of a graph as :meth:`gviz.graphs.Graph.to_json` writes it.

    >>> graph_schema()["$defs"]["Edge"]["required"]
    ['source', 'target']
    """
    definitions: dict[str, Any] = {}
    whole = record_schema(Graph, definitions)
    head = {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A graph that gviz has saved",
        **whole,
        "properties": head | whole["properties"],
        "required": [*head, "nodes", "edges"],
        "additionalProperties": True,  # which gviz does not read
        "$defs": definitions,
    }


def record_schema(record: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a record, and add those of the records in it."""
    about = texts_of(record)
    hints = {name: hint for name, hint in get_type_hints(record).items() if not name.startswith("_")}
    defaults, properties = defaults_of(record), {}
    for name, hint in hints.items():
        words = {"enum": [*WORDS[record, name]]} if (record, name) in WORDS else {}
        default = {"default": jsonable(defaults[name])} if name in defaults else {}
        properties[name] = {**schema_of(hint, definitions), **words, "description": about.get(name, ""), **default}
    required = [name for name in hints if name not in defaults]
    return {
        "description": about[""],
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def schema_of(hint: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field of that type: a plain one, a record, a tuple, or a union."""
    parts = get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if get_origin(hint) in (UnionType, Union):
        return {"anyOf": [schema_of(part, definitions) for part in parts]}
    if get_origin(hint) is tuple and parts[1:] == (...,):
        return {"type": "array", "items": schema_of(parts[0], definitions)}
    if get_origin(hint) is tuple:
        items = [schema_of(part, definitions) for part in parts]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    if hint.__name__ not in definitions:
        definitions[hint.__name__] = {}  # a record may hold others of its kind
        definitions[hint.__name__] = record_schema(hint, definitions)
    return {"$ref": f"#/$defs/{hint.__name__}"}


def texts_of(record: type) -> Mapping[str, str]:
    """Return what the docstring of a record says of its fields, by their names; of the record itself as ""."""
    text = _MARKUP.sub(lambda match: match[1] or match[2], cleandoc(record.__doc__ or ""))
    fields = {name: " ".join(words.split()) for name, words in _FIELD.findall(text)}
    return {"": " ".join(text.partition("\n\n")[0].split()), **fields}
