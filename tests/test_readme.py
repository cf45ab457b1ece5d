"""The README and the pages in docs/ keep their word: commands print what is said, programs run, pictures are gviz's own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forks import Forks
from program import ROOT, Program, clean_environment
from test_house import FLOORS

from gviz.cli import COMMANDS

README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "reference.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
SPECIAL = ROOT / "gviz" / "ops" / "special.py"
EXAMPLES = {"gviz/render/csv.py", "gviz/pictures/views/values.py", "gviz/cli/count.py"}
"""The files that CONTRIBUTING.md shows how to add."""

PAGES = [README, CONTRIBUTING, ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WRITE = os.environ.get("GVIZ_GOLD") == "write"
RENEW = "`make docs` writes what commands print, and the pictures, anew"

SHELL = re.compile(r"[|>\n]")
"""Signs for things that only a shell does."""

EATEN = re.compile(r"[][(){}*?;&<$!#\\]")
"""Characters that a shell does not hand over as they are written, outside quotes."""


def fences(kind: str, *pages: Path) -> list[tuple[str, str]]:
    """Return the info string and the contents of the pages' fenced blocks of a kind."""
    fence = re.compile(rf"^```({kind})\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(info, text) for page in pages for info, text in fence.findall(page.read_text(encoding="utf-8"))]


def commands(block: str) -> list[str]:
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


class Shell:
    """Runs commands in an empty folder that has the named files of some pages, with gviz and python on the path.

    Programs of ``samples/models`` that a page links to are there, too.
    """

    def __init__(self, folder: Path, forks: Forks | None, *pages: Path) -> None:
        self.forks = forks
        self.folder = folder / "here"
        programs = folder / "bin"
        self.folder.mkdir()
        programs.mkdir()
        self.environment = clean_environment(folder, PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")
        for name, words in {"gviz": "-m gviz", "python": ""}.items():
            (programs / name).write_text(f"#!/bin/sh\nexec '{sys.executable}' {words} \"$@\"\n")
            (programs / name).chmod(0o755)
        for page in pages:
            for path in re.findall(r"\]\((\.\./samples/models/\w+\.py)\)", page.read_text(encoding="utf-8")):
                shutil.copy(page.parent / path, self.folder)
        for info, text in fences(r"(?:python|json) \S+", *pages):
            (self.folder / info.split()[1]).write_text(text, encoding="utf-8")

    def __call__(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command; its standard error is part of its output."""
        words = shlex.split(command)
        if self.forks is not None and words[0] == "gviz" and not SHELL.search(command):
            output = self.folder.parent / "output"
            output.write_bytes(b"")
            self.forks.start(words[1:], self.folder, self.environment, (os.devnull, str(output), str(output)))
            return subprocess.CompletedProcess(command, self.forks.status(), output.read_text(encoding="utf-8"))
        return subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )


def svg_texts(svg: Path) -> list[str]:
    """Return the words of a picture without times; where they stand may differ by a hair between releases of Graphviz."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text(encoding="utf-8"))
    spaced = (text.replace("&#160;", " ").replace("\xa0", " ") for text in texts)
    return [re.sub(r"█+ |[\d.]+ [µm]?s\b", "", text).rstrip() for text in spaced]


def check_page(page: Path, pictures: str, shell: Shell) -> None:
    """Run the commands of a page, and compare it with what they print and draw; or write it anew.

    Args:
        page: the page.
        pictures: what the path of a picture in it looks like.
        shell: where the commands run, and leave their pictures.
    """
    text = page.read_text(encoding="utf-8")
    for kind, block in fences("console|sh", page):
        if kind == "sh":
            for command in block.splitlines():
                done = shell(command)
                assert done.returncode == 0, done.stdout
            continue
        if "python entr.py" in block and "def entr(" in SPECIAL.read_text(
            encoding="utf-8"
        ):  # who follows the page has moved the row to its family
            continue
        printed = "".join(f"$ {command}\n{shell(command).stdout}" for command in commands(block))
        assert "Traceback (most recent" not in printed or "Traceback" in block, f"{page.name}: {printed}"
        text = text.replace(f"```console\n{block}```", f"```console\n{printed}```")
        assert WRITE or block == printed, RENEW
    if WRITE:
        page.write_text(text, encoding="utf-8")
    for picture in {page.parent / path for path in re.findall(pictures, text)}:
        drawn = shell.folder / picture.name
        if WRITE and (not picture.exists() or svg_texts(picture) != svg_texts(drawn)):
            picture.write_bytes(drawn.read_bytes())
        assert svg_texts(picture) == svg_texts(drawn) != [], f"{picture.name}: {RENEW}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_its_commands_print_and_draw(page: Path, tmp_path: Path, forks: Forks | None) -> None:
    check_page(page, r"[\w/]*pictures/[\w-]+\.svg", Shell(tmp_path, forks, page))


def test_every_picture_is_in_a_page() -> None:
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert all(f"pictures/{path.name}" in texts for path in (ROOT / "docs" / "pictures").iterdir())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_reaches_gviz_as_it_is_written(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"^(?:\$ |    )(gviz .*)$", text, re.MULTILINE) + re.findall(r"`(gviz [^`]*)`", text)
    lines += [line for _, block in fences("sh", page) for line in block.splitlines()]
    eaten = [line for line in lines if EATEN.search(re.sub(r"'[^']*'|\"[^\"]*\"| # .*", "", line))]
    assert not eaten, f"a shell needs quotes in {eaten}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    named = set(re.findall(r"`((?:gviz|tests|samples|docs|benchmarks)/[\w./-]+)`", page.read_text(encoding="utf-8")))
    assert {name for name in named if not (ROOT / name).exists()} <= EXAMPLES


def test_contributing_has_the_floors_of_the_house() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", CONTRIBUTING.read_text(encoding="utf-8"), re.MULTILINE)
    assert {part: int(floor) for floor, parts in rows for part in re.findall(r"`(\w+)`", parts)} == FLOORS


def test_every_make_target_of_the_pages_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    texts = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"(?:^    |`)make ([a-z-]+)", texts, re.MULTILINE))
    assert {"test", "docs"} <= named <= targets


def test_every_target_of_make_is_explained() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.findall(r"^\.PHONY: (.*)", text, re.MULTILINE)[0].split())
    assert set(re.findall(r"^([a-z-]+): ## \S", text, re.MULTILINE)) == phony


def test_the_readme_is_short() -> None:
    assert README.stat().st_size <= 6500


def test_the_first_screen_names_the_demo_and_the_tests_which_ci_runs() -> None:
    screen = README.read_text(encoding="utf-8").splitlines()[:12]
    assert [line.split("#")[0].strip() for line in screen if line.startswith("    ")] == ["make demo", "make test"]
    assert re.search(r"^make test\b(?!-)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_demo_ends_with_the_paths_of_its_pictures() -> None:
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe is not None
    assert recipe[1].splitlines()[-1].endswith('ls "$$(pwd)"/out/*')


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_is_in_the_readme_and_the_reference(
    gviz: Program, command: str
) -> None:
    page = gviz(command, "--help").out
    assert re.search(r"Examples?:\n +gviz " + command, page)
    row = f"| `gviz {command}"
    assert row in README.read_text(encoding="utf-8"), (
        f"add a row to the commands in README.md: {row} SOURCE` | what it does |"
    )
    block = f"## gviz {command}\n\n```console\n$ gviz {command} --help{'-all' * ('--help-all' in page)}\n"
    assert block in REFERENCE.read_text(encoding="utf-8"), (
        f"add this to docs/reference.md, then run `make docs`:\n{block}```"
    )


def test_the_commands_are_all_listed_with_a_line_that_is_whole(gviz: Program) -> None:
    lines = gviz("--help").out.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert not any(line.endswith("...") for line in lines)
