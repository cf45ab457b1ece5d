"""A decoder with rotary positions, RMS norms, SwiGLU, a key-value cache, and top-k sampling."""
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(13)


def rotate(x, start):
    half = x.shape[-1] // 2
    freq = 1.0 / 100 ** (torch.arange(half) / half)
    angle = (start + torch.arange(x.shape[-2]))[:, None] * freq
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.qkv, self.o = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.w1, self.w2, self.w3 = (nn.Linear(dim, 2 * dim, bias=False), nn.Linear(2 * dim, dim, bias=False),
                                     nn.Linear(dim, 2 * dim, bias=False))

    def forward(self, x, cache=None):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        start = 0 if not cache else cache["k"].shape[2]
        q, k = rotate(q, start), rotate(k, start)
        if cache is not None:
            if cache:
                k, v = torch.cat([cache["k"], k], 2), torch.cat([cache["v"], v], 2)
            cache.update(k=k, v=v)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        mask = torch.ones(t, k.shape[2], dtype=torch.bool).tril(k.shape[2] - t)
        y = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
        x = x + self.o(y.transpose(1, 2).reshape(b, t, c))
        h = self.norm2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class GPT(nn.Module):
    def __init__(self, vocab=10, dim=16, layers=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList([Block(dim, 2) for _ in range(layers)])
        self.norm, self.head = nn.RMSNorm(dim), nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.emb.weight
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.1)

    def forward(self, x, caches=None):
        x = self.emb(x)
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches is not None else None)
        return self.head(self.norm(x))


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.95))
data = torch.arange(40).view(4, 10) % 10
for step in range(10):
    logits = model(data[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 10), data[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 3 == 0:
        print(step, f"{loss.item():.3f}")
model.eval()
with torch.no_grad():
    whole = model(data[:1, :6])
    caches = [{} for _ in model.blocks]
    parts = torch.cat([model(data[:1, :3], caches), model(data[:1, 3:6], caches)], 1)
    print(torch.allclose(whole, parts, atol=1e-5), caches[0]["k"].shape)
    logits = whole[:, -1] / 0.7
    v, _ = torch.topk(logits, 3)
    logits[logits < v[:, [-1]]] = -float("inf")
    print((logits.softmax(-1) > 0).sum().item(), logits.argmax(-1))
