"""``torch.autograd.Function``: an operation whose forward and backward the user writes."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gviz.autograd.modes import enable_grad, mode, no_grad
from gviz.autograd.node import Node, edge_to
from gviz.autograd.requests import grad
from gviz.autograd.row import TENSORS
from gviz.autograd.saved import GONE, Saved, save, unpack
from gviz.autograd.tensor import Tensor, edge_of, from_array, recorded_edge
from gviz.autograd.views import refuse_view, take_place
from gviz.autograd.words import FREED
from gviz.engine.autograd.packing import raw_saved_tensors
from gviz.numbers.classes import type_text
from gviz.numbers.dtypes import INEXACT
from gviz.numbers.words import absent, refuse, warn

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

LEVELS: list[list[tuple[Any, Any]]] = []
"""The levels of forward mode that are open, each with its dual tensors and their tangents."""


class FunctionCtx:
    """What forward leaves for backward.

    The node itself, as in PyTorch, which takes the user's attributes of whatever name.
    """

    __slots__ = ("__dict__",)
    to_save: Any = ()
    dirty_tensors: Any = ()
    non_differentiable: Any = ()
    materialize_grads = True
    _materialize_non_diff_grads = True

    def save_for_backward(self, *tensors: object) -> None:
        """Keep these tensors for backward, freed with the graph."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: object) -> None:
        """Keep these tensors for jvp."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: object) -> None:
        """Note that forward has written these inputs in place."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: object) -> None:
        """Note that these outputs get no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether outputs without a gradient give zeros (the default) or None to backward."""
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx, Node):
    """The node of one call of a Function."""

    __slots__ = ()
    _function: Any
    _input_places: list[int]
    _input_count: int
    _jvp: tuple[Any, ...] = ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` kept, unless backward has freed it, or it was modified in place since.

        While jvp runs, what ``save_for_forward`` kept.
        """
        if "saved_for_forward" in vars(self):
            return self.saved_for_forward
        refuse(self._saved is GONE, FREED)
        return tuple(unpack(self, one) for one in self._saved or ())

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of :attr:`saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    _raw_saved_tensors = property(raw_saved_tensors)

    def apply(self, grads: list[Any], mask: object = None) -> tuple[Any, ...]:
        """Run the user's backward; refuse another number of gradients than forward has inputs."""
        if self.materialize_grads:
            grads = [
                from_array(np.zeros(*fact), None) if g is None and fact[1] is not None else g
                for g, fact in zip(grads, self._outputs, strict=True)
            ]
        before, mode.formula = mode.formula, False
        try:
            result = self.transposed_jvp(grads) if self._jvp else self._function._user_backward()(self, *grads)
        finally:
            mode.formula = before
        results, name, count = (
            list(result) if isinstance(result, tuple) else [result],
            type(self).__name__,
            self._input_count,
        )
        if len(results) > count and all(one is None for one in results[count:]):
            results = results[:count]
        refuse(
            len(results) != count,
            f"function {name} returned an incorrect number of gradients (expected {count}, got {len(results)})",
        )
        for i, one in enumerate(results):
            if one is not None and i not in self._input_places:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if one is not None and not isinstance(one, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type_text(one)})")
        return tuple(results[place] for place in self._input_places)

    def record_jvp(self, args: tuple[Any, ...]) -> None:
        """Run the user's jvp, and keep its graph: from tangents of the inputs to tangents of the outputs."""
        with enable_grad():
            tangents = [
                from_array(np.zeros_like(one._array), None).requires_grad_()
                if isinstance(one, Tensor) and one._array.dtype.kind in INEXACT
                else None
                for one in args
            ]
            changes = self._function.jvp(self, *tangents)
        self._jvp = tangents, changes if isinstance(changes, tuple) else (changes,)

    def transposed_jvp(self, grads: list[Any]) -> tuple[Any, ...]:
        """Return the gradients of the inputs: jvp is linear in the tangents, so its own gradient is the backward."""
        tangents, changes = self._jvp
        pairs = [(c, g) for c, g in zip(changes, grads, strict=True) if g is not None and c is not None]
        pairs = [(change, g) for change, g in pairs if change.requires_grad]
        ends, weights = zip(*pairs, strict=True) if pairs else ((), ())
        leaves = [one for one in tangents if one is not None]
        slopes = grad(ends, leaves, weights, create_graph=True, allow_unused=True) if pairs else (None,) * len(leaves)
        rest = iter(slopes)
        return tuple(None if one is None else next(rest) for one in tangents)

    def release(self) -> None:
        """Drop the saved tensors."""
        self._saved = GONE

    def __dir__(self) -> list[str]:
        own = [name for name in (*vars(FunctionCtx), *vars(self)) if not name.startswith("_")]
        return [*super().__dir__(), *own, "apply", "saved_tensors"]

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


class Function:
    """Base of the user's operations.

    Static ``forward(ctx, ...)`` and ``backward(ctx, *grads)``, called through ``apply``.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#function
    """

    _backward_cls: Any

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(
            f"{cls.__name__}Backward",
            (BackwardCFunction,),
            {"__slots__": (), "_function": cls, "__module__": "torch.autograd.function"},
        )

    def __init__(self, *args: object, **kwargs: object) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        """Refuse what PyTorch 0.3 did: it is ``apply`` that is called."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """To be written by the user."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: object) -> Any:
        """May be written by the user, if forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """To be written by the user, also under the name ``vjp``."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(*args: object) -> Any:
        """To be written by the user for forward mode: the tangents of the outputs, of those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def _user_backward(cls) -> Any:
        """Return the user's backward, or vjp."""
        both = [one for one in (cls.vjp, cls.backward) if one is not Function.backward]
        refuse(
            len(both) == 2,
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement "
            "one of them.",
        )
        return both[0] if both else Function.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: object) -> Any:
        """Run forward, and record one node for it."""
        apart = cls.setup_context is not Function.setup_context
        if kwargs or apart:
            bound = inspect.signature(cls.forward).bind(*(() if apart else (None,)), *args, **kwargs)
            bound.apply_defaults()
            args = bound.args if apart else bound.args[1:]
        places = [i for i, one in enumerate(args) if isinstance(one, Tensor)]
        is_recorded = mode.recording and any(args[i].requires_grad for i in places)
        node = cls._backward_cls(tuple(edge_of(args[i]) for i in places) if is_recorded else (), ())
        node._input_places, node._input_count = places, len(args)
        node.needs_input_grad = tuple(isinstance(one, Tensor) and one.requires_grad for one in args)
        with no_grad():
            output = cls.forward(*args) if apart else cls.forward(node, *args)
            if apart:
                cls.setup_context(node, args, output)
        results = tuple(
            outputs_of(node, args, output if isinstance(output, tuple) else (output,), is_recorded=is_recorded)
        )
        if LEVELS and is_recorded and cls.jvp is not Function.jvp:
            node.record_jvp(args)
        vars(node).pop("saved_for_forward", None)
        return results if isinstance(output, tuple) else results[0]


Function.__init_subclass__.__func__(Function)  # type: ignore[attr-defined] # makes its nodes' class
InplaceFunction = Function


def outputs_of(
    node: BackwardCFunction, args: tuple[Any, ...], outputs: tuple[Any, ...], *, is_recorded: bool
) -> list[Any]:
    """Return the outputs of forward in their place in the graph; what it asked for is saved."""
    quiet = () if node._materialize_non_diff_grads else node.non_differentiable
    flowing = [isinstance(o, Tensor) and all(o is not q for q in quiet) for o in outputs]
    node._outputs = tuple(
        (o._array.shape, o._array.dtype) if f else ((), None) for o, f in zip(outputs, flowing, strict=True)
    )
    for one in node.dirty_tensors:
        one._version_counter().count += 1
        refuse(
            all(one is not o for o in outputs),
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function.",
        )
    results: list[Any] = []
    for i, one in enumerate(outputs):
        flows = (
            is_recorded
            and isinstance(one, Tensor)
            and one._array.dtype.kind in INEXACT
            and all(one is not other for other in node.non_differentiable)
        )
        is_input = any(one is a for a in args)
        if is_input and not flows and isinstance(one, Tensor) and one.requires_grad:
            one = one.detach()  # noqa: PLW2901
        elif any(one is d for d in node.dirty_tensors):
            if flows:
                if not is_input:
                    warn(
                        "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
                        "mutated should be passed to ctx.mark_dirty()."
                    )
                refuse_written(one, outputs)
                take_place(one, edge_to(node, i))
        elif isinstance(one, Tensor):
            again = [result for result, output in zip(results, outputs, strict=False) if output is one and not is_input]
            one = again[0] if again else as_view(one, is_input=is_input, several=len(outputs) > 1)  # noqa: PLW2901
            one._edge = edge_to(node, i) if flows else one._edge
        results.append(one)
    if is_recorded:
        node._saved = [saved_value(one, args, outputs, results, i) for i, one in enumerate(node.to_save)]
        for note in mode.node_callbacks:
            note(node, (), ())
    for name in ("to_save", "non_differentiable", "dirty_tensors"):
        node.__dict__.pop(name, None)
    return results


def saved_value(
    one: Tensor | None, args: tuple[Any, ...], outputs: tuple[Any, ...], results: list[Any], place: int
) -> Any:
    """Return an input as itself, an output as its array and number (a tensor would be a cycle), with their version."""
    if one is not None and not isinstance(one, Tensor):
        raise TypeError(f"save_for_backward can only save variables, but argument {place} is of type {type_text(one)}")
    for i, (output, result) in enumerate(zip(outputs, results, strict=True)):
        own = one is result or all(one is not a for a in args)
        if one is output and one is not None and result._edge is not None and own:
            return Saved(one._array, result._version_counter(), i)
    return save(one)


def as_view(one: Tensor, *, is_input: bool, several: bool) -> Tensor:
    """Return an input that comes out as it is, or a view, as a view that must not be written.

    Its derivative is the user's.
    """
    if not (is_input or one._is_view()):
        return one if one._edge is None else from_array(one._array, None)
    result = from_array(one._array, None)
    meta, result._version_cell = result._autograd_meta(), one._version_counter()
    meta.creation_meta, meta.version_seen = "multi" if several else "function", one._version
    meta.base = one if one._base is None else one._base
    return result


def refuse_written(one: Tensor, outputs: tuple[Any, ...]) -> None:
    """Refuse an input that a Function must not write: a leaf, or a view that must not be written."""
    refuse(
        one.requires_grad and recorded_edge(one) is None,
        "a leaf Variable that requires grad has been used in an in-place operation.",
    )
    if one._is_view():
        refuse(
            len(outputs) > 1,
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
            "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
            "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
            "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
            "second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you "
            "need help to do this change.",
        )
        refuse_view(one)


def once_differentiable(backward: Callable[..., Any]) -> Any:
    """Return a backward whose result is not recorded: differentiating it again is an error."""

    @functools.wraps(backward)
    def run(ctx: FunctionCtx, *grads: Tensor | None) -> Any:
        with no_grad():
            grads_in = backward(ctx, *grads)
        if not mode.recording or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return grads_in
        several = grads_in if isinstance(grads_in, tuple) else (grads_in,)
        again = TENSORS["delayed_error"](
            [None if one is None else one.detach().requires_grad_() for one in several],
            "trying to differentiate twice a function that was marked with @once_differentiable",
        )
        return again if isinstance(grads_in, tuple) else again[0]

    return run


__getattr__ = absent("torch.autograd.function")
