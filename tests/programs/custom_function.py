"""Functions of one's own: a Legendre polynomial, a straight-through rounding, and one of two inputs."""

import math

import torch


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class RoundStraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x)
a, b, c, d = (torch.full((), value, requires_grad=True) for value in (0.0, -1.0, 0.0, 0.3))
P3 = LegendrePolynomial3.apply
for t in range(120):
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    if t % 40 == 39:
        print(t, f"{loss.item():.2f}")
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 5e-6 * p.grad
            p.grad = None
w = torch.tensor([0.4, 1.6], requires_grad=True)
(RoundStraightThrough.apply(w) * 3).sum().backward()
print("straight through:", w.grad, RoundStraightThrough.apply(w))
