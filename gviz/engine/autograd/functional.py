"""``torch.autograd.functional``: derivatives of a function as a whole.

Each begins with fresh leaves for the inputs, so that the function's own graph stays apart from the caller's; with
``create_graph`` they are views of the inputs instead, and the result can be differentiated again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.modes import enable_grad
from gviz.autograd.requests import grad
from gviz.autograd.row import TENSORS
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.words import absent

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


# ------------------------------------------------------------------ what they share
def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Return whether a value is a tuple, and it as one; refuse what is not a tensor."""
    values = value if isinstance(value, tuple) else (value,)
    for i, one in enumerate(values):
        if not isinstance(one, Tensor):
            which = f"value at index {i}" if isinstance(value, tuple) else f"given {what}"
            wanted = f"The {what} given to {name} must be either a Tensor or a tuple of Tensors"
            raise TypeError(f"{wanted} but the {which} has type {type(one)}.")
    return isinstance(value, tuple), values


def fresh(tensors: tuple[Any, ...], *, create: bool, needed: bool = True) -> tuple[Any, ...]:
    """Return the tensors out of their graph, to differentiate for if they are ``needed``; with ``create`` views of them."""
    return tuple(
        one.view(one.shape) if create and one.requires_grad else one.detach().requires_grad_(needed) for one in tensors
    )


def run(func: Callable[..., Any], leaves: tuple[Any, ...], name: str, *, strict: bool) -> tuple[bool, tuple[Any, ...]]:
    """Call the function; return whether it gave a tuple, and its outputs."""
    several, outputs = as_tuple(func(*leaves), "outputs of the user-provided function", name)
    for i, one in enumerate(outputs if strict else ()):
        if not one.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
    return several, outputs


def gradients(outputs: Any, inputs: Any, grads: Any = None, *, create: bool, keep: bool | None = None) -> tuple[Any, ...]:
    """Return the gradients of those outputs that have any; None for inputs that have none."""
    pairs = [(o, None if grads is None else g) for o, g in zip(outputs, grads or outputs, strict=True) if o is not None]
    pairs = [(o, g) for o, g in pairs if o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    starts, given = zip(*pairs, strict=True)
    return tuple(grad(starts, inputs, given, create_graph=create, retain_graph=keep, allow_unused=True))


def zeros(like: Any) -> Any:
    """Return a gradient of zero."""
    return from_array(np.zeros_like(like._array), None)


def filled(found: tuple[Any, ...], like: tuple[Any, ...], what: str, *, strict: bool, create: bool) -> tuple[Any, ...]:
    """Return zeros for what has no gradient; in strict mode such are refused, and with ``create`` those without a graph too."""
    for i, one in enumerate(found if strict else ()):
        if one is None:
            raise RuntimeError(f"The {what} is independent of input {i}. This is not allowed in strict mode.")
        if create and not one.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
                "create_graph=True."
            )
    return tuple(zeros(one_like) if one is None else one for one, one_like in zip(found, like, strict=True))


def finish(values: tuple[Any, ...], *, several: bool, create: bool) -> Any:
    """Return the results in the form the arguments had, out of the graph unless it was asked for."""
    results = tuple(value if create else value.detach() for value in values)
    return results if several else results[0]


def directions(v: Any, like: tuple[Any, ...], name: str, *, several: bool, create: bool) -> Any:
    """Return the vector to multiply with; None, which stands for a one, if there is one element only."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            what = "user-provided function returns" if name == "vjp" else "input to the user-provided function is"
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
        return None
    vectors = fresh(as_tuple(v, "v", name)[1], create=create, needed=False)
    if len(vectors) != len(like):
        length = f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}."
        raise RuntimeError(length if several else "The given v should contain a single Tensor.")
    for i, (one, other) in enumerate(zip(vectors, like, strict=True)):
        if one.shape != other.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got {one.shape}.")
    return vectors


def single(outputs: tuple[Any, ...], several: bool, name: str) -> None:
    """Refuse a result that is not one number."""
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


# ------------------------------------------------------------------ whole matrices
def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Return the derivative of each output element for each input element, of shape (*output, *input), always by backward.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jacobian.html
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    several_in, tensors = as_tuple(inputs, "inputs", "jacobian")
    rows = []
    with enable_grad():
        leaves = fresh(tensors, create=create_graph)
        several_out, outputs = run(func, leaves, "jacobian", strict=strict)
        for out in outputs:
            elements = [
                filled(gradients([one], leaves, create=create_graph, keep=True), leaves, "jacobian of the user-provided function",
                       strict=strict, create=create_graph)
                for one in out.reshape(-1)
            ]  # fmt: skip
            parts = tuple(
                TENSORS["stack"]([row[i] for row in elements], 0).view((*out.shape, *leaf.shape))
                for i, leaf in enumerate(leaves)
            )
            rows.append(finish(parts, several=several_in, create=create_graph))
    return tuple(rows) if several_out else rows[0]


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Return the second derivatives of a function of one number: the Jacobian of its gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hessian.html
    """
    several, tensors = as_tuple(inputs, "inputs", "hessian")

    def number(*leaves: Any) -> Any:
        is_tuple, outputs = run(func, leaves, "hessian", strict=strict)
        single(outputs, is_tuple, "hessian")
        return outputs[0].squeeze()

    def slope(*leaves: Any) -> Any:
        return jacobian(number, leaves, create_graph=True)

    rows = jacobian(slope, tensors, create_graph=create_graph, strict=strict, strategy=outer_jacobian_strategy)
    return rows if several else rows[0][0]


# ------------------------------------------------------------------ products with a vector
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (outputs, ``v`` times the Jacobian).

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.vjp.html
    """
    several_in, tensors = as_tuple(inputs, "inputs", "vjp")
    with enable_grad():
        leaves = fresh(tensors, create=create_graph)
        several_out, outputs = run(func, leaves, "vjp", strict=strict)
        vectors = directions(v, outputs, "vjp", several=several_out, create=create_graph)
        found = gradients(outputs, leaves, vectors, create=create_graph)
    found = filled(found, leaves, "output of the user-provided function", strict=strict, create=create_graph)
    return finish(outputs, several=several_out, create=create_graph), finish(found, several=several_in, create=create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (outputs, the Jacobian times ``v``): the gradient of the gradient, which is linear in what came in.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jvp.html
    """
    several_in, tensors = as_tuple(inputs, "inputs", "jvp")
    with enable_grad():
        leaves = fresh(tensors, create=create_graph)
        vectors = directions(v, leaves, "jvp", several=several_in, create=create_graph)
        several_out, outputs = run(func, leaves, "jvp", strict=strict)
        through = tuple(zeros(one).requires_grad_() for one in outputs)
        back = gradients(outputs, leaves, through, create=True)
        found = gradients(back, through, vectors, create=create_graph)
    found = filled(found, outputs, "gradient with respect to the input", strict=strict, create=create_graph)
    return finish(outputs, several=several_out, create=create_graph), finish(found, several=several_out, create=create_graph)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (output, ``v`` times the Hessian).

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.vhp.html
    """
    return of_hessian(func, inputs, v, "vhp", create=create_graph, strict=strict)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (output, the Hessian times ``v``), as :func:`jvp` of the gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hvp.html
    """
    return of_hessian(func, inputs, v, "hvp", create=create_graph, strict=strict)


def of_hessian(func: Any, inputs: Any, v: Any, name: str, *, create: bool, strict: bool) -> Any:
    """Return the output of a function of one number, and the product of its Hessian with a vector, from that side."""
    several, tensors = as_tuple(inputs, "inputs", name)
    with enable_grad():
        leaves = fresh(tensors, create=create)
        vectors = directions(v, leaves, name, several=several, create=create)
        is_tuple, outputs = run(func, leaves, name, strict=strict)
        single(outputs, is_tuple, name)
        slope = gradients(outputs, leaves, create=True)
        if name == "vhp":
            found = gradients(slope, leaves, vectors, create=create)
        else:
            through = tuple(zeros(leaf).requires_grad_() for leaf in leaves)
            found = gradients(gradients(slope, leaves, through, create=True), through, vectors, create=create)
    found = filled(found, leaves, "jacobian of the user-provided function", strict=strict, create=create)
    return finish(outputs, several=False, create=create), finish(found, several=several, create=create)


__getattr__ = absent("torch.autograd.functional")
