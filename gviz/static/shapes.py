"""The forms of values: shapes that may have unknown parts, and nested lists, tuples and dicts.

None for a length means unknown; None for a whole shape means that not even the number of dimensions is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

Dims: TypeAlias = "tuple[int | None, ...] | None"
ShapeLike: TypeAlias = "TensorShape | Sequence[int | None] | int | None"


class ClashError(ValueError):
    """Shapes that cannot go together, in TensorFlow's words, but without the node, which the caller knows."""


class TensorShape:
    """The shape of a tensor as far as it is known: None for an unknown length, or for an unknown rank."""

    def __init__(self, dims: ShapeLike) -> None:
        self.dims: Dims = as_shape(dims)

    @property
    def rank(self) -> int | None:
        """Return the number of dimensions, None if it is unknown."""
        return None if self.dims is None else len(self.dims)

    ndims = rank

    def as_list(self) -> list[int | None]:
        """Return the lengths; ValueError if the rank is unknown."""
        if self.dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.dims)

    def is_fully_defined(self) -> bool:
        """Return whether all lengths are known."""
        return self.dims is not None and None not in self.dims

    def num_elements(self) -> int | None:
        """How many elements there are, None where that is unknown."""
        return None if self.dims is None or None in self.dims else math.prod(n or 0 for n in self.dims)

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Return whether a tensor could have both shapes."""
        return fits(self.dims, as_shape(other))

    def __iter__(self) -> Iterator[int | None]:
        return iter(self.as_list())

    def __len__(self) -> int:
        return len(self.as_list())

    def __getitem__(self, place: int | slice) -> Any:
        part: Any = None if self.dims is None else self.dims[place]
        return TensorShape(part) if isinstance(place, slice) else part

    def __eq__(self, other: object) -> bool:
        try:
            return self.dims == as_shape(other)  # type: ignore[arg-type]
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


def as_shape(value: ShapeLike) -> Dims:
    """Return a shape given as a list, a number, a :class:`TensorShape` or None; TypeError for anything else."""
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value.dims
    if isinstance(value, (list, tuple)):
        return tuple(None if n is None or n == -1 else int(n) for n in value)
    try:
        return (int(value),)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(
            f"Dimension value must be integer or None or have an __index__ method, got value {value!r}"
        ) from None


def dims_text(dims: Sequence[int | None] | None) -> str:
    """As messages of shape clashes print it: ``[?,2]``."""
    return "?" if dims is None else "[" + ",".join("?" if n is None else str(n) for n in dims) + "]"


def fits(one: Dims, other: Dims) -> bool:
    """Return whether a tensor could have both shapes."""
    if one is None or other is None or len(one) != len(other):
        return one is None or other is None
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def merge_dims(one: Dims, other: Dims) -> Dims:
    """Return all that is known of a shape from two sources."""
    if one is None or other is None:
        return other if one is None else one
    if len(one) != len(other):
        raise ClashError(f"Shapes must be equal rank, but are {len(one)} and {len(other)}")
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        if a != b and None not in (a, b):
            raise ClashError(
                f"Dimension {i} in both shapes must be equal, but are {a} and {b}. "
                f"Shapes are {dims_text(one)} and {dims_text(other)}."
            )
    return tuple(b if a is None else a for a, b in zip(one, other, strict=True))


def common_dims(one: Dims, other: Dims) -> Dims:
    """What two shapes have in common, as a branch's result or a loop's variable has it."""
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


# ------------------------------------------------------------------ nested values
def leaves(structure: object) -> Iterator[Any]:
    """What is in nested lists, tuples and dicts, in order."""
    if isinstance(structure, dict):
        structure = [structure[key] for key in sorted(structure)]
    if isinstance(structure, (list, tuple)):
        for item in structure:
            yield from leaves(item)
    else:
        yield structure


def fill_structure(structure: object, items: Iterator[object]) -> Any:
    """Return the same structure with other leaves."""
    if isinstance(structure, dict):
        filled = {key: fill_structure(structure[key], items) for key in sorted(structure)}
        return {key: filled[key] for key in structure}
    if isinstance(structure, (list, tuple)):
        parts = [fill_structure(item, items) for item in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    return next(items)


def nesting(structure: object) -> object:
    """Return the form of nested values: 0 for each leaf, and tuples as lists."""
    if isinstance(structure, dict):
        return {key: nesting(item) for key, item in structure.items()}
    return [nesting(item) for item in structure] if isinstance(structure, (list, tuple)) else 0
