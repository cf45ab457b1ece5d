"""Self-supervision: NT-Xent with two views, then BYOL's predictor and moving target."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(21)


def augment(x):
    return x * (0.8 + 0.4 * torch.rand(len(x), 1)) + 0.05 * torch.randn_like(x)


def nt_xent(a, b, tau=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.t() / tau
    sim.fill_diagonal_(float("-inf"))
    n = len(a)
    return F.cross_entropy(sim, torch.arange(2 * n).roll(n))


enc = nn.Sequential(nn.Linear(6, 12, bias=False), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 4))
opt = torch.optim.SGD(enc.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
x = torch.randn(10, 6)
for step in range(4):
    loss = nt_xent(enc(augment(x)), enc(augment(x)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("simclr", step, f"{loss.item():.3f}")
target, predictor = copy.deepcopy(enc).requires_grad_(False), nn.Linear(4, 4)
opt = torch.optim.Adam([*enc.parameters(), *predictor.parameters()], lr=0.01)
for step in range(4):
    one, two = augment(x), augment(x)
    with torch.no_grad():
        t1, t2 = target(one), target(two)
    loss = 4 - 2 * (F.cosine_similarity(predictor(enc(one)), t2) + F.cosine_similarity(predictor(enc(two)), t1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for p, q in zip(enc.parameters(), target.parameters()):
        q.data.mul_(0.95).add_(p.data, alpha=0.05)
    print("byol", step, f"{loss.item():.3f}")
