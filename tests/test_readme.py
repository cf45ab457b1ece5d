"""The README keeps its word: its commands print what it says, its pictures are gviz's own, its programs run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from program import ROOT, Program, clean_environment

from gviz.cli import COMMANDS

README = ROOT / "README.md"
PICTURES = ROOT / "docs" / "pictures"
WRITE = os.environ.get("GVIZ_GOLD") == "write"

DRAWN = {
    "y.svg": ["render", "y=(x+w)*(w+1)", "x=2", "w=1"],
    "h.svg": ["render", "h=w*x+b", "x=1", "w=4", "b=0.5", "--frozen", "x"],
    "static.svg": ["static", "e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10", "--gradients"],
    "compare.svg": ["compare", "e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10"],
}
"""The README's pictures and the command that draws each."""


def fences(kind: str) -> list[str]:
    """The contents of the README's fenced blocks of a kind: its whole info string, or its first word."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[str]:
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """An empty folder with the README's own files in it, and gviz on the path."""
    folder, programs = tmp_path / "here", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    (programs / "gviz").write_text(f"#!/bin/sh\nexec '{sys.executable}' -m gviz \"$@\"\n")
    (programs / "gviz").chmod(0o755)
    for name, text in re.findall(r"^```python (\S+)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run(command: str, folder: Path) -> str:
    """What a command prints, standard error included."""
    environment = clean_environment(folder.parent, PATH=f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.stdout.decode()


def test_every_command_prints_what_the_readme_says(shell: Path) -> None:
    text = README.read_text(encoding="utf-8")
    for block in fences("console"):
        shown = "".join(f"$ {command}\n{run(command, shell)}" for command in commands(block))
        if WRITE:
            text = text.replace(block, shown)
        else:
            assert shown == block
    if WRITE:
        README.write_text(text, encoding="utf-8")


def test_every_gviz_command_of_the_readme_is_one_that_is_run() -> None:
    shown = {command for block in fences("console") for command in commands(block)}
    assert shown
    assert {line[2:] for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("$ ")} == shown


def svg_texts(svg: str) -> list[str]:
    """The words of a picture without times; where they stand may differ by a hair between releases of Graphviz."""
    return [re.sub(r"█+ |[\d.]+ [um]?s\b", "", text).rstrip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


@pytest.mark.parametrize("name", DRAWN)
def test_every_picture_of_the_readme_is_drawn_by_gviz(gviz: Program, name: str) -> None:
    done = gviz(*DRAWN[name], "-o", name)
    assert done.status == 0, done.err
    drawn = (gviz.folder / name).read_text(encoding="utf-8")
    assert svg_texts(drawn)
    if WRITE:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / name).write_text(drawn, encoding="utf-8")
    assert svg_texts((PICTURES / name).read_text(encoding="utf-8")) == svg_texts(drawn)


def test_every_picture_is_one_of_those() -> None:
    assert set(re.findall(r"docs/pictures/([\w.-]+)", README.read_text(encoding="utf-8"))) == set(DRAWN)


def test_every_make_target_of_the_readme_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^    |`)make ([a-z-]+)", README.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"demo", "test"} <= named <= targets


def test_every_target_of_make_is_explained() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.findall(r"^\.PHONY: (.*)", text, re.MULTILINE)[0].split())
    assert set(re.findall(r"^([a-z-]+): ## \S", text, re.MULTILINE)) == phony


def test_the_python_of_the_readme_runs(shell: Path) -> None:
    (program,) = fences("python")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=shell,
        env=clean_environment(shell.parent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("tensor(6.)\n")
    assert (shell / "y.svg").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_a_word_in_the_readme(gviz: Program, command: str) -> None:
    text = gviz(command, "--help").out
    assert re.search(r"Examples?:\n +gviz " + command, text)
    assert f"gviz {command}" in README.read_text(encoding="utf-8")


def test_the_commands_are_all_listed_with_a_line_that_is_whole(gviz: Program) -> None:
    lines = gviz("--help").out.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)
    assert not any(line.endswith("...") for line in lines)
