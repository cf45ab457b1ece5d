"""What the engine offers under PyTorch's names, and which row each call form means.

An overload is a row; a public name is a choice among rows. At the end of each file here stand its names:

- ``ROWS``: names (of a function and a method) that are one row or composite, by its key;
- ``OPERATORS``: likewise for Python's operators;
- ``BOTH``: functions of the file that choose a row by their arguments, offered as ``torch.NAME`` and as methods;
- ``METHODS`` and ``FUNCTIONS``: what is only the one or the other.

:func:`install` binds them all to the tensor class and to the engine's namespace.
"""

from __future__ import annotations

from typing import Any

from gviz.engine import creation, ops, sampling
from gviz.engine.op import ROWS, TENSORS
from gviz.engine.refusals import public
from gviz.engine.surface import (
    arithmetic,
    conversion,
    overwriting,
    pointwise,
    products,
    rearranging,
    reductions,
    searching,
    shape,
    statistics,
    writing,
)
from gviz.engine.tensor import Tensor

__all__ = ["install", "ops"]

FAMILIES = (
    arithmetic,
    reductions,
    shape,
    conversion,
    writing,
    pointwise,
    statistics,
    searching,
    rearranging,
    products,
    overwriting,
    creation,
    sampling,
)


BUILT_IN = (
    "_is_view", "data_ptr", "detach", "detach_", "dim", "element_size", "is_complex", "is_contiguous", "is_floating_point",
    "item", "nelement", "numel", "numpy", "requires_grad_", "retain_grad", "size", "stride", "tolist",
)  # fmt: skip
"""Methods that the tensor class has itself, and that are PyTorch's built-in ones."""


def install(namespace: dict[str, Any]) -> None:
    """Bind everything to the tensor class and to the engine's namespace."""
    for family in FAMILIES:
        declared = vars(family)
        for name, key in declared.get("ROWS", {}).items():
            place(key, Tensor, name, "method")
            place(key, namespace, name, "function")
        for name, key in declared.get("OPERATORS", {}).items():
            place(key, Tensor, name, "operator")
        both = declared.get("BOTH", {})
        for name, function in (both | declared.get("METHODS", {})).items():
            setattr(Tensor, name, function if name.startswith("__") else public(function, name, method=True))
        for name, function in (both | declared.get("FUNCTIONS", {})).items():
            namespace[name] = public(function, name, method=False)
    for name in BUILT_IN:
        setattr(Tensor, name, public(getattr(Tensor, name), name, method=True))


def place(key: str, owner: Any, name: str, kind: str) -> None:
    """Bind a row's function to a name now, and again when the row has been made ready."""
    row = ROWS.get(key)
    if row is None:
        function = public(TENSORS[key], name, method=kind == "method")
    else:
        function = row.entry(name, kind)
        row.places.append((owner, name, kind))
    if isinstance(owner, dict):
        owner[name] = function
    else:
        setattr(owner, name, function)
