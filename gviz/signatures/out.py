"""The argument ``out`` of a call: the result is written into a tensor that is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gviz.autograd.inplace import count_write, refuse_cast, refuse_overlap, refuse_write
from gviz.autograd.modes import mode
from gviz.autograd.tensor import Tensor
from gviz.autograd.words import RESIZED
from gviz.numbers.classes import type_text
from gviz.numbers.words import refuse, warn


def write_out(name: str, out: Any, operation: Callable[..., Any], args: Iterable[Any]) -> Any:
    """Write the result of an operation into the tensor, or the tensors, given as ``out``; nothing is recorded.

    Raises:
        RuntimeError: an argument requires a gradient, or the dtype of ``out`` cannot hold the result.
    """
    args, outs = list(args), list(out) if isinstance(out, list | tuple) else [out]
    if wrong := [value for value in outs if not isinstance(value, Tensor)]:
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_text(wrong[0])}")
    flat = [one for value in (*args, *outs) for one in (value if isinstance(value, list) else [value])]
    refuse(
        mode.recording
        and getattr(operation, "node", "") is not None
        and any(isinstance(value, Tensor) and value.requires_grad for value in flat),
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
        "requires grad.",
    )
    results = operation(*args)
    for target, result in zip(outs, [results] if isinstance(results, Tensor) else results, strict=True):
        refuse_write(target)
        refuse_dtype(operation, args, result, target)
        refuse_cast(result._array.dtype, target._array.dtype)
        if target._array.shape != result._array.shape:
            if target._array.size:
                warn(RESIZED.format(list(target._array.shape), list(result._array.shape)))
            target._array = np.empty(result._array.shape, target._array.dtype)
        refuse_overlap(
            target._array,
            result._array,
            [one._array for one in flat if isinstance(one, Tensor) and one.shape == target.shape],
        )
        target._array[...] = result._array
        count_write(target)
        if result.requires_grad:  # a new tensor, for which it was asked
            target.requires_grad = True
    return out


def refuse_dtype(operation: Any, args: list[Any], result: Tensor, out: Tensor) -> None:
    """Refuse ``out`` of another dtype where PyTorch's kernel does not cast: signs, the place of the largest."""
    have, want, parameters = result.dtype, out.dtype, getattr(operation, "parameters", None)
    if have is want or parameters is None or operation.promote:
        return
    refuse(
        operation.node is None and "keepdim" in parameters,
        f"Expected out tensor to have dtype {have.c_name}, but got {want.c_name} instead",
    )
    refuse(
        operation.node is not None and parameters == ("self",) and result.shape == args[0].shape,
        f"Found dtype {want.scalar_name} but expected {have.scalar_name}",
    )
