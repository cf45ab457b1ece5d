"""gradcheck and gradgradcheck of one's own functions, right and wrong, and the jacobian beside differences."""

import torch
from torch.autograd import gradcheck, gradgradcheck


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


class Wrong(Cube):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x**2


torch.manual_seed(31)
x = torch.randn(4, dtype=torch.double, requires_grad=True)
w = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
print("cube:", gradcheck(Cube.apply, x), gradgradcheck(Cube.apply, x))
print("linear:", gradcheck(torch.nn.functional.linear, (x, w), eps=1e-6, atol=1e-4))
try:
    gradcheck(Wrong.apply, x)
except RuntimeError as error:
    print(type(error).__name__, str(error).splitlines()[0])
print("without an exception:", gradcheck(Wrong.apply, x, raise_exception=False))
loss = Cube.apply(x).sum()
loss.backward()
jacobian = torch.autograd.functional.jacobian(Cube.apply, x.detach())
print(torch.allclose(jacobian.diagonal(), x.grad), f"{loss.item():.4f}")
