# double x until it is 100 or more: Python's own loop, and each x gets the graph of its steps
import torch

for value in (12.0, 40.0, 200.0):
    x = torch.tensor(value, requires_grad=True)
    y = x * 1.0
    steps = 0
    while y < 100.0:
        y = y * 2.0
        steps += 1
    y.backward()
    print(value, "->", steps, y.item(), x.grad.item())
