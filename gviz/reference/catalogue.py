"""The engine's operations for people (``gviz ops``): each row of the table with its names and its formulas as text.

All of it is read from the code that runs: the names from :data:`gviz.signatures.names.NAMES`, each with the rows that its
forms call. A name that calls several rows is one of the *forms* of the rows that it is named after; it has the others
as *parts*.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules
from types import CodeType, FunctionType, ModuleType
from typing import Any

from gviz import engine, ops
from gviz.autograd.formulas import inputs_of
from gviz.autograd.node import AccumulateGrad
from gviz.autograd.row import COMPOSITES, ROWS, TENSORS, Row
from gviz.autograd.views import CopySlices
from gviz.engine.nn.options import LAYERS
from gviz.formulas.symbols import formula_text, location, meaning
from gviz.signatures.names import NAMES, UNARY, operator
from gviz.text import joined

Texts = tuple[str, ...]

MOST_NAMED = 8
"""Functions and rows that are named if an operation is a part of them."""


@dataclass(frozen=True)
class TableOperation:
    """One row of the table of operations, as texts."""

    key: str  # its name in formulas
    grad_fn: str | None  # the class of its graph nodes; None if it is not differentiable
    forms: Texts = ()  # as people write it: torch.mul, Tensor.mul_, x * y
    takes: Texts = ()  # the forms of a call of its own names: (Tensor input, Tensor other)
    part_of: Texts = ()  # functions that make it among other operations
    source: str = ""  # the line of its definition: gviz/ops/arithmetic.py:40
    note: str = ""  # a sentence on it, if it is a node without a row

    @property
    def title(self) -> str:
        """``MulBackward0 (mul)``."""
        return self.key if self.note else f"{self.grad_fn or 'no grad_fn'} ({self.key})"

    @cached_property
    def formulas(self) -> tuple[tuple[str, str], ...]:
        """The derivatives, ``(inputs, formula)``; several inputs may share one that gives all gradients."""
        texts = ROWS[self.key].texts if self.key in ROWS else {}
        return tuple((", ".join(inputs_of(name)), formula_text(text)) for name, text in texts.items())

    @cached_property
    def saved(self) -> Texts:
        """Its ``_saved_*`` attributes."""
        attributes = vars(ROWS[self.key].cls) if self.key in ROWS else ()
        return tuple(sorted(name for name in attributes if name.startswith("_saved_")))

    @cached_property
    def derivative_of(self) -> Texts:
        """The rows whose derivatives use it."""
        return tuple(users().get(self.key, ()))

    @cached_property
    def where(self) -> Texts:
        """The meanings of names in these formulas."""
        return tuple(meaning(name) for name in called_by(self.key) if name in COMPOSITES)

    def names(self) -> Iterator[str]:
        """Return every name that a pattern may mean."""
        yield self.key
        yield self.grad_fn or self.key
        for form in self.forms:
            yield from spellings(form)

    def facts(self) -> list[tuple[str, str]]:
        """Return the lines below its title: (head, text)."""
        lines = [
            ("is", self.note),
            ("called as", ", ".join(self.forms)),
            *(("takes", form) for form in self.takes),
            ("part of", joined(self.part_of, MOST_NAMED)),
            ("saves", ", ".join(self.saved)),
            *((f"grad of {inputs}", formula) for inputs, formula in self.formulas),
            *(("where", meaning) for meaning in self.where),
            ("in derivative of", joined(self.derivative_of, MOST_NAMED)),
            ("defined in", self.source),
        ]
        return [line for line in lines if line[1]]

    def as_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        return {
            "name": self.key,
            "grad_fn": self.grad_fn,
            "called_as": self.forms,
            "takes": self.takes,
            "part_of": self.part_of,
            "in_derivative_of": self.derivative_of,
            "saves": self.saved,
            "derivatives": [{"inputs": inputs.split(", "), "formula": formula} for inputs, formula in self.formulas],
            "where": self.where,
            "source": self.source,
            "note": self.note,
        }


NODES = tuple(
    TableOperation(
        node.__name__,
        node.__name__,
        source=location((code := node.apply.__code__).co_filename, code.co_firstlineno),
        note=note,
    )
    for node, note in (
        (AccumulateGrad, "the node of a leaf: it adds the gradient that arrives to the leaf's .grad"),
        (
            CopySlices,
            "the node of a tensor that was written through a view: what was overwritten passes no gradient on",
        ),
    )
)
"""Nodes that come from no row."""


def spellings(form: str) -> Iterator[str]:
    """Return a form, and its name alone: ``relu`` and ``F.relu`` for ``nn.functional.relu``, ``*`` for ``x * y``."""
    yield form
    owner, _, name = form.rpartition(".")
    if is_operator(form):
        yield from form.split()[1:2]
    else:
        yield from (name, f"torch.{form}", *([f"F.{name}"] if owner == "nn.functional" else ()))


def is_operator(form: str) -> bool:
    """Return whether a form is written with a sign."""
    return not form.replace(".", "_").isidentifier()


# ------------------------------------------------------------------ names
def spelled(word: str) -> list[str]:
    """Return how people write a word of a row: ``torch.sum`` and ``Tensor.sum`` for ``sum``, ``2 - x`` for ``r-``."""
    if operator(word):
        return [word if word in UNARY else f"2 {word[1:]} x" if word[0] == "r" else f"x {word} y"]
    space, dot, name = word.rpartition(".")
    owners = [space.replace("F", "nn.functional") or "Tensor"] if dot else ["torch", "Tensor"]
    return [f"{owner}.{name}" for owner in owners]


def public() -> Iterator[tuple[str, Any, Any]]:
    """Return every public name: (as people write it, the function that it calls, the form of the call)."""
    for module in iter_modules(ops.__path__):  # some rows are stored when their module is named
        import_module(f"gviz.ops.{module.name}")
    _, _, space = engine.linalg, engine.special, vars(engine.Tensor)
    for word, name in NAMES.items():
        for form in name.forms:
            yield from ((text, form.call, form) for text in spelled(word))
    yield from ((f"nn.{name}", getattr(layer, "_function_", layer.forward), "") for name, layer in LAYERS.items())
    yield from (
        (f"Tensor.{name}", member.fget, "")
        for name, member in space.items()
        if isinstance(member, property) and member.fget
    )
    yield from (
        (text, space[name], "") for name, text in {"__getitem__": "x[...]", "__setitem__": "x[...] = y"}.items()
    )


def rows_in(start: Any) -> set[str]:
    """Return the rows that a function calls: by their names, through compositions of rows and other functions."""
    rows, seen, todo = set[str](), set[int](), [start]
    while todo:
        function = todo.pop()
        if isinstance(function, Row):
            rows.add(function.key)
        elif hasattr(function, "public"):
            todo += [form for _, form in function.public.declared]
        elif isinstance(function, FunctionType) and id(function) not in seen:
            seen.add(id(function))
            todo += calls_in(function)
    return rows


@cache
def calls_in(function: FunctionType) -> list[Any]:
    """Return the functions and rows of the engine that a function names."""
    if isinstance(row := function.__globals__.get("row"), Row):  # code that was written for the calls of this row alone
        return [row]
    space, closure = function.__globals__, [cell.cell_contents for cell in function.__closure__ or ()]
    names = {name for code in codes(function.__code__) for name in code.co_names}
    texts = {text for code in codes(function.__code__) for text in (*code.co_consts, *closure) if isinstance(text, str)}
    spaces = [space, *(vars(space[name]) for name in names if isinstance(space.get(name), ModuleType))]
    near = [one for space in spaces for name in names if is_ours(one := space.get(name))]
    return [*near, *filter(is_ours, closure), *(TENSORS[key] for key in texts & TENSORS.keys())]


def is_ours(value: Any) -> bool:
    """Return whether a value is a function of the engine, which may call rows."""
    return hasattr(value, "public") or str(getattr(value, "__module__", "")).startswith(
        ("gviz.ops", "gviz.engine", Row.__module__)
    )


def codes(code: CodeType) -> Iterator[CodeType]:
    """Return a function's code, and that of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


def is_form(name: str, function: Any, row: Row, rows: set[str]) -> bool:
    """Return whether a function of these rows is a name of one: is called so, chooses among few, or only calls it."""
    if function is row or (is_operator(name) and len(rows) < 6):
        return True
    bare, family = name.rpartition(".")[2].removesuffix("_"), str(row.node).partition("Backward")[0].lower()
    return f"{row.key}_".startswith(f"{bare}_") or family == bare.replace("_", "") or len(rows) == 1


# ------------------------------------------------------------------ operations
@cache
def operations() -> tuple[TableOperation, ...]:
    """Return all operations, in the order of their names; loads the whole engine."""
    names = list(public())  # which stores all rows
    forms, takes, parts = ({key: dict[str, None]() for key in ROWS} for _ in range(3))
    for name, function, form in names:
        rows = rows_in(function)
        for key in rows:
            (forms if is_form(name, function, ROWS[key], rows) else parts)[key][name] = None
            if function is ROWS[key] and form and not form.deprecated:
                takes[key][form.text(0, False)] = None
    return tuple(
        TableOperation(
            key, row.node, tuple(sorted(forms[key], key=order_of_form)), tuple(takes[key]),
            tuple(sorted(parts[key].keys() - forms[key].keys(), key=order_of_form)), location(*row.place),
        )
        for key, row in sorted(ROWS.items())
    )  # fmt: skip


@cache
def users() -> dict[str, list[str]]:
    """Return the rows whose derivatives use a row."""
    users_of: dict[str, list[str]] = {}
    for user in ROWS:
        for key in set[str]().union(*(rows_in(TENSORS.get(name)) for name in called_by(user))) - {user}:
            users_of.setdefault(key, []).append(user)
    return users_of


def called_by(key: str) -> dict[str, None]:
    """Return the names that the derivatives of a row call, in order."""
    formulas = ROWS[key].formulas.values() if key in ROWS else ()
    return dict.fromkeys(name for formula in formulas for name in formula.__code__.co_names)


def order_of_form(form: str) -> tuple[int, str]:
    """Return the place of a form among others: functions, operators, methods, in-place methods, those of submodules."""
    owner, _, name = form.rpartition(".")
    return 1 if is_operator(form) else {"torch": 0, "Tensor": 3 if name.endswith("_") else 2}.get(owner, 4), form


def matching(pattern: str) -> list[TableOperation]:
    """Return the operations that a pattern means; of the parts of a function those first that few others have.

    It is a name (``mul``, ``torch.mul``, ``x*y``, ``Tensor.__mul__``, ``MulBackward0``), else that of a function that
    they are part of (``matmul``), else a glob (``Mul*``) or a part of names (``softm``), whatever its case.
    """
    dunder = pattern.removeprefix("torch.").removeprefix("Tensor.")
    pattern = next((spelled(word)[0] for word in NAMES if operator(word) == dunder), pattern)
    glob, dense = pattern.lower() if set(pattern) & set("*?[") else f"*{pattern.lower()}*", pattern.replace(" ", "")
    for fits in (lambda name: name.replace(" ", "") == dense, lambda name: fnmatch.fnmatchcase(name.lower(), glob)):
        if matches := [one for one in (*operations(), *NODES) if any(map(fits, one.names()))]:
            return matches
        if parts := [
            one for one in operations() if any(fits(text) for form in one.part_of for text in spellings(form))
        ]:
            return sorted(parts, key=lambda one: len(one.part_of))
    return []
