"""``torch.autograd.gradcheck``: derivatives against differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.requests import grad
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.words import warn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative differs from the differences."""

    __module__ = "torch.autograd.gradcheck"


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a tuple of one value, or of several."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Return whether the gradients that backward computes agree with differences.

    Args:
        func: a function of tensors.
        inputs: its arguments; those that require a gradient are checked (in float64, or the differences are too coarse).
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise GradcheckError if they do not agree, rather than return False.
        nondet_tol: by how much two runs of backward may differ.
        check_undefined_grad: whether backward must give no gradient for a gradient of zeros.
        check_grad_dtypes, check_batched_grad, check_batched_forward_grad, check_backward_ad, fast_mode: of no effect.
        check_forward_ad: refused: there is no forward mode.
        masked: whether gradients for zero gradients of the outputs need only be close to zero.

    Raises:
        ValueError: no input requires a gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradcheck.html
    """
    if check_forward_ad:
        raise NotImplementedError("gviz has no forward mode of differentiation; gviz render --engine torch has")
    try:
        check(func, as_tuple(inputs), eps, (rtol, atol), nondet_tol, zero=check_undefined_grad, masked=bool(masked))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def check(
    func: Any, inputs: tuple[Any, ...], eps: float, tolerance: tuple[float, float], twice: float, *, zero: bool, masked: bool
) -> None:
    """Compare the Jacobians of all outputs that require a gradient."""
    wanted = checked_inputs(inputs)
    outputs = as_tuple(func(*inputs))
    slopes = [numerical(func, inputs, outputs, tensor, eps) for tensor in wanted]
    flowing = [(i, one) for i, one in enumerate(outputs) if one.requires_grad]
    if not flowing and any(slope.any() for rows in slopes for slope in rows):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    for number, (place, out) in enumerate(flowing):
        found, again = (analytical(out, wanted) for _ in range(2))
        for position, (by_backward, other) in enumerate(zip(found, again, strict=True)):
            if np.abs(by_backward - other).max(initial=0.0) > twice:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    "different values, although analytical gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {twice}."
                )
            if not np.allclose(by_backward, slopes[position][place], *tolerance):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {position},\n"
                    f"numerical:{from_array(slopes[position][place], None)}\nanalytical:{from_array(by_backward, None)}\n"
                )
    starts = [one for _, one in flowing]
    back = (
        grad(starts, wanted, [from_array(np.zeros_like(one._array), None) for one in starts], allow_unused=True) if zero else ()
    )
    for one in back:
        if one is not None and not (np.allclose(one._array, 0) if masked else not one._array.any()):
            raise GradcheckError("backward not multiplied by grad_output")


def checked_inputs(inputs: tuple[Any, ...]) -> list[Tensor]:
    """Return the inputs that require a gradient; warn of those that are too coarse, refuse those with elements in one place."""
    wanted = [(i, one) for i, one in enumerate(inputs) if isinstance(one, Tensor) and one.requires_grad]
    for place, tensor in wanted:
        if tensor._array.dtype != np.float64:
            warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. "
            )
        if any(step <= 0 and size > 1 for step, size in zip(tensor._array.strides, tensor._array.shape, strict=True)):
            raise RuntimeError(
                f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
                "to be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return [tensor for _, tensor in wanted]


def numerical(func: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...], which: Tensor, eps: float) -> list[Any]:
    """Return the Jacobian of each output by central differences, (elements of the input, elements of the output)."""
    array, rows = which._array, []
    for place in np.ndindex(array.shape):
        value = array[place]
        sides = []
        for step in (-eps, eps):
            array[place] = value + step
            sides.append([one._array.copy() for one in as_tuple(func(*inputs))])
        array[place] = value
        rows.append([((high - low) / (2 * eps)).reshape(-1) for low, high in zip(*sides, strict=True)])
    return [np.array([row[i] for row in rows]).reshape(array.size, one._array.size) for i, one in enumerate(outputs)]


def analytical(out: Tensor, wanted: list[Tensor]) -> list[Any]:
    """Return the same by backward, for one output and each input."""
    size = out._array.size
    found = [np.zeros((tensor._array.size, size), tensor._array.dtype) for tensor in wanted]
    for j in range(size):
        one = np.zeros(size, out._array.dtype)
        one[j] = 1
        grads = grad(out, wanted, from_array(one.reshape(out._array.shape), None), retain_graph=True, allow_unused=True)
        for column, part in zip(found, grads, strict=True):
            column[:, j] = 0 if part is None else part._array.reshape(-1)
    return found


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """Return whether the second derivatives agree with differences: :func:`gradcheck` of the gradient, with its options.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradgradcheck.html
    """
    tensors = as_tuple(inputs)
    if grad_outputs is None:
        outputs = [one for one in as_tuple(func(*tensors)) if one.requires_grad]
        grad_outputs = tuple(from_array(np.zeros_like(one._array), None).uniform_(-1, 1).requires_grad_() for one in outputs)
    wanted = [i for i, one in enumerate(tensors) if isinstance(one, Tensor) and one.requires_grad]

    def slope(*args: Any) -> Any:
        inner = args[: len(tensors)]
        outputs = [one for one in as_tuple(func(*inner)) if one.requires_grad]
        back = grad(outputs, [inner[i] for i in wanted], args[len(tensors) :], create_graph=True, allow_unused=True)
        return tuple(one for one in back if one is not None)

    known = {"gen_non_contig_grad_outputs", "check_fwd_over_rev", "check_rev_over_rev"}
    return gradcheck(slope, (*tensors, *as_tuple(grad_outputs)), **{k: v for k, v in options.items() if k not in known})
