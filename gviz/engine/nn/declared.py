"""Layers that are a function and its options: activations, losses, poolings, borders ... one line each.

A line gives the name, the function (of ``functional.py``, or one written here) and the options in PyTorch's order with their
defaults, ``...`` where there is none. The layer shows all of them as ``name=value`` unless ``shown`` says how.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

from gviz.engine.nn import functional as F
from gviz.engine.nn.dropout_functions import check_probability
from gviz.engine.nn.loss_functions import told_of_old
from gviz.engine.nn.options import Layer
from gviz.engine.nn.window_functions import tuple_of
from gviz.engine.op import parameters
from gviz.engine.text import bound

if TYPE_CHECKING:
    from gviz.engine.tensor import Tensor

UNKEPT = ("size_average", "reduce", "*")
"""What is no option of the function: what PyTorch takes and no longer keeps, and the mark of options that go by name only."""
WEIGHTS = ("weight", "pos_weight")
"""Options that are tensors, and buffers of the module."""
RANDOM = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu")
"""Functions that do something else while training."""


class Function(Layer):
    """A function as a module, with its options kept."""

    function: ClassVar[Any]
    inputs: ClassVar[dict[str, Any]]
    tuples: ClassVar[dict[str, int]]

    def _take(self, values: dict[str, Any]) -> None:
        """Keep the options; a stride that is not told is the size of the window."""
        if "padding" in values and values.get("stride", 0) is None:
            values["stride"] = values["kernel_size"]
        if (values.get("size_average"), values.get("reduce")) != (None, None):
            values["reduction"] = told_of_old(values["size_average"], values["reduce"])
        if "dropout" in str(self.function):
            check_probability(values["p"])
        for name, value in values.items():
            if name in WEIGHTS:
                self.register_buffer(name, value)
            elif name not in UNKEPT:
                setattr(self, name, tuple_of(value, self.tuples[name]) if name in self.tuples else value)

    def forward(self, *inputs: Tensor, **named: Tensor) -> Any:
        """The function of the input, or of the inputs."""
        if named or len(inputs) != len(self.inputs):
            inputs = tuple(bound(f"{type(self).__name__}.forward", self.inputs, inputs, named, before=1).values())
        given = {name: getattr(self, name) for name in self._options if name not in UNKEPT}
        if self.function in RANDOM:
            given["training"] = self.training
            given["inplace"] = given["inplace"] and "alpha" not in self.function  # which these layers do not pass on
        function = getattr(F, self.function) if isinstance(self.function, str) else self.function
        return function(*inputs, **given)

    def extra_repr(self) -> str:
        """The options; ``inplace`` only where it is set."""
        if self._shown is not None:
            return super().extra_repr()
        values = {name: getattr(self, name) for name in self._options}
        return ", ".join(f"{name}={value!r}" for name, value in values.items() if name != "inplace" or value)


def declare(
    home: str, name: str, function: Any, shown: str | None = None, tuples: Any = None, refuser: str = "", **options: Any
) -> None:
    """Add a layer that PyTorch has in that file; ``tuples`` are options that become so many numbers."""
    own: Any = getattr(F, function) if isinstance(function, str) else function
    while hasattr(own, "__wrapped__"):
        own = own.__wrapped__
    names = takewhile(lambda parameter: parameter not in options, parameters(own))
    inputs = {"log_input": ..., "target": ...} if name == "PoissonNLLLoss" else {"input" if n == "x" else n: ... for n in names}
    own = function if isinstance(function, str) else staticmethod(function)
    body = {"function": own, "inputs": inputs, "tuples": tuples or {}, "_shown": shown, "__doc__": f"``{name}``."}
    type(name, (Function,), body, home=home, options=options, refuser=refuser)


def activation(name: str, function: Any, shown: str | None = None, **options: Any) -> None:
    """Add an activation."""
    declare("activation", name, function, shown, **options)


def softmax_of_channels(input: Tensor) -> Any:
    """The softmax of each pixel's channels."""
    if (rank := input._array.ndim) not in (3, 4):
        raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {rank}D instead")
    return F.softmax(input, -3)


activation("ReLU", "relu", inplace=False)
activation("ReLU6", "relu6", inplace=False)
activation("SiLU", "silu", inplace=False)
activation("SELU", "selu", inplace=False)
activation("Mish", "mish", inplace=False)
activation("Hardswish", "hardswish", inplace=False)
activation("Hardsigmoid", "hardsigmoid", inplace=False)
activation("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
activation("RReLU", "rrelu", lower=1.0 / 8, upper=1.0 / 3, inplace=False)
activation("ELU", "elu", alpha=1.0, inplace=False)
activation("CELU", "celu", alpha=1.0, inplace=False)
activation("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, inplace=False)
activation("Threshold", "threshold", threshold=..., value=..., inplace=False)
activation("GELU", "gelu", approximate="none")
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
activation("Softmax2d", softmax_of_channels)


def loss(name: str, function: str, *before: tuple[str, Any], between: Any = None, **after: Any) -> None:
    """Add a loss: options before those that PyTorch once had, between them, and after ``reduction``."""
    options = {**dict(before), "size_average": None, **(between or {}), "reduce": None, "reduction": "mean", **after}
    declare("loss", name, function, "", refuser="" if len(options) > 3 else "_Loss", **options)


WEIGHT, IGNORED = ("weight", None), {"ignore_index": -100}
loss("MSELoss", "mse_loss")
loss("L1Loss", "l1_loss")
loss("SmoothL1Loss", "smooth_l1_loss", beta=1.0)
loss("SoftMarginLoss", "soft_margin_loss")
loss("KLDivLoss", "kl_div", log_target=False)
loss("BCELoss", "binary_cross_entropy", WEIGHT)
loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", WEIGHT, pos_weight=None)
loss("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", WEIGHT)
loss("NLLLoss", "nll_loss", WEIGHT, between=IGNORED)
loss("CrossEntropyLoss", "cross_entropy", WEIGHT, between=IGNORED, label_smoothing=0.0)
loss("MultiLabelMarginLoss", "multilabel_margin_loss")
loss("MultiMarginLoss", "multi_margin_loss", ("p", 1), ("margin", 1.0), WEIGHT)
loss("HingeEmbeddingLoss", "hinge_embedding_loss", ("margin", 1.0))
loss("MarginRankingLoss", "margin_ranking_loss", ("margin", 0.0))
loss("CosineEmbeddingLoss", "cosine_embedding_loss", ("margin", 0.0))
loss("TripletMarginLoss", "triplet_margin_loss", ("margin", 1.0), ("p", 2.0), ("eps", 1e-6), ("swap", False))
loss("PoissonNLLLoss", "poisson_nll_loss", ("log_input", True), ("full", False), between={"eps": 1e-8})
declare("loss", "HuberLoss", "huber_loss", "", reduction="mean", delta=1.0)
BY_NAME: dict[str, Any] = {"tuples": None, "*": ...}
declare("loss", "GaussianNLLLoss", "gaussian_nll_loss", "", **BY_NAME, full=False, eps=1e-6, reduction="mean")
declare("loss", "TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss", "", **BY_NAME, distance_function=None,
        margin=1.0, swap=False, reduction="mean")  # fmt: skip
declare("distance", "CosineSimilarity", "cosine_similarity", "", dim=1, eps=1e-8)
declare("distance", "PairwiseDistance", "pairwise_distance", "", p=2.0, eps=1e-6, keepdim=False)

WINDOW: dict[str, Any] = {"kernel_size": ..., "stride": None, "padding": 0}
LARGEST = {**WINDOW, "dilation": 1, "return_indices": False, "ceil_mode": False}
MEAN = {**WINDOW, "ceil_mode": False, "count_include_pad": True}
SIZES = "kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
POWERS = {"norm_type": ..., "kernel_size": ..., "stride": None, "ceil_mode": False}
POWERED = "norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"
SHARED = {"output_size": ..., "return_indices": False}


def powers(name: str) -> Any:
    """The function of a layer that makes its power a float."""
    return lambda x, norm_type, **sizes: getattr(F, name)(x, float(norm_type), **sizes)


for d in ("1d", "2d", "3d"):
    shown = SIZES + ", dilation={self.dilation}, ceil_mode={self.ceil_mode}"
    declare("pooling", f"MaxPool{d}", f"max_pool{d}", shown, refuser="_MaxPoolNd", **LARGEST)
    declare("pooling", f"LPPool{d}", powers(f"lp_pool{d}"), POWERED, refuser="_LPPoolNd", **POWERS)
    declare("pooling", f"AdaptiveAvgPool{d}", f"adaptive_avg_pool{d}", refuser="_AdaptiveAvgPoolNd", output_size=...)
    declare("pooling", f"AdaptiveMaxPool{d}", f"adaptive_max_pool{d}", "output_size={self.output_size}",
            refuser="_AdaptiveMaxPoolNd", **SHARED)  # fmt: skip
declare("pooling", "AvgPool1d", "avg_pool1d", SIZES, dict.fromkeys(WINDOW, 1), **MEAN)
for d in ("2d", "3d"):
    declare("pooling", f"AvgPool{d}", f"avg_pool{d}", SIZES, **MEAN, divisor_override=None)


def border(mode: str) -> Any:
    """The function of a layer that pads."""
    return lambda x, padding, value=None: F.pad(x, padding, mode, value)


for n in (1, 2, 3):
    sides = {"padding": 2 * n}
    declare("padding", f"ConstantPad{n}d", border("constant"), None, sides, padding=..., value=...)
    for kind, mode in (("Zero", "constant"), ("Reflection", "reflect"), ("Replication", "replicate"), ("Circular", "circular")):
        declare("padding", f"{kind}Pad{n}d", border(mode), "{self.padding}", sides, padding=...)
declare("pixelshuffle", "PixelShuffle", "pixel_shuffle", upscale_factor=...)
declare("pixelshuffle", "PixelUnshuffle", "pixel_unshuffle", downscale_factor=...)
declare("channelshuffle", "ChannelShuffle", "channel_shuffle", groups=...)
declare("normalization", "LocalResponseNorm", "local_response_norm",
        "{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}", size=..., alpha=1e-4, beta=0.75, k=1.0)  # fmt: skip
declare("fold", "Unfold", "unfold", kernel_size=..., dilation=1, padding=0, stride=1)
declare("fold", "Fold", "fold", output_size=..., kernel_size=..., dilation=1, padding=0, stride=1)
declare("flatten", "Flatten", lambda x, **dims: x.flatten(**dims), start_dim=1, end_dim=-1)
declare("flatten", "Unflatten", lambda x, dim, unflattened_size: x.unflatten(dim, unflattened_size), dim=...,
        unflattened_size=...)  # fmt: skip
for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"):
    function = name.replace("AlphaDropout", "Alpha_dropout").replace("Feature", "feature_").lower()
    declare("dropout", name, function, "p={self.p}, inplace={self.inplace}", None, "_DropoutNd", p=0.5, inplace=False)
