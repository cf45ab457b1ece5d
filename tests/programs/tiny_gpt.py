"""A decoder of one block, pre-norm and weight tying, on characters; text from it by sampling."""

import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(20)
text = "to be or not to be that is the question"
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
block_size, n_embd = 8, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.key, self.query, self.value = (nn.Linear(n_embd, n_embd, bias=False) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T, h = x.shape[1], self.ln1(x)
        wei = self.query(h) @ self.key(h).transpose(-2, -1) * n_embd**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf")).softmax(dim=-1)
        x = x + wei @ self.value(h)
        return x + self.mlp(self.ln2(x))


embed, position, block, head = nn.Embedding(len(chars), n_embd), nn.Embedding(block_size, n_embd), Block(), nn.Linear(n_embd, len(chars), bias=False)
head.weight = embed.weight
model = nn.ModuleList([embed, position, block, head])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)


def logits_of(idx):
    return head(block(embed(idx) + position(torch.arange(idx.shape[1]))))


for step in range(4):
    starts = torch.randint(len(data) - block_size, (6,))
    xb = torch.stack([data[i : i + block_size] for i in starts])
    yb = torch.stack([data[i + 1 : i + block_size + 1] for i in starts])
    loss = F.cross_entropy(logits_of(xb).view(-1, len(chars)), yb.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")
idx = torch.zeros((1, 1), dtype=torch.long)
with torch.no_grad():
    for _ in range(12):
        probs = F.softmax(logits_of(idx[:, -block_size:])[:, -1, :], dim=-1)
        idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
print(repr("".join(chars[i] for i in idx[0].tolist())), len(list(model.parameters())))
