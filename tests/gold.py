"""Files that a person has read and found right: what gviz writes must be the same. ``make gold`` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

GOLD = Path(__file__).parent / "gold"
ACTUAL = Path(__file__).parent / "actual"


def assert_gold(name: str, text: str) -> None:
    """Compare with tests/gold/NAME; what differs is kept in tests/actual/NAME."""
    expected = GOLD / name
    if os.environ.get("GVIZ_GOLD") == "write":
        expected.write_text(text, encoding="utf-8")
    if not expected.exists() or expected.read_text(encoding="utf-8") != text:
        ACTUAL.mkdir(exist_ok=True)
        (ACTUAL / name).write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
