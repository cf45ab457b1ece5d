"""``tf.gradients``: operations for the derivatives, added to the same graph.

A derivative is the one that the engine's table declares for the operation's function. Its formula calls other functions of the
table by name; here each of these names stands for "add an operation" (:data:`SYMBOLS`), so the formula that the dynamic engine
evaluates writes its own graph. What has no formula (slices, functions made of several) is differentiated by the engine when
the graph runs.
"""

from __future__ import annotations

import builtins
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.formulas import bind, parameters
from gviz.ops import ARRAYS, ROWS
from gviz.static.arrays import ones
from gviz.static.control import unit_of
from gviz.static.convert import convert, make
from gviz.static.functions import FORMULAS, OWN, function_of
from gviz.static.graph import Tensor
from gviz.static.loop_gradient import OF_UNITS
from gviz.static.operations import add_n
from gviz.static.structures import refill, tensors_in
from gviz.static.table import KEYS, call_of, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gviz.static.graph import Graph, Operation

__all__ = ["gradients"]


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False, aggregation_method: Any = None, stop_gradients: Any = None,
    unconnected_gradients: Any = "none",
) -> list[Tensor | None]:  # fmt: skip
    """The derivatives of the sum of ys with respect to each of xs.

    Args:
        ys: a tensor or a list of them.
        xs: likewise; inner tensors and variables too.
        grad_ys: a weight for each y, ones where there is none.
        name: the scope of the operations that are added.
        colocate_gradients_with_ops: accepted; there is one device.
        gate_gradients: accepted; the order of running is fixed.
        aggregation_method: accepted; parts are added by AddN.
        stop_gradients: tensors that count as constants.
        unconnected_gradients: "none" gives None where no y depends on an x, "zero" gives zeros.

    Returns:
        A tensor for each x.

    Raises:
        ValueError: ``grad_ys`` does not fit, or ``unconnected_gradients`` is neither.
        LookupError: an operation on the way has no derivative.
    """
    roots, wanted, stopped = as_list(ys), as_list(xs, own=True), as_list(stop_gradients, own=True)
    graph: Graph = (roots or wanted)[0].graph
    graph.check_open()
    unconnected = getattr(unconnected_gradients, "value", unconnected_gradients)
    if unconnected not in ("none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
    with graph.as_default(), graph.name_scope(name):
        found = spread(graph, roots, wanted, first_gradients(roots, grad_ys), stopped)
        if unconnected == "zero":
            return [make("ZerosLike", [x]) if g is None else g for g, x in zip(found, wanted, strict=True)]
    return found


def as_list(given: Any, *, own: bool = False) -> list[Tensor]:
    """Tensors; a variable stands for its own tensor or its value."""
    items = [] if given is None else given if isinstance(given, (list, tuple)) else [given]
    return [getattr(item, "_ref", item) if own else convert(item) for item in items]


def first_gradients(ys: Sequence[Tensor], given: Any) -> list[Tensor]:
    """Where the way back begins: the weights that were given (ValueError: not one for each y), else ones."""
    weights = [None] * len(ys) if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    if len(weights) != len(ys):
        raise ValueError(f"Must specify a weight for each output: {len(ys)} ys and {len(weights)} grad_ys")
    out = []
    for i, (y, weight) in enumerate(zip(ys, weights, strict=True)):
        kind, label = y.dtype.base_dtype, f"grad_ys_{i}"
        if weight is not None:
            out.append(convert(weight, kind, label))
        else:
            out.append(ones(y.shape, kind, label) if y.shape.is_fully_defined() else make("OnesLike", [y], label))
    return out


def spread(
    graph: Graph, ys: Sequence[Tensor], xs: Sequence[Tensor], weights: Sequence[Tensor], stopped: Sequence[Tensor]
) -> list[Tensor | None]:
    """Carry gradients back from ys to xs, one operation after the other, the last first."""
    parts: dict[Tensor, list[Tensor]] = {}
    for y, weight in zip(ys, weights, strict=True):
        parts.setdefault(y, []).append(weight)
    found: dict[Tensor, Tensor] = {}

    def total(tensor: Tensor) -> Tensor | None:
        if tensor not in found and tensor in parts:
            found[tensor] = add_n(parts[tensor])
        return found.get(tensor)

    for unit in reversed(operations_between(ys, xs, stopped)):
        if not any(out in parts for out in unit.outputs):
            continue
        with graph.name_scope(unit.name.split("/")[-1] + "_grad" if not graph.names.scope else f"{unit.name}_grad"):
            given = [total(out) for out in unit.outputs]
            for tensor, grad in OF_UNITS.get(type(unit), of_operation)(unit, given):
                if grad is not None and tensor.dtype.is_floating:
                    parts.setdefault(tensor, []).append(grad)
    return [total(x) for x in xs]


def operations_between(ys: Sequence[Tensor], xs: Sequence[Tensor], stopped: Sequence[Tensor]) -> list[Any]:
    """The operations (a loop or a branch counts as one) that ys need and that depend on xs."""
    needed: set[Any] = set()
    ends = set(stopped)
    waiting = [y for y in ys if y not in ends]
    while waiting:
        unit = unit_of(waiting.pop().op)
        if unit not in needed:
            needed.add(unit)
            waiting.extend(t for t in unit.inputs if t not in ends)
    reached = set(xs)
    out = []
    for unit in sorted(needed, key=lambda u: u.number):
        real = [t for t in unit.outputs if t.dtype.is_floating]
        if real and any(t in reached for t in unit.inputs):
            reached.update(real)
            out.append(unit)
    return out


# ------------------------------------------------------------------ one operation
def of_operation(op: Operation, grads: Sequence[Tensor | None]) -> Iterable[tuple[Tensor, Tensor | None]]:
    """The gradient of each input."""
    kind = kind_of(op)
    first = next((g for g in grads if g is not None), None)
    if kind.gradient is None:
        return []
    if kind.gradient == "pass":
        return [(op.inputs[0], first)]
    if kind.gradient == "all":
        return [(t, first) for t in op.inputs]
    if kind.call is None:
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")
    key, args = kind.gradient(op) if callable(kind.gradient) else call_of(op)
    return derivatives(key, args, op.outputs[0], first) if len(op.outputs) == 1 else by_engine(key, args, grads)


def derivatives(key: str, args: tuple[Any, ...], result: Tensor, grad: Tensor | None) -> Iterable[tuple[Tensor, Tensor | None]]:
    """What the row of that key declares for each of its tensors; by the engine at run time where it declares nothing."""
    row = ROWS.get(key)
    if key in FORMULAS:
        forward, formulas = OWN[key] if key in OWN else ROWS[key].forward, FORMULAS[key]
    elif key in OWN or row is None or row.lists or row.outputs or row.extras or not row.formulas:
        yield from by_engine(key, args, [grad])
        return
    else:
        forward, formulas = row.forward, row.formulas
    names = parameters(forward)
    values = dict(zip(names, (*args, *(forward.__defaults__ or ())[len(args) - len(names) :]), strict=False))
    for name, formula in formulas.items():
        into = values.get(name)
        if not isinstance(into, Tensor) or not into.dtype.is_floating:
            continue
        needs = [saved(key, values, result, need) for need in parameters(formula)[1:]]
        result.graph.promotes = True
        try:
            found = bind(formula, symbols())(grad, *needs)
        finally:
            result.graph.promotes = False
        yield into, fitted(found, into)


def fitted(grad: Any, into: Tensor) -> Any:
    """The gradient summed back where the input was broadcast."""
    if not isinstance(grad, Tensor):
        return fitted(convert(grad, into.dtype.base_dtype), into)
    if grad.shape.is_fully_defined() and grad.shape == into.shape:
        return grad
    return make("BroadcastGradient", [grad, into], "Sum")


def saved(key: str, values: dict[str, Any], result: Tensor, name: str) -> Any:
    """What a derivative uses: an argument, the result, or a fact of an argument (known now, or when the graph runs)."""
    if name in values:
        return values[name]
    if name == "result":
        return result
    base, _, fact = name.partition("_sym_")
    tensor = values.get(base)
    if not isinstance(tensor, Tensor) or fact not in ("dtype", "sizes", "numel", "strides"):
        raise LookupError(
            f"No gradient defined for '{result.op.name}' (op type: {result.op.type}): its derivative needs {name}"
        )
    if fact == "dtype":
        return np.dtype(tensor.dtype.as_numpy_dtype)
    if tensor.shape.is_fully_defined() and fact != "strides":
        dims = tuple(tensor.shape.as_list())
        return dims if fact == "sizes" else int(np.prod([n or 0 for n in dims]))
    return make("Sizes", [tensor], "Shape", fact=fact)


# ------------------------------------------------------------------ formulas that write graphs
TYPE_OF = {key: name for name, key in KEYS.items() if name != "Rint"} | {"where": "Select", "spread_sum": "BroadcastGradient"}
"""TensorFlow's type for a function of the table that takes tensors alone: Neg for ``neg``."""


@cache
def symbols() -> dict[str, Any]:
    """The namespace in which a formula's names add operations; made at the first derivative."""
    own: dict[str, Any] = {"__builtins__": builtins, "__name__": "gviz.static.symbols"}
    own["maybe_multiply"] = lambda grad, number: grad if number == 1 else grad * number
    return {k: symbol(k) for k, f in (ARRAYS | OWN).items() if callable(f)} | own


def symbol(key: str) -> Callable[..., Any]:
    """A function of the table as one operation: of TensorFlow's type for it, else of the function's own name."""

    def add(*args: Any) -> Any:
        tensors = list(tensors_in(args))
        if not tensors:
            return function_of(key)(*args)
        type = TYPE_OF.get(key)
        if type is not None and all(isinstance(a, Tensor) for a in args) and len(args) == len(tensors):
            return make(type, tensors)
        return call(key, args, tensors)

    return add


def call(key: str, args: tuple[Any, ...], tensors: Sequence[Tensor]) -> Tensor:
    """An operation for a call of a function of the table, whatever its arguments."""
    return make(camel(key), list(tensors), call=lambda op: (key, refill(args, iter(op.inputs))), key=key)


def by_engine(key: str, args: tuple[Any, ...], grads: Sequence[Tensor | None]) -> Iterable[tuple[Tensor, Tensor | None]]:
    """Derivatives that the dynamic engine computes when the graph runs: of functions that no row describes."""
    given = [g for g in grads if g is not None]
    which = tuple(i for i, g in enumerate(grads) if g is not None)
    inputs = list(tensors_in(args))

    def backward(place: int) -> Callable[[Operation], Any]:
        def call(op: Operation) -> tuple[str, tuple[Any, ...]]:
            rest = iter(op.inputs)
            grads = tuple(islice(rest, len(given)))
            return "vjp", (key, refill(args, rest), place, which, grads)

        return call

    for place, tensor in enumerate(inputs):
        if tensor.dtype.is_floating:
            found = make(f"{camel(key)}Grad", [*given, *inputs], call=backward(place), key=f"{key}_grad")
            found.set_shape(tensor.shape)
            yield tensor, found


def camel(key: str) -> str:
    """``pow_backward`` as ``PowBackward``."""
    return "".join(part[:1].upper() + part[1:] for part in key.split("_"))
