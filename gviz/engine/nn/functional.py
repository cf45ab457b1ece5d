"""``torch.nn.functional``: tables of vectors, normalizations, attention, and all that its parts have.

Activations, dropout, losses, windows and images are in files of their own (``loss_functions.py`` ...). A function is a row of
the table, or composed of rows as PyTorch composes it; one that is C++ there is marked ``@native``. Its signature is the form of
the call: what it takes is said, and what it does not take is refused, by the same mechanism as for the rows (``names.py``).
"""

from __future__ import annotations

import math
from inspect import unwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz import engine as _engine
from gviz.autograd.modes import no_grad
from gviz.autograd.names import NAMES, install
from gviz.autograd.row import NAMED, native
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import from_array
from gviz.engine.nn import activation_functions, dropout_functions, image_functions, loss_functions
from gviz.engine.nn.loss_functions import refuse_gradient
from gviz.numbers.words import absent
from gviz.ops import attention as _attention  # noqa: F401 - stores its rows
from gviz.ops import normalization

if TYPE_CHECKING:
    Tensor = Any  # whose methods the table gives

__all__ = [
    "batch_norm", "embedding", "group_norm", "instance_norm", "layer_norm", "local_response_norm",
    "normalize", "one_hot", "rms_norm", "scaled_dot_product_attention",
]


# ------------------------------------------------------------------ tables of vectors
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Return the rows of ``weight`` at the indices ``input``."""
    if sparse and weight.requires_grad:
        raise NotImplementedError("sparse gradients are not in gviz's engine; run with --engine torch")
    padding_idx = -1 if padding_idx is None else row_number(padding_idx, weight.shape[0])
    if max_norm is not None:
        rows, size = np.unique(input._array), weight._array.dtype.type
        lengths = np.linalg.norm(weight._array[rows], norm_type, axis=1, keepdims=True)
        weight._array[rows] *= np.where(lengths > max_norm, size(max_norm) / (lengths + size(1e-7)), size(1))
        weight.version_cell().count += 1
    return call["embedding"](weight, input, padding_idx, scale_grad_by_freq, sparse)

def row_number(padding_idx: int, rows: int) -> int:
    """Return which row is the padding, counted from the start; refuses one that does not exist."""
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows

def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return a one at each class's place, zeros elsewhere."""
    array = tensor._array
    if array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if array.size and array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    classes = int(array.max()) + 1 if num_classes == -1 else num_classes
    if array.size and array.max() >= classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return from_array((array[..., None] == np.arange(classes)).astype(np.int64), None)


# ------------------------------------------------------------------ normalizations
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """Return vectors along ``dim`` divided by their norm."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)

def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-05) -> Tensor:
    """Return the last dimensions brought to mean 0 and variance 1, then scaled and shifted."""
    return call["native_layer_norm"](input, tuple(normalized_shape), weight, bias, eps)

@native
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Return the last dimensions divided by the root of their mean square, then scaled."""
    normalization.check_normalized(input, tuple(normalized_shape), "*", weight=weight)
    dtype, axes = input.dtype, tuple(range(input.ndim - 1, input.ndim - 1 - len(normalized_shape), -1))
    input = input.float() if dtype.np == np.float16 else input
    tiny = float(np.finfo(input._array.dtype).eps) if eps is None else eps
    result = input * ((input**2).mean(axes, keepdim=True) + tiny).rsqrt()
    return (result if weight is None else result * weight).contiguous().to(dtype)

def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Return channels brought to mean 0 and variance 1 over the batch, or by running statistics."""
    channels = input.shape[1]
    if training and input.numel() == channels:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    for name, given in {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}.items():
        if given is None and not training and name.startswith("running"):
            raise RuntimeError(f"{name} must be defined in evaluation mode")
        if given is not None and given.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {given.numel()}")
    refuse_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    return call["native_batch_norm"](input, weight, bias, running_mean, running_var, training, momentum, eps)

def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-05) -> Tensor:
    """Return the :func:`batch_norm` of each example on its own: the examples become channels."""
    count, channels, *space = input.shape
    if use_input_stats and math.prod(space) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    own = (weight, bias, running_mean, running_var)
    *wide, mean, var = (None if one is None else one.repeat(count) for one in own)
    flat = input.contiguous().view(1, count * channels, *space)
    result = call["native_batch_norm"](flat, *wide, mean, var, use_input_stats, momentum, eps)
    with no_grad():
        for kept, seen in ((running_mean, mean), (running_var, var)):
            if kept is not None and seen is not None and use_input_stats:
                kept.copy_(seen.view(count, channels).mean(0))
    return result.view(input.shape)

def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-05) -> Tensor:
    """Return groups of channels of each example brought to mean 0 and variance 1, then scaled and shifted."""
    count, channels, *space = input.shape
    if channels % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(input.shape)} and num_groups={num_groups}")
    if math.prod(input.shape) == num_groups:
        sizes = [count * channels // num_groups, num_groups, *space]
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {sizes}")
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != (channels,):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got "
                               f"{name} of shape {list(value.shape)} and input of shape {list(input.shape)}")
    facts = (count, channels, math.prod(space), num_groups, eps)
    return call["native_group_norm"](input.contiguous(), weight, bias, *facts)[0]

def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Return each channel divided by a power of the mean square of those around it."""
    sizes, square, sides = input.shape, input.mul(input), (size // 2, (size - 1) // 2)
    if input.ndim == 3:
        square = image_functions.pad(square.unsqueeze(1), (0, 0, *sides))
        square = call["avg_pool2d"](square, (size, 1), (1, 1), (0, 0), False, True, None).squeeze(1)
    else:
        square = image_functions.pad(square.view(sizes[0], 1, *sizes[1:3], -1), (0, 0, 0, 0, *sides))
        square = call["avg_pool3d"](square, (size, 1, 1), (1, 1, 1), (0, 0, 0), False, True, None).squeeze(1).view(sizes)
    return input / square.mul(alpha).add(k).pow(beta)


# ------------------------------------------------------------------ attention
@native
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """Return values mixed by how well their keys fit each query: of heads (4 dimensions) in one operation, as in PyTorch."""
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    q, k, v = (t._array for t in (query, key, value))
    if attn_mask is not None and attn_mask._array.dtype.kind == "b":
        attn_mask = from_array(np.where(attn_mask._array, 0, -np.inf).astype(q.dtype), None)
    alike = q.shape[:2] == k.shape[:2] == v.shape[:2] and q.shape[-1] == k.shape[-1] == v.shape[-1]
    alike = alike and all(array.strides[-1] == array.itemsize for array in (q, k, v))
    if q.ndim == 4 and alike and not dropout_p and not (attn_mask is not None and attn_mask.requires_grad):
        return call["flash_attention"](query, key, value, dropout_p, is_causal, attn_mask, scale)
    if is_causal:
        attn_mask = from_array(np.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), 0, -np.inf).astype(q.dtype), None)
    factor = (1 / q.shape[-1] ** 0.5 if scale is None else scale) ** 0.5
    query = query * factor
    fit = query @ (key.transpose(-2, -1) * factor)
    shares = call["safe_softmax"](fit if attn_mask is None else fit + attn_mask, -1)
    return dropout_functions.dropout(shares, dropout_p) @ value

for module in (activation_functions, dropout_functions, image_functions, loss_functions):
    globals().update((name, getattr(module, name)) for name in module.__all__)
    __all__ += module.__all__
PLAIN = {name: globals()[name] for name in __all__}
"""Each function as it is written: under its public name it takes the call forms that its signature says, and refuses others."""
SHARED = {"cosine_similarity", "dropout", "group_norm", "layer_norm", "pairwise_distance", "rms_norm"}
"""Those that ``torch`` offers under the same name."""
NAMED.extend((f"F.{n}" + f" torch.{n}" * (n in SHARED), unwrap(function), function) for n, function in PLAIN.items())
install({"F": globals(), "torch": vars(_engine)})
__all__[:] = sorted(word[2:] for word in NAMES if word.startswith("F."))
for name, function in PLAIN.items():
    globals()[name].__wrapped__ = function

__getattr__ = absent("torch.nn.functional")
