"""The nodes of the backward graph.

A :class:`Node` is what PyTorch calls a grad_fn: it knows its inputs' nodes (``edges``), what the forward call saved,
and, through its class, how to turn the gradient of its output into those of its inputs. The classes are made from the
rows of the operation table (``op.py``); here is what all of them share, with the node of a leaf
(:class:`AccumulateGrad`) and the node of one of several outputs (:class:`Output`).

An edge is the node itself. A leaf's tensor holds its AccumulateGrad weakly and the node holds the tensor strongly, as
in PyTorch, so that neither keeps the other alive once the graph is gone.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

import numpy as np

from gviz.engine.face import Face, seal
from gviz.engine.layout import laid_like

if TYPE_CHECKING:
    from gviz.engine.op import Row
    from gviz.engine.tensor import Tensor

__all__ = [
    "AccumulateGrad",
    "Node",
    "Output",
    "Parts",
    "link",
    "public_edge",
    "short_name",
]

next_seq = count(1).__next__
"""Creation numbers: a node is always younger than its inputs, so sorting by them is a topological order."""


class Node(Face):
    """A recorded operation.

    Slots:
        _left: the node of the first input, None where no gradient is wanted there.
        _right: that of the second input; a tuple of all the others where the class is not one of ``_arity`` 1 or 2.
        _kept: what the forward call kept for the derivatives, in the order of ``row.saved``.
        _seq: creation number.
        _shape: of the output, to which a broadcast gradient is summed back.
        _pending: the gradient that has arrived so far; only set while a backward pass runs.

        _rare: a dict of what few nodes have (hooks, dtypes of mixed operands, metadata), made when first asked for
            (``face.rare``); a node that has hooks or such is given the careful variant of its class, see ``hooks.py``.

    No ``__dict__``: PyTorch's nodes take no attributes of the user's either. The engine's names begin with an underscore, since
    the context of a custom Function, which does take them (``ctx.shape``, ``ctx.saved``), is its node.
    """

    __slots__ = ("_kept", "_left", "_pending", "_rare", "_right", "_seq", "_shape")
    _pending: Any
    _left: Any
    _right: Any
    _kept: Any
    _rare: dict[str, Any]
    _seq: int
    _shape: tuple[Any, ...]
    _row: ClassVar[Row]
    _arity: ClassVar[int] = 0
    _careful: ClassVar[bool] = False
    _always: ClassVar[bool] = False
    """Whether it is run though no gradient has reached it: the user's backward and hooks hear of that."""

    @property
    def _edges(self) -> tuple[Any, ...]:
        """One edge per input: a node, or None where no gradient is wanted (two slots: most nodes need no tuple)."""
        right = self._right
        if right.__class__ is tuple:
            return (self._left, *right)
        return (self._left, right)[: self._arity]

    @_edges.setter
    def _edges(self, edges: tuple[Any, ...]) -> None:
        self._left, self._right = (edges[0], edges[1:]) if edges else (None, None)
        if len(edges) == self._arity:
            self._right = edges[1] if self._arity == 2 else None

    def _apply(self, grad: Any, keep: bool) -> Any:
        """The gradients of the inputs, on arrays: one for a node of one input, else a tuple."""
        raise NotImplementedError

    def _apply_tensors(self, grad: Any, keep: bool) -> Any:
        """The same on tensors, recorded: ``create_graph=True``."""
        raise NotImplementedError

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """(node or None, number of its output) for each input."""
        return tuple([public_edge(edge) for edge in self._edges])


class AccumulateGrad(Node):
    """The node of a leaf: adds what arrives to ``variable.grad``."""

    __module__ = "builtins"
    __slots__ = ("__weakref__", "_leaf")
    _leaf: Tensor

    def __init__(self, variable: Tensor) -> None:
        self._leaf = variable
        self._left = self._right = self._kept = None
        self._seq = -1
        self._shape = variable._array.shape

    @property
    def variable(self) -> Tensor:
        """The leaf."""
        return self._leaf

    def _apply(self, grad: Any, keep: bool, on_tensors: bool = False) -> Any:
        """Add to the leaf's gradient, an array in place; the first is copied (it may be shared)."""
        leaf = self._leaf
        rare = leaf.rare()
        if rare.hooks or leaf._edge.__class__ is not ref:
            from gviz.engine.hooks import before_adding

            grad = before_adding(self, grad, on_tensors=on_tensors)
            if grad is None:
                return ()
        if on_tensors:
            rare.grad = grad.copied(leaf._array) if rare.grad is None else rare.grad + grad
        elif rare.grad is None:
            kind = leaf._array.dtype
            rare.grad = laid_like(leaf, grad) if rare.laid else type(leaf).from_engine(np.array(grad, kind, order="C"))
        else:
            rare.grad.accumulate(grad)
        if rare.post_hooks:
            from gviz.engine.hooks import run_post_hooks

            run_post_hooks(rare.post_hooks, leaf)
        return ()

    def _apply_tensors(self, grad: Any, keep: bool) -> Any:
        """Add a tensor to the leaf's gradient, recorded, and never in place."""
        return self._apply(grad, keep, on_tensors=True)


class Output(Node):
    """One output of an operation that has several: carries its gradient to the operation's node.

    It is an edge, not a grad_fn: :func:`public_edge` shows the operation and the number of the output.
    """

    __slots__ = ("number",)
    number: int
    _arity = 1

    def __init__(self, node: Node, number: int, shape: tuple[int, ...]) -> None:
        self._left, self._right = node, None
        self._kept = None
        self._seq = node._seq + 1
        self._shape = shape
        self.number = number

    def _apply(self, grad: Any, keep: bool) -> Any:
        """The gradient, marked with the number of the output."""
        return Parts({self.number: grad})

    _apply_tensors = _apply


class Parts:
    """The gradients of an operation's outputs on their way to its node: they add up output by output."""

    __slots__ = ("by_number",)
    shape = ("parts",)

    def __init__(self, by_number: dict[int, Any]) -> None:
        self.by_number = by_number

    def __add__(self, other: Parts) -> Parts:
        """Both, added where they are for the same output."""
        total = dict(self.by_number)
        for number, grad in other.by_number.items():
            total[number] = total[number] + grad if number in total else grad
        return Parts(total)


for kind in (Face, Node, AccumulateGrad):
    seal(kind)


def public_edge(edge: Any) -> tuple[Any, int]:
    """An edge as ``next_functions`` shows it."""
    return (edge._left, edge.number) if isinstance(edge, Output) else (edge, 0)


def short_name(node: Any) -> str:
    """What messages call a node: ``Exp`` for ExpBackward0, ``Pow1`` for PowBackward1."""
    full: str = node.name()
    name, _, number = full.rpartition("Backward")
    return name + number.removesuffix("0") if name and (number.isdigit() or not number) else full


class Nothing:
    """What the weak reference below pointed to."""


NO_GRAD_VIEW = ref(Nothing())
"""The edge of a view made under no_grad of a tensor that requires a gradient: it says so, but leads nowhere."""


def link(tensor: Tensor) -> Any:
    """The node behind a tensor's edge: for a leaf its AccumulateGrad, made anew if no graph holds one."""
    edge = tensor._edge
    if edge.__class__ is ref:
        if edge is NO_GRAD_VIEW:
            tensor.refresh()
            return None
        node = edge()
        if node is None:
            node = AccumulateGrad(tensor)
            tensor._edge = ref(node)
        return node
    return edge
