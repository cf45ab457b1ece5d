"""``torch.nn.parallel``: models on several devices, of which there is one here."""

from __future__ import annotations

from gviz.engine.nn.containers import DataParallel
from gviz.engine.nn.module import Module
from gviz.numbers.words import absent, refuse

__all__ = ["DataParallel", "DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A model that several processes train."""

    def __init__(self, *_: object, **_options: object) -> None:
        refuse(True, "torch.distributed is not in gviz's engine; run with --engine torch", NotImplementedError)


__getattr__ = absent("torch.nn.parallel")
