"""A conditional variational autoencoder with annealed KL, and samples of each class."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(6)


class CVAE(nn.Module):
    def __init__(self, classes=3, width=8, latent=2):
        super().__init__()
        self.embed = nn.Embedding(classes, 4)
        self.enc = nn.Sequential(nn.Linear(width + 4, 16), nn.SiLU())
        self.mu, self.logvar = nn.Linear(16, latent), nn.Linear(16, latent)
        self.dec = nn.Sequential(nn.Linear(latent + 4, 16), nn.SiLU(), nn.Linear(16, width))

    def forward(self, x, c):
        c = self.embed(c)
        h = self.enc(torch.cat([x, c], -1))
        q = Normal(self.mu(h), (0.5 * self.logvar(h)).exp())
        return self.dec(torch.cat([q.rsample(), c], -1)), q


model = CVAE()
c = torch.arange(12) % 3
x = (torch.rand(12, 8) < (0.2 + 0.3 * c[:, None])).float()
opt = torch.optim.NAdam(model.parameters(), lr=0.02)
for epoch in range(10):
    beta = min(1.0, epoch / 5)
    logits, q = model(x, c)
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
    kl = kl_divergence(q, Normal(torch.zeros(2), torch.ones(2))).sum(-1)
    loss = (rec + beta * kl).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 3 == 0:
        print(epoch, f"{rec.mean().item():.3f} {kl.mean().item():.4f}")
with torch.no_grad():
    z = torch.randn(3, 2)
    probs = torch.sigmoid(model.dec(torch.cat([z, model.embed(torch.arange(3))], -1)))
print(probs.shape, probs.mean(-1))
