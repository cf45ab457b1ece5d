"""gviz's autograd engine: PyTorch's names, numbers and errors over numpy, small enough to be read.

``from gviz import engine as torch`` reads like PyTorch::

    w = torch.tensor(1.0, requires_grad=True)
    x = torch.tensor(2.0, requires_grad=True)
    y = (x + w) * (w + 1)
    y.backward()
    w.grad                     # tensor(5.)

How one operation flows from call to gradient:

1. ``x + w`` calls ``Tensor.__add__``, which ``surface.py`` bound to the row ``add`` of the table (``ops/pointwise.py``).
2. The row's function (made at its first call by ``makers.py``) computes the array and, since an input requires a gradient,
   makes a node: an ``AddBackward0`` (``node.py``) with its inputs' nodes as ``edges``, what the derivatives need as ``saved``,
   and a creation number.
3. ``y.backward()`` (``backward.py``) collects the nodes below, sorts them by creation number and runs each once: its class's
   ``apply`` evaluates the row's formulas on arrays; a broadcast gradient is summed back; the result waits for the next node.
4. A leaf's ``AccumulateGrad`` adds what arrives to ``w.grad``.
5. With ``create_graph=True`` the same formulas run on tensors and record a graph of their own.

Around it: ``inplace.py`` (versions, views, CopySlices), ``hooks.py`` (what few nodes have), ``modes.py`` (no_grad and its kin),
``creation.py``, ``random.py``, ``dtypes.py``, ``printing.py``. nn, optim, autograd and the like load when named.

What is not here raises AttributeError in PyTorch's words; ``Tensor(3, 5)`` and ``empty`` hold zeros.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from gviz.engine import creation, dtypes, ops, surface
from gviz.engine.dtypes import dtype as dtype
from gviz.engine.dtypes import finfo, get_default_dtype, iinfo, promote_types, set_default_dtype
from gviz.engine.modes import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from gviz.engine.printing import Size, get_printoptions, set_printoptions
from gviz.engine.tensor import Tensor
from gviz.engine.text import Device as device

__version__ = "2.13.0"
"""The version of PyTorch whose behaviour this is."""

# numpy warns of log(-1) and 1/0; PyTorch gives nan and inf without a word. Only for what the engine itself computes.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gviz\.engine\b")

for _name, _dtype in {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16, "LongTensor": dtypes.int64,
    "IntTensor": dtypes.int32, "ShortTensor": dtypes.int16, "ByteTensor": dtypes.uint8, "BoolTensor": dtypes.bool,
}.items():  # fmt: skip
    globals()[_name] = creation.LegacyType(_name, _dtype)

for _name in (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "complex64", "complex128",
    "bool", "half", "float", "double", "short", "int", "long", "cfloat", "cdouble",
):  # fmt: skip
    if hasattr(dtypes, _name):
        globals()[_name] = getattr(dtypes, _name)

surface.install(globals())

SUBMODULES = ("autograd", "linalg", "nn", "optim", "special", "utils")


def __getattr__(name: str) -> Any:
    """Load a submodule when it is first named; what is not there is missing in PyTorch's words."""
    if name in SUBMODULES:
        try:
            return importlib.import_module(f"gviz.engine.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"gviz.engine.{name}":
                raise
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
