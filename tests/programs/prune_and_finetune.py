"""Magnitude pruning, in rounds, with training between them."""
import torch
import torch.nn.utils.prune as prune
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, t = torch.randn(24, 8), torch.randint(0, 3, (24,))


def train(steps):
    for _ in range(steps):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), t)
        loss.backward()
        opt.step()
    return loss


def sparsity():
    zeros = sum((m.weight == 0).sum().item() for m in model if isinstance(m, nn.Linear))
    return zeros / sum(m.weight.nelement() for m in model if isinstance(m, nn.Linear))


print(f"dense {train(10).item():.3f}")
targets = [(m, "weight") for m in model if isinstance(m, nn.Linear)]
for round_ in range(3):
    prune.global_unstructured(targets, pruning_method=prune.L1Unstructured, amount=0.3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    print(f"round {round_}: sparsity {sparsity():.3f}, loss {train(5).item():.3f}")
prune.ln_structured(model[2], name="weight", amount=0.25, n=2, dim=0)
print([name for name, _ in model[2].named_buffers()], prune.is_pruned(model))
for m, name in targets:
    prune.remove(m, name)
print(sorted(dict(model.named_parameters())), prune.is_pruned(model), int((model[2].weight.abs().sum(1) == 0).sum()))
