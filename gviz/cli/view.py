"""``gviz view``: the page of a source in the browser, which is drawn again when the source is saved."""

from __future__ import annotations

import errno
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import click

from gviz.cli import streams
from gviz.cli.options import ListedOption, SourceCommand, listed_option
from gviz.cli.render import render
from gviz.errors import ArgumentError

HOST = "127.0.0.1"
"""The address of this machine that no other one reaches."""

PAUSE = 0.1
"""Seconds from one look at the files to the next."""

PATIENCE = 2.0
"""Seconds that a run may take before the page says so, and to tidy up after Ctrl-C, which it gets as well."""

LAST_WORDS = 4000
"""Characters of what a run has printed that stand in the page."""

WAITING = '<!doctype html>\n<html lang="en"><head><title>gviz</title></head><body></body></html>\n'
"""The page before the first picture."""

WORDS = "gviz.words"
"""The key of the words for ``gviz render``."""

OWN = ("port", "is_watched", "has_browser")
"""The options that are not of gviz render."""

LEFT_OUT = ("files", "format", "opens", "fit", "pages", "scale", "transparent")
"""Options of gviz render that a page has no use for."""

Stamps = list[tuple[int, int] | None]
"""When each file was written last, and its size; None for one that is not there."""


class ViewCommand(SourceCommand):
    """A command that hands its words on to ``gviz render``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words, without the options of this command."""
        end = args.index("--") if "--" in args else len(args)
        own = {
            flag: one.is_flag
            for one in self.params
            if isinstance(one, ListedOption) and one.name in OWN
            for flag in one.opts
        }
        words, rest = [], iter(args[:end])
        for word in rest:
            flag, equals, _ = word.partition("=")
            if flag not in own:
                words.append(word)
            elif not own[flag] and not equals:
                next(rest, None)
        ctx.meta[WORDS] = [*words, *args[end:]]
        return super().parse_args(ctx, args)

    def _advice(self, context: click.Context, option: str, words: Sequence[str]) -> str:
        """Return what to write in place of an option that this command has not."""
        is_file = option in {"-o", "--output"}
        return "gviz render SOURCE -o y.html writes the page." if is_file else super()._advice(context, option, words)


class Board:
    """What the page shows.

    Attributes:
        page: the last picture.
        number: how many there were.
        text: what is wrong with the source now; "" for nothing.
    """

    def __init__(self) -> None:
        self.page, self.number, self.text = WAITING, 0, ""

    @property
    def state(self) -> str:
        """The answer to a page that asks whether there is a new picture."""
        return json.dumps({"number": self.number, "text": self.text})

    @property
    def shown(self) -> str:
        """The page with the script that asks."""
        from gviz.render.html import live

        return live(self.page, self.number)

    @property
    def earlier(self) -> str:
        """What the page says besides where the last save has no picture, or not yet."""
        return "\nThe picture is of an earlier run." * bool(self.number)

    def draw(self, words: Sequence[str], is_stale: Callable[[], bool]) -> int | None:
        """Run ``gviz render`` in a process of its own, which leaves nothing behind for the next run.

        Args:
            words: what is drawn, and how.
            is_stale: whether the source has been written since; the run is ended then.

        Returns:
            The exit status; None if the run was ended.
        """
        with tempfile.TemporaryDirectory(prefix="gviz-") as folder:
            file = os.path.join(folder, "page.html")
            command = [sys.executable, "-P", "-m", "gviz", "render", "-o", file, *words]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as run:  # noqa: S603 gviz itself
                said = bytearray()
                listener = Thread(target=_pass_on, args=(run, said), daemon=True)
                listener.start()
                start = time.monotonic()
                try:
                    while run.poll() is None:
                        if is_stale():
                            return None
                        if time.monotonic() > start + PATIENCE:
                            self.text = f"the program has been running for {PATIENCE:g} seconds or more{self.earlier}"
                        time.sleep(PAUSE)
                except KeyboardInterrupt:
                    with suppress(subprocess.TimeoutExpired):
                        run.wait(PATIENCE)
                    raise
                finally:
                    run.kill()
                    listener.join(PATIENCE)
            last_words = said.decode(errors="replace")[-LAST_WORDS:].strip()
            fault = last_words or f"the run has ended with the status {run.returncode}"
            fault += self.earlier * (not os.path.exists(file))
            self.text = fault * (run.returncode != 0)
            with suppress(FileNotFoundError), open(file, encoding="utf-8") as drawn:
                self.page, self.number = drawn.read(), self.number + 1
        return run.returncode


def _pass_on(run: subprocess.Popen[bytes], said: bytearray) -> None:
    """Print what a run writes to standard error as it comes, and keep it."""
    while run.stderr is not None and (part := os.read(run.stderr.fileno(), 65536)):
        said += part
        streams.talk(part.decode(errors="replace"))


@contextmanager
def served(board: Board, port: int) -> Iterator[str]:
    """Serve the page while the block runs; yield its address, which has a word that nobody can guess.

    Args:
        board: what is shown.
        port: 0 for any that is free.

    Raises:
        ArgumentError: the port is in use, or not to be had.
    """
    path = f"/{secrets.token_urlsafe(16)}/"

    class Handler(BaseHTTPRequestHandler):
        """Answers for the page and for its state, where the address and the host are those that were told."""

        def do_GET(self) -> None:
            """Answer a request."""
            is_own = self.headers["Host"] in {f"{name}:{server.server_port}" for name in (HOST, "localhost")}
            asked = self.path.partition("?")[0].encode()
            page, state = (secrets.compare_digest(asked, f"{path}{name}".encode()) for name in ("", "state"))
            if not is_own or not (page or state):
                self.send_error(404)
                return
            data = (board.shown if page else board.state).encode("utf-8", "backslashreplace")
            self.send_response(200)
            self.send_header("Content-Type", f"{'text/html' if page else 'application/json'}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Frame-Options", "DENY")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_words: object) -> None:
            """Say nothing of requests."""

    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        is_used = error.errno == errno.EADDRINUSE
        reason = "is in use" if is_used else f"cannot be had: {error.strerror}"
        raise ArgumentError(f"the port {port} {reason}", hint="leave out --port: gviz takes one that is free") from None
    with server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_port}{path}"
        finally:
            server.shutdown()


def stamps_of(files: Sequence[str]) -> Stamps:
    """Return when each file was written last, and its size."""
    stamps: Stamps = [None] * len(files)
    for at, file in enumerate(files):
        with suppress(OSError):
            stamps[at] = (about := os.stat(file)).st_mtime_ns, about.st_size
    return stamps


def stamps_at_rest(files: Sequence[str]) -> Stamps:
    """Return the same when nobody is writing: an editor may need several writes to save a file."""
    before, now = None, stamps_of(files)
    while now != before:
        time.sleep(PAUSE * bool(files))
        before, now = now, stamps_of(files)
    return now


def watched_files(source: str, values: str | None) -> list[str]:
    """Return the files that are looked at: that of a script, a graph or a model, and that of its values."""
    from gviz.sources.source import looks_like_a_file

    file = next((one for one in (source, source.rpartition(":")[0]) if os.path.isfile(one)), source)
    if file == "-" or not looks_like_a_file(file):
        raise click.UsageError("--watch looks at the file of SOURCE: an expression, or standard input, has none.")
    return [file, *filter(None, [values])]


@click.command(
    cls=ViewCommand,
    page={
        "The page": "watch no-browser port",
        "What is drawn": "view path show by theme",
        "The source": "root values until engine",
    },
    params=[one for one in render.params if one.name not in LEFT_OUT],
)
@listed_option(
    "--watch",
    "is_watched",
    is_flag=True,
    help="Draw again when the file of SOURCE, or of --values, is saved; the page stays where it is.",
    short="draw again when the source is saved",
)
@listed_option(
    "--no-browser",
    "has_browser",
    is_flag=True,
    default=True,
    flag_value=False,
    help="Print the address alone.",
    short="print the address alone",
)
@listed_option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="The port of the address.  [default: one that is free]",
    example="N",
    short="the port; by default one that is free",
)
@click.pass_context
def view(
    context: click.Context,
    /,
    *,
    words: tuple[str, ...],
    after: tuple[str, ...],
    values: str | None,
    port: int | None,
    is_watched: bool,
    has_browser: bool,
    **_look: object,
) -> int:
    """Show the page of SOURCE in the browser, until Ctrl-C.

    It is the page of gviz render -o y.html, with the same options, at an address that this machine alone can reach.
    With --watch a script is executed again each time that it is saved; an error stands below the last picture.

    \b
    Examples:
      gviz view "y=(x+w)*(w+1)" x=2 w=1
      gviz view train.py --watch --by module
      gviz view train.py --watch --no-browser --port 8000 -- --epochs 1
    """
    files = watched_files((*words, *after, "")[0], values) if is_watched else []
    board, is_told = Board(), False
    with suppress(KeyboardInterrupt), streams.interruptible(), served(board, port or 0) as address:
        while True:
            stamps = stamps_at_rest(files)

            def is_stale(before: Stamps = stamps) -> bool:
                now = stamps_of(files)
                return now != before and None not in now  # an editor may take a file away for a moment

            status = board.draw(context.meta[WORDS], is_stale)
            if status is not None and not board.number and (not files or None in stamps):
                return status or 1
            if status is not None and not is_told:
                is_told = True
                streams.write_product(f"{address}\n")
                if has_browser and click.launch(address):
                    streams.complain("there is no browser here: open the address in one", "warning")
            fault = board.text
            while not is_stale():
                missing = [file for file, stamp in zip(files, stamps_of(files), strict=True) if stamp is None]
                board.text = f"{missing[0]} is gone{board.earlier}" if missing else fault
                time.sleep(PAUSE)
    return 0
