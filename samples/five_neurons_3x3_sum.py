# Five neurons on 3x3 tensors: the sum of L is a scalar
import torch

torch.manual_seed(0)

a = torch.randn((3,3), requires_grad = True)

w1 = torch.randn((3,3), requires_grad = True)
w2 = torch.randn((3,3), requires_grad = True)
w3 = torch.randn((3,3), requires_grad = True)
w4 = torch.randn((3,3), requires_grad = True)

b = w1*a
c = w2*a

d = w3*b + w4*c

# Replace L = 10 - d by
L = (10 - d).sum()

L.backward()
