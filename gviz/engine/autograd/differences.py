"""``torch.autograd.gradcheck``: derivatives against differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.numbers.words import warn
from gviz.autograd.node import Node
from gviz.autograd.requests import grad
from gviz.autograd.tensor import Tensor, edge_of, from_array

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative differs from the differences."""

    __module__ = "torch.autograd.gradcheck"


def as_tuple(value: Any) -> tuple[Any, ...]:
    """As a tuple."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def differentiable(outputs: Any) -> list[Any]:
    """Those outputs that require a gradient."""
    return [o for o in as_tuple(outputs) if o.requires_grad]


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether the gradients that backward computes agree with differences.

    Args:
        func: a function of tensors.
        inputs: its arguments; those that require a gradient are checked (in float64, or the differences are too coarse).
        eps: the step of the differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise where they do not agree, rather than return False.
        nondet_tol: by how much two runs of backward may differ.
        check_undefined_grad: whether to try outputs without gradient.
        check_grad_dtypes: of no effect: backward gives every gradient the dtype of its input.
        check_batched_grad: of no effect: a batch of gradients is computed one by one.
        check_batched_forward_grad: see ``check_forward_ad``.
        check_forward_ad: refused: there is no forward mode.
        check_backward_ad: whether to check backward at all.
        fast_mode: of no effect: all elements are checked.
        masked: whether gradients for zero gradients of the outputs need only be close to zero.

    Raises:
        GradcheckError: they do not agree.
        ValueError: no input requires a gradient.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradcheck.html
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_forward_ad:
        raise NotImplementedError("gviz has no forward mode of differentiation; gviz render --engine torch has")
    try:
        check(func, as_tuple(inputs), eps, (rtol, atol), nondet_tol, undefined=check_undefined_grad, masked=bool(masked))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def check(
    func: Any,
    inputs: tuple[Any, ...],
    eps: float,
    tolerance: tuple[float, float],
    twice: float,
    *,
    undefined: bool,
    masked: bool,
) -> None:
    """All that :func:`gradcheck` checks."""
    wanted = checked_inputs(inputs)
    given = as_tuple(func(*inputs))
    outputs = differentiable(given)
    slopes = [numerical(func, inputs, given, tensor, eps) for tensor in wanted]
    if not outputs and any(slope.any() for rows in slopes for slope in rows):
        raise GradcheckError("Numerical gradient for function expected to be zero")
    places = [i for i, one in enumerate(given) if one.requires_grad]
    for number, (out, place) in enumerate(zip(outputs, places, strict=True)):
        found, again = (analytical(out, wanted) for _ in range(2))
        if any(np.abs(one - other).max(initial=0.0) > twice for one, other in zip(found, again, strict=True)):
            raise GradcheckError(REENTRANT.format(twice))
        for position, by_backward in enumerate(found):
            by_differences = slopes[position][place]
            if not np.allclose(by_backward, by_differences, *tolerance):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {position},\n"
                    f"numerical:{from_array(by_differences, None)}\nanalytical:{from_array(by_backward, None)}\n"
                )
    back = grad(outputs, wanted, [from_array(np.zeros_like(o._array), None) for o in outputs], allow_unused=True)
    for one in back:
        if one is not None and not (np.allclose(one._array, 0) if masked else not one._array.any()):
            raise GradcheckError("backward not multiplied by grad_output")
    if undefined:
        check_undefined(func, inputs, wanted, len(outputs))


REENTRANT = """Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives \
different values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""


def checked_inputs(inputs: tuple[Any, ...]) -> list[Tensor]:
    """The inputs that require a gradient; says which are too coarse, and refuses those with elements in one place."""
    wanted = [(i, t) for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad]
    for place, tensor in wanted:
        if tensor._array.dtype != np.float64:
            warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. "
            )
        if any(step <= 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True)):
            raise RuntimeError(
                f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
                "to be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )
        if not tensor._array.flags.writeable:
            tensor._array = tensor._array.copy()
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    return [tensor for _, tensor in wanted]


def numerical(func: Any, inputs: tuple[Any, ...], given: tuple[Any, ...], which: Tensor, eps: float) -> list[Any]:
    """The Jacobian of each output by central differences, (elements of the input, elements of the output)."""
    array, rows = which._array, []
    for place in np.ndindex(array.shape):
        kept = array[place]
        sides = []
        for step in (-eps, eps):
            array[place] = kept + step
            sides.append([o._array.copy() for o in as_tuple(func(*inputs))])
        array[place] = kept
        rows.append([((high - low) / (2 * eps)).reshape(-1) for low, high in zip(*sides, strict=True)])
    return [np.array([row[i] for row in rows]).reshape(array.size, o._array.size) for i, o in enumerate(given)]


def analytical(out: Tensor, wanted: list[Tensor]) -> list[Any]:
    """The same by backward, for one output and each input."""
    shape, kind, size = out._array.shape, out._array.dtype, out._array.size
    found = [np.zeros((tensor._array.size, size), tensor._array.dtype) for tensor in wanted]
    for j in range(size):
        one = np.zeros(size, kind)
        one[j] = 1
        grads = grad(out, wanted, from_array(one.reshape(shape), None), retain_graph=True, allow_unused=True)
        for column, part in zip(found, grads, strict=True):
            column[:, j] = 0 if part is None else part._array.reshape(-1)
    return found


class UndefinedGradBackward(Node):
    """A node that has no gradient for its input."""

    __slots__ = ()

    def apply(self, grads: list[Any], mask: list[bool]) -> Any:
        """Return no gradient."""
        return (None,)


def undefined(out: Tensor) -> Tensor:
    """The output behind a node that gives it no gradient."""
    node = UndefinedGradBackward((edge_of(out),), ((out._array.shape, out._array.dtype),))
    return from_array(out._array, (node, 0))


def check_undefined(func: Any, inputs: tuple[Any, ...], wanted: list[Tensor], count: int) -> None:
    """Whether backward takes no gradient for zero: for all outputs, and for each of several."""
    for missing in [range(count), *([i] for i in range(count) if count > 1)]:
        outputs = [undefined(o) if i in missing else o for i, o in enumerate(differentiable(func(*inputs)))]
        try:
            found = grad(outputs, wanted, [from_array(np.zeros_like(o._array), None) for o in outputs], allow_unused=True)
        except RuntimeError as error:
            warn(UNDEFINED)
            raise GradcheckError(
                'Expected backward function to handle undefined output grads. Please look at "Notes about undefined output '
                'gradients" in "tools/autograd/derivatives.yaml"'
            ) from error
        if any(one is not None and one._array.any() for one in found):
            warn(UNDEFINED)
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at "
                '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
            )


UNDEFINED = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
    'callers of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to '
    "disable the feature"
)


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """The same for the second derivatives: :func:`gradcheck` of the gradient, for random gradients where none are given.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradgradcheck.html
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        likes: list[Any] = [from_array(np.zeros_like(o._array), None) for o in differentiable(func(*given))]
        weights: tuple[Any, ...] = tuple(like.uniform_(-1, 1).requires_grad_() for like in likes)
    else:
        weights = as_tuple(grad_outputs)
    wanted = [i for i, t in enumerate(given) if isinstance(t, Tensor) and t.requires_grad]

    def slope(*args: Any) -> Any:
        inner = args[: len(given)]
        outputs = differentiable(func(*inner))
        back = grad(outputs, [inner[i] for i in wanted], args[len(given) :], create_graph=True, allow_unused=True)
        return tuple(b for b in back if b is not None)

    return gradcheck(
        slope, (*given, *weights), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip
