"""A recurrent network of characters by hand: one-hot inputs, a state that is detached, clipped gradients, perplexity."""

import math

import torch
from torch.nn import functional as F

torch.manual_seed(11)
text = "the time machine by h g wells the time traveller"
vocab = sorted(set(text))
indices = torch.tensor([vocab.index(c) for c in text])
size, hidden = len(vocab), 12


def normal(*shape):
    return torch.randn(size=shape) * 0.1


params = [normal(size, hidden), normal(hidden, hidden), torch.zeros(hidden), normal(hidden, size), torch.zeros(size)]
for param in params:
    param.requires_grad_(True)


def rnn(inputs, state):
    W_xh, W_hh, b_h, W_hq, b_q = params
    outputs = []
    for X in inputs:
        state = torch.tanh(torch.mm(X, W_xh) + torch.mm(state, W_hh) + b_h)
        outputs.append(torch.mm(state, W_hq) + b_q)
    return torch.cat(outputs, dim=0), state


state = torch.zeros(1, hidden)
for step in range(4):
    X, Y = indices[8 * step : 8 * step + 8], indices[8 * step + 1 : 8 * step + 9]
    y_hat, state = rnn(F.one_hot(X.reshape(-1, 1), size).type(torch.float32), state.detach())
    loss = F.cross_entropy(y_hat, Y)
    loss.backward()
    norm = torch.sqrt(sum(torch.sum(p.grad**2) for p in params))
    for p in params:
        p.data -= 0.5 * p.grad * min(1.0, 1.0 / norm.item())
        p.grad.zero_()
    print(f"step {step}: perplexity {math.exp(loss.item()):.2f}")
