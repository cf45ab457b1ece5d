"""``torch.autograd.functional``: derivatives of a function as a whole.

Each begins with fresh leaves for the inputs, so that the function's own graph stays apart from the caller's; with
``create_graph`` they are views of the inputs instead, and the result can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gviz.autograd.modes import enable_grad
from gviz.autograd.requests import grad
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.numbers.words import absent, refuse

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

STRICT = " This is not allowed in strict mode"
WORDS = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function."
    f"{STRICT}.",
    "slope": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    f"input {{}} is independent of the input.{STRICT}. You should ensure that your function is twice differentiable "
    "and that the jacobian depends on the inputs (this would be violated by a linear function for example).",
    "vjp": f"{{output}} of the user-provided function is independent of input {{}}.{STRICT}.",
    "jvp": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the "
    f"double backward trick to compute forward mode gradients.{STRICT}.",
    "vhp": f"The jacobian of the user-provided function is independent of input {{}}.{STRICT}.",
    "hvp": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is "
    "not allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
    "fixed": f"The {{}} of the user-provided function is independent of input {{}}.{STRICT} when create_graph=True.",
}
"""What strict mode refuses, by the step, or the function, in which it is found."""


def as_tuple(value: object, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Return whether it was a tuple, and it as one; refuse what is not a tensor."""
    tensors = value if isinstance(value, tuple) else (value,)
    for i, one in enumerate(tensors):
        which = f"value at index {i}" if isinstance(value, tuple) else f"given {what}"
        refuse(
            not isinstance(one, Tensor),
            f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type "
            f"{type(one)}.",
            TypeError,
        )
    return isinstance(value, tuple), tensors


def fresh(tensors: tuple[Any, ...], *, create: bool, needed: bool = True) -> tuple[Any, ...]:
    """Return the tensors out of their graph, to differentiate for if they are ``needed``.

    With ``create`` views of them.
    """
    pairs = zip(tensors, [create and one.requires_grad for one in tensors], strict=True)
    return tuple(
        call["view"](one, one._array.shape) if view else one.detach().requires_grad_(needed) for one, view in pairs
    )


def run(func: Callable[..., Any], leaves: tuple[Any, ...], name: str, *, strict: bool) -> tuple[bool, tuple[Any, ...]]:
    """Call the function; return whether it gave a tuple, and its outputs.

    One that is to give one number is refused if not.
    """
    several, outputs = as_tuple(func(*leaves), "outputs of the user-provided function", name)
    refuse_independent(outputs, "outputs", strict=strict)
    if name in ("hessian", "hvp", "vhp"):
        refuse(several, f"The function given to {name} should return a single Tensor")
        refuse(
            outputs[0]._array.size != 1,
            f"The Tensor returned by the function given to {name} should contain a single element",
        )
    return several, outputs


def gradients(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    grads: Sequence[Any] | None = None,
    *,
    create: bool,
    keep: bool | None = None,
) -> Any:
    """Return the gradients of those outputs that have any; None for inputs that have none."""
    pairs = [
        (o, g)
        for o, g in zip(outputs, grads or [None] * len(outputs), strict=True)
        if o is not None and o.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return grad([o for o, _ in pairs], inputs, [g for _, g in pairs], keep, create, allow_unused=True)


def refuse_independent(values: tuple[Any, ...], step: str, *, strict: bool) -> None:
    """Refuse, in strict mode, what does not depend on the inputs."""
    for i, one in enumerate(values if strict else ()):
        refuse(
            one is None or not one.requires_grad, WORDS["vjp" if one is None else step].format(i, output="The output")
        )


def with_zeros(
    grads: Sequence[Any], like: Sequence[Any], step: str, *, strict: bool, create: bool, output: str = "The output"
) -> tuple[Any, ...]:
    """Return zeros for what has no gradient.

    In strict mode such are refused, and with ``create`` those without a graph too.
    """
    for i, one in enumerate(grads if strict else ()):
        refuse(one is None, WORDS[step].format(i, output=output))
        refuse(
            create and not one.requires_grad,
            WORDS["fixed"].format("hessian" if step in ("vhp", "hvp") else "jacobian", i),
        )
    return tuple(call["zeros_like"](ref) if one is None else one for one, ref in zip(grads, like, strict=True))


def finish(values: tuple[Any, ...], *, several: bool, create: bool) -> Any:
    """Return the results in the shape the arguments had, out of the graph unless it was asked for."""
    results = tuple(v if create else v.detach() for v in values)
    return results if several else results[0]


def directions(v: object, like: tuple[Any, ...], name: str, *, several: bool, create: bool) -> Any:
    """Return the vector to multiply with; None, which stands for a one, if there is one element only."""
    if v is None:
        what = "user-provided function returns" if name == "vjp" else "input to the user-provided function is"
        refuse(
            len(like) != 1 or like[0]._array.size != 1,
            f"The vector v can only be None if the {what} a single Tensor with a single element.",
        )
        return None
    vectors = fresh(as_tuple(v, "v", name)[1], create=create, needed=False)
    refuse(
        len(vectors) != len(like),
        f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}."
        if several
        else "The given v should contain a single Tensor.",
    )
    for i, (one, other) in enumerate(zip(vectors, like, strict=True)):
        refuse(
            one._array.shape != other._array.shape,
            f"Entry {i} in " * several + f"v has invalid size: should be {other.shape} but got {one.shape}.",
        )
    return vectors


# ------------------------------------------------------------------ whole matrices
def jacobian(
    func: Callable[..., Any],
    inputs: object,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the derivative of every output element for every input element (*output, *input), always by backward.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jacobian.html
    """
    refuse(
        strategy not in ("forward-mode", "reverse-mode"),
        'Expected strategy to be either "forward-mode" or "reverse-mode".',
        AssertionError,
    )
    several_in, tensors = as_tuple(inputs, "inputs", "jacobian")
    rows = []
    with enable_grad():
        leaves = fresh(tensors, create=create_graph)
        several_out, outputs = run(func, leaves, "jacobian", strict=strict)
        refuse(
            vectorize and strict,
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`.",
        )
        for i, out in enumerate(outputs):
            elements = [out.reshape(-1)[j] for j in range(out._array.size)]
            by_element = [gradients([one], leaves, create=create_graph, keep=True) for one in elements]
            by_element = [
                with_zeros(one, leaves, "vjp", strict=strict, create=create_graph, output=f"Output {i}")
                for one in by_element
            ]
            shapes = [(*out._array.shape, *leaf._array.shape) for leaf in leaves]
            columns = [[one[k] for one in by_element] for k in range(len(leaves))]
            parts = tuple(call["stack"](column, 0).view(shape) for column, shape in zip(columns, shapes, strict=True))
            rows.append(finish(parts, several=several_in, create=create_graph))
    return tuple(rows) if several_out else rows[0]


def hessian(
    func: Callable[..., Any],
    inputs: object,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function of one number: the Jacobian of its gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hessian.html
    """
    several, tensors = as_tuple(inputs, "inputs", "hessian")

    def slope(*leaves: object) -> Any:
        second = jacobian(
            lambda *leaves: run(func, leaves, "hessian", strict=strict)[1][0].squeeze(), leaves, create_graph=True
        )
        refuse_independent(second, "slope", strict=strict)
        return second

    rows = jacobian(slope, tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if several else rows[0][0]


# ------------------------------------------------------------------ products with a vector
def product(name: str, meaning: str) -> Callable[..., Any]:
    """Return the function of that name: the Jacobian, or the Hessian, times a vector on its left or right.

    The Hessian is the Jacobian of the gradient. A vector on the right needs the gradient of a gradient: the first one
    is linear in what it begins with.
    """
    of_hessian, on_the_left = name in ("vhp", "hvp"), name in ("vjp", "vhp")

    def run_product(
        func: Callable[..., Any], inputs: object, v: object = None, create_graph: bool = False, strict: bool = False
    ) -> Any:
        several_in, tensors = as_tuple(inputs, "inputs", name)
        with enable_grad():
            leaves = fresh(tensors, create=create_graph)
            ones = None if name == "vjp" else directions(v, leaves, name, several=several_in, create=create_graph)
            several_out, outputs = run(func, leaves, name, strict=strict)
            if name == "vjp":
                ones = directions(v, outputs, name, several=several_out, create=create_graph)
            values = gradients(outputs, leaves, create=True) if of_hessian else outputs
            refuse_independent(values, "slope", strict=strict and of_hessian)
            if on_the_left:
                products = gradients(values, leaves, ones, create=create_graph)
            else:
                through = tuple(call["zeros_like"](one).requires_grad_() for one in (leaves if of_hessian else outputs))
                back = gradients(values, leaves, through, create=True)
                refuse_independent(back, "grad_inputs", strict=strict and not of_hessian)
                products = gradients(back, through, ones, create=create_graph)
        several, like = (several_out, outputs) if name == "jvp" else (several_in, leaves)
        products = with_zeros(products, like, name, strict=strict, create=create_graph)
        result = finish(products, several=several, create=create_graph)
        return finish(outputs, several=several_out, create=create_graph), result

    run_product.__name__ = run_product.__qualname__ = name
    run_product.__doc__ = (
        f"Return (outputs, {meaning}).\n\n"
        f"Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.{name}.html"
    )
    return run_product


vjp = product("vjp", "``v`` times the Jacobian")
jvp = product("jvp", "the Jacobian times ``v``")
vhp = product("vhp", "``v`` times the Hessian")
hvp = product("hvp", "the Hessian times ``v``")
__getattr__ = absent("torch.autograd.functional")
