"""Attention: values mixed by how well their keys fit each query, as one operation, and the softmax of it as parts.

Source: PyTorch's derivatives.yaml, and transformers/attention.cpp; Vaswani et al. (2017), Attention Is All You Need.
"""

from __future__ import annotations

import math

import numpy as np

from gviz.ops.rows import ARRAYS, exp_of, log_of, op


@op("SafeSoftmaxBackward0", self="softmax_backward_data(grad, result, dim)")
def safe_softmax(self, dim):
    blocked = (self == -np.inf).all(axis=dim, keepdims=True)
    return np.where(blocked, 0, ARRAYS["softmax_row"](np.where(blocked, 0, self), dim))

def scores(query, key, attn_mask, is_causal, scale):
    """Return how well each query fits each key; minus infinity where a mask forbids it."""
    products = query @ key.swapaxes(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
    attn_mask = np.tri(*products.shape[-2:], dtype=bool) if is_causal else attn_mask
    if attn_mask is None:
        return products
    return np.where(attn_mask, products, -np.inf) if attn_mask.dtype.kind == "b" else products + attn_mask

@op("ScaledDotProductFlashAttentionForCpuBackward0", promote="none", nondiff=("attn_mask",), extras=("logsumexp",),
    query__key__value="flash_attention_backward(grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, "
    "scale)")
def flash_attention(query, key, value, dropout_p, is_causal, attn_mask, scale):
    logits = scores(query, key, attn_mask, is_causal, scale)
    top = logits.max(axis=-1, keepdims=True)
    shares = exp_of(logits - np.where(np.isinf(top), 0, top))
    total = shares.sum(axis=-1, keepdims=True)
    shares = shares / np.where(total == 0, 1, total)
    return np.matmul(shares, value, out=np.empty_like(query)), (log_of(total) + top)[..., 0]  # it lies as the query does

@op("NotImplemented", promote="none", nondiff=("logsumexp", "attn_mask"), outputs=("grad_query", "grad_key", "grad_value"),
    grad_out__query__key__value__output='refuse_derivative("_scaled_dot_product_flash_attention_for_cpu_backward")')
def flash_attention_backward(grad_out, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale):
    weights = exp_of(scores(query, key, attn_mask, is_causal, scale) - logsumexp[..., None])
    shares = np.where(np.isnan(weights), 0, weights)
    slope = grad_out @ value.swapaxes(-2, -1) - (grad_out * output).sum(axis=-1, keepdims=True)
    slope = shares * slope * (scale or 1 / math.sqrt(query.shape[-1]))
    return slope @ key, slope.swapaxes(-2, -1) @ query, shares.swapaxes(-2, -1) @ grad_out
