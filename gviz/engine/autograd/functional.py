"""``torch.autograd.functional``: derivatives of a function as a whole.

Each begins with fresh leaves for the inputs, so that the function's own graph stays apart from the caller's; with
``create_graph`` they are views of the inputs instead, and the result can be differentiated again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.modes import enable_grad
from gviz.engine.op import TENSORS as call
from gviz.engine.requests import grad
from gviz.engine.tensor import Tensor, from_array

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether it was a tuple, and as one; only tensors may be in it."""
    given = value if isinstance(value, tuple) else (value,)
    for i, one in enumerate(given):
        if not isinstance(one, Tensor):
            whose = "outputs of the user-provided function" if what == "outputs" else what
            which = f"value at index {i}" if isinstance(value, tuple) else f"given {whose}"
            wanted = f"The {whose} given to {name} must be either a Tensor or a tuple of Tensors"
            raise TypeError(f"{wanted} but the {which} has type {type(one)}.")
    return isinstance(value, tuple), given


def fresh(inputs: tuple[Tensor, ...], *, create_graph: bool) -> tuple[Tensor, ...]:
    """The inputs to differentiate for."""
    return tuple(
        call["view"](one, one._array.shape) if create_graph and one.requires_grad else one.detach().requires_grad_()
        for one in inputs
    )


def run(func: Callable[..., Any], inputs: Any, name: str, *, create: bool) -> tuple[Any, ...]:
    """Call the function on fresh inputs: (inputs were a tuple, inputs, outputs were a tuple, outputs)."""
    several_in, given = as_tuple(inputs, "inputs", name)
    leaves = fresh(given, create_graph=create)
    several_out, outputs = as_tuple(func(*leaves), "outputs", name)
    return several_in, leaves, several_out, outputs


def gradients(outputs: Any, inputs: Any, grads: Any = None, *, create: bool) -> tuple[Tensor, ...]:
    """The gradients of those outputs that have any; zeros for inputs that have none."""
    kept = [(o, None if grads is None else g) for o, g in zip(outputs, grads or outputs, strict=True) if o.requires_grad]
    if not kept:
        return tuple(zeros(i) for i in inputs)
    found = grad([o for o, _ in kept], inputs, [g for _, g in kept], create_graph=create, retain_graph=True, allow_unused=True)
    return tuple(zeros(i) if f is None else f for f, i in zip(found, inputs, strict=True))


def zeros(like: Tensor) -> Tensor:
    """A gradient of zero."""
    return from_array(np.zeros_like(like._array), None)


def refuse_independent(outputs: tuple[Tensor, ...], *, strict: bool) -> None:
    """Refuse, in strict mode, an output that does not depend on the inputs."""
    for i, one in enumerate(outputs):
        if strict and not one.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )


def finish(values: tuple[Any, ...], *, several: bool, create: bool) -> Any:
    """The results in the shape the arguments had, out of the graph unless it was asked for."""
    kept = tuple(v if create or not v.requires_grad else v.detach() for v in values)
    return kept if several else kept[0]


@enable_grad
def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The derivative of every output element for every input element, of shape (*output, *input).

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jacobian.html
    """
    several_in, leaves, several_out, outputs = run(func, inputs, "jacobian", create=create_graph)
    refuse_independent(outputs, strict=strict)
    rows = []
    for out in outputs:
        flat = call["reshape"](out, (-1,))
        found = [gradients([call["select"](flat, 0, j)], leaves, create=create_graph) for j in range(out._array.size)]
        shapes = [(*out._array.shape, *leaf._array.shape) for leaf in leaves]
        parts = [
            call["view"](call["stack"]([grads[i] for grads in found], 0), shape) if found
            else from_array(np.zeros(shape, leaves[i]._array.dtype), None)
            for i, shape in enumerate(shapes)
        ]  # fmt: skip
        rows.append(finish(tuple(parts), several=several_in, create=create_graph))
    return tuple(rows) if several_out else rows[0]


def scalar_only(func: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, refusing a result that is not one number."""

    def checked(*inputs: Tensor) -> Any:
        out = func(*inputs)
        several, outputs = as_tuple(out, "outputs", name)
        if several or not isinstance(out, Tensor):
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if outputs[0]._array.size != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return call["view"](out, ()) if out._array.ndim else out

    return checked


@enable_grad
def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a function of one number: the Jacobian of its gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hessian.html
    """
    several, _ = as_tuple(inputs, "inputs", "hessian")
    inner = scalar_only(func, "hessian")

    def slope(*given: Tensor) -> Any:
        found = jacobian(inner, given, create_graph=True)
        return found if several else found[0]

    return jacobian(slope, inputs, create_graph=create_graph, strict=strict)


def directions(v: Any, like: tuple[Tensor, ...], *, of_inputs: bool) -> tuple[Tensor, ...]:
    """The vector to multiply with; a one where there is one element only."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            what = "input to the user-provided function is" if of_inputs else "user-provided function returns"
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
        return (from_array(np.ones_like(like[0]._array), None),)
    given = v if isinstance(v, tuple) else (v,)
    if len(given) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
    for i, (one, other) in enumerate(zip(given, like, strict=True)):
        if one._array.shape != other._array.shape:
            entry = f"Entry {i} in " if len(given) > 1 else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got {one.shape}.")
    return given


@enable_grad
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(outputs, ``v`` times the Jacobian)."""
    several_in, leaves, several_out, outputs = run(func, inputs, "vjp", create=create_graph)
    refuse_independent(outputs, strict=strict)
    found = gradients(outputs, leaves, directions(v, outputs, of_inputs=False), create=create_graph)
    return finish(outputs, several=several_out, create=create_graph), finish(found, several=several_in, create=create_graph)


@enable_grad
def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(outputs, the Jacobian times ``v``): the gradient of the gradient, which is linear in what came in."""
    _, leaves, several_out, outputs = run(func, inputs, "jvp", create=True)
    refuse_independent(outputs, strict=strict)
    ones = directions(v, leaves, of_inputs=True)
    through = tuple(zeros(o).requires_grad_() for o in outputs)
    back = gradients(outputs, leaves, through, create=True)
    found = gradients(back, through, ones, create=create_graph)
    return finish(outputs, several=several_out, create=create_graph), finish(found, several=several_out, create=create_graph)


@enable_grad
def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(output, ``v`` times the Hessian)."""
    several_in, leaves, several_out, outputs = run(scalar_only(func, "vhp"), inputs, "vhp", create=create_graph)
    refuse_independent(outputs, strict=strict)
    ones = directions(v, leaves, of_inputs=True)
    slope = gradients(outputs, leaves, create=True)
    found = gradients(slope, leaves, ones, create=create_graph)
    return finish(outputs, several=several_out, create=create_graph), finish(found, several=several_in, create=create_graph)


@enable_grad
def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(output, the Hessian times ``v``); the Hessian is symmetric, so this is :func:`vhp`."""
    return vhp(scalar_only(func, "hvp"), inputs, v, create_graph, strict)
