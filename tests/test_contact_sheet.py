"""The contact sheet: each of its 60 pictures is drawn by its command, can be read, and stands in docs."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import contact
import inked
import pytest
from forks import Forks
from program import ROOT, SAMPLES
from test_readme import WRITE, Shell

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, forks: Forks | None) -> Shell:
    """A shell in a folder with the samples."""
    shell = Shell(tmp_path_factory.mktemp("sheet"), forks)
    for file in SAMPLES.glob("*.py"):
        shutil.copy(file, shell.folder)
    for folder in ("slides", "models"):
        shutil.copytree(SAMPLES / folder, shell.folder / folder)
    return shell


@pytest.mark.parametrize("number", range(1, len(contact.COMMANDS) + 1))
def test_each_picture_can_be_read(number: int, shell: Shell) -> None:
    command = contact.COMMANDS[number - 1]
    done = shell(f"gviz render {command} -o {number}.svg")
    svg = (shell.folder / f"{number}.svg").read_text(encoding="utf-8")
    assert ET.fromstring(svg).tag.endswith("svg"), done.stdout  # noqa: S314 - gviz's own
    assert "gviz has a bug" not in done.stdout
    assert "<title>n0</title>" not in svg, "no ids of a layout are read on boxes"
    if re.search(r"<style>path", svg):  # laid out by gviz: where all ink is, is known
        assert not list(inked.faults(inked.read(svg)))
    sizes = [float(size) for size in re.findall(r"smallest type on (?:the|this) page has ([\d.]+)", done.stdout)]
    assert all(size >= LEAST.get(number, 9.0) for size in sizes), done.stdout


LEAST = {53: 8.0, 56: 5.0}
"""Points of the smallest type of the two largest networks, which nobody has asked to be made smaller."""


def test_there_are_sixty_and_the_page_lists_them() -> None:
    assert len(contact.COMMANDS) == len({*contact.COMMANDS}) == 60
    path = DOCS / "sheet.md"
    if WRITE:
        path.write_text(contact.page(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == contact.page()


@pytest.mark.skipif(not WRITE, reason="`make sheet` draws it")
def test_the_sheets_are_drawn(shell: Shell) -> None:
    images = []
    for number, command in enumerate(contact.COMMANDS, 1):
        shell(f"gviz render {command} --scale 0.5 -o {number}.png")
        images.append((shell.folder / f"{number}.png").read_bytes())
    for number, data in enumerate(contact.sheets(images), 1):
        (DOCS / "pictures" / f"contact-{number}.png").write_bytes(data)


def test_the_sheets_are_small() -> None:
    found = sorted((DOCS / "pictures").glob("contact-*.png"))
    assert len(found) == 5
    assert all(Path(file).stat().st_size < 400_000 for file in found)
