"""``torch.backends.cudnn``: its flags, which change nothing on a CPU."""

from __future__ import annotations

from gviz.numbers.words import absent

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "is_available"]

enabled, deterministic, benchmark, allow_tf32 = True, False, False, True


def is_available() -> bool:
    """No: gviz's engine runs on the CPU."""
    return False


__getattr__ = absent("torch.backends.cudnn")
