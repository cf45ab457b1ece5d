# requires_grad is contagious: what is made from a tensor that requires gradients requires them too
import torch

x = torch.tensor(2.0)
w = torch.tensor(3.0, requires_grad=True)

u = x * x
v = u * w
z = v + x

print(u.requires_grad, v.requires_grad, z.requires_grad)
