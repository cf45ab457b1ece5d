"""An explanation as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gviz.answers import Explanation, Page


def render(explanation: Explanation, _page: Page) -> str:
    """Return one line: ``{"of", "wrt": [...]}``, ``{"operations": [...]}``, or ``{"error", "meaning", "ways"}``."""
    return json.dumps(explanation.as_dict(), ensure_ascii=False, allow_nan=False) + "\n"
