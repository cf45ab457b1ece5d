"""The classes that programs derive from have PyTorch's names alone, and ``_such_`` ones: a program's would break others."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

HARMLESS = {
    *("_importable", "_mha_block", "_flat_weights"),
    *("reset_parameters", "clear", "get", "insert", "pop"),  # PyTorch has them in most of these classes
    *("transposed", "output_padding", "mode", "align_corners", "recompute_scale_factor", "domain", "codomain"),
}
"""Names of attributes that PyTorch gives to each instance, and methods that do for all classes what they are named for."""


def names_of_classes(package: str) -> dict[str, set[str]]:
    """Return the names of each class that programs derive from: of modules and optimizers those with an underscore, too."""
    torch: Any = import_module(package)
    homes = [
        torch,
        *(
            import_module(f"{package}.{one}")
            for one in ("nn", "optim", "optim.lr_scheduler", "autograd", "distributions", "utils.data")
        ),
    ]
    often = (torch.nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)
    bases = (
        *often,
        torch.Tensor,
        torch.autograd.Function,
        torch.distributions.Distribution,
        torch.utils.data.Dataset,
    )
    kinds = {name: vars(home).get(name) for home in homes for name in dir(home)}
    return {
        name: {
            one for one in dir(kind) if not one.startswith("_") or (not one.endswith("_") and issubclass(kind, often))
        }
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, bases)
    }


@pytest.mark.torch
def test_no_class_has_a_name_that_pytorchs_has_not() -> None:
    pytest.importorskip("torch")
    own, others = names_of_classes("gviz.engine"), names_of_classes("torch")
    assert {"Module", "LSTM", "SGD", "StepLR", "Function", "Normal"} <= {*own}
    more = {name: names - others[name] - HARMLESS for name, names in own.items() if name in others}
    assert {name: names for name, names in more.items() if names} == {}
