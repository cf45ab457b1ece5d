"""The one place that writes files: a picture appears whole or not at all.

It is written beside its place under another name and then renamed, which no reader can catch half done. Whatever goes
wrong before that, the old file is untouched and nothing new is left behind.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gviz.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["write", "write_events"]

_HINTS = {
    errno.ENOSPC: "make room, or write somewhere else",
    errno.EDQUOT: "make room, or write somewhere else",
    errno.ENAMETOOLONG: "give the file a shorter name",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
}


def write(path: str | os.PathLike[str], data: str | bytes) -> str:
    """Write a file: atomically, through links to the file they point to, with the permissions that the old one had.

    What is no regular file (``/dev/null``, a pipe) is written to as it is.

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
        raise _explained(name, error) from None
    return name


def write_events(folder: str | os.PathLike[str], data: bytes) -> str:
    """Write an event file into a folder, which is made where it is missing, in place of what gviz left there before.

    Files of others stay, and so does a file of the same content.

    Args:
        folder: TensorBoard's log directory, or a run's folder in it.
        data: the whole file, from :func:`gviz.events.event_file`.

    Returns:
        The folder, as text.

    Raises:
        FileError: it cannot be written; what is there stays as it was.
    """
    from gviz.events import file_name, is_ours

    name = os.fspath(folder)
    _check_name(name, "write -o DIR/")
    try:
        os.makedirs(name, exist_ok=True)
        ours = [entry for entry in sorted(os.listdir(name)) if is_ours(os.path.join(name, entry))]
        kept = next((entry for entry in ours if _holds(os.path.join(name, entry), data)), None)
        if kept is None:
            write(os.path.join(name, file_name(ours)), data)
        for old in ours:
            if old != kept:
                os.unlink(os.path.join(name, old))
    except (FileExistsError, NotADirectoryError):
        raise FileError(f"cannot write into {name}: it is no folder, or lies in a file", hint="name a folder") from None
    except OSError as error:
        raise _explained(name, error) from None
    return name


def _holds(path: str, data: bytes) -> bool:
    """Whether that is the content of a file."""
    with open(path, "rb") as file:
        return file.read(len(data) + 1) == data


def _check(name: str) -> None:
    """Refuse what is no name of a file, or is a folder.

    Raises:
        FileError: with what to write instead.
    """
    _check_name(name, "write -o NAME.pdf")
    if os.path.isdir(name) or name.endswith(("/", os.sep)):
        raise FileError(f"{name} is a folder", hint=f"name a file in it: {os.path.join(name, 'graph.pdf')}")
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        named = os.path.dirname(name)
        if not named or os.path.isdir(named):  # a link leads elsewhere
            named = folder
        if os.path.lexists(folder):
            raise FileError(f"cannot write {name}: {named} is no folder")
        raise FileError(f"cannot write {name}: there is no folder {named}", hint="make it first")


def _check_name(name: str, example: str) -> None:
    """Refuse what the system takes for no name at all.

    Raises:
        FileError: with what to write instead.
    """
    if not name or "\0" in name:
        raise FileError(f"{name!r} is no name of a file", hint=example)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise FileError(f"{name!r} is no name of a file here", hint="its characters cannot be encoded; choose others") from None


def _stat(name: str) -> os.stat_result | None:
    """What is there now, behind any link; None for nothing."""
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
    """Bytes that a file's name may have in that folder."""
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):
        return 255


def _open_aside(folder: str) -> tuple[str, int]:
    """A new file in the folder that nobody else has, with the permissions that any new file gets."""
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


def _explained(name: str, error: OSError) -> FileError:
    """The system's reason in words, and what to do."""
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0)
    if os.name == "nt" and isinstance(error, PermissionError):
        hint = "close the program that shows it"
    return FileError(f"cannot write {name}: {reason}", hint=hint)
