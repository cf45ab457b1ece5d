"""A variational autoencoder: its loss is how well it draws, and how far its code is from a normal one."""

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
        self.mean, self.log_var = nn.Linear(32, 4), nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64))

    def forward(self, x):
        h = self.encoder(x)
        mean, log_var = self.mean(h), self.log_var(h)
        code = mean + (0.5 * log_var).exp() * torch.randn_like(mean)
        return self.decoder(code), mean, log_var


torch.manual_seed(0)
model = VAE()
x = torch.rand(8, 64)
y, mean, log_var = model(x)
drawn = F.binary_cross_entropy_with_logits(y, x)
divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(1).mean()
loss = drawn + divergence
loss.backward()
