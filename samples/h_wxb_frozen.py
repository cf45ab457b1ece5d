# h = w*x + b: x requires no gradient, and is not in the picture
import torch

x = torch.tensor(1.0, requires_grad=False)
w = torch.tensor(4.0, requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)

h = w * x + b
