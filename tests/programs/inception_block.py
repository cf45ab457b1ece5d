"""Paths of different filters side by side that are joined along the channels, and a mixture of groups and dilation."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(57)


class Inception(nn.Module):
    def __init__(self, n_in, c1, c2, c3, c4):
        super().__init__()
        self.b1 = nn.Conv2d(n_in, c1, 1)
        self.b2 = nn.Sequential(nn.Conv2d(n_in, c2[0], 1), nn.ReLU(), nn.Conv2d(c2[0], c2[1], 3, padding=1))
        self.b3 = nn.Conv2d(n_in, c3, 3, padding=2, dilation=2, groups=2)
        self.b4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), nn.Conv2d(n_in, c4, 1))

    def forward(self, x):
        return torch.cat([F.relu(branch(x)) for branch in (self.b1, self.b2, self.b3, self.b4)], dim=1)


net = nn.Sequential(Inception(2, 2, (2, 3), 4, 1), nn.GroupNorm(2, 10), nn.Conv2d(10, 2, 1), nn.AvgPool2d(2), nn.Flatten(), nn.LazyLinear(2))
X = torch.randn(4, 2, 6, 6)
print(net[0](X).shape)
net(X)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(3):
    loss = F.cross_entropy(net(X), torch.tensor([0, 1, 1, 0]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")
