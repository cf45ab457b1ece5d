"""``torch.cuda``, for scripts that ask whether there is a GPU, or seed one: there is none."""

from __future__ import annotations

from typing import Any

from gviz.numbers.words import absent

__all__ = ["device_count", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """No: gviz's engine runs on the CPU."""
    return False


def device_count() -> int:
    """None."""
    return 0


def manual_seed(seed: Any) -> None:
    """Seed no generator. ValueError: what is no number."""
    int(seed)


manual_seed_all = manual_seed

__getattr__ = absent("torch.cuda")
