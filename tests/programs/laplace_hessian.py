"""A Laplace approximation: the Hessian of a logistic regression, its inverse, and samples of the posterior."""
import torch
from torch.autograd.functional import hessian
from torch.distributions import MultivariateNormal

torch.manual_seed(17)
X = torch.randn(30, 2, dtype=torch.float64)
t = (X @ torch.tensor([1.5, -1.0], dtype=torch.float64) + 0.3 * torch.randn(30, dtype=torch.float64) > 0).double()


def energy(w):
    return torch.nn.functional.binary_cross_entropy_with_logits(X @ w, t, reduction="sum") + 0.5 * w.square().sum()


w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
opt = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = energy(w)
    loss.backward()
    return loss


opt.step(closure)
print(w.data, w.grad.abs().max() < 1e-4)
H = hessian(energy, w.detach())
cov = torch.linalg.inv(H)
print(H, torch.linalg.eigvalsh(H), torch.linalg.cond(H))
posterior = MultivariateNormal(w.detach(), cov)
samples = posterior.sample((2000,))
print((samples.mean(0) - w).abs().max() < 0.1, posterior.entropy())
probs = torch.sigmoid(X[:3] @ samples.T).mean(1)
print(probs.shape, torch.logdet(cov), torch.linalg.matrix_rank(H))
