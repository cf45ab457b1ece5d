"""Where a computation was written: the line of the program behind each operation, and why a tensor has no graph.

``listening.py`` is the one place that puts wrappers round the functions of an engine, gviz's or PyTorch's, and takes
them away again. It tells observers: the :class:`Trace` here of calls, ``gradients.py`` of what becomes of gradients,
``versions.py`` of writes, ``modules.py`` of layers. ``frames.py`` knows which line is running, ``cuts.py`` what is
outside the graph.

What is learnt of an operation is kept in its node's ``metadata``, where PyTorch's anomaly mode keeps lines, too; of any
other tensor it is kept as long as that lives. So a loop that runs for hours needs no more memory than without a trace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any
from weakref import ref

from gviz.graphs import Place
from gviz.graphs.numbers import FEW_ELEMENTS, Numbers, elements_of
from gviz.trace.cuts import CHECKPOINT, FROM_NUMBERS, OutsideGraph
from gviz.trace.facts import MOST_ITEMS, ByTensor, flat, recall, remember, tensors_in
from gviz.trace.frames import RunningProgram
from gviz.trace.gradients import Gradients
from gviz.trace.listening import NUMBERS, SHARES, Listener, Observer, ParameterGroups, is_write
from gviz.trace.records import KEY, CallRecord, Constant, NodeRecord, Write, record_of
from gviz.trace.versions import Versions
from gviz.walk import all_finite, grad_fn, numbers

ON_ITSELF = {"__setitem__", "requires_grad_", "detach_"}
"""Calls that change their first argument; some of them return nothing."""

MOST = 10_000
"""Writes in place that are remembered: the last ones."""


class Trace(Observer):
    """What the calls of a program tell.

    Args:
        engine: the module that the program knows as torch: gviz's engine, or PyTorch.
        is_ours: whether code of a file is the program's, as opposed to a library's.
        columns: whether a place has its column, too.
        timed: whether to measure how long the calls take.
        valued: whether to keep the numbers of small results.
        nested: whether to tell the calls of functions that operations are recorded in.
    """

    def __init__(
        self,
        engine: ModuleType,
        is_ours: Callable[[str], bool],
        *,
        columns: bool = False,
        timed: bool = False,
        valued: bool = False,
        nested: bool = False,
    ) -> None:
        self.engine, self.tensor = engine, engine.Tensor
        self.timed, self.valued, self.nested = timed, valued, nested
        self.frames = RunningProgram(is_ours, columns=columns)
        self.outside, self.gradients = OutsideGraph(engine, self.frames), Gradients(self.frames)
        self.writes: deque[Write] = deque(maxlen=MOST)
        self.requires_grad_set: ByTensor[Place] = {}  # of tensors that were made without: where they came to require it
        self.autograd_grad: ByTensor[Place] = {}  # of tensors: where autograd.grad was asked for their gradients
        self.owners: ByTensor[
            tuple[Any, str]
        ] = {}  # of tensors that .data, or detach(), gives: weakly of which, and how
        self.versions: Versions | None = None  # of a script: what knows which tensors numpy may write

    def listening(self) -> Listener:
        """Return the listener that tells this trace alone: of a program that is no script."""
        return Listener(self.engine, self, self.gradients, timed=self.timed)

    # ---------------------------------------------------------------- being told
    def will_detach(self, tensor: Any) -> None:
        """Note what detach_ is going to take out of its graph."""
        self.outside.will_detach(tensor, self.frames.note_call("detach_", is_new=False))

    def will_write(self, tensor: Any, *, is_counted: bool = True) -> None:
        """Note that ``.data`` is going to be set, which no call tells of."""
        if not is_counted and (call := self.frames.note_call("data", is_new=False)) is not None:
            self.writes.append(Write(call.place, "data", ref(tensor), (), -1, run=self.frames.runs))
            self.gradients.wrote_leaf(tensor, "data", is_counted=False)

    def has_called(self, name: str, args: tuple[Any, ...], result: Any, seconds: float) -> None:
        """Note what a call has made."""
        if args and type(args[0]) is list and is_write(name):  # as PyTorch's zero_grad does, and clip_grad_norm_
            is_unscaled = name.endswith("and_unscale_") and args[2].item() != 1
            for gradient in args[0]:
                self.gradients.wrote(gradient, is_unscaled=is_unscaled)
        result = args[0] if name in ON_ITSELF else result
        if not isinstance(result, self.tensor):
            return self.record_others(name, args, result, seconds)
        call = self.frames.note_call(name)
        return None if call is None else self.record_tensor(name, args, result, call, seconds)

    def record_tensor(
        self, name: str, args: tuple[Any, ...], result: Any, call: CallRecord, seconds: float = 0.0
    ) -> None:
        """Note a tensor that a call has made."""
        if call.writes or (args and result is args[0] and is_made_anew(result)):
            call = self.record_write(name, result, call._replace(writes=True), args)
        if not result.requires_grad:
            self.record_outside(name, args, result, call)
        elif grad_fn(result) is not None:  # a view that was made and written under no_grad does not tell it
            self.record_node(result, call, args, seconds)
        elif not call.writes:
            self.record_leaf(name, args, result, call)

    def record_node(self, result: Any, call: CallRecord, args: tuple[Any, ...], seconds: float = 0.0) -> None:
        """Note the call that an operation was recorded in, once, and the numbers of each of its results."""
        notes, number = result.grad_fn.metadata, result.output_nr
        if KEY not in notes:
            operands = [*self.operands_of(args)]
            constants = tuple(
                [self.as_recorded(*pair) for pair in operands if not getattr(pair[1], "requires_grad", False)]
            )
            if call.writes and self.versions is not None and (before := self.versions.before_write(result)) is not None:
                constants = (Constant(0, before), *constants)
            outside = self.outside.cut_off_among(args) if self.outside.cuts or self.valued else ()
            function = self.frames.function() if self.nested else None
            # all fields at once: half the time of NodeRecord(...), of which there is one for each operation
            notes[KEY] = tuple.__new__(
                NodeRecord,
                (
                    call,
                    self.frames.runs,
                    seconds,
                    None if number else self.value_of(result),
                    outside,
                    constants,
                    len(args),
                    function,
                    None,
                ),
            )
            if self.versions is not None and self.versions.lent:
                self.versions.was_used([one for _, one in operands], result.grad_fn)
        if number:
            if notes[KEY].others is None:
                notes[KEY] = notes[KEY]._replace(others={})
            notes[KEY].others.setdefault(number, self.value_of(result))

    def record_write(self, name: str, result: Any, call: CallRecord, args: tuple[Any, ...]) -> CallRecord:
        """Note a write in place, and of a view the operation of the tensor behind; return how the result was made."""
        self.gradients.wrote(result, name)
        owner = result if (base := result._base) is None else base  # noqa: SLF001 - PyTorch's own names, as below
        node, makers = owner.grad_fn, ("", "")
        if node is not None:
            before = node.next_functions[0][0] if node.next_functions else None
            makers = "" if before is None else type(before).__name__, type(node).__name__
            noted = before and record_of(before)
            is_inside = (
                noted and call.at and noted.call.at == call.at and name not in call.at[0].co_names
            )  # as in GRUCell
            call = call._replace(writes=not (is_inside and self.listener.is_own and name[0] != "_"))
        memory, by = recall(self.owners, owner) or (None, "")
        beside = memory() if memory is not None else None
        if beside is not None and result.requires_grad and not beside.requires_grad:
            self.outside.note_made(beside, call._replace(name=by, at=None), args)
        leaf = memory if beside is not None and beside.is_leaf else None
        self.writes.append(
            Write(
                call.place,
                name,
                ref(owner),
                (tuple(result.shape), tuple(owner.shape)),
                0 if result.is_inference() else result._version,  # noqa: SLF001
                makers,
                self.frames.runs,
                leaf,
                is_idle=self.versions is not None and self.versions.is_as_before(leaf() if leaf else owner),
            )
        )
        self.gradients.wrote_leaf(leaf() if leaf else owner, name, is_counted=not leaf)
        if node is not None and base is not None:
            self.record_node(base, call, args)
        return call if base is None else call._replace(is_view=True)

    def has_stepped(self, optimizer: ParameterGroups) -> None:
        """Note that an optimizer of gviz's engine has written its parameters; PyTorch's call functions to do so."""
        if self.listener.is_own and (call := self.frames.note_call("step")) is not None:
            for one in (one for group in optimizer.param_groups for one in group["params"] if one.grad is not None):
                self.record_write("step", one, call, ())

    def record_outside(self, name: str, args: tuple[Any, ...], result: Any, call: CallRecord) -> None:
        """Note a tensor outside the graph that a call has made, or has put there."""
        if name in SHARES:
            self.gradients.shared(args[0], result)
            remember(self.owners, result, (ref(args[0]), name))
        if name == "apply" and args[0].__name__ == CHECKPOINT:  # it runs a function where gradients are off
            args = (*(own for one in args for part in modules_used(one) for own in part.parameters()), *args[1:])
            call = call._replace(name=CHECKPOINT)
        is_frozen = name == "requires_grad_" and args[1:] == (False,) and not self.outside.never_required(result)
        call = (
            call._replace(began=self.beginning(call, args, result))
            if self.valued and self.gradients.stepping is None  # in a step many calls write what an optimizer keeps
            else call
        )
        if name == "detach_" or is_frozen:
            self.outside.put_outside(result, call, name)
        else:
            self.outside.note_made(result, call, args)

    def record_leaf(self, name: str, args: tuple[Any, ...], result: Any, call: CallRecord) -> None:
        """Note a leaf that a call has made, or has let require a gradient."""
        before = recall(self.outside.records, result) if name == "requires_grad_" else None
        if before is not None and (
            before.reason == "frozen"
            if recall(self.outside.leaves, result)  # it has required one, as a Parameter does from the beginning
            else before.reason or before.place != call.place
        ):
            remember(self.requires_grad_set, result, call.place)
        remember(self.outside.leaves, result, True)
        is_cut = call.name in FROM_NUMBERS or call.name == "detach"  # the latter by nn.Parameter
        self.outside.keep(
            result,
            (self.outside.record_of_result(call, args, result) if is_cut else call)._replace(run=self.frames.runs),
        )

    def record_others(self, name: str, args: tuple[Any, ...], result: Any, seconds: float) -> None:
        """Note the tensors in a list that a call has made, or a number made of a tensor."""
        is_list = isinstance(result, list | tuple)
        call = self.frames.note_call(name) if name in NUMBERS or is_list else None
        if call is not None and name in NUMBERS:
            self.outside.note_number(result, call, args)
        elif call is not None:
            if name == "grad":
                self.gradients.asked_at = call.place
                self.gradients.first_run = self.gradients.first_run or self.frames.runs
            for leaf in tensors_in(args[1], self.tensor) if name == "grad" else ():
                remember(self.autograd_grad, leaf, call.place)
            for one in tensors_in([*result[:MOST_ITEMS]], self.tensor):
                self.record_tensor(name, args, one, call, seconds)

    def beginning(self, call: CallRecord, args: tuple[Any, ...], result: Any) -> CallRecord | None:
        """Return the call that has made the first nan or inf which came into a result outside the graph.

        None where there is none, or none is known: as of what the program has put in, such as the -inf of a mask, of
        which a call may make nan. One without a name where the result is finite, and what it was made from is not: what
        is computed of it may not be finite for that, as 1 / exp(-inf).
        """
        value, parts = self.value_of(result), [one for one in flat(args, MOST_ITEMS) if one is not result]
        records = [(one, recall(self.outside.records, one)) for one in parts]
        begun = [(self.value_of(one), record.began) for one, record in records if record and record.began]
        if value is None or value.is_finite:
            return call._replace(name="") if begun else None
        given = (
            Numbers.of(one) if isinstance(one, float) else self.value_of(one)
            for one in parts
            if isinstance(one, float | self.tensor)
        )
        bad = (one.has_nan if value.has_nan else not one.is_finite for one in given if one is not None)
        first = next((began for own, began in begun if own is not None and not own.is_finite), None)
        return first if begun or any(bad) else call

    # ---------------------------------------------------------------- what is kept
    def value_of(self, result: Any, *, is_made: bool = True) -> Numbers | None:
        """Return the numbers of a small tensor, and of a large one that was made and is not finite; None for any other.

        They have no dtype: what the program gave no name shows none.
        """
        if not self.valued:
            return None
        try:
            if result.shape == ():
                return tuple.__new__(Numbers, ((), "", elements_of((result.tolist(),)), None))
            is_wanted = result.numel() <= FEW_ELEMENTS or (
                is_made and result.is_floating_point() and not all_finite(result)
            )
            return numbers(result)._replace(dtype="") if is_wanted else None
        except RuntimeError:  # a tensor without numbers, or sizes: meta, fake, nested
            return None

    def operands_of(self, args: tuple[Any, ...]) -> Iterator[tuple[int | tuple[int, int], Any]]:
        """Yield the arguments of a call with their places; of a list of tensors each item, with the places of both."""
        for at, one in enumerate(args):
            if one.__class__ in (list, tuple) and one and all(isinstance(item, self.tensor) for item in one):
                yield from (((at, number), item) for number, item in enumerate(one))
            else:
                yield at, one

    def as_recorded(self, at: int | tuple[int, int], one: Any) -> Constant:
        """Return an argument as an operation keeps it: a tensor weakly, a number as it is, of others the kind."""
        if isinstance(one, self.tensor):
            return Constant(at, ref(one), self.value_of(one, is_made=False))
        return Constant(at, one if isinstance(one, int | float) else type(one))


def is_made_anew(result: Any) -> bool:
    """Return whether a tensor that a call was given, and has returned, was written by it: by ``inplace=True``."""
    node = grad_fn(result)
    return node is not None and KEY not in node.metadata and result._version > 0  # noqa: SLF001 - PyTorch's own name


def modules_used(function: object) -> Iterator[Any]:
    """Yield the modules that a function is, or names: those of its object, or in variables outside of it."""
    names, space = getattr(getattr(function, "__code__", None), "co_names", ()), getattr(function, "__globals__", {})
    owners = [function, getattr(function, "__self__", None), *(space[name] for name in names if name in space)]
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # it has no value yet
            owners.append(cell.cell_contents)
    for owner in owners:
        if not isinstance(owner, type) and hasattr(owner, "named_children"):
            yield from [part for name, part in owner.named_children() if name in names] or [owner]
