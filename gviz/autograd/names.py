"""From rows to public names: a row, or a composite, says which names it has, and its Python signature is the form of the call.

A name is a word: ``sum`` (a function of ``torch`` and a method), ``.view`` (a method), ``torch.cat`` (a function),
``F.relu``, ``linalg.det``; ``add_`` is a method that writes in place; ``+``, ``r+`` and ``+=`` are Python's operators.
Several rows may
share a name: as in PyTorch the first form that fits the call is taken, in the order of the rows. The annotation of a
parameter says what it takes (:data:`KINDS`); a parameter without one is a tensor, or a number if it is an option of a
row. A call that fits no form is refused here, for all names alike.
"""

from __future__ import annotations

import re
from functools import cached_property
from inspect import CO_VARARGS, CO_VARKEYWORDS, signature
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gviz.autograd.call import OPERANDS, plain_number
from gviz.autograd.inplace import in_place, reshape_in_place, write_out
from gviz.autograd.row import NAMED, NUMBERS, TENSORS, Row
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.classes import MIXED, is_pytorchs, type_text
from gviz.numbers.dtypes import OF_PYTHON, as_dtype
from gviz.numbers.dtypes import dtype as DtypeClass
from gviz.numbers.random import Generator
from gviz.numbers.words import warn_once

NO: Any = object()
"""No value: what a kind gives for a value that it does not take, and the default of a parameter that has none."""


# ------------------------------------------------------------------ kinds of values
def whole(value: Any) -> Any:
    """Take one whole number."""
    if value.__class__ is int:
        return value
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        return NO
    if isinstance(value, Tensor) and (value._array.ndim or value._array.dtype.kind not in "iu"):
        return NO
    return index(value)


def wholes(value: Any) -> Any:
    """Take one whole number or several, as a tuple."""
    numbers = tuple(map(whole, value)) if isinstance(value, list | tuple) else (whole(value),)
    return NO if NO in numbers else numbers


def number(value: Any) -> Any:
    """Take a number, or a 0-d tensor that stands for one."""
    if isinstance(value, Tensor) and not value._array.ndim and not value.requires_grad:
        return value.item()
    return plain_number(value) if isinstance(value, NUMBERS) else NO


def tensors(value: Any) -> Any:
    """Take a list of tensors. TypeError: it holds something else."""
    if not isinstance(value, list | tuple):
        return NO
    for i, one in enumerate(value):
        if not isinstance(one, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type_text(one)}")
    return list(value)


def element_type(value: Any) -> Any:
    """Take an element type, or Python's own for one, as numpy's."""
    is_type = isinstance(value, DtypeClass) or (isinstance(value, type) and value in OF_PYTHON)
    return as_dtype(value).np if is_type else NO


def one_of(*classes: Any) -> Any:
    """Return the kind that takes values of these classes."""
    return lambda value: value if isinstance(value, classes) else NO


KINDS: dict[str, tuple[str, Any]] = {
    "Tensor": ("Tensor", one_of(Tensor)),
    "Operand": ("Tensor", one_of(*OPERANDS)),
    "Tensors": ("tuple of Tensors", tensors),
    "int": ("int", whole),
    "Ints": ("tuple of ints", wholes),
    "Size": ("tuple of ints", lambda value: wholes(value) if isinstance(value, list | tuple) else NO),
    "bool": ("bool", one_of(bool)),
    "float": ("float", number),
    "Number": ("Number", number),
    "str": ("str", one_of(str)),
    "Dtype": ("torch.dtype", element_type),
    "Format": ("torch.memory_format", lambda value: value if type_text(value) == "torch.memory_format" else NO),
    "Layout": ("torch.layout", lambda value: value if type_text(value) == "torch.layout" else NO),
    "Generator": ("torch.Generator", one_of(Generator)),
    "Any": ("object", lambda value: value),
}
"""By annotation: what messages call it, and the value as a row takes it."""

IN_C = re.compile(
    r"adaptive_avg_pool1d|avg_pool\dd|bilinear|channel_shuffle|conv_?\w*\dd|cosine_similarity|gelu|hardshrink|linear|logsigmoid"
    "|one_hot|pairwise_distance|pixel_(un)?shuffle|prelu|softplus|softshrink|scaled_dot_product_attention"
)
"""The functions of nn.functional that are not Python's in PyTorch."""
OLD = "This overload of {} is deprecated:\n\t{}\nConsider using one of the following signatures instead:\n\t{}"
ALIASES = {
    "input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "a": "self", "x1": "self", "x2": "other",
    "tensor": "self", "split_size": "split_size_or_sections", "axis0": "dim0", "axis1": "dim1", "from": "low", "to": "high",
}  # fmt: skip
"""By the name in a call: the parameter of that name in a row. First PyTorch's own list, which it holds against every
function (numpy's names), then those of ``split``, ``swapaxes`` and ``random_``."""


# ------------------------------------------------------------------ forms
class Parameter(NamedTuple):
    """A parameter of a form: its kind, whether it takes None, its default, and whether it is given by name only."""

    name: str
    kind: str
    none: bool
    default: Any
    keyword: bool

    def take(self, value: Any) -> Any:
        """Return the value as the row takes it, or NO."""
        return None if value is None and self.none else KINDS[self.kind][1](value)

    def __str__(self) -> str:
        """Return it as PyTorch's messages write it."""
        default = "" if self.default is NO else f" = {self.default}"
        return f"{KINDS[self.kind][0]} {self.shown}{default}"

    @property
    def shown(self) -> str:
        """Its name as messages have it."""
        return "input" if self.name == "self" else self.name


def usual_kind(call: Any, place: int, name: str, default: Any) -> str:
    """Return the kind of a parameter without an annotation: for a row it follows from what the row declares."""
    if not isinstance(call, Row):
        return "Tensors" if name == "tensors" else "Tensor" if default is None or default is NO else "Number"
    if name in call.lists:
        return "Tensors"
    return "Number" if place not in call.inputs else "Operand" if call.numbers in (True, name) else "Tensor"


class Form:
    """One form of a call: its parameters, read from a function's signature, and what is called with them in their order."""

    def __init__(self, function: Any, call: Any, *, inplace: bool = False, loose: bool = True) -> None:
        self.call, self.parameters = call, []
        for place, one in enumerate(signature(function, follow_wrapped=False).parameters.values()):
            if one.name in getattr(call, "own", ()):
                continue
            kind, _, none = ("" if one.annotation is one.empty else one.annotation).partition(" | ")
            if kind and kind not in KINDS:
                raise TypeError(
                    f"{function.__qualname__}(): {kind} is not a kind of argument; there are {', '.join(KINDS)}"
                )
            default = NO if one.default is one.empty else one.default
            kind = kind or usual_kind(call, place, one.name, default)
            by_name = one.kind is one.KEYWORD_ONLY
            self.parameters.append(Parameter(one.name, kind, bool(none) or default is None, default, by_name))
        self.places = sum(not parameter.keyword for parameter in self.parameters)
        self.least, self.old = sum(p.default is NO for p in self.parameters), function.__name__.startswith("old_")
        if inplace:
            self.call = switched(call, self.places)
            self.parameters.insert(self.places, Parameter("inplace", "Any", True, False, False))
            self.places += 1
        self.names = {parameter.name for parameter in self.parameters}
        self.sizes_one_by_one = [p.kind for p in self.parameters[: self.places]] in [["Size"], ["Tensor", "Size"]][
            : 1 + loose
        ]

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """Return the arguments in order, each as its kind takes it; None if the call is not of this form."""
        (args, words), values = self.given(args, kwargs), []
        if len(args) > self.places:
            return None
        for i, parameter in enumerate(self.parameters):
            if i < len(args):
                value = parameter.take(args[i])
            else:
                value = parameter.take(words.pop(parameter.name)) if parameter.name in words else parameter.default
            if value is NO:
                return None
            values.append(value)
        return None if words else values

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return a call's arguments: sizes that were given one by one as one of them, words under the parameters' names."""
        last = self.places - 1
        if self.sizes_one_by_one and len(args) > last and not isinstance(args[last], list | tuple):
            args = (*args[:last], args[last:])
        return args, kwargs and {
            key if key in self.names else ALIASES.get(key, key): value for key, value in kwargs.items()
        }

    def fault(self, given: tuple[Any, ...], kwargs: dict[str, Any], own: int) -> str:
        """Return what is wrong with a call that is not of this form, from left to right as PyTorch's parser looks for it.

        The first ``own`` arguments are not counted: a method's tensor, which stands before the dot.
        """
        args, words = self.given(given, kwargs)
        places, count = self.places - own, len(given) - own
        takes = f"takes from {self.least - own} to {places}" if self.least < self.places else f"takes {places}"
        plural, was = "s" * (takes != "takes 1"), "was" if count == 1 else "were"
        surplus = f"() {takes} positional argument{plural} but {count} {was} given"
        if len(args) > self.places:
            return surplus
        for i, parameter in enumerate(self.parameters):
            if (placed := i < len(args)) or parameter.name in words:
                if parameter.take(args[i] if placed else words[parameter.name]) is NO:
                    value = type_text(given[i] if placed else words[parameter.name])
                    place = f" (position {i + 1 - own})" if placed else ""
                    told = f"(): argument '{parameter.shown}'{place} must be {KINDS[parameter.kind][0]}, not {value}"
                    return surplus if count > places else told
            elif parameter.default is NO:
                missing = [f'"{p.shown}"' for p in self.parameters[i:] if p.default is NO]
                plural = "s" * (len(missing) == 1)  # as PyTorch has it
                return f"() missing {len(missing)} required positional argument{plural}: {', '.join(missing)}"
        if unknown := [key for key in kwargs if key not in self.names and ALIASES.get(key) not in self.names]:
            return f"() got an unexpected keyword argument '{unknown[0]}'"
        return f"() got multiple values for argument '{next(iter(kwargs))}'"

    def of_python(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return what Python would say of such a call of a function with these parameters; "" if nothing is wrong."""
        names = ", ".join(p.shown if p.default is NO else f"{p.shown}=None" for p in self.parameters)
        function = eval(f"lambda {names}: ''")  # noqa: S307 - the table's own
        function.__qualname__ = name
        try:
            return str(function(*args, **kwargs))
        except TypeError as error:
            return str(error)

    def told(self, own: int, out: bool) -> str:
        """Return it as PyTorch's messages write it: a method's without its tensor, a function's with ``out``."""
        parts = [str(parameter) for parameter in self.parameters[own:]]
        if self.places - own < len(parts) or out:
            parts.insert(self.places - own, "*")
        return f"({', '.join([*parts, 'Tensor out = None'] if out else parts)})"


def switched(row: Any, place: int) -> Any:
    """Return the call of a row with one argument more: whether it is in place, by the row with an underscore if any."""

    def call(*values: Any) -> Any:
        rest = *values[:place], *values[place + 1 :]
        return in_place(TENSORS.get(f"{row.key}_", row), *rest) if values[place] else TENSORS[row.key](*rest)

    return call


class Name:
    """A public name: where it stands, and the forms of its rows, in their order, made when it is first called."""

    def __init__(self, word: str) -> None:
        space, _, last = word.rpartition(".")
        self.word, self.sign = word, operator(word)
        self.short = self.sign.strip("_") or last
        self.told = f"{space}_{last}" if space in ("linalg", "special") else self.short
        self.method = self.sign or ("" if space else last)
        self.space = "" if self.sign or word.startswith(".") else space or "torch"
        self.declared: list[tuple[Any, Any]] = []
        self.bound = False

    @cached_property
    def forms(self) -> list[Form]:
        """The forms of its rows."""
        inplace = self.space == "F" and not self.short.endswith("_")
        loose = self.space != "torch" or bool(self.method)  # sizes one by one are for methods: x.permute(1, 0)
        return [
            Form(f, call, inplace=inplace and getattr(call, "inplace", False), loose=loose) for f, call in self.declared
        ]

    function = cached_property(lambda self: self.made(0))
    as_method = cached_property(lambda self: self.made(1))

    def made(self, own: int) -> Any:
        """Return the function of the name, which calls the first form that fits; or (``own`` is 1) the method.

        Any number of arguments is left to Python. A method has no ``out``, and messages do not count its tensor.
        """
        if self.declared[0][0].__code__.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
            return self.declared[0][1]

        def call(*args: Any, **kwargs: Any) -> Any:
            out = kwargs.pop("out", None) if kwargs and not own else None
            operation, values = self.chosen(args, kwargs, own)
            return operation(*values) if out is None else write_out(self.told, out, operation, values)

        def writing(*args: Any, **kwargs: Any) -> Any:
            operation, values = self.chosen(
                args, kwargs, own
            )  # before anything is said about the tensor that is written
            return (reshape_in_place if getattr(operation, "reshapes", False) else in_place)(operation, *values)

        function = writing if self.writes else call
        function.__name__ = function.__qualname__ = self.short
        function.__doc__ = "\n".join(
            f"({', '.join(f.__code__.co_varnames[: f.__code__.co_argcount])}): {f.__doc__ or getattr(call, 'texts', {})}"
            for f, call in self.declared
        ).replace(": {}", "")
        function.public = self  # type: ignore[attr-defined]
        return function

    @property
    def writes(self) -> bool:
        """Whether it is a method that leaves the result in its tensor: ``add_``, ``+=``."""
        return self.short.endswith("_") or (self.sign.startswith("__i") and self.word not in UNARY)

    def chosen(self, args: tuple[Any, ...], kwargs: dict[str, Any], own: int = 0) -> tuple[Any, list[Any]]:
        """Return what is called, by the first form that fits, and its arguments. TypeError: none fits."""
        for form in self.forms:
            if (values := form.bind(args, kwargs)) is not None:
                if form.old:
                    forms = (f"{self.short}{one.told(own, not own)}" for one in (form, self.forms[0]))
                    warn_once(OLD.format(self.short, *forms))
                return form.call, values
        raise TypeError(self.refusal(args, kwargs, own))

    def refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any], own: int = 0) -> str:
        """Return the message for a call that fits no form: what is wrong with it if one form is likely, else all forms.

        The first ``own`` arguments are not counted.
        """
        if any(is_pytorchs(type(value)) for value in (*args, *kwargs.values())):
            return f"{self.told}(): {MIXED}"
        forms, count = [form for form in self.forms if not form.old], len(args) + len(kwargs)
        if (
            self.space == "F"
            and not IN_C.fullmatch(self.short)
            and (told := forms[0].of_python(self.short, args, kwargs))
        ):
            return told
        likely = [
            form for form in forms if form.least <= count <= len(form.parameters) + (len(form.parameters) > 1 > own)
        ]
        if len(self.forms) == 1 or len(likely) == 1:
            return f"{self.told}{(likely or forms)[0].fault(args, kwargs, own)}"
        out = not own and self.space == "torch"
        listed = [form.told(own, out) for form in forms]
        types = [*map(type_text, args[own:]), *(f"{key}={type_text(value)}" for key, value in kwargs.items())]
        form = "one of:\n" + "".join(f" * {one}\n" for one in listed) if len(listed) > 1 else listed[0]
        return f"{self.told}() received an invalid combination of arguments - got ({', '.join(types)}), but expected {form}"


# ------------------------------------------------------------------ binding
SIGNS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne",
}  # fmt: skip
UNARY = {"-x": "__neg__", "+x": "__pos__", "~x": "__invert__", "abs(x)": "__abs__"}
NAMES: dict[str, Name] = {}
"""Every public name of the table, by its word."""


def operator(word: str) -> str:
    """Return ``__add__`` for ``+``, ``__radd__`` for ``r+``, ``__iadd__`` for ``+=``, ``__neg__`` for ``-x``, else ""."""
    if word in UNARY or word in SIGNS:
        return UNARY.get(word) or f"__{SIGNS[word]}__"
    if word[:1] == "r" and word[1:] in SIGNS:
        return f"__r{SIGNS[word[1:]]}__"
    return f"__i{SIGNS[word[:-1]]}__" if word[-1:] == "=" and word[:-1] in SIGNS else ""


def as_operator(function: Any) -> Any:
    """Return an operation as Python's operator, which leaves operands it does not know to Python."""

    def operate(self: Tensor, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            if is_pytorchs(type(other)):
                raise TypeError(MIXED)
            if function.__name__ != "eq" or not isinstance(other, np.ndarray) or other.dtype.kind not in "biufc":
                return NotImplemented
            other = from_array(other, None)  # the one sign for which PyTorch takes an array
        return function(self, other)

    return operate


def install(spaces: dict[str, dict[str, Any]]) -> None:
    """Bind the names of all new rows: methods and operators at once, functions to their module if it is in ``spaces``."""
    while NAMED:
        words, function, call = NAMED.pop(0)
        for word in words.split():
            name = NAMES.setdefault(word, Name(word))
            name.declared.append((function, call))
            vars(name).pop("forms", None)
    for word, name in NAMES.items():
        if name.method and "as_method" not in vars(name):
            setattr(
                Tensor, name.method, as_operator(name.as_method) if name.sign and word not in UNARY else name.as_method
            )
        if name.space in spaces and not name.bound:
            name.bound = True
            spaces[name.space][name.short] = name.function
