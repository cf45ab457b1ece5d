"""Losses as modules: each is a function of ``functional.py`` with its options kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gviz.engine.nn import functional as F
from gviz.engine.nn.module import Module

if TYPE_CHECKING:
    from gviz.engine.tensor import Tensor


class Loss(Module):
    """One loss; ``options`` are its own keyword arguments with their defaults, ``tensors`` those that are buffers."""

    function: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    tensors: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, reduction: str = "mean", **kwargs: Any) -> None:
        super().__init__()
        names = [*self.tensors[:1], "size_average", *(n for n in self.options if n == "ignore_index"), "reduce"]
        given = {**dict(zip([*names, "reduction"], args, strict=False)), **kwargs}
        self.reduction = given.pop("reduction", reduction)
        for name in self.tensors:
            self.register_buffer(name, given.pop(name, None))
        for name, default in self.options.items():
            setattr(self, name, given.pop(name, default))

    def forward(self, input: Tensor, target: Tensor) -> Any:
        """The loss of the input for the target."""
        more = {name: getattr(self, name) for name in (*self.options, *self.tensors)}
        return getattr(F, self.function)(input, target, reduction=self.reduction, **more)


def declare(name: str, function: str, *tensors: str, **options: Any) -> Any:
    """The module class of a loss."""
    body = {"function": function, "tensors": tensors, "options": options, "__module__": "torch.nn.modules.loss"}
    return type(name, (Loss,), {**body, "__doc__": f"``{function}``."})


MSELoss = declare("MSELoss", "mse_loss")
L1Loss = declare("L1Loss", "l1_loss")
SmoothL1Loss = declare("SmoothL1Loss", "smooth_l1_loss", beta=1.0)
HuberLoss = declare("HuberLoss", "huber_loss", delta=1.0)
BCELoss = declare("BCELoss", "binary_cross_entropy", "weight")
BCEWithLogitsLoss = declare("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "weight", "pos_weight")
NLLLoss = declare("NLLLoss", "nll_loss", "weight", ignore_index=-100)
CrossEntropyLoss = declare("CrossEntropyLoss", "cross_entropy", "weight", ignore_index=-100, label_smoothing=0.0)
KLDivLoss = declare("KLDivLoss", "kl_div", log_target=False)
SoftMarginLoss = declare("SoftMarginLoss", "soft_margin_loss")
