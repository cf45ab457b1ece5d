"""``torch.utils``: modules that are loaded when they are named: ``checkpoint``, ``data``."""

from __future__ import annotations

from gviz.numbers.words import absent

__all__ = ["checkpoint", "data"]

__getattr__ = absent("torch.utils", *__all__)
