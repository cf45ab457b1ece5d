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


LACKING = {
    *("T_destination", "call_super_init", "dump_patches", "ipu", "mtia", "xpu"),  # of all modules
    *("OptimizerPostHook", "OptimizerPreHook", "profile_hook_step"),
    *("gather", "parallel_apply", "replicate", "scatter"),  # of several devices
    *("copy", "fromkeys", "popitem", "setdefault", "permute_hidden", "get_expected_cell_size", "merge_masks"),
    "initialize_parameters",
    "num_samples",  # which is an attribute of each sampler
    *("check_worker_number_rationality", "multiprocessing_context", "cummulative_sizes", "cumsum", "share_memory"),
}
"""What PyTorch's classes have and the engine's have not, if a program names it: AttributeError in PyTorch's words."""
OF_PYTHON = {
    *("__constants__", "__jit_unused_properties__", "__slots__", "__parameters__", "__orig_bases__"),
    *(
        "__abstractmethods__",
        "__class_getitem__",
        "__annotate_func__",
        "__annotations_cache__",
        "__static_attributes__",
    ),
}
"""What Python and TorchScript leave in a class."""
OPERATORS = {"__imul__", "__ior__", "__reversed__", "__contains__", "__len__", "__getitems__"}
"""Those that Python has another way for (``x = x * 2``, going through it), or that few programs ask for."""


@pytest.mark.torch
def test_a_class_of_layers_schedules_or_loaders_lacks_nothing_but_what_is_known() -> None:
    pytest.importorskip("torch")
    homes = ("nn", "optim", "optim.lr_scheduler", "utils.data")
    lacking = set()
    for home in homes:
        own, other = import_module(f"gviz.engine.{home}"), import_module(f"torch.{home}")
        for name in dir(other):
            kind, mine = getattr(other, name), getattr(own, name, None)
            if (
                isinstance(kind, type)
                and isinstance(mine, type)
                and not issubclass(kind, import_module("torch").Tensor)
            ):
                names = {one for one in dir(kind) if not one.startswith("_") or one.endswith("__")}
                lacking |= {one for one in names if not hasattr(mine, one)}
    assert lacking - OF_PYTHON - OPERATORS == LACKING
