"""``torch.special``: functions of the table under the names that they have in mathematics."""

from __future__ import annotations

from gviz.numbers.words import absent
from gviz.signatures import names

names.install({"special": globals()})

__getattr__ = absent("torch.special")
