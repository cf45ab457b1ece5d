"""PyTorch's nn.TransformerEncoder of six layers, which reads words and tells one of two classes."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(16, nhead=2, dim_feedforward=32, dropout=0.0, batch_first=True)
model = nn.Sequential(nn.Embedding(50, 16), nn.TransformerEncoder(layer, 6, enable_nested_tensor=False), nn.Linear(16, 2))
loss = nn.functional.cross_entropy(model(torch.randint(0, 50, (3, 7)))[:, 0], torch.tensor([0, 1, 1]))
loss.backward()
