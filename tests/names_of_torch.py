"""The public names of PyTorch that gviz/signatures keeps; ``python tests/names_of_torch.py`` writes them anew."""

from __future__ import annotations

import builtins
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

FILE = Path(__file__).parent.parent / "gviz" / "signatures" / "torch-2.13-names.txt"

MODULES = (
    "functorch", "torch", "torch.Tensor", "torch.autograd", "torch.autograd.function", "torch.autograd.functional",
    "torch.autograd.graph", "torch.distributed", "torch.distributions", "torch.fft", "torch.func", "torch.fx",
    "torch.jit", "torch.linalg", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.parameter",
    "torch.nn.utils", "torch.nn.utils.prune", "torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler",
    "torch.onnx", "torch.profiler", "torch.quantization", "torch.random", "torch.sparse", "torch.special",
    "torch.utils", "torch.utils.data",
)  # fmt: skip
"""The modules that scripts name; ``torch.Tensor`` is a class."""

SHOWN = "functorch", "torch.Tensor", "torch.distributions"
"""What programs print the ``dir()`` of."""

HELPERS = frozenset({
    "Tensor", "assert_int_or_pair", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic",
})  # fmt: skip
"""Names that PyTorch's modules import into themselves."""

NAMED_CLASSES = "Generator", "Size", "Stream", "Event"
"""The classes made in C++ that people name, beside the old tensor types; the others belong to PyTorch's compiler."""


def public_names(module: str) -> list[str]:
    """A module's ``__all__``, its submodules, what else was made in it or in C; a class's attributes."""
    if module == "torch.Tensor":
        return sorted(name for name in dir(import_module("torch").Tensor) if not name.startswith("_"))
    space = import_module(module)
    listed = set(getattr(space, "__all__", ()))
    names = {
        name
        for name in dir(space)
        if name in listed or is_own(module, name, getattr(space, name), any_other=not listed)
    }
    names |= {part.name for part in iter_modules(getattr(space, "__path__", ()))}
    hidden = set(HELPERS)
    if module == "torch":
        made_in_c = {
            name for name in dir(import_module("torch._C")) if name[0].isupper() and not name.endswith("Tensor")
        }
        hidden = made_in_c - set(NAMED_CLASSES)
        names.add("Tensor")
    return sorted(name for name in names - hidden if not name.startswith("_"))


def other_names(owner: str) -> list[str]:
    """What ``dir()`` shows beside the public names."""
    torch = import_module("torch")
    listed = dir(torch.ones(1) if owner == "torch.Tensor" else import_module(owner))
    return sorted({*listed} - {*public_names(owner)})


def is_own(module: str, name: str, value: Any, *, any_other: bool) -> bool:
    """Return whether a value belongs to the module in whose namespace it is."""
    if isinstance(value, ModuleType):
        return False
    home = getattr(value, "__module__", None) or ""
    if module == "torch":  # dtypes, layouts, and functions that __all__ forgets
        return type(value).__module__ == "torch" or (callable(value) and home.startswith("torch") and name.islower())
    made_in_c = isinstance(value, type(builtins.len)) and not home.startswith("builtins")
    return (
        any_other
        and callable(value)
        and (home == module or home.startswith((f"{module}.", f"torch._{module}.")) or made_in_c)
    )


def text() -> str:
    """The file's contents as this PyTorch has them."""
    names = {module: public_names(module) for module in MODULES} | {f"dir({one})": other_names(one) for one in SHOWN}
    return "".join(f"{owner}: {' '.join(listed)}\n" for owner, listed in names.items())


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
