"""A recurrent network, four steps unrolled: h = tanh(w·h + u·x)"""
import torch

w, u = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
h = torch.tensor(0.0)
for x in [0.5, 0.1, -0.4, 0.3]:
    h = torch.tanh(w * h + u * x)
loss = (h - 1) ** 2
loss.backward()
