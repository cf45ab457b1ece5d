# c = a / b
import torch

a = torch.tensor([6.0], requires_grad=True)
b = torch.tensor([4.0], requires_grad=True)
c = a / b

print(c.grad_fn)
c.backward()
