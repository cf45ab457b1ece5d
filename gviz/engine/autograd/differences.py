"""``torch.autograd.gradcheck``: derivatives against differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.modes import enable_grad
from gviz.engine.requests import grad
from gviz.engine.tensor import Tensor, from_array
from gviz.engine.text import warn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative differs from the differences."""


def tensors_of(value: Any) -> tuple[Any, ...]:
    """As a tuple."""
    return (value,) if isinstance(value, Tensor) else tuple(value)


def numerical(func: Callable[..., Any], inputs: tuple[Any, ...], which: Tensor, output: int, eps: float) -> Any:
    """The Jacobian by central differences, (elements of the input, elements of the output)."""
    array, rows = which._array, []
    for place in np.ndindex(array.shape):
        kept = array[place]
        sides = []
        for step in (-eps, eps):
            array[place] = kept + step
            sides.append(np.array(tensors_of(func(*inputs))[output]._array).reshape(-1))
        array[place] = kept
        rows.append((sides[1] - sides[0]) / (2 * eps))
    return np.array(rows, array.dtype).reshape(array.size, -1)


def analytical(outputs: tuple[Any, ...], output: int, which: Tensor) -> Any:
    """The Jacobian by backward."""
    out = outputs[output]
    columns = []
    for j in range(out._array.size):
        one = np.zeros(out._array.size, out._array.dtype)
        one[j] = 1
        found = grad(out, which, from_array(one.reshape(out._array.shape), None), retain_graph=True, allow_unused=True)[0]
        columns.append(np.zeros(which._array.size, which._array.dtype) if found is None else found._array.reshape(-1))
    return np.array(columns, which._array.dtype).reshape(-1, which._array.size).T


@enable_grad
def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, raise_exception: bool = True,
    **options: Any,
) -> bool:  # fmt: skip
    """Whether the gradients that backward computes agree with differences.

    Args:
        func: a function of tensors.
        inputs: its arguments; those that require a gradient are checked (in float64, or the differences are too coarse).
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise where they do not agree, rather than return False.
        options: PyTorch's others, which have no effect.

    Raises:
        GradcheckError: they do not agree.
        ValueError: no input requires a gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradcheck.html
    """
    given = tensors_of(inputs)
    wanted = [(i, t) for i, t in enumerate(given) if isinstance(t, Tensor) and t.requires_grad]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for place, tensor in wanted:
        if tensor._array.dtype != np.float64:
            warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. "
            )
        if tensor.is_leaf:
            tensor._array = np.array(tensor._array)
    outputs = tensors_of(func(*given))
    for number, out in enumerate(o for o in outputs if isinstance(o, Tensor)):
        if not out.requires_grad:
            if any(numerical(func, given, tensor, number, eps).any() for _, tensor in wanted):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            continue
        for position, (_, tensor) in enumerate(wanted):
            by_differences = numerical(func, given, tensor, number, eps)
            by_backward = analytical(outputs, number, tensor)
            if np.allclose(by_backward, by_differences, rtol, atol):
                continue
            if not raise_exception:
                return False
            raise GradcheckError(
                f"Jacobian mismatch for output {number} with respect to input {position},\n"
                f"numerical:{from_array(by_differences, None)}\nanalytical:{from_array(by_backward, None)}\n"
            )
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, raise_exception: bool = True, **options: Any,
) -> bool:  # fmt: skip
    """The same for the second derivatives: :func:`gradcheck` of the gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradgradcheck.html
    """
    given = tensors_of(inputs)
    wanted = [i for i, t in enumerate(given) if isinstance(t, Tensor) and t.requires_grad]
    outputs = [o for o in tensors_of(func(*given)) if o.requires_grad]
    if grad_outputs is None:
        source = np.random.default_rng(0)
        weights = [from_array(source.uniform(0.5, 1.5, o._array.shape).astype(o._array.dtype), None) for o in outputs]
        weights = [w.requires_grad_() for w in weights]
    else:
        weights = list(tensors_of(grad_outputs))

    def slope(*args: Any) -> Any:
        inner = args[: len(given)]
        found = [o for o in tensors_of(func(*inner)) if o.requires_grad]
        back = grad(found, [inner[i] for i in wanted], list(args[len(given) :]), create_graph=True, allow_unused=True)
        return tuple(b for b in back if b is not None and b.requires_grad)

    agrees: bool = gradcheck(slope, (*given, *weights), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
    return agrees
