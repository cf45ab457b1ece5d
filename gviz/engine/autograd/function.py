"""``torch.autograd.Function``: an operation whose forward and backward the user writes."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

import numpy as np

from gviz.engine.autograd.outputs import wrap_outputs
from gviz.engine.data.classes import type_text
from gviz.engine.data.words import absent
from gviz.engine.face import rare, seal
from gviz.engine.hooks import parts_shape
from gviz.engine.modes import mode, no_grad
from gviz.engine.node import Node, Output, Parts, next_seq
from gviz.engine.saved import FREED, Packed, SavedResult, freed_error, modified_error, output_tensor, version_of
from gviz.engine.tensor import Tensor, edge_of, from_array
from gviz.engine.towards import fit

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """What forward leaves for backward; the node itself carries it, as in PyTorch."""

    __slots__ = ("__dict__",)
    materialize_grads: Any
    to_save: Any = None
    dirty_tensors: Any = None
    non_differentiable: Any = None
    saved_for_forward: Any = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep these tensors for backward, freed with the graph."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep these tensors for jvp."""
        if not all(one is None or isinstance(one, Tensor) for one in tensors):
            raise AssertionError(
                "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
            )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """These inputs were written in place by forward."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Not needed any more."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that calls to "
            "`set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """These outputs get no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether outputs without a gradient give zeros (the default) or None to backward."""
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx, Node):
    """The node of one call of a Function: its context, which takes the user's attributes, and its place in the graph."""

    __slots__ = ()
    _always = True
    _forward_cls: Any

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` kept.

        Raises:
            RuntimeError: backward has freed it, or it was modified in place since.
        """
        if self._kept is FREED:
            raise freed_error()
        if self._rare.get("accessed"):
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        found = tuple(unpacked(self, kept) for kept in self._kept or ())
        if found and self._forward_cls.clear_saved_tensors_on_access:
            self._rare["accessed"], self._kept = True, None
        return found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The same under its old name."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """The places of what was saved, for hooks."""
        from gviz.engine.autograd.packing import raw_saved_tensors

        return raw_saved_tensors(self)

    @property
    def materialize_grads(self) -> Any:
        """Whether outputs without a gradient give zeros: only to be set."""
        raise AttributeError("attribute 'materialize_grads' of 'torch._C._FunctionBase' objects is not readable")

    @materialize_grads.setter
    def materialize_grads(self, value: Any) -> None:
        if not isinstance(value, bool):
            raise TypeError("set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)")
        self._rare["materialize"] = value

    def _apply(self, grad: Any, keep: bool) -> Any:
        """Run the user's backward on tensors, unrecorded."""
        grads = {i: from_array(np.asarray(g), None) for i, g in by_number(grad).items()}
        return tuple(None if g is None else g._array for g in call_backward(self, grads, keep))

    def _apply_tensors(self, grad: Any, keep: bool) -> Any:
        """Run the user's backward on tensors, recorded."""
        before, mode.formula = mode.formula, False
        try:
            return tuple(call_backward(self, by_number(grad), keep))
        finally:
            mode.formula = before

    def apply(self, *grads: Any) -> Any:
        """Call the user's backward, or vjp.

        Raises:
            RuntimeError: there are both.
        """
        kind = self._forward_cls
        written = [f for f, default in ((kind.vjp, Function.vjp), (kind.backward, Function.backward)) if f is not default]
        if len(written) == 2:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
                "them."
            )
        given = (list(grads),) if kind.boxed_grads_call else grads
        return (written[0] if written else kind.backward)(self, *given)

    def __call__(self, *_: Any) -> Any:
        """Refused: unlike other nodes it cannot be called."""
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


seal(BackwardCFunction, "torch._C._FunctionBase")


def unpacked(node: BackwardCFunction, kept: Any) -> Any:
    """A saved tensor, with its place in the graph where it is an output."""
    if kept is None:
        return None
    if kept.__class__ is Packed:
        return kept.unpacked(node)
    own, value, version, expected = None, kept, version_of(kept), 0
    if kept.__class__ is SavedResult:
        value, version, expected = kept.content, kept.version, kept.expected
    if isinstance(value, tuple):
        value, own = value
    if version is not None and version.count != expected:
        raise modified_error(node, value, own or 0, version.count, expected)
    return value if own is None else output_tensor(node, value, own)


def by_number(grad: Any) -> dict[int, Any]:
    """The gradients by the number of their output."""
    return {} if grad is None else grad.by_number if isinstance(grad, Parts) else {0: grad}


def call_backward(node: Any, grads: dict[int, Any], keep: bool) -> list[Any]:
    """The gradients of the tensor inputs of a Function's node, one for each edge.

    Raises:
        RuntimeError: backward gave another number of gradients than forward has inputs.
    """
    facts, name = node._rare, type(node).__name__
    given = [grads.get(i) for i in range(len(facts["like"]))]
    if facts.get("materialize", True):
        given = [
            from_array(np.zeros(shape, kind), None) if g is None and kind is not None else g
            for g, (shape, kind) in zip(given, facts["like"], strict=True)
        ]
    result = node.apply(*given)
    results = list(result) if isinstance(result, tuple) else [result]
    positions, total = facts["positions"], facts["inputs"]
    if len(results) > total and all(r is None for r in results[total:]):
        results = results[:total]
    if len(results) != total:
        raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {total}, got {len(results)})")
    for i, one in enumerate(results):
        if one is not None and i not in positions:
            raise RuntimeError(
                f"function {name} returned a gradient different than None at position {i + 1}, but the corresponding "
                "forward input was not a Variable"
            )
        if one is not None and not isinstance(one, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type_text(one)})")
    results = [
        one if one is None or edge is None or one.shape == edge._shape else fit(one, edge, node)
        for one, edge in zip([results[p] for p in positions], node._edges, strict=True)
    ]
    if not keep:
        node._kept = FREED
    return results


class Function:
    """Base of the user's operations: static ``forward(ctx, ...)`` and ``backward(ctx, *grads)``, called through ``apply``.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#function
    """

    _backward_cls: Any
    clear_saved_tensors_on_access = False
    """Whether saved tensors are dropped when backward has asked for them once."""
    boxed_grads_call = False
    """Whether backward takes its gradients as one list."""
    generate_vmap_rule = False
    """Of no effect: there is no vmap here."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the class of the nodes."""
        super().__init_subclass__(**kwargs)
        cls._backward_cls = class_of_nodes(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
            "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: it is ``apply`` that is called."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """To be written by the user."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """May be written by the user, where forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """To be written by the user."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """May be written by the user; nothing here calls it."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """May be written by the user; nothing here calls it."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record one node for it."""
        apart = cls.setup_context is not Function.setup_context
        if apart or kwargs:
            args = in_order(cls.forward, args, kwargs, apart=apart)
        wanted = mode.on and any(isinstance(a, Tensor) and a.requires_grad for a in args)
        node = make_node(cls, args, wanted=wanted)
        before, mode.on = mode.on, False
        try:
            if apart:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args)
        finally:
            mode.on = before
        return wrap_outputs(node, args, output, wanted=wanted)


def class_of_nodes(kind: type[Function]) -> Any:
    """The class of a Function's nodes."""
    body = {"__slots__": (), "_forward_cls": kind, "__module__": "torch.autograd.function"}
    return type(f"{kind.__name__}Backward", (BackwardCFunction,), body)


Function._backward_cls = class_of_nodes(Function)
InplaceFunction = Function


def in_order(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, apart: bool) -> tuple[Any, ...]:
    """The arguments of a call in the order of forward's parameters.

    Args:
        forward: the user's.
        args: those given in order.
        kwargs: those given by name.
        apart: whether forward takes no ctx; defaults are filled in then.

    Raises:
        TypeError: one is unknown, missing or given twice; one that can only be given by name is unknown here too.
    """
    if apart:
        bound = inspect.signature(forward).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    code = getattr(forward, "__code__", None)
    names = () if code is None else code.co_varnames[0 if apart else 1 : code.co_argcount]
    places = dict(enumerate(args))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) in places:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        places[names.index(name)] = value
    for i in range(max(places, default=-1)):
        if i not in places:
            raise TypeError(f"forward() missing required argument: '{names[i]}' (position {i})")
    return tuple(places[i] for i in sorted(places))


def make_node(cls: Any, args: tuple[Any, ...], *, wanted: bool) -> Any:
    """The node and context of a call."""
    node = object.__new__(cls._backward_cls)
    positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    rare(node).update(positions=positions, inputs=len(args))
    node.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
    node._edges = tuple(edge_of(args[i]) for i in positions) if wanted else ()
    node._kept = None
    node._seq = next_seq()
    node._shape = ()
    return node


class Error(Node):
    """The node of what may not be differentiated."""

    __slots__ = ()

    def _apply(self, grad: Any, keep: bool) -> Any:
        """The refusal."""
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    _apply_tensors = _apply


def once_differentiable(backward: Any) -> Any:
    """A backward whose result is not recorded: differentiating it again is an error."""

    @functools.wraps(backward)
    def run(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            outputs = backward(ctx, *grads)
        if not mode.on or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        node = Error()
        node._edges = tuple(None if one is None else edge_of(one.detach().requires_grad_()) for one in several)
        node._seq, node._shape, node._kept = (
            next_seq(),
            parts_shape(tuple(() if one is None else one._array.shape for one in several)),
            None,
        )
        next_seq()
        again = tuple(
            None if one is None else from_array(one._array, Output(node, i, one._array.shape)) for i, one in enumerate(several)
        )
        return again if isinstance(outputs, tuple) else again[0]

    return run


__getattr__ = absent("torch.autograd.function")
