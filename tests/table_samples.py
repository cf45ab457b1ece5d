"""Arguments that every row of the operation table can be tried with.

A letter stands for a tensor of float64: A a 2x3 matrix of normal numbers, P a positive one, U one with elements between -0.9
and 0.9, Q between 0.1 and 0.9, W one above 1.1, D one whose elements are far apart, G a gradient of that shape; S a square
matrix that can be inverted, V a vector of 3, X one of 2, Z a single number; other letters differ in shape (SIZES). Words stand
for masks, indices and lists of tensors (WORDS).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gviz import engine

SIZES = {"A": (2, 3), "P": (2, 3), "U": (2, 3), "W": (2, 3), "D": (2, 3), "S": (3, 3), "V": (3,), "X": (2,),
         "T": (2, 3, 2), "R": (2, 2, 3), "Z": (), "G": (2, 3), "1A": (1, 3), "A1": (2, 1), "A2": (2, 2), "B": (3, 2),
         "B1": (2, 3, 3), "F": (2, 2, 2), "Q": (2, 3), "T2": (2, 3, 3), "T3": (3, 3), "V4": (4,), "C2": (2, 3, 2),
         "C2P": (1, 1, 2, 1, 1), "CB": (1, 1, 2, 3, 2), "CC": (1, 1, 2, 2, 2), "CD": (1, 1, 3, 3, 3), "CI": (1, 4, 4),
         "GL": (1, 1, 1, 4), "GN": (2, 4, 3), "HK": (1, 2, 3, 3), "HQ": (1, 2, 2, 3), "I": (1, 2, 5), "J": (1, 1, 2, 4),
         "J2": (1, 1, 1, 2), "JP": (1, 1, 2, 5), "JQ": (1, 1, 3, 5), "K": (2, 2, 3), "O": (1, 2, 3),
         "LH": (4, 1), "LI": (4, 3), "PS": (1, 4, 1, 2), "GR": (1, 2, 1, 2), "GV": (1, 1, 1, 2, 3),
         "GT": (2, 2, 3), "GA": (2, 1, 2, 2), "GO": (1, 1, 2, 1), "GP": (1, 1, 1, 1, 2),
         "CW": (3, 2, 3)}  # fmt: skip


def letter(name: str, random: Any) -> Any:
    """The tensor that a letter stands for."""
    size = SIZES[name]
    data = random.standard_normal(size)
    if name == "P":
        data = np.abs(data) + 0.3
    elif name == "W":
        data = np.abs(data) + 1.1
    elif name == "U":
        data = random.uniform(-0.9, 0.9, size)
    elif name == "Q":
        data = random.uniform(0.1, 0.9, size)
    elif name == "D":
        data = random.permutation(np.arange(6) * 0.7 - 1.6).reshape(size) + random.uniform(-0.1, 0.1, size)
    elif name == "S":
        data = data + 4 * np.eye(3)
    return array(data)


def array(values: Any) -> Any:
    """A tensor of what numpy holds, with its dtype."""
    return engine.from_numpy(np.asarray(values))


WORDS: dict[str, Any] = {
    "mask": lambda random: array(random.random((2, 3)) < 0.5),
    "three": lambda _: array([[True, False, True], [False, True, False]]),
    "tenths": lambda random: array(random.integers(-20, 20, (2, 3)) / 10 + random.uniform(-0.03, 0.03, (2, 3))),
    "index": lambda _: array([1, 0]),
    "two": lambda _: array([4, 1]),
    "lengths": lambda _: array([2, 1]),
    "again": lambda _: array([1, 1, 0]),
    "starts": lambda _: array([0, 2]),
    "unpooled": lambda _: array([[[[0, 4]]]]),
    "unpooled3d": lambda _: array([[[[[2, 0]]]]]),
    "columns": lambda random: array(random.integers(0, 3, (2, 2))),
    "places": lambda _: array([[2, 0, 1], [1, 2, 0]]),
    "picks": lambda _: array([5, 0, 3, 0]),
    "classes": lambda _: array([2, 0]),
    "classes2": lambda _: array([[2, 0], [1, 1]]),
    "pooled": lambda _: array([[[[0, 7]]]]),
    "pooled3d": lambda _: array([[[[[3]], [[6]]]]]),
    "total": lambda _: array(2.0),
    "sums": lambda random: [array(random.standard_normal((2, n))) for n in (1, 3, 2)],
    "pair": lambda random: [array(random.standard_normal((2, 3))) for _ in range(2)],
    "rows": lambda _: [array([1, 0, 1])],
    "rows2": lambda _: [array([1, 0])],
    "definite": lambda random: array(np.diag([4.0, 3.0, 5.0]) + random.uniform(0.2, 0.9)),
}

CONVOLVED = ((1,), (0,), (1,), False, (0,), 1)
AVERAGED = ((2, 2), (), (0, 0), False, True, None)

SAMPLES: dict[str, list[tuple[Any, ...]]] = {
    # rows with one sample that others have, too; below zero digamma has poles, beside which differences are too coarse
    **{key: [("P",)] for key in ("reciprocal", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma")},
    **{key: [("A", 2.0)] for key in ("add_scalar", "sub_scalar", "mul_scalar", "div_scalar", "fill", "xlogy_scalar")},
    **{key: [("U",)] for key in ("tan", "asin", "acos", "atanh", "erfinv")},
    **{key: [("D",)] for key in ("absolute", "relu", "max_all", "min_all", "median_all", "nanmedian_all")},
    **{key: [("A", 1)] for key in ("cumsum", "cumprod", "logcumsumexp", "unsqueeze_")},
    **{key: [("S",)] for key in ("linalg_inv_ex", "linalg_det", "linalg_slogdet")},
    **{key: [("A", "P")] for key in ("remainder", "fmod", "xlogy")},
    # the others
    "add": [("A", "A"), ("A", "V"), ("1A", "A1"), ("Z", "A")],
    "sub": [("A", "A"), ("V", "A")],
    "rsub": [("A", "A", 2.5), ("A", "V", 1)],
    "rsub_scalar": [("A", 2.0, 3.0)],
    "mul": [("A", "A"), ("A", "V"), ("1A", "A1"), ("A", 2.0)],
    "div": [("A", "P"), ("V", "P"), ("A", 2.0)],
    "power": [("A", 3), ("A", 2), ("P", 2.5), ("A", 0), ("P", -1.5), ("A", 1)],
    "pow_tensor": [("P", "A"), ("P", "V")],
    "pow_base": [(2.5, "A")],
    "threshold_backward": [("G", "D", 0)],
    "maximum": [("A", "A"), ("D", "V")],
    "minimum": [("A", "A"), ("D", "V")],
    "clamp_scalar": [("D", -1.0, 1.0), ("D", None, 0.5), ("D", 0.5, None)],
    "clamp_tensor": [("D", "U", None), ("D", None, "U"), ("D", "U", "W")],
    "where": [("mask", "A", "A"), ("mask", "A", 0.0), ("mask", "V", "Z")],
    "masked_fill": [("A", "mask", 2.0), ("V", "mask", 2.0)],
    "fill_tensor": [("A", "Z")],
    "to_dtype": [("A", np.dtype("float64"))],
    "tanh_backward": [("G", "U")],
    "sigmoid_backward": [("G", "U")],
    "select": [("A", 0, 1), ("A", -1, -2)],
    "select_backward": [("V", (2, 3), 0, 1)],
    "slice_row": [("A", 1, 0, 3, 2), ("A", -1, -2, 2**63 - 1, 1)],
    "slice_backward": [("X", (5,), 0, 1, 5, 2)],
    "index": [("A", "rows")],
    "index_put": [("A", "rows2", "A", False), ("A", "rows", "T3", True)],
    "index_put_impl": [("A", "rows2", "A", False), ("A", "rows", "T3", True)],
    "cat": [("sums", 1), ("pair", 0), ("pair", -1)],
    "stack": [("pair", 0), ("pair", -1), ("pair", 1)],
    "unbind": [("A", 0), ("A", -1)],
    "split_size": [("A", 2, 1), ("A", 1, -2)],
    "split_with_sizes": [("A", (1, 2), 1)],
    "mm": [("A", "B")],
    "addmm": [("A2", "A", "B", 0.5, 2.0), ("X", "A", "B", 1, 1), ("Z", "A", "B", 1, 2.0)],
    "mv": [("A", "V")],
    "dot": [("V", "V")],
    "vdot": [("V", "V")],
    "bmm": [("T", "R")],
    "masked_fill_tensor": [("A", "mask", "Z")],
    "sum_dim": [("A", (1,), False), ("A", (0, -1), True), ("A", (), True), ("R", (0, 2), False)],
    "mean_dim": [("A", (1,), False), ("A", (0, -1), True), ("R", (0, 2), False)],
    "max_dim": [("D", 0, False), ("D", -1, True)],
    "min_dim": [("D", 0, False), ("D", -1, True)],
    "scatter": [("A", 1, "places", "A")],
    "scatter_value": [("A", 1, "places", 2.0)],
    "gather": [("A", 1, "columns"), ("A", -1, "places")],
    "scatter_add": [("A", 1, "columns", "A2")],
    "softmax_row": [("A", 0), ("A", -1), ("R", 1)],
    "softmax_backward_data": [("G", "U", 1)],
    "log_softmax_row": [("A", 0), ("A", -1), ("R", 1)],
    "log_softmax_backward_data": [("G", "U", 1)],
    "view": [("A", (3, 2)), ("A", (-1,)), ("R", (2, -1))],
    "unsafe_view": [("A", (3, 2))],
    "transpose": [("A", 0, 1), ("R", -1, 0)],
    "permute": [("A", (1, 0)), ("R", (2, 0, 1)), ("R", (-1, 0, 1))],
    "expand": [("V", (2, 3)), ("A1", (4, 2, 3)), ("A1", (-1, 5)), ("Z", (2, 2))],
    "squeeze_all": [("A1",), ("A",)],
    "squeeze_dim": [("A1", 1), ("A1", 0)],
    "squeeze_dims": [("A1", (1,)), ("1A", (0, -1))],
    "squeeze_dim_": [("A1", 1), ("A1", -1)],
    "unsqueeze": [("A", 0), ("A", -1), ("V", 1)],
    "as_strided": [("A", (2, 2), (1, 2), 1), ("A", (3, 2), (1, 1), 0)],
    "leaky_relu_backward": [("G", "D", 0.01, False)],
    "hardtanh_backward": [("G", "D", -1.0, 1.0)],
    "threshold": [("D", 0.1, 2.0)],
    "elu_backward": [("G", 1.0, 1, 1, False, "D")],
    "softplus_backward": [("G", "A", 1, 20)],
    "shrink_backward": [("G", "D", 0.5)],
    "softshrink_backward": [("G", "D", 0.5)],
    "unsafe_split": [("A", 2, 1)],
    "index_select": [("A", 0, "again")],
    "index_add": [("A", 0, "index", "A", 2.0)],
    "index_copy": [("A", 0, "index", "A")],
    "index_fill": [("A", 0, "index", 2.0)],
    "index_fill_tensor": [("A", 0, "index", "Z")],
    "masked_select": [("A", "mask")],
    "masked_scatter": [("A", "mask", "A")],
    "masked_scatter_source": [("G", "three", (4,))],
    "take": [("A", "picks")],
    "put": [("A", "two", "X", False), ("A", "picks", "V4", True)],
    "sort_stable": [("D", True, 1, True)],
    "topk": [("D", 2)],
    "kthvalue": [("D", 2)],
    "sort": [("D",), ("D", 0, True)],
    "median_dim": [("D", 1)],
    "nanmedian_dim": [("D", 1)],
    "addmv": [("X", "A", "V", 0.5, 2.0)],
    "baddbmm": [("T2", "T", "R", 0.5, 2.0)],
    "linalg_solve": [("S", "V", True), ("S", "S", False)],
    "reshape_alias": [("A", (3, 2))],
    "transpose_": [("A", 0, 1)],
    "squeeze_dims_": [("A1", (1,))],
    "repeat": [("A", (2, 1, 3))],
    "flip": [("A", (0, 1))],
    "roll": [("A", (1,), (1,)), ("A", (2,), ())],
    "diagonal_backward": [("X", (2, 3), 0, 0, 1)],
    "unfold": [("A", 1, 2, 1)],
    "unfold_backward": [("F", (2, 3), 1, 2, 1)],
    "round_decimals": [("tenths", 1)],
    "div_mode": [("A", "P", None)],
    "remainder_scalar": [("A", 0.7)],
    "fmod_scalar": [("A", 0.7)],
    "clamp_min": [("D", 0.1)],
    "clamp_max": [("D", 0.1)],
    "prod_dim": [("A", 1, False)],
    "logsumexp": [("A", (1,), False)],
    "acosh": [("W",)],
    "xlogy_base": [(2.0, "P")],
    "linalg_svd": [("A", False), ("B", False), ("S", True)],
    "linalg_qr": [("B", "reduced"), ("S", "complete")],
    "linalg_pinv": [("A", None), ("B", None)],
    "scatter_reduce": [
        ("D", 1, "places", "P", how, own) for how in ("sum", "prod", "mean", "amax") for own in (True, False)
    ],
    "polygamma": [(1, "P"), (2, "P")],
    "copysign": [("A", "A"), ("A", "V")],
    "copysign_scalar": [("A", -1.5)],
    "var_mean": [("A", None, None, False), ("A", (0,), 1, True)],
    "std_mean": [("A", None, None, False), ("A", (1,), 0, False)],
    "dist": [("A", "V", 2.0), ("A", "A", 3.0)],
    "renorm": [("A", 2, 0, 1.0), ("P", 3, 1, 1.0)],
    "aminmax": [("D", None, False), ("D", 1, True)],
    "nansum": [("A", None, False), ("A", (0,), False)],
    "mode": [("D", 1, False)],
    "cummax": [("D", 1)],
    "cummin": [("D", 0)],
    "addbmm": [("T3", "T", "R", 0.5, 2.0)],
    "linalg_cross": [("A", "A", 1), ("V", "V", -1)],
    "trilinear": [("A", "B1", "A", (1, 3), (0,), (1, 2), (2, 3))],
    "linalg_solve_triangular": [("S", "S", True, True, False), ("S", "A", False, False, True)],
    "cdist_forward": [("A", "S", 2.0), ("A", "S", 3.0)],
    "euclidean_dist": [("A", "S")],
    "logit": [("Q",)],
    "lerp_scalar": [("A", "A", 0.3)],
}
SAMPLES.update({  # nn.functional's
    "mse_loss": [("A", "A", 1)], "mse_loss_backward": [("Z", "A", "A", 1)],
    "smooth_l1_loss": [("A", "A", 1, 0.7)], "smooth_l1_loss_backward": [("Z", "A", "A", 1, 0.7)],
    "huber_loss": [("A", "A", 1, 0.7)], "huber_loss_backward": [("Z", "A", "A", 1, 0.7)],
    "binary_cross_entropy": [("Q", "Q", None, 1)], "bce_backward": [("Z", "Q", "Q", None, 1)],
    "bce_with_logits": [("A", "Q", None, None, 1)],
    "soft_margin_loss": [("A", "A", 1)], "soft_margin_loss_backward": [("Z", "A", "A", 1)],
    "nll_loss": [("A", "classes", None, 1, -100)], "nll_loss_backward": [("Z", "A", "classes", None, 1, -100, "total")],
    "nll_loss2d": [("C2", "classes2", None, 2, -100)],
    "nll_loss2d_backward": [("Z", "C2", "classes2", None, 2, -100, "total")],
    "convolution": [("I", "K", "X", *CONVOLVED)],
    "convolution_backward": [("O", "I", "K", (2,), *CONVOLVED, (True, True, True))],
    "max_pool2d_with_indices": [("J", (2, 2), (), (0, 0), (1, 1), False)],
    "max_pool2d_with_indices_backward": [("J2", "J", (2, 2), (), (0, 0), (1, 1), False, "pooled")],
    "avg_pool2d": [("J", *AVERAGED)], "avg_pool2d_backward": [("J2", "J", *AVERAGED)],
    "adaptive_avg_pool2d": [("J", (1, 3))], "adaptive_avg_pool2d_backward": [("J2", "J")],
    "constant_pad_nd": [("A", (1, -1), 0.5)],
    "embedding": [("S", "classes", 1, False, False)], "embedding_dense_backward": [("A", "classes", 3, 1, False)],
    "embedding_bag": [("S", "again", "starts", False, 0, False, "V"), ("S", "again", "starts", False, 1, False, None),
                      ("S", "again", "starts", False, 2, False, None)],
    "embedding_bag_backward": [("A", "again", "starts", "lengths", "places", 3, False, 1, None, -1)],
    "embedding_bag_per_sample_weights_backward": [("A", "S", "again", "starts", -1)],
    "native_layer_norm": [("A", (3,), "V", "V", 1e-5)],
    "native_batch_norm": [("A", "V", "V", None, None, True, 0.1, 1e-5)],
    "native_group_norm": [("GN", "V4", "V4", 2, 4, 3, 2, 1e-5)],
    "adaptive_max_pool2d": [("J", (1, 3))], "adaptive_max_pool2d_backward": [("J2", "J", "pooled")],
    "norm": [("A", 2.0, (1,), False), ("P", 3.0, (0,), True)],
    "glu": [("GN", 1), ("J", -1)], "glu_backward": [("J2", "GL", -1)],
    "rrelu": [("D", 0.1, 0.3, False)], "relu6": [("D", 0, 6)], "selu": [("D", 1.5, 1.1, 1)],
    "rrelu_": [("D", 0.1, 0.3, False)], "selu_": [("D", 1.5, 1.1, 1)],
    "rrelu_with_noise_backward": [("G", "D", "P", 0.1, 0.3, True, False)],
    "threshold_": [("D", 0.1, 2.0)], "celu_": [("D", 1.5)], "elu_": [("D", 1.5, 1, 1)], "leaky_relu_": [("D", 0.2)],
    "upsample_nearest1d": [("I", (7,), None)], "upsample_nearest1d_backward": [("I", (5,), (1, 2, 3), None)],
    "upsample_nearest2d": [("J", (4, 8), 2.0, 2.0)], "upsample_nearest2d_backward": [("J", (2, 4), (1, 1, 1, 3), None, None)],
    "upsample_linear1d": [("I", (7,), False, None)], "upsample_linear1d_backward": [("I", (5,), (1, 2, 3), True, None)],
    "upsample_bilinear2d": [("J", (3, 7), True, None, None), ("J", (3, 7), False, 1.5, 1.75)],
    "upsample_bilinear2d_backward": [("J", (2, 4), (1, 1, 1, 3), False, None, None)],
    "upsample_nearest3d": [("CD", (2, 4, 3), None, None, None)],
    "upsample_nearest3d_backward": [("CD", (3, 3, 3), (1, 1, 2, 4, 3), None, None, None)],
    "upsample_bicubic2d": [("J", (3, 7), True, None, None), ("J", (3, 7), False, 1.5, 1.75)],
    "upsample_bicubic2d_backward": [("J", (2, 4), (1, 1, 1, 3), False, None, None)],
    "upsample_trilinear3d": [("CD", (2, 4, 3), True, None, None, None), ("CD", (2, 4, 6), False, None, 1.5, 2.0)],
    "upsample_trilinear3d_backward": [("CD", (3, 3, 3), (1, 1, 2, 4, 3), False, None, None, None)],
    "adaptive_avg_pool3d": [("CD", (2, 1, 4))], "adaptive_avg_pool3d_backward": [("CD", "CC")],
    **{f"{kind}_pad{n}d": [("CB" if n == 3 else "J", (1, 1, 1, 0, 0, 1)[: 2 * n])]
       for kind in ("reflection", "replication") for n in (1, 2, 3)},
    **{f"{kind}_pad{n}d_backward": [("CD", "CC", (1, 0) * n)] if n == 3 else [("JP", "J", (1, 0))] if n == 1 else
       [("JQ", "J", (1, 0, 1, 0))] for kind in ("reflection", "replication") for n in (1, 2, 3)},
    "im2col": [("J", (2, 2), (1, 1), (1, 0), (1, 2))], "col2im": [("CI", (3, 3), (2, 2), (1, 1), (0, 0), (1, 1))],
    "grid_sampler_2d": [("J", "GR", 0, 0, False), ("J", "GR", 0, 2, True), ("J", "GR", 2, 1, False)],
    "grid_sampler_3d": [("CB", "GV", 0, 0, True), ("CB", "GV", 0, 1, False)],
    "grid_sampler_2d_backward": [("GO", "J", "GR", 0, 0, False)], "grid_sampler_3d_backward": [("GP", "CB", "GV", 0, 0, True)],
    "affine_grid_generator": [("GT", (2, 1, 2, 3), False)], "affine_grid_backward": [("GA", (2, 1, 1, 2), True)],
    "ctc_loss": [("B1", "again", (2, 2, 2), (1, 1, 1), 2, False)],
    "ctc_loss_backward": [("V", "B1", "again", (2, 2, 2), (1, 1, 1), "V", "CW", 2, False)],
    "linalg_matrix_exp": [("S",)], "linalg_lstsq": [("B", "S"), ("B", "V"), ("A", "X")],
    "cholesky_solve": [("S", "T3"), ("B", "T3", True)],
    "gcd": [("columns", "columns")], "lcm": [("columns", "columns")],
    "max_unpool2d": [("J2", "unpooled", (2, 3))], "max_unpool3d": [("GP", "unpooled3d", (1, 1, 3))],
    "multi_margin_loss": [("A", "classes", 1, 1.0, None, 1), ("A", "classes", 2, 0.5, None, 2)],
    "multi_margin_loss_backward": [("Z", "A", "classes", 1, 1.0, None, 1)],
    "pixel_shuffle": [("PS", 2)], "pixel_unshuffle": [("J", 2)],
    "max_pool3d_with_indices": [("CB", (1, 2, 2), (), (0, 0, 0), (1, 1, 1), False)],
    "max_pool3d_with_indices_backward": [("C2P", "CB", (1, 2, 2), (), (0, 0, 0), (1, 1, 1), False, "pooled3d")],
    "avg_pool3d": [("CB", (1, 2, 2), (), (0, 0, 0), False, True, None)],
    "avg_pool3d_backward": [("C2P", "CB", (1, 2, 2), (), (0, 0, 0), False, True, None)],
    "safe_softmax": [("A", -1)], **{f"{name}_": [("A", 0.5)] for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "mkldnn_rnn_layer": [("K", "LI", "LH", "V4", "V4", "A1", "A1", back, (), 2, 1, 1, True, False, False, True)
                         for back in (False, True)],
    "pack_padded_sequence": [("K", "lengths", first) for first in (False, True)],
    "flash_attention": [("HQ", "HK", "HK", 0.0, False, None, None), ("HQ", "HK", "HK", 0.0, True, None, 0.5)],
    "bernoulli": [("Q",)], "bernoulli_each": [("A", "Q")], "random_to": [("A", 9)], "random_from": [("A", 2, 9)],
    "_weight_norm": [("A", "A1", 0)], "fake_quantize": [("A", 0.1, 0, -9, 9)],
    "fake_quantize_by_tensors": [("A", array(0.1), array(0), -9, 9)],
    "fake_quantize_channels": [("A", array([0.1, 0.2]), array(np.zeros(2, np.int32)), 0, -9, 9)],
    "standard_gamma": [("P",)], "standard_gamma_grad": [("P", "P")], "sample_dirichlet": [("P",)], "poisson": [("P",)],
    "binomial": [("P", "Q")], "geometric_fill": [("A", 0.5)],
    "normal": [("A", "P")], "normal_std": [(0.5, "P")], "delayed_error": [("pair", "later")], "unique_dim": [("A", 0)],
    "linalg_cholesky_ex": [("definite",)], "cholesky": [("definite",)], "linalg_eigh": [("definite",)],
    "cdist_backward": [("G", "A", "S", 2.0, "P")],
    "native_layer_norm_backward": [("A", "A", (3,), "A1", "A1", "V", "V", (True, True, True))],
    "native_batch_norm_backward": [("A", "A", "V", None, None, "V", "V", True, 1e-5, (True, True, True))],
})  # fmt: skip
NO_SLOPE = frozenset({
    "asinh_", "acosh_", "atanh_", "log_sigmoid_backward", "native_batch_norm_backward",
    "fake_quantize", "fake_quantize_by_tensors", "fake_quantize_channels",
    "native_layer_norm_backward", "cdist_backward", "embedding_bag_backward", "linalg_cholesky_ex", "cholesky", "cholesky_solve",
    "linalg_eigh", "grid_sampler_2d_backward", "grid_sampler_3d_backward",
    "ctc_loss", "ctc_loss_backward", "multi_margin_loss_backward", "unique2", "unique_dim", "delayed_error", "undefined_grad",
    "uniform_fill", "normal_fill", "exponential_fill", "bernoulli_one", "bernoulli_each", "bernoulli", "random_from",
    "random_to", "random_all", "normal_mean", "normal_std", "normal",
    "standard_gamma", "standard_gamma_grad", "sample_dirichlet", "poisson", "binomial", "cauchy_fill", "geometric_fill",
    "log_normal_fill",
})  # fmt: skip
"""Rows whose derivative PyTorch refuses or takes another for, whose inputs or their elements depend on each other, or random."""

ONCE = frozenset(
    {
        "_weight_norm",
        "cdist_forward",
        "embedding_bag",
        "flash_attention",
        "grid_sampler_2d",
        "grid_sampler_3d",
        "hardsigmoid",
        "multi_margin_loss",
    }
)
"""Rows that PyTorch differentiates only once; of ``_weight_norm`` its own gradgradcheck says that the second is wrong."""


def sample(row: Any, number: int, random: Any) -> tuple[Any, ...]:
    """The arguments of one sample of a row; without one, a matrix for each input and the defaults."""
    if row.key in SAMPLES:
        return tuple(argument(word, random) for word in SAMPLES[row.key][number])
    required = len(row.parameters) - len(row.defaults)
    extra = [row.parameters[i] for i in range(required) if i not in row.inputs]
    assert not extra, f"{row.key} needs {extra}: declare a sample for it in tests/table_samples.py"
    return tuple(
        letter("A", random) if i in row.inputs else row.defaults[i - required]
        for i in range(len(row.parameters))
        if i < required or i not in row.inputs
    ) + tuple(row.defaults[i - required] for i in range(required, len(row.parameters)) if i in row.inputs)


def argument(word: Any, random: Any) -> Any:
    """The argument that a word of a sample stands for; anything else stands for itself."""
    if isinstance(word, str) and word in SIZES:
        return letter(word, random)
    return WORDS[word](random) if isinstance(word, str) and word in WORDS else word
