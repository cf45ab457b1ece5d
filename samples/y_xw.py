# y = (x + w) * (w + 1): the values, and the gradients of the leaves
import torch

w = torch.tensor([1.], requires_grad=True)
x = torch.tensor([2.], requires_grad=True)

a = x + w
b = w + 1
y = a * b

y.backward()
print(w.grad)
print(x.grad)
