"""What a tensor is apart from its place in a graph: sizes, element type, and what Python's and numpy's functions make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.device import CPU, Device
from gviz.numbers import dtypes, printing
from gviz.numbers.printing import tensor_text
from gviz.numbers.shapes import steps_of, wrap_dim
from gviz.numbers.words import warn_once
from gviz.autograd.modes import mode
from gviz.autograd.tensor import Tensor, from_array

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Elements"]


OWN = frozenset({
    "_array", "_edge", "_rare", "accumulate", "copied", "dim_of", "from_engine", "leaf_hooks", "only", "rare", "refresh",
    "version_cell", "warn_of_scalar",
})  # fmt: skip
"""What tensors have here and not in PyTorch."""


class Elements(Tensor):
    """The methods of tensors that are about the array: sizes, element type, numbers, copies. They are given to Tensor itself."""

    @property
    def shape(self) -> printing.Size:
        """Sizes of the dimensions."""
        return printing.size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or that of one dimension."""
        return self.shape if dim is None else self._array.shape[self.dim_of(dim)]

    def dim_of(self, dim: int) -> int:
        """A dimension counted from the first; refused where there is none."""
        if not self._array.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return wrap_dim(dim, self._array.ndim)

    @property
    def dtype(self) -> dtypes.dtype:
        """Element type."""
        return dtypes.of(self._array.dtype)

    def dim(self) -> int:
        """Number of dimensions."""
        return int(self._array.ndim)

    ndim = property(dim)

    def numel(self) -> int:
        """Number of elements."""
        return int(self._array.size)

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Steps between elements along each dimension, or along one."""
        steps = steps_of(self._array)
        return steps if dim is None else steps[self.dim_of(dim)]

    def is_contiguous(self, *, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in the order of the indices, or in that of a format."""
        return bool(self._array.flags.c_contiguous if memory_format is None else memory_format.holds(self._array))

    def __dir__(self) -> list[str]:
        """What PyTorch's tensors have, without the engine's own names."""
        return [name for name in object.__dir__(self) if name not in OWN]

    def get_device(self) -> int:
        """-1: no GPU."""
        return -1

    def element_size(self) -> int:
        """Bytes of one element."""
        return int(self._array.itemsize)

    @property
    def device(self) -> Device:
        """Always the CPU."""
        return CPU


    def is_floating_point(self) -> bool:
        """Whether the elements are floating point numbers."""
        return bool(self._array.dtype.kind == "f")

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return bool(self._array.dtype.kind == "c")

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        return self._array.item()

    def tolist(self) -> Any:
        """A number, or nested lists of numbers."""
        return self._array.tolist()

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __bool__(self) -> bool:
        if self._array.size == 1:
            return bool(self._array.item())
        count = "no values" if self._array.size == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")

    def only(self) -> Any:
        """The only element, for Python's own number types: where there is none :meth:`item` has another text."""
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._array.item()

    def warn_of_scalar(self) -> None:
        """PyTorch's warning, once per process, that a number is out of the graph."""
        if self._edge is not None:
            warn_once(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first."
            )

    def __float__(self) -> float:
        self.warn_of_scalar()
        return float(self.only())

    def __int__(self) -> int:
        return int(self.only())

    def __complex__(self) -> complex:
        self.warn_of_scalar()
        return complex(self.only())

    def __index__(self) -> int:
        if self._array.size != 1 or self._array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __contains__(self, element: Any) -> bool:
        value = getattr(element, "_array", element)
        if not isinstance(value, np.ndarray | np.generic | int | float | complex):
            raise RuntimeError(  # noqa: TRY004 - as PyTorch does
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            )
        return bool((self._array == value).any())

    def __format__(self, format_spec: str) -> str:
        """A one-element tensor formats as its number, others as their text."""
        return printing.format_with(self._array, format_spec, lambda: repr(self), type(self).__name__)

    def data_ptr(self) -> int:
        """Address of the first element."""
        return int(self._array.__array_interface__["data"][0])

    def storage_offset(self: Any) -> int:
        """How many elements of its base's memory lie before a view's first element."""
        return 0 if self._base is None else (self.data_ptr() - self._base.data_ptr()) // self.element_size()

    def numpy(self, *, force: bool = False) -> Any:
        """An array on the same memory; refused where the tensor requires a gradient, unless by ``force``."""
        if not force and mode.on and self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        self.version_cell()
        return self._array.view()



    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """For numpy: as :meth:`numpy`."""
        array = self.numpy()
        return np.array(array, dtype=dtype, copy=copy) if dtype is not None or copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """A tensor of what numpy made of this one and an array."""
        return from_array(array.astype(np.uint8) if array.dtype.kind == "b" else array, None)

    def __reversed__(self) -> Any:
        """From the last slice to the first."""
        return self.flip(0) if self._array.ndim else self  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[Any]:
        """The slices along the first dimension, as ``unbind`` gives them."""
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __repr__(self) -> str:
        tensor: Any = self
        return tensor_text(tensor)

    def __copy__(self) -> Any:
        from gviz.engine.copying import shallow

        return shallow(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A leaf with its own memory, of a leaf."""
        from gviz.engine.copying import deep

        return deep(self, memo)

    def __reduce__(self) -> Any:
        from gviz.engine.copying import pickled

        return pickled(self)


for name, method in list(vars(Elements).items()):
    if name not in {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slotnames__"}:
        setattr(Tensor, name, method)
