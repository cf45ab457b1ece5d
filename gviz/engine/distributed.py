"""``torch.distributed``: one process computes here, as where PyTorch was built without it."""

from __future__ import annotations

from gviz.numbers.words import absent

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Return that processes cannot work together here."""
    return False


def is_initialized() -> bool:
    """Return that no group of processes has been made."""
    return False


__getattr__ = absent("torch.distributed")
