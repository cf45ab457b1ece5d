"""What the engine has: every row of the table with the names that lead to it, what it saves, and its formulas as text.

All of it is read from the table and from the code of the public functions, so that it is what runs. A name that stands for a
row is one of its *forms*: it is bound to the row, has its name (``torch.sum`` is SumBackward0 or SumBackward1), is an operator,
or does nothing but choose a row of one family. A function that makes several operations (``torch.matmul``) has them as *parts*.
"""

from __future__ import annotations

import dis
import fnmatch
import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from pkgutil import iter_modules
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from gviz.autograd import inplace
from gviz import ops
from gviz.autograd.node import AccumulateGrad, Node
from gviz.autograd.row import COMPOSITES, ROWS, TENSORS, Row
from gviz.engine.readers.symbols import formula_text, meaning
from gviz.autograd.tensor import Tensor
from gviz.autograd.views import CopySlices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Operation", "matching", "operations"]

MODULES = {"torch": "", "nn": ".nn", "nn.functional": ".nn.functional", "linalg": ".linalg", "special": ".special"}
"""Where PyTorch's functions and layers are -> the engine's module."""

WRITTEN: dict[type[Node], str] = {
    AccumulateGrad: "the node of a leaf: it adds the gradient that arrives to the leaf's .grad",
    CopySlices: "the node of a tensor that was written through a view: what was overwritten passes no gradient on",
}
"""Nodes that come from no row: what they are."""

BEHIND = ("_function", "forward", "fget")
"""Where the function of a layer or of a property is."""

FOLLOWED = ("gviz.engine.nn", "gviz.engine.linalg", "gviz.autograd.inplace")
"""Modules whose functions choose rows: what they call in each other is followed."""

SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
OTHER_SIGNS = {"neg": "-x", "pos": "+x", "invert": "~x", "abs": "abs(x)", "getitem": "x[...]", "setitem": "x[...] = y"}


@dataclass(frozen=True)
class Operation:
    """One row of the table, told.

    Args:
        key: the row's name, by which formulas call it.
        grad_fn: the class of its graph nodes; None where it is not differentiable.
        forms: what people write for it: ``torch.mul``, ``Tensor.mul_``, ``x * y``.
        part_of: functions that make it among other operations.
        derivative_of: rows whose derivatives use it.
        saved: its ``_saved_*`` attributes.
        formulas: (inputs, derivative as text); several inputs share one formula that gives all their gradients.
        where: what names in these formulas stand for.
        source: where the row stands: ``gviz/ops/arithmetic.py:40``.
        note: what it is, where it is a node without a row.
    """

    key: str
    grad_fn: str | None
    forms: tuple[str, ...]
    part_of: tuple[str, ...]
    derivative_of: tuple[str, ...]
    saved: tuple[str, ...]
    formulas: tuple[tuple[str, str], ...]
    where: tuple[str, ...]
    source: str
    note: str = ""

    def names(self) -> Iterator[str]:
        """Every name that a pattern may mean."""
        yield self.key
        if self.grad_fn is not None:
            yield self.grad_fn
        for form in self.forms:
            yield from spellings(form)


def spellings(form: str) -> Iterator[str]:
    """A form, and it without what it is in: ``relu`` and ``F.relu`` for ``nn.functional.relu``, ``*`` for ``x * y``."""
    yield form
    owner, _, name = form.rpartition(".")
    if owner.replace(".", "_").isidentifier():
        yield name
        yield f"torch.{form}"
        if owner == "nn.functional":
            yield f"F.{name}"
    elif len(words := form.split()) == 3:
        yield words[1]


@cache
def operations() -> tuple[Operation, ...]:
    """All operations, in the order of their names; loads the whole engine."""
    for module in iter_modules(ops.__path__):  # some rows are stored when their module is named
        import_module(f"{ops.__name__}.{module.name}")
    direct, chosen = public_names()
    users = derivative_users()
    return tuple(told(row, direct.get(key, {}), chosen.get(key, {}), users.get(key, {})) for key, row in sorted(ROWS.items()))


def matching(pattern: str) -> list[Operation]:
    """The operations that a pattern means.

    Args:
        pattern: a name (``mul``, ``torch.mul``, ``x*y``, ``Tensor.__mul__``, ``MulBackward0``), else that of a function that
            they are part of (``matmul``), else a glob (``Mul*``) or a part of names (``softm``), whatever its case.

    Returns:
        Of the parts of a function those first that few others have.
    """
    owner, _, method = pattern.removeprefix("torch.").rpartition(".")
    pattern = (method.startswith("__") and owner in {"", "Tensor"} and method_form(method)) or pattern
    glob = pattern.lower() if set(pattern) & set("*?[") else f"*{pattern.lower()}*"
    dense = pattern.replace(" ", "")
    for fits in (lambda name: name.replace(" ", "") == dense, lambda name: fnmatch.fnmatchcase(name.lower(), glob)):
        for names in (Operation.names, lambda operation: (s for form in operation.part_of for s in spellings(form))):
            found = [operation for operation in (*operations(), *written()) if any(map(fits, names(operation)))]
            if found:
                return found if names is Operation.names else sorted(found, key=lambda operation: len(operation.part_of))
    return []


def written() -> Iterator[Operation]:
    """The nodes that come from no row."""
    for kind, note in WRITTEN.items():
        name, code = kind.__name__, kind._apply.__code__
        yield Operation(name, name, (), (), (), (), (), (), place_in(code, code.co_firstlineno), note)


def told(row: Row, direct: dict[str, None], chosen: dict[str, bool], users: dict[str, None]) -> Operation:
    """A row with its names, as an :class:`Operation`."""
    row.ready()
    forms = [*direct, *(name for name, is_form in chosen.items() if is_form and name not in direct)]
    composites = dict.fromkeys(name for formula in row.formulas.values() for name in formula.__code__.co_names)
    return Operation(
        row.key,
        row.node,
        tuple(sorted(forms, key=place_of)),
        tuple(sorted((name for name, is_form in chosen.items() if not is_form and name not in direct), key=place_of)),
        tuple(users),
        tuple(f"_saved_{name}" for name in row.saved_names()),
        tuple((", ".join(name.split("__")), formula_text(f)) for name, f in row.formulas.items()),
        tuple(meaning(name) for name in composites if name in COMPOSITES),
        place_in(code := row.home[0], next(line for start, end, line in code.co_lines() if start <= row.home[1] < end)),
    )


def place_in(code: CodeType, line: int | None) -> str:
    """A line of the engine as people look it up, from the folder that gviz is in."""
    return f"gviz/engine/{os.path.relpath(code.co_filename, os.path.dirname(ops.__path__[0])).replace(os.sep, '/')}:{line}"


def place_of(form: str) -> tuple[int, str]:
    """Functions of torch first, then operators, methods, in-place methods, and what is in submodules."""
    owner, _, name = form.rpartition(".")
    if is_operator(form):
        return 1, form
    return {"torch": 0, "Tensor": 3 if name.endswith("_") else 2}.get(owner, 4), form


def is_operator(form: str) -> bool:
    """Whether it is written with a sign."""
    return not form.replace(".", "_").isidentifier()


def derivative_users() -> dict[str, dict[str, None]]:
    """Row -> the rows whose derivatives use it, directly or through composites."""
    users: dict[str, dict[str, None]] = {}
    for row in ROWS.values():
        for formula in row.formulas.values():
            for used in reached(formula.__code__.co_names):
                if used != row.key:
                    users.setdefault(used, {})[row.key] = None
    return users


def reached(names: Iterable[str]) -> dict[str, None]:
    """The rows among these names of the table, and those that the composites among them are made of."""
    todo, seen = list(names), dict[str, None]()
    while todo:
        name = todo.pop(0)
        if name not in seen and (name in ROWS or name in COMPOSITES):
            seen[name] = None
            if name not in ROWS:
                todo += [found for code in codes(COMPOSITES[name].__code__) for found in code.co_names]
    return {name: None for name in seen if name in ROWS}


def public_names() -> tuple[dict[str, dict[str, None]], dict[str, dict[str, bool]]]:
    """Row -> the names bound to it; row -> the names of functions that choose it, and whether it is a form of it."""
    direct: dict[str, dict[str, None]] = {}
    chosen: dict[str, dict[str, bool]] = {}
    values = list(named_values())  # naming a module makes entries
    entries = {id(entry): key for key, row in ROWS.items() for entry in (row.ready(), row.operator, *row.entries.values())}
    for name, value in values:
        function: Any = next(filter(None, (getattr(value, name, None) for name in BEHIND)), value)
        key = entries.get(id(function))
        if key is not None:
            direct.setdefault(key, {})[name] = None
        elif isinstance(function := getattr(function, "__wrapped__", function), FunctionType):
            keys = keys_in(function, entries, value)
            rows = reached(keys)
            alone = len({family(ROWS[key]) for key in rows}) == 1 and not computes(function)
            for key in rows:
                sign = is_operator(name) and key in keys
                chosen.setdefault(key, {})[name] = alone or sign or is_named_after(name, ROWS[key])
    return direct, chosen


def family(row: Row) -> str:
    """What the rows of one operation have in common: ``Sum`` of SumBackward0 and SumBackward1."""
    return str(row.node).partition("Backward")[0]


def is_named_after(name: str, row: Row) -> bool:
    """Whether a function has the row's name: ``torch.sum`` is the function of ``sum_dim``, ``mse_loss_`` of MseLoss."""
    bare = name.rpartition(".")[2].removesuffix("_")
    return f"{row.key}_".startswith(f"{bare}_") or family(row).removeprefix("Linalg").removeprefix(
        "Native"
    ).lower() == bare.replace("_", "")


def computes(function: FunctionType) -> bool:
    """Whether it has arithmetic of its own, which may make further operations."""
    return any(
        step.opname.startswith(("BINARY_OP", "UNARY_NEG")) and step.argrepr != "[]" for step in dis.get_instructions(function)
    )


def named_values() -> Iterator[tuple[str, Any]]:
    """Every public function, method and operator of the engine: (as people write it, the function)."""
    for name in vars(Tensor):
        if written := method_form(name):
            yield written, vars(Tensor)[name]
    for module, home in MODULES.items():
        space = import_module(f"gviz.engine{home}")
        for name in (*getattr(space, "__all__", dir(space)), *getattr(space, "FUNCTIONAL", ())):
            if not name.startswith("_"):
                yield f"{module}.{name}", getattr(space, name)


def method_form(name: str) -> str:
    """``Tensor.mul`` for ``mul``, ``x * y`` for ``__mul__``, ``2 * x`` for ``__rmul__``; "" for what is no operation.

    >>> method_form("__rsub__"), method_form("__iadd__"), method_form("__init__")
    ('2 - x', 'x += y', '')
    """
    if not name.startswith("_"):
        return f"Tensor.{name}"
    bare = name.strip("_")
    if bare in SIGNS:
        return f"x {SIGNS[bare]} y"
    if bare[:1] in ("r", "i") and bare[1:] in SIGNS:
        return f"2 {SIGNS[bare[1:]]} x" if bare[0] == "r" else f"x {SIGNS[bare[1:]]}= y"
    return OTHER_SIGNS.get(bare, "")


def keys_in(function: Any, entries: dict[int, str], owner: Any = None) -> dict[str, None]:
    """The names of the table in a function, in the functions that it calls, and in what it was made with (its closure).

    Args:
        function: any function of the engine's.
        entries: id of each row's own functions -> the row's key.
        owner: the layer whose method it is: it may call others of it.
    """
    keys: dict[str, None] = {}
    todo, seen = [function], set[Any]()
    while todo:
        function = todo.pop()
        if function in seen:
            continue
        seen.add(function)
        if id(function) in entries or (function.__globals__ is TENSORS and len(seen) > 1):
            keys[entries.get(id(function), function.__name__)] = None
            continue
        texts = [text for code in codes(function.__code__) for text in texts_in(code)]
        names = [name for code in codes(function.__code__) for name in code.co_names]
        held = [cell.cell_contents for cell in function.__closure__ or ()]
        made = [value for value in held if isinstance(value, str)]
        keys.update((value.key, None) for value in held if isinstance(value, Row))
        if function.__globals__ is TENSORS:
            texts = names
        if function.__globals__ is TENSORS or {"call", "TENSORS"} & set(names):
            keys.update((key, None) for key in (*texts, *made, *(m + t for m in made for t in texts)) if key in TENSORS)
        found = [function.__globals__.get(name) for name in names]
        modules = [value for value in found if isinstance(value, ModuleType) and value.__name__.startswith(FOLLOWED)]
        inner = [getattr(space, name, None) for space in (*modules, owner) for name in names]
        behind = [getattr(value, "__wrapped__", value) for value in (*held, *found, *inner)]
        todo += [value for value in behind if is_followed(value)]
        if {"getattr", "Tensor"} <= set(names):  # a method that is made of another: arctan_ of arctan
            todo += [value for text in made if isinstance(value := vars(Tensor).get(text), FunctionType)]
    return keys


def is_followed(value: Any) -> bool:
    """Whether it is a function that may choose rows; those that write in place make what they are given."""
    if value is inplace.in_place or value is inplace.reshape_in_place:
        return False
    return isinstance(value, FunctionType) and (value.__globals__ is TENSORS or value.__module__.startswith(FOLLOWED))


def texts_in(code: CodeType) -> Iterator[str]:
    """The texts of a code, tuples looked into; what something is compared with is the value of an option, no key."""
    steps = list(dis.get_instructions(code))
    for step, following in pairwise(steps):
        if step.opname == "LOAD_CONST" and following.opname not in {"COMPARE_OP", "CONTAINS_OP"}:
            yield from (
                text for text in (step.argval if isinstance(step.argval, tuple) else (step.argval,)) if isinstance(text, str)
            )


def codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)
