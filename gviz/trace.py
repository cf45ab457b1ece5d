"""Where a computation was written: the line of the program behind each operation, and why a tensor has no graph.

While a :class:`Trace` is entered, the functions of ``torch`` and the methods of its tensors tell it of each call that the
program makes: those of gviz's engine and of the real PyTorch alike. Without it they are as they always are.

What is learnt of an operation is kept in its node's ``metadata``, where PyTorch's anomaly mode keeps lines, too; of any other
tensor it is kept as long as that lives. So a loop that runs for hours needs no more memory than without a trace.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from functools import wraps
from importlib import import_module
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Made", "Noted", "Trace", "Where", "Write"]

KEY = "gviz"
"""Under which a node's ``metadata`` has what was :class:`Noted`."""

ENGINE = "gviz.engine"

SPACES = ("", ".linalg", ".special", ".nn.functional")
"""The modules of functions that a program calls."""

OPERATORS = {
    f"__{kind}{sign}__"
    for kind in ("", "r", "i")
    for sign in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
} | {f"__{sign}__" for sign in ("neg", "pos", "invert", "abs", "lt", "le", "gt", "ge", "eq", "ne", "getitem", "setitem")}

COPIES = {"tensor", "as_tensor", "new_tensor", "from_numpy"}
"""Calls that make a tensor of numbers."""

DETACHES = {"detach", "data", *COPIES}
"""Calls whose result is out of the graph by intention."""

LEAVES = {"item", "tolist", "numpy"}
"""Calls that make numbers of tensors."""

NO_WRITES = {"requires_grad_", "detach_", "share_memory_", "__init__"}
"""Names with an underscore at their end that write no memory."""

FEW = 256
"""Elements of a result whose numbers are kept."""

MOST, LATEST = 10_000, 100
"""Writes in place that are remembered, and numbers made of tensors: the last ones."""


class Where(NamedTuple):
    """A place in a program.

    Args:
        file: the code's file, as its code object has it.
        line: counted from 1.
        column: of the call, counted from 1; 0 where nobody asked for it.
    """

    file: str
    line: int
    column: int = 0


class Made(NamedTuple):
    """The call that made a tensor.

    Args:
        where: the innermost line of the program.
        call: the function's name.
        lost: why the result is outside the graph though an input was inside: ``detached``, ``no_grad`` or ``no derivative``; ""
            otherwise.
        at: where that happened: here, or where the tensor was made that this one was made from.
        by: the name of the call that it happened in.
        source: the tensor inside, weakly.
        writes: whether it wrote its result into the memory of its first argument.
    """

    where: Where
    call: str
    lost: str = ""
    at: Where | None = None
    by: str = ""
    source: Any = None
    writes: bool = False


class Noted(NamedTuple):
    """What is kept with an operation.

    Args:
        made: the call that it was recorded in.
        turn: the how manieth run of a line that was, counted over the program.
        seconds: how long the call took; 0 if that was not measured.
        value: the numbers of its result, where they are kept.
    """

    made: Made
    turn: int
    seconds: float
    value: Any


class Write(NamedTuple):
    """A write in place: where, by what, and the tensor as it was afterwards."""

    where: Where
    call: str
    shape: tuple[int, ...]
    version: int


class Trace:
    """What the calls of a program tell, from the moment that it is entered.

    Args:
        engine: the module that the program knows as torch: gviz's engine, or PyTorch.
        is_ours: whether code of a file is the program's, as opposed to a library's.
        columns: whether a place has its column, too.
        timed: whether to measure how long the calls take.
        valued: whether to keep the numbers of small results.
    """

    def __init__(
        self,
        engine: Any,
        is_ours: Callable[[str], bool],
        *,
        columns: bool = False,
        timed: bool = False,
        valued: bool = False,
    ) -> None:
        self.tensor = engine.Tensor
        self.engine, self.columns, self.timed, self.valued = engine, columns, timed, valued
        self.ours: dict[str, bool] = {}
        self.is_ours = is_ours
        self.made: dict[int, tuple[Any, Made]] = {}
        self.writes: deque[Write] = deque(maxlen=MOST)
        self.numbers: deque[tuple[Any, Made]] = deque(maxlen=LATEST)
        self.calls: dict[tuple[int, int, str], tuple[Made, Any]] = {}
        self.busy = False
        self.turn, self.last = 0, (0, 0, 0)
        self.before: list[tuple[Any, str, Any]] = []
        self.mode: Any = None

    # ---------------------------------------------------------------- being told
    def __enter__(self) -> Self:
        """Be told of calls from now on."""
        tensor, function = self.engine.Tensor, self.engine.autograd.Function
        self.replace(function, "apply", classmethod(self.told(function.apply.__func__, "apply")))
        if self.engine.__name__ != ENGINE:
            self.mode = _mode_of_torch(self)
            self.mode.__enter__()
            return self
        layer = next(kind for kind in import_module(f"{ENGINE}.nn").Module.__mro__ if "__call__" in vars(kind))
        self.replace(layer, "__call__", self.told(vars(layer)["__call__"], "__call__", outer=True))
        for name, method in list(vars(tensor).items()):
            if isinstance(method, FunctionType) and (name[0] != "_" or name in OPERATORS):
                self.replace(tensor, name, self.told(method, name))
        data = tensor.data
        self.replace(tensor, "data", property(self.told(data.fget, "data"), data.fset))
        for space in SPACES:
            home = import_module(f"{ENGINE}{space}")
            for name, function in list(vars(home).items()):
                if isinstance(function, FunctionType) and name[0] != "_":
                    self.replace(home, name, self.told(function, name))
        return self

    def __exit__(self, *_: object) -> None:
        """Be told no more."""
        if self.mode is not None:
            self.mode.__exit__(None, None, None)
        for owner, name, before in reversed(self.before):
            setattr(owner, name, before)
        self.before.clear()

    def replace(self, owner: Any, name: str, function: Any) -> None:
        """Put a function in the place of another, until the trace is left."""
        self.before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, function)

    def told(self, function: Any, name: str, *, outer: bool = False) -> Any:
        """Return a function that tells of its calls; within one that is ``outer``, those inside are told of first."""
        is_inner, timed, saw = not outer, self.timed, self.saw

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.busy:
                return function(*args, **kwargs)
            self.busy, start = is_inner, perf_counter() if timed else 0.0
            try:
                result = function(*args, **kwargs)
                self.busy = True
                saw(name, args, result, perf_counter() - start if timed else 0.0)
            finally:
                self.busy = False
            return result

        return call

    def saw(self, name: str, args: tuple[Any, ...], result: Any, seconds: float = 0.0) -> None:
        """Note what a call has made."""
        if name == "__setitem__":
            result = args[0]
        if not isinstance(result, self.tensor):
            if result is not None:
                self.saw_others(name, args, result, seconds)
            return
        made = self.here(name)
        if made is None:
            return
        if made.writes:
            version = 0 if result.is_inference() else result._version  # noqa: SLF001 - PyTorch's own name
            self.writes.append(Write(made.where, name, tuple(result.shape), version))
        if not result.requires_grad:
            if id(result) not in self.made:
                self.keep(result, self.story(made, args))
        elif (node := result.grad_fn) is not None:
            is_small = self.valued and math.prod(result.shape) <= FEW
            notes = node.metadata
            if KEY not in notes:
                notes[KEY] = Noted(made, self.turn, seconds, result.tolist() if is_small else None)
        elif not made.writes:
            self.keep(result, self.story(made, args) if made.call in COPIES else made)

    def saw_others(self, name: str, args: tuple[Any, ...], result: Any, seconds: float) -> None:
        """Note the tensors in a list that a call has made, or a number made of a tensor."""
        if name in LEAVES:
            made = self.here(name)
            self.numbers.extend([(result, self.story(made, args))] if made is not None else [])
        elif isinstance(result, list | tuple):
            for one in result:
                if isinstance(one, self.tensor):
                    self.saw(name, args, one, seconds)

    def keep(self, tensor: Any, made: Made) -> None:
        """Keep what is known of a tensor outside the graph, as long as it lives."""
        key, known = id(tensor), self.made
        if key not in known and (made.lost or not made.writes):  # what was written first was made elsewhere
            known[key] = ref(tensor, lambda _: known.pop(key, None)), made

    def story(self, made: Made, args: tuple[Any, ...]) -> Made:
        """Return how a tensor outside the graph was made, and what cut it off, if anything did."""
        tensor, known = self.tensor, self.made
        for value in args:
            for one in value if value.__class__ in (list, tuple) else (value,):
                if not isinstance(one, tensor):
                    continue
                if one.requires_grad:
                    lost = "detached" if made.call in DETACHES or made.call in LEAVES else "no derivative"
                    lost = lost if self.engine.is_grad_enabled() or lost == "detached" else "no_grad"
                    return made._replace(lost=lost, at=made.where, by=made.call, source=ref(one))
                before = known.get(id(one))
                if before is not None and before[1].lost and before[0]() is one:
                    return before[1]._replace(where=made.where, call=made.call, writes=made.writes)
        given = next(iter(args), None) if made.call in COPIES else None
        for number, told in self.numbers if given is not None else ():
            if number is given and told.lost and not isinstance(given, int):  # of small whole numbers Python has one each
                return told._replace(where=made.where, call=made.call)
        return made

    def here(self, name: str) -> Made | None:
        """Return the call of that name at the innermost line of the program that is running; None outside of the program."""
        frame: Any = sys._getframe(3)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
        ours, calls = self.ours, self.calls
        while frame is not None:
            code = frame.f_code
            key = id(code), frame.f_lasti, name
            known = calls.get(key)
            if known is not None:
                break
            is_ours = ours.get(code.co_filename)
            if is_ours is None:
                is_ours = ours[code.co_filename] = self.is_ours(code.co_filename)
            if is_ours:  # the line is looked for once: that takes longer, the longer the code is
                column = (list(code.co_positions())[frame.f_lasti // 2][2] or 0) + 1 if self.columns else 0
                writes = name == "__setitem__" or (name[-1] == "_" and (name[:3] == "__i" or name[-2] != "_"))
                where = Where(code.co_filename, frame.f_lineno, column)
                known = calls[key] = Made(where, name.strip("_"), writes=writes and name not in NO_WRITES), code
                break
            frame = frame.f_back
        else:
            return None
        made, last = known[0], self.last
        now = id(frame), made.where.line, frame.f_lasti
        if now[0] != last[0] or now[1] != last[1] or now[2] <= last[2]:  # another line, or the same one once more
            self.turn += 1
        self.last = now
        return made

    # ---------------------------------------------------------------- telling
    def made_by(self, tensor: Any) -> Made | None:
        """Return what is known of a tensor outside the graph."""
        known = self.made.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    @staticmethod
    def of_node(node: Any) -> Noted | None:
        """Return what is known of an operation."""
        return node.metadata.get(KEY)  # type: ignore[no-any-return]


def _mode_of_torch(trace: Trace) -> Any:
    """Return PyTorch's own way to be told of the calls of its functions."""
    overrides = import_module("torch.overrides")

    class Mode(overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            start = perf_counter()
            result = function(*args, **(kwargs or {}))
            name = getattr(function, "__name__", "")
            if name == "__get__":
                name = getattr(function.__self__, "__name__", "")
                if name != "data":
                    return result
            trace.saw(name, args, result, perf_counter() - start if trace.timed else 0.0)
            return result

    return Mode()
