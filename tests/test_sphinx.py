"""The directive of Sphinx, in Markdown, by the real Sphinx and MyST: in HTML, in LaTeX, and with a mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="make site tries the directive of Sphinx")

PAGE = """\
# A formula

```{gviz} "y=(x+w)*(w+1)" x=2 w=1 --view circuit
:alt: the circuit

The *caption*.
```

```{gviz} net.py --page
```
"""

SCRIPT = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
loss = (w * 2) ** 2
loss.backward()
"""


def build(folder: Path, page: str, builder: str) -> tuple[str, Path]:
    """Build a page of its own; return what Sphinx says and where its files are."""
    source, target = folder / "docs", folder / builder
    source.mkdir(exist_ok=True)
    (source / "conf.py").write_text('extensions = ["myst_parser", "gviz.sphinx"]\n')
    (source / "index.md").write_text(page)
    (source / "net.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-b", builder, str(source), str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr, target


def test_a_picture_and_a_page_stand_in_html(tmp_path: Path) -> None:
    said, target = build(tmp_path, PAGE, "html")
    assert not said
    html = (target / "index.html").read_text(encoding="utf-8")
    (picture,) = (target / "_images").glob("*.svg")
    assert "The circuit of y" in picture.read_text(encoding="utf-8")
    assert f'src="_images/{picture.name}"' in html
    assert 'alt="the circuit"' in html
    assert "The <em>caption</em>." in html
    assert html.count('<iframe sandbox="allow-scripts allow-downloads"') == 1


def test_both_are_pictures_in_latex(tmp_path: Path) -> None:
    said, target = build(tmp_path, PAGE, "latex")
    assert not said
    (text,) = target.glob("*.tex")
    assert text.read_text(encoding="utf-8").count("includegraphics") == 2
    assert len([*target.glob("*.pdf")]) == 2


def test_a_mistake_is_told_with_the_line_of_the_page(tmp_path: Path) -> None:
    said, _ = build(tmp_path, PAGE.replace("(w+1)", "(w+"), "html")
    assert "index.md:3: ERROR" in said
    assert "y=(x+w)*(w+" in said
