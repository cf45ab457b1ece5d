"""The names of PyTorch 2.13: what its modules and its tensors have, whatever of it is in gviz's engine.

The file beside this one has a line for each: the module, a colon and its public names; and what else ``dir()`` of some
has. Tests compare it with PyTorch.
"""

from __future__ import annotations

import os

NAMES = os.path.join(os.path.dirname(__file__), "torch-2.13-names.txt")


def lines_of_names() -> dict[str, list[str]]:
    """Return the lines of the file: ``torch.Tensor``, or ``dir(torch.Tensor)`` for what is not public -> the names."""
    with open(NAMES, encoding="utf-8") as stream:
        parts = (line.partition(":") for line in stream)
        return {owner: names.split() for owner, _, names in parts}


def pytorch_names() -> dict[str, list[str]]:
    """Return the public names of each module of PyTorch 2.13, and of ``torch.Tensor``."""
    return {owner: names for owner, names in lines_of_names().items() if not owner.startswith("dir(")}


def dir_names(owner: str) -> list[str]:
    """Return what ``dir()`` shows of ``torch.Tensor`` or of a module in PyTorch 2.13."""
    lines = lines_of_names()
    return sorted([*lines.get(owner, ()), *lines.get(f"dir({owner})", ())])


def has_name(name: str) -> bool:
    """Return whether PyTorch 2.13 is known to have a dotted name, as ``torch.nn.Linear``."""
    owner, _, last = name.rpartition(".")
    return last in dir_names(owner)
