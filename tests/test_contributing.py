"""The examples of CONTRIBUTING.md, added to a copy of the package as the page says, pass the tests as they stand."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forks import TIMEOUT
from program import ROOT, clean_environment
from test_readme import CONTRIBUTING, EXAMPLES, fences

COPIED = ("gviz", "tests", "docs", "README.md", "CONTRIBUTING.md", "pyproject.toml", "Makefile", ".ci")

WORDS = {
    "gviz/cli/__init__.py": ('"formats", "doctor",', '"count", "formats", "doctor",'),
    "gviz/pictures/options.py": ('VIEWS = {"torchviz": "TB", ', 'VIEWS = {"torchviz": "TB", "values": "LR", '),
    "README.md": ("| `gviz formats` |", "| `gviz count SOURCE` | counts what is in a graph |\n| `gviz formats` |"),
    "tests/table_samples.py": ("]] = {\n", ']] = {\n    "entr": [("P",)],\n'),
}
"""What the page says in words: in which file, what stands there, and what takes its place."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with the operation, the format, the view and the command of the page."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (ROOT / name).is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "recorded", "programs", "gold", "actual")
            shutil.copytree(ROOT / name, folder / name, ignore=skipped)
        else:
            shutil.copy(ROOT / name, folder / name)
    examples = {info.split()[1]: text for info, text in fences(r"py \S+", CONTRIBUTING)}
    assert examples.keys() == EXAMPLES
    for name, text in examples.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, (old, new) in WORDS.items():
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name}: {old}"
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    ((_, program),) = fences(r"python entr\.py", CONTRIBUTING)
    row = program[program.index("@op") : program.index("x = ")]
    with (folder / "gviz" / "ops" / "special.py").open("a", encoding="utf-8") as family:
        family.write(f"\n{row.rstrip()}\n")
    return folder


@pytest.mark.parametrize(
    ("words", "least"),
    [
        (["tests/test_house.py", "-k", "lower_floors or floors_are or budget or public_names or long or late"], 200),
        (["tests/ops/test_table.py", "-k", "entr"], 2),
        (["tests/pictures/test_views.py", "-k", "values"], 10),
        (["tests/render/test_formats.py"], 20),
        (["tests/cli/test_help.py", "-k", "every_line_of_an_option or count"], 3),
        (["tests/test_readme.py", "-k", "readme_is_short or (CONTRIBUTING and shows_what)"], 2),
    ],
    ids=["house", "operation", "view", "format", "command", "page"],
)
def test_the_tests_of_a_part_pass_with_the_examples_in_it(copy: Path, words: list[str], least: int) -> None:
    environment = clean_environment(copy, PYTHONPATH=str(copy))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=copy, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.splitlines()[-1].split()[0]) >= least


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("count y=x*w x=2 w=1", "6 boxes, 5 arrows"),
        ("count --help", "Count the boxes and arrows of SOURCE."),
        ("render y=x*w x=2 w=1 -o - --format csv", "n1,n0"),
        ("render y=x*w x=2 w=1 -o - --view values", "<B>w</B> = 1"),
        ("ops entr", "SpecialEntrBackward0"),
    ],
    ids=["command", "help", "format", "view", "operation"],
)
def test_an_example_works_from_the_command_line(copy: Path, words: str, line: str) -> None:
    environment = clean_environment(copy, PYTHONPATH=str(copy))
    done = subprocess.run(
        [sys.executable, "-m", "gviz", *words.split()],
        cwd=copy, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert line in done.stdout
