"""Activations that are computed again in backward: torch.utils.checkpoint, and how often a block runs."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(40)
runs = []


class Block(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name, self.linear, self.drop = name, nn.Linear(4, 4), nn.Dropout(0.5)

    def forward(self, x):
        runs.append(self.name)
        return torch.tanh(self.drop(self.linear(x)))


blocks = nn.ModuleList(Block(name) for name in "ab")
head, x = nn.Linear(4, 1), torch.randn(6, 4)
for use in (False, True):
    torch.manual_seed(0)
    h = x
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False) if use else block(h)
    loss = head(h).pow(2).mean()
    blocks.zero_grad()
    loss.backward()
    print(f"checkpoint {use}: loss {loss.item():.4f}, gradient {blocks[0].linear.weight.grad.norm().item():.4f}, runs {runs}")
    runs.clear()
out = checkpoint_sequential(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2), nn.ReLU()), 2, x.requires_grad_(), use_reentrant=False)
out.sum().backward()
print(tuple(out.shape), tuple(x.grad.shape))
