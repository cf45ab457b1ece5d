# Frozen: w1 and w2 take no part in the graph, and get no gradient
import torch

a = torch.tensor(2.0, requires_grad=True)
w1 = torch.tensor(1.0)
w2 = torch.tensor(2.0)
w3 = torch.tensor(3.0, requires_grad=True)
w4 = torch.tensor(4.0, requires_grad=True)

b = w1 * a
c = w2 * a
d = w3 * b + w4 * c
L = 10 - d

L.backward()
