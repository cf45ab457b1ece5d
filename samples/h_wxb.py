# h = w*x + b: every leaf requires a gradient
import torch

x = torch.tensor(1.0, requires_grad=True)
w = torch.tensor(4.0, requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)

h = w * x + b
