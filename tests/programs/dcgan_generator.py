"""A convolutional generator: transposed convolutions, batch norm, weights initialized by class name."""

import torch
import torch.nn as nn

torch.manual_seed(24)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


netG = nn.Sequential(
    nn.ConvTranspose2d(6, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
    nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh(),
)
netD = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(4, 1, 4, 1, 0, bias=False), nn.Sigmoid())
netG.apply(weights_init)
netD.apply(weights_init)
noise = torch.randn(3, 6, 1, 1)
fake = netG(noise)
output = netD(fake).view(-1)
loss = nn.BCELoss()(output, torch.full((3,), 1.0))
loss.backward()
print(netG)
print(fake.shape, f"D(G(z)) = {output.mean().item():.4f}, loss {loss.item():.4f}")
print("gradient reaches the generator:", bool(netG[0].weight.grad.abs().sum() > 0))
