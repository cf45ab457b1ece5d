"""Public functions: what PyTorch takes, and its type of error and words for what it does not take.

Before a call that can succeed only a glance is taken at flags, dims and the like, which numpy would take in any shape
(:data:`USUAL`). What is unusual there, and what a call raised, is looked at by PyTorch's own list of call forms
(``signatures.py``). Where they refuse the call, the caller hears that; where they take it with words that the function here
does not know (numpy's names, ``out=None``), it is called again without them; else what it raised stands.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from gviz.engine.calls.handed import refuse_handed
from gviz.engine.data.classes import type_text
from gviz.engine.data.dtypes import dtype
from gviz.engine.data.printing import Size
from gviz.engine.data.words import no_memory
from gviz.engine.tensor import Tensor

if TYPE_CHECKING:
    from gviz.engine.op import Row

__all__ = ["guarded_row", "public", "takes_numbers"]

ARITHMETIC = frozenset({
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "pow",
    "result_type", "xlogy",
})  # fmt: skip
"""Functions that take a number for any tensor."""
COMPARISONS = frozenset({
    "eq", "ne", "not_equal", "lt", "less", "le", "less_equal", "gt", "greater", "ge", "greater_equal", "fmod", "lerp", "clamp",
    "clip", "clamp_min", "clamp_max", "masked_fill", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift", "copysign", "max", "min", "rsub",
})  # fmt: skip
"""Functions that take a number for any tensor but the first."""
PAIRWISE = frozenset({"max", "min"})
"""Functions whose dim may be another tensor."""
TENSOR_NAMES = frozenset({
    "self", "input", "other", "mat1", "mat2", "vec", "vec2", "tensor", "tensor1", "tensor2", "weight", "condition", "batch1",
    "batch2", "index", "end", "mask",
})  # fmt: skip
"""Parameters of a plain function over rows that are tensors: it has no annotations that would say so."""
SIZES: frozenset[Any] = frozenset({tuple, list, Size})
FLAGS: frozenset[Any] = frozenset({bool})
WHOLE: frozenset[Any] = frozenset({int})
REAL: frozenset[Any] = frozenset({int, float, type(None)})
USUAL: dict[str, frozenset[Any]] = {
    **dict.fromkeys(("keepdim", "descending", "largest", "sorted", "unbiased", "stable", "accumulate", "replacement"), FLAGS),
    **dict.fromkeys(("non_blocking", "wrap", "as_tuple", "upper", "return_inverse", "return_counts"), FLAGS),
    **dict.fromkeys(("ceil_mode", "count_include_pad", "is_causal", "enable_gqa", "training", "equal_nan", "right"), FLAGS),
    **dict.fromkeys(("use_input_stats", "scale_grad_by_freq", "sparse"), FLAGS),
    **dict.fromkeys(("x1", "x2", "indices"), frozenset({Tensor})),
    **dict.fromkeys(("alpha", "beta", "value"), frozenset({int, float})),
    **dict.fromkeys(("dim0", "dim1", "start_dim", "end_dim", "diagonal", "split_size", "chunks", "k", "bins"), WHOLE),
    **dict.fromkeys(("offset", "n"), WHOLE),
    **dict.fromkeys(("nan", "posinf", "neginf", "eps"), REAL),
    **dict.fromkeys(("min", "max"), REAL | {Tensor}),
    **dict.fromkeys(("dim", "axis"), SIZES | {int}),
    **dict.fromkeys(("shifts", "dims"), SIZES | {int}),
    "exponent": frozenset({int, float, Tensor}),
    "fill_value": REAL,
    "dtype": frozenset({dtype, type, type(None)}),
}
"""The types that parameters of these names have nearly always; others are looked at."""
ASKED = {
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), "size"), "binary_cross_entropy": "size",
    "binary_cross_entropy_with_logits": "size", "sigmoid": "sigmoid", "tanh": "tanh", "tanhshrink": "tanh", "softsign": "abs",
    "glu": "dim", "normalize": "norm", "softmax": "softmax", "log_softmax": "log_softmax",
    "interpolate": "dim",
}  # fmt: skip
"""What functions that PyTorch has in Python ask of their argument first, whatever it is."""
DISPATCHED = {name: f"_{name}" for name in ("max_pool1d", "max_pool2d", "max_pool3d", "threshold")}
"""What functions are called in PyTorch that stand behind a public name."""
REFUSALS = (TypeError, AttributeError, ValueError, IndexError, KeyError, RuntimeError, OverflowError, MemoryError)


def takes_numbers(name: str) -> bool:
    """Whether a public function takes a number where others want a tensor."""
    return name in ARITHMETIC or name in COMPARISONS


def public(function: Any, name: str, *, method: bool, place: str = "") -> Any:
    """A function under its public name, its refusals in PyTorch's words.

    Args:
        function: a Python function; anything else is given back as it is.
        name: its public name.
        method: whether it is a method of tensors.
        place: "F." for one of ``nn.functional``.
    """
    if not isinstance(function, FunctionType):
        return function
    code = function.__code__
    watched = to_watch(code.co_varnames[: code.co_argcount])
    if name in PAIRWISE:
        watched[0] = watched[0][0], watched[0][1] | {Tensor}
    if not method and code.co_flags & VARIOUS and code.co_varnames[0] == "input":
        watched.append((1, SIZES))  # only methods take sizes one by one

    strict = name in COMPARISONS and not method

    def call(*args: Any, **kwargs: Any) -> Any:
        if strict and args and not isinstance(args[0], Tensor):
            check(name, args, kwargs, method=False)
        count = len(args)
        for i, usual in watched:
            if i < count and args[i].__class__ not in usual:
                check(place + name, args, kwargs, method=method, function=function)
        if kwargs and has_unusual(kwargs, count):
            check(place + name, args, kwargs, method=method, function=function)
        try:
            return function(*args, **kwargs)
        except REFUSALS as error:
            return looked_at(function, place + name, error, args, kwargs, method=method)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


def guarded_row(row: Row, fallback: Any, name: str, *, method: bool) -> Any:
    """A row's general function under a public name: numbers only where PyTorch takes them, refusals in its words."""
    strict = [i for i in row.inputs if row.parameters[i] not in row.lists]
    strict = [] if name in ARITHMETIC else strict[:1] if name in COMPARISONS else strict
    watched = to_watch(row.parameters)
    needed = [i for i in row.inputs if i < len(row.parameters) - len(row.defaults)]

    def call(*args: Any, **kwargs: Any) -> Any:
        count = len(args)
        for i, usual in watched:
            if i < count and args[i].__class__ not in usual:
                check(name, args, kwargs, method=method)
        if kwargs and has_unusual(kwargs, count):
            check(name, args, kwargs, method=method)
        for i in needed:
            if i < count and args[i] is None:
                check(name, args, kwargs, method=method)
        for i in strict:
            if i < count and not isinstance(args[i], Tensor):
                check(name, args, kwargs, method=method)
        try:
            return fallback(*args, **kwargs)
        except REFUSALS as error:
            return looked_at(fallback, name, error, args, kwargs, method=method)

    return call


VARIOUS = 4
"""The flag of a Python function that takes any number of arguments."""


def to_watch(names: tuple[str, ...]) -> list[tuple[int, frozenset[Any]]]:
    """The places of parameters that have a usual type."""
    return [(i, USUAL[name]) for i, name in enumerate(names) if name in USUAL]


def has_unusual(kwargs: dict[str, Any], count: int) -> bool:
    """Whether a keyword's value has another type than such ones nearly always have, or is an axis next to other arguments."""
    if USUAL.keys().isdisjoint(kwargs):
        return False
    if count > 1 and "axis" in kwargs:
        return True
    return any(key in USUAL and value.__class__ not in USUAL[key] for key, value in kwargs.items())


def check(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, method: bool, function: Any = None) -> None:
    """Refuse a call that PyTorch refuses, in its words; the function is one that it may have in Python too."""
    from gviz.engine.calls.signatures import accepted, forms_of

    if forms_of("." * method + name) is not None:
        accepted(name, args[1:] if method else args, kwargs, method=method)
    elif function and (refused := in_python(function, name.removeprefix("F."), None, args, kwargs)) is not None:
        raise refused


def looked_at(
    function: Any, name: str, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any], *, method: bool
) -> Any:
    """What becomes of a call that raised: PyTorch's refusal, another try in the function's own words, or the error as it is."""
    from gviz.engine.calls.signatures import accepted, forms_of

    if isinstance(error, MemoryError):
        raise no_memory(error) from None
    short = name.removeprefix("F.")
    if forms_of("." * method + name) is None:
        raise in_python(function, "Tensor." * method + short, error, args, kwargs) from None
    try:
        given, words = accepted(name, args[1:] if method else args, kwargs, method=method)
        given = (*args[:1], *given) if method else given
    except (TypeError, ValueError, OverflowError) as refused:
        raise refused from None
    if words.get("out") is not None and isinstance(error, TypeError):
        from gviz.engine.inplace import write_out

        out = words.pop("out")
        return write_out(short, out, lambda: function(*args, **words), (*args, *words.values()))
    plainer = len(given) != len(args) or any(one is not was for one, was in zip(given, args, strict=True))
    plainer = plainer or words.keys() != kwargs.keys() or any(words[key] is not kwargs[key] for key in words)
    if isinstance(error, TypeError) and plainer:
        return function(*given, **words)
    raise error from None


def in_python(function: Any, name: str, error: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The error of a function that PyTorch has in Python too: under its public name, or of the built-in one that it calls."""
    start = f"{function.__qualname__}()"
    if isinstance(error, TypeError) and str(error).startswith(start):  # Python counts the arguments before anything else
        return TypeError(f"{DISPATCHED.get(name, name)}(){str(error).removeprefix(start)}")
    if asked := ASKED.get(name):
        for value in args[1::-1] if asked == "size" else args[:1]:  # a loss asks its target first
            if not isinstance(value, Tensor):
                return AttributeError(f"'{type_text(value)}' object has no attribute '{asked}'")
    function = getattr(function, "__wrapped__", function)
    try:
        refuse_handed(function, name.removeprefix("Tensor."), args, kwargs)
    except (TypeError, ValueError, OverflowError, RuntimeError) as refused:
        return refused
    code = function.__code__
    names, notes = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], function.__annotations__
    given = dict(zip(names, args, strict=False)) | kwargs
    least = code.co_argcount - len(function.__defaults__ or ())
    if error is None and not given.keys() >= {*names[:least]}:
        return None  # Python will say so
    for i, (parameter, value) in enumerate((one, given[one]) for one in names if one in given):
        note = str(notes.get(parameter))
        tensor = note.startswith("Tensor") if notes else parameter in TENSOR_NAMES
        known = value is None and (note.endswith("None") or i >= least)
        if (tensor or (i == 0 and parameter in {"input", "self"})) and not isinstance(value, Tensor) and not known:
            name = name.removeprefix("Tensor.")
            return TypeError(f"{name}(): argument '{parameter}' (position {i + 1}) must be Tensor, not {type_text(value)}")
    return error
