# Nothing is recorded under torch.no_grad()
import torch

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)

y = w * x
with torch.no_grad():
    z = w * x

print(y.requires_grad, z.requires_grad)
