"""The gallery in samples/: each figure of the articles is made anew, and has the numbers that it is there for."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path

import pytest
from forks import Forks
from program import ROOT
from test_readme import Shell, check_page

SAMPLES = ROOT / "samples"
PAGE = SAMPLES / "README.md"
PICTURES = SAMPLES / "pictures"

FACTS = {
    "y_formula": ["x = 2", "w = 1", "a = 3", "b = 2", "y = 6", "= 2 + 3", "grad = 5", "∂y/∂a = b = 2", "∂y/∂b = a = 3"],
    "y_paths": [
        "y → a → w:   b · 1 = 2 · 1 = 2",
        "y → b → w:   a · 1 = 3 · 1 = 3",
        "∂y/∂w = 2 + 3 = 5   which is w.grad",
    ],
    "five_statements": ["∂d/∂b", "w3 = 3", "∂d/∂c", "w4 = 4", "∂d/∂w3", "b = 2", "= (-3) + (-8)"],
    "five_paths": [
        "L → d → b → a:   (-1) · w3 · w1 = (-1) · 3 · 1 = -3",
        "L → d → c → a:   (-1) · w4 · w2 = (-1) · 4 · 2 = -8",
        "∂L/∂a = (-3) + (-8) = -11   which is a.grad",
    ],
    "d_statement": ["∂d/∂b = w3 = 3", "∂d/∂w4 = c = 4", "d = 22"],
    "c_autograd": ["MulBackward0", "a.grad += 3", "b.grad += 2"],
    "y_up": ["a = 3", "b = 2", "y = 6", "grad = 5"],
    "y_teaching": ["w.grad = 2 + 3 = 5", "x.grad = 2", "saved: self = a, other = b", "backward() starts here"],
    "y_torchviz": ["a = x + w = [3]", "b = w + 1 = [2]", "y = [6]", "grad = [5]", "grad = [2]"],
    "y_plain": ["MulBackward0", "AddBackward0", "AccumulateGrad", " (1)"],
    "y_steps-02": ["forward  a = x + w = 2 + 1 = 3"],
    "y_steps-04": ["forward  y = a × b = 3 × 2 = 6"],
    "y_steps-08": ["to x:  ∂y/∂a · ∂a/∂x = 2 · 1 = 2", "to w:  ∂y/∂a · ∂a/∂w = 2 · 1 = 2   w.grad += 3 + 2 = 5"],
    "y_retain": ["grad = 2  (retained)"],
    "div": ["DivBackward0", "c = [1.5]"],
    "h": ["h = 4.5", "grad = None"],
    "h_frozen": ["h = 4.5"],
    "h_frozen_formula": ["x = 1", "∂a/∂w = x = 1"],
    "h_detach": ["h = 4.5"],
    "five_formula": [
        "a = 2",
        "grad = -11",
        "= (-3) + (-8)",
        "grad = -6",
        "grad = -8",
        "grad = -2",
        "grad = -4",
        "10",
        "d = 22",
    ],
    "five_torchviz": ["RsubBackward1", "d = w3 * b + w4 * c = 22", "L = -12"],
    "five_records": ["data -12grad 1", "data 2grad -11", "data 22grad -1"],
    "five_3x3_error": ["RuntimeError: grad can be implicitly created only for scalar", "grad = None"],
    "five_twice": ["RuntimeError: Trying to backward through the graph a second"],
    "five_retain_graph": ["grad = -22", "grad = -12", "grad = -16", "grad = -4", "grad = -8"],
    "e_torchviz": ["e = 17.5129", "grad = 2.3026", "grad = 0.5", "grad = 3"],
    "while": ["5 + 3 + 1 = 9 operations", "Exit_1 = y", "y = 192", "y = 160", "y = 200", "grad = 16"],
    "if": ["2 x 1 = 2 operations", "Merge = y", "x * w", "x - w", "y = 10", "y = -7"],
    "growing": ["4 + 6 = 10 operations", "while", "y = 2.5", "y = 4.25", "grad = 3"],
    "e_formula": ["u = 6", "t = 2.3026", "v = 11.5129", "e = 17.5129", "∂e/∂t = 5", "1/d = 0.1"],
}
"""What some figures say, by their names: a line of a picture, whatever its inks."""

SIZES = {
    "y_torchviz": (8, 8),
    "y_plain": (8, 8),
    "h": (9, 8),
    "h_frozen": (7, 6),
    "h_detach": (9, 8),
    "five_torchviz": (17, 17),
    "e_torchviz": (13, 12),
}
"""Boxes and arrows of TorchViz's figures."""


def lines_of(svg: Path) -> list[str]:
    """Return the lines of a picture: texts at one height of a box are one."""
    found = []
    for group in re.split("<g (?:id|class)=", svg.read_text(encoding="utf-8")):
        rows: dict[str, str] = {}
        for height, text in re.findall(r'<text[^>]* y="([^"]*)"[^>]*>([^<]*)</text>', group):
            rows[height] = rows.get(height, "") + text
        found += [unescape(text).replace("\xa0", " ").strip() for text in rows.values()]
    return found


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, forks: Forks | None) -> Shell:
    """A shell in a folder with the samples."""
    shell = Shell(tmp_path_factory.mktemp("gallery"), forks)
    for file in SAMPLES.glob("*.py"):
        shutil.copy(file, shell.folder)
    return shell


def test_the_gallery_shows_what_its_commands_print_and_draw(shell: Shell) -> None:
    check_page(PAGE, r"pictures/[\w.-]+", shell)


def test_each_slide_is_drawn_by_the_command_below_it(tmp_path: Path, forks: Forks | None) -> None:
    slides = SAMPLES / "slides"
    shell = Shell(tmp_path, forks)
    for file in slides.glob("*.py"):
        shutil.copy(file, shell.folder)
    check_page(slides / "README.md", r"(?<=\]\()\w+\.svg(?=\))", shell)
    assert "smallest type" not in (slides / "README.md").read_text(encoding="utf-8")
    drawn = {path.stem: path.read_text(encoding="utf-8") for path in slides.glob("*.svg")}
    assert len(drawn) == 12
    assert all('width="960pt" height="540pt"' in svg and len(svg) < 60_000 for svg in drawn.values())


@pytest.mark.parametrize("name", FACTS)
def test_a_figure_has_the_numbers_of_the_articles(name: str) -> None:
    lines = lines_of(PICTURES / f"{name}.svg")
    assert [
        fact for fact in FACTS[name] if not any(f"  {line}".endswith(f"  {fact.strip()}") for line in lines)
    ] == [], lines


@pytest.mark.parametrize("name", SIZES)
def test_a_figure_has_the_boxes_and_arrows_of_torchviz(name: str) -> None:
    svg = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    assert (svg.count('class="node"'), svg.count('class="edge"')) == SIZES[name]


def test_every_picture_of_the_gallery_has_a_command_below_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(
        r"""^(?:!\[[^\]]+\]\(|<img src=")pictures/([\w.-]+)(?:\)|" alt="[^"]+".*>)$""", text, re.MULTILINE
    )
    assert sorted(shown) == sorted(path.name for path in PICTURES.iterdir())
    for name in shown:
        after, written = text.split(f"pictures/{name}")[1], re.sub(r"-\d\d\.", ".", name)  # a step of many
        assert f"-o {written}\n" in after[: after.index("\n```\n") + 1], name


def test_every_sample_is_in_the_gallery_or_a_test() -> None:
    text = PAGE.read_text(encoding="utf-8") + "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")
    )
    assert [path.name for path in SAMPLES.glob("*.py") if path.name not in text and path.stem not in text] == []


def test_the_pictures_are_small() -> None:
    assert all(path.stat().st_size < 40_000 for path in PICTURES.iterdir())
    assert (ROOT / "docs" / "pictures" / "sheet.png").stat().st_size < 500_000


def test_every_link_of_the_gallery_leads_somewhere() -> None:
    text = PAGE.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]*)(#[^)]*)?\)", text)
    heads = {
        "#" + re.sub(r"[^\w -]", "", head).lower().replace(" ", "-")
        for head in re.findall(r"^## (.*)$", text, re.MULTILINE)
    }
    assert [link for link, _ in links if link and not (SAMPLES / link).exists()] == []
    assert [part for link, part in links if part and not link and part not in heads] == []
