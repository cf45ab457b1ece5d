"""A GAN, which has two losses: that of the discriminator, and that of the generator."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
real, noise = torch.randn(5, 8), torch.randn(5, 4)
one, zero = torch.ones(5, 1), torch.zeros(5, 1)

fake = generator(noise)
of_real = F.binary_cross_entropy_with_logits(discriminator(real), one)
of_fake = F.binary_cross_entropy_with_logits(discriminator(fake.detach()), zero)
loss_d = of_real + of_fake
loss_g = F.binary_cross_entropy_with_logits(discriminator(fake), one)
loss_d.backward()
loss_g.backward()
