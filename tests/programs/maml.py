"""Learning to learn: an inner step that stays in the graph, and the outer gradient through it (second order)."""

import torch
import torch.nn.functional as F

torch.manual_seed(28)
params = [torch.randn(8, 1) * 0.5, torch.zeros(8), torch.randn(1, 8) * 0.5, torch.zeros(1)]
for p in params:
    p.requires_grad_()


def net(x, weights):
    w1, b1, w2, b2 = weights
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def task():
    amplitude, phase = torch.rand(1) * 4 + 1, torch.rand(1) * 3
    x = torch.rand(16, 1) * 10 - 5
    return x, amplitude * torch.sin(x + phase)


optimizer = torch.optim.Adam(params, lr=0.01)
for iteration in range(4):
    meta_loss = 0.0
    for _ in range(2):
        x, y = task()
        inner = F.mse_loss(net(x[:8], params), y[:8])
        grads = torch.autograd.grad(inner, params, create_graph=True)
        adapted = [p - 0.05 * g for p, g in zip(params, grads)]
        meta_loss = meta_loss + F.mse_loss(net(x[8:], adapted), y[8:])
    optimizer.zero_grad()
    meta_loss.backward()
    optimizer.step()
    print(f"iteration {iteration}: before {inner.item():.4f}, meta loss {meta_loss.item() / 2:.4f}")
