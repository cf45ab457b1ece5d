"""What PyTorch's kernels do not take, by dtype, and which of them give a result in order whatever the layout of their input.

A row of ``LACKING`` looks at the dtype of its first operand, brought to the common one of all, before it computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz.engine.data import dtypes

__all__ = ["agreeing", "check_floats", "check_one_dtype", "guarded", "no_norm"]

BOOL, BYTE, HALF = (dtypes.bool,), (dtypes.uint8,), (dtypes.float16,)
SIGNED = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
COMPLEX = (dtypes.complex64, dtypes.complex128)
WHOLE = (*BOOL, *BYTE, *SIGNED)
EXACT = [f"upsample_nearest{exact}{{}}d" for exact in ("", "_exact")]

LACKING: dict[str, dict[Any, Any]] = {}
"""By row: the kernel that a message names, or the error, for each dtype that the row refuses."""

for refused, kernels in (
    (BOOL, {
        "floor": "floor_vml_cpu", "ceil": "ceil_vml_cpu", "trunc": "trunc_vml_cpu", "round_even": "round_vml_cpu",
        "absolute": "abs_cpu", "addcmul": "addcmul_cpu_out", "linalg_cross": "cross", "kthvalue": "kthvalue_cpu",
        "median_all": "median_cpu", "median_dim": "median_out", "nanmedian_all": "median_cpu", "nanmedian_dim": "median_out",
        "threshold": "threshold_cpu", "threshold_": "threshold_cpu", "trace": "trace", "trilinear": "bmm",
        "max_pool2d_with_indices": "max_pool2d", "max_pool3d_with_indices": "max_pool3d",
        **{name: name for kind in ("reflection", "replication") for name in (f"{kind}_pad{n}d" for n in (1, 2, 3))},
    }),
    (WHOLE, {
        "frac": "frac_cpu", "round_decimals": "round_cpu", "nextafter": "nextafter_cpu", "hypot": "hypot_cpu",
        "logaddexp": "logaddexp_cpu", "logaddexp2": "logaddexp2_cpu", "igamma": "igamma_cpu", "igammac": "igammac_cpu",
        "lerp_scalar": "lerp_kernel_scalar", "lerp": "lerp_kernel_tensor", "log_sigmoid": "log_sigmoid_cpu",
        "adaptive_avg_pool2d": "adaptive_avg_pool2d", "adaptive_avg_pool3d": "adaptive_avg_pool3d_cpu",
        "adaptive_max_pool2d": "adaptive_max_pool2d", "adaptive_max_pool3d": "adaptive_max_pool3d_cpu",
        "mse_loss": "mse_cpu", "smooth_l1_loss": "smooth_l1_cpu", "huber_loss": "huber_cpu",
        **{name: f"{name}_cpu" for name in ("silu", "mish", "hardswish", "hardsigmoid", "glu", "softplus", "hardshrink")},
        **dict.fromkeys(("leaky_relu", "leaky_relu_"), "leaky_relu_cpu"), "gelu": "GeluKernelImpl",
        **dict.fromkeys(("elu", "elu_", "celu", "celu_"), "elu_cpu"), "softshrink": "softshrink_check",
        "bce_with_logits": "log_sigmoid_cpu",
        "nll_loss": "nll_loss_out_frame", "nll_loss2d": "nll_loss2d_forward_out_frame",
        "upsample_linear1d": "compute_indices_weights_linear", "upsample_trilinear3d": "compute_indices_weights_linear",
    }),
    (WHOLE + HALF, {
        "multi_margin_loss": "multi_margin_loss_cpu_kernel",
        "multilabel_margin_loss": "multilabel_margin_loss_forward_out_frame",
    }),
    ((*BOOL, *SIGNED), {
        **{row.format(n): "compute_indices_weights_nearest" for row in EXACT for n in (1, 3)},
        **{row.format(2): "upsample_nearest2d_channels_last" for row in EXACT},
        "upsample_bilinear2d": "upsample_bilinear2d_channels_last", "upsample_bicubic2d": "compute_indices_weights_cubic",
    }),
    (WHOLE[:-1], {"avg_pool2d": "avg_pool2d"}),
    (WHOLE[:-1] + HALF, {"avg_pool3d": "avg_pool3d_out_frame"}),
    (WHOLE[1:], {"im2col": "im2col_out_cpu", "col2im": "col2im_out_cpu"}),
    (COMPLEX, {
        "igamma": "igamma_cpu", "igammac": "igammac_cpu", "atan2": "atan2_cpu", "round_even": "round_vml_cpu",
    }),
    (HALF, {"cdist_forward": "cdist", "pdist_forward": "pdist", "special_ndtri": "ndtri_cpu"}),
    (WHOLE + HALF, {"linalg_solve_triangular": "triangular_solve_cpu", "linalg_eigh": "linalg_eigh_cpu"}),
    (COMPLEX, {
        **{row: f"{name}_cpu" for name, row in zip(
            ("lt", "le", "gt", "ge", "copysign", "copysign"), ("less", "less_equal", "greater", "greater_equal", "copysign",
            "copysign_scalar"), strict=True,
        )},
        **{f"{name}_": f"{name}_cpu" for name in ("lt", "le", "gt", "ge")},
        **{f"{name}_tensor_": f"{name}_cpu" for name in ("lt", "le", "gt", "ge")},
        **{name: f"{name}_cpu" for name in ("cummax", "cummin", "mode", "aminmax", "logit", "xlogy", "fmod", "remainder")},
        **{name: f"{name}_vml_cpu" for name in ("erf", "erfc", "lgamma")}, "digamma": "digamma", "fmod_scalar": "fmod_cpu",
        "remainder_scalar": "remainder_cpu", "floor_divide": "div_floor_cpu", "floor_divide_scalar": "div_floor_cpu",
        "max_all": "max_all", "min_all": "min_all", "amax": "max_values_cpu", "amin": "min_values_cpu",
        "distinct": "unique", "unique2": "unique", "unique_consecutive": "unique", "unique_dim": "unique_dim",
        "kthvalue": "kthvalue_cpu", "median_all": "median_cpu", "median_dim": "median_out", "nanmedian_all": "median_cpu",
        "nanmedian_dim": "median_out", "threshold": "threshold_cpu", "threshold_": "threshold_cpu",
        "bernoulli": "bernoulli_tensor_cpu_self_", "native_layer_norm": "LayerNormKernelImpl",
        "softmax_row": "softmax_lastdim_kernel_impl", "log_softmax_row": "log_softmax_lastdim_kernel_impl",
        "avg_pool2d": "avg_pool2d", "random_from": "random_kernel_cpu", "random_to": "random_kernel_cpu",
        "random_all": "random_kernel_cpu",
        **dict.fromkeys(("sort", "sort_stable"), RuntimeError(" Sort does not support complex dtypes on CPU")),
        "topk": RuntimeError(" topk does not support complex dtypes on CPU"),
        "sign": NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        ),
        "heaviside": RuntimeError("heaviside is not yet implemented for complex tensors."),
        **{n: RuntimeError(f"{n} not implemented for complex tensors.") for n in ("maximum", "minimum", "fmax", "fmin")},
        **{f"{name}_dim": RuntimeError(f"{name}(): does not support complex input") for name in ("max", "min")},
        **{name: RuntimeError(f"{name}(): does not support complex input") for name in ("argmax", "argmin")},
        **dict.fromkeys(
            ("clamp_scalar", "clamp_tensor", "clamp_min", "clamp_max", "clamp_min_tensor", "clamp_max_tensor", "hardtanh"),
            NotImplementedError("clamp is not supported for complex types"),
        ),
    }),
):  # fmt: skip
    for key, kernel in kernels.items():
        LACKING.setdefault(key, {}).update((kind.np, kernel) for kind in refused)
for key in (
    "frac", "nextafter", "hypot", "log_sigmoid", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "mse_loss", "smooth_l1_loss", "huber_loss", "mish", "hardswish", "hardsigmoid", "glu", "softplus",
    "hardshrink", "leaky_relu", "leaky_relu_", "gelu", "elu", "elu_", "celu", "celu_", "softshrink", "bce_with_logits",
    "nll_loss", "nll_loss2d",
):  # fmt: skip
    LACKING[key].update((kind.np, LACKING[key][dtypes.int64.np]) for kind in COMPLEX)


ONE_DTYPE: dict[str, tuple[str, tuple[int, ...], str]] = {
    "addmv": ("addmv input tensors must have the same dtype, but got {}, {}, and {}", (0, 1, 2), "scalar_name"),
    "addbmm": ("self and mat2 must have the same dtype, but got {} and {}", (0, 2), "scalar_name"),
    "baddbmm": ("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}", (0, 1, 2), "c_name"),
    "linalg_cross": ("expected scalar type {} but found {}", (0, 1), "scalar_name"),
    "index_copy": (
        "index_copy_(): self and source expected to have the same dtype, but got (self) {} and (source) {}", (0, 2),
        "scalar_name",
    ),
    "scatter_reduce": ("scatter(): Expected self.dtype to be equal to src.dtype", (0, 2), "scalar_name"),
    "linalg_solve": (
        "linalg.solve: Expected A and B to have the same dtype, but found A of type {} and B of type {} instead", (0, 1),
        "scalar_name",
    ),
}  # fmt: skip
"""Rows whose operands have one dtype: the message, which operands it is about, which of their dtypes' names it has."""


def agreeing(key: str) -> Any:
    """The check that a row's operands have one dtype, where PyTorch asks that."""
    if key not in ONE_DTYPE:
        return None
    message, places, spelling = ONE_DTYPE[key]

    def check(*operands: Any) -> None:
        kinds = [dtypes.of(operands[i].dtype) for i in places if hasattr(operands[i], "dtype")]
        if len(kinds) == len(places) and any(kind is not kinds[0] for kind in kinds):
            raise RuntimeError(message.format(*(getattr(kind, spelling) for kind in kinds)))

    return check


def check_one_dtype(first: Any, second: Any, message: str) -> None:
    """Refuse two dtypes, by a message with places for their names.

    Raises:
        RuntimeError: they differ.
    """
    if first.dtype != second.dtype:
        raise RuntimeError(message.format(*(dtypes.of(a.dtype).scalar_name for a in (first, second))))


def check_floats(array: Any, name: str, kernel: str = "") -> None:
    """Refuse a matrix of integers, and one of float16: by the name of the kernel, where PyTorch gets that far.

    Raises:
        RuntimeError: it is one.
    """
    kind = array.dtype
    if kind.kind not in "fc":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {dtypes.of(kind).scalar_name}")
    if kind == dtypes.float16.np and kernel != "none":
        if kernel:
            raise dtypes.no_kernel(kernel, kind)
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got Half")


def no_norm(kind: Any) -> RuntimeError:
    """PyTorch's error for a dtype that has no norm."""
    name = dtypes.of(kind).scalar_name
    return RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {name} instead.")


IN_ORDER = {
    "sum_dim", "mean_dim", "prod_dim", "var", "std", "var_mean", "std_mean", "vector_norm", "norm", "amax", "amin", "aminmax",
    "nansum", "logsumexp", "any_of", "all_of", "count_nonzero", "roll", "tril", "triu", "log_sigmoid",
}  # fmt: skip
"""Rows whose results are contiguous even where the input is not; numpy's follow the input."""


VIEWS = (
    "alias", "as_strided", "diagonal", "expand", "permute", "select", "slice_row", "split_size", "split_with_sizes",
    "squeeze_all", "squeeze_dim", "squeeze_dims", "t", "transpose", "unbind", "unfold", "unsqueeze",
)  # fmt: skip
"""Views of which there is a form that copies, ``torch.t_copy`` and its kin."""
COPIES = {f"{key}_copy" for key in VIEWS}


def in_order(forward: Any, *, always: bool = False) -> Any:
    """A forward whose results are contiguous, or copies that always are."""

    def compute(array: Any, *others: Any) -> Any:
        found = forward(array, *others)
        if array.flags.c_contiguous and not always:
            return found
        return tuple(np.array(a, order="C") for a in found) if isinstance(found, tuple | list) else np.array(found, order="C")

    return compute


FITTING = {
    **dict.fromkeys(("leaky_relu", "elu", "celu", "softplus", "addcmul", "addcdiv", "addmm", "lerp_scalar"), False),
    **dict.fromkeys(("hardshrink", "constant_pad_nd"), True),
}
"""Rows whose numbers have to be in the range of their tensors' dtype; and whether that counts for float16 too."""


def fitting(forward: Any, half: bool) -> Any:
    """A forward that refuses numbers out of range."""

    def compute(array: Any, *others: Any) -> Any:
        kind = array.dtype
        return forward(
            array, *(dtypes.number(v, kind, half=half) if v.__class__ is float or v.__class__ is int else v for v in others)
        )

    return compute


IN_SINGLE = frozenset({
    "gelu", "silu", "mish", "softplus", "elu", "celu", "leaky_relu", "hardswish", "hardsigmoid", "log_sigmoid", "softshrink",
    "lerp", "lerp_scalar", "addcmul", "addcdiv", "cumsum", "cumprod", "var", "std", "softmax_row", "vector_norm", "deg2rad",
    "rad2deg", "addmm", "sinc", "glu", "native_layer_norm", "native_batch_norm",
    "avg_pool2d",
})  # fmt: skip
"""Rows of several steps that compute with float16 in float32, and round once."""


def in_single(forward: Any) -> Any:
    """A forward that computes so."""

    def compute(array: Any, *others: Any) -> Any:
        if array.dtype != np.float16:
            return forward(array, *others)
        wide = (a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == np.float16 else a for a in (array, *others))
        found = forward(*wide)
        parts = found if isinstance(found, tuple) else (found,)
        back = tuple(a.astype(np.float16) if getattr(a, "dtype", None) == np.float32 else a for a in parts)
        return back if isinstance(found, tuple) else back[0]

    return compute


def guarded(key: str, forward: Any) -> Any:
    """A row's forward, which refuses what the row lacks or cannot hold, and gives a contiguous result where the kernel does."""
    if key in IN_ORDER or key in COPIES:
        forward = in_order(forward, always=key in COPIES)
    elif key in FITTING:
        forward = fitting(forward, FITTING[key])
    if key in IN_SINGLE:
        forward = in_single(forward)
    lacking = LACKING.get(key)
    if lacking is None:
        return forward

    def compute(array: Any, *others: Any) -> Any:
        if array.dtype in lacking:
            found = lacking[array.dtype]
            raise type(found)(*found.args) if isinstance(found, Exception) else dtypes.no_kernel(found, array.dtype)
        return forward(array, *others)

    return compute
