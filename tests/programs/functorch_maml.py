"""Learning to learn with the old names of torch.func: an inner step for each task of a batch, then its loss."""

import warnings

import torch
import torch.nn.functional as F
from functorch import grad, make_functional, vmap

warnings.simplefilter("ignore", FutureWarning)  # functorch's names are old
torch.manual_seed(4)


def train():
    net = torch.nn.Sequential(torch.nn.Linear(1, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    model, params = make_functional(net)
    print(type(model).__name__, len(params), model.param_names)

    def loss_of(weights, x, y):
        return F.mse_loss(model(weights, x), y)

    def adapted_loss(weights, x, y, x_new, y_new):
        steps = grad(loss_of)(weights, x, y)
        return loss_of([w - 0.1 * step for w, step in zip(weights, steps)], x_new, y_new)

    def step():
        x = torch.rand(4, 10, 1) * 4 - 2
        y = torch.sin(x + torch.rand(4, 1, 1))
        losses = vmap(adapted_loss, in_dims=(None, 0, 0, 0, 0))(params, x[:, :5], y[:, :5], x[:, 5:], y[:, 5:])
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        return losses.detach()

    optimizer = torch.optim.SGD(params, lr=0.05)
    for iteration in range(3):
        print(iteration, step(), params[0].grad.norm())


train()
# the examples of a batch share the graph behind them
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x**2 * x.sum()
print(vmap(lambda v: torch.autograd.grad(y, x, v)[0])(torch.eye(3)))
total = (x**3).sum() * 2
total.backward()
