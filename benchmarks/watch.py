"""``gviz.watch`` around the training of models on torch, beside the same steps without it: norms, and the hunt for nan."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from measure import HERE, ROOT, plain_environment, report

STEPS = 20
"""Of a round; every 10th is measured, as by default."""

ROUNDS = 4


def run(torch: str) -> None:
    """Print the ratios for each model."""
    environment = plain_environment(PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
    for name in MODELS:
        command = [torch, str(HERE / "watch.py"), "--worker", name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        best = json.loads(done.stdout)
        report(f"{name}, norms of every 10th step", best["norms"], best["plain"], "ms", 1.3)
        report(f"{name}, hunt for nan", best["hunt"], best["plain"], "ms", 2.0)


def worker(name: str) -> dict[str, float]:
    """Return the processor time of a step, in ms: the best of the rounds of each kind, which alternate."""
    import torch

    import gviz

    torch.set_num_threads(1)
    torch.manual_seed(0)
    models, step, _ = MODELS[name](torch)
    times: dict[str, list[float]] = {"plain": [], "norms": [], "hunt": []}

    def measure(kind: str) -> None:
        start = time.process_time()
        for _ in range(STEPS):
            step()
        times[kind].append(1000 * (time.process_time() - start) / STEPS)

    step()
    for _ in range(ROUNDS):
        measure("plain")
        with gviz.watch(models):
            measure("norms")
        with gviz.watch(models, hunt=True) as log:
            measure("hunt")
        assert not log.findings, log  # noqa: S101 - the models are sound
    return {kind: min(rounds) for kind, rounds in times.items()}


# ------------------------------------------------------------------ the models: each gives its modules, a step, and a loss
Case = tuple[dict[str, Any], Callable[[], None], Callable[[], Any]]


def one_step(torch: Any, model: Any, loss_of: Callable[[], Any]) -> Case:
    """Return a model with its step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return {"": model}, step, loss_of


def perceptron(torch: Any) -> Case:
    """A network of half a millisecond."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))
    return one_step(torch, net, lambda: nn.functional.cross_entropy(net(x), y))


def resnet(torch: Any) -> Case:
    """ResNet-18, 4 pictures of 64 by 64."""
    nn, relu = torch.nn, torch.nn.functional.relu

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
            self.conv2, self.bn2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
            down = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            self.down = down if stride > 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
            return relu(y + self.down(x))

    wide = (64, 64, 64, 128, 128, 256, 256, 512, 512)
    blocks = [Block(a, b, 1 + (a != b)) for a, b in pairwise(wide)]
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    net = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    x, y = torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,))
    return one_step(torch, net, lambda: nn.functional.cross_entropy(net(x), y))


def gpt(torch: Any) -> Case:
    """A GPT-2 of 12 layers, narrow, with masks of -inf: 4 texts of 64 words."""
    nn, wide, words = torch.nn, 192, 1000

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(wide), nn.LayerNorm(wide)
            self.qkv, self.proj = nn.Linear(wide, 3 * wide), nn.Linear(wide, wide)
            self.mlp = nn.Sequential(nn.Linear(wide, 4 * wide), nn.GELU(), nn.Linear(4 * wide, wide))

        def forward(self, x: Any) -> Any:
            q, k, v = (one.unflatten(2, (4, -1)).transpose(1, 2) for one in self.qkv(self.ln1(x)).split(wide, 2))
            scores = q @ k.transpose(2, 3) / 48**0.5
            hidden = torch.ones(64, 64, dtype=torch.bool).triu(1)
            seen = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v
            x = x + self.proj(seen.transpose(1, 2).flatten(2))
            return x + self.mlp(self.ln2(x))

    net = nn.Sequential(
        nn.Embedding(words, wide), *(Block() for _ in range(12)), nn.LayerNorm(wide), nn.Linear(wide, words)
    )
    x = torch.randint(0, words, (4, 64))
    return one_step(torch, net, lambda: nn.functional.cross_entropy(net(x).flatten(0, 1), x.flatten()))


def vae(torch: Any) -> Case:
    """A variational autoencoder as in PyTorch's examples, 128 pictures of 28 by 28."""
    nn = torch.nn
    parts = {"inner": nn.Linear(784, 400), "ends": nn.Linear(400, 40)}
    net = nn.ModuleDict({**parts, "decoder": nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))})
    x = torch.rand(128, 784)

    def loss() -> Any:
        mean, log_variance = net["ends"](torch.relu(net["inner"](x))).chunk(2, 1)
        y = net["decoder"](mean + torch.randn_like(mean) * (log_variance / 2).exp())
        apart = (1 + log_variance - mean**2 - log_variance.exp()).sum() / -2
        return nn.functional.binary_cross_entropy_with_logits(y, x, reduction="sum") + apart

    return one_step(torch, net, loss)


def gan(torch: Any) -> Case:
    """A generator and a discriminator, a step of each in turn."""
    nn = torch.nn
    g = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 784), nn.Tanh())
    d = nn.Sequential(nn.Linear(784, 512), nn.LeakyReLU(0.2), nn.Linear(512, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))
    of_g, of_d = (torch.optim.Adam(one.parameters(), lr=2e-4) for one in (g, d))
    x, loss = torch.rand(64, 784) * 2 - 1, nn.functional.binary_cross_entropy_with_logits
    real, unreal = torch.ones(64, 1), torch.zeros(64, 1)

    def step() -> None:
        of_d.zero_grad()
        picture = g(torch.randn(64, 64))
        (loss(d(x), real) + loss(d(picture.detach()), unreal)).backward()
        of_d.step()
        of_g.zero_grad()
        loss(d(picture), real).backward()
        of_g.step()

    return {"generator": g, "discriminator": d}, step, lambda: loss(d(g(torch.randn(64, 64))), real)


def amp(torch: Any) -> Case:
    """A step of the autoencoder's size under autocast, with a scaler of the loss."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 10))
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.01), torch.amp.GradScaler("cpu")
    x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))

    def loss_of() -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return nn.functional.cross_entropy(net(x), y)

    def step() -> None:
        optimizer.zero_grad()
        scaler.scale(loss_of()).backward()
        scaler.step(optimizer)
        scaler.update()

    return {"": net}, step, loss_of


MODELS = {"ResNet-18": resnet, "GPT-2": gpt, "VAE": vae, "GAN": gan, "AMP": amp, "perceptron": perceptron}


if __name__ == "__main__":
    print(json.dumps(worker(sys.argv[2])))
