"""A module that was made from the tensors it was to be called with: ``nn.MSELoss(y, t)``, ``h = nn.ReLU(h)``.

Where the options are used at once, as those of a loss are, that line fails; else a later one, which is sound.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from inspect import Parameter, signature
from traceback import FrameSummary, walk_tb

from gviz.sources.script.process import engine_module

LIBRARY = "torch.nn"
"""Where the classes are whose options are known: of those the weights of classes are tensors, and no others."""

REFUSED = re.compile(r"(\w+)\.__init__\(\) (?:takes|got multiple values)")
"""How Python refuses an argument that a class has no option for."""


def construction(error: BaseException, what: str, line: FrameSummary) -> tuple[FrameSummary, str] | None:
    """Return where a module was made from tensors, and the call to write there, if an error comes of that; else None.

    Args:
        error: what was raised.
        what: its text.
        line: where the program's code was.
    """
    kinds = {*filter(is_layer, made_from_tensors(error, what))}
    names = {kind.__name__ for kind in kinds if all(one.default is not one.empty for one in options(kind).values())}
    nodes = ast.walk(ast.parse("".join(linecache.getlines(line.filename)))) if names else ()
    calls = [one for one in nodes if isinstance(one, ast.Call) and ast.unparse(one.func).rpartition(".")[2] in names]
    makers = {span_of(one): one for one in calls if not all(isinstance(part, ast.Constant) for part in one.args)}
    end = line.end_lineno or 0, line.end_colno or 0
    if not makers:
        return None
    span = max(makers, key=lambda own: (own[0] <= end, own))  # in a loop a later one may have run
    (line.lineno, line.colno), (line.end_lineno, line.end_colno) = span
    return line, ast.unparse(ast.Call(ast.Call(makers[span].func, [], makers[span].keywords), makers[span].args, []))


def made_from_tensors(error: BaseException, what: str) -> Iterator[type]:
    """Yield the classes of what an error is about, and has a tensor, or one argument too many, for an option."""
    yield from (getattr(engine_module(LIBRARY), name, object) for name in REFUSED.findall(what))
    for frame, _ in walk_tb(error.__traceback__):
        given = frame.f_locals  # of a constructor its arguments
        for one in filter(is_module, (getattr(error, "obj", None), *given.values())):
            values = [{**vars(one), **given}.get(name) for name in options(type(one)) if not name.endswith("weight")]
            is_about = given.get("self") is one or type(one).__name__ in what
            tensors = (value for value in values if value is not None and hasattr(type(value), "retain_grad"))
            if is_about and any(value.requires_grad or value.dim() for value in tensors):  # else it may be a slope
                yield type(one)


def span_of(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where an expression begins and ends."""
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def is_module(value: object) -> bool:
    """Return whether something is a module of the library, in any engine."""
    return is_layer(type(value))


def is_layer(kind: object) -> bool:
    """Return whether something is a class of modules of the library, in any engine."""
    is_plain = type(kind) is type  # a class of the program's own metaclass may raise whatever is asked of it
    return is_plain and hasattr(kind, "named_modules") and kind.__module__.startswith(f"{LIBRARY}.")


def options(kind: type) -> dict[str, Parameter]:
    """Return the options of a class of modules by their names."""
    own = signature(kind).parameters.items()
    return {name: one for name, one in own if one.kind is not one.VAR_POSITIONAL and one.kind is not one.VAR_KEYWORD}
