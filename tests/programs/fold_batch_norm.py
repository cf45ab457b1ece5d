"""A batch norm folded into the convolution before it, by nn.utils.fusion and by hand with fx."""
import copy

import torch
import torch.fx as fx
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 2, 3), nn.BatchNorm2d(2))
for _ in range(3):
    model(torch.randn(4, 1, 8, 8))
model.eval()
x = torch.randn(2, 1, 8, 8)
traced = fx.symbolic_trace(copy.deepcopy(model))
modules = dict(traced.named_modules())
for node in list(traced.graph.nodes):
    if node.op != "call_module" or not isinstance(modules[node.target], nn.BatchNorm2d):
        continue
    before = node.args[0]
    if isinstance(modules.get(before.target), nn.Conv2d):
        setattr(traced, before.target, fuse_conv_bn_eval(modules[before.target], modules[node.target]))
        node.replace_all_uses_with(before)
        traced.graph.erase_node(node)
traced.recompile()
print(traced.code)
print(len(list(model.parameters())), len(list(traced.parameters())))
print(torch.allclose(model(x), traced(x), atol=1e-5))
conv, bn = model[0], model[1]
w, b = fuse_conv_bn_weights(conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
print(w.shape, b.shape, type(w).__name__)
line, norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
norm(line(torch.randn(8, 3)))
z = torch.randn(2, 3)
print(torch.allclose(fuse_linear_bn_eval(line.eval(), norm.eval())(z), norm(line(z)), atol=1e-6))
loss = traced(x).square().mean()
loss.backward()
print(f"{loss.item():.4f}")
