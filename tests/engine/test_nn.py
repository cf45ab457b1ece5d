"""torch.nn, torch.optim and the rest of torch.autograd: texts, states and numbers that PyTorch 2.13.0 gave."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

from gviz import engine
from gviz.engine import nn
from gviz.engine.autograd import functional, graph
from gviz.engine.autograd.gradcheck import gradcheck, gradgradcheck
from gviz.engine.nn import functional as F

torch: Any = engine
optim: Any = engine.optim


def doubles(*values: float) -> Any:
    """A leaf in float64."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_initial_weights_are_those_of_pytorch_after_the_same_seed() -> None:
    torch.manual_seed(0)
    linear, conv, table = nn.Linear(2, 3), nn.Conv2d(1, 1, 2), nn.Embedding(2, 2)
    assert linear.weight.tolist()[0] == [-0.005293981172144413, 0.37932288646698]
    assert linear.bias.tolist() == [-0.014010033570230007, 0.5606575012207031, -0.06275151669979095]
    assert conv.bias.tolist() == [-0.33114105463027954]
    assert table.weight.tolist()[1] == [-0.2613142132759094, 1.066699743270874]


def test_a_network_is_printed_as_pytorch_prints_it() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True), nn.ModuleList([nn.Dropout(0.1), nn.Dropout(0.1)]))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=2, bias=True)\n"
        "  (1): ReLU(inplace=True)\n"
        "  (2): ModuleList(\n"
        "    (0-1): 2 x Dropout(p=0.1, inplace=False)\n"
        "  )\n"
        ")"
    )


def test_a_parameter_says_that_it_is_one_and_its_products_are_plain_tensors() -> None:
    weight = nn.Parameter(torch.tensor([1.0, 2.0]))
    assert repr(weight) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    assert type(weight * 2) is torch.Tensor
    assert weight.is_leaf


def test_a_state_dict_loads_into_a_module_of_the_same_names_and_refuses_another() -> None:
    one, other = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    one(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
    assert list(one.state_dict()) == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert repr(other.load_state_dict(one.state_dict())) == "<All keys matched successfully>"
    assert other.running_mean.tolist() == pytest.approx([0.2, 0.4])
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "weight", "bias"'):
        nn.Linear(1, 1).load_state_dict({})


def test_what_is_not_a_module_is_refused_where_one_belongs() -> None:
    for function in (F.relu, torch.relu):
        with pytest.raises(TypeError, match=r"^torch\.(.*\.)?relu is not a Module subclass$"):
            nn.Sequential(nn.Linear(1, 1), function)
    with pytest.raises(TypeError, match=r"^int is not a Module subclass$"):
        nn.ModuleList([3])


def test_a_shared_module_has_its_parameters_listed_once_and_saved_under_both_names() -> None:
    net = nn.Module()
    net.first = nn.Linear(1, 1, bias=False)
    net.second = net.first
    assert [name for name, _ in net.named_parameters()] == ["first.weight"]
    assert list(net.state_dict()) == ["first.weight", "second.weight"]


def test_training_gives_the_losses_that_pytorch_gives() -> None:
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    target = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    optimizer = optim.Adam(net.parameters(), lr=0.1)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = F.mse_loss(net(inputs), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert [losses[0], losses[9], losses[29]] == pytest.approx(
        [0.4331558346748352, 0.23198899626731873, 0.07644663751125336], rel=1e-4
    )


@pytest.mark.parametrize(
    ("make", "after"),
    [
        (
            lambda w: optim.SGD([w], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
            [0.05580605939030647, -15.374103546142578],
        ),
        (lambda w: optim.AdamW([w], lr=0.1), [0.7992088198661804, -2.1960368156433105]),
    ],
)
def test_two_steps_end_where_those_of_pytorch_end(make: Any, after: list[float]) -> None:
    weight = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = make(weight)
    for _ in range(2):
        optimizer.zero_grad()
        (weight**3).sum().backward()
        optimizer.step()
    assert weight.tolist() == pytest.approx(after, rel=1e-6)
    assert weight.is_leaf


SHAPES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, dilation=2, groups=2),
        [(1, 2, 6, 5), (4, 1, 2, 3), (4,)],
    ),
    "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1), [(1, 2, 4), (2, 2, 3)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (3,), w, b), [(2, 3), (3,), (3,)]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [(3, 2, 2), (2,), (2,)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), [(1, 1, 4, 5)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), [(1, 1, 4, 5)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([2, 0]), label_smoothing=0.1), [(2, 3)]),
    "gelu": (lambda x: F.gelu(x, approximate="tanh") + F.gelu(x), [(3,)]),
    "pad": (lambda x: F.pad(x, (1, -1)), [(2, 3)]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_first_and_second_derivatives_agree_with_differences(name: str) -> None:
    function, shapes = SHAPES[name]
    torch.manual_seed(2)
    inputs = tuple(torch.randn(*shape, dtype=torch.float64).requires_grad_() for shape in shapes)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs, atol=1e-4)


def test_gradcheck_finds_a_wrong_derivative() -> None:
    class Wrong(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, doubles(1.0, 2.0))


def test_whole_derivatives_have_the_shapes_of_output_and_input() -> None:
    x = torch.tensor([1.0, 2.0])
    assert functional.jacobian(lambda a: a**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert functional.hessian(lambda a: (a**3).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    value, product = functional.jvp(lambda a: a**2, x, torch.tensor([3.0, 4.0]))
    assert (value.tolist(), product.tolist()) == ([1.0, 4.0], [6.0, 16.0])


def test_anomaly_mode_names_the_forward_line_of_a_nan() -> None:
    x = torch.tensor([-1.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        with torch.autograd.detect_anomaly():
            loss = (torch.sqrt(x) * 0).sum()
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
                loss.backward()
    assert "loss = (torch.sqrt(x) * 0).sum()" in str(said[-1].message)


def test_hooks_on_saved_tensors_see_them_and_are_asked_for_them() -> None:
    seen: list[Any] = []
    x = torch.tensor([2.0], requires_grad=True)

    def pack(tensor: Any) -> Any:
        seen.append(tensor.tolist())
        return tensor

    with graph.saved_tensors_hooks(pack, lambda t: t * 10):
        y = x.exp() * 3
    y.sum().backward()
    assert seen[0] == y.detach().div(3).tolist()
    assert x.grad.tolist() == pytest.approx([30 * 7.3890561], rel=1e-5)


def test_a_backward_marked_once_differentiable_is_not_differentiated_again() -> None:
    from gviz.engine.autograd.function import once_differentiable

    class Square(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = torch.tensor([3.0], requires_grad=True)
    (slope,) = torch.autograd.grad((Square.apply(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(
        RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"
    ):
        slope.sum().backward()


def test_clipping_scales_gradients_to_the_norm_that_was_asked_for() -> None:
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    (w**2).sum().div(2).backward()
    assert nn.utils.clip_grad_norm_([w], 1.0).item() == 5.0
    assert w.grad.tolist() == pytest.approx([0.6, 0.8], rel=1e-5)


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (nn.RReLU(inplace=True), "RReLU(lower=0.125, upper=0.3333333333333333, inplace=True)"),
        (nn.Hardshrink(), "Hardshrink(0.5)"),
        (nn.Threshold(0.1, 2), "Threshold(threshold=0.1, value=2)"),
        (nn.CrossEntropyLoss(label_smoothing=0.1), "CrossEntropyLoss()"),
        (nn.AvgPool1d(2), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
        (nn.MaxPool2d(2), "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
        (nn.ConstantPad1d(2, 3.5), "ConstantPad1d(padding=(2, 2), value=3.5)"),
        (nn.CircularPad2d(1), "CircularPad2d((1, 1, 1, 1))"),
        (nn.Upsample(scale_factor=2), "Upsample(scale_factor=2.0, mode='nearest')"),
        (
            nn.Conv2d(2, 1, (2, 3), padding=1, padding_mode="replicate", bias=False),
            "Conv2d(2, 1, kernel_size=(2, 3), stride=(1, 1), padding=(1, 1), bias=False, padding_mode=replicate)",
        ),
        (nn.GroupNorm(2, 4, affine=False), "GroupNorm(2, 4, eps=1e-05, affine=False, bias=False)"),
        (nn.RNN(4, 2, 2, "relu", batch_first=True), "RNN(4, 2, num_layers=2, batch_first=True)"),
    ],
)
def test_a_layer_shows_the_options_that_pytorch_shows(layer: nn.Module, text: str) -> None:
    assert repr(layer) == text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.ReLU(1, 2), "ReLU.__init__() takes from 1 to 2 positional arguments but 3 were given"),
        (lambda: nn.Tanh(1), "Tanh.__init__() takes 1 positional argument but 2 were given"),
        (lambda: nn.ReLU(slope=1), "ReLU.__init__() got an unexpected keyword argument 'slope'"),
        (nn.Threshold, "Threshold.__init__() missing 2 required positional arguments: 'threshold' and 'value'"),
        (lambda: F.threshold(torch.ones(2), 1), 'threshold() missing 1 required positional arguments: "value"'),
    ],
)
def test_wrong_options_are_refused_in_the_words_of_pytorch(make: Any, words: str) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        make()


@pytest.mark.parametrize(("layer", "cell"), [(nn.RNN, nn.RNNCell), (nn.GRU, nn.GRUCell)])
def test_a_recurrent_layer_does_what_its_cell_does_step_by_step(layer: Any, cell: Any) -> None:
    torch.manual_seed(1)
    whole, step, steps = layer(3, 2, bidirectional=True), cell(3, 2), torch.randn(4, 2, 3)
    for name, weight in step.named_parameters():
        weight.data = getattr(whole, f"{name}_l0_reverse").data
    out, last = whole(steps)
    hidden: Any = None
    for number in reversed(range(4)):
        hidden = step(steps[number], hidden)
        assert out[number, :, 2:].tolist() == hidden.tolist()
    assert last[1].tolist() == hidden.tolist()


def test_the_graph_of_a_gated_units_gradient_has_the_copies_that_pytorch_saves() -> None:
    cell, x = nn.GRUCell(2, 2), torch.ones(1, 2, requires_grad=True)
    grad = torch.autograd.grad(cell(x).sum(), x, create_graph=True)[0]
    seen, todo = set(), [grad.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [following for following, _ in node.next_functions]
    assert sum(node.name() == "CloneBackward0" for node in seen) == 2


def test_the_same_seed_gives_the_orthogonal_and_truncated_values_of_pytorch() -> None:
    torch.manual_seed(1)
    square = nn.init.orthogonal_(torch.zeros(4, 2))
    assert square.tolist()[0] == pytest.approx([0.3841286, 0.4278074], rel=1e-5)
    torch.manual_seed(1)
    cut = nn.init.trunc_normal_(torch.zeros(3, 3), 1.0, 2.0, -3.0, 1.5)
    assert cut.tolist()[0] == pytest.approx([-0.1261056, -0.7845810, 1.1233546], rel=1e-5)


@pytest.mark.parametrize(
    ("call", "node"),
    [
        (lambda x: F.leaky_relu(x, 0.2, True), "LeakyReluBackward1"),
        (lambda x: F.celu(x, 1.0, True), "CeluBackward1"),
        (lambda x: F.threshold(x, 0.1, 0.2, True), "ThresholdBackward1"),
        (F.elu_, "EluBackward1"),
        (lambda x: F.rrelu(x, inplace=True), "RreluWithNoiseBackward1"),
        (nn.Hardtanh(inplace=True), "HardtanhBackward0"),
    ],
)
def test_an_activation_in_place_has_the_node_of_pytorch(call: Any, node: str) -> None:
    x = doubles(0.5, -1.5)
    y = x * 1
    assert call(y) is y
    assert y.grad_fn.name() == node
    y.sum().backward()
    assert x.grad.tolist()[0] == 1


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ((torch.float64, torch.float32, torch.float32), "mixed dtype (CPU): all inputs must share same datatype."),
        ((torch.float32, torch.float64, None), "mixed dtype (CPU): expect parameter to have scalar type of Float"),
        ((torch.float32, torch.float32, torch.float64), "mixed dtype (CPU): expect parameter to have scalar type of Float"),
        ((torch.int64, None, None), "\"{}\" not implemented for 'Long'"),
    ],
)
def test_a_normalization_wants_one_dtype(kinds: tuple[Any, ...], words: str) -> None:
    weight, bias = (None if kind is None else torch.ones(4, dtype=kind) for kind in kinds[1:])
    x = torch.ones(3, 4, dtype=kinds[0])
    calls: dict[str, Any] = {
        "LayerNormKernelImpl": lambda: F.layer_norm(x, (4,), weight, bias),
        "GroupNormKernelImpl": lambda: F.group_norm(x, 2, weight, bias),
        "batch_norm": lambda: F.batch_norm(x, None, None, weight, bias, training=True),
    }
    for kernel, call in calls.items():
        with pytest.raises((RuntimeError, NotImplementedError)) as raised:
            call()
        assert str(raised.value) == words.format(kernel)


def test_a_normalization_of_half_precision_takes_float32_and_stays_half() -> None:
    x = torch.ones(2, 4, dtype=torch.float16, requires_grad=True)
    found: Any = F.layer_norm(x, (4,), torch.ones(4))
    found.sum().backward()
    assert found.dtype is x.grad.dtype is torch.float16


def test_a_linear_layer_refuses_a_number_and_adds_one() -> None:
    with pytest.raises(RuntimeError, match=r"^both arguments to .* need to be at least 1D, but they are 0D and 2D$"):
        F.linear(torch.tensor(1.0), torch.ones(2, 3))
    assert F.linear(torch.ones(3), torch.ones(2, 3), doubles(1.0).float()[0]).grad_fn.name() == "AddBackward0"
