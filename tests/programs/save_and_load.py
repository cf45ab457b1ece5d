"""A checkpoint of a model and its optimizer: saved, loaded into new ones, and trained on as if nothing had been."""

import os
import tempfile

import torch
from torch import nn

torch.manual_seed(41)
X, y = torch.randn(10, 3), torch.randn(10, 1)


def make():
    net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
    return net, torch.optim.Adam(net.parameters(), lr=0.02)


def train(net, optimizer, steps):
    for _ in range(steps):
        loss = nn.functional.mse_loss(net(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


net, optimizer = make()
print(f"before: {train(net, optimizer, 3).item():.4f}")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pt")
    torch.save({"epoch": 3, "model": net.state_dict(), "optimizer": optimizer.state_dict()}, path)
    checkpoint = torch.load(path, weights_only=True)
again, other = make()
again.load_state_dict(checkpoint["model"])
other.load_state_dict(checkpoint["optimizer"])
loss, same = train(net, optimizer, 3), train(again, other, 3)
print(f"after epoch {checkpoint['epoch']}: {loss.item():.4f} and {same.item():.4f}")
print(list(checkpoint["model"]), torch.equal(loss, same))
try:
    nn.Linear(3, 4).load_state_dict({"weight": torch.zeros(4, 2)})
except RuntimeError as error:
    print(error)
