"""A differential equation with a network on its right-hand side, by Euler and by Runge-Kutta, fitted to a spiral."""

import torch
from torch import nn

torch.manual_seed(47)
A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
dt, start = 0.1, torch.tensor([[2.0, 0.0]])


def euler(f, y, steps):
    path = [y]
    for _ in range(steps):
        y = y + dt * f(y)
        path.append(y)
    return torch.stack(path)


def rk4(f, y, steps):
    path = [y]
    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + dt / 2 * k1)
        k3 = f(y + dt / 2 * k2)
        k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    return torch.stack(path)


truth, rough = (method(lambda y: y @ A.T, start, 10) for method in (rk4, euler))
two = torch.tensor(2.0)
exact = 2 * torch.exp(torch.tensor(-0.1)) * torch.stack([torch.cos(two), -torch.sin(two)])
print(f"error of Runge-Kutta {(truth[-1] - exact).abs().max():.4f}, of Euler {(rough[-1] - exact).abs().max():.2f}")
field = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 2))
optimizer = torch.optim.RMSprop(field.parameters(), lr=0.01)
for step in range(4):
    loss = (euler(field, start, 10) - truth).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")
