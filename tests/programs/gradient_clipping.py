"""Exploding gradients of a long product, clipped by norm and by value."""

import torch
from torch import nn

torch.manual_seed(33)
M = torch.normal(0, 1, size=(4, 4))
for i in range(30):
    M = M @ torch.normal(0, 1, size=(4, 4))
print("after 30 products an element is larger than 1000:", bool(M.abs().max() > 1000))

net = nn.RNN(2, 6, nonlinearity="relu")
nn.init.normal_(net.weight_hh_l0, 0, 0.9)
X = torch.randn(12, 3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    output, _ = net(X)
    loss = output[-1].pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    after = torch.sqrt(sum(p.grad.pow(2).sum() for p in net.parameters()))
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, norm {norm.item():.3f} -> {after.item():.3f}")
nn.utils.clip_grad_value_(net.parameters(), 0.05)
print("by value:", round(max(p.grad.abs().max().item() for p in net.parameters()), 4))
