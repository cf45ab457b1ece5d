"""The static graph: operations joined by tensors, and nothing computed.

A :class:`Tensor` is one output of an :class:`Operation` and has no value; a :class:`~gviz.static.session.Session`
computes one when it is asked. All operations are made by :func:`gviz.static.build.add_operation`, under names that
the graph gives.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from gviz.numbers.words import refuse
from gviz.static.errors import OperatorNotAllowedInGraphError
from gviz.static.types import ArrayLike, Dims, DType, TensorShape, as_shape, fill_structure, leaves, merge_dims


class HasTensor(Protocol):
    """A variable: it stands for its own tensor, and for what it holds."""

    _ref: Tensor
    _read: Tensor


class ControlFlowContext(Protocol):
    """The inside of a loop or of a branch, as an operation in it knows it."""

    outer: ControlFlowContext | None
    loop: ControlFlowContext | None
    history: Any
    predicate: Any
    side: int

    def captured(self, inputs: Sequence[Tensor], op: Operation, /) -> tuple[Tensor, ...]:
        """Return a new operation's inputs as they are inside."""

    def bring_in(self, tensor: Tensor, name: str, /) -> Tensor:
        """Return a tensor as it is inside."""


GraphElement: TypeAlias = "Operation | Tensor | HasTensor"
"""A part of a graph, as users name one."""
TensorLike: TypeAlias = "Tensor | HasTensor | ArrayLike | Sequence[TensorLike] | None"
"""A tensor, or what a function makes one of: numbers, arrays, lists of both. None is refused there."""


# ------------------------------------------------------------------ tensors and operations
EARLY = (
    "is not allowed. The graph is built before any value is there: use tf.cond or tf.while_loop, which choose when "
    "the graph runs, or Session.run for the value."
)


class Tensor:
    """An output of an operation: a name, a dtype, a shape as far as it is known, and no value."""

    __array_priority__ = 100  # numpy's operators leave it to ours
    eval: Callable[..., Any]  # session.py has it, as functions.py has the operators

    def __init__(self, op: Operation, index: int, dtype: DType, dims: Dims) -> None:
        self.op, self.graph, self.value_index = op, op.graph, index
        self.dtype, self._dims = dtype, dims

    device = property(lambda self: self.op.device)

    @property
    def name(self) -> str:
        """``operation:index``."""
        return f"{self.op.name}:{self.value_index}"

    def get_shape(self) -> TensorShape:
        """Return what is known of its shape."""
        return TensorShape(self._dims)

    shape = property(get_shape)

    def set_shape(self, shape: TensorShape | Sequence[int | None] | None) -> None:
        """Add to what is known of the shape; ValueError if the two do not fit."""
        self._dims = merge_dims(self._dims, as_shape(shape))

    def consumers(self) -> list[Operation]:
        """Return the operations that use it."""
        return [op for op in self.graph.get_operations() if any(t is self for t in op.inputs)]

    def __str__(self) -> str:
        shape = "" if self._dims is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    if TYPE_CHECKING:
        __add__ = __sub__ = __mul__ = __truediv__ = __neg__ = __getitem__ = lambda self, *others: self

    # -------------------------------------------------------------- what Python asks of a value
    def __bool__(self) -> NoReturn:
        raise OperatorNotAllowedInGraphError(f"Using a symbolic `tf.Tensor` as a Python `bool` {EARLY}")

    def __iter__(self) -> NoReturn:
        raise OperatorNotAllowedInGraphError(f"Iterating over a symbolic `tf.Tensor` {EARLY}")

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). "
            f"Please call `x.shape` rather than `len(x)` for shape information."
        )

    def __array__(self, *args: object, **options: object) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. "
            f"This error may indicate that you're trying to pass a Tensor to a NumPy call, which is not supported."
        )


class Operation:
    """A node of the graph: a type as in ``AddV2``, inputs, fixed parameters."""

    run: Callable[..., None]  # session.py has it

    def __init__(self, graph: Graph, name: str, type: str, attrs: dict[str, Any], control: Iterable[Operation]) -> None:
        self.graph, self.name, self.type, self.attrs = graph, name, type, attrs
        self.control_inputs = list(control)
        self.inputs: tuple[Tensor, ...] = ()
        self.outputs: list[Tensor] = []
        self.number = 0  # in the order of making
        self.place = place_of_program()
        self.context = graph.context  # the loop or branch that it is in
        self.device: str = graph.open_device  # as a program has asked; all is computed in one place

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


OWN = ("gviz.static", "contextlib", "functools")
"""Modules that are on the way from a line of a program to the operation that it makes."""


def place_of_program() -> str:
    """Return the file and the line of the program that is building, "" if that is gviz itself."""
    frame = sys._getframe(1)  # a traceback is ten times as slow
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(OWN):
        frame = frame.f_back
    is_program = not str(frame.f_globals.get("__name__")).startswith("gviz.")
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if is_program else ""


def symbolic_tensors(args: object) -> Iterator[Tensor]:
    """Return tensors among nested arguments."""
    return (item for item in leaves(args) if isinstance(item, Tensor))


def replace_tensors(args: object, tensors: Iterator[Any]) -> Any:
    """Return the same arguments with other tensors."""
    return fill_structure(args, (next(tensors) if isinstance(item, Tensor) else item for item in leaves(args)))


# ------------------------------------------------------------------ the graph
ROOT = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
DEVICE = re.compile(r"/?(?:device:)?(cpu|gpu)(?::(\d+))?$", re.IGNORECASE)
SCOPED = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class Graph:
    """Operations by name, in the order of making, and what is open while more are made."""

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}
        self.finalized = False
        self.scope = ""  # in front of new names, with its slash
        self.open_device = ""  # of new operations
        self.context: ControlFlowContext | None = None  # the loop or branch that is being built
        self.control: list[
            tuple[list[Operation], set[Operation]]
        ] = []  # what was asked for, and what was made under it
        self.collections: dict[str, list[Any]] = {}
        self.extras: dict[object, Any] = {}  # what others keep of it, by their own keys
        self.unfeedable: set[Tensor] = set()
        self.derivatives: dict[Tensor, list[tuple[Sequence[Tensor], Tensor]]] = {}  # what each is of, and by what
        self._numbers: dict[
            str, int
        ] = {}  # each name in use, in small letters: the number to try if it is asked for again

    # -------------------------------------------------------------- building
    @contextmanager
    def with_open(self, **state: object) -> Iterator[None]:
        """Have another scope, context or control while the block builds."""
        before = {name: getattr(self, name) for name in state}
        vars(self).update(state)
        try:
            yield
        finally:
            vars(self).update(before)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return a name that is free: with the open scope in front, and counted up if it is taken."""
        free, number = self.scope + name, 0
        key = free.lower()
        if key in self._numbers:
            number = next(n for n in count(self._numbers[key]) if f"{key}_{n}" not in self._numbers)
            free = f"{free}_{number}"
        if mark_as_used:
            self._numbers[key] = number + 1
            self._numbers.setdefault(free.lower(), 1)
        return free

    def new_name(self, name: str) -> str:
        """Return the whole name of an operation or a scope; ``name/`` stands as it is. ValueError for a wrong name."""
        refuse(not isinstance(name, str), f"the name of an operation is a string, not {name!r}", TypeError)
        if name.endswith("/"):
            return name[:-1]
        rule = SCOPED if self.scope else ROOT
        refuse(
            not rule.match(name),
            f"'{name}' is not a valid name. Accepted names conform to Regex /{rule.pattern}/",
            ValueError,
        )
        return self.unique_name(name)

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put a scope in front of all names made inside, and give it (``'outer/'``); None is no scope."""
        before = self.scope
        self.scope = f"{self.new_name(name)}/" if name else ""
        try:
            yield self.scope
        finally:
            self.scope = before

    @contextmanager
    def device(self, name: object) -> Iterator[None]:
        """Write a device, as ``"/gpu:0"``, on the operations made inside; none for what is no text."""
        words = name if isinstance(name, str) else ""
        with self.with_open(open_device=DEVICE.sub(lambda part: f"/device:{part[1].upper()}:{part[2] or '*'}", words)):
            yield

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[GraphElement] | None) -> Iterator[None]:
        """Have operations made inside run after these; None forgets those that are asked for outside."""
        parts = [self.as_graph_element(c) for c in control_inputs or ()]
        operations = list(dict.fromkeys(p.op if isinstance(p, Tensor) else p for p in parts))
        forgets = control_inputs is None
        control = [] if forgets else [*self.control, (operations, set[Operation]())]
        with self.with_open(control=control, context=None if forgets else self.context):
            yield

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make it the graph that operations are added to."""
        _stack.append(self)
        try:
            yield self
        finally:
            _stack.pop()

    def finalize(self) -> None:
        """Allow no more operations."""
        self.finalized = True

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Refuse feeds of a tensor."""
        self.unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Return whether a tensor may be fed."""
        return tensor not in self.unfeedable

    # -------------------------------------------------------------- looking up
    def get_operations(self) -> list[Operation]:
        """Return all operations in the order of making."""
        return list(self.operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of that name; KeyError if there is none, ValueError for a tensor's name."""
        refuse(":" in name, f"Name {name!r} appears to refer to a Tensor, not a Operation.", ValueError)
        refuse(name not in self.operations, f"The name {name!r} refers to an Operation not in the graph.", KeyError)
        return self.operations[name]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor ``operation:index``; KeyError if there is none, ValueError for an operation's name."""
        op_name, _, index = name.rpartition(":")
        refuse(
            not op_name or not index.isdigit(),
            f"The name {name!r} refers to an Operation, not a Tensor. "
            'Tensor names must be of the form "<op_name>:<output_index>".',
            ValueError,
        )
        op = self.operations.get(op_name)
        if op is None or int(index) >= len(op.outputs):
            why = "does not exist in the graph" if op is None else f"exists but only has {len(op.outputs)} outputs"
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, {why}."
            )
        return op.outputs[int(index)]

    def as_graph_element(self, obj: GraphElement | str, *, allow_operation: bool = True) -> Tensor | Operation:
        """Return the tensor or operation that an object or a name means; KeyError, ValueError or TypeError for none."""
        if isinstance(obj, str):
            by_name = self.get_tensor_by_name if ":" in obj or not allow_operation else self.get_operation_by_name
            return by_name(obj)
        part, noun = getattr(obj, "_ref", obj), type(obj).__name__  # a variable stands for its own tensor
        if not isinstance(part, (Tensor, Operation) if allow_operation else Tensor):
            raise TypeError(f"Can not convert a {noun} into a Tensor{' or Operation' if allow_operation else ''}.")
        refuse(part.graph is not self, f"{noun} {obj} is not an element of this graph.", ValueError)
        return part

    def add_to_collection(self, name: str, value: object) -> None:
        """Keep something under a name."""
        self.collections.setdefault(name, []).append(value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """Return what is kept under a name, of a scope what has a name that begins so."""
        items = self.collections.get(name, ())
        return [one for one in items if scope is None or re.match(scope, getattr(one, "name", ""))]


_stack = [Graph()]
"""The program's graph, and those that ``as_default`` has opened."""


def get_default_graph() -> Graph:
    """Return the graph that operations are added to: the innermost ``as_default``, else the program's one."""
    return _stack[-1]


def reset_default_graph() -> None:
    """Begin the program's graph anew; AssertionError inside ``as_default``."""
    refuse(
        len(_stack) > 1,
        "Do not use tf.reset_default_graph() to clear nested graphs. "
        "If you need a cleared graph, exit the nesting and create a new graph.",
        AssertionError,
    )
    _stack[0] = Graph()
