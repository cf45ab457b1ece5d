"""``torch.special``: functions of the engine under the names that they have in mathematics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gviz.engine.surface.public import public
from gviz.numbers.words import absent
from gviz.autograd import names
from gviz.autograd.row import ROWS
from gviz.autograd.row import TENSORS as call
from gviz.engine.surface import pointwise

if TYPE_CHECKING:
    from gviz.autograd.tensor import Tensor


def normal_below(input: Tensor) -> Any:
    """The share of the normal distribution that lies below each element."""
    return call["mul_scalar"](call["add_scalar"](call["erf"](call["mul_scalar"](input, math.sqrt(0.5))), 1), 0.5)


NAMED_ROWS = {
    "gammaln": "lgamma", "gammainc": "igamma", "gammaincc": "igammac", "psi": "digamma", "expit": "sigmoid",
    "i0": "i0", "multigammaln": "mvlgamma",
    **{name: f"special_{name}" for name in ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtri")},
    **{name: name for name in ("digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "log1p", "logit", "sinc")},
}  # fmt: skip
"""Each name that stands for a row, and its key; refusals say ``special_`` before the name, as PyTorch's do."""
CHOOSING = {
    "round": pointwise.rounded, "polygamma": pointwise.polygamma, "xlogy": pointwise.xlogy, "ndtr": normal_below,
    "xlog1py": pointwise.by_kind("special_xlog1py_scalar", "special_xlog1py", "special_xlog1py_base"),
}  # fmt: skip
globals().update((name, ROWS[key]) for name, key in NAMED_ROWS.items())
globals().update((name, public(function, f"special_{name}", method=False)) for name, function in CHOOSING.items())

names.install({"special": globals()})

__all__ = sorted([*NAMED_ROWS, *CHOOSING, "log_softmax", "logsumexp", "softmax"])  # noqa: PLE0605 - all of them, whatever they are

__getattr__ = absent("torch.special")
