"""The tensor: a numpy array with its place in the backward graph.

A tensor has three things: the array; the edge (the node that made it, or the ``Output`` of one that made several; for a leaf
that requires a gradient a weak reference to its AccumulateGrad; else None); and the rare things (gradient, version, hooks, base
of a view; None for most tensors). Operations, methods and operators are bound to this class by ``surface``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gviz.engine import hooks
from gviz.engine.data import classes, words
from gviz.engine.elements import Elements
from gviz.engine.layout import mark
from gviz.engine.modes import mode
from gviz.engine.node import NO_GRAD_VIEW, AccumulateGrad, Node, Output, link, next_seq, public_edge
from gviz.engine.saved import Version

__all__ = ["Rare", "Tensor", "from_array"]

new = object.__new__


class Rare:
    """What few tensors have."""

    __slots__ = (
        "accumulator", "base", "detached", "grad", "hooks", "inference", "laid", "origin", "post_hooks", "retains", "seen",
        "version",
    )  # fmt: skip

    def __init__(self) -> None:
        self.accumulator: Any = None  # the edge of a leaf of which it was said that it requires no gradient
        self.detached = 0  # when it was taken out of its graph: what older nodes have saved of it is of no use
        self.grad: Tensor | None = None
        self.version: Version | None = None
        self.hooks: list[Any] | None = None  # tensor hooks of a leaf
        self.post_hooks: list[Any] | None = None
        self.base: Tensor | None = None  # the tensor whose memory this view shares
        self.origin = ""  # how the view was made, where that forbids writing: "multi", "no_grad"
        self.seen = 0  # version of the base at which this view's edge was right
        self.retains = False
        self.inference = False
        self.laid = False  # whether the array may not be contiguous, see layout.py


class Tensor(Elements, hooks.Hooked):
    """A tensor as PyTorch has it, over a numpy array."""

    __slots__ = ("__dict__", "__weakref__", "_array", "_edge", "_rare")
    __array_priority__ = 1000
    __module__ = "torch"  # as type(x) shows it
    _array: Any
    _edge: Any
    _rare: Rare | None
    if TYPE_CHECKING:  # bound by the surface, with all the others
        __add__: Any
        to: Any
        unbind: Any

    def __new__(cls, *data: Any, **options: Any) -> Any:
        """``Tensor(3, 5)`` has that shape (zeros; PyTorch leaves what was in memory), ``Tensor([1, 2])`` those values."""
        from gviz.engine.surface import creation

        return creation.legacy(cls, data, options)

    @classmethod
    def from_engine(cls, array: Any) -> Tensor:
        """A plain tensor around an array, whatever the class."""
        return from_array(array, None)

    def rare(self) -> Rare:
        """The rare things, made when first asked for."""
        if self._rare is None:
            self._rare = Rare()
        return self._rare

    # ---------------------------------------------------------------- its place in the graph
    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor, or to the one it is a view of."""
        edge = self._edge
        if edge is None or edge is NO_GRAD_VIEW:
            base = None if self._rare is None else self._rare.base
            return base is not None and base.requires_grad
        return True

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not isinstance(wanted, bool):
            raise RuntimeError("requires_grad must be a bool")  # noqa: TRY004 - as PyTorch does
        if self._edge is not None and self._edge.__class__ is not ref:  # here a write to its base does not count yet
            raise RuntimeError(words.NON_LEAF_FLAG + ("" if wanted else words.USE_DETACH))
        if wanted and self._array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if wanted and not mode.inference and self.is_inference():
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        edge = self._edge
        if not wanted:
            if edge is not None and edge is not NO_GRAD_VIEW:
                self.rare().accumulator = edge
            self._edge = None
        elif edge is None or edge is NO_GRAD_VIEW:
            if self._array.dtype.kind == "c":
                raise NotImplementedError(words.COMPLEX)
            self._edge = None if self._rare is None else self._rare.accumulator
            if self._edge is None:
                self._edge = ref(AccumulateGrad(self))

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set :attr:`requires_grad` and return the tensor."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {classes.type_text(requires_grad)}"
            )
        if requires_grad and self._array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if not requires_grad or self.is_leaf:
            self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        if self._rare is not None:
            self.refresh()
        return self._edge is None or self._edge.__class__ is ref

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made this tensor; None for a leaf."""
        self.refresh()
        edge = self._edge
        if edge is None or edge.__class__ is ref:
            return None
        return edge._left if edge.__class__ is Output or isinstance(edge, Output) else edge

    @property
    def output_nr(self) -> int:
        """Which output of :attr:`grad_fn` this is."""
        return public_edge(self._edge)[1]

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient."""
        return self._rare is not None and self._rare.retains

    @property
    def grad(self) -> Tensor | None:
        """The gradient, None where there is none (yet); warns on a non-leaf that does not retain it."""
        if self._rare is None or self._rare.grad is None:
            # unlike is_leaf itself, this asks what was known, not what a write to the base has made of it
            if self._edge is not None and self._edge.__class__ is not ref and not self.retains_grad:
                warnings.warn(words.NON_LEAF_GRAD, UserWarning, stacklevel=2)
            return None
        return self._rare.grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        given: Any = grad
        if grad is not None:
            if not isinstance(given, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {classes.type_text(grad)}")
            if grad is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if grad.dtype is not self.dtype:
                raise RuntimeError(words.wrong_grad_dtype(self._array.dtype, grad._array.dtype))
            if grad._array.shape != self._array.shape:
                raise RuntimeError(words.wrong_grad_size(self._array.shape, grad._array.shape))
        elif self._rare is None:
            return
        self.rare().grad = grad

    @grad.deleter
    def grad(self) -> None:
        if self._rare is not None:
            self._rare.grad = None

    def backward(self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None) -> None:
        """Compute the gradients of this tensor for all leaves below it, and add them to their ``.grad``.

        Args:
            gradient: of the same shape as the tensor; only a one-element tensor can do without.
            retain_graph: keep the saved tensors for another backward.
            create_graph: record the computation of the gradients.
            inputs: only accumulate into these.

        Raises:
            RuntimeError: no graph, not a scalar, or saved tensors freed before.
        """
        from gviz.engine.requests import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """The same memory, out of the graph."""
        twin = from_array(self._array, None)
        twin.rare().version = self.version_cell()
        mark(twin)
        twin.rare().inference = self.is_inference()
        return twin

    def detach_(self) -> Tensor:
        """Take this tensor itself out of the graph.

        Raises:
            RuntimeError: it is a view.
        """
        if mode.inference:  # PyTorch does nothing there
            return self
        if self._is_view():
            raise RuntimeError(words.DETACHED_VIEW)
        if self.is_leaf:
            self.requires_grad = False
        else:
            self.rare().detached = next_seq()
        self._edge = None
        return self

    @property
    def data(self) -> Tensor:
        """The same memory as a tensor of its own: no graph, no shared version."""
        twin = from_array(self._array, None)
        if mode.inference or self._rare is not None:
            twin.rare().inference = self.is_inference()
            mark(twin)
        return twin

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {classes.type_text(other)}")
        if self.requires_grad and other._array.dtype.kind not in "fc":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if self._edge.__class__ is ref and other._array.dtype != self._array.dtype:
            self._edge = ref(AccumulateGrad(self))  # that of graphs that exist stays as it was
        if self._rare is not None or other._rare is not None or other._array.shape != self._array.shape:
            self.rare().inference, self.rare().laid = other.is_inference(), self.rare().laid or other.shape != self.shape
        self._array = other._array

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    # ---------------------------------------------------------------- memory, versions, views
    @property
    def _version(self) -> int:
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._rare is None or self._rare.version is None else self._rare.version.count

    def version_cell(self) -> Version:
        """The version of this tensor's memory, made when somebody may write there."""
        rare = self.rare()
        if rare.version is None:
            rare.version = Version()
            edge = self._edge
            node = edge._left if isinstance(edge, Output) else edge
            if isinstance(node, Node) and (row := getattr(type(node), "_row", None)) is not None:
                row.watch_result(node, rare.version, public_edge(edge)[1])
        return rare.version

    def _is_view(self) -> bool:
        return self._rare is not None and self._rare.base is not None

    @property
    def _base(self) -> Tensor | None:
        return None if self._rare is None else self._rare.base

    def refresh(self) -> None:
        """Bring a view's edge up to date after its base was written in place."""
        rare = self._rare
        if rare is None or rare.base is None:
            return
        if rare.version is not None and rare.seen != rare.version.count:
            from gviz.engine.views import renew_edge

            renew_edge(self)
        if self._edge is None or self._edge is NO_GRAD_VIEW:
            self._edge = NO_GRAD_VIEW if rare.base.requires_grad else None

    __hash__ = object.__hash__


def from_array(array: Any, edge: Any) -> Tensor:
    """A tensor around an array (no copy), with its edge.

    Args:
        array: a numpy array, 0-d allowed; its memory is shared.
        edge: the node that made it, or None.
    """
    tensor: Tensor = new(Tensor)
    tensor._array = array if array.__class__ is np.ndarray else np.asarray(array)
    tensor._edge = edge
    tensor._rare = None
    if mode.inference:
        tensor.rare().inference = True
    return tensor


def edge_of(tensor: Tensor) -> Any:
    """The node to which the tensor's gradient goes, None if it requires none."""
    if tensor._rare is not None and tensor._rare.base is not None:
        tensor.refresh()
    return None if tensor._edge is None else link(tensor)
