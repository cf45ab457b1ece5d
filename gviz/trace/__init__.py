"""Where a computation was written: the line of the program behind each operation, and why a tensor has no graph.

While a :class:`Trace` is entered, the functions of ``torch`` and the methods of its tensors tell it of each call that
the program makes: those of gviz's engine and of the real PyTorch alike. Without it they are as they always are.

What is learnt of an operation is kept in its node's ``metadata``, where PyTorch's anomaly mode keeps lines, too; of any
other tensor it is kept as long as that lives. So a loop that runs for hours needs no more memory than without a trace.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Self
from weakref import ref

from gviz.graphs import Place
from gviz.graphs.numbers import Numbers, elements_of
from gviz.trace.gradients import Gradients, Known, recall, remember
from gviz.trace.versions import KEY
from gviz.walk import dtype_name, grad_fn, graph_nodes, numbers

ENGINE = "gviz.engine"

SPACES = ("", ".linalg", ".special", ".nn.functional")
"""The modules of functions that a program calls."""

BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
OTHERS = "neg pos invert abs lt le gt ge eq ne getitem setitem"
OPERATORS = {
    *(f"__{kind}{sign}__" for kind in ("", "r", "i") for sign in BINARY.split()),
    *(f"__{sign}__" for sign in OTHERS.split()),
}

COPIES = {"tensor", "as_tensor", "new_tensor", "from_numpy"}
"""Calls that make a tensor of numbers."""

DETACHES = {"detach", "detach_", "data", *COPIES}
"""Calls whose result is out of the graph by intention."""

NUMBERS = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__complex__"}
"""Calls that make numbers of tensors."""

SHARES = {"detach", "data"}
"""Calls whose result has the memory of what it was made from."""

ON_ITSELF = {"__setitem__", "requires_grad_", "detach_"}
"""Calls that change their first argument; some of them return nothing."""

MAKE_NONE = {
    *("accumulate_grad", "autograd_meta", "refresh", "version_cell"),
    *("is_inference", "size", "stride", "dim", "numel"),
}
"""Methods that make no tensor, and are called often."""

NO_WRITES = {"requires_grad_", "detach_", "share_memory_", "__init__"}
"""Names with an underscore at their end that write no memory."""

FEW = 256
"""Elements of a result whose numbers are kept."""

EFFORT = 100_000
"""Operations that are looked at, in all, for the leaves behind what a call cuts off: a call in a loop does so very
often."""

MOST, LATEST = 10_000, 100
"""Writes in place that are remembered, and numbers made of tensors: the last ones."""


class CallRecord(NamedTuple):
    """The call that made a tensor.

    Args:
        place: the innermost line of the program.
        name: the function's name.
        reason: why the result is outside the graph though an input was inside: ``detached``, ``no_grad`` or
            ``no derivative``; or ``frozen`` if ``requires_grad = False`` took it out; "" otherwise.
        broken_at: where that happened: here, or where the tensor was made that this one was made from.
        broken_by: the name of the call that it happened in.
        source: the tensor inside, weakly.
        writes: whether it wrote its result into the memory of its first argument.
        cuts: the calls that cut it off from the graph: several, if it was made from several such tensors.
        is_view: whether it wrote into a view: its operation makes the view anew, and another one has written.
        at: the code that made it, and the instruction there; None where that is not known.
    """

    place: Place
    name: str
    reason: str = ""
    broken_at: Place | None = None
    broken_by: str = ""
    source: Any = None
    writes: bool = False
    cuts: frozenset[Break] = frozenset()
    is_view: bool = False
    at: tuple[CodeType, int] | None = None


class FunctionCall(NamedTuple):
    """A call of a function of the program.

    Args:
        name: with the class that it is in: ``Net.forward``.
        number: which call of this function it is, of those that recorded something, counted from 1.
        within: the call that it was made in.
    """

    name: str
    number: int
    within: FunctionCall | None


class NodeRecord(NamedTuple):
    """What is kept with an operation.

    Args:
        call: the call that it was recorded in.
        run: which run of a line that was, counted from 1 over the whole program.
        seconds: how long the call took; 0 if that was not measured.
        numbers: of its result, where they are kept: of a small one, and of one that has nan or inf.
        outside: what is known of inputs that were cut off from a graph.
        given: the arguments without a gradient, each with its place: tensors weakly, numbers, kinds of others.
        arguments: how many all are.
        function: the call of a function that it was in, where that was asked for.
    """

    call: CallRecord
    run: int
    seconds: float
    numbers: Numbers | None
    outside: tuple[CallRecord, ...] = ()
    given: tuple[tuple[int, Any], ...] = ()
    arguments: int = 0
    function: FunctionCall | None = None


class Break:
    """A call in a line that cuts tensors off.

    Args:
        call: what it did the first time.
    """

    __slots__ = ("alone", "behind", "call", "effort", "is_deep", "is_list", "is_number", "leaves")

    def __init__(self, call: CallRecord) -> None:
        self.alone = frozenset([self])
        self.call = call._replace(cuts=self.alone)
        self.leaves: Known[bool] = {}  # behind what it took, in all of its runs
        self.behind: set[Break] = set()  # earlier ones, of which something came into what it took
        self.effort, self.is_number = EFFORT, False  # whether numbers came of it, which nobody can follow
        self.is_list, self.is_deep = False, False  # whether it took a list of tensors, and one that is no leaf

    def takes(self, tensor: Any) -> CallRecord:
        """Note one more tensor that is cut off; return what is known of the result."""
        self.is_deep = self.is_deep or tensor.grad_fn is not None
        if self.effort > 0:  # each run of a loop has a graph of its own, and mostly the same leaves
            nodes = graph_nodes([tensor])
            for node, leaf in nodes.items():
                if leaf is not None:
                    remember(self.leaves, leaf, True)
                elif (node_record := Trace.record_of(node)) is not None:
                    self.behind.update(*(call.cuts for call in node_record.outside))
            if not nodes:
                remember(self.leaves, tensor, True)
            self.effort -= len(nodes) + 10
        return self.call._replace(source=ref(tensor))


class Write(NamedTuple):
    """A write in place.

    Args:
        place: its line.
        name: the function's name.
        owner: the tensor that has the memory, weakly: what was written, or what that is a view of.
        shapes: of what was written, and of the owner.
        version: of the memory afterwards.
        makers: the operations that had made the owner before, and now, by their classes; "" for none.
    """

    place: Place
    name: str
    owner: Any
    shapes: tuple[tuple[int, ...], ...]
    version: int
    makers: tuple[str, str] = ("", "")


class Trace:
    """What the calls of a program tell, from the moment that it is entered.

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
        engine: Any,
        is_ours: Callable[[str], bool],
        *,
        columns: bool = False,
        timed: bool = False,
        valued: bool = False,
        nested: bool = False,
    ) -> None:
        self.tensor = engine.Tensor
        self.engine, self.columns, self.timed, self.valued = engine, columns, timed, valued
        self.is_ours = cache(is_ours)
        self.records: Known[CallRecord] = {}
        self.writes: deque[Write] = deque(maxlen=MOST)
        self.numbers: deque[tuple[Any, CallRecord]] = deque(maxlen=LATEST)
        self.calls: dict[tuple[int, int, str], tuple[CallRecord, Any]] = {}
        self.lines: dict[int, tuple[list[int], list[int], CodeType]] = {}
        self.cuts: dict[tuple[Place, str, str], Break] = {}
        self.gradients = Gradients(self.is_ours, self.current_call)
        self.requires_grad_set: Known[
            Place
        ] = {}  # of tensors that were made without: where they were made to require a gradient
        self.autograd_grad: Known[Place] = {}  # of tensors: where autograd.grad was asked for their gradients
        self.leaving: CallRecord | None = None  # how the tensor that detach_ is called on is cut off
        self.nested = nested
        self.stack: list[tuple[Any, FunctionCall]] = []  # frames of functions that ran last, outermost first
        self.counts: Counter[CodeType] = Counter()
        self.busy = False
        self.run, self.last = 0, (0, 0, 0)  # runs of lines so far; frame, line and place in the code of the last call
        self.before: list[tuple[Any, str, Any]] = []
        self.mode: Any = None

    # ---------------------------------------------------------------- being told
    def __enter__(self) -> Self:
        """Be told of calls from now on."""
        tensor, function = self.engine.Tensor, self.engine.autograd.Function
        self.replace(function, "apply", classmethod(self.recording(function.apply.__func__, "apply")))
        if self.engine.__name__ != ENGINE:
            self.mode = _mode_of_torch(self)
            self.mode.__enter__()
            return self
        layer = next(kind for kind in import_module(f"{ENGINE}.nn").Module.__mro__ if "__call__" in vars(kind))
        self.replace(layer, "__call__", self.recording(vars(layer)["__call__"], "__call__", inside=_given_to_layer))
        for home in (tensor, *(import_module(f"{ENGINE}{space}") for space in SPACES)):
            for name, called in list(vars(home).items()):
                is_public = name[0] != "_" and name not in MAKE_NONE
                if isinstance(called, FunctionType) and (is_public or name in OPERATORS or name in NUMBERS):
                    self.replace(home, name, self.recording(called, name))
        optimizer = import_module(f"{ENGINE}.optim").Optimizer
        self.replace(optimizer, "step", self.recording(optimizer.step, "step", inside=lambda args: args))
        data, flag = tensor.data, tensor.requires_grad
        self.replace(tensor, "data", property(self.recording(data.fget, "data"), data.fset))
        self.replace(tensor, "requires_grad", property(flag.fget, self.recording(flag.fset, "requires_grad_")))
        self.replace(self.engine.autograd, "grad", self.recording(self.engine.autograd.grad, "grad"))
        self.replace(tensor, "grad", self.recording_gradients(tensor.grad))
        return self

    def __exit__(self, *_: object) -> None:
        """Be told no more."""
        self.stack.clear()
        if self.mode is not None:
            self.mode.__exit__(None, None, None)
        for owner, name, before in reversed(self.before):
            setattr(owner, name, before)
        self.before.clear()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Let nothing be told of what the block does: calls of gviz's own, for the program's."""
        before, self.busy = self.busy, True
        try:
            yield
        finally:
            self.busy = before

    def replace(self, owner: Any, name: str, function: Any) -> None:
        """Put a function in the place of another, until the trace is left."""
        self.before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, function)

    def recording(self, function: Any, name: str, *, inside: Callable[[Any], Any] | None = None) -> Any:
        """Return a function that tells of its calls.

        Args:
            function: what is called.
            name: its name.
            inside: what a call is given; calls within it are told of first then. None for a call that is told of alone.
        """
        is_inner, is_leaving, timed, record = inside is None, name == "detach_", self.timed, self.record

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.busy:
                return function(*args, **kwargs)
            if is_leaving:
                self.will_detach(args[0])
            self.busy, start = is_inner, perf_counter() if timed else 0.0
            try:
                result = function(*args, **kwargs)
                self.busy = True
                given = args if inside is None else inside(args)
                record(
                    name,
                    (*given, *kwargs.values()) if kwargs else given,
                    result,
                    perf_counter() - start if timed else 0.0,
                )
            finally:
                self.busy = False
            return result

        return call

    def recording_gradients(self, grad: property) -> property:
        """Return the property of a tensor's gradient that tells who reads it, and who writes it."""
        get, give, take, gradients = grad.fget, grad.fset, grad.fdel, self.gradients

        def read(leaf: Any) -> Any:
            if not self.busy:
                gradients.got(leaf)
            return get(leaf)  # type: ignore[misc]

        def write(leaf: Any, value: Any = None) -> None:
            give(leaf, value)  # type: ignore[misc]
            if not self.busy:
                with self.quiet():
                    gradients.given(leaf, value)

        return property(read, write, write if take else None, grad.__doc__)

    def record(self, name: str, args: tuple[Any, ...], result: Any, seconds: float = 0.0) -> None:
        """Note what a call has made."""
        if name == "step":
            return self.record_step(args[0])
        if name in ON_ITSELF:
            result = args[0]
        if not isinstance(result, self.tensor):
            return self.record_others(name, args, result, seconds)
        call = self.current_call(name)
        if call is None:
            return None
        if call.writes:
            call = self.record_write(name, result, call, args)
        if not result.requires_grad:
            self.record_outside(name, args, result, call)
        elif grad_fn(result) is not None:  # a view that was made and written under no_grad does not tell it
            self.record_node(result, call, args, seconds)
        elif not call.writes:
            before = recall(self.records, result) if name == "requires_grad_" else None
            if before is not None and (before.reason or before.place != call.place):
                remember(self.requires_grad_set, result, call.place)
            self.keep(result, self.story(call, args) if call.name in COPIES else call)
        return None

    def record_node(self, result: Any, call: CallRecord, args: tuple[Any, ...], seconds: float = 0.0) -> None:
        """Note the call that an operation was recorded in, once."""
        notes = result.grad_fn.metadata
        if KEY not in notes:
            given = tuple(
                [(at, self.held(one)) for at, one in enumerate(args) if not getattr(one, "requires_grad", False)]
            )
            outside = self.outside(args) if self.cuts else ()
            # all fields at once: half the time of NodeRecord(...), of which there is one for each operation
            function = self.current_function() if self.nested else None
            fields = call, self.run, seconds, self.value_of(result), outside, given, len(args), function
            notes[KEY] = tuple.__new__(NodeRecord, fields)

    def record_write(self, name: str, result: Any, call: CallRecord, args: tuple[Any, ...]) -> CallRecord:
        """Note a write in place, and of a view the operation of the tensor behind; return how the result was made."""
        self.gradients.wrote(result)
        base = result._base  # noqa: SLF001 - PyTorch's own name, as are those below
        owner = result if base is None else base
        version = 0 if result.is_inference() else result._version  # noqa: SLF001
        node, makers = owner.grad_fn, ("", "")
        if node is not None:
            before = node.next_functions[0][0] if node.next_functions else None
            makers = "" if before is None else type(before).__name__, type(node).__name__
        shapes = tuple(result.shape), tuple(owner.shape)
        self.writes.append(Write(call.place, name, ref(owner), shapes, version, makers))
        if node is not None and base is not None:
            self.record_node(base, call, args)
        return call if base is None else call._replace(is_view=True)

    def record_step(self, optimizer: Any) -> None:
        """Note that an optimizer of gviz's engine has written its parameters."""
        call = self.current_call("step")
        for group in optimizer.param_groups:
            for one in group["params"]:
                if one.grad is not None and call is not None:
                    self.writes.append(Write(call.place, "step", ref(one), (tuple(one.shape),), one._version))  # noqa: SLF001

    def will_detach(self, tensor: Any) -> None:
        """Note what detach_ is going to take out of its graph, which is gone afterwards."""
        call = self.current_call("detach_")
        has_graph = call is not None and tensor.grad_fn is not None
        self.leaving = self.cut(call._replace(name="detach_"), tensor, is_number=False) if call and has_graph else None

    def record_outside(self, name: str, args: tuple[Any, ...], result: Any, call: CallRecord) -> None:
        """Note a tensor outside the graph that a call has made, or has put there."""
        if name in SHARES:
            self.gradients.shared(args[0], result)
        if name == "detach_" or (name == "requires_grad_" and args[1:] == (False,)):
            lost = "detached" if name == "detach_" else "frozen"
            cuts = self.leaving.cuts if self.leaving is not None and name == "detach_" else frozenset()
            self.records.pop(id(result), None)
            self.keep(result, call._replace(reason=lost, broken_at=call.place, broken_by=name, writes=False, cuts=cuts))
        elif (before := recall(self.records, result)) is None:
            self.keep(result, self.story(call, args))
        elif call.writes and not before.reason and (told := self.story(call, args)).reason:
            remember(self.records, result, told._replace(place=before.place, name=before.name, writes=False))

    def value_of(self, result: Any) -> Numbers | None:
        """Return the numbers of a small result, and of a large one that is not finite; None for any other."""
        if not self.valued:
            return None
        try:
            if result.shape == ():
                fields = (), dtype_name(result.dtype), elements_of((result.tolist(),)), None
                return tuple.__new__(Numbers, fields)
            is_few = result.numel() <= FEW
            is_wanted = is_few or (result.is_floating_point() and not bool(self.engine.isfinite(result).all()))
            return numbers(result, FEW) if is_wanted else None
        except RuntimeError:  # a tensor without numbers, or sizes: meta, fake, nested
            return None

    def held(self, one: Any) -> Any:
        """Return an argument as an operation keeps it: a tensor weakly, a number as it is, of others the kind."""
        return ref(one) if isinstance(one, self.tensor) else one if isinstance(one, int | float) else type(one)

    def outside(self, args: tuple[Any, ...]) -> tuple[CallRecord, ...]:
        """Return what is known of the arguments that were cut off from a graph."""
        known = (recall(self.records, one) for value in args for one in flat(value))
        return tuple(each for each in known if each is not None and each.reason)

    def record_others(self, name: str, args: tuple[Any, ...], result: Any, seconds: float) -> None:
        """Note the tensors in a list that a call has made, or a number made of a tensor."""
        call = self.current_call(name) if name in NUMBERS or name == "grad" else None
        if name in NUMBERS and call is not None:
            record = self.story(call, args, is_number=True)
            self.numbers.append((result, record))
            for cut in record.cuts:
                cut.is_number = True
        elif isinstance(result, list | tuple):
            for asked in flat(args[1]) if call is not None else ():  # of autograd.grad
                if call is not None and isinstance(asked, self.tensor):
                    remember(self.autograd_grad, asked, call.place)
            for one in flat(list(result)):
                if isinstance(one, self.tensor):
                    self.record(name, args, one, seconds)

    def keep(self, tensor: Any, call: CallRecord) -> None:
        """Keep what is known of a tensor outside the graph, as long as it lives."""
        if id(tensor) not in self.records and (
            call.reason or not call.writes
        ):  # what was written first was made elsewhere
            remember(self.records, tensor, call)

    def story(self, call: CallRecord, args: tuple[Any, ...], *, is_number: bool = False) -> CallRecord:
        """Return how a tensor outside the graph was made, and what cut it off, if anything did."""
        tensor, known = self.tensor, self.records
        lost: list[CallRecord] = []
        for value in args:
            for one in flat(value) if value.__class__ in (list, tuple) else (value,):
                if not isinstance(one, tensor):
                    continue
                if one.requires_grad:
                    lost.append(self.cut(call, one, is_number=is_number, is_list=one is not value))
                elif (
                    (before := known.get(id(one))) is not None
                    and before[0]() is one
                    and before[1].reason not in ("", "frozen")
                ):
                    lost.append(before[1])
        if call.name in COPIES and not lost and self.numbers:
            given = {id(one) for value in args[:1] for one in flat(value) if not isinstance(one, int)}
            lost = [told for number, told in self.numbers if id(number) in given and told.reason]
        if not lost:
            return call
        first = next((one for one in lost if one.cuts), lost[0])
        cuts = first.cuts if len(lost) == 1 else first.cuts.union(*(one.cuts for one in lost))
        return first._replace(place=call.place, name=call.name, writes=call.writes, cuts=cuts)

    def cut(self, call: CallRecord, tensor: Any, *, is_number: bool, is_list: bool = False) -> CallRecord:
        """Return how a call makes something outside the graph of a tensor inside; note the leaves behind it."""
        lost = "detached" if is_number or call.name in DETACHES else "no derivative"
        lost = lost if self.engine.is_grad_enabled() or lost == "detached" else "no_grad"
        cut = self.cuts.get((call.place, call.name, lost))
        if cut is None:
            call = call._replace(reason=lost, broken_at=call.place, broken_by=call.name)
            cut = self.cuts[call.place, call.name, lost] = Break(call)
        cut.is_list = cut.is_list or is_list
        return cut.takes(tensor)

    def current_call(self, name: str) -> CallRecord | None:
        """Return the call of that name at the innermost line of the program that is running.

        None outside of the program.
        """
        frame: Any = sys._getframe(3)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
        calls = self.calls
        while frame is not None:
            code = frame.f_code
            key = id(code), frame.f_lasti, name
            known = calls.get(key)
            if known is not None:
                break
            if self.is_ours(code.co_filename):  # the line is looked for once: that takes longer, the longer the code is
                column = (list(code.co_positions())[frame.f_lasti // 2][2] or 0) + 1 if self.columns else 0
                writes = name == "__setitem__" or (name[-1] == "_" and (name[:3] == "__i" or name[-2] != "_"))
                where = Place(self.line_of(code, frame.f_lasti), code.co_filename, column)
                known = calls[key] = (
                    CallRecord(
                        where, name.strip("_"), writes=writes and name not in NO_WRITES, at=(code, frame.f_lasti)
                    ),
                    code,
                )
                break
            frame = frame.f_back
        else:
            return None
        call, last = known[0], self.last
        now = id(frame), call.place.line, frame.f_lasti
        if now[0] != last[0] or now[1] != last[1] or now[2] <= last[2]:  # another line, or the same one once more
            self.run += 1
        self.last = now
        return call

    def current_function(self) -> FunctionCall | None:
        """Return the innermost call of a function of the program that is running; None outside of any.

        The frames of the last one are kept until then: so a frame that is another is another call.
        """
        frames: list[Any] = []
        frame: Any = sys._getframe(2)  # noqa: SLF001 - as above
        while frame is not None:
            code = frame.f_code  # what a comprehension does is done by the function that it is in
            if (code.co_name[0] != "<" or code.co_name == "<lambda>") and self.is_ours(code.co_filename):
                frames.append(frame)
            frame = frame.f_back
        same, stack = 0, self.stack
        for one, (other, _) in zip(reversed(frames), stack, strict=False):
            if one is not other:
                break
            same += 1
        del stack[same:]
        for one in frames[len(frames) - same - 1 :: -1] if same < len(frames) else ():
            self.counts[one.f_code] += 1
            name = one.f_code.co_qualname.rpartition("<locals>.")[2]
            stack.append((one, FunctionCall(name, self.counts[one.f_code], stack[-1][1] if stack else None)))
        return stack[-1][1] if stack else None

    def line_of(self, code: CodeType, instruction: int) -> int:
        """Return the line of an instruction, as ``frame.f_lineno`` does, which takes longer, the longer the code is."""
        known = self.lines.get(id(code))
        if known is None:
            parts = [(start, line) for start, _, line in code.co_lines() if line is not None]
            known = self.lines[id(code)] = [start for start, _ in parts], [line for _, line in parts], code
        starts, lines, _ = known
        return lines[bisect_right(starts, instruction) - 1]

    # ---------------------------------------------------------------- telling
    @staticmethod
    def record_of(node: Any) -> NodeRecord | None:
        """Return what is known of an operation."""
        return node.metadata.get(KEY)  # type: ignore[no-any-return]


def flat(value: Any) -> Iterator[Any]:
    """Yield what is in nested lists, the first of it; what is no list as it is."""
    todo, count = [value], 0
    while todo and count < LATEST:
        item = todo.pop()
        if item.__class__ in (list, tuple):
            todo.extend(reversed(item[:LATEST]))
        else:
            count += 1
            yield item


def _given_to_layer(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what the call of a layer computes with."""
    return (*args[1:], *args[0].parameters())


def _mode_of_torch(trace: Trace) -> Any:
    """Return PyTorch's own way to be told of the calls of its functions."""
    overrides = import_module("torch.overrides")

    class Mode(overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if trace.busy:
                return function(*args, **(kwargs or {}))
            if function is trace.tensor.detach_:
                trace.will_detach(args[0])
            start = perf_counter()
            result = function(*args, **(kwargs or {}))
            name = getattr(function, "__name__", "")
            if name in ("__get__", "__set__", "__delete__"):
                kind, name = name, getattr(function.__self__, "__name__", "")
                if name == "grad" and kind == "__get__":
                    trace.gradients.got(args[0])
                elif name == "grad":
                    trace.gradients.given(args[0], args[1] if kind == "__set__" else None)
                if (kind, name) not in (("__get__", "data"), ("__set__", "requires_grad")):
                    return result
                name = "requires_grad_" if kind == "__set__" else name
            for gradient in args[0] if name == "_foreach_zero_" else ():
                trace.gradients.wrote(gradient)
            given = (*args, *kwargs.values()) if kwargs else args
            trace.record(name, given, result, perf_counter() - start if trace.timed else 0.0)
            return result

    return Mode()
