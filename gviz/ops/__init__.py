"""The operation table, one file per family; importing it only stores the rows.

To add an operation, write one of these in the file of its family:

- ``@op(node, names, ...)`` above its forward: a row (``gviz/autograd/row.py`` says what it may declare); ``row(...)``, or
  ``function(...)`` for functions of floats, says the same in a line if the forward is an expression or one of numpy's
  functions, whose options are numbers or known by name or default (``dim``, ``dtype``, ``keepdim=False``);
- ``@composite(names)`` above a function over rows that a formula may call, too; ``brief(...)`` in a line;
- ``@public_names(names)`` above a plain function that no formula calls;
- ``@everywhere`` above a function of numbers, for formulas alone.

All of these, and the checks that rows share, are imported from ``gviz/ops/rows.py``.

Source: PyTorch's native_functions.yaml (names and arguments) and derivatives.yaml; each file names what it adds to
these.
"""

from __future__ import annotations

from importlib import import_module

from gviz.autograd.row import ARRAYS, ROWS, TENSORS
from gviz.signatures import names

__all__ = ["ARRAYS", "FAMILIES", "ROWS", "TENSORS"]

FAMILIES = (
    "activation", "arithmetic", "chance", "choice", "comparison", "copies", "decompositions", "distances",
    "functions", "indexing", "joining", "matrix", "ordering", "picking", "products", "rearranging", "reduction", "rounding",
    "running", "scattering", "shape", "solving", "special", "statistics",
)  # fmt: skip
"""The files whose rows are stored at once; convolution, losses and their kin follow when ``nn`` is named."""

for family in FAMILIES:
    import_module(f"gviz.ops.{family}")
names.install({})  # tensors get their methods and operators; functions wait for the module that they belong to
