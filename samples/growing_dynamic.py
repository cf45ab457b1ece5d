# a polynomial by Horner's rule, y = w * y + c for each coefficient: the graph grows with each of them
import torch

for numbers in ([1.0, 2.0], [1.0, 2.0, 3.0]):
    w = torch.tensor(0.5, requires_grad=True)
    y = torch.tensor(0.0)
    for c in numbers:
        y = w * y + c
    y.backward()
    print(numbers, "->", y.item(), w.grad.item())
