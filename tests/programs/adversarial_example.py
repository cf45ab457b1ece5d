"""The sign of the input's gradient makes an example that a trained model gets wrong."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(54)
X = torch.cat([torch.randn(20, 6) + 0.7, torch.randn(20, 6) - 0.7])
y = torch.cat([torch.zeros(20), torch.ones(20)]).long()
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(15):
    optimizer.zero_grad()
    F.nll_loss(F.log_softmax(model(X), dim=1), y).backward()
    optimizer.step()
model.eval()


def fgsm_attack(data, epsilon, gradient):
    return torch.clamp(data + epsilon * gradient.sign(), -4, 4)


for epsilon in (0.0, 0.3, 0.6, 0.9, 1.2):
    data = X.clone()
    data.requires_grad = True
    loss = F.cross_entropy(model(data), y)
    model.zero_grad()
    loss.backward()
    right = (model(fgsm_attack(data, epsilon, data.grad.data)).max(1, keepdim=True)[1].squeeze(1) == y).sum().item()
    print(f"epsilon {epsilon}: {right} of 40 right, loss {loss.item():.4f}")
