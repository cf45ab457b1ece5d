"""Binary classification: a sigmoid, two spellings of the same loss, and Newton's step for comparison."""

import torch
import torch.nn.functional as F

torch.manual_seed(4)
X = torch.cat([torch.randn(20, 2) + 1.5, torch.randn(20, 2) - 1.5])
y = torch.cat([torch.ones(20), torch.zeros(20)])
w = torch.zeros(2, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)

for step in range(6):
    logits = X.mv(w) + b
    loss = F.binary_cross_entropy_with_logits(logits, y)
    same = F.binary_cross_entropy(torch.sigmoid(logits), y)
    assert torch.allclose(loss, same)
    gradient = torch.autograd.grad(loss, [w, b])
    with torch.no_grad():
        w -= gradient[0]
        b -= gradient[1]
    print(f"{step}: {loss.item():.4f}  w = {[round(v, 3) for v in w.tolist()]}")

hessian = torch.autograd.functional.hessian(lambda v: F.binary_cross_entropy_with_logits(X @ v + b.detach(), y), w.detach())
print("curvature is positive:", bool((torch.linalg.eigvalsh(hessian) > 0).all()))
