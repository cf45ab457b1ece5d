"""State spaces: a matrix exponential discretizes a linear system, whose eigenvalues say if it is stable."""
import torch
from torch import nn

torch.manual_seed(19)
n, dt = 3, 0.1
A = nn.Parameter(torch.randn(n, n) * 0.5 - torch.eye(n))
B, C = nn.Parameter(torch.randn(n, 1)), nn.Parameter(torch.randn(1, n))


def discrete():
    block = torch.cat([torch.cat([A, B], 1), torch.zeros(1, n + 1)], 0) * dt
    E = torch.matrix_exp(block)
    return E[:n, :n], E[:n, n:]


u = torch.sin(torch.linspace(0, 6, 20))
goal = torch.cos(torch.linspace(0, 6, 20))
opt = torch.optim.Adam([A, B, C], lr=0.05)
for step in range(9):
    Ad, Bd = discrete()
    h, out = torch.zeros(n, 1), []
    for v in u:
        h = Ad @ h + Bd * v
        out.append((C @ h).squeeze())
    loss = (torch.stack(out) - goal).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 0:
        print(step, f"{loss.item():.4f}")
turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
print(torch.linalg.eigvals(turn), torch.matrix_exp(turn * 3.14159265).round(decimals=3) + 0.0)
print(torch.linalg.eigvals(A.detach()).dtype, bool((torch.linalg.eigvals(Ad.detach()).abs() < 2).all()))
