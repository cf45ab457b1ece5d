"""The requests of a program, ``backward()`` and ``grad()``: checked here, and handed to the loop in ``backward.py``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gviz.autograd.backward import Pass
from gviz.autograd.node import Node, Output, target_of
from gviz.autograd.row import TENSORS
from gviz.autograd.tensor import Tensor, edge_of, from_array
from gviz.autograd.words import CYCLE, ONE_DTYPE
from gviz.numbers.classes import type_text
from gviz.numbers.dtypes import of
from gviz.numbers.printing import Size
from gviz.numbers.words import refuse, warn_once


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: a node, and the number of its output."""

    node: Node
    output_nr: int
    ownership_token: Any = None


PLACES = Tensor, GradientEdge
BATCHED = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
    "detected: grad_output[{0}] has a shape of {1} and output[{0}] has a shape of {2}. If you only want some tensors "
    "in `grad_output` to be considered batched, consider using vmap."
)
Place: TypeAlias = Tensor | GradientEdge
Places: TypeAlias = Place | Sequence[Place]
Gradients: TypeAlias = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Places,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Gradients = None,
    inputs: Places | None = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves below them.

    Each starts with its gradient of ``grad_tensors`` (by its old name ``grad_variables``), or with a one. Saved tensors
    are kept with ``retain_graph``, or if ``create_graph`` records all; with ``inputs`` only these are given a gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.backward.html
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        grad_tensors = grad_variables
    targets = None if inputs is None else gradient_targets(inputs, "backward")
    roots = roots_of(tensors, grad_tensors)
    if create_graph:
        warn_once(CYCLE)
    for one in targets or ():
        if isinstance(one, Tensor):
            one.retain_grad()
    only = None if targets is None else [place_of(one)[0] for one in targets]
    keep = bool(index(create_graph if retain_graph is None else retain_graph))
    if roots:
        Pass(roots, keep=keep, create=bool(create_graph), only=only).start()


def grad(
    outputs: Places,
    inputs: Places | dict[Any, Place],
    grad_outputs: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of ``outputs`` with respect to ``inputs``, no ``.grad`` is touched; a dict for a dict of inputs.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad.html
    """
    refuse(
        materialize_grads and allow_unused is False,
        "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
        ValueError,
    )
    targets = gradient_targets(inputs, "grad")
    keep = bool(index(create_graph if retain_graph is None else retain_graph))
    unused = materialize_grads if allow_unused is None else allow_unused
    if is_grads_batched and grad_outputs is not None:  # one after the other
        cotangents = as_tuple(grad_outputs)
        for i, (one, output) in enumerate(zip(cotangents, as_tuple(outputs), strict=False)):
            if isinstance(one, Tensor) and isinstance(output, Tensor) and one.shape[1:] != output.shape:
                raise RuntimeError(BATCHED.format(i, one.shape[2:], output.shape))
        count, select = len(cotangents[0]._array), TENSORS["select"]
        starts = [[None if one is None else select(one, 0, j) for one in cotangents] for j in range(count)]
        options = create_graph, True, allow_unused, False, materialize_grads
        rows = [grad(outputs, targets, start, keep or j + 1 < count, *options) for j, start in enumerate(starts)]
        stacked = [None if grads[0] is None else TENSORS["stack"](list(grads), 0) for grads in zip(*rows, strict=True)]
        return dict(zip(inputs, stacked, strict=True)) if type(inputs) is dict else tuple(stacked)
    roots = roots_of(outputs, grad_outputs)
    places = [place_of(one) for one in targets]
    catch: dict[Any, Any] = dict.fromkeys(places)
    if roots:
        Pass(roots, keep=keep, create=bool(create_graph), catch=catch).start()
    results = []
    for i, (one, place) in enumerate(zip(targets, places, strict=True)):
        gradient = catch[place]
        refuse(
            gradient is None and not unused,
            f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior.",
        )
        if gradient is None and materialize_grads:
            refuse(
                isinstance(one, GradientEdge), "materialize_grads cannot be used when the given input is a GradientEdge"
            )
            gradient = from_array(np.zeros_like(one._array), None).requires_grad_(bool(create_graph))
        results.append(gradient)
    return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else tuple(results)


def tensor_backward(
    self: Tensor,
    gradient: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Places | None = None,
) -> None:
    """Add the gradients of this tensor to the ``.grad`` of the leaves below it; arguments as :func:`backward`."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


tensor_backward.__name__, tensor_backward.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = tensor_backward


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One tensor, or edge, or several."""
    return (value,) if isinstance(value, PLACES) else tuple(value)


def gradient_targets(inputs: Places | dict[Any, Place], name: str) -> list[Any]:
    """The inputs for which gradients are wanted. RuntimeError: there are none."""
    targets = [inputs] if isinstance(inputs, PLACES) else list(inputs.values() if isinstance(inputs, dict) else inputs)
    refuse(not targets, f"`inputs` argument to `{name}()` cannot be empty.")
    return targets


def place_of(one: object) -> tuple[Any, int]:
    """The node and the output whose gradient is that of a tensor. RuntimeError: it requires no gradient."""
    if isinstance(one, GradientEdge):
        return one.node, one.output_nr
    if not isinstance(one, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type_text(one)}")  # noqa: TRY004
    edge = edge_of(one)
    refuse(edge is None and not one.requires_grad, "One of the differentiated Tensors does not require grad")
    return (one, 0) if edge is None else target_of(edge)


def roots_of(tensors: Places, gradients: Gradients) -> list[tuple[Output, Tensor]]:
    """The outputs (node, number) to start from and their gradients.

    Raises:
        AssertionError: something that is no tensor.
        RuntimeError: a gradient is missing, of a wrong shape, or for a tensor that is in no graph.
    """
    roots = as_tuple(tensors)
    grads = (None,) * len(roots) if gradients is None else as_tuple(gradients)
    starts = [start(root, one, i) for i, (root, one) in enumerate(zip(roots, grads, strict=False))]
    refuse(len(starts) < len(roots), f"got {len(roots)} tensors and {len(starts)} gradients")
    outputs = []
    for i, root in enumerate(roots):
        edge = (root.node, root.output_nr) if isinstance(root, GradientEdge) else edge_of(root)
        if edge is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        outputs.append(target_of(edge))
    return list(zip(outputs, starts, strict=True))


def start(root: object, gradient: object, position: int) -> Tensor:
    """The gradient to start with: the tensor given, or a one for a tensor of one element."""
    if not isinstance(root, PLACES):
        raise AssertionError("Expected output to be a torch.Tensor")  # noqa: TRY004
    facts = (
        root.node._outputs[root.output_nr] if isinstance(root, GradientEdge) else (root._array.shape, root._array.dtype)
    )
    if gradient is None:
        refuse(
            math.prod(facts[0]) != 1 and (isinstance(root, GradientEdge) or root.requires_grad),
            "grad can be implicitly created only for scalar outputs",
        )
        return from_array(np.ones(*facts) if isinstance(root, GradientEdge) else np.ones_like(root._array), None)
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    have, want = Size(gradient._array.shape), Size(facts[0])
    if have != want:
        shapes = f"grad_output[{position}] has a shape of {have} and output[{position}] has a shape of {want}."
        raise RuntimeError(f"Mismatch in shape: {shapes}")
    if "c" in {gradient._array.dtype.kind, facts[1].kind} and gradient._array.dtype != facts[1]:
        ours, theirs = (f"put[{position}] has a dtype of {of(dtype)}" for dtype in (gradient._array.dtype, facts[1]))
        raise RuntimeError(f"{ONE_DTYPE}grad_out{ours} and out{theirs}.")
    return gradient if gradient._array.dtype == facts[1] else TENSORS["to_dtype"](gradient, facts[1])
