"""Linear regression without nn or optim: the model, the loss and the step are written by hand."""

import torch

torch.manual_seed(1)
true_w, true_b = torch.tensor([2.0, -3.4]), 4.2
X = torch.randn(100, 2)
y = X @ true_w + true_b + 0.01 * torch.randn(100)

w = torch.normal(0, 0.01, size=(2,), requires_grad=True)
b = torch.zeros(1, requires_grad=True)


def batches(size):
    order = torch.randperm(len(X))
    for start in range(0, len(X), size):
        rows = order[start : start + size]
        yield X[rows], y[rows]


for epoch in range(3):
    for features, targets in batches(20):
        loss = ((features @ w + b - targets) ** 2 / 2).mean()
        loss.backward()
        with torch.no_grad():
            for parameter in (w, b):
                parameter -= 0.3 * parameter.grad
                parameter.grad.zero_()
    with torch.no_grad():
        print(f"epoch {epoch + 1}, loss {((X @ w + b - y) ** 2 / 2).mean():.4f}")
print("error in w", (true_w - w).abs() < 0.1, "error in b", abs(true_b - b.item()) < 0.1)
