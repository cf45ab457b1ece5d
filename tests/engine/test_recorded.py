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

ALL_AT_LEAST = 877
"""Programs of both tiers that pass, at the least. It is raised with the engine and never lowered."""

PRINT_OTHERWISE = 1 if sys.version_info >= (3, 12) else 0
"""Programs that print an OrderedDict: Python does so in another way from 3.12 on, and they were recorded with 3.11."""


def check(*words: str) -> tuple[int, int, str]:
    """Run the checker: how many passed, of how many, and all that it said."""
    done = subprocess.run([sys.executable, str(CHECKER), *words], cwd=ROOT, capture_output=True, text=True, check=False)
    last = re.search(r"^passed (\d+) of (\d+)", done.stdout, re.MULTILINE)
    assert last, done.stdout + done.stderr
    return int(last[1]), int(last[2]), done.stdout


def tell(capsys: pytest.CaptureFixture[str], tier: str, passed: int, total: int) -> None:
    """Let the rate be seen among the tests' output."""
    with capsys.disabled():
        sys.stdout.write(f"\nrecorded PyTorch programs, {tier}: passed {passed} of {total} ({100 * passed / total:.1f} %)\n")


def test_every_program_of_the_core_passes(capsys: pytest.CaptureFixture[str]) -> None:
    passed, total, said = check("--tier", "core")
    tell(capsys, "core", passed, total)
    assert passed >= total - PRINT_OTHERWISE, said


def test_no_program_that_passed_fails_again(capsys: pytest.CaptureFixture[str]) -> None:
    passed, total, said = check()
    tell(capsys, "all", passed, total)
    assert passed >= ALL_AT_LEAST - PRINT_OTHERWISE, said
