"""The nodes of the backward graph: what PyTorch calls a grad_fn.

An *edge* leads to an output of a node: a tensor holds the edge that it came out of, and every node that uses the tensor
holds the same one. A leaf holds its AccumulateGrad weakly and that holds the leaf strongly, so that neither keeps the
other alive.
"""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from gviz.autograd.modes import mode
from gviz.numbers.dtypes import of
from gviz.numbers.words import refuse

Edge: TypeAlias = "Node | Output"
"""Where a gradient goes: a node itself stands for its first output, which most nodes have alone."""

Array: TypeAlias = "np.ndarray[Any, Any]"
Output: TypeAlias = "tuple[Node, int]"
"""One output of a node, as ``next_functions`` tells it: the node and the output's number."""

creation_numbers = count(1)
next_seq = creation_numbers.__next__
"""Return the next creation number: a node is always younger than its inputs."""

YOUNGEST = 2**64 - 1
SHAPES = 2048
"""So many shapes of outputs are remembered at once."""


class SharedOutputs(dict[tuple[int, ...], Any]):
    """By shape: ``_outputs`` of nodes with one output of a dtype, which share it: the same object is the same shape."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self.dtype = dtype

    def __missing__(self, shape: tuple[int, ...]) -> Any:
        if len(self) > SHAPES:
            self.clear()
        return self.setdefault(shape, ((shape, self.dtype),))


SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
OUTPUTS = {dtype: SharedOutputs(dtype) for dtype in (SINGLE, DOUBLE)}
HAND_WRITTEN = ("AccumulateGrad", "CopyBackwards", "CopySlices", "Error", "NotImplemented")
SHOWN = (
    "__call__", "_input_metadata", "_register_hook_dict", "_sequence_nr", "_set_sequence_nr", "metadata", "name",
    "next_functions", "register_hook", "register_prehook", "requires_grad",
)  # fmt: skip


class Node:
    """A recorded operation.

    Slots:
        _next: the edge of each input, None where no gradient is wanted.
        _saved: what the call saved, in the order of its row's plan.
        _seq: creation number.
        _outputs: (shape, dtype) of each output, to which its gradient is brought.
        _hooks: hooks and retained gradients, None for most nodes; ``_notes``: the user's ``metadata``.
    """

    __slots__ = ("_hooks", "_next", "_notes", "_outputs", "_saved", "_seq")
    _row: ClassVar[Any] = None
    raw_saved: ClassVar[Any]  # ``node._raw_saved_NAME``: the face of the engine gives it

    def __init__(self, edges: tuple[Edge | None, ...], outputs: tuple[Any, ...], saved: Any = ()) -> None:
        self._next = edges
        self._outputs = outputs
        self._saved = saved
        self._hooks: Any = None
        self._seq = next_seq()

    def apply(self, grads: list[Any], mask: list[bool]) -> Any:
        """Return the gradients of the inputs that the mask wants for those of the outputs: tensors, or None."""
        raise NotImplementedError

    def release(self) -> None:
        """Drop the saved tensors."""

    def watch(self, number: int, version: Any, array: Array | None = None) -> Any:
        """Note that the memory of that output, now that of ``array``, may be written; return its version."""
        return version

    def __call__(self, *grads: object) -> Any:
        """Return the gradients of the inputs for those of the outputs, as backward would compute them."""
        refuse(
            len(grads) != len(self._outputs),
            f"expected {len(self._outputs)} arguments, got {len(grads)} instead",
            TypeError,
        )
        for i, grad in enumerate(grads):
            if grad is not None and not hasattr(grad, "_array"):
                raise TypeError(f"argument {i} is not a Variable")
        results = tuple(self.apply(list(grads), [edge is not None for edge in self._next]))
        return results[0] if len(results) == 1 else results

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """(node or None, number of its output) for each input."""
        return tuple([edge if isinstance(edge, tuple) else (edge, 0) for edge in self._next])

    def name(self) -> str:
        """Return the class name, with its namespace if PyTorch has written the class by hand."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in HAND_WRITTEN else name

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes on the node."""
        if not hasattr(self, "_notes"):
            self._notes: dict[Any, Any] = {}
        return self._notes

    requires_grad = True
    """Always: there is a node because something requires a gradient."""

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        """Shape and dtype of each output."""
        return tuple(SimpleNamespace(shape=list(shape), dtype=dtype and of(dtype)) for shape, dtype in self._outputs)

    def _sequence_nr(self) -> int:
        return int(self._seq)

    def _set_sequence_nr(self, number: int) -> None:
        self._seq = number

    def _register_hook_dict(self, _tensor: object) -> None:
        refuse(True, "_register_hook_dict is not in gviz's engine; run with --engine torch", NotImplementedError)

    def __dir__(self) -> list[str]:
        """List what PyTorch's nodes have, without the engine's own names."""
        return [
            *dir(object()),
            *SHOWN,
            *(name for name in dir(type(self)) if name.startswith(("_saved_", "_raw_saved_")) or name == "variable"),
        ]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def target_of(edge: Edge) -> Output:
    """Return the output that an edge leads to."""
    return edge if isinstance(edge, tuple) else (edge, 0)


def edge_to(node: Node, number: int) -> Edge:
    """Return the edge to an output of a node."""
    return (node, number) if number else node


class AccumulateGrad(Node):
    """The node of a leaf: adds what arrives to ``variable.grad``. It runs as soon as its last gradient is there."""

    __module__ = "builtins"
    __slots__ = ("__weakref__", "variable")

    def __init__(self, variable: Any) -> None:
        shape, dtype = variable._array.shape, variable._array.dtype
        super().__init__((), OUTPUTS[dtype][shape] if dtype in OUTPUTS else ((shape, dtype),))
        self.variable = variable
        self._seq = YOUNGEST
        for note in mode.node_callbacks:
            note(self, (), ())

    def apply(self, grads: list[Any], mask: list[bool]) -> Any:
        """Add to the leaf's gradient."""
        if grads[0] is not None:
            self.variable._accumulate_grad(grads)
        return ()


def short_name(node: Node) -> str:
    """Return what messages call a node: ``Exp`` for ExpBackward0, ``Pow1`` for PowBackward1."""
    full: str = type(node).name(node)
    name, _, number = full.rpartition("Backward")
    return name + number.removesuffix("0") if name and (number.isdigit() or not number) else full
