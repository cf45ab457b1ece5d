"""``torch.special``: functions of the engine under the names that they have in mathematics."""

from __future__ import annotations

from typing import Any

from gviz.engine.op import ROWS
from gviz.engine.refusals import public
from gviz.engine.surface import pointwise, reductions, statistics

__all__ = [
    "erf", "erfc", "exp2", "expit", "expm1", "log1p", "log_softmax", "logit", "logsumexp", "round", "sinc", "softmax", "xlogy",
]  # fmt: skip


def row(key: str, name: str) -> Any:
    """A row's function; its refusals say ``special_`` before the name, as PyTorch's do."""
    return ROWS[key].entry("special_" + name, "function")


erf, erfc, exp2 = row("erf", "erf"), row("erfc", "erfc"), row("exp2", "exp2")
expit, expm1, log1p = row("sigmoid", "expit"), row("expm1", "expm1"), row("log1p", "log1p")
logit, sinc = row("logit", "logit"), row("sinc", "sinc")
round = public(pointwise.rounded, "special_round", method=False)
xlogy = public(pointwise.xlogy, "special_xlogy", method=False)
softmax = public(reductions.softmax, "special_softmax", method=False)
log_softmax = public(reductions.log_softmax, "special_log_softmax", method=False)
logsumexp = public(statistics.logsumexp, "special_logsumexp", method=False)


def __getattr__(name: str) -> Any:
    """What is not here is missing in PyTorch's words."""
    raise AttributeError(f"module 'torch.special' has no attribute '{name}'")
