"""Nested lists, tuples and dicts: of fetches, of loop variables, of what branches give, of a function's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.static.shapes import TensorShape
from gviz.static.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["described", "leaves", "refill", "refilled", "same_structure", "tensors_in"]


def leaves(structure: Any) -> Iterator[Any]:
    """What is in nested lists, tuples and dicts, in order."""
    if isinstance(structure, dict):
        for key in sorted(structure):
            yield from leaves(structure[key])
    elif isinstance(structure, (list, tuple)) and not isinstance(structure, TensorShape):
        for item in structure:
            yield from leaves(item)
    else:
        yield structure


def refilled(structure: Any, items: Iterator[Any]) -> Any:
    """The same structure with other leaves."""
    if isinstance(structure, dict):
        filled = {key: refilled(structure[key], items) for key in sorted(structure)}
        return {key: filled[key] for key in structure}
    if isinstance(structure, (list, tuple)):
        parts = [refilled(item, items) for item in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    return next(items)


def same_structure(one: Any, other: Any, *, kinds: bool = False) -> bool:
    """Whether two nested structures have the same form; with ``kinds`` a list is no tuple."""
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(same_structure(one[k], other[k], kinds=kinds) for k in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        alike = len(one) == len(other) and (not kinds or type(one) is type(other))
        return alike and all(same_structure(a, b, kinds=kinds) for a, b in zip(one, other, strict=True))
    return not isinstance(one, (dict, list, tuple)) and not isinstance(other, (dict, list, tuple))


def described(structure: Any) -> str:
    """For messages: its form and its leaves."""
    return f"type={type(structure).__name__} str={structure}"


def tensors_in(args: Any) -> Iterator[Tensor]:
    """Tensors among nested arguments."""
    return (item for item in leaves(args) if isinstance(item, Tensor))


def refill(args: Any, tensors: Iterator[Any]) -> Any:
    """The same arguments with other tensors."""
    return refilled(args, (next(tensors) if isinstance(item, Tensor) else item for item in leaves(args)))
