"""The rows of the operation table: what a row declares, and what follows from that.

A row says everything about an operation::

    @op("AtanBackward0", "atan atan_", promote="float", self="grad / (self * self + 1)")
    def atan(self):
        return np.arctan(self)

- The decorated function is the forward, on numpy arrays. Its parameters that have a formula, or are named in
  ``nondiff``, are tensors; all others are options.
- The text gives the public names, and the signature with its annotations is the call form (``gviz/signatures``).
- Each keyword is the derivative for that input, as in PyTorch's ``derivatives.yaml``: of ``grad`` (``grads`` of several
  outputs) and of what it names, which the operation saves: an input, an option, ``result`` or the name of an output, or
  a fact about an input (``self_sym_sizes``, ``self_sym_strides``, ``self_dim``). A tensor that one of several
  derivatives uses is saved only if that one is needed. ``grad_input_mask`` says which gradients are wanted, to a
  formula for several inputs.

A formula calls table functions by their names, looked up in a namespace: ``TENSORS`` (rows that record, or compute
while the grad mode is off), ``ARRAYS`` (the forwards alone: static graphs, symbols). A ``@composite`` is a plain
function over rows, in every namespace. The call of a row is in ``call.py``.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from gviz.autograd.formulas import bind, formula, inputs_of, parameters, place_of_declaration, positional
from gviz.autograd.modes import mode
from gviz.autograd.node import Array, Node, target_of
from gviz.autograd.saved import GONE, Packed, Saved, unpack
from gviz.autograd.tensor import Version, from_array
from gviz.numbers.classes import result_class
from gviz.numbers.dtypes import INEXACT, WrappedNumber
from gviz.numbers.words import refuse

ARRAYS: dict[str, Any] = {"__name__": "gviz.ops.arrays", "__builtins__": builtins, "np": np}
TENSORS: dict[str, Any] = {"__name__": "gviz.ops.tensors", "__builtins__": builtins}
ROWS: dict[str, Row] = {}
COMPOSITES: dict[str, Any] = {}
NAMED: list[tuple[str, Any, Any]] = []
"""(public names, the function whose signature is the call form, what is called), in the order of their declaration."""

MASK = "grad_input_mask"
"""In a formula: which of the gradients that it gives are wanted, as PyTorch calls it."""
NUMBERS: Any = (int, float, bool, complex, np.generic)


class Save(NamedTuple):
    """One thing that a row saves.

    Fields:
        name: as formulas and ``_saved_NAME`` call it.
        source: "input", "option", "result" (a shown output), "extra" (an array for the derivatives only), or a fact's
        name.
        place: which parameter, or which output, it is (facts of outputs count down from -1).
        guard: the edge that has to be wanted; None if it is always saved.
    """

    name: str
    source: str
    place: int
    guard: int | None

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or a list of them: backward frees these."""
        return self.source in ("input", "result", "extra")


class Row:
    """One operation: what :func:`op` was told, and what follows from that, computed when it is first used.

    The annotated attributes are the properties that may be declared beside the derivatives, each with its default:
        nondiff: inputs that are tensors but get no gradient.
        lists: inputs that are lists of tensors.
        outputs: several outputs, those with gradients first (``result0``, ... if unnamed); ``("...",)``: a list.
        view: whether the result shares the input's memory.
        reshapes: whether its in-place names give the tensor another shape, and write nothing.
        inplace: whether its name in nn.functional takes ``inplace``.
        takes_number: whether a public name takes a number for a tensor; the parameter, if for one alone.
        scalar_overload: the row that a number means in a derivative that is recorded (``MulBackward1``).
        promote: the operands that are brought to one dtype. "": those that get a gradient; "pointwise": all tensors;
            "float": those that get a gradient, and integers to the default float dtype; "none": no operands. All but
            the last say that the row is of elements: PyTorch's TensorIterator does that, and orders the result.
        saves: what is saved besides that which the derivatives name.
        hidden: saved things that PyTorch does not show as ``_saved_*``.
        internal: the last options, if no call of a public name can give them: they stay at their defaults.
        skips_sole_input: whether an input whose gradient alone is wanted is not saved.
        extras: names of arrays (or functions that make them, to be looked at) that a forward gives besides.
        ufunc: numpy's function that computes the same when all options are at their defaults.
        grad_kinds: the kinds of numbers that carry a gradient; others are refused one, or with "?" go without.
        check: a function of the operands that refuses some, in PyTorch's words.
        rounding: how the kernel computes with bfloat16 and float16. "once": in float32, and operands that are numbers
            are rounded before; "wide": those are not; "each": each step is rounded; "few": so it is of few elements;
            "first": numbers are, and the result; "mixed": once, also beside parameters in float32; "none": not at all.
    """

    nondiff: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    view: bool = False
    reshapes: bool = False
    inplace: bool = False
    takes_number: bool | str = False
    scalar_overload: str = ""
    promote: str = ""
    saves: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    skips_sole_input: bool = False
    extras: tuple[str, ...] = ()
    ufunc: Any = None
    grad_kinds: str = INEXACT
    check: Any = None
    rounding: str = "once"
    __call__: Any  # call.py
    arranged: Any  # ops/rows.py
    names = ""

    def __init__(self, key: str, node: str | None, forward: Any, declared: dict[str, Any]) -> None:
        self.key, self.node, self.forward, self.place = key, node, forward, place_of_declaration()
        self.texts = {name: text for name, text in declared.items() if name not in Row.__annotations__}
        vars(self).update((name, value) for name, value in declared.items() if name not in self.texts)
        self.parameters = parameters(forward)
        self.defaults = forward.__defaults__ or ()
        if wrong := [name for name in self.texts if not {*inputs_of(name)} <= {*self.parameters}]:
            raise TypeError(
                f"{self.place_text()}: {', '.join(wrong)} is neither a parameter of the forward nor a property of a row"
            )

    def place_text(self) -> str:
        """Return the row's key and the place where it stands, for errors about the row itself."""
        return f"row {self.key!r} at {self.place[0]}:{self.place[1]}"

    # ---------------------------------------------------------------- what follows from the declaration
    @cached_property
    def formulas(self) -> dict[str, Any]:
        """The derivative for each input, or (``a__b``) for several together, as a function."""
        variables = {*self.parameters, *self.outputs, *self.extras, "result", "output", MASK} - {"grad"}
        variables |= {f"{name}_dim" for name in self.parameters}
        try:
            return {name: formula(text, variables, self.saves) for name, text in self.texts.items()}
        except SyntaxError as error:
            raise TypeError(f"{self.place_text()}: {error.text!r} is not a formula") from None

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """The inputs that each formula is for."""
        return [inputs_of(name) for name in self.texts]

    @cached_property
    def edges(self) -> list[int]:
        """The parameters that get a gradient."""
        return [i for i, name in enumerate(self.parameters) if any(name in group for group in self.groups)]

    @cached_property
    def inputs(self) -> list[int]:
        """The parameters that are tensors."""
        return [i for i, name in enumerate(self.parameters) if i in self.edges or name in self.nondiff]

    @cached_property
    def promoted_inputs(self) -> list[int]:
        """The parameters whose operands a call brings to one dtype."""
        return {"none": [], "pointwise": self.inputs}.get(self.promote, self.edges)

    @cached_property
    def takes_list(self) -> bool:
        """Whether an input is a list, for which one formula gives all gradients."""
        return any(self.parameters[i] in self.lists for i in self.edges)

    @cached_property
    def result_class(self) -> Any:
        """The class of several results: a tuple, whose items have names if the outputs have."""
        if self.outputs[0] in ("...", "result0"):
            return tuple
        name = self.names.split()[0].removeprefix("torch.") if self.names else self.key.partition("_")[0]
        return result_class(name.replace(".", "_"), self.outputs)

    @cached_property
    def formula_args(self) -> list[tuple[str, ...]]:
        """What each formula uses of what is saved."""
        return [parameters(function)[1:] for function in self.formulas.values()]

    @cached_property
    def plan(self) -> list[Save]:
        """What a call saves."""
        return [
            self.planned(name)
            for name in dict.fromkeys(name for need in self.formula_args for name in need if name != MASK)
        ]

    @cached_property
    def freed(self) -> list[bool]:
        """For each saved thing whether backward frees it."""
        return [save.is_tensor for save in self.plan]

    @cached_property
    def output_numbers(self) -> list[int | None]:
        """For each saved thing the number of the output that it is, None if it is no output."""
        return [save.place if save.source == "result" else None for save in self.plan]

    def planned(self, name: str) -> Save:
        """Return where the saved thing of that name comes from, and PyTorch's guard on it."""
        users = [self.groups[i] for i, need in enumerate(self.formula_args) if name in need]
        only = self.edges.index(self.parameters.index(users[0][0])) if len(users) == 1 == len(users[0]) else None
        if name in self.parameters:
            index = self.parameters.index(name)
            if index not in self.inputs:
                return Save(name, "option", index, None)
            return Save(name, "input", index, only if len(self.groups) > 1 and "_backward" not in self.key else None)
        if name in ("result", "output", *self.outputs):
            return Save(name, "result", self.outputs.index(name) if name in self.outputs else 0, None)
        if name in self.extras:
            return Save(name, "extra", self.extras.index(name) + max(len(self.outputs), 1), None)
        base, _, fact = name.rpartition("_dim") if "_sym_" not in name else name.partition("_sym_")
        refuse(
            base not in (*self.parameters, *self.outputs),
            f"{self.key}: a derivative uses {name!r}, which is not an input, option or output of the operation",
            TypeError,
        )
        place = self.parameters.index(base) if base in self.parameters else -1 - self.outputs.index(base)
        return Save(name, fact or "dim", place, only if fact == "strides" else None)

    @cached_property
    def cls(self) -> Any:
        """The class of its nodes."""
        body: dict[str, Any] = {"__slots__": (), "_row": self, "__module__": "builtins"}
        for place, save in enumerate(self.plan):
            if save.name not in self.hidden:
                body[f"_saved_{save.name}"] = property(functools.partial(RowNode._public_value, place=place))
                if save.is_tensor:
                    body[f"_raw_saved_{save.name}"] = property(operator.methodcaller("raw_saved", place))
        if self.node == "NotImplemented":  # PyTorch gives it the edges that want a gradient, and no others
            body["next_functions"] = property(
                lambda node: tuple(target_of(edge) for edge in node._next if edge is not None)
            )
        return type(str(self.node), (RowNode,), body)

    @cached_property
    def grad_steps(self) -> list[Any]:
        """(formula, places of what it needs among what is saved, its inputs' edges), in the order of input names."""
        places = {save.name: i for i, save in enumerate(self.plan)}
        edges = {self.parameters[i]: at for at, i in enumerate(self.edges)}
        return [
            (bind(function, TENSORS), [places.get(name, -1) for name in need], [edges[name] for name in group])
            for group, function, need in sorted(
                zip(self.groups, self.formulas.values(), self.formula_args, strict=True)
            )
        ]


class RowNode(Node):
    """The node of a row's call, whose derivative the formulas are."""

    __slots__ = ()

    def apply(self, grads: list[Any], mask: list[bool]) -> Any:
        """Return the gradients of the inputs that want one: the formulas, evaluated."""
        row = self._row
        several = len(grads) > 1 or row.outputs == ("...",)
        grad = grads if several else grads[0]
        if grad is None or (several and all(one is None for one in grads)):
            return [None] * len(mask)
        values = [*map(self._value, range(len(self._saved))), tuple(mask)]  # the last one is what MASK means
        results: list[Any] = [None] * len(mask)
        before, mode.formula = mode.formula, mode.recording
        try:
            for function, places, edges in row.grad_steps:
                if row.takes_list:
                    return function(grad, *[values[at] for at in places])
                if any(mask[at] for at in edges):
                    slopes = function(grad, *[values[at] for at in places])
                    for at, one in zip(edges, slopes, strict=True) if len(edges) > 1 else ((edges[0], slopes),):
                        results[at] = one
        finally:
            mode.formula = before
        return results

    def _value(self, place: int) -> Any:
        """Return a saved thing as a formula takes it; a number for a tensor has no say in a recorded dtype."""
        row, value = self._row, self._saved[place]
        value = unpack(self, value, row.output_numbers[place])
        if mode.recording and row.plan[place].source == "input" and isinstance(value, NUMBERS):
            fits = not isinstance(value, int) or -(2**63) <= value < 2**63
            value = from_array(np.asarray(value if fits else float(value)), None)  # there is no uint64 here
            value._array = value._array.view(WrappedNumber)
        return value

    def _public_value(self, place: int) -> Any:
        """Return ``node._saved_NAME``: tensors with their place in the graph, numbers as PyTorch shows them."""
        save, value = self._row.plan[place], self._saved[place]
        if (
            isinstance(value, np.ndarray) and save.source == "result"
        ):  # the program has it from now on, and may write it
            self.watch(save.place, Version())
        result = from_array(value(), None) if callable(value) else self._value(place)
        return result if save.source == "input" else unsigned(save.name, result)

    def release(self) -> None:
        """Drop the saved tensors; numbers stay readable, and so does None where nothing was kept, as in PyTorch."""
        pairs = zip(self._row.freed, self._saved, strict=True)
        self._saved = [GONE if freed and value is not None else value for freed, value in pairs]

    def watch(self, number: int, version: Version, array: Array | None = None) -> Version:
        """Keep a saved result with its version, unless a hook of the user has packed it; return that version."""
        saved = list(self._saved)
        for place, (own, value) in enumerate(zip(self._row.output_numbers, saved, strict=True)):
            if own == number and (isinstance(value, np.ndarray) if array is None else value.__class__ is not Packed):
                saved[place] = Saved(value if array is None else array, version, number)
            elif own == number and value.__class__ is Saved:
                version = value.version
        self._saved = saved
        return version


UNSIGNED = frozenset({
    "dim", "dims", "dim0", "dim1", "dim2", "dimension", "diagonal", "offset", "shifts", "index", "ignore_index",
    "padding_idx", "pad", "padding", "divisor_override", "start", "end", "k",
})  # fmt: skip
"""Saved numbers that PyTorch shows as unsigned."""


def unsigned(name: str, value: Any) -> Any:
    """Return dims and indices as PyTorch's getters do: negative ones as unsigned 64-bit numbers."""
    if isinstance(value, tuple | list):
        return tuple(unsigned(name, one) for one in value)
    return value + 2**64 if value.__class__ is int and value < 0 and name in UNSIGNED else value


# ------------------------------------------------------------------ declaring
def op(node: str | None, names: str = "", /, *, key: str | None = None, **declared: Any) -> Callable[[Any], Any]:
    """Store a row of the table; nothing is made of it before its first call.

    Args:
        node: class name of the grad_fn; None for an operation that is not differentiable.
        names: its public names (``gviz/signatures/names.py`` says how they are written).
        key: the row's name if it is not that of the function.
        declared: the derivative of each input (``a__b`` gives those of two inputs as a tuple), and the row's other
            properties: the attributes of :class:`Row`.
    """

    def store(forward: FunctionType) -> Any:
        row = Row(key or forward.__name__, node, positional(forward), declared)
        if row.key in ROWS:
            raise TypeError(f"{row.place_text()} is there already: {ROWS[row.key].place_text()}")
        row.names = names
        NAMED.append((names, forward, row))
        count = len(row.outputs)
        public = (
            (lambda *args: row.forward(*args)[:count] if count else row.forward(*args)[0])
            if row.extras
            else row.forward
        )
        ROWS[row.key], ARRAYS[row.key], TENSORS[row.key] = row, public, row
        return row

    return store


def composite(function: FunctionType | str, names: str = "") -> Any:
    """Register a plain function over rows in every namespace; it may branch, makes no node. A text gives it names."""
    if isinstance(function, str):
        return functools.partial(composite, names=function)
    flat = positional(function)
    COMPOSITES[flat.__name__] = flat
    ARRAYS[flat.__name__] = bind(flat, ARRAYS)
    TENSORS[flat.__name__] = bound = bind(flat, TENSORS)
    NAMED.append((names, function, bound))
    return bound


def public_names(names: str) -> Callable[[Any], Any]:
    """Give a plain function its public names; its signature is the form of the call. No formula can use it."""

    def store(function: FunctionType) -> Any:
        NAMED.append((names, inspect.unwrap(function), positional(function)))
        return function

    return store


def everywhere(function: FunctionType) -> Any:
    """Register a function of plain numbers under its own name in every namespace."""
    ARRAYS[function.__name__] = TENSORS[function.__name__] = function
    return function
