"""A residual net with squeeze and excitation on small images: mixup, cutout, warm restarts, accuracy."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Beta

torch.manual_seed(23)


class SE(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.fc = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // 2, 1), nn.ReLU(inplace=True), nn.Conv2d(c // 2, c, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.fc(x)


class Block(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.c2, self.b2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.se = SE(o)
        self.short = nn.Identity() if i == o and stride == 1 else nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)))
        return F.relu(self.se(self.b2(self.c2(y))) + self.short(x))


net = nn.Sequential(Block(1, 4), Block(4, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
for m in net.modules():
    if isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=3)
t = torch.arange(12) % 2
x = torch.randn(12, 1, 6, 6) + t[:, None, None, None]
for epoch in range(6):
    lam = Beta(0.4, 0.4).sample()
    perm = torch.randperm(12)
    mixed = lam * x + (1 - lam) * x[perm]
    cut = torch.ones_like(mixed)
    cut[:, :, 2:4, 2:4] = 0
    out = net(mixed * cut)
    loss = lam * F.cross_entropy(out, t) + (1 - lam) * F.cross_entropy(out, t[perm])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    print(epoch, f"{loss.item():.3f} {sched.get_last_lr()[0]:.4f}")
net.eval()
with torch.no_grad():
    print(f"{(net(x).argmax(1) == t).float().mean().item():.2f}")
