"""gviz as a program: run in a folder of its own, in a pipe or on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forks import TIMEOUT, Forks

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"

KEPT = frozenset({"PATH", "SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH", "GVIZ_FAST"})
"""Variables of this process that gviz is run with: where programs and libraries lie, and whether its engine is the fast one."""

READ_LATE = frozenset({"NO_COLOR"})
"""Variables that gviz reads when it comes to need them; any other may be read as Python starts or gviz is imported."""


@dataclass(frozen=True)
class Finished:
    """A program that has run: its exit status, what it wrote to both streams, and where it ran."""

    status: int
    raw: bytes
    err: str
    folder: Path

    @property
    def out(self) -> str:
        return self.raw.decode()

    def json(self) -> Any:
        return json.loads(self.raw)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def assert_refused(self, *phrases: str, status: int = 1, files: tuple[str, ...] = ()) -> None:
        """Check that gviz refused its input as it should: a status, a sentence, no traceback, and no file left behind."""
        assert self.status == status, self.err
        assert "Traceback" not in self.err
        assert "has a bug" not in self.err
        assert self.files() == sorted(files)
        for phrase in phrases:
            assert phrase in self.err, self.err


def clean_environment(home: Path, **extra: str) -> dict[str, str]:
    """An environment in which nothing of this machine's settings shows, and gviz is the one of this tree."""
    kept = {key: value for key, value in os.environ.items() if key in KEPT}
    return {
        **kept,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        **extra,
    }


def python(code: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter of its own, in which gviz is the one of this tree."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder,
        env=clean_environment(Path("/nonexistent")),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


class Program:
    """Runs ``gviz`` in a folder, as a shell would.

    Args:
        folder: where it runs.
        home: the user's home.
        forks: runs what needs no interpreter of its own; None where the system cannot fork.
    """

    def __init__(self, folder: Path, home: Path, forks: Forks | None) -> None:
        self.folder = folder
        self.home = home
        self.forks = forks

    def __call__(self, *arguments: object, stdin: str | bytes = b"", env: Mapping[str, str] | None = None) -> Finished:
        """Run a command to its end, with these variables added to its environment."""
        words, variables = list(map(str, arguments)), clean_environment(self.home, **(env or {}))
        given = stdin.encode() if isinstance(stdin, str) else stdin
        if self.forks is not None and READ_LATE.issuperset(env or ()):
            status, out, err = self.forks.run(words, self.folder, variables, given)
        else:
            done = subprocess.run(
                [sys.executable, "-m", "gviz", *words],
                input=given,
                cwd=self.folder,
                env=variables,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
            status, out, err = done.returncode, done.stdout, done.stderr
        return Finished(status, out, err.decode(errors="replace"), self.folder)

    def inspect(self, *arguments: object) -> dict[str, dict[str, Any]]:
        """The rows of ``gviz inspect --json`` by name; the command must succeed."""
        done = self("inspect", *arguments, "--json")
        assert done.status == 0, done.err
        return {row["name"]: row for row in done.json()["tensors"]}

    def graph(self, *arguments: object) -> dict[str, Any]:
        """The graph that ``gviz render -o graph.json`` writes; the command must succeed."""
        done = self("render", *arguments, "-o", "graph.json")
        assert done.status == 0, done.err
        graph: dict[str, Any] = json.loads((self.folder / "graph.json").read_text(encoding="utf-8"))
        return graph

    def on_terminal(self, *arguments: object, columns: int = 80, env: Mapping[str, str] | None = None) -> Finished:
        """Run with standard output and error on a terminal of that width; both come back as one text."""
        import pty
        import select

        controller, terminal = pty.openpty()
        words = list(map(str, arguments))
        variables = clean_environment(self.home, TERM="xterm-256color", COLUMNS=str(columns), LINES="50", **(env or {}))
        status: Callable[[], int]
        if self.forks is not None and READ_LATE.issuperset(env or ()):
            name = os.ttyname(terminal)
            self.forks.start(words, self.folder, variables, (os.devnull, name, name))
            status = self.forks.status
        else:
            line, nothing = [sys.executable, "-m", "gviz", *words], subprocess.DEVNULL
            process = subprocess.Popen(
                line, cwd=self.folder, env=variables, stdin=nothing, stdout=terminal, stderr=terminal
            )
            status = process.wait
        os.close(terminal)
        seen = b""
        while True:
            ready, _, _ = select.select([controller], [], [], TIMEOUT)
            assert ready, "the program neither wrote nor ended"
            try:
                part = os.read(controller, 65536)
            except OSError:  # Linux's word for: the other side has closed
                break
            if not part:
                break
            seen += part
        os.close(controller)
        return Finished(status(), seen.replace(b"\r\n", b"\n"), "", self.folder)
