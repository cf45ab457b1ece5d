"""docs/gviz.1 is the help of the commands, and a page that man takes without a warning."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from manpage import man_page
from program import ROOT

from gviz.cli import COMMANDS

PAGE = ROOT / "docs" / "gviz.1"


def test_the_man_page_is_the_help() -> None:
    if os.environ.get("GVIZ_GOLD") == "write":
        PAGE.write_text(man_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == man_page(), "make docs writes docs/gviz.1 anew"


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_the_man_page_is_set_without_a_warning() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-P-cbou", "-ww", "-K", "utf8", str(PAGE)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    assert all(f"gviz {command}" in done.stdout for command in COMMANDS)
    assert 'gviz render "y=(x+w)*(w+1)" x=2 w=1 --path w -o w.png' in done.stdout
