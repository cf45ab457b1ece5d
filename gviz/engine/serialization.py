"""``torch.save`` and ``torch.load``: PyTorch's own files, a zip archive with a pickle and the memory of each tensor.

The pickle names PyTorch's functions, which are never imported: written here by name, and looked up in a table when
read. Only what is in that table is called, unless the script says ``weights_only=False``.
Source: https://docs.pytorch.org/docs/2.13/notes/serialization.html
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import IO, Any, ClassVar

import numpy as np

from gviz import files
from gviz.autograd.tensor import Tensor
from gviz.engine.copying import Portable, from_parts, parts
from gviz.engine.device import Device
from gviz.engine.nn.parameter import Parameter
from gviz.errors import FileError
from gviz.numbers import dtypes, printing
from gviz.numbers.types import Array, StrPath
from gviz.numbers.words import absent, refuse

__all__ = ["add_safe_globals", "load", "safe_globals", "save"]


# ------------------------------------------------------------------ what files name
def rebuild(
    flat: Array,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    hooks: object,
    metadata: object = None,
) -> Tensor:
    """Return a tensor on a part of some memory. RuntimeError: it is not in there."""
    last = offset + 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    refuse(
        min((offset, *size, *stride)) < 0 or (0 not in size and last > flat.size),
        f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} are out of bounds for "
        f"storage of {flat.size} elements",
    )
    return from_parts(
        {}, flat, min(offset, flat.size), size, [step * flat.itemsize for step in stride], None, requires_grad
    )


def rebuild_parameter(data: Tensor, requires_grad: bool, hooks: object) -> Any:
    """Return a parameter on a tensor's memory."""
    return Parameter(data, requires_grad)


for function, name in ((rebuild, "_rebuild_tensor_v2"), (rebuild_parameter, "_rebuild_parameter")):
    function.__module__, function.__qualname__ = "torch._utils", name

STORAGES: dict[str, Any] = {
    kind.name: type(f"{kind.scalar_name}Storage", (), {"__module__": "torch", "kind": kind}) for kind in dtypes.EVERY
}
"""Classes that say what the numbers in some memory are."""

NO_NUMBERS = "torch.save of a tensor on the device meta is not in gviz's engine; run with --engine torch"
PLAIN = (OrderedDict, Counter, set, complex, bytearray, __import__("_codecs").encode)
KNOWN: dict[str, Any] = {f"torch.{name}": kind for name, kind in dtypes.NAMES.items()}
for one in (rebuild, rebuild_parameter, printing.Size, Device, *STORAGES.values(), *PLAIN):
    KNOWN[f"{one.__module__}.{one.__qualname__}"] = one
"""What a file may name, and what that is here."""


SAFE: dict[str, Any] = {}
"""What else it may name, as the program said."""
UNKNOWN = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those "
    "steps only if you trust the source of the checkpoint\033[0m. \n\t(1) In PyTorch 2.6, we changed the "
    "default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running "
    "`torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
    "execution. Do it only if you got the file from a trusted source.\n\t(2) Alternatively, to load with "
    "`weights_only=True` please check the recommended steps in the following error "
    "message.\n\tWeightsUnpickler error: Unsupported global: GLOBAL {0} was not an allowed global by default. "
    "Please use `torch.serialization.add_safe_globals([{0}])` or the "
    "`torch.serialization.safe_globals([{0}])` context manager to allowlist this global if you trust this "
    "class/function.\n\nCheck the documentation of torch.load to learn more about types accepted by default "
    "with weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files name these classes and functions, each by itself or as (it, its dotted name)."""
    for one in safe_globals:
        kind, path = one if isinstance(one, tuple) else (one, f"{one.__module__}.{one.__qualname__}")
        SAFE[path] = kind


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


# ------------------------------------------------------------------ writing
class Storage:
    """The memory of tensors, as a file has it."""

    def __init__(self, key: str, flat: Array) -> None:
        self.key, self.flat = key, flat


class Writer(pickle._Pickler):  # the one in C imports every function that it names
    """Writes objects as PyTorch does; the memory of tensors is in ``storages``, once for all views of it."""

    write: Any
    memoize: Any

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.storages: dict[Any, Storage] = {}

    def persistent_id(self, obj: object) -> Any:
        """Return what a file says in place of a tensor's memory."""
        if isinstance(obj, Storage):
            return "storage", STORAGES[dtypes.of(obj.flat.dtype).name], obj.key, "cpu", obj.flat.size
        return None

    def reducer_override(self, obj: object) -> Any:
        """Return how PyTorch writes what is its own."""
        if isinstance(obj, Parameter):
            return rebuild_parameter, (obj.data, obj.requires_grad, OrderedDict())
        if isinstance(obj, Tensor):
            refuse(dtypes.is_meta(obj._array), NO_NUMBERS, NotImplementedError)
            flat, offset, shape, strides, *_ = parts(obj)
            place = flat.__array_interface__["data"][0], flat.nbytes, flat.dtype.str
            storage = self.storages.setdefault(place, Storage(str(len(self.storages)), flat))
            strides = tuple(step // flat.itemsize for step in strides)
            return rebuild, (storage, offset, tuple(shape), strides, obj.requires_grad, OrderedDict())
        if isinstance(obj, printing.Size | Device):
            return type(obj), (tuple(obj) if isinstance(obj, printing.Size) else str(obj),)
        if isinstance(obj, Portable):
            reduced: Any = object.__reduce_ex__(obj, 2)
            make, kind, state, *rest = reduced
            if isinstance(state, dict):  # without hooks, PyTorch has a dict of them
                state = {k: OrderedDict() if k.endswith("_hooks") and v == [] else v for k, v in state.items()}
            return make, kind, state, *rest
        return str(obj).removeprefix("torch.") if isinstance(obj, dtypes.dtype) else NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a name: those of PyTorch's without importing anything."""
        module = "torch" if isinstance(obj, dtypes.dtype) else obj.__module__
        if not f"{module}.".startswith("torch."):
            super().save_global(obj, name)  # type: ignore[misc]
            return
        self.write(pickle.GLOBAL + f"{module}\n{name or obj.__qualname__}\n".encode())
        self.memoize(obj)

    dispatch: ClassVar[Any] = {**pickle._Pickler.dispatch, FunctionType: save_global}


def save(
    obj: object,
    f: StrPath | IO[bytes],
    pickle_module: object = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file, which is written whole or not at all, or to a stream; always as a zip archive.

    RuntimeError: the folder is not there, or the file cannot be written.
    """
    folder, name = os.path.split(os.fspath(f)) if isinstance(f, str | os.PathLike) else ("", "archive")
    refuse(folder and not os.path.isdir(folder), f"Parent directory {folder} does not exist.")
    text, whole = io.BytesIO(), io.BytesIO()
    writer = Writer(text, pickle_protocol)
    writer.dump(obj)
    records = {
        "data.pkl": text.getvalue(),
        ".format_version": b"1",
        ".storage_alignment": b"64",
        "byteorder": b"little",
    }
    records |= {f"data/{one.key}": one.flat.tobytes() for one in writer.storages.values()} | {"version": b"3\n"}
    with zipfile.ZipFile(whole, "w") as archive:
        for record, data in records.items():
            archive.writestr(zipfile.ZipInfo(f"{os.path.splitext(name)[0]}/{record}"), data)
    if not isinstance(f, str | os.PathLike):
        f.write(whole.getvalue())
        return
    try:
        files.write(f, whole.getvalue())
    except FileError as error:
        raise RuntimeError(error.what) from None


# ------------------------------------------------------------------ reading
class Reader(pickle.Unpickler):
    """Reads the pickle of an archive."""

    def __init__(self, archive: zipfile.ZipFile, prefix: str, weights_only: bool, place: object) -> None:
        super().__init__(archive.open(f"{prefix}data.pkl"))
        self.archive, self.prefix, self.weights_only, self.place = archive, prefix, weights_only, place
        self.memory = dict[str, Any]()

    def find_class(self, module: str, name: str) -> Any:
        """Return what a file names. UnpicklingError: that is not allowed, or not here."""
        module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        path = f"{module}.{name}"
        if (known := KNOWN.get(path, SAFE.get(path))) is not None:
            return known
        refuse(
            self.weights_only,
            UNKNOWN.format(path.removeprefix("builtins.")),
            pickle.UnpicklingError,
        )
        if not module.startswith("torch."):
            return super().find_class(module, name)
        home = import_module("gviz.engine.optim" if module.startswith("torch.optim.") else "gviz.engine.nn")
        refuse(
            not hasattr(home, name),
            f"gviz's engine has no {path} to make what this file has: save the model's state_dict(), which holds "
            "tensors alone, and load that",
            pickle.UnpicklingError,
        )
        return getattr(home, name)

    def persistent_load(self, pid: tuple[Any, ...]) -> Any:
        """Return the memory of tensors: numbers of a type."""
        _, storage, key, location, _ = pid
        place = (
            self.place.get(location) if isinstance(self.place, dict) else "cpu" if callable(self.place) else self.place
        )
        refuse(
            Device(place or location).type != "cpu",
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you "
            "are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to "
            "map your storages to the CPU.",
        )
        if key not in self.memory:
            self.memory[key] = np.frombuffer(bytearray(self.archive.read(f"{self.prefix}data/{key}")), np.uint8)
        return self.memory[key].view(storage.kind.np)


def load(
    f: StrPath | IO[bytes],
    map_location: object = None,
    pickle_module: object = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str = "utf-8",
) -> Any:
    """Return the object in a file or a stream.

    Of tensors, numbers, texts and collections, or of anything if it is trusted.

    UnpicklingError: it is no such file, not whole, or names what is not allowed. It is read whole, whatever ``mmap``
    says.
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as stream:
            data = stream.read()
    else:
        data = f.read()
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        prefix = next(name.removesuffix("data.pkl") for name in archive.namelist() if name.endswith("/data.pkl"))
        return Reader(archive, prefix, weights_only is not False, map_location).load()
    except (zipfile.BadZipFile, StopIteration):
        raise pickle.UnpicklingError(
            f"{'this' if hasattr(f, 'read') else f} is not such a file: gviz's engine reads the zip archives that "
            "torch.save writes since PyTorch 1.6, if they are whole"
        ) from None


__getattr__ = absent("torch.serialization")
