"""``torch.distributed``: one process computes here, as in a program that has not begun to work with others."""

from __future__ import annotations

from gviz.numbers.words import absent

__all__ = ["barrier", "destroy_process_group", "get_rank", "get_world_size", "is_available", "is_initialized"]


def is_available() -> bool:
    """Return True, as PyTorch does; ``init_process_group`` is not in gviz's engine."""
    return True


def is_initialized() -> bool:
    """Return that no group of processes has been made."""
    return False


def get_rank(group: object = None) -> int:
    """Refuse: there is no group of processes. ValueError, as PyTorch's."""
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


barrier = destroy_process_group = get_world_size = get_rank


__getattr__ = absent("torch.distributed")
