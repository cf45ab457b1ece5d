"""ResNet-18, or with the argument 50 ResNet-50: the layers of the paper, an eighth as wide."""

import sys

import torch
from torch import nn


def conv(inputs, outputs, size, stride=1):
    return [nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs)]


class Block(nn.Module):
    """Two or three convolutions, and a way past them."""

    def __init__(self, inputs, width, stride, is_deep):
        super().__init__()
        outputs = 4 * width if is_deep else width
        if is_deep:
            layers = [*conv(inputs, width, 1), nn.ReLU(), *conv(width, width, 3, stride), nn.ReLU(), *conv(width, outputs, 1)]
        else:
            layers = [*conv(inputs, width, 3, stride), nn.ReLU(), *conv(width, outputs, 3)]
        self.body = nn.Sequential(*layers)
        self.shortcut = nn.Sequential(*conv(inputs, outputs, 1, stride) if stride > 1 or inputs != outputs else [])

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, counts, is_deep):
        super().__init__()
        self.stem = nn.Sequential(*conv(3, 8, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1))
        self.layers, inputs = nn.ModuleList(), 8
        for place, (count, width) in enumerate(zip(counts, [8, 16, 32, 64])):
            blocks = []
            for number in range(count):
                blocks.append(Block(inputs, width, 2 if place and number == 0 else 1, is_deep))
                inputs = 4 * width if is_deep else width
            self.layers.append(nn.Sequential(*blocks))
        self.fc = nn.Linear(inputs, 10)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.fc(x.mean((2, 3)))


torch.manual_seed(0)
is_deep = sys.argv[1:] == ["50"]
model = ResNet([3, 4, 6, 3] if is_deep else [2, 2, 2, 2], is_deep)
loss = nn.functional.cross_entropy(model(torch.randn(2, 3, 64, 64)), torch.tensor([3, 7]))
loss.backward()
