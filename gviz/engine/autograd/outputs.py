"""What comes out of a custom Function's forward: its place in the graph, and what forward asked to be saved."""

from __future__ import annotations

from typing import Any

from gviz.engine.data.classes import type_text
from gviz.engine.data.words import WRITTEN_VIEW
from gviz.engine.hooks import cast_gradients, parts_shape
from gviz.engine.modes import mode
from gviz.engine.node import Node, Output, next_seq
from gviz.engine.saved import SavedResult, guarded
from gviz.engine.tensor import Tensor, from_array
from gviz.engine.views import refuse_view, take_place

__all__ = ["wrap_outputs"]


def wrap_outputs(node: Any, args: tuple[Any, ...], output: Any, *, wanted: bool) -> Any:
    """Give the outputs their place in the graph, and save what forward asked for."""
    facts = node._rare
    outputs = output if isinstance(output, tuple) else (output,)
    to_save, plain, dirty = taken(node)
    check_dirty(dirty, outputs)
    flows = [
        wanted and isinstance(o, Tensor) and o._array.dtype.kind in "fc" and all(o is not p for p in plain) for o in outputs
    ]
    facts["like"] = [(o._array.shape, o._array.dtype) if isinstance(o, Tensor) else ((), None) for o in outputs]
    shapes = tuple(shape for shape, _ in facts["like"])
    node._shape = shapes[0] if len(outputs) == 1 and isinstance(outputs[0], Tensor) else parts_shape(shapes)
    next_seq()
    made: list[Any] = []
    for i, one in enumerate(outputs):
        written, is_input, again = (any(one is o for o in others) for others in (dirty, args, outputs[i + 1 :]))
        if not isinstance(one, Tensor) or (again and not is_input):
            made.append(one)  # of a tensor that is there several times the last counts
            continue
        edge = None if not flows[i] else node if len(outputs) == 1 else Output(node, i, one._array.shape)
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
    if wanted:
        check_saved(to_save)
    if wanted and to_save:
        node._kept = tuple(save_one(kept, args, outputs, made) for kept in to_save)
    kinds = [args[i]._array.dtype for i in facts["positions"]]
    if wanted and any(kind != given for kind in kinds for _, given in facts["like"]):
        cast_gradients(node, kinds)
    for note in mode.notes if wanted else ():
        note(node)
    return tuple(made) if isinstance(output, tuple) else made[0]


def taken(node: Any) -> tuple[tuple[Any, ...], ...]:
    """What forward asked for of the context: tensors to save, outputs without gradient, inputs that were written.

    Raises:
        RuntimeError: something marked is no tensor (what PyTorch's text names last is lost there too).
    """
    found = tuple(node.__dict__.pop(name, None) or () for name in ("to_save", "non_differentiable", "dirty_tensors"))
    for marked, refusal in zip(found[1:], MARKED, strict=True):
        if not all(isinstance(one, Tensor) for one in marked):
            raise RuntimeError(refusal)
    return found


MARKED = (
    "mark_non_differentiable only accepts variable arguments, but got ",
    "mark_dirty can only accept variables, but argument ",
)


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
            raise RuntimeError(WRITTEN_VIEW)
        refuse_view(one)


def check_saved(to_save: tuple[Any, ...]) -> None:
    """Refuse to save what is neither a tensor nor None."""
    for i, kept in enumerate(to_save):
        if kept is not None and not isinstance(kept, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type_text(kept)}")
