"""``torch.linalg``: the words ``linalg.NAME`` of the table, of ``norms.py`` and of ``matrices.py``."""

from __future__ import annotations

from gviz.autograd import names
from gviz.numbers.words import LinAlgError as LinAlgError
from gviz.numbers.words import absent

names.install({"linalg": globals()})
__getattr__ = absent("torch.linalg")
