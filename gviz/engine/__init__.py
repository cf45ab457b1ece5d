"""gviz's autograd engine: PyTorch's names, numbers and errors over numpy, small enough to be read.

``from gviz import engine as torch`` reads like PyTorch::

    w = torch.tensor(1.0, requires_grad=True)
    x = torch.tensor(2.0, requires_grad=True)
    y = (x + w) * (w + 1)
    y.backward()
    w.grad                     # tensor(5.)

How one operation flows from call to gradient:

1. ``x + w`` calls ``Tensor.__add__``, which ``surface/`` bound to the row ``add`` of the table (``ops/arithmetic.py``; what a
   row says is told in ``op.py``).
2. The row's function (made at its first call by ``makers.py``; what is less plain goes through ``plain.py``, then
   ``general.py``) computes the array and, since an input requires a gradient, makes a node: an ``AddBackward0`` (``node.py``)
   with its inputs' nodes as ``edges``, what the derivatives need as ``saved`` (``saved.py``), and a creation number.
3. ``y.backward()`` (``backward.py``) collects the nodes below, sorts them by creation number and runs each once: its
   class's ``apply`` (``derivatives.py``) evaluates the row's formulas on arrays; a broadcast gradient is summed back; the
   result waits on the next node.
4. A leaf's ``AccumulateGrad`` adds what arrives to ``w.grad``.
5. With ``create_graph=True`` the same formulas run on tensors and record a graph of their own.

To find an operation: its public name stands in a table at the end of a file of ``surface/``, with the key of its row; the
row is in the file of ``ops/`` for its family.

Around it:

- ``tensor.py`` over ``elements.py`` (the part that looks at the array alone), ``inplace.py`` and ``views.py`` (writing in
  place, versions, CopySlices), ``hooks.py`` (what few nodes have), ``modes.py`` (no_grad and its kin);
- ``creation.py`` and ``unpack.py`` (lists to arrays), ``sampling.py`` over ``random.py`` and ``generator.py`` (PyTorch's random
  numbers);
- ``dtypes.py``, ``limits.py`` (finfo, iinfo), ``printing.py``, ``results.py`` (named tuples), ``text.py`` (names and messages),
  ``refusals.py`` (what a function says about wrong arguments);
- loaded when named: ``autograd``, ``cuda``, ``linalg``, ``nn``, ``optim``, ``special``.

What is not here raises AttributeError in PyTorch's words; ``Tensor(3, 5)`` and ``empty`` hold zeros.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from gviz.engine import creation, dtypes, surface
from gviz.engine.dtypes import dtype as dtype
from gviz.engine.dtypes import get_default_dtype as get_default_dtype
from gviz.engine.dtypes import promote_types as promote_types
from gviz.engine.dtypes import set_default_dtype as set_default_dtype
from gviz.engine.limits import finfo as finfo
from gviz.engine.limits import iinfo as iinfo
from gviz.engine.modes import enable_grad as enable_grad
from gviz.engine.modes import inference_mode as inference_mode
from gviz.engine.modes import is_grad_enabled as is_grad_enabled
from gviz.engine.modes import is_inference_mode_enabled as is_inference_mode_enabled
from gviz.engine.modes import no_grad as no_grad
from gviz.engine.modes import set_grad_enabled as set_grad_enabled
from gviz.engine.printing import Size as Size
from gviz.engine.printing import set_printoptions as set_printoptions
from gviz.engine.tensor import Tensor as Tensor
from gviz.engine.text import Device

__version__ = "2.13.0+cpu"
"""The version of PyTorch whose behaviour this is."""

# numpy warns of log(-1) and 1/0; PyTorch gives nan and inf without a word. Only for what the engine itself computes.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gviz\.engine\b")

globals().update(dtypes.NAMES)
globals().update(
    (name, creation.LegacyType(name, kind))
    for name, kind in {
        "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
        "LongTensor": dtypes.int64, "IntTensor": dtypes.int32, "ShortTensor": dtypes.int16,
        "ByteTensor": dtypes.uint8, "CharTensor": dtypes.int8, "BoolTensor": dtypes.bool,
    }.items()
)  # fmt: skip
device = Device
surface.install(globals())

SUBMODULES = ("autograd", "cuda", "linalg", "nn", "optim", "special")


def __getattr__(name: str) -> Any:
    """Load a submodule when it is first named; what is not there is missing in PyTorch's words."""
    if name in SUBMODULES:
        try:
            return importlib.import_module(f"gviz.engine.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"gviz.engine.{name}":
                raise
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
