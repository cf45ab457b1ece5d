"""An operation in place overwrites what backward needs"""
import torch

x = torch.tensor(2.0, requires_grad=True)
a = torch.exp(x)
a += 1
y = a * x
y.backward()
