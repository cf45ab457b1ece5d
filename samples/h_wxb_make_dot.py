# h = w*x + b, drawn by the script itself with TorchViz's make_dot
import torch
from torchviz import make_dot

x = torch.tensor(1.0, requires_grad=True)
w = torch.tensor(4.0, requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)

h = w * x + b

make_dot(h).render(filename="h_wxb", format="pdf", view=False)
