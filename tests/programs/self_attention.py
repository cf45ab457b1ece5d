"""Causal self-attention of several heads by hand, with positions, held against scaled_dot_product_attention."""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(17)
batch, length, width, heads = 2, 5, 8, 2
position = torch.arange(length).unsqueeze(1)
div_term = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
pe = torch.zeros(length, width)
pe[:, 0::2] = torch.sin(position * div_term)
pe[:, 1::2] = torch.cos(position * div_term)

x = torch.randn(batch, length, width) + pe
qkv, proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
q, k, v = (part.view(batch, length, heads, -1).transpose(1, 2) for part in qkv(x).split(width, dim=2))
scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
weights = F.softmax(scores.masked_fill(future, float("-inf")), dim=-1)
y = proj((weights @ v).transpose(1, 2).contiguous().view(batch, length, width))
loss = y.square().mean()
loss.backward()
print(f"loss {loss.item():.4f}, gradient of qkv {qkv.weight.grad.norm().item():.4f}")
print("first row looks at itself only:", weights[0, 0, 0].tolist())
own = F.scaled_dot_product_attention(q, k, v, is_causal=True)
print("as PyTorch's own:", torch.allclose(own, weights @ v, atol=1e-6))
