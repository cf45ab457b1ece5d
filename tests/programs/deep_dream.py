"""Deep dream: the image climbs the gradient of a layer's mean activation, in octaves."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU())
net.requires_grad_(False)
base = torch.rand(1, 1, 12, 12)
detail = torch.zeros(1, 1, 6, 6)
for octave, size in enumerate((6, 9, 12)):
    image = F.interpolate(base, size=(size, size), mode="bilinear", align_corners=False)
    detail = F.interpolate(detail, size=(size, size), mode="bicubic", align_corners=False)
    x = (image + detail).detach().requires_grad_(True)
    for step in range(3):
        shift = torch.randint(-2, 3, (2,)).tolist()
        rolled = torch.roll(x, shift, dims=(2, 3))
        loss = net(rolled).pow(2).mean()
        (grad,) = torch.autograd.grad(loss, x)
        x = (x + 0.1 * grad / (grad.abs().mean() + 1e-8)).detach().requires_grad_(True)
    detail = (x - image).detach()
    print(octave, tuple(x.shape), f"{loss.item():.5f}", f"{detail.abs().mean().item():.4f}")
