"""A training script with the usual guards: distributed, DataParallel, cuda, compile, amp, profiler."""
import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(26)
device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
model = nn.Linear(3, 1).to(device)
if torch.cuda.device_count() > 1:
    model = nn.DataParallel(model)
if dist.is_available() and dist.is_initialized():
    model = DDP(model)
scaler = torch.amp.GradScaler("cuda", enabled=False)
ctx = torch.autocast("cpu", enabled=False) if device.type == "cpu" else contextlib.nullcontext()
opt = torch.optim.Adam(model.parameters(), lr=0.1, foreach=False)
for step in range(3):
    with ctx:
        loss = model(torch.randn(4, 3, device=device, pin_memory=False)).square().mean()
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    if rank == 0:
        print(step, f"{loss.item():.4f}")
if dist.is_initialized():
    dist.destroy_process_group()
torch.cuda.empty_cache()
