"""Hyperparameters by gradients: the weight decay and the learning rate learn through an unrolled training."""
import torch

torch.manual_seed(16)
X, w_true = torch.randn(20, 3), torch.tensor([1.0, -2.0, 0.5])
y = X @ w_true + 0.1 * torch.randn(20)
log_lr, log_wd = torch.tensor(-3.0, requires_grad=True), torch.tensor(-2.0, requires_grad=True)
outer = torch.optim.SGD([log_lr, log_wd], lr=0.2)
for it in range(4):
    w = torch.zeros(3, requires_grad=True)
    for _ in range(5):
        inner = ((X[:10] @ w - y[:10]) ** 2).mean() + log_wd.exp() * w.square().sum()
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        w = w - log_lr.exp() * g
    val = ((X[10:] @ w - y[10:]) ** 2).mean()
    outer.zero_grad()
    val.backward()
    outer.step()
    print(it, f"{val.item():.3f} {log_lr.item():.3f} {log_wd.item():.3f}")
