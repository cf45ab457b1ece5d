"""Types of arguments: what the annotation of a public function's parameter means, and which values it takes."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gviz.autograd.call import OPERANDS, plain_number
from gviz.autograd.row import NUMBERS
from gviz.autograd.tensor import Tensor
from gviz.numbers.classes import type_text
from gviz.numbers.dtypes import OF_PYTHON, as_dtype, dtype as DtypeClass
from gviz.numbers.random import Generator

NO_VALUE: Any = object()
"""What a type gives for a value that it does not take, and the default of a parameter that has none."""


def overrides(value: object) -> bool:
    """Return whether a value stands for a tensor by ``__torch_function__``: a form takes none, its class is asked."""
    return hasattr(value.__class__, "__torch_function__") and not isinstance(value, Tensor)


def anything(value: object) -> Any:
    """Take anything but what stands for a tensor."""
    return NO_VALUE if overrides(value) else value


def integer(value: object) -> Any:
    """Take one whole number."""
    if value.__class__ is int:
        return value
    if isinstance(value, Tensor):
        return NO_VALUE if value._array.ndim or value._array.dtype.kind not in "iu" else index(value)
    return NO_VALUE if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__") else index(value)


def integers(value: object) -> Any:
    """Take one whole number or several, as a tuple."""
    numbers = tuple(map(integer, value)) if isinstance(value, list | tuple) else (integer(value),)
    return NO_VALUE if NO_VALUE in numbers else numbers


def sizes(value: object) -> Any:
    """Take a list of whole numbers, as a tuple."""
    return integers(value) if isinstance(value, list | tuple) else NO_VALUE


def number(value: object) -> Any:
    """Take a number, or a 0-d tensor that stands for one."""
    if isinstance(value, Tensor) and not value._array.ndim and not value.requires_grad:
        return value.item()
    return plain_number(value) if isinstance(value, NUMBERS) else NO_VALUE


def tensors(value: object) -> Any:
    """Take a list of tensors. TypeError: it holds something else."""
    if not isinstance(value, list | tuple):
        return NO_VALUE
    for i, one in enumerate(value):
        if not isinstance(one, Tensor):
            if overrides(one):
                return NO_VALUE
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_text(one)}")
    return list(value)


def element_type(value: object) -> Any:
    """Take an element type, or Python's own for one, as numpy's."""
    is_type = isinstance(value, DtypeClass) or (isinstance(value, type) and value in OF_PYTHON)
    return as_dtype(value).np if is_type else NO_VALUE


def instance_of(*classes: type) -> Callable[[object], Any]:
    """Return the function that takes values of these classes."""
    return lambda value: value if isinstance(value, classes) else NO_VALUE


def called(text: str) -> Callable[[object], Any]:
    """Return the function that takes values whose class messages call so: classes of the engine, which lies above."""
    return lambda value: value if type_text(value) == text else NO_VALUE


class ArgType(NamedTuple):
    """A type of arguments: what messages call it, the value as a row takes it (or NO_VALUE), what signatures show."""

    text: str
    take: Callable[[object], Any]
    hint: Any


ARG_TYPES = {
    "Tensor": ArgType("Tensor", instance_of(Tensor), Tensor),
    "Operand": ArgType("Tensor", instance_of(*OPERANDS), Tensor | complex),
    "Tensors": ArgType("tuple of Tensors", tensors, tuple[Tensor, ...]),
    "int": ArgType("int", integer, int),
    "Ints": ArgType("tuple of ints", integers, int | tuple[int, ...]),
    "Size": ArgType("tuple of ints", sizes, tuple[int, ...]),
    "bool": ArgType("bool", instance_of(bool), bool),
    "float": ArgType("float", number, float),
    "Number": ArgType("Number", number, complex),
    "str": ArgType("str", instance_of(str), str),
    "Dtype": ArgType("torch.dtype", element_type, DtypeClass),
    "Format": ArgType("torch.memory_format", called("torch.memory_format"), object),
    "Layout": ArgType("torch.layout", called("torch.layout"), object),
    "Generator": ArgType("torch.Generator", instance_of(Generator), Generator),
    "object": ArgType("object", anything, object),
    "Any": ArgType("object", anything, object),  # as above; what the function does with it is not checked
}
"""By annotation. A number is ``complex`` in signatures, which for type checkers an int and a float are, too."""
