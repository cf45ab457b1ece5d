"""A multilayer perceptron of five hidden layers."""

import torch
from torch import nn

torch.manual_seed(0)
hidden = [layer for _ in range(5) for layer in (nn.Linear(8, 8), nn.ReLU())]
model = nn.Sequential(*hidden, nn.Linear(8, 3))
loss = nn.functional.cross_entropy(model(torch.randn(4, 8)), torch.tensor([0, 1, 2, 1]))
loss.backward()
