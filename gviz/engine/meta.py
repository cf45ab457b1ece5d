"""The device ``meta``: arrays that have sizes, an element type and a layout, and no numbers.

Such an array is numpy's, of a class of its own over memory that nobody writes and that takes no room; the rows of the
table compute with it as with any other. What numpy's functions give for it is an array of that class again. A function
whose result has lengths of its operands runs on a few zeros: a small number stands for each length, and the lengths of
the result are looked up. Others, such as what pads or joins, say what length comes out, or run on the zeros themselves.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from operator import getitem
from typing import Any

import numpy as np

from gviz.autograd.row import Row
from gviz.autograd.words import NO_DATA
from gviz.numbers.types import DType
from gviz.numbers.words import refuse
from gviz.ops.chance import over

SMALL = 1 << 16
"""Bytes below which memory is simply taken: there are not so many mappings to be had."""
NO_ITEM = "Tensor.item() cannot be called on meta tensors"
NO_PLACES = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct data-independent "
    "implementation does not exist. This implementation returns a fake value, assuming all elements of the tensor are "
    "non-zero. To enable this registration, please set 'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' "
    "to True."
)
NO_KERNEL = (
    "aten::{}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. "
    "You may have run into this message while using an operator with PT2 compilation APIs "
    "(torch.compile/torch.export); in order to use this operator with those APIs you'll need to add a fake impl. "
    "Please see the following for next steps:  https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)
BY_NUMBERS = {
    "np.argwhere": NO_PLACES,
    "np.nonzero": NO_PLACES,
    "np.array_equal": NO_KERNEL.format("equal"),
    "bincount": NO_KERNEL.format("bincount"),
    "distinct": NO_KERNEL.format("_unique2"),
    "masked_select": NO_KERNEL.format("masked_select"),
    "unique_dim": NO_KERNEL.format("unique_dim"),
    "unique2": NO_KERNEL.format("_unique2"),
}
"""Rows, and functions of numpy, whose result has a size, or is a truth, that depends on numbers -> what is said."""
BY_LENGTHS = frozenset({
    "argmax", "argmin", "argsort", "cholesky", "clip", "copy", "cumprod", "cumsum", "det", "dot", "eigh", "eigvalsh",
    "einsum", "empty_like", "full_like", "inv", "isclose", "nan_to_num", "ones_like", "outer", "round", "slogdet",
    "solve", "sort", "take_along_axis", "trace", "tril", "triu", "vdot", "where", "zeros_like",
})  # fmt: skip
"""Functions of numpy in whose results each length is one of an operand's, or 0 or 1."""
NEW_LENGTHS: dict[str, Callable[..., Sequence[int]]] = {
    "concatenate": lambda arrays, axis=0, **_: [
        sum(one.shape[axis] for one in arrays) if dim == axis % arrays[0].ndim else n
        for dim, n in enumerate(arrays[0].shape)
    ],
    "flatnonzero": lambda _: (0,),  # nothing is wrong, where a check looks for that
    "pad": lambda array, ends, **_: [n + sum(pair) for n, pair in zip(array.shape, ends, strict=True)],
}
"""Functions of numpy whose results have other lengths -> which."""


class Meta(np.ndarray):
    """An array without numbers."""

    device = "meta"  # type: ignore[assignment]

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, out: tuple[object, ...] = (), **options: object
    ) -> Any:
        """Return what a function gives; nothing is written."""
        result = None if method == "at" else by_lengths(getattr(ufunc, method), inputs, options)
        return out[0] if len(out) == 1 else out or result

    def __array_function__(  # type: ignore[override]
        self, function: Callable[..., Any], types: Iterable[Any], inputs: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        """Return what a function gives; nothing is written."""
        name = function.__name__
        refuse(f"np.{name}" in BY_NUMBERS, BY_NUMBERS.get(f"np.{name}", ""), NotImplementedError)
        if name == "zeros":  # as these arrays
            return blank(*inputs)
        if "shape" in options:  # of zeros_like and its kin
            return blank(options["shape"], np.dtype(options.get("dtype") or inputs[0].dtype))
        if name in NEW_LENGTHS:
            first = inputs[0] if isinstance(inputs[0], np.ndarray) else inputs[0][0]
            return blank(NEW_LENGTHS[name](*inputs, **options), first.dtype)
        if name not in BY_LENGTHS:
            return marked(super().__array_function__(function, types, inputs, options))
        if options.get("axis", 0) is None:
            inputs, options = (inputs[0].reshape(-1), *inputs[1:]), {**options, "axis": 0}
        return by_lengths(function, inputs, options)

    @staticmethod
    def forward(row: Row, forward: Callable[..., Any], _: object) -> Callable[..., Any]:
        """Return a function that computes a row without numbers; of random ones none are drawn."""
        refuse(row.key in BY_NUMBERS, BY_NUMBERS.get(row.key, ""), NotImplementedError)

        def compute(*arrays: object) -> Any:
            check_devices(row, arrays)
            if "generator" in row.parameters and row.node is not None:
                return marked(arrays[row.inputs[0]]).copy("K")
            return marked(forward(*(arrays if row.view else map(single, arrays))))  # who may read one number

        return compute

    def __getitem__(self, key: object) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        arrays = [one for one in parts if isinstance(one, np.ndarray)]
        others = [one for one in parts if not isinstance(one, np.ndarray)]
        if {one.dtype.kind for one in arrays} == {"i"} and all(
            isinstance(one, slice) and one == slice(None) for one in others
        ):
            return by_lengths(getitem, (self, key), {})
        return super().__getitem__(key)  # type: ignore[call-overload]

    def __setitem__(self, key: object, value: object) -> None:
        pass  # there is nothing that would change

    def __reduce__(self) -> Any:
        return blank, (self.shape, self.dtype)

    def astype(self, dtype: DType, *_: object, copy: bool = True, **__: object) -> Any:  # type: ignore[override]
        """Return an array of another type; itself if that is its type."""
        return self if not copy and self.dtype == dtype else over(self, lambda shape: blank(shape, np.dtype(dtype)))

    def copy(self, order: str = "C") -> Any:  # type: ignore[override]
        """Return another array, which lies likewise unless its order is to be that of the indices."""
        return over(self, lambda shape: blank(shape, self.dtype)) if order == "K" else blank(self.shape, self.dtype)

    def item(self, *_: object) -> Any:
        """Refuse: there is none."""
        raise RuntimeError(NO_ITEM)

    def tolist(self) -> Any:
        """Refuse: there are no numbers."""
        raise NotImplementedError(NO_DATA)


for method in ("argmax", "argmin", "argsort", "cumsum"):  # of which numpy does not tell a class
    setattr(Meta, method, getattr(np, method))


ANY_DEVICE = ("mm", "embedding", "index", "index_put", "copy_into", "pack_padded_sequence")
"""Rows that PyTorch computes for operands on several devices, if one is on ``meta``."""
BY_SECOND = ("addmm", "addmv", "baddbmm", "nll_loss")
"""Rows whose first operand is asked to be where the second one is."""


def check_devices(row: Row, arrays: Sequence[Any]) -> None:
    """Refuse operands of which only some are on the device meta; single numbers may be anywhere."""
    flat = [one for i in row.inputs for one in (arrays[i] if isinstance(arrays[i], list) else (arrays[i],))]
    places = [one.device for one in flat if isinstance(one, np.ndarray) and (one.ndim or isinstance(one, Meta))]
    first = places[min(row.key in BY_SECOND, len(places) - 1)]
    for other in {*places} - {first} if row.key not in ANY_DEVICE else ():
        raise RuntimeError(f"Tensor on device {other} is not on the expected device {first}!")


def blank(shape: Sequence[int], dtype: DType) -> Any:
    """Return an array of that shape and type."""
    size = max(prod(shape) * dtype.itemsize, 1)
    try:
        memory: Any = (
            np.zeros(size, np.uint8) if size < SMALL else mmap.mmap(-1, size, mmap.MAP_PRIVATE, mmap.PROT_READ)
        )
    except (AttributeError, OSError, OverflowError):  # Windows, or more than there are addresses: one element for all
        return np.broadcast_to(np.zeros((), dtype), shape).view(Meta)
    return np.ndarray.__new__(Meta, shape, dtype, memory)


def marked(result: object) -> Any:
    """Return what a function gave, with arrays that have no numbers in place of others."""
    if isinstance(result, tuple | list):
        parts = [marked(one) for one in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if callable(result):  # makes an array when that is asked for
        return lambda: marked(result())
    return np.asarray(result).view(Meta) if isinstance(result, np.ndarray | np.generic) else result


def single(operand: object) -> Any:
    """Return an operand; a 0 for a single number that is not known."""
    return np.zeros((), operand.dtype) if isinstance(operand, Meta) and not operand.ndim else operand


def by_lengths(function: Callable[..., Any], inputs: Sequence[object], options: Mapping[str, object]) -> Any:
    """Return what a function gives for arrays of these lengths.

    A small number stands for each length, and 0 and 1 for themselves. A single number is that of zeros, for those who
    check whether numbers are in a range.
    """
    lengths = [0, 1]

    def small(value: object) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(small, value))
        if not isinstance(value, np.ndarray):
            return value
        lengths.extend(n for n in value.shape if n not in lengths)
        array = over(value, lambda shape: np.zeros([lengths.index(n) for n in shape], value.dtype))
        if value.ndim > 1 and getattr(function, "__module__", "") == "numpy.linalg":  # not every matrix has an inverse
            array[...] = np.eye(*array.shape[-2:])
        return array

    def whole(result: object) -> Any:
        if isinstance(result, tuple):
            return tuple(map(whole, result))
        array = np.asarray(result)
        return (
            over(array, lambda shape: blank([lengths[n] for n in shape], array.dtype))
            if array.ndim
            else array.view(Meta)
        )

    with np.errstate(all="ignore"):
        return whole(function(*small(inputs), **{name: small(value) for name, value in options.items()}))
