"""A gradient for each example and for each model of an ensemble, by vmap, right after the seed is set."""
import copy
import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call, grad, stack_module_state, vmap

torch.manual_seed(3)
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
x, y = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), torch.tensor([[1.0], [0.0], [1.0]])
base = copy.deepcopy(net)
parameters = {name: one.detach() for name, one in net.named_parameters()}


def loss_of(parameters, one, target):
    return F.mse_loss(functional_call(base, parameters, (one.unsqueeze(0),)), target.unsqueeze(0))


torch.manual_seed(4)
each = vmap(grad(loss_of), in_dims=(None, 0, 0))(parameters, x, y)
norms = torch.stack([g.flatten(1).norm(dim=1) for g in each.values()]).norm(dim=0)
print({name: tuple(g.shape) for name, g in each.items()})
print(norms)
clipped = {name: (g * (0.5 / norms).clamp(max=1).view(-1, *[1] * (g.dim() - 1))).mean(0) for name, g in each.items()}
print(clipped["2.bias"])
models = [nn.Linear(2, 1) for _ in range(3)]
stacked, buffers = stack_module_state(models)
print({name: (tuple(one.shape), one.requires_grad) for name, one in stacked.items()}, buffers)
outputs = vmap(lambda p, one: functional_call(models[0], p, (one,)), in_dims=(0, None))(stacked, x).detach()
print(outputs.shape, torch.allclose(outputs[1], models[1](x)))
loss = F.mse_loss(net(x), y)
loss.backward()
print(torch.allclose(net[0].weight.grad, each["0.weight"].mean(0), atol=1e-6))
