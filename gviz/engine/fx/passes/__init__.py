"""``torch.fx.passes``: what is done with graphs; each is loaded when it is named."""

from __future__ import annotations

from gviz.numbers.words import absent

__getattr__ = absent("torch.fx.passes", "shape_prop")
