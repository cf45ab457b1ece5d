"""``torch.linalg``: the words ``linalg.NAME`` of the table and of ``matrices.py``."""

from __future__ import annotations

from gviz.numbers.words import LinAlgError, absent
from gviz.signatures import names

__all__ = ["LinAlgError"]

names.install({"linalg": globals()})
__getattr__ = absent("torch.linalg")
