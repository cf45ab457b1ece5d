"""``torch.autograd.gradcheck``: derivatives against differences."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gviz.autograd.requests import grad
from gviz.autograd.row import TENSORS
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.words import refuse, warn

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
MAY_BREAK = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)


class GradcheckError(RuntimeError):
    """A derivative differs from the differences."""

    __module__ = "torch.autograd.gradcheck"


def gradcheck(
    func: Callable[..., Any],
    inputs: object,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Return whether the gradients that backward computes agree with differences of a step ``eps``, for each element.

    With ``check_forward_ad`` the tangents of the forward mode are compared too. Of no effect are the options about
    dtypes, batches and the fast mode.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradcheck.html
    """
    refuse(
        not check_forward_ad and not check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
        AssertionError,
    )
    tensors = as_tuple(inputs)
    leaves = checked(tensors)
    try:
        if check_forward_ad:
            compare_forward(func, tensors, leaves, eps, (rtol, atol))
        outputs = compare(func, tensors, leaves, eps, (rtol, atol), nondet_tol) if check_backward_ad else []
        check_zero(outputs, leaves, masked=bool(masked))
        if check_undefined_grad and check_backward_ad:
            check_undefined(func, tensors, leaves, len(outputs))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def as_tuple(value: object) -> tuple[Any, ...]:
    """Return it as a tuple."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def differentiable(outputs: object) -> list[Any]:
    """Return those outputs that require a gradient."""
    return [o for o in as_tuple(outputs) if o.requires_grad]


def checked(inputs: tuple[Any, ...]) -> list[Tensor]:
    """Return the inputs that require a gradient.

    Warn of too coarse ones, and refuse those with elements in one place.
    """
    leaves = [(i, t) for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    for place, tensor in leaves:
        array = tensor._array
        if array.dtype != np.float64:
            warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex. "
            )
        refuse(
            any(step <= 0 and size > 1 for step, size in zip(array.strides, array.shape, strict=True)),
            f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are "
            "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
            "on the input before passing it to gradcheck.",
        )
        tensor._array = array if array.flags.writeable else array.copy()
    refuse(
        not leaves,
        "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.",
        ValueError,
    )
    return [tensor for _, tensor in leaves]


def compare(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    leaves: list[Tensor],
    eps: float,
    close: tuple[float, float],
    twice: float,
) -> list[Any]:
    """Return the outputs that require a gradient.

    Refuse derivatives that differ from the differences, or from run to run.
    """
    outputs = as_tuple(func(*inputs))
    flowing = [(place, one) for place, one in enumerate(outputs) if one.requires_grad]
    slopes = [differences(func, inputs, outputs, tensor, eps) for tensor in leaves]
    refuse(
        not flowing and any(slope.any() for rows in slopes for slope in rows),
        "Numerical gradient for function expected to be zero",
        GradcheckError,
    )
    for number, (place, out) in enumerate(flowing):
        analytical, again = (derivatives(out, leaves) for _ in range(2))
        refuse(
            any(np.abs(one - other).max(initial=0.0) > twice for one, other in zip(analytical, again, strict=True)),
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values, although analytical gradient matches numerical gradient.The tolerance for "
            f"nondeterminism was {twice}.",
            GradcheckError,
        )
        for position, (rows, by_backward) in enumerate(zip(slopes, analytical, strict=True)):
            if not np.allclose(by_backward, rows[place], *close):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {position},\n"
                    f"numerical:{from_array(rows[place], None)}\nanalytical:{from_array(by_backward, None)}\n"
                )
    return [out for _, out in flowing]


def compare_forward(
    func: Callable[..., Any], inputs: tuple[Any, ...], leaves: list[Tensor], eps: float, close: tuple[float, float]
) -> None:
    """Refuse tangents of the forward mode that differ from the differences."""
    forward_ad: Any = sys.modules[__package__].forward_ad  # few programs need it
    outputs = as_tuple(func(*inputs))
    for position, leaf in enumerate(leaves):
        slopes = differences(func, inputs, outputs, leaf, eps)
        by_forward = [np.zeros_like(rows) for rows in slopes]
        for row, one in enumerate(np.eye(leaf._array.size, dtype=leaf._array.dtype)):
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(leaf, from_array(one.reshape(leaf._array.shape), None))
                ends = as_tuple(func(*[dual if each is leaf else each for each in inputs]))
                tangents = [forward_ad.unpack_dual(end).tangent for end in ends]
            for rows, tangent in zip(by_forward, tangents, strict=True):
                rows[row] = 0 if tangent is None else tangent._array.reshape(-1)
        for number, (rows, expected) in enumerate(zip(by_forward, slopes, strict=True)):
            if not np.allclose(rows, expected, *close):
                raise GradcheckError(
                    f"Jacobian computed with forward mode mismatch for output {number} with respect to input "
                    f"{position},\nnumerical:{from_array(expected, None)}\nanalytical:{from_array(rows, None)}\n"
                )


def differences(
    func: Callable[..., Any], inputs: tuple[Any, ...], outputs: tuple[Any, ...], which: Tensor, eps: float
) -> list[Any]:
    """Return the Jacobian of each output by central differences, (elements of the input, elements of the output).

    Raises:
        AssertionError: shape or dtype of an output depend on the values.
    """
    array = which._array
    slopes = [np.zeros((array.size, o._array.size), o._array.dtype) for o in outputs]
    for row, place in enumerate(np.ndindex(array.shape)):
        before, sides = array[place], []
        for step in (-eps, eps):
            array[place] = before + step
            sides.append([from_array(o._array.copy(), None) for o in as_tuple(func(*inputs))])
        array[place] = before
        for slope, low, high in zip(slopes, *sides, strict=False):
            for fact in ("shape", "dtype"):
                a, b = getattr(low, fact), getattr(high, fact)
                refuse(
                    a != b,
                    f"Expected `func` to return outputs with the same {fact} when inputs are perturbed on index "
                    f"{place} by {eps}, but got: {fact}s {a} and {b}.",
                    AssertionError,
                )
            slope[row] = TENSORS["expand"](((high - low) / (2 * eps)).reshape(-1), slope.shape[1:])._array
    return slopes


def derivatives(out: Tensor, leaves: list[Tensor]) -> list[Any]:
    """Return the same by backward, for one output and each input."""
    jacobians = [np.zeros((tensor._array.size, out._array.size), tensor._array.dtype) for tensor in leaves]
    for j, one in enumerate(np.eye(out._array.size, dtype=out._array.dtype)):
        grads = grad(out, leaves, from_array(one.reshape(out._array.shape), None), retain_graph=True, allow_unused=True)
        for column, part in zip(jacobians, grads, strict=True):
            column[:, j] = 0 if part is None else part._array.reshape(-1)
    return jacobians


def check_zero(outputs: list[Any], leaves: list[Tensor], *, masked: bool) -> None:
    """Refuse a backward that gives something for a gradient of zero."""
    zeros = [from_array(np.zeros_like(o._array), None) for o in outputs]
    for one in grad(outputs, leaves, zeros, allow_unused=True) if outputs else ():
        refuse(
            one is not None and not (np.allclose(one._array, 0) if masked else not one._array.any()),
            "backward not multiplied by grad_output",
            GradcheckError,
        )


def check_undefined(func: Callable[..., Any], inputs: tuple[Any, ...], leaves: list[Tensor], count: int) -> None:
    """Refuse a backward that does not take a missing gradient for zero.

    Those of all outputs, and of each of several.
    """

    def refused(expected: str) -> GradcheckError:
        warn(MAY_BREAK)
        notes = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
        return GradcheckError(f"Expected {expected}. {notes}")

    for missing in [range(count), *([i] for i in range(count) if count > 1)]:
        outputs = [
            TENSORS["undefined_grad"](o) if i in missing else o for i, o in enumerate(differentiable(func(*inputs)))
        ]
        zeros = [from_array(np.zeros_like(o._array), None) for o in outputs]
        try:
            slopes = grad(outputs, leaves, zeros, allow_unused=True) if outputs else ()
        except RuntimeError as error:
            raise refused("backward function to handle undefined output grads") from error
        if any(one is not None and one._array.any() for one in slopes):
            raise refused("all input grads to be undefined or zero when all output grads are undefined or zero")


def gradgradcheck(
    func: Callable[..., Any],
    inputs: object,
    grad_outputs: object = None,
    *,
    gen_non_contig_grad_outputs: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    **options: Any,
) -> bool:
    """Return the same for second derivatives.

    :func:`gradcheck` of the gradient, for random gradients if none are given.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradgradcheck.html
    """
    refuse(
        not (check_fwd_over_rev or check_rev_over_rev),
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
        AssertionError,
    )
    tensors = as_tuple(inputs)
    if grad_outputs is None:
        likes: list[Any] = [from_array(np.zeros_like(o._array), None) for o in differentiable(func(*tensors))]
        grad_outputs = [like.uniform_(-1, 1).requires_grad_() for like in likes]
    places = [i for i, t in enumerate(tensors) if isinstance(t, Tensor) and t.requires_grad]

    def slope(*args: Tensor) -> Any:
        inner = args[: len(tensors)]
        outputs = differentiable(func(*inner))
        back = grad(outputs, [inner[i] for i in places], args[len(tensors) :], create_graph=True, allow_unused=True)
        return tuple(b for b in back if b is not None)

    return gradcheck(slope, (*tensors, *as_tuple(grad_outputs)), check_forward_ad=check_fwd_over_rev, **options)
