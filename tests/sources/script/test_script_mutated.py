"""Scripts with a mistake in them, of any kind: a graph, or an error that names the line; never an error of gviz's own."""

from __future__ import annotations

import random
import re
import time
import warnings

import pytest
from fuzzing import MORE, Escape, guarded, seeds
from program import SAMPLES
from scripts import Folder
from snippets import programs

from gviz import engine
from gviz.errors import GvizError
from gviz.numbers.words import WARNED
from gviz.sources import Reading

pytestmark = pytest.mark.fuzz

HEAD = "import copy\nimport numpy as np\nimport torch\nfrom torch import nn\nF = nn.functional\n"
SCRIPTS = [
    *(file.read_text(encoding="utf-8") for file in sorted(SAMPLES.glob("*.py")) if file.name != "pasted_session.py"),
    *(HEAD + program for program in programs()),
]
TOKEN = re.compile(r"\w+|[ \t]+|\n|[^\w\s]")
OTHERS = (
    "0",
    "None",
    "x",
    "(",
    ")",
    ":",
    "=",
    ".",
    "*",
    "\n",
    "    ",
    "-1",
    "'",
    "return",
    "del",
    "torch",
    "1e400",
    "lambda",
    "[]",
    "#",
)

SECONDS = 5
"""A mutated loop may have no end, which is nobody's mistake but the script's."""
MOST = 15 * MORE
"""Seconds for all of them, so that a slow machine does fewer."""


def mutated(script: str, chance: random.Random) -> str:
    """The script with one to three of its tokens or lines left out, doubled, exchanged or replaced."""
    for _ in range(chance.randint(1, 3)):
        parts = TOKEN.findall(script) if chance.random() < 0.7 else script.splitlines(keepends=True)
        at, other = chance.randrange(len(parts)), chance.randrange(len(parts))
        kind = chance.choice(("leave out", "double", "exchange", "replace", "move"))
        if kind == "leave out":
            del parts[at]
        elif kind == "double":
            parts.insert(at, parts[at])
        elif kind == "exchange":
            parts[at], parts[other] = parts[other], parts[at]
        elif kind == "replace":
            parts[at] = chance.choice((*OTHERS, parts[other]))
        else:
            parts.insert(other, parts.pop(at))
        script = "".join(parts) or "\n"
    return script


def says_where(text: str) -> bool:
    """Whether an error names the line, or is about the script as a whole: it has no graph, or ended itself."""
    whole = (
        "there is no graph",
        "there is nothing to",
        "has no",
        "the script ended itself",
        "nested too deeply",
        "is empty",
    )
    return bool(re.search(r"net\.py:\d+|line \d+", text)) or any(phrase in text for phrase in whole)


def attempt(script: str, folder: Folder) -> None:
    """Run a script; what comes of it is a graph or an error in words."""
    engine.manual_seed(0)
    WARNED.clear()
    reading: Reading | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with guarded(watched=False, seconds=SECONDS):
                reading = folder.run(script)
        except Escape:
            return
        except GvizError as error:
            assert says_where(str(error)), str(error)  # noqa: PT017 - or there is a graph
            return
        finally:
            engine.set_grad_enabled(True)
            engine.set_default_dtype(engine.float32)
    said = [note.text for note in reading.notes if note.level == "error"]
    assert reading.graph.nodes
    assert reading.failed == bool(said)
    assert all(map(says_where, said)), said


def test_a_script_with_mistakes_has_a_graph_or_an_error_with_its_line(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, start = Folder(tmp_path_factory.mktemp("mutated")), time.monotonic()
    monkeypatch.chdir(folder.path)
    for part in (engine.nn, engine.nn.functional, engine.optim):  # names that a mistake may write over
        for name, value in list(vars(part).items()):
            monkeypatch.setitem(vars(part), name, value)
    for seed in seeds(1000):
        if time.monotonic() - start > MOST:
            break
        chance = random.Random(seed)  # noqa: S311 - scripts, no secrets
        script = mutated(chance.choice(SCRIPTS), chance)
        try:
            attempt(script, folder)
        except BaseException as error:
            error.add_note(f"seed {seed}, the script:\n{script}")
            raise
    assert seed > 50
    capsys.readouterr()
