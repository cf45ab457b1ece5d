"""``tf.gradients``: operations for the derivatives, added to the same graph.

A derivative is the one that the engine's table declares for the operation's function. Its formula calls other functions
of the table by name; here each of these names stands for "add an operation" (:func:`symbols`), so the formula that the
dynamic engine evaluates writes its own graph. :data:`IN_OPERATIONS` has the parts that TensorFlow writes in operations
of its own.

A loop has a gradient loop (``stacks.py``). A branch has none: what is derived from its inside is there if it ran, and
what came in has a Merge for its gradient, where a Merge has a Switch.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Any

from gviz.autograd.formulas import bind, inputs_of, parameters
from gviz.numbers.words import refuse
from gviz.ops import ARRAYS, ROWS
from gviz.reaching import first_to_last, reached
from gviz.static import functions as tf
from gviz.static.build import cast, constant, convert, make
from gviz.static.control import SECOND_ORDER, Loop, merge_of, sides_of, unit_of
from gviz.static.derivatives import DERIVATIVES, OF_CALLS
from gviz.static.graph import (
    ControlFlowContext,
    Graph,
    Operation,
    Tensor,
    TensorLike,
    replace_tensors,
    symbolic_tensors,
)
from gviz.static.kernels import KERNELS, array_function
from gviz.static.stacks import GradientLoop
from gviz.static.table import FAMILY, FLAT, call_of, type_of
from gviz.static.types import int32


def gradients(
    ys: TensorLike,
    xs: TensorLike,
    grad_ys: TensorLike | None = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: object = None,
    stop_gradients: TensorLike | None = None,
    unconnected_gradients: object = "none",
) -> list[Tensor | None]:
    """Return the derivatives of the sum of ys with respect to each of xs, a tensor or None for each.

    Args:
        ys: a tensor or a list of them.
        xs: likewise; inner tensors and variables too.
        grad_ys: a weight for each y, ones if it is None; ValueError if it does not fit.
        name: the scope of the operations that are added.
        colocate_gradients_with_ops: accepted; there is one device.
        gate_gradients: whether each operation's gradients wait for each other, as an optimiser asks for.
        aggregation_method: accepted; parts are added by AddN.
        stop_gradients: tensors that count as constants.
        unconnected_gradients: "none" gives None if no y depends on an x, "zero" gives zeros; ValueError for another
            word.

    Raises:
        LookupError: an operation on the way has no derivative.
    """
    roots = [convert(y) for y in _as_list(ys)]
    targets, stopped = ([getattr(x, "_ref", x) for x in _as_list(values)] for values in (xs, stop_gradients))
    graph: Graph = (roots or targets)[0].graph
    unconnected = getattr(unconnected_gradients, "value", unconnected_gradients)
    refuse(
        unconnected not in ("none", "zero"),
        f"Unknown value for unconnected_gradients: {unconnected_gradients!r}",
        ValueError,
    )
    with graph.as_default(), graph.name_scope(name):
        weights = list(first_gradients(roots, _as_list(grad_ys) or [None] * len(roots)))
        grads = carry_back(graph, roots, targets, weights, stopped, gated=gate_gradients)
        for slope, x in zip(grads, targets, strict=True):
            if slope is not None and graph.context is None:  # those inside of a loop are nobody's
                graph.derivatives.setdefault(slope, []).append((roots, x))
        return list(fill_with_zeros(grads, targets)) if unconnected == "zero" else grads


def _as_list(values: object) -> list[Any]:
    """Return one value or several as a list."""
    return [] if values is None else list(values) if isinstance(values, (list, tuple)) else [values]


def first_gradients(ys: Sequence[Tensor], weights: Sequence[TensorLike | None]) -> Iterator[Tensor]:
    """Return where the way back begins: the weights (ValueError: not one for each y), ones for None."""
    refuse(
        len(weights) != len(ys),
        f"Must specify a weight for each output: {len(ys)} ys and {len(weights)} grad_ys",
        ValueError,
    )
    for i, (y, weight) in enumerate(zip(ys, weights, strict=True)):
        dtype, label = y.dtype.base_dtype, f"grad_ys_{i}"
        if weight is not None:
            yield convert(weight, dtype, label)
        else:
            size = tf.shape(y)
            yield make("Fill", [size, constant(1, dtype, name=f"{label}/Const")], label)


def fill_with_zeros(grads: Sequence[Tensor | None], tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Return gradients with zeros for those that are None."""
    for grad, tensor in zip(grads, tensors, strict=True):
        op, branch, history = tensor.op, tensor.op.context, step_values(tensor.graph)
        if grad is not None:
            yield grad
        elif op.type == "Switch" and branch is not None and branch.predicate is not None:
            is_of_a_step = history is not None and history.is_of_a_step(tensor)
            yield (history.zeros_of_other_side if is_of_a_step else zeros_of_other_side)(op.inputs[0], branch)
        elif branch is not None:
            yield zeros_as(tensor, "Const")
        elif op.type == "Exit" and tensor.shape.is_fully_defined():
            yield zeros_as(tensor, "zeros")
        else:
            yield make("ZerosLike", [tensor], "zeros_like")


def step_values(graph: Graph) -> Any:
    """Return what the gradient loop that is being built knows of the loop before it, None if there is none."""
    loop = graph.context and graph.context.loop
    return loop and loop.history


def zeros_of_other_side(tensor: Tensor, branch: ControlFlowContext) -> Tensor:
    """Return zeros for what comes into a branch, which are there if the other one runs."""
    value = sides_of(tensor, branch.predicate)[1 - branch.side]
    pivot = make("Identity", [value])
    sizes = make("Shape", [value], out_type=int32)
    with tensor.graph.control_dependencies([pivot]):
        return tf.zeros(sizes, value.dtype)


def zeros_as(tensor: Tensor, name: str) -> Tensor:
    """Return zeros of the shape of a tensor: a constant of that name if the shape is known."""
    is_known = tensor.shape.is_fully_defined()
    return tf.zeros(tensor.shape, tensor.dtype, name) if is_known else tf.zeros(tf.shape(tensor), tensor.dtype)


def carry_back(
    graph: Graph,
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    weights: Sequence[Tensor],
    stopped: Sequence[Tensor],
    *,
    gated: bool = False,
) -> list[Tensor | None]:
    """Carry gradients back from ys to xs, one operation after the other.

    ``gated`` makes the gradients of an operation wait for each other.
    """
    parts: dict[Tensor, list[Tensor]] = {}
    for y, weight in zip(ys, weights, strict=True):
        parts.setdefault(y, []).append(weight)
    totals: dict[Tensor, Tensor] = {}

    def total(tensor: Tensor) -> Tensor | None:
        if tensor not in totals and tensor in parts:
            totals[tensor] = tf.add_n(parts[tensor])
        return totals.get(tensor)

    units, reached = operations_between(ys, xs, stopped)
    back = {loop: GradientLoop(loop) for loop in reversed(units) if isinstance(loop, Loop)}
    for unit in in_order_back(units, ys, xs):
        if isinstance(unit, Tensor):
            total(unit)
            continue
        if not any(out in parts for out in unit.outputs):
            continue
        grads = [total(out) for out in unit.outputs]
        if isinstance(unit, Loop):
            carried: Iterable[tuple[Tensor, Tensor]] = of_loop(back[unit], grads, reached, gated=gated)
        else:
            carried = gradients_through(unit, grads, gated=gated)
        for tensor, grad in carried:
            parts.setdefault(tensor, []).append(grad)
    return [total(x) for x in xs]


def gradients_through(op: Operation, grads: Sequence[Tensor | None], *, gated: bool) -> Iterable[tuple[Tensor, Tensor]]:
    """Return the gradients of an operation's inputs, in a scope of its own."""
    if type_of(op).several:
        grads = list(fill_with_zeros(grads, op.outputs))
    with gradient_scope(op.graph, op.name):
        carried = [
            (tensor, grad) for tensor, grad in of_operation(op, grads) if grad is not None and tensor.dtype.is_floating
        ]
        return list(with_gate(carried)) if gated and len(carried) > 1 else carried


def in_order_back(
    units: Sequence[Operation | Loop], ys: Iterable[Tensor], xs: Iterable[Tensor]
) -> list[Operation | Loop | Tensor]:
    """Return operations and xs as TensorFlow comes to them: each when all that use it are through, first come first."""
    maker: dict[Tensor, Operation | Loop | Tensor] = {x: x for x in xs}
    maker |= {out: unit for unit in units for out in unit.outputs}

    def before(unit: Operation | Loop | Tensor) -> list[Operation | Loop | Tensor]:
        return [] if isinstance(unit, Tensor) else [maker[t] for t in unit.inputs if t in maker]

    return first_to_last(reached((maker[y] for y in ys if y in maker), before), before)


def gradient_scope(graph: Graph, name: str) -> AbstractContextManager[str]:
    """Open the scope for the derivative of an operation of that name."""
    return graph.name_scope(f"{name if graph.scope else name.rpartition('/')[2]}_grad")


def with_gate(carried: Iterable[tuple[Tensor, Tensor]]) -> Iterable[tuple[Tensor, Tensor]]:
    """Return gradients that wait for each other."""
    tensors, grads = zip(*carried, strict=True)
    return zip(tensors, tf.all_at_once(grads, _is_gate=True), strict=True)


def operations_between(
    ys: Sequence[Tensor], xs: Iterable[Tensor], stopped: Iterable[Tensor]
) -> tuple[list[Operation | Loop], set[Tensor]]:
    """Return the operations that ys need and that depend on xs, and their results; a loop or a branch counts as one."""
    reached, out = set(xs), []
    for unit in units_before(ys, set(stopped).__contains__):
        real = [t for t in unit.outputs if t.dtype.is_floating]
        forward = unit.forward if isinstance(unit, Loop) else None
        if real and any(t in reached for t in [*unit.inputs, *(forward.inputs if forward else ())]):
            reached.update(real)
            out.append(unit)
    return out, reached


def units_before(tensors: Iterable[Tensor], is_given: Callable[[Tensor], bool]) -> list[Operation | Loop]:
    """Return the operations that tensors need unless they are given, in the order of making."""

    def makers(parts: Iterable[Tensor]) -> list[Operation | Loop]:
        return [unit_of(t.op) for t in parts if not is_given(t)]

    return sorted(reached(makers(tensors), lambda unit: makers(unit.inputs)), key=lambda unit: unit.number)


# ------------------------------------------------------------------ one operation
def of_operation(op: Operation, grads: Sequence[Tensor | None]) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Return the gradient of each input; LookupError if its function has no derivative."""
    own = type_of(op).call
    if op.type in FLAT:
        return
    derive = (OF_CALLS if "call" in op.attrs else DERIVATIVES).get(op.type)
    if derive is not None:
        yield from zip(op.inputs, derive(op, grads if type_of(op).several else grads[0]), strict=False)
        return
    if own is None:
        return
    if own == "pass":
        yield op.inputs[0], grads[0]
        return
    key, args = call_of(op)
    row = KERNELS.get(key) or ROWS.get(key)
    if row is None or not row.formulas:
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")
    values = dict(zip(row.parameters, (*args, *row.defaults[len(args) - len(row.parameters) :]), strict=False))
    values["result"] = op.outputs[0]
    for names, formula in row.formulas.items():
        into = values[names] if names in row.lists else [values[name] for name in inputs_of(names)]
        if any(isinstance(t, Tensor) and t.dtype.is_floating for t in into):
            # what a formula asks of a tensor, its sizes or dtype, is there when the graph runs: the tensor stands for
            # it
            needs = [values[name.partition("_sym_")[0]] for name in parameters(formula)[1:]]
            parts = bind(formula, symbols())(list(grads) if row.outputs else grads[0], *needs)
            parts = parts if isinstance(parts, (list, tuple)) else [parts]
            yield from (
                (t, _unbroadcast(part, t)) for t, part in zip(into, parts, strict=True) if isinstance(t, Tensor)
            )


def _unbroadcast(grad: Tensor, into: Tensor) -> Tensor:
    """Return the gradient summed back if the input was broadcast."""
    return grad if grad.shape.is_fully_defined() and grad.shape == into.shape else add_call("spread_sum", grad, into)


# ------------------------------------------------------------------ formulas that write graphs
TYPE_OF = {str(kind.call): name for name, kind in FAMILY.items()} | {
    "div_mode": "FloorDiv", "leaky_relu_backward": "LeakyReluGrad", "permute": "Transpose", "power": "Pow", "sgn": "Sign",
    "sigmoid_backward": "SigmoidGrad", "softplus_backward": "SoftplusGrad", "sum_dim": "Sum", "tanh_backward": "TanhGrad",
    "threshold_backward": "ReluGrad", "where": "Select", **{key: str(row.node) for key, row in KERNELS.items()},
}  # fmt: skip
"""TensorFlow's type for a function of the table: Neg for ``neg``. What it has no operation for is its
SymbolicGradient."""
WRITTEN_OUT = ("div_backward_other", "maybe_multiply", "pow_backward", "sum_backward")
"""Functions of the table that are formulas themselves."""


@cache
def symbols() -> dict[str, Any]:
    """Return the namespace in which a formula's names add operations; made at the first derivative."""
    calls = {key: partial(add_call, key) for key, f in (ARRAYS | KERNELS).items() if callable(f)}
    names: dict[str, Any] = {**calls, "__builtins__": builtins, "__name__": "gviz.static.symbols"}
    names |= {key: bind(ARRAYS[key], names) for key in WRITTEN_OUT} | IN_OPERATIONS
    return names


def add_call(key: str, *args: object) -> Any:
    """Add an operation for a call of a function of the table; call it if there are no tensors among its arguments."""
    tensors, type = list(symbolic_tensors(args)), TYPE_OF.get(key, "SymbolicGradient")
    if not tensors:
        return array_function(key)(*args)
    is_plain = all(isinstance(arg, Tensor) for arg in args)
    if is_plain and type in FAMILY:
        return make(type, tensors)
    return make(type, tensors, call=lambda op: (key, op.inputs if is_plain else replace_tensors(args, iter(op.inputs))))


# ------------------------------------------------------------------ as TensorFlow writes them
IN_OPERATIONS: dict[str, Callable[..., Any]] = {
    "expand": lambda part, x: add_call("spread_like", part, x),
    "mm": lambda x, y, left, right: make(
        "MatMul" if x.shape.rank == y.shape.rank == 2 else "BatchMatMulV2", [x, y], transpose_a=left, transpose_b=right
    ),
    "reshape": lambda part, x: add_call("shape_like", part, x),
    "to_dtype": lambda x, dtype: cast(x, dtype.dtype if isinstance(dtype, Tensor) else dtype),
    "unsqueeze_reduced": lambda part, axes, x, keep: part if keep else add_call("unreduced", part, x, axes),
}
"""What formulas call and TensorFlow writes in operations of its own. For sizes they take the tensor that has them."""


# ------------------------------------------------------------------ branches and loops
def of_switch(op: Operation, grads: Sequence[Tensor]) -> Sequence[Tensor | None]:
    """Return the derivative of what comes into a branch: that of the side which has run."""
    if op.context is None:
        grads = [sides_of(grad, op.inputs[1])[side] for side, grad in enumerate(grads)]
        return [merge_of(grads).outputs[0], None]
    return [merge_of(grads, "cond_grad").outputs[0], None]


def of_merge(op: Operation, grad: Tensor) -> Sequence[Tensor]:
    """Return the derivative of what two branches come to: it is there for the side that has run."""
    branch, history = op.inputs[0].op.context, step_values(op.graph)
    if branch is None:
        is_side = [tf.FUNCTIONS["equal"](op.outputs[1], side) for side in (0, 1)]
        return [sides_of(grad, one)[1] for one in is_side]
    predicate = branch.predicate
    if history is not None:
        predicate = history.predicate_at_step(predicate, op.graph.scope[:-1])
    return sides_of(grad, predicate, "cond_grad")


DERIVATIVES.update({"Switch": of_switch, "Merge": of_merge})


def of_loop(
    state: GradientLoop, grads: Sequence[Tensor | None], reached: set[Tensor], *, gated: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """Return the derivative of a loop with respect to its variables' first values and to what it takes from outside.

    Args:
        state: its gradient loop.
        grads: of the loop's results.
        reached: what depends on the tensors that are asked for.
        gated: as in :func:`carry_back`.
    """
    loop, back = state.loop, state.back
    graph, inside = loop.context.graph, back.context
    refuse(loop.forward is not None, SECOND_ORDER, TypeError)
    if not loop.back_prop:
        return
    doors = {t: inner for t, inner in loop.context.doors.items() if t.dtype.is_floating and t in reached}
    places = changing_variables(loop, doors.values(), reached)
    needed, _ = loop.needs(i for i, grad in enumerate(grads) if grad is not None)
    weights = []
    for i, (out, grad) in enumerate(zip(loop.outputs, grads, strict=True)):
        if not out.dtype.is_floating:
            continue
        start = next(fill_with_zeros([grad], [out]))
        with gradient_scope(graph, out.op.name):
            door = inside.enter(start, "b_exit")
        if i in places and i in needed:
            with gradient_scope(graph, loop.switches[i].name):
                merge = back.merge(start, door, out._dims, "b_switch")
            with gradient_scope(graph, loop.merges[i].name):
                ways = back.switch(merge).outputs
                if gated:
                    with graph.with_open(context=inside):
                        ways = [way for _, way in with_gate(zip(ways, ways, strict=True))]
            with gradient_scope(graph, loop.merges[i].inputs[0].op.name):
                back.close([inside.add("Exit", [ways[0]])])
            weights.append(ways[1])
    between = [i for i in places if i in needed]
    bodies = [loop.bodies[i] for i in between]
    with graph.with_open(context=inside):
        targets = [*bodies, *doors.values()]
        results = [loop.results[i].op.inputs[0] for i in between]
        parts = carry_back(graph, results, targets, weights, targets, gated=gated)
    for place, (i, part) in enumerate(zip(between, parts, strict=False), 1):
        with gradient_scope(graph, loop.switches[i].name) if part is not None else nullcontext():
            with graph.with_open(context=inside):
                after = zeros_as(loop.bodies[i], "Const") if part is None else part
            back.turn(place, after)
    yield from zip((loop.starts[i] for i in between), back.outputs[1:], strict=True)
    for (tensor, inner), part in zip(doors.items(), parts[len(between) :], strict=True):
        if part is not None:
            with gradient_scope(graph, inner.op.name), graph.with_open(context=inside.outer):
                total, _ = back.add_variable(zeros_as(tensor, "b_acc"), adding(part), "b_acc", "b_acc")
            yield tensor, total


def adding(part: Tensor) -> Callable[[Tensor], Tensor]:
    """Return what adds a part to a sum."""
    return lambda total: make("AddV2", [total, part], "Add")


def changing_variables(loop: Loop, doors: Iterable[Tensor], reached: set[Tensor]) -> list[int]:
    """Return the variables that depend on what was reached: by their first values, or by what comes into the loop."""
    real = [i for i, body in enumerate(loop.bodies) if body.dtype.is_floating]
    changing = {i for i in real if loop.starts[i] in reached}
    results = [loop.results[i].op.inputs[0] for i in real]
    while True:
        xs = [*(loop.bodies[i] for i in changing), *doors]
        _, inside = operations_between(results, xs, xs)
        more = changing.union(i for i, result in zip(real, results, strict=True) if result in inside)
        if more == changing:
            return sorted(changing)
        changing = more
