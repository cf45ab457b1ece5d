"""gviz's autograd engine: PyTorch's names, numbers and errors over numpy, with a core small enough to be read.

``from gviz import engine as torch`` reads like PyTorch::

    w = torch.tensor(1.0, requires_grad=True)
    x = torch.tensor(2.0, requires_grad=True)
    y = (x + w) * (w + 1)
    y.backward()
    w.grad                     # tensor(5.)

The engine is five rooms, and imports go down only. A line belongs to the room of what it speaks of:

- of numbers only: ``gviz/numbers`` (dtypes, promotion, shapes, data to arrays, printing, random numbers);
- of gradients, whatever the operation: ``gviz/autograd``, the small engine itself; its first page says how a product
  flows from the call to the gradient;
- of the call of any function, whatever it computes: ``gviz/signatures`` (names, forms, types of arguments, refusals);
- of one operation: its row in ``gviz/ops``, which says everything about it: formula, forward, public names, call form;
- of how PyTorch's library presents things: here. Creation, indexing, conversion, copies, random functions; what PyTorch
  composes in Python (``einsum.py``, ``matrices.py``, ``searching.py``); and, loaded when they are named,
  ``autograd``, ``linalg``, ``nn``, ``optim``, ``special``; ``utils``, ``distributions``, ``func``, and what saves and
  loads.

``fast.py`` lies above all of them: the same rows and the plain backward pass, faster. ``GVIZ_FAST=0`` leaves it out.
What tells people about the table (``gviz ops``) is in ``gviz/reference``, a floor above.

The grad mode and a running backward pass belong to the whole process, not to a thread as in PyTorch: programs that
build graphs in several threads at once need the real one. What is not here raises AttributeError in PyTorch's words.
"""

from __future__ import annotations

import importlib
import math
import os
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from gviz import ops as _ops
from gviz.autograd import modes, requests as _requests
from gviz.autograd.tensor import Tensor
from gviz.engine import amp, creation, einsum, elements, indexing, matrices, random, searching
from gviz.engine.autograd import packing as _packing
from gviz.engine.device import FORMATS, STRIDED, Device, Layout, MemoryFormat
from gviz.numbers import dtypes
from gviz.numbers.dtypes import dtype, get_default_dtype, promote_types, set_default_dtype
from gviz.numbers.limits import finfo, iinfo
from gviz.numbers.printing import Size, set_printoptions
from gviz.signatures import names
from gviz.wiring import Wires

__version__ = "2.13.0+cpu"
"""The version of PyTorch whose behaviour this is."""

# numpy warns of log(-1) and 1/0; PyTorch gives nan and inf without a word. Only for what the engine itself computes.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gviz\.(numbers|autograd|signatures|ops|engine)\b")

# glibc gives freed memory back to the system, page by page, and a backward pass over arrays of a megabyte spends half
# its time on getting it again. Once it has freed a block of up to 32 MB (here one that was never touched), it keeps
# what is smaller.
np.empty((32 << 20) - 8192, np.uint8)

globals().update(
    dtypes.NAMES
    | FORMATS
    | {name: getattr(module, name) for module in (modes, random) for name in module.__all__ if name != "mode"}
    | {f"{kind.scalar_name}Tensor": creation.LegacyType(kind) for kind in dtypes.EVERY if not kind.is_complex}
)
device, layout, strided, memory_format = Device, Layout, STRIDED, MemoryFormat
autocast, GradScaler = amp.autocast, amp.GradScaler
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
names.install({"torch": globals()})
Tensor._repr_svg_ = Wires.picture  # type: ignore[attr-defined]
if os.environ.get("GVIZ_FAST") != "0":
    importlib.import_module("gviz.engine.fast").install(globals())

SETTINGS = (
    "_assert", "are_deterministic_algorithms_enabled", "get_default_device", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "set_default_device", "set_default_tensor_type",
    "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_num_threads", "typename",
    "use_deterministic_algorithms",
)  # fmt: skip
UNCOMMON = (
    "bartlett_window", "blackman_window", "block_diag", "chain_matmul", "cholesky_inverse", "combinations", "complex",
    "cumulative_trapezoid", "frexp", "frombuffer", "gradient", "hamming_window", "hann_window", "is_storage", "isreal",
    "kaiser_window", "nextafter", "pca_lowrank", "polar", "range", "scalar_tensor", "stft", "svd_lowrank",
    "triangular_solve", "unique_consecutive", "unravel_index", "vander", "view_as_complex", "view_as_real",
)  # fmt: skip
SUBMODULES = (
    "accelerator", "amp", "ao", "autograd", "backends", "cuda", "distributed", "distributions", "fft", "func",
    "functional", "fx", "hub", "jit", "linalg", "masked", "multiprocessing", "nn", "optim", "profiler", "quantization",
    "serialization", "sparse", "special", "storage", "testing", "utils", "version",
)  # fmt: skip
LATE = (
    {"vmap": "func", "compile": "jit", "sparse_coo_tensor": "sparse", "spmm": "sparse"}
    | dict.fromkeys(("load", "save"), "serialization")
    | dict.fromkeys(("get_autocast_dtype", "is_autocast_enabled"), "amp")
    | dict.fromkeys(SETTINGS, "settings")
    | dict.fromkeys(UNCOMMON, "uncommon")
)
"""Functions that few programs name -> where they are."""


def late_method(name: str, home: str = "uncommon") -> Any:
    """Return the method that is one of these functions, or one of another module that is loaded when it is called."""

    def method(*args: object, **kwargs: object) -> Any:
        return getattr(importlib.import_module(f"gviz.engine.{home}"), name)(*args, **kwargs)

    method.__name__, method.__qualname__ = name, f"TensorBase.{name}"
    method.__doc__ = f"Return what ``torch.{name}`` gives for the tensor."
    return method


for late in (
    "cholesky_inverse", "frexp", "isreal", "nextafter", "stft", "triangular_solve", "unique_consecutive",
):  # fmt: skip
    setattr(Tensor, late, late_method(late))
for late, home in {
    "set_": "storage",
    "storage": "storage",
    "untyped_storage": "storage",
    "as_strided_": "storage",
    "to_sparse": "sparse",
}.items():
    setattr(Tensor, late, late_method(late, home))


def __getattr__(name: str) -> Any:
    """Load a submodule when it is first named, and ``nn`` for functions that torch has too.

    Refuse the rest as PyTorch does.
    """
    if name in SUBMODULES:
        try:
            return importlib.import_module(f"gviz.engine.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"gviz.engine.{name}":
                raise
    if name in LATE:
        return getattr(importlib.import_module(f"gviz.engine.{LATE[name]}"), name)
    if not name.startswith("_"):
        importlib.import_module("gviz.engine.nn.functional")
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module 'torch' has no attribute '{name}'")


def __dir__() -> list[str]:
    """What PyTorch has too: without the modules that the engine is made of, and what they are called here."""
    importlib.import_module("gviz.engine.nn.functional")
    here = [name for name, value in globals().items() if not isinstance(value, ModuleType) and name not in OWN]
    return sorted({*here, *SUBMODULES, *LATE, "random"})


OWN = {
    "Any", "Device", "FORMATS", "KNOWN", "LATE", "Layout", "MemoryFormat", "ModuleType", "OWN", "SETTINGS", "STRIDED",
    "SUBMODULES", "UNCOMMON", "annotations", "home", "late", "late_method", "own",
}  # fmt: skip
KNOWN = {*SUBMODULES, "importlib", "math", "random", "warnings"}
"""Modules here that PyTorch has too; the others that were imported so far are the engine's own, and not attributes of
it."""
for own in [name for name, value in globals().items() if isinstance(value, ModuleType) and name not in KNOWN]:
    del globals()[own]
