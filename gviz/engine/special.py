"""``torch.special``: functions of the engine under the names that they have in mathematics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gviz.engine import text
from gviz.engine.op import ROWS
from gviz.engine.op import TENSORS as call
from gviz.engine.refusals import public
from gviz.engine.surface import pointwise, reductions, statistics

if TYPE_CHECKING:
    from gviz.engine.tensor import Tensor

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln", "log1p",
    "log_softmax", "logit", "logsumexp", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy",
]  # fmt: skip


def normal_below(input: Tensor) -> Any:
    """The share of the normal distribution that lies below each element."""
    return call["mul_scalar"](call["add_scalar"](call["erf"](call["mul_scalar"](input, math.sqrt(0.5))), 1), 0.5)


def row(key: str, name: str) -> Any:
    """A row's function; its refusals say ``special_`` before the name, as PyTorch's do."""
    return ROWS[key].entry("special_" + name, "function")


erf, erfc, exp2 = row("erf", "erf"), row("erfc", "erfc"), row("exp2", "exp2")
expit, expm1, log1p = row("sigmoid", "expit"), row("expm1", "expm1"), row("log1p", "log1p")
logit, sinc = row("logit", "logit"), row("sinc", "sinc")
round = public(pointwise.rounded, "special_round", method=False)
digamma, psi, gammaln, erfinv = (
    row("digamma", "digamma"),
    row("digamma", "psi"),
    row("lgamma", "gammaln"),
    row("erfinv", "erfinv"),
)
gammainc, gammaincc = row("igamma", "gammainc"), row("igammac", "gammaincc")
entr, ndtri = row("special_entr", "entr"), row("special_ndtri", "ndtri")
xlog1py = public(
    pointwise.by_kind("special_xlog1py_scalar", "special_xlog1py", "special_xlog1py_base"), "special_xlog1py", method=False
)
polygamma = public(pointwise.polygamma, "special_polygamma", method=False)
ndtr = public(normal_below, "special_ndtr", method=False)
xlogy = public(pointwise.xlogy, "special_xlogy", method=False)
softmax = public(reductions.softmax, "special_softmax", method=False)
log_softmax = public(reductions.log_softmax, "special_log_softmax", method=False)
logsumexp = public(statistics.logsumexp, "special_logsumexp", method=False)


__getattr__ = text.absent("torch.special")
