"""An LSTM written out, 100 steps; the arguments 2 50 make it two layers and 50 steps."""

import sys

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.of_input, self.of_state = nn.Linear(inputs, 4 * size), nn.Linear(size, 4 * size)

    def forward(self, x, h, c):
        i, f, g, o = (self.of_input(x) + self.of_state(h)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class LSTM(nn.Module):
    def __init__(self, inputs, size, layers):
        super().__init__()
        self.size = size
        self.cells = nn.ModuleList([Cell(size if layer else inputs, size) for layer in range(layers)])
        self.fc = nn.Linear(size, 1)

    def forward(self, sequence):
        states = [[torch.zeros(sequence.shape[1], self.size)] * 2 for _ in self.cells]
        for x in sequence:
            for place, cell in enumerate(self.cells):
                x, c = cell(x, *states[place])
                states[place] = [x, c]
        return self.fc(x)


torch.manual_seed(0)
layers, steps = map(int, sys.argv[1:] or [1, 100])
model = LSTM(3, 4, layers)
loss = nn.functional.mse_loss(model(torch.randn(steps, 2, 3)), torch.ones(2, 1))
loss.backward()
