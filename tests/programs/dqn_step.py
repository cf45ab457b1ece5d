"""A step of deep Q-learning: replayed transitions, a target network, Huber loss, clipped values, soft updates."""

import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(25)
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2 = nn.Linear(4, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.layer2(F.relu(self.layer1(x)))


policy_net, target_net = DQN(), DQN()
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
memory = deque([], maxlen=50)
for i in range(30):
    done = i % 10 == 9
    memory.append(Transition(torch.randn(1, 4), torch.randint(2, (1, 1)), None if done else torch.randn(1, 4), torch.tensor([1.0 - done])))
for step in range(3):
    batch = Transition(*zip(*random.sample(memory, 8)))
    mask = torch.tensor(tuple(s is not None for s in batch.next_state), dtype=torch.bool)
    following = torch.cat([s for s in batch.next_state if s is not None])
    values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(8)
    with torch.no_grad():
        next_values[mask] = target_net(following).max(1).values
    loss = nn.SmoothL1Loss()(values, (next_values * 0.99 + torch.cat(batch.reward)).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    new, old = policy_net.state_dict(), target_net.state_dict()
    target_net.load_state_dict({key: new[key] * 0.5 + old[key] * 0.5 for key in old})
    print(f"step {step}: loss {loss.item():.4f}, {int(mask.sum())} states go on")
