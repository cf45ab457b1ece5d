# Leaves alone: there is no graph yet
import torch

tsr = torch.Tensor(3,5)

t1 = torch.randn((3,3), requires_grad = True)

t2 = torch.FloatTensor(3,3)
t2.requires_grad = True
