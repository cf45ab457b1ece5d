"""A plan: all that ``Session.run`` computes for the same fetches and feeds, as one flat function over numpy.

The graph is read once: what the fetches don't need is left out, what depends on constants alone is computed now, equal
calls are made once, and the rest is written down as Python, one line a call. A loop is a ``while``; what is there on
one side of a Switch alone stands in an ``if``. The text is :attr:`Plan.source`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from gviz.static.control import Loop, refuse_endless, unit_of
from gviz.static.errors import InvalidArgumentError
from gviz.static.graph import Operation, Tensor, replace_tensors, symbolic_tensors
from gviz.static.kernels import UPDATES, array_function
from gviz.static.table import EFFECTS, call_of, type_of
from gviz.static.types import Value, dims_text

QUICK = {
    "spread_sum": "{0} if {0}.shape == {1}.shape else {2}({0}, {1})",  # most gradients stay as they are
    "push": "{0}.append({1})", "pop": "{0}.pop()",
}  # fmt: skip
"""What is quicker than a call of the function."""
INFIX = {np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/"}  # three times as fast on numbers
FOLDED_SIZE = 1_000_000
"""Constants with more elements than this are not made while planning."""
SIZES = ("Shape", "ShapeN", "Size", "Rank")
"""Types for which their input does not have to be computed."""
SHARED_SIZE = 1_000
"""Constants with more elements than this are not compared with others."""


Guard: TypeAlias = "tuple[Tensor, int]"
"""A predicate, and the side on which something is there: 0 if it is false, 1 if it is true."""
Guards: TypeAlias = "tuple[Guard, ...]"


class PlanLine(NamedTuple):
    """One line of a plan.

    Args:
        target: the name of its result.
        text: the call.
        op: its operation.
        depth: how far it is indented.
        args: of the call of a function: the names that it uses.
    """

    target: str
    text: str
    op: Operation | Loop
    depth: int
    args: Sequence[str] = ()


def used_by(unit: Operation | Loop) -> Sequence[Tensor]:
    """Return the tensors that are computed for an operation: what its function takes, not all inputs."""
    if isinstance(unit, Operation) and type_of(unit).call is not None:
        return list(symbolic_tensors(call_of(unit)[1]))
    return unit.inputs


def unit_type(unit: Operation | Loop) -> str | type:
    """Return what a unit is written by: an operation's type, or that it is a loop."""
    return unit.type if isinstance(unit, Operation) else type(unit)


def waited_for(unit: Operation | Loop) -> Iterator[Operation]:
    """Return the operations that one comes after, also by inputs that its function does not take."""
    used, waiting = set(used_by(unit)), [unit]
    while waiting:
        part = waiting.pop()
        yield from (op for op in part.control_inputs if "gate" not in op.attrs)  # a gate has nothing to do here
        if part is unit or unit_type(part) not in SIZES:
            waiting.extend(t.op for t in part.inputs if t not in used)


def in_building_order(needed: Mapping[Operation | Loop, Iterable[Operation]]) -> Iterator[Operation | Loop]:
    """Return operations in the order of making, but each behind all that it needs: a loop gets stacks later on."""
    begun, yielded = set[Operation | Loop](), set[Operation | Loop]()
    for first in sorted(needed, key=lambda unit: unit.number):
        waiting = [first]
        while waiting:
            unit = waiting[-1]
            if unit in begun:
                if unit not in yielded:
                    yielded.add(unit)
                    yield unit
                waiting.pop()
                continue
            begun.add(unit)
            waiting.extend(before for before in map(unit_of, needed[unit]) if before in needed and before not in begun)


# ------------------------------------------------------------------ the plan
class Plan:
    """The function for some fetches and feeds.

    Args:
        fetches: tensors and operations.
        feeds: tensors that get their values from outside.
        limit: how many steps a loop may take.

    Attributes:
        source: the function, as Python.
        operations: the operations that a run computes, in order.
        folded: those that were computed while planning.
        shared: those that equal another one, which is computed in their stead.
        call: the function itself.
    """

    def __init__(self, fetches: Sequence[Tensor | Operation], feeds: Sequence[Tensor], limit: int) -> None:
        self.limit = limit
        self.steps: list[PlanLine] = []
        self.operations, self.folded, self.shared = list[Operation](), list[Operation](), list[Operation]()
        self._names: dict[Tensor, str] = {}
        self._constants: dict[Tensor, Value] = {}
        self._space: dict[str, Any] = {"np": np}  # what the function's names are
        self._bound: dict[Hashable, str] = {}
        self._calls: dict[
            tuple[Guards, str], str
        ] = {}  # results by what they are guarded by and the text of their calls
        self._outside: set[str] = set()  # results that live on elsewhere
        self._elementwise: set[str] = set()  # results of numpy's functions: arrays of their own
        self._needed_results: dict[Loop, set[int]] = {}  # which results of a loop are needed
        self._written: set[Operation | Loop] = set()
        self._writes: list[Operation] = []  # what gives variables new values, in order
        self._before = frozenset[Operation]()  # the writes that what is being written down comes after
        self._after: dict[Operation | Loop, frozenset[Operation]] = {}  # the same of whatever follows an operation
        self._writes_before: dict[Tensor, frozenset[Operation]] = {}  # the writes before a variable was last read
        self._guards: dict[Operation | Loop | Tensor, Guards] = {}  # when it is there, if that is not always
        self._guarded_by: Guards = ()  # what is being written down
        self._around: Guards = ()  # the loop whose inside is being written down
        self._open: list[
            tuple[Guard, bool, dict[Tensor, Any]]
        ] = []  # each ``if`` or ``else``, and names from before it
        self._depth, self._count, self._fed = 1, 0, set(feeds)
        params = [self._new() for _ in feeds]
        self._names.update(zip(feeds, params, strict=True))
        self._outside.update(params)
        with np.errstate(all="ignore"):
            self._emit(fetches)
        self._guarded_by = ()
        self._refuse_absent(fetch for fetch in fetches if isinstance(fetch, Tensor))
        self._refresh(fetch for fetch in fetches if isinstance(fetch, Tensor))
        made, results = {step.target for step in self.steps}, set[str]()
        values = [self._fetched(f, made, results) if isinstance(f, Tensor) else "None" for f in fetches]
        head = f"def run({', '.join(['state', 'random', *params])}):"
        tail = f"    return {', '.join(values)}{',' if len(values) == 1 else ''}" if values else "    return ()"
        lines = ("    " * step.depth + (f"{step.target} = " if step.target else "") + step.text for step in self.steps)
        self.source = "\n".join([head, *lines, tail]) + "\n"
        exec(compile(self.source, "<plan>", "exec"), self._space)  # noqa: S102 - our own text, of our own names
        self.call: Callable[..., tuple[Value | None, ...]] = self._space["run"]

    @property
    def constants(self) -> dict[str, Value]:
        """The arrays and numbers that the function uses, by their names there."""
        return {name: value for name, value in self._space.items() if isinstance(value, np.ndarray | np.generic)}

    @property
    def operations_used(self) -> dict[str, Operation]:
        """The operations that the function uses by their names there, as the variables in its state."""
        return {name: value for name, value in self._space.items() if isinstance(value, Operation)}

    # -------------------------------------------------------------- which operations, in which order
    def _emit(self, targets: Iterable[Tensor | Operation]) -> None:
        """Write all that the targets need and that is not there yet."""
        needed: dict[Operation | Loop, list[Operation]] = {}  # and what is computed before
        waiting = [t.op if isinstance(t, Tensor) else t for t in targets if t not in self._names]
        while waiting:
            op = waiting.pop()
            unit: Operation | Loop = unit_of(op)
            if unit in self._written or (unit in needed and not isinstance(unit, Loop)):
                continue
            inputs = used_by(unit)
            if isinstance(unit, Loop):
                inputs = self._part(unit, op)
            elif op.type == "Assign":  # what a variable gets does not depend on what it holds
                inputs = inputs[1:]
            before = [
                *(t.op for t in inputs if t not in self._names),
                *(op for op in waited_for(unit) if not op.outputs or not self._fed.issuperset(op.outputs)),
            ]
            needed.setdefault(unit, []).extend(before)
            waiting.extend(before)
        around, guarded_by = self._before, self._guarded_by
        for unit in in_building_order(needed):
            sources = map(unit_of, [*(t.op for t in used_by(unit)), *waited_for(unit)])
            self._before = around.union(*(self._after.get(source, ()) for source in sources))
            before_it, count = self._before, len(self._writes)
            self._written.add(unit)
            self._guarded_by = self._guards_of(unit)
            self._read_again(used_by(unit))
            WRITERS.get(unit_type(unit), Plan._write_call)(self, unit)
            self._after[unit] = before_it.union(self._writes[count:])
            self._writes_before.update(dict.fromkeys(unit.outputs, before_it))
        self._before, self._guarded_by = around, guarded_by

    def _part(self, loop: Loop, result: Operation) -> list[Tensor]:
        """Note that a loop's result is needed; return what comes in for it. An inner loop is computed whole."""
        needed = self._needed_results.setdefault(loop, set())
        place = next(i for i, t in enumerate(loop.outputs) if t.op is result)
        if place in needed:
            return []
        numbers, outside = loop.needs([place] if loop.context.outer is None else range(len(loop.merges)))
        needed.update(numbers)
        return outside

    def _write_call(self, op: Operation) -> None:
        """Write an operation that is a call of a function."""
        key, args = call_of(op)
        self._refresh(symbolic_tensors(args))
        if key == "pass":
            source = op.inputs[0]
            if op.type == "Switch":
                guards = self._guarded_by
                for side, output in enumerate(op.outputs):
                    self._guards[output] = outer_first({*guards, (source_of(op.inputs[1], ("Identity",)), side)})
            table: dict[Tensor, Any] = self._names if source in self._names else self._constants
            table |= dict.fromkeys(op.outputs, table[source])
            return
        function, tensors = array_function(key), list(symbolic_tensors(args))
        is_pure = op.type not in EFFECTS
        if is_pure and all(t in self._constants for t in tensors) and self._fold(op, function, args, tensors):
            return
        names = [self._text(a) for a in args]
        if function in INFIX:
            text = f"{names[0]} {INFIX[function]} {names[1]}"
        elif key in QUICK:
            text = QUICK[key].format(*names, self._bind(function, key))
        else:
            text = f"{self._bind(function, key)}({', '.join(names)})"
        name = self._write(op, text, [self._text(t) for t in tensors], shared=is_pure)
        if isinstance(function, np.ufunc):
            self._elementwise.add(name)
        if key == "spread_sum" and names[0] in self._outside:
            self._outside.add(name)

    def _fold(self, op: Operation, function: Callable[..., Any], args: object, tensors: Sequence[Tensor]) -> bool:
        """Compute an operation on constants now; return whether that went well (else a run shall say what is wrong)."""
        if any((t.shape.num_elements() or 0) > FOLDED_SIZE for t in op.outputs):
            return False
        try:
            value = function(*replace_tensors(args, (self._constants[t] for t in tensors)))
        except (ValueError, RuntimeError, TypeError, IndexError, ArithmeticError):
            return False
        for tensor, part in zip(op.outputs, value if type_of(op).several else [value], strict=True):
            self._constants[tensor] = np.asarray(part, tensor.dtype.base_dtype.as_numpy_dtype)[()]
        self.folded.append(op)
        return True

    # -------------------------------------------------------------- names and lines
    def _new(self, letter: str = "v") -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _bind(self, value: object, hint: str = "") -> str:
        """Return a name for an object that the function uses; equal arrays have one."""
        key: Hashable = id(value)
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O" and value.size <= SHARED_SIZE:
            key = (value.dtype, value.shape, value.tobytes())
        if key not in self._bound:
            name = hint if hint.isidentifier() and hint not in self._space else f"{hint or 'k'}_{len(self._bound)}"
            self._space[name] = value
            self._bound[key] = name
        return self._bound[key]

    def _text(self, value: object) -> str:
        """Return an argument as Python: a name for a tensor, numbers as they are."""
        if isinstance(value, Tensor):
            if value in self._names:
                return self._names[value]
            if value not in self._constants:  # it comes later than what needs it
                raise InvalidArgumentError(f"Graph is invalid, contains a cycle with {value.op.name}", value.op)
            return self._bind(self._constants[value])
        if isinstance(value, (tuple, list)):
            inner = ", ".join(self._text(v) for v in value)
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
        is_finite = value.__class__ is float and math.isfinite(value)
        is_plain = value is None or value.__class__ in (int, bool, str, slice) or is_finite
        return repr(value) if is_plain else self._bind(value)

    def _write(self, op: Operation, text: str, args: Sequence[str] = (), *, shared: bool = False) -> str:
        """Write a line for an operation, unless an equal one is there; return the name of its result."""
        guards = self._guards_here()
        same = next((guards[:i] for i in range(len(guards) + 1) if (guards[:i], text) in self._calls), None)
        if shared and same is not None:
            name = self._calls[same, text]
            self.shared.append(op)
        else:
            name = self._new()
            self._line(text, op, name, args)
            self.operations.append(op)
            if shared:
                self._calls[guards, text] = name
        for i, tensor in enumerate(op.outputs):
            self._names[tensor] = f"{name}[{i}]" if type_of(op).several else name
        return name

    def _line(self, text: str, op: Operation | Loop, target: str = "", args: Sequence[str] = ()) -> None:
        self._open_for(op)
        self.steps.append(PlanLine(target, text, op, self._depth + len(self._open), args))

    # -------------------------------------------------------------- what is there on one side alone
    def _guards_of(self, unit: Operation | Loop) -> Guards:
        """Return when an operation is computed: if all is there that it takes and waits for."""
        if unit_type(unit) == "ControlTrigger":
            return self._around
        found = [self._when(part) for parts in (unit.inputs, used_by(unit), waited_for(unit)) for part in parts]
        if unit_type(unit) == "Merge":
            found = [tuple(set(found[0]).intersection(found[1]))]
        self._guards[unit] = outer_first(set().union(self._around, *found))
        return self._guards[unit]

    def _when(self, part: Tensor | Operation) -> Guards:
        """Return when a tensor or an operation is there."""
        if isinstance(part, Tensor) and part not in self._guards:
            part = part.op
        return self._guards.get(part if isinstance(part, Tensor) else unit_of(part), ())

    def _guards_here(self) -> Guards:
        """Return the sides of what is being written down, without those of the loop around."""
        return tuple(guard for guard in self._guarded_by if guard not in self._around)

    def _open_for(self, op: Operation | Loop) -> None:
        """Close each ``if`` that does not hold for what is being written down, and open those that are missing."""
        guards = self._guards_here()
        other_side: Guard | None = None  # of the ``if`` that ends here
        while tuple(guard for guard, _, _ in self._open) != guards[: len(self._open)]:
            (predicate, side), is_else, names = self._open.pop()
            other_side = None if is_else else (predicate, 1 - side)
            self._names |= names
        for guard in guards[len(self._open) :]:
            name, depth = self._text(guard[0]), self._depth + len(self._open)
            is_else, other_side = guard == other_side, None
            word = "else" if is_else else f"if {name}" if guard[1] else f"if not {name}"
            self.steps.append(PlanLine("", f"{word}:", op, depth))
            self._open.append((guard, is_else, {}))

    def _rename(self, tensor: Tensor, name: str) -> None:
        """Give a tensor another name, behind an ``if`` the one from before it again."""
        if self._open and tensor in self._names:
            self._open[-1][2].setdefault(tensor, self._names[tensor])
        self._names[tensor] = name

    def _merge(self, op: Operation) -> None:
        """Write the choice of what is there."""
        one, other = (self._text(t) for t in op.inputs)
        guards = [guard for guard in self._when(op.inputs[0]) if guard not in self._guarded_by]
        is_there = [f"{'' if side else 'not '}{self._text(predicate)}" for predicate, side in guards]
        is_first, name = " and ".join(is_there) or "True", self._new()
        self._line(f"{one} if {is_first} else {other}", op, name)
        self._names.update(zip(op.outputs, (name, f"np.int32(not ({is_first}))"), strict=True))
        self._outside.add(name)
        self.operations.append(op)

    def _refuse_absent(self, tensors: Iterable[Tensor]) -> None:
        """Write that a run is refused whose results are not there."""
        for tensor in tensors:
            for predicate, side in self._when(tensor):
                refuse = self._bind(refuse_absent, "refuse_absent")
                self._line(f"if {'not ' if side else ''}{self._text(predicate)}: {refuse}({tensor.name!r})", tensor.op)

    def _fetched(self, tensor: Tensor, made: set[str], results: set[str]) -> str:
        """Return a result as an array; what lives on elsewhere, or may be a view of that, is copied."""
        name = self._text(tensor)
        twice = name in results
        results.add(name)
        if tensor.dtype.base_dtype == "string":
            return f"np.array({name}, object)[()]"
        if name not in made or name in self._outside or twice:
            return f"np.array({name})[()]"
        scalar = "" if tensor._dims else "[()]"  # a number is no array
        return name if name in self._elementwise else f"({name} if {name}.base is None else {name}.copy()){scalar}"

    # -------------------------------------------------------------- operations that are no calls
    def _unfed(self, op: Operation) -> NoReturn:
        shape = f" and shape {dims_text(op.attrs['shape'])}" if op.attrs["shape"] else ""
        raise InvalidArgumentError(
            f"You must feed a value for placeholder tensor '{op.name}' with dtype {op.attrs['dtype'].cpp}{shape}", op
        )

    def _refresh(self, tensors: Iterable[Tensor]) -> None:
        """Read variables where their values are used."""
        for tensor in tensors:
            if tensor.op.type == "VariableV2" and tensor.op in self._written and tensor not in self._fed:
                name = self._names[tensor] = self._new()
                self._line(f"state[{self._bind(tensor.op)}]", tensor.op, name)
                self._outside.add(name)

    def _read_again(self, tensors: Iterable[Tensor]) -> None:
        """Read variables once more that have been written since, if what is being written down comes after that."""
        for tensor in tensors:
            variable = source_of(tensor)
            is_read = variable is not tensor and variable.dtype.is_ref and tensor in self._names
            if not is_read or self._fed & {tensor, variable}:
                continue
            writes = frozenset(write for write in self._before if variable in write.inputs)
            if writes - self._writes_before.get(tensor, frozenset()):
                self._writes_before[tensor] = writes
                name = self._new()
                self._line(f"state[{self._bind(variable.op)}]", variable.op, name)
                self._rename(tensor, name)
                self._outside.add(name)

    def _by_text(self, op: Operation) -> None:
        """Write an operation that has to do with the state or with random numbers; keep a variable's new value."""
        args = [self._text(t) for t in op.inputs if not t.dtype.is_ref]
        dtype = op.outputs[0].dtype.base_dtype.as_numpy_dtype
        names = {"op": self._bind(op), "variable": self._bind(op.inputs[0].op), "dtype": self._bind(dtype)}
        name = self._write(op, TEXTS[op.type].format(*args, **names))
        if op.type in STORED:
            self._store(op, name, [f"state[{names['variable']}]"])

    def _update(self, op: Operation) -> None:
        """Write a step of an optimiser: the new values of a variable and of what is kept beside it."""
        args = [self._text(t) for t in op.inputs if not t.dtype.is_ref]
        targets = [f"state[{self._bind(t.op)}]" for t in op.inputs if t.dtype.is_ref]
        options = [f"{key}={value!r}" for key, value in op.attrs.items()]
        name = self._write(op, f"{self._bind(UPDATES[op.type], op.type)}({', '.join([*targets, *args, *options])})")
        self._store(op, name, targets)
        self._names[op.outputs[0]] = f"{name}[0]"

    def _store(self, op: Operation, name: str, targets: Sequence[str]) -> None:
        """Write that variables have new values."""
        self._outside.add(name)
        self._writes.append(op)
        self._line(f"{', '.join(targets)}{',' * (op.type in UPDATES)} = {name}", op)

    # -------------------------------------------------------------- loops and branches
    def _loop(self, loop: Loop) -> None:
        """Write ``while True``, left if the condition fails; for a gradient loop ``for``, as its steps are counted."""
        numbers, _ = loop.needs(self._needed_results[loop])
        merges, switches = ([group[i] for i in numbers] for group in (loop.merges, loop.switches))
        names = [self._new("loop") for _ in numbers]
        self._line(", ".join(self._text(loop.starts[i]) for i in numbers), loop, ", ".join(names))
        steps = self._new("steps")
        if loop.forward is None:
            self._line(f"{steps} = 0", loop)
        self._line(
            "while True:" if loop.forward is None else f"for {steps} in {self._bind(range, 'range')}({names[0]}):", loop
        )
        with self._block(loop, [loop.outputs[i] for i in numbers], names, [loop.results[i] for i in numbers]):
            self._names.update((m.outputs[0], name) for m, name in zip(merges, names, strict=True))
            self._written.update(merges)
            if loop.forward is None:
                self._emit([loop.condition])
                self._line(f"if not {self._text(loop.condition)}: break", loop)
                refuse = self._bind(refuse_endless, "refuse_endless")
                self._line(f"{steps} += 1", loop)
                self._line(f"if {steps} > {self.limit}: {refuse}({loop.name!r}, {self.limit})", loop)
            self._names.update((s.outputs[1], name) for s, name in zip(switches, names, strict=True))
            self._written.update(switches)

    @contextmanager
    def _block(
        self, loop: Loop, outputs: Sequence[Tensor], names: Sequence[str], results: Sequence[Tensor]
    ) -> Iterator[None]:
        """Indent lines, the last of which computes results; only the outputs, by name, are there outside."""
        before = dict(self._names), dict(self._calls), set(self._written), dict(self._writes_before)
        place = self._around, self._open, self._depth
        self._around, self._open, self._depth = self._guarded_by, [], self._depth + len(self._open) + 1
        yield
        self._emit(results)
        self._line(", ".join(self._text(t) for t in results), loop, ", ".join(names))
        self._around, self._open, self._depth = place
        self._names, self._calls, self._written, self._writes_before = before
        self._names.update(zip(outputs, names, strict=True))
        self._outside.update(names)


def outer_first(guards: Iterable[Guard]) -> Guards:
    """Return guards, those of outer branches first."""
    return tuple(sorted(guards, key=lambda guard: (guard[0].op.number, guard[1])))


def source_of(tensor: Tensor, through: Sequence[str] = ("Identity", "Switch", "Enter")) -> Tensor:
    """Return the tensor that is handed on to another one."""
    while tensor.op.type in through:
        tensor = tensor.op.inputs[0]
    return tensor


def refuse_absent(name: str) -> NoReturn:
    """Raise InvalidArgumentError: a result is asked for whose branch has not run."""
    raise InvalidArgumentError(f"Retval[0] does not have value: {name} is in a branch that has not run")


STORED = {
    "Assign": "np.array({0}, {dtype})[()]", "AssignAdd": "state[{variable}] + {0}", "AssignSub": "state[{variable}] - {0}",
    "ApplyGradientDescent": "state[{variable}] - {0} * {1}",
}  # fmt: skip
"""A variable's new value, as Python."""
TEXTS = STORED | {
    "IsVariableInitialized": "np.bool_({variable} in state)",
    "RandomStandardNormal": "random({op}).normal({0}, {dtype})",
    "RandomUniform": "random({op}).uniform({0}, {dtype})",
    "TruncatedNormal": "random({op}).truncated_normal({0}, {dtype})",
    "LogUniformCandidateSampler": "random({op}).classes({0}, {op}.attrs)",
    "RandomUniformInt": "random({op}).integers({0}, {1}, {2}, {dtype})",
}
"""Operations that are not calls, as Python."""
WRITERS: dict[str | type, Callable[[Plan, Any], None]] = {
    **dict.fromkeys(TEXTS, Plan._by_text), **dict.fromkeys(UPDATES, Plan._update),
    **dict.fromkeys(("NoOp", "ControlTrigger", "VariableV2"), lambda plan, op: plan.operations.append(op)),
    "Const": lambda plan, op: plan._constants.update({op.outputs[0]: op.attrs["value"][()]}), "Placeholder": Plan._unfed,
    Loop: Plan._loop, "Merge": Plan._merge,
}  # fmt: skip
