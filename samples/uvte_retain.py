# e = a*b + log(d)*c: t keeps its gradient
import torch

a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
c = torch.tensor(5.0, requires_grad=True)
d = torch.tensor(10.0, requires_grad=True)

u = a * b
t = torch.log(d)
t.retain_grad()
v = t * c
e = u + v

e.backward()
print(t.grad)
