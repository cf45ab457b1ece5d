"""TensorBoard's event files: what it shows under "Graphs", written with the standard library alone.

A graph is a row of :class:`Op`, whoever made it. :func:`graph_def` puts it in protobuf's wire form, with the fields of
tensorflow/core/framework/{graph,node_def,attr_value}.proto, and :func:`event_file` frames it as records with checksums
(https://www.tensorflow.org/tutorials/load_data/tfrecord).

A file has no time in it, so the same graph gives the same bytes, and gviz knows its own files again. Their names have
the time.
"""

from __future__ import annotations

import math
import os
import re
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from gviz.errors import FileError
from gviz.files import check_name, new_folders, write, writing_error

Dims: TypeAlias = "Sequence[int | None] | None"
"""Sizes, None for an unknown one; None for an unknown rank."""

DTYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9,
    "bool": 10, "bfloat16": 14, "complex128": 18, "float16": 19, "resource": 20,
}  # fmt: skip
"""TensorFlow's DataType; PyTorch's names are the same."""

_VALUES = {
    "float32": (5, "f"),
    "float64": (6, "d"),
    "string": (8, ""),
    "int64": (10, ""),
    "bool": (11, ""),
} | dict.fromkeys(("int32", "uint8", "int16", "int8"), (7, ""))
"""The field of a TensorProto that holds elements of a dtype, and how struct packs them; "" for numbers of any
length."""

_LARGEST = 3.4028235e38
"""A float32's largest number."""

_NAME = re.compile(r"events\.out\.tfevents\.\d+\.gviz")


@dataclass(frozen=True, slots=True)
class Op:
    """One node of a graph as TensorBoard knows it.

    Args:
        name: unique; its slashes are boxes that open.
        type: of the operation, as in ``MatMul``.
        inputs: ``name`` or ``name:1`` of what it uses, in order; ``^name`` of what runs before it comes last.
        attrs: what the panel tells of it: attribute values in wire form, from the functions below.
        shapes: of its outputs, one for each; the edges tell them.
        device: where it runs, which is a colour of its own; "" for not known.
    """

    name: str
    type: str
    inputs: tuple[str, ...] = ()
    attrs: Mapping[str, bytes] = field(default_factory=dict)
    shapes: tuple[Dims, ...] = ()
    device: str = ""


# ------------------------------------------------------------------ protobuf
def _varint(number: int) -> bytes:
    r"""Return seven bits a byte, the lowest first; a negative number as 64 bits.

    >>> _varint(300)
    b'\xac\x02'
    """
    number = int(number) & 2**64 - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return a field of a message: a number, a text, or a message in wire form."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode("utf-8", "backslashreplace") if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _shape(dims: Dims) -> bytes:
    """Return a TensorShapeProto."""
    sizes = (-1 if size is None else size for size in dims or ())
    return _field(3, 1) if dims is None else b"".join(_field(2, _field(1, size)) for size in sizes)


def plain_attr(value: object) -> bytes | None:
    """Return an attribute that is a truth value, a number, a text or a list of such; None for anything else."""
    match value:
        case bool():
            return _field(5, int(value))
        case int():
            return _field(3, value)
        case float():
            number = math.copysign(math.inf, value) if abs(value) > _LARGEST else value
            return _varint(4 << 3 | 5) + struct.pack("<f", number)
        case str() | bytes():
            return _field(2, value)
        case list() | tuple():
            parts = [plain_attr(item) for item in value]
            return None if None in parts else list_attr([part for part in parts if part])
    return None


def list_attr(parts: Sequence[bytes]) -> bytes:
    """Return an attribute that is a list of others."""
    return _field(1, b"".join(parts))


def dtype_attr(name: str) -> bytes:
    """Return an attribute that is a dtype; one that TensorFlow lacks is written as text."""
    return _field(6, DTYPES[name]) if name in DTYPES else _field(2, name)


def shape_attr(dims: Dims) -> bytes:
    """Return an attribute that is a shape."""
    return _field(7, _shape(dims))


def tensor_attr(dtype: str, dims: Sequence[int], items: Sequence[Any]) -> bytes | None:
    """Return an attribute that is a tensor, by its elements; None for a dtype whose elements are not written."""
    if dtype not in _VALUES:
        return None
    number, code = _VALUES[dtype]
    if dtype == "string":
        value = b"".join(_field(number, item) for item in items)
    elif code:
        value = _field(number, struct.pack(f"<{len(items)}{code}", *items))
    else:
        value = _field(number, b"".join(map(_varint, items)))
    return _field(8, _field(1, DTYPES[dtype]) + _field(2, _shape(dims)) + value)


def graph_def(ops: Iterable[Op]) -> bytes:
    """Return a GraphDef."""
    return b"".join(_field(1, _node_def(op)) for op in ops)


def _node_def(op: Op) -> bytes:
    """Return a NodeDef; parts that are empty are left out, as protobuf does."""
    attrs = {**op.attrs, "_output_shapes": _field(1, b"".join(map(shape_attr, op.shapes)))}
    parts: list[tuple[int, str | bytes]] = [
        (1, op.name),
        (2, op.type),
        *((3, source) for source in op.inputs),
        (4, op.device),
        *((5, _field(1, key) + _field(2, value)) for key, value in attrs.items()),
    ]
    return b"".join(_field(number, value) for number, value in parts if value)


# ------------------------------------------------------------------ records
@cache
def _table() -> tuple[int, ...]:
    """Return what each value of a byte adds to the checksum."""
    table = tuple(range(256))
    for _ in range(8):
        table = tuple(rest >> 1 ^ (0x82F63B78 if rest & 1 else 0) for rest in table)
    return table


def crc32c(data: bytes) -> int:
    """Return the CRC-32 with Castagnoli's polynomial.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    """Return the checksum, turned and shifted, so that a file of records inside a record is not a trap."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def event_file(graph: bytes | None, wall_time: float = 0.0) -> bytes:
    """Return a whole event file.

    Args:
        graph: a GraphDef, from :func:`graph_def`; None for a file that begins without one.
        wall_time: seconds since 1970 that both events tell; nothing shows them.
    """
    return _event(wall_time, _FIRST) + (b"" if graph is None else graph_event(graph, wall_time))


def graph_event(graph: bytes, wall_time: float = 0.0) -> bytes:
    """Return the record of a graph."""
    return _event(wall_time, _field(4, graph))


def fields_of(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of a Summary, or of a value of it, with their numbers: four bytes, or a part with its length."""
    place = 0
    while place < len(message):
        key, place, size, shift = message[place], place + 1, 4, 0
        while key & 7 == 2:
            size = (message[place] & 127) << shift | size * (shift > 0)
            place, shift = place + 1, shift + 7
            if message[place - 1] < 128:
                break
        yield key >> 3, message[place : place + size]
        place += size


def summary_event(summary: bytes, step: int, wall_time: float = 0.0) -> bytes:
    """Return the record of a Summary (one of those below, or several one after the other) at a step of a training."""
    return _event(wall_time, (_field(2, step) if step else b"") + _field(5, summary))


def scalar_summary(tag: str | bytes, number: float) -> bytes:
    """Return a Summary of one number: a point of the curve that TensorBoard draws for the tag."""
    return _field(1, _field(1, tag) + _varint(2 << 3 | 5) + struct.pack("<f", number))


def histogram_summary(
    tag: str | bytes, facts: Sequence[float], limits: Sequence[float], counts: Sequence[float]
) -> bytes:
    """Return a Summary of many numbers.

    Args:
        tag: the name of the histogram.
        facts: the least number, the largest, how many there are, their sum and that of their squares.
        limits: the upper limit of each bucket.
        counts: how many numbers are in each.
    """
    header = b"".join(_varint(i << 3 | 1) + struct.pack("<d", fact) for i, fact in enumerate(facts, 1) if fact)
    buckets = (_field(i, struct.pack(f"<{len(row)}d", *row)) for i, row in ((6, limits), (7, counts)))
    return _field(1, _field(1, tag) + _field(5, header + b"".join(buckets)))


def _event(wall_time: float, what: bytes) -> bytes:
    """Return an Event as a record: its length and its bytes, each with its checksum."""
    data = _varint(1 << 3 | 1) + struct.pack("<d", wall_time) + what
    size = struct.pack("<Q", len(data))
    return size + _masked(size) + data + _masked(data)


_FIRST = _field(3, "brain.Event:2")
"""The event that every file begins with."""


# ------------------------------------------------------------------ the folder
def write_events(folder: str | os.PathLike[str], data: bytes) -> str:
    """Write an event file into a folder, which is made if it is missing, in place of those that gviz left there before.

    Files of others stay.

    Args:
        folder: TensorBoard's log directory, or a run's folder in it.
        data: the whole file, from :func:`event_file`.

    Returns:
        The folder, as text.

    Raises:
        FileError: it cannot be written; what is there stays as it was.
    """
    name = os.fspath(folder)
    check_name(name, "write -o DIR/")
    try:
        with new_folders(os.path.abspath(name)):
            earlier = [entry for entry in os.listdir(name) if _is_own(name, entry)]
            times = [int(entry.split(".")[3]) + 1 for entry in earlier]  # TensorBoard reads no name twice
            write(os.path.join(name, f"events.out.tfevents.{max([int(time.time()), *times])}.gviz"), data)
        for entry in earlier:
            os.unlink(os.path.join(name, entry))
    except (FileExistsError, NotADirectoryError):
        raise FileError(
            f"cannot write into {name}: it is not a folder, or lies in a file", hint="name a folder"
        ) from None
    except OSError as error:
        raise writing_error(name, error) from None
    return name


def append_events(folder: str | os.PathLike[str], data: bytes) -> None:
    """Write more records into the event file that gviz has begun in a folder; FileError if that cannot be done."""
    name = os.fspath(folder)
    try:
        last = max(entry for entry in os.listdir(name) if _is_own(name, entry))
        with open(os.path.join(name, last), "ab") as file:
            file.write(data)
    except (OSError, ValueError) as error:
        raise writing_error(name, error if isinstance(error, OSError) else FileNotFoundError(name)) from None


def _is_own(folder: str, entry: str) -> bool:
    """Return whether gviz wrote a file. A machine may be called gviz, too, but what it writes has a time in it."""
    if not _NAME.fullmatch(entry):
        return False
    head = _event(0.0, _FIRST)
    with suppress(OSError), open(os.path.join(folder, entry), "rb") as file:
        return file.read(len(head)) == head
    return False
