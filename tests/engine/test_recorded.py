"""The recorded PyTorch programs: what gviz's engine does with each, beside what PyTorch 2.13 did."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from program import ROOT

if TYPE_CHECKING:
    import pytest

CHECKER = ROOT / "tests" / "recorded" / "oracle" / "check.py"

PROGRAMS = 877
"""Programs that are recorded; all of them pass."""

PRINT_OTHERWISE = 1 if sys.version_info >= (3, 12) else 0
"""Programs that print an OrderedDict: Python does so in another way from 3.12 on, and they were recorded with 3.11."""


def test_every_recorded_program_does_what_it_did_in_pytorch(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([sys.executable, str(CHECKER)], cwd=ROOT, capture_output=True, text=True, check=False)
    last = re.search(r"^passed (\d+) of (\d+)", done.stdout, re.MULTILINE)
    assert last, done.stdout + done.stderr
    with capsys.disabled():
        sys.stdout.write(f"\nrecorded PyTorch programs: {last[0]}\n")
    assert int(last[2]) == PROGRAMS
    assert int(last[1]) >= PROGRAMS - PRINT_OTHERWISE, done.stdout
