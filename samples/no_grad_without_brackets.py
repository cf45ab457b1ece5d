# As the article prints it: with torch.no_grad, without brackets
import torch

x = torch.tensor(2.0, requires_grad=True)
y = x * x

with torch.no_grad:
    inference = x * 3
