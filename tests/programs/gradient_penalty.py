"""A critic whose gradient at points between real and fake ones is pulled to norm 1 (WGAN-GP)."""

import torch
from torch import autograd, nn

torch.manual_seed(29)
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
real, fake = torch.randn(12, 2) + 2, torch.randn(12, 2)


def penalty(real, fake):
    alpha = torch.rand(real.size(0), 1)
    between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = critic(between)
    gradients = autograd.grad(outputs=scores, inputs=between, grad_outputs=torch.ones_like(scores), create_graph=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


optimizer = torch.optim.RMSprop(critic.parameters(), lr=0.005)
for step in range(4):
    gp = penalty(real, fake)
    loss = critic(fake).mean() - critic(real).mean() + 10 * gp
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}, penalty {gp.item():.4f}")
