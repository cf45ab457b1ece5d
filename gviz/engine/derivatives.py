"""From the text of a row's derivatives to its node class: ``_apply`` on arrays (fast) and ``_apply_tensors`` (recorded).

The shapes that most operations have are written out by hand (``apply_maker``): nothing saved, one saved tensor (``apply_one``),
and two inputs that are each saved for the other (``apply_crossed``). All other rows go through ``apply_general``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.face import seal
from gviz.engine.formulas import bind, own
from gviz.engine.modes import mode
from gviz.engine.node import Node, public_edge
from gviz.engine.op import ARRAYS, PASS
from gviz.engine.saved import FREED, SavedResult
from gviz.engine.tensor import Tensor

if TYPE_CHECKING:
    from gviz.engine.op import Row

__all__ = ["crossed", "node_class"]

ndarray = np.ndarray

BOTH_FREED, FIRST_FREED, SECOND_FREED = (FREED, FREED), (FREED, None), (None, FREED)


def node_class(row: Row) -> Any:
    """The grad_fn class of a row, None for a row that is not differentiable."""
    if row.node is None:
        return None
    body = {
        "__slots__": (),
        "_row": row,
        "_arity": len(row.edges) if len(row.edges) < 3 and not row.lists else 0,
        "__module__": "builtins",  # so that type(node) shows its bare name, as PyTorch's does
        "_apply": apply_maker(row),
        "_apply_tensors": tensor_apply(row),
        **{f"_saved_{name}": saved_property(row, name) for name in row.saved_names()},
        **{
            f"_raw_saved_{s.name}": raw_property(s.name)
            for s in (row.saved[i] for i in row.tensor_positions)
            if s.name not in row.hidden
        },
    }
    if row.node == "NotImplemented":  # PyTorch gives it the edges that want a gradient, and no others
        body["next_functions"] = property(lambda node: tuple([public_edge(e) for e in node._edges if e is not None]))
    made = type(row.node, (Node,), body)
    seal(made)
    return made


def saved_property(row: Row, name: str) -> property:
    """``node._saved_NAME``, read from what the forward call kept."""
    return property(lambda node: row.read_saved(node, name))


def raw_property(name: str) -> property:
    """``node._raw_saved_NAME``, to which hooks can be given."""

    def raw(node: Node) -> Any:
        from gviz.engine.autograd.packing import raw_saved

        return raw_saved(node, name)

    return property(raw)


def apply_maker(row: Row) -> Any:
    """The derivative on arrays: specialised where a row saves nothing, one tensor, or each input for the other."""
    formulas, needs = row.on_arrays, row.needs
    lone = len(row.edges) == 1 and not row.lists
    if lone and row.formulas[row.edge_names[0]] is PASS:
        return lambda node, grad, keep: grad
    if lone and len(row.saved) == 1 and row.tensor_positions and needs[0] == (row.saved[0].name,):
        return own(apply_one(row, formulas[0]))
    if lone and not row.saved:
        formula = formulas[0]
        return lambda node, grad, keep: formula(grad)
    if len(row.edges) == 2 and len(formulas) == 2 and not row.lists:
        if all(f is PASS for f in row.formulas.values()):
            return lambda node, grad, keep: (grad, grad)
        if crossed(row):
            return own(apply_crossed(row))
    return apply_general(row)


def crossed(row: Row) -> bool:
    """Whether each of two inputs is saved for the derivative of the other, as in a product."""
    first, second = row.edge_names
    return row.needs == [(second,), (first,)] and [s.name for s in row.saved] == [second, first] and "_backward" not in row.key


def apply_one(row: Row, formula: Any) -> Any:
    """One input, one saved tensor: ``node._kept`` is that tensor, or the result's array."""

    def apply(node: Node, grad: Any, keep: bool) -> Any:
        saved = node._kept
        if saved.__class__ is not ndarray:
            saved = content(saved)
            if saved is None:
                saved = row.arrays(node)[0]
        if not keep:
            node._kept = FREED
        return formula(grad, saved)

    return apply


def apply_crossed(row: Row) -> Any:
    """Two inputs, each saved for the other: ``node._kept`` is (second, first), None where it is not needed."""
    left, right = row.on_arrays
    careful = apply_general(row)  # where what was saved has to be looked into
    by_number = bind(row.formulas[row.edge_names[0]], ARRAYS)  # a product of numbers is quicker without numpy's function

    def apply(node: Node, grad: Any, keep: bool) -> Any:
        other, self = node._kept
        to_self = to_other = None
        if other is not None:
            if other.__class__ is Tensor and other._rare is None:
                to_self = left(grad, other._array)
            elif other.__class__ is float or other.__class__ is int:
                to_self = by_number(grad, other)
            else:
                array = content(other)
                if array is None:
                    return careful(node, grad, keep)
                to_self = left(grad, array)
        if self is not None:
            array = self._array if self.__class__ is Tensor and self._rare is None else content(self)
            if array is None:
                return careful(node, grad, keep)
            to_other = right(grad, array)
        if not keep:
            node._kept = SECOND_FREED if other is None else FIRST_FREED if self is None else BOTH_FREED
        return to_self, to_other

    return apply


def content(saved: Any) -> Any:
    """The array of a saved tensor that is as it was saved; None where that has to be looked into."""
    if saved.__class__ is SavedResult:
        if saved.version.count != saved.expected:
            return None
        saved = saved.content
        return saved if saved.__class__ is ndarray else saved._array
    if isinstance(saved, Tensor):
        rare = saved._rare
        return saved._array if rare is None or not (rare.detached or (rare.version and rare.version.count)) else None
    return None


def apply_general(row: Row) -> Any:
    """Any row: read what was saved, evaluate the formulas of the inputs that want a gradient."""
    spread = spreader(row, row.on_arrays)

    def apply(node: Node, grad: Any, keep: bool) -> Any:
        values = row.arrays(node)
        if not keep:
            row.release(node)
        return spread(node, unpacked(row, grad), values)

    return apply


def tensor_apply(row: Row) -> Any:
    """The derivative on tensors, recorded: the same formulas, bound to the recording functions."""
    made: list[Any] = []  # at the first call: few are recorded

    def apply_tensors(node: Node, grad: Any, keep: bool) -> Any:
        if not made:
            made.append(spreader(row, row.on_tensors))
        values = row.tensors(node)
        if not keep:
            row.release(node)
        before, mode.formula = mode.formula, True
        try:
            return made[0](node, unpacked(row, grad), values)
        finally:
            mode.formula = before

    return apply_tensors


def spreader(row: Row, formulas: list[Any]) -> Any:
    """A function that evaluates the formulas in PyTorch's order, by input names, and puts each gradient at its edge."""
    picks = [[-1 if name == "grad_input_mask" else row.position[name] for name in need] for need in row.needs]
    plan = sorted(zip(formulas, picks, row.groups, strict=True), key=lambda one: one[2])  # seen in second derivatives
    names = row.edge_names

    def spread_one(node: Node, grad: Any, values: list[Any]) -> Any:
        formula, picks, _ = plan[0]
        return formula(grad, *[values[p] for p in picks])

    def spread(node: Node, grad: Any, values: list[Any]) -> Any:
        mask = tuple(edge is not None for edge in node._edges)
        found: dict[str, Any] = {}
        for formula, picks, group in plan:
            if any(mask[names.index(name)] for name in group):
                out = formula(grad, *[mask if p < 0 else values[p] for p in picks])
                found.update(zip(group, out, strict=True) if len(group) > 1 else [(group[0], out)])
        return tuple(found.get(name) for name in names)

    return spread_one if len(row.edges) == 1 else spread


def unpacked(row: Row, grad: Any) -> Any:
    """The gradient; for several outputs a list with None for outputs that got none."""
    if grad.__class__.__name__ == "Parts":
        by_number = grad.by_number
        return [by_number.get(i) for i in range(max(by_number) + 1 if row.outputs == ("...",) else len(row.outputs))]
    return grad
