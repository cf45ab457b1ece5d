"""The same rows, faster: hot calls and the plain backward pass, written out for the usual case.

This file lies above the engine, and nothing knows it but one line of ``engine/__init__.py``: ``GVIZ_FAST=0`` leaves it out,
and every result stays the same. The call of a hot row (:func:`unary`, :func:`binary`) skips the binding of arguments and the
promotion of dtypes if its operands are plain: tensors of one float dtype, or a tensor and a Python number. A backward pass
without hooks, anomaly mode, ``create_graph`` and custom nodes (:func:`run`) runs the formulas on arrays instead of on tensors.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any
from weakref import ref

import numpy as np

from gviz.autograd import names
from gviz.autograd.backward import Pass
from gviz.autograd.formulas import bind
from gviz.autograd.modes import mode
from gviz.autograd.node import AccumulateGrad, next_seq
from gviz.autograd.row import ARRAYS, ROWS, TENSORS, Row
from gviz.autograd.saved import GONE, unpack
from gviz.autograd.saved import keep as kept_of
from gviz.autograd.tensor import Tensor, edge_of, from_array

__all__ = ["install"]

HOT = ("add", "sub", "mul", "div", "neg", "absolute", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "relu")
"""Rows of one or two tensors, which save nothing but constants, their input or result, or each input for the other."""
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
UNUSUAL = (ValueError, TypeError, RuntimeWarning, FloatingPointError, MemoryError)  # the usual way says them in PyTorch's words
LARGE = 2048  # elements from which a sum in place is quicker than one in new memory
NOTHING: Any = object()  # stands for an argument that was not given: ``*args`` costs as much as a tenth of an operation
ndarray, new = np.ndarray, object.__new__


# ------------------------------------------------------------------ calls
def constants(row: Row) -> tuple[Any, ...]:
    """Return the options that a row saves, at their defaults."""
    return tuple(row.defaults[save.place - len(row.parameters)] for save in row.plan if save.source == "option")


def recorded(data: Any, cls: Any, edges: tuple[Any, ...], edge: Any, kept: tuple[Any, ...]) -> Tensor:
    """Return a result with its node; ``edge`` is that of an input, whose facts are shared if they are the same."""
    node = new(cls)
    node._next = edges
    outputs = edge[0]._outputs
    shape, dtype = outputs[0]
    same = shape == data.shape and dtype is data.dtype and len(outputs) == 1
    node._outputs = outputs if same else ((data.shape, data.dtype),)
    node._hooks = None
    node._seq = next_seq()
    node._kept = kept
    result: Tensor = new(Tensor)
    result._array = data
    result._rare = result._version_cell = None
    result._edge = node, 0
    return result


def unary(row: Row, usual: Any) -> Any:
    """Return the function of one tensor, which saves its input, its result or constants."""
    forward, cls, kept = row.forward, row.cls, constants(row)
    source = row.plan[0].source if row.plan else ""

    def call(input: Any, surplus: Any = NOTHING) -> Any:
        if surplus is not NOTHING:
            return usual(input, surplus)
        if input.__class__ is not Tensor or mode.notes or mode.inference:
            return usual(input)
        array, rare = input._array, input._rare
        if (array.dtype is not SINGLE and array.dtype is not DOUBLE) or (rare is not None and rare.base is not None):
            return usual(input)
        try:
            data = forward(array)
        except UNUSUAL:
            return usual(input)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        edge = input._edge if mode.on else None
        if edge.__class__ is ref:
            leaf = edge()
            edge = edge_of(input) if leaf is None else (leaf, 0)
        if edge is None:
            return from_array(data, None)
        if source == "input":
            kept_now: Any = (input if input._version_cell is None and rare is None else kept_of(input),)
        else:
            kept_now = (data,) if source else kept
        return recorded(data, cls, (edge,), edge, kept_now)

    return call


def binary(row: Row, usual: Any) -> Any:  # noqa: C901 - the hot path, written out
    """Return the function of two tensors, or a tensor and a number, which saves constants or each input for the other."""
    forward, cls, kept, numbers = row.forward, row.cls, constants(row), row.numbers
    crossed = [(save.place, save.guard) for save in row.plan] == [(1, 0), (0, 1)]
    unsaved = not crossed and len(kept) < len(row.plan)

    def call(input: Any, other: Any, surplus: Any = NOTHING) -> Any:  # noqa: C901, PLR0911, PLR0912
        if surplus is not NOTHING:
            return usual(input, other, surplus)
        if input.__class__ is not Tensor or mode.notes or mode.inference:
            return usual(input, other)
        a, b, rare = input._array, other, input._rare
        if (a.dtype is not SINGLE and a.dtype is not DOUBLE) or (rare is not None and rare.base is not None):
            return usual(input, other)
        if tensor := other.__class__ is Tensor:
            b, rare = other._array, other._rare
            if b.dtype is not a.dtype or (rare is not None and rare.base is not None):
                return usual(input, other)
        elif not numbers or mode.formula or (other.__class__ is not float and other.__class__ is not int):
            return usual(input, other)
        left = right = None
        if mode.on:
            left = input._edge
            if left.__class__ is ref:
                leaf = left()
                left = edge_of(input) if leaf is None else (leaf, 0)
            if tensor:
                right = other._edge
                if right.__class__ is ref:
                    leaf = right()
                    right = edge_of(other) if leaf is None else (leaf, 0)
        edge = left or right
        if edge is not None and unsaved:
            return usual(input, other)
        try:
            data = forward(a, b)
        except UNUSUAL:
            return usual(input, other)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        if edge is None:
            return from_array(data, None)
        if not crossed:
            return recorded(data, cls, (left, right), edge, kept)
        if left is None:
            other = None
        elif tensor and (other._version_cell is not None or other._rare is not None):
            other = kept_of(other)
        if right is None:
            input = None
        elif input._version_cell is not None or input._rare is not None:
            input = kept_of(input)
        return recorded(data, cls, (left, right), edge, (other, input))

    return call


# ------------------------------------------------------------------ derivatives on arrays
def array_of(node: Any, value: Any, number: int | None) -> Any:
    """Return a saved thing as a formula on arrays takes it."""
    if value.__class__ is Tensor and value._version_cell is None and (value._rare is None or not value._rare.detached):
        return value._array
    if value.__class__ is ndarray or value.__class__ in (int, float, tuple):
        return value
    value = unpack(node, value, number)
    return tuple(getattr(one, "_array", one) for one in value) if value.__class__ is tuple else getattr(value, "_array", value)


def derivative(row: Row) -> Any:
    """Return ``apply(node, grad)``: the gradients of a row's inputs on arrays, None for those that nobody wants."""
    functions = {group: bind(function, ARRAYS) for group, function in zip(row.groups, row.formulas.values(), strict=True)}
    steps = [(functions[group], *step[1:]) for group, step in zip(sorted(row.groups), row.steps, strict=True)]
    numbers, count, listed = row.numbered, len(row.edges), row.listed

    def apply(node: Any, grad: Any) -> Any:
        edges = node._next
        values = [array_of(node, value, number) for value, number in zip(node._kept, numbers)]  # noqa: B905
        if listed:
            return steps[0][0](grad, *[values[at] for at in steps[0][1]])
        mask = tuple([edge is not None for edge in edges])
        results: list[Any] = [None] * count
        for function, places, targets in steps:
            if any(mask[at] for at in targets):
                out = function(grad, *[mask if at < 0 else values[at] for at in places])
                for at, one in zip(targets, out if len(targets) > 1 else (out,)):  # noqa: B905
                    results[at] = one
        return results

    if listed or len(steps) != count or count > 2 or any(len(places) > 1 for _, places, _ in steps):
        return apply
    parts = [(f, places[0] if places else None) for f, places, _ in sorted(steps, key=lambda step: step[2])]
    return of_one(*parts[0], numbers) if count == 1 else of_two(*parts[0], *parts[1], numbers)


def of_one(function: Any, at: int | None, numbers: list[int | None]) -> Any:
    """Return the derivative of a row of one input, whose formula uses one saved thing at most."""
    if at is None:
        return lambda node, grad: (function(grad),)
    number = numbers[at]

    def apply(node: Any, grad: Any) -> Any:
        value = node._kept[at]
        return (function(grad, value if value.__class__ is ndarray else array_of(node, value, number)),)

    return apply


def of_two(first: Any, first_at: int | None, second: Any, second_at: int | None, numbers: list[int | None]) -> Any:
    """Return the derivative of a row of two inputs, whose formulas use one saved thing at most."""

    def apply(node: Any, grad: Any) -> Any:
        left, right = node._next
        if left is not None:
            left = first(grad) if first_at is None else first(grad, array_of(node, node._kept[first_at], numbers[first_at]))
        if right is not None:
            right = (
                second(grad) if second_at is None else second(grad, array_of(node, node._kept[second_at], numbers[second_at]))
            )
        return left, right

    return apply


DERIVATIVES: dict[type, Any] = {}
"""For each class of nodes: derivative on arrays, saved tensors when freed, whether there are any; None: the usual way only."""


def derivative_of(cls: type) -> Any:
    """Return the entry of a class of nodes, which is made when it is first asked for."""
    if cls not in DERIVATIVES:
        row: Any = getattr(cls, "_row", None)
        tensors = [save.source in ("input", "result", "extra") for save in row.plan] if row is not None else []
        gone = (GONE,) * len(tensors) if all(tensors) else ()
        DERIVATIVES[cls] = None if row is None or row.outputs else (derivative(row), gone, any(tensors))
    return DERIVATIVES[cls]


# ------------------------------------------------------------------ the plain backward pass
YOUTH = attrgetter("_seq")
usual_run = Pass.run


def order_of(roots: Any) -> list[Any] | None:
    """Return the nodes below the roots, the youngest first and without leaves; None if one of them needs the usual way."""
    seen = {node for (node, _), _ in roots}
    nodes, leaves = list(seen), 0
    for node in nodes:
        if node._hooks is not None:
            return None
        if DERIVATIVES.get(node.__class__) is None:
            if node.__class__ is AccumulateGrad:
                rare = node.variable._rare
                if rare is not None and (rare.hooks or rare.post_hooks):
                    return None
                leaves += 1
            elif derivative_of(node.__class__) is None:
                return None
        for edge in node._next:
            if edge is not None:
                target = edge[0]
                if target not in seen:
                    seen.add(target)
                    nodes.append(target)
    nodes.sort(key=YOUTH, reverse=True)
    return nodes[leaves:]  # a leaf has the greatest number of all


def run(self: Pass) -> None:  # noqa: C901, PLR0912 - the hot path, written out
    """Run a plain pass on arrays; any other one the usual way."""
    plain = not (self.create or self.only is not None or self.catch is not None or mode.anomaly)
    nodes = order_of(self.roots) if plain else None
    if nodes is None or any(gradient is None for _, gradient in self.roots):
        usual_run(self)
        return
    pending: dict[Any, Any] = {}
    for (root, _), gradient in self.roots:
        pending[root] = gradient._array if root not in pending else pending[root] + gradient._array
    sums: set[Any] = set()  # nodes whose gradient is a large sum made here: nobody else holds it
    before, mode.running, mode.on, keep = (mode.running, mode.on), self, False, self.keep
    try:
        with np.errstate(all="ignore"):
            for node in nodes:
                grad = pending.pop(node, None)
                apply, gone, holds = DERIVATIVES[node.__class__]
                outs = () if grad is None else apply(node, grad)
                for edge, out in zip(node._next, outs):  # noqa: B905
                    if out is None or edge is None:
                        continue
                    target, number = edge
                    if out is not grad or target._outputs is not node._outputs:
                        shape, dtype = target._outputs[number]
                        if out.__class__ is not ndarray or out.shape != shape or out.dtype is not dtype:
                            out = fitted(out, shape, dtype)  # noqa: PLW2901
                    old = pending.get(target)
                    if old is None:
                        pending[target] = out
                    elif old.size < LARGE:
                        pending[target] = old + out
                    elif target in sums:
                        np.add(old, out, old)
                    else:
                        pending[target] = old + out
                        sums.add(target)
                if holds and not keep:
                    if gone and None not in node._next:
                        node._kept = gone
                    else:
                        node.release()
        nodes.clear()
    finally:
        left = nodes[nodes.index(node) :] if nodes else []  # of a pass that failed: the leaves above have their gradients
        waiting = {edge[0] for node in left for edge in node._next if edge is not None}
        for leaf, grad in pending.items():
            if leaf.__class__ is AccumulateGrad and leaf not in waiting:
                leaf.variable.receive(from_array(grad, None))
        mode.running, mode.on = before


def fitted(out: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a gradient in the shape and dtype of what it is for."""
    out = np.asarray(out)
    out = out if out.shape == shape else ARRAYS["sum_to"](out, shape)
    return out if dtype.kind not in "fc" else out.astype(dtype, copy=False)


# ------------------------------------------------------------------ binding
def install(namespace: dict[str, Any]) -> None:
    """Put the fast functions in the place of the usual ones: in the table, the namespace ``torch`` and the tensor class."""
    makers = {ROWS[key]: unary if len(ROWS[key].edges) == 1 else binary for key in HOT}
    for row, make in makers.items():
        TENSORS[row.key] = make(row, row)
    for word, name in names.NAMES.items():
        maker: Any = makers.get(name.declared[0][1])
        if maker is None or len(name.declared) > 1 or word.endswith(("_", "=")) or "." in word[1:]:
            continue
        method = names.operator(word) or name.short
        usual = vars(Tensor)[method]
        function = maker(name.declared[0][1], usual)
        if method == name.short and (maker is binary or not word.startswith(".")):
            function = with_words(function, usual, 1 if maker is unary else 2)
        setattr(Tensor, method, function)
        if not word.startswith(".") and method == name.short:
            namespace[method] = function
    Pass.run = run  # type: ignore[method-assign]


def with_words(function: Any, usual: Any, count: int) -> Any:
    """Return a function that leaves calls with keywords, or with another number of arguments, to the usual one."""

    def call(*args: Any, **words: Any) -> Any:
        return usual(*args, **words) if words or len(args) != count else function(*args)

    call.__name__ = call.__qualname__ = usual.__name__
    return call
