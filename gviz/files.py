"""Bytes in and out: a file or standard input read as text, and a file written whole or not at all.

A file is written under another name in the same folder and then renamed, so that no reader sees half of it. If anything
goes wrong before that, the old file stays as it was and no new one is left behind.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TextIO

from gviz.errors import Excerpt, FileError
from gviz.text import closest, printable

STDIN = "<stdin>"
"""The name of standard input in messages, as Python has it."""

OPEN = {"/dev/stdout": 1, "/dev/stderr": 2} | {f"/dev/fd/{number}": number for number in range(64)}
"""Names of files that are open already, each with its number; other programs may write to the same file."""

MAX_BYTES = 256 * 1024 * 1024
"""A larger file is neither a script nor a graph: /dev/zero, or a disk image."""

CODING_HINT = "save it as UTF-8, or name its encoding in the first line, as in: # -*- coding: latin-1 -*-"
HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room, or write somewhere else"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "choose a folder that you may write to"),
    errno.ENAMETOOLONG: "give the file a shorter name",
    errno.EMFILE: "close those that a script has left open, or raise the limit (ulimit -n)",
    errno.ELOOP: "it is a link that leads back to itself: remove it, or give another name",
}
"""Hints for a file that cannot be written, by the system's error."""


def read_file(path: str) -> bytes:
    """Return the bytes of a file; FileError if it is a folder, is not there, is not readable or has no end."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise missing(path) from None
    except OSError as error:
        if os.path.isdir(path):
            raise FileError(f"{path} is a folder, not a file", hint=folder_hint(path)) from None
        hint = "check the file's permissions" if isinstance(error, PermissionError) else None
        raise FileError(f"{path} cannot be read: {_reason(error)}", hint=hint) from None
    check_size(data, path)
    return data


def check_size(data: bytes | str, file: str) -> None:
    """Refuse a text that has no end, or is a disk image."""
    if len(data) > MAX_BYTES:
        raise FileError(f"{file} is larger than {MAX_BYTES // 2**20} MiB: that is neither a script nor a graph")


def _reason(error: OSError) -> str:
    """Return the system's words for an error."""
    return error.strerror or str(error) or type(error).__name__


def folder_hint(path: str) -> str | None:
    """Return a hint with a script or a graph in the folder, to name instead."""
    with suppress(OSError):
        names = sorted(name for name in os.listdir(path) if name.endswith((".py", ".json")))
        return f"name a file in it, such as {os.path.join(path, names[0])}" if names else None
    return None


def missing(path: str) -> FileError:
    """Return the error for a file that is not there, with the name that was probably meant."""
    folder, name = os.path.split(path)
    hint = None
    if os.path.islink(path):
        hint = f"it is a link to {os.readlink(path)}, which is not there"
    elif not os.path.isdir(folder or os.curdir):
        hint = f"{folder} is a file, not a folder" if os.path.isfile(folder) else f"there is no folder {folder}"
    else:
        with suppress(OSError):
            others = [other for other in os.listdir(folder or os.curdir) if other.endswith(os.path.splitext(name)[1])]
            whole = (other for other in sorted(others) if os.path.splitext(other)[0] == name and other != name)
            suggestion = next(whole, None) or closest(name, others)
            hint = f"did you mean {os.path.join(folder, suggestion)}?" if suggestion else None
    return FileError(f"there is no file {printable(path)}", hint=hint and printable(hint))


def decode(data: bytes, file: str) -> str:
    """Return the text of a file, with newlines as line ends.

    A byte order mark or a coding line says the encoding (PEP 263); without one it is UTF-8.

    Raises:
        FileError: binary, an unknown encoding, or bytes that the encoding does not have.
    """
    if b"\0" in data or data.startswith((b"%PDF", b"<svg", b"<?xml", b"<!DOCTYPE")):
        expected = "a saved graph" if file.lower().endswith(".json") else "a script"
        is_utf_16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        nature = "UTF-16" if is_utf_16 else "a picture or a binary file"
        raise FileError(f"{file} is {nature}, not {expected}", hint=CODING_HINT if is_utf_16 else None)
    is_plain = data.isascii() and b"coding" not in data[:400]
    text = data.decode("ascii") if is_plain else decode_as_declared(data, file)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_as_declared(data: bytes, file: str) -> str:
    """Return the text, in the encoding that its first two lines or its byte order mark name."""
    import io
    import tokenize  # compiles a dozen regular expressions, which pure ASCII does not need

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        if "invalid or missing" not in str(error.msg):
            raise FileError(f"{file}: {error.msg}", hint=CODING_HINT) from None
        encoding = "utf-8"  # its first lines are not: let the whole text say where
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{data[error.start]:02x} in line {line}"
        raise FileError(f"{file} is not {encoding.upper()} text: {byte}", hint=CODING_HINT) from None
    except (LookupError, ValueError) as error:  # codecs that are not text encodings, such as hex
        raise FileError(f"{file} cannot be read as {encoding}: {error}", hint=CODING_HINT) from None


def read_stdin(stdin: TextIO | None) -> str:
    """Return everything on standard input, decoded as a file would be.

    FileError if it is closed, empty or not a text.
    """
    if stdin is None:  # the caller closed it before gviz began
        raise FileError("standard input cannot be read: it is closed")
    try:
        data: bytes | str = getattr(stdin, "buffer", stdin).read(MAX_BYTES + 1)
        check_size(data, STDIN)
        text = data if isinstance(data, str) else decode(data, STDIN)
    except (OSError, ValueError) as error:  # ValueError: it was closed later
        raise FileError(
            f"standard input cannot be read: {_reason(error) if isinstance(error, OSError) else error}"
        ) from None
    if not text.strip():
        raise FileError("standard input is empty", hint="pipe an expression, a script or a saved graph into it")
    return text


def parse_json(text: str, file: str, hint: str | None = None) -> Any:
    """Return the content of a JSON text.

    Args:
        text: JSON; a byte order mark is left out.
        file: its name, for messages.
        hint: what to do if it is not JSON; None asks about a text that ends too early whether it was written whole.

    Raises:
        FileError: it is not JSON; the place is the end of the text if that comes too early.
    """
    import json

    try:
        return json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        lines = error.doc.rstrip().split("\n")  # as the parser counts lines
        is_cut = not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated")
        line, column = (len(lines), len(lines[-1])) if is_cut else (error.lineno, error.colno - 1)
        place = Excerpt(lines[line - 1], column=column, file=file, line=line)
        advice = "the file ends in the middle: was it written whole?" if is_cut else None
        raise FileError(
            f"this is not JSON: {error.msg.removesuffix(' starting at')}", place=place, hint=hint or advice
        ) from None
    except RecursionError:
        raise FileError(f"{file}: the JSON is nested too deeply") from None
    except ValueError:
        raise FileError(
            f"{file}: a whole number has too many digits", hint="write it as a decimal number, as in 1e30"
        ) from None


def write(path: str | os.PathLike[str], data: str | bytes) -> str:
    """Write a file: atomically, through links to the file they point to, with the permissions that the old one had.

    Folders that are missing are made; if nothing can be written, none of them stays. A device or a pipe
    (``/dev/null``) is written to as it is; a file that is open already (``/dev/stdout``) goes on.

    Args:
        path: where to.
        data: the whole content; text becomes UTF-8.

    Returns:
        The path, as text.

    Raises:
        FileError: it cannot be written; an old file stays as it was.
    """
    name = os.fspath(path)
    raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    with for_file(name):
        if name not in OPEN:
            _check(name)
        if name not in OPEN and (os.path.isfile(name) or not os.path.exists(name)):
            target = os.path.realpath(name)
            with new_folders(os.path.dirname(target)):
                _replace(target, raw)
        else:
            with open(os.dup(OPEN[name]) if name in OPEN else name, "wb") as there:
                write_all(there, raw)
    return name


@contextmanager
def new_folders(folder: str) -> Iterator[None]:
    """Make a folder for a block, with those that it is in; new ones that are empty go if the block fails."""
    new = []
    while not os.path.isdir(folder):
        new.append(folder)
        folder = os.path.dirname(folder)
    try:
        for one in reversed(new):
            os.makedirs(one, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):
            for one in new:
                os.rmdir(one)
        raise


@contextmanager
def for_file(name: str) -> Iterator[None]:
    """Let the system's error of a block that makes this file be a FileError which names it.

    A reader of a pipe who has left is no such error.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise writing_error(name, error) from None


def write_all(stream: BinaryIO, data: bytes) -> None:
    """Write all of the data: a stream without a buffer takes a part at a time; a pipe that is full is waited for."""
    raw, rest = getattr(stream, "raw", stream), memoryview(data)
    stream.flush()
    while rest:
        count = raw.write(rest)
        if count is None:
            import select

            select.select([], [raw], [])
        else:
            rest = rest[count:]


def _check(name: str) -> None:
    """Refuse a word that is not the name of a file, or is that of a folder; FileError says what to write instead."""
    check_name(name, "name it as in NAME.pdf")
    if os.path.isdir(name) or name.endswith(("/", os.sep)):
        inside = os.path.join(name, f"graph{os.path.splitext(name)[1] or '.pdf'}")
        raise FileError(f"{name} is a folder", hint=f"name a file in it: {inside}")
    with suppress(FileNotFoundError, NotADirectoryError):
        os.stat(name)  # a link to itself
    folder = os.path.dirname(os.path.realpath(name))
    if os.path.islink(name) and not os.path.lexists(folder):
        raise FileError(f"cannot write {name}: it is a link into {folder}, which is not there", hint="make it first")
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise FileError(f"cannot write {name}: {os.path.relpath(folder)} is not a folder")


def check_name(name: str, example: str) -> None:
    """Refuse a word that the system does not take for a name; FileError says what to write instead."""
    if not name or "\0" in name:
        raise FileError(f"{name!r} is not the name of a file", hint=example)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise FileError(
            f"{name!r} is not the name of a file here", hint="its characters cannot be encoded; choose others"
        ) from None


def _replace(target: str, raw: bytes) -> None:
    """Write the bytes aside, in the same folder, and rename."""
    is_new = not os.path.exists(target)
    if not is_new and not os.access(target, os.W_OK):
        raise FileError(f"cannot write {target}: it is read-only", hint="make it writable, or give another name")
    aside = os.path.join(os.path.dirname(target), f".gviz-{os.urandom(8).hex()}.tmp")
    with _signals_wait():
        try:
            with open(aside, "xb") as stream:
                stream.write(raw)
                if not is_new and hasattr(os, "fchmod"):
                    os.fchmod(stream.fileno(), stat.S_IMODE(os.stat(target).st_mode))
            os.replace(aside, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(aside)
            raise


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Let signals that end the process wait while the new file takes the place of the old one: some milliseconds."""
    import signal

    numbers = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    came: list[int] = []
    try:
        before = {number: signal.signal(number, lambda number, _frame: came.append(number)) for number in numbers}
    except ValueError:  # not in the main thread, where no signal arrives
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])


def writing_error(name: str, error: OSError) -> FileError:
    """Return the system's reason in words, with a hint on how to go on."""
    hint = HINTS.get(error.errno or 0)
    if os.name == "nt" and isinstance(error, PermissionError):
        hint = "close the program that shows it"
    return FileError(f"cannot write {name}: {_reason(error)}", hint=hint)
