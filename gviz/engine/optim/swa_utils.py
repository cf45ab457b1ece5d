"""``torch.optim.swa_utils``: a copy of a model whose parameters are averages over the training, and its schedule."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from gviz import engine
from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.layers import PerBatch
from gviz.engine.nn.module import Module
from gviz.engine.optim.lr_scheduler import LRScheduler, per_group
from gviz.numbers.words import absent, refuse, refuse_any

torch: Any = engine
Average: TypeAlias = Callable[[Any, Any, Any], Any]
"""What is told the average, the new value and how many there were, and returns the next average."""


def get_swa_avg_fn() -> Average:
    """Return the average in which all values count the same."""
    return no_grad()(lambda average, value, count: average + (value - average) / (count + 1))


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the average in which old values count less and less."""
    refuse(
        not 0 <= decay <= 1, f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.", ValueError
    )
    return no_grad()(lambda average, value, _: decay * average + (1 - decay) * value)


def get_swa_multi_avg_fn() -> Average:
    """Return the average in which all values count the same, for lists of parameters, which it changes in place."""
    return in_place(lambda average, value, count: average.lerp_(value, 1 / (count + 1)), get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Average:
    """Return the average in which old values count less and less, for lists, which it changes in place."""
    return in_place(lambda average, value, _: average.lerp_(value, 1 - decay), get_ema_avg_fn(decay))


def in_place(floats: Average, others: Average) -> Average:
    """Return the average of lists of parameters that changes those of floats by one rule, others by another."""

    def update(averages: list[Any], values: list[Tensor], count: object) -> None:
        with no_grad():
            for average, value in zip(averages, values, strict=True):
                if average.is_floating_point():
                    floats(average, value, count)
                else:
                    average.copy_(others(average, value, count))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages; ``update_parameters`` takes the model's as they are."""

    def __init__(
        self,
        model: Module,
        device: object = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Average | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        refuse(avg_fn and multi_avg_fn, "Only one of avg_fn and multi_avg_fn should be provided", AssertionError)
        self.module: Any = copy.deepcopy(model)
        self.register_buffer("n_averaged", torch.tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: object, **kwargs: object) -> Any:
        """Return what the copy returns."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of the model into the averages; buffers are copied, or taken too."""
        mine, others = ([one.detach() for one in each.parameters()] for each in (self.module, model))
        pairs = list(zip(self.module.buffers(), model.buffers(), strict=True))
        if self.use_buffers:
            mine, others, pairs = [*mine, *(a for a, _ in pairs)], [*others, *(b for _, b in pairs)], []
        count: Any = self.n_averaged
        with no_grad():
            if self.multi_avg_fn and count:
                self.multi_avg_fn(mine, others, count)
            else:
                rule = self.avg_fn or get_swa_avg_fn()
                for average, value in zip(mine, others, strict=True):
                    average.copy_(rule(average, value, count) if count else value)
            for buffer, value in pairs:
                buffer.copy_(value)
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: object = None) -> None:
    """Take the running statistics of a model's batch norms anew, as the averages over a loader's batches."""
    norms: list[Any] = [module for module in model.modules() if isinstance(module, PerBatch)]
    if not norms:
        return
    momenta, was_training = [norm.momentum for norm in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    model.train()
    with no_grad():
        for batch in loader:
            first = batch[0] if isinstance(batch, list | tuple) else batch
            model(first if device is None else first.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler, takes="swa_lr, anneal_epochs=10, anneal_strategy='cos'"):
    """The learning rate from what it is to ``swa_lr``, along a line or a cosine, and constant from there on."""

    def _begin_(self, arguments: dict[str, Any]) -> None:
        optimizer, strategy, epochs = (arguments[name] for name in ("optimizer", "anneal_strategy", "anneal_epochs"))
        for group, lr in zip(
            optimizer.param_groups, per_group("swa_lr", optimizer, arguments.pop("swa_lr")), strict=True
        ):
            group["swa_lr"] = lr
        refuse_any(
            {
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {strategy}": (
                    strategy not in ("cos", "linear")
                ),
                f"anneal_epochs must be equal or greater than 0, got {epochs}": (
                    not isinstance(epochs, int) or epochs < 0
                ),
            },
            ValueError,
        )
        arguments["_anneal_strategy"] = arguments.pop("anneal_strategy")
        super()._begin_(arguments)

    def get_lr(self) -> list[float]:
        """Return the point on the way to ``swa_lr`` after this step, from that after the step before."""
        step = self._step_count - 1 if self.anneal_epochs else max(1, self._step_count - 1)
        before, now = (self.share(step - 1), self.share(step))
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates

    def share(self, step: int) -> float:
        """Return how much of the way has been gone after so many steps."""
        part = max(0, min(1, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2


__getattr__ = absent("torch.optim.swa_utils")
