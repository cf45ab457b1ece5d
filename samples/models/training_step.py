"""A step of training: a small convolutional network, its loss with weight decay, backward, and a step of Adam."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images, labels = torch.randn(6, 1, 8, 8), torch.randint(0, 10, (6,))

optimizer.zero_grad()
error = F.cross_entropy(model(images), labels)
decay = sum(parameter.square().sum() for parameter in model.parameters())
loss = error + 1e-4 * decay
loss.backward()
optimizer.step()
