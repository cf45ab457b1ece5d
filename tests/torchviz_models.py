"""Models of the real PyTorch whose graphs ``make_dot`` draws beside TorchViz's: 20 models, each with three sets of options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "attrs": {"show_attrs": True},
    "saved": {"show_attrs": True, "show_saved": True, "max_attr_chars": 20},
}

Model = Callable[[Any], dict[str, Any]]


def drawn(output: Any, model: Any) -> dict[str, Any]:
    """Return what ``make_dot`` is called with."""
    return {"var": output, "params": dict(model.named_parameters())}


def perceptron(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    return drawn(model(torch.ones(1, 8)).mean(), model)


def deep(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(4, 4), nn.GELU())))
    return drawn(model(torch.ones(2, 4)).pow(2).mean(), model)


def convolutions(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3)
    )
    return drawn(nn.functional.cross_entropy(model(torch.ones(2, 1, 8, 8)), torch.tensor([0, 2])), model)


def residual(torch: Any) -> dict[str, Any]:
    model = torch.nn.ModuleList(torch.nn.Conv2d(2, 2, 3, padding=1) for _ in range(8))
    h = torch.ones(1, 2, 4, 4)
    for layer in model:
        h = h + torch.relu(layer(h))
    return drawn(h.sum(), model)


def upsampling(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.ConvTranspose2d(1, 2, 2, stride=2), nn.LeakyReLU(0.1), nn.Upsample(scale_factor=2), nn.Conv2d(2, 1, 1)
    )
    return drawn(model(torch.ones(1, 1, 3, 3)), model)


def transformer(torch: Any) -> dict[str, Any]:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return drawn(model(torch.ones(2, 3, 8)).sum(), model)


def attention(torch: Any) -> dict[str, Any]:
    model = torch.nn.MultiheadAttention(8, 2)
    x = torch.ones(3, 2, 8, requires_grad=True)
    return drawn(model(x, x, x), model)


def recurrent(torch: Any) -> dict[str, Any]:
    model = torch.nn.LSTM(3, 4, num_layers=2)
    output, (hidden, cell) = model(torch.ones(5, 1, 3))
    return drawn((output, hidden, cell), model)


def cells(torch: Any) -> dict[str, Any]:
    model = torch.nn.GRUCell(3, 4)
    hidden = torch.zeros(1, 4)
    for _ in range(6):
        hidden = model(torch.ones(1, 3), hidden)
    return drawn(hidden.sum(), model)


def embedding(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.ModuleDict({"table": nn.Embedding(10, 4, padding_idx=0), "norm": nn.LayerNorm(4)})
    return drawn(model["norm"](model["table"](torch.tensor([[1, 2, 0]]))).logsumexp(-1), model)


def tied(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.ModuleDict({"table": nn.Embedding(6, 4), "head": nn.Linear(4, 6, bias=False)})
    model["head"].weight = model["table"].weight
    return drawn(model["head"](model["table"](torch.tensor([1, 5]))).log_softmax(1)[:, 0].sum(), model)


def autoencoder(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.ModuleDict({"encoder": nn.Linear(6, 4), "decoder": nn.Linear(2, 6)})
    mean, log_variance = model["encoder"](torch.ones(3, 6)).chunk(2, dim=1)
    z = mean + torch.exp(0.5 * log_variance) * torch.ones(3, 2)
    loss = nn.functional.mse_loss(torch.sigmoid(model["decoder"](z)), torch.ones(3, 6))
    return drawn(loss - 0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(), model)


def checkpointed(torch: Any) -> dict[str, Any]:
    from torch.utils.checkpoint import checkpoint

    nn = torch.nn
    model = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(12))
    h = torch.ones(2, 4, requires_grad=True)
    for block in model:
        h = checkpoint(block, h, use_reentrant=True)
    return drawn(h.sum(), model)


def frozen(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    return drawn(model(torch.ones(1, 4)).var(), model)


def penalty(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 1))
    x = torch.ones(2, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return drawn((gradient.norm(dim=1) - 1).pow(2).mean(), model)


def mixed_precision(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(torch.ones(2, 4))
    return drawn(output.float().sum(), model)


def in_place(torch: Any) -> dict[str, Any]:
    model = torch.nn.Linear(3, 3)
    h = model(torch.ones(2, 3)).clone()
    h[:, 0] = 0.0
    h.add_(1).mul_(h.detach().clone())
    return drawn((h.relu_(), h.t()), model)


def indexing(torch: Any) -> dict[str, Any]:
    model = torch.nn.Linear(4, 6)
    h = model(torch.ones(3, 4))
    parts = [*h.split(2, dim=1), h[torch.tensor([0, 2, 1])][:, ::3], h.masked_fill(h > 0, 0.0)[..., :2]]
    return drawn(torch.cat(parts, dim=1).reshape(-1).topk(3)[0].unbind(), model)


def linear_algebra(torch: Any) -> dict[str, Any]:
    model = torch.nn.Linear(3, 3)
    square = model.weight @ model.weight.T + torch.eye(3)
    return drawn((torch.linalg.cholesky(square), torch.linalg.solve(square, model.bias), torch.logdet(square)), model)


def normalized(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), nn.GroupNorm(2, 4), nn.Dropout(0.5))
    return drawn(nn.functional.smooth_l1_loss(model(torch.ones(2, 4)), torch.ones(2, 4)), model)


MODELS: dict[str, Model] = {
    function.__name__: function
    for function in (
        perceptron,
        deep,
        convolutions,
        residual,
        upsampling,
        transformer,
        attention,
        recurrent,
        cells,
        embedding,
        tied,
        autoencoder,
        checkpointed,
        frozen,
        penalty,
        mixed_precision,
        in_place,
        indexing,
        linear_algebra,
        normalized,
    )
}
