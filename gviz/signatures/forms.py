"""The form of a call.

The parameters of a declared function, the arguments of a call in their order, and what is wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from gviz.autograd.inplace import in_place
from gviz.autograd.row import TENSORS, Row
from gviz.numbers.classes import type_text
from gviz.signatures.arguments import ARG_TYPES, NO_VALUE

ALIASES = {
    "input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "a": "self", "x1": "self", "x2": "other",
    "tensor": "self", "split_size": "split_size_or_sections", "axis0": "dim0", "axis1": "dim1", "from": "low",
    "to": "high",
}  # fmt: skip
"""By the name in a call: the parameter of that name in a row. First PyTorch's own list, which it holds against every
function (numpy's names), then those of ``split``, ``swapaxes`` and ``random_``."""


class Parameter(NamedTuple):
    """A parameter: its type, whether it takes None, its default, whether it is given by name only, how it is taken."""

    name: str
    type: str
    optional: bool
    default: Any
    keyword_only: bool
    taker: Callable[[object], Any]

    def take(self, value: object) -> Any:
        """Return the value as the row takes it, or NO_VALUE."""
        return None if value is None and self.optional else self.taker(value)

    def __str__(self) -> str:
        """Return it as PyTorch's messages write it."""
        default = "" if self.default is NO_VALUE else f" = {self.default}"
        return f"{ARG_TYPES[self.type].text} {self.public_name}{default}"

    @property
    def public_name(self) -> str:
        """Its name as messages have it."""
        return "input" if self.name == "self" else self.name

    def for_inspect(self, name: str) -> inspect.Parameter:
        """Return it, under a name, as Python's ``inspect`` has it."""
        hint = ARG_TYPES[self.type].hint
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY if self.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if self.default is NO_VALUE else self.default,
            annotation=hint | None if self.optional and hint is not object else hint,
        )


USUAL_TYPES = {"dim": "int", "keepdim": "bool", "dtype": "Dtype", "generator": "Generator"}
"""The types of options that have no annotation, by name."""


def usual_type(call: Callable[..., Any], place: int, name: str, default: object) -> str:
    """Return the type of a parameter without an annotation: by its name or default, or by what its row declares."""
    if name in USUAL_TYPES or isinstance(default, bool):
        return USUAL_TYPES.get(name, "bool")
    if not isinstance(call, Row):
        return "Tensors" if name == "tensors" else "Tensor" if default is None or default is NO_VALUE else "Number"
    if name in call.lists:
        return "Tensors"
    return "Number" if place not in call.inputs else "Operand" if call.takes_number in (True, name) else "Tensor"


class CallForm:
    """One form of a call.

    Its parameters, read from a function's signature, and what is called with them in their order.

    Args:
        function: what declares the parameters.
        call: what is called.
        inplace: whether it takes ``inplace``, as functions of ``nn.functional`` do.
        sizes_follow_a_tensor: whether sizes may be given one by one behind a tensor, as in ``x.permute(1, 0)``.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        call: Callable[..., Any],
        *,
        inplace: bool = False,
        sizes_follow_a_tensor: bool = True,
    ) -> None:
        self.call, self.parameters = call, []
        for place, one in enumerate(inspect.signature(function, follow_wrapped=False).parameters.values()):
            if one.name in getattr(call, "internal", ()):
                continue
            name, _, none = ("" if one.annotation is one.empty else one.annotation).partition(" | ")
            if name and name not in ARG_TYPES:
                raise TypeError(
                    f"{function.__qualname__}(): {name} is not a kind of argument; there are {', '.join(ARG_TYPES)}"
                )
            default = NO_VALUE if one.default is one.empty else one.default
            kind, optional = name or usual_type(call, place, one.name, default), bool(none) or default is None
            self.parameters.append(
                Parameter(one.name, kind, optional, default, one.kind is one.KEYWORD_ONLY, ARG_TYPES[kind].take)
            )
        self.places = sum(not parameter.keyword_only for parameter in self.parameters)
        self.min_args = sum(parameter.default is NO_VALUE for parameter in self.parameters)
        self.deprecated = function.__name__.startswith("old_")
        if inplace:
            self.call = switched(call, self.places)
            self.parameters.insert(
                self.places, Parameter("inplace", "object", True, False, False, ARG_TYPES["object"].take)
            )
            self.places += 1
        self.names = {parameter.name for parameter in self.parameters}
        self.defaults = [parameter.default for parameter in self.parameters]
        self.needed = max((i for i, one in enumerate(self.defaults, 1) if one is NO_VALUE), default=0)
        types = [parameter.type for parameter in self.parameters[: self.places]]
        self.takes_sizes_one_by_one = types == ["Size"] or (sizes_follow_a_tensor and types == ["Tensor", "Size"])

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """Return the arguments in order, each as its type takes it; None if the call is not of this form."""
        words, values = kwargs, []
        if kwargs or self.takes_sizes_one_by_one:
            args, words = self.normalized(args, kwargs)
        if len(args) > self.places:
            return None
        for parameter, arg in zip(self.parameters, args, strict=False):
            value = parameter.take(arg)
            if value is NO_VALUE:
                return None
            values.append(value)
        if not words:  # as most calls
            return values + self.defaults[len(args) :] if len(args) >= self.needed else None
        for parameter in self.parameters[len(args) :]:
            value = parameter.take(words.pop(parameter.name)) if parameter.name in words else parameter.default
            if value is NO_VALUE:
                return None
            values.append(value)
        return None if words else values

    def normalized(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return a call's arguments: sizes given one by one as one of them, keywords under the parameters' names."""
        last = self.places - 1
        if self.takes_sizes_one_by_one and len(args) > last and not isinstance(args[last], list | tuple):
            args = (*args[:last], args[last:])
        return args, kwargs and {
            key if key in self.names else ALIASES.get(key, key): value for key, value in kwargs.items()
        }

    def mismatch(self, values: tuple[Any, ...], kwargs: dict[str, Any], own: int) -> str:
        """Return what is wrong with a call that is not of this form, left to right as PyTorch's parser looks for it.

        The first ``own`` arguments are not counted: a method's tensor, which stands before the dot.
        """
        args, words = self.normalized(values, kwargs)
        surplus, has_surplus = self.surplus(len(values), own), len(values) > self.places
        if len(args) > self.places:
            return surplus
        for i, parameter in enumerate(self.parameters):
            if (by_place := i < len(args)) or parameter.name in words:
                if parameter.take(args[i] if by_place else words[parameter.name]) is NO_VALUE:
                    value = type_text(values[i] if by_place else words[parameter.name])
                    name = f"'{parameter.public_name}'" + f" (position {i + 1 - own})" * by_place
                    wrong = f"(): argument {name} must be {ARG_TYPES[parameter.type].text}, not {value}"
                    return surplus if has_surplus else wrong
            elif parameter.default is NO_VALUE:
                missing = [f'"{p.public_name}"' for p in self.parameters[i:] if p.default is NO_VALUE]
                plural = "s" * (len(missing) == 1)  # as PyTorch has it
                return f"() missing {len(missing)} required positional argument{plural}: {', '.join(missing)}"
        if unknown := [key for key in kwargs if key not in self.names and ALIASES.get(key) not in self.names]:
            return f"() got an unexpected keyword argument '{unknown[0]}'"
        return f"() got multiple values for argument '{next(iter(kwargs))}'"

    def surplus(self, count: int, own: int) -> str:
        """Return that so many arguments by position are too many; the first ``own`` are not counted."""
        least, most, count = self.min_args - own, self.places - own, count - own
        takes = f"from {least} to {most}" if least < most else str(most)
        plural, was = "s" * (takes != "1"), "was" if count == 1 else "were"
        return f"() takes {takes} positional argument{plural} but {count} {was} given"

    def mismatch_in_python(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return what Python would say of such a call of a function with these parameters; "" if nothing is wrong."""
        names = ", ".join(p.public_name if p.default is NO_VALUE else f"{p.public_name}=None" for p in self.parameters)
        function = eval(f"lambda {names}: ''")  # noqa: S307 - the table's own
        function.__qualname__ = name
        try:
            return str(function(*args, **kwargs))
        except TypeError as error:
            return str(error)

    def text(self, own: int, out: bool) -> str:
        """Return it as PyTorch's messages write it: a method's without its tensor, a function's with ``out``."""
        parts = [str(parameter) for parameter in self.parameters[own:]]
        if self.places - own < len(parts) or out:
            parts.insert(self.places - own, "*")
        return f"({', '.join([*parts, 'Tensor out = None'] if out else parts)})"


def switched(row: Any, place: int) -> Callable[..., Any]:
    """Return the call of a row with one argument more: whether it is in place, by the row with an underscore if any."""

    def call(*values: Any) -> Any:
        rest = *values[:place], *values[place + 1 :]
        return in_place(TENSORS.get(f"{row.key}_", row), *rest) if values[place] else TENSORS[row.key](*rest)

    return call
