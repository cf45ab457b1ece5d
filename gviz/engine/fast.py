"""The same rows, faster: hot calls and the plain backward pass, written out for the usual case.

The core is one clear lane; this file lies above it, and nothing knows it but the import in ``engine/__init__.py``
(``GVIZ_FAST=0`` leaves it out, and every result stays the same). What it does comes from the rows themselves:

- A call of a row with one or two tensors (:func:`unary`, :func:`binary`) skips the binding of arguments and the promotion of
  dtypes if its operands are plain: tensors of one float dtype, or a tensor and a Python number. Any other call goes the usual way.
- A backward pass without hooks, anomaly mode, ``create_graph`` and custom nodes (:func:`run`) runs the formulas on arrays, in the
  namespace ``ARRAYS``, instead of on tensors.
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
from gviz.autograd.saved import GONE, keep, unpack
from gviz.autograd.tensor import Tensor, edge_of, from_array

__all__ = ["install"]

ndarray, new = np.ndarray, object.__new__
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
NOTHING: Any = object()
"""Stands for an argument that was not given: ``*args`` costs as much as a tenth of an operation."""
UNUSUAL = (ValueError, TypeError, RuntimeWarning, FloatingPointError, MemoryError)
"""Errors of a forward after which the usual way is taken, which says them in PyTorch's words."""


# ------------------------------------------------------------------ calls
def is_plain(row: Row) -> bool:
    """Return whether a row has one output, no view, and one or two tensors that get a gradient."""
    special = row.outputs or row.extras or row.view or row.lists or row.nondiff or row.shows or row.sparing
    return not special and row.node not in (None, "NotImplemented") and row.promote != "none" and 0 < len(row.texts) < 3


def specialised(row: Row, fallback: Any) -> Any:
    """Return the function of a row for plain operands; the fallback takes all others. None if the row is not plain enough."""
    options = len(row.parameters) - len(row.edges)
    if row.edges != row.inputs or row.edges != [*range(len(row.edges))] or options > min(1, len(row.defaults)):
        return None
    sources = [save.source for save in row.plan]
    if len(row.edges) == 1 and (sources in (["input"], ["result"]) or not {*sources} - {"option"}):
        return unary(row, fallback, sources[0] if sources else "")
    crossed = [(save.source, save.index, save.guard) for save in row.plan] == [("input", 1, 0), ("input", 0, 1)]
    if len(row.edges) == 2 and (crossed or not {*sources} - {"option"}):
        return binary(row, fallback, crossed=crossed)
    return None


def constants(row: Row) -> tuple[Any, ...]:
    """Return the options that a row saves, at their defaults."""
    return tuple(row.defaults[save.index - len(row.parameters)] for save in row.plan if save.source == "option")


def edge(tensor: Tensor) -> Any:
    """Return a tensor's edge; False where only the usual way knows (a view that has its gradient from its base)."""
    found = edge_of(tensor)
    return False if found is None and tensor.requires_grad else found


def unary(row: Row, fallback: Any, source: str) -> Any:
    """Return the function of one tensor, which saves its input, its result or constants."""
    forward, cls, kept = row.forward, row.cls, constants(row)

    def call(input: Any, surplus: Any = NOTHING) -> Any:
        if surplus is not NOTHING:
            return fallback(input, surplus)
        if input.__class__ is not Tensor or mode.notes or mode.inference:
            return fallback(input)
        array = input._array
        dtype = array.dtype
        if dtype is not SINGLE and dtype is not DOUBLE:
            return fallback(input)
        try:
            data = forward(array)
        except UNUSUAL:
            return fallback(input)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        origin = input._edge if mode.on else None
        if input._rare is not None and mode.on and input._rare.base is not None:
            origin = edge(input)
            if origin is False:
                return fallback(input)
        elif origin.__class__ is ref:
            node = origin()
            origin = edge_of(input) if node is None else (node, 0)
        result = new(Tensor)
        result._array = data
        result._rare = result._version_cell = None
        if origin is None:
            result._edge = None
            return result
        node = new(cls)
        node._next = (origin,)
        outputs = origin[0]._outputs
        facts = outputs[0]
        same = facts[0] == data.shape and facts[1] is data.dtype and len(outputs) == 1
        node._outputs = outputs if same else ((data.shape, data.dtype),)
        node._hooks = None
        node._seq = next_seq()
        if source == "result":
            node._kept = (data,)
        elif source == "input":
            node._kept = (input if input._version_cell is None and input._rare is None else keep(input),)
        else:
            node._kept = kept
        result._edge = node, 0
        return result

    return call


def binary(row: Row, fallback: Any, *, crossed: bool) -> Any:  # noqa: C901 - the hot path, written out
    """Return the function of two tensors, or a tensor and a number, which saves constants or (crossed) each for the other."""
    forward, cls, kept, numbers = row.forward, row.cls, constants(row), row.numbers

    def call(input: Any, other: Any, surplus: Any = NOTHING) -> Any:  # noqa: C901, PLR0911, PLR0912
        if surplus is not NOTHING:
            return fallback(input, other, surplus)
        if input.__class__ is not Tensor or mode.notes or mode.inference:
            return fallback(input, other)
        a = input._array
        dtype = a.dtype
        if dtype is not SINGLE and dtype is not DOUBLE:
            return fallback(input, other)
        tensor = other.__class__ is Tensor
        if tensor:
            b = other._array
            if b.dtype is not dtype:
                return fallback(input, other)
        elif numbers and not mode.formula and (other.__class__ is float or other.__class__ is int):
            b = other
        else:
            return fallback(input, other)
        try:
            data = forward(a, b)
        except UNUSUAL:
            return fallback(input, other)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        left = right = None
        if mode.on:
            left = input._edge
            if input._rare is not None and input._rare.base is not None:
                left = edge(input)
            elif left.__class__ is ref:
                node = left()
                left = edge_of(input) if node is None else (node, 0)
            if tensor:
                right = other._edge
                if other._rare is not None and other._rare.base is not None:
                    right = edge(other)
                elif right.__class__ is ref:
                    node = right()
                    right = edge_of(other) if node is None else (node, 0)
            if left is False or right is False:
                return fallback(input, other)
        result = new(Tensor)
        result._array = data
        result._rare = result._version_cell = None
        if left is None and right is None:
            result._edge = None
            return result
        node = new(cls)
        node._next = left, right
        outputs = (left or right)[0]._outputs
        facts = outputs[0]
        same = facts[0] == data.shape and facts[1] is data.dtype and len(outputs) == 1
        node._outputs = outputs if same else ((data.shape, data.dtype),)
        node._hooks = None
        node._seq = next_seq()
        if crossed:
            if left is None:
                other = None
            elif tensor and (other._version_cell is not None or other._rare is not None):
                other = keep(other)
            if right is None:
                input = None
            elif input._version_cell is not None or input._rare is not None:
                input = keep(input)
            node._kept = other, input
        else:
            node._kept = kept
        result._edge = node, 0
        return result

    return call


# ------------------------------------------------------------------ the plain backward pass
def array_of(node: Any, value: Any, number: int | None) -> Any:
    """Return a saved thing as a formula on arrays takes it."""
    if value.__class__ is Tensor and value._version_cell is None and (value._rare is None or not value._rare.detached):
        return value._array
    if value.__class__ is ndarray or value is None or value.__class__ in PLAIN:
        return value
    value = unpack(node, value, number)
    return tuple(getattr(one, "_array", one) for one in value) if value.__class__ is tuple else getattr(value, "_array", value)


PLAIN = frozenset({int, float, bool, str, np.dtype})


def derivative(row: Row) -> Any:
    """Return ``apply(node, grad)``: the gradients of a row's inputs on arrays, None for those that nobody wants."""
    functions = {group: bind(function, ARRAYS) for group, function in zip(row.groups, row.formulas.values(), strict=True)}
    steps = [(functions[group], *step[1:]) for group, step in zip(sorted(row.groups), row.steps, strict=True)]
    numbers, count, listed = row.numbered, len(row.edges), row.listed

    def apply(node: Any, grad: Any) -> Any:
        edges, kept = node._next, node._kept
        values = [array_of(node, value, number) for value, number in zip(kept, numbers)]  # noqa: B905
        if listed:
            return steps[0][0](grad, *[values[at] for at in steps[0][1]])
        results: list[Any] = [None] * count
        for function, places, targets in steps:
            if len(targets) == 1:
                if edges[targets[0]] is not None:
                    results[targets[0]] = function(grad, *[values[at] for at in places])
            elif any(edges[at] is not None for at in targets):
                mask = tuple(one is not None for one in edges)
                for at, one in zip(targets, function(grad, *[mask if at < 0 else values[at] for at in places]), strict=True):
                    results[at] = one
        return results

    alone = [(function, places, targets[0]) for function, places, targets in steps if len(targets) == 1 and len(places) < 2]
    if listed or len(alone) != count or count > 2 or any(at < 0 for _, places, _ in alone for at in places):
        return apply
    parts = [(function, places[0] if places else None) for function, places, _ in sorted(alone, key=lambda step: step[2])]
    if count == 1:
        return of_one(*parts[0], numbers)
    if any(at is None for _, at in parts) and any(save.source != "option" for save in row.plan):
        return apply
    return of_two(parts[0], parts[1])


def of_one(function: Any, at: int | None, numbers: list[int | None]) -> Any:
    """Return the derivative of a row of one input, whose formula uses one saved thing at most."""
    if at is None:
        return lambda node, grad: (function(grad),)
    number = numbers[at]

    def apply(node: Any, grad: Any) -> Any:
        value = node._kept[at]
        return (function(grad, value if value.__class__ is ndarray else array_of(node, value, number)),)

    return apply


def of_two(first: Any, second: Any) -> Any:
    """Return the derivative of a row of two inputs, whose formulas use one saved thing at most."""
    (left_function, left_at), (right_function, right_at) = first, second
    if left_at is None or right_at is None:  # a sum: nothing is saved, or a factor that is 1 nearly always

        def add(node: Any, grad: Any) -> Any:
            left, right = node._next
            if left is not None:
                left = left_function(grad) if left_at is None else left_function(grad, node._kept[left_at])
            if right is not None:
                right = right_function(grad) if right_at is None else right_function(grad, node._kept[right_at])
            return left, right

        return add

    def apply(node: Any, grad: Any) -> Any:
        left, right = node._next
        kept = node._kept
        if left is not None:
            value = kept[left_at]
            plain = value.__class__ is Tensor and value._rare is None and value._version_cell is None
            left = left_function(grad, value._array if plain else array_of(node, value, None))
        if right is not None:
            value = kept[right_at]
            plain = value.__class__ is Tensor and value._rare is None and value._version_cell is None
            right = right_function(grad, value._array if plain else array_of(node, value, None))
        return left, right

    return apply


DERIVATIVES: dict[type, Any] = {}
"""The derivative on arrays of each class of nodes; None for a class that only the usual way can run."""


def derivative_of(cls: type) -> Any:
    """Return the derivative on arrays of a class of nodes, or None."""
    if cls not in DERIVATIVES:
        row: Any = getattr(cls, "_row", None)
        DERIVATIVES[cls] = None if row is None or row.outputs else derivative(row)
        if row is not None and not any(save.source in ("input", "result", "extra") for save in row.plan):
            HOLDS_NOTHING.add(cls)
    return DERIVATIVES[cls]


HOLDS_NOTHING: set[type] = set()
"""Classes of nodes that save no tensor."""


def order_of(roots: Any) -> list[Any] | None:
    """Return the nodes below the roots, the youngest first and without leaves; None if one of them needs the usual way."""
    seen = {node for (node, _), _ in roots}
    nodes = list(seen)
    leaves = 0
    for node in nodes:
        if node._hooks is not None:
            return None
        if DERIVATIVES.get(node.__class__) is None:
            if node.__class__ is AccumulateGrad:
                rare = node.variable._rare
                if rare is not None and (rare.hooks or rare.post_hooks):
                    return None
                leaves += 1
                continue
            if derivative_of(node.__class__) is None:
                return None
        for edge in node._next:
            if edge is not None:
                target = edge[0]
                if target not in seen:
                    seen.add(target)
                    nodes.append(target)
    nodes.sort(key=YOUTH, reverse=True)
    return nodes[leaves:]  # a leaf has the greatest number of all


YOUTH = attrgetter("_seq")
usual_run = Pass.run


def run(self: Pass) -> None:
    """Run a plain pass on arrays; any other one the usual way."""
    plain = not (self.create or self.only is not None or self.catch is not None or mode.anomaly)
    nodes = order_of(self.roots) if plain else None
    if nodes is None or any(gradient is None for _, gradient in self.roots):
        usual_run(self)
        return
    pending: dict[Any, Any] = {}
    sums: set[Any] = set()
    for (root, _), gradient in self.roots:
        give(pending, sums, root, gradient._array)
    before, mode.running, mode.on = (mode.running, mode.on), self, False
    done = 0
    try:
        with np.errstate(all="ignore"):
            for done, node in enumerate(nodes):  # noqa: B007 - an error leaves the number behind
                grad = pending.pop(node, None)
                if grad is not None:
                    outs = DERIVATIVES[node.__class__](node, grad)
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
                        else:
                            give(pending, sums, target, out)
                if not self.keep and node.__class__ not in HOLDS_NOTHING:
                    release(node)
        nodes.clear()
    finally:
        waiting = {edge[0] for node in nodes[done:] for edge in node._next if edge is not None}
        for leaf, grad in pending.items():
            if leaf.__class__ is AccumulateGrad and leaf not in waiting:
                leaf.variable.receive(from_array(grad, None))
        mode.running, mode.on = before


def fitted(out: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a gradient in the shape and dtype of what it is for."""
    out = np.asarray(out)
    if out.shape != shape:
        out = ARRAYS["sum_to"](out, shape)
    return out if out.dtype == dtype or dtype.kind not in "fc" else out.astype(dtype)


def release(node: Any) -> None:
    """Drop the saved tensors of a node."""
    kept = node._kept
    if len(kept) == 1 and kept[0].__class__ in DROPPED:
        node._kept = ONE_GONE
    elif len(kept) == 2 and kept[0].__class__ in DROPPED and kept[1].__class__ in DROPPED:
        node._kept = TWO_GONE
    else:
        node.release()


DROPPED, ONE_GONE, TWO_GONE = frozenset({Tensor, ndarray}), (GONE,), (GONE, GONE)


def give(pending: dict[Any, Any], sums: set[Any], target: Any, out: Any) -> None:
    """Add a gradient to what waits for a node: in place if that is a large sum made here, which nobody else holds."""
    old = pending.get(target)
    if old is None:
        pending[target] = out
    elif target in sums:
        np.add(old, out, old)
    else:
        pending[target] = old + out
        if old.size >= LARGE:
            sums.add(target)


LARGE = 2048
"""Elements from which a sum in place is quicker than one in new memory."""


# ------------------------------------------------------------------ binding
def install(namespace: dict[str, Any]) -> None:
    """Put the fast functions in the place of the usual ones: in the table, the namespace ``torch`` and the tensor class."""
    for key, row in ROWS.items():
        if is_plain(row):
            Stub(row).put(TENSORS, key, row)
    for word, name in names.NAMES.items():
        row = name.declared[0][1]
        if len(name.declared) > 1 or not isinstance(row, Row) or not is_plain(row) or name.short.endswith("_") or word.endswith("="):
            continue
        method = names.operator(word) or name.short
        if word[:1] != "r" or not names.operator(word):
            stub = Stub(row)
            if "." not in word or word.startswith("."):
                stub.put(Tensor, method, vars(Tensor)[method])
            if not names.operator(word) and word in (name.short, f"torch.{name.short}") and namespace.get(name.short) is not None:
                stub.put(namespace, name.short, namespace[name.short])
    Pass.run = run  # type: ignore[method-assign]


class Stub:
    """Makes the function of a row at its first call, and puts it in all its places."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def put(self, owner: Any, name: str, usual: Any) -> None:
        """Bind a function that replaces itself there; one that people call by name takes keywords too."""
        public = owner is not TENSORS and not name.startswith("__")

        def first(*args: Any, **kwargs: Any) -> Any:
            function = specialised(self.row, usual) or usual
            if function is not usual and public:
                function = with_words(function, usual, len(self.row.edges))
            bind_to(owner, name, function)
            return function(*args, **kwargs)

        first.__name__ = first.__qualname__ = name
        bind_to(owner, name, first)


def bind_to(owner: Any, name: str, function: Any) -> None:
    """Give a namespace or a class a function."""
    if isinstance(owner, dict):
        owner[name] = function
    else:
        setattr(owner, name, function)


def with_words(function: Any, usual: Any, count: int) -> Any:
    """Return a function that leaves calls with keywords, or with another number of arguments, to the usual one."""

    def call(*args: Any, **words: Any) -> Any:
        return usual(*args, **words) if words or len(args) != count else function(*args)

    call.__name__ = call.__qualname__ = usual.__name__
    return call
