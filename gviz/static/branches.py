"""Branches that are part of the graph: ``tf.cond``, with TensorFlow's operations for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.static.control import Context, Unit
from gviz.static.convert import convert, make, of_kind
from gviz.static.dtypes import bool_
from gviz.static.graph import Operation, Tensor
from gviz.static.structures import described, leaves, refilled, same_structure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


__all__ = ["Branches", "cond"]


class Branches(Unit):
    """A ``cond``: two insides (the false branch and the true one), of which one runs."""

    def __init__(self, name: str, predicate: Tensor, sides: tuple[Context, Context]) -> None:
        super().__init__(name)
        self.predicate, self.sides = predicate, sides
        self.results: tuple[list[Tensor], list[Tensor]] = ([], [])

    def built_again(self, name: str, copied: Callable[..., list[Tensor]], new: dict[Tensor, Tensor]) -> Any:
        """The same branches in the context that is open, from other tensors."""

        def again(side: Context, results: list[Tensor]) -> Callable[[], list[Tensor]]:
            return lambda: copied(results, side, {inside: new.get(t, t) for t, inside in side.captures.items()})

        false, true = map(again, self.sides, self.results)
        return cond(new.get(self.predicate, self.predicate), true, false, strict=True, name=name)


def cond(
    pred: Any, true_fn: Any = None, false_fn: Any = None, strict: bool = False, name: str | None = None, fn1: Any = None,
    fn2: Any = None,
) -> Any:  # fmt: skip
    """One of two functions' tensors, chosen when the graph runs.

    Args:
        pred: a boolean scalar tensor.
        true_fn: builds the tensors for True.
        false_fn: builds as many, of the same types, for False.
        strict: whether one tensor in a list stays in it.
        name: of the scope.
        fn1: older name of ``true_fn``.
        fn2: older name of ``false_fn``.

    Raises:
        TypeError: a function is none, or the predicate is a Python bool.
        ValueError: the two give different things.
    """
    functions = (fn2 if false_fn is None else false_fn, fn1 if true_fn is None else true_fn)
    for what, function in zip(("true_fn", "false_fn"), reversed(functions), strict=True):
        if not callable(function):
            raise TypeError(f"'{what}' must be callable.")
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    predicate = of_kind("Switch", "pred", pred, bool_)
    graph = predicate.graph
    with graph.as_default(), graph.name_scope(name or "cond") as scope:
        both = make("Switch", [predicate, predicate]).op
        pivots = [make("Identity", [both.outputs[side]], f"switch_{'ft'[side]}").op for side in (1, 0)]
        inner = make("Identity", [predicate], "pred_id")
        sides = (Context(graph, "Switch", inner, 0), Context(graph, "Switch", inner, 1))
        unit = Branches(scope.rstrip("/"), predicate, sides)
        given: dict[int, Any] = {}
        for side in (1, 0):
            sides[side].pivot = pivots[1 - side]
            given[side] = sides[side].inside(functions[side])
            unit.results[side].extend(branch_results(sides[side], given[side], unit.name))
        check_results(given, unit)
        merges = [sides[0].add("Merge", pair, "Merge") for pair in zip(*unit.results, strict=True)]
    if merges:
        unit.close(merges, [predicate, inner, *sides[0].captures, *sides[1].captures])
    kept = given[1] if isinstance(given[1], (list, tuple, dict)) else [given[1]]
    packed = refilled(kept, iter(unit.outputs))
    single = not isinstance(given[1], (list, tuple, dict)) or (len(packed) == 1 and not strict and not isinstance(packed, dict))
    return packed[0] if single else packed


def branch_results(side: Context, given: Any, name: str) -> Iterator[Tensor]:
    """What a branch gives, all of it inside."""
    for value in leaves(given):
        if value is None:
            raise ValueError(f"'{('false_fn', 'true_fn')[side.side]}' must have a return value.")
        if isinstance(value, Operation):  # whoever takes the branch's result comes after it
            with side.graph.control_dependencies([value]):
                tensor = side.inside(make, ["Identity", [side.predicate]])
        else:
            tensor = side.inside(convert, [value])
        yield side.bring_in(tensor, name)


def check_results(given: dict[int, Any], unit: Branches) -> None:
    """Raise ValueError for branches that give different structures or different dtypes."""
    false, true = unit.results
    if not same_structure(given[0], given[1], kinds=True):
        raise ValueError(
            "Outputs of true_fn and false_fn must have the same structure: "
            f"{described(given[1])} from 'true_fn' and {described(given[0])} from 'false_fn'."
        )
    for one, other in zip(false, true, strict=True):
        if one.dtype.base_dtype != other.dtype.base_dtype:
            raise ValueError(
                "Outputs of 'true_fn' and 'false_fn' must have the same type(s). "
                f"Received {other.dtype.base_dtype.name} from 'true_fn' and {one.dtype.base_dtype.name} from 'false_fn'."
            )
