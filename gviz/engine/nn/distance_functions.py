"""Distances, similarities and the losses of them: all made of rows, as PyTorch makes them."""

from __future__ import annotations

import math
from typing import Any

from gviz.numbers.dtypes import of, result_type
from gviz.autograd.inplace import in_place
from gviz.autograd.modes import no_grad
from gviz.engine.nn.checks import check_constant
from gviz.engine.nn.loss_functions import old, reduced, reduction_number
from gviz.autograd.row import TENSORS as call
from gviz.ops import margins as _margins  # noqa: F401 - stores its rows
from gviz.ops.losses import REDUCTIONS
from gviz.autograd.tensor import Tensor

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "gaussian_nll_loss", "hinge_embedding_loss", "margin_ranking_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "pairwise_distance",
    "poisson_nll_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors."""
    shape = call["broadcast_shape"](x1._array.shape, x2._array.shape)
    if not (kind := of(result_type(x1._array, x2._array))).is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {kind.scalar_name}")
    if x1._array.shape != x2._array.shape:
        x2, x1 = call["expand"](x2, shape), call["expand"](x1, shape)  # last operands are made first, as in PyTorch
    lengths = [call["clone"](call["vector_norm"](x, 2, (dim,), True)) for x in (x1, x2)]
    with no_grad():
        for length in lengths:
            length.clamp_(eps)
    second = x2 / lengths[1]
    return call["sum_dim"](x1 / lengths[0] * second, (dim,), False)  # type: ignore[no-any-return]


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of the differences along the last dimension."""
    apart = call["add_scalar"](call["sub"](x1, x2), eps)
    return call["norm"](apart, float(p), (apart._array.ndim - 1,), keepdim)  # type: ignore[no-any-return]


def same_rank(name: str, named: dict[str, Tensor]) -> None:
    """Refuse tensors that have not as many dimensions as each other."""
    if len({t._array.ndim for t in named.values()}) > 1:
        sizes = ", ".join(f"{key}: {value.shape}" for key, value in named.items())
        raise RuntimeError(f"{name} : All input tensors should have same dimension but got sizes: {sizes} ")


@old
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: str = "mean") -> Tensor:
    """How far the first falls short of being more than the second (target 1), or less (-1)."""
    same_rank("margin_ranking_loss", {"input1": input1, "input2": input2, "target": target})
    more = call["sub"](input1, input2)
    margin = margin.item() if isinstance(margin, Tensor) else margin
    short = call["add_scalar"](call["mul"](call["neg"](target), more), margin)
    return reduced(in_place(call["clamp_min"], short, 0), reduction)


def less_from(number: float, value: Tensor) -> Any:
    """A number minus a tensor, as PyTorch subtracts where it is not the user who does."""
    return call["sub"](call["scalar_like"](value, number), value)


@old
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """The input where the target is 1; where it is -1 how far it falls short of the margin."""
    if not isinstance(target, Tensor):
        raise TypeError  # in PyTorch's words where this is caught
    apart = in_place(call["clamp_min"], less_from(margin, input), 0)
    zero = call["zeros_like"](input)
    negative = call["where"](call["not_equal"](target, 1), apart, zero)
    positive = call["where"](call["not_equal"](target, -1), input, zero)
    return reduced(call["add"](negative, positive), reduction)


@old
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: str = "mean") -> Tensor:
    """How far vectors are from alike (target 1), or how much more alike than the margin (-1)."""
    axis, tiny = target._array.ndim, 1e-12
    if axis > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if {input1._array.ndim, input2._array.ndim} != {axis + 1}:
        raise RuntimeError(
            f"{axis}D target tensor expects {axis + 1}D input tensors, but found inputs with sizes {list(input1._array.shape)} "
            f"and {list(input2._array.shape)}."
        )
    product = call["sum_dim"](call["mul"](input1, input2), (axis,), False)
    squares = [call["add_scalar"](call["sum_dim"](call["mul"](x, x), (axis,), False), tiny) for x in (input1, input2)]
    cosine = call["div"](product, call["sqrt"](call["mul"](*squares)))
    alike, apart = less_from(1.0, cosine), in_place(call["clamp_min"], call["sub_scalar"](cosine, margin), 0)
    alike, apart = (call["where"](call["equal"](target, sign), v, 0.0) for sign, v in ((1, alike), (-1, apart)))
    return reduced(call["add"](alike, apart), reduction)


def near_and_far(distance: Any, margin: float, swap: bool, *tensors: Tensor) -> tuple[Any, Any]:
    """How far a positive and a negative example are from the anchor; with ``swap`` the latter from the nearer of the two."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = [tensor._array.ndim for tensor in tensors]
    if len(set(ranks)) > 1:
        a, p, n = ranks
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {a}D, positive {p}D, and negative {n}D inputs"
        )
    anchor, positive, negative = tensors
    near, far = distance(anchor, positive), distance(anchor, negative)
    return near, call["minimum"](far, distance(positive, negative)) if swap else far


@old
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How much nearer than the margin the negative example is, compared with the positive one."""
    near, far = near_and_far(lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, anchor, positive, negative)
    return reduced(call["clamp_min"](call["sub"](call["add_scalar"](near, margin), far), 0), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Any = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """:func:`triplet_margin_loss` with a distance of one's own."""
    near, far = near_and_far(distance_function or pairwise_distance, margin, swap, anchor, positive, negative)
    return reduced(call["clamp_min"](margin + near - far, 0), reduction)


@old
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean"
) -> Any:
    """How far other classes are less than the margin below each example's own."""
    number = reduction_number(reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight._array.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    check_constant("multi_margin_loss", weight=weight)
    return call["multi_margin_loss"](input, target, p, margin, weight, number)


@old
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Any:
    """How far other classes are less than 1 below those of each example, which stand before the first -1."""
    return call["multilabel_margin_loss"](input, target, reduction_number(reduction))


@old
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of counts; ``input`` is their rate, or its logarithm."""
    if not isinstance(target, Tensor):
        raise TypeError  # in PyTorch's words where this is caught
    product = call["mul"](target, input if log_input else call["log"](call["add_scalar"](input, eps)))
    losses = call["sub"](call["exp"](input) if log_input else input, product)
    if full:
        rest = call["mul_scalar"](call["log"](call["mul_scalar"](target, 2 * math.pi)), 0.5)
        whole = call["sub"](call["mul"](target, call["log"](target)), target)
        stirling = call["masked_fill"](call["add"](whole, rest), call["less_equal"](target, 1), 0)
        losses = call["add"](losses, stirling)
    return reduced(losses, reduction)


def check_reduction(reduction: str) -> None:
    """Refuse a reduction that there is not, where PyTorch has the loss in Python."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of a normal distribution with that variance."""
    if isinstance(var, float):
        var = call["fill"](call["zeros_like"](input), var)
    if (var._array < 0).any():
        raise ValueError("var has negative entry/entries")
    sizes, own = input._array.shape, var._array.shape
    if own != sizes:
        if sizes[:-1] == own:
            var = call["unsqueeze"](var, -1)
        elif len(sizes) != len(own) or sum(n for m, n in zip(sizes, own, strict=True) if m != n) != 1:
            raise ValueError("var is of incorrect size")
    check_reduction(reduction)
    var = call["clone"](var)
    with no_grad():
        var.clamp_(eps)
    losses: Any = 0.5 * (call["log"](var) + (input - target) ** 2 / var)  # type: ignore[operator]
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


@old
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """The cross entropy of each class on its own, averaged over the classes."""
    check_reduction(reduction)
    log = call["log_sigmoid"]
    losses: Any = -(target * log(input) + (1 - target) * log(-input))  # type: ignore[operator]
    losses = losses if weight is None else losses * weight
    axis = input._array.ndim - 1
    return reduced(call["sum_dim"](losses, (axis,), False) / input._array.shape[axis], reduction)
