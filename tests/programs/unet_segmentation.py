"""A U-Net with transposed convolutions, dice and focal losses, and IoU."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(22)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.GroupNorm(2, o), nn.PReLU(o))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.pool = block(1, 4), block(4, 8), nn.MaxPool2d(2)
        self.up, self.u1, self.out = nn.ConvTranspose2d(8, 4, 2, stride=2), block(8, 4), nn.Conv2d(4, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.up(self.d2(self.pool(a)))
        return self.out(self.u1(torch.cat([a, b], 1)))


def dice(logits, mask, eps=1.0):
    p = logits.sigmoid().flatten(1)
    m = mask.flatten(1)
    return 1 - ((2 * (p * m).sum(1) + eps) / (p.sum(1) + m.sum(1) + eps)).mean()


def focal(logits, mask, gamma=2.0, alpha=0.25):
    bce = F.binary_cross_entropy_with_logits(logits, mask, reduction="none")
    p_t = torch.exp(-bce)
    weight = alpha * mask + (1 - alpha) * (1 - mask)
    return (weight * (1 - p_t) ** gamma * bce).mean()


x = torch.zeros(2, 1, 8, 8)
x[0, 0, 2:6, 2:6] = 1
x[1, 0, 0:3, 4:8] = 1
mask = x.clone()
x = x + 0.3 * torch.randn_like(x)
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(12):
    logits = net(x)
    loss = dice(logits, mask) + focal(logits, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 3:
        hard = logits > 0
        iou = (hard & mask.bool()).sum() / (hard | mask.bool()).sum().clamp(min=1)
        print(step, f"{loss.item():.3f} {iou.item():.2f}")
print(sum(p.numel() for p in net.parameters()))
