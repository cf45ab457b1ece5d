"""Copies of tensors, shallow, deep and through a pickle (with layers and optimizers).

Deep ones share memory as tensors did.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, SupportsIndex

from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.types import Array
from gviz.numbers.words import refuse, warn
from gviz.ops.shape import flat_memory, strided


def parts(tensor: Tensor) -> tuple[Any, ...]:
    """Return what a copy is made of.

    The memory that the tensor is part of, where in it and how it lies, its class and flag.
    """
    flat = flat_memory((tensor if tensor._base is None else tensor._base)._array)
    kind = None if type(tensor) is Tensor else type(tensor)
    return flat, tensor.storage_offset(), tensor._array.shape, tensor._array.strides, kind, tensor.requires_grad


def from_parts(
    notes: dict[str, Any],
    flat: Array,
    offset: int,
    shape: Sequence[int],
    strides: Sequence[int],
    kind: type[Tensor] | None,
    requires_grad: bool,
) -> Any:
    """Return a leaf of those parts, with the attributes of the user's."""
    twin = from_array(strided(flat[offset:], shape, strides), None)
    twin.__class__ = kind or Tensor
    if requires_grad:  # and nothing is told to a trace that none was there to lose
        twin.requires_grad = True
    twin.__dict__.update(notes)
    twin._version_counter().count = int(
        kind is None
    )  # whose memory PyTorch sets when it is there; a parameter is made on it
    return twin


def shallow(tensor: Tensor) -> Any:
    """Return a leaf on the same memory, with the same attributes of the user's."""
    return from_parts(tensor.__dict__, *parts(tensor))


def deep(tensor: Tensor, memo: dict[Any, Any]) -> Any:
    """Return a leaf with its own memory, shared with the copies of those that share it now.

    RuntimeError: it is not a leaf.
    """
    refuse(
        not tensor.is_leaf,
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
        "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
        "https://github.com/pytorch/pytorch/pull/103001",
    )
    flat, *rest = parts(tensor)
    place = "memory", flat.__array_interface__["data"][0]
    if place not in memo:
        memo[place] = flat.copy()
    twin = memo[id(tensor)] = from_parts({}, memo[place], *rest)
    if tensor._meta is not None and tensor._meta.grad is not None:
        twin._autograd_meta().grad = copy.deepcopy(tensor._meta.grad, memo)
    twin.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return twin


def pickled(tensor: Tensor) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return what a pickle keeps: memory and shape, the flag and the attributes of the user's.

    Not hooks, of which it warns.
    """
    for hook in (tensor._meta.hooks if tensor._meta is not None else None) or ():
        warn(
            f"backward hook {hook.hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
            "function with @torch.utils.hooks.unserializable_hook to suppress this warning"
        )
    flat, *rest = parts(tensor)
    return from_parts, (tensor.__dict__, flat.copy(), *rest)


class Portable:
    """A class that has a name of PyTorch's, and is found by a pickle under gviz's own name: a layer, an optimizer."""

    __slots__ = ()
    _importable = ""
    """The module that it can be imported from."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Reduce it as Python does, but for the name."""
        reduced: Any = super().__reduce_ex__(protocol)
        function, args, *state = reduced
        if type(self).__module__.startswith("torch.") and args[0] is type(self):
            return renewed, (self._importable, type(self).__name__, *args[1:]), *state
        return function, args, *state


def renewed(home: str, name: str, *args: object) -> Any:
    """Return a new object of the class of that name, as a pickle begins with it."""
    kind = getattr(import_module(home), name)
    return kind.__new__(kind, *args)
