"""Regression losses side by side, a weighted sum of several, and one that ignores masked values."""

import torch
from torch import nn

torch.manual_seed(35)
prediction = torch.randn(4, 3, requires_grad=True)
target = torch.randn(4, 3)
losses = {
    "l1": nn.L1Loss(), "mse": nn.MSELoss(), "huber": nn.HuberLoss(delta=0.5), "smooth l1": nn.SmoothL1Loss(beta=0.5),
    "poisson": nn.PoissonNLLLoss(), "soft margin": nn.SoftMarginLoss(),
}
for name, criterion in losses.items():
    print(f"{name:12} {criterion(prediction, target.sign() if name == 'soft margin' else target).item():.4f}")
labels = torch.tensor([0, 2, -100, 1])
classes = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]), label_smoothing=0.1)(prediction, labels)
divergence = nn.KLDivLoss(reduction="batchmean")(prediction.log_softmax(1), target.softmax(1))
mask = target > -0.5
masked = ((prediction - target) ** 2)[mask].mean()
loss = 0.5 * classes + 0.3 * divergence + 0.2 * masked
loss.backward()
print(f"loss {loss.item():.4f} of {classes.item():.4f}, {divergence.item():.4f}, {masked.item():.4f}")
print("row 2 has no class:", [f"{v:.3f}" for v in prediction.grad[2].tolist()])
