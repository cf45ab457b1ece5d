"""A trained body that is frozen, a new head, and the optimizer that gets the head alone; then fine-tuning in two groups."""

import torch
from torch import nn

torch.manual_seed(43)
body = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
net = nn.Sequential()
net.add_module("body", body)
net.add_module("head", nn.Linear(4, 3))
images, labels = torch.randn(6, 1, 6, 6), torch.tensor([0, 1, 2, 0, 1, 2])

for parameter in net.body.parameters():
    parameter.requires_grad = False
net.body.eval()
before = {name: value.clone() for name, value in net.body.state_dict().items()}
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.5)
for step in range(3):
    loss = nn.functional.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"frozen, step {step}: {loss.item():.4f}")
print("the body is as it was:", all(torch.equal(before[name], value) for name, value in net.body.state_dict().items()))

net.requires_grad_(True)
groups = [{"params": net.body.parameters(), "lr": 0.01}, {"params": net.head.parameters()}]
optimizer = torch.optim.SGD(groups, lr=0.2)
for step in range(2):
    loss = nn.functional.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"fine, step {step}: {loss.item():.4f}")
