"""What a static graph is made of: operations and the tensors between them. Neither has a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from gviz.static.errors import OperatorNotAllowedInGraphError
from gviz.static.shapes import TensorShape, as_shape, fits, merged

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.static.control import Context
    from gviz.static.dtypes import DType
    from gviz.static.graph import Graph
    from gviz.static.session import Session
    from gviz.static.shapes import Dims

__all__ = ["Operation", "Tensor"]


class Tensor:
    """An output of an operation: a name, a dtype, a shape as far as it is known, and no value."""

    __array_priority__ = 100  # numpy's operators leave it to ours
    device = ""  # there is one only

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
    def shape(self) -> TensorShape:
        """What is known of its shape."""
        return TensorShape(self._dims)

    def get_shape(self) -> TensorShape:
        """What is known of its shape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Add to what is known of the shape; ValueError where the two don't fit."""
        given = as_shape(shape)
        if not fits(self._dims, given):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(given)}.")
        self._dims = merged(self._dims, given)

    def consumers(self) -> list[Operation]:
        """The operations that use it."""
        return [op for op in self.graph.get_operations() if any(t is self for t in op.inputs)]

    def eval(self, feed_dict: Any = None, session: Session | None = None) -> Any:
        """Its value in the given session, else in the default one; ValueError where there is none."""
        from gviz.static.session import session_for

        return session_for(session, "evaluate tensor", "eval()", "eval").run(self, feed_dict)

    def __str__(self) -> str:
        shape = "" if self._dims is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    if TYPE_CHECKING:  # operators are given to it by operations.py
        __add__ = __sub__ = __mul__ = __neg__ = __getitem__ = lambda self, *others: self

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"'SymbolicTensor' object has no attribute '{name}'")


def refused(error: type[Exception], text: str) -> Callable[..., NoReturn]:
    """What Python asks of a value; a symbolic tensor has none."""

    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise error(text.format(self.name))

    return refuse


EARLY = (
    "is not allowed. The graph is built before any value is there: use tf.cond or tf.while_loop, which choose when the graph "
    "runs, or Session.run for the value."
)
REFUSED = {
    "bool": f"Using a symbolic `tf.Tensor` as a Python `bool` {EARLY}",
    "iter": f"Iterating over a symbolic `tf.Tensor` {EARLY}",
    "len": "len is not well defined for a symbolic Tensor ({}). "
    "Please call `x.shape` rather than `len(x)` for shape information.",
    "float": "float() argument must be a string or a real number, not 'SymbolicTensor'",
    "int": "int() argument must be a string, a bytes-like object or a real number, not 'SymbolicTensor'",
    "index": "'SymbolicTensor' object cannot be interpreted as an integer",
    "array": "Cannot convert a symbolic tf.Tensor ({}) to a numpy array. This error may indicate that you're trying to pass a "
    "Tensor to a NumPy call, which is not supported.",
    "setitem": "'SymbolicTensor' object does not support item assignment",
}
OTHER_ERRORS = dict.fromkeys(("bool", "iter"), OperatorNotAllowedInGraphError) | {"array": NotImplementedError}
for word, text in REFUSED.items():
    setattr(Tensor, f"__{word}__", refused(OTHER_ERRORS.get(word, TypeError), text))


class Operation:
    """A node of the graph: a type as in ``AddV2``, inputs, fixed parameters; :meth:`Graph.create_op` makes it."""

    device = ""  # there is one only

    def __init__(
        self, graph: Graph, name: str, type: str, inputs: tuple[Tensor, ...], attrs: dict[str, Any],
        control: tuple[Operation, ...],
    ) -> None:  # fmt: skip
        self.graph, self.name, self.type, self.inputs, self.attrs = graph, name, type, inputs, attrs
        self.control_inputs = list(control)
        self.outputs: list[Tensor] = []
        self.number = 0  # in the order of making
        self.context: Context | None = None  # the loop or branch that it is in

    def values(self) -> list[Tensor]:
        """Its outputs."""
        return list(self.outputs)

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Take another tensor as an input, as users do who make a cycle by hand."""
        self.inputs = (*self.inputs[:index], tensor, *self.inputs[index + 1 :])

    def get_attr(self, name: str) -> Any:
        """A fixed parameter; ValueError where it has none of that name."""
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
