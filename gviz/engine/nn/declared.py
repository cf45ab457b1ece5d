"""Layers that are a function and its options: activations, losses, poolings, borders ... one line each.

A line gives the name, the function (of ``functional.py``, or one written here) and the options as Python's parameters.
The layer shows all of them as ``name=value`` unless ``shown`` says how.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gviz.engine.nn import functional as F
from gviz.engine.nn.loss_functions import told_of_old
from gviz.engine.nn.options import Layer


def declare(
    home: str,
    name: str,
    function: str | Callable[..., Any],
    takes: str = "",
    shown: str | None = None,
    base: type[Layer] = Layer,
    **more: object,
) -> None:
    """Add a layer that PyTorch has in that file; what else is said of it goes to :class:`Layer`."""
    function = getattr(F, function) if isinstance(function, str) else function
    type(name, (base,), {"__doc__": f"``{name}``."}, home=home, takes=takes, function=function, shown=shown, **more)


# ------------------------------------------------------------------ activations
FUNCTIONS: Any = (
    *((name, name.lower(), "inplace=False") for name in ("ReLU", "ReLU6", "SiLU", "SELU", "Mish")),
    *((name, name.lower(), "inplace=False", "") for name in ("Hardswish", "Hardsigmoid")),
    *((name, name.lower()) for name in ("Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Tanhshrink")),
    ("LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False"),
    ("ELU", "elu", "alpha=1.0, inplace=False"),
    ("CELU", "celu", "alpha=1.0, inplace=False"),
    ("Threshold", "threshold", "threshold, value, inplace=False"),
    ("GELU", "gelu", "approximate='none'", "approximate={approximate!r}"),
    ("GLU", "glu", "dim=-1"),
    ("Softplus", "softplus", "beta=1.0, threshold=20.0"),
    ("Hardshrink", "hardshrink", "lambd=0.5", "{lambd}"),
    ("Softshrink", "softshrink", "lambd=0.5", "{lambd}"),
    ("Softmax", "softmax", "dim=None"),
    ("LogSoftmax", "log_softmax", "dim=None"),
    ("Softmax2d", lambda input: input.softmax(-3)),
    ("Softmin", "softmin", "dim=None"),
)
for name, *facts in FUNCTIONS:
    declare("activation", name, *facts)
declare("activation", "RReLU", "rrelu", "lower=1.0 / 8, upper=1.0 / 3, inplace=False", more="training")
declare(
    "activation",
    "Hardtanh",
    "hardtanh",
    "min_val=-1.0, max_val=1.0, inplace=False",
    refused={
        "max_val ({max_val}) must be greater than min_val ({min_val})": lambda min_val, max_val, **_: (
            max_val <= min_val and AssertionError
        )
    },
)

# ------------------------------------------------------------------ dropouts
DROPOUTS = {name: name.lower() for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d")}
for name, function in {
    **DROPOUTS,
    "AlphaDropout": "alpha_dropout",
    "FeatureAlphaDropout": "feature_alpha_dropout",
}.items():
    declare(
        "dropout",
        name,
        function,
        "p=0.5, inplace=False",
        "p={p}, inplace={inplace}",
        more="training",
        refused={"dropout probability has to be between 0 and 1, but got {p}": lambda p, **_: not 0 <= p <= 1},
    )


# ------------------------------------------------------------------ losses
class _Loss(Layer):
    """A loss: what it weighs with are buffers, and the reduction may be said in the old way."""

    __module__ = "torch.nn.modules.loss"

    def __init__(self, size_average: object = None, reduce: object = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = told_of_old(reduction, size_average, reduce)

    def _take_(self, values: dict[str, Any]) -> None:
        values["reduction"] = told_of_old(values["reduction"], values.get("size_average"), values.get("reduce"))
        for name in ("weight", "pos_weight"):
            if name in values:
                self.register_buffer(name, values.pop(name))
        super()._take_(values)


OLD = "size_average=None, reduce=None, reduction='mean'"
CLASSES = "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"
OF_TWO, OF_THREE = "input1, input2, target", "anchor, positive, negative"
for name, function, takes, inputs in (
    ("MSELoss", "mse_loss", OLD, ""),
    ("L1Loss", "l1_loss", OLD, ""),
    ("SmoothL1Loss", "smooth_l1_loss", f"{OLD}, beta=1.0", ""),
    ("HuberLoss", "huber_loss", "reduction='mean', delta=1.0", ""),
    ("SoftMarginLoss", "soft_margin_loss", OLD, ""),
    ("KLDivLoss", "kl_div", f"{OLD}, log_target=False", ""),
    ("BCELoss", "binary_cross_entropy", f"weight=None, {OLD}", ""),
    ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", f"weight=None, {OLD}, pos_weight=None", ""),
    ("NLLLoss", "nll_loss", CLASSES, ""),
    ("CrossEntropyLoss", "cross_entropy", f"{CLASSES}, label_smoothing=0.0", ""),
    ("HingeEmbeddingLoss", "hinge_embedding_loss", f"margin=1.0, {OLD}", ""),
    ("MarginRankingLoss", "margin_ranking_loss", f"margin=0.0, {OLD}", OF_TWO),
    ("CosineEmbeddingLoss", "cosine_embedding_loss", f"margin=0.0, {OLD}", OF_TWO),
    (
        "PoissonNLLLoss",
        "poisson_nll_loss",
        "log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'",
        "log_input, target",
    ),
    ("GaussianNLLLoss", "gaussian_nll_loss", "*, full=False, eps=1e-6, reduction='mean'", "input, target, var"),
    ("TripletMarginLoss", "triplet_margin_loss", f"margin=1.0, p=2.0, eps=1e-6, swap=False, {OLD}", OF_THREE),
    ("MultiMarginLoss", "multi_margin_loss", f"p=1, margin=1.0, weight=None, {OLD}", ""),
    ("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", f"weight=None, {OLD}", ""),
    (
        "TripletMarginWithDistanceLoss",
        "triplet_margin_with_distance_loss",
        "*, distance_function=None, margin=1.0, swap=False, reduction='mean'",
        OF_THREE,
    ),
    (
        "CTCLoss",
        "ctc_loss",
        "blank=0, reduction='mean', zero_infinity=False",
        "log_probs, targets, input_lengths, target_lengths",
    ),
):
    declare("loss", name, function, takes, "", _Loss, inputs=inputs or "input, target")
declare("distance", "CosineSimilarity", "cosine_similarity", "dim=1, eps=1e-8", "", inputs="x1, x2")
declare("distance", "PairwiseDistance", "pairwise_distance", "p=2.0, eps=1e-6, keepdim=False", "", inputs="x1, x2")


# ------------------------------------------------------------------ windows
class Window(Layer):
    """A pooling: a stride that is not given is the window's size."""

    def _take_(self, values: dict[str, Any]) -> None:
        super()._take_(values if values["stride"] is not None else values | {"stride": values["kernel_size"]})


WINDOW = "kernel_size, stride=None, padding=0"
SHOWN = "kernel_size={kernel_size}, stride={stride}, padding={padding}"


def norm_pooling(name: str) -> Any:
    """Return the function of a layer that pools by a norm, whose number is a float."""
    pool = getattr(F, name)
    return lambda input, norm_type, kernel_size, stride, ceil_mode: pool(
        input, float(norm_type), kernel_size, stride, ceil_mode
    )


def border(mode: str) -> Any:
    """Return the function of a layer that pads."""
    return lambda input, padding, value=None: F.pad(input, padding, mode, value)


for n in (1, 2, 3):
    d = f"{n}d"
    declare(
        "pooling",
        f"MaxPool{d}",
        f"max_pool{d}",
        f"{WINDOW}, dilation=1, return_indices=False, ceil_mode=False",
        f"{SHOWN}, dilation={{dilation}}, ceil_mode={{ceil_mode}}",
        Window,
    )
    declare(
        "pooling",
        f"AvgPool{d}",
        f"avg_pool{d}",
        f"{WINDOW}, ceil_mode=False, count_include_pad=True" + ", divisor_override=None" * (n > 1),
        SHOWN,
        Window,
        tuples=dict.fromkeys(("kernel_size", "stride", "padding"), 1) if n == 1 else {},
    )
    declare("pooling", f"AdaptiveAvgPool{d}", f"adaptive_avg_pool{d}", "output_size")
    declare(
        "pooling",
        f"LPPool{d}",
        norm_pooling(f"lp_pool{d}"),
        "norm_type, kernel_size, stride=None, ceil_mode=False",
        "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}",
    )
    declare(
        "pooling",
        f"MaxUnpool{d}",
        f"max_unpool{d}",
        WINDOW,
        SHOWN,
        Window,
        inputs="input, indices",
        tuples=dict.fromkeys(("kernel_size", "stride", "padding"), n),
    )
    if n < 3:
        declare(
            "pooling",
            f"AdaptiveMaxPool{d}",
            f"adaptive_max_pool{d}",
            "output_size, return_indices=False",
            "output_size={output_size}",
        )
    sides = {"padding": 2 * n}
    declare("padding", f"ConstantPad{d}", border("constant"), "padding, value", tuples=sides)
    for kind, mode in (
        ("Zero", "constant"),
        ("Reflection", "reflect"),
        ("Replication", "replicate"),
        ("Circular", "circular"),
    ):
        declare("padding", f"{kind}Pad{d}", border(mode), "padding", "{padding}", tuples=sides)

# ------------------------------------------------------------------ shapes
for home, name, *facts in (
    ("pixelshuffle", "PixelShuffle", "pixel_shuffle", "upscale_factor"),
    ("pixelshuffle", "PixelUnshuffle", "pixel_unshuffle", "downscale_factor"),
    (
        "normalization",
        "LocalResponseNorm",
        "local_response_norm",
        "size, alpha=1e-4, beta=0.75, k=1.0",
        "{size}, alpha={alpha}, beta={beta}, k={k}",
    ),
    ("fold", "Unfold", "unfold", "kernel_size, dilation=1, padding=0, stride=1"),
    ("fold", "Fold", "fold", "output_size, kernel_size, dilation=1, padding=0, stride=1"),
    (
        "flatten",
        "Flatten",
        lambda input, start_dim, end_dim: input.flatten(start_dim, end_dim),
        "start_dim=1, end_dim=-1",
    ),
    (
        "flatten",
        "Unflatten",
        lambda input, dim, unflattened_size: input.unflatten(dim, unflattened_size),
        "dim, unflattened_size",
    ),
):
    declare(home, name, *facts)
