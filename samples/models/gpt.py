"""GPT-2 of twelve blocks, with 16 features in place of 768."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x):
        batch, time, size = x.shape
        q, k, v = (part.view(batch, time, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1)) / (size / self.heads) ** 0.5
        future = torch.ones(time, time).triu(1).bool()
        mixed = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        return self.proj(mixed.transpose(1, 2).reshape(batch, time, size))


class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(size), Attention(size, heads)
        self.ln2, self.mlp = nn.LayerNorm(size), nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, words, length, size, heads, depth):
        super().__init__()
        self.tok, self.pos = nn.Embedding(words, size), nn.Embedding(length, size)
        self.blocks = nn.ModuleList([Block(size, heads) for _ in range(depth)])
        self.ln, self.head = nn.LayerNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, text):
        x = self.tok(text) + self.pos(torch.arange(text.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


torch.manual_seed(0)
model = GPT(words=50, length=10, size=16, heads=2, depth=12)
text = torch.randint(0, 50, (2, 11))
loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
loss.backward()
