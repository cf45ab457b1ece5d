"""Elements in another place, joined, or picked by index: which row each call form means."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.numbers import dtypes
from gviz.numbers.shapes import broadcast_shape, wrap_dim, wrap_dims
from gviz.numbers.words import type_name, warn
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.shape import cat, contiguous, flat_sizes, listed, sized
from gviz.autograd.tensor import Tensor, from_array


def as_dims(dim: Any) -> tuple[int, ...]:
    """Return one dim or several as a tuple."""
    return (dim,) if isinstance(dim, int) else tuple(dim)


def tile(input: Tensor, *size: Any, dims: Any = ()) -> Tensor:
    """Copied along each dim; missing counts are one."""
    counts = flat_sizes(size) or tuple(dims)
    return call["repeat"](input, (1,) * (input._array.ndim - len(counts)) + tuple(counts))


def repeat_interleave(input: Tensor, repeats: Any, dim: Any = None, *, output_size: Any = None) -> Tensor:
    """Each element that many times in a row."""
    if dim is None:
        input, dim = input if input._array.ndim == 1 else call["reshape"](input, (-1,)), 0
    if isinstance(repeats, int):
        return call["repeat_interleave_by"](input, repeats, dim)
    count, sizes = input._array.shape[dim], repeats._array.shape
    if len(sizes) > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if sizes not in ((), (1,), (count,)):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{sizes[0]} and input.size({dim}) = {count}"
        )
    if (repeats._array < 0).any():
        raise RuntimeError("repeats can not be negative")
    places = np.repeat(np.arange(count), np.broadcast_to(repeats._array, (count,)))
    return call["index_select"](input, dim, from_array(places, None))


def repeated(*args: Any, **options: Any) -> Tensor:
    """:func:`repeat_interleave`; of one tensor alone, places counted by its elements.

    Raises:
        NotImplementedError: they are no integers.
        RuntimeError: they are negative, or no vector.
    """
    given = {**dict(zip(("repeats",), args, strict=False)), **options}
    if len(args) > 1 or (args and "repeats" in options) or not given.keys() <= {"repeats", "output_size"}:
        return repeat_interleave(*args, **options)
    array = given["repeats"]._array
    if array.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if array.dtype.kind != "i":
        raise dtypes.no_kernel("repeat_interleave_cpu", array.dtype)
    if (array < 0).any():
        raise RuntimeError("repeats can not be negative")
    return from_array(np.repeat(np.arange(array.size, dtype=array.dtype), array), None)


def flip(input: Tensor, *each: Any, dims: Any = None) -> Tensor:
    """In reverse along dims."""
    return call["flip"](input, flat_sizes(each) if dims is None else as_dims(dims))


def flipped(dim: int) -> Any:
    """``fliplr`` and ``flipud``."""

    def reverse(input: Tensor) -> Tensor:
        if input._array.ndim <= dim:
            raise RuntimeError(f"Input must be >= {dim + 1}-d.")
        return call["flip"](input, (dim,))

    return reverse


def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Moved along dims; what falls off comes in at the other end."""
    if isinstance(shifts, list | tuple) and not shifts:
        raise RuntimeError("`shifts` required")
    named = as_dims(dims)
    if named and not input._array.ndim:
        raise IndexError(f"Dimension specified as {named[0]} but tensor has no dimensions")
    return call["roll"](input, as_dims(shifts), named)


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with that diagonal, or the diagonal of a matrix. RuntimeError: neither a vector nor a matrix."""
    if input._array.ndim == 1:
        return call["diag_embed"](input, diagonal)
    if input._array.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input._array.ndim}D")
    return call["diagonal_copy"](input, diagonal)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on its diagonal."""
    return diag(call["view"](contiguous(input), (-1,)), offset)


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Some dims at other positions, all others in their order. RuntimeError: not as many sources as destinations."""
    sources, targets = ((v,) if isinstance(v, int) else tuple(v) for v in (source, destination))
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same number of "
            f"dims as destination ({list(targets)} dims)"
        )
    ndim = input._array.ndim
    for name, dims in (("source", sources), ("destination", targets)):
        if len({d % ndim for d in dims if -ndim <= d < ndim}) < len(dims) and all(-ndim <= d < ndim for d in dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    moves = dict(zip(wrap_dims(targets, ndim), wrap_dims(sources, ndim), strict=True))
    if not ndim:
        return call["alias"](input)
    rest = iter([d for d in range(ndim) if d not in moves.values()])
    return call["permute"](input, tuple(moves[i] if i in moves else next(rest) for i in range(ndim)))


def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dim as several."""
    shape, dim = input._array.shape, wrap_dim(dim, input._array.ndim)
    sizes = tuple(sizes)
    known = int(np.prod([s for s in sizes if s != -1]))
    full = tuple(shape[dim] // known if s == -1 and known else s for s in sizes)
    if int(np.prod(full)) != shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input "
            "tensor"
        )
    return call["view"](input, (*shape[:dim], *full, *shape[dim + 1 :]))


def at_least(count: int) -> Any:
    """``atleast_1d``, ``atleast_2d`` and ``atleast_3d``."""

    def widen(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return call["atleast"](tensors[0], count)
        return tuple(call["atleast"](t, count) for t in listed(tensors))

    return widen


def some(tensors: Any, name: str) -> Any:
    """The tensors to be joined, of which there has to be one. TypeError: one tensor instead of several."""
    if isinstance(tensors, Tensor):
        raise TypeError("a tensor is no list of them")
    if isinstance(tensors, list | tuple) and not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def hstack(tensors: Any) -> Tensor:
    """Joined side by side."""
    wide = [call["atleast"](t, 1) for t in some(tensors, "hstack")]
    return cat(wide, 0 if wide[0]._array.ndim == 1 else 1)


def stacker(name: str, count: int, dim: int) -> Any:
    """``vstack`` and ``dstack``."""

    def join(tensors: Any) -> Tensor:
        return cat([call["atleast"](t, count) for t in some(tensors, name)], dim)

    return join


def column_stack(tensors: Any) -> Tensor:
    """Vectors as columns, joined."""
    return hstack([call["reshape"](t, (t._array.size, 1)) if t._array.ndim <= 1 else t for t in some(tensors, "column_stack")])


def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Grids of coordinates."""
    vectors = some(list(listed(tensors)), "meshgrid")
    if indexing is None:
        warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    if any(vector.dtype is not vectors[0].dtype for vector in vectors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in {None, "ij", "xy"}:
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for vector in vectors:
        if vector._array.ndim > 1:
            sizes = ",".join(map(str, vector._array.shape))
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"[ {type_name(vector._array.dtype)}{{{sizes}}} ]"
            )
    order = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        order[:2] = 1, 0
    if len({v._array.dtype for v in vectors}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    shape = tuple(vectors[i]._array.size for i in order)
    grids = []
    for vector, axis in zip(vectors, order, strict=True):
        column = call["view"](vector, tuple(n if i == axis else 1 for i, n in enumerate(shape)))
        grids.append(call["expand"](column, shape))
    return tuple(grids)


def broadcast_tensors(*tensors: Any) -> Any:
    """All expanded to their common shape."""
    given = listed(tensors)
    shape = broadcast_shape(*(t._array.shape for t in given))
    return tuple(t if t._array.shape == shape else call["expand"](t, shape) for t in given)


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The memory seen with other sizes and steps."""
    base: Any = input._base
    if base is None:
        return call["as_strided"](input, tuple(size), tuple(stride), storage_offset)
    return call["as_strided"](input, tuple(size), tuple(stride), storage_offset, input.storage_offset(), base._array)


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Differences of neighbours along a dim, on request with elements before and after.

    Raises:
        RuntimeError: a number, a negative order, or more elements that do not fit.
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, len(shape))
    for more in (m._array.shape for m in (prepend, append) if m is not None):
        if len(more) != len(shape):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for i, size in enumerate(shape):
            if i != axis and more[i] != size:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({i}) = {size}, but got tensor.size({i}) = {more[i]}"
                )
    if n and (prepend is not None or append is not None):
        input = cat([t for t in (prepend, input, append) if t is not None], dim)
    if not n:
        return call["copy_into"](call["zeros_like"](input), input)
    minus = call["logical_xor" if input._array.dtype.kind == "b" else "sub"]
    for _ in range(min(n, input._array.shape[axis])):
        count = input._array.shape[axis] - 1
        first = call["narrow"](input, dim, 0, count)  # PyTorch's order of making them
        input = minus(call["narrow"](input, dim, 1, count), first)
    return input


BOTH: dict[str, Any] = {
    "tril": "tril", "triu": "triu", "diagonal": "diagonal", "diag_embed": "diag_embed", "trace": "trace", "rot90": "rot90",
    "tile": tile, "flip": flip, "fliplr": flipped(1), "flipud": flipped(0),
    "roll": roll, "diag": diag, "movedim": movedim, "moveaxis": movedim, "unflatten": unflatten,
    "as_strided": as_strided, "diff": diff,
    "diagflat": diagflat,
}  # fmt: skip

METHODS: dict[str, Any] = {
    "repeat": sized("repeat"), "unfold": "unfold", "repeat_interleave": repeat_interleave,
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {
    "hstack": hstack, "vstack": stacker("vstack", 2, 0), "row_stack": stacker("vstack", 2, 0),
    "dstack": stacker("dstack", 3, 2), "column_stack": column_stack,
    "atleast_1d": at_least(1), "atleast_2d": at_least(2), "atleast_3d": at_least(3), "meshgrid": meshgrid,
    "broadcast_tensors": broadcast_tensors, "repeat_interleave": repeated,
}  # fmt: skip
