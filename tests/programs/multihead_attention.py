"""nn.MultiheadAttention with a mask for padding: the output, the averaged weights, and a step of training."""

import torch
from torch import nn

torch.manual_seed(18)
attention = nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True)
query, memory = torch.randn(2, 3, 8), torch.randn(2, 4, 8)
padding = torch.tensor([[False, False, False, True], [False, False, True, True]])
output, weights = attention(query, memory, memory, key_padding_mask=padding)
print(output.shape, weights.shape, weights.sum(-1).round(decimals=3).tolist())
print(weights[1, 0].detach())
optimizer = torch.optim.SGD(attention.parameters(), lr=0.5)
for step in range(3):
    output, _ = attention(query, memory, memory, key_padding_mask=padding, need_weights=False)
    loss = (output - query).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")
