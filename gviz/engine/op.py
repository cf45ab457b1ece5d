"""What one row of the operation table is, and how it becomes a function and its grad_fn class.

A row says everything about an operation::

    @op("MulBackward0", self="grad * other", other="grad * self")
    def mul(self, other): return self * other

- The decorated function is the forward, on numpy arrays. Its parameters that have a formula, or are named in ``nondiff``,
  are tensors; all others are options (numbers, dims, flags).
- Each keyword is the derivative for that input, as in PyTorch's ``derivatives.yaml``: of ``grad`` (``grads`` of several
  outputs) and of what it names, which the operation saves: an input (``other``), an option (``dim``), ``result`` or the name
  of an output, or something derived from an input: ``self_sym_sizes``, ``self_sym_numel``, ``self_sym_strides``,
  ``weight_sym_argsize_0``.
- ``row("mul", "MulBackward0", lambda self, other: self * other, self="grad * other", ...)`` states the same in one line
  (``ops/rows.py``).
- As in PyTorch, a tensor that exactly one of several derivatives uses is saved only if that derivative is needed.

One formula, several namespaces. A formula calls table functions by their names (``formulas.formula`` makes a function
of the text). For the fast backward the same code is bound to ``ARRAYS``, where each name is the plain forward; for
``create_graph=True`` to ``TENSORS``, where it is the recording function; symbols and static graphs are further namespaces
(:func:`bind`). A ``@composite`` is a plain function over rows that is registered in every namespace and makes no node itself.

The decorator only stores the row; the first call makes the class and the function (``makers.py``, ``derivatives.py``).
What a row saves is planned and read by ``saved.py``.
"""

from __future__ import annotations

import builtins
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.formulas import TURNED, bind, caller, direct, formula, parameters, recorded
from gviz.engine.saved import Saving

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ARRAYS", "PASS", "ROWS", "TENSORS", "Row", "composite", "everywhere", "op"]

ARRAYS: dict[str, Any] = {"__name__": "gviz.engine.arrays", "__builtins__": builtins, "np": np}
TENSORS: dict[str, Any] = {"__name__": "gviz.engine.tensors", "__builtins__": builtins, **TURNED}
ROWS: dict[str, Row] = {}
COMPOSITES: dict[str, Any] = {}

PASS: Any = lambda grad: grad  # noqa: E731 - what the text "grad" becomes, known by identity so that it costs nothing
"""The derivative of an input that the operation passes on unchanged."""


class Row(Saving):
    """One operation: what it declares (:func:`op` tells what), and what :meth:`ready` makes of that at the first call."""

    nondiff: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    view: bool = False
    promote: str = ""
    shows: dict[str, Any] = {}  # noqa: RUF012 - never written
    saves: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    sparing: bool = False
    check: Any = None

    def __init__(self, key: str, node: str | None, forward: Any, declared: dict[str, Any]) -> None:
        self.key, self.node, self.forward = key, node, forward
        self.home = caller()
        self.texts = {name: text for name, text in declared.items() if name not in Row.__annotations__}
        vars(self).update((name, value) for name, value in declared.items() if name not in self.texts)
        self.call: Any = None
        self.operator: Any = None
        self.places: list[tuple[Any, str, str]] = [(forward.__globals__, forward.__name__, "row"), (TENSORS, key, "row")]
        self.entries: dict[tuple[str, str], Any] = {}

    @cached_property
    def formulas(self) -> dict[str, Any]:
        """The derivative for each input, or for several together, as a function."""
        known = {*parameters(self.forward), *self.outputs, *self.extras, "result", "output", "source_dim", "grad_input_mask"}
        return {
            name: PASS if text == "grad" else formula(text, known - {"grad"}, self.saves) for name, text in self.texts.items()
        }

    @cached_property
    def on_tensors(self) -> list[Any]:
        """These functions where they are recorded."""
        return [bind(recorded(text, f), TENSORS) for text, f in zip(self.texts.values(), self.formulas.values(), strict=True)]

    def ready(self) -> Any:
        """Read the formulas, make the node class and the function; from now on every place calls that function."""
        if self.call is None:
            from gviz.engine import derivatives, makers
            from gviz.engine.calls import kernels

            self.parameters = parameters(self.forward)
            self.defaults = self.forward.__defaults__ or ()
            self.groups = [tuple(name.split("__")) for name in self.formulas]
            self.compute, self.check = kernels.guarded(self.key, self.forward), self.check or kernels.agreeing(self.key)
            self.inputs = [i for i, p in enumerate(self.parameters) if self.differentiable(p) or p in self.nondiff]
            self.edges = [i for i in self.inputs if self.differentiable(self.parameters[i])]
            self.edge_names = [self.parameters[i] for i in self.edges]
            self.needs = [parameters(f)[1:] for f in self.formulas.values()]
            self.saved = [
                self.plan_save(name)
                for name in dict.fromkeys(n for need in self.needs for n in need)
                if name != "grad_input_mask"
            ]
            self.position = {s.name: i for i, s in enumerate(self.saved)}
            self.tensor_positions = [i for i, s in enumerate(self.saved) if s.kind in ("input", "result", "extra")]
            self.on_arrays = [direct(bind(f, ARRAYS)) for f in self.formulas.values()]
            self.cls: Any = derivatives.node_class(self)
            self.call, self.operator = makers.make(self)
            for owner, name, kind in self.places:
                if isinstance(owner, dict):
                    owner[name] = self.entry(name, kind)
                else:
                    setattr(owner, name, self.entry(name, kind))
        return self.call

    def entry(self, name: str, kind: str) -> Any:
        """The function for a place.

        Args:
            name: its name there.
            kind: "row" among the rows, "operator" (says NotImplemented where a function raises), "function" or "method" (which
                take what PyTorch's take, and refuse the rest in its words).
        """
        if self.call is None:

            def first(*args: Any, **kwargs: Any) -> Any:
                self.ready()
                return self.entry(name, kind)(*args, **kwargs)

            first.__name__ = first.__qualname__ = name
            return first
        if kind in ("row", "operator"):
            return self.call if kind == "row" else self.operator
        if (name, kind) not in self.entries:
            from gviz.engine import makers

            self.entries[name, kind] = makers.make_public(self, name, method=kind == "method")
        return self.entries[name, kind]

    def differentiable(self, parameter: str) -> bool:
        """Whether some formula gives this parameter's gradient."""
        return any(parameter in name.split("__") for name in self.formulas)


def op(node: str | None, /, *, key: str | None = None, **declared: Any) -> Callable[[Any], Any]:
    """Store a row of the table.

    Args:
        node: class name of the grad_fn; None for an operation that is not differentiable.
        key: the row's name where it is not that of the function.
        declared: the derivative of each input (``a__b`` gives those of two inputs as a tuple), and what else there is to say:

            nondiff: inputs that are tensors but get no gradient.
            lists: inputs that are lists of tensors.
            outputs: names of several outputs, those with gradients first; ``("...",)`` for a list of them.
            view: whether the result shares the input's memory.
            promote: "pointwise" (to one dtype, the default for several inputs), "float" (and integers to float), "none".
            shows: saved numbers that are the same for every call.
            saves: what is saved besides that which the derivatives name.
            hidden: saved things that PyTorch does not show as ``_saved_*``.
            sparing: an input whose gradient alone is wanted is not saved.
            extras: names of arrays that the forward gives after its result, only for the derivatives.
            check: a function of the operands (arrays and numbers, as they were given) that refuses some, in PyTorch's words.

    Returns:
        The recording function (made at its first call).
    """

    def store(forward: Any) -> Any:
        row = Row(key or forward.__name__, node, forward, declared)

        def first(*args: Any, **kwargs: Any) -> Any:
            return row.ready()(*args, **kwargs)

        ROWS[row.key] = row
        ARRAYS[row.key] = result_of(forward, len(row.outputs)) if row.extras else forward
        TENSORS[row.key] = first
        return first

    return store


def result_of(forward: Any, count: int) -> Any:
    """A forward that gives extras too, without them: what a formula calls."""

    def result(*args: Any) -> Any:
        return forward(*args)[:count] if count else forward(*args)[0]

    return result


def composite(function: Any) -> Any:
    """Register a plain function over rows in every namespace; it may branch, and makes no node of its own."""
    name = function.__name__
    COMPOSITES[name] = function
    ARRAYS[name] = bind(function, ARRAYS)
    TENSORS[name] = bind(function, TENSORS)
    return TENSORS[name]


def everywhere(function: Any) -> Any:
    """Register a function of plain numbers under its own name in every namespace."""
    ARRAYS[function.__name__] = TENSORS[function.__name__] = function
    return function
