"""Parametrized weights: a length and a direction by hand, parametrize with an orthogonal and a symmetric matrix."""

import torch
from torch import nn
from torch.nn.utils import parametrize

torch.manual_seed(56)
v, g = torch.randn(3, 4, requires_grad=True), torch.ones(3, 1, requires_grad=True)
W = g * v / v.norm(dim=1, keepdim=True)
W.pow(2).sum().backward()
print("length gets", [round(x, 4) for x in g.grad.flatten().tolist()], "direction gets none:", bool((v.grad.abs() < 1e-6).all()))


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
print(layer)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
X = torch.randn(8, 3)
for step in range(3):
    loss = nn.functional.mse_loss(layer(X), X.flip(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}, symmetric {torch.equal(layer.weight, layer.weight.T)}")
print(list(dict(layer.named_parameters())))
