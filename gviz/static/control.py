"""Loops that are part of the graph, ``tf.while_loop``, and what loops and branches share.

The operations are TensorFlow's.

What is built inside belongs to a :class:`Context`; a tensor from outside comes in through an Enter (loop) or a Switch
(branch) of its own. Seen from outside, a whole loop or a pair of branches is one unit with inputs and outputs, as an
operation is: plans and gradients treat it so (:func:`unit_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

from gviz.numbers.words import refuse
from gviz.static.build import add_operation, constant, convert, make, of_dtype
from gviz.static.errors import DeadlineExceededError
from gviz.static.graph import Graph, Operation, Tensor, TensorLike, get_default_graph
from gviz.static.types import Dims, TensorShape, as_shape, bool_, common_dims, fill_structure, int32, leaves, nesting


class Context:
    """The inside of a loop or of a branch, while it is built and afterwards.

    Tensors come in through operations of the type ``gate``. In a branch these take the predicate, too, and their output
    of the number ``side`` is inside: 0 in a false branch, 1 in a true one.
    """

    def __init__(self, graph: Graph, gate: str, predicate: Tensor | None = None, side: int = 0) -> None:
        self.graph, self.gate, self.predicate, self.side = graph, gate, predicate, side
        self.frame = f"{graph.scope}while_context"  # of a loop: the name that tells its steps from those of others
        self.outer = graph.context
        self.captures: dict[Tensor, Tensor] = {}  # from outside: what it is inside
        self.pivot: Operation | None = None  # runs whenever the inside runs

    def captured(self, inputs: Sequence[Tensor], op: Operation) -> tuple[Tensor, ...]:
        """Return a new operation's inputs, brought in unless they are variables.

        Without inputs it waits for the inside.
        """
        if not inputs and self.pivot is not None and self.pivot not in op.control_inputs:
            op.control_inputs.append(self.pivot)
        return tuple(t if t.dtype.is_ref else self.bring_in(t, op.name) for t in inputs)

    def bring_in(self, tensor: Tensor, name: str) -> Tensor:
        """Return a tensor as it is inside: one from outside comes through an operation of its own below ``name``."""
        if tensor.op.context is self:
            return tensor
        if tensor not in self.captures:
            at_door = tensor if self.outer is None else self.outer.bring_in(tensor, name)
            beside = [] if self.predicate is None else [self.predicate]
            door = self.add(self.gate, [at_door, *beside], f"{name}/{self.gate}", frame=self.frame)
            self.captures[tensor] = door.outputs[self.side]
        return self.captures[tensor]

    def add(self, type: str, inputs: Sequence[Tensor], name: str | None = None, **attrs: object) -> Operation:
        """Add an operation of the loop's or branch's own machinery: nothing is brought in for it."""
        scope = self.graph.scope if name is None or "/" not in name else ""
        with self.graph.with_open(context=None), self.graph.name_scope(scope):
            op = add_operation(self.graph, type, inputs, attrs, name)
        op.context = self
        return op

    def begin(self, starts: Sequence[Tensor], shapes: Iterable[Dims]) -> list[Operation]:
        """Bring the first values of a loop's variables in; return what gives the variables, which have these shapes."""
        enters = [self.add("Enter", [t], frame=self.frame).outputs[0] for t in starts]
        return [self.add("Merge", [t, t], shape=dims) for t, dims in zip(enters, shapes, strict=True)]

    def turn(self, merges: Iterable[Operation], results: Iterable[Tensor], name: str) -> list[Tensor]:
        """Let what a step of a loop comes to be the variables of the next one; return it as it is inside."""
        brought = [self.bring_in(t, name) for t in results]
        for merge, result in zip(merges, brought, strict=True):
            merge.inputs = (merge.inputs[0], self.add("NextIteration", [result]).outputs[0])
        return brought


class Unit:
    """A loop or a pair of branches, seen from outside as one operation; its name is its scope."""

    number = 0
    control_inputs: tuple[Operation, ...] = ()
    built_again: Callable[..., Any]

    def __init__(self, name: str, context: Context) -> None:
        self.name, self.context = name, context
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        # of a loop: the variables' first values, where a step begins, and the variables after a step
        self.starts: Sequence[Tensor] = ()
        self.merges: list[Operation] = []
        self.results: Any = []

    def close(self, results: Sequence[Operation], inputs: Sequence[Tensor]) -> None:
        """Note what comes out of the context and what goes in."""
        self.outputs = [op.outputs[0] for op in results]
        self.inputs = list(dict.fromkeys(inputs))
        self.number = results[-1].number
        for op in results:
            op.attrs["unit"] = self
            op.context = op.context and op.context.outer


def unit_of(op: Operation) -> Operation | Unit:
    """Return the loop or the branches whose result it is, else the operation itself."""
    return op.attrs.get("unit", op)


# ------------------------------------------------------------------ loops
class Loop(Unit):
    """A ``while_loop``, with its inside."""

    switches: list[Operation]
    bodies: list[Tensor]  # the variables in a step
    condition: Tensor

    def needs(self, wanted: Iterable[int]) -> tuple[list[int], list[Tensor]]:
        """Return the variables that some results need (the first always, as it gives the beat) and what comes in for them."""
        doors = {inside.op: t for t, inside in self.context.captures.items()}
        place = {op: i for ops in (self.merges, self.switches) for i, op in enumerate(ops)}
        kept, seen = {0, *wanted}, set()
        outside: dict[Tensor, None] = dict.fromkeys(self.starts[i] for i in kept)
        waiting = [self.condition, *(self.results[i] for i in kept)]
        while waiting:
            tensor = waiting.pop()
            unit = unit_of(tensor.op)
            if tensor.op in doors or tensor.op.context is not self.context:
                outside[doors.get(tensor.op, tensor)] = None
            elif unit not in seen:
                seen.add(unit)
                if unit not in place:
                    waiting.extend(self.context.captures.get(t, t) for t in unit.inputs)
                elif place[unit] not in kept:
                    kept.add(place[unit])
                    outside[self.starts[place[unit]]] = None
                    waiting.append(self.results[place[unit]])
        return sorted(kept), list(outside)

    def built_again(self, name: str, copied: Callable[..., list[Tensor]], new: dict[Tensor, Tensor]) -> Any:
        """Return the same loop in the context that is open, from other tensors."""
        inner = self.context
        known = {inside: new.get(t, t) for t, inside in inner.captures.items()}
        merges = [m.outputs[0] for m in self.merges]
        return while_loop(
            lambda *now: copied(self.condition.op.inputs, inner, known | dict(zip(merges, now, strict=True)))[0],
            lambda *now: copied(self.results, inner, known | dict(zip(self.bodies, now, strict=True))),
            [new.get(t, t) for t in self.starts], [TensorShape(m.shape) for m in merges], name=name, return_same_structure=True,
        )  # fmt: skip


def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., object],
    loop_vars: object,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: object = None,
    name: str | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat ``body`` while ``cond`` holds, inside the graph; return the variables after the loop.

    Both are called with the loop's variables: ``cond`` returns a boolean tensor, ``body`` their next values. A variable
    whose shape changes from step to step needs an entry in ``shape_invariants``. ``maximum_iterations`` limits the
    steps. TypeError for a condition that is not a boolean and a variable that changes its dtype; ValueError for no
    variables, for another number of them after a step, and for a shape that changes.
    """
    if not isinstance(loop_vars, (list, tuple)):
        loop_vars = [loop_vars]
    refuse(not loop_vars, "'loop_vars' must be provided.", ValueError)
    if maximum_iterations is not None:
        packed = while_loop(
            lambda n, v: make("LogicalAnd", [n < maximum_iterations, convert(cond(*v))]),
            lambda n, v: (n + 1, in_form(loop_vars, body(*v))),
            (constant(0, int32, name="iteration_counter"), loop_vars),
            None if shape_invariants is None else (TensorShape([]), shape_invariants),
            name=name,
        )[1]
    else:
        with get_default_graph().name_scope(name or "while") as scope:
            shapes = None if shape_invariants is None else [as_shape(s) for s in leaves(shape_invariants)]
            packed = build_loop(scope, cond, body, loop_vars, shapes)
    return packed[0] if len(loop_vars) == 1 and not return_same_structure else packed


def build_loop(
    scope: str,
    cond: Callable[..., TensorLike],
    body: Callable[..., object],
    form: Sequence[object],
    shapes: Sequence[Dims] | None,
) -> Any:
    """Build the operations of a loop in TensorFlow's order, for variables in some form.

    Return its results in the form in which the body returns them.
    """
    graph = get_default_graph()
    starts = [convert(v) for v in leaves(form)]
    shapes = [t._dims for t in starts] if shapes is None else shapes
    inside = Context(graph, "Enter")
    loop = Loop(scope.rstrip("/"), inside)
    if inside.outer is not None:
        starts = [inside.outer.bring_in(t, loop.name) for t in starts]
    loop.starts, loop.merges = starts, inside.begin(starts, shapes)
    variables = [merge.outputs[0] for merge in loop.merges]
    with graph.with_open(context=inside):
        loop.condition = make("LoopCond", [of_dtype("LoopCond", "input", cond(*in_the_form(form, variables)), bool_)])
    loop.switches = [inside.add("Switch", [v, loop.condition]) for v in variables]
    loop.bodies = [inside.add("Identity", [s.outputs[1]]).outputs[0] for s in loop.switches]
    inside.pivot = loop.bodies[0].op
    with graph.with_open(context=inside):
        given = in_form(form, body(*in_the_form(form, loop.bodies)))
        if nesting(given) != nesting(form):
            raise ValueError(
                f"The two structures don't have the same nested structure.\n\n"
                f"First structure: {form}\n\nSecond structure: {given}"
            )
        results = [convert(v) for v in leaves(given)]
    loop.results = inside.turn(loop.merges, results, loop.name)
    for start, result, dims in zip(starts, loop.results, shapes, strict=True):
        check_variable(start, result, dims)
    exits = [inside.add("Exit", [s.outputs[0]]) for s in loop.switches]
    loop.close(exits, [*starts, *inside.captures])
    return in_the_form(given, loop.outputs)


def in_the_form(form: object, tensors: Iterable[Tensor]) -> Any:
    """Return tensors in a form; for a list of tensors (``tf.TensorArray``), that list in this state."""
    pairs = zip(leaves(form), tensors, strict=True)
    return fill_structure(form, (one.with_flow(t) if hasattr(one, "with_flow") else t for one, t in pairs))


def in_form(form: Sequence[object], given: object) -> object:
    """Return the result of a body; that of one variable may come without its list."""
    return [given] if len(form) == 1 and nesting(given) != nesting(form) else given


def check_variable(start: Tensor, result: Tensor, dims: Dims) -> None:
    """Raise TypeError or ValueError for a loop's variable that has another dtype or shape after a step."""
    before, after = start.dtype.base_dtype.name, result.dtype.base_dtype.name
    refuse(
        before != after,
        f"Input tensor '{start.name}' enters the loop with dtype {before}, but has dtype {after} after one iteration.",
        TypeError,
    )
    refuse(
        common_dims(dims, result._dims) != dims,
        f"Input tensor '{start.name}' enters the loop with shape {TensorShape(dims)}, but has shape "
        f"{result.shape} after one iteration. To allow the shape to vary across iterations, use the "
        "`shape_invariants` argument of tf.while_loop to specify a less-specific shape.",
        ValueError,
    )


def refuse_endless(name: str, limit: int) -> None:
    """Raise DeadlineExceededError: a loop does not end."""
    raise DeadlineExceededError(
        f"the loop '{name}' took {limit:,} steps and its condition still holds; Session(loop_limit=...) allows more"
    )


# ------------------------------------------------------------------ branches
class Branches(Unit):
    """A ``cond``: two insides (the false branch and the true one), of which one runs."""

    def __init__(self, name: str, predicate: Tensor, sides: tuple[Context, Context]) -> None:
        super().__init__(name, sides[0])
        self.predicate, self.sides, self.results = predicate, sides, ([], [])

    def built_again(self, name: str, copied: Callable[..., list[Tensor]], new: dict[Tensor, Tensor]) -> Any:
        """Return the same branches in the context that is open, from other tensors."""
        false, true = (
            partial(copied, results, side, {inside: new.get(t, t) for t, inside in side.captures.items()})
            for side, results in zip(self.sides, self.results, strict=True)
        )
        return cond(new.get(self.predicate, self.predicate), true, false, strict=True, name=name)


def cond(
    pred: TensorLike,
    true_fn: object = None,
    false_fn: object = None,
    strict: bool = False,
    name: str | None = None,
    fn1: object = None,
    fn2: object = None,
) -> Any:
    """Return one of two functions' tensors, chosen by a boolean scalar tensor when the graph runs.

    ``fn1`` and ``fn2`` are older names of the two functions. With ``strict`` one tensor in a list stays in it.
    TypeError for what is not a function and for a Python bool; ValueError if the two return different things.
    """
    true_fn, false_fn = fn1 if true_fn is None else true_fn, fn2 if false_fn is None else false_fn
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError(f"'{'false_fn' if callable(true_fn) else 'true_fn'}' must be callable.")
    refuse(isinstance(pred, bool), "'pred' must not be a Python bool.", TypeError)
    predicate = of_dtype("Switch", "pred", pred, bool_)
    graph = predicate.graph
    with graph.as_default(), graph.name_scope(name or "cond") as scope:
        both = make("Switch", [predicate, predicate]).op
        pivots = [make("Identity", [both.outputs[side]], f"switch_{'ft'[side]}").op for side in (1, 0)]
        inner = make("Identity", [predicate], "pred_id")
        sides = (Context(graph, "Switch", inner, 0), Context(graph, "Switch", inner, 1))
        unit = Branches(scope.rstrip("/"), predicate, sides)
        given: dict[int, object] = {}
        for side in (1, 0):
            sides[side].pivot = pivots[1 - side]
            with graph.with_open(context=sides[side]):
                given[side] = (false_fn, true_fn)[side]()
                tensors = [branch_result(value, sides[side], inner) for value in leaves(given[side])]
            unit.results[side].extend(sides[side].bring_in(t, unit.name) for t in tensors)
        check_results(given, unit)
        merges = [
            sides[0].add("Merge", [one, other], shape=common_dims(one._dims, other._dims))
            for one, other in zip(*unit.results, strict=True)
        ]
    if merges:
        unit.close(merges, [predicate, inner, *sides[0].captures, *sides[1].captures])
    packed = fill_structure(given[1], iter(unit.outputs))
    return packed[0] if isinstance(packed, (list, tuple)) and len(packed) == 1 and not strict else packed


def branch_result(value: TensorLike | Operation | None, side: Context, inner: Tensor) -> Tensor:
    """Return a branch's result as a tensor; ValueError for None."""
    if not isinstance(value, Operation):
        return convert(value)
    with side.graph.control_dependencies([value]):  # whoever takes the branch's result comes after it
        return make("Identity", [inner])


def check_results(given: dict[int, object], unit: Branches) -> None:
    """Raise ValueError for branches that return different structures or different dtypes."""
    if fill_structure(given[0], repeat(0)) != fill_structure(given[1], repeat(0)):
        raise ValueError(
            f"Outputs of true_fn and false_fn must have the same structure: "
            f"{given[1]} from 'true_fn' and {given[0]} from 'false_fn'."
        )
    for false, true in zip(*unit.results, strict=True):
        refuse(
            false.dtype.base_dtype != true.dtype.base_dtype,
            f"Outputs of 'true_fn' and 'false_fn' must have the same type(s). "
            f"Received {true.dtype.name} from 'true_fn' and {false.dtype.name} from 'false_fn'.",
            ValueError,
        )
