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
from typing import Any

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
    kinds = {kind.__name__: kind for kind in made_from_tensors(error, what)}
    nodes = ast.walk(ast.parse("".join(linecache.getlines(line.filename)))) if kinds else ()
    start, end = (line.lineno, line.colno), (line.end_lineno or 0, line.end_colno or 0)
    makers = {
        one: kind
        for one in nodes
        if isinstance(one, ast.Call)
        and (kind := kinds.get(ast.unparse(one.func).rpartition(".")[2])) is not None
        and not all(isinstance(part, ast.Constant) for part in one.args)
        # of another function who calls it may have given the tensor in the place of a size
        and not (
            needs_sizes(kind) and (start != (one.lineno, one.col_offset) or line.name not in ("<module>", "forward"))
        )
    }
    # in a loop a later one may have run
    maker = max(makers, key=lambda one: ((one.lineno, one.col_offset) <= end, one.lineno, one.col_offset), default=None)
    if maker is None:
        return None
    line.lineno, line.colno, line.end_lineno, line.end_colno = (
        maker.lineno,
        maker.col_offset,
        maker.end_lineno,
        maker.end_col_offset,
    )
    sizes: list[ast.expr] = [ast.Constant(...)] if needs_sizes(makers[maker]) else []  # which nobody knows
    return line, ast.unparse(
        ast.Call(ast.Call(maker.func, sizes, maker.keywords), maker.args[:1] if sizes else maker.args, [])
    )


def made_from_tensors(error: BaseException, what: str) -> Iterator[type]:
    """Yield the classes of what an error is about, and has a tensor, or one argument too many, for an option."""
    refusing = (getattr(engine_module(LIBRARY), name, object) for name in REFUSED.findall(what))
    yield from (kind for kind in refusing if is_layer(kind) and not needs_sizes(kind))
    for frame, _ in walk_tb(error.__traceback__):
        given = frame.f_locals  # of a constructor its arguments
        for one in (value for value in (getattr(error, "obj", None), *given.values()) if is_layer(type(value))):
            values: list[Any] = [
                {**vars(one), **given}.get(name) for name in options(type(one)) if not name.endswith("weight")
            ]
            is_about = given.get("self") is one or type(one).__name__ in what
            has_sizes = needs_sizes(type(one))  # of which the first may be numbers, but no several that are not whole
            tensors = (value for value in values[: 1 if has_sizes else None] if hasattr(type(value), "retain_grad"))
            if is_about and any(
                value.numel() > 1 and value.is_floating_point()
                if has_sizes
                else value.requires_grad or value.dim()  # else it may be a slope
                for value in tensors
            ):
                yield type(one)


def needs_sizes(kind: type) -> bool:
    """Return whether a class of modules cannot be made without options, such as sizes."""
    return any(one.default is one.empty for one in options(kind).values())


def is_layer(kind: object) -> bool:
    """Return whether something is a class of modules of the library, in any engine."""
    is_plain = type(kind) is type  # a class of the program's own metaclass may raise whatever is asked of it
    return is_plain and hasattr(kind, "named_modules") and kind.__module__.startswith(f"{LIBRARY}.")


def options(kind: type) -> dict[str, Parameter]:
    """Return the options of a class of modules by their names."""
    own = signature(kind).parameters.items()
    return {name: one for name, one in own if one.kind is not one.VAR_POSITIONAL and one.kind is not one.VAR_KEYWORD}
