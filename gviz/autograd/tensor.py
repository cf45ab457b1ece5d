"""The tensor: a numpy array with its place in the backward graph.

A tensor has the array; the edge to the output that it is (for a leaf that requires a gradient a weak reference to its
AccumulateGrad, else None); the version of its memory; and the state that only some tensors have (gradient, hooks,
base of a view). It knows no operation and no module above: ``hooks.py``, ``backward.py``, ``requests.py``, ``views.py``
and the face of the engine give it their methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ref

import numpy as np

from gviz.autograd import words
from gviz.autograd.modes import mode
from gviz.autograd.node import AccumulateGrad, Edge, Node, next_seq, target_of
from gviz.numbers.classes import type_text
from gviz.numbers.dtypes import INEXACT, as_array, dtype, of
from gviz.numbers.printing import Size, size
from gviz.numbers.words import refuse, warn

TensorEdge: TypeAlias = "Edge | ref[AccumulateGrad] | None"
"""Where a tensor's gradient goes: to the output that it is, or to a leaf's node; None if nowhere."""


class Version:
    """How often a piece of memory was written in place; shared by a tensor, its views and its detached twins."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class AutogradMeta:
    """The state that only some tensors have.

    Slots:
        grad: the gradient.
        hooks, post_hooks: of a leaf: hooks on its gradient, and those that run after a gradient was added.
        base: the tensor whose memory this view shares.
        creation_meta: how the view was made, where that forbids writing: "multi", "no_grad", "inference", "function".
        seen: version of the base at which this view's edge was right.
        detached: creation number at which ``detach_`` took it out of its graph; older nodes must not use it any more.
        accumulator: the edge of a leaf whose requires_grad was set to False.
        retains: whether a non-leaf keeps its gradient.
        inference: whether it was made in inference mode.
    """

    __slots__ = (
        "accumulator",
        "base",
        "creation_meta",
        "detached",
        "grad",
        "hooks",
        "inference",
        "post_hooks",
        "retains",
        "version_seen",
    )

    def __init__(self) -> None:
        self.grad: Tensor | None = None
        self.hooks: list[Any] = []
        self.post_hooks: list[Any] = []
        self.base: Tensor | None = None
        self.creation_meta = ""
        self.version_seen = self.detached = 0
        self.accumulator: TensorEdge = None
        self.retains = self.inference = False


class Tensor:
    """A tensor as PyTorch has it, over a numpy array."""

    __slots__ = ("__dict__", "__weakref__", "_array", "_edge", "_meta", "_version_cell")
    __array_priority__ = 1000
    __module__ = "torch"
    __hash__ = object.__hash__
    _array: Any
    _edge: TensorEdge
    _meta: AutogradMeta | None
    _version_cell: Version | None
    if TYPE_CHECKING:  # the methods that modules above give it
        backward: Any  # requests.py
        _accumulate_grad: Any  # backward.py
        _refresh: Any  # views.py
        register_hook: Any  # hooks.py, as are the next two
        register_post_accumulate_grad_hook: Any
        retain_grad: Any

        def __getattr__(self, name: str) -> Any: ...

        __add__: Any
        __mul__: Any
        __sub__: Any
        __getitem__: Any
        __iter__: Any

    def _autograd_meta(self) -> AutogradMeta:
        """Return the state that only some tensors have; it is made when it is first asked for."""
        if self._meta is None:
            self._meta = AutogradMeta()
        return self._meta

    # ---------------------------------------------------------------- its place in the graph
    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor, or to the one it is a view of."""
        if self._edge is not None:
            return True
        base = None if self._meta is None else self._meta.base
        return base is not None and base.requires_grad and base._array.dtype == self._array.dtype

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        refuse(not isinstance(value, bool), "requires_grad must be a bool")
        edge = self._edge
        refuse(recorded_edge(self) is not None, words.NON_LEAF_FLAG + ("" if value else words.USE_DETACH))
        refuse(
            value and self._array.dtype.kind not in INEXACT,
            "only Tensors of floating point and complex dtype can require gradients",
        )
        refuse(
            value and not mode.inference and self.is_inference(),
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
        )
        if not value:
            if edge is not None:
                self._autograd_meta().accumulator = edge
            self._edge = None
        elif edge is None:
            refuse(self._array.dtype.kind == "c", words.COMPLEX, NotImplementedError)
            self._edge = None if self._meta is None else self._meta.accumulator
            if self._edge is None:
                self._edge = ref(AccumulateGrad(self))

    def requires_grad_(self, requires_grad: object = True) -> Tensor:
        """Set :attr:`requires_grad` and return the tensor."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type_text(requires_grad)}"
            )
        refuse(
            requires_grad and self._array.dtype.kind not in INEXACT,
            "only Tensors of floating point dtype can require gradients",
        )
        if not requires_grad or self.is_leaf:
            self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        if self._meta is not None:
            self._refresh()
        return recorded_edge(self) is None

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; None for a leaf."""
        edge = None if self.is_leaf else recorded_edge(self)
        return None if edge is None else target_of(edge)[0]

    @property
    def output_nr(self) -> int:
        """Which output of :attr:`grad_fn` this is."""
        edge = recorded_edge(self)
        return 0 if edge is None else target_of(edge)[1]

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient."""
        return self._meta is not None and self._meta.retains

    @property
    def grad(self) -> Tensor | None:
        """The gradient, None where there is none (yet); warns on a non-leaf that does not retain it."""
        grad = None if self._meta is None else self._meta.grad
        if grad is None and recorded_edge(self) is not None and not self.retains_grad:
            warn(words.NON_LEAF_GRAD)
        return grad

    @grad.setter
    def grad(self, grad: Any) -> None:
        if grad is not None:
            refuse_gradient(self, grad)
        if grad is not None or self._meta is not None:
            self._autograd_meta().grad = grad

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def detach(self) -> Tensor:
        """Return a tensor on the same memory, out of the graph."""
        twin = self.data
        twin._version_cell = self._version_counter()
        return twin

    def detach_(self) -> Tensor:
        """Take this tensor itself out of the graph. RuntimeError: it is a view."""
        if mode.inference:  # PyTorch does nothing there
            return self
        refuse(self._is_view(), words.DETACHED_VIEW)
        if self.is_leaf:
            self.requires_grad = False
        else:
            self._autograd_meta().detached = next_seq()
            self._edge = None
        return self

    @property
    def data(self) -> Tensor:
        """The same memory as a tensor of its own: no graph, no shared version."""
        twin = from_array(self._array, None)
        if self._meta is not None or twin._meta is not None:
            twin._autograd_meta().inference = self.is_inference()
        return twin

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type_text(other)}")
        refuse(
            self.requires_grad and other._array.dtype.kind not in INEXACT,
            "data set to a tensor that requires gradients must be floating point or complex dtype",
        )
        refuse(
            other._array.device != self._array.device,
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.",
        )
        if self._edge.__class__ is ref and other._array.dtype != self._array.dtype:
            self._edge = ref(AccumulateGrad(self))  # the node in existing graphs stays as it was
        if self._meta is not None or other._meta is not None:
            self._autograd_meta().inference = other.is_inference()
        self._array = other._array

    # ---------------------------------------------------------------- elements
    @property
    def shape(self) -> Size:
        """The sizes of the dims."""
        return size(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return int(self._array.ndim)

    @property
    def dtype(self) -> dtype:
        """The element type."""
        return of(self._array.dtype)

    def item(self) -> Any:
        """Return the only element, as a Python number."""
        refuse(self._array.size != 1, f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        return self._array.item()

    # ---------------------------------------------------------------- memory
    @property
    def _version(self) -> int:
        refuse(self._meta is not None and self.is_inference(), "Inference tensors do not track version counter.")
        return 0 if self._version_cell is None else self._version_cell.count

    def _version_counter(self) -> Version:
        """Return the version of this tensor's memory; it is made when somebody may write there."""
        if self._version_cell is None:
            self._version_cell = Version()
            if (edge := recorded_edge(self)) is not None:
                node, number = target_of(edge)
                self._version_cell = type(node).watch(node, number, self._version_cell)
        return self._version_cell

    def _is_view(self) -> bool:
        return self._meta is not None and self._meta.base is not None

    @property
    def _base(self) -> Tensor | None:
        return None if self._meta is None else self._meta.base

    def is_inference(self) -> bool:
        """Return whether it was made in inference mode; a view is what its base is."""
        return self._meta is not None and self._meta.inference


def refuse_gradient(tensor: Tensor, grad: object) -> None:
    """Refuse what cannot be assigned as a tensor's gradient, in PyTorch's words."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type_text(grad)}")
    refuse(grad is tensor, "can't assign Variable as its own grad")
    refuse(
        grad._array.device != tensor._array.device,
        f"attempting to assign a gradient with device type '{grad._array.device}' to a tensor with device type "
        f"'{tensor._array.device}'. Please ensure that the gradient and the tensor are on the same device",
    )
    ours, theirs = of(tensor._array.dtype), of(grad._array.dtype)
    refuse(ours is not theirs, words.WRONG_GRAD_DTYPE.format(theirs.c_name, ours.scalar_name))
    refuse(
        grad._array.shape != tensor._array.shape,
        words.WRONG_GRAD_SIZE.format(list(grad._array.shape), list(tensor._array.shape)),
    )


def from_array(array: Any, edge: TensorEdge) -> Tensor:
    """Return a tensor around an array (no copy), with its edge."""
    tensor: Tensor = object.__new__(Tensor if array.__class__ is np.ndarray else getattr(array, "tensor_class", Tensor))
    tensor._array = array if array.__class__ is np.ndarray else as_array(array)
    tensor._edge = edge
    tensor._meta = tensor._version_cell = None
    if mode.inference:
        tensor._autograd_meta().inference = True
    return tensor


def recorded_edge(tensor: Tensor) -> Edge | None:
    """Return the edge to the output of an operation that the tensor is; None for a leaf."""
    edge = tensor._edge
    return None if isinstance(edge, ref) else edge


def edge_of(tensor: Tensor) -> Edge | None:
    """Return the edge to which the tensor's gradient goes, None if it requires none; a leaf's node may be made anew."""
    if tensor._meta is not None and tensor._meta.base is not None:
        tensor._refresh()
    edge = tensor._edge
    if not isinstance(edge, ref):
        return edge
    node = edge()
    if node is None:
        node = AccumulateGrad(tensor)
        tensor._edge = ref(node)
    return node
