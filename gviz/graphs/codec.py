"""Records as JSON and back: a field is written if it does not hold its default, and checked against its annotation when read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import cache
from itertools import cycle
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from gviz.graphs.numbers import NOT_FINITE, Numbers
from gviz.text import excerpt

FORMAT = "gviz-graph"
VERSION = 2

WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
"""What a field has to be, in words."""

MOST_BITS = 64
"""Of a whole number among the elements or sizes of a tensor: a longer one is none that a program would have written."""


# ---------------------------------------------------------------- to JSON
def dumped(data: object) -> str:
    """Return JSON text, ending in a newline."""
    import json  # a picture is drawn without it

    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def as_plain(record: Any, always: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults, and those that are always there."""
    kind: Any = type(record)
    defaults = defaults_of(kind)
    return {
        name: jsonable(getattr(record, name))
        for name in names_of(kind)
        if name in always or name not in defaults or getattr(record, name) != defaults[name]
    }


def names_of(record: Any) -> Collection[str]:
    """Return the names of a record's fields: of a named tuple, or of a dataclass."""
    return getattr(record, "_fields", None) or record.__dataclass_fields__  # type: ignore[no-any-return]


def jsonable(value: Any) -> Any:
    """Return what a field holds as JSON can hold it."""
    if hasattr(value, "_fields"):
        return as_plain(value)
    if isinstance(value, tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


@cache
def defaults_of(record: Any) -> Mapping[str, Any]:
    """Return the defaults of a record's fields, by their names; each field of a graph has one."""
    if hasattr(record, "_field_defaults"):
        return record._field_defaults  # type: ignore[no-any-return]
    return {name: getattr(record, name) for name in names_of(record) if hasattr(record, name)}


# ---------------------------------------------------------------- from JSON
def parse_text(text: str) -> object:
    """Return what JSON text holds; ValueError for what is not JSON, or nested too deeply."""
    import json

    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply for a graph of gviz") from None


def of_this_version(data: object) -> Mapping[str, Any]:
    """Return a graph as this version of gviz writes it.

    Raises:
        ValueError: not a graph of gviz, another version, or without nodes and edges.
    """
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f'this JSON is not a graph of gviz (it has no "format": "{FORMAT}")')
    version = data.get("version")
    if version != VERSION:
        newer = ", and a newer one the file" if isinstance(version, int) and version > VERSION else ""
        raise ValueError(f"this graph has the version {version!r}; this gviz reads version {VERSION}{newer}")
    for part in ("nodes", "edges"):
        if part not in data:
            raise ValueError(f'there is no "{part}" in this graph')
    return {name: value for name, value in data.items() if name not in ("format", "version")}


def read_fields(record: Any, data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the fields of a record from its JSON, each checked against its annotation.

    Raises:
        ValueError: with the place of what is wrong, as in ``nodes[3].label``.
    """
    readers, dot = readers_of(record), f"{place}." if place else ""
    for name in data:
        if name not in readers and place:
            raise ValueError(f"{place} has the unknown field {excerpt(repr(name))}")
    for name in readers:
        if name not in data and name not in defaults_of(record):
            raise ValueError(f"{place} has no {name}")
    return {name: readers[name](value, f"{dot}{name}") for name, value in data.items() if name in readers}


Reader: TypeAlias = "Callable[[Any, str], Any]"
"""What takes the JSON of a field, and its place for messages, and returns what the field holds."""


@cache
def readers_of(record: Any) -> Mapping[str, Reader]:
    """Return the reader of each field of a record."""
    return {name: reader_of(hint) for name, hint in get_type_hints(record).items() if not name.startswith("_")}


def reader_of(hint: Any) -> Reader:
    """Return the reader of a field of that type: a plain one, a record, a tuple, or a union."""
    parts = get_args(hint)
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return one_of([part for part in parts if part is not NoneType], is_nullable=NoneType in parts)
    if get_origin(hint) is tuple:
        return of_list([reader_of(part) for part in parts if part is not ...], is_open=... in parts)
    return of_record(hint) if hint not in WORDS else of_types((hint,))


def of_types(types: tuple[type, ...], *, is_nullable: bool = False) -> Reader:
    """Return the reader of a plain field."""
    words = " or ".join(WORDS[one] for one in types) + " or null" * is_nullable
    fitting = {*types, *((int,) if float in types else ()), *((NoneType,) if is_nullable else ())}

    def read(value: Any, place: str) -> Any:
        number = NOT_FINITE.get(value, value) if float in fitting and isinstance(value, str) else value
        is_huge = len(types) > 1 and type(number) is int and number.bit_length() > MOST_BITS
        if (
            type(number) not in fitting
            or is_huge
            or (type(number) is str and value in NOT_FINITE and str not in fitting)
        ):
            raise ValueError(f"{place} is {excerpt(repr(value))}, not {words}")
        return number

    return read


def one_of(kinds: list[Any], *, is_nullable: bool) -> Reader:
    """Return the reader of a field that may be of several plain types, or a record, or null."""
    if all(kind in WORDS for kind in kinds):
        return of_types(tuple(kinds), is_nullable=is_nullable)
    inner = reader_of(kinds[0])
    return lambda value, place: None if value is None else inner(value, place)


def of_record(record: Any) -> Reader:
    """Return the reader of a record."""

    def read(value: Any, place: str) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"{place} is {excerpt(repr(value))}, not a record of fields")  # noqa: TRY004 - the text is wrong
        new = record(**read_fields(record, value, place))
        if record is Numbers and (fault := new.fault):
            raise ValueError(f"{place} {fault}")
        return new

    return read


def of_list(inner: list[Reader], *, is_open: bool) -> Reader:
    """Return the reader of a list with a reader for each of its items; of an open one each item has the first."""
    size = "" if is_open else f" of {len(inner)}"

    def read(value: Any, place: str) -> Any:
        if not isinstance(value, list | tuple) or not (is_open or len(value) == len(inner)):
            whole = place if set(place) & set(".[") else f'"{place}"'  # a list of the graph, as it stands in the file
            raise ValueError(f"{whole} is {excerpt(repr(value))}, not a list{size}")
        return tuple([one(item, f"{place}[{number}]") for number, (one, item) in enumerate(zip(cycle(inner), value))])

    return read
