"""A GAN with spectral norms and a mutual information head; hinge loss."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import spectral_norm

torch.manual_seed(10)
gen = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
body = nn.Sequential(spectral_norm(nn.Linear(2, 16)), nn.LeakyReLU(0.1))
critic, info = spectral_norm(nn.Linear(16, 1)), nn.Linear(16, 2)
opt_d = torch.optim.Adam([*body.parameters(), *critic.parameters()], lr=4e-3, betas=(0.0, 0.9))
opt_g = torch.optim.Adam([*gen.parameters(), *info.parameters()], lr=1e-3, betas=(0.0, 0.9))
for step in range(6):
    real = torch.randn(16, 2) * 0.3 + torch.randint(0, 2, (16, 1)) * 2 - 1
    c = torch.randint(0, 2, (16,))
    z = torch.cat([torch.randn(16, 3), F.one_hot(c, 2).float()], 1)
    fake = gen(z)
    d_loss = F.relu(1 - critic(body(real))).mean() + F.relu(1 + critic(body(fake.detach()))).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    h = body(gen(z))
    g_loss = -critic(h).mean() + F.cross_entropy(info(h), c)
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    print(step, f"{d_loss.item():.3f} {g_loss.item():.3f}")
print([n for n, _ in body[0].named_buffers()], [n for n, _ in body[0].named_parameters()])
print(f"{torch.linalg.matrix_norm(body.eval()[0].weight, 2).item():.1f}")
