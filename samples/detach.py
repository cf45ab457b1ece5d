# detach() copies out of the graph: h's own graph stays as it is, and what is made from the copy has none
import torch

x = torch.tensor(1.0, requires_grad=True)
w = torch.tensor(4.0, requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)

h = w * x + b
copy = h.detach()
k = copy * 2

print(h.requires_grad, copy.requires_grad, k.requires_grad)
