"""Standard output is for the product, standard error for messages; both may be closed, piped, or a poor terminal."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeGuard

from gviz.errors import FileError
from gviz.files import write_all
from gviz.text import legible
from gviz.wiring import Wires

if TYPE_CHECKING:  # help loads nothing of a source
    from gviz.sources.notes import Level, Note

_STYLES = {"error": "31;1", "warning": "33", "dim": "2"}


def is_open(stream: TextIO | None) -> TypeGuard[TextIO]:
    """Return whether a stream can still be written to; None stands for one that was closed before gviz began."""
    try:
        return stream is not None and not stream.closed
    except ValueError:  # Python's word for a stream that a script took apart
        return False


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether the stream is a terminal."""
    return is_open(stream) and stream.isatty()


def in_colour(stream: TextIO | None) -> bool:
    """Return whether colours are welcome: it is a terminal, and NO_COLOR (https://no-color.org) is not set."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(note: Note) -> None:
    """Print one note of a source on standard error; a dim one only if that is a terminal."""
    if note.level != "dim" or is_terminal(sys.stderr):
        complain(note.text, note.level)


def hear_warnings() -> None:
    """From now on print each warning of gviz once, in one line.

    A warning with a place in the user's code stays as it is.

    A place in gviz's own files, as of a warning about an expression, says nothing to its reader.
    """
    import warnings

    from gviz.layout import RenderWarning

    others = warnings.showwarning
    printed: set[str] = set()  # several files of one picture have the same warnings
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

    def show(message: Warning | str, category: type[Warning], filename: str, *place: Any) -> None:
        if issubclass(category, RenderWarning) or os.path.abspath(filename).startswith(own):
            if str(message) not in printed:
                complain(str(message), "warning")
            printed.add(str(message))
        else:
            others(message, category, filename, *place)

    warnings.simplefilter("always", RenderWarning)
    warnings.showwarning = show  # type: ignore[assignment]


def complain(text: str, level: Level = "error") -> None:
    """Print a text on standard error, as an error, a warning or a note."""
    text = legible(text)  # a script's error may hold any character
    head, rest = (f"{level}: ", text) if level in ("error", "warning") else (text, "")
    if level in _STYLES and in_colour(sys.stderr):
        head = f"\x1b[{_STYLES[level]}m{head}\x1b[0m"
    talk(f"{head}{rest}\n")


def talk(text: str) -> None:
    """Write a text to standard error, if that is open; a full disk, or a reader who left, must not cost the picture."""
    Wires.stage("")
    try:
        if is_open(sys.stderr):
            sys.stderr.write(text)
            sys.stderr.flush()
    except (OSError, ValueError):
        abandon(sys.stderr)


def write_product(data: str | bytes) -> None:
    """Write the product to standard output: text as UTF-8 with its own line ends, or as the terminal wants it.

    Raises:
        FileError: standard output is closed.
        OSError: its disk is full, or nobody reads it any more.
    """
    if not is_open(sys.stdout):
        raise FileError("standard output is closed", hint=_way_out())
    Wires.stage("")
    raw = data if isinstance(data, bytes) else _encoded(data)
    sys.stdout.flush()
    write_all(sys.stdout.buffer, raw)


def write_json(data: Any) -> None:
    """Write data to standard output as one line of JSON."""
    import json

    write_product(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")


def _way_out() -> str:
    """Return where the product of the command that runs can go instead."""
    import click

    context = click.get_current_context(silent=True)
    has_file = context is not None and any("-o" in option.opts for option in context.command.params)
    return "name a file with -o FILE" if has_file else "leave it open, or send it to a file with > FILE"


def _encoded(text: str) -> bytes:
    """Return the bytes of a text for standard output; a terminal shows ``?`` for what its encoding lacks."""
    if is_terminal(sys.stdout):
        return text.encode(sys.stdout.encoding or "utf-8", "replace")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, which a saved graph or a script's text may hold
        return text.encode("utf-8", "backslashreplace")


@contextmanager
def product_alone() -> Iterator[None]:
    """Send what a script prints to standard error, so that standard output holds the product alone.

    The file descriptor is moved as well as ``sys.stdout``: child processes and compiled code print too.
    """
    if sys.stdout is None or sys.stderr is None:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            yield
        return
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt once, so that a script can tidy up.

    Without this, and a second time, it ends gviz.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:  # the program that started gviz ignores Ctrl-C
        yield
        return

    def once(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Stages:
    """A bar on standard error that says what a command is at, if that is a terminal and a second has passed.

    Whatever a command prints ends it.

    It has a descriptor of its own, since what Graphviz writes to standard error is caught meanwhile.
    """

    NAMES = ("reading", "computing", "layout", "drawing")
    PATIENCE = 1.0

    def __init__(self) -> None:
        self.name = ""
        self.bar: Any = None
        self.timer: threading.Timer | None = None
        self.lock = threading.Lock()

    def tell(self, name: str) -> None:
        """Go on to the next stage; "" is the end."""
        with self.lock:
            if name and not self.name:
                self.timer = threading.Timer(self.PATIENCE, self.show)
                self.timer.daemon = True
                self.timer.start()
            self.name = name
            if self.bar is not None and name:
                self.bar.update(0, completed=self.NAMES.index(name), description=name)
            elif self.bar is not None:
                self.bar.stop()
                self.bar = None
            if not name and self.timer is not None:
                self.timer.cancel()

    def show(self) -> None:
        """Show the bar, from the timer's thread."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        with self.lock:
            if not self.name:  # it is done by now
                return
            console = Console(file=os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace"))
            # Ctrl-C would leave the cursor hidden
            console.show_cursor = lambda show=True: not show  # type: ignore[method-assign]
            self.bar = Progress(
                *columns,
                console=console,
                transient=True,
                refresh_per_second=2,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.bar.add_task(self.name, total=len(self.NAMES), completed=self.NAMES.index(self.name))
            self.bar.start()


@contextmanager
def stages() -> Iterator[None]:
    """Show the stages that are told of in the block, where they take longer than a second, on a terminal."""
    is_shown = isinstance(getattr(Wires.stage, "__self__", None), Stages)  # by a block around this one
    if is_shown or not is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb":
        yield
        return
    display, before = Stages(), Wires.stage
    Wires.stage = staticmethod(display.tell)
    try:
        yield
    finally:
        display.tell("")
        Wires.stage = staticmethod(before)


def flush() -> None:
    """Flush both streams, so that a full disk or a closed pipe is noticed here and not while Python ends."""
    talk("")
    if is_open(sys.stdout):
        sys.stdout.flush()


def abandon(*streams: TextIO | None) -> None:
    """Point these streams at nothing, so that Python does not complain when it flushes them at its end."""
    with open(os.devnull, "wb") as nowhere:
        for stream in filter(is_open, streams):
            with suppress(OSError, ValueError):
                os.dup2(nowhere.fileno(), stream.fileno())


def terminal_look() -> dict[str, Any]:
    """Return the width of standard output, whether it takes ASCII alone, and whether it is in colour.

    Nothing in a pipe.
    """
    if not is_terminal(sys.stdout):
        return {}
    from shutil import get_terminal_size

    is_ascii = not (sys.stdout.encoding or "").lower().startswith("utf")  # no bars, no lines of a tree
    return {"width": get_terminal_size().columns, "ascii": is_ascii, "color": in_colour(sys.stdout)}
