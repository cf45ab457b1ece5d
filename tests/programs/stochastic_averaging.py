"""Averaged weights: SWA as in PyTorch's documentation, with its schedule and the batch norms taken anew."""
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
x = torch.randn(32, 4)
y = (x.sum(1, keepdim=True) > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
swa_model, ema_model = AveragedModel(model), AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
scheduler = CosineAnnealingLR(optimizer, T_max=6)
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
for epoch in range(6):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        ema_model.update_parameters(model)
        total += loss.item() * len(xb)
    if epoch >= 3:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(epoch, f"{total / len(x):.3f}", f"{optimizer.param_groups[0]['lr']:.4f}")
update_bn(loader, swa_model)
print(swa_model.n_averaged, swa_model.module[1].num_batches_tracked)
print(swa_model.module[1].running_mean)
print(f"{loss_fn(swa_model.eval()(x), y).item():.3f}", f"{loss_fn(ema_model.eval()(x), y).item():.3f}")
