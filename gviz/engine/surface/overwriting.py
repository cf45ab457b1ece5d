"""More in-place methods: those made from an operation, and those that change the shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.engine import inplace, text
from gviz.engine.op import TENSORS as call
from gviz.engine.surface import arithmetic, pointwise, products, rearranging, statistics, writing
from gviz.engine.surface.writing import in_place_form

if TYPE_CHECKING:
    from gviz.engine.tensor import Tensor

SAME_NAME = (
    "floor", "ceil", "trunc", "frac", "asin", "acos", "atan", "sinh", "cosh", "exp2", "erf", "erfc",
    "log2", "logit", "log10", "atan2", "hypot", "deg2rad", "nan_to_num", "tril", "triu", "index_copy", "masked_scatter", "put",
    "logical_and", "logical_or", "logical_xor", "logical_not", "lgamma", "digamma", "erfinv", "igamma", "igammac",
    "nextafter", "heaviside", "renorm",
)  # fmt: skip
"""Rows with an in-place method of the same name."""


def ldexp(self: Tensor, other: Tensor) -> Tensor:
    """``self * 2**other``, which no integers can hold.

    Raises:
        RuntimeError: they were to.
    """
    if not self.dtype.is_floating_point:
        raise RuntimeError(f"ldexp can't be cast to the desired output type {self.dtype.scalar_name}")
    return call["ldexp"](self, other)


CHOSEN = {
    **{
        name: getattr(pointwise, name)
        for name in (
            "remainder", "fmod", "floor_divide", "clamp_min", "clamp_max", "lerp",
            "xlogy", "copysign",
        )
    },
    "ldexp": ldexp, "asinh": "asinh_", "acosh": "acosh_", "atanh": "atanh_",
    "round": pointwise.rounded, "index_add": rearranging.BOTH["index_add"], "index_fill": rearranging.index_fill,
    "scatter": rearranging.scatter, "scatter_reduce": rearranging.BOTH["scatter_reduce"],
    "cumsum": statistics.cumsum, "cumprod": statistics.cumprod,
    "negative": "neg", "multiply": "mul", "subtract": arithmetic.sub,
    "divide": arithmetic.div, "true_divide": arithmetic.div, "sgn": "sgn", "sinc": "sinc",
    "rad2deg": "rad2deg", "absolute": "absolute",
    **{name: products.BOTH[name] for name in products.WITH_FACTORS},
    **{name: pointwise.BOTH[name] for name in ("addcmul", "addcdiv")},
    "polygamma": lambda self, n: call["polygamma_"](n, self), "gcd": pointwise.BOTH["gcd"], "lcm": pointwise.BOTH["lcm"],
    **{n: pointwise.BOTH[n] for n in pointwise.BOTH if n.startswith("bitwise_")},
}  # fmt: skip
"""Operations that choose a row, with an in-place method of that name."""


def reshaping(key: str) -> Any:
    """A method that changes the tensor's own shape: ``t_`` and its kin."""

    def method(self: Tensor, *args: Any) -> Tensor:
        return inplace.reshape_in_place(call[key], self, *args)

    return method


def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """Drop dims of size one: all, or those named."""
    if dim is None:
        return inplace.reshape_in_place(call["squeeze_all_"], self)
    return inplace.reshape_in_place(call["squeeze_dim_" if isinstance(dim, int) else "squeeze_dims_"], self, dim)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one value on the diagonal.

    Raises:
        RuntimeError: fewer than two dims, or more than two that differ.
    """
    if self._array.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self._array.ndim > 2 and len(set(self._array.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    steps = self.stride()
    line = call["as_strided"](self, (min(self._array.shape),), (sum(steps),), 0)
    inplace.in_place(call["fill"], line, fill_value)
    return self


METHODS: dict[str, Any] = {
    **{f"{name}_": in_place_form(name) for name in SAME_NAME},
    **{f"{name}_": in_place_form(operation) for name, operation in CHOSEN.items()},
    "masked_fill_": in_place_form(
        pointwise.masked_fill, wherever=text.EXPANDED.format("masked_fill_", "mask", "scalar")
    ),
    "t_": reshaping("t_"), "transpose_": reshaping("transpose_"), "swapaxes_": reshaping("transpose_"),
    "swapdims_": reshaping("transpose_"), "unsqueeze_": reshaping("unsqueeze_"), "squeeze_": squeeze_,
    "fill_diagonal_": fill_diagonal_,
}  # fmt: skip
ALIASES = {
    "arcsin_": "asin_", "arccos_": "acos_", "arctan_": "atan_", "arcsinh_": "asinh_", "arccosh_": "acosh_",
    "arctanh_": "atanh_", "arctan2_": "atan2_", "fix_": "trunc_",
}  # fmt: skip
METHODS.update((name, METHODS[method]) for name, method in ALIASES.items())
FUNCTIONS: dict[str, Any] = {
    f"{name}_": METHODS.get(f"{name}_", writing.METHODS.get(f"{name}_"))
    for name in (
        "abs", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh",
        "ceil", "clamp", "clamp_max", "clamp_min", "clip", "cos", "cosh", "deg2rad", "erf", "erfc", "exp", "exp2", "expm1",
        "fill", "fix", "floor", "frac", "gcd", "index_put", "lcm", "ldexp", "log", "log10", "log1p", "log2", "logit",
        "nan_to_num", "neg", "negative", "rad2deg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sin", "sinc", "sinh",
        "sqrt", "square", "tan", "tanh", "trunc", "xlogy", "zero",
    )
}  # fmt: skip
"""In-place operations that PyTorch offers as functions too."""
METHODS["__imod__"], METHODS["__ifloordiv__"] = METHODS["remainder_"], METHODS["floor_divide_"]
