"""REINFORCE: actions drawn from a Categorical, discounted returns, and the log-probabilities that carry the gradient."""

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(26)
policy = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(dim=-1))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
for episode in range(4):
    log_probs, rewards, state = [], [], torch.randn(3)
    for t in range(6):
        m = Categorical(policy(state))
        action = m.sample()
        log_probs.append(m.log_prob(action))
        rewards.append(float(action.item() == int(state[0] > 0)))
        state = torch.randn(3)
    R, returns = 0.0, []
    for r in rewards[::-1]:
        R = r + 0.9 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = torch.stack([-log_prob * R for log_prob, R in zip(log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"episode {episode}: reward {sum(rewards):.0f}, loss {loss.item():.4f}, entropy {m.entropy().item():.3f}")
