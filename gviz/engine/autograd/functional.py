"""``torch.autograd.functional``: derivatives of a function as a whole.

Each begins with fresh leaves for the inputs, so that the function's own graph stays apart from the caller's; with
``create_graph`` they are views of the inputs instead, and the result can be differentiated again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.numbers.words import absent
from gviz.autograd.modes import enable_grad
from gviz.autograd.row import TENSORS as call
from gviz.autograd.requests import grad
from gviz.autograd.tensor import Tensor, from_array

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

OUTPUTS = "outputs of the user-provided function"


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Whether it was a tuple, and as one; only tensors may be in it."""
    given = value if isinstance(value, tuple) else (value,)
    for i, one in enumerate(given):
        if not isinstance(one, Tensor):
            which = f"value at index {i}" if isinstance(value, tuple) else f"given {what}"
            wanted = f"The {what} given to {name} must be either a Tensor or a tuple of Tensors"
            raise TypeError(f"{wanted} but the {which} has type {type(one)}.")
    return isinstance(value, tuple), given


def fresh(tensors: tuple[Any, ...], *, create: bool, needed: bool = True) -> tuple[Any, ...]:
    """The tensors out of their graph, to differentiate for if they are ``needed``; with ``create`` views of them."""
    return tuple(
        call["view"](one, one._array.shape) if create and one.requires_grad else one.detach().requires_grad_(needed)
        for one in tensors
    )


def run(func: Callable[..., Any], leaves: tuple[Any, ...], name: str, *, strict: bool) -> tuple[bool, tuple[Any, ...]]:
    """Call the function: whether it gave a tuple, and its outputs."""
    several, outputs = as_tuple(func(*leaves), OUTPUTS, name)
    refuse_independent(outputs, "outputs", strict=strict)
    return several, outputs


def gradients(outputs: Any, inputs: Any, grads: Any = None, *, create: bool, keep: bool | None = None) -> tuple[Any, ...]:
    """The gradients of those outputs that have any; None for inputs that have none."""
    kept = [(o, None if grads is None else g) for o, g in zip(outputs, grads or outputs, strict=True) if o is not None]
    kept = [(o, g) for o, g in kept if o.requires_grad]
    if not kept:
        return (None,) * len(inputs)
    starts, given = zip(*kept, strict=True)
    found: tuple[Any, ...] = grad(starts, inputs, given, create_graph=create, retain_graph=keep, allow_unused=True)
    return found


def zeros(like: Any) -> Any:
    """A gradient of zero."""
    return from_array(np.zeros_like(like._array), None)


NEEDS = " This is not allowed in strict mode."
INDEPENDENT = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the user-provided function." + NEEDS,
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} "
    "is independent of the input."
    + NEEDS
    + " You should ensure that your function is twice differentiable and that the jacobian "
    "depends on the inputs (this would be violated by a linear function for example).",
}
MISSING = {
    "back": "The output of the user-provided function is independent of input {}." + NEEDS,
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients." + NEEDS,
    "double_back": "The jacobian of the user-provided function is independent of input {}." + NEEDS,
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is "
    "not allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


def refuse_independent(values: tuple[Any, ...], kind: str, *, strict: bool) -> None:
    """Refuse, in strict mode, what does not depend on the inputs."""
    for i, one in enumerate(values if strict else ()):
        if one is None:
            raise RuntimeError(MISSING["back"].format(i))
        if not one.requires_grad:
            raise RuntimeError(INDEPENDENT[kind].format(i))


def filled(found: tuple[Any, ...], like: tuple[Any, ...], stage: str, *, strict: bool, create: bool) -> tuple[Any, ...]:
    """Zeros for what has no gradient; in strict mode such are refused, and with ``create`` those without a graph too."""
    for i, one in enumerate(found if strict else ()):
        if one is None:
            raise RuntimeError(MISSING[stage].format(i))
        if create and not one.requires_grad:
            whose = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(FIXED.format(whose, i))
    return tuple(zeros(ref) if one is None else one for one, ref in zip(found, like, strict=True))


FIXED = "The {} of the user-provided function is independent of input {}." + NEEDS.replace(
    "mode", "mode when create_graph=True"
)


def finish(values: tuple[Any, ...], *, several: bool, create: bool) -> Any:
    """The results in the shape the arguments had, out of the graph unless it was asked for."""
    kept = tuple(v if create else v.detach() for v in values)
    return kept if several else kept[0]


def directions(v: Any, like: tuple[Any, ...], name: str, *, several: bool, create: bool) -> Any:
    """The vector to multiply with; None, which stands for a one, where there is one element only."""
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


def single(out: Any, several: bool, name: str) -> None:
    """Refuse a result that is not one number."""
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if out._array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The derivative of every output element for every input element, of shape (*output, *input), always by backward.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jacobian.html
    """
    refuse_strategy(strategy, create=create_graph, strict=strict, vectorize=vectorize)
    several_in, given = as_tuple(inputs, "inputs", "jacobian")
    rows = []
    with enable_grad():
        leaves = fresh(given, create=create_graph)
        several_out, outputs = run(func, leaves, "jacobian", strict=strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set `strict=False` or `vectorize=False`."
            )
        for i, out in enumerate(outputs):
            columns: list[list[Any]] = [[] for _ in leaves]
            for j in range(out._array.size):
                found = gradients([out.reshape(-1)[j]], leaves, create=create_graph, keep=True)
                for k, (one, leaf) in enumerate(zip(found, leaves, strict=True)):
                    if strict and one is None:
                        raise RuntimeError(f"Output {i} of the user-provided function is independent of input {k}." + NEEDS)
                    if strict and create_graph and not one.requires_grad:
                        raise RuntimeError(FIXED.format("jacobian", i))
                    columns[k].append(zeros(leaf) if one is None else one)
            shapes = [(*out._array.shape, *leaf._array.shape) for leaf in leaves]
            parts = tuple(call["stack"](column, 0).view(shape) for column, shape in zip(columns, shapes, strict=True))
            rows.append(finish(parts, several=several_in, create=create_graph))
    return tuple(rows) if several_out else rows[0]


def refuse_strategy(strategy: str, *, create: bool, strict: bool, vectorize: bool) -> None:
    """Refuse a strategy that there is not, or not with those options."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "reverse-mode":
        return
    both = 'torch.autograd.functional.jacobian: `{0}=True` and `strategy="forward-mode"` are not supported together (yet). '
    end = 'Please either set `{0}=False` or `strategy="reverse-mode"`.'
    if create:
        raise NotImplementedError((both + end).format("create_graph"))
    if strict:
        raise RuntimeError((both + end).format("strict"))
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a function of one number: the Jacobian of its gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hessian.html
    """
    several, given = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def inner(*leaves: Any) -> Any:
        is_tuple, outputs = run(func, leaves, "hessian", strict=strict)
        single(outputs[0], is_tuple, "hessian")
        return outputs[0].squeeze()

    def slope(*leaves: Any) -> Any:
        found = jacobian(inner, leaves, create_graph=True)
        refuse_independent(found, "jacobian", strict=strict)
        return found

    rows = jacobian(
        slope, given, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy
    )
    return rows if several else rows[0][0]


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(outputs, ``v`` times the Jacobian).

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
    """(outputs, the Jacobian times ``v``): the gradient of the gradient, which is linear in what came in.

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


def of_number(func: Any, inputs: Any, v: Any, name: str, *, create: bool, strict: bool) -> tuple[Any, ...]:
    """Whether inputs were a tuple, their leaves, the vector, the output, and its gradient, which can be differentiated."""
    several, given = as_tuple(inputs, "inputs", name)
    leaves = fresh(given, create=create)
    ones = directions(v, leaves, name, several=several, create=create)
    is_tuple, outputs = run(func, leaves, name, strict=strict)
    single(outputs[0], is_tuple, name)
    slope = gradients(outputs, leaves, create=True)
    refuse_independent(slope, "jacobian", strict=strict)
    return several, leaves, ones, outputs, slope


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(output, ``v`` times the Hessian).

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.vhp.html
    """
    with enable_grad():
        several, leaves, ones, outputs, slope = of_number(func, inputs, v, "vhp", create=create_graph, strict=strict)
        found = gradients(slope, leaves, ones, create=create_graph)
    found = filled(found, leaves, "double_back", strict=strict, create=create_graph)
    return finish(outputs, several=False, create=create_graph), finish(found, several=several, create=create_graph)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """(output, the Hessian times ``v``), as :func:`jvp` of the gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hvp.html
    """
    with enable_grad():
        several, leaves, ones, outputs, slope = of_number(func, inputs, v, "hvp", create=create_graph, strict=strict)
        through = tuple(zeros(leaf).requires_grad_() for leaf in leaves)
        double = gradients(slope, leaves, through, create=True)
        found = gradients(double, through, ones, create=create_graph)
    found = filled(found, leaves, "double_back_trick", strict=strict, create=create_graph)
    return finish(outputs, several=False, create=create_graph), finish(found, several=several, create=create_graph)


__getattr__ = absent("torch.autograd.functional")
