"""``torch.autograd.profiler``: the older names of ``torch.profiler``."""

from __future__ import annotations

from gviz.engine.profiler import EventList, emit_itt, emit_nvtx, profile, record_function
from gviz.numbers.words import absent

__all__ = ["EventList", "emit_itt", "emit_nvtx", "profile", "record_function"]

__getattr__ = absent("torch.autograd.profiler")
