"""``torch.nn.utils.prune``: parameters with a mask, which each call of the module multiplies in.

A pruned parameter is kept as ``weight_orig`` beside the buffer ``weight_mask``; ``weight`` is their product.

Source: https://docs.pytorch.org/docs/2.13/nn.html#utilities
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

from gviz import engine
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.module import Module
from gviz.numbers.words import absent, refuse, refuse_any

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

torch: Any = engine


class BasePruningMethod:
    """A way to prune: subclasses write ``compute_mask``, and say their ``PRUNING_TYPE``."""

    _tensor_name = "temp"  # of one that is for no tensor in particular
    PRUNING_TYPE = "unstructured"

    def __call__(self, module: Module, inputs: object) -> None:
        """Compute the pruned tensor before each call of the module."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for a tensor: ones where it stays."""
        raise NotImplementedError

    def apply_mask(self, module: Module) -> Any:
        """Return the tensor times its mask."""
        name = self._tensor_name
        mask, original = getattr(module, f"{name}_mask"), getattr(module, f"{name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: object, importance_scores: Tensor | None = None, **kwargs: object
    ) -> BasePruningMethod:
        """Prune a parameter of a module; one that is pruned already loses more of what is left."""
        hooks = module._forward_pre_hooks
        olds = {k: h for k, h in hooks.items() if isinstance(h, BasePruningMethod) and h._tensor_name == name}
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        refuse(
            scores.shape != original.shape,
            f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
            f"{original.shape}",
            AssertionError,
        )
        for key, old in olds.items():
            container = PruningContainer(old) if not isinstance(old, PruningContainer) else old
            container.add_pruning_method(method)
            method = container
            del hooks[key]
        if olds:
            default = getattr(module, f"{name}_mask").detach().clone()
        else:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
            default = torch.ones_like(original)
        module.register_buffer(f"{name}_mask", method.compute_mask(scores, default_mask=default))
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Any:
        """Return a pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=torch.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor the parameter, and forget the mask."""
        name = self._tensor_name
        weight, original = self.apply_mask(module), module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        if name in vars(module):
            delattr(module, name)
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Several ways to prune one parameter, one after the other."""

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._pruning_methods = tuple(methods)
        self._tensor_name = methods[0]._tensor_name

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a way to prune."""
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __getitem__(self, i: int) -> BasePruningMethod:
        return self._pruning_methods[i]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """Return the mask so far, and what the last way takes of the part that it leaves."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype).clone()
        if method.PRUNING_TYPE == "unstructured":
            places: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            places = rest_of_channels(mask, getattr(method, "dim", 0), t)
        else:
            places = tuple(slice(None) for _ in range(t.dim()))
        mask[places] = method.compute_mask(t[places], default_mask=mask[places]).to(mask.dtype)
        return mask


def rest_of_channels(mask: Tensor, dim: int, t: Tensor) -> Any:
    """Return the index of the channels along a dimension that are not pruned wholly."""
    dim = dim % t.dim()
    others = [i for i in range(t.dim()) if i != dim]
    return tuple(slice(None) if i != dim else mask.sum(dim=others) != 0 for i in range(t.dim()))


def number_to_prune(amount: float, size: int) -> int:
    """Return how many of so many are pruned. TypeError, ValueError: the amount is no share and no such number."""
    refuse(not isinstance(amount, numbers.Real), f"Invalid type for amount: {amount}. Must be int or float.", TypeError)
    whole = isinstance(amount, numbers.Integral)
    refuse_any(
        {
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer": (
                amount < 0 if whole else not 0.0 <= float(amount) <= 1.0
            ),
            f"amount={amount} should be smaller than the number of parameters to prune={size}": whole and amount > size,
        },
        ValueError,
    )
    return int(amount) if whole else round(amount * size)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask so far."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements by chance."""

    def __init__(self, amount: float) -> None:
        number_to_prune(amount, int(amount) if isinstance(amount, int) else 1)
        self.amount = amount

    def scores(self, t: Tensor) -> Any:
        """Return what decides: the largest go."""
        return torch.rand_like(t)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """Return the mask without the elements of the largest scores."""
        mask, count = default_mask.clone(), number_to_prune(self.amount, t.nelement())
        if count:
            mask.view(-1)[torch.topk(self.scores(t).view(-1), k=count).indices] = 0
        return mask


class L1Unstructured(RandomUnstructured):
    """Prunes the elements of the smallest size."""

    def scores(self, t: Tensor) -> Any:
        """Return how small each element is."""
        return -torch.abs(t)


class RandomStructured(BasePruningMethod):
    """Prunes whole channels by chance."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        number_to_prune(amount, int(amount) if isinstance(amount, int) else 1)
        self.amount, self.dim = amount, dim

    def scores(self, t: Tensor) -> Any:
        """Return what decides of each channel."""
        return torch.rand(t.shape[self.dim])

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """Return the mask without the channels of the smallest scores."""
        refuse(
            t.dim() <= 1,
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims",
            ValueError,
        )
        refuse(self.dim >= t.dim(), f"Invalid index {self.dim} for tensor of size {t.shape}", IndexError)
        size = t.shape[self.dim]
        count = number_to_prune(self.amount, size)
        if count == 0:
            return default_mask
        kept = torch.topk(self.scores(t), k=size - count, largest=True).indices
        return default_mask * torch.zeros_like(default_mask).index_fill(self.dim, kept, 1)


class LnStructured(RandomStructured):
    """Prunes the channels of the smallest norm."""

    def __init__(self, amount: float, n: float, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: Tensor) -> Any:
        """Return the norm of each channel."""
        return torch.norm(t, p=self.n, dim=[i for i in range(t.dim()) if i != self.dim % t.dim()])


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """Return the mask so far times the one that is given."""
        refuse(
            default_mask.shape != self.mask.shape,
            f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}",
            AssertionError,
        )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def pruning(kind: type[BasePruningMethod], name: str) -> Any:
    """Return the function of that name, which prunes a parameter of a module in a way, and returns the module."""

    def prune(module: Module, name: str, *args: object, **options: Any) -> Module:
        """Prune a parameter of a module in the way that the function is named for; return the module."""
        kind.apply(module, name, *args, **options)
        return module

    prune.__name__ = prune.__qualname__ = name
    return prune


identity, random_unstructured, l1_unstructured, random_structured, ln_structured, custom_from_mask = (
    pruning(kind, name)
    for name, kind in {
        "identity": Identity,
        "random_unstructured": RandomUnstructured,
        "l1_unstructured": L1Unstructured,
        "random_structured": RandomStructured,
        "ln_structured": LnStructured,
        "custom_from_mask": CustomFromMask,
    }.items()
)


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[Any, Tensor] | None = None,
    **kwargs: object,
) -> None:
    """Prune several parameters as if they were one: the smallest elements of all go."""
    parameters, given = list(parameters), importance_scores or {}
    scores = torch.nn.utils.parameters_to_vector([given.get(one, getattr(*one)) for one in parameters])
    masks = [getattr(module, f"{name}_mask", torch.ones_like(getattr(module, name))) for module, name in parameters]
    container = PruningContainer(Identity())
    container.add_pruning_method(pruning_method(**kwargs))
    refuse(
        pruning_method.PRUNING_TYPE != "unstructured",
        f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
        f"{pruning_method.PRUNING_TYPE}",
        TypeError,
    )
    mask = container.compute_mask(scores, torch.nn.utils.parameters_to_vector(masks))
    for (module, name), old, part in zip(parameters, masks, mask.split([one.numel() for one in masks]), strict=True):
        CustomFromMask.apply(module, name, mask=part.view_as(old))


def remove(module: Module, name: str) -> Module:
    """Make the pruned tensor the parameter. ValueError: it is not pruned."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return whether a module, or one below it, has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod) for one in module.modules() for hook in one._forward_pre_hooks.values()
    )


for name in (one for one in __all__ if one[0].isupper()):  # the classes
    globals()[name].__module__ = "torch.nn.utils.prune"
__getattr__ = absent("torch.nn.utils.prune")
