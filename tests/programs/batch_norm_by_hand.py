"""Batch normalization as a function of tensors, with moving averages, held against nn.BatchNorm2d."""

import torch
from torch import nn


def batch_norm(X, gamma, beta, moving_mean, moving_var, eps, momentum):
    if not torch.is_grad_enabled():
        X_hat = (X - moving_mean) / torch.sqrt(moving_var + eps)
    else:
        mean = X.mean(dim=(0, 2, 3), keepdim=True)
        var = ((X - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)
        X_hat = (X - mean) / torch.sqrt(var + eps)
        moving_mean = (1.0 - momentum) * moving_mean + momentum * mean
        moving_var = (1.0 - momentum) * moving_var + momentum * var
    return gamma * X_hat + beta, moving_mean.data, moving_var.data


torch.manual_seed(9)
X = torch.randn(4, 3, 5, 5) * 2 + 1
gamma = torch.ones(1, 3, 1, 1, requires_grad=True)
beta = torch.zeros(1, 3, 1, 1, requires_grad=True)
Y, mean, var = batch_norm(X, gamma, beta, torch.zeros(1, 3, 1, 1), torch.ones(1, 3, 1, 1), 1e-5, 0.1)
layer = nn.BatchNorm2d(3)
print("as nn.BatchNorm2d:", torch.allclose(Y, layer(X), atol=1e-5), torch.allclose(mean.flatten(), layer.running_mean))
print("variance is kept with one less:", bool((layer.running_var > var.flatten()).all()))
with torch.no_grad():
    Z, _, _ = batch_norm(X, gamma, beta, mean, var, 1e-5, 0.1)
print(f"in evaluation: mean {Z.mean().item():.4f}")
loss = (Y * torch.linspace(-1, 1, 5)).pow(2).sum()
loss.backward()
print(f"loss {loss.item():.3f}", "gamma's gradient", [f"{g:.2f}" for g in gamma.grad.flatten().tolist()])
