"""A Gaussian process: its hyperparameters by the marginal likelihood, through a Cholesky factor."""
import math

import torch
from torch import nn

torch.manual_seed(18)
x = torch.linspace(0, 5, 12, dtype=torch.float64)
y = torch.sin(x) + 0.1 * torch.randn(12, dtype=torch.float64)


class GP(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_length, self.log_scale, self.log_noise = (nn.Parameter(torch.zeros((), dtype=torch.float64)) for _ in range(3))

    def kernel(self, a, b):
        return self.log_scale.exp() * torch.exp(-0.5 * ((a[:, None] - b[None, :]) / self.log_length.exp()) ** 2)

    def nll(self):
        K = self.kernel(x, x) + (self.log_noise.exp() + 1e-6) * torch.eye(len(x))
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y[:, None], L)
        return 0.5 * y @ alpha[:, 0] + L.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)


gp = GP()
opt = torch.optim.Adam(gp.parameters(), lr=0.1)
for step in range(21):
    opt.zero_grad()
    loss = gp.nll()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.4f}")
with torch.no_grad():
    K = gp.kernel(x, x) + gp.log_noise.exp() * torch.eye(12)
    new = torch.tensor([0.5, 2.5, 7.0], dtype=torch.float64)
    k = gp.kernel(new, x)
    mean = k @ torch.linalg.solve(K, y)
    var = gp.kernel(new, new).diagonal() - (k * torch.linalg.solve(K, k.T).T).sum(1)
print(mean, var)
print(torch.linalg.lstsq(K, y[:, None]).solution[:3, 0])
