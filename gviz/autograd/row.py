"""The rows of the operation table: what a row declares, and what follows from that.

A row says everything about an operation::

    @op("AtanBackward0", "atan atan_", promote="float", self="grad / (self * self + 1)")
    def atan(self):
        return np.arctan(self)

- The decorated function is the forward, on numpy arrays. Its parameters that have a formula, or are named in ``nondiff``, are
  tensors; all others are options.
- The text gives the public names, and the signature with its annotations is the call form (``names.py``).
- Each keyword is the derivative for that input, as in PyTorch's ``derivatives.yaml``: of ``grad`` (``grads`` of several
  outputs) and of what it names, which the operation saves: an input, an option, ``result`` or the name of an output, or a fact
  about an input (``self_sym_sizes``, ``self_sym_strides``). A tensor that one of several derivatives uses is saved only if
  that one is needed.

A formula calls table functions by their names, looked up in a namespace: ``TENSORS`` (rows that record, or compute while the
grad mode is off), ``ARRAYS`` (the forwards alone: static graphs, symbols). A ``@composite`` is a plain function over rows, in
every namespace. The call of a row is in ``call.py``.
"""

from __future__ import annotations

import builtins
import functools
import operator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gviz.autograd.formulas import bind, formula, parameters, place_of_declaration, positional
from gviz.autograd.modes import mode
from gviz.autograd.node import Node
from gviz.autograd.saved import GONE, Packed, Saved, unpack
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.dtypes import WrappedNumber

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.autograd.tensor import Version

__all__ = [
    "ARRAYS", "COMPOSITES", "NAMED", "NUMBERS", "ROWS", "TENSORS", "Row", "composite", "everywhere", "named", "native", "op",
]  # fmt: skip

ARRAYS: dict[str, Any] = {"__name__": "gviz.ops.arrays", "__builtins__": builtins, "np": np}
TENSORS: dict[str, Any] = {"__name__": "gviz.ops.tensors", "__builtins__": builtins}
ROWS: dict[str, Row] = {}
COMPOSITES: dict[str, Any] = {}
NAMED: list[tuple[str, Any, Any]] = []
"""(public names, the function whose signature is the call form, what is called), in the order of their declaration."""

NUMBERS: Any = (int, float, bool, complex, np.generic)


class Save(NamedTuple):
    """One thing that a row saves.

    Fields:
        name: as formulas and ``_saved_NAME`` call it.
        source: "input", "option", "result" (a shown output), "extra" (an array for the derivatives only), or a fact's name.
        place: which parameter, or which output, it is (facts of outputs count down from -1).
        guard: the edge that has to be wanted; None if it is always saved.
    """

    name: str
    source: str
    place: int
    guard: int | None


class Row:
    """One operation: what :func:`op` was told, and what follows from that, computed when it is first used."""

    nondiff: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    view: bool = False
    reshapes: bool = False
    numbers: bool = False
    inplace: bool = False
    scalar: str = ""
    promote: str = ""
    saves: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    sparing: bool = False
    check: Any = None
    __call__: Any  # call.py
    names = ""

    def __init__(self, key: str, node: str | None, forward: Any, declared: dict[str, Any]) -> None:
        self.key, self.node, self.forward, self.place = key, node, forward, place_of_declaration()
        self.texts = {name: text for name, text in declared.items() if name not in Row.__annotations__}
        vars(self).update((name, value) for name, value in declared.items() if name not in self.texts)
        self.parameters = parameters(forward)
        self.defaults = forward.__defaults__ or ()
        if wrong := [name for name in self.texts if not {*name.split("__")} <= {*self.parameters}]:
            raise TypeError(f"{self.told()}: {', '.join(wrong)} is neither a parameter of the forward nor a property of a row")

    def told(self) -> str:
        """Return the row's key and the place where it stands, for errors about the row itself."""
        return f"row {self.key!r} at {self.place[0]}:{self.place[1]}"

    # ---------------------------------------------------------------- what follows from the declaration
    @cached_property
    def formulas(self) -> dict[str, Any]:
        """The derivative for each input, or (``a__b``) for several together, as a function."""
        known = {*self.parameters, *self.outputs, *self.extras, "result", "output", "source_dim", "grad_input_mask"}
        try:
            return {name: formula(text, known - {"grad"}, self.saves) for name, text in self.texts.items()}
        except SyntaxError as error:
            raise TypeError(f"{self.told()}: {error.text!r} is not a formula") from None

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """The inputs that each formula is for."""
        return [tuple(name.split("__")) for name in self.texts]

    @cached_property
    def edges(self) -> list[int]:
        """The parameters that get a gradient."""
        return [i for i, name in enumerate(self.parameters) if any(name in group for group in self.groups)]

    @cached_property
    def inputs(self) -> list[int]:
        """The parameters that are tensors."""
        return [i for i, name in enumerate(self.parameters) if i in self.edges or name in self.nondiff]

    @cached_property
    def listed(self) -> bool:
        """Whether an input is a list, for which one formula gives all gradients."""
        return any(self.parameters[i] in self.lists for i in self.edges)

    @cached_property
    def needs(self) -> list[tuple[str, ...]]:
        """What each formula uses of what is saved."""
        return [parameters(function)[1:] for function in self.formulas.values()]

    @cached_property
    def plan(self) -> list[Save]:
        """What a call saves."""
        names = dict.fromkeys(name for need in self.needs for name in need if name != "grad_input_mask")
        return [self.planned(name) for name in names]

    @cached_property
    def numbered(self) -> list[int | None]:
        """For each saved thing the number of the output that it is, None if it is no output."""
        return [save.place if save.source == "result" else None for save in self.plan]

    def planned(self, name: str) -> Save:
        """Return where the saved thing of that name comes from, and PyTorch's guard on it."""
        users = [self.groups[i] for i, need in enumerate(self.needs) if name in need]
        only = self.edges.index(self.parameters.index(users[0][0])) if len(users) == 1 == len(users[0]) else None
        if name in self.parameters:
            index = self.parameters.index(name)
            guarded = index in self.inputs and len(self.groups) > 1 and "_backward" not in self.key
            return Save(name, "input" if index in self.inputs else "option", index, only if guarded else None)
        if name in ("result", "output", *self.outputs):
            return Save(name, "result", self.outputs.index(name) if name in self.outputs else 0, None)
        if name in self.extras:
            return Save(name, "extra", self.extras.index(name) + max(len(self.outputs), 1), None)
        if name == "source_dim":
            return Save(name, "ndim", self.parameters.index("source"), None)
        base, _, fact = name.partition("_sym_")
        if base in self.outputs:
            return Save(name, fact, -1 - self.outputs.index(base), None)
        if base not in self.parameters or not fact:
            raise TypeError(f"{self.key}: a derivative uses {name!r}, which is not an input, option or output of the operation")
        return Save(name, fact, self.parameters.index(base), only if fact == "strides" else None)

    @cached_property
    def cls(self) -> Any:
        """The class of its nodes."""
        body: dict[str, Any] = {"__slots__": (), "_row": self, "__module__": "builtins", "release": release, "watch": watch}
        body["apply"] = lambda node, grads, mask: self.derive(node, grads, mask)  # noqa: PLW0108 - a function binds, a method does not
        for name in [save.name for save in self.plan]:
            if name not in self.hidden:
                body[f"_saved_{name}"] = property(functools.partial(self.read_saved, name=name))
        for save in self.plan:
            if save.source in ("input", "result", "extra") and save.name not in self.hidden:
                body[f"_raw_saved_{save.name}"] = property(operator.methodcaller("raw_saved", save.name))
        if self.node == "NotImplemented":  # PyTorch gives it the edges that want a gradient, and no others
            body["next_functions"] = property(lambda node: tuple(edge for edge in node._next if edge is not None))
        return type(str(self.node), (Node,), body)

    @cached_property
    def steps(self) -> list[Any]:
        """(formula, places of what it needs among what is saved, its inputs' edges), in PyTorch's order: by input names."""
        places = {save.name: i for i, save in enumerate(self.plan)}
        edges = {self.parameters[i]: at for at, i in enumerate(self.edges)}
        return [
            (bind(function, TENSORS), [places.get(name, -1) for name in need], [edges[name] for name in group])
            for group, function, need in sorted(zip(self.groups, self.formulas.values(), self.needs, strict=True))
        ]

    # ---------------------------------------------------------------- its derivative
    def derive(self, node: Node, grads: list[Any], mask: list[bool]) -> Any:
        """Return the gradients of the inputs that want one: the formulas, evaluated."""
        several = len(grads) > 1 or self.outputs == ("...",)
        grad = grads if several else grads[0]
        if grad is None or (several and all(one is None for one in grads)):
            return [None] * len(mask)
        values = [self.as_tensor(i, unpack(node, value, self.numbered[i])) for i, value in enumerate(node._kept)]
        results: list[Any] = [None] * len(mask)
        before, mode.formula = mode.formula, mode.on
        try:
            for function, places, edges in self.steps:
                if self.listed:
                    return function(grad, *[values[at] for at in places])
                if len(edges) == 1:
                    if mask[edges[0]]:
                        results[edges[0]] = function(grad, *[values[at] for at in places])
                elif any(mask[at] for at in edges):
                    needed = [tuple(mask) if at < 0 else values[at] for at in places]
                    for at, one in zip(edges, function(grad, *needed), strict=True):
                        results[at] = one
        finally:
            mode.formula = before
        return results

    def as_tensor(self, place: int, value: Any) -> Any:
        """Return a saved number that stood for a tensor as a tensor that has no say in the dtype, if it is recorded."""
        if mode.on and value.__class__ is not Tensor and self.plan[place].source == "input" and isinstance(value, NUMBERS):
            tensor = from_array(np.asarray(value), None)
            tensor._array = tensor._array.view(WrappedNumber)
            return tensor
        return value

    def read_saved(self, node: Node, name: str) -> Any:
        """Return ``node._saved_NAME``: tensors with their place in the graph, numbers as PyTorch shows them."""
        place = next(i for i, save in enumerate(self.plan) if save.name == name)
        value = self.as_tensor(place, unpack(node, node._kept[place], self.numbered[place]))
        return value if self.plan[place].source == "input" else unsigned(name, value)


def release(node: Node) -> None:
    """Drop the saved tensors; numbers stay readable, and so does None where nothing was kept, as in PyTorch."""
    tensors = ("input", "result", "extra")
    plan = node._row.plan
    node._kept = [
        GONE if save.source in tensors and value is not None else value for save, value in zip(plan, node._kept, strict=True)
    ]


def watch(node: Node, number: int, version: Version) -> None:
    """Keep a saved result with the version of its memory, which may be written from now on."""
    for place, own in enumerate(node._row.numbered):
        if own == number and node._kept[place].__class__ is np.ndarray:
            save_result(node, place, node._kept[place], version)


def save_result(node: Node, place: int, array: Any, version: Version) -> None:
    """Keep this array as a saved result of the node, unless a hook of the user has packed it."""
    if node._kept[place].__class__ is not Packed:
        kept = list(node._kept)
        kept[place] = Saved(array, version, node._row.numbered[place])
        node._kept = kept


UNSIGNED = frozenset({
    "dim", "dims", "dim0", "dim1", "dim2", "dimension", "diagonal", "offset", "shifts", "index", "ignore_index", "padding_idx",
    "pad", "padding", "divisor_override", "start", "end", "k",
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
        names: its public names (``names.py`` says how they are written).
        key: the row's name if it is not that of the function.
        declared: the derivative of each input (``a__b`` gives those of two inputs as a tuple), and the row's other properties:

            nondiff: inputs that are tensors but get no gradient.
            lists: inputs that are lists of tensors.
            outputs: names of several outputs, those with gradients first; ``("...",)`` for a list of them.
            view: whether the result shares the input's memory.
            reshapes: whether its in-place names give the tensor another shape, and write nothing.
            inplace: whether its name in ``nn.functional`` takes ``inplace``.
            numbers: whether a public name takes a number for a tensor; scalar: the row that a number means in a derivative that
                is recorded (``MulBackward1``).
            promote: to which dtype operands are brought: that of all that get a gradient (the default), "pointwise": of all
                tensors, also those without a gradient, "float": and integers to the default float dtype, "none": as they are.
            saves: what is saved besides that which the derivatives name.
            hidden: saved things that PyTorch does not show as ``_saved_*``.
            sparing: an input whose gradient alone is wanted is not saved.
            extras: names of arrays that the forward gives after its result, only for the derivatives.
            check: a function of the operands that refuses some, in PyTorch's words.
    """

    def store(forward: Any) -> Any:
        row = Row(key or forward.__name__, node, positional(forward), declared)
        if row.key in ROWS:
            raise TypeError(
                f"{row.told()}: there is one of that key already, at {ROWS[row.key].place[0]}:{ROWS[row.key].place[1]}"
            )
        row.names = names
        if names:
            NAMED.append((names, forward, row))
        count = len(row.outputs)
        shown = (lambda *args: row.forward(*args)[:count] if count else row.forward(*args)[0]) if row.extras else row.forward
        ROWS[row.key], ARRAYS[row.key], TENSORS[row.key] = row, shown, row
        return row

    return store


def composite(function: Any) -> Any:
    """Register a plain function over rows in every namespace; it may branch, and makes no node. A text gives it names."""
    if isinstance(function, str):

        def store(named: Any) -> Any:
            bound = composite(named)
            NAMED.append((function, named, bound))
            return bound

        return store
    flat = positional(function)
    COMPOSITES[flat.__name__] = flat
    ARRAYS[flat.__name__], TENSORS[flat.__name__] = bind(flat, ARRAYS), bind(flat, TENSORS)
    return TENSORS[flat.__name__]


def named(names: str) -> Callable[[Any], Any]:
    """Give a plain function its public names; its signature is the form of the call. No formula can use it."""

    def store(function: Any) -> Any:
        NAMED.append((names, function, positional(function)))
        return function

    return store


def everywhere(function: Any) -> Any:
    """Register a function of plain numbers under its own name in every namespace."""
    ARRAYS[function.__name__] = TENSORS[function.__name__] = function
    return function


def native(function: Any) -> Any:
    """Mark a function that is C++ in PyTorch: a number beside a tensor in it is the scalar overload (``MulBackward1``)."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        before, mode.formula = mode.formula, True
        try:
            return function(*args, **kwargs)
        finally:
            mode.formula = before

    return run
