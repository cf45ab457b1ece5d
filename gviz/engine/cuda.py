"""``torch.cuda``, for scripts that ask whether there is a GPU: there is none."""

from __future__ import annotations

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """No: gviz's engine runs on the CPU."""
    return False


def device_count() -> int:
    """None."""
    return 0
