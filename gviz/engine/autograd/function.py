"""``torch.autograd.Function``: an operation whose forward and backward the user writes."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from gviz.engine import text
from gviz.engine.hooks import cast_gradients, parts_shape
from gviz.engine.modes import mode, no_grad
from gviz.engine.node import Node, Output, Parts, next_seq
from gviz.engine.saved import FREED, Packed, SavedResult, freed_error, guarded, modified_error, version_of
from gviz.engine.tensor import Tensor, edge_of, from_array
from gviz.engine.towards import fit
from gviz.engine.views import refuse_view, take_place

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What forward leaves for backward; the node itself carries it, as in PyTorch."""

    __slots__ = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep these tensors for backward, freed with the graph."""
        self.__dict__["to_save"] = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """These inputs were written in place by forward."""
        self.__dict__["dirty"] = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """These outputs get no gradient."""
        self.__dict__["non_differentiable"] = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether outputs without a gradient give zeros (the default) or None to backward."""
        self.__dict__["materialize"] = value


class BackwardCFunction(FunctionCtx, Node):
    """The node of one call of a Function: its context, which takes the user's attributes, and its place in the graph."""

    __slots__ = ("__dict__",)
    _always = True
    function: Any

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` kept.

        Raises:
            RuntimeError: backward has freed it, or it was modified in place since.
        """
        if self._kept is FREED:
            raise freed_error()
        return tuple(self.unpack(kept) for kept in self._kept or ())

    saved_variables = saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        from gviz.engine.autograd.packing import raw_saved_tensors

        return raw_saved_tensors(self)

    def unpack(self, kept: Any) -> Any:
        """A saved tensor, with its place in the graph where it is an output."""
        if kept is None:
            return None
        if kept.__class__ is Packed:
            return kept.unpacked(self)
        own, value, version, expected = None, kept, version_of(kept), 0
        if kept.__class__ is SavedResult:
            value, version, expected = kept.content, kept.version, kept.expected
        if isinstance(value, tuple):
            value, own = value
        if version is not None and version.count != expected:
            raise modified_error(self, value, own or 0, version.count, expected)
        return value if own is None else self.output_tensor(value, own)

    def apply(self, grad: Any, keep: bool) -> Any:
        """Run the user's backward on tensors, unrecorded."""
        grads = {i: from_array(np.asarray(g), None) for i, g in self.parts(grad).items()}
        return tuple(None if g is None else g._array for g in self.call_backward(grads, keep))

    def apply_tensors(self, grad: Any, keep: bool) -> Any:
        """Run the user's backward on tensors, recorded."""
        before, mode.formula = mode.formula, False
        try:
            return tuple(self.call_backward(self.parts(grad), keep))
        finally:
            mode.formula = before

    def parts(self, grad: Any) -> dict[int, Any]:
        """The gradients by the number of their output."""
        return {} if grad is None else grad.by_number if isinstance(grad, Parts) else {0: grad}

    def call_backward(self, grads: dict[int, Any], keep: bool) -> list[Any]:
        """The gradients of the tensor inputs, one for each edge.

        Raises:
            RuntimeError: backward gave another number of gradients than forward has inputs.
        """
        facts = self.__dict__
        given = [grads.get(i) for i in range(facts["outputs"])]
        if facts.get("materialize", True):
            given = [
                from_array(np.zeros(shape, kind), None) if g is None and kind is not None else g
                for g, (shape, kind) in zip(given, facts["like"], strict=True)
            ]
        name = type(self).__name__
        result = self.function.backward(self, *given)
        results = list(result) if isinstance(result, tuple | list) else [result]
        positions = facts["positions"]
        total = facts["inputs"]
        if len(results) > total and all(r is None for r in results[total:]):
            results = results[:total]
        if len(results) != total:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {total}, got {len(results)})"
            )
        for i, one in enumerate(results):
            if one is not None and i not in positions:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, but the corresponding "
                    "forward input was not a Variable"
                )
            if one is not None and not isinstance(one, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(one).__name__})")
        results = [
            one if one is None or edge is None or one.shape == edge._shape else fit(one, edge, self)
            for one, edge in zip([results[p] for p in positions], self._edges, strict=True)
        ]
        if not keep:
            self._kept = FREED if self._kept else self._kept
        return results

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


class Function:
    """Base of the user's operations: static ``forward(ctx, ...)`` and ``backward(ctx, *grads)``, called through ``apply``.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#function
    """

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

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward, and record one node for it."""
        wanted = mode.on and any(isinstance(a, Tensor) and a.requires_grad for a in args)
        node = make_node(cls, args, wanted=wanted)
        before, mode.on = mode.on, False
        try:
            if cls.setup_context is not Function.setup_context:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args)
        finally:
            mode.on = before
        return wrap_outputs(node, args, output, wanted=wanted)


def make_node(cls: Any, args: tuple[Any, ...], *, wanted: bool) -> Any:
    """The node and context of a call."""
    if "node_class" not in cls.__dict__:
        cls.node_class = type(
            f"{cls.__name__}Backward",
            (BackwardCFunction,),
            {"__slots__": (), "function": cls, "__module__": "torch.autograd.function"},
        )
    node = object.__new__(cls.node_class)
    positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    facts = node.__dict__
    facts["positions"], facts["inputs"] = positions, len(args)
    facts["needs_input_grad"] = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
    node._edges = tuple(edge_of(args[i]) for i in positions) if wanted else ()
    node._kept = None
    node._seq = next_seq()
    node._shape = ()
    return node


def wrap_outputs(node: Any, args: tuple[Any, ...], output: Any, *, wanted: bool) -> Any:
    """Give the outputs their place in the graph, and save what forward asked for."""
    facts = node.__dict__
    outputs = output if isinstance(output, tuple) else (output,)
    plain, dirty = facts.pop("non_differentiable", ()), facts.pop("dirty", ())
    check_dirty(dirty, outputs)
    flows = [
        wanted and isinstance(o, Tensor) and o._array.dtype.kind in "fc" and all(o is not p for p in plain) for o in outputs
    ]
    facts["outputs"] = len(outputs)
    facts["like"] = [(o._array.shape, o._array.dtype) if isinstance(o, Tensor) else ((), None) for o in outputs]
    node._shape = outputs[0]._array.shape if len(outputs) == 1 and isinstance(outputs[0], Tensor) else parts_shape(len(outputs))
    next_seq()
    made: list[Any] = []
    for i, one in enumerate(outputs):
        if not isinstance(one, Tensor):
            made.append(one)
            continue
        edge = None if not flows[i] else node if len(outputs) == 1 else Output(node, i, one._array.shape)
        written, is_input = (any(one is o for o in others) for others in (dirty, args))
        if is_input and edge is None and one.requires_grad:
            result = one.detach()
        elif written:
            result = one
            if edge is not None:
                check_written(one, outputs)
                take_place(one, edge)
        else:
            result = output_tensor(one, is_input=is_input, several=sum(flows) > 1)
            result._edge = edge or result._edge
        made.append(result)
    to_save = facts.pop("to_save", ())
    if wanted:
        check_saved(to_save)
    if to_save:
        node._kept = tuple(save_one(kept, args, outputs, made) for kept in to_save)
    kinds = [args[i]._array.dtype for i in facts["positions"]]
    if wanted and any(kind != given for kind in kinds for _, given in facts["like"]):
        cast_gradients(node, kinds)
    for note in mode.notes if wanted else ():
        note(node)
    return tuple(made) if isinstance(output, tuple) else made[0]


def save_one(kept: Any, args: tuple[Any, ...], outputs: tuple[Any, ...], made: list[Any]) -> Any:
    """An input as itself; an output as its array and number, since a tensor here would be a cycle; both with their version."""
    for i, (one, result) in enumerate(zip(outputs, made, strict=True)):
        as_given = kept is not result and any(kept is a for a in args)  # what comes out is another tensor
        if kept is one and isinstance(one, Tensor) and result._edge is not None and not as_given:
            version = result.version_cell()
            return SavedResult((one._array, i), version, version.count)
    return guarded(kept) if isinstance(kept, Tensor) else None


def output_tensor(one: Tensor, *, is_input: bool, several: bool) -> Tensor:
    """What a Function gives for a tensor that forward returned.

    An input that is returned as it is, or a view, comes out as a view that must not be written: its derivative is the user's.
    """
    if not (is_input or one._is_view()):
        return one if one._edge is None else from_array(one._array, None)
    result = from_array(one._array, None)
    rare = result.rare()
    rare.base, rare.version = one._base if one._is_view() else one, one.version_cell()
    rare.origin, rare.seen = "multi" if several else "function", rare.version.count
    return result


def check_dirty(dirty: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Count inputs that forward has written as written, and refuse those that are not among the outputs."""
    for one in dirty:
        one.version_cell().count += 1
    if any(all(one is not o for o in outputs) for one in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
            "inplace must all be outputs of the Function."
        )


def check_written(one: Tensor, outputs: tuple[Any, ...]) -> None:
    """Refuse an input that a Function must not write: a leaf, or a view that must not be written."""
    if one.requires_grad and not isinstance(one._edge, Node):
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if one._is_view():
        if len(outputs) > 1:
            raise RuntimeError(text.WRITTEN_VIEW)
        refuse_view(one)


def check_saved(to_save: tuple[Any, ...]) -> None:
    """Refuse to save what is neither a tensor nor None."""
    for i, kept in enumerate(to_save):
        if kept is not None and not isinstance(kept, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(kept).__name__}")


def once_differentiable(backward: Any) -> Any:
    """A backward whose result is not recorded: differentiating it again is an error."""

    @functools.wraps(backward)
    def run(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            outputs = backward(ctx, *grads)
        if not mode.on or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        again = Once.apply(*[None if one is None else one.detach().requires_grad_() for one in several])
        return again if isinstance(outputs, tuple) else again[0]

    return run


class Once(Function):
    """The identity, which may not be differentiated."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        """The tensors themselves."""
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The refusal."""
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
