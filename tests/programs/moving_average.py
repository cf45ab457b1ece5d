"""An exponential moving average of the weights, by hand and with a buffer, and the model that it makes."""

import copy

import torch
from torch import nn

torch.manual_seed(34)
X = torch.randn(32, 3)
y = X.sum(1, keepdim=True) + 0.3 * torch.randn(32, 1)
model = nn.Linear(3, 1)
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)


@torch.no_grad()
def update(average, model, decay=0.8):
    for kept, new in zip(average.parameters(), model.parameters()):
        kept.lerp_(new, 1 - decay)


for step in range(6):
    rows = torch.randint(32, (8,))
    loss = nn.functional.mse_loss(model(X[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update(average, model)
    with torch.no_grad():
        print(f"step {step}: loss {loss.item():.4f}, averaged {nn.functional.mse_loss(average(X), y).item():.4f}")
print([name for name, p in average.named_parameters() if p.requires_grad], average(X).requires_grad)
