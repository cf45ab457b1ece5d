"""The backward pass: every reachable node once, youngest first.

A node is always younger than its inputs, so sorting by creation number is a topological order; no recursion, no stack.
A gradient waits in the ``pending`` slot of the node it is for; a broadcast one is summed back once, on its way there.
:func:`sweep` is the fast way, on arrays; :func:`sweep_towards` serves all else: ``create_graph=True`` (gradients are tensors
and every step is recorded), the gradients of certain tensors only, and anomaly mode.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.hooks import run as run_hooked
from gviz.engine.hooks import tensor_hooks
from gviz.engine.modes import mode
from gviz.engine.node import AccumulateGrad, Node, Parts
from gviz.engine.op import TENSORS
from gviz.engine.tensor import Tensor, edge_of, from_array

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

__all__ = ["backward", "call_node", "grad", "run"]

by_seq = attrgetter("seq")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves below them.

    Args:
        tensors: one tensor or several.
        grad_tensors: a gradient for each; None for ones of a one-element tensor.
        retain_graph: keep saved tensors; default: as ``create_graph``.
        create_graph: record the computation of the gradients.
        inputs: accumulate only into these.

    Raises:
        RuntimeError: in PyTorch's words.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.backward.html
    """
    if inputs is not None:
        inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    starts = starts_of(tensors, grad_tensors, create=create_graph)
    if create_graph:
        warn_cycle()
    for tensor in inputs or ():
        tensor.retain_grad()
    keep = create_graph if retain_graph is None else retain_graph
    run(starts, keep=bool(keep), create=bool(create_graph), only=None if inputs is None else [edge_of(t) for t in inputs])


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, without touching any ``.grad``.

    Raises:
        RuntimeError: in PyTorch's words; also where an input is not in the graph and ``allow_unused`` is not given.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad.html
    """
    starts = starts_of(outputs, grad_outputs, create=create_graph)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for tensor in wanted:
        if tensor._edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    catch: dict[Any, Any] = {edge_of(t): None for t in wanted}
    run(starts, keep=bool(keep), create=bool(create_graph), catch=catch)
    results: list[Tensor | None] = []
    for i, tensor in enumerate(wanted):
        found = catch[edge_of(tensor)]
        if found is None and materialize_grads:
            found = np.zeros_like(tensor._array)
        if found is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        results.append(
            found
            if found is None or isinstance(found, Tensor)
            else from_array(np.array(found, dtype=tensor._array.dtype), None)
        )
    return tuple(results)


def starts_of(tensors: Any, gradients: Any, *, create: bool) -> list[tuple[Any, Any]]:
    """The nodes to start from and their gradients.

    Raises:
        RuntimeError: a gradient is missing, of a wrong shape, or for a tensor that is in no graph.
    """
    roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    given = [gradients] if gradients is None or isinstance(gradients, Tensor) else list(gradients)
    given += [None] * (len(roots) - len(given))
    made = [start_gradient(root, one, i, create=create) for i, (root, one) in enumerate(zip(roots, given, strict=False))]
    return [(root_edge(root, i), one) for i, (root, one) in enumerate(zip(roots, made, strict=True))]


def root_edge(root: Tensor, position: int) -> Any:
    """The edge to start from.

    Raises:
        RuntimeError: the tensor is in no graph.
    """
    edge = edge_of(root)
    if edge is None:
        raise RuntimeError(f"element {position} of tensors does not require grad and does not have a grad_fn")
    return edge


def start_gradient(root: Tensor, gradient: Any, position: int, *, create: bool) -> Any:
    """The gradient to start with: the one given, or a one for a tensor of one element.

    Raises:
        RuntimeError: none given for several elements, or of another shape.
    """
    if gradient is None:
        if root._edge is not None and root._array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        ones = np.ones_like(root._array)
        return from_array(ones, None) if create else ones
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient._array.shape != root._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {gradient.shape} and output[{position}] has a "
            f"shape of {root.shape}."
        )
    if create:
        return gradient
    return gradient._array if gradient._array.dtype == root._array.dtype else gradient._array.astype(root._array.dtype)


def reach(starts: list[Any]) -> list[Any]:
    """All nodes below the starts, youngest first (the list grows while it is walked)."""
    order = list(dict.fromkeys(starts))
    seen = set(order)
    add, push = seen.add, order.append
    for node in order:
        for edge in node.edges:
            if edge is not None and edge not in seen:
                add(edge)
                push(edge)
    order.sort(key=by_seq, reverse=True)
    return order


def run(
    starts: Sequence[tuple[Any, Any]],
    *,
    keep: bool,
    create: bool,
    catch: dict[Any, Any] | None = None,
    only: list[Any] | None = None,
) -> None:
    """Run the nodes below the starts, each once, when all its gradient has arrived.

    Args:
        starts: (node, gradient) of each root.
        keep: leave the saved tensors in place.
        create: gradients are tensors and every step is recorded.
        catch: nodes whose gradient is wanted: filled in; only nodes on the way to one of these are run.
        only: run these and the nodes on the way to them, no others.
    """
    order = reach([edge for edge, _ in starts])
    stash = [getattr(node, "pending", None) for node in order] if State.running else None
    for node in order:
        node.pending = None
    if order[-1].seq < 0 and any(watched(node) for node in leaves(order)):
        order = leaves_early(order)
    needed = None if catch is None and only is None else on_the_way(order, catch or (), only or ())
    for edge, gradient in starts:
        edge.pending = gradient if edge.pending is None else edge.pending + gradient
    before = mode.on, mode.formula, State.running
    mode.on, mode.formula, State.running = create, False, True
    try:
        if needed is None and not create and not mode.anomaly:
            sweep(order, keep)
        else:
            sweep_towards(order, catch or {}, needed, keep=keep, create=create)
    finally:
        mode.on, mode.formula, State.running = before
        if stash is not None:
            for node, value in zip(order, stash, strict=True):
                node.pending = value


def sweep(order: list[Any], keep: bool) -> None:
    """Run each node that a gradient has reached, on arrays, and hand the results on: the hot loop."""
    try:
        for node in order:
            grad = node.pending
            if grad is None:
                continue
            node.pending = None
            out = node.apply(grad, keep)
            if out.__class__ is tuple:
                for edge, part in zip(node.edges, out):  # noqa: B905 - strict costs 5 %, and AccumulateGrad gives ()
                    if edge is not None and part is not None:
                        if part.shape != edge.shape:
                            part = fit(part, edge, node)  # noqa: PLW2901
                        old = edge.pending
                        edge.pending = part if old is None else old + part
            else:  # one input: no tuple was made
                (edge,) = node.edges
                if edge is not None and out is not None:
                    if out.shape != edge.shape:
                        out = fit(out, edge, node)
                    old = edge.pending
                    edge.pending = out if old is None else old + out
    except Exception:
        finish_leaves(order, node, keep)
        raise


def finish_leaves(order: list[Any], failed: Any, keep: bool) -> None:
    """Before an error goes on: the leaves that have all their gradients get them, as they would have had in PyTorch."""
    waiting = order[order.index(failed) :]
    fed = {edge for node in waiting for edge in node.edges}
    for leaf in leaves(waiting):
        if leaf not in fed and leaf is not failed and leaf.pending is not None:
            leaf.apply(leaf.pending, keep)
            leaf.pending = None


def sweep_towards(order: list[Any], catch: dict[Any, Any], needed: set[Any] | None, *, keep: bool, create: bool) -> None:
    """The same where gradients are recorded, or watched for NaN, or only those of certain tensors are wanted."""
    if mode.anomaly:
        from gviz.engine.autograd import watch
    for node in order:
        grad = node.pending
        if grad is None:
            continue
        node.pending = None
        if needed is not None:
            out = step_towards(node, grad, catch, needed, keep=keep, create=create)
        else:
            out = node.apply_tensors(grad, keep) if create else node.apply(grad, keep)
        if mode.anomaly:
            watch.check(node, out)
        for edge, part in zip(node.edges, out if isinstance(out, tuple) else (out,), strict=False):
            if edge is not None and part is not None:
                fitted = fit(part, edge, node) if part.shape != edge.shape else part
                edge.pending = fitted if edge.pending is None else edge.pending + fitted


class State:
    """Whether a backward pass is running: one inside it (in a hook, in a Function) puts waiting gradients aside."""

    running = False


def step_towards(node: Any, grad: Any, catch: dict[Any, Any], needed: set[Any], *, keep: bool, create: bool) -> Any:
    """One step of a backward pass that is after the gradients of certain tensors only."""
    hooked = False
    if node in catch:
        grad = captured(node, grad, catch, create=create)
        hooked = node.careful  # its tensor's hooks have run already
    if grad is None or node not in needed:
        return ()
    if hooked:
        return run_hooked(node, grad, keep, on_tensors=create)
    return node.apply_tensors(grad, keep) if create else node.apply(grad, keep)


def fit(grad: Any, edge: Any, node: Any) -> Any:
    """Undo broadcasting: sum a gradient back to the shape of the input.

    Raises:
        RuntimeError: the shapes do not belong together (a custom Function returned a wrong one).
    """
    got, shape = tuple(grad.shape), edge.shape
    extra = len(got) - len(shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, size in enumerate(shape) if extra >= 0 and size == 1 and got[i + extra] != 1
    )
    if extra < 0 or any(size not in (1, got[i + extra]) for i, size in enumerate(shape)):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {node.edges.index(edge)} - got {list(got)} but "
            f"expected shape compatible with {list(shape)}"
        )
    if isinstance(grad, Tensor):
        if not shape:
            return TENSORS["sum_all"](grad)
        if axes:
            grad = TENSORS["sum_dim"](grad, axes, True)
        return TENSORS["view"](grad, shape) if extra else grad
    return np.add.reduce(grad, axis=axes, keepdims=True).reshape(shape)


def leaves(order: list[Any]) -> list[Any]:
    """The leaves' nodes, which stand at the end."""
    count = 0
    while count < len(order) and order[-1 - count].seq < 0:
        count += 1
    return order[len(order) - count :]


def watched(node: Any) -> bool:
    """Whether somebody would notice when this leaf is run."""
    rare = node.variable._rare
    return (rare is not None and bool(rare.hooks or rare.post_hooks)) or node.careful


def leaves_early(order: list[Any]) -> list[Any]:
    """Each leaf right after the last node that feeds it, as PyTorch runs them: hooks can see the order."""
    last: dict[Any, Any] = {}
    for node in order:
        for edge in node.edges:
            if edge is not None and edge.seq < 0:
                last[edge] = node
    after: dict[Any, list[Any]] = {}
    for leaf, node in last.items():
        after.setdefault(node, []).append(leaf)
    early: list[Any] = []
    for node in order:
        if node.seq >= 0 or node not in last:
            early.append(node)
            ready = after.get(node, ())
            early.extend(dict.fromkeys(e for e in node.edges if e in ready))
    return early


def on_the_way(order: list[Any], catch: Container[Any], only: Iterable[Any]) -> set[Any]:
    """The nodes that have to run so that every wanted gradient arrives."""
    needed = set(only)
    for node in reversed(order):
        if any(edge is not None and (edge in needed or edge in catch) for edge in node.edges):
            needed.add(node)
    return needed


def captured(node: Any, grad: Any, catch: dict[Any, Any], *, create: bool) -> Any:
    """Note a wanted gradient, after the hooks of its tensor; returns what goes on through the node."""
    if isinstance(node, AccumulateGrad):
        rare = node.variable._rare
        for hook in tuple(rare.hooks or ()) if rare is not None else ():
            given = grad if create else from_array(np.asarray(grad), None)
            new = hook(given)
            grad = (given if new is None else new) if create else (given if new is None else new)._array
        catch[node] = grad
        return None
    if node.careful:
        grad = tensor_hooks(node, grad, on_tensors=create)
    catch[node] = grad
    return grad


def warn_cycle() -> None:
    """PyTorch's warning for ``backward(create_graph=True)``, once per program."""
    import warnings

    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have "
        "to use this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle "
        "and avoid the leak.",
        UserWarning,
        stacklevel=4,
    )


def call_node(node: Node, grads: tuple[Any, ...]) -> Any:
    """``node(gradient, ...)``: the gradients of its inputs, recorded if the grad mode is on."""
    given = Parts({i: g for i, g in enumerate(grads) if g is not None}) if node.shape == ("parts",) else grads[0]
    return node.apply_tensors(given, keep=True)
