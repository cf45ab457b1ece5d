"""What PyTorch's built-in functions take, and its words for what they do not take.

``signatures.txt`` has a line for each call form, as PyTorch declares it (``tests/signatures.py`` writes the file): a dot stands
before a method, a method without parentheses takes nothing, ``[1]`` allows one number for a list, ``?`` allows None. It is read
when a call is first refused. PyTorch tries the forms in turn and takes the first that fits; where none does, it complains about
the only one with that many arguments, else it lists them all.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gviz.engine.calls.device import Device, Layout, MemoryFormat
from gviz.engine.calls.listing import listed
from gviz.engine.data.classes import type_text
from gviz.engine.data.dtypes import dtype
from gviz.engine.data.words import warn_once
from gviz.engine.general import WORD
from gviz.engine.random import Generator
from gviz.engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NUMBERS_FOR_TENSORS", "accepted", "forms_of"]

OPTIONAL = "c10::List<::std::optional<Tensor>>"
FILE = Path(__file__).with_name("signatures.txt")
NUMBERS = frozenset({"int64_t", "SymInt", "IntArrayRef", "Scalar", "double"})
NUMBERS_FOR_TENSORS = frozenset({
    "add", "copy", "div", "divide", "floor_divide", "mul", "multiply", "sub", "subtract", "true_divide",
})  # fmt: skip
"""Functions (and their in-place forms) of which every form takes a number for a tensor."""
OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
"""Numpy's names for PyTorch's parameters."""


class Parameter(NamedTuple):
    """A parameter: its declared type, whether one number does for a list, whether None does, its default if it has one."""

    name: str
    kind: str
    single: bool
    none: bool
    default: str | None
    keyword: bool


class Form(NamedTuple):
    """A way to call a function."""

    parameters: tuple[Parameter, ...]
    hidden: bool
    deprecated: bool

    @property
    def least(self) -> int:
        """How many arguments it takes at least."""
        return sum(p.default is None for p in self.parameters)

    @property
    def positional(self) -> int:
        """How many of its parameters may be given by position."""
        return sum(not p.keyword for p in self.parameters)

    def __str__(self) -> str:
        parts = []
        for i, p in enumerate(self.parameters):
            if p.keyword and not (i and self.parameters[i - 1].keyword):
                parts.append("*")
            parts.append(f"{KINDS[p.kind][0]} {p.name}" + ("" if p.default is None else f" = {p.default}"))
        return f"({', '.join(parts)})"


@cache
def lines() -> dict[str, list[str]]:
    """The forms of each function, a dot before the name of a method."""
    found: dict[str, list[str]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        name, bracket, rest = line.partition("(")
        found.setdefault(name, []).extend([rest] if bracket else [])
    return found


@cache
def forms_of(name: str) -> list[Form] | None:
    """The forms of a function (".NAME": of a method), those out of use last; None where PyTorch has it in Python."""
    declared = lines().get(name)
    if declared is None:
        return None
    return sorted(map(read_form, declared), key=lambda form: form.hidden)


def read_form(line: str) -> Form:
    """A form from its line, what stands before the bracket taken away."""
    body, _, mark = line.rpartition(")")
    parameters, keyword = [], False
    for part in body.split(", ") if body else ():
        if part == "*":
            keyword = True
            continue
        kind, _, name = part.partition(" ")
        name, equals, default = name.partition("=")
        bare = re.sub(r"\[\d*\]|\?$|^Sym(?=IntArray)|^(c10|std)::(?=string)", "", kind).removesuffix("?")
        single, none = bool(re.search(r"\[\d+\]", kind)), "?" in kind or default == "None"
        parameters.append(Parameter(name, bare, single, none, default if equals else None, keyword))
    return Form(tuple(parameters), bool(mark), mark == "|deprecated")


# ------------------------------------------------------------------ does a value do?
def is_index(value: Any) -> bool:
    """A whole number, or what says it is one."""
    if isinstance(value, Tensor):
        return value._array.dtype.kind in "iu" and value._array.size == 1
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu" and not value.ndim
    return not isinstance(value, bool) and hasattr(value, "__index__")


def is_int(value: Any) -> bool:
    """A whole number of Python's or numpy's."""
    if isinstance(value, Tensor):
        return value._array.dtype.kind in "iu" and not value._array.ndim and not value.requires_grad
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """A number, or a tensor that is one."""
    if isinstance(value, Tensor):
        return not value._array.ndim and not value.requires_grad
    return isinstance(value, int | float | complex | np.number | np.bool_)


def is_int_list(value: Any) -> bool:
    """A list that begins with a whole number, as PyTorch looks at no more of it."""
    return isinstance(value, list | tuple) and (not value or is_index(value[0]))


def an(*kinds: Any) -> Callable[[Any], bool]:
    """Whether a value is of one of these types."""
    return lambda value: isinstance(value, kinds)


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "Tensor": ("Tensor", an(Tensor)),
    "Scalar": ("Number", is_number),
    "complex": ("complex", is_number),
    "double": ("float", lambda v: is_number(v) and not isinstance(v, complex)),
    "int64_t": ("int", is_int),
    "SymInt": ("int", is_index),
    "IntArrayRef": ("tuple of ints", is_int_list),
    "TensorList": ("tuple of Tensors", an(list, tuple)),
    OPTIONAL: ("tuple of Tensors", an(list, tuple)),
    "ArrayRef<double>": ("tuple of floats", lambda v: isinstance(v, list | tuple) and (not v or is_number(v[0]))),
    "ScalarList": ("tuple of Scalars", lambda v: isinstance(v, list | tuple) and all(map(is_number, v))),
    "Generator": ("torch.Generator", an(Generator)),
    "bool": ("bool", an(bool)),
    "PyObject*": ("object", an(object)),
    "ScalarType": ("torch.dtype", lambda v: isinstance(v, dtype) or v in (int, float, bool, complex)),
    "Device": ("torch.device", an(int, str, Device)),
    "string_view": ("str", an(str)),
    "Layout": ("torch.layout", an(Layout)),
    "MemoryFormat": ("torch.memory_format", an(MemoryFormat)),
    "Storage": ("torch.Storage", an()),
    "Dimname": ("name", an()),
    "DimnameList": ("tuple of names", an()),
}
"""What messages call a declared type, and whether a value is what it wants: there are no names and storages here."""


def does(parameter: Parameter, value: Any, name: str) -> bool:
    """Whether a parameter takes a value; refuses a list of tensors with something else in it."""
    kind = parameter.kind
    if kind in {"TensorList", OPTIONAL} and isinstance(value, list | tuple):
        for i, one in enumerate(value):
            if not isinstance(one, Tensor):
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_text(one)}")
    if kind == "Tensor" and name.removesuffix("_") in NUMBERS_FOR_TENSORS and is_number(value):
        return True
    if parameter.single and kind == "IntArrayRef" and is_int(value):
        return True
    return KINDS[kind][1](value)


# ------------------------------------------------------------------ does a call?
def accepted(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, method: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, numbers where tensors stand for them; its keywords by PyTorch's own names.

    Keywords that only say the default are left out; of a method, ``args`` are without the tensor itself.

    Raises:
        TypeError: the function takes no such call, in PyTorch's words.
        KeyError: PyTorch has that function in Python, and its errors are Python's.
    """
    forms = forms_of("." * method + name)
    if forms is None:
        raise KeyError(name)
    shown = name.rpartition(".")[2].replace("logsigmoid", "log_sigmoid")
    if not forms:
        if args or kwargs:
            what = "keyword arguments" if kwargs else f"arguments ({len(args)} given)"
            raise TypeError(f"TensorBase.{shown}() takes no {what}")
        return (), {}
    if len(forms) > 1:
        for form in forms:
            if misfit(form, shown, args, kwargs) is None:
                return reordered(form, forms, shown, args, kwargs) if form.deprecated else taken(form, shown, args, kwargs)
        given = len(args) + len(kwargs)
        near = [form for form in forms if not form.hidden and form.least <= given <= len(form.parameters)]
        if len(near) != 1:
            raise TypeError(listed(shown, args, kwargs, [str(form) for form in forms if not form.hidden]))
        forms = near
    if (refused := misfit(forms[0], shown, args, kwargs)) is not None:
        raise TypeError(refused)
    return taken(forms[0], shown, args, kwargs)


def keyword_of(parameter: Parameter, kwargs: dict[str, Any]) -> str | None:
    """The keyword by which a parameter was given, PyTorch's or numpy's."""
    if parameter.name in kwargs:
        return parameter.name
    return next((k for k in kwargs if OTHER_NAMES.get(k) == parameter.name), None)


def misfit(form: Form, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Why a form does not take a call, None if it does."""
    many = form.positional == 1 and form.parameters[0].kind == "IntArrayRef"
    if len(args) > form.positional and not (many and is_int_list(args)):
        return too_many(form, name, len(args))
    place, used = 0, 0
    for i, p in enumerate(form.parameters):
        key = None
        if place < len(args):
            if p.keyword:
                return too_many(form, name, len(args))
            value = args[place]
        elif (key := keyword_of(p, kwargs)) is not None:
            value = kwargs[key]
        elif p.default is None:
            return missing(form, name, i)
        else:
            continue
        if not (value is None and p.none) and not does(p, value, name):
            if many and place == 0 and key is None and is_int_list(args):
                place = len(args)
                continue
            return wrong(p, name, value, place if key is None else None)
        place, used = place + (key is None), used + (key is not None)
    return unknown(form, name, len(args), kwargs) if used < len(kwargs) else None


def too_many(form: Form, name: str, given: int) -> str:
    """More by position than there are parameters."""
    if form.least != form.positional:
        return f"{name}() takes from {form.least} to {form.positional} positional arguments but {given} were given"
    plural, verb = "" if form.positional == 1 else "s", "was" if given == 1 else "were"
    return f"{name}() takes {form.positional} positional argument{plural} but {given} {verb} given"


def missing(form: Form, name: str, start: int) -> str:
    """Parameters without default that were not given."""
    absent = [p.name for p in form.parameters[start:] if p.default is None]
    plural = "s" if len(absent) == 1 else ""  # as PyTorch has it
    return f"{name}() missing {len(absent)} required positional argument{plural}: " + ", ".join(f'"{n}"' for n in absent)


def wrong(parameter: Parameter, name: str, value: Any, place: int | None) -> str:
    """A value of another type."""
    at, wanted = "" if place is None else f" (position {place + 1})", KINDS[parameter.kind][0]
    if parameter.kind == "IntArrayRef" and isinstance(value, list | tuple) and place is not None:
        return (
            f"{name}(): argument '{parameter.name}'{at} must be {wanted}, "
            f"but found element of type {type_text(value[0])} at pos 0"
        )
    return f"{name}(): argument '{parameter.name}'{at} must be {wanted}, not {type_text(value)}"


def unknown(form: Form, name: str, given: int, kwargs: dict[str, Any]) -> str:
    """A keyword that is no parameter, or one of which there is an argument already."""
    names = [p.name for p in form.parameters]
    for key in kwargs:
        if key not in names:
            return f"{name}() got an unexpected keyword argument '{key}'"
        if names.index(key) < given:
            return f"{name}() got multiple values for argument '{key}'"
    return "invalid keyword arguments"


def taken(form: Form, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments and the keywords of a call that a form takes, as :func:`accepted` gives them.

    Refuses a list of whole numbers that goes on with something else, and an integer that is too large.
    """
    words = {}
    for i, p in reversed(list(enumerate(form.parameters))):  # as C++ reads them
        key = keyword_of(p, kwargs) if i >= len(args) else None
        value = args[i] if i < len(args) else kwargs[key] if key is not None else None
        if len(args) > form.positional == 1:
            value = args
        if p.kind == "IntArrayRef":
            lone = (value,) if value.__class__ is int and not p.single else ()
            for at, one in enumerate(value if isinstance(value, list | tuple) else lone):
                if not (is_index(one) or (at and isinstance(one, bool))):
                    raise TypeError(
                        f"{name}(): argument '{p.name}' failed to unpack the object at pos {at + 1} with error "
                        f'"type must be {KINDS[p.kind][0]},but got {type_text(one)}"'
                    )
                if one.__class__ is int and not -WORD <= one < WORD:
                    if p.single and value is one:
                        raise ValueError("Overflow when unpacking long long")
                    raise TypeError(
                        f"{name}(): argument '{p.name}' failed to unpack the object at pos {at + 1} with error "
                        '"Overflow when unpacking long long"'
                    )
        if value.__class__ is int and not -WORD <= value < (WORD if p.kind in {"int64_t", "SymInt"} else 2 * WORD):
            if p.kind in {"Tensor", "Scalar"}:
                raise OverflowError("int too big to convert")
            if p.kind in {"int64_t", "SymInt", "IntArrayRef"}:
                raise ValueError("Overflow when unpacking long long")
        if key is not None and not (p.default in {"None", "False"} and (value is None or value is False)):
            words[p.name] = number(value) if p.kind in NUMBERS else value
    args = (args,) if len(args) > form.positional == 1 else args
    kinds = [p.kind for p in form.parameters]
    return tuple(number(value) if kinds[min(i, len(kinds) - 1)] in NUMBERS else value for i, value in enumerate(args)), words


def reordered(
    form: Form, forms: list[Form], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same of a form that is out of use, which is told: all by keyword."""
    instead = "".join(f"\n\t{name}{one}" for one in forms if not one.hidden)
    warn_once(
        f"This overload of {name} is deprecated:\n\t{name}{form}\nConsider using one of the following signatures instead:"
        + instead,
        "deprecated",
    )
    given, words = taken(form, name, args, kwargs)
    return (), dict(zip((p.name for p in form.parameters), given, strict=False)) | words


def number(value: Any) -> Any:
    """A tensor, or an integer of numpy's, that stands for a number as that number, also in a list."""
    if isinstance(value, list | tuple) and any(isinstance(one, Tensor | np.integer) for one in value):
        return [number(one) for one in value]
    return value.item() if isinstance(value, Tensor | np.integer) else value
