"""Maximum likelihood of lifetimes and counts: Weibull, negative binomial, a relaxed coin, a divergence of one's own."""
import torch
from torch.distributions import NegativeBinomial, Pareto, RelaxedBernoulli, Weibull, kl_divergence, register_kl

torch.manual_seed(5)
times = Weibull(2.0, 1.5).sample((50,))
log_scale, log_shape = torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)
optimizer = torch.optim.Adam([log_scale, log_shape], lr=0.1)
for step in range(20):
    optimizer.zero_grad()
    loss = -Weibull(log_scale.exp(), log_shape.exp()).log_prob(times).mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f} {log_scale.exp().item():.2f} {log_shape.exp().item():.2f}")
fitted = Weibull(log_scale.detach().exp(), log_shape.detach().exp())
print(type(fitted), fitted.mean, fitted.variance, Weibull(2.0, 1.5))
counts = NegativeBinomial(torch.tensor(5.0), torch.tensor(0.3))
print(counts, counts.mean, counts.variance, counts.log_prob(torch.tensor([0.0, 2.0, 4.0])))
print(Pareto(torch.tensor(1.0), torch.tensor(3.0)).mean, Pareto(1.0, 3.0).entropy())
logit = torch.tensor(0.2, requires_grad=True)
coin = RelaxedBernoulli(torch.tensor(0.5), logits=logit)
draw = coin.rsample((4,))
(draw.mean() - 0.9).pow(2).backward()
print(coin, draw.shape, logit.grad is not None)


@register_kl(Weibull, Weibull)
def kl_weibull(p, q):
    return (p.scale - q.scale).abs()


print(kl_divergence(Weibull(1.0, 1.0), Weibull(3.0, 1.0)))
