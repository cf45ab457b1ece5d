"""Weights with a mean and a spread: samples by reparametrization, the divergence from the prior, uncertain predictions."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(49)


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(n_out, n_in) * 0.1)
        self.rho = nn.Parameter(torch.full((n_out, n_in), -3.0))

    def forward(self, x):
        posterior = Normal(self.mu, F.softplus(self.rho))
        self.kl = kl_divergence(posterior, Normal(0.0, 1.0)).sum()
        return F.linear(x, posterior.rsample())


x = torch.linspace(-1, 1, 20).unsqueeze(1)
y = 2 * x + 0.1 * torch.randn(20, 1)
layer = BayesLinear(1, 1)
optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
for step in range(5):
    likelihood = -Normal(layer(x), 0.1).log_prob(y).sum()
    loss = likelihood + layer.kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}, mean {layer.mu.item():.4f}, spread {F.softplus(layer.rho).item():.4f}")
with torch.no_grad():
    guesses = torch.stack([layer(torch.tensor([[2.0]])) for _ in range(50)])
print(f"at 2: {guesses.mean().item():.3f} with a spread of {guesses.std().item():.4f}")
