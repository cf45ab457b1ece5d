"""What there is of devices: the CPU, one layout, the order of indices; and modules for scripts that ask for more."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Self, SupportsInt

from gviz.numbers.classes import type_text
from gviz.numbers.words import absent, refuse

DEVICES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class Layout:
    """``torch.layout``, of which there is only ``torch.strided``."""

    __module__ = "torch"
    __qualname__ = "layout"

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class MemoryFormat(Layout):
    """``torch.memory_format``: those that keep the order of the indices. ``channels_last`` is not in gviz's engine."""

    __module__ = "torch"
    __qualname__ = "memory_format"


STRIDED = Layout("strided")
FORMATS = {name: MemoryFormat(name) for name in ("contiguous_format", "preserve_format")}


class Device:
    """``torch.device``: only the CPU is there."""

    __slots__ = ("index", "type")
    __module__ = "torch"
    __qualname__ = "device"

    def __init__(self, type: object, index: int | None = None) -> None:
        refuse(
            not isinstance(type, str | Device),
            f"device(): argument 'type' (position 1) must be str, not {type_text(type)}",
            TypeError,
        )
        self.type, _, number = str(type).partition(":")
        refuse(
            self.type not in DEVICES,
            f"Expected one of {', '.join(DEVICES)} device type at start of device string: {self.type}",
        )
        refuse(number and (index is not None or not number.isdecimal()), f"Invalid device string: '{type}'")
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> Self:
        check_device(self)
        DEFAULTS.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        DEFAULTS.pop()


CPU, META = Device("cpu"), Device("meta")
DEFAULTS = [CPU]
"""Where tensors are made: by default, and in the blocks of a device that are open."""


def check_device(device: object) -> bool:
    """Return whether tensors of this device have no numbers; refuse one that is not there, as PyTorch does.

    None is the default.
    """
    kind = DEFAULTS[-1].type if device is None else Device(device).type
    refuse(kind in {"cuda", "xpu"}, f"Torch not compiled with {kind.upper()} enabled", AssertionError)
    refuse(kind not in {"cpu", "meta"}, f"PyTorch is not linked with support for {kind} devices")
    return kind == "meta"


def module(name: str, **content: object) -> ModuleType:
    """Return a module that can be imported as a part of torch."""
    new = sys.modules[f"gviz.engine.{name}"] = ModuleType(f"torch.{name}")
    vars(new).update(content, __path__=[], __getattr__=absent(new.__name__))
    return new


def unseeded(seed: SupportsInt) -> None:
    """Seed no generator. ValueError: it is not a number."""
    int(seed)


def no_accelerator(*_: object) -> Any:
    """Refuse: there is none."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


accelerator = module(
    "accelerator",
    is_available=lambda: False,
    device_count=lambda: 0,
    current_accelerator=lambda check_available=False: None,
    current_device_idx=no_accelerator,
    current_device_index=no_accelerator,
    current_stream=no_accelerator,
    set_device_idx=no_accelerator,
    set_device_index=no_accelerator,
    synchronize=no_accelerator,
)
NO_CUDA = (
    "current_device", "current_stream", "get_device_capability", "get_device_name", "get_device_properties", "init",
    "ipc_collect", "mem_get_info", "reset_peak_memory_stats", "set_device", "synchronize",
)  # fmt: skip
NO_MEMORY = "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved"
cuda = module(
    "cuda",
    is_available=lambda: False,
    is_initialized=lambda: False,
    is_bf16_supported=lambda including_emulation=True: False,
    device_count=lambda: 0,
    empty_cache=lambda: None,
    get_rng_state_all=list[Any],
    manual_seed=unseeded,
    manual_seed_all=unseeded,
    **dict.fromkeys(NO_CUDA, lambda *_: check_device("cuda")),
    **dict.fromkeys(NO_MEMORY, lambda device=None: 0),
)
backends = module(
    "backends",
    cuda=module(
        "backends.cuda",
        is_built=lambda: False,
        matmul=module("backends.cuda.matmul", allow_tf32=False),
        **dict.fromkeys(("enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp"), lambda enabled: None),
    ),
    cudnn=module(
        "backends.cudnn",
        is_available=lambda: False,
        version=lambda: None,
        enabled=True,
        deterministic=False,
        benchmark=False,
        allow_tf32=True,
    ),
    mps=module("backends.mps", is_available=lambda: False, is_built=lambda: False),
)
version = module("version", __version__="2.13.0+cpu", cuda=None, hip=None, debug=False)
