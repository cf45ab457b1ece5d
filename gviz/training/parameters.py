"""The parameters of the models that are trained: which are measured, which an optimizer has, and their norms."""

from __future__ import annotations

import cmath
import math
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any

from gviz.trace.listening import ParameterGroups
from gviz.training.rows import Norms
from gviz.training.running import EngineTensor
from gviz.walk import TINY, all_finite, numbers


class ModelParameters:
    """The parameters of the models that are measured, by name.

    Args:
        patterns: of the names of the parameters, or of modules, that are measured.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = patterns
        self.models: dict[str, Any] = {}
        self.measured: dict[str, Any] = {}
        self.own: dict[int, dict[str, Any]] = {}  # of these, those of each optimizer, by its identity

    def find(self) -> None:
        """Find the parameters that are measured: a model may have got others."""
        self.measured = {name: one for name, one in self.all() if "*" in self.patterns or self.is_wanted(name)}
        self.own = {}

    def all(self) -> Iterator[tuple[str, Any]]:
        """Yield the parameters of the models that have numbers, each with its name."""
        for prefix, model in self.models.items():
            # one that is tied has several names, each of which may be that of a pattern
            for path, one in model.named_parameters(remove_duplicate="*" in self.patterns):
                if not getattr(one, "is_meta", False) and not type(one).__name__.startswith("Uninitialized"):
                    yield prefix + "." * bool(prefix) + path, one

    def is_wanted(self, name: str) -> bool:
        """Return whether a parameter is measured: a pattern is one of its name, or of a module that it is in.

        Where models have names, theirs may be left out.
        """
        parts = name.split(".")
        paths = [
            ".".join(parts[begin : end + 1])
            for begin in range(1 + ("" not in self.models))
            for end in range(begin, len(parts))
        ]
        return any(fnmatchcase(path, pattern) for pattern in self.patterns for path in paths)

    def of(self, optimizer: ParameterGroups) -> dict[str, Any]:
        """Return those that an optimizer has."""
        if id(optimizer) not in self.own:
            ids = {id(one) for group in optimizer.param_groups for one in group["params"]}
            self.own[id(optimizer)] = {name: one for name, one in self.measured.items() if id(one) in ids}
        return self.own[id(optimizer)]


def measured_norms(engine: ModuleType, parameter: EngineTensor, scale: float = 1.0) -> Norms:
    """Return what is measured of a parameter before a step, its gradient divided by a scale; 0 for none as yet."""
    grad = plain_gradient(parameter.grad) if scale and parameter.grad is not None else None
    weight = tensor_norm(engine, parameter.detach())
    if grad is None:
        return Norms(None, None, weight)
    zeros = 1 - int(grad.bool().count_nonzero()) / parameter.numel() if grad.numel() else 0.0  # of a sparse one, too
    return Norms(tensor_norm(engine, grad) / scale, zeros, weight)


def are_finite(engine: ModuleType, tensors: Collection[EngineTensor]) -> bool:
    """Return whether tensors are finite: where the sum of their sums is, they are; it alone may overflow."""
    sums = [one.sum() for one in tensors]
    if sums and not sums[0].is_cpu and len({(one.device, one.dtype) for one in sums}) == 1:
        sums = [engine.stack(sums).sum()]  # to read a number is to wait for the device
    return cmath.isfinite(sum([one.item() for one in sums])) or all(map(all_finite, map(plain_gradient, tensors)))


def has_any(tensor: EngineTensor) -> bool:
    """Return whether an element is not 0: where the sum is not, none need be counted."""
    return bool(tensor.sum()) or bool(tensor.count_nonzero())


def plain_gradient(grad: EngineTensor) -> EngineTensor:
    """Return a gradient without its graph; of a sparse one the elements that are there."""
    numbers = grad.detach()
    return numbers.coalesce().values() if getattr(numbers, "is_sparse", False) else numbers


def tensor_norm(engine: ModuleType, tensor: EngineTensor) -> float:
    """Return the norm of a tensor as ``tensor.norm()`` does, and exactly where its squares are too small or large."""
    wide = tensor.float() if tensor.element_size() == 2 else tensor
    norm = float(engine.linalg.vector_norm(wide))  # which Tensor.norm calls in the end
    is_zeros = norm == 0 and not tensor.count_nonzero()  # as a bias is at the beginning
    return norm if TINY < norm < math.inf or is_zeros else numbers(tensor, 0).norm


def optimizer_text(optimizer: ParameterGroups) -> str:
    """Return an optimizer and its learning rates in words."""
    rates = dict.fromkeys(f"{float(group['lr']):g}" for group in optimizer.param_groups if "lr" in group)
    return f"{type(optimizer).__name__}, lr={', '.join(rates)}" if rates else type(optimizer).__name__
