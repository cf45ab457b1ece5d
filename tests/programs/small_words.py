"""Small old words: Tensor.new and its kin, swap_tensors, module utilities, version and configuration."""
import torch
from torch import nn

t = torch.arange(4.0)
print(t.new(2, 3).shape, t.new([1, 2]), t.new_full((2,), 7), t.new_tensor([3]))
a, b = torch.ones(2), torch.zeros(3)
torch.utils.swap_tensors(a, b)
print(a, b)
print(torch.is_nonzero(torch.tensor(2)), torch.numel(t), t.is_signed(), torch.is_storage(t), t.nelement())
print(torch.detach(t))
print(torch.block_diag(torch.ones(1, 2), torch.tensor(3.0)), torch.vander(torch.tensor([1, 2, 3])))
print(torch.combinations(torch.tensor([1, 2, 3])), torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 1])))
print(torch.gcd(torch.tensor([12, 8]), torch.tensor([8, 6])), torch.lcm(torch.tensor(4), torch.tensor(6)))
print(torch.unravel_index(torch.tensor(5), (2, 3)), torch.ldexp(torch.tensor(1.5), torch.tensor(3)))
print(torch.cumulative_trapezoid(torch.tensor([1.0, 2, 3])), torch.nanmedian(torch.tensor([1, float("nan"), 3])))
print(torch.hann_window(4), torch.hamming_window(3))
print(torch.complex(torch.tensor(1.0), torch.tensor(2.0)), torch.view_as_real(torch.tensor([1 + 2j])), torch.polar(torch.tensor(1.0), torch.tensor(0.0)))
print(torch.frombuffer(bytearray(b"\x01\x02"), dtype=torch.uint8), torch.msort(torch.tensor([3, 1])))
torch.testing.assert_close(torch.ones(2), torch.ones(2))
try:
    torch.testing.assert_close(torch.ones(2), torch.tensor([1.0, 2.0]))
except AssertionError as error:
    print(error)
print(torch.version.cuda, torch.backends.mps.is_available(), t.is_cpu, t.is_sparse)
print(torch.zeros(3).apply_(lambda v: v + 2), torch.nanmedian(torch.tensor([[1.0, 2]]), dim=1))
w = t.new([1.0, 2.0]).requires_grad_()
y = (w * w.detach()).sum()
y.backward()
print(w.grad)
