"""A vision transformer on tiny images: patches by unfold, a class token, stochastic depth, label smoothing."""
import torch
from torch import nn

torch.manual_seed(12)


class Block(nn.Module):
    def __init__(self, dim, heads, drop):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, bias=False, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.drop = drop

    def forward(self, x):
        if self.training and torch.rand(()) < self.drop:
            return x
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.n2(x))


class ViT(nn.Module):
    def __init__(self, size=8, patch=4, dim=16, classes=3):
        super().__init__()
        self.patch = patch
        self.proj = nn.Linear(3 * patch * patch, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.empty(1, (size // patch) ** 2 + 1, dim))
        nn.init.trunc_normal_(self.pos, std=0.02)
        self.blocks = nn.ModuleList(Block(dim, 4, p) for p in torch.linspace(0, 0.3, 3).tolist())
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        p = self.patch
        x = x.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), self.proj(x)], 1) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0])


model = ViT()
decay = [p for p in model.parameters() if p.ndim > 1]
rest = [p for p in model.parameters() if p.ndim <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}], lr=3e-3)
sched = torch.optim.lr_scheduler.SequentialLR(opt, [
    torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=3), torch.optim.lr_scheduler.CosineAnnealingLR(opt, 5)],
    milestones=[3])
x, t = torch.randn(6, 3, 8, 8), torch.randint(0, 3, (6,))
for step in range(8):
    loss = nn.functional.cross_entropy(model(x), t, label_smoothing=0.1)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    sched.step()
    print(step, f"{loss.item():.3f} {opt.param_groups[0]['lr']:.5f}")
print(len(decay), len(rest))
