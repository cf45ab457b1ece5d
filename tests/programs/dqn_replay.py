"""Deep Q-learning on a line of cells, with replay memory and a target net."""
import random
from collections import deque, namedtuple

import torch
import torch.nn.functional as F
from torch import nn

random.seed(1)
torch.manual_seed(1)
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
N = 6


def one_hot(i):
    return F.one_hot(torch.tensor(i), N).float()


policy, target = nn.Linear(N, 2), nn.Linear(N, 2)
target.load_state_dict(policy.state_dict())
opt = torch.optim.AdamW(policy.parameters(), lr=0.05, amsgrad=True)
memory, epsilon = deque(maxlen=200), 0.9
for episode in range(8):
    place, total = 0, 0.0
    for step in range(30):
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = policy(one_hot(place)).argmax().item()
        new = max(0, place + (1 if action else -1))
        done = new == N - 1
        reward = 1.0 if done else -0.1
        memory.append(Transition(one_hot(place), action, None if done else one_hot(new), reward))
        place, total = new, total + reward
        if len(memory) >= 16:
            batch = Transition(*zip(*random.sample(memory, 16)))
            mask = torch.tensor([s is not None for s in batch.next_state])
            states, actions = torch.stack(batch.state), torch.tensor(batch.action)[:, None]
            values = policy(states).gather(1, actions).squeeze(1)
            following = torch.zeros(16)
            with torch.no_grad():
                following[mask] = target(torch.stack([s for s in batch.next_state if s is not None])).max(1).values
            loss = F.smooth_l1_loss(values, torch.tensor(batch.reward) + 0.9 * following)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(policy.parameters(), 100)
            opt.step()
            for key, value in policy.state_dict().items():
                target.state_dict()[key].mul_(0.9).add_(0.1 * value)
        if done:
            break
    epsilon *= 0.8
    print(f"episode {episode}: {step + 1} steps, return {total:.1f}")
