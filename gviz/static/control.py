"""Loops that are part of the graph, ``tf.while_loop``, and what loops and branches share.

The operations are TensorFlow's.

What is built inside belongs to a :class:`Context`; a tensor from outside comes in through an Enter (loop) or a Switch
(branch) of its own. Seen from outside, a whole loop is one unit with inputs and outputs, as an operation is: plans and
gradients treat it so (:func:`unit_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from gviz.numbers.words import refuse
from gviz.static.build import add_operation, constant, convert, make, of_dtype
from gviz.static.errors import DeadlineExceededError
from gviz.static.graph import ControlFlowContext, Graph, Operation, Tensor, TensorLike, get_default_graph
from gviz.static.types import Dims, TensorShape, as_shape, bool_, common_dims, fill_structure, leaves, nesting


class Context(ControlFlowContext):
    """The inside of a loop or of a branch, while it is built and afterwards.

    Tensors come into a loop through an Enter each, and into a branch through a Switch, which takes the predicate, too:
    its output of the number ``side`` is inside, 0 in a false branch, 1 in a true one.
    """

    history: Any = None  # of a gradient loop: the GradientLoop, which knows the steps of the loop before it

    def __init__(self, graph: Graph, predicate: Tensor | None = None, side: int = 0) -> None:
        self.graph, self.predicate, self.side = graph, predicate, side
        self.frame = f"{graph.scope}while_context"  # of a loop: the name that tells its steps from those of others
        self.parallel_iterations = 10
        self.outer = graph.context
        self.loop = self if predicate is None else self.outer and self.outer.loop  # that it is, or is in
        self.captures: dict[Tensor, Tensor] = {}  # from outside: what it is inside
        self.pivot: Operation | None = None  # runs whenever the inside runs

    def captured(self, inputs: Sequence[Tensor], op: Operation) -> tuple[Tensor, ...]:
        """Return a new operation's inputs, brought in unless they are variables.

        One that takes nothing from inside waits for it. In a gradient loop, one that asks for the size of a value
        of the forward loop moves there: its result takes less memory than the value.
        """
        if self.history is not None and op.type in ("Shape", "Size", "Rank") and self.history.is_of_a_step(inputs[0]):
            op.context = inputs[0].op.context
            return tuple(inputs)
        inside_inputs = tuple(t if t.dtype.is_ref else self.bring_in(t, op.name) for t in inputs)
        op.control_inputs = within_loop(self.loop, op.control_inputs)
        is_fixed = (
            self.predicate is None
            and not op.control_inputs
            and all(t.op.attrs.get("is_constant") for t in inside_inputs)
        )
        takes_variables = self.predicate is not None and all(t.dtype.is_ref for t in inputs)
        waits = any(before.context is self for before in op.control_inputs)
        if self.pivot is not None and not waits and (is_fixed or takes_variables or not inputs):
            op.control_inputs.append(self.pivot)
        return inside_inputs

    def bring_in(self, tensor: Tensor, name: str) -> Tensor:
        """Return a tensor as it is inside: one from outside comes through an operation of its own below ``name``."""
        if tensor is self.predicate or self.holds(tensor):
            return tensor
        if self.history is not None and self.history.is_of_a_step(tensor):
            return self.history.value_then(tensor, name)
        if tensor not in self.captures:
            at_door = tensor if self.outer is None else self.outer.bring_in(tensor, name)
            if self.predicate is None:
                self.captures[tensor] = self.enter(at_door, f"{name}/Enter", is_constant=True)
            else:
                gate = self.add("Switch", [at_door, self.predicate], f"{name}/Switch")
                self.captures[tensor] = gate.outputs[self.side]
        return self.captures[tensor]

    def holds(self, tensor: Tensor) -> bool:
        """Return whether a tensor is inside, or inside of what is there."""
        context = tensor.op.context
        while context is not None and context is not self:
            context = context.outer
        return context is self

    @property
    def doors(self) -> dict[Tensor, Tensor]:
        """Return what has come in, as it is just outside: what it is inside."""
        return {inside.op.inputs[0]: inside for inside in self.captures.values()}

    def enter(self, tensor: Tensor, name: str | None = None, *, is_constant: bool = False) -> Tensor:
        """Return a tensor as a loop has it inside: in the first step, or in all."""
        steps = self.parallel_iterations
        door = self.add(
            "Enter", [tensor], name, frame_name=self.frame, is_constant=is_constant, parallel_iterations=steps
        )
        return door.outputs[0]

    def add(self, type: str, inputs: Sequence[Tensor], name: str | None = None, **attrs: object) -> Operation:
        """Add an operation of the loop's or branch's own machinery: nothing is brought in for it."""
        scope = self.graph.scope if name is None or "/" not in name else ""
        control = self.graph.control if type == "Enter" else []
        with self.graph.with_open(context=None, control=control), self.graph.name_scope(scope):
            op = add_operation(self.graph, type, inputs, attrs, name)
        op.control_inputs = within_loop(self.outer and self.outer.loop, op.control_inputs)
        op.context = self
        return op


def within_loop(loop: ControlFlowContext | None, before: Iterable[Operation]) -> list[Operation]:
    """Return those operations that are in a loop, or in none: what comes in has waited for the others."""
    return [op for op in before if loop is (op.context and op.context.loop)]


def unit_of(op: Operation) -> Operation | Loop:
    """Return the loop whose result it is, else the operation itself."""
    return op.attrs.get("loop", op)


# ------------------------------------------------------------------ loops
SECOND_ORDER = "Second-order gradient for while loops not supported."


class Loop:
    """A ``while_loop``, with its inside; its name is its scope.

    Its variables have each a first value (``starts``), what gives the value at the start of a step (``merges``) and in
    it (``switches``), the value after the step (``results``) and after the loop (``outputs``). Those of the program
    come first and have a name in a step (``bodies``); the others count steps and add gradients up.
    """

    condition: Tensor
    number = 0
    back_prop = True
    forward: Loop | None = None  # of a gradient loop

    def __init__(self, name: str, context: Context) -> None:
        self.name, self.context = name, context
        self.starts: list[Tensor] = []
        self.merges: list[Operation] = []
        self.switches: list[Operation] = []
        self.bodies: list[Tensor] = []
        self.results: list[Tensor] = []
        self.outputs: list[Tensor] = []

    def close(self, results: Iterable[Operation]) -> None:
        """Note what comes out of the loop."""
        for op in results:
            self.outputs.append(op.outputs[0])
            self.number = op.number
            op.attrs["loop"] = self
            op.context = self.context.outer

    @property
    def inputs(self) -> Sequence[Tensor]:
        """Return what comes in."""
        return list(dict.fromkeys([*self.starts, *self.context.doors]))

    @property
    def control_inputs(self) -> Sequence[Operation]:
        """Return what it waits for."""
        doors = [*(merge.inputs[0] for merge in self.merges), *self.context.captures.values()]
        return list(dict.fromkeys(op for door in doors for op in door.op.control_inputs))

    def merge(self, start: Tensor, door: Tensor, dims: Dims, name: str | None = None) -> Tensor:
        """Return a variable at the begin of a step, of which the first value has come in."""
        self.starts.append(start)
        self.merges.append(self.context.add("Merge", [door, door], name, shape=dims))
        return self.merges[-1].outputs[0]

    def switch(self, variable: Tensor) -> Operation:
        """Return what hands a variable on, out of the loop or into the step."""
        self.switches.append(self.context.add("Switch", [variable, self.condition]))
        return self.switches[-1]

    def turn(self, place: int, result: Tensor) -> Operation:
        """Let the value after a step be the variable in the next one; return what hands it on."""
        turned = self.context.add("NextIteration", [result])
        self.results.append(turned.outputs[0])
        self.merges[place].inputs = (self.merges[place].inputs[0], turned.outputs[0])
        return turned

    def add_variable(
        self,
        start: Tensor,
        step: Callable[[Tensor], Tensor],
        label: str,
        merge: str | None = None,
        condition: Callable[[Tensor], Tensor] | None = None,
    ) -> tuple[Tensor, Operation]:
        """Add a variable beside the program's; return what it is after the loop, and what hands it on to a step."""
        graph, inside, place = self.context.graph, self.context, len(self.merges)
        variable = self.merge(start, inside.enter(start, label), start._dims, merge)
        if condition is not None:
            inside.pivot = variable.op
            with graph.with_open(context=inside, control=[]):
                self.condition = make("LoopCond", [condition(variable)], label)
        switch = self.switch(variable)
        with graph.with_open(context=inside, control=[]):
            after = step(switch.outputs[1])
        if condition is not None:
            inside.pivot = after.op
        turned = self.turn(place, after)
        out = inside.add("Exit", [switch.outputs[0]], label)
        self.close([out])
        return out.outputs[0], turned

    def needs(self, numbers: Iterable[int]) -> tuple[list[int], list[Tensor]]:
        """Return the variables that some results need (the first always: it gives the beat), and what comes in for them."""
        doors = {inside.op: t for t, inside in self.context.doors.items()}
        place = {op: i for ops in (self.merges, self.switches) for i, op in enumerate(ops)}
        places, seen = {0, *numbers}, set[Operation | Loop]()
        outside: dict[Tensor, None] = dict.fromkeys(self.starts[i] for i in places)
        waiting: list[Tensor | Operation] = [self.condition, *(self.results[i] for i in places)]
        while waiting:
            part = waiting.pop()
            op = part.op if isinstance(part, Tensor) else part
            unit = unit_of(op)
            if op in doors or op.context is None or op.context.loop is not self.context:
                if isinstance(part, Tensor):
                    outside[doors.get(op, part)] = None
            elif unit not in seen:
                seen.add(unit)
                if unit not in place:
                    waiting.extend([*unit.inputs, *unit.control_inputs])
                elif place[unit] not in places:
                    places.add(place[unit])
                    outside[self.starts[place[unit]]] = None
                    waiting.append(self.results[place[unit]])
        return sorted(places), list(outside)


def while_loop(
    cond: Callable[..., TensorLike],
    body: Callable[..., object],
    loop_vars: object,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike = None,
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
    with get_default_graph().name_scope(name or "while") as scope:
        if shape_invariants is not None:
            check_form(loop_vars, shape_invariants)
        shapes = None if shape_invariants is None else [as_shape(s) for s in leaves(shape_invariants)]
        if maximum_iterations is None:
            loop, packed = build_loop(scope, cond, body, loop_vars, shapes, parallel_iterations)
        else:
            most: Any = convert(maximum_iterations, name="maximum_iterations")
            loop, (_, packed) = build_loop(
                scope,
                lambda n, v: make("LogicalAnd", [n < most, convert(cond(*v))]),
                lambda n, v: (n + 1, in_form(loop_vars, body(*v))),
                (constant(0, most.dtype, name="iteration_counter"), loop_vars),
                None if shapes is None else [(), *shapes],
                parallel_iterations,
            )
        loop.back_prop = back_prop
    return packed[0] if len(loop_vars) == 1 and not return_same_structure else packed


def build_loop(
    scope: str,
    cond: Callable[..., TensorLike],
    body: Callable[..., object],
    form: Sequence[object],
    shapes: Sequence[Dims] | None,
    parallel_iterations: int,
) -> tuple[Loop, Any]:
    """Build the operations of a loop in TensorFlow's order, for variables in some form.

    Return the loop, and its results in the form in which the body returns them.
    """
    graph = get_default_graph()
    starts = [convert(v) for v in leaves(form)]
    shapes = [t._dims for t in starts] if shapes is None else shapes
    inside = Context(graph)
    inside.parallel_iterations = parallel_iterations
    loop = Loop(scope.rstrip("/"), inside)
    if inside.outer is not None:
        starts = [inside.outer.bring_in(t, loop.name) for t in starts]
    doors = [inside.enter(start) for start in starts]
    variables = [loop.merge(*parts) for parts in zip(starts, doors, shapes, strict=True)]
    inside.pivot = variables[0].op
    with graph.with_open(context=inside):
        loop.condition = make("LoopCond", [of_dtype("LoopCond", "input", cond(*in_the_form(form, variables)), bool_)])
    switches = [loop.switch(variable) for variable in variables]
    loop.bodies = [inside.add("Identity", [s.outputs[1]]).outputs[0] for s in switches]
    inside.pivot = loop.bodies[0].op
    with graph.with_open(context=inside):
        structure = in_form(form, body(*in_the_form(form, loop.bodies)))
        check_form(form, structure)
        results = [convert(v) for v in leaves(structure)]
    inside_results = [inside.bring_in(t, loop.name) for t in results]
    for place, result in enumerate(inside_results):
        loop.turn(place, result)
    for start, result, dims in zip(starts, inside_results, shapes, strict=True):
        check_variable(start, result, dims)
    loop.close([inside.add("Exit", [s.outputs[0]]) for s in switches])
    return loop, in_the_form(structure, loop.outputs)


def check_form(form: object, structure: object) -> None:
    """Raise ValueError for values that are not nested as a loop's variables are."""
    refuse(
        nesting(structure) != nesting(form),
        f"The two structures don't have the same nested structure.\n\n"
        f"First structure: {form}\n\nSecond structure: {structure}",
        ValueError,
    )


def in_the_form(form: object, tensors: Iterable[Tensor]) -> Any:
    """Return tensors in a form; for a list of tensors (``tf.TensorArray``), that list in this state."""
    pairs = zip(leaves(form), tensors, strict=True)
    return fill_structure(form, (one.with_flow(t) if hasattr(one, "with_flow") else t for one, t in pairs))


def in_form(form: Sequence[object], value: object) -> object:
    """Return the result of a body; that of one variable may come without its list."""
    return [value] if len(form) == 1 and nesting(value) != nesting(form) else value


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
        predicate = inner.op.inputs[0]  # as it is in the loop that is being built
        sides = (Context(graph, inner, 0), Context(graph, inner, 1))
        results: dict[int, object] = {}
        inside: dict[int, list[Tensor]] = {}
        for side in (1, 0):
            sides[side].pivot = pivots[1 - side]
            with graph.with_open(context=sides[side]):
                results[side] = (false_fn, true_fn)[side]()
                tensors = [branch_result(value, sides[side], inner) for value in leaves(results[side])]
            inside[side] = [sides[side].bring_in(t, scope.rstrip("/")) for t in tensors]
        check_results(results, inside)
        outputs = [merge_of(pair).outputs[0] for pair in zip(inside[0], inside[1], strict=True)]
    packed = fill_structure(results[1], iter(outputs))
    return packed[0] if isinstance(packed, (list, tuple)) and len(packed) == 1 and not strict else packed


def sides_of(tensor: Tensor, predicate: Tensor, name: str | None = None) -> Sequence[Tensor]:
    """Return a tensor as each side has it, the false one and the true one: it is there on the side that runs."""
    return make("Switch", [tensor, predicate], name).op.outputs


def merge_of(sides: Iterable[Tensor], name: str | None = None) -> Operation:
    """Return what hands on that of two tensors which is there, and its number."""
    one, other = sides
    return make("Merge", [one, other], name, shape=common_dims(one._dims, other._dims)).op


def branch_result(value: TensorLike | Operation | None, side: Context, inner: Tensor) -> Tensor:
    """Return a branch's result as a tensor; ValueError for None."""
    if not isinstance(value, Operation):
        return convert(value)
    with side.graph.control_dependencies([value]):  # whoever takes the branch's result comes after it
        return make("Identity", [inner])


def check_results(results: Mapping[int, object], tensors: Mapping[int, Sequence[Tensor]]) -> None:
    """Raise ValueError for branches that return different structures or different dtypes."""
    refuse(
        fill_structure(results[0], repeat(0)) != fill_structure(results[1], repeat(0)),
        f"Outputs of true_fn and false_fn must have the same structure: "
        f"{results[1]} from 'true_fn' and {results[0]} from 'false_fn'.",
        ValueError,
    )
    for false, true in zip(tensors[0], tensors[1], strict=True):
        refuse(
            false.dtype.base_dtype != true.dtype.base_dtype,
            f"Outputs of 'true_fn' and 'false_fn' must have the same type(s). "
            f"Received {true.dtype.name} from 'true_fn' and {false.dtype.name} from 'false_fn'.",
            ValueError,
        )
