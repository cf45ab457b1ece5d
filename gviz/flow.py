"""How a gradient flows back: what arrives at each operation, the factor of each input, and what is handed on.

A recorded operation, gviz's or PyTorch's, can be called with a gradient. So this goes through the graph as backward
does, without touching any ``.grad``, as long as the graph has not been freed. Where a program has hooks, which may
change what arrives, it listens to the pass itself.
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from itertools import chain, repeat, zip_longest
from typing import Any, cast

from gviz.graphs import NO_FLOW, Flow, Gradient, Graph, Hooked, TensorRow
from gviz.graphs.numbers import ALL_ELEMENTS, Numbers, Summary
from gviz.reaching import first_to_last, reached
from gviz.walk import (
    MOST_FLOWING,
    SAVED,
    NodeFlow,
    NodeLike,
    TensorLike,
    has_own_backward,
    is_tensor,
    may_be_rounding,
    next_nodes,
    numbers,
    saved_constants,
    saved_value,
)

CHECKPOINT = "CheckpointFunctionBackward"
"""The operation that a reentrant checkpoint records: what it has computed is in no graph."""

MOST_TO_DIAGNOSE = 10_000
"""Operations that are followed where a program is searched for nan."""

MOST_ROWS, MOST_ENTRIES = 64, 4096
"""The largest Jacobian of an operation: each of its rows takes a call."""

ROUNDED = 2.0**-8
"""The part of its terms that rounding to float16 may leave of a sum that is 0."""

LARGE_HALF = 2.0**14
"""A number that float16 can hold, though not the sum of many."""


def flow(
    engine: Any,
    roots: Sequence[TensorLike],
    gradients: Sequence[Any] = (),
    *,
    has_gradient: bool = True,
    jacobians: bool = False,
    most: int = MOST_FLOWING,
    elements: int = ALL_ELEMENTS,
    all_factors: bool = True,
    inputs: Collection[NodeLike] | None = None,
    outdated: Iterable[NodeLike] = (),
) -> dict[NodeLike, NodeFlow]:
    """Return the flow of gradients from the roots, as it is going to be if no hook changes it.

    Args:
        engine: the module that the tensors are of: gviz's engine, or torch.
        roots: the tensors that backward starts from.
        gradients: what each root starts with; ones where there is none.
        has_gradient: whether backward is going to run; else there are the factors alone.
        jacobians: whether to find the Jacobians of small operations, too.
        most: operations; of a larger graph nothing is found.
        elements: of a tensor that are listed.
        outdated: operations that would compute with other numbers than when they were recorded; they count as unknown.
        all_factors: False for the factors alone of operations that hand on nan, inf or 0: they cost a second backward.
        inputs: the nodes that backward is asked to go to, as ``inputs=`` says; None for all.

    Returns:
        An entry for each operation; nothing for one that has been freed, that refuses, or that is the user's own
        Function, whose code is not run a second time, and for those below it.
    """
    order = users_first([root.grad_fn for root in roots if root.grad_fn is not None], most)
    one = Follower(
        engine,
        order,
        inputs,
        has_gradient=has_gradient,
        jacobians=jacobians,
        elements=elements,
        all_factors=all_factors,
    )
    one.unknown.update(outdated)
    with engine.no_grad():
        one.start(roots, gradients)
        for node in order:
            one.hand_on(node, one.visit(node, one.waiting.pop(node)))
    return one.result


class Follower:
    """Follows a gradient through operations: as it is going to be, or (:meth:`watching`) as a pass has it, with hooks.

    Args:
        engine: the module that the tensors are of.
        order: the operations, each after all of its users.
        has_gradient, jacobians, elements, all_factors, inputs: as for :func:`flow`.
    """

    def __init__(
        self,
        engine: Any,
        order: Sequence[NodeLike],
        inputs: Collection[NodeLike] | None,
        *,
        has_gradient: bool = True,
        jacobians: bool = False,
        elements: int = ALL_ELEMENTS,
        all_factors: bool = True,
    ) -> None:
        self.engine, self.order, self.has_gradient, self.jacobians = engine, order, has_gradient, jacobians
        self.elements, self.all_factors = elements, all_factors
        self.waiting: dict[NodeLike, dict[int, Any]] = {node: {} for node in order}
        self.constants = {node: saved_constants(node) for node in order}
        self.unknown: set[NodeLike] = (
            set()
        )  # what is below an operation of which nothing is known gets more than is known
        self.goals: set[NodeLike | None] | None = None if inputs is None else {*inputs}
        self.changes: list[Hooked] = []  # what hooks have done since an operation was visited last
        self.of_leaves: dict[NodeLike, Hooked] = {}  # what came to a leaf otherwise than it was handed on
        self.grads_before_hooks: dict[NodeLike, Sequence[Any]] = {}  # by operations that run, before any hook
        self.result: dict[NodeLike, NodeFlow] = {}
        self.handed: dict[tuple[NodeLike, int], Numbers | None] = {}  # what waits at an output, unless it is a sum
        goals: set[NodeLike | None] = self.goals or set()
        for node in reversed(order) if goals else ():
            if any(following in goals for following, _ in node.next_functions):
                goals.add(node)

    def start(self, roots: Sequence[TensorLike], gradients: Sequence[Any]) -> None:
        """Let roots have what backward starts from: the gradients, ones where there is none."""
        for root, gradient in zip_longest(roots, gradients[: len(roots)]):
            if root.grad_fn in self.waiting:
                start = self.engine.ones_like(root) if gradient is None else gradient
                add(self.waiting[root.grad_fn], getattr(root, "output_nr", 0), start)

    def hand_on(self, node: NodeLike, grads: Sequence[Any]) -> None:
        """Let the inputs of an operation have what it hands on."""
        flows = self.result[node].inputs if node in self.result else ()
        every_flow = chain(flows, repeat(NO_FLOW))
        for (following, number), grad, flow in zip(node.next_functions, grads, every_flow, strict=False):
            if following is not None and grad is not None and following in self.waiting:
                self.handed[following, number] = None if number in self.waiting[following] else flow.handed
                add(self.waiting[following], number, grad)

    def visit(
        self,
        node: NodeLike,
        arrived: dict[int, Any],
        hooks: tuple[Hooked, ...] = (),
        own: tuple[Any, ...] | None = None,
    ) -> Sequence[Any]:
        """Note what arrives at an operation, by the number of the output; return what it hands on, if that is known.

        Args:
            node: the operation.
            arrived: the gradients.
            hooks: what hooks have made of them.
            own: what the operation has computed of them in a pass; None to have it compute that.
        """
        engine, elements = self.engine, self.elements
        if node in self.unknown or (arrived and has_own_backward(node)):
            self.unknown.update(next_nodes(node))
            return ()
        if not arrived or type(node).__name__ == "AccumulateGrad":
            return ()
        count = len(getattr(node, "_input_metadata", ())) or 1
        grads: list[Any] = [arrived.get(number) for number in range(count)]
        is_noted = count == 1 and self.has_gradient
        arrives = (self.handed.pop((node, 0), None) or numbers(grads[0], elements)) if is_noted else None
        try:
            made = saved_value(node, f"{SAVED}result")
            result = numbers(made, elements) if is_tensor(made) else None
            own = _as_tuple(node(*grads)) if own is None else own  # type: ignore[operator]
            in_grads = self.grads_to_goals(node, to_sizes(node, own))
            in_numbers = [None if grad is None else numbers(grad, elements, grads[0], arrives) for grad in in_grads]
            is_fine = all(one is None or (one.is_finite and not one.has_only(0)) for one in in_numbers)
            is_wanted = count == 1 and (self.all_factors or not is_fine)
            of_ones = node(engine.ones_like(grads[0])) if is_wanted else (None,) * len(in_grads)  # type: ignore[operator]
            factors = _as_tuple(of_ones)
            lost = underflows(node, grads, in_numbers) if self.has_gradient else set()
        except RuntimeError:
            self.unknown.update(next_nodes(node))
            return ()
        is_asked = self.jacobians or any(map(may_be_rounding, in_numbers))  # of what was added up tells the Jacobian
        matrices = jacobians_of(engine, node, grads, in_grads) if is_asked and len(arrived) == 1 else ()
        inputs = [
            Flow(
                "",
                None if factor is None else numbers(factor, elements),
                one if self.has_gradient else None,
                matrix,
                slot in lost,
            )
            for slot, (factor, one, matrix) in enumerate(zip_longest(factors, in_numbers, matrices))
        ]
        self.result[node] = NodeFlow(arrives, inputs, self.constants[node], hooks, result)
        return in_grads

    def grads_to_goals(self, node: NodeLike, grads: Sequence[Any]) -> tuple[Any, ...]:
        """Return the gradients that an operation hands on; None where no input of ``inputs=`` lies behind."""
        goals = self.goals
        if goals is None:
            return tuple(grads)
        pairs = zip_longest(grads, node.next_functions[: len(grads)], fillvalue=(None, 0))
        return tuple(grad if following in goals else None for grad, (following, _) in pairs)

    @contextmanager
    def watching(self, quiet: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
        """Follow the gradient of the pass that runs in the block: what comes to each operation after all hooks.

        What comes otherwise than it was handed on was changed by a hook that nobody has heard of: PyTorch's own nodes
        do not tell when one is registered.

        Args:
            quiet: gives a block in which nobody hears of calls.
        """

        def before(node: NodeLike, later: Any, grads: tuple[Any, ...]) -> None:
            with quiet(), self.engine.no_grad():
                hooks, arrived = self.take_changes(), {at: grad for at, grad in enumerate(grads) if grad is not None}
                waiting = self.waiting.pop(node, {})
                unheard = () if hooks or node in self.unknown else self.changed(waiting, arrived, "arrived")
                if hooks or unheard or node in self.unknown:
                    self.handed.pop((node, 0), None)
                self.unknown.discard(node)  # what arrives is known now, whatever is above
                if unheard and type(node).__name__ == "AccumulateGrad":
                    self.of_leaves[node] = unheard[0]
                hooks = hooks or unheard
                if has_own_backward(node):
                    own = numbers(grads[0], self.elements) if len(grads) == 1 and arrived else None
                    self.result[node] = NodeFlow(own, [NO_FLOW] * len(node.next_functions), self.constants[node], hooks)
                elif node.next_functions and len(getattr(later, "hooks_dict_ref", dict)()) == 1:
                    ready[node] = arrived, hooks  # PyTorch has no other hook: it tells what the operation computes
                else:
                    self.grads_before_hooks[node] = self.visit(node, arrived, hooks)

        def after(node: NodeLike, in_grads: tuple[Any, ...]) -> None:
            with quiet(), self.engine.no_grad():
                needed = self.grads_to_goals(node, in_grads)
                if node in ready:
                    self.visit(node, *ready.pop(node), in_grads)
                own, hooks = self.result.get(node), self.take_changes()
                without_hooks = {
                    at: grad for at, grad in enumerate(self.grads_before_hooks.pop(node, ())) if grad is not None
                }
                hooks = hooks or self.changed(without_hooks, dict(enumerate(needed)), "handed")
                if own is not None and (hooks or has_own_backward(node)):
                    pairs = zip_longest(own.inputs, needed[: len(own.inputs)])
                    inputs = [
                        one._replace(handed=None if grad is None else numbers(grad, self.elements))
                        for one, grad in pairs
                    ]
                    self.result[node] = own._replace(inputs=inputs, hooks=(*own.hooks, *hooks))
                self.hand_on(node, needed)

        ready: dict[NodeLike, tuple[dict[int, Any], tuple[Hooked, ...]]] = {}  # what arrived at those that run
        handles = list[Any]()
        for node in self.order:
            place: Any = node
            later = place.register_hook(lambda in_grads, _, node=node: after(node, in_grads))
            handles += [later, place.register_prehook(partial(before, node, later))]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def changed(self, before: Mapping[int, Any], after: Mapping[int, Any], kind: str) -> tuple[Hooked, ...]:
        """Return the first of the gradients that is another one now; none where all are as they were."""
        for at, grad in before.items():
            now = after.get(at)
            if now is None or _is_other(self.engine, grad, now):
                old, new = (None if one is None else numbers(one, self.elements) for one in (grad, now))
                return (Hooked(old, new, None, kind),)
        return ()

    def take_changes(self) -> tuple[Hooked, ...]:
        """Return the changes that hooks have made since the last call of this method."""
        changes = tuple(self.changes)
        self.changes.clear()
        return changes


def jacobians_of(
    engine: Any, node: NodeLike, out_grads: Sequence[Any], grads: Sequence[Any]
) -> tuple[Numbers | None, ...]:
    """Return the Jacobian of an operation for each input; None for a large one.

    Where nan or inf arrives, an entry is the whole number 0 if the operation lets nothing through there, as a
    permutation or a selection does: it is found by sending nan.

    Args:
        engine: the module that its tensors are of.
        node: the operation.
        out_grads: a gradient of the size of the result; of several results all but one are None.
        grads: one of the size of each input, or None.
    """
    arrived = next(grad for grad in out_grads if grad is not None)
    count = arrived.numel()
    places = [at for at, grad in enumerate(grads) if grad is not None and count * grad.numel() <= MOST_ENTRIES]
    matrices: list[Numbers | None] = [None] * len(grads)
    if places and 0 < count <= MOST_ROWS and numbers(arrived).elements is not None:
        units = engine.eye(count, dtype=arrived.dtype).reshape(count, *arrived.shape)
        is_finite, call = numbers(arrived).is_finite, cast("Callable[..., Any]", node)
        probes = [units] if is_finite else [units, engine.where(units == 1, math.nan, units)]
        rows, *nans = (
            [to_sizes(node, _as_tuple(call(*[None if grad is None else one for grad in out_grads]))) for one in probe]
            for probe in probes
        )
        for at in places:
            entries = entries_of(rows, at)
            if nans and entries:
                through_nans = entries_of(nans[0], at)
                entries = [
                    0 if not one and through == 0 else one for one, through in zip(entries, through_nans, strict=True)
                ]
            if entries:
                matrices[at] = Numbers((count, len(entries) // count), "", tuple(entries))
    return tuple(matrices)


def underflows(node: NodeLike, out_grads: Sequence[Any], handed: Sequence[Numbers | None]) -> set[int]:
    """Return the inputs that an operation hands on 0 to only because the dtype has no number as small.

    A backward is linear: what cancels out does so for larger gradients, too, but for rounding, which is small beside
    what the same gradients bring with other signs.

    Args:
        node: the operation.
        out_grads: what arrives, for each result.
        handed: what is handed on to each input.
    """
    zeros = [at for at, one in enumerate(handed) if one is not None and one.has_only(0)]
    largest = max(largest_sizes(out_grads)) if zeros else 0.0  # it is nan for complex numbers
    is_half = zeros and any("float16" in str(grad.dtype) for grad in out_grads if grad is not None)
    tops = (1.0, LARGE_HALF) if is_half else (1.0,)  # sums of the larger one may be too large
    return {at for top in tops if 0 < largest < top for at in zeros_of_size(node, out_grads, zeros, largest / top)}


def zeros_of_size(node: NodeLike, out_grads: Sequence[Any], zeros: Sequence[int], size: float) -> list[int]:
    """Return the inputs that get other gradients than 0, which do not cancel out, of larger ones of the same signs.

    Args:
        node: the operation.
        out_grads: what arrives, for each result.
        zeros: the inputs that get 0 of these.
        size: what of these is to be about 1.
    """
    unit, call = 2.0 ** math.frexp(size)[1], cast("Callable[..., Any]", node)
    larger = [None if grad is None else grad.double() / unit for grad in out_grads]
    counts: list[Any] = [
        None if grad is None else grad.eq(grad).double().flatten().cumsum(0).reshape(grad.shape) for grad in larger
    ]
    mixed = [
        None if grad is None else grad * count.square().cos().sign()  # 1 or -1, without any order, the same each time
        for grad, count in zip(larger, counts, strict=True)
    ]
    probes = [
        [None if one is None else one.to(grad.dtype) for one, grad in zip(probe, out_grads, strict=True)]
        for probe in (larger, mixed)
    ]
    own, others = (largest_sizes(to_sizes(node, _as_tuple(call(*probe)))) for probe in probes)
    return [at for at in zeros if math.inf > own[at] > ROUNDED * others[at]]


def largest_sizes(grads: Iterable[Any]) -> list[float]:
    """Return the size of the largest number of each gradient; 0 for None, nan for complex numbers."""
    summaries = [Summary(smallest=0.0, largest=0.0) if one is None else numbers(one).summary for one in grads]
    return [max(abs(one.smallest), abs(one.largest)) for one in summaries]


def entries_of(rows: Sequence[Sequence[Any]], at: int) -> list[Any]:
    """Return the entries of a Jacobian from its rows, each the gradients of all inputs; none where one is not known."""
    parts = [numbers(row[at], MOST_ENTRIES).elements for row in rows]
    return [item for part in parts for item in part or ()] if None not in parts else []


def flow_through_hooks(
    roots: Sequence[TensorLike], *, most: int = MOST_FLOWING, **facts: Any
) -> tuple[dict[NodeLike, NodeFlow], dict[int, tuple[Hooked, ...]]]:
    """Return the flow from roots as the program's hooks are going to make it.

    The second is what they make of what comes to leaves, by the identity of each.

    A pass runs, and the hooks with it: those of PyTorch's operations are known by nothing else. The graph and each
    ``.grad`` stay as they are. Where the pass fails it is the flow without hooks.

    Args:
        roots: the tensors that backward starts from, with ones.
        most: operations; of a larger graph nothing is found.
        facts: as :class:`Follower` takes them.
    """
    engine = engine_of(roots[0])
    order = users_first([root.grad_fn for root in roots if root.grad_fn is not None], most)
    leaves = {node: leaf for node in order if (leaf := getattr(node, "variable", None)) is not None}
    one, starts = Follower(engine, order, None, **facts), [*map(engine.ones_like, roots)]
    one.start(roots, ())
    try:
        with retained_kept(engine), engine.autograd.set_detect_anomaly(False), one.watching(nullcontext):
            grads = engine.autograd.grad(roots, [*leaves.values()], starts, retain_graph=True, allow_unused=True)
    except RuntimeError:
        return flow(engine, roots, most=most, **facts), {}
    pairs = zip(leaves.items(), grads, strict=True)  # they are asked for, so that no node adds to them
    return one.result, {
        id(leaf): changes
        for (node, leaf), grad in pairs
        if (changes := one.changed(one.waiting[node], {} if grad is None else {0: grad}, "arrived"))
    }


@contextmanager
def retained_kept(engine: Any) -> Iterator[None]:
    """Leave each ``.grad`` of an intermediate that retains it as it is: ``autograd.grad`` adds to it.

    A tensor that the program keeps in a list, or in a module, is nobody's variable: the collector knows them all.
    """
    kind: type[Any] = engine.Tensor
    grads = [(one, one.grad) for one in gc.get_objects() if type(one) is kind and one.retains_grad]
    try:
        yield
    finally:
        for tensor, grad in grads:
            if tensor.grad is not grad:  # of others the size may be one that PyTorch would not take
                tensor.grad = grad


def engine_of(tensor: Any) -> Any:
    """Return the module that a tensor is of: the real torch, or gviz's engine."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(tensor, torch.Tensor) else import_module("gviz.engine")


def _is_other(engine: Any, one: Any, other: Any) -> bool:
    """Return whether a gradient is another one; False where they cannot be compared."""
    try:
        is_equal = one is other or engine.equal(one, other)
        return not (is_equal or engine.allclose(one, other, equal_nan=True))
    except RuntimeError:
        return False


def _as_tuple(result: Any) -> tuple[Any, ...]:
    """Return what an operation hands on, always as one gradient for each input."""
    return result if isinstance(result, tuple) else (result,)


def to_sizes(node: NodeLike, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return gradients in the sizes of their inputs: where an input was broadcast, its gradient is summed."""
    result = list(grads)
    for place, ((following, number), grad) in enumerate(zip(node.next_functions, grads, strict=False)):
        metadata = getattr(following, "_input_metadata", ())
        if grad is not None and number < len(metadata) and tuple(metadata[number].shape) != tuple(grad.shape):
            result[place] = grad.sum_to_size(metadata[number].shape)
    return tuple(result)


def add(arrived: dict[int, Any], number: int, grad: Any) -> None:
    """Add a gradient to what has arrived for an output."""
    arrived[number] = grad if number not in arrived else arrived[number] + grad


def users_first(starts: Sequence[NodeLike], most: int) -> list[NodeLike]:
    """Return the operations below some others, each after all of its users; [] if they are too many."""
    nodes = reached(starts, next_nodes)
    return first_to_last(nodes, next_nodes) if len(nodes) <= most else []


def as_brought(graph: Graph) -> Graph:
    """Return a graph whose tensors have what its backward brings; what ``.grad`` has is ``before``, if it is another.

    A leaf that the roots are not made from gets none. A program that was followed says all that itself.
    """
    if graph.code:
        return graph
    has_hidden = any(node.label == CHECKPOINT for node in graph.nodes)
    inside = {node.name for node in graph.nodes}

    def brought(row: TensorRow) -> TensorRow:
        old, own = row.grad.value, row.grad.arrived
        if own is not None:
            return row._replace(grad=Gradient(own, old if has_other(row.grad) else None, hooks=row.grad.hooks))
        is_outside = row.is_leaf and not has_hidden and row.name not in inside
        return row._replace(grad=Gradient(None, row.grad.before or old)) if is_outside else row

    return graph.changed(tensors=tuple(map(brought, graph.tensors)))


def has_other(grad: Gradient) -> bool:
    """Return whether ``.grad`` has another gradient than backward brings; zeros, which zero_grad() leaves, are none."""
    own, old = grad.arrived, grad.value
    return own is not None and old is not None and not (old.has_only(0) or is_multiple(own, old))


def is_multiple(one: Numbers, other: Numbers, factor: float = 1.0) -> bool:
    """Return whether a gradient is so many times another one, as far as their summaries tell."""
    pairs = [(factor * number, wanted) for number, wanted in zip(one.summary[:4], other.summary[:4], strict=True)]
    tolerance = 1e-3 * factor * one.norm
    return not one.is_finite or all(math.isclose(*pair, rel_tol=1e-3, abs_tol=tolerance) for pair in pairs)
