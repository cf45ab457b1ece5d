"""Standard output is for the product, standard error for talk; both may be closed, piped, or a poor terminal."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO

from gviz.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gviz.sources import Note

__all__ = [
    "abandon", "complain", "flush", "hear_warnings", "in_colour", "interruptible", "is_terminal", "product_alone",
    "replace_unprintable", "say", "takes_unicode", "write_product",
]  # fmt: skip

_STYLES = {"error": "31;1", "warning": "33", "dim": "2"}

_LONGEST = 1_000
"""Characters of a line of talk."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads that stream as it is written."""
    return stream is not None and is_open(stream) and stream.isatty()


def is_open(stream: TextIO) -> bool:
    """Whether a stream can still be written to."""
    try:
        return not stream.closed
    except ValueError:  # Python's word for a stream that a script took apart
        return False


def in_colour(stream: TextIO | None) -> bool:
    """Whether colours are welcome there: a terminal, and NO_COLOR (https://no-color.org) is not set."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def takes_unicode(stream: TextIO) -> bool:
    """Whether bars and lines of a tree can be shown there."""
    return (stream.encoding or "").lower().startswith("utf")


def say(note: Note) -> None:
    """Print one note of a source on standard error; dim ones only where a person reads it."""
    if note.level == "dim" and not is_terminal(sys.stderr):
        return
    prefix = f"{note.level}: " if note.level in ("warning", "error") else ""
    _talk(prefix, note.text, _STYLES.get(note.level, ""))


def hear_warnings() -> None:
    """From now on print what gviz warns of as one line each; a warning with a place in the user's code stays as it is.

    A place in gviz's own files, such as a warning about an expression has, would tell its reader nothing.
    """
    import warnings

    from gviz.layout import RenderWarning

    others = warnings.showwarning
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

    def show(message: Warning | str, category: type[Warning], filename: str, *place: Any) -> None:
        if issubclass(category, RenderWarning) or os.path.abspath(filename).startswith(own):
            _talk("warning: ", str(message), _STYLES["warning"])
        else:
            others(message, category, filename, *place)

    warnings.simplefilter("always", RenderWarning)
    warnings.showwarning = show  # type: ignore[assignment]


def complain(text: str) -> None:
    """Print an error on standard error."""
    _talk("error: ", text, _STYLES["error"])


def _talk(prefix: str, text: str, style: str) -> None:
    if sys.stderr is None or not is_open(sys.stderr):  # closed by the caller or a script: nobody wants to hear it
        return
    prefix, text = _visible(prefix), "\n".join(map(_cut, _visible(text).split("\n")))
    if style and in_colour(sys.stderr):
        if prefix:
            prefix = f"\x1b[{style}m{prefix}\x1b[0m"
        else:
            text = f"\x1b[{style}m{text}\x1b[0m"
    try:
        sys.stderr.write(f"{prefix}{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # a full disk, a reader who left: talk must not cost the picture
        abandon(sys.stderr)


def _visible(text: str) -> str:
    r"""A text whose control characters are shown, not obeyed: a script's error may hold any.

    >>> _visible("a\x1b[2J")
    'a\\x1b[2J'
    """
    if text.isprintable():
        return text
    from unicodedata import category

    return "".join(c if c in "\n\t" or category(c) != "Cc" else repr(c)[1:-1] for c in text)


def _cut(line: str) -> str:
    """A line without its middle where that is too long to be read: a name may have 100,000 characters."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]}...{line[-_LONGEST // 2 :]}"


def write_product(data: str | bytes) -> None:
    """Write the product to standard output: text as UTF-8 with its own line ends, or as the terminal wants it.

    Raises:
        FileError: standard output is closed, or its disk is full.
        BrokenPipeError: nobody reads any more.
    """
    if sys.stdout is None or not is_open(sys.stdout):
        raise FileError("standard output is closed", hint="name a file with -o FILE")
    raw = data if isinstance(data, bytes) else _encoded(data)
    with _full_disk_told():
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()


@contextmanager
def _full_disk_told() -> Iterator[None]:
    """Within it, what the system would not write is a FileError; a reader that left stays a BrokenPipeError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon(sys.stdout)
        raise FileError(f"cannot write to standard output: {error.strerror}") from None


def _encoded(text: str) -> bytes:
    """The bytes of a text for standard output; a terminal shows ``?`` for what its encoding lacks."""
    if is_terminal(sys.stdout):
        return text.encode(sys.stdout.encoding or "utf-8", "replace")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, which a saved graph or a script's text may hold
        return text.encode("utf-8", "backslashreplace")


@contextmanager
def product_alone() -> Iterator[None]:
    """Within it, what a script prints goes to standard error, so that standard output holds the product alone.

    The file descriptor is moved as well as ``sys.stdout``: child processes and compiled code print too.
    """
    if sys.stdout is None or sys.stderr is None:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it Ctrl-C raises KeyboardInterrupt, so that what is under way can tidy up; elsewhere it ends gviz at once."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:  # whoever started gviz wants it so
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def flush() -> None:
    """Write out what is buffered, so that a full disk or a closed pipe is noticed here and not while Python ends.

    Raises:
        FileError: the disk is full.
        BrokenPipeError: nobody reads any more.
    """
    if sys.stderr is not None and is_open(sys.stderr):
        try:
            sys.stderr.flush()
        except (OSError, ValueError):
            abandon(sys.stderr)
    if sys.stdout is None or not is_open(sys.stdout):
        return
    with _full_disk_told():
        sys.stdout.flush()


def abandon(*unwanted: TextIO | None) -> None:
    """Point these streams at nothing, so that Python has nothing to complain about when it flushes them at its end."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in unwanted:
            if stream is not None and is_open(stream):
                with suppress(OSError, ValueError):
                    os.dup2(nowhere, stream.fileno())


def replace_unprintable() -> None:
    """Print ``?`` for what the console's code page lacks, rather than failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
