"""The recorded PyTorch programs: what gviz's engine does with each, beside what PyTorch 2.13 did."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from program import ROOT

CHECKER = ROOT / "tests" / "recorded" / "oracle" / "check.py"

CORE_AT_LEAST = 714
"""Programs of the core tier that pass, at the least. It is raised with the engine and never lowered."""

WHOLE_TOPICS = ("custom", "dtype", "error", "inplace", "leaf", "mode", "model", "print", "random", "seeds")
"""Topics of which every program passes."""


def check(*words: str) -> tuple[int, int, str]:
    """Run the checker: how many passed, of how many, and all that it said."""
    done = subprocess.run([sys.executable, str(CHECKER), *words], cwd=ROOT, capture_output=True, text=True, check=False)
    last = re.search(r"^passed (\d+) of (\d+)", done.stdout, re.MULTILINE)
    assert last, done.stdout + done.stderr
    return int(last[1]), int(last[2]), done.stdout


def test_no_program_of_the_core_that_passed_fails_again(capsys: pytest.CaptureFixture[str]) -> None:
    passed, total, said = check("--tier", "core")
    with capsys.disabled():
        sys.stdout.write(f"\nrecorded PyTorch programs, core: passed {passed} of {total} ({100 * passed / total:.1f} %)\n")
    assert passed >= CORE_AT_LEAST, said


@pytest.mark.parametrize("topic", WHOLE_TOPICS)
def test_every_program_of_a_finished_topic_passes(topic: str) -> None:
    passed, total, said = check("--topic", topic)
    assert passed == total, said
