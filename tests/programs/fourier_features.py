"""Fourier: a spectrum of a signal, a filter, and a coordinate net with random Fourier features."""
import math

import torch
from torch import nn

torch.manual_seed(0)
t = torch.arange(64) / 64
signal = torch.sin(2 * math.pi * 5 * t) + 0.5 * torch.sin(2 * math.pi * 12 * t)
spectrum = torch.fft.rfft(signal)
freqs = torch.fft.rfftfreq(64, d=1 / 64)
print(spectrum.shape, spectrum.dtype, freqs[:4])
top = spectrum.abs().topk(2)
print(sorted(freqs[top.indices].tolist()), [round(v, 2) for v in top.values.tolist()])
spectrum[freqs > 8] = 0
low = torch.fft.irfft(spectrum, n=64)
print(torch.allclose(low, torch.sin(2 * math.pi * 5 * t), atol=1e-4))
img = torch.arange(16.0).view(4, 4)
f = torch.fft.fft2(img)
print(f.real.round().tolist()[0], torch.fft.fftshift(torch.fft.fftfreq(4)))
print(torch.allclose(torch.fft.ifft2(f).real, img, atol=1e-5))
del spectrum, f
B = torch.randn(1, 8) * 3
net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
x = 2 * math.pi * t[:, None] @ B
x = torch.cat([x.sin(), x.cos()], -1)
for step in range(21):
    loss = ((net(x).squeeze(-1) - signal) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.3f}")
