"""The static graph: operations joined by tensors, and nothing computed.

A :class:`Tensor` is one output of an :class:`Operation` and has no value; a :class:`~gviz.static.session.Session` computes one when it
is asked. All operations are made by :meth:`Graph.create_op`, which names them and works out the shapes of their outputs.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from gviz.static.errors import OperatorNotAllowedInGraphError
from gviz.static.naming import Names
from gviz.static.shapes import TensorShape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gviz.static.control import Context
    from gviz.static.dtypes import DType
    from gviz.static.session import Session
    from gviz.static.shapes import Dims

__all__ = ["Graph", "Operation", "Tensor", "get_default_graph", "reset_default_graph"]


class Tensor:
    """An output of an operation: a name, a type and a shape, and no value.

    Args:
        op: the operation that makes it.
        index: which of its outputs.
        dtype: of its elements.
        dims: its shape as far as it is known.
    """

    __array_priority__ = 100  # numpy's operators leave it to ours

    def __init__(self, op: Operation, index: int, dtype: DType, dims: Dims) -> None:
        self.op, self.value_index, self.dtype = op, index, dtype
        self._dims = dims

    @property
    def name(self) -> str:
        """``operation:index``."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self.op.graph

    @property
    def device(self) -> str:
        """Where it is computed: nothing is said."""
        return ""

    @property
    def shape(self) -> TensorShape:
        """What is known of its shape."""
        return TensorShape(self._dims)

    def get_shape(self) -> TensorShape:
        """What is known of its shape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Add to what is known of the shape.

        Raises:
            ValueError: the two don't fit.
        """
        from gviz.static.shapes import as_shape, fits, merged

        given = as_shape(shape)
        if not fits(self._dims, given):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(given)}.")
        self._dims = merged(self._dims, given)

    def consumers(self) -> list[Operation]:
        """The operations that use it."""
        return [op for op in self.graph.get_operations() if any(t is self for t in op.inputs)]

    def eval(self, feed_dict: Any = None, session: Session | None = None) -> Any:
        """Its value in the given session, else in the default one.

        Raises:
            ValueError: there is no session.
        """
        from gviz.static.session import session_for

        return session_for(session, "evaluate tensor", "eval()", "eval").run(self, feed_dict)

    def __str__(self) -> str:
        shape = "" if self._dims is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    # What Python asks of a value; a symbolic tensor has none.
    def __bool__(self) -> NoReturn:
        raise OperatorNotAllowedInGraphError(refusal("Using a symbolic `tf.Tensor` as a Python `bool`"))

    def __iter__(self) -> NoReturn:
        raise OperatorNotAllowedInGraphError(refusal("Iterating over a symbolic `tf.Tensor`"))

    def __len__(self) -> NoReturn:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). "
            "Please call `x.shape` rather than `len(x)` for shape information."
        )

    def __float__(self) -> NoReturn:
        raise TypeError("float() argument must be a string or a real number, not 'SymbolicTensor'")

    def __int__(self) -> NoReturn:
        raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'SymbolicTensor'")

    def __index__(self) -> NoReturn:
        raise TypeError("'SymbolicTensor' object cannot be interpreted as an integer")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error may indicate that you're trying to "
            "pass a Tensor to a NumPy call, which is not supported."
        )

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("'SymbolicTensor' object does not support item assignment")

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"'SymbolicTensor' object has no attribute '{name}'")


def refusal(what: str) -> str:
    """That a graph is built before values are there, and what to do instead."""
    return (
        f"{what} is not allowed. The graph is built before any value is there: use tf.cond or tf.while_loop, which choose when "
        "the graph runs, or Session.run for the value."
    )


class Operation:
    """A node of the graph; :meth:`Graph.create_op` makes it.

    Args:
        graph: it belongs to.
        name: its whole name.
        type: of the operation, as in ``AddV2``.
        inputs: tensors that it takes.
        attrs: its fixed parameters.
        control: operations that run before it.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        type: str,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        control: tuple[Operation, ...],
    ) -> None:
        self.graph, self.name, self.type, self.inputs, self.attrs = graph, name, type, inputs, attrs
        self.control_inputs = list(control)
        self.outputs: list[Tensor] = []
        self.number = 0  # in the order of making
        self.context: Context | None = None  # the loop or branch that it is in

    @property
    def device(self) -> str:
        """Where it runs: nothing is said."""
        return ""

    @property
    def values(self) -> Any:
        """Its outputs."""
        return lambda: list(self.outputs)

    def get_attr(self, name: str) -> Any:
        """A fixed parameter.

        Raises:
            ValueError: it has none of that name.
        """
        if name not in self.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return self.attrs[name]

    def run(self, feed_dict: Any = None, session: Session | None = None) -> None:
        """Run it in the given session, else in the default one."""
        from gviz.static.session import session_for

        session_for(session, "execute operation", "run()", "run").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        return f"name: {self.name!r}\nop: {self.type!r}\n" + "".join(f"input: {t.name!r}\n" for t in self.inputs)


class Graph:
    """Operations by name, in the order of making, and what is open while more are made."""

    def __init__(self) -> None:
        self.names = Names()
        self.finalized = False
        self.context: Context | None = None  # the loop or branch that is being built
        self.collections: dict[str, list[Any]] = {}
        self.unfeedable: set[Tensor] = set()
        self._operations: dict[str, Operation] = {}
        self._control: tuple[Operation, ...] = ()

    # -------------------------------------------------------------- building
    def create_op(
        self,
        type: str,
        inputs: Sequence[Tensor] = (),
        attrs: dict[str, Any] | None = None,
        name: str | None = None,
        control: Sequence[Operation] = (),
    ) -> Operation:
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
        from gviz.static.table import kind_of

        self.check_open()
        for tensor in inputs:
            if tensor.graph is not self:
                self.refuse_stranger(tensor, inputs)
        op = Operation(self, self.names.of_operation(name or type), type, (), attrs or {}, (*self._control, *control))
        op.context = self.context
        op.inputs = tuple(inputs) if self.context is None else self.context.captured(inputs, op)
        op.outputs = [Tensor(op, i, dtype, dims) for i, (dtype, dims) in enumerate(kind_of(op).infer(op))]
        op.number = len(self._operations)
        if self.context is not None:
            self.context.entered(op)
        self._operations[op.name] = op
        return op

    def check_open(self) -> None:
        """Refuse changes of a finalised graph.

        Raises:
            RuntimeError: it is.
        """
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @staticmethod
    def refuse_stranger(tensor: Tensor, inputs: Sequence[Tensor]) -> NoReturn:
        """Say that tensors of two graphs don't go together.

        Raises:
            ValueError: always.
        """
        first = inputs[0] if inputs[0] is not tensor else inputs[-1]
        raise ValueError(f"{tensor} must be from the same graph as {first} (graphs are {tensor.graph} and {first.graph}).")

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

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Have operations made inside run after these; None forgets those that are asked for outside."""
        before = self._control
        if control_inputs is None:
            self._control = ()
        else:
            wanted = [getattr(c, "op", c) for c in control_inputs]
            self._control = (*before, *(op for op in dict.fromkeys(wanted) if op not in before))
        try:
            yield
        finally:
            self._control = before

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
        """The operation of that name.

        Raises:
            KeyError: there is none.
            ValueError: the name is a tensor's.
        """
        if ":" in name:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        if name not in self._operations:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return self._operations[name]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of that name (``operation:index``).

        Raises:
            KeyError: there is none.
            ValueError: the name is an operation's.
        """
        op_name, colon, index = name.rpartition(":")
        if not colon or not index.isdigit():
            if name in self._operations:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a Tensor. "
                    'Tensor names must be of the form "<op_name>:<output_index>".'
                )
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. "
                'Tensor names must be of the form "<op_name>:<output_index>".'
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
    """Begin the program's graph anew.

    Raises:
        AssertionError: inside ``as_default``.
    """
    if _stack:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the "
            "nesting and create a new graph."
        )
    _global[0] = Graph()
