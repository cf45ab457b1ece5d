"""The same rows, faster: hot calls and the plain backward pass, written out for the usual case.

This file lies above the engine, and nothing knows it but one line of ``engine/__init__.py``: ``GVIZ_FAST=0`` leaves it
out, and every result stays the same. The call of a hot row (:func:`unary`, :func:`binary`) skips the binding of
arguments and the
promotion of dtypes if its operands are plain: tensors of one float dtype, or a tensor and a Python number. A backward
pass without hooks, anomaly mode, ``create_graph`` and custom nodes (:func:`run`) runs the formulas on arrays instead of
on tensors.
"""

from __future__ import annotations

import operator
from typing import Any
from weakref import ref

import numpy as np

from gviz.autograd.backward import Pass
from gviz.autograd.formulas import bind
from gviz.autograd.modes import mode, no_grad
from gviz.autograd.node import AccumulateGrad, next_seq
from gviz.autograd.row import ARRAYS, ROWS, TENSORS, Row
from gviz.autograd.saved import GONE, keep as kept_of, unpack
from gviz.autograd.tensor import Tensor, edge_of, from_array
from gviz.signatures import names

__all__ = ["install"]

HOT: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "absolute": np.abs, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "sigmoid": None, "relu": None,
}  # fmt: skip
"""Rows of one or two tensors, which save nothing but constants, their input or result, or each input for the other;
with the function that the row's forward calls, if it does nothing else."""
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
UNUSUAL = (
    ValueError,
    TypeError,
    RuntimeWarning,
    FloatingPointError,
    MemoryError,
)  # the usual way says them in PyTorch's words
LARGE = 2048  # elements from which a sum in place is quicker than one in new memory
ndarray, new = np.ndarray, object.__new__


# ------------------------------------------------------------------ calls
def constants(row: Row) -> tuple[Any, ...]:
    """Return the options that a row saves, at their defaults."""
    return tuple(row.defaults[save.place - len(row.parameters)] for save in row.plan if save.source == "option")


def unary(row: Row, usual: Any) -> Any:
    """Return the function of one tensor, which saves its input, its result or constants."""
    forward, cls, kept = HOT[row.key] or row.forward, row.cls, constants(row)
    source = row.plan[0].source if row.plan else ""

    def call(*args: Any, **words: Any) -> Any:
        if len(args) != 1 or words or args[0].__class__ is not Tensor or mode.notes:
            return usual(*args, **words)
        input = args[0]
        array, rare = input._array, input._rare
        kind = array.dtype
        if (kind is not SINGLE and kind is not DOUBLE) or (rare is not None and rare.base is not None):
            return usual(input)
        edge: Any = input._edge if mode.on else None
        try:
            data = forward(array)
        except UNUSUAL:
            return usual(input)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        if edge is None:
            return from_array(data, None)
        if edge.__class__ is ref:
            leaf = edge()
            edge = edge_of(input) if leaf is None else (leaf, 0)
        node = cls()
        node._next = (edge,)
        outputs = edge[0]._outputs
        shape, dtype = outputs[0]
        same = dtype is data.dtype and shape == data.shape and len(outputs) == 1
        node._outputs = outputs if same else ((data.shape, data.dtype),)
        node._hooks = None
        node._seq = next_seq()
        if source == "input":
            node._kept = (input if input._version_cell is None and rare is None else kept_of(input),)
        else:
            node._kept = (data,) if source else kept
        result = new(Tensor)
        result._array = data
        result._rare = result._version_cell = None
        result._edge = node, 0
        return result

    return call


def binary(row: Row, usual: Any) -> Any:  # noqa: C901, PLR0915 - the hot path, written out
    """Return the function of two tensors, or a tensor and a number, which saves constants or each input for the other."""
    forward, cls, kept, numbers = HOT[row.key], row.cls, constants(row), row.numbers
    crossed = [save.place for save in row.plan] == [1, 0]
    always = crossed and row.plan[0].guard is None  # the divisor is saved whoever wants a gradient

    def call(input: Any, other: Any) -> Any:  # noqa: C901, PLR0911, PLR0912
        if input.__class__ is not Tensor or mode.notes:
            return usual(input, other)
        a, b, rare = input._array, other, input._rare
        kind = a.dtype
        if (kind is not SINGLE and kind is not DOUBLE) or (rare is not None and rare.base is not None):
            return usual(input, other)
        left, right = input._edge, None
        if other.__class__ is Tensor:
            b, rare = other._array, other._rare
            if b.dtype is not kind or (rare is not None and rare.base is not None):
                return usual(input, other)
            right = other._edge
        elif not numbers or mode.formula or (other.__class__ is not float and other.__class__ is not int):
            return usual(input, other)
        edge: Any = left or right if mode.on else None
        try:
            data = forward(a, b)
        except UNUSUAL:
            return usual(input, other)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        if edge is None:
            return from_array(data, None)
        if left.__class__ is ref:
            leaf = left()
            edge = left = edge_of(input) if leaf is None else (leaf, 0)
        if right.__class__ is ref:
            leaf = right()
            right = edge_of(other) if leaf is None else (leaf, 0)
            edge = left or right
        node = cls()
        node._next = left, right
        outputs = edge[0]._outputs
        shape, dtype = outputs[0]
        same = dtype is data.dtype and shape == data.shape and len(outputs) == 1
        node._outputs = outputs if same else ((data.shape, data.dtype),)
        node._hooks = None
        node._seq = next_seq()
        if crossed:  # None where nobody wants the other one's gradient
            if left is None and not always:
                other = None
            elif rare is not None or (b is not other and other._version_cell is not None):
                other = kept_of(other)
            if right is None:
                input = None
            elif input._version_cell is not None or input._rare is not None:
                input = kept_of(input)
            node._kept = other, input
        else:
            node._kept = kept
        result = new(Tensor)
        result._array = data
        result._rare = result._version_cell = None
        result._edge = node, 0
        return result

    return call


# ------------------------------------------------------------------ derivatives on arrays
def array_of(node: Any, value: Any, number: int | None) -> Any:
    """Return a saved thing as a formula on arrays takes it."""
    if value.__class__ is Tensor and value._version_cell is None and (value._rare is None or not value._rare.detached):
        return value._array
    if value.__class__ is ndarray or value.__class__ in (int, float, tuple):
        return value
    value = unpack(node, value, number)
    return (
        tuple(getattr(one, "_array", one) for one in value)
        if value.__class__ is tuple
        else getattr(value, "_array", value)
    )


def give(edge: Any, out: Any, pending: dict[Any, Any], sums: set[Any]) -> None:
    """Add a gradient, in the shape and dtype of what it is for, to what waits for a node."""
    target, number = edge
    shape, dtype = target._outputs[number]
    if out.__class__ is not ndarray or out.shape != shape or out.dtype is not dtype:
        out = np.asarray(out)
        out = out if out.shape == shape else ARRAYS["sum_to"](out, shape)
        out = out if dtype.kind not in "fc" else out.astype(dtype, copy=False)
    old = pending.get(target)
    if old is None:
        pending[target] = out
    elif target in sums:
        np.add(old, out, old)
    else:
        pending[target] = old + out
        if old.size >= LARGE:
            sums.add(target)


def step_of(row: Row) -> Any:
    """Return ``step(node, grad, pending, sums)``: gives each input that wants it its gradient, computed on arrays."""
    if not row.listed and len(row.texts) == len(row.edges):
        return written_out(row)
    steps = [(bind(function, ARRAYS), *rest) for function, *rest in row.steps]
    numbers, count, listed = row.numbered, len(row.edges), row.listed

    def step(node: Any, grad: Any, pending: dict[Any, Any], sums: set[Any]) -> None:
        values = [array_of(node, value, number) for value, number in zip(node._kept, numbers, strict=True)]
        mask = tuple([edge is not None for edge in node._next])
        results: list[Any] = [None] * count
        for function, places, targets in steps:
            if listed:
                results = function(grad, *[values[at] for at in places])
            elif any(mask[at] for at in targets):
                out = function(grad, *[mask if at < 0 else values[at] for at in places])
                for at, one in zip(targets, out if len(targets) > 1 else (out,), strict=True):
                    results[at] = one
        for edge, out in zip(node._next, results, strict=False):
            if edge is not None and out is not None:
                give(edge, out, pending, sums)

    return step


USUAL = {
    "input": "{0}._array if {0}.__class__ is Tensor and {0}._version_cell is {0}._rare is None",
    "result": "{0} if {0}.__class__ is ndarray",
    "option": "{0} if {0}.__class__ is int",
}
"""How saved things are read in the usual case, by where they come from."""


def written_out(row: Row) -> Any:
    """Return the step of a row with one formula for each input as one piece of code, with the formulas in it."""
    plan = {
        save.name: (at, USUAL.get(save.source, USUAL["result"]).format(save.name)) for at, save in enumerate(row.plan)
    }
    lines = ["def step(node, grad, pending, sums):"]
    for name, need in zip(row.texts, row.needs, strict=True):
        at = row.edges.index(row.parameters.index(name))
        lines += [
            f"  edge = node._next[{at}]",
            "  if edge is not None:",
            *(f"    {one} = node._kept[{plan[one][0]}]" for one in need),
            *(f"    {one} = {plan[one][1]} else array_of(node, {one}, {row.numbered[plan[one][0]]})" for one in need),
            f"    out, target = {row.texts[name]}, edge[0]",
            "    shape, dtype = target._outputs[edge[1]]",
            "    if target not in pending and out.__class__ is ndarray and out.shape == shape and out.dtype is dtype:",
            "      pending[target] = out",
            "    elif out is not None: give(edge, out, pending, sums)",
        ]
    space = {**ARRAYS, "array_of": array_of, "give": give, "ndarray": ndarray, "Tensor": Tensor}
    exec("\n".join(lines), space)  # noqa: S102 - the table's own text
    return space["step"]


DERIVATIVES: dict[type, Any] = {}
"""For each class of nodes: step on arrays, saved tensors when freed, whether there are any; None: the usual way
only."""


def derivative_of(cls: type) -> Any:
    """Return the entry of a class of nodes, which is made when it is first asked for."""
    if cls not in DERIVATIVES:
        row: Any = getattr(cls, "_row", None)
        tensors = [save.source in ("input", "result", "extra") for save in row.plan] if row is not None else []
        gone = (GONE,) * len(tensors) if all(tensors) else ()
        DERIVATIVES[cls] = None if row is None or row.outputs else (step_of(row), gone, any(tensors))
    return DERIVATIVES[cls]


# ------------------------------------------------------------------ the plain backward pass
YOUTH = operator.attrgetter("_seq")
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
            if edge is not None and (target := edge[0]) not in seen:
                seen.add(target)
                nodes.append(target)
    nodes.sort(key=YOUTH, reverse=True)
    return nodes[leaves:]  # a leaf has the greatest number of all


def run(self: Pass) -> None:
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
    before, mode.running, mode.on, keep = (mode.running, mode.on, mode.notes), self, False, self.keep
    try:
        with np.errstate(all="ignore"):
            for node in nodes:
                grad = pending.pop(node, None)
                step, gone, holds = DERIVATIVES[node.__class__]
                if grad is not None:
                    step(node, grad, pending, sums)
                if holds and not keep:
                    if gone and None not in node._next:
                        node._kept = gone
                    else:
                        node.release()
        nodes.clear()
    except UNUSUAL:
        node.apply([from_array(grad, None)], [edge is not None for edge in node._next])  # says it in PyTorch's words
        raise
    finally:
        mode.running, mode.on, mode.notes = before
        left = (
            nodes[nodes.index(node) :] if nodes else []
        )  # of a pass that failed: the leaves above have their gradients
        waiting = {edge[0] for node in left for edge in node._next if edge is not None}
        with no_grad():
            for leaf in [leaf for leaf in pending if leaf.__class__ is AccumulateGrad and leaf not in waiting]:
                leaf.variable.receive([from_array(pending.pop(leaf), None)])


# ------------------------------------------------------------------ binding
def install(namespace: dict[str, Any]) -> None:
    """Put the fast functions in the place of the usual ones: in the table, the namespace ``torch`` and the tensor class."""
    makers = {ROWS[key]: unary if len(ROWS[key].edges) == 1 else binary for key in HOT}
    for row, make in makers.items():
        row.cls.__init__ = object.__init__  # so that a call of the class is the quickest way to an empty node
        TENSORS[row.key] = make(row, row)
    for word, name in names.NAMES.items():
        maker: Any = makers.get(name.declared[0][1])
        if (
            maker is None
            or not all(form.deprecated for form in name.forms[1:])
            or word.endswith(("_", "="))
            or "." in word[1:]
        ):
            continue
        method = names.operator(word) or name.base
        for usual in (vars(Tensor)[method], name.function)[: 1 + (not word.startswith(".") and method == name.base)]:
            function = maker(name.declared[0][1], usual)
            if method == name.base and maker is binary:
                function = with_words(function, usual)
            name.label(function, usual is not name.function)
            if usual is name.function:
                namespace[method] = function
            else:
                setattr(Tensor, method, function)
    Pass.run = run  # type: ignore[method-assign]


def with_words(function: Any, usual: Any) -> Any:
    """Return a function of two that leaves calls with keywords, or with another number of arguments, to the usual one."""
    return lambda *args, **words: usual(*args, **words) if words or len(args) != 2 else function(*args)
