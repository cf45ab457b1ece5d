"""``torch.backends``, for scripts that set flags of libraries for GPUs, or ask for such: there are none."""

from __future__ import annotations

from gviz.engine.backends import cudnn, mps
from gviz.numbers.words import absent

__all__ = ["cudnn", "mps"]

__getattr__ = absent("torch.backends")
