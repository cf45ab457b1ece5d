"""A file or standard input as text, or a clear word on why it is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gviz.errors import FileError, Place

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["LOOKS_LIKE", "STDIN", "decode", "looks_like_a_file", "read_file", "read_stdin"]

STDIN = "<stdin>"
"""What messages call standard input, as Python does."""

LOOKS_LIKE = (".py", ".pyw", ".json", ".ipynb", ".txt", ".pt", ".pth", ".onnx", ".dot", ".gv", ".pdf", ".svg", ".png")
"""Suffixes that make a source a file name, even where there is no such file."""

MAX_BYTES = 256 * 1024 * 1024
"""More than this is no script and no graph: /dev/zero, or a disk image."""

CODING_HINT = "save it as UTF-8, or name its encoding in the first line, as in: # -*- coding: latin-1 -*-"
MARKS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "an archive",
    b"\x89PNG": "a PNG picture",
}
"""First bytes that tell what a file is instead of text."""


def looks_like_a_file(source: str) -> bool:
    """Whether the source names a file: it exists, or ends as file names do and holds nothing that formulas do.

    >>> looks_like_a_file("nett.py"), looks_like_a_file("y=(x+w)*(w+1)"), looks_like_a_file("a/b")
    (True, False, False)
    """
    if not source or "\n" in source or "\0" in source or len(source) > 4096:  # no system has longer paths
        return False
    if source.lower().endswith(LOOKS_LIKE) and not set("=;(*+,") & set(source):
        return True
    return os.path.lexists(source)


def read_file(path: str) -> bytes:
    """The bytes of a file; FileError for a folder, and for what is not there, not readable or without end."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise missing(path) from None
    except NotADirectoryError:
        raise FileError(f"there is no file {path}", hint=f"{os.path.dirname(path)} is a file, not a folder") from None
    except (IsADirectoryError, PermissionError) as error:
        if os.path.isdir(path):
            raise FileError(f"{path} is a folder, not a file", hint=folder_hint(path)) from None
        raise FileError(f"{path} cannot be read: {reason(error)}", hint="check the file's permissions") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {reason(error)}") from None
    check_size(data, path)
    return data


def check_size(data: bytes | str, file: str) -> None:
    """Raise FileError for what goes on for ever, or is a disk image."""
    if len(data) > MAX_BYTES:
        raise FileError(f"{file} is larger than {MAX_BYTES // 2**20} MiB: that is no script and no graph")


def reason(error: OSError) -> str:
    """The system's words on what went wrong."""
    return error.strerror or type(error).__name__


def folder_hint(path: str) -> str | None:
    """The scripts and graphs in a folder, as things to name instead."""
    try:
        inside = sorted(name for name in os.listdir(path) if name.endswith((".py", ".json")))
    except OSError:
        return None
    return f"name a file in it, such as {os.path.join(path, inside[0])}" if inside else None


def missing(path: str) -> FileError:
    """The error for a file that is not there, with the name that was probably meant."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    if os.path.islink(path):
        return FileError(f"there is no file {path}", hint=f"it is a link to {os.readlink(path)}, which is not there")
    try:
        others = os.listdir(folder or os.curdir)
    except OSError:
        return FileError(f"there is no file {path}", hint=f"there is no folder {folder}" if folder else None)
    suffix = os.path.splitext(name)[1]
    like = get_close_matches(name, [other for other in others if other.endswith(suffix)], n=1)
    return FileError(f"there is no file {path}", hint=f"did you mean {os.path.join(folder, like[0])}?" if like else None)


def decode(data: bytes, file: str) -> str:
    """The text of a source file, its line ends as newlines (PEP 263: a coding line or a byte order mark decides, else UTF-8).

    Raises:
        FileError: binary, an unknown encoding, or bytes that the encoding does not have.
    """
    wanted = "a saved graph" if file.lower().endswith(".json") else "a script"
    for mark, what in MARKS.items():
        if data.startswith(mark):
            raise FileError(f"{file} is {what}, not {wanted}", hint=CODING_HINT if what == "UTF-16" else None)
    if b"\0" in data:
        raise FileError(f"{file} is a binary file, not {wanted}")
    is_plain = data.isascii() and b"coding" not in data[:400]
    text = data.decode("ascii") if is_plain else decode_as_declared(data, file)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_as_declared(data: bytes, file: str) -> str:
    """The text, in the encoding that its first two lines or its byte order mark name."""
    import io
    import tokenize  # compiles a dozen regular expressions, which pure ASCII does not need

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        if "invalid or missing" not in str(error.msg):
            raise FileError(str(error.msg), place=coding_line(data, file), hint=CODING_HINT) from None
        encoding = "utf-8"  # its first lines are not: let the whole text say where
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{data[error.start]:02x} in line {line}"
        raise FileError(f"{file} is not {encoding.upper()} text: {byte}", hint=CODING_HINT) from None
    except (LookupError, UnicodeError, ValueError) as error:  # codecs that are no text encodings, such as hex
        what = f"{file} cannot be read as {encoding}: {error}"
        raise FileError(what, place=coding_line(data, file), hint=CODING_HINT) from None


def coding_line(data: bytes, file: str) -> Place:
    """The line that names an encoding: the first or the second."""
    lines = [line.decode("ascii", "replace").strip() for line in data[:1000].splitlines()[:2]]
    number = next((number for number, line in enumerate(lines) if "coding" in line), 0)
    return Place(lines[number], file=file, line=number + 1)


def read_stdin(stdin: TextIO | None) -> str:
    """Everything on standard input, decoded as a file would be; FileError where it is closed, empty or no text."""
    if stdin is None:  # the caller closed it before gviz began
        raise FileError("standard input cannot be read: it is closed")
    try:
        data: bytes | str = getattr(stdin, "buffer", stdin).read(MAX_BYTES + 1)
        check_size(data, STDIN)
        text = data if isinstance(data, str) else decode(data, STDIN)
    except ValueError as error:  # Python's word for a stream that is closed
        raise FileError(f"standard input cannot be read: {error}") from None
    except OSError as error:
        raise FileError(f"standard input cannot be read: {reason(error)}") from None
    if not text.strip():
        raise FileError("standard input is empty", hint="pipe an expression, a script or a saved graph into it")
    return text
