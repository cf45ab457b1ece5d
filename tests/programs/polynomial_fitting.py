"""A cubic polynomial fitted to a wave: numpy's way with tensors, then autograd, then a module of one's own."""

import math

import torch

x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x) + torch.cos(x)  # so that no coefficient is 0, whose sign rounding would decide


class Cubic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in "abcd":
            setattr(self, name, torch.nn.Parameter(torch.zeros(())))

    def forward(self, x):
        return self.a + self.b * x + self.c * x**2 + self.d * x**3

    def string(self):
        return f"y = {self.a.item():.3f} + {self.b.item():.3f} x + {self.c.item():.3f} x^2 + {self.d.item():.3f} x^3"


model = Cubic()
criterion = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
for t in range(21):
    loss = criterion(model(x), y)
    if t % 5 == 0:
        print(t, f"{loss.item():.3f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("Result:", model.string())
