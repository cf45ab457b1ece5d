"""A residual block: two convolutions, batch norm, and a 1x1 convolution on the shortcut where the shape changes."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(10)


class Residual(nn.Module):
    def __init__(self, input_channels, num_channels, use_1x1conv=False, strides=1):
        super().__init__()
        self.conv1 = nn.Conv2d(input_channels, num_channels, kernel_size=3, padding=1, stride=strides, bias=False)
        self.conv2 = nn.Conv2d(num_channels, num_channels, kernel_size=3, padding=1, bias=False)
        self.conv3 = nn.Conv2d(input_channels, num_channels, kernel_size=1, stride=strides) if use_1x1conv else None
        self.bn1 = nn.BatchNorm2d(num_channels)
        self.bn2 = nn.BatchNorm2d(num_channels)

    def forward(self, X):
        Y = F.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        if self.conv3:
            X = self.conv3(X)
        Y += X
        return F.relu(Y)


X = torch.rand(2, 3, 6, 6)
print(Residual(3, 3)(X).shape)
net = nn.Sequential(Residual(3, 6, use_1x1conv=True, strides=2), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(6, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(X), torch.tensor([0, 1]))
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")
