"""Learning rates over the epochs: steps, cosine, warm-up, a plateau, and how an optimizer takes them."""

import torch
from torch import nn
from torch.optim import lr_scheduler

torch.manual_seed(39)
X, y = torch.randn(16, 2), torch.randn(16, 1)
makers = {
    "steps": lambda o: lr_scheduler.StepLR(o, step_size=2, gamma=0.1),
    "milestones": lambda o: lr_scheduler.MultiStepLR(o, milestones=[2, 4], gamma=0.5),
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, gamma=0.8),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=6),
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.4, total_steps=8),
    "warm-up": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.25, total_iters=3), lr_scheduler.ExponentialLR(o, 0.5)], milestones=[3]
    ),
}
for name, make in makers.items():
    net = nn.Linear(2, 1)
    nn.init.constant_(net.weight, 0.5)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.4)
    scheduler, rates = make(optimizer), []
    for epoch in range(6):
        loss = nn.functional.mse_loss(net(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rates.append(round(scheduler.get_last_lr()[0], 5))
        scheduler.step()
    print(f"{name:12} {rates}")
plateau = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
for value in (1.0, 0.9, 0.9, 0.9, 0.9):
    plateau.step(value)
print("plateau", plateau.get_last_lr(), plateau.num_bad_epochs)
