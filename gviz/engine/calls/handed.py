"""What PyTorch's functions in Python hand on to built-in ones, which refuse it in words of their own.

A text says that call: the built-in function, then its arguments: the parameter of that name, or a constant for what Python has
looked at before. ``NAME=`` is given by keyword, ``NAME*2`` is one number for both dimensions, ``NAME?`` is asked first if it is
true. Where there are several calls, the key says which parameter asks for the first, and "" is what else is called.
"""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["HANDED", "refuse_handed"]

MOMENTS = "input weight bias running_mean running_var {} momentum eps"
WINDOWS = "input kernel_size stride padding dilation ceil_mode"

CONSTANTS = {"0": 0, "1": 1, "True": True}

HANDED: dict[str, Any] = {
    "unique": {
        "dim": "unique_dim input dim sorted= return_inverse= return_counts=",
        "": "_unique2 input sorted= return_inverse= return_counts=",
    },
    "unique_consecutive": "unique_consecutive input return_inverse= return_counts= dim=",
    "cdist": "cdist x1 x2 p",
    "embedding": {
        "max_norm": "embedding_renorm_ weight input max_norm norm_type",
        "": "embedding weight input 0 scale_grad_by_freq sparse",
    },
    "pad": "pad input pad mode value",
    "fold": "col2im input output_size*2 kernel_size*2 dilation*2 padding*2 stride*2",
    "unfold": "im2col input kernel_size*2 dilation*2 padding*2 stride*2",
    "batch_norm": f"batch_norm {MOMENTS.format('training?')} True",
    "instance_norm": f"instance_norm {MOMENTS.format('use_input_stats?')} True",
    "layer_norm": "layer_norm input normalized_shape weight bias eps",
    "group_norm": "group_norm input 1 weight bias eps",
    "rms_norm": "rms_norm input normalized_shape weight eps",
    "dropout": {"inplace": "dropout_ input 0 training", "": "dropout input 0 training"},
    "feature_alpha_dropout": {
        "inplace": "feature_alpha_dropout_ input 0 training",
        "": "feature_alpha_dropout input 0 training",
    },
    "alpha_dropout": {"inplace": "alpha_dropout_ input 0 training", "": "alpha_dropout input 0 training"},
    **{
        f"dropout{n}d": {"inplace": "feature_dropout_ input 0 training", "": "feature_dropout input 0 training"}
        for n in (1, 2, 3)
    },
    "rrelu": {"inplace": "rrelu_ input lower upper training", "": "rrelu input lower upper training"},
    "glu": "glu input dim",
    **{
        f"max_pool{n}d": {"return_indices": f"max_pool{n}d_with_indices {WINDOWS}", "": f"max_pool{n}d {WINDOWS}"}
        for n in (1, 2, 3)
    },
    "cross_entropy": "cross_entropy_loss input target weight 1 ignore_index label_smoothing",
    "nll_loss": "nll_loss_nd input target weight 1 ignore_index",
    "kl_div": "kl_div input target 1 log_target=",
    "smooth_l1_loss": "smooth_l1_loss input target 1 beta?",
    "huber_loss": "huber_loss input target 1 delta",
    "binary_cross_entropy_with_logits": "binary_cross_entropy_with_logits input target weight pos_weight 1",
    "margin_ranking_loss": "margin_ranking_loss input1 input2 target margin 1",
    "hinge_embedding_loss": "hinge_embedding_loss input target margin 1",
    "cosine_embedding_loss": "cosine_embedding_loss input1 input2 target margin 1",
    "triplet_margin_loss": "triplet_margin_loss anchor positive negative 0 p eps swap 1",
    "poisson_nll_loss": "poisson_nll_loss input target log_input full eps 1",
    "multi_margin_loss": "multi_margin_loss input target 1 margin weight 1",
    "multilabel_margin_loss": "multilabel_margin_loss input target 1",
    "soft_margin_loss": "soft_margin_loss input target 1",
}


def refuse_handed(function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse what the built-in function refuses that a call of this one hands on to; nothing where there is none.

    Raises:
        TypeError: an argument is not of its type.
    """
    from gviz.engine.calls.signatures import accepted

    if (texts := HANDED.get(name)) is None:
        return
    try:
        given = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return
    given.apply_defaults()
    values = given.arguments
    text = (
        texts
        if isinstance(texts, str)
        else next(t for key, t in texts.items() if not key or not (values[key] is None or values[key] is False))
    )
    called, *tokens = text.split()
    places: list[Any] = []
    words = {}
    for token in tokens:
        parameter = token.removesuffix("*2").rstrip("=?")
        value = CONSTANTS[token] if token in CONSTANTS else values[parameter]
        if token.endswith("?"):
            bool(value)
        if token.endswith("*2"):
            value = tuple(value) if hasattr(value, "__iter__") else (value, value)
        if token.endswith("="):
            words[parameter] = value
        else:
            places.append(value)
    accepted(f"_VF.{called}", tuple(places), words, method=False)
