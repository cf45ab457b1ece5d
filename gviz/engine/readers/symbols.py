"""Formulas as readable text: the table's derivatives run on symbols, in a namespace where each name writes down its call."""

from __future__ import annotations

import builtins
import dis
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gviz.autograd.formulas import bind, parameters
from gviz.autograd.row import COMPOSITES, TENSORS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Symbol", "formula_text", "meaning"]

COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(6)
"""How tightly a text holds together; what holds less gets brackets."""

SIGNS = {
    "add": ("+", SUM, SUM, SUM), "sub": ("-", SUM, SUM, PRODUCT), "mul": ("*", PRODUCT, PRODUCT, PRODUCT),
    "div": ("/", PRODUCT, PRODUCT, SIGN), "power": ("**", POWER, ATOM, SIGN), "less": ("<", COMPARISON, SUM, SUM),
    "less_equal": ("<=", COMPARISON, SUM, SUM), "greater": (">", COMPARISON, SUM, SUM),
    "greater_equal": (">=", COMPARISON, SUM, SUM), "equal": ("==", COMPARISON, SUM, SUM),
}  # fmt: skip
"""Rows that are written with a sign: how the whole holds together, and what its two sides need."""


class Symbol:
    """A text that takes part in arithmetic, and how tightly it holds together."""

    def __init__(self, text: str, binding: int = ATOM) -> None:
        self.text = text
        self.binding = binding

    def __getattr__(self, name: str) -> Symbol:
        if name.startswith("__"):
            raise AttributeError(name)
        return Symbol(f"{inside(self, ATOM)}.{name}")

    def __getitem__(self, key: Any) -> Symbol:
        return Symbol(f"{inside(self, ATOM)}[{written(key)}]")

    def __iter__(self) -> Any:
        raise TypeError("a symbol has no parts")

    def __neg__(self) -> Symbol:
        return Symbol(f"-{inside(self, SIGN)}", SIGN)


def written(value: Any) -> str:
    """Return a value as it stands in a formula: a symbol by its text; a slice (without step), a tuple, a list by its parts."""
    if isinstance(value, Symbol):
        return value.text
    if isinstance(value, slice):
        return ":".join("" if bound is None else written(bound) for bound in (value.start, value.stop))
    if isinstance(value, tuple | list):
        items = ", ".join(map(written, value))
        return f"[{items}]" if isinstance(value, list) else f"({items},)" if len(value) == 1 else f"({items})"
    return getattr(value, "__name__", None) or repr(value)  # a function that another is given


def inside(value: Any, binding: int) -> str:
    """Return a value as an operand, in brackets if it holds less tightly than what is around it."""
    own = value.binding if isinstance(value, Symbol) else ATOM
    return written(value) if own >= binding else f"({written(value)})"


def signed(sign: str, binding: int, left: int, right: int) -> Callable[[Any, Any], Symbol]:
    """Return a function of two that is written with a sign between them."""
    return lambda a, b: Symbol(f"{inside(a, left)} {sign} {inside(b, right)}", binding)


WRITTEN = {key: signed(*how) for key, how in SIGNS.items()}
for key, method in {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "power": "pow"}.items():
    setattr(Symbol, f"__{method}__", WRITTEN[key])
    setattr(Symbol, f"__r{method}__", lambda self, other, write=WRITTEN[key]: write(other, self))


def called(name: str) -> Callable[..., Symbol]:
    """Return a function of the table that writes down its own call."""

    def write(*args: Any, **kwargs: Any) -> Symbol:
        given = [*map(written, args), *(f"{key}={written(value)}" for key, value in kwargs.items())]
        return Symbol(f"{name}({', '.join(given)})")

    write.__name__ = name
    return write


def namespace() -> dict[str, Any]:
    """Return the table's names, each writing down its call."""
    names = ["len", "reversed", "tuple", *(name for name, value in TENSORS.items() if callable(value))]
    return {"__builtins__": builtins, **{name: called(name) for name in names}, **WRITTEN, "neg": Symbol.__neg__}


def formula_text(formula: Any) -> str:
    """Return a formula as text.

    >>> formula_text(lambda grad, self, other: grad * -(self - other) / 2)
    'grad * -(self - other) / 2'
    """
    return written(bind(formula, namespace())(*map(Symbol, parameters(formula))))


def meaning(name: str) -> str:
    """Return what a composite stands for, as ``name(self) = self * 2``; in words if it branches, which symbols cannot."""
    composite = COMPOSITES[name]
    head = f"{name}({', '.join(parameters(composite))})"
    if not any("JUMP" in step.opname for step in dis.get_instructions(composite)):
        with suppress(TypeError, RuntimeError):  # it takes a symbol apart, or refuses every input
            return f"{head} = {formula_text(composite)}"
    return f"{head}: {(composite.__doc__ or '').partition(chr(10))[0]}"
