"""Quantization-aware training by hand: weights are rounded on the way forward, gradients go straight through."""
import torch
from torch import nn


class FakeQuant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, low, high):
        q = torch.round(x / scale) + zero_point
        ctx.save_for_backward((q >= low) & (q <= high))
        return (q.clamp(low, high) - zero_point) * scale

    @staticmethod
    def backward(ctx, grad):
        (mask,) = ctx.saved_tensors
        return grad * mask, None, None, None, None


class MinMaxObserver(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("low", torch.tensor(float("inf")))
        self.register_buffer("high", torch.tensor(float("-inf")))

    def forward(self, x):
        if self.training:
            self.low = torch.minimum(self.low, x.detach().min())
            self.high = torch.maximum(self.high, x.detach().max())
        scale = (self.high - self.low).clamp_min(1e-8) / 255
        zero_point = torch.round(-self.low / scale).clamp(0, 255)
        return FakeQuant.apply(x, scale, zero_point, 0, 255)


class QuantLinear(nn.Linear):
    def forward(self, x):
        scale = self.weight.detach().abs().max() / 127
        return nn.functional.linear(x, FakeQuant.apply(self.weight, scale, torch.zeros(()), -127, 127), self.bias)


torch.manual_seed(2)
model = nn.Sequential(MinMaxObserver(), QuantLinear(6, 8), nn.ReLU(), MinMaxObserver(), QuantLinear(8, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, t = torch.randn(16, 6), torch.randint(0, 2, (16,))
for step in range(6):
    loss = nn.functional.cross_entropy(model(x), t)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, f"{loss.item():.4f}")
w = model[1].weight.detach()
scale = w.abs().max() / 127
int8 = torch.clamp(torch.round(w / scale), -127, 127).to(torch.int8)
print(int8.dtype, int8.shape, int8.float().abs().max())
print(f"{(int8.float() * scale - w).abs().max() / scale:.1f}")
