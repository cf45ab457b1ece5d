"""Shapes that may have unknown parts, and what operations make of them.

A shape function gives the shape of a result while the graph is built, or raises :class:`ClashError`. None for a length means
unknown; None for a whole shape means that not even the number of dimensions is known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ClashError", "Dims", "TensorShape", "as_shape", "broadcast", "matmul", "reduced"]

Dims: TypeAlias = "tuple[int | None, ...] | None"


class ClashError(ValueError):
    """Shapes that cannot go together, in TensorFlow's words, but without the node, which the caller knows."""


class TensorShape:
    """The shape of a tensor as far as it is known: None for an unknown length, or for an unknown rank."""

    def __init__(self, dims: Any) -> None:
        self.dims: Dims = as_shape(dims)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None where it is unknown."""
        return None if self.dims is None else len(self.dims)

    ndims = rank

    def as_list(self) -> list[int | None]:
        """The lengths; ValueError where the rank is unknown."""
        if self.dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.dims)

    def is_fully_defined(self) -> bool:
        """Whether all lengths are known."""
        return self.dims is not None and None not in self.dims

    def num_elements(self) -> int | None:
        """How many elements there are, None where that is unknown."""
        return math.prod(self.dims) if self.dims is not None and self.is_fully_defined() else None  # type: ignore[arg-type]

    def is_compatible_with(self, other: Any) -> bool:
        """Whether a tensor could have both shapes."""
        return fits(self.dims, as_shape(other))

    def __iter__(self) -> Iterator[int | None]:
        if self.dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims)

    def __len__(self) -> int:
        if self.dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.dims)

    def __getitem__(self, place: Any) -> Any:
        if self.dims is None:
            return None if isinstance(place, int) else TensorShape(None)
        found = self.dims[place]
        return TensorShape(found) if isinstance(place, slice) else found

    def __eq__(self, other: object) -> bool:
        try:
            return self.dims == as_shape(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.dims)

    def __str__(self) -> str:
        if self.dims is None:
            return "<unknown>"
        parts = ["?" if n is None else str(n) for n in self.dims]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def __repr__(self) -> str:
        return f"TensorShape({None if self.dims is None else list(self.dims)})"


def as_shape(value: Any) -> Dims:
    """A shape given as a list, a number, a :class:`TensorShape` or None; TypeError for anything else."""
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value.dims
    if isinstance(value, (list, tuple)):
        return tuple(None if n is None or getattr(n, "value", n) is None or n == -1 else int(n) for n in value)
    try:
        return (int(value),)
    except (TypeError, ValueError):
        raise TypeError(f"Dimension value must be integer or None or have an __index__ method, got value {value!r}") from None


def listed(dims: Dims) -> str:
    """As messages of shape clashes print it: ``[?,2]``."""
    return "?" if dims is None else "[" + ",".join("?" if n is None else str(n) for n in dims) + "]"


def fits(one: Dims, other: Dims) -> bool:
    """Whether a tensor could have both shapes."""
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def merged(one: Dims, other: Dims) -> Dims:
    """All that is known of a shape from two sources."""
    if one is None or other is None:
        return other if one is None else one
    if len(one) != len(other):
        raise ClashError(f"Shapes must be equal rank, but are {len(one)} and {len(other)}")
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        if a != b and None not in (a, b):
            both = f"Shapes are {listed(one)} and {listed(other)}."
            raise ClashError(f"Dimension {i} in both shapes must be equal, but are {a} and {b}. {both}")
    return tuple(b if a is None else a for a, b in zip(one, other, strict=True))


def relaxed(one: Dims, other: Dims) -> Dims:
    """What two shapes have in common, as a branch's result or a loop's variable has it."""
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def broadcast(one: Dims, other: Dims) -> Dims:
    """The shape of an elementwise result of two operands."""
    if one is None or other is None:
        return None
    size = max(len(one), len(other))
    left, right = ((1,) * (size - len(s)) + s for s in (one, other))
    out: list[int | None] = []
    for a, b in zip(left, right, strict=True):
        if b in (a, 1):
            out.append(a)
        elif a == 1:
            out.append(b)
        elif a is None or b is None:
            out.append(b if a is None else a)
        else:
            raise ClashError(f"Dimensions must be equal, but are {a} and {b}")
    return tuple(out)


def matmul(one: Dims, other: Dims) -> Dims:
    """The shape of a product of matrices, or of stacks of them."""
    for given in (one, other):
        if given is not None and len(given) < 2:
            raise ClashError(f"Shape must be rank 2 but is rank {len(given)}")
    if one is None or other is None:
        return None
    if None not in (one[-1], other[-2]) and one[-1] != other[-2]:
        raise ClashError(f"Dimensions must be equal, but are {one[-1]} and {other[-2]}")
    stack = broadcast(one[:-2], other[:-2])
    return None if stack is None else (*stack, one[-2], other[-1])


def reduced(dims: Dims, axes: Sequence[int] | None, keepdims: bool) -> Dims:
    """The shape of a reduction; no axes known means over all of them."""
    if dims is None:
        return () if axes is None and not keepdims else None
    for axis in axes or ():
        if not -len(dims) <= axis < len(dims):
            raise ClashError(f"Invalid reduction dimension {axis} for input with {len(dims)} dimensions.")
    gone = set(range(len(dims))) if axes is None else {a % len(dims) for a in axes}
    if keepdims:
        return tuple(1 if i in gone else n for i, n in enumerate(dims))
    return tuple(n for i, n in enumerate(dims) if i not in gone)
