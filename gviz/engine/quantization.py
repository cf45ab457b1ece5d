"""``torch.quantization``: the old name of ``torch.ao.quantization``."""

from __future__ import annotations

from gviz.engine.ao.quantization import DeQuantStub, QuantStub, fuse_modules
from gviz.numbers.words import absent

__all__ = ["DeQuantStub", "QuantStub", "fuse_modules"]

__getattr__ = absent("torch.quantization")
