"""Small models, sound ones and such with a fault, for questions to a model while its program runs.

Each function takes torch, the real one or gviz's engine, and returns a loss and what is asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Case = Callable[[Any], tuple[Any, Any]]


class Fault(NamedTuple):
    """A fault that was planted.

    Args:
        case: makes the loss and the model.
        name: of a parameter that has it.
        verdict: what is said of it.
        words: a part of what is said.
        fine: parameters that have none.
    """

    case: Case
    name: str
    verdict: str
    words: str
    fine: tuple[str, ...] = ()


def net_of(torch: Any) -> Any:
    """Return a small network."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def data_of(torch: Any) -> Any:
    """Return its data."""
    return torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])


# ---------------------------------------------------------------- faults
def unused_layer(torch: Any) -> tuple[Any, Any]:
    net = torch.nn.ModuleDict({"body": net_of(torch), "aux": torch.nn.Linear(3, 1)})
    return net["body"](data_of(torch)).pow(2).mean(), net


def detached_head(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return net[2](net[1](net[0](data_of(torch))).detach()).pow(2).mean(), net


def of_a_freed_trunk(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    hidden = net[1](net[0](data_of(torch)))
    net[2](hidden).sum().backward()
    return net[2](hidden).pow(2).sum(), net


def number_in_between(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    scale = torch.tensor(net[0](data_of(torch)).sum().item())
    return (net[2](torch.ones(1, 4)) * scale).sum(), net


def without_gradients(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    with torch.no_grad():
        loss = net(data_of(torch)).mean()
    return loss, net


def leaf_as_loss(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return torch.tensor(net(data_of(torch)).mean().item(), requires_grad=True), net


def argmax_in_loss(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return (net(data_of(torch)).argmax(1) == torch.tensor([0, 1])).float().mean(), net


def frozen_all(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    return net(data_of(torch)).mean(), net


def frozen_backbone(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    for parameter in net[0].parameters():
        parameter.requires_grad_(False)
    return net(data_of(torch)).mean(), net


def dead_relu(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    with torch.no_grad():
        net[0].bias.fill_(-100.0)
    return net(data_of(torch)).mean(), net


def zero_weights(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    with torch.no_grad():
        net[2].weight.zero_()
    return net(data_of(torch)).sum(), net


def sum_of_normalized(torch: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    parts = [torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8)]
    net = torch.nn.Sequential(*parts)
    return net(data_of(torch)).sum(), net


def softmax_of_one(torch: Any) -> tuple[Any, Any]:
    net = torch.nn.Linear(3, 1)
    return torch.softmax(net(data_of(torch)), 1).pow(2).mean(), net


def rounded(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return torch.round(net(data_of(torch))).sum(), net


def clamped(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return (net(data_of(torch)) + 10).clamp(0, 1).sum(), net


def log_of_zero(torch: Any) -> tuple[Any, Any]:
    net = torch.nn.Linear(3, 2)
    return torch.log(net(data_of(torch)) * 0).mean(), net


def root_of_zero(torch: Any) -> tuple[Any, Any]:
    net = torch.nn.Linear(3, 2)
    return torch.sqrt(net(data_of(torch)) * 0).mean(), net


def norm_of_zero(torch: Any) -> tuple[Any, Any]:
    net = torch.nn.Linear(3, 2)
    hidden = net(data_of(torch))
    return torch.where(hidden > 1e9, torch.sqrt(hidden - hidden), hidden).sum(), net


def divided_by_zero(torch: Any) -> tuple[Any, Any]:
    net = torch.nn.Linear(3, 2)
    hidden = net(data_of(torch))
    return (hidden / (hidden - hidden)).sum(), net


def exp_too_large(torch: Any) -> tuple[Any, Any]:
    net = torch.nn.Linear(3, 2)
    return torch.exp(net(data_of(torch)) + 1000).mean(), net


def nan_in_data(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    batch = data_of(torch)
    batch[0, 0] = float("nan")
    return torch.sigmoid(net(batch) + 1).mean(), net


def nan_in_weights(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    with torch.no_grad():
        net[0].weight[0, 0] = float("nan")
    return net(data_of(torch)).mean(), net


def written_in_place(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    hidden = net[1](net[0](data_of(torch)))
    loss = net[2](hidden).sum()
    hidden.add_(1)
    return loss, net


def written_before_backward_failed(torch: Any) -> tuple[Any, Any]:
    loss, net = written_in_place(torch)
    try:
        loss.backward()
    except RuntimeError:
        return loss, net
    raise AssertionError("backward was to fail")


def not_a_scalar(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return net(data_of(torch)), net


def plain_list(torch: Any) -> tuple[Any, Any]:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = [torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)]
            self.head = torch.nn.Linear(1, 1)

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    net = Net()
    return net(data_of(torch)).sum(), net


def plain_tensor(torch: Any) -> tuple[Any, Any]:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.ones(3, requires_grad=True)
            self.head = torch.nn.Linear(3, 1)

        def forward(self, x: Any) -> Any:
            return self.head(x * self.scale)

    net = Net()
    return net(data_of(torch)).sum(), net


def one_class(torch: Any) -> tuple[Any, Any]:
    head = torch.nn.Linear(3, 1)
    return torch.nn.functional.cross_entropy(head(data_of(torch)), torch.tensor([0, 0])), head


def weight_written(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    loss = net(data_of(torch)).sum()
    with torch.no_grad():
        net[2].weight.add_(1)
    return loss, net


def forgotten_zero_grad(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    net(data_of(torch)).sum().backward()
    return net(data_of(torch)).pow(2).sum(), net


def another_loss(torch: Any) -> tuple[Any, Any]:
    loss, net = unused_layer(torch)
    net["aux"](data_of(torch)).sum().backward()
    return loss, net


def own_function_without_gradient(torch: Any) -> tuple[Any, Any]:
    class Square(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, weight: Any) -> Any:
            ctx.save_for_backward(x, weight)
            return x * weight

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[1], None

    weights = {"x": torch.ones(2, requires_grad=True), "w": torch.ones(2, requires_grad=True)}
    loss = Square.apply(weights["x"], weights["w"]).sum()
    loss.backward()
    return loss, weights


def half_underflow(torch: Any) -> tuple[Any, Any]:
    weights = {"w": torch.ones(2, dtype=torch.float16, requires_grad=True)}
    return (weights["w"] * 1e-7).sum() * 1e-3, weights


def half_underflow_in_a_cast(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch).half()
    return net(data_of(torch).half()).float().pow(2).mean() * 1e-9, net


def half_underflow_forward(torch: Any) -> tuple[Any, Any]:
    """A result that float16 has rounded to 0, squared."""
    net = torch.nn.Linear(3, 2).half()
    return (net(data_of(torch).half()) * 1e-4 * 1e-4).float().pow(2).mean(), net


def loss_scale_too_large(torch: Any) -> tuple[Any, Any]:
    """A scaled loss whose gradient float16 cannot hold."""
    net = torch.nn.Linear(3, 2).half()
    return net(data_of(torch).half()).float().sum() * -(2.0**24), net


def gradient_penalty(activation: str, torch: Any) -> tuple[Any, Any]:
    """A loss made of the gradient of the inputs alone, whose first bias has a second derivative that is 0 everywhere."""
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), getattr(torch.nn, activation)(), torch.nn.Linear(8, 1, bias=False))
    x = torch.rand(5, 4, requires_grad=True)
    (gradient,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    return gradient.pow(2).sum(1).mean(), net


def half_underflow_of_the_loss(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch).half()
    return (net(data_of(torch).half()) * 1e-5).pow(2).sum(), net


def in_half(torch: Any, net: Any, data: Any) -> Any:
    """Return what a network makes under autocast, which gviz's engine has not: there its weights are of 16 bits."""
    if torch.__name__ == "gviz.engine":
        return net.half()(data.half())
    with torch.autocast("cpu", dtype=torch.float16):
        return net(data)


def half_underflow_under_autocast(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    net = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 1))
    output = in_half(torch, net, torch.randn(4, 16))
    return (output.float().sigmoid() * 1e-6).mean(), net


def half_underflow_of_a_convolution(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 1))
    output = in_half(torch, net, torch.randn(4, 3, 8, 8))
    return (output.float().sigmoid() * 1e-6).mean(), net


def masked_mean_of_nothing(torch: Any) -> tuple[Any, Any]:
    net, mask = net_of(torch), torch.zeros(2)
    losses = torch.nn.functional.cross_entropy(net(data_of(torch)), torch.tensor([0, 1]), reduction="none")
    return (losses * mask).sum() / mask.sum(), net


def centred_loss(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    values = net(data_of(torch))
    return (values.exp() - values.exp()).sum(), net


def empty_batch(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return net(torch.zeros(0, 3)).sum(), net


def ignored_targets(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return torch.nn.functional.cross_entropy(net(data_of(torch)), torch.full((2,), -100)), net


def written_after_another_backward(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    first, loss = (net(data_of(torch)).pow(2).sum() for _ in range(2))
    first.backward()
    torch.optim.SGD(net.parameters(), 0.1).step()
    return loss, net


def vanishing(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    net = nn.Sequential(*(part for _ in range(14) for part in (nn.Linear(4, 4), nn.Sigmoid())), nn.Linear(4, 1))
    return net(torch.ones(2, 4)).pow(2).mean(), net


def exploding(torch: Any) -> tuple[Any, Any]:
    cell, hidden = torch.nn.Linear(3, 3, bias=False), torch.ones(1, 3)
    with torch.no_grad():
        cell.weight.fill_(1.0)
    for _ in range(30):
        hidden = cell(hidden)
    return hidden.sum(), cell


FAULTS = [
    Fault(unused_layer, "aux.weight", "no path", "is not made from it, or", ("body.0.weight",)),
    Fault(detached_head, "0.weight", "no path", "cut off on its way, as by detach()", ("2.weight", "2.bias")),
    Fault(number_in_between, "0.bias", "no path", "item()", ("2.weight",)),
    Fault(without_gradients, "0.weight", "no path", "loss has no graph"),
    Fault(leaf_as_loss, "0.weight", "leaf root", "no operation has made it"),
    Fault(argmax_in_loss, "2.weight", "no path", "argmax()"),
    Fault(frozen_all, "0.weight", "frozen root", "nothing that loss is made from requires a gradient"),
    Fault(frozen_backbone, "0.weight", "frozen", "does not require a gradient", ("2.weight",)),
    Fault(dead_relu, "0.weight", "zero", "relu", ("2.bias",)),
    Fault(zero_weights, "0.weight", "zero", "addmm", ("2.weight", "2.bias")),
    Fault(softmax_of_one, "weight", "zero", "softmax"),
    Fault(half_underflow_in_a_cast, "0.weight", "zero", "less than a float16 can hold"),
    Fault(half_underflow_of_the_loss, "0.weight", "zero", "less than a float16 can hold"),
    Fault(half_underflow_under_autocast, "0.weight", "zero", "what addmm hands on to its input is less than a float16"),
    Fault(half_underflow_of_a_convolution, "0.weight", "zero", "is less than a float16 can hold"),
    Fault(masked_mean_of_nothing, "0.weight", "nan", "/ divides by 0, which gives nan or inf"),
    Fault(centred_loss, "0.weight", "zero", "over its ways cancels out"),
    Fault(empty_batch, "0.weight", "zero", "no elements"),
    Fault(ignored_targets, "0.weight", "zero", "nll_loss"),
    Fault(written_after_another_backward, "0.weight", "written in place", "is of an earlier backward"),
    Fault(one_class, "weight", "zero", "log_softmax hands on 0"),
    Fault(rounded, "0.weight", "zero", "round"),
    Fault(clamped, "0.weight", "zero", "clamp"),
    Fault(log_of_zero, "weight", "nan", "log makes the first -inf, forward"),
    Fault(root_of_zero, "weight", "nan", "the derivative of sqrt for its input is inf"),
    Fault(norm_of_zero, "weight", "nan", "where() picks the other side"),
    Fault(divided_by_zero, "weight", "nan", "/ divides by 0, which gives nan or inf"),
    Fault(exp_too_large, "weight", "nan", "the result of exp is not finite, forward"),
    Fault(nan_in_data, "0.weight", "nan", "is not finite itself"),
    Fault(nan_in_weights, "2.weight", "nan", "0.weight is not finite itself"),
    Fault(written_in_place, "0.weight", "written in place", "written in place afterwards"),
    Fault(
        weight_written, "0.weight", "written in place", "2.weight was written in place after it had been saved by addmm"
    ),
    Fault(written_before_backward_failed, "0.weight", "written in place", "written in place afterwards"),
    Fault(of_a_freed_trunk, "0.weight", "second backward", "the backward of another root"),
    Fault(not_a_scalar, "0.weight", "failed", "loss has more than one element"),
    Fault(plain_list, "layers[0].weight", "no parameter", "model.layers is a plain list", ("head.weight",)),
    Fault(plain_tensor, "scale", "no parameter", "model.scale is a plain tensor", ("head.weight",)),
    Fault(forgotten_zero_grad, "0.weight", "accumulated", "an earlier backward has left one there"),
    Fault(another_loss, "aux.weight", "no path", "is not made from it, or", ("body.0.weight",)),
    Fault(own_function_without_gradient, "w", "no gradient", "Square gives no gradient for w", ("x",)),
    Fault(half_underflow, "w", "zero", "what * hands on to w is less than a float16 can hold"),
    Fault(vanishing, "0.weight", "vanishing", "times that of", ("28.weight", "26.weight")),
    Fault(exploding, "weight", "exploding", "times the size of its weights"),
]


# ---------------------------------------------------------------- sound models
def sequential(torch: Any, *parts: Any, x: Any = None) -> tuple[Any, Any]:
    """Return the loss of some layers, one after the other."""
    net = torch.nn.Sequential(*parts)
    return net(data_of(torch) if x is None else x).pow(2).mean(), net


def deep(torch: Any, activation: str, depth: int = 5) -> tuple[Any, Any]:
    nn = torch.nn
    return sequential(torch, *(part for _ in range(depth) for part in (nn.Linear(3, 3), getattr(nn, activation)())))


def residual(torch: Any, scale: float) -> tuple[Any, Any]:
    """Return blocks that add a little to what goes through, as those of a transformer do."""
    nn = torch.nn
    net = nn.ModuleList([nn.Linear(3, 3) for _ in range(6)])
    x = net[0](data_of(torch))
    for block in net[1:-1]:
        x = x + scale * torch.tanh(block(x))
    return net[-1](x).pow(2).mean(), net


def layer_scale(torch: Any) -> tuple[Any, Any]:
    """Return the same with a small parameter as the factor, whose gradient is large beside it."""
    nn = torch.nn
    net = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)])
    factors = nn.ParameterList([nn.Parameter(torch.full((3,), 1e-8)) for _ in range(2)])
    x = net[0](data_of(torch))
    for factor, block in zip(factors, net[1:-1], strict=True):
        x = x + factor * torch.tanh(block(x))
    return net[-1](x).pow(2).mean(), nn.ModuleDict({"net": net, "factors": factors})


def recurrent(torch: Any, kind: str, steps: int) -> tuple[Any, Any]:
    net = getattr(torch.nn, kind)(2, 3)
    output, _ = net(torch.ones(steps, 1, 2))
    return output[-1].pow(2).mean(), net


def tied(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    net = nn.ModuleDict({"embedding": nn.Embedding(5, 3), "head": nn.Linear(3, 5, bias=False)})
    net["head"].weight = net["embedding"].weight
    scores = net["head"](net["embedding"](torch.tensor([1, 2, 3])))
    return nn.functional.cross_entropy(scores, torch.tensor([2, 3, 4])), net


def attention(torch: Any) -> tuple[Any, Any]:
    net, x = torch.nn.MultiheadAttention(4, 2, batch_first=True), torch.randn(2, 3, 4)
    return net(x, x, x)[0].pow(2).mean(), net


def transformer(torch: Any) -> tuple[Any, Any]:
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True)
    net = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return net(torch.randn(2, 3, 4)).pow(2).mean(), net


def autoencoder(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    net = nn.ModuleDict({"mean": nn.Linear(3, 2), "log": nn.Linear(3, 2), "decoder": nn.Linear(2, 3)})
    x = data_of(torch)
    mean, log = net["mean"](x), net["log"](x)
    output = net["decoder"](mean + torch.randn_like(mean) * torch.exp(log / 2))
    return nn.functional.mse_loss(output, x, reduction="sum") - 0.5 * (1 + log - mean**2 - log.exp()).sum(), net


def generator(torch: Any) -> tuple[Any, Any]:
    net, critic = net_of(torch), torch.nn.Linear(2, 1)
    critic(net(data_of(torch)).detach()).mean().backward()
    return torch.nn.functional.softplus(-critic(net(data_of(torch)))).mean(), net


def large_targets(torch: Any) -> tuple[Any, Any]:
    net = torch.nn.Linear(2, 1)
    x, y = torch.tensor([[2000.0, 3.0], [900.0, 1.0]]), torch.tensor([[500_000.0], [180_000.0]])
    return torch.nn.functional.mse_loss(net(x), y, reduction="sum"), net


def classifier(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    return torch.nn.functional.cross_entropy(net(data_of(torch)), torch.tensor([0, 1])), net


def after_a_step(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(data_of(torch)).pow(2).mean()
        loss.backward()
        optimizer.step()
    return loss, net


def zeroed_in_place(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    net(data_of(torch)).sum().backward()
    net.zero_grad(set_to_none=False)
    return net(data_of(torch)).pow(2).sum(), net


def several_losses(torch: Any) -> tuple[Any, Any]:
    net = net_of(torch)
    output = net(data_of(torch))
    return {"fit": output.pow(2).mean(), "rest": [0.01 * net[0].weight.abs().sum()], "epoch": 3}, net


SOUND: list[Case] = [
    classifier,
    after_a_step,
    zeroed_in_place,
    several_losses,
    tied,
    attention,
    transformer,
    autoencoder,
    generator,
    large_targets,
    *(lambda torch, name=name: deep(torch, name) for name in ("Tanh", "GELU", "ELU", "Sigmoid")),
    *(lambda torch, scale=scale: residual(torch, scale) for scale in (1.0, 1e-7)),
    layer_scale,
    *(lambda torch, kind=kind: recurrent(torch, kind, 12) for kind in ("RNN", "GRU", "LSTM")),
    lambda torch: sequential(torch, torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2)),
    lambda torch: sequential(torch, torch.nn.Conv1d(2, 3, 2), torch.nn.GroupNorm(1, 3), x=torch.randn(2, 2, 5)),
]
