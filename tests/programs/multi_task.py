"""Two heads on one trunk, their losses weighted by learned uncertainties, and the angle between their gradients."""

import torch
from torch import nn

torch.manual_seed(44)
X = torch.randn(24, 5)
height, kind = X[:, :1] * 2 + 0.1 * torch.randn(24, 1), (X[:, 1] > 0).long()
trunk, regress, classify = nn.Sequential(nn.Linear(5, 8), nn.ELU()), nn.Linear(8, 1), nn.Linear(8, 2)
log_vars = nn.Parameter(torch.zeros(2))
parameters = [*trunk.parameters(), *regress.parameters(), *classify.parameters(), log_vars]
optimizer = torch.optim.Adam(parameters, lr=0.02)
for step in range(4):
    features = trunk(X)
    losses = torch.stack([nn.functional.mse_loss(regress(features), height), nn.functional.cross_entropy(classify(features), kind)])
    loss = (torch.exp(-log_vars) * losses + log_vars).sum()
    one, two = (torch.autograd.grad(part, trunk[0].weight, retain_graph=True)[0].flatten() for part in losses)
    angle = nn.functional.cosine_similarity(one, two, dim=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {losses[0].item():.4f} {losses[1].item():.4f}, cosine {angle.item():.3f}")
print([f"{v:.3f}" for v in log_vars.tolist()])
