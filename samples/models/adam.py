"""Five steps of Adam, written out and recorded: the last loss has a gradient by the learning rate."""

import torch
from torch.nn import functional as F

torch.manual_seed(0)
x, target = torch.randn(8, 3), torch.randn(8, 1)
w1, b1 = torch.randn(3, 4, requires_grad=True), torch.zeros(4, requires_grad=True)
w2, b2 = torch.randn(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
rate = torch.tensor(0.1, requires_grad=True)


def error(w1, b1, w2, b2):
    return F.mse_loss(torch.tanh(x @ w1 + b1) @ w2 + b2, target)


def updated(weight, m, v, gradient, t):
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
    return weight - rate * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8), m, v


def step_of_adam(t, weights, means, squares):
    gradients = torch.autograd.grad(error(*weights), weights, create_graph=True)
    return zip(*(updated(*four, t) for four in zip(weights, means, squares, gradients)))


weights = [w1, b1, w2, b2]
means = squares = [torch.zeros_like(weight) for weight in weights]
for t in torch.arange(1.0, 6.0):
    weights, means, squares = step_of_adam(t, weights, means, squares)
loss = error(*weights)
loss.backward()
