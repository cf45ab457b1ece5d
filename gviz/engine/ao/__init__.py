"""``torch.ao``: the words of quantization."""

from __future__ import annotations

from gviz.numbers.words import absent

__getattr__ = absent("torch.ao", "quantization")
