"""A residual connection: y = w₂ relu(w₁ x) + x"""
import torch

x = torch.tensor(1.5, requires_grad=True)
w1, w2 = torch.tensor(0.5, requires_grad=True), torch.tensor(-1.0, requires_grad=True)
y = w2 * torch.relu(w1 * x) + x
y.backward()
