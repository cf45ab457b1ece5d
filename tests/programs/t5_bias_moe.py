"""A mixture of experts with top-k gating and a balance loss, under gradient checkpointing."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(14)


class MoE(nn.Module):
    def __init__(self, dim, experts, k=2):
        super().__init__()
        self.gate, self.k = nn.Linear(dim, experts, bias=False), k
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim)) for _ in range(experts))

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        weight, index = probs.topk(self.k, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            rows, slots = torch.where(index == e)
            if len(rows):
                out.index_add_(0, rows, expert(x[rows]) * weight[rows, slots, None])
        load = F.one_hot(index[:, 0], len(self.experts)).float().mean(0)
        return out, len(self.experts) * (load * probs.mean(0)).sum()


layer, head = MoE(6, 4), nn.Linear(6, 1)
opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1, nesterov=True, momentum=0.9)
x, y = torch.randn(20, 6), torch.randn(20, 1)
for step in range(5):
    h, balance = checkpoint(layer, x, use_reentrant=False)
    loss = F.mse_loss(head(h), y) + 0.01 * balance
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, f"{loss.item():.4f} {balance.item():.3f}")
