"""The static graph: operations joined by tensors, and nothing computed.

A :class:`Tensor` is one output of an :class:`Operation` and has no value; a :class:`~gviz.static.session.Session` computes one
when it is asked. All operations are made by :meth:`Graph.create_op`, which names them and works out the shapes of their
outputs.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gviz.static.naming import Names
from gviz.static.tensor import Operation, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gviz.static.control import Context

__all__ = ["Graph", "Operation", "Tensor", "get_default_graph", "reset_default_graph"]


class Graph:
    """Operations by name, in the order of making, and what is open while more are made."""

    def __init__(self) -> None:
        self.names = Names()
        self.finalized = False
        self.promotes = False  # while a derivative's formula is read: its operators take several dtypes
        self.context: Context | None = None  # the loop or branch that is being built
        self.collections: dict[str, list[Any]] = {}
        self.unfeedable: set[Tensor] = set()
        self._operations: dict[str, Operation] = {}
        self._control: list[tuple[list[Operation], set[Operation]]] = []  # what was asked for, and what was made under it

    # -------------------------------------------------------------- building
    def create_op(
        self, type: str, inputs: Sequence[Tensor] = (), attrs: dict[str, Any] | None = None, name: str | None = None,
        control: Sequence[Operation] = (),
    ) -> Operation:  # fmt: skip
        """Add an operation.

        Args:
            type: a row of :data:`gviz.static.table.TYPES`.
            inputs: tensors of this graph.
            attrs: fixed parameters.
            name: without scopes; one that ends in a slash stands as it is. None for the type.
            control: operations that run before it, besides those that are asked for by ``control_dependencies``.

        Raises:
            RuntimeError: the graph is finalised.
            ValueError: an input is of another graph; the shapes clash.
        """
        from gviz.static.table import checked

        self.check_open()
        for tensor in inputs:
            if tensor.graph is not self:
                first = inputs[0] if inputs[0] is not tensor else inputs[-1]
                raise ValueError(
                    f"{tensor} must be from the same graph as {first} (graphs are {tensor.graph} and {first.graph})."
                )
        op = Operation(self, self.names.of_operation(name or type), type, (), attrs or {}, (*self._after(inputs), *control))
        op.context = self.context
        op.inputs = tuple(inputs) if self.context is None else self.context.captured(inputs, op)
        op.outputs = [Tensor(op, i, dtype, dims) for i, (dtype, dims) in enumerate(checked(op))]
        op.number = len(self._operations)
        if self.context is not None:
            self.context.entered(op)
        self._operations[op.name] = op
        for _, made in self._control:
            made.add(op)
        return op

    def check_open(self) -> None:
        """Raise RuntimeError for a change of a finalised graph."""
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put a scope in front of all names made inside; gives its prefix (``'outer/'``)."""
        before = self.names.scope
        prefix = self.names.of_scope(name)
        self.names.scope = prefix
        try:
            yield prefix
        finally:
            self.names.scope = before

    def _after(self, inputs: Sequence[Tensor]) -> list[Operation]:
        """What a new operation has to run after: not what one of its inputs runs after, or is, already."""
        before = {t.op for t in inputs}
        return list(dict.fromkeys(c for wanted, made in self._control if not made & before for c in wanted if c not in before))

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Have operations made inside run after these; None forgets those that are asked for outside."""
        before, context = self._control, self.context
        if control_inputs is None:
            self._control, self.context = [], None
        else:
            found = [self.as_graph_element(getattr(c, "_ref", c)) for c in control_inputs]
            wanted = list(dict.fromkeys(f.op if isinstance(f, Tensor) else f for f in found))
            self._control = [*before, (wanted, set())]
        try:
            yield
        finally:
            self._control, self.context = before, context

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make it the graph that operations are added to."""
        _stack.append(self)
        try:
            yield self
        finally:
            _stack.remove(self)

    @contextmanager
    def device(self, name: Any) -> Iterator[None]:
        """Accepted, as there is one device only."""
        yield

    def finalize(self) -> None:
        """Allow no more operations."""
        self.finalized = True

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name that is free, with the open scope in front."""
        return self.names.unique(name, use_up=mark_as_used)

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Refuse feeds of a tensor."""
        self.unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a tensor may be fed."""
        return tensor not in self.unfeedable

    # -------------------------------------------------------------- looking up
    def get_operations(self) -> list[Operation]:
        """All operations in the order of making."""
        return list(self._operations.values())

    def __len__(self) -> int:
        return len(self._operations)

    def __bool__(self) -> bool:
        return True

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name; KeyError where there is none, ValueError for a tensor's name."""
        if ":" in name:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        if name not in self._operations:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return self._operations[name]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor ``operation:index``; KeyError where there is none, ValueError for an operation's name."""
        op_name, colon, index = name.rpartition(":")
        if not colon or not index.isdigit():
            what = "refers to" if name in self._operations else "looks like"
            kind = "an Operation" if name in self._operations else "an (invalid) Operation name"
            raise ValueError(
                f'The name {name!r} {what} {kind}, not a Tensor. Tensor names must be of the form "<op_name>:<output_index>".'
            )
        missing = f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, "
        if op_name not in self._operations:
            raise KeyError(missing + "does not exist in the graph.")
        outputs = self._operations[op_name].outputs
        if int(index) >= len(outputs):
            raise KeyError(f"{missing}exists but only has {len(outputs)} outputs.")
        return outputs[int(index)]

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation that is meant by an object or a name.

        Raises:
            KeyError: there is none of that name.
            ValueError: it belongs to another graph.
            TypeError: it is neither.
        """
        kinds = " or ".join(kind for kind, allowed in (("Tensor", allow_tensor), ("Operation", allow_operation)) if allowed)
        if isinstance(obj, str):
            if allow_tensor and (":" in obj or not allow_operation):
                return self.get_tensor_by_name(obj)
            return self.get_operation_by_name(obj)
        obj = getattr(obj, "_ref", obj)  # a variable stands for its own tensor
        if isinstance(obj, (Tensor, Operation)):
            kind = "Tensor" if isinstance(obj, Tensor) else "Operation"
            if kind not in kinds:
                raise TypeError(f"Can not convert a {kind} into a {kinds}.")
            if obj.graph is not self:
                raise ValueError(f"{kind} {obj if kind == 'Tensor' else obj.name} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    def add_to_collection(self, name: str, value: Any) -> None:
        """Keep something under a name."""
        self.collections.setdefault(name, []).append(value)

    def get_collection(self, name: str) -> list[Any]:
        """What is kept under a name."""
        return list(self.collections.get(name, ()))

    def as_graph_def(self) -> Any:
        """The graph as TensorBoard reads it (bytes of a GraphDef)."""
        from gviz.static.events import graph_def

        return graph_def(self)

    def __repr__(self) -> str:
        return "<Graph>"


_stack: list[Graph] = []
_global: list[Graph] = [Graph()]


def get_default_graph() -> Graph:
    """The graph that operations are added to: the innermost ``as_default``, else the program's one."""
    return _stack[-1] if _stack else _global[0]


def reset_default_graph() -> None:
    """Begin the program's graph anew; AssertionError inside ``as_default``."""
    if _stack:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the "
            "nesting and create a new graph."
        )
    _global[0] = Graph()


def cycle(op: Operation) -> set[str]:
    """The names of the operations that need an operation and that it needs."""
    users: dict[Operation, list[Operation]] = {}
    for other in op.graph.get_operations():
        for tensor in other.inputs:
            users.setdefault(tensor.op, []).append(other)

    def reached(step: Any) -> set[Operation]:
        found = {op}
        waiting = [op]
        while waiting:
            new = set(step(waiting.pop())) - found
            found |= new
            waiting.extend(new)
        return found

    both = reached(lambda o: (t.op for t in o.inputs)) & reached(lambda o: users.get(o, ()))
    return {o.name for o in both}
