"""An actor and a critic on one trunk: the advantage is detached for one loss and smooth L1 for the other."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, Normal, kl_divergence

torch.manual_seed(27)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine, self.action_head, self.value_head = nn.Linear(4, 12), nn.Linear(12, 3), nn.Linear(12, 1)

    def forward(self, x):
        x = F.relu(self.affine(x))
        return Categorical(logits=self.action_head(x)), self.value_head(x)


model = Policy()
states, rewards = torch.randn(5, 4), torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0])
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
for step in range(3):
    distribution, values = model(states)
    actions = distribution.sample()
    advantage = rewards - values.squeeze(1)
    loss = (-distribution.log_prob(actions) * advantage.detach()).sum() + F.smooth_l1_loss(values.squeeze(1), rewards) - 0.01 * distribution.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: actions {actions.tolist()}, loss {loss.item():.4f}")
p, q = Normal(torch.tensor(0.0), torch.tensor(1.0)), Normal(torch.tensor(1.0), torch.tensor(2.0))
print(f"KL(p, q) = {kl_divergence(p, q).item():.4f}", p)
