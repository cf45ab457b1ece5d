"""Layers on gviz's engine and on real PyTorch, statement by statement: texts, states, results, graphs, refusals."""

from __future__ import annotations

import pytest
from torch_parity import Program

from gviz import engine

LAYERS: dict[str, tuple[tuple[int, ...], ...]] = {
    "Linear(2, 3)": ((4, 2),),
    "Linear(2, 3, bias=False, dtype=torch.float64)": (),
    "Bilinear(2, 3, 2)": ((4, 2), (4, 3)),
    "Bilinear(2, 3, 2, bias=False)": ((4, 2), (4, 3)),
    "PReLU()": ((2, 3),),
    "PReLU(3, init=0.5)": ((2, 3),),
    "Upsample(scale_factor=2, mode='bilinear', align_corners=True)": ((1, 2, 3, 3),),
    "Upsample((4, 5))": ((1, 2, 3, 3),),
    "Embedding(4, 3, padding_idx=-1)": (),
    "Embedding(4, 3, scale_grad_by_freq=True)": (),
    "Conv1d(4, 2, 3, padding='same', groups=2)": ((2, 4, 5),),
    "Conv2d(2, 3, (2, 3), 2, 1, bias=False)": ((2, 2, 5, 5),),
    "Conv2d(2, 3, 3, padding=1, dilation=2, padding_mode='circular')": ((2, 2, 5, 5),),
    "Conv3d(1, 2, 2)": ((1, 1, 3, 3, 3),),
    "Conv2d(3, 2, 1, groups=2)": (),
    "Conv2d(2, 3, 1, groups=2)": (),
    "Conv2d(2, 2, 1, padding_mode='no')": (),
    "ConvTranspose1d(2, 3, 3, 2, 1, 1)": ((1, 2, 4),),
    "ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, False, 1)": ((1, 2, 3, 3),),
    "ConvTranspose2d(2, 4, 3, padding_mode='reflect')": (),
    "LayerNorm(3)": ((2, 3),),
    "LayerNorm((2, 3), 1e-3, bias=False)": ((2, 2, 3),),
    "LayerNorm([3], elementwise_affine=False)": ((2, 3),),
    "RMSNorm(3)": ((2, 3),),
    "RMSNorm((2, 3), 1e-3, False)": ((2, 2, 3),),
    "GroupNorm(2, 4)": ((2, 4, 3),),
    "GroupNorm(2, 4, affine=False)": ((2, 4, 3),),
    "GroupNorm(2, 3)": (),
    "BatchNorm1d(3)": ((4, 3),),
    "BatchNorm1d(3, affine=False, momentum=None)": ((4, 3, 2),),
    "BatchNorm2d(3, 1e-3, 0.2, track_running_stats=False)": ((2, 3, 2, 2),),
    "BatchNorm3d(2)": ((2, 2, 2, 2, 2),),
    "BatchNorm2d(2)": ((2, 2),),
    "InstanceNorm1d(3)": ((2, 3, 4),),
    "InstanceNorm2d(3, affine=True, track_running_stats=True)": ((2, 3, 2, 2),),
    "InstanceNorm3d(2)": ((2, 2, 2, 2, 2),),
    "RNNCell(2, 3)": ((4, 2),),
    "RNNCell(2, 3, False, 'relu')": ((4, 2), (4, 3)),
    "LSTMCell(2, 3)": ((4, 2),),
    "GRUCell(2, 3)": ((4, 2), (4, 3)),
    "RNN(2, 3, 2, 'relu', bidirectional=True)": ((4, 2, 2),),
    "RNN(2, 3, nonlinearity='no')": (),
    "GRU(2, 3, batch_first=True, bias=False)": ((2, 4, 2),),
    "Identity(1, 2, a=3)": ((2,),),
    "CrossEntropyLoss(label_smoothing=0.1)": (),
    "MaxPool2d(2, 1, return_indices=True)": ((1, 2, 3, 3),),
    "AvgPool1d(2)": ((2, 4, 4),),
    "AdaptiveAvgPool2d((2, None))": ((1, 2, 3, 3),),
    "ZeroPad2d(1)": ((1, 2, 2),),
    "ReflectionPad1d((1, 2))": ((2, 3, 4),),
    "Unflatten(1, (2, 2))": ((2, 4),),
    "Dropout(0.3, True)": ((4, 4),),
    "Dropout2d(1.5)": (),
}
"""Each layer -> the shapes of its inputs, where it is called."""


def both() -> Program:
    """A program on both engines."""
    return Program(pytest.importorskip("torch"), engine, 0)


@pytest.mark.torch
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_made_shown_kept_and_called_as_in_pytorch(layer: str) -> None:
    p = both()
    p.do("torch.manual_seed(3) and None")
    if not p.do(f"net = torch.nn.{layer}"):
        return
    p.do("text, names, values = repr(net), list(net.state_dict()), list(net.state_dict().values())")
    inputs = [p.new(f"torch.randn({shape}).mul_(2).requires_grad_()") for shape in LAYERS[layer]]
    for training in ("True", "False") if inputs else ():
        p.do(f"_ = net.train({training})")
        if p.do(f"out = net({', '.join(map(str, inputs))})"):
            p.do("out = out if isinstance(out, tuple) else (out,)")
            p.do("_ = sum((o * o).sum() for o in out if o.requires_grad)")
            p.do("_.backward() if _ is not 0 and _.requires_grad else None")
            p.do("gradients = [w.grad for w in net.parameters()]")


CALLS = ("", "*range(1, 40)", "foo=1", "1, 2, foo=3", "3, 3, 3, bar=1")
NAMES = sorted({layer.split("(")[0] for layer in LAYERS} | {"ReLU", "Threshold", "Softmax", "MSELoss", "Fold", "ConstantPad2d"})


@pytest.mark.torch
@pytest.mark.parametrize("name", [n for n in NAMES if n != "Identity"])
def test_options_that_a_layer_does_not_have_are_refused_in_the_words_of_pytorch(name: str) -> None:
    p = both()
    for call in CALLS if name not in ("RNN", "GRU") else CALLS[::2]:  # these take their kind as a hidden first argument
        p.do(f"_ = repr(torch.nn.{name}({call}))")


OPTIMIZERS = (
    "SGD(g)", "SGD(g, 0.1, 0.9, nesterov=True, weight_decay=0.1)", "SGD(g, momentum=0.9, dampening=0.5, maximize=True)",
    "SGD(g, nesterov=True)", "SGD(g, -1)", "SGD(g, momentum=-1)", "SGD()", "SGD(g, rate=1)", "SGD(g, 1, 2, 3, 4, 5, 6, 7)",
    "Adam(g)", "Adam(g, 0.1, weight_decay=0.1, amsgrad=True)", "Adam(g, betas=(0.9, 1.5))", "Adam(g, eps=-1)",
    "Adam(g, weight_decay=0.1, decoupled_weight_decay=True)", "AdamW(g, 0.1, maximize=True)", "AdamW(g, betas=(-0.1, 0.9))",
    "RMSprop(g)", "RMSprop(g, 0.1, 0.9, 1e-3, 0.1, 0.5, True)", "RMSprop(g, alpha=-1)", "Adagrad(g)",
    "Adagrad(g, 0.1, 0.1, 0.1, 0.5)", "Adagrad(g, initial_accumulator_value=-1)",
    "Adagrad([{'params': g, 'lr': 0.5}], eps=0.1)",
)  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_steps_and_keeps_its_state_as_in_pytorch(optimizer: str) -> None:
    p = both()
    leaves = ("[1.0, -2.0]", "[[0.5]]")  # a name with g: how often it was written is PyTorch's own business
    p.do(f"g = [{', '.join(f'torch.tensor({v}, dtype=torch.float64, requires_grad=True)' for v in leaves)}]")
    if not p.do(f"o = torch.optim.{optimizer}"):
        return
    p.do("text, groups = repr(o), [[k, v] for g in o.param_groups for k, v in g.items() if k != 'params']")
    for _ in range(3):
        p.do("o.zero_grad()")
        p.do("(g[0] ** 3).sum().backward()")
        p.do("o.step()")
        p.do("g_state = [[i, [[k, v] for k, v in s.items()]] for i, s in o.state_dict()['state'].items()]")
