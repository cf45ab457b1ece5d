"""Hooks: activations of a layer, gradients on their way, one that changes a gradient, and their removal."""

import torch
from torch import nn

torch.manual_seed(30)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
activations, log = {}, []


def remember(name):
    def hook(module, inputs, output):
        activations[name] = output.detach()
        log.append(f"forward of {name}: {tuple(inputs[0].shape)} -> {tuple(output.shape)}")
    return hook


handles = [layer.register_forward_hook(remember(f"{i} {type(layer).__name__}")) for i, layer in enumerate(net)]
net[2].register_full_backward_hook(lambda module, gin, gout: log.append(f"backward: {tuple(gout[0].shape)} -> {tuple(gin[0].shape)}"))
net[0].weight.register_hook(lambda grad: grad.clamp(-0.01, 0.01))

x = torch.randn(5, 3)
for step in range(2):
    hidden = net[1](net[0](x))
    hidden.retain_grad()
    hidden.register_hook(lambda grad: log.append(f"gradient of hidden: {grad.sum().item():.4f}"))
    loss = net[2](hidden).pow(2).mean()
    net.zero_grad()
    loss.backward()
    print("\n".join(log), f"\nloss {loss.item():.4f}, largest {net[0].weight.grad.abs().max().item():.4f}")
    log.clear()
    for handle in handles:
        handle.remove()
print({name: tuple(value.shape) for name, value in activations.items()}, hidden.grad.shape)
