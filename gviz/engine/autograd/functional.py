"""``torch.autograd.functional``: derivatives of a function as a whole.

Each begins with fresh leaves for the inputs, so that the function's own graph stays apart from the caller's; with
``create_graph`` they are views of the inputs instead, and the result can be differentiated again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.modes import enable_grad
from gviz.autograd.requests import grad
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.words import absent

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

STRICT = " This is not allowed in strict mode"
WORDS = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function."
    f"{STRICT}.",
    "slope": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    f"independent of the input.{STRICT}. You should ensure that your function is twice differentiable and that the jacobian "
    "depends on the inputs (this would be violated by a linear function for example).",
    "back": f"The output of the user-provided function is independent of input {{}}.{STRICT}.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    f"backward trick to compute forward mode gradients.{STRICT}.",
    "double_back": f"The jacobian of the user-provided function is independent of input {{}}.{STRICT}.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is "
    "not allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
    "fixed": f"The {{}} of the user-provided function is independent of input {{}}.{STRICT} when create_graph=True.",
}
"""What strict mode refuses, by the step in which it is found."""


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Return whether it was a tuple, and it as one; refuse what is not a tensor."""
    given = value if isinstance(value, tuple) else (value,)
    for i, one in enumerate(given):
        if not isinstance(one, Tensor):
            which = f"value at index {i}" if isinstance(value, tuple) else f"given {what}"
            wanted = f"The {what} given to {name} must be either a Tensor or a tuple of Tensors"
            raise TypeError(f"{wanted} but the {which} has type {type(one)}.")
    return isinstance(value, tuple), given


def fresh(tensors: tuple[Any, ...], *, create: bool, needed: bool = True) -> tuple[Any, ...]:
    """Return the tensors out of their graph, to differentiate for if they are ``needed``; with ``create`` views of them."""
    views = [create and one.requires_grad for one in tensors]
    pairs = zip(tensors, views, strict=True)
    return tuple(call["view"](one, one._array.shape) if view else one.detach().requires_grad_(needed) for one, view in pairs)


def run(func: Callable[..., Any], leaves: tuple[Any, ...], name: str, *, strict: bool) -> tuple[bool, tuple[Any, ...]]:
    """Call the function; return whether it gave a tuple, and its outputs. One that is to give one number is refused if not."""
    several, outputs = as_tuple(func(*leaves), "outputs of the user-provided function", name)
    refuse_independent(outputs, "outputs", strict=strict)
    if name in ("hessian", "hvp", "vhp"):
        if several:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if outputs[0]._array.size != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return several, outputs


def gradients(outputs: Any, inputs: Any, grads: Any = None, *, create: bool, keep: bool | None = None) -> Any:
    """Return the gradients of those outputs that have any; None for inputs that have none."""
    pairs = [(o, g) for o, g in zip(outputs, grads or [None] * len(outputs), strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad([o for o, _ in pairs], inputs, [g for _, g in pairs], keep, create, allow_unused=True)


def zeros(like: Any) -> Any:
    """Return a gradient of zero."""
    return from_array(np.zeros_like(like._array), None)


def refuse_independent(values: tuple[Any, ...], step: str, *, strict: bool) -> None:
    """Refuse, in strict mode, what does not depend on the inputs."""
    for i, one in enumerate(values if strict else ()):
        if one is None or not one.requires_grad:
            raise RuntimeError(WORDS["back" if one is None else step].format(i))


def filled(found: Any, like: Any, step: str, *, strict: bool, create: bool) -> tuple[Any, ...]:
    """Return zeros for what has no gradient; in strict mode such are refused, and with ``create`` those without a graph too."""
    for i, one in enumerate(found if strict else ()):
        if one is None:
            raise RuntimeError(WORDS[step].format(i))
        if create and not one.requires_grad:
            raise RuntimeError(WORDS["fixed"].format("hessian" if "double" in step else "jacobian", i))
    return tuple(zeros(ref) if one is None else one for one, ref in zip(found, like, strict=True))


def finish(values: tuple[Any, ...], *, several: bool, create: bool) -> Any:
    """Return the results in the shape the arguments had, out of the graph unless it was asked for."""
    kept = tuple(v if create else v.detach() for v in values)
    return kept if several else kept[0]


def directions(v: Any, like: tuple[Any, ...], name: str, *, several: bool, create: bool) -> Any:
    """Return the vector to multiply with; None, which stands for a one, if there is one element only."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            what = "user-provided function returns" if name == "vjp" else "input to the user-provided function is"
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
        return None
    given = fresh(as_tuple(v, "v", name)[1], create=create, needed=False)
    if len(given) != len(like):
        long = f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
        raise RuntimeError(long if several else "The given v should contain a single Tensor.")
    for i, (one, other) in enumerate(zip(given, like, strict=True)):
        if one._array.shape != other._array.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got {one.shape}.")
    return given


# ------------------------------------------------------------------ whole matrices
def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Return the derivative of every output element for every input element, of shape (*output, *input), always by backward.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jacobian.html
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    several_in, given = as_tuple(inputs, "inputs", "jacobian")
    rows = []
    with enable_grad():
        leaves = fresh(given, create=create_graph)
        several_out, outputs = run(func, leaves, "jacobian", strict=strict)
        if vectorize and strict:
            told = "are not supported together. Please either set `strict=False` or `vectorize=False`."
            raise RuntimeError(f"torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` {told}")
        for i, out in enumerate(outputs):
            found = [gradients([out.reshape(-1)[j]], leaves, create=create_graph, keep=True) for j in range(out._array.size)]
            for k, one in [(k, one) for row in found if strict for k, one in enumerate(row)]:
                if one is None:
                    raise RuntimeError(WORDS["back"].replace("The output", f"Output {i}").format(k))
                if create_graph and not one.requires_grad:
                    raise RuntimeError(WORDS["fixed"].format("jacobian", i))
            shapes = [(*out._array.shape, *leaf._array.shape) for leaf in leaves]
            columns = [[zeros(leaf) if row[k] is None else row[k] for row in found] for k, leaf in enumerate(leaves)]
            parts = tuple(call["stack"](column, 0).view(shape) for column, shape in zip(columns, shapes, strict=True))
            rows.append(finish(parts, several=several_in, create=create_graph))
    return tuple(rows) if several_out else rows[0]


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Return the second derivatives of a function of one number: the Jacobian of its gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hessian.html
    """
    several, given = as_tuple(inputs, "inputs", "hessian")

    def slope(*leaves: Any) -> Any:
        found = jacobian(lambda *leaves: run(func, leaves, "hessian", strict=strict)[1][0].squeeze(), leaves, create_graph=True)
        refuse_independent(found, "slope", strict=strict)
        return found

    rows = jacobian(slope, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if several else rows[0][0]


# ------------------------------------------------------------------ products with a vector
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (outputs, ``v`` times the Jacobian).

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.vjp.html
    """
    several_in, given = as_tuple(inputs, "inputs", "vjp")
    with enable_grad():
        leaves = fresh(given, create=create_graph)
        several_out, outputs = run(func, leaves, "vjp", strict=strict)
        ones = directions(v, outputs, "vjp", several=several_out, create=create_graph)
        found = gradients(outputs, leaves, ones, create=create_graph)
    found = filled(found, leaves, "back", strict=strict, create=create_graph)
    return finish(outputs, several=several_out, create=create_graph), finish(found, several=several_in, create=create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (outputs, the Jacobian times ``v``): the gradient of the gradient, which is linear in what came in.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jvp.html
    """
    several_in, given = as_tuple(inputs, "inputs", "jvp")
    with enable_grad():
        leaves = fresh(given, create=create_graph)
        ones = directions(v, leaves, "jvp", several=several_in, create=create_graph)
        several_out, outputs = run(func, leaves, "jvp", strict=strict)
        through = tuple(zeros(o).requires_grad_() for o in outputs)
        back = gradients(outputs, leaves, through, create=True)
        refuse_independent(back, "grad_inputs", strict=strict)
        found = gradients(back, through, ones, create=create_graph)
    found = filled(found, outputs, "back_trick", strict=strict, create=create_graph)
    return finish(outputs, several=several_out, create=create_graph), finish(found, several=several_out, create=create_graph)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (output, ``v`` times the Hessian).

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.vhp.html
    """
    return hessian_product(func, inputs, v, "vhp", create=create_graph, strict=strict)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return (output, the Hessian times ``v``), as :func:`jvp` of the gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hvp.html
    """
    return hessian_product(func, inputs, v, "hvp", create=create_graph, strict=strict)


def hessian_product(func: Any, inputs: Any, v: Any, name: str, *, create: bool, strict: bool) -> Any:
    """Return (output, the Hessian with a vector on its left or right)."""
    several, given = as_tuple(inputs, "inputs", name)
    with enable_grad():
        leaves = fresh(given, create=create)
        ones = directions(v, leaves, name, several=several, create=create)
        outputs = run(func, leaves, name, strict=strict)[1]
        slope = gradients(outputs, leaves, create=True)
        refuse_independent(slope, "slope", strict=strict)
        step = "double_back"
        if name == "hvp":
            step, through = "double_back_trick", tuple(zeros(leaf).requires_grad_() for leaf in leaves)
            found = gradients(gradients(slope, leaves, through, create=True), through, ones, create=create)
        else:
            found = gradients(slope, leaves, ones, create=create)
    found = filled(found, leaves, step, strict=strict, create=create)
    return finish(outputs, several=False, create=create), finish(found, several=several, create=create)


__getattr__ = absent("torch.autograd.functional")
