"""Rows of a table, looked up by number: one for each index, or the sum, the mean or the largest of a bag of them.

Source: PyTorch's derivatives.yaml, and Embedding.cpp and EmbeddingBag.cpp.
"""

from __future__ import annotations

import numpy as np

from gviz.ops.indexing import add_at
from gviz.ops.rows import composite, op, refuse, type_name

BAGS = ("sum", "mean", "max")
"""What becomes of a bag, in the order of PyTorch's numbers."""

SUM, MEAN, MAX = range(len(BAGS))

def check_indices(indices, function):
    """Refuse indices that are no integers."""
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
                           f"but got {'CPUBoolType' if indices.dtype == bool else type_name(indices.dtype)} instead (while "
                           f"checking arguments for {function})")

@op("EmbeddingBackward0", nondiff=("indices",), promote="none", saves=("sparse",),
    weight="embedding_dense_backward(grad, indices, weight_sym_argsize_0, padding_idx, scale_grad_by_freq)")
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    refuse(weight.ndim != 2, "'weight' must be 2-D")
    check_indices(indices, "embedding")
    refuse(indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]),
           "index out of range in self", IndexError)
    return np.ascontiguousarray(weight[indices])

@op("EmbeddingDenseBackwardBackward0", nondiff=("indices",), promote="none",
    grad_output="embedding_double_backward(grad, indices, padding_idx)")
def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    flat = indices.reshape(-1)
    rows, keep = grad_output.reshape(flat.size, -1), flat != padding_idx
    if scale_grad_by_freq:
        rows = rows / np.bincount(flat, minlength=num_weights)[flat][:, None].astype(rows.dtype)
    result = np.zeros((num_weights, grad_output.shape[-1]), grad_output.dtype)
    add_at(result, flat[keep], rows[keep])
    return result

@composite
def embedding_double_backward(grad, indices, padding_idx):
    """The gradient's rows where the indices say, nothing for padding."""
    rows = index_select(grad, 0, reshape(indices, (-1,)))
    if padding_idx >= 0:
        rows = masked_fill(rows, reshape(equal(indices, padding_idx), (-1, 1)), 0)
    return view(rows, (*indices.shape, -1))

# ------------------------------------------------------------------ bags
def bags_of(offsets, count):
    """Return for each of so many indices which bag it is in."""
    return np.cumsum(np.bincount(offsets, minlength=count + 1)[:count]) - 1

def check_bags(weight, indices, offsets, weights):
    """Refuse bags that begin nowhere, rows that are not there, and weights of another type."""
    kind, name = weight.dtype.kind, type_name(weight.dtype)
    refuse(kind != "f", "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
           f"Float, Double; but got {name if kind in 'iu' else name.replace('torch.', 'CPU').replace('Tensor', 'Type')} instead "
           "(while checking arguments for embedding_bag)")
    count, (first, last) = len(indices), (offsets[0], offsets[-1]) if len(offsets) else (0, 0)
    refuse(first != 0,
           "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
           f"However, got {first}")
    refuse(last > count, f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of {last}")
    refuse((np.diff(offsets) < 0).any(), "Expected i < index_size to be true, but got false.")
    for place in np.flatnonzero((indices < 0) | (indices >= len(weight))):
        raise RuntimeError(f"Index {place} of input takes value {indices[place]} which is not in the valid range "
                           f"[0, {len(weight)})")
    if weights is not None and weights.dtype != weight.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                           f"'per_sample_weights'; but type {type_name(weight.dtype)} does not equal "
                           f"{type_name(weights.dtype)} (while checking arguments for embedding_bag)")

@op("EmbeddingBagBackward0", promote="none", nondiff=("indices", "offsets"),
    outputs=("result0", "result1", "result2", "result3"), saves=("sparse", "result1"),
    weight="embedding_bag_backward(grad, indices, offsets, result2, result3, weight_sym_argsize_0, scale_grad_by_freq, mode, "
    "per_sample_weights, padding_idx)",
    per_sample_weights="embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, padding_idx)")
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=SUM, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=-1):
    check_indices(indices, "embedding_bag")
    check_indices(offsets, "embedding_bag")
    check_bags(weight, indices, offsets, per_sample_weights)
    count = len(offsets) - bool(include_last_offset)
    bags = bags_of(offsets[:count], len(indices))
    keep = (indices != padding_idx) & (bags >= 0)
    bag_of, rows = bags[keep], weight[indices[keep]]
    sizes, result = np.bincount(bag_of, minlength=count), np.zeros((count, weight.shape[1]), weight.dtype)
    if mode == MAX:
        result[bag_of] = -np.inf
        np.maximum.at(result, bag_of, rows)
        places, (at, column) = np.zeros(result.shape, np.int64), np.nonzero(rows == result[bag_of])
        places[bag_of[at[::-1]], column[::-1]] = indices[keep][at[::-1]]  # of equal ones the first
        return result, bags, sizes, places
    add_at(result, bag_of, rows if per_sample_weights is None else rows * per_sample_weights[keep][:, None])
    if mode == MEAN:
        return result / np.maximum(sizes, 1)[:, None].astype(result.dtype), bags, sizes, sizes
    is_short = padding_idx < 0 and weight.dtype == np.float32  # PyTorch's short way for a sum, which needs no bags
    return result, bags[:0] if is_short else bags, 0 * sizes, 0 * sizes

@op("EmbeddingBagBackwardBackward0", promote="none", nondiff=("indices", "offsets", "sizes", "places"),
    grad__per_sample_weights="not_implemented('_embedding_bag_backward')")
def embedding_bag_backward(grad, indices, offsets, sizes, places, num_weights, scale_grad_by_freq, mode, per_sample_weights,
                           padding_idx):
    if mode == MAX:
        result = np.zeros((num_weights, grad.shape[1]), grad.dtype)
        np.add.at(result, (places, np.arange(grad.shape[1])), np.where(sizes[:, None] > 0, grad, 0))
        return result
    bags = bags_of(offsets[: len(grad)], len(indices))
    rows = grad[bags]
    if mode == MEAN:
        rows = rows / np.maximum(sizes, 1)[bags][:, None].astype(grad.dtype)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    return embedding_dense_backward.forward(rows, indices, num_weights, padding_idx, scale_grad_by_freq)

@op("NotImplemented", promote="none", nondiff=("indices", "offsets"),
    grad__weight='refuse_derivative("_embedding_bag_per_sample_weights_backward")')
def embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, padding_idx):
    products = (grad[bags_of(offsets[: len(grad)], len(indices))] * weight[indices]).sum(1)
    return np.where(indices == padding_idx, 0, products).astype(grad.dtype, copy=False)
