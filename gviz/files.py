"""Bytes in and out: a file or standard input as text, or a clear word on why it is not; a file written whole or not at all.

A file is written beside its place under another name and then renamed, which no reader can catch half done. Whatever goes
wrong before that, the old file is untouched and nothing new is left behind.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gviz.errors import FileError, Place
from gviz.text import closest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

__all__ = ["STDIN", "check_name", "decode", "explained", "parse_json", "read_file", "read_stdin", "write"]

STDIN = "<stdin>"
"""What messages call standard input, as Python does."""

MAX_BYTES = 256 * 1024 * 1024
"""More than this is neither a script nor a graph: /dev/zero, or a disk image."""

CODING_HINT = "save it as UTF-8, or name its encoding in the first line, as in: # -*- coding: latin-1 -*-"
MARKS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "an archive",
    b"\x89PNG": "a PNG picture",
}
"""First bytes that tell what a file is instead of text."""

HINTS = {
    errno.ENOSPC: "make room, or write somewhere else",
    errno.EDQUOT: "make room, or write somewhere else",
    errno.ENAMETOOLONG: "give the file a shorter name",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
}


# ------------------------------------------------------------------ reading
def read_file(path: str) -> bytes:
    """Return the bytes of a file; FileError for a folder, and for what is not there, not readable or without end."""
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
    """Refuse what goes on for ever, or is a disk image."""
    if len(data) > MAX_BYTES:
        raise FileError(f"{file} is larger than {MAX_BYTES // 2**20} MiB: that is neither a script nor a graph")


def reason(error: OSError) -> str:
    """Return the system's words on what went wrong."""
    return error.strerror or type(error).__name__


def folder_hint(path: str) -> str | None:
    """Return a hint with a script or a graph in the folder, to name instead."""
    try:
        inside = sorted(name for name in os.listdir(path) if name.endswith((".py", ".json")))
    except OSError:
        return None
    return f"name a file in it, such as {os.path.join(path, inside[0])}" if inside else None


def missing(path: str) -> FileError:
    """Return the error for a file that is not there, with the name that was probably meant."""
    folder, name = os.path.split(path)
    if os.path.islink(path):
        return FileError(f"there is no file {path}", hint=f"it is a link to {os.readlink(path)}, which is not there")
    try:
        others = os.listdir(folder or os.curdir)
    except OSError:
        return FileError(f"there is no file {path}", hint=f"there is no folder {folder}" if folder else None)
    suffix = os.path.splitext(name)[1]
    meant = closest(name, (other for other in others if other.endswith(suffix)))
    return FileError(f"there is no file {path}", hint=f"did you mean {os.path.join(folder, meant)}?" if meant else None)


def decode(data: bytes, file: str) -> str:
    """Return the text of a file, its line ends as newlines (PEP 263: a coding line or a byte order mark decides, else UTF-8).

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
    """Return the text, in the encoding that its first two lines or its byte order mark name."""
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
    except (LookupError, UnicodeError, ValueError) as error:  # codecs that are not text encodings, such as hex
        what = f"{file} cannot be read as {encoding}: {error}"
        raise FileError(what, place=coding_line(data, file), hint=CODING_HINT) from None


def coding_line(data: bytes, file: str) -> Place:
    """Return the line that names an encoding: the first or the second."""
    lines = [line.decode("ascii", "replace").strip() for line in data[:1000].splitlines()[:2]]
    number = next((number for number, line in enumerate(lines) if "coding" in line), 0)
    return Place(lines[number], file=file, line=number + 1)


def read_stdin(stdin: TextIO | None) -> str:
    """Return everything on standard input, decoded as a file would be; FileError if it is closed, empty or not a text."""
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


def parse_json(text: str, file: str, hint: str | None = None) -> Any:
    """Return what a JSON text holds.

    Args:
        text: JSON; a byte order mark is left out.
        file: its name, for messages.
        hint: what to do if it is not JSON; None for a word on files that were cut short.

    Raises:
        FileError: it is not JSON, with the place: the end of its last full line if what is missing would stand behind it.
    """
    import json

    try:
        return json.loads(text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        lines = error.doc.rstrip().split("\n")  # as the parser counts lines
        is_cut = not error.doc[error.pos :].strip()
        line, column = (len(lines), len(lines[-1])) if is_cut else (error.lineno, error.colno - 1)
        place = Place(lines[line - 1], column=column, file=file, line=line)
        cut = "the file ends in the middle: was it written whole?" if is_cut else None
        raise FileError(f"this is not JSON: {error.msg}", place=place, hint=hint or cut) from None
    except RecursionError:
        raise FileError(f"{file}: the JSON is nested too deeply") from None
    except ValueError:
        what = f"{file}: a whole number has too many digits"
        raise FileError(what, hint="write it as a decimal number, as in 1e30") from None


# ------------------------------------------------------------------ writing
def write(path: str | os.PathLike[str], data: str | bytes) -> str:
    """Write a file: atomically, through links to the file they point to, with the permissions that the old one had.

    What is not a regular file (``/dev/null``, a pipe) is written to as it is.

    Args:
        path: where to.
        data: the whole content; text becomes UTF-8.

    Returns:
        The path, as text.

    Raises:
        FileError: it cannot be written; what is there stays as it was.
    """
    name = os.fspath(path)
    raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    try:
        _check(name)
        old = _stat(name)
        if old is None or stat.S_ISREG(old.st_mode):
            _replace(os.path.realpath(name), raw, old)
        else:
            with open(name, "wb") as there:
                there.write(raw)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise explained(name, error) from None
    return name


def _check(name: str) -> None:
    """Refuse what is not the name of a file, or is a folder.

    Raises:
        FileError: with what to write instead.
    """
    check_name(name, "write -o NAME.pdf")
    if os.path.isdir(name) or name.endswith(("/", os.sep)):
        raise FileError(f"{name} is a folder", hint=f"name a file in it: {os.path.join(name, 'graph.pdf')}")
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        named = os.path.dirname(name)
        if not named or os.path.isdir(named):  # a link leads elsewhere
            named = folder
        if os.path.lexists(folder):
            raise FileError(f"cannot write {name}: {named} is not a folder")
        raise FileError(f"cannot write {name}: there is no folder {named}", hint="make it first")


def check_name(name: str, example: str) -> None:
    """Refuse what the system does not take for a name.

    Raises:
        FileError: with what to write instead.
    """
    if not name or "\0" in name:
        raise FileError(f"{name!r} is not the name of a file", hint=example)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise FileError(
            f"{name!r} is not the name of a file here", hint="its characters cannot be encoded; choose others"
        ) from None


def _stat(name: str) -> os.stat_result | None:
    """Return what is there now, behind any link; None for nothing."""
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None


def _replace(target: str, raw: bytes, old: os.stat_result | None) -> None:
    """Write the bytes aside, in the same folder, and rename."""
    if old is not None and not os.access(target, os.W_OK):
        raise FileError(f"cannot write {target}: it is read-only", hint="make it writable, or give another name")
    if old is None and len(os.fsencode(os.path.basename(target))) > _longest(os.path.dirname(target)):
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    with _interrupts_wait():
        aside, file = _open_aside(os.path.dirname(target))
        try:
            with open(file, "wb") as stream:
                stream.write(raw)
                if old is not None and hasattr(os, "fchmod"):
                    os.fchmod(file, stat.S_IMODE(old.st_mode))
            os.replace(aside, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(aside)
            raise


def _longest(folder: str) -> int:
    """Return how many bytes a file's name may have in that folder."""
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        return 255


def _open_aside(folder: str) -> tuple[str, int]:
    """Return a new file in the folder that nobody else has, with the permissions that any new file gets."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    for attempt in range(1000):
        aside = os.path.join(folder, f".gviz-{os.getpid()}-{attempt}.tmp")
        with suppress(FileExistsError):
            return aside, os.open(aside, flags, 0o666)
    raise FileExistsError(errno.EEXIST, "the folder is full of files that another gviz left")


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C waits until the file is written and renamed, or is gone again: milliseconds.

    Whoever handles it may end the process at once, which would leave the file written aside.
    """
    import signal

    handler = signal.getsignal(signal.SIGINT)
    came: list[int] = []
    try:
        signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    except ValueError:  # not in the main thread, where Ctrl-C does not arrive
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        if came:
            signal.raise_signal(signal.SIGINT)


def explained(name: str, error: OSError) -> FileError:
    """Return the system's reason in words, and what to do."""
    reason = error.strerror or str(error)
    hint = HINTS.get(error.errno or 0)
    if os.name == "nt" and isinstance(error, PermissionError):
        hint = "close the program that shows it"
    return FileError(f"cannot write {name}: {reason}", hint=hint)
