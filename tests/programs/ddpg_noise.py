"""Deterministic policy gradients with Ornstein-Uhlenbeck noise and soft updates."""
import copy

import torch
from torch import nn

torch.manual_seed(2)
actor = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2, weight_decay=1e-3)
noise = torch.zeros(1)
buffer = []
s = torch.randn(2)
for step in range(24):
    noise = noise - 0.15 * noise + 0.2 * torch.randn(1)
    with torch.no_grad():
        a = (actor(s) + noise).clamp(-1, 1)
    s2 = 0.9 * s + 0.1 * torch.cat([a, -a])
    buffer.append((s, a, -s2.square().sum().view(1), s2))
    s = s2
    if len(buffer) < 8:
        continue
    pick = torch.randperm(len(buffer))[:8]
    S, A, R, S2 = (torch.stack(part) for part in zip(*[buffer[i] for i in pick]))
    with torch.no_grad():
        y = R + 0.95 * critic_target(torch.cat([S2, actor_target(S2)], 1))
    critic_loss = nn.functional.mse_loss(critic(torch.cat([S, A], 1)), y)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    for p in critic.parameters():
        p.requires_grad = False
    actor_loss = -critic(torch.cat([S, actor(S)], 1)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    for p in critic.parameters():
        p.requires_grad = True
    with torch.no_grad():
        for own, slow in ((actor, actor_target), (critic, critic_target)):
            for p, q in zip(own.parameters(), slow.parameters()):
                q.lerp_(p, 0.05)
    if step % 8 == 7:
        print(step, f"{critic_loss.item():.3f} {actor_loss.item():.3f} {noise.item():.3f}")
