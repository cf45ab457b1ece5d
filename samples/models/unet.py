"""A U-Net: four times down, four times up, and a way across at each size."""

import torch
from torch import nn
from torch.nn import functional as F


class Double(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU()
        )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [4, 8, 16, 32]
        self.down = nn.ModuleList([Double(inputs, width) for inputs, width in zip([1, *widths], widths)])
        self.bottom = Double(32, 64)
        self.up = nn.ModuleList([nn.ConvTranspose2d(2 * width, width, 2, stride=2) for width in widths[::-1]])
        self.join = nn.ModuleList([Double(2 * width, width) for width in widths[::-1]])
        self.out = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        across = []
        for down in self.down:
            x = down(x)
            across.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for up, join, other in zip(self.up, self.join, across[::-1]):
            x = join(torch.cat([up(x), other], 1))
        return self.out(x)


torch.manual_seed(0)
model = UNet()
loss = F.mse_loss(model(torch.randn(1, 1, 32, 32)), torch.zeros(1, 1, 32, 32))
loss.backward()
