"""Settings of torch that have one value here (device, number of threads), and the default dtype by its old name."""

from __future__ import annotations

from typing import Any

from gviz.engine.creation import LegacyType
from gviz.engine.device import CPU, DEFAULTS, Device, check_device
from gviz.engine.nn.parameter import typename  # noqa: F401 - torch.typename
from gviz.numbers.dtypes import EVERY, set_default_dtype
from gviz.numbers.words import refuse, warn_once


def _assert(condition: object, message: str) -> None:
    """Refuse what is not true; a function that traced programs can call. AssertionError: it is not."""
    refuse(not condition, message, AssertionError)


def set_default_device(device: object) -> None:
    """Let tensors be made on a device; None: the CPU. AssertionError, RuntimeError: it is not there."""
    check_device(device)
    DEFAULTS[0] = CPU if device is None else Device(device)


def get_default_device() -> Device:
    """Return where tensors are made."""
    return DEFAULTS[-1]


def set_default_tensor_type(t: object) -> None:
    """Let tensors be of the dtype of ``torch.DoubleTensor`` or the like, or of that name."""
    kinds = {f"torch.{kind.scalar_name}Tensor": kind for kind in EVERY}
    kind: Any = kinds.get(t) if isinstance(t, str) else t.dtype if isinstance(t, LegacyType) else None
    refuse(kind is None, f"type {t} not available", TypeError)
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    refuse(not kind.is_floating_point, "only floating-point types are supported as the default type", TypeError)
    set_default_dtype(kind)


def get_num_threads() -> int:
    """Return 1: operations run in the thread that calls them."""
    return 1


def set_num_threads(nthreads: int) -> None:
    """Change nothing. RuntimeError: it is not a positive number."""
    refuse(nthreads <= 0, "set_num_threads expects a positive integer")


get_num_interop_threads, set_num_interop_threads = get_num_threads, set_num_threads


class Settings:
    """What programs set and may ask for, and what changes nothing here."""

    precision, deterministic = "highest", False


def set_float32_matmul_precision(precision: str) -> None:
    """Keep the word: products have all the digits of their type anyway."""
    Settings.precision = precision


def get_float32_matmul_precision() -> str:
    """Return the word that was set last."""
    return Settings.precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Keep the word: all operations here give the same result each time."""
    Settings.deterministic = mode


def are_deterministic_algorithms_enabled() -> bool:
    """Return the word that was set last."""
    return Settings.deterministic


def set_flush_denormal(mode: bool) -> bool:
    """Return True, as where the processor can do this; nothing changes here."""
    return True
