"""``gviz doctor``: what there is, what to do, and whether gviz can draw and write here."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner
from program import Program

from gviz.cli.doctor import doctor


def test_a_machine_that_can_draw_is_well(gviz: Program) -> None:
    done = gviz("doctor")
    assert (done.status, done.err) == (0, "")
    rows = {line.split("  ")[0]: line for line in done.out.splitlines()}
    assert {"pdf, svg, png", "fonts", "this folder", "browser", "PyTorch", "notebooks", "LaTeX"} <= {*rows}
    assert "Graphviz" in rows["pdf, svg, png"]
    told = gviz("doctor", "--json").json()
    assert told["ok"]
    assert {one["what"] for one in told["findings"]} == {*rows} - {"what"}
    assert all(one["mend"] for one in told["findings"] if not one["found"])
    assert done.files() == []


def test_a_folder_that_cannot_be_written_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    done = CliRunner().invoke(doctor, [], standalone_mode=False)
    assert done.return_value == 1
    assert f"{os.getcwd()} cannot be written: name another one" in done.output
