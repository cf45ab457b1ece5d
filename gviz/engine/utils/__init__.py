"""``torch.utils``: modules that are loaded when they are named: ``checkpoint``, ``data``."""

from __future__ import annotations

import importlib
from typing import Any

from gviz.numbers.words import absent

__all__ = ["checkpoint", "data"]

missing = absent("torch.utils")


def __getattr__(name: str) -> Any:
    """Load a module when it is first named."""
    return importlib.import_module(f"{__name__}.{name}") if name in __all__ else missing(name)
