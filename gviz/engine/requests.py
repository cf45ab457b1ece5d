"""``backward()`` and ``grad()``: what is asked for is checked here and handed to the loop in ``backward.py``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gviz.engine.backward import run
from gviz.engine.data.classes import refuse_mixing, type_text
from gviz.engine.data.printing import Size
from gviz.engine.layout import mark
from gviz.engine.node import Node, Output, Parts, public_edge
from gviz.engine.op import TENSORS
from gviz.engine.tensor import Tensor, edge_of, from_array
from gviz.engine.towards import warn_cycle

__all__ = ["GradientEdge", "backward", "grad"]


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: a node, and the number of its output."""

    node: Node
    output_nr: int
    ownership_token: Any = None


PLACES = Tensor, GradientEdge


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Any = None, inputs: Any = None,
) -> None:  # fmt: skip
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves below them.

    Args:
        tensors: one tensor (or gradient edge) or several.
        grad_tensors: a gradient for each; None for ones of a one-element tensor.
        retain_graph: keep saved tensors; default: as ``create_graph``.
        create_graph: record the computation of the gradients.
        grad_variables: the old name of ``grad_tensors``.
        inputs: accumulate only into these.

    Raises:
        RuntimeError: in PyTorch's words.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.backward.html
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    wanted = None if inputs is None else inputs_of(inputs, "backward")
    starts = starts_of(tensors, grad_tensors, create=create_graph)
    if create_graph:
        warn_cycle()
    only = None if wanted is None else [accumulating(one) for one in wanted]
    keep, create = bool(index(create_graph if retain_graph is None else retain_graph)), bool(index(create_graph))
    if starts:
        run(starts, keep=keep, create=create, only=only)


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> Any:  # fmt: skip
    """The gradients of ``outputs`` with respect to ``inputs``, without touching any ``.grad``; a dict for a dict of inputs.

    Raises:
        RuntimeError: in PyTorch's words; also where an input is not in the graph and ``allow_unused`` is not given.
        ValueError: ``materialize_grads`` without ``allow_unused``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad.html
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    wanted = inputs_of(inputs, "grad")
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
            "of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    keep, create = bool(index(create_graph if retain_graph is None else retain_graph)), bool(index(create_graph))
    unused = bool(index(materialize_grads if allow_unused is None else allow_unused))
    if is_grads_batched:
        results = batched(outputs, wanted, grad_outputs, keep=keep, create=create, unused=unused)
    else:
        results = gradients(starts_of(outputs, grad_outputs, create=create), wanted, keep=keep, create=create, unused=unused)
    if materialize_grads:
        if any(found is None and not isinstance(one, Tensor) for found, one in zip(results, wanted, strict=True)):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        results = [zeros(one, create=create) if found is None else found for found, one in zip(results, wanted, strict=True)]
    return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else tuple(results)


def gradients(starts: list[tuple[Any, Any]], wanted: list[Any], *, keep: bool, create: bool, unused: bool) -> list[Any]:
    """Run backward for those inputs and give their gradients; None for one that has none, if unused ones are allowed."""
    places = [place_of(one) for one in wanted]
    catch: dict[Any, Any] = dict.fromkeys(places)
    if starts:
        run(starts, keep=keep, create=create, catch=catch)
    results: list[Tensor | None] = []
    known = {(id(one._array), one._array.dtype): one for _, one in starts if isinstance(one, Tensor)}  # come back as they are
    for i, (tensor, place) in enumerate(zip(wanted, places, strict=True)):
        found = catch[place]
        if found is None and not unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        if found is not None and not isinstance(found, Tensor):
            kind = tensor._array.dtype if isinstance(tensor, Tensor) else found.dtype
            if (id(found), kind) not in known:
                expanded = found.dtype == kind and 0 in found.strides and found.size
                known[id(found), kind] = mark(from_array(found if expanded else np.array(found, dtype=kind), None))
            found = known[id(found), kind]
        results.append(found)
    return results


def batched(outputs: Any, wanted: list[Any], grad_outputs: Any, *, keep: bool, create: bool, unused: bool) -> list[Any]:
    """The gradients for each of a batch of gradients of the outputs, stacked.

    Raises:
        RuntimeError: a batch of another size than the first, or none.
    """
    given = as_tuple(grad_outputs)
    roots = as_tuple(outputs)
    for i, (root, one) in enumerate(zip(roots, given, strict=False)):
        check_gradient(root, one, i, batched=True)
    sizes = [one._array.shape[0] for one in given if one is not None]
    if not sizes or len(set(sizes)) > 1:
        said = f"got sizes {sizes} for the mapped dimension" if sizes else "got none"
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, {said}")
    rows = []
    for i in range(sizes[0]):
        part = [None if one is None else TENSORS["select"](one, 0, i) for one in given]
        starts = starts_of(roots, part, create=create)
        rows.append(gradients(starts, wanted, keep=keep or i < sizes[0] - 1, create=create, unused=unused))
    return [None if column[0] is None else TENSORS["stack"](list(column), 0) for column in zip(*rows, strict=True)]


def as_tuple(given: Any) -> tuple[Any, ...]:
    """One tensor, or edge, or several."""
    return (given,) if isinstance(given, PLACES) else tuple(given)


def inputs_of(inputs: Any, name: str) -> list[Any]:
    """The inputs for which gradients are wanted.

    Raises:
        RuntimeError: there are none.
        TypeError: a mapping that is no dict.
    """
    if isinstance(inputs, PLACES):
        return [inputs]
    if not isinstance(inputs, list | tuple) and isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `{name}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not "
                "supported."
            )
        inputs = tuple(inputs.values())
    wanted = list(inputs)
    if not wanted:
        raise RuntimeError(f"`inputs` argument to `{name}()` cannot be empty.")
    return wanted


def accumulating(one: Any) -> Any:
    """The node that has to run so that an input of backward has its gradient in ``.grad``."""
    if isinstance(one, Tensor):
        one.retain_grad()
    return place_of(one)[0]


def place_of(one: Any) -> tuple[Any, int]:
    """The node, and the number of its output, whose gradient is that of a tensor.

    Raises:
        RuntimeError: no tensor and no edge, or one that requires no gradient.
    """
    if isinstance(one, GradientEdge):
        return one.node, one.output_nr
    if not isinstance(one, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type_text(one)}")  # noqa: TRY004
    edge = edge_of(one)
    if edge is None and not one.requires_grad:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return (one, 0) if edge is None else public_edge(edge)  # a view made under no_grad is never reached


def zeros(like: Tensor, *, create: bool) -> Tensor:
    """The gradient of an input that was not used."""
    made = from_array(np.zeros_like(like._array), None)
    made.requires_grad = create
    return made


def starts_of(tensors: Any, given: Any, *, create: bool) -> list[tuple[Any, Any]]:
    """The nodes to start from and their gradients.

    Raises:
        AssertionError: something that is no tensor.
        RuntimeError: a gradient is missing, of a wrong shape, or for a tensor that is in no graph.
    """
    roots = as_tuple(tensors)
    grads = (None,) * len(roots) if given is None else as_tuple(given)
    made = [start_gradient(root, one, i, create=create) for i, (root, one) in enumerate(zip(roots, grads, strict=False))]
    if len(made) < len(roots):  # gradients beyond the tensors nobody looks at
        raise RuntimeError(f"got {len(roots)} tensors and {len(made)} gradients")
    return [(root_edge(root, i), one) for i, (root, one) in enumerate(zip(roots, made, strict=True))]


def root_edge(root: Any, position: int) -> Any:
    """The edge to start from.

    Raises:
        RuntimeError: the tensor is in no graph.
    """
    if isinstance(root, GradientEdge):
        node: Any = root.node
        return Output(node, root.output_nr, shape_of(root)) if node._shape == Parts.shape else node
    edge = edge_of(root)
    if edge is None:
        raise RuntimeError(f"element {position} of tensors does not require grad and does not have a grad_fn")
    return edge


def shape_of(root: Any) -> tuple[int, ...]:
    """The shape of a tensor, or of what an edge leads to."""
    if isinstance(root, Tensor):
        return tuple(root._array.shape)
    node: Any = root.node
    return tuple(node._shape.shapes[root.output_nr] if node._shape == Parts.shape else node._shape)


def check_gradient(root: Any, gradient: Any, position: int, *, batched: bool = False) -> None:
    """Whether a gradient fits what it is for.

    Raises:
        AssertionError: no tensor and no edge to start from.
        RuntimeError: another shape.
        TypeError: no tensor.
    """
    if not isinstance(root, PLACES):
        raise AssertionError("Expected output to be a torch.Tensor")  # noqa: TRY004
    if gradient is None:
        return
    if not isinstance(gradient, Tensor):
        refuse_mixing(gradient)
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    have, want = gradient._array.shape[1:] if batched else gradient._array.shape, shape_of(root)
    if have == want:
        kind = getattr(root, "dtype", None)
        if gradient._array.dtype.kind == "c" and kind is not None and kind is not gradient.dtype:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{position}] has a dtype of {gradient.dtype} and output[{position}] has a dtype of {kind}."
            )
        return
    if batched and isinstance(root, GradientEdge):
        raise RuntimeError("Batched grads are not supported with GradientEdge")
    told = Size(have[1:] if batched else have)  # of a batch PyTorch's text has one dimension too few
    which = f"grad_output[{position}] has a shape of {told} and output[{position}] has a shape of {Size(want)}."
    if batched:
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
            "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
            f"detected: {which} If you only want some tensors in `grad_output` to be considered batched, consider using vmap."
        )
    raise RuntimeError(f"Mismatch in shape: {which}")


def start_gradient(root: Any, gradient: Any, position: int, *, create: bool) -> Any:
    """The gradient to start with: the tensor given, or a one for a tensor of one element.

    Raises:
        RuntimeError: none given for several elements, or of another shape.
    """
    if gradient is None and isinstance(root, Tensor):
        if root._edge is not None and root._array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        ones = np.ones_like(root._array)
        return from_array(ones, None) if create else ones
    check_gradient(root, gradient, position)
    if gradient is None:
        if math.prod(shape_of(root)) != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return from_array(np.ones(shape_of(root), np.float32), None)
    if isinstance(root, GradientEdge) or gradient._array.dtype == root._array.dtype:
        return gradient
    return gradient.to(root.dtype)
