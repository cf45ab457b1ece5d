# y = (x + w) * (w + 1): a is no leaf, and keeps its gradient because it is asked to
import torch

w = torch.tensor([1.], requires_grad=True)
x = torch.tensor([2.], requires_grad=True)

a = torch.add(w, x)
a.retain_grad()
b = torch.add(w, 1)
y = torch.mul(a, b)

y.backward()
print("gradient:\n", w.grad, x.grad, a.grad, b.grad, y.grad)
