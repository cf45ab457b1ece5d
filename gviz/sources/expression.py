"""Expressions: ``y=(x+w)*(w+1)`` to tensors of gviz's engine, with a name for each.

An expression is parsed by Python's parser, looked through against an allow-list, and computed node by node; no text of
the user's is executed. What has no name is called a, b, c ... in the order of computing.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.sources.expression_check import Program, check
from gviz.sources.expression_limits import Budget, is_tensor
from gviz.sources.expression_names import Naming, parts_of
from gviz.sources.expression_parse import Source, parse
from gviz.sources.expression_root import find_roots, not_finite, retain, run_backward
from gviz.sources.expression_run import Runner
from gviz.sources.expression_text import Item, kind_of
from gviz.sources.names import FUNCTIONS, did_you_mean, load_engine, shown
from gviz.sources.options import Evaluated, Note, SourceOptions
from gviz.sources.values import find_dtype, make_value, normalized, unused_text

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        MissingError: it needs a function that the engine does not have yet.

    >>> result = evaluate("y=(x+w)*(w+1)", SourceOptions(values={"x": "2", "w": "1"}))
    >>> {name: tensor.item() for name, tensor in result.names.items()}
    {'x': 2.0, 'w': 1.0, 'a': 3.0, 'b': 2.0, 'y': 6.0}
    >>> result.expressions, result.names["w"].grad.item()
    ({'a': 'x + w', 'b': 'w + 1'}, 5.0)
    """
    options = _normalized(options or SourceOptions())
    source = Source(text)
    statements = parse(source)
    if not statements:
        raise SourceError("the expression is empty", hint='write one, as in gviz render "y=(x+w)*(w+1)" x=2 w=1')
    program = check(statements, source, options.values)
    _check_frozen(program, options)
    notes = notes_on_names(program, options)
    run = _Run(program, options)
    last = run.compute()
    tensors = run.naming.tensors
    roots = find_roots(program, options, tensors, last)
    notes += retain(options.retain, tensors)
    if options.backward:
        notes += run_backward(run.engine, program, options, roots)
    notes += not_finite(tensors, run.naming.expressions)
    return Evaluated(tensors, roots, run.naming.expressions, tuple(notes))


class _Run:
    """One computation of a program.

    Args:
        program: the expression, looked through.
        options: values and what is frozen.
    """

    def __init__(self, program: Program, options: SourceOptions) -> None:
        self.program = program
        self.engine = load_engine()
        if program.is_random or any("rand" in text for text in options.values.values()):
            self.engine.manual_seed(0)
        budget = Budget()
        self.naming = Naming({*program.names, *options.values})
        self.values = self._leaves(options, budget)
        bound = {*options.values, *program.assigned}
        self.runner = Runner(self.engine, program.source, self.values, bound, budget=budget, named=self.naming.unnamed)

    def compute(self) -> str:
        """Compute every statement; the name of the last tensor."""
        *others, final = self.program.statements
        for statement in others:
            self._statement(statement)
        return self._statement(final, is_final=True)

    def _leaves(self, options: SourceOptions, budget: Budget) -> dict[str, Any]:
        """The value of each name that needs one, 1.0 where none is given; values that are not needed are read too."""
        dtype = find_dtype(self.engine, options.dtype)
        leaves: dict[str, Any] = {}
        for name in [*self.program.free, *(name for name in options.values if name not in self.program.free)]:
            free = name not in options.frozen
            leaf = make_value(self.engine, name, options.values.get(name, "1.0"), dtype, requires_grad=free, budget=budget)
            if name in self.program.free:
                leaves[name] = leaf
                self.naming.assign(name, leaf)
        return leaves

    def _statement(self, statement: ast.Assign | ast.Expr, *, is_final: bool = False) -> str:
        item = self.runner.run(statement.value)
        if isinstance(statement, ast.Assign):
            return self._assign(statement, item, is_final=is_final)
        if not is_final:
            return self.naming.unnamed(item.value, item.text, item.live) or "" if is_tensor(item.value) else ""
        self._check_root(item.value, statement, item.text)
        return self.naming.root(item.value, item.text)

    def _assign(self, statement: ast.Assign, item: Item, *, is_final: bool) -> str:
        """Store what a statement assigns; the last name that may be a root."""
        bound: list[tuple[str, Any]] = []
        for target in statement.targets:
            if isinstance(target, ast.Name):
                bound.append((target.id, item.value))
            elif isinstance(target, ast.Tuple | ast.List):
                names = [name.id for name in target.elts if isinstance(name, ast.Name)]
                bound += zip(names, self._parts(target, item.value), strict=True)
        for name, value in bound:
            self.values[name] = value
            self.naming.assign(name, value)
        tensors = [(name, value) for name, value in bound if is_tensor(value)]
        if not is_final:
            return ""
        if not tensors:
            self._check_root(item.value, statement, bound[-1][0])
        with_graph = [name for name, value in tensors if value.requires_grad]
        return with_graph[-1] if with_graph else tensors[-1][0]

    def _parts(self, target: ast.Tuple | ast.List, value: Any) -> list[Any]:
        """What ``values, indices = ...`` gives to each name."""
        count = len(target.elts)
        if is_tensor(value) and value.dim() and value.shape[0] == count:
            return list(value.unbind(0))
        if isinstance(value, tuple | list) and len(value) == count:
            return list(value)
        size = len(value) if isinstance(value, tuple | list) else value.shape[0] if is_tensor(value) and value.dim() else 1
        raise SourceError(
            f"{count} name{'s' * (count != 1)} for {size} part{'s' * (size != 1)}",
            place=self.program.source.place(target),
            hint="write as many names as parts",
        )

    def _check_root(self, value: Any, statement: ast.stmt, name: str) -> None:
        """Refuse a last statement that makes no tensor."""
        if is_tensor(value):
            return
        place = self.program.source.place(statement)
        tensors = parts_of(value, name) if isinstance(value, tuple | list) else []
        if tensors:
            hint = f"take one of them: {' or '.join(text for _, text in tensors[:3])}"
            if isinstance(getattr(statement, "value", None), ast.Tuple):
                hint = f"a comma makes a tuple: write a decimal point as . (1.5); else {hint}"
            raise SourceError(f"{name} is several tensors, a root is one", place=place, hint=hint)
        hint = "write a name and give it a value: y=x*2 x=3"
        raise SourceError(f"{name} is {kind_of(value)}, there is no tensor and so no graph in it", place=place, hint=hint)


def _normalized(options: SourceOptions) -> SourceOptions:
    """The options with every name as Python reads it."""
    values: dict[str, str] = {}
    for name, text in options.values.items():
        plain = normalized(name)
        if plain in values:
            raise SourceError(f"{plain} has a value twice", hint="leave one out")
        values[plain] = text
    from dataclasses import replace

    return replace(
        options,
        values=values,
        roots=tuple(dict.fromkeys(_plain(name) for name in options.roots)),
        frozen=tuple(_plain(name) for name in options.frozen),
        retain=tuple(dict.fromkeys(_plain(name) for name in options.retain)),
    )


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
        raise SourceError(
            f"--frozen {shown(name)}: there is no value of that name", hint=did_you_mean(name, program.free, there)
        )


def notes_on_names(program: Program, options: SourceOptions) -> list[Note]:
    """What to say of values that are missing, not used, or known without being given."""
    notes: list[Note] = []
    missing = [name for name in program.free if name not in options.values]
    if missing:
        functions = [name for name in missing if name in FUNCTIONS and len(name) > 1]
        called = f" (to call the function, write {functions[0]}(...))" if functions else ""
        if "e" in missing:
            called += "; exp(x) is the exponential function"
        notes.append(Note(f"{', '.join(missing)} not given: 1.0 used{called}"))
    if program.constants:
        notes.append(Note(f"{', '.join(program.constants)}: the constant of that name; a value of yours wins"))
    notes += [Note(_unused(name, program, options.values), "warning") for name in options.values if name not in program.free]
    return notes


def _unused(name: str, program: Program, values: Mapping[str, str]) -> str:
    if name in program.assigned:
        return f"{name}={shown(values[name])} is not used: the expression assigns {name} itself"
    return unused_text(name, values, program.free)
