"""What the engine offers under PyTorch's names, and which row each call form means.

An overload is a row; a public name is a choice among rows. At the end of each file here stand its names, each with what it
means: a row or composite by its key, or a function of the file that chooses a row by its arguments:

- ``BOTH``: offered as ``torch.NAME`` and as methods;
- ``METHODS`` (Python's operators among them) and ``FUNCTIONS``: what is only the one or the other.

:func:`install` binds them all to the tensor class and to the engine's namespace.
"""

from __future__ import annotations

from typing import Any

from gviz import ops
from gviz.engine.surface.public import public
from gviz.engine import conversion, einsum, elements, matrices, norms, searching
from gviz.autograd import names
from gviz.autograd.row import ROWS, TENSORS
from gviz.engine.surface import creation, indexing, sampling
from gviz.autograd.tensor import Tensor

__all__ = ["install", "ops"]

FAMILIES = (indexing, creation, sampling)


BUILT_IN = (
    "_is_view", "data_ptr", "detach", "detach_", "dim", "element_size", "get_device", "is_complex", "is_contiguous",
    "is_floating_point", "is_inference", "item", "nelement", "numel", "numpy", "requires_grad_", "retain_grad", "size",
    "storage_offset", "stride", "tolist",
)  # fmt: skip
"""Methods that the tensor class has itself, and that are PyTorch's built-in ones."""

TABLES = {"BOTH": (True, True), "METHODS": (True, False), "FUNCTIONS": (False, True)}
"""The tables of a family: whether their names are methods, and whether they are functions."""


def install(namespace: dict[str, Any]) -> None:
    """Bind everything to the tensor class and to the engine's namespace."""
    for family in FAMILIES:
        for table, (methods, functions) in TABLES.items():
            for name, meant in vars(family).get(table, {}).items():
                if methods:
                    place(meant, Tensor, name, "operator" if name.startswith("__") else "method")
                if functions:
                    place(meant, namespace, name, "function")
    names.install({"torch": namespace})
    for name in BUILT_IN:
        place(getattr(Tensor, name), Tensor, name, "method")


def place(meant, owner, name, kind):
    """Bind a function, or that of a key, to a name."""
    row = ROWS.get(meant) if isinstance(meant, str) else None
    function = (lambda *args, **kwargs: row(*args, **kwargs)) if row is not None else TENSORS[meant] if isinstance(meant, str) else meant
    if row is not None and kind == "operator":
        function = names.as_operator(function) if len(row.parameters) > 1 else function
    function = function if kind == "operator" else public(function, name, method=kind == "method")
    if isinstance(owner, dict):
        owner[name] = function
    else:
        setattr(owner, name, function)
