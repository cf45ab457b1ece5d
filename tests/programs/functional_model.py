"""A model as a function of its parameters: torch.func's grad and functional_call, a step without an optimizer."""

import torch
from torch import nn
from torch.func import functional_call, grad, grad_and_value

torch.manual_seed(55)
model = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
X = torch.rand(20, 2)
y = X.prod(dim=1, keepdim=True)
params = {name: p.detach() for name, p in model.named_parameters()}


def compute_loss(params):
    return nn.functional.mse_loss(functional_call(model, params, (X,)), y)


for step in range(5):
    grads, value = grad_and_value(compute_loss)(params)
    params = {name: p - 0.5 * grads[name] for name, p in params.items()}
    print(f"step {step}: {value.item():.4f}", value.requires_grad)
print("third derivative of x**4 at 2:", grad(grad(grad(lambda x: x**4)))(torch.tensor(2.0)))
loss = nn.functional.mse_loss(model(X), y)
loss.backward()
print(f"the module itself has not learned: {loss.item():.4f}")
