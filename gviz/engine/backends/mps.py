"""``torch.backends.mps``: there is none."""

from __future__ import annotations

from gviz.numbers.words import absent

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """No: gviz's engine runs on the CPU."""
    return False


is_built = is_available

__getattr__ = absent("torch.backends.mps")
