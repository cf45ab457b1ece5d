"""``gviz why``: for each cause of a missing or strange gradient a script, the line to blame and the mend, on both engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from program import Program

import gviz as package
from gviz import SourceOptions
from gviz.causes.diagnosis import Cause
from gviz.causes.why import why, why_all
from gviz.errors import SourceError

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]

CASES: dict[str, tuple[str, str, str, list[int], str]] = {
    "frozen": (
        "x",
        """\
import torch
x = torch.tensor(2.0)
w = torch.tensor(1.0, requires_grad=True)
y = w * x
y.backward()
""",
        "frozen",
        [2],
        "x = torch.tensor(2.0, requires_grad=True)",
    ),
    "integer": (
        "n",
        """\
import torch
n = torch.tensor([1, 2])
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w * n).sum()
y.backward()
""",
        "integer",
        [2],
        "write floating-point numbers, or n.float()",
    ),
    "not_retained": (
        "h",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
h = w * 3
y = h ** 2
y.backward()
print(h.grad)
""",
        "not a leaf",
        [3],
        "h.retain_grad() before backward()",
    ),
    "leaf_behind_an_attribute": (
        "model.w",
        """\
import torch
class Model:
    def __init__(self):
        self.w = torch.ones(3, requires_grad=True) * 0.1
    def loss(self, x):
        return (self.w * x).sum()
model = Model()
model.loss(torch.ones(3)).backward()
""",
        "not a leaf: the leaf has no name",
        [4],
        "self.w = (torch.ones(3) * 0.1).requires_grad_()",
    ),
    "overwritten_attribute": (
        "model.w",
        """\
import torch
class Model:
    def __init__(self):
        self.w = torch.zeros(1, requires_grad=True)
    def step(self, lr):
        self.w = self.w - lr * self.w.grad
model = Model()
loss = ((model.w * 2 - 1) ** 2).mean()
loss.backward()
model.step(0.1)
""",
        "overwritten",
        [6],
        "with torch.no_grad(): self.w -= lr * self.w.grad",
    ),
    "overwritten_item": (
        "ws[1]",
        """\
import torch
ws = [torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)]
loss = (ws[0] * 2 + ws[1]).sum()
loss.backward()
for k in range(2):
    ws[k] = ws[k] - 0.1 * ws[k].grad
""",
        "overwritten",
        [6],
        "with torch.no_grad(): ws[k] -= 0.1 * ws[k].grad",
    ),
    "nan_of_an_earlier_backward": (
        "w",
        """\
import torch
x = torch.arange(10.0)
w = torch.zeros(1, requires_grad=True)
for epoch in range(100):
    loss = ((w * x - 3 * x) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
        w.grad.zero_()
""",
        "nan",
        [5],
        "the numbers grow from one backward to the next: take a smaller learning rate, or torch.nn.utils.clip_grad_norm_",
    ),
    "nan_in_large_tensors": (
        "net.3.weight",
        """\
import torch
class Norm(torch.nn.Module):
    def forward(self, x):
        return x / torch.sqrt((x ** 2).sum(1, keepdim=True))
net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), Norm(), torch.nn.Linear(64, 5))
x = torch.ones(32, 20)
x[3] = 0
with torch.no_grad():
    net[0].bias.zero_()
loss = net(x).pow(2).mean()
loss.backward()
""",
        "nan",
        [4],
        "it is a division by 0: add a small number to the divisor",
    ),
    "nan_of_a_mask": (
        "q",
        """\
import torch
q = torch.ones(20, 30, requires_grad=True)
mask = torch.zeros(20, 20, dtype=torch.bool)
mask[3] = True
s = (q @ q.T).masked_fill(mask, float("-inf"))
a = torch.softmax(s, -1)
loss = (a @ q).pow(2).sum()
loss.backward()
""",
        "nan",
        [6],
        "a row of nothing but -inf has no softmax: leave an element of each row unmasked",
    ),
    "cleared_by_hand": (
        "w",
        """\
import torch
w = torch.zeros(1, requires_grad=True)
for i in range(3):
    loss = ((w * 2 - 1) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
""",
        "cleared",
        [8],
        "",
    ),
    "cleared_by_a_helper": (
        "net.weight",
        """\
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def update():
    opt.step()
    opt.zero_grad()
for i in range(3):
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    update()
""",
        "cleared",
        [6],
        "",
    ),
    "new_leaf": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w ** 2).sum()
loss.backward()
w = (w - 0.1 * w.grad).detach().requires_grad_()
""",
        "new leaf",
        [5],
        "",
    ),
    "evaluated_afterwards": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w ** 2).sum()
loss.backward()
with torch.no_grad():
    loss = (w ** 3).sum()
""",
        "ok",
        [4],
        "",
    ),
    "switched_off": (
        "w",
        """\
import torch
w = torch.ones(3, requires_grad=True)
torch.set_grad_enabled(False)
loss = (w * 2).sum()
torch.set_grad_enabled(True)
""",
        "no_grad",
        [4],
        "take the line out of torch.no_grad(); or, if it is not to be trained, call w.requires_grad_(False)",
    ),
    "shared_features": (
        "w",
        """\
import torch
w = torch.ones(3, requires_grad=True)
feat = torch.tanh(w * 2)
loss1 = feat.sum()
loss2 = (feat ** 2).sum()
loss1.backward()
loss2.backward()
""",
        "second backward",
        [7, 3],
        "compute feat anew before each backward(), detach() what it takes from before, or backward(retain_graph=True)",
    ),
    "average_of_losses": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True)
ema = None
for i in range(3):
    loss = (w ** 2).sum()
    ema = loss if ema is None else 0.9 * ema + 0.1 * loss
    total = loss + 0.1 * ema
    total.backward()
""",
        "second backward",
        [8, 5, 6],
        "ema = ema.detach() before it is used again",
    ),
    "list_of_losses": (
        "w",
        """\
import torch
w = torch.ones(3, requires_grad=True)
losses = []
for i in range(2):
    losses.append((w * i).sum())
loss = torch.tensor(losses).mean()
loss.requires_grad_()
loss.backward()
""",
        "false cure",
        [6, 7],
        "loss = torch.stack(losses).mean()",
    ),
    "where_of_a_log": (
        "x",
        """\
import torch
x = torch.tensor([-1.0, 0.0, 4.0], requires_grad=True)
y = torch.where(x > 0, torch.log(x), torch.zeros_like(x))
y.sum().backward()
""",
        "nan",
        [3],
        "give log a harmless input where it is not picked: log(torch.where(condition, x, 1))",
    ),
    "other_inputs": (
        "b",
        """\
import torch
a = torch.ones(1, requires_grad=True)
b = torch.ones(1, requires_grad=True)
y = (a * b).sum()
y.backward(inputs=[a])
""",
        "no gradient",
        [5],
        "add b to inputs=",
    ),
    "several_at_once": (
        "w2",
        """\
import torch
w1 = torch.ones(1, requires_grad=True)
w2 = torch.ones(1, requires_grad=True)
loss = (w1 * w2).sum()
loss.backward()
w1, w2 = [p - 0.1 * p.grad for p in (w1, w2)]
""",
        "overwritten",
        [6],
        "with torch.no_grad(): write into w2 in place",
    ),
    "gradient_of_a_gradient": (
        "x",
        """\
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
g = torch.autograd.grad(y, x, create_graph=True)[0]
z = (x * g).sum()
z.backward()
""",
        "ok",
        [6],
        "",
    ),
    "freed_by_hand": (
        "x",
        """\
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
g = torch.autograd.grad(y, x)[0]
z = y + g
z.backward()
""",
        "second backward",
        [6, 4],
        "torch.autograd.grad(..., create_graph=True) if its result is in the loss, else retain_graph=True",
    ),
    "own_backward_of_zeros": (
        "w",
        """\
import torch
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 0
w = torch.ones(2, requires_grad=True)
y = Own.apply(w)
y.sum().backward()
""",
        "zero",
        [10],
        "look at what its backward returns",
    ),
    "leaf_behind": (
        "w",
        """\
import torch
w = torch.randn(3, requires_grad=True) * 0.1
x = torch.ones(3)
loss = (w * x).sum()
loss.backward()
""",
        "not a leaf: the leaf has no name",
        [2],
        "w = (torch.randn(3) * 0.1).requires_grad_()",
    ),
    "detached": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, 3.0], requires_grad=True)
h = torch.tanh(w)
d = h.detach() * 2
loss = (d * v).sum()
loss.backward()
""",
        "detached",
        [5],
        "d = h * 2",
    ),
    "no_grad": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, 3.0], requires_grad=True)
with torch.no_grad():
    h = torch.tanh(w)
loss = (h * v).sum()
loss.backward()
""",
        "no_grad",
        [5],
        "take the line out of torch.no_grad(); or, if it is not to be trained, call w.requires_grad_(False)",
    ),
    "no_path": (
        "u",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
u = torch.tensor(2.0, requires_grad=True)
y = w * 3
y.backward()
""",
        "no path",
        [3],
        "use u where y is computed",
    ),
    "zero": (
        "w",
        """\
import torch
w = torch.tensor([-1.0, -2.0], requires_grad=True)
h = w * 3
y = torch.relu(h).sum()
y.backward()
""",
        "zero",
        [4],
        "give it inputs above 0, or use a function such as leaky_relu or softplus",
    ),
    "not_run": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
y = w * 3
""",
        "backward not run",
        [2],
        "y.backward()",
    ),
    "no_graph": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([1.0, 2.0])
p = (w * x).argmax()
loss = (p - 1.0) ** 2
loss.backward()
""",
        "no derivative",
        [6, 4],
        "compute the loss from something that changes smoothly",
    ),
    "nothing_requires": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0])
x = torch.tensor([1.0, 2.0])
loss = (w * x).sum()
loss.backward()
""",
        "frozen root",
        [5, 2],
        "w = torch.tensor([1.0, 2.0], requires_grad=True)",
    ),
    "overwritten": (
        "w1",
        """\
import torch
w1 = torch.tensor(1.0, requires_grad=True)
lr = 0.1
for i in range(2):
    loss = (w1 - 3) ** 2
    loss.backward()
    w1 = w1 - lr * w1.grad
""",
        "overwritten",
        [7],
        "with torch.no_grad(): w1 -= lr * w1.grad",
    ),
    "overwritten_once": (
        "w1",
        """\
import torch
w1 = torch.tensor(1.0, requires_grad=True)
lr = 0.1
loss = (w1 - 3) ** 2
loss.backward()
w1 = w1 - lr * w1.grad
print(w1.grad)
""",
        "overwritten",
        [6],
        "with torch.no_grad(): w1 -= lr * w1.grad",
    ),
    "overwritten_no_grad": (
        "w1",
        """\
import torch
w1 = torch.tensor(1.0, requires_grad=True)
lr = 0.1
loss = (w1 - 3) ** 2
loss.backward()
with torch.no_grad():
    w1 = w1 - lr * w1.grad
""",
        "overwritten",
        [7],
        "w1 -= lr * w1.grad",
    ),
    "false_cure": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.detach() * 2
loss = h.sum()
loss.requires_grad = True
loss.backward()
""",
        "false cure",
        [3, 5],
        "h = w * 2",
    ),
    "second": (
        "w",
        """\
import torch
w = torch.tensor(0.5, requires_grad=True)
h = torch.tensor(1.0)
for i in range(3):
    h = torch.tanh(w * h)
    loss = (h - 1) ** 2
    loss.backward()
""",
        "second backward",
        [7, 5],
        "h = h.detach() before it is used again",
    ),
    "twice": (
        "w",
        """\
import torch
w = torch.tensor(0.5, requires_grad=True)
loss = (w * 3) ** 2
loss.backward()
loss.backward()
""",
        "second backward",
        [5],
        "call it once, or the first time with backward(retain_graph=True)",
    ),
    "in_place": (
        "w",
        """\
import torch
w = torch.ones(3, requires_grad=True)
y = torch.sigmoid(w)
z = y * 2
y += 1
loss = (z + y).sum()
loss.backward()
""",
        "written in place",
        [7, 3, 5],
        "y = y + 1",
    ),
    "where": (
        "x",
        """\
import torch
x = torch.tensor([0.0, 4.0], requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), torch.zeros(2))
loss = y.sum()
loss.backward()
""",
        "nan",
        [3],
        "give sqrt a harmless input where it is not picked: sqrt(torch.where(condition, x, 1))",
    ),
    "nan_forward": (
        "w",
        """\
import torch
w = torch.tensor([1.0, -2.0], requires_grad=True)
h = torch.log(w)
loss = (h ** 2).sum()
loss.backward()
""",
        "nan",
        [3],
        "log is infinite at 0, and nan below: keep its input above 0, as x.clamp(min=1e-6) does",
    ),
    "nan_backward": (
        "w",
        """\
import torch
w = torch.tensor([0.0, 1.0], requires_grad=True)
h = torch.sqrt(w * w)
loss = h.sum()
loss.backward()
""",
        "nan",
        [3],
        "keep the input of sqrt away from where its derivative is infinite: add a small number, or clamp it",
    ),
    "accumulated": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
for i in range(3):
    loss = (w - 3) ** 2
    loss.backward()
""",
        "accumulated",
        [5],
        "optimizer.zero_grad(), or w.grad = None, before each backward(); unless the sum is what you want",
    ),
    "taken_away": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = (w - 3) ** 2
loss.backward()
opt.step()
opt.zero_grad()
""",
        "cleared",
        [7],
        "",
    ),
    "autograd_grad": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
loss = (w - 3) ** 2
g, = torch.autograd.grad(loss, w)
""",
        "backward not run",
        [4],
        "loss.backward()",
    ),
    "leaf_in_place": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
loss = (w - 3) ** 2
loss.backward()
w -= 0.1 * w.grad
""",
        "failed",
        [5],
        "with torch.no_grad(): w -= 0.1 * w.grad",
    ),
    "not_scalar": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = w * 2
loss.backward()
""",
        "failed",
        [4],
        "loss.sum().backward(), or loss.backward(torch.ones_like(loss))",
    ),
    "rewrapped": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w * 2).sum()
loss = torch.tensor(y.item(), requires_grad=True)
loss.backward()
""",
        "false cure",
        [4],
        "loss = y",
    ),
    "fine": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w * 2).sum()
y.backward()
""",
        "ok",
        [4],
        "",
    ),
    "not_overwritten": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 3
h = h + 1
loss = h.sum()
loss.backward()
""",
        "ok",
        [6],
        "",
    ),
    "total": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
total = 0
for i in range(2):
    loss = (w ** 2).sum()
    total = total + loss
    total.backward()
""",
        "second backward",
        [7, 6],
        "total = total.detach() before it is used again",
    ),
    "features": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
feats = (w * 2).exp()
for i in range(2):
    loss = (feats ** 2).sum()
    loss.backward()
""",
        "second backward",
        [6, 3],
        "compute feats anew before each backward(), detach() what it takes from before, or backward(retain_graph=True)",
    ),
    "layer_no_grad": (
        "net.weight",
        """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(2, 1)
with torch.no_grad():
    out = net(torch.ones(1, 2))
loss = out.sum()
loss.backward()
""",
        "no_grad",
        [8, 6],
        "take the line out of torch.no_grad()",
    ),
    "cut_in_forward": (
        "net.a.weight",
        """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 4)
        self.b = nn.Linear(4, 1)

    def forward(self, x):
        h = torch.tanh(self.a(x)).detach()
        return self.b(h)

def main():
    net = Net()
    loss = (net(torch.ones(8, 2)) ** 2).mean()
    loss.backward()

main()
""",
        "detached",
        [11],
        "h = torch.tanh(self.a(x))",
    ),
    "in_place_exp": (
        "w",
        """\
import torch
w = torch.tensor([2.0, 1.0, -1.0], requires_grad=True)
y = torch.sigmoid(w)
z = torch.exp(w)
z.mul_(2)
loss = (y * z).sum()
loss.backward()
""",
        "written in place",
        [7, 4, 5],
        "z = z.mul(2)",
    ),
    "in_place_function": (
        "w",
        """\
import torch
w = torch.tensor([2.0, 1.0, -1.0], requires_grad=True)
h = torch.sigmoid(w)
torch.relu_(h)
loss = h.sum()
loss.backward()
""",
        "written in place",
        [6, 3, 4],
        "h = torch.relu(h)",
    ),
    "cancels": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w - w).sum()
y.backward()
""",
        "zero",
        [4],
        "gviz explain --wrt w shows the paths",
    ),
    "zeroed": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w ** 2).sum()
loss.backward()
w.grad.zero_()
""",
        "zero",
        [5],
        "read .grad before that",
    ),
    "softmax": (
        "w",
        """\
import torch
w = torch.tensor([100.0, 1.0], requires_grad=True)
p = torch.exp(w) / torch.exp(w).sum()
loss = -torch.log(p[1])
loss.backward()
""",
        "nan",
        [3],
        "exp is too large for its dtype: subtract the maximum first, or use torch.log_softmax or torch.logsumexp",
    ),
    "nan_data": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([float('nan'), 1.0])
h = w * x
loss = h.sum()
loss.backward()
""",
        "nan",
        [3],
        "look at the data",
    ),
    "by_float": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
loss = torch.tensor(float(w * 2), requires_grad=True)
loss.backward()
""",
        "false cure",
        [3],
        "loss = w * 2",
    ),
    "frozen_later": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
v = torch.tensor(1.0, requires_grad=True)
w.requires_grad = False
loss = w * v
loss.backward()
""",
        "frozen",
        [4],
        "leave the line out",
    ),
    "watched_copy": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([1.0, 2.0], requires_grad=True)
shown = w.detach()
loss = (b * 2).sum()
loss.backward()
""",
        "no path",
        [2],
        "use w where loss is computed",
    ),
    "function_none": (
        "w",
        """\
import torch

class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None

w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = F.apply(w).sum()
loss.backward()
""",
        "no gradient",
        [13],
        "return a gradient for each input in its backward",
    ),
    "listed": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0])
out = torch.tensor([w[0] * x[0], w[1] * x[1]])
loss = out.sum()
loss.backward()
""",
        "detached",
        [6, 4],
        "out = torch.stack([w[0] * x[0], w[1] * x[1]])",
    ),
    "cleared_too_soon": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = (w - 3) ** 2
loss.backward()
opt.zero_grad()
opt.step()
""",
        "taken away",
        [6],
        "call zero_grad() before backward(), so that step() has a gradient to use; or read .grad before it",
    ),
    "frozen_beside_an_error": (
        "x",
        """\
import torch
x = torch.ones(2)
w = torch.ones(2, requires_grad=True)
h = torch.ones(2)
for i in range(2):
    h = torch.tanh(h * w + x)
    h.sum().backward()
""",
        "frozen",
        [2],
        "x = torch.ones(2, requires_grad=True)",
    ),
    "stepped_between": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
one = (w ** 2).sum()
two = (w ** 3).sum()
one.backward()
opt.step()
two.backward()
""",
        "written in place",
        [8, 5, 7],
        "call each backward() before step()",
    ),
}
"""Of each: the tensor, the program, the verdict, the lines that are named, and the mend."""


def graph_of(folder: Path, program: str, engine: str = "gviz") -> Any:
    if engine == "torch":
        pytest.importorskip("torch")
    (folder / "train.py").write_text(program)
    options = SourceOptions(diagnose=True, engine=engine)
    return package.read(folder / "train.py", options, rootless=True).graph


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_each_cause_has_its_line_and_its_mend(tmp_path: Path, case: str, engine: str) -> None:
    name, program, verdict, lines, mend = CASES[case]
    cause = why(graph_of(tmp_path, program, engine), name)
    code = program.split("\n")
    assert (cause.name, cause.verdict, cause.mend) == (name, verdict, mend)
    assert [(str(place), text) for place, text in cause.lines] == [
        (f"line {number}", code[number - 1].strip()) for number in lines
    ]


MENDED = {
    "leaf_behind": "w = torch.randn(3, requires_grad=True) * 0.1",
    "detached": "d = h.detach() * 2",
    "overwritten_once": "w1 = w1 - lr * w1.grad",
    "in_place": "y += 1",
    "rewrapped": "loss = torch.tensor(y.item(), requires_grad=True)",
    "nothing_requires": "w = torch.tensor([1.0, 2.0])",
    "not_scalar": "loss.backward()",
}


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")
@pytest.mark.parametrize("case", MENDED)
def test_the_mend_mends(tmp_path: Path, case: str) -> None:
    name, program, _, _, mend = CASES[case]
    assert program.count(f"{MENDED[case]}\n") == 1
    mended = program.replace(f"{MENDED[case]}\n", f"{mend.partition(', or ')[0]}\n")
    cause = why(graph_of(tmp_path, mended), name)
    assert cause.verdict == "ok", cause
    assert not cause.is_wrong


@pytest.mark.parametrize(
    ("source", "name", "verdict", "phrase"),
    [
        ("y = relu(x)*w", "x", "zero", "relu in line 1 has the derivative 0 at a negative input (x = -1)"),
        ("y = relu(x)*w", "w", "zero", "the derivative of * in line 1 for w is 0 here"),
        ("y = log(x)*w", "w", "nan", "log makes the first of them, forward"),
        ("a = x*w\ny = a**2", "a", "not a leaf", "MulBackward0 made it"),
    ],
)
@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_expressions_are_answered_too(source: str, name: str, verdict: str, phrase: str) -> None:
    graph = package.read(source, SourceOptions(values={"x": -1, "w": 2}, diagnose=True)).graph
    cause = why(graph, name)
    assert cause.verdict == verdict
    assert phrase in cause.what


def test_a_saved_graph_is_answered_as_well_as_it_tells(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, CASES["zero"][1])
    again = package.Graph.from_json(graph.to_json())
    assert why(again, "w") == why(graph, "w")


def test_a_name_that_is_not_there_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, CASES["taken_away"][1])
    with pytest.raises(SourceError, match="there is no tensor los") as refused:
        why(graph, "los")
    assert refused.value.hint == "did you mean loss?"


NET = """\
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(2, 1)
        self.unused = nn.Linear(2, 1)

    def forward(self, x):
        return self.used(x)

net = Net()
x = torch.ones(3, 2)
loss = net(x).pow(2).mean()
loss.backward()
"""


def test_without_a_name_all_leaves_are_listed(tmp_path: Path) -> None:
    causes = {cause.name: cause.verdict for cause in why_all(graph_of(tmp_path, NET))}
    assert causes == {
        "net.used.weight": "ok", "net.used.bias": "ok", "net.unused.weight": "no path", "net.unused.bias": "no path",
        "x": "frozen",
    }  # fmt: skip


def test_the_command_prints_an_answer_a_table_or_json_and_tells_by_its_status(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(NET)
    (gviz.folder / "fine.py").write_text(CASES["fine"][1])
    table = gviz("why", "net.py")
    assert table.status == 1
    assert [line.split()[:3] for line in table.out.splitlines()][:3] == [
        ["name", "why", "where"], ["net.used.weight", "ok", "line"], ["net.used.bias", "ok", "line"],
    ]  # fmt: skip
    assert "net.unused.bias" in table.out
    one = gviz("why", "net.py", "net.unused.bias")
    assert one.status == 1
    assert one.out.splitlines()[:2] == [
        "net.unused.bias: no path", "loss is not made from net.unused.bias: there is no path between them.",
    ]  # fmt: skip
    data = json.loads(gviz("why", "net.py", "--json").out)
    assert [row["name"] for row in data if row["is_wrong"]] == ["net.unused.weight", "net.unused.bias"]
    fine = gviz("why", "fine.py")
    assert (fine.status, "ok" in fine.out) == (0, True)
    gviz("why", "fine.py", "v").assert_refused(
        "there is no tensor v", "the tensors are w, y", files=("fine.py", "net.py")
    )


def test_a_cause_of_a_frozen_tensor_is_no_fault() -> None:
    assert not Cause("x", "frozen", "").is_wrong
    assert Cause("w", "no path", "").is_wrong
