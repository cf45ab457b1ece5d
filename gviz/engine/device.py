"""``torch.device`` and ``torch.layout``, of which there is one each: the CPU, and strided memory; ``torch.memory_format``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.numbers.classes import BuiltIn

__all__ = ["CPU", "FORMATS", "STRIDED", "Device", "Layout", "MemoryFormat", "check_device", "suggested"]

DEVICES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan",
    "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class Layout(metaclass=BuiltIn):
    """``torch.layout``: how elements lie in memory; there is only ``torch.strided``."""

    __module__ = "torch"
    __qualname__ = "layout"

    def __repr__(self) -> str:
        return "torch.strided"


STRIDED = Layout()


class MemoryFormat(metaclass=BuiltIn):
    """``torch.memory_format``: the order of elements in memory; that with channels last is for images, or for volumes."""

    __module__ = "torch"
    __qualname__ = "memory_format"

    def __init__(self, name: str, rank: int = 0) -> None:
        self.name = name
        self.rank = rank

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def holds(self, array: Any) -> bool:
        """Whether an array lies in memory so."""
        if self.rank:
            return array.ndim == self.rank and bool(np.moveaxis(array, 1, -1).flags.c_contiguous)
        return self.name == "preserve_format" or bool(array.flags.c_contiguous)

    def copy(self, array: Any) -> Any:
        """A copy that lies in memory so. RuntimeError: an array of another rank."""
        if not self.rank:
            return np.array(array, order="K" if self.name == "preserve_format" else "C")
        if array.ndim != self.rank:
            raise RuntimeError(f"required rank {self.rank} tensor to use {self.name} format")
        return np.moveaxis(np.array(np.moveaxis(array, 1, -1), order="C"), -1, 1)


FORMATS = {
    name: MemoryFormat(name, rank)
    for name, rank in {"contiguous_format": 0, "preserve_format": 0, "channels_last": 4, "channels_last_3d": 5}.items()
}


def suggested(array: Any) -> MemoryFormat:
    """The format that an array is in for PyTorch: channels last where the order of indices is not, else contiguous."""
    last = (format for format in FORMATS.values() if format.rank and format.holds(array))
    return FORMATS["contiguous_format"] if array.flags.c_contiguous else next(last, FORMATS["contiguous_format"])


class Device(metaclass=BuiltIn):
    """``torch.device``: only the CPU is there."""

    __slots__ = ("index", "type")
    __module__ = "torch"
    __qualname__ = "device"

    def __init__(self, *args: Any, **words: Any) -> None:
        device, index = args[0] if args else None, None
        if words or len(args) != 1 or not isinstance(device, str | Device):
            if isinstance(device, int) and not isinstance(device, bool):
                if device < 0:
                    raise RuntimeError("Device index must not be negative")
                raise RuntimeError("Cannot access accelerator device when none is available.")
            device, index = (*args, *words.values(), None)[:2]
            if not isinstance(device, str):
                raise TypeError("device(): argument 'type' (position 1) must be str")
        if isinstance(index, int) and index < 0:
            raise RuntimeError("Device index must not be negative")
        name, colon, number = str(device).partition(":")
        if not str(device):
            raise RuntimeError("Device string must not be empty")
        if colon and index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {device}")
        if not name or (colon and (not number.isdecimal() or str(int(number)) != number)):
            raise RuntimeError(f"Invalid device string: '{device}'")
        if name not in DEVICES:
            raise RuntimeError(f"Expected one of {', '.join(DEVICES)} device type at start of device string: {name}")
        self.type = name
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        """Same type and index; a text is taken as a device."""
        return str(self) == str(other) if isinstance(other, Device | str) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.type, self.index))


CPU = Device("cpu")


def check_device(device: Any) -> None:
    """Refuse a device other than the CPU, as PyTorch without support for it does; "meta" only gviz's engine has not."""
    kind = "cpu" if device is None else Device(device).type
    if kind in {"cuda", "xpu"}:
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled")
    if kind == "meta":
        raise RuntimeError("gviz's engine has no device 'meta': leave it out, or run on real PyTorch")
    if kind != "cpu":
        raise RuntimeError(f"PyTorch is not linked with support for {kind} devices")
