# Five neurons on 3x3 tensors: backward() starts from a gradient of L's shape
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

L = 10 - d

L.backward(torch.ones(L.shape))
