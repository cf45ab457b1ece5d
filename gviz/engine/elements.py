"""What a tensor is apart from its place in a graph.

Sizes, element type, and what Python's and numpy's functions make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gviz.autograd.modes import mode
from gviz.autograd.row import TENSORS, public_names
from gviz.autograd.tensor import Tensor, from_array
from gviz.autograd.views import offset
from gviz.autograd.words import NO_DATA
from gviz.engine.copying import deep, pickled, shallow
from gviz.engine.creation import LegacyType
from gviz.engine.device import CPU, META, STRIDED, check_device
from gviz.engine.indexing import get_item, set_item
from gviz.engine.meta import marked
from gviz.numbers import dtypes, printing, shapes
from gviz.numbers.types import Array
from gviz.numbers.words import refuse, type_name, warn_once
from gviz.ops.shape import as_strided, permute, transpose
from gviz.signatures.pytorch import dir_names


def array_method(doc: str, answer: Callable[[Any], Any]) -> Any:
    """Return a method that says something of the array."""

    def method(self: Tensor) -> Any:
        return answer(self._array)

    method.__doc__ = doc
    return method


class Elements(Tensor):
    """The methods of tensors that are about the array. They are given to Tensor itself."""

    # ---------------------------------------------------------------- sizes
    def size(self, dim: int | None = None) -> Any:
        """Return all sizes, or that of one dim."""
        return self.shape if dim is None else self._array.shape[dim_of(self, dim)]

    def stride(self, dim: int | None = None) -> Any:
        """Return the steps between elements along each dim, or along one."""
        steps = shapes.element_strides(self._array)
        return steps if dim is None else steps[dim_of(self, dim)]

    dim = ndimension = array_method("Return the number of dims.", lambda array: array.ndim)
    numel = nelement = array_method("Return the number of elements.", lambda array: array.size)

    def __len__(self) -> int:
        refuse(not self._array.ndim, "len() of a 0-d tensor", TypeError)
        return len(self._array)

    # ---------------------------------------------------------------- elements in memory
    device = property(lambda self: META if self.is_meta else CPU)
    layout, is_cpu = property(lambda _: STRIDED), property(lambda self: not self.is_meta)
    is_meta = property(lambda self: dtypes.is_meta(self._array))
    is_cuda = is_mps = is_nested = is_quantized = is_sparse = is_xpu = property(lambda _: False)
    itemsize, nbytes = property(lambda self: self._array.itemsize), property(lambda self: self._array.nbytes)

    get_device = array_method("Return -1: it is not on a GPU.", lambda _: -1)
    is_floating_point = array_method(
        "Return whether the elements are floating point numbers.", lambda array: array.dtype.kind in dtypes.FLOATS
    )
    is_complex = array_method("Return whether the elements are complex numbers.", lambda array: array.dtype.kind == "c")
    is_signed = array_method(
        "Return whether the dtype has negative numbers.", lambda array: array.dtype.kind not in "ub"
    )
    is_conj = array_method("Return False: conjugates are computed at once here.", lambda _: False)
    element_size = array_method("Return the bytes of one element.", lambda array: array.itemsize)
    data_ptr = array_method(
        "Return the address of the first element.",
        lambda array: 0 if dtypes.is_meta(array) else array.__array_interface__["data"][0],
    )

    def new(self, *data: object, **words: object) -> Tensor:
        """Return a tensor of the same dtype, by shape or by values."""
        return LegacyType(self.dtype)(*data, **words)

    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Put what a function gives for each element in its place."""
        refuse(
            self.requires_grad,
            "Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.",
        )
        self._array.flat[...] = [callable(element) for element in self._array.reshape(-1).tolist()]
        self._version_counter().count += 1
        return self

    def to_dense(self) -> Tensor:
        """Return the tensor, whose elements are all there."""
        return self

    def share_memory_(self) -> Tensor:
        """Return the tensor, which other processes see once it is handed to them."""
        return self

    def is_contiguous(self, *, memory_format: Format = None) -> bool:
        """Return whether the elements lie in memory in the order of the indices."""
        return bool(self._array.flags.c_contiguous)

    def storage_offset(self: Tensor) -> int:
        """Return how many elements of its base's memory lie before a view's first element."""
        return 0 if self._base is None else offset(self._array, self._base._array)

    # ---------------------------------------------------------------- Python's numbers
    tolist = array_method("Return a number, or nested lists of numbers.", lambda array: array.tolist())

    def __bool__(self) -> bool:
        if self._array.size == 1:
            return bool(self._array.item())
        count = "more than one value" if self._array.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")

    is_nonzero = __bool__
    real, imag = property(TENSORS["real"]), property(TENSORS["imag"])

    def __float__(self) -> float:
        return float(number_of(self, "double"))

    def __complex__(self) -> complex:
        return complex(number_of(self))

    def __int__(self) -> int:
        return int(number_of(self, "int64_t", warned=False))

    def __index__(self) -> int:
        refuse(
            self._array.size != 1 or self._array.dtype.kind not in "iub",
            "only integer tensors of a single element can be converted to an index",
            TypeError,
        )
        return int(self._array.item())

    def __contains__(self, element: object) -> bool:
        refuse(
            not isinstance(element, Tensor | bool | int | float | complex),
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.",
        )
        return bool((self._array == getattr(element, "_array", element)).any().item())

    def __repr__(self) -> str:
        try:
            name = None if self.grad_fn is None else type(self.grad_fn).__name__
        except RuntimeError:  # a view whose base was written, which it forbids
            name = "Invalid"
        kind = type(self)
        begin = "tensor(" if kind.__module__.startswith("torch") else f"{kind.__name__}("
        return printing.format_tensor(self._array, requires_grad=self.requires_grad, grad_fn_name=name, begin=begin)

    def __format__(self, format_spec: str) -> str:
        """Return a 0-d tensor formatted as its number, other tensors as their text."""
        number = self._array.ndim == 0 and type(self) is Tensor and not self.is_meta
        return format(self.item(), format_spec) if number else object.__format__(self, format_spec)

    def __iter__(self) -> Iterator[Any]:
        """Return the slices along the first dim, as ``unbind`` gives them."""
        refuse(not self._array.ndim, "iteration over a 0-d tensor", TypeError)
        return iter(self.unbind(0))

    def __reversed__(self) -> Any:
        """Return the slices from the last to the first, as a tensor."""
        return self.flip(0) if self._array.ndim else self

    def __dir__(self) -> list[str]:
        """List what PyTorch's tensors have, also what the engine lacks, and what the program gave this one."""
        # PyTorch hides volatile, too
        return [*({*dir_names("torch.Tensor")} - {"volatile"}).union({*object.__dir__(self)} - {*dir(Tensor)})]

    # ---------------------------------------------------------------- numpy
    def numpy(self, *, force: bool = False) -> Any:
        """Return an array on the same memory; refused if the tensor requires a gradient, unless by ``force``."""
        refuse(
            not force and mode.recording and self.requires_grad,
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
        )
        refuse(force and self.is_meta, NO_DATA, NotImplementedError)
        refuse(
            self.is_meta,
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
            TypeError,
        )
        refuse(self._array.dtype.kind == "V", "Got unsupported ScalarType BFloat16", TypeError)
        self._version_counter()
        return self._array.view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        return np.array(array, dtype=dtype, copy=copy) if dtype is not None or copy else array

    def __array_wrap__(self, array: Array, context: object = None, return_scalar: bool = False) -> Any:
        """Return a tensor of what numpy made of this one and an array."""
        return from_array(array.astype(np.uint8) if array.dtype.kind == "b" else array, None)

    # ---------------------------------------------------------------- transposed, copied, written
    @property
    def T(self) -> Tensor:
        """The dims in reverse."""
        if self._array.ndim not in (0, 2):
            warn_once(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
                "will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
            )
        return permute(self, tuple(reversed(range(self._array.ndim))))

    @property
    def mT(self) -> Tensor:
        """The last two dims exchanged."""
        refuse(
            self._array.ndim == 1,
            "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.",
        )
        if self._array.ndim:
            return transpose(self, -2, -1)
        warn_once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return self

    mH = property(lambda self: self.mT.conj())

    @property
    def H(self) -> Tensor:
        """The conjugate of the transposed matrix."""
        rank, batches = self.dim(), " For batches of matrices, consider using tensor.mH"
        text = (
            f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor.{batches if rank > 2 else ''}"
        )
        refuse(rank not in (0, 2), text)
        return self.mT.conj() if rank else self.conj()

    def fill_diagonal_(self, fill_value: float, wrap: bool = False) -> Tensor:
        """Write a number to the diagonal."""
        as_strided(self, (min(self._array.shape),), (sum(self.stride()),), 0).fill_(fill_value)
        return self

    __getitem__, __setitem__ = get_item, set_item
    __copy__, __deepcopy__, __reduce__ = shallow, deep, pickled


def dim_of(tensor: Tensor, dim: int) -> int:
    """Return a dim counted from the first; refuse one of a tensor without dims."""
    refuse(not tensor._array.ndim, f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    return shapes.wrap_dim(dim, tensor._array.ndim)


def number_of(tensor: Tensor, real: str = "", *, warned: bool = True) -> Any:
    """Return the only element, for Python's own number types; warn, once, of one that has left its graph.

    ``real`` is C++'s name of the type, if it has no imaginary part.
    """
    if warned and tensor._edge is not None:
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
            "tensor.detach() first."
        )
    refuse(tensor._array.size != 1, "only one element tensors can be converted to Python scalars", ValueError)
    value = tensor._array.item()
    return dtypes.number(value, np.dtype(np.float64), real) if real and isinstance(value, complex) else value


for name, method in list(vars(Elements).items()):
    if name not in {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slotnames__"}:
        setattr(Tensor, name, method)
        if getattr(method, "__name__", "") == "method":
            method.__name__, method.__qualname__ = name, f"TensorBase.{name}"


# ------------------------------------------------------------------ functions
for name in (
    "numel", "is_floating_point", "is_complex", "is_inference", "is_signed", "is_conj", "is_nonzero", "detach",
):  # fmt: skip
    public_names(f"torch.{name}")(getattr(Tensor, name))


@public_names("torch.is_tensor")
def is_tensor(obj: object) -> bool:
    """Return whether it is a tensor."""
    return isinstance(obj, Tensor)


# ------------------------------------------------------------------ another dtype, device or class
@public_names(".to")
def to(
    self: Tensor, *args: object, dtype: object = None, device: object = None, copy: bool = False, **_: object
) -> Tensor:
    """Return the tensor in another dtype; itself if nothing changes."""
    flags = [arg for arg in args if isinstance(arg, bool)]
    copy = flags[1] if len(flags) > 1 else copy  # the first is non_blocking
    for arg in args:
        if isinstance(arg, dtypes.dtype | type | Tensor):
            dtype = arg.dtype if isinstance(arg, Tensor) else arg
            device = arg.device if isinstance(arg, Tensor) else device
        elif not isinstance(arg, bool):
            device = arg
    device = self.device if device is None else device
    kind, moves = (
        self._array.dtype if dtype is None else dtypes.as_dtype(dtype).np,
        check_device(device) != self.is_meta,
    )
    refuse(moves and self.is_meta, NO_DATA, NotImplementedError)
    result = TENSORS["to_dtype"](self, kind) if copy or moves or kind != self._array.dtype else self
    result._array = marked(result._array).copy("K") if moves else result._array
    return result


def caster(dtype: object) -> Any:
    """Return ``x.double()`` and its kin; of no dtype ``x.cpu()``, where everything is."""

    def cast(self: Tensor, *, memory_format: Format = None) -> Tensor:
        return to(self, dtype=dtype, device="cpu" if dtype is None else None)

    return cast


for word, kind in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64, "int": dtypes.int32, "short": dtypes.int16, "byte": dtypes.uint8, "char": dtypes.int8,
    "bool": dtypes.bool_, "cpu": None,
}.items():  # fmt: skip
    public_names(f".{word}")(caster(kind))


@public_names(".type")
def in_type(self: Tensor, dtype: object = None, non_blocking: bool = False) -> Any:
    """Return the old name of the tensor's type, or the tensor in another dtype."""
    if dtype is None:
        return type_name(self._array.dtype).replace("torch", "torch.meta" if self.is_meta else "torch")
    target = (
        {f"torch.{each.scalar_name}Tensor": each for each in dtypes.EVERY}.get(dtype)
        if isinstance(dtype, str)
        else dtype
    )
    target = getattr(target, "legacy_dtype", target)
    refuse(not isinstance(target, dtypes.dtype), f"invalid type: '{dtype}'", ValueError)
    return to(self, target)


public_names(".type_as")(lambda self, other: to(self, other))  # noqa: PLW0108 - by these names
public_names(".cuda")(lambda self, *_, **__: to(self, "cuda"))


def make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
    """Return a leaf of another class on the same memory."""
    tensor = data.detach().requires_grad_(require_grad)
    tensor.__class__ = cls
    return tensor


Tensor._make_subclass = staticmethod(make_subclass)  # type: ignore[attr-defined]
