"""A network that solves y'' = -y with y(0) = 0 and y'(0) = 1: the residual is made of gradients of the network."""

import torch
from torch import nn

torch.manual_seed(48)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
t = torch.linspace(0, 3, 20).reshape(-1, 1).requires_grad_()


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(5):
    y = net(t)
    dy = derivative(y, t)
    d2y = derivative(dy, t)
    physics = (d2y + y).pow(2).mean()
    boundary = y[0].pow(2).sum() + (dy[0] - 1).pow(2).sum()
    loss = physics + boundary
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: physics {physics.item():.4f}, boundary {boundary.item():.4f}")
