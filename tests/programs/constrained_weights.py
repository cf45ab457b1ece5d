"""Weights under constraints: orthogonal recurrence, a spectral norm in a critic, a weight norm in a generator."""
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

torch.manual_seed(2)
critic = nn.Sequential(spectral_norm(nn.Linear(3, 4)), nn.LeakyReLU(0.2), spectral_norm(nn.Linear(4, 1)))
generator = nn.Sequential(weight_norm(nn.Linear(2, 4)), nn.Tanh(), weight_norm(nn.Linear(4, 3)))
print(critic)
print([name for name, _ in generator.named_parameters()])
print(list(critic.state_dict()))
turn = orthogonal(nn.Linear(3, 3, bias=False))
print(torch.dist(turn.weight.T @ turn.weight, torch.eye(3)) < 1e-5, parametrize.is_parametrized(turn, "weight"))
optimizer = torch.optim.SGD([*generator.parameters(), *turn.parameters()], lr=0.1)
for step in range(3):
    fake = turn(generator(torch.randn(5, 2)))
    loss = -critic(fake).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
parametrize.remove_parametrizations(generator[0], "weight")
print(generator[0], [name for name, _ in generator.named_parameters()])
