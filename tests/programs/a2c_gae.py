"""Advantage actor critic with generalized advantages and an entropy bonus, on a bandit with states."""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
        self.pi, self.v = nn.Linear(16, 3), nn.Linear(16, 1)
        nn.init.orthogonal_(self.pi.weight, gain=0.01)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


net = ActorCritic()
opt = torch.optim.RMSprop(net.parameters(), lr=7e-3, alpha=0.99)
gamma, lam = 0.9, 0.95
eye = torch.eye(3)
for update in range(6):
    states = torch.randint(0, 3, (12,))
    dist, values = net(eye[states])
    actions = dist.sample()
    rewards = (actions == states).float()
    advantages, running = torch.zeros(12), 0.0
    with torch.no_grad():
        for i in reversed(range(12)):
            following = values[i + 1] if i < 11 else 0.0
            delta = rewards[i] + gamma * following - values[i]
            running = delta + gamma * lam * running
            advantages[i] = running
    returns = advantages + values.detach()
    normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy_loss = -(dist.log_prob(actions) * normal).mean()
    value_loss = nn.functional.mse_loss(values, returns)
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    print(update, f"{rewards.mean():.2f} {policy_loss.item():.3f} {value_loss.item():.3f} {dist.entropy().mean().item():.3f}")
