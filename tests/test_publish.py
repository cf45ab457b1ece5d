"""What is published says the same everywhere; `make package` builds and checks it."""

from __future__ import annotations

import re
import tomllib

from program import ROOT, Program

from gviz import __version__
from gviz.cli.doctor import OPTIONAL


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_what_doctor_tells_to_install_is_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = {extra for *_, install in OPTIONAL.values() for extra in re.findall(r"gviz\[(\w+)\]", install)}
    assert told
    assert told <= {*project["optional-dependencies"]}


def test_the_hook_of_pre_commit_is_a_command(gviz: Program) -> None:
    (entry,) = re.findall(
        r"^  entry: gviz (.+)$", (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert gviz(*entry.split(), "--help").status == 0
