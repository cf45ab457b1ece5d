"""``backward()`` and ``grad()``: what is asked for is checked here and handed to the loop in ``backward.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine.backward import run
from gviz.engine.tensor import Tensor, edge_of, from_array
from gviz.engine.towards import warn_cycle

__all__ = ["backward", "grad"]


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
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
    if not starts:
        return
    if create_graph:
        warn_cycle()
    for tensor in inputs or ():
        tensor.retain_grad()
    keep = create_graph if retain_graph is None else retain_graph
    run(starts, keep=bool(keep), create=bool(create_graph), only=None if inputs is None else [edge_of(t) for t in inputs])


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """The gradients of ``outputs`` with respect to ``inputs``, without touching any ``.grad``.

    Raises:
        RuntimeError: in PyTorch's words; also where an input is not in the graph and ``allow_unused`` is not given.
        ValueError: ``materialize_grads`` without ``allow_unused``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad.html
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    starts = starts_of(outputs, grad_outputs, create=create_graph)
    for tensor in wanted:
        if not isinstance(tensor, Tensor):
            raise RuntimeError(  # noqa: TRY004 - as PyTorch does
                f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}"
            )
        if tensor._edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    catch: dict[Any, Any] = {edge_of(t): None for t in wanted}
    run(starts, keep=bool(keep), create=bool(create_graph), catch=catch)
    results: list[Tensor | None] = []
    known = {(id(one._array), one.dtype): one for _, one in starts if isinstance(one, Tensor)}  # those come back as they are
    for i, tensor in enumerate(wanted):
        found = catch[edge_of(tensor)]
        if found is None and materialize_grads:
            found = from_array(np.zeros_like(tensor._array), None)
            found.requires_grad = create_graph
        if found is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        if found is not None and not isinstance(found, Tensor):
            key = id(found), tensor.dtype
            if key not in known:
                known[key] = from_array(np.array(found, dtype=tensor._array.dtype), None)
            found = known[key]
        results.append(found)
    return tuple(results)


def starts_of(tensors: Any, gradients: Any, *, create: bool) -> list[tuple[Any, Any]]:
    """The nodes to start from and their gradients; refuses tensors that are in no graph."""
    roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not all(isinstance(root, Tensor) for root in roots):
        raise AssertionError("Expected output to be a torch.Tensor")
    given = [gradients] if isinstance(gradients, Tensor) else [None] * len(roots) if gradients is None else list(gradients)
    made = [start_gradient(root, one, i, create=create) for i, (root, one) in enumerate(zip(roots, given, strict=False))]
    if len(roots) != len(given):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    edges = [edge_of(root) for root in roots]
    if None in edges:
        raise RuntimeError(f"element {edges.index(None)} of tensors does not require grad and does not have a grad_fn")
    return list(zip(edges, made, strict=True))


def start_gradient(root: Tensor, gradient: Any, position: int, *, create: bool) -> Any:
    """The gradient to start with: the tensor given, which must have the shape, or a one for a tensor of one element."""
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
    return gradient if gradient._array.dtype == root._array.dtype else gradient.to(root.dtype)
