# y = x * w if x is positive, else x - w: Python's own if, and the graph has the branch that ran
import torch

for value in (2.0, -2.0):
    x = torch.tensor(value, requires_grad=True)
    w = torch.tensor(5.0, requires_grad=True)
    if x > 0.0:
        y = x * w
    else:
        y = x - w
    y.backward()
    print(value, "->", y.item(), x.grad.item(), w.grad.item())
