"""Two generators and two critics: the cycle and identity losses of a CycleGAN, on vectors."""
import itertools

import torch
from torch import nn

torch.manual_seed(8)


def mlp(out):
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.LeakyReLU(0.2), nn.Linear(8, out))


G, F_, DA, DB = mlp(4), mlp(4), mlp(1), mlp(1)
opt_g = torch.optim.Adam(itertools.chain(G.parameters(), F_.parameters()), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(itertools.chain(DA.parameters(), DB.parameters()), lr=2e-3, betas=(0.5, 0.999))
sched = torch.optim.lr_scheduler.LambdaLR(opt_g, lr_lambda=lambda e: 1.0 - max(0, e - 2) / 3)
gan, cycle = nn.MSELoss(), nn.L1Loss()
pool = []
for epoch in range(5):
    a, b = torch.randn(1, 6, 4), torch.randn(1, 6, 4) + 1
    fake_b, fake_a = G(a), F_(b)
    loss_g = gan(DB(fake_b), torch.ones(1, 6, 1)) + gan(DA(fake_a), torch.ones(1, 6, 1))
    loss_cycle = cycle(F_(fake_b), a) + cycle(G(fake_a), b)
    loss_id = cycle(G(b), b) + cycle(F_(a), a)
    opt_g.zero_grad()
    (loss_g + 10 * loss_cycle + 5 * loss_id).backward()
    opt_g.step()
    pool.append(fake_b.detach())
    opt_d.zero_grad()
    loss_d = 0.5 * (gan(DB(b), torch.ones(1, 6, 1)) + gan(DB(pool[epoch // 2]), torch.zeros(1, 6, 1)))
    loss_d.backward()
    opt_d.step()
    sched.step()
    print(epoch, f"{loss_g.item():.3f} {loss_cycle.item():.3f} {loss_id.item():.3f} {loss_d.item():.3f}", sched.get_last_lr())
