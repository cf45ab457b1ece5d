"""Derivatives of branches and loops: a ``cond`` of both branches' derivatives, and a loop that runs the steps backward.

Both build the inside again, from the same tensors, and differentiate the copy; so nothing that a branch or a step made has to
be kept but the loop's variables, which the forward loop puts aside step by step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from gviz.static.branches import Branches, cond
from gviz.static.control import Context, Loop, Unit, unit_of
from gviz.static.convert import make
from gviz.static.graph import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gviz.static.graph import Tensor

__all__ = ["OF_UNITS", "BackLoop"]


class BackLoop(Unit):
    """A loop over the steps of another one (``forward``), the last first."""

    def __init__(self, name: str, forward: Loop) -> None:
        super().__init__(name)
        self.forward = forward
        self.context = Context(forward.context.graph, "Enter")
        self.starts: list[Tensor] = []
        self.merges: list[Operation] = []
        self.variables: list[Tensor] = []  # the forward loop's, as they were at the step
        self.results: list[Tensor] = []


def copied(results: Sequence[Tensor], inside: Context, given: dict[Tensor, Tensor]) -> list[Tensor]:
    """The operations that results need, built again in the context that is open.

    Args:
        results: tensors of the inside.
        inside: where they are.
        given: what stands for tensors that are not to be built again.
    """
    needed: set[Any] = set()
    waiting = [unit_of(t.op) for t in results if t not in given and t.op.context is inside]
    while waiting:
        unit = waiting.pop()
        if unit not in needed:
            needed.add(unit)
            waiting.extend(unit_of(t.op) for t in unit.inputs if t not in given and t.op.context is inside)
    new = dict(given)
    for unit in sorted(needed, key=lambda u: u.number):
        name = unit.name.rsplit("/", 1)[-1]
        if isinstance(unit, Operation):
            outputs = inside.graph.create_op(unit.type, [new.get(t, t) for t in unit.inputs], unit.attrs, name).outputs
        else:
            outputs = unit.built_again(name, lambda tensors, context, known: copied(tensors, context, new | known), new)
        new.update(zip(unit.outputs, outputs, strict=True))
    return [new.get(t, t) for t in results]


def of_branches(unit: Branches, grads: Sequence[Tensor | None]) -> Iterator[tuple[Tensor, Tensor | None]]:
    """The derivative of a ``cond`` with respect to what its branches take from outside."""
    from gviz.static.gradients import spread

    outside = [t for t in unit.sides[0].captures | unit.sides[1].captures if t.dtype.is_floating]
    if not outside:
        return

    def derivative(side: Context, results: Sequence[Tensor]) -> Any:
        def build() -> list[Tensor]:
            given = {inside: t for t, inside in side.captures.items()}
            copies = copied(results, side, given)
            pairs = [(c, g) for c, g in zip(copies, grads, strict=True) if g is not None]
            found = spread(side.graph, [c for c, _ in pairs], outside, [g for _, g in pairs], outside)
            return [make("ZerosLike", [t]) if g is None else g for t, g in zip(outside, found, strict=True)]

        return build

    false, true = (derivative(side, results) for side, results in zip(unit.sides, unit.results, strict=True))
    yield from zip(outside, cond(unit.predicate, true, false, strict=True), strict=True)


def of_loop(loop: Loop, grads: Sequence[Tensor | None]) -> Iterator[tuple[Tensor, Tensor | None]]:
    """The derivative of a loop with respect to its variables' first values and to what it takes from outside."""
    from gviz.static.gradients import spread

    graph = loop.context.graph
    back = BackLoop(graph.names.scope.rstrip("/"), loop)
    inside = back.context
    real = [i for i, t in enumerate(loop.starts) if t.dtype.is_floating]
    outside = [t for t in loop.context.captures if t.dtype.is_floating]
    first = [make("ZerosLike", [loop.outputs[i]]) if grads[i] is None else grads[i] for i in real]
    back.starts = [*(g for g in first if g is not None), *(make("ZerosLike", [t]) for t in outside)]
    enters = [inside.add("Enter", [t], "Enter") for t in back.starts]
    back.merges = [inside.add("Merge", [e.outputs[0]] * 2, "Merge") for e in enters]
    running = [m.outputs[0] for m in back.merges]
    bodies = [s.outputs[1].consumers()[0].outputs[0] for s in loop.switches]
    back.variables = [
        inside.add("StackPopV2", [], "StackPopV2", dtype=t.dtype.base_dtype, shape=t.shape.dims).outputs[0] for t in bodies
    ]
    given = dict(zip(bodies, back.variables, strict=True)) | {inner: t for t, inner in loop.context.captures.items()}

    def step() -> list[Tensor]:
        copies = copied([loop.results[i] for i in real], loop.context, given)
        wanted = [*(back.variables[i] for i in real), *outside]
        found = spread(graph, copies, wanted, running[: len(real)], wanted)
        before = [make("ZerosLike", [back.variables[i]]) if g is None else g for i, g in zip(real, found, strict=False)]
        sums = [
            a if g is None else make("AddV2", [a, g]) for a, g in zip(running[len(real) :], found[len(real) :], strict=True)
        ]
        return [*before, *sums]

    back.results = [inside.bring_in(t, back.name) for t in inside.inside(step)]
    for merge, result in zip(back.merges, back.results, strict=True):
        merge.inputs = (merge.inputs[0], inside.add("NextIteration", [result], "NextIteration").outputs[0])
    exits = [inside.add("Exit", [m.outputs[0]], "Exit") for m in back.merges]
    if exits:
        back.close(exits, [*back.starts, *inside.captures, *loop.outputs])
        yield from zip([*(loop.starts[i] for i in real), *outside], back.outputs, strict=True)


def of_back_loop(loop: BackLoop, grads: Any) -> NoReturn:
    """Raise TypeError: second derivatives of loops are not there, as in TensorFlow."""
    raise TypeError("Second-order gradient for while loops not supported.")


OF_UNITS: dict[type, Callable[[Any, Sequence[Tensor | None]], Iterator[tuple[Tensor, Tensor | None]]]] = {
    Branches: of_branches, Loop: of_loop, BackLoop: of_back_loop,
}  # fmt: skip
