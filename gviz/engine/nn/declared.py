"""Layers that are a function and its options: activations, losses, poolings, borders ... one line each.

A line gives the name, the function (of ``functional.py``, or one written here) and the options in PyTorch's order with their
defaults, ``...`` where there is none. The layer shows all of them as ``name=value`` unless ``shown`` says how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gviz.engine.nn import functional as F
from gviz.engine.nn.dropout_functions import check_probability
from gviz.engine.nn.loss_functions import told_of_old
from gviz.engine.nn.options import LAYERS, Layer, each

if TYPE_CHECKING:
    from gviz.autograd.tensor import Tensor


class Dropping(Layer):
    """A dropout."""

    def _take(self, values: dict[str, Any]) -> None:
        check_probability(values["p"])
        super()._take(values)


class Loss(Layer):
    """A loss: what it weighs with are buffers, and the reduction may be told in the old way."""

    def _take(self, values: dict[str, Any]) -> None:
        values["reduction"] = told_of_old(values["reduction"], values.get("size_average"), values.get("reduce"))
        for name in ("weight", "pos_weight"):
            if name in values:
                self.register_buffer(name, values.pop(name))
        super()._take(values)


class Window(Layer):
    """A pooling, or a border: a stride that is not told is the size of the window."""

    _tuples: ClassVar[dict[str, int]] = {}
    """Options that become so many numbers."""

    def _take(self, values: dict[str, Any]) -> None:
        if "padding" in values and values.get("stride", 0) is None:
            values["stride"] = values["kernel_size"]
        super()._take(values | {name: each(values[name], count) for name, count in self._tuples.items()})


def declare(
    home: str, name: str, function: Any, shown: str | None = None, base: Any = Layer, refuser: str = "", tuples: Any = None,
    **options: Any,
) -> None:  # fmt: skip
    """Add a layer that PyTorch has in that file."""
    body = {"_shown": shown, "_tuples": tuples or {}, "__doc__": f"``{name}``."}
    function = getattr(F, function) if isinstance(function, str) else function
    type(name, (base,), body, home=home, options=options, refuser=refuser, function=function)


def activation(name: str, function: Any, shown: str | None = None, **options: Any) -> None:
    """Add an activation."""
    declare("activation", name, function, shown, **options)


activation("ReLU", "relu", inplace=False)
activation("ReLU6", "relu6", inplace=False)
activation("SiLU", "silu", inplace=False)
activation("SELU", "selu", inplace=False)
activation("Mish", "mish", inplace=False)
activation("Hardswish", "hardswish", "", inplace=False)
activation("Hardsigmoid", "hardsigmoid", "", inplace=False)
activation("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
activation("RReLU", "rrelu", lower=1.0 / 8, upper=1.0 / 3, inplace=False)
activation("ELU", "elu", alpha=1.0, inplace=False)
activation("CELU", "celu", alpha=1.0, inplace=False)
activation("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, inplace=False)
activation("Threshold", "threshold", threshold=..., value=..., inplace=False)
activation("GELU", "gelu", "approximate={self.approximate!r}", approximate="none")
LAYERS["GELU"]._in_turn = False  # it is told by name alone
activation("GLU", "glu", dim=-1)
activation("Softplus", "softplus", beta=1.0, threshold=20.0)
activation("Hardshrink", "hardshrink", "{self.lambd}", lambd=0.5)
activation("Softshrink", "softshrink", "{self.lambd}", lambd=0.5)
activation("Sigmoid", "sigmoid")
activation("Tanh", "tanh")
activation("LogSigmoid", "logsigmoid")
activation("Softsign", "softsign")
activation("Tanhshrink", "tanhshrink")
activation("Softmax", "softmax", dim=None)
activation("LogSoftmax", "log_softmax", dim=None)
activation("Softmin", "softmin", dim=None)


def loss(name: str, function: str, *before: tuple[str, Any], between: Any = None, **after: Any) -> None:
    """Add a loss: options before those that PyTorch once had, between them, and after ``reduction``."""
    options = {**dict(before), "size_average": None, **(between or {}), "reduce": None, "reduction": "mean", **after}
    declare("loss", name, function, "", Loss, "" if len(options) > 3 else "_Loss", **options)


WEIGHT, IGNORED = ("weight", None), {"ignore_index": -100}
loss("MSELoss", "mse_loss")
loss("L1Loss", "l1_loss")
loss("SmoothL1Loss", "smooth_l1_loss", beta=1.0)
loss("SoftMarginLoss", "soft_margin_loss")
loss("KLDivLoss", "kl_div", log_target=False)
loss("BCELoss", "binary_cross_entropy", WEIGHT)
loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", WEIGHT, pos_weight=None)
loss("NLLLoss", "nll_loss", WEIGHT, between=IGNORED)
loss("CrossEntropyLoss", "cross_entropy", WEIGHT, between=IGNORED, label_smoothing=0.0)
loss("HingeEmbeddingLoss", "hinge_embedding_loss", ("margin", 1.0))
loss("MarginRankingLoss", "margin_ranking_loss", ("margin", 0.0))
loss("CosineEmbeddingLoss", "cosine_embedding_loss", ("margin", 0.0))
loss("TripletMarginLoss", "triplet_margin_loss", ("margin", 1.0), ("p", 2.0), ("eps", 1e-6), ("swap", False))
loss("PoissonNLLLoss", "poisson_nll_loss", ("log_input", True), ("full", False), between={"eps": 1e-8})
LAYERS["PoissonNLLLoss"]._inputs = {"log_input": ..., "target": ...}
declare("loss", "HuberLoss", "huber_loss", "", reduction="mean", delta=1.0)
BY_NAME: dict[str, Any] = {"*": ...}
declare("loss", "GaussianNLLLoss", "gaussian_nll_loss", "", **BY_NAME, full=False, eps=1e-6, reduction="mean")
declare("distance", "CosineSimilarity", "cosine_similarity", "", dim=1, eps=1e-8)
declare("distance", "PairwiseDistance", "pairwise_distance", "", p=2.0, eps=1e-6, keepdim=False)

WINDOW: dict[str, Any] = {"kernel_size": ..., "stride": None, "padding": 0}
LARGEST = {**WINDOW, "dilation": 1, "return_indices": False, "ceil_mode": False}
MEAN = {**WINDOW, "ceil_mode": False, "count_include_pad": True}
SIZES = "kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
SHARED = {"output_size": ..., "return_indices": False}


for d in ("1d", "2d", "3d"):
    shown = SIZES + ", dilation={self.dilation}, ceil_mode={self.ceil_mode}"
    declare("pooling", f"MaxPool{d}", f"max_pool{d}", shown, Window, "_MaxPoolNd", **LARGEST)
    declare("pooling", f"AdaptiveAvgPool{d}", f"adaptive_avg_pool{d}", refuser="_AdaptiveAvgPoolNd", output_size=...)
for d in ("1d", "2d"):
    declare("pooling", f"AdaptiveMaxPool{d}", f"adaptive_max_pool{d}", "output_size={self.output_size}",
            refuser="_AdaptiveMaxPoolNd", **SHARED)  # fmt: skip
declare("pooling", "AvgPool1d", "avg_pool1d", SIZES, Window, tuples=dict.fromkeys(WINDOW, 1), **MEAN)
for d in ("2d", "3d"):
    declare("pooling", f"AvgPool{d}", f"avg_pool{d}", SIZES, Window, **MEAN, divisor_override=None)


def border(mode: str) -> Any:
    """The function of a layer that pads."""
    return lambda x, padding, value=None: F.pad(x, padding, mode, value)


for n in (1, 2, 3):
    sides = {"padding": 2 * n}
    declare("padding", f"ConstantPad{n}d", border("constant"), None, Window, tuples=sides, padding=..., value=...)
    for kind, mode in (("Zero", "constant"), ("Reflection", "reflect"), ("Replication", "replicate"), ("Circular", "circular")):
        declare("padding", f"{kind}Pad{n}d", border(mode), "{self.padding}", Window, tuples=sides, padding=...)
declare("pixelshuffle", "PixelShuffle", "pixel_shuffle", upscale_factor=...)
declare("pixelshuffle", "PixelUnshuffle", "pixel_unshuffle", downscale_factor=...)
declare("normalization", "LocalResponseNorm", "local_response_norm",
        "{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}", size=..., alpha=1e-4, beta=0.75, k=1.0)  # fmt: skip
declare("fold", "Unfold", "unfold", kernel_size=..., dilation=1, padding=0, stride=1)
declare("fold", "Fold", "fold", output_size=..., kernel_size=..., dilation=1, padding=0, stride=1)
declare("flatten", "Flatten", lambda x, start_dim, end_dim: x.flatten(start_dim, end_dim), start_dim=1, end_dim=-1)
declare("flatten", "Unflatten", lambda x, dim, unflattened_size: x.unflatten(dim, unflattened_size), dim=...,
        unflattened_size=...)  # fmt: skip
DROPPED: dict[str, Any] = {"base": Dropping, "refuser": "_DropoutNd", "p": 0.5, "inplace": False}
for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"):
    declare("dropout", name, name.lower(), "p={self.p}, inplace={self.inplace}", **DROPPED)
