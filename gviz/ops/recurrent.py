"""A layer of an LSTM over a sequence as one operation, as oneDNN has it; sequences of several lengths packed into one.

Source: PyTorch's derivatives.yaml, and RNN.cpp, mkldnn/RNN.cpp and PackedSequence.cpp; Hochreiter and Schmidhuber
(1997), Long Short-Term Memory.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from gviz.autograd.tensor import from_array
from gviz.ops.rows import TENSORS, array_of, composite, fact, mode, op, refuse

UNSORTED = ("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
            "need ONNX exportability.")


def gate(array):
    """Return the sigmoid; without the last bits of PyTorch's own, as oneDNN has another one."""
    return 1 / (1 + np.exp(-array))

@op("MkldnnRnnLayerBackward0", promote="none", outputs=("result0", "result1", "result2"),
    saves=("num_layers", "bidirectional", "batch_sizes", "batch_first", "train", "mode", "hidden_size", "result1", "result2"),
    input__weight0__weight1__weight2__weight3__hx___cx_="lstm_layer_backward(grads, input, weight0, weight1, weight2, weight3, "
    "hx_, cx_, result0, reverse, has_biases)")
def mkldnn_rnn_layer(input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, batch_sizes, mode, hidden_size, num_layers,
                     has_biases, bidirectional, batch_first, train):
    mapped, size = input @ weight0.T, hidden_size
    mapped += weight2 + weight3 if has_biases else 0
    out = np.empty((*input.shape[:2], size), input.dtype)
    for place in steps_through(len(input), reverse):
        gates = mapped[place] + hx_ @ weight1.T
        opened, expose = gate(gates[:, : 2 * size]), gate(gates[:, 3 * size :])
        cx_ = opened[:, size:] * cx_ + opened[:, :size] * np.tanh(gates[:, 2 * size : 3 * size])
        hx_ = out[place] = expose * np.tanh(cx_)
    return out, hx_, cx_

# the numbers of a sequence's steps, in the order in which a layer takes them
steps_through = fact("steps_through", lambda count, reverse: range(count)[:: -1 if reverse else 1])

@composite
def lstm_layer_backward(grads, input, weight0, weight1, weight2, weight3, hx_, cx_, output, reverse, has_biases):
    """The gradients of a layer, one step after the other from the last, with the gates computed anew; as PyTorch writes it."""
    to_output, to_hidden, to_memory = (
        zeros_like(like) if grad is None else grad for grad, like in zip(grads, (output, hx_, cx_), strict=True))
    order = steps_through(len(input), reverse)
    gates, states, biases = {}, [(hx_, cx_)], (weight2, weight3) if has_biases else (None, None)
    for place in order:
        gate = linear(select(input, 0, place), weight0, biases[0]) + linear(hx_, weight1, biases[1])
        take, forget, new, expose = unsafe_split(gate, weight0.shape[0] // 4, 1)
        gates[place] = take, forget, new, expose = sigmoid(take), sigmoid(forget), tanh(new), sigmoid(expose)
        cx_ = forget * cx_ + take * new
        hx_ = expose * tanh(cx_)
        states.append((hx_, cx_))
    to_input, into, within, to_bias = {}, None, None, None
    for at in range(len(order) - 1, -1, -1):
        (take, forget, new, expose), (hidden, before), memory = gates[order[at]], states[at], states[at + 1][1]
        slope = select(to_output, 0, order[at]) + to_hidden
        first = to_memory + slope * expose * (1 - tanh(memory) * tanh(memory))
        turned = slope * tanh(memory) * expose * (1 - expose)
        to_new, to_forget = first * take * (1 - new * new), first * before * forget * (1 - forget)
        to_gates = cat([first * new * take * (1 - take), to_forget, to_new, turned], 1)
        to_input[order[at]] = unsqueeze(matmul(to_gates, weight0), 0)
        to_hidden, to_memory = matmul(to_gates, weight1), first * forget
        turned = transpose(to_gates, 0, 1)
        parts = matmul(turned, select(input, 0, order[at])), matmul(turned, hidden), sum_dim(to_gates, (0,))
        into, within, to_bias = parts if into is None else (into + parts[0], within + parts[1], to_bias + parts[2])
    return (cat([to_input[place] for place in range(len(order))], 0), into, within, to_bias, to_bias, to_hidden, to_memory)

recorded = TENSORS["lstm_layer_backward"]

def at_once(grads, *saved: object):
    """Return the same on arrays, where nothing is recorded: what does not wait for another step, for the whole sequence."""
    if mode.recording:
        return recorded(grads, *saved)
    input, weight0, weight1, weight2, weight3, hx_, cx_, output, reverse, has_biases = map(array_of, saved)
    order, likes, shape = slice(None, None, -1 if reverse else 1), (output, hx_, cx_), (*output.shape[:2], 4, -1)
    pairs = zip(grads, likes, strict=True)
    to_output, to_hidden, to_memory = (np.zeros_like(like) if grad is None else grad._array for grad, like in pairs)
    steps, states, to_output = input[order], np.concatenate([hx_[None], output[order]])[:-1], to_output[order]
    gates = (steps @ weight0.T + states @ weight1.T + (weight2 + weight3 if has_biases else 0)).reshape(shape)
    new, gates[:, :, 2] = np.tanh(gates[:, :, 2]), 0
    take, forget, _, expose = np.moveaxis(gate(gates), 2, 0)
    memory, added = [cx_], take * new
    for at in range(len(steps)):
        memory.append(forget[at] * memory[at] + added[at])
    before, bent = np.stack(memory[:-1]), np.tanh(memory[1:])
    ways = np.stack((added * (1 - take), before * forget * (1 - forget), take * (1 - new * new)), 2)
    last, gain = bent * expose * (1 - expose), expose * (1 - bent * bent)
    for at in range(len(steps) - 1, -1, -1):
        slope = to_output[at] + to_hidden
        first = to_memory + slope * gain[at]
        gates[at, :, :3], gates[at, :, 3] = first[:, None] * ways[at], slope * last[at]
        to_hidden, to_memory = gates[at].reshape(len(slope), -1) @ weight1, first * forget[at]
    flat = gates.reshape(-1, len(weight0))
    to_bias, to_input = flat.sum(0), (flat @ weight0).reshape(input.shape)[order]
    within = (flat.T @ one.reshape(len(flat), -1) for one in (steps, states))
    return [from_array(one, None) for one in (to_input, *within, to_bias, to_bias, to_hidden, to_memory)]

TENSORS["lstm_layer_backward"] = at_once

# ------------------------------------------------------------------ packed sequences
@op("PackPaddedSequenceBackward0", promote="none", nondiff=("lengths",), outputs=("result0", "result1"),
    input="padded_with_zeros(grad, input_sym_sizes, result1, batch_first)")
def pack_padded_sequence(input, lengths, batch_first):
    steps = input.swapaxes(0, 1) if batch_first else input
    refuse(not input.size, "Cannot pack empty tensors.")
    refuse(len(lengths) != steps.shape[1], f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
           f"(batch_size={steps.shape[1]})")
    refuse((np.diff(lengths) > 0).any(), UNSORTED)
    refuse(lengths[-1] <= 0,
           "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    sizes = (lengths > np.arange(lengths[0])[:, None]).sum(1)
    return np.concatenate([step[:size] for step, size in zip(steps, sizes, strict=False)]), sizes

# where each of the parts of those sizes begins and ends
spans_of = fact("spans_of", lambda sizes: list(pairwise(accumulate(map(int, sizes), initial=0))))

@composite
def padded_with_zeros(grad, sizes, batch_sizes, batch_first):
    """What was packed, at its place among zeros."""
    first, second = sizes[1::-1] if batch_first else sizes[:2]
    rows = [constant_pad_nd(slice_row(grad, 0, *span, 1), (*(0, 0) * (len(sizes) - 2), 0, second - span[1] + span[0]), 0)
            for span in spans_of(batch_sizes)]
    rows += [zeros_of(rows[0], rows[0].shape)] * (first - len(rows))
    return transpose(stack(rows, 0), 0, 1) if batch_first else stack(rows, 0)
