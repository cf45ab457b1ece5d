"""What a public function says about arguments that it does not take: PyTorch's type of error and its words.

Nothing is checked before a call. Only what a call raised is looked at again: :func:`public` goes through the arguments by the
function's own parameters, and where one is missing, too many or no tensor, that is what the caller hears.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.dtypes import dtype
from gviz.engine.tensor import Tensor

if TYPE_CHECKING:
    from gviz.engine.op import Row

__all__ = ["Parameters", "guarded_row", "public", "takes_numbers"]

NUMBERS = (int, float, complex, np.generic)
ARITHMETIC = frozenset({
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "rsub", "pow",
    "result_type", "xlogy",
})  # fmt: skip
"""Functions that take a number for any tensor."""
COMPARISONS = frozenset({
    "eq", "ne", "not_equal", "lt", "less", "le", "less_equal", "gt", "greater", "ge", "greater_equal", "fmod", "lerp", "clamp",
    "clip", "clamp_min", "clamp_max", "masked_fill", "bitwise_and", "bitwise_or", "bitwise_xor",
})  # fmt: skip
"""Functions that take a number for any tensor but the first."""
TENSOR_NAMES = frozenset({
    "self", "input", "other", "mat1", "mat2", "vec", "vec2", "tensor", "tensor1", "tensor2", "weight", "condition", "batch1",
    "batch2", "index", "end", "mask",
})  # fmt: skip
"""Parameters of a plain function over rows that are tensors: it has no annotations that would say so."""

CREATION = (
    "*, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, "
    "bool pin_memory = False, bool requires_grad = False"
)
COMPARED = ("Tensor input, Tensor other, *, Tensor out = None", "Tensor input, Number other, *, Tensor out = None")
WITH_ALPHA = ("Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None",)
FORMS: dict[str, tuple[str, ...]] = {
    "add": WITH_ALPHA,
    "sub": WITH_ALPHA,
    "where": (
        "Tensor condition",
        "Tensor condition, Tensor input, Tensor other, *, Tensor out = None",
        "Tensor condition, Number self, Tensor other",
        "Tensor condition, Tensor input, Number other",
        "Tensor condition, Number self, Number other",
    ),
    "arange": (
        f"Number end, {CREATION}",
        f"Number start, Number end, {CREATION}",
        f"Number start, Number end, Number step = 1, {CREATION}",
    ),
    "linspace": tuple(
        f"{start} start, {end} end, int steps, {CREATION}"
        for start, end in (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"), ("Number", "Number"))
    ),
    "eye": (f"int n, {CREATION}", f"int n, int m, {CREATION}"),
    "pow": (
        "Tensor input, Tensor exponent, *, Tensor out = None",
        "Number self, Tensor exponent, *, Tensor out = None",
        "Tensor input, Number exponent, *, Tensor out = None",
    ),
    "sum": (
        "Tensor input, *, torch.dtype dtype = None",
        "Tensor input, tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None",
    ),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), COMPARED),
}
"""The call forms of functions that have several, as PyTorch lists them where none fits."""


def takes_numbers(name: str) -> bool:
    """Whether a public function takes a number where others want a tensor."""
    return name in ARITHMETIC or name in COMPARISONS


class Parameters:
    """What a function takes, and the words for what it does not take.

    Args:
        name: its public name.
        names: its positional parameters.
        optional: how many of them, from the end, have a default.
        tensors: positions of those that are tensors.
        keywords: parameters given by keyword only.
        method: whether it is called as a method, so that the first parameter does not count.
        rest: whether it takes any number of arguments.
    """

    def __init__(
        self, name: str, names: tuple[str, ...], optional: int, tensors: tuple[int, ...], *, keywords: tuple[str, ...] = (),
        method: bool = False, rest: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.names = ("input" if names[:1] == ("self",) else names[0], *names[1:]) if names else names
        self.required = len(names) - optional
        self.tensors = tensors
        self.keywords = keywords
        self.method = method
        self.rest = rest

    def refuse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError | None:
        """What is wrong with these arguments, None if nothing is."""
        text = self.too_many(args, kwargs) or self.missing(args, kwargs) or self.unknown(args, kwargs)
        text = text or self.no_tensor(args, kwargs) or self.no_dtype(kwargs.get("dtype"))
        several = self.name in ("where", "arange") and not self.method
        if several and (text or not args or (self.name == "where" and len(args) + len(kwargs) == 2)):
            text = self.no_form(args, kwargs)
        return TypeError(text) if text else None

    def too_many(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """More positional arguments than parameters; or any, for a method that takes none."""
        own = int(self.method)
        takes, given = len(self.names) - own, len(args) - own
        if self.method and not takes and not self.keywords and not self.rest and self.name != "clone":
            if kwargs:
                return f"TensorBase.{self.name}() takes no keyword arguments"
            return f"TensorBase.{self.name}() takes no arguments ({given} given)" if given > 0 else ""
        if self.rest or given <= takes:
            return ""
        verb = "was" if given == 1 else "were"
        return f"{self.name}() takes {takes} positional argument{'' if takes == 1 else 's'} but {given} {verb} given"

    def missing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """A parameter without default that has no argument."""
        named = {"input" if key == "self" else key for key in kwargs}
        absent = [name for name in self.names[len(args) : self.required] if name not in named]
        if not absent:
            return ""
        if self.name in FORMS and not self.method:
            return self.no_form(args, kwargs)
        plural = "s" if len(absent) == 1 else ""  # as PyTorch has it
        listed = ", ".join(f'"{name}"' for name in absent)
        return f"{self.name}() missing {len(absent)} required positional argument{plural}: {listed}"

    def unknown(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """A keyword that is no parameter, or is one that already has its argument."""
        for key in kwargs:
            if key in self.names[: len(args)]:
                return f"{self.name}() got multiple values for argument '{key}'"
            if key not in self.names and key not in self.keywords and key not in ("input", "self"):
                return f"{self.name}() got an unexpected keyword argument '{key}'"
        return ""

    def no_tensor(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Something else where a tensor is wanted."""
        for i in self.tensors:
            name = self.names[i]
            if i >= len(args) and name not in kwargs:
                continue
            value = args[i] if i < len(args) else kwargs[name]
            if isinstance(value, Tensor) or (value is None and i >= self.required):
                continue
            if isinstance(value, NUMBERS) and (self.name in ARITHMETIC or (self.name in COMPARISONS and i)):
                continue
            place = i + 1 - self.method
            at = f" (position {place})" if i < len(args) else ""
            return f"{self.name}(): argument '{name}'{at} must be Tensor, not {type(value).__name__}"
        return ""

    def no_dtype(self, given: Any) -> str:
        """Something else where an element type is wanted."""
        if given is None or isinstance(given, dtype) or given in (int, float, bool, complex):
            return ""
        return f"{self.name}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}"

    def no_form(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """None of several call forms fits."""
        given = [type(value).__name__ for value in args] + [f"{key}={type(value).__name__}" for key, value in kwargs.items()]
        forms = FORMS[self.name]
        listed = f" ({forms[0]})" if len(forms) == 1 else " one of:\n" + "".join(f" * ({form})\n" for form in forms)
        return f"{self.name}() received an invalid combination of arguments - got ({', '.join(given)}), but expected{listed}"


def parameters_of(function: Any, name: str, *, method: bool) -> Parameters:
    """The parameters of a Python function, its tensors told by annotations or, where it has none, by name."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    notes = function.__annotations__
    tensors = tuple(
        i
        for i, parameter in enumerate(names)
        if (str(notes.get(parameter)).startswith("Tensor") if notes else parameter in TENSOR_NAMES)
        or (parameter in ("input", "self") and i == 0)
    )
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    optional = len(function.__defaults__ or ())
    return Parameters(name, names, optional, tensors, keywords=keywords, method=method, rest=bool(code.co_flags & 4))


def public(function: Any, name: str, *, method: bool) -> Any:
    """A function under its public name, its refusals in PyTorch's words.

    Args:
        function: a Python function; anything else is given back as it is.
        name: its public name.
        method: whether it is a method of tensors.
    """
    if not isinstance(function, FunctionType):
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError, ValueError, IndexError, RuntimeError):
            refused = parameters_of(function, name, method=method).refuse(args, kwargs)
            if refused is None:
                raise
            raise refused from None

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


def guarded_row(row: Row, fallback: Any, name: str, *, method: bool) -> Any:
    """A row's general function under a public name: numbers only where PyTorch takes them, refusals in its words."""
    tensors = tuple(i for i in row.inputs if row.parameters[i] not in row.lists)
    takes = Parameters(name, row.parameters, len(row.defaults), tensors, method=method)
    inputs, strict = takes.tensors, not takes_numbers(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if strict:
            for i in inputs:
                if i < len(args) and not isinstance(args[i], Tensor) and (refused := takes.refuse(args, kwargs)) is not None:
                    raise refused
        try:
            return fallback(*args, **kwargs)
        except (TypeError, AttributeError, ValueError, IndexError, RuntimeError):
            refused = takes.refuse(args, kwargs)
            if refused is None:
                raise
            raise refused from None

    return call
