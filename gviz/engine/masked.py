"""``torch.masked``: tensors with a mask, whose other elements count as if they were not there.

The array of such a tensor has its mask with it, so that gradients have theirs. As in PyTorch few operations know masks:
what moves elements moves the mask, too; what computes each element wants equal masks; reductions leave out what is
masked out. All others refuse.

Source: https://docs.pytorch.org/docs/2.13/masked.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from textwrap import indent
from typing import Any, TypeAlias

import numpy as np

from gviz import engine
from gviz.autograd.row import Row
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.autograd.function import Function
from gviz.numbers.types import Array
from gviz.numbers.words import absent, refuse, refuse_any, warn

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]
torch: Any = engine
MaybeMasked: TypeAlias = Any
"""A tensor of this file, or a plain one; what autograd hands on is not known to be one or the other."""
Context: TypeAlias = Any
"""What a Function may keep things on."""
MOVING = frozenset({
    "cat", "expand", "index", "reshape_alias", "select", "select_backward", "slice_backward", "slice_row", "split_size",
    "split_with_sizes", "stack", "t", "transpose", "unfold", "unfold_backward", "unsafe_view", "unsqueeze", "view",
})  # fmt: skip
"""Rows that do to the mask what they do to the elements."""
EACH = frozenset({
    "absolute", "acos", "acosh", "add", "add_scalar", "angle", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clamp_max", "clamp_min", "clamp_scalar",
    "clone", "clone_contiguous", "copy_into", "cos", "cosh", "deg2rad", "digamma", "div", "div_mode", "div_scalar",
    "equal", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "floor_divide", "fmax", "fmin", "fmod",
    "fmod_scalar", "frac", "greater", "greater_equal", "isnan", "less", "less_equal", "lgamma", "log", "log10",
    "log1p", "log2", "logaddexp", "logaddexp2", "logit", "lshift", "maximum", "minimum", "mul", "mul_scalar",
    "nan_to_num", "neg", "not_equal", "pow_tensor", "power", "rad2deg", "reciprocal", "remainder",
    "remainder_scalar", "round_decimals", "round_even", "rshift", "rsqrt", "sgn", "sigmoid", "sign", "signbit",
    "sin", "sinc", "sinh", "softmax_backward_data", "softmax_row", "sqrt", "sub", "sub_scalar", "tan", "tanh",
    "to_dtype", "trunc",
})  # fmt: skip
"""Rows that compute each element by itself, or leave out what is masked out; operands are masked alike."""
NO_ROW = (
    "Multiple dispatch failed for 'torch._ops.aten.{}.default'; all __torch_dispatch__ handlers returned "
    "NotImplemented:\n\n  - tensor subclass <class 'torch.masked.maskedtensor.core.MaskedTensor'>\n\nFor more "
    "information, try re-running with TORCH_LOGS=not_implemented"
)
LACKING = "of a masked tensor is not in gviz's engine; run with --engine torch"
SPARSE = "sparse masked tensors are not in gviz's engine; run with --engine torch"


class Masked(np.ndarray):
    """An array, and which of its elements are there."""

    mask: MaybeMasked = None

    def __array_finalize__(self, other: object) -> None:
        self.mask = getattr(other, "mask", None)

    def item(self, *_: object) -> Any:
        """Return the only element. ValueError: it is masked out."""
        refuse(not self.mask, "__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor", ValueError)
        return super().item()

    @staticmethod
    def forward(row: Row, forward: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
        """Return a function that computes a row, and its mask."""
        name = row.key.partition("_")[0]
        if name in REDUCTIONS:
            return lambda *_: reduced(name, args[0], **dict(zip(row.parameters[1:], args[1:], strict=True)))
        if name == "where":
            return lambda *_: MaskedWhere.apply(*args)
        refuse(name in ("all", "var", "std"), f"{name} {LACKING}", NotImplementedError)
        refuse(row.key not in MOVING | EACH, NO_ROW.format(row.key.removesuffix("_of").removesuffix("_all")), TypeError)
        flat = [one for value in args for one in (value if isinstance(value, list) else [value])]
        first, *others = (one._array.mask for one in flat if is_masked_tensor(one))
        refuse(
            row.key in EACH and any(one.ndim != first.ndim or (one != first).any() for one in others),
            "Input masks must match. If you need support for this, please open an issue on Github.",
            ValueError,
        )

        def compute(*operands: object) -> Any:
            data = forward(*parts(operands, np.asarray))
            moved = forward(*parts(operands, lambda one: one.mask)) if row.key in MOVING else None
            return joined(data, np.broadcast_to(first, np.shape(data)) if moved is None else moved)

        return (lambda *operands: compute(*parts(operands, unseen))) if row.key == "softmax_row" else compute


def parts(operands: Iterable[Any], part: Callable[[Any], Any]) -> list[Any]:
    """Return operands, lists of them, too, with a part of each masked array in its place."""
    return [
        parts(one, part) if isinstance(one, list) else part(one) if isinstance(one, Masked) else one for one in operands
    ]


def unseen(array: Masked) -> Any:
    """Return an array with -inf, which is nothing to a softmax, where it is masked out."""
    return joined(np.where(array.mask, array, -np.inf).astype(array.dtype), array.mask)


def joined(data: Array | Sequence[Array], mask: Array | Sequence[Array]) -> Any:
    """Return an array, or each of several, with its mask."""
    if isinstance(data, list | tuple):
        return [joined(*pair) for pair in zip(data, mask, strict=True)]
    array: Any = np.ndarray.__new__(Masked, data.shape, data.dtype)
    array[...], array.mask = data, np.array(mask)
    return array


def text_of(data: Array, mask: Array) -> str:
    """Return the rows of numbers as they are printed."""
    if data.ndim == 1:
        texts = [f"{one:8.4f}" if isinstance(one, float) else str(one) for one in data.tolist()]
        width = max(len(text) if there else 8 for text, there in zip(texts, mask, strict=True))
        return f"[{', '.join(t if there else '--'.rjust(width) for t, there in zip(texts, mask, strict=True))}]"
    return "[\n" + ",\n".join(indent(text_of(*pair), "  ") for pair in zip(data, mask, strict=True)) + "\n]"


def refusal(message: str, error: type[Exception] = RuntimeError) -> Any:
    """Return a method that refuses."""
    return lambda *_, **__: refuse(True, message, error)


class MaskedTensor(Tensor):
    """A tensor of whose elements only those count whose mask is True."""

    __module__ = "torch.masked.maskedtensor.core"

    def __new__(cls, data: MaybeMasked, mask: MaybeMasked, requires_grad: bool = False) -> Any:
        """Return one of a copy of the elements. TypeError, ValueError: they and the mask do not belong together."""
        for what, one in {"data": data, "mask": mask}.items():
            refuse(is_masked_tensor(one) or not isinstance(one, Tensor), f"{what} must be a Tensor", TypeError)
        warn(
            "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a "
            "Github issue for features requests and see our documentation on the torch.masked module for further "
            "information about the project."
        )
        if data.requires_grad:
            warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you "
                "can use data.detach().clone()"
            )
        refuse(data.is_sparse or mask.is_sparse, SPARSE, NotImplementedError)
        refuse(mask.dtype != torch.bool, "mask must have dtype bool.", TypeError)
        refuse(data._array.dtype.kind not in "fib", f"{data.dtype} is not supported in MaskedTensor.", TypeError)
        refuse_any(
            {
                "data.dim() must equal mask.dim()": data.ndim != mask.ndim,
                "data.size() must equal mask.size()": data.shape != mask.shape,
            },
            ValueError,
        )
        return from_array(joined(data._array, mask._array), None).requires_grad_(requires_grad)

    def __repr__(self) -> str:
        data, mask = self._array.view(np.ndarray), self._array.mask
        if data.ndim:
            return f"MaskedTensor(\n{indent(text_of(data, mask), '  ')}\n)"
        return f"MaskedTensor({text_of(data[None], mask[None])[1:-1] if mask else '--'}, {mask.item()})"

    def get_mask(self) -> Any:
        """Return the mask."""
        return from_array(self._array.mask, None)

    def get_data(self) -> Any:
        """Return all elements as a plain tensor; its gradient is masked."""
        return GetData.apply(self)

    def to_tensor(self, value: float) -> Any:
        """Return a plain tensor that has a value where elements are masked out."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def detach(self) -> Any:
        """Return a copy, out of the graph."""
        return from_array(self._array.copy(), None)

    contiguous = to_dense = lambda self: self
    is_sparse_coo = is_sparse_csr = lambda _: False
    to_sparse = to_sparse_coo = to_sparse_csr = refusal(SPARSE, NotImplementedError)
    numpy = refusal(".numpy() is not supported for tensor subclasses.")
    tolist = refusal(".tolist() is not supported for tensor subclasses, got MaskedTensor")


masked_tensor = Masked.tensor_class = MaskedTensor  # type: ignore[attr-defined]


def is_masked_tensor(obj: object) -> bool:
    """Return whether it is one."""
    return isinstance(obj, MaskedTensor)


def as_masked_tensor(data: MaybeMasked, mask: MaybeMasked) -> Any:
    """Return the masked tensor of these elements, whose gradient goes on to theirs."""
    return Constructor.apply(data, mask, False)


def plain(tensor: MaybeMasked) -> Any:
    """Return a tensor's elements, without a mask."""
    return tensor.get_data() if is_masked_tensor(tensor) else tensor


class Constructor(Function):
    """Elements and mask to a masked tensor."""

    @staticmethod
    def forward(ctx: Context, data: MaybeMasked, mask: MaybeMasked, is_reduced: bool) -> Any:
        """Return it."""
        ctx.is_reduced = is_reduced
        return from_array(joined(data._array, mask._array), None)

    @staticmethod
    def backward(ctx: Context, grad_output: MaybeMasked) -> Any:
        """Return the gradient; without its mask to what was computed with plain tensors."""
        return plain(grad_output) if ctx.is_reduced else grad_output, None, None


class GetData(Function):
    """A masked tensor to its elements."""

    @staticmethod
    def forward(ctx: Context, masked: MaybeMasked) -> Any:
        """Return them."""
        ctx.mask = masked.get_mask()
        return from_array(masked._array.view(np.ndarray), None)

    @staticmethod
    def backward(ctx: Context, grad_output: MaybeMasked) -> Any:
        """Return the gradient with a mask."""
        return grad_output if is_masked_tensor(grad_output) else as_masked_tensor(grad_output, ctx.mask)


class Combine(Function):
    """Elements to those that count, with a number in place of the others that changes nothing."""

    @staticmethod
    def forward(ctx: Context, data: MaybeMasked, mask: MaybeMasked, filling: float) -> Any:
        """Return them."""
        ctx.mask = mask
        return data.masked_fill(~mask, filling)

    @staticmethod
    def backward(ctx: Context, grad_output: MaybeMasked) -> Any:
        """Return the gradient with the mask."""
        return as_masked_tensor(plain(grad_output), ctx.mask), None, None


class MaskedWhere(Function):
    """Elements of one or the other tensor, each with its mask."""

    @staticmethod
    def forward(ctx: Context, condition: Tensor, *tensors: MaybeMasked) -> Any:
        """Return them."""
        ctx.condition = condition
        pairs = [
            (one.get_data(), one.get_mask()) if is_masked_tensor(one) else (one, torch.ones_like(one, dtype=torch.bool))
            for one in tensors
        ]
        return as_masked_tensor(*(torch.where(condition, *both) for both in zip(*pairs, strict=True)))

    @staticmethod
    def backward(ctx: Context, grad_output: MaybeMasked) -> Any:
        """Return the gradient to each where its element was taken, masked out elsewhere."""
        nothing = as_masked_tensor(grad_output.get_data(), torch.zeros_like(grad_output.get_mask()))
        return None, *(MaskedWhere.apply(one, grad_output, nothing) for one in (ctx.condition, ~ctx.condition))


MaskedWhere._backward_cls.__name__ = "_MaskedWhereBackward"


def combined(masked: MaybeMasked, name: str) -> Any:
    """Return the elements, with the number that a reduction does not see in place of those masked out."""
    limits = None if masked.is_floating_point() else torch.iinfo(masked.dtype)
    least, most = (-np.inf, np.inf) if limits is None else (limits.min, limits.max)
    fillings = {"sum": 0, "mean": 0, "prod": 1, "amin": most, "argmin": most}
    return Combine.apply(masked.get_data(), masked.get_mask(), fillings.get(name, least))


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda data, dims, keep, dtype=None, **_: torch.sum(data, dims, keep, dtype=dtype),
    "mean": lambda data, dims, keep, masked, **_: torch.sum(data, dims, keep) / masked.get_mask().sum(dims, keep),
    "prod": lambda data, dims, keep, **_: reduce(lambda result, dim: result.prod(dim, keep), reversed(dims), data),
    "amin": lambda data, dims, keep, **_: torch.amin(data, dims, keep),
    "amax": lambda data, dims, keep, **_: torch.amax(data, dims, keep),
    "argmin": lambda data, _, keep, dim, **__: torch.argmin(data, dim, keep).to(data.dtype),  # as PyTorch does
    "argmax": lambda data, _, keep, dim, **__: torch.argmax(data, dim, keep).to(data.dtype),
}
"""By the names of rows: what is made of the elements that count."""


def reduced(
    name: str, masked: MaybeMasked, dim: int | Sequence[int] | None = None, keepdim: bool = False, **options: object
) -> Any:
    """Return what a reduction gives, masked out where no element counts."""
    dims = tuple(range(masked.ndim)) if dim in (None, ()) else (dim,) if isinstance(dim, int) else dim
    data = REDUCTIONS[name](combined(masked, name), dims, keepdim, masked=masked, dim=dim, **options)
    return Constructor.apply(data, from_array(np.any(masked._array.mask, dims, keepdims=keepdim), None), True)


__getattr__ = absent("torch.masked")
