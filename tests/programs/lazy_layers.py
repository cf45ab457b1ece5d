"""Layers that learn the size of their inputs at the first call."""

import torch
from torch import nn

torch.manual_seed(51)
net = nn.Sequential(nn.LazyConv2d(4, kernel_size=3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3))
print(net)
print(net[0].weight)
X = torch.rand(4, 2, 5, 5)
net(X)
print([tuple(p.shape) for p in net.parameters()], type(net[4]).__name__)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = nn.functional.cross_entropy(net(X), torch.tensor([0, 1, 2, 0]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")
