"""Steps with hooks around them, a schedule in three phases, an optimizer and a schedule of one's own."""
import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

torch.manual_seed(6)
net, x, y = nn.Linear(3, 1), torch.randn(8, 3), torch.randn(8, 1)


class SignDescent(Optimizer):
    def __init__(self, params, lr=0.01, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                mean = state.setdefault("mean", torch.zeros_like(p))
                mean.mul_(group["momentum"]).add_(p.grad, alpha=1 - group["momentum"])
                p.add_(mean.sign(), alpha=-group["lr"])


class Halving(LRScheduler):
    def get_lr(self):
        return [base * 0.5**self.last_epoch for base in self.base_lrs]


optimizer = SignDescent(net.parameters(), lr=0.1)
optimizer.register_step_pre_hook(lambda opt, args, kwargs: print("before", type(opt).__name__, len(args), kwargs))
handle = optimizer.register_step_post_hook(lambda opt, args, kwargs: print("after"))
every = [
    register_optimizer_step_pre_hook(lambda opt, args, kwargs: print("before all", type(opt).__name__, len(args))),
    register_optimizer_step_post_hook(lambda opt, args, kwargs: print("after all")),
]
schedule = Halving(optimizer)
for step in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    schedule.step()
    handle.remove()
    print(step, f"{loss.item():.4f}", schedule.get_last_lr())
print(optimizer, sorted(optimizer.state_dict()["state"][0]))
cycle = OneCycleLR(torch.optim.SGD(net.parameters(), lr=1, momentum=0.9), 0.5, total_steps=10, three_phase=True)
cycle.optimizer.step()
for one in every:
    one.remove()
for _ in range(9):
    cycle.optimizer.step()
    cycle.step()
    print(f"{cycle.get_last_lr()[0]:.4f} {cycle.optimizer.param_groups[0]['momentum']:.3f}", end=" ")
print(list(cycle.state_dict()))
