"""``gviz why``: for each cause of a missing or strange gradient a script, the line to blame and the mend, on both engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mended import has_gradient, is_code, mended, parts_of_mend
from program import Program

import gviz as package
from gviz import SourceOptions
from gviz.causes.diagnosis import Cause
from gviz.causes.why import why, why_all
from gviz.causes.zero import MENDS_OF_ZERO
from gviz.errors import SourceError
from gviz.graphs import Module, Place
from gviz.render import render

SMOOTHLY = (
    "compute the loss from something that changes smoothly, or let gradients through a choice:"
    " soft + (hard - soft).detach()"
)
EXP = (
    "exp is too large for its dtype: in a softmax or sigmoid, use torch.log_softmax, logsumexp or torch.sigmoid;"
    " elsewhere keep its input small, as w.clamp(max=10) does, whose slope is 0 there"
)

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]

NOTHING_REQUIRES_A_GRADIENT = """\
import torch
noise = torch.randn(3)
x, y = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0])
w = torch.tensor(0.0)
h = w * x
loss = ((h - y) ** 2).mean()
loss.backward()
"""

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
        "with torch.no_grad(): ws[k] -= 0.1 * ws[k].grad; and set its .grad to None after it, as backward() adds to it",
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
        (
            "the numbers grow from one backward to the next: take a smaller learning rate, or torch.nn.utils.clip_grad_norm_"
        ),
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
    "zero_where_an_example_has_no_gradient_or_no_input": (
        "w",
        """\
import torch
x = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
w = torch.ones(2, 1, requires_grad=True)
y = x @ w
loss = (y * torch.tensor([[0.0], [1.0]])).sum()
loss.backward()
""",
        "zero",
        [4],
        "none, if its parts are to cancel out; else see where the other factor is 0, such as by a relu",
    ),
    "zero_since_a_batch_cancels_out": (
        "h.bias",
        """\
import torch
from torch import nn
x = torch.ones(3, 4)
h = nn.Linear(4, 1)
with torch.no_grad():
    h.bias.zero_()
loss = h(torch.cat([x, -x])).abs().sum()
loss.backward()
""",
        "zero",
        [7],
        "none, if its parts are to cancel out: what each example of a batch brings adds up to 0",
    ),
    "nan_of_a_product_that_is_too_small": (
        "h",
        """\
import torch
h = torch.tensor(6.6e-34, requires_grad=True)
m = torch.tensor(9.1e-31, requires_grad=True)
e = torch.tensor(1.6e-19)
y = h / torch.sqrt(2 * m * e)
y.backward()
""",
        "inf",
        [5],
        (
            "the divisor is 0: * gives it of numbers that are not, as it is too small for its dtype: "
            "compute in float64, or in other units"
        ),
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
        "a row of nothing but -inf has no softmax, nor has one with inf: leave an element of each row unmasked",
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
        (
            "take the line, and what is computed from it there, out of "
            "torch.set_grad_enabled(False); or, if it is not to be trained, call w.requires_grad_(False)"
        ),
    ),
    "inference_mode": (
        "w",
        """\
import torch
w = torch.ones(3, requires_grad=True)
v = torch.ones(3, requires_grad=True)
with torch.inference_mode():
    h = (w * 2).sum().item()
with torch.no_grad():
    pass
with torch.inference_mode():
    k = w * 2
loss = (v * k.clone()).sum()
loss.backward()
""",
        "no_grad",
        [9],
        (
            "take the line, what is computed from it there, and what makes the tensors that it takes, out of "
            "torch.inference_mode(); or, if it is not to be trained, call w.requires_grad_(False)"
        ),
    ),
    "generator_behind_the_wrong_detach": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True)
d = torch.ones(2, requires_grad=True)
for step in range(2):
    fake = w * 2
    judged = -(d * fake.detach()).sum()
    judged.backward()
    loss = (d * fake.detach()).sum()
    loss.backward()
""",
        "detached",
        [8],
        "loss = (d * fake).sum()",
    ),
    "two_detaches": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True)
p = torch.ones(2, requires_grad=True)
value = w * 2
advantage = (3 - value).detach()
loss = (p * advantage).sum() + (3 - value.detach()).pow(2).sum()
loss.backward()
""",
        "detached",
        [6],
        "loss = (p * advantage).sum() + (3 - value).pow(2).sum()",
    ),
    "gradient_penalty_without_graph": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True)
x = torch.ones(2, requires_grad=True)
y = (x * w).tanh().sum()
g = torch.autograd.grad(y, x)[0]
loss = ((g.norm() - 1) ** 2).requires_grad_()
loss.backward()
""",
        "false cure",
        [5, 6],
        "g = torch.autograd.grad(y, x, create_graph=True)[0]",
    ),
    "two_states_carried_over": (
        "cell.weight_ih",
        """\
import torch
from torch import nn
torch.manual_seed(0)
cell = nn.LSTMCell(2, 3)
h = c = torch.zeros(1, 3)
for step in range(2):
    h, c = cell(torch.ones(1, 2), (h, c))
    loss = h.pow(2).sum()
    loss.backward()
""",
        "second backward",
        [9, 7],
        "h, c = h.detach(), c.detach() before they are used again",
    ),
    "two_states_carried_over_in_a_tuple": (
        "net.weight_ih_l0",
        """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.LSTM(2, 3)
h, c = torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)
for step in range(2):
    out, (h, c) = net(torch.ones(5, 1, 2), (h, c))
    loss = out.pow(2).sum()
    loss.backward()
""",
        "second backward",
        [9, 7],
        "h, c = h.detach(), c.detach() before they are used again",
    ),
    "frozen_in_a_loop_of_its_own": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
for one in [w]:
    one.requires_grad = False
loss = (v * w).sum()
loss.backward()
""",
        "frozen",
        [5],
        "leave the lines 4 and 5 out; or, for w alone, w.requires_grad_() before it is used again",
    ),
    "a_function_that_gives_none": (
        "w",
        """\
import torch
class Cut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, grad):
        return None
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
h = Cut.apply(w * 2)
loss = (h * v).sum()
loss.backward()
""",
        "no gradient",
        [11, 8],
        "return a gradient for each input in its backward",
    ),
    "padding_alone": (
        "w",
        """\
import torch
w = torch.ones(3, 2, requires_grad=True)
found = torch.nn.functional.embedding(torch.tensor([0, 0]), w, padding_idx=0)
loss = found.sum()
loss.backward()
""",
        "zero",
        [3],
        "look up tokens that are no padding; or see what is taken from what",
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
        (
            "compute feat anew before each backward();"
            " or give the one before retain_graph=True;"
            " or call backward() once, on the sum of the losses"
        ),
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
        "loss = torch.hstack(losses).mean()",
    ),
    "asked_of_data": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
data = torch.tensor([0.5, 1.5])
mix = data * 2
out = (w * mix).sum()
grad = torch.autograd.grad(out, mix, create_graph=True)[0]
(out + grad.norm()).backward()
""",
        "failed",
        [6, 4],
        "mix.requires_grad_() where it is made, before anything is computed of it",
    ),
    "no_derivative_at_all": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * 3).sum() + (w // 1).sum()
loss.backward()
""",
        "failed",
        [4, 3],
        "compute the loss from something that changes smoothly; or, for a number alone, detach() what floor_divide takes",
    ),
    "leaf_written_after_use": (
        "x",
        """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * w
x += 1
y.sum().backward()
""",
        "failed",
        [5],
        "x = x + 1; with another name for the result, if x.grad is to be read",
    ),
    "gradient_of_another_size": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * 2).sum().backward(torch.ones(3))
""",
        "failed",
        [3],
        'gviz explain "Mismatch in shape: grad_output[0] has a shape of" says what helps',
    ),
    "numbers_that_grow": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=1e6)
for i in range(12):
    loss = ((w * 30 - 1) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        "nan",
        [5],
        (
            "the numbers grow from one backward to the next: take a smaller learning rate, or torch.nn.utils.clip_grad_norm_"
        ),
    ),
    "flat_softmax": (
        "z",
        """\
import torch
z = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
p = torch.softmax(100 * z, 0)
loss = (p[0] - 1) ** 2
loss.backward()
""",
        "zero",
        [3],
        (
            "softmax sums to 1 whatever its input is, and is flat for inputs far apart: use log_softmax, smaller inputs, or"
            " only the elements of the right classes"
        ),
    ),
    "least": (
        "w",
        """\
import torch
w = torch.tensor(0.5, requires_grad=True)
loss = (w * 2 - 1) ** 2
loss.backward()
""",
        "zero",
        [3],
        "none, since loss is 0, and never less",
    ),
    "saddle": (
        "w",
        """\
import torch
w = torch.tensor(0.0, requires_grad=True)
loss = w ** 3
loss.backward()
""",
        "zero",
        [3],
        "its input is 0, where x ** n has no slope, or n is 0: see what makes it so",
    ),
    "most": (
        "w",
        """\
import torch
w = torch.tensor(0.0, requires_grad=True)
loss = -(w ** 2)
loss.backward()
""",
        "zero",
        [3],
        "its input is 0, where x ** n has no slope, or n is 0: see what makes it so",
    ),
    "slope_of_acos": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
loss = torch.acos(w)
loss.backward()
""",
        "inf",
        [3],
        (
            "keep the input of acos away from where its derivative is infinite:"
            " as w.clamp(-1 + 1e-6, 1 - 1e-6) does, whose slope is 0 there"
        ),
    ),
    "difference_of_squares": (
        "w",
        """\
import torch
w = torch.tensor(0.0, requires_grad=True)
loss = w ** 2 - (w * 3) ** 2
loss.backward()
""",
        "zero",
        [3],
        "its input is 0, where x ** n has no slope, or n is 0: see what makes it so",
    ),
    "carried_with_its_graph": (
        "cell.weight_ih",
        """\
import torch
torch.manual_seed(0)
cell = torch.nn.RNNCell(3, 4)
opt = torch.optim.SGD(cell.parameters(), lr=0.05)
h = torch.zeros(2, 4)
for t in range(3):
    h = cell(torch.randn(2, 3), h)
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
""",
        "written in place",
        [10, 7, 11],
        "h = h.detach() before it is used again",
    ),
    "a_loss_that_is_carried_and_scaled": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = 0.0
for step in range(2):
    for i in range(3):
        loss = loss - (w * i).sin().sum()
    loss = loss / 3
    loss.backward()
""",
        "second backward",
        [8, 7, 6],
        "loss = loss.detach() before it is used again",
    ),
    "less_than_a_half": (
        "w",
        """\
import torch
w = torch.tensor([0.5, -1.0], requires_grad=True)
loss = w.pow(2).mean().half() * 1e-9
loss.backward()
""",
        "zero",
        [3],
        "float16 has no number as small: compute it in float32, or scale the loss, as torch.amp.GradScaler does",
    ),
    "much_less_than_a_half": (
        "w",
        """\
import torch
w = torch.tensor([0.5, -1.0], requires_grad=True)
loss = (w.half() / 1e15).sum()
loss.backward()
""",
        "zero",
        [3],
        "float16 has no number as small: compute it in float32, or scale the loss, as torch.amp.GradScaler does",
    ),
    "layer_norm_of_one_element": (
        "w",
        """\
import torch
w = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
loss = torch.nn.functional.layer_norm(w[..., None], (1,)).sub(2.0).pow(2).sum()
loss.backward()
""",
        "zero",
        [3],
        "layer_norm over one element makes 0 of any input, but for its bias: let it normalize over several",
    ),
    "group_norm_of_one_element": (
        "w",
        """\
import torch
w = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
loss = torch.nn.functional.group_norm(w, 2).sub(2.0).pow(2).sum()
loss.backward()
""",
        "zero",
        [3],
        "group_norm over one element makes 0 of any input, but for its bias: let it normalize over several",
    ),
    "frozen_by_what_gives_another_name": (
        "net.weight",
        """\
import torch
net = torch.nn.Linear(2, 1)
teacher = net.requires_grad_(False)
loss = (net(torch.ones(3, 2)) * teacher(torch.ones(3, 2))).sum()
loss.backward()
""",
        "frozen root",
        [5, 3],
        "teacher = net.requires_grad_()",
    ),
    "nan_made_zero": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = torch.log(w * 0).mean() * 0
loss.backward()
w.grad[w.grad.isnan()] = 0
""",
        "nan",
        [3, 5],
        "log is infinite at 0, and nan below: keep its input above 0, as (w * 0).clamp(min=1e-6) does, whose slope is 0 there",
    ),
    "cleared_before_the_step": (
        "w",
        """\
import torch
w, u = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w, u], lr=0.1)
for i in range(2):
    one = (w * 3).sum()
    one.backward()
    opt.zero_grad()
    two = (u * 2).sum()
    two.backward()
    opt.step()
""",
        "taken away",
        [7],
        "call zero_grad() before the backward() that brings it, and step() after it",
    ),
    "generator_of_a_detached_fake": (
        "g",
        """\
import torch
g, d = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([g, d], lr=0.1)
for i in range(2):
    fake = g * 3
    (fake * d).sum().backward(retain_graph=True)
    opt.zero_grad()
    loss = (fake.detach() * d).sum()
    loss.backward()
    opt.step()
""",
        "detached",
        [8],
        "loss = (fake * d).sum()",
    ),
    "list_of_numbers": (
        "w",
        """\
import torch
w = torch.ones(3, requires_grad=True)
losses = []
for i in range(2):
    losses.append((w * i).sum().item())
total = torch.tensor(losses).mean()
total.backward()
""",
        "detached",
        [7, 5, 6],
        "losses.append((w * i).sum()); and then total = torch.hstack(losses).mean()",
    ),
    "two_writes": (
        "x",
        """\
import torch
x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
a = torch.sigmoid(x)
a[0] = 0.0
c = torch.exp(x)
c += 1
loss = a.sum() + c.sum()
loss.backward()
""",
        "written in place",
        [8, 5, 6],
        "c = c + 1",
    ),
    "written_element": (
        "x",
        """\
import torch
x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = x * 2
z = y ** 2
w = torch.tanh(x)
w[0] = 3
loss = z.sum() + y.sum() + w.sum()
loss.backward()
""",
        "written in place",
        [8, 5, 6],
        "w = w.clone(); w[0] = 3",
    ),
    "written_operand": (
        "x",
        """\
import torch
x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
w = torch.tanh(x)
y = x * 2
z = y ** 2
y += 1
w[0] = 3
loss = w.sum() + z.sum() + y.sum()
loss.backward()
""",
        "written in place",
        [9, 5, 6],
        "y = y + 1",
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
        "give log harmless inputs where they are not picked, by a torch.where before it: one behind is too late",
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
        "w1, w2 = [(p - 0.1 * p.grad).detach().requires_grad_() for p in (w1, w2)]",
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
        [10, 8],
        "look at what it returns",
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
        (
            "take the line, and what is computed from it there, out of "
            "torch.no_grad(); or, if it is not to be trained, call w.requires_grad_(False)"
        ),
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
        f"none, if it is a margin that all examples keep, or free bits; else {MENDS_OF_ZERO['relu']}",
    ),
    "not_run": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
y = w * 3
""",
        "backward not run",
        [2, 3],
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
        SMOOTHLY,
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
        "with torch.no_grad(): w1 -= lr * w1.grad; and set its .grad to None after it, as backward() adds to it",
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
        "new leaf",
        [7],
        "none, if w1 is to get no further gradient; else w1 -= lr * w1.grad",
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
        "h = w * 2; and leave out loss.requires_grad = True",
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
        "give sqrt harmless inputs where they are not picked, by a torch.where before it: one behind is too late",
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
        "log is infinite at 0, and nan below: keep its input above 0, as w.clamp(min=1e-6) does, whose slope is 0 there",
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
        "w.grad = None before each backward(); unless the sum is what you want",
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
        "loss.sum().backward()",
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
    "an optimizer's leaf written anew": (
        "v",
        """\
import torch
w, v = torch.ones(3, requires_grad=True), torch.ones(1, requires_grad=True)
opt = torch.optim.SGD([w, v], lr=0.1)
for _ in range(3):
    loss = ((w * v).sum() - 1) ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    w = 2 * w / w.sum()
""",
        "second backward",
        [7, 9],
        "with torch.no_grad(): w.copy_(2 * w / w.sum())",
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
        "call backward() on loss, and add loss.item() to total",
    ),
    "fake_that_the_loss_of_the_critic_does_not_detach": (
        "D.weight",
        """\
import torch
G, D = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
opt_g, opt_d = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
for step in range(2):
    fake = torch.tanh(G(torch.ones(4, 2)))
    loss_d = D(fake).mean() - D(torch.zeros(4, 2)).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = -D(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
""",
        "second backward",
        [12, 5],
        (
            "compute fake anew before each backward(), or write loss_d = D(fake.detach()).mean() - D(torch.zeros(4,"
            " 2)).mean(), if it is to be a constant there; or give the one before retain_graph=True"
        ),
    ),
    "features_of_weights_that_have_stepped": (
        "net.0.weight",
        """\
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
h = net(torch.ones(1, 2))
first, second = h.sum(), h.exp().sum()
first.backward()
opt.step()
second.backward()
""",
        "second backward",
        [9, 5],
        "compute h anew before each backward(); or call backward() once, on the sum of the losses",
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
        (
            "compute feats anew before each backward();"
            " or give the one before retain_graph=True;"
            " or call backward() once, on the sum of the losses"
        ),
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
        "take the line, and what is computed from it there, out of torch.no_grad()",
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
        [3, 4],
        "gviz explain SOURCE --wrt w shows the paths",
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
        EXP,
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
        "leave line 4 out",
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
        [13, 10],
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
        "out = torch.hstack([w[0] * x[0], w[1] * x[1]])",
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
        "call zero_grad() before backward(), and step() after it",
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
    "stepped_before_backward_in_a_loop": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for i in range(3):
    out = w ** 2
    loss = out.sum()
    opt.step()
    opt.zero_grad()
    loss.backward()
""",
        "written in place",
        [9, 5, 7],
        (
            "call each backward() before step(), if step() is to use its gradient; else compute loss again after that,"
            " with all that it is computed from, such as out"
        ),
    ),
    "numbers_of_predictions_of_one_element": (
        "m.weight",
        """\
import torch
m = torch.nn.Linear(2, 1)
X, y = torch.ones(4, 2), torch.ones(4)
preds = []
for i in range(4):
    preds.append(m(X[i]).item())
loss = ((torch.tensor(preds) - y) ** 2).mean()
loss.backward()
""",
        "detached",
        [8, 6, 7],
        "preds.append(m(X[i])); and then loss = ((torch.hstack(preds) - y) ** 2).mean()",
    ),
    "backward_of_a_gradient": (
        "g",
        """\
import torch
scale = torch.tensor(0.1)
x = torch.tensor(2.0, requires_grad=True)
y = scale * x ** 3
y.backward()
g = x.grad
g.backward()
""",
        "detached",
        [7, 5],
        "y.backward(create_graph=True); x.grad becomes the sum of both, which torch.autograd.grad() keeps apart",
    ),
    "loss_of_before_the_loop": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = torch.nn.functional.mse_loss(w, torch.zeros(2))
for i in range(3):
    loss.backward()
""",
        "second backward",
        [5],
        "compute loss anew before each backward()",
    ),
    "sum_of_losses_that_have_had_their_backward": (
        "w",
        """\
import torch
w, losses = torch.tensor([1.0, 2.0], requires_grad=True), []
for i in range(3):
    loss = (w ** 2).sum()
    losses.append(loss)
    loss.backward()
total = sum(losses)
total.backward()
""",
        "second backward",
        [8, 4],
        "call backward() on loss or on total, and not on both",
    ),
    "name_taken_by_a_validation": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w ** 2).sum()
with torch.no_grad():
    loss = (w * 3).sum()
loss.backward()
""",
        "no_grad",
        [6, 5],
        (
            "take the line, and what is computed from it there, out of "
            "torch.no_grad(); or give it another name than loss, if the loss of another line is meant"
        ),
    ),
    "weight_that_was_to_require_a_gradient": (
        "w",
        NOTHING_REQUIRES_A_GRADIENT,
        "frozen root",
        [7, 4],
        "w = torch.tensor(0.0, requires_grad=True)",
    ),
    "loss_of_what_requires_no_gradient": (
        "loss",
        NOTHING_REQUIRES_A_GRADIENT,
        "frozen root",
        [7],
        "make what is to have a gradient with requires_grad=True: x, y, w",
    ),
    "loss_of_integers": (
        "y",
        """\
import torch
x = torch.tensor(2)
y = x ** 2 + 3 * x
y.backward()
""",
        "frozen root",
        [4],
        "make what is to have a gradient of floating-point numbers with requires_grad=True",
    ),
    "running_total_of_losses": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
total = 0
for i in range(3):
    loss = (w**2).mean()
    total += loss
    total.backward()
""",
        "second backward",
        [7, 6],
        "call backward() on loss, and add loss.item() to total",
    ),
    "mean_of_losses_that_have_had_their_backward": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
losses = []
for x in (1.0, 2.0):
    losses.append((w * x - 1) ** 2)
    losses[-1].backward()
mean = sum(losses) / 2
mean.backward()
""",
        "second backward",
        [8, 5],
        (
            "compute losses[0], losses[1] anew before each backward(); or give those before retain_graph=True;"
            " or call backward() once, on the sum of the losses"
        ),
    ),
    "parameters_written_in_a_loop": (
        "m.weight",
        """\
import torch
m = torch.nn.Linear(2, 1)
loss = m(torch.ones(1, 2)).sum()
loss.backward()
for p in m.parameters():
    p -= 0.1 * p.grad
""",
        "failed",
        [6],
        "with torch.no_grad(): p -= 0.1 * p.grad",
    ),
    "new_parameter_of_the_old_one_in_each_turn": (
        "m.weight",
        """\
import torch
from torch import nn
m = nn.Linear(2, 1, bias=False)
for i in range(3):
    loss = m(torch.ones(1, 2)).sum()
    loss.backward()
    m.weight = nn.Parameter(m.weight - 0.1 * m.weight.grad)
""",
        "new leaf",
        [3],
        "",
    ),
    "list_of_new_tensors_without_gradients": (
        "params[0]",
        """\
import torch
params = [torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)]
for i in range(2):
    loss = (params[0].sum() * params[1]).sum()
    loss.backward()
    if i == 0:
        with torch.no_grad():
            params = [p - 0.1 * p.grad for p in params]
""",
        "no_grad",
        [8],
        "params = [(p - 0.1 * p.grad).detach().requires_grad_() for p in params]",
    ),
    "layer_made_in_forward": (
        "net.head.weight",
        """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def forward(self, x):
        self.head = nn.Linear(2, 1)
        return self.head(self.body(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
""",
        "not used",
        [11, 8],
        "make the parameters of line 8 in __init__(), which runs once, and not in forward()",
    ),
    "parameters_that_are_updated_by_what_autograd_returns": (
        "params[0] (1st)",
        """\
import torch
params = [torch.zeros(2, requires_grad=True), torch.ones(1, requires_grad=True)]
loss = (params[0].sum() + params[1] - 1).pow(2).mean()
grads = torch.autograd.grad(loss, params)
params = [p - 0.1 * g for p, g in zip(params, grads)]
""",
        "not trained",
        [4],
        "none, if the program uses what it returns; else loss.backward() in its place, or give each tensor its .grad",
    ),
    "hinge_of_one_example": (
        "w",
        """\
import torch
w = torch.tensor([3.0, 3.0], requires_grad=True)
loss = torch.clamp(1 - w @ torch.tensor([1.0, 2.0]), min=0)
loss.backward()
""",
        "zero",
        [3],
        f"none, if it is a margin that all examples keep, or free bits; else {MENDS_OF_ZERO['clamp']}",
    ),
    "hinge_of_several_examples_by_maximum": (
        "w",
        """\
import torch
w = torch.tensor([3.0, 3.0], requires_grad=True)
loss = torch.maximum(torch.zeros(2), 1 - torch.ones(2, 2) @ w).mean()
loss.backward()
""",
        "zero",
        [3],
        "none, if it is a margin that all examples keep, or free bits; else give maximum inputs where its derivative is not 0",
    ),
    "a_loss_beside_the_one_that_is_trained_is_only_shown": (
        "aux.weight",
        """\
import torch
from torch import nn
main, aux = nn.Linear(2, 1), nn.Linear(2, 1)
opt = torch.optim.SGD(main.parameters(), lr=0.1)
loss = main(torch.ones(1, 2)).sum()
both = loss + aux(torch.ones(1, 2)).sum()
print(both)
loss.backward()
opt.step()
""",
        "not trained",
        [3],
        "none, unless aux.weight is to be trained: use aux.weight where loss is computed",
    ),
    "rows_of_a_table_that_cancel_out": (
        "emb.weight",
        """\
import torch
emb = torch.nn.Embedding(5, 2)
out = emb(torch.tensor([3, 3]))
loss = (out[0] - out[1]).sum()
loss.backward()
""",
        "zero",
        [3],
        "look up tokens that are no padding; or see what is taken from what",
    ),
    "places_of_a_convolution_that_cancel_out": (
        "conv.weight",
        """\
import torch
conv = torch.nn.Conv2d(1, 1, 2, bias=False)
out = conv(torch.ones(1, 1, 3, 3))
loss = out[0, 0, 0, 0] - out[0, 0, 1, 1]
loss.backward()
""",
        "zero",
        [3],
        "see whether the other factor is 0, or its parts cancel out",
    ),
    "loss_of_a_tensor_and_itself": (
        "w",
        """\
import torch
from torch.nn import functional as F
w = torch.ones(2, requires_grad=True)
y = w * 2
loss = F.mse_loss(y, y.detach()) + F.huber_loss(y, y.detach()) + F.smooth_l1_loss(y, y.detach()) + 1
loss.backward()
""",
        "zero",
        [5],
        "its inputs are the same where they are used: see what each is made from",
    ),
    "unit_that_dropout_leaves_out_in_this_run": (
        "layer.weight",
        """\
import torch
from torch import nn
torch.manual_seed(0)
layer, drop = nn.Linear(2, 1), nn.Dropout(0.5)
h = drop(layer(torch.ones(1, 2)))
while h.item():
    h = drop(layer(torch.ones(1, 2)))
loss = (h - 1).pow(2).sum()
loss.backward()
""",
        "zero",
        [7],
        "drop (Dropout) has set all of it to 0 in this run: call it in eval(), or give it a smaller p",
    ),
    "unit_that_dropout_leaves_out_beside_one_that_it_leaves": (
        "layer.weight",
        """\
import torch
from torch import nn
torch.manual_seed(0)
layer, drop = nn.Linear(2, 2), nn.Dropout(0.5)
h = drop(layer(torch.ones(1, 2)))
while h[0, 0].item() or not h[0, 1].item():
    h = drop(layer(torch.ones(1, 2)))
loss = (h[:, 0] - 1).pow(2).sum()
loss.backward()
""",
        "zero",
        [7],
        "drop (Dropout) has set what is used of it to 0 in this run: call it in eval(), or give it a smaller p",
    ),
    "layer_behind_rows_of_padding_that_stand_at_0": (
        "fc.weight",
        """\
import torch
from torch import nn
emb, fc = nn.Embedding(5, 3, padding_idx=0), nn.Linear(3, 2)
ids = torch.tensor([[0, 0], [0, 0]])
loss = fc(emb(ids).mean(1)).sum()
loss.backward()
""",
        "zero",
        [5],
        "the other factor is 0, since embedding makes it so: see its inputs",
    ),
    "local_layer_made_in_forward": (
        "leaf of loss",
        """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def forward(self, x):
        head = nn.Linear(2, 1)
        return head(self.body(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    opt.zero_grad()
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    opt.step()
""",
        "not trained",
        [11, 8],
        (
            "none, if it is not to be trained; else make the parameters of line 8 in __init__(), which runs once, and not"
            " in forward()"
        ),
    ),
    "weight_unfrozen_after_its_optimizer": (
        "m.weight",
        """\
import torch
m = torch.nn.Linear(2, 1)
m.weight.requires_grad = False
opt = torch.optim.SGD([one for one in m.parameters() if one.requires_grad], lr=0.1)
m.weight.requires_grad = True
loss = m(torch.ones(1, 2)).sum()
loss.backward()
opt.step()
""",
        "not used",
        [4, 5],
        (
            "make the optimizer after line 5, where m.weight comes to require a"
            " gradient, and with it, or give it to the optimizer's add_param_group()"
        ),
    ),
    "body_that_is_not_given_to_the_optimizer_of_a_function": (
        "m.0.weight",
        """\
import torch
def train(model):
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1)
    loss = model(torch.ones(1, 2)).sum()
    loss.backward()
    opt.step()
m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
train(m)
""",
        "not trained",
        [3],
        (
            "none, if it is not to be trained; else make the optimizer after m.0.weight, and with it, or give it to the"
            " optimizer's add_param_group()"
        ),
    ),
    "weight_unfrozen_in_a_loop_after_its_optimizer": (
        "m.weight",
        """\
import torch
m = torch.nn.Linear(2, 1)
m.weight.requires_grad = False
opt = torch.optim.SGD([one for one in m.parameters() if one.requires_grad], lr=0.1)
for i in range(4):
    if i == 2:
        m.weight.requires_grad_(True)
    opt.zero_grad()
    loss = m(torch.ones(1, 2)).sum()
    loss.backward()
    opt.step()
""",
        "not used",
        [4, 7],
        (
            "make the optimizer after line 7, where m.weight comes to require a gradient, and with it, or give it to the"
            " optimizer's add_param_group()"
        ),
    ),
    "target_that_is_a_copy_of_a_forgotten_encoder": (
        "encoder.weight",
        """\
import copy
import torch
from torch import nn
encoder, head = nn.Linear(3, 2), nn.Linear(2, 2)
slow = copy.deepcopy(encoder).requires_grad_(False)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x = torch.ones(4, 3)
z = encoder(x)
loss = head(slow(x)).mean()
loss.backward()
opt.step()
""",
        "no path",
        [8],
        "use z where loss is computed, or in a loss of its own",
    ),
    "zeros_that_nobody_has_seen_written": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = (w * 3).sum()
loss.backward()
w.grad.numpy()[:] = 0
opt.step()
""",
        "zero",
        [5],
        "look at what changes .grad, and at hooks",
    ),
    "a_part_of_a_cat_that_is_not_used": (
        "a",
        """\
import torch
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = torch.cat([a, b])
loss = (c[2:] ** 2).sum()
loss.backward()
""",
        "zero",
        [4],
        "see how that part of its result is used",
    ),
    "a_part_of_a_cat_behind_a_gate_of_0": (
        "enc.weight",
        """\
import torch
from torch import nn
enc, mix = nn.Linear(3, 3), nn.Linear(4, 4)
gate = nn.Parameter(torch.zeros(3))
mask = nn.Parameter(torch.ones(2, 3))
t = torch.cat([enc(torch.ones(2, 3)), mask])
t = t + gate * mix(t.t()).t()
loss = (t[2:] ** 2).mean()
loss.backward()
""",
        "zero",
        [6, 4],
        (
            "none, if gate is to begin at 0: a gradient comes to it, and a step changes it;"
            " else see how that part of its result is used"
        ),
    ),
    "a_prior_of_minus_infinity_beside_a_mask_of_it": (
        "w",
        """\
import torch
import torch.nn.functional as F
w = torch.ones(3, 3, requires_grad=True)
def loss_of(logits, item, log_q):
    logits = logits - log_q[item].unsqueeze(0)
    logits = logits.masked_fill(torch.eye(3).bool().roll(1, 0), float("-inf"))
    return F.cross_entropy(logits, torch.arange(3))
def train():
    log_q = torch.log(torch.tensor([0.0, 1.0, 2.0]) / 3)
    loss = loss_of(w * 2, torch.tensor([0, 1, 2]), log_q)
    loss.backward()
    return loss
loss = train()
""",
        "nan",
        [9],
        (
            "log is infinite at 0, and nan below: keep its input above 0,"
            " as (torch.tensor([0.0, 1.0, 2.0]) / 3).clamp(min=1e-6) does"
        ),
    ),
    "a_root_of_data_below_0_in_the_line": (
        "w",
        """\
import torch
x = torch.tensor([-1.0, 4.0])
w = torch.ones(2, requires_grad=True)
loss = (w * x.sqrt()).sum()
loss.backward()
""",
        "nan",
        [4],
        "sqrt is nan below 0: keep its input above it",
    ),
    "a_root_of_data_below_0": (
        "w",
        """\
import torch
x = torch.tensor([-1.0, 4.0])
z = torch.sqrt(x)
w = torch.ones(2, requires_grad=True)
loss = (w * z).sum()
loss.backward()
""",
        "nan",
        [3],
        "sqrt is nan below 0: keep its input above it",
    ),
    "a_logarithm_of_data_below_0": (
        "w",
        """\
import torch
x = torch.tensor([-1.0, 4.0])
z = torch.log(x)
w = torch.ones(2, requires_grad=True)
loss = (w * z).sum()
loss.backward()
""",
        "nan",
        [3],
        "log is infinite at 0, and nan below: keep its input above 0, as x.clamp(min=1e-6) does",
    ),
    "what_a_teacher_has_computed_is_no_data": (
        "w",
        """\
import torch
from torch import nn
class Teacher(nn.Module):
    def forward(self, h):
        return h / h.norm(dim=-1, keepdim=True)
target = Teacher()(torch.zeros(1, 3))
w = torch.ones(1, 3, requires_grad=True)
loss = (w * target).sum()
loss.backward()
""",
        "nan",
        [5],
        ("its divisor is 0, or too small for its dtype: add a small number to h.norm(dim=-1, keepdim=True)"),
    ),
    "the_first_of_several_weights_that_are_not_finite": (
        "loss",
        """\
import torch
from torch import nn
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc, self.scale = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
    def forward(self, x):
        with torch.no_grad():
            self.loc.copy_(-x.mean(0))
            self.scale.copy_(1 / x.std(0))
        return (x + self.loc) * self.scale
net = nn.Sequential(*[Norm() for _ in range(12)])
x = torch.stack([torch.ones(4), torch.arange(4.0)], 1)
loss = net(x).sum()
loss.backward()
""",
        "nan",
        [10],
        "see what it writes",
    ),
    "spread_of_one_element_of_the_data": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
gains = torch.tensor([0.7])
normed = (gains - gains.mean()) / (gains.std() + 1e-8)
loss = (normed * w).sum()
loss.backward()
""",
        "nan",
        [4],
        "std of one element is nan: give it more of them",
    ),
    "spread_of_one_element_that_is_kept_above_0": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
gains = torch.tensor([0.7])
normed = (gains - gains.mean()) / gains.std().clamp(min=1e-6)
loss = (normed * w).sum()
loss.backward()
""",
        "nan",
        [4],
        "std of one element is nan: give it more of them",
    ),
    "picked_probabilities_of_0": (
        "w",
        """\
import torch
w = torch.tensor([[1000.0, 0.0]], requires_grad=True)
target = torch.tensor([1])
p = torch.softmax(w * 2, dim=1)
loss = -torch.log(p.gather(1, target[:, None])).mean()
loss.backward()
""",
        "nan",
        [5],
        "log is infinite at 0, and softmax is 0 or 1 here: use log_softmax, or a loss that takes logits",
    ),
    "state_that_an_object_keeps_between_its_backwards": (
        "cell.weight_hh",
        """\
import torch
cell = torch.nn.GRUCell(2, 2)
def collect(state):
    for t in range(2):
        state = cell(torch.ones(1, 2), state)
    return state, state.sum()
class Trainer:
    def __init__(self):
        self.state = torch.zeros(1, 2)
    def update(self):
        self.state, loss = collect(self.state)
        loss.backward()
    def evaluate(self):
        state = torch.zeros(1, 2)
        for t in range(2):
            state = cell(torch.ones(1, 2), state)
trainer = Trainer()
trainer.update()
trainer.update()
""",
        "second backward",
        [12, 5, 11],
        "self.state = self.state.detach() before it is used again",
    ),
    "loss_module_made_and_called_in_one_line": (
        "m.weight",
        """\
import torch
from torch import nn
m = nn.Linear(2, 1)
loss = nn.MSELoss()(m(torch.ones(1, 2)).detach(), torch.zeros(1, 1))
loss.backward()
""",
        "detached",
        [5, 4],
        "loss = nn.MSELoss()(m(torch.ones(1, 2)), torch.zeros(1, 1))",
    ),
    "state_of_a_gru_kept_with_its_graph_over_a_step": (
        "m.weight_hh_l0",
        """\
import torch
from torch import nn
m = nn.GRU(3, 4)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
x, h = torch.ones(5, 2, 3), None
for i in range(2):
    out, h = m(x, h)
    loss = out.pow(2).mean()
    loss.backward(retain_graph=True)
    opt.step()
""",
        "written in place",
        [9, 10],
        "h = h.detach() before it is used again",
    ),
    "step_of_the_critic_between_two_losses_of_one_pass": (
        "actor.weight",
        """\
import torch
from torch import nn
actor, critic = nn.Linear(2, 1), nn.Linear(1, 1)
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
a = actor(torch.ones(4, 2))
q = critic(a)
loss_c = (q - 1).pow(2).mean()
loss_a = -q.mean()
loss_c.backward(retain_graph=True)
opt.step()
loss_a.backward()
""",
        "written in place",
        [11, 6, 10],
        (
            "call each backward() before step(), if step() is to use its gradient; else compute loss_a again after that,"
            " with all that it is computed from, such as q"
        ),
    ),
    "layer_of_init_made_again_in_forward": (
        "net.fc.weight",
        """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        self.fc = nn.Linear(2, 2)
        return self.fc(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    loss = net(torch.ones(1, 2)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        "not used",
        [11, 8],
        "make the parameters of line 8 in __init__(), which runs once, and not in forward()",
    ),
    "parameter_that_the_first_call_of_forward_fills": (
        "net.0.loc",
        """\
import torch
from torch import nn
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(2))
        self.ready = False
    def forward(self, x):
        if not self.ready:
            with torch.no_grad():
                self.loc.copy_(-x.mean(0))
            self.ready = True
        return x + self.loc
net, other = nn.Sequential(Shift(), nn.Linear(2, 1)), nn.Linear(2, 1)
opt = torch.optim.SGD(other.parameters(), lr=0.1)
for i in range(2):
    loss = net(torch.ones(1, 2)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        "not trained",
        [19, 15],
        (
            "net[0].loc.requires_grad_(False), if it is not to be trained; else"
            " opt = torch.optim.SGD([*other.parameters(), net[0].loc], lr=0.1); or net[0].loc.grad = None before each"
            " backward()"
        ),
    ),
    **{
        f"loss_of_data_alone_beside_a_model: {name}": (
            name,
            """\
import torch
from torch import nn
net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1))
x, y = torch.ones(3, 2), torch.ones(3, 1)
out = net(x)
loss = (x[:, :1] - y).pow(2).mean()
loss.backward()
""",
            verdict,
            lines,
            mend,
        )
        for name, verdict, lines, mend in [
            ("loss", "frozen root", [7, 5], "use out where loss is computed, or in a loss of its own"),
            ("x", "frozen", [4], "x.requires_grad_()"),
            (
                "net.parametrizations.weight.original1",
                "no path",
                [7, 5],
                "use out where loss is computed, or in a loss of its own",
            ),
        ]
    },
    **{
        f"model_unfrozen_after_its_forward: {name}": (
            name,
            """\
import torch
net, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
net.requires_grad_(False)
loss = net(x).mean()
net.requires_grad_(True)
loss.backward()
""",
            verdict,
            lines,
            mend,
        )
        for name, verdict, lines, mend in [
            (
                "loss",
                "frozen root",
                [6],
                "make what is to have a gradient with requires_grad=True: net.weight, net.bias",
            ),
            ("x", "frozen", [2], "x.requires_grad_()"),
        ]
    },
    "loss_called_twice_behind_what_saves_nothing": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
def loss_of(w):
    total = 0
    for i in range(2):
        total = total + w.exp()
    return total.sum()
loss = -loss_of(w)
loss.backward()
loss.backward()
""",
        "second backward",
        [10],
        "call it once, or the first time with backward(retain_graph=True)",
    ),
    "variable_called_as_the_function_that_takes_it": (
        "m.weight",
        """\
import torch
m = torch.nn.Linear(2, 1)
full = m(torch.ones(1, 2)).detach()
loss = torch.full((2,), full.mean()).sum()
loss.backward()
""",
        "detached",
        [5, 3, 4],
        (
            "full = m(torch.ones(1, 2)); and then no gradient goes through this argument of torch.full():"
            " compute it with operations on tensors, in line 4"
        ),
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
        "call each backward() before step(), if step() is to use its gradient; else compute two again after that",
    ),
    "made_and_not_used": (
        "model.aux.weight",
        """\
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Linear(2, 2)
        self.aux = nn.Linear(2, 2)
    def forward(self, x):
        h = self.main(x)
        a = self.aux(h).detach()
        return h, a
model = Model()
out, a = model(torch.ones(3, 2))
loss = out.sum()
loss.backward()
""",
        "no path",
        [10],
        "a = self.aux(h); and use it where loss is computed, if that does not",
    ),
    "another_loss": (
        "v",
        """\
import torch
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
loss = (w ** 2).sum()
reg = (v ** 2).sum()
loss.backward()
total = loss + reg
""",
        "no path",
        [5],
        "use reg where loss is computed, or in a loss of its own",
    ),
    "a_parameter_of_a_view": (
        "w",
        """\
import torch
from torch import nn
w = torch.ones(4, requires_grad=True)
v = nn.Parameter((w * 2).view(2, 2))
loss = (v * 3).sum()
loss.backward()
""",
        "detached",
        [4],
        "v = (w * 2).view(2, 2)",
    ),
    "a_part_of_the_loss": (
        "v",
        """\
import torch
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
fit = (w ** 2).sum()
total = fit + (v ** 2).sum()
fit.backward()
""",
        "no path",
        [3],
        "use v where fit is computed",
    ),
    "only_printed": (
        "v",
        """\
import torch
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
loss = (w ** 2).sum()
reg = (v ** 2).sum()
print(reg.item(), f"{float(reg):.2f}")
loss.backward()
""",
        "no path",
        [5],
        "use reg where loss is computed, or in a loss of its own",
    ),
    "required_too_late": (
        "w",
        """\
import torch
w = torch.ones(2)
h = w * 2
w.requires_grad_()
v = torch.ones(2, requires_grad=True)
loss = (h * v).sum()
loss.backward()
""",
        "no path",
        [4],
        "call w.requires_grad_() before it is used; or use w where loss is computed",
    ),
    "copied_by_torch_tensor": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
h = w * 2
h = torch.tensor(h)
loss = (h * v).sum()
loss.backward()
""",
        "detached",
        [5],
        "leave line 5 out",
    ),
    "on_several_lines": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
loss = torch.nn.functional.mse_loss(
    v,
    (w * 2).detach(),
)
loss.backward()
""",
        "detached",
        [6],
        "loss = torch.nn.functional.mse_loss(v, w * 2)",
    ),
    "by_pythons_math": (
        "w",
        """\
import math
import torch
w = torch.tensor(1.0, requires_grad=True)
v = torch.tensor(1.0, requires_grad=True)
loss = v * math.exp(w)
loss.backward()
""",
        "detached",
        [5],
        "loss = v * torch.exp(w)",
    ),
    "sum_of_items": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True)
total = 0
for i in range(3):
    total += ((w * i) ** 2).sum().item()
loss = torch.tensor(total, requires_grad=True)
loss.backward()
""",
        "detached",
        [5, 6],
        "total += ((w * i) ** 2).sum(); and then loss = total",
    ),
    "indices": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 3.0], requires_grad=True)
v = torch.ones(2, requires_grad=True)
top = (w * 2).topk(1).indices
loss = v[top].sum()
loss.backward()
""",
        "no derivative",
        [4],
        SMOOTHLY,
    ),
    "class_in_one_line": (
        "net.w",
        """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self): super().__init__(); self.w = torch.randn(2, 1)
    def forward(self, x): return x @ self.w
net = Net()
loss = net(torch.ones(4, 2)).sum()
loss.backward()
""",
        "frozen root",
        [8, 4],
        "self.w = nn.Parameter(torch.randn(2, 1))",
    ),
    "plain_class_in_one_line": (
        "net.b",
        """\
import torch
class Net:
    def __init__(self): self.w = torch.ones(2, 1, requires_grad=True); self.b = torch.zeros(1)
    def __call__(self, x): return x @ self.w + self.b
net = Net()
loss = net(torch.ones(4, 2)).sum()
loss.backward()
""",
        "frozen",
        [3],
        "self.b = torch.zeros(1, requires_grad=True)",
    ),
    "leaf_behind_in_one_line": (
        "net.w",
        """\
import torch
class Net:
    def __init__(self): self.w = torch.randn(2, 1, requires_grad=True) * 0.1
    def __call__(self, x): return x @ self.w
net = Net()
loss = net(torch.ones(4, 2)).sum()
loss.backward()
""",
        "not a leaf: the leaf has no name",
        [3],
        "self.w = (torch.randn(2, 1) * 0.1).requires_grad_()",
    ),
    "detached_in_one_line": (
        "w",
        """\
import torch
w = torch.ones(2, requires_grad=True); v = torch.ones(2, requires_grad=True)
h = (w * 2).detach(); loss = (h * v).sum()
loss.backward()
""",
        "detached",
        [3],
        "h = w * 2",
    ),
    "multiplied_parameter": (
        "net.w",
        """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2)) * 0.1
    def forward(self, x):
        return x * self.w
net = Net()
loss = net(torch.ones(2)).sum()
loss.backward()
""",
        "not a leaf: the leaf has no name",
        [6],
        "self.w = nn.Parameter(torch.ones(2) * 0.1)",
    ),
    "leaf_behind_in_a_list": (
        "ws[0]",
        """\
import torch
ws, x = [], torch.ones(2)
for i in range(2):
    ws.append(torch.ones(2, 2, requires_grad=True) * 0.1)
for w in ws:
    x = torch.tanh(w @ x)
x.sum().backward()
""",
        "not a leaf: the leaf has no name",
        [4],
        "ws.append((torch.ones(2, 2) * 0.1).requires_grad_())",
    ),
    "item_of_a_dictionary_that_an_update_gives_to_a_new_tensor": (
        "params['w']",
        """\
import torch
params = {"w": torch.ones(2, requires_grad=True)}
loss = (params["w"] ** 2).sum()
loss.backward()
params["w"] = params["w"] - 0.1 * params["w"].grad
""",
        "overwritten",
        [5],
        "with torch.no_grad(): params['w'] -= 0.1 * params['w'].grad",
    ),
    "leaf_whose_name_another_tensor_has": (
        "w (1st)",
        """\
import torch
w = torch.ones(2, requires_grad=True)
for i in range(2):
    loss = (w * 3).sum()
    loss.backward()
    w = w * 2
""",
        "accumulated",
        [5],
        "set its .grad to None before each backward(); unless the sum is what you want",
    ),
    "two_numbers_in_one_list": (
        "x",
        """import torch
x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2, requires_grad=True)
y = torch.stack([torch.tensor(x[0] ** 2), torch.tensor(x[1] * 3)])
(w * y).sum().backward()
""",
        "detached",
        [3],
        "y = torch.stack([x[0] ** 2, x[1] * 3])",
    ),
    "norm_at_its_anchor": (
        "w",
        """import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
anchor = w.detach().clone()
loss = 0.1 * (w - anchor).norm()
loss.backward()
""",
        "zero",
        [4],
        "none, since loss is 0, and never less",
    ),
    "norm_at_its_anchor_beside_a_loss": (
        "w",
        """import torch
w, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2, requires_grad=True)
anchor = w.detach().clone()
loss = 0.1 * (w - anchor).norm() + v.sum()
loss.backward()
""",
        "zero",
        [4],
        "its input is 0, where a norm has the slope 0: see what makes it so, such as a tensor less its own copy",
    ),
    "only_the_loss_is_nan": (
        "w",
        """\
import torch
w = torch.tensor([1.0, -1.0], requires_grad=True)
loss = (w * 2).sum() + float("nan")
loss.backward()
""",
        "ok",
        [4],
        "",
    ),
    "nan_of_the_loss_itself": (
        "loss",
        """\
import torch
w = torch.tensor([1.0, -1.0], requires_grad=True)
loss = torch.log(w).sum()
loss.backward()
""",
        "nan",
        [3],
        "log is infinite at 0, and nan below: keep its input above 0, as w.clamp(min=1e-6) does, whose slope is 0 there",
    ),
    "made_infinite_by_hand": (
        "w",
        """\
import torch
w = torch.tensor(1.0, requires_grad=True)
loss = w * 2
loss.backward()
w.grad /= 0
""",
        "inf",
        [5],
        "write finite numbers into w.grad; or leave line 5 out",
    ),
    "own_backward_of_nan": (
        "w",
        """\
import torch
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * float("nan")
w = torch.ones(2, requires_grad=True)
y = Own.apply(w)
y.sum().backward()
""",
        "nan",
        [10, 8],
        "look at what it returns",
    ),
    "passes_that_cancel": (
        "w",
        """\
import torch
w = torch.ones(1100, 1000, requires_grad=True)
one = (w * 2).sum()
one.backward()
two = (w * -2).sum()
two.backward()
""",
        "zero",
        [6],
        "call zero_grad(), or w.grad = None, before each backward(); unless the sum is what you want",
    ),
    "of_another_backward": (
        "g.weight",
        """\
import torch
from torch import nn
g, d = nn.Linear(2, 2), nn.Linear(2, 1)
z = torch.ones(3, 2)
one = -d(g(z)).mean()
one.backward()
two = d(g(z).detach()).mean()
two.backward()
""",
        "ok",
        [6, 7],
        "none, unless two is to train it: two = d(g(z)).mean()",
    ),
    "cleared_before_another_backward": (
        "u",
        """\
import torch
w, u = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w, u], lr=0.1)
one = (w * u).sum()
one.backward()
opt.step()
opt.zero_grad()
two = (w * 3).sum()
two.backward()
""",
        "cleared",
        [7],
        "",
    ),
    "a_sum_of_softmax": (
        "w",
        """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
p = torch.softmax(w, 0)
p.sum().backward()
""",
        "zero",
        [3],
        (
            "softmax sums to 1 whatever its input is, and is flat for inputs far apart: use log_softmax, smaller inputs, or"
            " only the elements of the right classes"
        ),
    ),
    "drawn_and_not_run": (
        "w",
        """\
import torch
from torchviz import make_dot
w = torch.tensor(1.0, requires_grad=True)
loss = w * 2
make_dot(loss)
""",
        "backward not run",
        [3, 4],
        "loss.backward()",
    ),
    "a_large_layer": (
        "net.weight",
        """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(1200, 1000)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
loss = net(torch.ones(2, 1200)).pow(2).mean()
loss.backward()
opt.step()
""",
        "ok",
        [7],
        "",
    ),
}
"""Of each: the tensor, the program, the verdict, the lines that are named, and the mend."""


def graph_of(folder: Path, program: str, engine: str = "gviz", roots: tuple[str, ...] = ()) -> Any:
    if engine == "torch":
        pytest.importorskip("torch")
    (folder / "train.py").write_text(program)
    options = SourceOptions(diagnose=True, engine=engine, roots=roots)
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
    "copied_by_torch_tensor": "h = torch.tensor(h)",
    "by_pythons_math": "loss = v * math.exp(w)",
    "class_in_one_line": "self.w = torch.randn(2, 1)",
    "plain_class_in_one_line": "self.b = torch.zeros(1)",
    "leaf_behind_in_one_line": "self.w = torch.randn(2, 1, requires_grad=True) * 0.1",
    "detached_in_one_line": "h = (w * 2).detach()",
    "multiplied_parameter": "self.w = nn.Parameter(torch.ones(2)) * 0.1",
}


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")
@pytest.mark.parametrize("case", MENDED)
def test_the_mend_mends(tmp_path: Path, case: str) -> None:
    name, program, _, _, mend = CASES[case]
    assert program.count(MENDED[case]) == 1
    mended = program.replace(MENDED[case], "" if mend.startswith("leave line ") else mend.partition(", or ")[0])
    cause = why(graph_of(tmp_path, mended), name)
    assert cause.verdict == "ok", cause
    assert not cause.is_wrong


CUT_VERDICTS = {"detached", "no_grad", "no derivative", "false cure", "frozen root", "no path"}


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_table_of_causes_proposes_in_code_brings_a_gradient(tmp_path: Path, engine: str) -> None:
    tried = []
    for case, (name, program, verdict, _, mend) in CASES.items():
        if verdict not in CUT_VERDICTS or not all(map(is_code, parts_of_mend(mend))):
            continue
        cause = why(graph_of(tmp_path, program, engine), name)
        assert has_gradient(graph_of(tmp_path, mended(program, cause, mend), engine), name), (case, mend)
        tried.append(case)
    assert len(tried) > 10, tried


@pytest.mark.parametrize(
    ("source", "name", "verdict", "phrase"),
    [
        ("y = relu(x)*w", "x", "zero", "relu in line 1 has the derivative 0 at a negative input (x = -1)"),
        ("y = relu(x)*w", "w", "zero", "the derivative of * in line 1 for w is 0 here"),
        ("y = sum(tensor([1, -1])*w)", "w", "zero", "* in line 1 hands on 0 to w: what comes to it cancels out there"),
        ("y = sum(stack([x, -x])/w)", "w", "zero", "/ in line 1 hands on 0 to w: what comes to it cancels out there"),
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


@pytest.mark.parametrize(
    ("count", "end"),
    [(3, "(its input = -3)"), (4, "(its input = -3), and 1 more"), (5, "(its input = -3), and 2 more")],
)
def test_of_many_operations_that_give_0_three_are_named_and_the_others_counted(count: int, end: str) -> None:
    text = "y=relu(x)" + "".join(f"+relu(x*{factor})" for factor in range(2, count + 1))
    graph = package.read(text, SourceOptions(values={"x": -1}, diagnose=True)).graph
    assert why(graph, "x").what.endswith(end)


def test_operations_of_which_the_same_is_said_are_told_once_and_not_counted(tmp_path: Path) -> None:
    program = (
        "import torch\nx = torch.ones(3, 1, requires_grad=True)\nloss = torch.zeros(())\nfor k in range(1, 6):\n"
        "    loss = loss + (torch.softmax(k * x, 1) * k).sum()\nloss.backward()\n"
    )
    what = why(graph_of(tmp_path, program), "x").what
    assert what.startswith("the gradient of x is 0: softmax in line 5 hands on 0")
    assert " more" not in what


def test_a_program_that_stops_before_backward_has_that_as_the_cause(tmp_path: Path) -> None:
    head = "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\ny = w * 2\n"
    cause = why(graph_of(tmp_path, head + "z = y.reshape(3)\n"), "w")
    assert (cause.verdict, [str(place) for place, _ in cause.lines]) == ("failed", ["line 4"])
    assert "shape '[3]' is invalid for input of size 2" in cause.what
    later = why(graph_of(tmp_path, head + "y.sum().backward()\nz = y.reshape(3)\n"), "w")
    assert later.verdict == "ok"


PAIR = {"w": [1, 2], "x": [1, 2], "v": [1, 3]}

EXPRESSIONS: dict[str, tuple[str, str, dict[str, Any], str, str, str]] = {
    "frozen": ("x", "y = w*x", {"frozen": "x"}, "frozen", "", "leave x out of --frozen"),
    "nothing_requires": ("w", "y = w*x", {"frozen": ("w", "x")}, "frozen root", "", "leave w out of --frozen"),
    "integer": (
        "n", "n = torch.tensor([1,2]); y = (w*n).sum()", {"values": PAIR},
        "integer", "n = torch.tensor([1,2])", "write floating-point numbers, or n.float()",
    ),
    "not_retained": ("h", "h = w*3; y = h**2", {}, "not a leaf", "h = w*3", "--retain h"),
    "retained": ("h", "h = w*3; y = h**2", {"retain": "h"}, "ok", "", ""),
    "detached": ("x", "y=w*x.detach()", {}, "detached", "y=w*x.detach()", "y = w * x"),
    "detached_between": (
        "w", "h = tanh(w); d = h.detach()*2; y = d*v", {}, "detached", "d = h.detach()*2", "d = h * 2",
    ),
    "detached_on_line_2": ("x", "z = x*3\ny = w*z.detach()", {}, "detached", "y = w*z.detach()", "y = w * z"),
    "item": ("x", "y = w*x.item()", {}, "detached", "y = w*x.item()", "y = w * x"),
    "copied": ("x", "y = w*torch.tensor(x)", {}, "detached", "y = w*torch.tensor(x)", "y = w * x"),
    "listed": (
        "w", "out = torch.tensor([w[0]*2, w[1]*3]); y = (out*x).sum()", {"values": PAIR},
        "detached", "out = torch.tensor([w[0]*2, w[1]*3])", "out = torch.hstack([w[0] * 2, w[1] * 3])",
    ),
    "no_path": ("x", "z=x*3; y=w*2", {}, "no path", "z=x*3", "use z where y is computed, or in a loss of its own"),
    "watched_copy": ("w", "s = w.detach(); y = b*2", {}, "no path", "", "use w where y is computed"),
    "no_derivative": (
        "w", "k = w.argmax(); y = k*x", {},
        "no derivative", "k = w.argmax()", SMOOTHLY,
    ),
    "compared": (
        "x", "y = w*(x>0)", {},
        "no derivative", "y = w*(x>0)", SMOOTHLY,
    ),
    "no_graph": (
        "w", "p = (w*x).argmax(); y = (p-1.0)**2", {"values": PAIR},
        "no derivative", "p = (w*x).argmax()", SMOOTHLY,
    ),
    "no_graph_of_a_copy": ("w", "y = (w*2).detach()", {}, "detached", "y = (w*2).detach()", "y = w * 2"),
    "zero": (
        "w", "h = w*3; y = relu(h)", {"values": {"w": -1}},
        "zero", "y = relu(h)", "give it inputs above 0, or use a function such as leaky_relu or softplus",
    ),
    "cancels": ("w", "y = w - w", {}, "zero", "y = w - w", "gviz explain SOURCE --wrt w shows the paths"),
    "not_run": ("w", "y = w*3", {"backward": False}, "backward not run", "", "leave out --no-backward"),
    "not_scalar": (
        "w", "y = w*3", {"values": {"w": [1, 2]}},
        "failed", "", "--grad-output ones, or a scalar as the root, as .sum() makes it",
    ),
    "started": ("w", "y = w*3", {"values": {"w": [1, 2]}, "grad_output": "ones"}, "ok", "", ""),
    "where": (
        "x", "y = where(x > 0, sqrt(x), zeros(2)).sum()", {"values": {"x": [0, 4]}},
        "nan", "y = where(x > 0, sqrt(x), zeros(2)).sum()",
        "give sqrt harmless inputs where they are not picked, by a torch.where before it: one behind is too late",
    ),
    "nan_forward": (
        "w", "h = log(w); y = (h**2).sum()", {"values": {"w": [1, -2]}},
        "nan", "h = log(w)",
        "log is infinite at 0, and nan below: keep its input above 0, as w.clamp(min=1e-6) does, whose slope is 0 there",
    ),
    "nan_backward": (
        "w", "h = sqrt(w*w); y = h.sum()", {"values": {"w": [0, 1]}},
        "nan", "h = sqrt(w*w)",
        "keep the input of sqrt away from where its derivative is infinite: add a small number, or clamp it",
    ),
    "softmax": (
        "w", "p = exp(w)/exp(w).sum(); y = -log(p[1])", {"values": {"w": [100, 1]}},
        "nan", "p = exp(w)/exp(w).sum()",
        EXP,
    ),
    "nan_data": ("w", "y = (w*x).sum()", {"values": {"w": [1, 2], "x": "[nan, 1]"}}, "nan", "", "look at the data"),
    "only_the_root_is_nan": ("w", "y = w*2 + x.detach()", {"values": {"x": "nan"}}, "ok", "", ""),
    "fine": ("w", "y = (w*2).sum()", {"values": PAIR}, "ok", "", ""),
    "not_overwritten": ("w", "h = w*3; h = h+1; y = h.sum()", {"values": PAIR}, "ok", "", ""),
}  # fmt: skip
"""The cases of scripts as expressions: the tensor, the expression, options, the verdict, the statement, and the mend."""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("case", EXPRESSIONS)
def test_an_expression_gets_the_answer_of_a_script(case: str) -> None:
    name, source, options, verdict, statement, mend = EXPRESSIONS[case]
    cause = why(package.read(source, SourceOptions(diagnose=True, **options)).graph, name)
    assert (cause.verdict, cause.mend) == (verdict, mend)
    assert [code for _, code in cause.lines] == ([statement] if statement else [])


LAYER = """\
import numpy as np
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.main, self.aux = nn.Linear(2, 2), nn.Linear(2, 2)
    def forward(self, x):
        h = self.main(x)
        {}
        return h + a
model = Model()
loss = model(torch.ones(3, 2)).sum()
loss.backward()
"""

CUTS = {
    "a = self.aux(h).detach()": ("detached", "detach()"),
    "a = self.aux(h).data": ("detached", ".data"),
    "a = self.aux(h).sum().item()": ("detached", "item()"),
    "a = float(self.aux(h).sum())": ("detached", "float()"),
    "a = torch.tensor(self.aux(h))": ("detached", "tensor()"),
    "a = torch.tensor(self.aux(h).tolist())": ("detached", "tolist()"),
    "a = torch.from_numpy(np.tanh(self.aux(h).detach().numpy()))": ("detached", "detach()"),
    "with torch.no_grad(): a = self.aux(h)": ("no_grad", "torch.no_grad()"),
    "a = self.aux(h).argmax(1, keepdim=True)": ("no derivative", "argmax()"),
    "a = self.aux(h).long()": ("no derivative", "long()"),
    "a = (self.aux(h) > 0).float()": ("no derivative", "> has"),
    "a = torch.zeros(3, 2); a[0] = self.aux(h)[0].detach()": ("detached", "detach()"),
}


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", CUTS)
def test_the_line_that_cuts_off_what_a_layer_makes_is_named(tmp_path: Path, line: str, engine: str) -> None:
    verdict, phrase = CUTS[line]
    cause = why(graph_of(tmp_path, LAYER.format(line), engine), "model.aux.weight")
    assert (cause.verdict, [code for _, code in cause.lines]) == (verdict, [line])
    assert phrase in cause.what


HOLDER = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {line}
        self.out = nn.Linear(2, 2)
    def forward(self, x):
        return self.out(x){use}
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    opt.zero_grad()
    loss = net(torch.ones(4, 2)).pow(2).mean()
    loss.backward()
    opt.step()
"""

HELD = {
    "self.w = torch.ones(2)": (" * self.w", "net.w", "frozen", "self.w = nn.Parameter(torch.ones(2))", "net.w"),
    "self.w = torch.ones(2, requires_grad=True)": (
        " * self.w", "net.w", "no parameter", "self.w = nn.Parameter(torch.ones(2))", "net.w",
    ),
    "self.layers = [nn.Linear(2, 2), nn.Tanh()]": (
        " + self.layers[0](x)", "net.layers[0].bias", "no parameter",
        "self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Tanh()])", "net.layers.0.bias",
    ),
    "self.layers = []; self.layers.append(nn.Linear(2, 2))": (
        " + self.layers[0](x)", "net.layers[0].bias", "no parameter", "self.layers = nn.ModuleList()", "net.layers.0.bias",
    ),
    "self.heads = {'a': nn.Linear(2, 2)}": (
        " + self.heads['a'](x)", "net.heads['a'].bias", "no parameter",
        "self.heads = nn.ModuleDict({'a': nn.Linear(2, 2)})", "net.heads.a.bias",
    ),
    "self.ws = [nn.Parameter(torch.ones(2))]": (
        " * self.ws[0]", "net.ws[0]", "no parameter",
        "self.ws = nn.ParameterList([nn.Parameter(torch.ones(2))])", "net.ws.0",
    ),
}  # fmt: skip
"""Of each line: how it is used, the tensor, the verdict, the mend, and the tensor's name afterwards."""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", HELD)
def test_what_a_module_holds_and_does_not_list_is_made_a_parameter(tmp_path: Path, line: str, engine: str) -> None:
    use, name, verdict, mend, after = HELD[line]
    cause = why(graph_of(tmp_path, HOLDER.format(line=line, use=use), engine), name)
    assert (cause.verdict, cause.mend) == (verdict, mend)
    assert [(str(place), code) for place, code in cause.lines] == [("line 6", line)]
    mended = HOLDER.format(line="; ".join([mend, *line.split("; ")[1:]]), use=use)
    assert why(graph_of(tmp_path, mended, engine), after).verdict == "ok"


SOUND = {
    "an optimizer of its own": "opt = torch.optim.SGD([*net.parameters(), net.w], lr=0.1)",
    "a write in place": "opt = torch.optim.SGD(net.parameters(), lr=0.1)",
}


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")
@pytest.mark.parametrize("how", SOUND)
def test_what_a_program_trains_by_itself_needs_no_parameter(tmp_path: Path, how: str) -> None:
    line, use, *_ = "self.w = torch.ones(2, requires_grad=True)", " * self.w"
    program = HOLDER.format(line=line, use=use).replace(SOUND["a write in place"], SOUND[how])
    program = program.replace("opt.zero_grad()", "opt.zero_grad(); net.w.grad = None")
    if "write" in how:
        program += "    with torch.no_grad(): net.w -= 0.1 * net.w.grad\n"
    assert why(graph_of(tmp_path, program), "net.w").verdict == "ok"


def test_a_module_within_a_module_is_looked_through(tmp_path: Path) -> None:
    program = HOLDER.format(line="self.w = torch.ones(2)", use=" * self.w")
    program = program.replace("opt =", "net = nn.Sequential(net)\nopt =")
    cause = why(graph_of(tmp_path, program), "net.0.w")
    assert (cause.mend, str(cause.lines[0][0])) == ("self.w = nn.Parameter(torch.ones(2))", "line 6")


def test_a_class_of_another_file_is_named_with_its_line(tmp_path: Path) -> None:
    head, _, tail = HOLDER.format(line="self.w = torch.ones(2)", use=" * self.w").partition("net = Net()")
    (tmp_path / "model.py").write_text(head)
    program = f"import torch\nfrom model import Net\nnet = Net(){tail}"
    cause = why(graph_of(tmp_path, program), "net.w")
    assert [code for _, code in cause.lines] == ["self.w = torch.ones(2)"]
    assert str(cause.lines[0][0]).endswith("model.py:6")
    assert cause.mend == "self.w = torch.nn.Parameter(torch.ones(2))"


TWO = """\
import torch
w = torch.tensor(1.0, requires_grad=True)
u = torch.tensor(-1.0, requires_grad=True)
one = (w * 2) ** 2 + torch.relu(u)
one.backward()
v = torch.tensor(1.0, requires_grad=True)
two = (w * 3 + v) ** 2
two.backward()
"""


@pytest.mark.parametrize(
    ("roots", "verdicts"),
    [
        (("one",), {"w": "ok", "u": "zero", "v": "no path"}),
        (("two",), {"w": "accumulated", "u": "zero", "v": "ok"}),
        (("one", "two"), {"w": "accumulated", "u": "zero", "v": "ok"}),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_each_root_has_its_own_backward(
    tmp_path: Path, engine: str, roots: tuple[str, ...], verdicts: dict[str, str]
) -> None:
    graph = graph_of(tmp_path, TWO, engine, roots)
    assert {cause.name: cause.verdict for cause in why_all(graph)} == verdicts
    assert {name: why(graph, name).verdict for name in verdicts} == verdicts


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("after", ["", "w.grad.zero_()\n"])
def test_a_gradient_of_another_root_is_no_answer_for_the_one_that_is_asked_for(
    tmp_path: Path, after: str, engine: str
) -> None:
    program = f"""\
import torch
w = torch.tensor(3.0, requires_grad=True)
loss = (w * 2 - 1) ** 2
loss.backward()
{after}val = (w * 2 + 1) ** 2
"""
    drawn = graph_of(tmp_path, program, engine, roots=("val",))
    cause = why(drawn, "w")
    assert (cause.verdict, cause.lines, cause.mend) == (
        "backward not run", ((Place(4), "loss.backward()"),), "val.backward(), which adds to what w.grad has",
    )  # fmt: skip
    assert cause.what == "backward has not run on val: the gradient that w has had is of loss"
    assert "cleared" not in str(render(drawn, "txt"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cleared_gradient_of_another_root_is_not_said_to_be_of_no_backward(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
for i in range(2):
    loss = (w * 2 - 1) ** 2
    (loss / 2).backward()
    opt.step()
    opt.zero_grad()
"""
    cause = why(graph_of(tmp_path, program, engine, roots=("loss",)), "w")
    assert cause.what == "backward has not run on loss: the gradient that w has had is of another backward"
    assert cause.lines == ((Place(6), "(loss / 2).backward()"),)
    assert not cause.is_wrong  # loss is a part of what backward has run on
    assert cause.mend == (
        "none, if it is enough that loss has a part in it; else torch.autograd.grad(loss, w, retain_graph=True) before"
        " line 6, which gives the gradient of loss alone"
    )


PARTS = """\
import torch
from torch import nn
net, aux = nn.Linear(3, 2), nn.Linear(2, 2)
opt = torch.optim.Adam([*net.parameters(), *aux.parameters()])
for step in range(2):
    h = net(torch.ones(4, 3))
    main = h.pow(2).mean()
    side = aux(h).pow(2).mean()
    extra = h.abs().sum()
    loss = main + side
    {}
    loss.backward()
    opt.step()
    {}
cut = (h @ aux.weight.detach()).sum()
"""
BESIDE = "main is not made from aux.weight: there is no path between them"
IN_PART = (
    "none, if it is enough that main has a part in it; else torch.autograd.grad(main, net.weight, retain_graph=True)"
    " before line 12, which gives the gradient of main alone"
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("calls", [("opt.zero_grad()", ""), ("", "opt.zero_grad()"), ("", "net.weight.grad = None")])
def test_of_a_root_that_is_asked_for_the_answer_is_about_its_own_graph_wherever_gradients_are_cleared(
    tmp_path: Path, calls: tuple[str, str], engine: str
) -> None:
    program = PARTS.format(*calls)
    causes = {one.name: one for one in why_all(graph_of(tmp_path, program, engine, roots=("main",)))}
    assert (causes["aux.weight"].verdict, causes["aux.weight"].what) == ("no path", BESIDE)
    assert (
        causes["aux.weight"].mend == "none, if another root is to train it; else use aux.weight where main is computed"
    )
    assert (causes["net.weight"].verdict, causes["net.weight"].mend) == ("backward not run", IN_PART)
    assert causes["net.weight"].what.endswith("the gradient that net.weight has had is of loss")
    extra = {one.name: one for one in why_all(graph_of(tmp_path, program, engine, roots=("extra",)))}
    assert (extra["net.weight"].verdict, extra["net.weight"].is_wrong) == ("backward not run", True)
    assert extra["net.weight"].mend == (
        "one backward() on the sum of loss and extra; or the first with retain_graph=True, and then extra.backward()"
    )
    assert (extra["aux.weight"].verdict, extra["aux.weight"].is_wrong) == ("no path", False)
    cut = why(graph_of(tmp_path, program, engine, roots=("cut",)), "aux.weight")
    assert (cut.verdict, cut.mend) == (
        "detached", "none, if another root is to train it; else cut = (h @ aux.weight).sum()",
    )  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_of_an_earlier_root_than_the_last_is_one_though_the_last_has_brought_its_leaves_gradients(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
judge, maker, z = nn.Linear(2, 1), nn.Linear(2, 2), torch.ones(3, 2)
real = judge(z).pow(2).mean()
fake = judge(maker(z).detach()).mean()
total = real + fake
total.backward()
last = judge(maker(z)).mean()
last.backward()
"""
    cause = why(graph_of(tmp_path, program, engine, roots=("real",)), "judge.weight")
    assert (cause.verdict, cause.is_meant) == ("backward not run", True)
    assert cause.what == "backward has not run on real: the gradient that judge.weight has had is of total"
    assert [place.line for place, _ in cause.lines] == [7]
    assert why(graph_of(tmp_path, program, engine, roots=("real",)), "maker.weight").verdict == "no path"


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("root", "beside"), [("side", "att"), ("main", "aux")])
def test_a_leaf_that_is_not_in_a_part_of_a_root_whose_backward_fails_has_no_path_to_that(
    tmp_path: Path, root: str, beside: str, engine: str
) -> None:
    program = """\
import torch
from torch import nn
att, aux, x = nn.Linear(3, 4), nn.Linear(3, 2), torch.ones(5, 3)
a = att(x).softmax(-1)
b = a.log()
a.mul_(2)
main = b.mean()
side = aux(x).pow(2).mean()
loss = main + side
loss.backward()
"""
    drawn = graph_of(tmp_path, program, engine, roots=(root,))
    assert why(drawn, f"{beside}.weight").verdict == "no path"
    assert why(drawn, f"{'aux' if beside == 'att' else 'att'}.weight").verdict == "written in place"


@pytest.mark.parametrize("engine", ENGINES)
def test_statistics_of_a_loss_are_not_named_as_the_way_to_a_part_that_a_leaf_has_no_part_in(
    tmp_path: Path, engine: str
) -> None:
    program = """\
import torch
from torch import nn
a, b, x = nn.Linear(3, 1), nn.Linear(3, 1), torch.randn(4, 3)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
total = 0.0
for i in range(2):
    l2 = b.weight.pow(2).sum()
    loss = (a(x) - b(x)).pow(2).mean() + 0.1 * l2
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss.item()
"""
    cause = why(graph_of(tmp_path, program, engine, roots=("l2",)), "a.weight")
    assert (cause.verdict, cause.what, cause.is_wrong) == (
        "no path",
        "l2 is not made from a.weight: there is no path between them",
        False,
    )


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("calls", "root", "is_meant", "mend"),
    [
        (
            "(a + 0.1 * b).backward()",
            "b",
            True,
            (
                "none, if it is enough that b has a part in it; else torch.autograd.grad(b, w, retain_graph=True) before line 6,"
                " which gives the gradient of b alone"
            ),
        ),
        (
            "(a + 0.1 * b).backward()",
            "h",
            True,
            (
                "none, if it is enough that h has a part in it; else torch.autograd.grad(h.sum(), w, retain_graph=True) before"
                " line 6, which gives the gradient of h.sum() alone"
            ),
        ),
        (
            "a.backward()",
            "b",
            False,
            "one backward() on the sum of a and b; or the first with retain_graph=True, and then b.backward()",
        ),
        ("a.backward(retain_graph=True)", "b", False, "b.backward(), which adds to what w.grad has"),
    ],
)
def test_no_second_backward_is_advised_on_a_part_of_a_loss_or_on_what_another_has_freed(
    tmp_path: Path, engine: str, calls: str, root: str, mend: str, *, is_meant: bool
) -> None:
    program = f"""\
import torch
w = torch.tensor([3.0, 2.0], requires_grad=True)
h = torch.exp(w)
a = (h ** 2).sum()
b = (h * 3).sum()
{calls}
"""
    cause = why(graph_of(tmp_path, program, engine, roots=(root,)), "w")
    assert (cause.verdict, cause.is_meant, cause.mend) == ("backward not run", is_meant, mend)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("body = net[0].requires_grad_(False).eval()", "body = net[0].requires_grad_().eval()"),
        (
            "body, own = net[0], [one.requires_grad_(False) for one in net[0].parameters()]",
            "body, own = (net[0], [one.requires_grad_() for one in net[0].parameters()])",
        ),
        ("body = net[0]; body.requires_grad_(False)", "leave body.requires_grad_(False) out"),
        (
            "def freeze(net): net.requires_grad_(False); return net\nbody = freeze(net[0])",
            "leave net.requires_grad_(False) out",
        ),
        ("body = net[0]\nif body.training:\n    body.requires_grad_(False)", "leave the lines 4 and 5 out"),
        (
            "body = net[0]\nif body.training:\n    body.requires_grad_(False)\nelse:\n    body.requires_grad_(True)",
            "write pass in place of line 5",
        ),
        (
            (
                "def set_grad(net, flag):\n    for one in net.parameters():\n        one.requires_grad = flag\n"
                "body = net[0]; set_grad(body, False)"
            ),
            "write pass in place of the lines 4 and 5",
        ),
    ],
)
def test_nothing_is_to_be_left_out_that_what_follows_needs(tmp_path: Path, engine: str, line: str, mend: str) -> None:
    program = f"""\
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
{line}
opt = torch.optim.SGD(net.parameters(), 0.1)
loss = net[1](body(torch.ones(2))).sum()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "net.0.weight")
    assert (cause.verdict, cause.mend.partition("; or, for")[0]) == ("frozen", mend)


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("scale", "lines", "mend"),
    [
        ("logp.mean().item()", [6, 5], "gviz why SOURCE logp --root logp tells where that of logp began"),
        ("0.5 / float(logp.sum())", [6, 5], "gviz why SOURCE logp --root logp tells where that of logp began"),
        ("float((x - 9).log().mean())", [6], "see what makes that number"),
    ],
)
def test_an_operation_does_not_make_the_nan_that_a_number_has_brought(
    tmp_path: Path, engine: str, scale: str, lines: list[int], mend: str
) -> None:
    program = f"""\
import torch
w, x = torch.ones(2, requires_grad=True), torch.ones(2)
logp = (w - 5).log()
y = (w * x).sum()
scale = {scale}
loss = y * scale
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert cause.what == "w.grad is nan: what * is given is not finite"
    assert ([place.line for place, _ in cause.lines], cause.mend) == (lines, mend)


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        ("def total():\n    return main() + 0.1 * w.pow(2).sum().item()\n", True),
        ("def total():\n    part = float(w.pow(2).sum())\n    return main() - part\n", True),
        ("def part():\n    return w.pow(2).sum().item()\ndef total():\n    return main() + part() / 2\n", True),
        ("def both():\n    return main(), w.sum().item()\ndef total():\n    a, b = both()\n    return a + b\n", True),
        (
            "class Part:\n    def of(self):\n        return w.sum().item()\ndef total():\n    return main() + Part().of()\n",
            True,
        ),
        (
            "def both():\n    return main() * rate, rate * w.sum().item()\ndef total():\n    return both()[0] * 1\n",
            False,
        ),
        ("def total():\n    return {'a': main() * rate, 'b': rate * w.sum().item()}['a'] * 1\n", False),
        ("def total():\n    shown.append(w.sum().item())\n    return main() * rate\n", False),
        ("def total():\n    return main() * (1 if w.sum().item() > 0 else 2)\n", False),
    ],
)
def test_a_number_that_comes_into_the_root_within_a_function_is_told_as_at_the_end_of_one(
    tmp_path: Path, engine: str, body: str, *, is_told: bool
) -> None:
    program = f"""\
import torch
w, x, rate, shown = torch.ones(2, requires_grad=True), torch.ones(2), 0.5, []
def main():
    return (w * x - 2).pow(2).sum()
{body}loss = total()
loss.backward()
"""
    cause = why(graph_of(tmp_path, program, engine), "w")
    assert (cause.verdict, "on another way, which may be meant, none comes" in cause.what) == ("ok", is_told)


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_a_gradient_that_an_earlier_backward_has_spoiled_is_said_to_be(tmp_path: Path) -> None:
    program = TWO.replace("torch.relu(u)", "torch.log(u) * w")
    cause = why(graph_of(tmp_path, program, roots=("two",)), "w")
    assert (cause.verdict, cause.what) == ("nan", "w.grad was nan before this backward: an earlier one has left it")


def test_a_saved_graph_is_answered_as_well_as_it_tells(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, CASES["zero"][1])
    again = package.Graph.from_json(graph.to_json())
    assert why(again, "w") == why(graph, "w")


def test_a_name_that_is_not_there_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, CASES["taken_away"][1])
    with pytest.raises(SourceError, match="there is no tensor los") as refused:
        why(graph, "los")
    assert refused.value.hint == "did you mean loss?"


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("total = 0.0\n", "total is no tensor at the end"),
        ("", "total is a variable of mean_of(), gone when that has returned"),
    ],
)
def test_a_variable_of_the_program_is_not_said_to_be_that_of_a_function(
    tmp_path: Path, program: str, hint: str
) -> None:
    function = "def mean_of(one):\n    total = one.sum()\n    return total / one.numel()\n"
    end = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = mean_of(w * w)\nloss.backward()\n"
    with pytest.raises(SourceError, match="there is no tensor total") as refused:
        why(graph_of(tmp_path, function + program + end), "total")
    assert refused.value.hint == hint


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parametrized_weight_is_said_to_be_computed_from_its_originals(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
net = nn.Sequential(weight_norm(nn.Linear(3, 4)), nn.Linear(4, 1))
loss = net(torch.ones(2, 3)).sum()
loss.backward()
"""
    with pytest.raises(SourceError, match="there is no tensor") as refused:
        why(graph_of(tmp_path, program, engine), "net.0.weight")
    originals = [f"net.0.parametrizations.weight.original{number}" for number in range(2)]
    assert refused.value.hint == f"net.0.weight is parametrized, and computed from {', '.join(originals)}"


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


TEACHER = """import torch
from torch import nn

teacher, student, x = nn.Linear(2, 2), nn.Linear(2, 2), torch.randn(3, 2)
target = {}
loss = ((student(x) - target) ** 2).mean()
loss.backward()
"""


@pytest.mark.parametrize(
    ("target", "verdict", "is_wrong"),
    [
        ("teacher(x).detach()", "not trained", False),
        ("teacher(student(x)).detach()", "detached", True),  # which cuts off the student as well
        ("teacher(x).sum().item()", "detached", True),
        ("nn.Parameter(teacher(x))", "detached", True),
    ],
)
def test_a_teacher_that_is_detached_as_a_whole_is_no_fault(
    tmp_path: Path, target: str, verdict: str, is_wrong: bool
) -> None:
    (tmp_path / "net.py").write_text(TEACHER.format(target))
    found = {
        cause.name: cause
        for cause in why_all(package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph)
    }
    cause = found["teacher.weight"]
    assert (cause.verdict, cause.is_wrong) == (verdict, is_wrong), cause
    assert [place.line for place, _ in cause.lines] == [5]


OPTIMIZERS = """import torch
from torch import nn

torch.manual_seed(0)
maker, judge = nn.Linear(2, 2), nn.Linear(2, 1)
judge.bias.requires_grad_(False)
optimizers = {}
for step in range(2):
    made = maker(torch.ones(3, 2))
    loss = judge({}).mean()
    for one in optimizers:
        one.zero_grad()
    loss.backward()
    for one in optimizers:
        one.step()
"""
BOTH = "[torch.optim.SGD(maker.parameters(), 0.1), torch.optim.Adam([judge.weight])]"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("program", "name", "answer"),
    [
        ((BOTH, "made.detach()"), "maker.weight", ("detached", "loss = judge(made).mean()")),
        (("[torch.optim.Adam([judge.weight])]", "made.detach()"), "maker.weight", ("not trained", "none, unless")),
        (
            ("[torch.optim.Adam([judge.weight])]", "made"),
            "maker.bias",
            ("not trained", "maker.bias.requires_grad_(False)"),
        ),
        (("[]", "made"), "maker.bias", ("accumulated", "maker.bias.grad = None before each backward()")),
        ((BOTH, "made"), "maker.bias", ("ok", "")),
    ],
)
@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_what_optimizers_have_is_to_be_trained(
    tmp_path: Path, engine: str, program: tuple[str, str], name: str, answer: tuple[str, str]
) -> None:
    cause = why(graph_of(tmp_path, OPTIMIZERS.format(*program), engine), name)
    assert cause.verdict == answer[0]
    assert cause.mend.startswith(answer[1]), cause


# ---------------------------------------------------------------- hooks, and passes that are asked for less
HOOKED = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
h = x * w
{}
y = (h - 1) ** 2
{}
"""

BY_HOOKS = {
    "zero": ("w.register_hook(lambda g: g * 0)", "w", "zero", 5, "a hook on w has made it so: 20 → 0"),
    "zero above": ("h.register_hook(torch.zeros_like)", "w", "zero", 5, "a hook on h has made it so: 10 → 0"),
    "nan": ("h.register_hook(lambda g: g * float('nan'))", "w", "nan", 5, "a hook on h has made it so: 10 → nan"),
    "after": (
        "w.register_post_accumulate_grad_hook(lambda p: [p.grad.zero_()] and None)",
        "w",
        "zero",
        5,
        "a hook on w has made it so: 20 → 0",
    ),
    "none": (
        "w.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', None))",
        "w",
        "cleared",
        5,
        "a hook, line 5, set .grad to None: 20 → None",
    ),
    "other": ("h.register_hook(lambda g: g * 2)", "w", "ok", 5, "hooks have changed on its way: at h 10 → 20"),
    "sound": ("h.register_hook(lambda g: None)", "w", "ok", 7, "which is finite and not 0"),
}


@pytest.mark.parametrize("case", BY_HOOKS)
def test_a_hook_is_named_with_its_line(tmp_path: Path, case: str) -> None:
    code, name, verdict, line, what = BY_HOOKS[case]
    (tmp_path / "program.py").write_text(HOOKED.format(code, "y.backward()"))
    cause = why(package.read(tmp_path / "program.py", SourceOptions(diagnose=True)).graph, name)
    assert (cause.verdict, [place.line for place, _ in cause.lines]) == (verdict, [line])
    assert what in cause.what


@pytest.mark.parametrize(
    ("code", "mend"),
    [
        ("y.backward(inputs=[w])", "add x to inputs="),
        ("only = [w]; torch.autograd.backward(y, inputs=only)", "add x to inputs="),
        ("torch.autograd.grad(y, [w])", "add x to its inputs, or y.backward()"),
        ("torch.autograd.grad(y, w, allow_unused=True)", "add x to its inputs, or y.backward()"),
    ],
)
def test_what_a_pass_was_not_asked_for_is_told_with_its_line(tmp_path: Path, code: str, mend: str) -> None:
    (tmp_path / "program.py").write_text(HOOKED.format("", code))
    cause = why(package.read(tmp_path / "program.py", SourceOptions(diagnose=True)).graph, "x")
    assert (cause.verdict, [place.line for place, _ in cause.lines], cause.mend) == ("no gradient", [7], mend)
    assert "x is not among its inputs" in cause.what


def test_a_letter_of_gviz_s_is_said_to_be_one() -> None:
    reading = package.read("L=(w*x-t)**2", options=SourceOptions(diagnose=True))
    cause = why(reading.graph, "b")
    assert cause.what.startswith("the formula has no b, and gviz gives that name to (w * x) - t; b is not a leaf")


def test_a_name_is_found_as_it_was_typed() -> None:
    cause = why(package.read("y=w₁x₁+w₂x₂", options=SourceOptions(diagnose=True)).graph, "w₂")
    assert (cause.name, cause.verdict) == ("w_2", "ok")


@pytest.mark.parametrize(
    ("source", "values", "mend"),
    [
        ("y=1/(x*w)", {"x": 1e-30, "w": 1e-30}, "the divisor is 0: * gives it of numbers that are not"),
        ("y=1/(x*w)", {"x": 0, "w": 1}, "it is a division by 0: add a small number to the divisor"),
        ("y=w/x**2", {"x": 1e-20, "w": 1}, "the divisor is too small for its dtype"),
        ("y=1/(x*0)", {"x": 1}, "it is a division by 0: add a small number to the divisor"),
        ("y=log(1-x*w)", {"x": 1, "w": 1}, "keep its input above 0, as (1 - x * w).clamp(min=1e-6) does"),
        ("y=1/x**2", {"x": 1e-30}, "the divisor is 0: ** gives it of numbers that are not"),
        ("y=x/0", {"x": 1}, "it is a division by 0: add a small number to the divisor"),
        (
            "p=sigmoid(x); y=-log(1-p)",
            {"x": 40},
            "log is infinite at 0, and sigmoid is 0 or 1 here: use logsigmoid, or",
        ),
        ("y=log(sigmoid(x)-0.5)", {"x": 0}, "log is infinite at 0, and nan below: keep its input above 0"),
        ("y=log(x*w)", {"x": 0, "w": 1}, "as (x * w).clamp(min=1e-6) does, whose slope is 0 there"),
    ],
)
@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_a_0_that_is_a_rounded_number_is_no_0_of_the_formula(source: str, values: dict[str, float], mend: str) -> None:
    assert mend in why(package.read(source, SourceOptions(values=values, diagnose=True)).graph, "x").mend


UPDATES = {
    "net = {'a': L(2.0), 'b': L(0.5)}": ("net['a'].w * net['b'].w", "for l in net.values():\n    l.w = {}", "l.w"),
    "net = [[leaf(2.0)], [leaf(3.0)]]": (
        "net[0][0] * net[1][0]",
        "for part in net:\n    for i, w in enumerate(part):\n        part[i] = {}",
        "w",
    ),
    "net = {'a': {'w': leaf(2.0)}, 'b': {'w': leaf(3.0)}}": (
        "net['a']['w'] * net['b']['w']",
        "for part in net.values():\n    for name, t in part.items():\n        part[name] = {}",
        "t",
    ),
}


@pytest.mark.parametrize("made", UPDATES)
def test_a_parameter_that_an_update_makes_anew_is_a_new_leaf_wherever_it_is_held(made: str, tmp_path: Path) -> None:
    used, loop, old = UPDATES[made]
    update = loop.format(f"({old} - 0.1 * {old}.grad).detach().requires_grad_()")
    script = tmp_path / "net.py"
    script.write_text(
        "import torch\ndef leaf(x): return torch.tensor(x, requires_grad=True)\n"
        f"class L:\n    def __init__(self, x): self.w = leaf(x)\n{made}\nloss = {used}\nloss.backward()\n{update}\n"
    )
    graph = package.read(script, SourceOptions(diagnose=True), say=lambda _: None).graph
    assert {one.verdict for one in why_all(graph) if one.name.startswith("net")} == {"new leaf"}


@pytest.mark.parametrize("engine", ENGINES)
def test_no_line_is_to_be_left_out_for_what_was_frozen_while_it_was_used(tmp_path: Path, engine: str) -> None:
    lines = (
        "import torch",
        "net = torch.nn.Linear(2, 2)",
        "net.requires_grad_(False)",
        "loss = net(torch.ones(2)).sum()",
    )
    causes = why_all(graph_of(tmp_path, "\n".join((*lines, "net.requires_grad_(True)", "loss.backward()")), engine))
    mends = [one.mend.partition(";")[0] for one in causes if one.verdict == "no path"]
    assert mends == [f"call {one}.requires_grad_() before it is used" for one in ("net.weight", "net.bias")]


@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("dy, = torch.autograd.grad(y, x)", "dy, = torch.autograd.grad(y.sum(), x)"),
        ("(y * 2).backward()", "(y * 2).sum().backward()"),
        ("torch.autograd.backward(\n    [y, y * 2])", "torch.autograd.backward([y.sum(), (y * 2).sum()])"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_of_what_has_several_elements_the_sum_is_taken_by_the_name_that_the_line_has(
    tmp_path: Path, line: str, mend: str, engine: str
) -> None:
    head = "import torch\nx = torch.ones(3, requires_grad=True)\ny = x ** 2\n"
    (cause,) = (one for one in why_all(graph_of(tmp_path, head + line, engine)) if one.name == "x")
    assert (cause.verdict, cause.mend) == ("failed", mend)
    assert graph_of(tmp_path, head + mend, engine).stop is None


def test_the_leaf_that_a_new_one_has_taken_the_name_of_has_its_own_cause(tmp_path: Path) -> None:
    script = tmp_path / "net.py"
    script.write_text(
        "import torch\nw = torch.tensor(-1.0, requires_grad=True)\nfor _ in range(2):\n    loss = torch.relu(w) * 2\n"
        "    loss.backward()\n    w = (w - 0.1 * w.grad).detach().requires_grad_()\n"
    )
    graph = package.read(script, SourceOptions(diagnose=True), say=lambda _: None).graph
    old, new = why_all(graph)
    assert (old.name, new.name) == ("w (at backward)", "w")
    assert (new.verdict, old.verdict, [place.line for place, _ in old.lines]) == ("new leaf", "zero", [4])


def test_a_leaf_that_a_loop_writes_does_not_link_two_graphs(tmp_path: Path) -> None:
    script = tmp_path / "net.py"
    script.write_text(
        "import torch\nw = torch.tensor(1.0, requires_grad=True)\nreg = 0.1 * w**2\nfor _ in range(2):\n"
        "    loss = (w * 2 - 1) ** 2 + reg\n    loss.backward()\n    with torch.no_grad():\n        w -= 0.1 * w.grad\n"
    )
    graph = package.read(script, SourceOptions(diagnose=True), say=lambda _: None, rootless=True).graph
    (cause,) = why_all(graph)
    assert "reg, made in line 3, links the two" in cause.what
    assert cause.mend.startswith("compute reg anew before each backward()")


@pytest.mark.parametrize("divisor", ["torch.tensor([1.0, 0.0])", "torch.tensor([2, 0])", "(torch.ones(2) > 1).sum()"])
def test_a_divisor_that_is_plainly_0_is_not_too_small_for_its_dtype(divisor: str, tmp_path: Path) -> None:
    script = tmp_path / "net.py"
    script.write_text(
        "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        f"d = {divisor}\nloss = (w / d).sum()\nloss.backward()\n"
    )
    (cause,) = (
        one
        for one in why_all(package.read(script, SourceOptions(diagnose=True), say=lambda _: None).graph)
        if one.name == "w"
    )
    assert cause.mend == "it is a division by 0: add a small number to the divisor"


RENAMED = {
    "swap of a tensor and a number that is 0": (
        (
            "a = torch.tensor(2.0, requires_grad=True)\nb = torch.tensor(0.0, requires_grad=True)\nloss = a * b\nloss.backward()\n"
            "a, b = b, a\n"
        ),
        {"a": "ok", "b": "zero"},
    ),
    "best of a training": (
        (
            "import copy\nnet = torch.nn.Linear(1, 1, bias=False)\nfor _ in range(2):\n    loss = net(torch.ones(1)).sum()\n"
            "    loss.backward()\n    best = copy.deepcopy(net)\nnet = best\n"
        ),
        {"net.weight (at backward)": "accumulated", "net.weight": "new leaf"},
    ),
    "module of a list": (
        (
            "nets = []\nfor _ in range(2):\n    m = torch.nn.Linear(1, 1, bias=False)\n    nets.append(m)\n"
            "    m(torch.ones(1)).backward()\nm = torch.nn.Linear(1, 1, bias=False)\n"
        ),
        {"nets[0].weight": "ok", "nets[1].weight": "ok", "m.weight": "new leaf"},
    ),
    "new leaf by a function": (
        (
            "w = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\ndef f():\n    global w\n"
            "    w = torch.zeros(2, requires_grad=True)\nf()\n"
        ),
        {"w (at backward)": "ok", "w": "new leaf"},
    ),
}


@pytest.mark.parametrize("name", RENAMED)
def test_a_name_is_asked_about_as_what_has_it_now(name: str, tmp_path: Path) -> None:
    code, verdicts = RENAMED[name]
    (tmp_path / "net.py").write_text(f"import torch\n{code}")
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph
    causes = why_all(graph)
    assert {cause.name: cause.verdict for cause in causes} == verdicts
    assert not any("though" in cause.what or "has made it 0" in cause.what for cause in causes)


def test_of_several_names_that_a_line_gives_to_new_tensors_each_leaf_has_lost_its_own(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nws = {k: torch.tensor(2.0, requires_grad=True) for k in 'ab'}\nloss = ws['a'] * ws['b']\nloss.backward()\n"
        "ws = {k: (v - v.grad).detach().requires_grad_() for k, v in ws.items()}\n"
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph
    old = [cause for cause in why_all(graph) if "(at backward)" in cause.name]
    assert [cause.what.partition("gives the name ")[2] for cause in old] == [
        "ws['a'] to a new tensor",
        "ws['b'] to a new tensor",
    ]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("y = w * 2", "w"),
        ("y = w * 2\ng = torch.autograd.grad(y, w, torch.ones(2))", "w"),
        ("y = w * v\n(g,) = torch.autograd.grad(y, w, torch.ones(2))", "v"),
        ("y = w * 2\n(w * 3).sum().backward()", "w"),
    ],
)
def test_backward_of_several_elements_is_called_on_their_sum(code: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\nv = torch.ones(2, requires_grad=True)\n" + code
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True, roots=("y",)), say=lambda _: None).graph
    mend = why(graph, name).mend
    assert "y.sum().backward()" in mend
    assert "y.backward()" not in mend


LEAVES_OF_NOW = {
    "an attribute": (
        (
            "class A:\n    def __init__(self): self.w = torch.ones(2, requires_grad=True)\n"
            "a = A()\n(a.w * 2).sum().backward()\na.w = torch.zeros(2, requires_grad=True)\n"
        ),
        {"a.w": "new leaf"},
    ),
    "an attribute of a module": (
        "a = torch.nn.Linear(2, 1)\na(torch.ones(2)).sum().backward()\na.weight = torch.nn.Parameter(torch.zeros(1, 2))\n",
        {"a.weight": "new leaf"},
    ),
    "a list of results": (
        (
            "ws = [torch.ones(1, requires_grad=True) for _ in range(2)]\nfor _ in range(2):\n"
            "    loss = (ws[0] * ws[1]).sum()\n    loss.backward()\n    ws = [w - 0.1 * w.grad for w in ws]\n"
        ),
        {"ws[0]": "overwritten", "ws[1]": "overwritten"},
    ),
    "a list of leaves": (
        (
            "ws = [torch.ones(1, requires_grad=True) for _ in range(2)]\nfor _ in range(2):\n    loss = (ws[0] * ws[1]).sum()\n"
            "    loss.backward()\n    ws = [(w - 0.1 * w.grad).detach().requires_grad_() for w in ws]\n"
        ),
        {"ws[0]": "new leaf", "ws[1]": "new leaf"},
    ),
    "a running sum": (
        (
            "w, total = torch.ones(1, requires_grad=True), 0.0\nfor _ in range(2):\n    w.grad = None\n    loss = (w * 2).sum()\n"
            "    loss.backward()\n    total = total + loss\nprint(w.grad)\n"
        ),
        {"w": "ok"},
    ),
    "a momentum": (
        (
            "w, v = torch.ones(1, requires_grad=True), 0.0\nfor _ in range(2):\n    w.grad = None\n    loss = (w * 2).sum()\n"
            "    loss.backward()\n    v = 0.9 * v + w.grad\n    with torch.no_grad():\n        w -= 0.1 * v\n"
        ),
        {"v": "frozen", "w": "ok"},
    ),
    "a leaf beside a gradient that is read": (
        "w = torch.ones(1, requires_grad=True)\n(w * 2).sum().backward()\nprint(w.grad)\nv = torch.ones(1, requires_grad=True)\n",
        {"w": "ok", "v": "new leaf"},
    ),
}


@pytest.mark.parametrize("name", LEAVES_OF_NOW)
def test_a_name_is_no_longer_the_leaf_where_its_tensor_was_made_after_backward(name: str, tmp_path: Path) -> None:
    code, verdicts = LEAVES_OF_NOW[name]
    (tmp_path / "net.py").write_text(f"import torch\n{code}")
    graph = package.read(
        tmp_path / "net.py", SourceOptions(diagnose=True, on_error="draw"), say=lambda _: None, rootless=True
    ).graph
    causes = {cause.name: cause.verdict for cause in why_all(graph)}
    assert {name: verdict for name, verdict in causes.items() if name in verdicts} == verdicts
    assert not {"overwritten", "no path"} & {verdict for name, verdict in causes.items() if name not in verdicts}


def test_a_list_that_an_update_makes_anew_is_to_be_one_of_leaves(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(f"import torch\n{LEAVES_OF_NOW['a list of results'][0]}")
    graph = package.read(
        tmp_path / "net.py", SourceOptions(diagnose=True, on_error="draw"), say=lambda _: None, rootless=True
    ).graph
    assert why(graph, "ws[1]").mend == "ws = [(w - 0.1 * w.grad).detach().requires_grad_() for w in ws]"


BY_HAND = {
    "in place": ("with torch.no_grad():\n        w -= 0.1 * g", "ok", "the program writes w itself"),
    "a method": ("with torch.no_grad():\n        w.sub_(0.1 * g)", "ok", "the program writes w itself"),
    "not at all": ("print(g)", "not trained", "leaves .grad as it is"),
    "a new leaf": ("w = (w - 0.1 * g).detach().requires_grad_()", "new leaf", "another leaf than autograd.grad knew"),
}


@pytest.mark.parametrize("update", BY_HAND)
def test_a_leaf_that_the_program_trains_by_a_returned_gradient_is_trained(update: str, tmp_path: Path) -> None:
    line, verdict, words = BY_HAND[update]
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor([1.0, -2.0], requires_grad=True)\nfor _ in range(3):\n    loss = (w**2).sum()\n"
        f"    (g,) = torch.autograd.grad(loss, w)\n    {line}\n"
    )
    cause = why(package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph, "w")
    assert (cause.verdict, cause.is_wrong) == (verdict, False)
    assert words in cause.what


def test_the_leaf_of_a_loss_that_nothing_asks_for_is_not_promised_a_gradient_of_backward(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor(0.5, requires_grad=True)\nfor i in range(3):\n    loss = (w - 2) ** 2\n    if i == 2:\n"
        "        break\n    (g,) = torch.autograd.grad(loss, w)\n    w = (w - 0.1 * g).detach().requires_grad_()\n"
    )
    cause = why(package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph, "w")
    assert cause.what == "nothing calls backward(): gradients come from line 7, for other tensors than w"
    assert not cause.is_wrong


def test_a_new_leaf_of_each_step_that_has_become_nan_is_to_take_smaller_steps(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nfor i in range(7):\n    loss = w**4\n"
        "    (g,) = torch.autograd.grad(loss, w)\n    w = (w - 0.5 * g).detach().requires_grad_()\nloss = w**4\nloss.backward()\n"
    )
    cause = why(package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph, "w")
    assert [place.line for place, _ in cause.lines] == [6]
    assert cause.mend.startswith("take a smaller learning rate")


def test_numbers_that_grow_in_a_loop_are_told_where_a_later_line_is_given_them(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.full((4, 4), 9.0, requires_grad=True)\nv = torch.ones(4, 1, requires_grad=True)\n"
        "h = torch.ones(1, 4)\nfor _ in range(15):\n    h = torch.relu(h @ w)\nloss = (h @ v).pow(2).mean()\nloss.backward()\n"
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph
    for name in ("v", "w", "loss"):
        assert why(graph, name).mend.startswith("the numbers grow from one call of line 6 to the next"), why(
            graph, name
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cut_behind_the_function_without_slope_is_on_no_other_way(engine: str, tmp_path: Path) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\nv = torch.ones(2, requires_grad=True)\n"
        "h = torch.tanh(w) * 0\ny = h * v + v\nloss = (y * (3 - y.detach())).sum()\nloss.backward()\n"
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True, engine=engine), say=lambda _: None).graph
    cause = why(graph, "w")
    assert ([place.line for place, _ in cause.lines], "detach" in cause.mend) == ([4], False), cause


def test_an_optimizer_whose_gradients_nobody_asks_for_has_no_fault_of_an_evaluation(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\ndef train():\n    net = torch.nn.Linear(3, 2)\n    opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "    for _ in range(2):\n        loss = net(torch.ones(4, 3)).mean()\n        opt.zero_grad()\n        opt.step()\n"
        "    with torch.no_grad():\n        test = net(torch.ones(4, 3)).mean().item()\n    return net\nnet = train()\n"
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None, rootless=True).graph
    assert {(cause.verdict, cause.mend) for cause in why_all(graph)} == {
        ("backward not run", f"compute a loss from net.{name}, and call its backward()") for name in ("weight", "bias")
    }


def test_an_integer_is_told_so_where_nothing_of_a_loss_requires_a_gradient(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.tensor([1, 2])\nx = torch.tensor([1.0, 2.0])\nloss = (w * x).sum()\nloss.backward()\n"
    )
    options = SourceOptions(diagnose=True, on_error="draw")
    graph = package.read(tmp_path / "net.py", options, say=lambda _: None, rootless=True).graph
    assert [why(graph, name).verdict for name in ("w", "x")] == ["integer", "frozen root"]


def test_what_a_module_of_two_names_does_not_list_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = [torch.nn.Linear(2, 2)]\n        self.head = torch.nn.Linear(2, 1)\n"
        "def train():\n    model = Net()\n    opt = torch.optim.SGD(model.parameters(), lr=0.1)\n    for _ in range(2):\n"
        "        opt.zero_grad()\n        model.head(model.layers[0](torch.ones(3, 2))).sum().backward()\n        opt.step()\n"
        "    return model\nnet = train()\n"
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph
    (verdict,) = {cause.verdict for cause in why_all(graph) if "layers" in cause.name}
    assert verdict == "no parameter"


def test_a_target_that_is_longer_than_the_input_of_ctc_loss_is_told(tmp_path: Path) -> None:
    program = (
        "import torch\nw = torch.randn(4, 2, 6, requires_grad=True)\nlp = torch.log_softmax(w, -1)\n"
        "targets, lengths = torch.randint(1, 6, (2, 6)), torch.tensor([6, 2])\n"
        "loss = torch.nn.functional.ctc_loss(lp, targets, torch.tensor([4, 4]), lengths{})\nloss.backward()\n"
    )
    causes = []
    for words in ("", ", zero_infinity=True"):
        (tmp_path / "net.py").write_text(program.format(words))
        graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph
        causes.append(why(graph, "w"))
    assert [cause.verdict for cause in causes] == ["nan", "ok"]
    assert "leave such examples out, or write zero_infinity=True" in causes[0].mend


def test_a_leaf_that_came_to_require_a_gradient_after_its_use_is_told_so_where_the_loss_has_no_graph(
    tmp_path: Path,
) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw, x = torch.tensor(1.0), torch.tensor(3.0)\ny = w * x\nw.requires_grad_()\n"
        "loss = (y - 1) ** 2\nloss.backward()\n"
    )
    options = SourceOptions(diagnose=True, on_error="draw")
    cause = why(package.read(tmp_path / "net.py", options, say=lambda _: None, rootless=True).graph, "w")
    assert [place.line for place, _ in cause.lines] == [6, 4]
    assert cause.mend == "call w.requires_grad_() before it is used; or use w where loss is computed"


def test_a_leaf_with_a_name_stands_in_the_table_though_another_name_was_given_what_is_made_of_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nw, b = torch.tensor(1.0, requires_grad=True), torch.tensor(0.0, requires_grad=True)\n"
        "loss = (w * 2 + b) ** 2\nloss.backward()\nfor p in [w, b]:\n    p = p - 0.1 * p.grad\n"
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph
    assert {cause.name: cause.verdict for cause in why_all(graph)} == dict.fromkeys(("w", "b", "p"), "overwritten")


@pytest.mark.parametrize(
    ("line", "verdict"),
    [("x -= y / g", "ok"), ("trace.append(g.item())", "not trained")],
)
def test_a_gradient_that_a_function_asks_for_has_come_whatever_is_cut_off(
    line: str, verdict: str, tmp_path: Path
) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\ndef newton(f, x0):\n    x = torch.tensor(x0, requires_grad=True)\n    trace = []\n    for _ in range(3):\n"
        f"        y = f(x)\n        (g,) = torch.autograd.grad(y, x)\n        with torch.no_grad():\n            {line}\n"
        "        trace.append(x.item())\n    return x, trace\nroot, trace = newton(lambda x: x**2 - 2, 1.0)\n"
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None, rootless=True).graph
    (cause,) = why_all(graph)
    assert (cause.verdict, [place.line for place, _ in cause.lines], cause.is_wrong) == (verdict, [7], False)


def test_a_name_that_gets_what_a_function_has_kept_of_its_leaf_has_not_overwritten_it(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\ndef fit(x):\n    w = torch.zeros(2, requires_grad=True)\n    for _ in range(3):\n"
        "        ((x * w - 1) ** 2).mean().backward()\n        with torch.no_grad():\n            w -= 0.1 * w.grad\n"
        "        w.grad = None\n        best = w.clone()\n    return best\nw = fit(torch.ones(2))\n"
    )
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True), say=lambda _: None).graph
    assert [(cause.name, cause.verdict) for cause in why_all(graph)] == [("w (at backward)", "cleared")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("code", "lines", "mend"),
    [
        ("e = (e - e.max().detach()).exp()\nloss = (e * 0).sum()", [5], ""),
        ("e = (e - e.max().item()).exp()\nloss = (e * 0).sum()", [5], ""),
        ("loss = ((e - e.max().detach()).exp() * 0).sum()", [4], ""),
        ("e = (e - e.max().detach()).exp()\nloss = (e * 0).sum() + (w.detach() ** 2).sum()", [5], "(w ** 2).sum()"),
        ("e = (e - e.max().item()).exp()\nloss = (e * 0).sum() + (w.detach() ** 2).sum()", [5], "(w ** 2).sum()"),
    ],
)
def test_a_cut_to_which_nothing_but_0_would_come_is_on_no_other_way(
    engine: str, code: str, lines: list[int], mend: str, tmp_path: Path
) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    head = "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\ne = w * 3\n"
    (tmp_path / "net.py").write_text(f"{head}{code}\nloss.backward()\n")
    graph = package.read(tmp_path / "net.py", SourceOptions(diagnose=True, engine=engine), say=lambda _: None).graph
    cause = why(graph, "w")
    assert [place.line for place, _ in cause.lines] == lines, cause
    assert ("max()" in cause.mend, mend in cause.mend, "; or" in cause.mend) == (False, True, bool(mend)), cause


OF_TRAINER = """
class Trainer:
    def __init__(self, model):
        self.owner, self.model = self, model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
    def fit(self, x):
        self.opt.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.opt.step()
trainer = Trainer(Net())
trainer.fit(torch.ones(4, 2))
"""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning", "ignore::UserWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("line", [line for line, told in HELD.items() if told[2] == "no parameter"])
def test_what_a_module_of_an_object_holds_and_does_not_list_is_made_a_parameter(
    tmp_path: Path, line: str, engine: str
) -> None:
    use, name, verdict, mend, _ = HELD[line]
    program = HOLDER.format(line=line, use=use).partition("net = Net()")[0] + OF_TRAINER
    graph = graph_of(tmp_path, program, engine)
    cause = why(graph, name.replace("net.", "trainer.model."))
    assert (cause.verdict, cause.mend) == (verdict, mend)
    of_bias = {node.module for node in graph.nodes if node.name == "trainer.model.out.bias"}
    assert of_bias == {Module("trainer.model.out", "Linear")}
