"""Few examples and many inputs: the norm of the weights with and without weight decay."""

import torch
from torch import nn

for decay in (0, 3):
    torch.manual_seed(5)
    X, true_w = torch.randn(20, 50), torch.full((50, 1), 0.01)
    y = X @ true_w + 0.05 + 0.01 * torch.randn(20, 1)
    net = nn.Linear(50, 1)
    for parameter in net.parameters():
        parameter.data.normal_()
    criterion = nn.MSELoss()
    groups = [{"params": net.weight, "weight_decay": decay}, {"params": net.bias}]
    trainer = torch.optim.SGD(groups, lr=0.01)
    for epoch in range(10):
        trainer.zero_grad()
        loss = criterion(net(X), y)
        loss.backward()
        trainer.step()
    print(f"decay {decay}: loss {loss.item():.3f}, norm of w {net.weight.norm().item():.3f}")
    print(f"  penalty by hand {(net.weight**2).sum().item() / 2:.3f}")
