"""The engine that tests test: gviz's own, or the one named by TESTED_ENGINE.

``TESTED_ENGINE=torch`` runs the same tests on real PyTorch, and so holds the tests themselves to the truth.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

NAME = os.environ.get("TESTED_ENGINE", "gviz.engine")
torch: Any = import_module(NAME)
IS_GVIZ = NAME == "gviz.engine"


def leaf(value: Any, **options: Any) -> Any:
    """A float tensor that requires a gradient."""
    return torch.tensor(value, dtype=torch.float32, requires_grad=True, **options)


def label(node: Any) -> str | None:
    """The name that a node has in pictures, None without a node."""
    return None if node is None else type(node).__name__


def slots(node: Any) -> list[tuple[str | None, int]]:
    """A node's edges: the label of each next node, and the number of its output."""
    return [(label(following), number) for following, number in node.next_functions]
