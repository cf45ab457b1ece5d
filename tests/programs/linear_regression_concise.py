"""The same regression with nn.Linear, nn.MSELoss, SGD and a DataLoader."""

import torch
from torch import nn
from torch.utils import data

torch.manual_seed(2)
X = torch.normal(0, 1, (64, 2))
y = (X @ torch.tensor([2.0, -3.4]) + 4.2).reshape(-1, 1)
loader = data.DataLoader(data.TensorDataset(X, y), batch_size=16, shuffle=True)

net = nn.Sequential(nn.Linear(2, 1))
net[0].weight.data.normal_(0, 0.01)
net[0].bias.data.fill_(0)
criterion = nn.MSELoss()
trainer = torch.optim.SGD(net.parameters(), lr=0.1)

for epoch in range(3):
    for features, targets in loader:
        loss = criterion(net(features), targets)
        trainer.zero_grad()
        loss.backward()
        trainer.step()
    print(f"epoch {epoch + 1}: {criterion(net(X), y).item():.4f}")
print(net)
