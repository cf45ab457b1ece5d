"""``[tool.gviz]`` in pyproject.toml: defaults of options, which the command line overrules."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Program

SETTINGS = """
[project]
name = "net"

[tool.gviz]
format = "svg"
view = "circuit"
font_size = 14
frozen = "x"
no-backward = true
"""


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "pyproject.toml"
    file.write_text(SETTINGS, encoding="utf-8")
    return file


def test_options_of_the_file_hold_for_each_command_that_has_them(gviz: Program, settings: Path) -> None:
    assert gviz("render", "y=x*w").status == 0
    assert "The circuit of y" in (gviz.folder / "y.svg").read_text(encoding="utf-8")
    rows = gviz("inspect", "y=x*w", "--json").json()["tensors"]
    assert {row["name"]: row["requires_grad"] for row in rows}["x"] is False
    assert all(row["grad"] is None for row in rows)
    assert gviz("version").status == 0


def test_the_command_line_wins_and_the_suffix_of_a_file_too(gviz: Program, settings: Path) -> None:
    done = gviz("render", "y=x*w", "--view", "torchviz", "--font-size", "12", "-o", "y.dot")
    assert "MulBackward0" in (gviz.folder / "y.dot").read_text(encoding="utf-8")
    assert "no use for" not in done.err
    assert "y.pdf" in gviz("steps", "y=x*w", "-o", "y.pdf").files()


@pytest.mark.parametrize(
    ("line", "phrases"),
    [
        ("them = 3", ["pyproject.toml, line 6: [tool.gviz] has no them", "did you mean theme?"]),
        ("theme = 'darc'", ["pyproject.toml, line 6: Invalid value for '--theme'"]),
        ("theme = ", ["pyproject.toml: Invalid value (at line 6"]),
    ],
)
def test_what_is_no_option_is_told_with_its_line(gviz: Program, settings: Path, line: str, phrases: list[str]) -> None:
    settings.write_text(SETTINGS.replace('format = "svg"', line), encoding="utf-8")
    done = gviz("render", "y=x*w")
    assert done.status in (1, 2)
    assert all(phrase in done.err for phrase in phrases)
    assert done.files() == []
