"""A module that was made from the tensors it was to be called with: ``nn.MSELoss(y, t)``, ``h = nn.ReLU(h)``.

Where the options are used at once, as those of a loss are, that line fails; else a later one, which is sound.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Mapping
from inspect import Parameter, signature
from traceback import FrameSummary, walk_tb
from types import FrameType, ModuleType
from typing import Any

LIBRARY = "torch.nn."
"""Where the classes are whose options are known: of those the weights of classes are tensors, and no others."""

REFUSED = re.compile(r"Tensor|positional argument|multiple values for argument")
"""What is in the words by which a constructor refuses a tensor."""


def construction(error: BaseException, what: str, line: FrameSummary) -> tuple[FrameSummary, str] | None:
    """Return where a module was made from tensors, and the call to write there, if an error comes of that; else None.

    Args:
        error: what was raised.
        what: its text.
        line: where the program's code was.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    running = next(one for one in reversed(frames) if one.f_code.co_filename == line.filename)
    nodes = ast.walk(ast.parse("".join(linecache.getlines(line.filename))))
    calls = {one: kind for one in nodes if isinstance(one, ast.Call) and (kind := class_made(one, running))}
    begin, end = (line.lineno or 0, line.colno or 0), (line.end_lineno or 0, line.end_colno or 0)
    made = next((one for one in calls if span_of(one) == (begin, end) and REFUSED.search(what)), None)
    if made is None:
        values = [
            *([error.obj] if isinstance(error, AttributeError) else []),
            *(value for frame in frames for value in frame.f_locals.values()),
        ]
        kinds = {type(one) for one in values if has_tensor_as_option(one) and type(one).__name__ in what}
        makers = [one for one, kind in calls.items() if kind in kinds]
        has_run = {
            one: start < end if begin <= start else stop <= begin for one in makers for start, stop in [span_of(one)]
        }
        made = max(makers, key=lambda one: (has_run[one], span_of(one)), default=None)  # in a loop a later one may have
    if made is None:
        return None
    (line.lineno, line.colno), (line.end_lineno, line.end_colno) = span_of(made)
    return line, ast.unparse(ast.Call(ast.Call(made.func, [], made.keywords), made.args, []))


def span_of(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where an expression begins and ends."""
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def class_made(call: ast.Call, frame: FrameType) -> type | None:
    """Return the class of the library that a call makes a module of without need, from what is no constant; or None."""
    first, *others = ast.unparse(call.func).split(".")
    value: Any = frame.f_locals.get(first, frame.f_globals.get(first))
    for one in others:
        value = vars(value).get(one) if isinstance(value, ModuleType) else None
    own = options(value) if is_layer(value) else {}
    is_free = is_layer(value) and all(one.default is not one.empty for one in own.values())
    is_right = is_free and all(one.arg in own for one in call.keywords)
    return value if is_right and any(not isinstance(one, ast.Constant) for one in call.args) else None


def is_layer(kind: object) -> bool:
    """Return whether something is a class of modules of the library, in any engine."""
    is_plain = type(kind) is type  # a class of the program's own metaclass may raise whatever is asked of it
    return is_plain and hasattr(kind, "named_modules") and kind.__module__.startswith(LIBRARY)


def has_tensor_as_option(value: object) -> bool:
    """Return whether a module of the library has kept a tensor as an option that is none."""
    names = [one for one in options(type(value)) if not one.endswith("weight")] if is_layer(type(value)) else []
    return any(hasattr(type(vars(value).get(name)), "retain_grad") for name in names)


def options(kind: type) -> Mapping[str, Parameter]:
    """Return the options of a class of modules by their names."""
    is_none = kind.__init__.__qualname__ == "Module.__init__"  # type: ignore[misc]
    return {} if is_none else signature(kind).parameters
