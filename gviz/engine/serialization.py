"""``torch.save`` and ``torch.load``: PyTorch's own files, a zip archive with a pickle and the memory of each tensor.

The pickle names PyTorch's functions, which are never imported: written here by name, and looked up in a table when read. Only
what is in that table is called, unless the script says ``weights_only=False``, or adds to it.
Source: https://docs.pytorch.org/docs/2.13/notes/serialization.html
"""

from __future__ import annotations

import io
import math
import os
import pickle
import zipfile
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz import files
from gviz.autograd.tensor import Tensor
from gviz.engine.copying import Portable, made, parts
from gviz.engine.device import Device
from gviz.engine.nn.parameter import Parameter
from gviz.errors import FileError
from gviz.numbers import dtypes
from gviz.numbers.printing import Size
from gviz.numbers.words import absent

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["add_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

NOT_ALLOWED = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, \x1b[1mdo those steps only if you "
    "trust the source of the checkpoint\x1b[0m. \n\t(1) In PyTorch 2.6, we changed the default value of the `weights_only` "
    "argument in `torch.load` from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely "
    "succeed, but it can result in arbitrary code execution. Do it only if you got the file from a trusted source.\n\t(2) "
    "Alternatively, to load with `weights_only=True` please check the recommended steps in the following error message.\n\t"
    "WeightsUnpickler error: Unsupported global: GLOBAL {0} was not an allowed global by default. Please use "
    "`torch.serialization.add_safe_globals([{0}])` or the `torch.serialization.safe_globals([{0}])` context manager to "
    "allowlist this global if you trust this class/function.\n\nCheck the documentation of torch.load to learn more about "
    "types accepted by default with weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)
CUT = (
    "PytorchStreamReader failed reading zip archive: failed finding central directory. This is an internal miniz error. If you "
    "are seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the "
    "checkpoint was not saved properly, was transferred incorrectly, or the file was modified after saving."
)
ON_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
    "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
)
OUTSIDE = (
    "setStorage: sizes {}, strides {}, storage offset {}, and itemsize {} requiring a storage size of {} are out of bounds for "
    "storage of size {}"
)


# ------------------------------------------------------------------ writing
class Global:
    """A function or a class of PyTorch's, which a file names."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    __call__ = None  # a pickle wants something that looks like a function


named = cache(Global)


class Storage:
    """The memory of tensors, as a file has it."""

    def __init__(self, key: str, flat: Any) -> None:
        self.key, self.flat = key, flat


class Writer(pickle._Pickler):  # the one in C imports every function that it names
    """Writes objects as PyTorch does; the memory of tensors is in ``storages``."""

    write: Any
    memoize: Any

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.storages: dict[Any, Storage] = {}

    def storage(self, flat: Any) -> Storage:
        """Return the storage of some memory; views of it have the same."""
        place = flat.__array_interface__["data"][0], flat.nbytes, flat.dtype.str
        return self.storages.setdefault(place, Storage(str(len(self.storages)), flat))

    def persistent_id(self, obj: Any) -> Any:
        """Return what a file says in place of a tensor's memory."""
        if not isinstance(obj, Storage):
            return None
        kind = named("torch", f"{dtypes.of(obj.flat.dtype).scalar_name}Storage")
        return "storage", kind, obj.key, "cpu", obj.flat.size

    def reducer_override(self, obj: Any) -> Any:
        """Return how PyTorch writes what is its own."""
        if isinstance(obj, Parameter):
            return named("torch._utils", "_rebuild_parameter"), (obj.data, obj.requires_grad, OrderedDict())
        if isinstance(obj, Tensor):
            flat, offset, shape, strides, *_ = parts(obj)
            strides = tuple(step // flat.itemsize for step in strides)
            given: Any = (self.storage(flat), offset, tuple(shape), strides, obj.requires_grad, OrderedDict())
            return named("torch._utils", "_rebuild_tensor_v2"), given
        if isinstance(obj, Size | Device):
            return named("torch", type(obj).__qualname__), (tuple(obj) if isinstance(obj, Size) else str(obj),)
        if isinstance(obj, Portable):
            reduced: Any = object.__reduce_ex__(obj, 2)
            make, kind, state, *rest = reduced
            if isinstance(state, dict):  # without hooks, PyTorch has a dict of them
                state = {k: OrderedDict() if k.endswith("_hooks") and v == [] else v for k, v in state.items()}
            return make, kind, state, *rest
        return str(obj).removeprefix("torch.") if isinstance(obj, Global | dtypes.dtype) else NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a name: those of PyTorch's without importing anything."""
        module = obj.module if isinstance(obj, Global) else "torch" if isinstance(obj, dtypes.dtype) else obj.__module__
        if not f"{module}.".startswith("torch."):
            super().save_global(obj, name)  # type: ignore[misc]
            return
        name = obj.name if isinstance(obj, Global) else name or obj.__qualname__
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True) -> None:  # fmt: skip
    """Write an object to a file, which is written whole or not at all, or to a stream."""
    is_path = isinstance(f, str | os.PathLike)
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    folder, name = os.path.split(os.fspath(f)) if is_path else ("", "archive")
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    text, whole = io.BytesIO(), io.BytesIO()
    writer = Writer(text, pickle_protocol)
    writer.dump(obj)
    records = {"data.pkl": text.getvalue(), ".format_version": b"1", ".storage_alignment": b"64", "byteorder": b"little"}
    records |= {f"data/{one.key}": one.flat.tobytes() for one in writer.storages.values()} | {"version": b"3\n"}
    with zipfile.ZipFile(whole, "w") as archive:
        for record, data in records.items():
            archive.writestr(zipfile.ZipInfo(f"{os.path.splitext(name)[0]}/{record}"), data)
    if not is_path:
        f.write(whole.getvalue())
        return
    try:
        files.write(f, whole.getvalue())
    except FileError as error:
        raise RuntimeError(error.what) from None


# ------------------------------------------------------------------ reading
def rebuild(
    flat: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any = None, metadata: Any = None
) -> Tensor:
    """Return a tensor on a part of some memory. RuntimeError: it is not in there."""
    last = offset + 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    needed, width = last * flat.itemsize if math.prod(size) else 0, flat.itemsize
    if min((offset, *size, *stride)) < 0 or needed > flat.nbytes:
        raise RuntimeError(OUTSIDE.format(list(size), list(stride), offset * width, width, needed, flat.nbytes))
    return made({}, flat, min(offset, flat.size), size, [step * width for step in stride], None, requires_grad)


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Any:
    """Return a parameter on a tensor's memory."""
    return Parameter(data, requires_grad)


KNOWN: dict[str, Any] = {
    "torch._utils._rebuild_tensor_v2": rebuild, "torch._utils._rebuild_parameter": rebuild_parameter, "torch.Size": Size,
    "torch.device": Device, "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "builtins.set": set,
    "builtins.complex": complex, "builtins.bytearray": bytearray, "_codecs.encode": __import__("_codecs").encode,
}  # fmt: skip
KNOWN |= {f"torch.{name}": kind for name, kind in dtypes.NAMES.items()}
KNOWN |= {f"torch.{kind.scalar_name}Storage": kind.np for kind in dtypes.ALL}
"""What a file may name, and what that is here."""

SAFE: dict[str, Any] = {}
"""What the script has added to it."""


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files name these classes and functions."""
    SAFE.update({f"{one.__module__}.{one.__qualname__}": one for one in safe_globals})


def get_safe_globals() -> list[Any]:
    """Return the classes and functions that were added."""
    return list(SAFE.values())


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Let files name these classes and functions within the block."""
    before = dict(SAFE)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        SAFE.clear()
        SAFE.update(before)


class Reader(pickle.Unpickler):
    """Reads the pickle of an archive."""

    def __init__(self, archive: Any, prefix: str, weights_only: bool, place: Any) -> None:
        super().__init__(archive.open(f"{prefix}data.pkl"))
        self.archive, self.prefix, self.weights_only, self.place = archive, prefix, weights_only, place
        is_big = f"{prefix}byteorder" in archive.namelist() and archive.read(f"{prefix}byteorder") == b"big"
        self.order, self.memory = ">" if is_big else "<", dict[str, Any]()

    def find_class(self, module: str, name: str) -> Any:
        """Return what a file names. UnpicklingError: that is not allowed, or not here."""
        module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        path = f"{module}.{name}"
        if path in KNOWN or path in SAFE:
            return KNOWN.get(path, SAFE.get(path))
        if self.weights_only:
            raise pickle.UnpicklingError(NOT_ALLOWED.format(path.removeprefix("builtins.")))
        if not module.startswith("torch."):
            return super().find_class(module, name)
        home = import_module("gviz.engine.optim" if module.startswith("torch.optim.") else "gviz.engine.nn")
        if not hasattr(home, name):
            hint = "save the model's state_dict(), which holds tensors alone, and load that"
            raise pickle.UnpicklingError(f"gviz's engine has no {path} to make what this file has: {hint}")
        return getattr(home, name)

    def persistent_load(self, pid: Any) -> Any:
        """Return the memory of tensors: numbers of a type."""
        _, kind, key, location, _ = pid
        place = self.place.get(location) if isinstance(self.place, dict) else "cpu" if callable(self.place) else self.place
        if Device(place or location).type != "cpu":
            raise RuntimeError(ON_CUDA)
        if key not in self.memory:
            raw = self.archive.read(f"{self.prefix}data/{key}")
            self.memory[key] = np.frombuffer(bytearray(raw), kind.newbyteorder(self.order)).astype(kind, copy=False)
        return self.memory[key].view(kind)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, mmap: Any = None,
         **pickle_load_args: Any) -> Any:  # fmt: skip
    """Return the object in a file or a stream: of tensors, numbers, texts and collections, or of anything if it is trusted."""
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as stream:
            data = stream.read()
    else:
        data = f.read()
    if not data.startswith(b"PK"):
        hint = "gviz's engine reads the zip archives that torch.save writes since PyTorch 1.6"
        raise pickle.UnpicklingError(f"{f if isinstance(f, str) else 'this'} is not such a file: {hint}")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        raise RuntimeError(CUT) from None
    prefix = next((name.removesuffix("data.pkl") for name in archive.namelist() if name.endswith("/data.pkl")), "")
    return Reader(archive, prefix, weights_only is not False, map_location).load()


__getattr__ = absent("torch.serialization")
