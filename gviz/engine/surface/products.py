"""Matrix products of several operands, and einsum: which row each call form means."""

from __future__ import annotations

from collections import Counter
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from gviz.ops.checks import check_floats, check_one_dtype
from gviz.numbers.classes import type_text
from gviz.numbers.dtypes import of
from gviz.numbers.results import result_class
from gviz.numbers.words import warn, warn_once
from gviz.autograd.inplace import in_place
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface.arithmetic import keyed
from gviz.autograd.tensor import Tensor, from_array


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Multiplied and summed over the last dims of one and the first of the other, or over pairs of dims.

    Raises:
        RuntimeError: a negative number of dims, or more than there are.
    """
    if isinstance(dims, int):
        if dims > min(a._array.ndim, b._array.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        first, second = tuple(range(-dims, 0)), tuple(range(dims))
    else:
        first, second = ((d,) if isinstance(d, int) else tuple(d) for d in dims)
    check_one_dtype(a._array, b._array, "both inputs should have same dtype")
    return call["tensordot_over"](a, b, first, second)


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dims."""
    if not input._array.ndim or not other._array.ndim:
        return call["mul"](input, other)
    if input._array.shape[-1] != other._array.shape[-1]:
        shapes = " and ".join(str(list(value._array.shape)) for value in (input, other))
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {shapes}")
    check_one_dtype(input._array, other._array, "both inputs should have same dtype")
    return call["tensordot_over"](input, other, (-1,), (-1,))


ELLIPSIS = "..."


def einsum(*args: Any) -> Tensor:
    """Products summed over the labels that the result does not have.

    Raises:
        RuntimeError: labels and dims do not fit.
        ValueError: neither an equation nor lists of numbers, and operands.
        TypeError: an operand is no tensor.
    """
    equation, operands = equation_of(args)
    given = list(operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands)
    for i, operand in enumerate(given):
        if not isinstance(operand, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type_text(operand)}")
    inputs, arrow, output = equation.partition("->")
    labels, start = [], 0
    for i, part in enumerate(inputs.split(",")):
        labels.append(labels_of(part, start, f"operand {i}"))
        start += len(part) + 1
    if len(labels) != len(given):
        more = "more" if len(labels) < len(given) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    for i, (names, operand) in enumerate(zip(labels, given, strict=True)):
        ndim = operand._array.ndim
        if len(names) != ndim and not (ELLIPSIS in names and len(names) - 1 <= ndim):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(names)}) does not match the number of dimensions "
                f"({ndim}) for operand {i} and no ellipsis was given"
            )
    wide = max((o._array.ndim - len(n) + 1 for n, o in zip(labels, given, strict=True) if ELLIPSIS in n), default=0)
    counts = Counter(name for names in labels for name in names)
    if arrow:
        result = labels_of(output, len(inputs) + 2, "output")
    else:
        result = [ELLIPSIS] * (ELLIPSIS in counts) + sorted(n for n in counts if counts[n] == 1 and n != ELLIPSIS)
    for name in result:
        if name not in counts and name != ELLIPSIS:
            raise RuntimeError(f"einsum(): output subscript {name} does not appear in the equation for any input operand")
        if result.count(name) > 1:
            raise RuntimeError(f"einsum(): output subscript {name} appears more than once in the output")
    kept: list[Any] = [
        axis for name in result for axis in ([(ELLIPSIS, i) for i in range(wide)] if name == ELLIPSIS else [name])
    ]
    axes = kept + [(ELLIPSIS, i) for i in range(wide) if ELLIPSIS not in result]
    axes += [name for name in sorted(counts) if name != ELLIPSIS and name not in result]
    aligned = [align(operand, names, axes, wide) for operand, names in zip(given, labels, strict=True)]
    check_sizes(aligned, axes)
    return contract(aligned, len(kept))


def check_sizes(operands: list[Tensor], axes: list[Any]) -> None:
    """Refuse a label that has two sizes, neither of them one."""
    for dim, name in enumerate(axes):
        seen = 1
        for i, operand in enumerate(operands):
            size = operand._array.shape[dim]
            if 1 not in (size, seen) and size != seen:
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {size} for operand {i} which does not broadcast with previously seen "
                    f"size {seen}"
                )
            seen = max(size, seen)


def equation_of(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The equation and the operands, also where lists of numbers follow each operand, and one the last for the result."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
            "list"
        )
    if not isinstance(args[0], Tensor | str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type_text(args[0])}")
    if isinstance(args[0], str):
        return args[0], args[1:]
    parts = ["".join(map(letter, names)) for names in args[1::2]]
    if len(args) % 2:
        return f"{','.join(parts)}->{''.join(map(letter, args[-1]))}", args[:-1:2]
    return ",".join(parts), args[::2]


def letter(number: Any) -> str:
    """The label that stands for a number."""
    if number is Ellipsis:
        return ELLIPSIS
    if number >= 0 and number < len(ascii_letters):
        return (ascii_uppercase + ascii_lowercase)[number]
    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")


def labels_of(part: str, start: int, whose: str) -> list[str]:
    """The labels of one operand; ``...`` is one of them. RuntimeError: something there is no label."""
    before, dots, after = part.partition(ELLIPSIS)
    found = [*before, *([ELLIPSIS] if dots else []), *after]
    for label in found:
        if label == ".":
            result = whose == "output"
            again = (
                "but an ellipsis (...) was already found in the output" if result else "for which an ellipsis was already found"
            )
            alone = "that is not part of any ellipsis" + " (...)" * result
            raise RuntimeError(f"einsum(): found '.' for {whose} {again if dots else alone}")
        if label not in ascii_letters and label not in {" ", ELLIPSIS}:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + part.index(label)} in the equation string, subscripts "
                "must be in [a-zA-Z]"
            )
    return [label for label in found if label != " "]


def align(operand: Tensor, names: list[str], axes: list[Any], wide: int) -> Tensor:
    """An operand with a dim for every label, in the common order."""
    place: dict[Any, int] = {}
    dim = 0
    for name in names:
        if name == ELLIPSIS:
            for i in range(len(names) - 1 + wide - operand._array.ndim, wide):
                place[ELLIPSIS, i] = dim
                dim += 1
        elif name in place:
            sizes = operand._array.shape
            if sizes[place[name]] != sizes[dim]:
                raise RuntimeError(
                    f"einsum(): subscript {name} is repeated for operand 0 but the sizes don't match, {sizes[dim]} != "
                    f"{sizes[place[name]]}"
                )
            operand = operand.diagonal(0, place[name], dim).movedim(-1, place[name])  # type: ignore[attr-defined]
        else:
            place[name] = dim
            dim += 1
    for axis in axes:
        if axis not in place:
            operand = call["unsqueeze"](operand, dim)
            place[axis] = dim
            dim += 1
    return call["permute"](operand, tuple(place[axis] for axis in axes))


def contract(operands: list[Any], kept: int) -> Tensor:
    """Aligned operands multiplied from left to right, each label summed as soon as no later one has it."""
    ndim = operands[0]._array.ndim
    several = len(operands) > 1
    users = [sum(o._array.shape[d] != 1 for o in operands) for d in range(ndim)]
    result, rest = operands[0], operands[1:]
    for right in rest:
        together: list[int] = []
        only_left: list[int] = []
        only_right: list[int] = []
        for dim in range(kept, ndim):
            a, b = result._array.shape[dim], right._array.shape[dim]
            if a != 1 and b != 1:
                users[dim] -= 1
                if users[dim] == 1:
                    together.append(dim)
                    users[dim] = 0
            elif users[dim] == 1 and (a != 1 or b != 1):
                (only_left if a != 1 else only_right).append(dim)
                users[dim] = 0
        if only_left:
            result = call["sum_dim"](result, tuple(only_left), True)
        if only_right:
            right = call["sum_dim"](right, tuple(only_right), True)  # noqa: PLW2901 - the operand without what is summed
        result = call["sumproduct_pair"](result, right, together)
    if kept == ndim:
        return result
    if several:
        return call["view"](result, result._array.shape[:kept])
    return call["sum_dim"](result, tuple(range(kept, ndim)), False)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Every product of an element of one vector with one of the other. RuntimeError: one of them is no vector."""
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector._array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector._array.ndim}-D")
    return call["outer"](input, vec2)


def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices."""
    return call["linalg_inv"](input)[0]


def cross(input: Tensor, other: Tensor, dim: Any = None) -> Tensor:
    """The cross product along a dim; without one along the first of size 3. RuntimeError: no dim has that size."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
            "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
            "release."
        )
        dim = next((d for d, size in enumerate(input._array.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return call["linalg_cross"](input, other, dim)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """The distance of each row to each row of another matrix. RuntimeError: rows of different lengths or dtypes, or no rows."""
    for i, x in enumerate((x1, x2), 1):
        if x._array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{i} got: {x._array.ndim}D")
    if x1._array.shape[-1] != x2._array.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1._array.shape[-1]} X2: {x2._array.shape[-1]}"
        )
    for i, x in enumerate((x1, x2), 1):
        if x._array.dtype.kind not in "fc":
            raise RuntimeError(f"cdist only supports floating-point dtypes, X{i} got: {x.dtype.scalar_name}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    check_one_dtype(x1._array, x2._array, "expected scalar type {} but found {}")
    return call["cdist_of"](x1, x2, float(p), compute_mode)


def slogdet(input: Tensor, name: str = "slogdet") -> Any:
    """The sign of a determinant and the logarithm of its size."""
    return result_class(name, ("sign", "logabsdet"))(call["linalg_slogdet"](input))


def logdet(input: Tensor) -> Tensor:
    """The logarithm of a determinant."""
    if input._array.ndim < 2:
        raise RuntimeError("logdet: The input tensor A must have at least 2 dimensions.")
    check_floats(input._array, "logdet")
    return call["logdet"](input)


def cov(input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariance of the rows. RuntimeError: more than two dims, or weights that do not fit."""
    if input._array.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} dimensions"
        )
    if input._array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = call["view"](input, (1, -1)) if input._array.ndim < 2 else input
    for name, given, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "f")):
        if given is not None:
            check_weights(name, given._array, rows._array.shape[1], kinds)
    weights = fweights if aweights is None else aweights if fweights is None else call["mul"](fweights, aweights)
    total: Any = call["sum_all"](weights) if weights is not None else from_array(np.asarray(rows._array.shape[1]), None)
    if not total._array:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    weighted = rows if weights is None else call["mul"](rows, weights)
    mean = call["div"](call["sum_dim"](weighted, (1,), False), total)
    if aweights is not None and correction:
        free = total - call["div"](call["mul_scalar"](call["sum_all"](call["mul"](weights, aweights)), correction), total)
    else:
        free = total - correction if correction else total
    if free._array <= 0:
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        free = in_place(call["zero"], free)
    centred = call["sub"](rows, call["unsqueeze"](mean, 1))
    other = centred if weights is None else call["mul"](centred, weights)
    return call["squeeze_all"](call["div"](call["mm"](centred, call["t"](other)), free))


def check_weights(name: str, weights: Any, count: int, kinds: str) -> None:
    """Refuse weights of another number than the observations, of another kind, or negative ones."""
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    if weights.dtype.kind not in kinds:
        wanted = "integral" if kinds == "iu" else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with {of(weights.dtype).scalar_name} dtype"
        )
    if weights.size != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.size} != {count}"
        )
    if (weights < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


def corrcoef(input: Tensor) -> Tensor:
    """The correlation of the rows."""
    found = cov(input)
    if not found._array.ndim:
        return call["div"](found, found)
    spread = call["sqrt"](call["diagonal"](found, 0, 0, 1))
    found = call["div"](found, call["view"](spread, (-1, 1)))
    return call["clamp_scalar"](call["div"](found, call["view"](spread, (1, -1))), -1, 1)


BOTH: dict[str, Any] = {
    "kron": "kron",
    "matrix_power": "matrix_power",
    "det": "linalg_det",
    "logdet": logdet,
    "cholesky": "cholesky",
    "vdot": "vdot",
    **{name: keyed(name, 3) for name in ("addmm", "addmv", "addr", "baddbmm", "addbmm")},
    "inner": inner, "outer": outer, "ger": outer, "inverse": inverse, "cross": cross, "slogdet": slogdet,
    "cov": cov, "corrcoef": corrcoef,
}  # fmt: skip

FUNCTIONS: dict[str, Any] = {
    "tensordot": tensordot,
    "einsum": einsum,
    "cdist": cdist,
    "pdist": call["pdist"],
    "bilinear": call["bilinear"],
}
