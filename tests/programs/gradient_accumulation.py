"""Small batches whose gradients add up give the step of the large batch."""

import copy

import torch
from torch import nn

torch.manual_seed(32)
X, y = torch.randn(12, 4), torch.randn(12, 1)
whole = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
parts = copy.deepcopy(whole)
steps = 3
optimizers = [torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9) for model in (whole, parts)]
for epoch in range(3):
    optimizers[0].zero_grad()
    full = nn.functional.mse_loss(whole(X), y)
    full.backward()
    optimizers[0].step()
    total = 0.0
    for i, (features, targets) in enumerate(zip(X.chunk(steps), y.chunk(steps))):
        loss = nn.functional.mse_loss(parts(features), targets) / steps
        loss.backward()
        total += loss.item()
        if (i + 1) % steps == 0:
            optimizers[1].step()
            optimizers[1].zero_grad()
    print(f"epoch {epoch}: whole {full.item():.4f}, parts {total:.4f}")
print(all(torch.allclose(p, q, atol=1e-6) for p, q in zip(whole.parameters(), parts.parameters())))
