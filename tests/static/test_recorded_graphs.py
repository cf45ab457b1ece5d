"""The recorded TensorFlow programs: what gviz's static graphs do with each, beside what TensorFlow did."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from program import ROOT

if TYPE_CHECKING:
    import pytest

CHECKER = ROOT / "tests" / "recorded" / "oracle_static" / "check_static.py"
CHECKS = 349
"""What the recording asks; all of it holds."""


def test_every_recorded_program_is_as_tensorflow_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([sys.executable, str(CHECKER)], cwd=ROOT, capture_output=True, text=True, check=False)
    last = re.search(r"^static: (\d+) of (\d+)", done.stdout, re.MULTILINE)
    assert last, done.stdout + done.stderr
    with capsys.disabled():
        sys.stdout.write(f"\nrecorded TensorFlow programs: {last[0]}\n")
    assert (int(last[1]), int(last[2])) == (CHECKS, CHECKS), done.stdout
