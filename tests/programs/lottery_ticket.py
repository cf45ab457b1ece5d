"""The lottery ticket: prune, set back to the first weights, train again under the mask."""
import copy

import torch
from torch import nn

torch.manual_seed(5)
net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
start = copy.deepcopy(net.state_dict())
x = torch.randn(32, 4)
t = (x[:, 0] * x[:, 1] > 0).long()
masks = {n: torch.ones_like(p) for n, p in net.named_parameters() if "weight" in n}


def train(steps=15):
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(steps):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), t)
        loss.backward()
        for n, p in net.named_parameters():
            if n in masks:
                p.grad.mul_(masks[n])
        opt.step()
    return loss


for level in range(3):
    loss = train()
    kept = sum(m.sum() for m in masks.values()) / sum(m.numel() for m in masks.values())
    print(f"{level}: {kept:.2f} of the weights, loss {loss:.3f}")
    with torch.no_grad():
        for n, p in net.named_parameters():
            if n in masks:
                alive = p[masks[n].bool()].abs()
                masks[n] = torch.where(p.abs() < torch.quantile(alive, 0.4), torch.zeros_like(p), masks[n])
                p.copy_(start[n] * masks[n])
            else:
                p.copy_(start[n])
