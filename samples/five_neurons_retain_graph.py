# A second backward() on a graph that is kept: the gradients accumulate
import torch

a = torch.tensor(2.0, requires_grad=True)
w1 = torch.tensor(1.0, requires_grad=True)
w2 = torch.tensor(2.0, requires_grad=True)
w3 = torch.tensor(3.0, requires_grad=True)
w4 = torch.tensor(4.0, requires_grad=True)

b = w1 * a
c = w2 * a
d = w3 * b + w4 * c
L = 10 - d

L.backward(retain_graph=True)
L.backward()
