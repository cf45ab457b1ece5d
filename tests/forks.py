"""A process that has gviz loaded, and runs each command in a fork of itself as ``python -m gviz`` would run it.

To start Python and to load numpy and the engine takes ten times as long as most commands do; here it happens once. A fork
is a process of its own, with its own streams, folder, environment and exit status. So no command meets what another one
has changed (the grad mode, the filters of warnings, the modules of a script, the fonts that Graphviz has settled on), and a
script may do to its process what it likes. What only a new interpreter shows needs a process still: variables that are
read as Python starts or gviz is imported, another seed of hashes, streams that are closed.

Run as a program it reads commands in JSON, one a line, and answers each with the line of its exit status.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any

TIMEOUT = 120

LIBRARIES = ("numpy.random", "pygraphviz._graphviz", "rich.console", "rich.table", "rich.text", "rich.tree")
"""Modules that commands import, beside gviz's own."""

FORGOTTEN = ("gviz.__main__", "gviz.sources.script")
"""The first is what a command runs; by the second it knows at its end that it has run a script, and takes its time to end."""


class Forks:
    """Runs commands of gviz in forks of one process, which starts with the first command.

    Args:
        environment: what that process starts with; a command brings its own.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._server: subprocess.Popen[bytes] | None = None
        self._is_running = False

    def run(
        self, arguments: list[str], folder: Path, environment: Mapping[str, str], stdin: bytes
    ) -> tuple[int, bytes, bytes]:
        """Run a command to its end; its exit status, and what it wrote to standard output and to standard error."""
        with tempfile.TemporaryDirectory() as name:
            source, out, err = (Path(name, stream) for stream in ("in", "out", "err"))
            source.write_bytes(stdin)
            out.touch()
            err.touch()
            self.start(arguments, folder, environment, (str(source), str(out), str(err)))
            return self.status(), out.read_bytes(), err.read_bytes()

    def start(
        self, arguments: list[str], folder: Path, environment: Mapping[str, str], streams: tuple[str, str, str]
    ) -> None:
        """Start a command whose standard streams are these three files, open when this returns."""
        if self._is_running:  # nobody has waited for the last command's end
            self.stop()
        if self._server is None:
            self._server = subprocess.Popen(
                [sys.executable, "-P", __file__],
                bufsize=0,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        command = {"arguments": arguments, "folder": str(folder), "environment": dict(environment), "streams": streams}
        line = json.dumps(command).encode() + b"\n"
        assert self._server.stdin is not None
        while line:
            line = line[self._server.stdin.write(line) :]
        assert self._answer() == b"started\n"
        self._is_running = True

    def status(self) -> int:
        """Wait for the end of the command that was started; its exit status, negative where a signal ended it."""
        status = int(self._answer())
        self._is_running = False
        return status

    def _answer(self) -> bytes:
        """Wait for the next line of the process, which is ended if none comes."""
        assert self._server is not None
        assert self._server.stdout is not None
        try:
            line = self._server.stdout.readline() if select.select([self._server.stdout], [], [], TIMEOUT)[0] else b""
        except BaseException:  # Ctrl-C as well
            self.stop()
            raise
        if not line:
            self.stop()
            raise RuntimeError(f"no answer: the command runs for more than {TIMEOUT} s, or gviz cannot be loaded")
        return line

    def stop(self) -> None:
        """End the process and the command that it runs."""
        if self._server is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._server.pid, signal.SIGKILL)
            self._server.communicate()
            self._server, self._is_running = None, False


def load() -> None:
    """Import what commands import."""
    import gviz

    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads do not come along into a fork
    modules = (module.name for module in pkgutil.walk_packages(gviz.__path__, "gviz."))
    for name in (*LIBRARIES, *modules):
        with suppress(Exception):  # what is broken, or not installed, is met by the commands that need it
            import_module(name)
    gviz.engine.manual_seed(0)  # random weights are the same in each run
    for name in FORGOTTEN:
        sys.modules.pop(name, None)
    gc.freeze()


@cache
def read_operations() -> None:
    """Let gviz read its operations once: ``gviz ops`` takes a second for it, and keeps what it has read."""
    from gviz.cli import run

    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        run(["ops", "add"])


def become(command: dict[str, Any], streams: Sequence[int]) -> None:
    """Be ``python -m gviz`` with that command's arguments, in its folder; ends with SystemExit or the process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    assert isinstance(sys.stdout, TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.path.insert(0, command["folder"])
    sys.argv[1:] = command["arguments"]
    runpy.run_module("gviz", run_name="__main__", alter_sys=True)


def serve() -> None:
    """Load, then run commands until standard input ends."""
    commands, answers = os.fdopen(os.dup(0)), os.dup(1)
    load()
    for line in commands:
        command = json.loads(line)
        if command["arguments"][:1] == ["ops"]:
            read_operations()
        accesses = (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_APPEND)  # both may be one file
        streams = [
            os.open(path, access | os.O_NOCTTY) for path, access in zip(command["streams"], accesses, strict=True)
        ]
        child = os.fork()
        if not child:
            commands.close()
            os.close(answers)
            become(command, streams)
        for stream in streams:
            os.close(stream)
        os.write(answers, b"started\n")
        _, status = os.waitpid(child, 0)
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    serve()
