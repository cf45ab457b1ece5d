"""``weight_norm`` and ``spectral_norm`` of ``torch.nn.utils``: a weight that each call of a module computes anew.

Sources: T. Salimans, D. Kingma, Weight Normalization, https://arxiv.org/abs/1602.07868; T. Miyato and others, Spectral
Normalization for Generative Adversarial Networks, https://arxiv.org/abs/1802.05957
"""

from __future__ import annotations

from typing import Any, TypeVar

from gviz import engine
from gviz.autograd.modes import no_grad
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import refuse, warn

torch: Any = engine
M = TypeVar("M", bound=Module)


class WeightNorm:
    """A weight as its direction ``weight_v`` and its length ``weight_g``, for each index of one dimension."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def norm(self, v: Tensor) -> Any:
        """Return the norm over all dimensions but one."""
        if self.dim == -1:
            return v.norm()
        shape = [size if i == self.dim % v.dim() else 1 for i, size in enumerate(v.shape)]
        return v.transpose(0, self.dim).reshape(v.shape[self.dim], -1).norm(2, 1).reshape(shape)

    def compute_weight(self, module: Module) -> Any:
        """Return ``g v / |v|``."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return call["_weight_norm"](v, g, self.dim)

    def __call__(self, module: Module, inputs: object) -> None:
        """Compute the weight before each call of the module."""
        setattr(module, self.name, self.compute_weight(module))


class SpectralNorm:
    """A weight divided by its largest singular value, which is estimated by a power iteration in each training step."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        refuse(
            n_power_iterations <= 0,
            f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}",
            ValueError,
        )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def matrix(self, weight: Tensor) -> Any:
        """Return the weight as a matrix, with its output dimension first."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(i for i in range(weight.dim()) if i != self.dim))
        # a parametrization, which needs no name, takes a matrix as it is; the hook makes a view of it
        return weight.reshape(weight.size(0), -1) if self.name else weight.flatten(1)

    def unit(self, vector: Tensor) -> Any:
        """Return a vector of length 1."""
        return torch.nn.functional.normalize(vector, dim=0, eps=self.eps)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """Return the weight over its estimated norm; the estimate becomes better first, if it is asked for."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.matrix(weight)
        if do_power_iteration:
            self.iterate(matrix.t(), v, u, self.n_power_iterations)
            u, v = u.clone(), v.clone()  # a later call must not change what this one's backward needs
        return weight / torch.dot(u, torch.mv(matrix, v))

    @no_grad()  # type: ignore[untyped-decorator]
    def iterate(self, matrix: Tensor, left: Tensor, right: Tensor, count: int) -> None:
        """Make the estimate better: the vectors that a matrix stretches most, as they are before and behind it."""
        for _ in range(count):
            left.copy_(self.unit(torch.mv(matrix, right)))
            right.copy_(self.unit(torch.mv(matrix.t(), left)))

    def __call__(self, module: Module, inputs: object) -> None:
        """Compute the weight before each call of the module."""
        setattr(module, self.name, self.compute_weight(module, module.training))


def hook_on(module: Module, kind: type[WeightNorm | SpectralNorm], name: str) -> int | None:
    """Return the key of the hook of a kind for a parameter; None if there is none."""
    hooks = module._forward_pre_hooks
    return next((key for key, hook in hooks.items() if isinstance(hook, kind) and hook.name == name), None)


def begin(module: Module, hook: WeightNorm | SpectralNorm, word: str) -> Any:
    """Take the parameter out of the module, and return it; the hook will compute it. RuntimeError: it has one."""
    refuse(
        hook_on(module, type(hook), hook.name) is not None,
        f"Cannot register two {word} hooks on the same parameter {hook.name}",
    )
    weight = module._parameters.pop(hook.name)
    module.register_forward_pre_hook(hook)
    return weight


def end(module: Module, kind: type[WeightNorm | SpectralNorm], name: str, word: str) -> Any:
    """Take the hook off, and return it. ValueError: there is none."""
    key = hook_on(module, kind, name)
    refuse(key is None, f"{word} of '{name}' not found in {module}", ValueError)
    delattr(module, name)
    return module._forward_pre_hooks.pop(key)  # type: ignore[arg-type] # it is there


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Split a weight into its direction and its length."""
    warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = begin(module, hook, "weight_norm")
    module.register_parameter(f"{name}_g", Parameter(hook.norm(weight.detach())))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the computed weight the parameter again."""
    weight = end(module, WeightNorm, name, "weight_norm").compute_weight(module)
    del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
    module.register_parameter(name, Parameter(weight.data))
    return module


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a weight by its largest singular value."""
    transposed = type(module).__name__.startswith("ConvTranspose")
    hook = SpectralNorm(name, n_power_iterations, (1 if transposed else 0) if dim is None else dim, eps)
    weight = begin(module, hook, "spectral_norm")
    with no_grad():
        u, v = (hook.unit(weight.new_empty(size).normal_(0, 1)) for size in hook.matrix(weight).shape)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the computed weight the parameter again."""
    hook = end(module, SpectralNorm, name, "spectral_norm")
    with no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)
    del module._parameters[f"{name}_orig"], module._buffers[f"{name}_u"], module._buffers[f"{name}_v"]
    module.register_parameter(name, Parameter(weight.detach()))
    return module
