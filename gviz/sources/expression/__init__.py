"""Expressions: ``y=(x+w)*(w+1)`` to tensors of gviz's engine, with a name for each.

An expression is read by Python's parser, held against an allow-list, compiled once with a hook around each piece, and run.
What has no name is called a, b, c ... in the order of computing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from gviz import engine
from gviz.errors import SourceError
from gviz.sources.expression.allowed import RANDOM, is_function
from gviz.sources.expression.limits import Budget
from gviz.sources.expression.naming import Names
from gviz.sources.expression.parse import Source, read
from gviz.sources.expression.root import find_roots, not_finite, retain, run_backward
from gviz.sources.expression.run import run
from gviz.sources.expression.values import make_leaves, normalized
from gviz.sources.options import Evaluated, Note, SourceOptions, short
from gviz.text import did_you_mean, excerpt

if TYPE_CHECKING:
    from gviz.sources.expression.check import Program

__all__ = ["evaluate", "notes_on_names"]


def evaluate(text: str, options: SourceOptions | None = None) -> Evaluated:
    """Compute an expression, and run backward from its roots.

    Args:
        text: statements separated by ``;`` or newlines; the last assigned name is the root, or a formula without a name.
        options: values of the names, roots, what is frozen or retained.

    Returns:
        Every named tensor, the roots, what the automatic names stand for, and what there is to say.

    Raises:
        SourceError: it cannot be read, computed or drawn; with the place of what is wrong.

    >>> result = evaluate("y=(x+w)*(w+1)", SourceOptions(values={"x": "2", "w": "1"}))
    >>> {name: tensor.item() for name, tensor in result.names.items()}
    {'x': 2.0, 'w': 1.0, 'a': 3.0, 'b': 2.0, 'y': 6.0}
    >>> result.expressions, result.names["w"].grad.item()
    ({'a': 'x + w', 'b': 'w + 1'}, 5.0)
    """
    options = _normalized(options or SourceOptions())
    program = read(Source(text), options.values)
    _check_frozen(program, options)
    notes = notes_on_names(program, options)
    budget = Budget()
    if not RANDOM.isdisjoint(re.findall(r"\w+", " ".join([text, *map(str, options.values.values())]))):
        engine.manual_seed(0)
    leaves = make_leaves(program.free, options, budget)
    names = Names(program, leaves, options.values)
    last = names.root(run(program, leaves.values(), budget, names))
    tensors = names.tensors
    roots = find_roots(program, options, tensors, last)
    notes += retain(options.retain, tensors)
    if options.backward:
        notes += run_backward(program, options, roots)
    notes += not_finite(tensors, names.expressions)
    return Evaluated(tensors, roots, names.expressions, tuple(notes))


def _normalized(options: SourceOptions) -> SourceOptions:
    """The options with every name as Python reads it."""
    values: dict[str, str] = {}
    for name, text in options.values.items():
        plain = normalized(name)
        if plain in values:
            raise SourceError(f"{plain} has a value twice", hint="leave one out")
        values[plain] = text
    lists = {key: tuple(dict.fromkeys(map(_plain, getattr(options, key)))) for key in ("roots", "frozen", "retain")}
    return replace(options, values=values, **lists)  # type: ignore[arg-type]


def _plain(name: str) -> str:
    """A name of an option; it may also be one such as ``m.values``, which is looked up as it is."""
    return normalized(name) if name.isidentifier() else name


def _check_frozen(program: Program, options: SourceOptions) -> None:
    """Refuse to freeze what has no value of its own."""
    for name in options.frozen:
        if name in program.free or name in options.values:
            continue
        if name in program.assigned:
            hint = f"freeze the values that it is made from, or write {name} = (...).detach()"
            raise SourceError(f"--frozen {name}: {name} is computed; only values can be frozen", hint=hint)
        there = f"the values are {', '.join(program.free)}" if program.free else "there is no value in it"
        hint = did_you_mean(name, program.free, there)
        raise SourceError(f"--frozen {excerpt(name)}: there is no value of that name", hint=hint)


def notes_on_names(program: Program, options: SourceOptions) -> list[Note]:
    """What to say of values that are missing, not used, or known without being given."""
    notes: list[Note] = []
    missing = [name for name in program.free if name not in options.values]
    if missing:
        called = [name for name in missing if len(name) > 1 and is_function(name)]
        more = f" (to call the function, write {called[0]}(...))" if called else ""
        more += "; exp(x) is the exponential function" if "e" in missing else ""
        notes.append(Note(f"{', '.join(missing)} not given: 1.0 used{more}"))
    if program.constants:
        notes.append(Note(f"{', '.join(program.constants)}: the constant of that name; a value of yours wins"))
    for name, value in options.values.items():
        if name not in program.free:
            why, hint = f"the expression has no {name}", did_you_mean(name, missing)
            if name in program.assigned:
                why, hint = f"the expression assigns {name} itself", ""
            notes.append(Note("; ".join(filter(None, [f"{name}={short(value)} is not used: {why}", hint])), "warning"))
    return notes
