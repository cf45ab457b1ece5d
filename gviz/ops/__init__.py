"""The operation table, one file per family; importing it only stores the rows."""

from __future__ import annotations

from importlib import import_module

from gviz.autograd import names
from gviz.autograd.row import ARRAYS, ROWS, TENSORS

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
